"""Classes of linen that calls give several classes of layers, `Block(ConvDown)` and `Block(ConvRight)`.

Each becomes a class of its own, here `Block` and `BlockConvRight`, which calls name; what makes layers is
given by name then, so that the field that it is given to may go. What a class hands on to others is what it
is given itself.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_PARTIAL = ("functools.partial", "jax.tree_util.Partial")

_Given = Mapping[str, ast.expr]


def with_classes_for_makers(
    origin: Origin, thing: str, layers: Collection[str]
) -> None:
    """Write them so, in place; what is converted keeps what it is given by default.

    Args:
        origin: the file.
        thing: the class that is converted.
        layers: the full names of the classes of layers of libraries.
    """
    done: set[str] = set()
    while True:
        used = used_by(origin, thing)
        known = {**origin.classes, **origin.functions}
        calls: dict[str, list[ast.Call]] = {}
        for node in [n for title, n in known.items() if title in used]:
            for call in [p for p in walk(node) if isinstance(p, ast.Call)]:
                calls.setdefault(getattr(call.func, "id", ""), []).append(call)
        written = (
            _Makers(origin, title, title == thing, layers).write(calls.get(title, []))
            for title in origin.classes
            if title in used - done
        )
        found = next(filter(None, written), None)
        if found is None:
            break
        # What these hand on is known now.
        done |= found
    located(origin.tree)


class _Makers:
    """A class that may be given what makes its layers."""

    def __init__(
        self, origin: Origin, title: str, converted: bool, layers: Collection[str]
    ):
        self.origin, self.layers = origin, layers
        self.node, self.converted = origin.classes[title], converted
        self.places = _fields(self.node)
        asked = {self_attribute(f) for f in _called(self.node)}
        asked |= {self_attribute(a) for a in _handed(origin, self.node)}
        self.makers = {f: d for f, d in self.places.items() if f in asked}

    def write(self, calls: list[ast.Call]) -> set[str]:
        """Write it, and what calls give it.

        Returns:
            The classes in its place; none where no call gives it any, or one that is not known yet.
        """
        node = self.node
        flax = framework_of(self.origin, node) == "flax"
        if not flax or len(node.bases) != 1 or not is_layer_class(self.origin, node):
            return set()
        spread = any(isinstance(a, ast.Starred) for c in calls for a in c.args)
        if spread or any(k.arg is None for c in calls for k in c.keywords):
            return set()
        for call in calls:
            _by_name(call, [*self.places], self.makers)
        defaults = {f: d for f, d in self.makers.items() if d is not None}
        given = [
            defaults | {str(k.arg): k.value for k in c.keywords if k.arg in self.makers}
            for c in calls
        ]
        given += [defaults] if self.converted else []
        asked = {f for one in given for f, v in one.items() if self._makes(v)}
        found = [{f: v for f, v in one.items() if f in asked} for one in given]
        if not asked or not all(self._makes(v) for one in found for v in one.values()):
            return set()
        first = found[-1] if self.converted else found[0]
        titles, makers = {_said(first): node.name}, {node.name: first}
        whole = cloned(node)
        for call, one in zip(calls, found, strict=False):
            title = titles.get(_said(one))
            if title is None:
                title = titles[_said(one)] = self._title(one, first)
                makers[title] = one
                other = cloned(whole)
                other.name = title
                self.origin.lift(other)
            call.func = ast.copy_location(ast.Name(title, ast.Load()), call.func)
            known = {k.arg for k in call.keywords}
            call.keywords += [
                ast.keyword(f, cloned(v)) for f, v in one.items() if f not in known
            ]
        for title, one in makers.items():
            made = self.origin.classes[title]
            _HandedOn(_handed(self.origin, made), one).visit(made)
            # What is converted is made by who uses it, who gives it nothing.
            if not self.converted or title != node.name:
                _without_defaults(made, asked)
        return {*makers}

    def _makes(self, node: ast.expr) -> bool:
        """Whether it is a class of layers, or some arguments for one, and reads nothing else."""
        origin = self.origin
        if isinstance(node, ast.Call) and origin.qualified(node.func) in _PARTIAL:
            rest = [*node.args[1:], *(k.value for k in node.keywords)]
            names = [p for r in rest for p in walk(r) if isinstance(p, ast.Name)]
            known = all(origin.qualified(n) for n in names)
            return bool(node.args) and known and self._makes(node.args[0])
        own = origin.classes.get(getattr(node, "id", ""))
        if own is not None:
            return framework_of(origin, own) == "flax" and is_layer_class(origin, own)
        return origin.qualified(node) in self.layers

    def _title(self, makers: _Given, first: _Given) -> str:
        """The name of the class that is given other makers than the first one."""
        same = dict(_said(first))
        title = self.node.name
        for field, value in sorted(makers.items()):
            if same.get(field) != ast.unparse(value):
                made = value.args[0] if isinstance(value, ast.Call) else value
                title += ast.unparse(made).rpartition(".")[2]
        known = {*self.origin.classes, *self.origin.functions}
        numbers = ("", *range(2, len(known) + 3))
        return next(t for n in numbers if (t := f"{title}{n}") not in known)


def _fields(node: ast.ClassDef) -> dict[str, ast.expr | None]:
    return {
        part.target.id: part.value
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }


def _called(node: ast.ClassDef) -> Iterator[ast.expr]:
    for part in walk(node):
        if isinstance(part, ast.Call):
            yield part.func


def _handed(origin: Origin, node: ast.ClassDef) -> list[ast.expr]:
    """What a class gives to classes of the file."""
    calls = [
        p
        for p in walk(node)
        if isinstance(p, ast.Call) and getattr(p.func, "id", "") in origin.classes
    ]
    given = [a for c in calls for a in (*c.args, *(k.value for k in c.keywords))]
    return [a for a in given if self_attribute(a) is not None]


def _by_name(call: ast.Call, places: list[str], makers: Collection[str]) -> None:
    """Give a call's arguments by name from the first one on that may make layers."""
    count = len(call.args)
    at = next((i for i, p in enumerate(places[:count]) if p in makers), None)
    if at is not None and count <= len(places):
        named = zip(places[at:], call.args[at:], strict=False)
        call.keywords = [*(ast.keyword(p, a) for p, a in named), *call.keywords]
        del call.args[at:]


def _said(makers: _Given) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((f, ast.unparse(v)) for f, v in makers.items()))


class _HandedOn(NodeTransformer):
    """What makes layers, in the place of the fields that are handed on."""

    def __init__(self, handed: list[ast.expr], makers: _Given):
        self.handed, self.makers = {id(a) for a in handed}, makers

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        made = self.makers.get(node.attr) if id(node) in self.handed else None
        return ast.copy_location(cloned(made), node) if made is not None else node


def _without_defaults(node: ast.ClassDef, fields: Collection[str]) -> None:
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") in fields:
            part.value = None
