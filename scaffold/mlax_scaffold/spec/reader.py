"""Reads the text of a spec into a `Definition`. Nothing of the spec is executed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable

from mlax_scaffold.errors import Diagnostic, did_you_mean
from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    Hyperparameter,
    Kind,
    Method,
    MethodRole,
    Requirement,
    Role,
)
from mlax_scaffold.spec.check_body import RESERVED, RESERVED_IN_FUNCTIONS, BodyChecker
from mlax_scaffold.spec.parse_imports import BASES, ImportReader
from mlax_scaffold.spec.parse_method import (
    docstring,
    names_of,
    read_inputs,
    read_method,
    role_of,
)
from mlax_scaffold.spec.parse_setup import SetupReader, read_requirement
from mlax_scaffold.spec.parse_source import Source, dotted
from mlax_scaffold.spec.parse_types import read_array_type, read_hyper_type

_SPECIAL = {
    Kind.LAYER: {"setup": MethodRole.SETUP, "forward": MethodRole.ENTRY},
    Kind.BLOCK: {"forward": MethodRole.ENTRY},
    Kind.OPTIMIZER: {
        "setup": MethodRole.SETUP,
        "update": MethodRole.UPDATE,
        "prepare": MethodRole.PREPARE,
        "step": MethodRole.STEP,
    },
    Kind.SCHEDULE: {"value": MethodRole.VALUE},
}
_SIGNATURES = {
    MethodRole.SETUP: {Kind.LAYER: ("self",), Kind.OPTIMIZER: ("self", "param")},
    MethodRole.UPDATE: {Kind.OPTIMIZER: ("self", "grad", "param")},
    MethodRole.PREPARE: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.STEP: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.VALUE: {Kind.SCHEDULE: ("self", "step")},
}
_REQUIRED = {
    Kind.LAYER: ("forward",),
    Kind.BLOCK: ("forward",),
    Kind.OPTIMIZER: ("update", "step"),
    Kind.SCHEDULE: ("value",),
}
_ROLES = {
    Kind.LAYER: (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER, Role.DERIVED),
    Kind.OPTIMIZER: (Role.MOMENT,),
}
MAX_SUMMARY = 81
"""Characters of a summary: it fits on one line of the generated module."""

_STRUCTURAL = {
    "Cell": "layer",
    "Stacked": "layer",
    
    "SubLayer": "layer",
    "SubLayers": "layers",
    "SubOptimizers": "optimizers",
}


def module_name(name: str) -> str:
    """The file name, without suffix, of the definition: snake case (`LSTMCell`: `lstm_cell`)."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return words.lower()


def read_spec(
    path: str, text: str, words: Iterable[str] = ()
) -> tuple[Definition | None, tuple[Diagnostic, ...]]:
    """Read one spec.

    Args:
        path: what errors call the file; posix, relative.
        text: the spec.
        words: names of the library's strict functions, importable from `mlax_scaffold.spec`.

    Returns:
        The definition, None where there is an error, and every error.
    """
    source = Source(path, text)
    tree = source.parse()
    definition = None
    if tree is not None:
        try:
            definition = _Reader(source, frozenset(words)).module(tree)
        except RecursionError:
            source.report(1, "nested too deeply to be read", "Split the expression.")
    if source.diagnostics:
        return None, tuple(sorted(set(source.diagnostics)))
    return definition, ()


