"""What rows compute of how weights begin: gains, fans, and draws about a mean."""

from __future__ import annotations

import ast
import math

from mlax_scaffold.conversion.rows.array_calculations import Arg
from mlax_scaffold.conversion.rows.rows import MisfitError, missing
from mlax_scaffold.conversion.source.trees import constant, expression, literal, marked

_GAINS = {
    **dict.fromkeys(("linear", "sigmoid"), 1.0),
    **{f"conv{kind}{dims}d": 1.0 for kind in ("", "_transpose") for dims in (1, 2, 3)},
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


class InitializerCalculations:
    """Initializers, as PyTorch scales them."""

    def _gain(self, nonlinearity: Arg, slope: Arg) -> Arg:
        kind, given = literal(nonlinearity), _number(slope)
        if kind == "leaky_relu" and (missing(slope) or given is not None):
            return constant(math.sqrt(2.0 / (1.0 + (given or 0.01) ** 2)))
        if kind not in _GAINS:
            raise MisfitError(f"`{ast.unparse(nonlinearity)}`")
        return constant(_GAINS[str(kind)])

    def _xavier(self, gain: Arg, kind: Arg) -> Arg:
        known = _number(gain)
        if known == 1.0:
            return marked(f"word_glorot_{literal(kind)}()")
        scale = constant(_rounded(known**2)) if known is not None else _squared(gain)
        return _scaled(scale, "fan_avg", kind)

    def _kaiming(self, slope: Arg, mode: Arg, nonlinearity: Arg, kind: Arg) -> Arg:
        fan, given = literal(mode), literal(nonlinearity)
        if fan not in ("fan_in", "fan_out"):
            raise MisfitError(f"`mode={ast.unparse(mode)}`")
        if given == "leaky_relu":
            known = _number(slope)
            if known is None:
                return _scaled(expression("2.0 / (1.0 + a**2)", a=slope), fan, kind)
            scale = 2.0 / (1.0 + known**2)
        elif given in _GAINS:
            scale = _GAINS[str(given)] ** 2
        else:
            raise MisfitError(f"`nonlinearity={ast.unparse(nonlinearity)}`")
        if fan == "fan_in" and math.isclose(scale, 2.0):
            return marked(f"word_he_{literal(kind)}()")
        return _scaled(constant(_rounded(scale)), fan, kind)

    def _slope(self, value: Arg) -> Arg | None:
        """What the slope of a PReLU begins with; None where that is what it is anyway."""
        known = _number(value)
        return None if known == 0.25 else marked("word_constant(v)", v=value)

    def _scaled_by(self, initializer: Arg, scale: Arg) -> Arg:
        """What haiku's attention begins with: an initializer, or the scale of one."""
        if missing(scale) or not missing(initializer):
            return initializer
        return marked("word_variance_scaling(s, 'fan_in', 'truncated_normal')", s=scale)

    def _normal_about(self, mean: Arg, std: Arg) -> Arg:
        if _number(mean) == 0.0:
            return marked("word_normal(s)", s=std)
        return marked(
            "lambda key, shape, dtype: m + s * jax.random.normal(key, shape, dtype)",
            m=mean,
            s=std,
        )

    def _truncated_about(self, mean: Arg, std: Arg) -> Arg:
        """Normal numbers within two deviations, as haiku draws them."""
        return _about(mean, marked("word_truncated_normal(s)", s=std))

    def _truncated(self, mean: Arg, std: Arg, lower: Arg, upper: Arg) -> Arg:
        """Normal numbers within bounds, which are not in units of the deviation."""
        center, width = _number(mean), _number(std)
        bare = missing(lower) and missing(upper) and center == 0.0
        if bare and width == 1.0:
            return marked("word_truncated_normal(s)", s=std)
        if bare and width is not None and 0 < _FARTHEST * width <= 2.0:
            # No number is beyond bounds so far away.
            return marked("word_normal(s)", s=std)
        text = "e / s" if center == 0.0 else "(e - m) / s"
        ends = [
            expression(text, e=constant(at) if missing(e) else e, s=std, m=mean)
            for e, at in ((lower, -2.0), (upper, 2.0))
        ]
        drawn = marked("word_truncated_normal(s, a, b)", s=std, a=ends[0], b=ends[1])
        return _about(mean, drawn)

    def _random_uniform(self, low: Arg, high: Arg) -> Arg:
        return uniform_between(low, high)


def _about(mean: ast.expr, drawn: ast.expr) -> ast.expr:
    """An initializer of numbers about 0, about a mean."""
    if _number(mean) == 0.0:
        return drawn
    about = "lambda key, shape, dtype: m + drawn(key, shape, dtype)"
    return marked(about, m=mean, drawn=drawn)


_FARTHEST = 8
"""The deviations beyond which normal numbers are not drawn."""


def uniform_between(low: ast.expr, high: ast.expr) -> ast.expr:
    """The initializer of uniform numbers."""
    if literal(low) == 0.0:
        return marked("word_uniform(s)", s=high)
    return marked(
        "lambda key, shape, dtype: jax.random.uniform(key, shape, dtype, a, b)",
        a=low,
        b=high,
    )


def _scaled(scale: ast.expr, fan: object, kind: Arg) -> ast.expr:
    return marked(
        "word_variance_scaling(s, f, k)",
        s=scale,
        f=constant(fan),
        k=constant(literal(kind)),
    )


def _squared(gain: Arg) -> ast.expr:
    """The square of a gain; of a square root, what is below it."""
    if isinstance(gain, ast.Call) and ast.unparse(gain.func).endswith(".sqrt"):
        return gain.args[0]
    return expression("g**2", g=gain)


def _number(node: Arg) -> float | None:
    """A number that is written out, with its square roots; None for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            known = _number(inner)
            return -known if known is not None else None
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            sides = _number(left), _number(right)
            if sides[0] is not None and sides[1]:
                return sides[0] / sides[1]
        case ast.Call(func=func, args=[inner], keywords=[]):
            known = _number(inner)
            if ast.unparse(func).endswith("sqrt") and known is not None and known >= 0:
                return math.sqrt(known)
    return None


def _rounded(value: float) -> float:
    """A square, without what taking the root before lost."""
    return float(f"{value:.12g}")
