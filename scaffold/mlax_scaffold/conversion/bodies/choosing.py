"""Values that branches choose, and what a method returns that does so in several places."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.bodies.looping import Looping
from mlax_scaffold.conversion.declarations.parted_inputs import ends
from mlax_scaffold.conversion.declarations.reading import Environment
from mlax_scaffold.conversion.shapes.values import Array, Number, Several, Shape, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    name,
    same,
    statement,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def _ranked(test: ast.expr) -> str:
    """The name of an array that is asked how many axes it has; "" for another condition."""
    match test:
        case (
            ast.Compare(
                left=ast.Attribute(value=ast.Name(id=local), attr="ndim"),
                comparators=[ast.Constant()],
            )
            | ast.Compare(
                left=ast.Call(
                    func=ast.Name(id="len"),
                    args=[ast.Attribute(value=ast.Name(id=local), attr="shape")],
                ),
                comparators=[ast.Constant()],
            )
        ):
            return local
    return ""


class Choosing(Looping):
    """Reads them."""

    def _one_of(self, found: Sequence[Value]) -> Value:
        """What a method returns that does so in several places."""
        last = found[-1]
        arrays = [v for v in found if isinstance(v, Array)]
        several = [v for v in found if isinstance(v, Several)]
        if several and arrays:
            return Several(several[-1].items, alone=arrays[-1])
        if not isinstance(last, Array) or len(arrays) != len(found) or last.lead:
            return last
        if any(v.lead or len(v.axes) != len(last.axes) for v in arrays):
            return last
        under = self.under.get(id(found[0])) if len(found) == 2 else None
        if under is not None and literal(under) is not None:
            return self._after_branches(under, *arrays)
        axes = list(last.axes)
        for i, axis in enumerate(axes):
            known = self.symbols.find(axis)
            if not all(same(self.symbols.find(v.axes[i]), known) for v in arrays):
                axes[i] = self.symbols.fresh("_")
        return last if axes == last.axes else last.like(axes)

    def _makes(self, node: ast.AST) -> bool:
        """Whether a layer is made in an expression, and called there."""
        return any(
            isinstance(part, ast.Call) and self._is_declaration(part.func)
            for part in walk(node)
        )

    def _uncomprehended(self, node: ast.stmt) -> list[ast.stmt]:
        """Comprehensions that make a layer in each pass, as loops before their statement."""
        if not isinstance(node, ast.Assign | ast.Return | ast.Expr):
            return [node]
        listed = [
            part
            for part in walk(node)
            if isinstance(part, ast.ListComp | ast.GeneratorExp)
            and len(part.generators) == 1
            and not part.generators[0].ifs
            and self._makes(part.elt)
        ]
        before: list[ast.stmt] = []
        whole = node.value
        for part in listed:
            local = self.builder.free("results")
            match node:
                case ast.Assign(targets=[ast.Name(id=title)]) if part is whole:
                    local = title
            generator = part.generators[0]
            append = ast.Expr(expression(f"{local}.append(e)", e=part.elt))
            loop = ast.For(generator.target, generator.iter, [append], [])
            for made in (statement(f"{local} = []"), loop):
                for inner in walk(made):
                    if not hasattr(inner, "lineno"):
                        ast.copy_location(inner, node)
                before.append(made)
            if (
                part is whole
                and isinstance(node, ast.Assign)
                and local in targets(node)
            ):
                return before
            _Instead(part, ast.copy_location(name(local), part)).visit(node)
        return [*before, node]

    def _chooses_layer(self, node: ast.expr) -> bool:
        """Whether one of the sides of a choice makes a layer: `x if x.shape[-1] == n else Linear(n)(x)`."""
        return isinstance(node, ast.IfExp) and (
            self._makes(node.body) or self._makes(node.orelse)
        )

    def _assumed_alike(self, test: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
        """Sizes that are the same where a condition holds: `x.shape[-1] == self.features and self.skip`."""
        match test:
            case ast.BoolOp(op=ast.And(), values=parts):
                return [pair for part in parts for pair in self._assumed_alike(part)]
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                _, one = self.value(cloned(left))
                _, other = self.value(cloned(right))
                if isinstance(one, Number) and isinstance(other, Number):
                    return [(one.value, other.value)]
                if isinstance(one, Shape) and isinstance(other, Shape):
                    axes = one.array.axes, other.array.axes
                    return [*zip(*map(reversed, axes), strict=False)]
        return []

    def _for_ranks(self, node: ast.If) -> bool:
        """Whether a branch is for arrays of another number of axes, `if x.ndim > 2: x = x.reshape(-1, 784)`.

        It is read by itself then: what it says of the array holds for those.
        """
        local = _ranked(node.test)
        array = self.env.get(local)
        if not isinstance(array, Array) or node.orelse or ends(node.body):
            return False
        count = node.test.comparators[0].value  # type: ignore[attr-defined]
        equal = isinstance(node.test.ops[0], ast.Eq)  # type: ignore[attr-defined]
        if equal and count == 1 and array.lead and not array.axes:
            # Labels, mostly, which are one for each example.
            self.symbols.ranked(array, ("batch",))
        if equal and not array.lead and len(array.axes) == count:
            node.body = self.statements(node.body) or [ast.Pass()]
            return True
        before = dict(self.env)
        given = self.env[local] = Array([], True, array.kind)
        self.conditions.append(ast.Constant(None))
        node.body = self.statements(node.body) or [ast.Pass()]
        self.conditions.pop()
        inner = self.env.get(local)
        if isinstance(inner, Array) and inner.kind == "Int":
            array.kind = "Int"
        self.env = {**dict.fromkeys(self.env), **before}
        if equal and self._keeps_features(given, inner, count):
            # With fewer axes it is what the branch makes of it: what follows is told of that.
            features = self.symbols.axis(array, -1)
            if array.lead and features is not None:
                self.symbols.equal(given.axes[-1], features)
                array.asked_for = count
                self.env[local] = Array([features], True, array.kind)
        return True

    def _keeps_features(self, given: Array, made: Value, count: int) -> bool:
        """Whether an array of so many axes is made one of another number, of the same features."""
        if not isinstance(made, Array) or made.lead or given.lead:
            return False
        if len(given.axes) != count or len(made.axes) in (0, count):
            return False
        last = (self.symbols.find(a.axes[-1]) for a in (given, made))
        return same(*last)

    def _given_alike(self, test: ast.expr, first: Environment) -> None:
        """What stands for an input that is None has its shape: `h = zeros(b, n)`, `h, c = x` elsewhere."""
        asks = isinstance(test, ast.Compare) and is_none(test.comparators[0])
        for local, value in first.items() if asks else ():
            other = self.env.get(local)
            if not isinstance(value, Array) or not isinstance(other, Array):
                continue
            if value is other:
                continue
            absent = isinstance(test.ops[0], ast.Is)  # type: ignore[attr-defined]
            made, given = (value, other) if absent else (other, value)
            if made.source is None and given.source is None:
                # What is told of its kind is told of the input, too.
                made.source = given
            if value.lead == other.lead:
                continue
            open_, told = (value, other) if value.lead else (other, value)
            if open_.axes or not self.symbols.ranked(open_, ["_"] * len(told.axes)):
                continue
            for mine, axis in zip(open_.axes, told.axes, strict=True):
                self.symbols.equal(mine, axis)


def as_branches(node: ast.Assign, target: ast.Name) -> ast.If:
    """`x = a if c else b` as a statement with two branches."""
    value = node.value
    assert isinstance(value, ast.IfExp)
    sides: list[list[ast.stmt]] = [
        [ast.Assign([ast.Name(target.id, ast.Store())], side)]
        for side in (value.body, value.orelse)
    ]
    made = ast.copy_location(ast.If(value.test, *sides), node)
    return located(made)


class _Instead(NodeTransformer):
    """Writes another expression in the place of one."""

    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)