class _Reader:
    def __init__(self, source: Source, words: frozenset[str]):
        self.source = source
        self.reader = ImportReader(source, words)

    def module(self, tree: ast.Module) -> Definition | None:
        definitions: list[ast.ClassDef | ast.FunctionDef] = []
        for statement in tree.body:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    self.reader.read(statement)
                case ast.ClassDef() | ast.FunctionDef():
                    definitions.append(statement)
                case ast.Expr(value=ast.Constant(value=str())) if (
                    statement is tree.body[0]
                ):
                    pass
                case _:
                    self.source.report(
                        statement,
                        "a spec holds imports and one definition, nothing else",
                    )
        if not definitions:
            self.source.report(
                1, "the spec defines nothing", "Write `class Name(Layer): ...`."
            )
            return None
        for extra in definitions[1:]:
            self.source.report(
                extra,
                f"a second definition, `{extra.name}`",
                f"One spec, one definition: move it to {module_name(extra.name)}.py.",
            )
        first = definitions[0]
        self._name(first)
        doc = docstring(first)
        if not doc.strip():
            self.source.report(
                first,
                f"{first.name} has no docstring",
                "Its first line is the summary in the documentation; cite the source.",
            )
        self._summary(first, doc)
        if isinstance(first, ast.FunctionDef):
            return self._function(first, doc)
        return self._class(first, doc)

    def _summary(self, node: ast.ClassDef | ast.FunctionDef, doc: str) -> None:
        first, _, rest = doc.strip().partition("\n")
        if rest.partition("\n")[0].strip() or len(first) > MAX_SUMMARY:
            self.source.report(
                node.body[0],
                f"the docstring of {node.name} does not begin with a summary",
                f"Begin with one line of at most {MAX_SUMMARY} characters, then a blank "
                "line.",
            )

    def _name(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        stem = self.source.path.rsplit("/", 1)[-1].removesuffix(".py")
        expected = module_name(node.name)
        if stem != expected:
            self.source.report(
                node,
                f"{node.name} is in {stem}.py",
                f"Rename the file {expected}.py: files are named after what they define.",
            )

    def _function(self, node: ast.FunctionDef, doc: str) -> Definition:
        if [dotted(d) for d in node.decorator_list] != ["function"]:
            self.source.report(
                node, "a function's spec is decorated with @function, and nothing else"
            )
        inputs, others = read_inputs(self.source, node.args)
        hyperparameters = []
        for arg, default in others:
            if arg not in node.args.kwonlyargs:
                self.source.report(
                    arg,
                    f"`{arg.arg}` is positional but not an array",
                    "Arrays are positional, hyperparameters keyword-only: put `*` "
                    "before it.",
                )
            elif arg.annotation is None:
                self.source.report(arg, f"`{arg.arg}` needs a word of the vocabulary")
            else:
                hyperparameters.append(
                    self._hyperparameter(
                        arg,
                        arg.arg,
                        arg.annotation,
                        default,
                        self._arg_doc(arg, default),
                        RESERVED_IN_FUNCTIONS,
                    )
                )
        for item in inputs:
            if item.keyword:
                self.source.report(node, f"the array `{item.name}` must be positional")
        returns = None
        if node.returns is None:
            self.source.report(node, f"the result of {node.name} needs a type")
        else:
            returns = read_array_type(self.source, node.returns)
        reserved = RESERVED_IN_FUNCTIONS
        BodyChecker(self.source, node, {}, reserved=reserved).check()
        names, bound = names_of(node)
        method = Method(
            node.name,
            MethodRole.ENTRY,
            doc,
            inputs,
            returns,
            names=names,
            bound=bound,
        )
        return self._definition(
            Kind.FUNCTION,
            node.name,
            doc,
            hyperparameters=tuple(h for h in hyperparameters if h),
            methods=(method,),
            requirements=tuple(self._requirements(node)),
        )

    def _arg_doc(self, arg: ast.arg, default: ast.expr | None) -> str:
        end = (default or arg).end_lineno
        return self.source.doc_comment(arg, end)

    def _class(self, node: ast.ClassDef, doc: str) -> Definition | None:
        bases = [ast.unparse(base) for base in node.bases]
        if len(bases) != 1 or bases[0] not in BASES or node.keywords:
            given = ", ".join(bases) or "no base"
            self.source.report(
                node.bases[0] if node.bases else node,
                f"{node.name} has {given}",
                (did_you_mean(given, tuple(BASES)) + " " if bases else "")
                + f"A spec's class has one base of {', '.join(BASES)}.",
            )
            return None
        for decorator in node.decorator_list:
            self.source.report(decorator, "a spec's class has no decorators")
        kind = BASES[bases[0]]
        hyperparameters: list[Hyperparameter] = []
        methods: list[ast.FunctionDef] = []
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    read = self._hyperparameter(
                        statement,
                        name,
                        statement.annotation,
                        statement.value,
                        self.source.doc_comment(statement),
                    )
                    if read is not None:
                        hyperparameters.append(read)
                case ast.FunctionDef():
                    methods.append(statement)
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.source.report(
                        statement,
                        f"the field `{name}` has no annotation",
                        f"Write `{name}: Size = ...`, for example.",
                    )
                case _:
                    self.source.report(
                        statement, "a spec's class holds annotated fields and methods"
                    )
        self._check_fields(hyperparameters)
        setup = SetupReader(self.source, self.reader.imports, _ROLES.get(kind, ()))
        for method in methods:
            if method.name == "setup" and kind in _ROLES:
                setup.read(method)
        attributes = self._attributes(
            kind, hyperparameters, setup.declarations, methods
        )
        read_methods = [
            self._method(kind, m, attributes, setup.declarations) for m in methods
        ]
        if not any(m.name in _REQUIRED[kind] for m in methods):
            wanted = " or ".join(_REQUIRED[kind])
            close = did_you_mean(_REQUIRED[kind][0], [m.name for m in methods])
            self.source.report(node, f"{node.name} has no method {wanted}", close)
        requirements = list(setup.requirements)
        for method in methods:
            if method.name != "setup":
                requirements += self._requirements(method)
        return self._definition(
            kind,
            node.name,
            doc,
            hyperparameters=tuple(hyperparameters),
            declarations=tuple(setup.declarations),
            requirements=tuple(requirements),
            methods=tuple(read_methods),
        )

    def _definition(self, kind: Kind, name: str, doc: str, **parts) -> Definition:
        return Definition(
            kind,
            name,
            module_name(name),
            doc,
            self.source.path,
            self.source.text,
            imports=tuple(self.reader.imports.values()),
            **parts,
        )

    def _hyperparameter(
        self,
        node: ast.AST,
        name: str,
        annotation: ast.expr,
        default: ast.expr | None,
        doc: str,
        reserved: frozenset[str] = RESERVED,
    ) -> Hyperparameter | None:
        kind = read_hyper_type(self.source, annotation)
        if name in reserved or keyword.issoftkeyword(name) or name.startswith("_"):
            self.source.report(
                node, f"`{name}` cannot name a hyperparameter", "Choose another name."
            )
        if not doc:
            self.source.report(
                node,
                f"the hyperparameter `{name}` is not documented",
                "Add a `#: ...` comment after it.",
            )
        if default is not None and not self._constant(default):
            self.source.report(
                default,
                "a default is a literal or a dotted name",
                "For example 1, (1, 1), None, jax.nn.relu.",
            )
        if kind is None:
            return None
        text = None if default is None else self.source.segment(default)
        return Hyperparameter(name, kind, text, doc, self.source.location(node))

    def _constant(self, node: ast.expr) -> bool:
        if dotted(node):
            return True
        try:
            ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False
        return True

    def _check_fields(self, hyperparameters: list[Hyperparameter]) -> None:
        seen: dict[str, Hyperparameter] = {}
        defaulted = ""
        for h in hyperparameters:
            line = h.location.line
            if h.name in seen:
                self.source.report(line, f"`{h.name}` is declared twice")
            if h.default is None and defaulted:
                self.source.report(
                    line,
                    f"`{h.name}` has no default but follows `{defaulted}`, which has one",
                    "Required hyperparameters come first.",
                )
            if h.default is not None:
                defaulted = h.name
            per_axis = h.type.per_dim or h.type.word.name == "Padding"
            if per_axis and "spatial_dims" not in seen:
                self.source.report(
                    line,
                    f"`{h.name}` is per axis, but no `spatial_dims` stands before it",
                    "Add `spatial_dims: Size  #: number of spatial axes` above.",
                )
            seen[h.name] = h

    def _attributes(
        self,
        kind: Kind,
        hyperparameters: list[Hyperparameter],
        declarations: list[Declaration],
        methods: list[ast.FunctionDef],
    ) -> dict[str, str]:
        """What each attribute of self is."""
        attributes = {
            h.name: _STRUCTURAL.get(h.type.word.name, "hyperparameter")
            for h in hyperparameters
        }
        for declaration in declarations:
            if declaration.name in attributes or declaration.name in RESERVED:
                assert declaration.location is not None
                self.source.report(
                    declaration.location.line,
                    f"self.{declaration.name} is already something else",
                    "Choose another name.",
                )
            attributes[declaration.name] = declaration.role.value
        special = _SPECIAL[kind]
        for method in methods:
            if method.name not in special:
                attributes[method.name] = "method"
        if kind in (Kind.LAYER, Kind.BLOCK):
            attributes |= {"training": "training", "key": "key"}
        if kind is Kind.BLOCK:
            attributes["keys"] = "keys"
        if kind is Kind.OPTIMIZER:
            attributes["step"] = "step"
            for method in methods:
                if method.name == "prepare":
                    for n in ast.walk(method):
                        if isinstance(n, ast.Attribute) and isinstance(
                            n.ctx, ast.Store
                        ):
                            attributes.setdefault(n.attr, "coefficient")
        return attributes

    def _method(
        self,
        kind: Kind,
        node: ast.FunctionDef,
        attributes: dict[str, str],
        declarations: list[Declaration],
    ) -> Method:
        role = role_of(node, _SPECIAL[kind])
        expected = _SIGNATURES.get(role, {}).get(kind)
        given = tuple(a.arg for a in node.args.args)
        if expected and given != expected:
            self.source.report(
                node,
                f"{node.name} takes ({', '.join(given)})",
                f"Write `def {node.name}({', '.join(expected)})`.",
            )
        if role is MethodRole.HYPER and node.name.startswith("_"):
            self.source.report(node, "a spec's methods are public", "Remove the `_`.")
        assignable = {
            d.name for d in declarations if d.role in (Role.STATE, Role.MOMENT)
        }
        if role is not MethodRole.SETUP:
            known = attributes
            if role in (MethodRole.HYPER, MethodRole.PROPERTY):
                known = {
                    name: what
                    for name, what in attributes.items()
                    if what
                    in ("hyperparameter", "derived", "method", "layer", "sub-layer")
                }
            checker = BodyChecker(
                self.source,
                node,
                known,
                assignable=frozenset(
                    {n for n, what in attributes.items() if what == "coefficient"}
                    if role is MethodRole.PREPARE
                    else assignable
                ),
                any_assignment=role is MethodRole.PREPARE,
            )
            checker.check()
        if role is not MethodRole.SETUP:
            self._summary(node, docstring(node))
        return read_method(self.source, node, role, attributes)

    def _requirements(self, node: ast.FunctionDef) -> list[Requirement]:
        found = []
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and dotted(call.func) == "require":
                requirement = read_requirement(self.source, call, node.name)
                if requirement:
                    found.append(requirement)
        return found
