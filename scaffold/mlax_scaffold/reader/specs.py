"""Reads the text of a spec into a `Definition`. Nothing of the spec is executed."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from types import MappingProxyType

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import (
    Definition,
    Import,
    Kind,
    Method,
    MethodRole,
)
from mlax_scaffold.model.expressions import Origin
from mlax_scaffold.model.import_time import inlined
from mlax_scaffold.model.reserved import RESERVED_IN_FUNCTIONS
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.body import BodyChecker
from mlax_scaffold.reader.checks.defaults import check_defaults
from mlax_scaffold.reader.checks.definition_names import check_definition_name
from mlax_scaffold.reader.checks.handed_states import check_handed_states
from mlax_scaffold.reader.checks.keys import check_keys
from mlax_scaffold.reader.checks.schedules import check_schedule
from mlax_scaffold.reader.checks.syntax import check_syntax
from mlax_scaffold.reader.checks.unbound import check_unbound
from mlax_scaffold.reader.checks.uses import UseChecker
from mlax_scaffold.reader.classes import ClassReader
from mlax_scaffold.reader.compared import compared_texts
from mlax_scaffold.reader.containers import LAYERS, resolved_source
from mlax_scaffold.reader.derivatives import read_decorators
from mlax_scaffold.reader.fields import check_fields, read_hyperparameter
from mlax_scaffold.reader.files import library_text
from mlax_scaffold.reader.helpers import HelperReader, is_definition
from mlax_scaffold.reader.homes import home, module_name
from mlax_scaffold.reader.imports import BASES, ImportReader, spec_words
from mlax_scaffold.reader.inheritance import flattened
from mlax_scaffold.reader.inputs import (
    check_positional,
    not_by_keyword,
    parameter,
    read_inputs,
)
from mlax_scaffold.reader.kinds import SPECIAL
from mlax_scaffold.reader.methods import check_returns, docstring, names_of
from mlax_scaffold.reader.plain_types import read_result_type
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.docstrings import documented
from mlax_scaffold.reader.requirements import requirements_of
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.small_classes import kind_of
from mlax_scaffold.reader.source import Source


def read_spec(
    path: str, text: str, words: Iterable[str] = (), *, foreign: bool = False
) -> tuple[Definition | None, tuple[Diagnostic, ...]]:
    """Read one spec.

    Args:
        path: what errors call the file; posix, relative.
        text: the spec.
        words: names of the library's strict functions, importable from `mlax_scaffold.spec`.
        foreign: whether it may import modules of one's own, and of installed packages.

    Returns:
        The last definition, None where there is an error, and every error.
    """
    found, problems = read_specs(path, text, words, foreign=foreign)
    return next(reversed(found), None), problems


def read_specs(
    path: str,
    text: str,
    words: Iterable[str] = (),
    *,
    foreign: bool = False,
    files: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> tuple[tuple[Definition, ...], tuple[Diagnostic, ...]]:
    """Read all definitions of a file: the last one may be built on those before it.

    `files` are the texts of the other specs, by section and name of the file: what classes are based on.

    Returns:
        The definitions, none where there is an error, and every error.
    """
    source = Source(path, text)
    tree = source.parse()

    def texts(imported: ast.ImportFrom | None, name: str) -> str | None:
        if imported is None:
            return text
        place = tuple((imported.module or "").split(".")[-2:])
        if len(place) != 2 or place[0] not in LAYERS:
            return None
        return files.get(place) or library_text(*place)

    definitions: list[Definition] = []
    if tree is not None:
        check_syntax(source, tree)
    if tree is not None and not source.diagnostics:
        whole = flattened(source.text, texts, BASES)
        if whole is not None:
            source = Source(path, text, resolved=whole)
            tree = source.parse()
    if tree is not None and not source.diagnostics:
        imports = ImportReader(Source(path, text), frozenset(words), foreign)
        source = resolved_source(source, tree, imports, texts)
        tree = source.parse()
    if tree is not None and not source.diagnostics:
        try:
            definitions = _Reader(source, frozenset(words), foreign).module(tree)
            check_unbound(source, spec_words(words), home)
        except RecursionError:
            source.report(1, "nested too deeply to be read", "Split the expression.")
        if not source.diagnostics:
            source.check_compiles(tree)
    if source.diagnostics:
        return (), tuple(sorted(set(source.diagnostics)))
    return tuple(definitions), ()


def _is_main(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and "__name__" in unparsed(node.test)


_Definition = ast.ClassDef | ast.FunctionDef


class _Reader:
    def __init__(self, source: Source, words: frozenset[str], foreign: bool):
        self.source = source
        self.reader = ImportReader(source, words, foreign)
        self.helpers = HelperReader(source, self.reader.imports)

    def module(self, tree: ast.Module) -> list[Definition]:
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
        classes = [c for c in classes if not kind_of(c, self.reader.imports)]
        definitions = sure or classes[:1] or defining[-1:]
        if not definitions:
            self.source.report(
                1, "the spec defines nothing", "Write `class Name(Layer): ...`."
            )
            return []
        for statement in beside:
            if statement not in definitions:
                self._helper(statement, definitions[-1].name)
        found = []
        for node in definitions:
            definition = self._read(node)
            if definition is not None:
                several = len(definitions) > 1
                found.append(replace(definition, several=several))
                self._import(definition)
        return found

    def _import(self, definition: Definition) -> None:
        """Those that follow in the file may be built on a definition."""
        reference, name = definition.reference, definition.name
        stem = self.source.path.rsplit("/", 1)[-1].removesuffix(".py")
        imported = Import(name, reference.section, name, reference, stem)
        self.reader.imports[name] = imported

    def _read(self, first: _Definition) -> Definition | None:
        self._name(first)
        doc = docstring(first)
        if not doc.strip():
            self.source.report(
                first,
                f"{first.name} has no docstring",
                "Write what it computes, and its source, below this line: its first "
                "sentence is the summary in the documentation.",
                fix=documented(self.source, first),
            )
        self.names = _names(first)
        read = self._with_constants(first)
        if isinstance(first, ast.FunctionDef) and check_schedule(self.source, first):
            return None
        if isinstance(first, ast.ClassDef) and check_handed_states(self.source, first):
            return None
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
            case ast.ClassDef() if kind_of(statement, self.reader.imports):
                self.helpers.small_class(statement)
            case ast.ClassDef():
                self.helpers.other_class(statement, definition)
            case _ if self.helpers.rule(statement):
                pass
            case _:
                self.source.report(
                    statement,
                    "a spec holds imports, constants, functions and one definition, "
                    "nothing else",
                    "It is read as text, and never run: what runs goes elsewhere.",
                    fix=Fix((removed(self.source, statement),))
                    if _is_main(statement)
                    else None,
                )

    @property
    def known(self) -> dict[str, Import]:
        """What names of the module stand for: its imports, and the functions in it."""
        return self.helpers.known

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
        check_definition_name(self.source, node, Kind.FUNCTION)
        gradients = read_decorators(self.source, node)
        inputs, others = read_inputs(self.source, node.args, self.known, several=True)
        hyperparameters = []
        for arg, default in others:
            if arg not in node.args.kwonlyargs or arg.annotation is None:
                not_by_keyword(self.source, node, arg, default, others)
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
        check_positional(self.source, node, inputs)
        for item in inputs:
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
        returns = read_result_type(self.source, node.returns, self.known)
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
        scope = (
            Scope(self.source, self.known)
            .within(Origin.LOCAL, bound)
            .within(Origin.INPUT, [item.name for item in inputs])
            .within(Origin.HYPERPARAMETER, [h.name for h in fields])
        )
        return self._definition(
            Kind.FUNCTION,
            node,
            doc,
            hyperparameters=tuple(fields),
            methods=(method,),
            requirements=tuple(requirements_of(scope, node)),
            **gradients,
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
            self.source.written,
            self.source.location(node),
            imports=tuple(self.reader.imports.values()),
            resolved=self.source.resolved,
            helpers=self.helpers.used(self.names),
            texts=compared_texts(node, self.helpers.constants),
            **self.helpers.facts(node, self.names),
            **parts,
        )


def _documented(tree: ast.Module) -> int:
    """The number of statements at the top that are the docstring: one or none."""
    return int(ast.get_docstring(tree, clean=False) is not None)


def _names(node: _Definition) -> set[str]:
    """The names that the generated code of a definition may read: not those of its fields."""
    found: set[str] = set()
    parts: list[ast.AST] = [*node.body]
    if isinstance(node, ast.FunctionDef):
        types = (a.annotation for a in (*node.args.posonlyargs, *node.args.args))
        parts += filter(None, (*node.args.kw_defaults, *types, node.returns))
    for part in parts:
        if isinstance(node, ast.FunctionDef) or isinstance(part, ast.FunctionDef):
            found |= {n.id for n in walk(part) if isinstance(n, ast.Name)}
        elif isinstance(part, ast.AnnAssign):
            given = (*walk(part.annotation), part.value)
            found |= {n.id for n in given if isinstance(n, ast.Name)}
    return found
