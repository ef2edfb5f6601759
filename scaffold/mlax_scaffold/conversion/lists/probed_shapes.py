"""What layers make of an array that a constructor tries them with: `self.conv(torch.zeros(1, 4, 84, 84))`.

Such an array stands for its shape alone, and stays the call that makes one of zeros.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence

from mlax_scaffold.conversion.source.known_values import items_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal, names

Shape = tuple[int, ...]

_MAKES = ("zeros", "ones", "rand", "randn", "empty")
_SAME = (
    *(
        "ReLU",
        "ReLU6",
        "LeakyReLU",
        "PReLU",
        "ELU",
        "SELU",
        "GELU",
        "SiLU",
        "Mish",
        "Tanh",
    ),
    *(
        "Sigmoid",
        "Softplus",
        "Softmax",
        "Identity",
        "Dropout",
        "Dropout2d",
        "Dropout3d",
    ),
    *(
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "GroupNorm",
        "LayerNorm",
        "Hardswish",
    ),
    *("InstanceNorm1d", "InstanceNorm2d", "LocalResponseNorm", "AlphaDropout", "CELU"),
)
_WINDOWS = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
)
_POOLS = ("kernel_size", "stride", "padding")
_DETACHED = ("detach", "cpu", "float", "to", "data")


def probe(origin: Origin, node: ast.AST) -> Shape | None:
    """The shape of an array that is tried; None of anything else."""
    if not isinstance(node, ast.Call):
        return None
    full = origin.qualified(node.func)
    if not full.startswith("torch.") or full[6:] not in _MAKES:
        return None
    given = node.args[0] if len(node.args) == 1 else None
    sizes = items_of(given) if given is not None else None
    values = [literal(a) for a in (node.args if sizes is None else sizes)]
    whole = [v for v in values if type(v) is int]
    return tuple(whole) if len(whole) == len(values) > 0 else None


def is_trial(origin: Origin, node: ast.AST) -> bool:
    """Whether an array is made to be tried, though its sizes may not be known."""
    full = origin.qualified(node.func) if isinstance(node, ast.Call) else ""
    return full.startswith("torch.") and full[6:] in _MAKES


def of_method(node: ast.Call, shape: Shape) -> ast.expr | None:
    """What a method of such an array makes."""
    assert isinstance(node.func, ast.Attribute)
    values = [literal(a) for a in node.args]
    if any(isinstance(v, ast.AST) for v in values):
        return None
    match node.func.attr, values:
        case "size", [int(at)]:
            return ast.Constant(shape[at])
        case "size", []:
            return expression(repr(shape))
        case (("numel" | "nelement"), []):
            return ast.Constant(math.prod(shape))
        case (("view" | "reshape"), [*sizes]):
            return _reshaped(node, shape, sizes)
        case "flatten", [*places]:
            at = places[0] if places and isinstance(places[0], int) else 0
            return _zeros(node, (*shape[:at], math.prod(shape[at:])))
        case method, _ if method in _DETACHED:
            return node.func.value
    return None


def _reshaped(node: ast.Call, shape: Shape, sizes: Sequence[object]) -> ast.expr | None:
    if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
        sizes = sizes[0]
    known = [s for s in sizes if type(s) is int]
    if len(known) != len(sizes):
        return None
    rest = math.prod(shape) // max(1, math.prod(s for s in known if s != -1))
    return _zeros(node, tuple(rest if s == -1 else s for s in known))


def _zeros(node: ast.Call, shape: Shape) -> ast.expr:
    """An array of that shape, made as the one is whose method is called."""
    assert isinstance(node.func, ast.Attribute)
    return made_of(node.func.value, shape)


def made_of(tried: ast.AST, shape: Shape) -> ast.expr:
    """An array of another shape, made as one is that is tried."""
    assert isinstance(tried, ast.Call)
    return ast.Call(tried.func, [ast.Constant(s) for s in shape], [])


def of_layer(
    origin: Origin,
    node: ast.expr,
    shape: Shape,
    layer: Callable[[str], ast.expr | None],
) -> Shape | None:
    """The shape of what a layer makes; None where that is not told."""
    if isinstance(node, ast.Name):
        inner = layer(node.id)
        return of_layer(origin, inner, shape, layer) if inner is not None else None
    if not isinstance(node, ast.Call):
        return None
    full = origin.qualified(node.func)
    own = origin.classes.get(getattr(node.func, "id", ""))
    if own is not None and len(own.bases) == 1:
        # What is built on a layer, and calls it, makes what that makes.
        full = origin.qualified(own.bases[0]) if "super" in names(own) else ""
    if not full.startswith("torch.nn."):
        return None
    title = full.rpartition(".")[2]
    if title == "Sequential":
        made: Shape | None = shape
        for part in node.args:
            parts = items_of(part.value) if isinstance(part, ast.Starred) else [part]
            for one in parts or [part]:
                made = of_layer(origin, one, made, layer) if made is not None else None
        return made
    return _of_kind(title, node, shape)


def _of_kind(title: str, node: ast.Call, shape: Shape) -> Shape | None:
    if title in _SAME:
        return shape
    if title == "Linear":
        out = literal(node.args[1]) if len(node.args) > 1 else None
        return (*shape[:-1], out) if type(out) is int else None
    if title == "Flatten":
        return (shape[0], math.prod(shape[1:])) if not node.args else None
    dims = int(title[-2]) if title[-2:] in ("1d", "2d", "3d") else 0
    if not dims or len(shape) <= dims:
        return None
    if title.startswith("Adaptive"):
        given = literal(node.args[0]) if node.args else None
        sizes = _each(given, dims)
        return (*shape[:-dims], *sizes) if sizes is not None else None
    pooled = title[:-2] in ("MaxPool", "AvgPool")
    if not pooled and title[:-2] != "Conv":
        return None
    places = _POOLS if pooled else _WINDOWS
    found = {p: literal(a) for p, a in zip(places, node.args, strict=False)}
    found |= {str(k.arg): literal(k.value) for k in node.keywords}
    if found.get("ceil_mode"):
        return None
    window = _each(found.get("kernel_size"), dims)
    stride = _each(
        found.get("stride") or (found.get("kernel_size") if pooled else 1), dims
    )
    padding = _each(found.get("padding", 0), dims)
    dilation = _each(found.get("dilation", 1), dims)
    if window is None or stride is None or padding is None or dilation is None:
        return None
    spatial = [
        (n + 2 * p - d * (w - 1) - 1) // s + 1
        for n, w, s, p, d in zip(
            shape[-dims:], window, stride, padding, dilation, strict=True
        )
    ]
    channels = shape[-dims - 1] if pooled else found.get("out_channels")
    if type(channels) is not int or min(spatial) < 1:
        return None
    return (*shape[: -dims - 1], channels, *spatial)


def _each(value: object, dims: int) -> Shape | None:
    if type(value) is int:
        return (value,) * dims
    if isinstance(value, tuple | list) and len(value) == dims:
        whole = tuple(v for v in value if type(v) is int)
        return whole if len(whole) == dims else None
    return None
