"""Shapes of what arrays are convolved with arrays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlax_scaffold.conversion.shapes.reshaping import Reshaping
from mlax_scaffold.conversion.shapes.values import Array, Number, Value
from mlax_scaffold.conversion.source.trees import expression, literal, same

if TYPE_CHECKING:
    from mlax_scaffold.conversion.declarations.reading import Reading

_AXES = {"N": "batch", "C": "channels", "H": "height", "W": "width", "D": "depth"}


class ConvolvedShapes(Reshaping):
    """Results of convolutions."""

    def convolved(
        self, node: ast.Call, x: Array, kernel: Value, bodies: Reading
    ) -> Value:
        """`conv(x, kernel, spatial_dims=...)`, whose kernel begins with its channels."""
        if not isinstance(kernel, Array) or kernel.lead or len(kernel.axes) < 3:
            return None
        out, share, *window = kernel.axes
        given = {k.arg: k.value for k in node.keywords}
        groups = given.get("groups", ast.Constant(1))
        local = bodies.env.get(getattr(groups, "id", ""))
        channels = _times(share, local.value if isinstance(local, Number) else groups)
        sizes = ast.Tuple(window, ast.Load())
        places = [ast.Constant(len(window)), channels, out, sizes]
        kept = [k for k in node.keywords if k.arg != "spatial_dims"]
        return bodies.layers.result("Conv", ast.Call(node.func, places, kept), [x])

    def dilated(
        self, node: ast.Call, x: Array, kernel: Value, bodies: Reading
    ) -> Value:
        """`lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=...)`."""
        places = ("lhs", "rhs", "window_strides", "padding")
        given = dict(zip(places, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        told = literal(given.get("dimension_numbers", ast.Constant(None)))
        if not isinstance(told, tuple) or len(told) != 3 or told[0] != told[2]:
            return None
        axes, inner, _ = map(str, told)
        self.symbols.ranked(x, [_AXES.get(a, "_") for a in axes])
        last = axes.endswith("C")
        known = isinstance(kernel, Array) and len(kernel.axes) == len(inner)
        strides = self._strides(given.get("window_strides"), bodies)
        others = {*given} - {*places, "dimension_numbers", "precision"}
        if not isinstance(kernel, Array):
            return None
        if not known or strides is None or others:
            return self._of_channels(x, kernel, axes, inner)
        by_letter = dict(zip(inner, kernel.axes, strict=True))
        window = [a for letter, a in by_letter.items() if letter not in "IO"]
        sizes: list[ast.expr] = [
            *(ast.Constant(len(window)), by_letter["I"], by_letter["O"]),
            ast.Tuple(window, ast.Load()),
        ]
        told_ = {"strides": strides, "channel_last": ast.Constant(last)}
        told_["padding"] = given.get("padding", ast.Constant("VALID"))
        kept = [ast.keyword(k, v) for k, v in told_.items()]
        return bodies.layers.result("Conv", ast.Call(node.func, sizes, kept), [x])

    def _of_channels(
        self, x: Array, kernel: Array, axes: str, inner: str
    ) -> Array | None:
        """An image of other sides, whose channels alone are told, by the last axis of the kernel."""
        if not inner.endswith("IO") or not kernel.axes or len(x.axes) != len(axes):
            return None
        told = {"N": x.axes[axes.index("N")], "C": kernel.axes[-1]}
        return x.like([told.get(a) or self.symbols.fresh("_") for a in axes])

    def _strides(self, node: ast.expr | None, bodies: Reading) -> ast.expr | None:
        """The steps of windows, with what locals are; None where one is not known."""
        made: list[ast.expr] = []
        for part in node.elts if isinstance(node, ast.Tuple | ast.List) else ():
            local = bodies.env.get(getattr(part, "id", ""))
            if isinstance(local, Number):
                made.append(local.value)
            elif isinstance(literal(part), int):
                made.append(part)
        whole = isinstance(node, ast.Tuple | ast.List) and len(made) == len(node.elts)
        return ast.Tuple(made, ast.Load()) if whole else None


def _times(share: ast.expr, groups: ast.expr) -> ast.expr:
    """All channels, of those of one group."""
    match share:
        case ast.BinOp(left=whole, op=ast.FloorDiv(), right=by) if same(by, groups):
            return whole
    return share if literal(groups) == 1 else expression("a * g", a=share, g=groups)
