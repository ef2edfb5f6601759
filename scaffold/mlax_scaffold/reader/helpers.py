"""Reads what stands beside the definition of a spec: functions, constants and small classes."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from mlax_scaffold.model.complex_numbers import makes_complex
from mlax_scaffold.model.definition import Helper, Import
from mlax_scaffold.model.import_time import inlined
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.defaults import check_type
from mlax_scaffold.reader.checks.helpers import (
    as_function,
    check_constant,
    check_function,
    is_plain,
)
from mlax_scaffold.reader.derivatives import (
    given_rules,
    is_function,
    read_rule,
    stops_gradients,
)
from mlax_scaffold.reader.imports import is_taken
from mlax_scaffold.reader.methods import docstring, names_of
from mlax_scaffold.reader.named_dtypes import named_dtypes, widens_calls_alone
from mlax_scaffold.reader.plain_types import plain_type
from mlax_scaffold.reader.remedies.aliases import is_type, spelled_out
from mlax_scaffold.reader.remedies.bodies import one_by_one
from mlax_scaffold.reader.remedies.configurations import as_fields
from mlax_scaffold.reader.remedies.helpers import helper_named
from mlax_scaffold.reader.remedies.trees import named_tuple
from mlax_scaffold.reader.resolution import HERE, Scope
from mlax_scaffold.reader.small_classes import read_small_class
from mlax_scaffold.reader.source import Source, dotted

MAX_NODES = 1000
"""Parts of a constant, with those of the constants in it: tables are longer only by mistake."""

_MADE = ("", "Hyperparams", "NonTrainables", "State", "Trainables")
"""Ends of the names of the classes that are generated for a definition."""


@dataclass
class HelperReader:
    """Collects the helpers of one spec."""

    source: Source
    imports: dict[str, Import]
    helpers: dict[str, Helper] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)
    """Values of the constants so far that pages show, with no other constant in them."""
    values: set[str] = field(default_factory=set)
    """The names of all constants so far."""
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    wrapped: dict[str, str] = field(default_factory=dict)
    """Those with derivatives of their own, with `jax.custom_jvp` or `jax.custom_vjp`."""
    becoming: set[str] = field(default_factory=set)
    """Classes of no kind that a spec holds, of which an edit makes NamedTuples."""

    def constant(self, node: ast.Assign | ast.AnnAssign) -> None:
        """Read `NAME = value`."""
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        several = isinstance(node, ast.Assign) and len(node.targets) > 1
        if several or not isinstance(target, ast.Name) or node.value is None:
            self.source.report(
                node,
                "a constant is one name and its value",
                "Write `NAME = value`, each in a statement of its own.",
                fix=one_by_one(self.source, node)
                if several or isinstance(node.value, ast.Tuple)
                else None,
            )
            return
        if isinstance(node.value, ast.Lambda):
            self.function(as_function(target.id, node.value))
            return
        if is_type(node.value) and not isinstance(node.value, ast.Name):
            self.source.report(
                node,
                f"`{target.id}` is a type, which stands where it is used",
                f"Write `{unparsed(node.value)}` there.",
                fix=spelled_out(self.source, target.id, node),
            )
            return
        value = inlined(node.value, self.constants)
        if sum(1 for _ in walk(value)) > MAX_NODES:
            self.source.report(node, f"the constant `{target.id}` is too long")
            return
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        given = {n: Import(n, HERE, n, is_tuple=True) for n in self.becoming}
        given |= self.known
        if not check_constant(self.source, target.id, value, annotation, given):
            # What is wrong with it is one finding, not one for each of its uses.
            value = ast.Constant(None)
        self.values.add(target.id)
        plain = is_plain(value, given)
        if plain:
            self.constants[target.id] = value
        self._add(
            node,
            Helper(
                target.id,
                frozenset(n.id for n in walk(node) if isinstance(n, ast.Name)),
                value=Scope(self.source, given).expression(value) if plain else None,
                kind="constant",
                location=self.source.location(node),
            ),
        )

    def function(self, node: ast.FunctionDef) -> None:
        """Read `def name(...)`."""
        read = inlined(node, self.constants)
        types = tuple(types_of(self.source, read))
        meanings = {n: imported.meaning for n, imported in self.known.items()}
        wrapper, owner = given_rules(self.source, read, meanings, self.wrapped)
        check_function(self.source, read, self.imports, self.known)
        self.functions[node.name] = node
        if wrapper:
            self.wrapped[node.name] = wrapper
        if owner:
            self._ruled(owner, {node.name})
        names, bound = names_of(node)
        defaults = (*node.args.defaults, *filter(None, node.args.kw_defaults))
        names |= {n.id for d in defaults for n in walk(d) if isinstance(n, ast.Name)}
        place = self.source.location(node)
        doc = docstring(node)
        self._add(
            node, Helper(node.name, names - bound, types, doc=doc, location=place)
        )

    def rule(self, node: ast.stmt) -> bool:
        """Read `f.defvjp(forward, backward)`; False for any other statement."""
        found = read_rule(self.source, node, self.wrapped)
        if found is None:
            return False
        owner, names = found
        name = f"{owner}.defvjp"
        place = self.source.location(node)
        self._add(node, Helper(name, frozenset(names), kind="rule", location=place))
        self._ruled(owner, {name})
        return True

    def _ruled(self, owner: str, names: set[str]) -> None:
        """What a function uses with its rules."""
        helper = self.helpers.get(owner)
        if helper is not None:
            self.helpers[owner] = replace(helper, names=helper.names | names)

    def small_class(self, node: ast.ClassDef) -> None:
        """Read a NamedTuple or an enumeration."""
        self._add(node, read_small_class(self.source, node, self.known))

    def other_class(self, node: ast.ClassDef, definition: str) -> None:
        """Report a class that is of no kind that a spec holds."""
        becomes = named_tuple(self.source, node)
        if becomes is not None:
            self.becoming.add(node.name)
        self.source.report(
            node,
            f"a class, `{node.name}`, beside {definition}",
            "A class beside it is a layer, a NamedTuple, a TypedDict or an Enum; others "
            "are written as functions.",
            fix=as_fields(self.source, node) or becomes,
        )

    @property
    def known(self) -> dict[str, Import]:
        """What names of the module stand for: its imports, and what is defined in it so far."""
        own = {
            name: Import(
                name,
                HERE,
                name,
                members=h.members if h.kind == "Enum" else (),
                array=h.array,
                is_tuple=h.kind == "NamedTuple",
            )
            for name, h in self.helpers.items()
            if name not in self.constants
        }
        return {**self.imports, **own}

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
                bare = name.strip("_")
                other = f"{bare}_of" if name.startswith("_") else f"_{name}"
                self.source.report(
                    helper.location.line,
                    f"`{name}`, beside {definition}, is {reason}",
                    f"Choose another name, such as `{other}`.",
                    fix=helper_named(self.source, name, other),
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

    def facts(self, definition: ast.stmt, names: Iterable[str]) -> dict[str, Any]:
        """What a definition, or what it uses of them, computes with, as its fields."""
        used = [h.name for h in self.used(names)]
        parts = {**self.functions, **self.constants}
        trees = [definition, *(tree for name, tree in parts.items() if name in used)]
        meanings = {n: imported.meaning for n, imported in self.known.items()}
        return {
            "complex_numbers": makes_complex(trees, meanings),
            "stops_gradients": stops_gradients(trees, meanings),
            "named_dtypes": named_dtypes(trees, meanings),
            "widens_calls_alone": widens_calls_alone(trees, meanings),
        }

    def check_changes(self, tree: ast.AST) -> None:
        """Report what changes a constant: each call would see what another left."""
        for node in walk(tree):
            match node:
                case ast.Subscript(ctx=ast.Store() | ast.Del()):
                    name = _root(node)
                case ast.Call(func=ast.Attribute(value=owner, attr=attr)):
                    name = _root(owner) if attr in _CHANGING else ""
                case _:
                    continue
            if name in self.values:
                self.source.report(
                    node,
                    f"the constant `{name}` cannot be changed",
                    "What a layer keeps is a state; what a call collects is made in the "
                    f"function: `own = {name}.copy()`.",
                )


def types_of(source: Source, node: ast.FunctionDef) -> Iterable[tuple[str, str]]:
    """The parameters whose types have words of specs in them, with what these stand for."""
    args = [a for a in walk(node.args) if isinstance(a, ast.arg)]
    pairs = [(a.arg, a.annotation) for a in args] + [("return", node.returns)]
    for name, annotation in pairs:
        if annotation is not None:
            plain = plain_type(source, annotation)
            check_type(source, plain)
            if ast.dump(plain) != ast.dump(annotation):
                yield name, unparsed(plain)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_CHANGING = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse")
) | {"setdefault", "sort", "update"}


def is_definition(node: ast.stmt, bases: Collection[str]) -> bool:
    """Whether a statement is what the spec defines, by its base or its decorator."""
    match node:
        case ast.ClassDef(bases=given):
            return any(dotted(base) in bases for base in given)
        case ast.FunctionDef(decorator_list=decorators):
            return any(map(is_function, decorators))
    return False
