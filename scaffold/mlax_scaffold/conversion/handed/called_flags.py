"""Settings that parts of a class of PyTorch are called with, as settings that they are made with.

self.gate = Gate(dim)                                     self.gate = Gate(dim, aux=aux)
scores = self.gate(x, aux=self.aux)          becomes      scores = self.gate(x)

Where an attribute is always called with the same one, and nothing but calls reads it.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_KINDS = (bool, str)


def without_called_flags(origin: Origin, thing: str) -> None:
    """Write them so, in place."""
    if not origin.uses("torch"):
        return
    for node in list(origin.classes.values()):
        if node.name == thing or framework_of(origin, node) != "torch":
            continue
        start, call = _methods(node)
        if start is None or call is None:
            continue
        late = call.args.args[len(call.args.args) - len(call.args.defaults) :]
        for given, default in zip(list(late), list(call.args.defaults), strict=True):
            if isinstance(literal(default), _KINDS):
                _Flag(origin, node, start, call, given.arg, default).run()
    located(origin.tree)


def _methods(
    node: ast.ClassDef,
) -> tuple[ast.FunctionDef | None, ast.FunctionDef | None]:
    found = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    return found.get("__init__"), found.get("forward")


class _Flag:
    """One parameter of `forward`."""

    def __init__(
        self,
        origin: Origin,
        node: ast.ClassDef,
        start: ast.FunctionDef,
        call: ast.FunctionDef,
        title: str,
        default: ast.expr,
    ):
        self.origin, self.node, self.start, self.call = origin, node, start, call
        self.title, self.default = title, default

    def run(self) -> None:
        """Move it to the constructor, where all calls of the class are told."""
        if self.title in names(self.start) or any(
            isinstance(p, ast.Name)
            and p.id == self.title
            and isinstance(p.ctx, ast.Store)
            for p in walk(self.call)
        ):
            return
        made = self._made()
        if made is None:
            return
        told: list[tuple[ast.Call, ast.expr]] = []
        calls: list[ast.Call] = []
        for owner, attribute, making in made:
            found = self._called(owner, attribute)
            if found is None:
                return
            given = {ast.unparse(v) for _, v in found}
            values = [v for _, v in found] or [self.default]
            if len(given) > 1:
                return
            value = self._in_constructor(owner, values[0])
            if value is None:
                return
            told.append((making, value))
            calls += [c for c, _ in found]
        if all(ast.unparse(v) == ast.unparse(self.default) for _, v in told):
            # Never anything else: that is decided elsewhere.
            return
        for making, value in told:
            making.keywords.append(ast.keyword(self.title, cloned(value)))
        place = [a.arg for a in self.call.args.args].index(self.title) - 1
        for part in calls:
            part.keywords = [k for k in part.keywords if k.arg != self.title]
            del part.args[place : place + 1]
        self._moved()

    def _made(self) -> list[tuple[ast.ClassDef, str, ast.Call]] | None:
        """Where the class is made, each for an attribute; None where it is used in another way."""
        found: list[tuple[ast.ClassDef, str, ast.Call]] = []
        for owner in self.origin.classes.values():
            for part in walk(owner):
                match part:
                    case ast.Assign(
                        targets=[ast.Attribute() as target],
                        value=ast.Call(func=func) as making,
                    ) if is_name(func, self.node.name) and self_attribute(target):
                        found.append((owner, str(self_attribute(target)), making))
        uses = [
            p
            for p in walk(self.origin.tree)
            if is_name(p, self.node.name) and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
        ]
        inside = [p for p in walk(self.node) if is_name(p, self.node.name)]
        return found if found and len(uses) - len(inside) == len(found) else None

    def _called(
        self, owner: ast.ClassDef, attribute: str
    ) -> list[tuple[ast.Call, ast.expr]] | None:
        """The calls of an attribute with what they give; None where it is read in another way."""
        place = [a.arg for a in self.call.args.args].index(self.title) - 1
        found: list[tuple[ast.Call, ast.expr]] = []
        reads = 0
        for part in walk(owner):
            if self_attribute(part) == attribute and isinstance(part.ctx, ast.Load):  # type: ignore[attr-defined]
                reads += 1
            if isinstance(part, ast.Call) and self_attribute(part.func) == attribute:
                value = next(
                    (k.value for k in part.keywords if k.arg == self.title), None
                )
                if value is None and len(part.args) > place:
                    value = part.args[place]
                found.append((part, value if value is not None else self.default))
        return found if len(found) == reads else None

    def _in_constructor(self, owner: ast.ClassDef, value: ast.expr) -> ast.expr | None:
        """The same value where the attribute is made: a literal, or a setting of the owner."""
        if isinstance(literal(value), _KINDS):
            return value
        setting = self_attribute(value)
        start, _ = _methods(owner)
        for part in start.body if start is not None and setting else ():
            match part:
                case ast.Assign(targets=[target], value=ast.Name() as given) if (
                    self_attribute(target) == setting
                ):
                    return given
        return None

    def _moved(self) -> None:
        """Make it a parameter of the constructor, and an attribute."""
        given = self.call.args
        at = [a.arg for a in given.args].index(self.title)
        argument = given.args.pop(at)
        del given.defaults[at - len(given.args) - 1]
        self.start.args.args.append(argument)
        self.start.args.defaults.append(cloned(self.default))
        store = ast.Attribute(ast.Name("self", ast.Load()), self.title, ast.Store())
        kept = ast.Assign([store], ast.Name(self.title, ast.Load()))
        self.start.body.append(located(ast.copy_location(kept, self.start.body[-1])))
        _Read(self.title).visit(self.call)


class _Read(NodeTransformer):
    """Reads a name as an attribute of self."""

    def __init__(self, title: str):
        self.title = title

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.title:
            return node
        made = ast.Attribute(ast.Name("self", ast.Load()), self.title, node.ctx)
        return located(ast.copy_location(made, node))
