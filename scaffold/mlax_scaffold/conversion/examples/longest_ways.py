"""The layers that an array goes through one after the other: branches stand beside each other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from mlax_scaffold.conversion.source.trees import is_name, self_attribute, targets

T = TypeVar("T")


def longest_way(
    methods: Iterable[ast.FunctionDef],
    layers: Mapping[str, list[T]],
    made: Callable[[ast.Call], list[T]],
    length: Callable[[list[T]], int],
) -> list[T]:
    """What the array goes through that goes the longest way from an input.

    Args:
        methods: those of the layer; `forward` is run.
        layers: what each attribute is made of.
        made: what a call of something else is.
        length: of a way.
    """
    titles = {m.name: m for m in methods}
    ways = _Ways(titles, layers, made, length)
    return ways.called("forward", []) if "forward" in titles else []


class _Ways(Generic[T]):
    def __init__(
        self,
        methods: Mapping[str, ast.FunctionDef],
        layers: Mapping[str, list[T]],
        made: Callable[[ast.Call], list[T]],
        length: Callable[[list[T]], int],
    ):
        self.methods, self.layers = methods, layers
        self.made, self.length = made, length
        self.running: list[str] = []
        """The methods that call each other, the first one first."""

    def called(self, title: str, given: Sequence[list[T]]) -> list[T]:
        """The longest way of all that a method makes of ways that it is given."""
        if title in self.running:
            return self.longest(given)
        self.running.append(title)
        parameters = [a.arg for a in self.methods[title].args.args[1:]]
        known = dict(zip(parameters, given, strict=False))
        ends: list[list[T]] = []
        self.run(self.methods[title].body, known, {}, ends)
        self.running.pop()
        return self.longest([*ends, *known.values()])

    def run(
        self,
        body: Iterable[ast.stmt],
        known: dict[str, list[T]],
        loops: dict[str, str],
        ends: list[list[T]],
    ) -> None:
        for part in body:
            match part:
                case ast.Return(value=value) if value is not None:
                    ends.append(self.of(value, known, loops))
                case ast.Assign(value=value) | ast.AugAssign(value=value):
                    way = self.of(value, known, loops)
                    told = [part.target] if isinstance(part, ast.AugAssign) else []
                    before = [self.of(one, known, loops) for one in told]
                    for local in targets(part):
                        known[local] = self.longest([way, *before])
                case ast.Expr(value=value):
                    self.of(value, known, loops)
                case ast.If():
                    sides = [dict(known), dict(known)]
                    for side, inner in zip(
                        sides, (part.body, part.orelse), strict=True
                    ):
                        self.run(inner, side, loops, ends)
                    for local in {*sides[0], *sides[1]}:
                        known[local] = self.longest([s.get(local, []) for s in sides])
                case ast.For():
                    self.run(part.body, known, loops | self.elements(part), ends)

    def elements(self, loop: ast.For) -> dict[str, str]:
        """The lists of layers that the names of a loop are elements of."""
        target, over = loop.target, loop.iter
        match target, over:
            case (
                ast.Tuple(elts=[_, inner]),
                ast.Call(func=ast.Name(id="enumerate"), args=[counted, *_]),
            ):
                target, over = inner, counted
        zipped = isinstance(over, ast.Call) and is_name(over.func, "zip")
        if zipped and isinstance(target, ast.Tuple):
            pairs = zip(target.elts, over.args, strict=False)  # type: ignore[attr-defined]
        else:
            pairs = zip([target], [over], strict=True)
        return {
            one.id: _attribute(each) for one, each in pairs if isinstance(one, ast.Name)
        }

    def of(
        self, node: ast.AST, known: Mapping[str, list[T]], loops: Mapping[str, str]
    ) -> list[T]:
        """The way of what an expression computes."""
        if isinstance(node, ast.Name):
            return known.get(node.id, [])
        if not isinstance(node, ast.Call):
            inner = ast.iter_child_nodes(node)
            return self.longest([self.of(part, known, loops) for part in inner])
        parts = [*node.args, *(k.value for k in node.keywords)]
        given = [self.of(part, known, loops) for part in parts]
        attribute = _attribute(node.func)
        if isinstance(node.func, ast.Name):
            attribute = loops.get(node.func.id, "")
        if attribute in self.methods:
            return self.called(attribute, given)
        if isinstance(node.func, ast.Attribute) and not attribute:
            # `x.reshape(n, -1)`
            given.append(self.of(node.func.value, known, loops))
        own = self.layers.get(attribute)
        return [*self.longest(given), *(self.made(node) if own is None else own)]

    def longest(self, ways: Iterable[list[T]]) -> list[T]:
        return max(ways, key=self.length, default=[])


def _attribute(node: ast.expr) -> str:
    """The attribute that is read, `self.layers`, or of which an element is, `self.layers[0]`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    return self_attribute(inner) or ""
