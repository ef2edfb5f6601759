"""What a method computes of hyperparameters, and of the sizes of its inputs that are named after them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.remedies.bindings import Substituted
from mlax_scaffold.reader.remedies.last_axes import LastAxes
from mlax_scaffold.reader.source import dotted, self_attribute

_NUMBERS = ("abs", "divmod", "enumerate", "float", "int", "len", "list", "max", "min")
_NUMBERS += ("range", "reversed", "round", "sum", "tuple", "zip")
"""Functions whose results follow from their arguments."""

_Binding = tuple[ast.expr, ast.expr | None]
"""What is assigned to, and its value outside of the method."""


class InputSizes:
    """The text that says outside of a method what an expression says in it.

    `width = 2 * x.shape[-1]` is `2 * self.features` where `x` is `Float["*batch features"]`.
    """

    def __init__(
        self, method: ast.FunctionDef, attributes: Mapping[str, str], scope: Scope
    ):
        self._fields = {n for n, w in attributes.items() if w == "hyperparameter"}
        arguments = [a for a in walk(method.args) if isinstance(a, ast.arg)]
        names = [n for n in walk(method) if isinstance(n, ast.Name)]
        self._stores = [n for n in names if isinstance(n.ctx, ast.Store)]
        stored = [n.id for n in self._stores]
        self.own = {*stored, *(a.arg for a in arguments)} - {"self"}
        self._loops = [n for n in walk(method) if isinstance(n, ast.For | ast.While)]
        self._axes = {a.arg: axes for a in arguments if (axes := _axes(a.annotation))}
        last = {n: found for n in self._axes if (found := self._axis(n, -1))}
        self._last = LastAxes(scope, method, last, self._fields)
        self._values: dict[str, ast.expr] = {}
        for statement in method.body:
            for target, found in self._bindings(statement):
                if not isinstance(target, ast.Name) or found is None:
                    continue
                if stored.count(target.id) == 1:
                    self._values[target.id] = found

    def _bindings(self, statement: ast.stmt) -> Iterator[_Binding]:
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                yield target, self.computed(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                yield from self._unpacked(targets, value)

    def known(self, name: str) -> bool:
        """Whether a local holds what can be said outside of the method."""
        return name in self._values

    def outside(self, node: ast.expr, besides: Collection[str] = ()) -> ast.expr | None:
        """The expression in terms of fields and of the names `besides`; None where it reads others."""
        values = {n: v for n, v in self._values.items() if n not in besides}
        shaped = _Shaped(self).visit(copy.deepcopy(node))
        found = Substituted(values).visit(shaped)
        for part in ast.walk(found):
            match part:
                case ast.Name(id=name) if name in self.own and name not in besides:
                    return None
                case ast.Attribute() if (name := self_attribute(part)) and (
                    name not in self._fields
                ):
                    return None
                case ast.NamedExpr() | ast.Await() | ast.Yield():
                    return None
        return found

    def computed(
        self, node: ast.expr, besides: Collection[str] = ()
    ) -> ast.expr | None:
        """`outside` of an expression that calls nothing but what computes numbers."""
        found = self.outside(node, besides)
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
        return found if all(_of_numbers(call) for call in calls) else None

    def of_shape(self, node: ast.AST) -> ast.expr | None:
        """`self.features` for `x.shape[-1]`, before `x` is another array; None where nothing says it."""
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape") as shape,
                slice=index,
            ) if self._is_given(name, shape):
                try:
                    return self._axis(name, int(ast.literal_eval(index)))
                except (ValueError, TypeError):
                    return None
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name) as array, attr="shape"),
                slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)),
            ):
                return self._last.of(name, array)
        return None

    def _is_given(self, name: str, node: ast.expr) -> bool:
        """Whether it is what the method was given wherever control comes to the expression."""
        lines = [s.lineno for s in self._stores if s.id == name]
        around = (
            loop
            for loop in self._loops
            if loop.lineno <= node.lineno <= (loop.end_lineno or 0)
        )
        last = max((loop.end_lineno or 0 for loop in around), default=node.lineno - 1)
        return name in self._axes and all(line > last for line in lines)

    def _axis(self, name: str, index: int) -> ast.expr | None:
        axes = self._axes[name]
        between = axes[index:] if index < 0 else axes[: index + 1]
        if not -len(axes) <= index < len(axes) or any(map(_is_several, between)):
            return None
        axis = axes[index]
        if axis.isdecimal():
            return ast.Constant(int(axis))
        if axis not in self._fields:
            return None
        return ast.Attribute(ast.Name("self", ast.Load()), axis, ast.Load())

    def _unpacked(self, targets: list[ast.expr], value: ast.expr) -> Iterator[_Binding]:
        match value:
            case ast.Attribute(value=ast.Name(id=name), attr="shape") if self._is_given(
                name, value
            ):
                starred = [
                    i for i, t in enumerate(targets) if isinstance(t, ast.Starred)
                ]
                for at, target in enumerate(targets):
                    behind = bool(starred) and at > starred[0]
                    yield (
                        target,
                        self._axis(name, at - len(targets) if behind else at),
                    )


class _Shaped(ast.NodeTransformer):
    """Puts fields in the place of the sizes of inputs."""

    def __init__(self, sizes: InputSizes):
        self.sizes = sizes

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self.sizes.of_shape(node) or self.generic_visit(node)


def _is_several(axis: str) -> bool:
    return axis.startswith(("*", "."))


def _of_numbers(call: ast.Call) -> bool:
    name = dotted(call.func) or ""
    return name in _NUMBERS or name.startswith(("math.", "np."))


def _axes(annotation: ast.expr | None) -> list[str]:
    """The axes of `Float["*batch features"]`."""
    match annotation:
        case ast.Subscript(slice=ast.Constant(value=str(text))):
            return text.split()
    return []
