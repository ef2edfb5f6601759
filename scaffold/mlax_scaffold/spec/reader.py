"""Reads the text of a spec into a `Definition`. Nothing of the spec is executed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable

from mlax_scaffold.errors import Diagnostic
from mlax_scaffold.model.definition import Definition, Kind, Method, MethodRole
from mlax_scaffold.model.reserved import RESERVED_IN_FUNCTIONS
from mlax_scaffold.spec.check_body import BodyChecker
from mlax_scaffold.spec.check_defaults import check_defaults
from mlax_scaffold.spec.check_keys import check_keys
from mlax_scaffold.spec.check_syntax import check_syntax
from mlax_scaffold.spec.check_uses import UseChecker
from mlax_scaffold.spec.parse_class import ClassReader
from mlax_scaffold.spec.parse_fields import check_fields, read_hyperparameter
from mlax_scaffold.spec.parse_imports import ImportReader
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
                "Its first sentence is the summary in the documentation; cite the source.",
            )
        if isinstance(first, ast.FunctionDef):
            return self._function(first, doc)
        read = ClassReader(self.source, self.reader.imports).read(first)
        if read is None:
            return None
        kind, parts = read
        return self._definition(kind, first.name, doc, **parts)

    def _name(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        stem = self.source.path.rsplit("/", 1)[-1].removesuffix(".py")
        expected = module_name(node.name)
        if keyword.iskeyword(expected):
            self.source.report(
                node,
                f"`{expected}`, the module of {node.name}, is a keyword of Python",
                "Choose another name.",
            )
        if node.name in self.reader.imports:
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
                        self.reader.imports,
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
        check_defaults(self.source, node.args, self.reader.imports)
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
        return self._definition(
            Kind.FUNCTION,
            node.name,
            doc,
            hyperparameters=tuple(fields),
            methods=(method,),
            requirements=tuple(requirements_of(self.source, node)),
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
