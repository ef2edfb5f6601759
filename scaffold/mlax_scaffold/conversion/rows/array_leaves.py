"""Arrays that are made of nothing else: zeros, draws, ranges."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    literal,
)
from mlax_scaffold.conversion.source.walking import walk

_ZEROS = ("zeros", "empty", "Tensor", "FloatTensor")


_NORMAL = ("randn", "normal", "standard_normal")


_UNIFORM = ("rand", "uniform", "random")


_ARRAYS = ("torch.", "jax.numpy.", "numpy.", "jax.random.")


def leaf_of(
    translator: Translator, node: ast.expr
) -> tuple[str, ast.expr, ast.expr | None] | None:
    """The kind, the shape and the value of an array that is made of nothing else."""
    if not isinstance(node, ast.Call):
        return None
    full = translator.origin.qualified(node.func)
    text = ast.unparse(node.func)
    if not full and text.partition(".")[0] in translator.around.keys:
        # A generator of NumPy.
        full = f"numpy.random.{text.rpartition('.')[2]}"
    if not full.startswith(_ARRAYS):
        return None
    last = full.rpartition(".")[2]
    keywords = {k.arg: k.value for k in node.keywords}
    of_jax = full.startswith("jax.random.")
    args = node.args[1:] if of_jax else node.args
    if last in ("normal", "uniform") and not of_jax:
        if full.startswith("numpy.random"):
            size = keywords.get("size") or (args[2] if len(args) > 2 else None)
            if size is None:
                return None
            low, high = _pair(args, keywords)
            if last == "normal":
                return "normal", shape_of(translator, [size]), None
            pair = ast.Tuple(
                [translator.expression(low), translator.expression(high)], ast.Load()
            )
            return "between", shape_of(translator, [size]), pair
        if full == "torch.normal":
            return None
    given = keywords.get("shape") or keywords.get("size")
    sizes = [given] if given is not None else list(args)
    if last in ("full",):
        return (
            "value",
            shape_of(translator, sizes[:1]),
            translator.expression(node.args[1]),
        )
    if of_jax and last == "truncated_normal":
        shape = given or (args[2] if len(args) > 2 else ast.Tuple([], ast.Load()))
        return "truncated", shape_of(translator, [shape]), None
    if of_jax and last in ("normal", "uniform"):
        sizes = sizes[:1]
        low, high = keywords.get("minval"), keywords.get("maxval")
        if len(args) > 3:
            low, high = args[2], args[3]
        if last == "uniform" and (low is not None or high is not None):
            pair = [
                translator.expression(low or constant(0.0)),
                translator.expression(high or constant(1.0)),
            ]
            shape = shape_of(translator, sizes)
            return "between", shape, ast.Tuple(pair, ast.Load())
    elif full.startswith(("jax.numpy.", "numpy.")) and not full.startswith(
        "numpy.random"
    ):
        sizes = sizes[:1]
    if last in ("eye", "identity"):
        size = translator.expression(sizes[0])
        other = translator.expression(sizes[1]) if len(sizes) > 1 else size
        return "eye", ast.Tuple([size, other], ast.Load()), None
    if last == "arange":
        ends = [translator.expression(a) for a in args]
        if len(ends) == 1:
            return "arange", ast.Tuple([ends[0]], ast.Load()), None
        step = ends[2] if len(ends) > 2 else constant(1)
        count = expression("-(-(b - a) // s)", a=ends[0], b=ends[1], s=step)
        if literal(step) == 1:
            count = expression("b - a", a=ends[0], b=ends[1])
        return "arange", ast.Tuple([folded(count)], ast.Load()), None
    if last == "linspace" and len(args) > 2:
        return "arange", ast.Tuple([translator.expression(args[2])], ast.Load()), None
    # A sequence holds the numbers themselves, where several numbers are sizes.
    held = last in ("Tensor", "FloatTensor") and len(args) == 1
    held = held and isinstance(args[0], ast.List | ast.Tuple)
    if (last in ("tensor", "array", "asarray") and args) or held:
        value = literal(args[0])
        value = [*value] if held and isinstance(value, tuple) else value
        elements = args[0].elts if isinstance(args[0], ast.List | ast.Tuple) else []
        single = held and len(elements) == 1 and not isinstance(value, list)
        if single and not isinstance(elements[0], ast.List | ast.Tuple | ast.Starred):
            shape = ast.Tuple([constant(1)], ast.Load())
            return "value", shape, translator.expression(elements[0])
        if isinstance(value, float | int):
            return "value", ast.Tuple([], ast.Load()), args[0]
        if isinstance(value, list):
            return "list", constant(_list_shape(value)), None
        return None
    for kind, known in (
        ("zeros", _ZEROS),
        ("ones", ("ones",)),
        ("normal", _NORMAL),
        ("uniform", _UNIFORM),
    ):
        if last in known:
            return kind, shape_of(translator, sizes), None
    return None


_KEYED = tuple(
    f"jax.random.{n}" for n in ("split", "key", "PRNGKey", "fold_in", "wrap_key_data")
)
_DRAWN = (
    *("torch.rand", "torch.randn", "torch.normal", "torch.randint", "torch.randperm"),
    *("torch.bernoulli", "torch.multinomial", "torch.rand_like", "torch.randn_like"),
)


def draws(origin: Origin, value: ast.expr) -> bool:
    """Whether a value is made of random numbers."""
    called = (p for p in walk(value) if isinstance(p, ast.Call))
    names = [origin.qualified(p.func) for p in called]
    return any(
        n in _DRAWN or (n.startswith("jax.random.") and n not in _KEYED) for n in names
    )


def _list_shape(value: object) -> tuple[int, ...]:
    found: list[int] = []
    while isinstance(value, list):
        found.append(len(value))
        value = value[0] if value else None
    return tuple(found)


def _pair(
    args: list[ast.expr], keywords: dict[str | None, ast.expr]
) -> tuple[ast.expr, ast.expr]:
    low = keywords.get("low") or (args[0] if args else constant(0.0))
    high = keywords.get("high") or (args[1] if len(args) > 1 else constant(1.0))
    return low, high


def shape_of(translator: Translator, sizes: list[ast.expr]) -> ast.expr:
    made = [translator.expression(s) for s in sizes]
    if len(made) == 1:
        if isinstance(made[0], ast.Tuple | ast.List):
            return ast.Tuple(made[0].elts, ast.Load())
        if isinstance(sizes[0], ast.Attribute) and sizes[0].attr.endswith("shape"):
            return made[0]
    return ast.Tuple(list(made), ast.Load())
