"""Reads what stands beside the definition of a spec: functions and constants, its helpers."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from mlax_scaffold.model.definition import Helper, Import
from mlax_scaffold.model.import_time import inlined
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.spec.check_defaults import check_type
from mlax_scaffold.spec.check_helpers import check_constant, check_function
from mlax_scaffold.spec.parse_imports import is_taken
from mlax_scaffold.spec.parse_method import names_of
from mlax_scaffold.spec.parse_source import Source, dotted
from mlax_scaffold.spec.parse_types import (
    ARRAY_KINDS,
    read_array_type,
    read_hyper_type,
)

MAX_NODES = 1000
"""Parts of a constant, with those of the constants in it: tables are longer only by mistake."""

_MADE = ("", "Hyperparams", "NonTrainables", "State", "Trainables")
"""Ends of the names of the classes that are generated for a definition."""


@dataclass
class HelperReader:
    """Collects the helpers of one spec."""

    source: Source
    imports: Mapping[str, Import]
    helpers: dict[str, Helper] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    """Values of the constants so far, with no other constant in them."""
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def constant(self, node: ast.Assign | ast.AnnAssign) -> None:
        """Read `NAME = value`."""
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        several = isinstance(node, ast.Assign) and len(node.targets) > 1
        if several or not isinstance(target, ast.Name) or node.value is None:
            self.source.report(
                node,
                "a constant is one name and its value",
                "Write `NAME = value`, each in a statement of its own.",
            )
            return
        value = inlined(node.value, self.constants)
        if sum(1 for _ in ast.walk(value)) > MAX_NODES:
            self.source.report(node, f"the constant `{target.id}` is too long")
            return
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        given = self.imports, self.functions
        if not check_constant(self.source, target.id, value, annotation, *given):
            # What is wrong with it is one finding, not one for each of its uses.
            value = ast.Constant(None)
        self.constants[target.id] = value
        self._add(
            node,
            Helper(
                target.id,
                frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name)),
                value=ast.unparse(value),
                location=self.source.location(node),
            ),
        )

    def function(self, node: ast.FunctionDef) -> None:
        """Read `def name(...)`."""
        read = inlined(node, self.constants)
        types = tuple(self._types(read))
        check_function(self.source, read, self.imports, self.functions)
        self.functions[node.name] = node
        names, bound = names_of(node)
        defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        names |= {
            n.id for d in defaults for n in ast.walk(d) if isinstance(n, ast.Name)
        }
        place = self.source.location(node)
        self._add(node, Helper(node.name, names - bound, types, location=place))

    def _types(self, node: ast.FunctionDef) -> Iterable[tuple[str, str]]:
        """The parameters whose types have words of specs in them, with what these stand for."""
        args = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        pairs = [(a.arg, a.annotation) for a in args] + [("return", node.returns)]
        words = _Words(self.source)
        for name, annotation in pairs:
            if annotation is not None:
                plain = words.visit(deepcopy(annotation))
                check_type(self.source, plain)
                if ast.dump(plain) != ast.dump(annotation):
                    yield name, ast.unparse(plain)

    def _add(self, node: ast.stmt, helper: Helper) -> None:
        name = helper.name
        if name in self.helpers or name in self.imports:
            self.source.report(
                node, f"`{name}` is defined twice", "Choose another name."
            )
        self.helpers[name] = helper

    def check_names(self, definition: str, attributes: Collection[str]) -> None:
        """Report helpers that the generated module would use the names of.

        Args:
            definition: the name of the definition.
            attributes: what `self` has, of a class; each may become a local or a function.
        """
        made = {f"{definition}{end}" for end in _MADE}
        for name, helper in self.helpers.items():
            reason = ""
            if name in self.imports:
                continue
            if name in made or name in RESERVED or is_taken(name):
                reason = "a name of the generated module, or a word of specs"
            elif name.startswith("__"):
                reason = "a name of Python's own"
            elif name in vars(builtins):
                reason = "a function of Python, which the generated module calls"
            elif name in attributes:
                reason = f"an attribute of {definition}, too"
            if reason:
                assert helper.location is not None
                self.source.report(
                    helper.location.line,
                    f"`{name}`, beside {definition}, is {reason}",
                    f"Choose another name, such as `{name.strip('_')}_of`."
                    if name.startswith("_")
                    else f"Choose another name, such as `_{name}`.",
                )

    def used(self, names: Iterable[str]) -> tuple[Helper, ...]:
        """The helpers that these names stand for, and those that they use, in order."""
        found: set[str] = set()
        pending = [name for name in names if name in self.helpers]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += [n for n in self.helpers[name].names if n in self.helpers]
        return tuple(h for name, h in self.helpers.items() if name in found)

    def check_changes(self, tree: ast.AST) -> None:
        """Report what changes a constant: each call would see what another left."""
        for node in ast.walk(tree):
            match node:
                case ast.Subscript(ctx=ast.Store() | ast.Del()):
                    name = _root(node)
                case ast.Call(func=ast.Attribute(value=owner, attr=attr)):
                    name = _root(owner) if attr in _CHANGING else ""
                case _:
                    continue
            if name in self.constants:
                self.source.report(
                    node,
                    f"the constant `{name}` cannot be changed",
                    f"Change a copy, made in the function: `own = {name}.copy()`.",
                )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_CHANGING = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse")
) | {"setdefault", "sort", "update"}


class _Words(ast.NodeTransformer):
    """What the words of a type stand for, in a generated module."""

    def __init__(self, source: Source):
        self.source = source

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ARRAY_KINDS:
            array = read_array_type(self.source, node)
            return node if array is None else _expression(node, array.annotation)
        if node.id in WORDS:
            return _expression(node, WORDS[node.id].canonical)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node.value:
            case ast.Name(id="Float" | "Int" | "Bool"):
                array = read_array_type(self.source, node)
                return _expression(node, "Any" if array is None else array.annotation)
            case ast.Name(id="PerDim"):
                kind = read_hyper_type(self.source, node)
                return _expression(node, "Any" if kind is None else kind.canonical)
            case ast.Name(id="Literal"):
                return node
        return self.generic_visit(node)


def _expression(node: ast.expr, text: str) -> ast.expr:
    return ast.copy_location(ast.parse(text, mode="eval").body, node)


def is_definition(node: ast.stmt, bases: Collection[str]) -> bool:
    """Whether a statement is what the spec defines, by its base or its decorator."""
    match node:
        case ast.ClassDef(bases=given):
            return any(dotted(base) in bases for base in given)
        case ast.FunctionDef(decorator_list=decorators):
            return any(dotted(d) == "function" for d in decorators)
    return False
