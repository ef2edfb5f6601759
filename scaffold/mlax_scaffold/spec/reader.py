"""Reads the text of a spec into a `Definition`. Nothing of the spec is executed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable
from copy import copy

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition, Import, Kind, Method, MethodRole
from mlax_scaffold.model.import_time import inlined
from mlax_scaffold.model.reserved import RESERVED_IN_FUNCTIONS
from mlax_scaffold.spec.check_body import BodyChecker
from mlax_scaffold.spec.check_defaults import check_defaults
from mlax_scaffold.spec.check_keys import check_keys
from mlax_scaffold.spec.check_syntax import check_syntax
from mlax_scaffold.spec.check_uses import UseChecker
from mlax_scaffold.spec.kinds import SPECIAL
from mlax_scaffold.spec.parse_class import ClassReader
from mlax_scaffold.spec.parse_fields import check_fields, read_hyperparameter
from mlax_scaffold.spec.parse_helpers import HelperReader, is_definition
from mlax_scaffold.spec.parse_imports import BASES, ImportReader
from mlax_scaffold.spec.parse_method import (
    check_returns,
    docstring,
    names_of,
    parameter,
    read_inputs,
)
from mlax_scaffold.spec.parse_requirements import requirements_of
from mlax_scaffold.spec.parse_source import Source, dotted
from mlax_scaffold.spec.parse_types import read_array_type


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
        check_syntax(source, tree)
    if tree is not None and not source.diagnostics:
        try:
            definition = _Reader(source, frozenset(words)).module(tree)
        except RecursionError:
            source.report(1, "nested too deeply to be read", "Split the expression.")
        if not source.diagnostics:
            source.check_compiles(tree)
    if source.diagnostics:
        return None, tuple(sorted(set(source.diagnostics)))
    return definition, ()


_Definition = ast.ClassDef | ast.FunctionDef


class _Reader:
    def __init__(self, source: Source, words: frozenset[str]):
        self.source = source
        self.reader = ImportReader(source, words)
        self.helpers = HelperReader(source, self.reader.imports)

    def module(self, tree: ast.Module) -> Definition | None:
        body = tree.body[_documented(tree) :]
        beside: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.reader.read(statement)
            else:
                beside.append(statement)
        defining = [s for s in beside if isinstance(s, ast.ClassDef | ast.FunctionDef)]
        sure = [s for s in defining if is_definition(s, BASES)]
        # Where nothing says that it is the definition, what is wrong with it will be told.
        classes = [s for s in defining if isinstance(s, ast.ClassDef)]
        definitions = sure or classes[:1] or defining[-1:]
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
        for statement in beside:
            if statement not in definitions:
                self._helper(statement, first.name)
        self._name(first)
        doc = docstring(first)
        if not doc.strip():
            self.source.report(
                first,
                f"{first.name} has no docstring",
                "Its first sentence is the summary in the documentation; cite the source.",
            )
        self.names = _names(first)
        read = self._with_constants(first)
        self._check_defaults(read)
        if isinstance(read, ast.FunctionDef):
            return self._function(read, doc)
        found = ClassReader(self.source, self.known).read(read)
        if found is None:
            return None
        kind, parts = found
        attributes = [
            *(h.name for h in (*parts["hyperparameters"], *parts["initializers"])),
            *(d.name for d in parts["declarations"]),
            *(m.name for m in parts["methods"]),
            *SPECIAL[kind],
        ]
        self.helpers.check_names(first.name, attributes)
        return self._definition(kind, first, doc, **parts)

    def _helper(self, statement: ast.stmt, definition: str) -> None:
        """What stands beside the definition."""
        match statement:
            case ast.FunctionDef():
                self.helpers.function(statement)
            case ast.Assign() | ast.AnnAssign():
                self.helpers.constant(statement)
            case ast.ClassDef(name=name):
                self.source.report(
                    statement,
                    f"a class, `{name}`, beside {definition}",
                    f"Write functions; a layer goes to {module_name(name)}.py.",
                )
            case _:
                self.source.report(
                    statement,
                    "a spec holds imports, constants, functions and one definition, "
                    "nothing else",
                )

    @property
    def known(self) -> dict[str, Import]:
        """What names of the module stand for: its imports, and the functions in it."""
        own = {name: Import(name, ".here", name) for name in self.helpers.functions}
        return {**self.reader.imports, **own}

    def _check_defaults(self, node: _Definition) -> None:
        """Report functions of the module as defaults, which other modules show, too."""
        values: list[ast.expr | None] = []
        if isinstance(node, ast.FunctionDef):
            values += node.args.kw_defaults
        else:
            values += [s.value for s in node.body if isinstance(s, ast.AnnAssign)]
        for value in values:
            if isinstance(value, ast.Name) and value.id in self.helpers.functions:
                self.source.report(
                    value,
                    f"`{value.id}`, beside the definition, cannot be a default",
                    f"Make it a spec of its own, functional/{value.id}.py, and import "
                    f"it; or let the default be None, and use `{value.id}` for None.",
                )

    def _with_constants(self, node: _Definition) -> _Definition:
        """The definition with the values of constants in it, as pages and signatures show them."""
        for part in (*self.helpers.functions.values(), node):
            self.helpers.check_changes(part)
        if not self.helpers.constants:
            return node
        node = copy(node)
        if isinstance(node, ast.ClassDef):
            node.body = [inlined(part, self.helpers.constants) for part in node.body]
            return node
        return inlined(node, self.helpers.constants)

    def _name(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        stem = self.source.path.rsplit("/", 1)[-1].removesuffix(".py")
        expected = module_name(node.name)
        if keyword.iskeyword(expected):
            self.source.report(
                node,
                f"`{expected}`, the module of {node.name}, is a keyword of Python",
                "Choose another name.",
            )
        imported = self.reader.imports.get(node.name)
        # That a spec imports itself is told with what it refers to.
        if imported is not None and imported.reference is None:
            self.source.report(
                node,
                f"{node.name} is defined, and imported as well",
                "Give it another name, or import the other one by `as`.",
            )
        if not re.fullmatch(r"[\w-]+", stem):
            self.source.report(
                node,
                f"`{stem}.py` cannot be the name of a spec's file",
                f"Name it with letters, digits, `_` and `-`, such as {expected}.py.",
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
                    read_hyperparameter(
                        self.source,
                        arg,
                        arg.arg,
                        arg.annotation,
                        default,
                        Kind.FUNCTION,
                        self.known,
                        RESERVED_IN_FUNCTIONS,
                    )
                )
        for item in inputs:
            if item.keyword:
                self.source.report(
                    parameter(node, item.name),
                    f"the array `{item.name}` must be positional",
                    "Put it before the `*`.",
                )
            if item.name in RESERVED_IN_FUNCTIONS:
                self.source.report(
                    parameter(node, item.name),
                    f"`{item.name}` is a name of the generated function",
                    f"Choose another name, such as `{item.name}_`.",
                )
        if not inputs and not others[: len(node.args.args)]:
            self.source.report(
                node,
                f"{node.name} takes no array",
                'Write `def name(x: Float["..."]) -> Float["..."]`.',
            )
        check_defaults(self.source, node.args, self.known)
        fields = [h for h in hyperparameters if h is not None]
        check_fields(self.source, fields)
        returns = None
        if node.returns is None:
            self.source.report(node, f"the result of {node.name} needs a type")
        else:
            returns = read_array_type(self.source, node.returns)
        reserved = RESERVED_IN_FUNCTIONS
        BodyChecker(
            self.source, node, {}, imports=self.reader.imports, reserved=reserved
        ).check()
        UseChecker(self.source, node, {}).check()
        check_keys(self.source, node, {})
        check_returns(self.source, node)
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
        self.helpers.check_names(node.name, ())
        return self._definition(
            Kind.FUNCTION,
            node,
            doc,
            hyperparameters=tuple(fields),
            methods=(method,),
            requirements=tuple(requirements_of(self.source, node)),
        )

    def _definition(
        self, kind: Kind, node: _Definition, doc: str, **parts
    ) -> Definition:
        return Definition(
            kind,
            node.name,
            module_name(node.name),
            doc,
            self.source.path,
            self.source.text,
            imports=tuple(self.reader.imports.values()),
            helpers=self.helpers.used(self.names),
            **parts,
        )


def _documented(tree: ast.Module) -> int:
    """The number of statements at the top that are the docstring: one or none."""
    return int(ast.get_docstring(tree, clean=False) is not None)


def _names(node: _Definition) -> set[str]:
    """The names that the generated code of a definition may read: not those of its fields."""
    found: set[str] = set()
    parts = node.body
    for part in parts:
        if isinstance(node, ast.FunctionDef) or isinstance(part, ast.FunctionDef):
            found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    return found
