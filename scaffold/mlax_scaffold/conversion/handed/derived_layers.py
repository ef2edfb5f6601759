"""Classes that are built on a layer of PyTorch and read its weights: `class WSConv2d(nn.Conv2d)`.

The file gets the layer as a class of its own, which others are derived from as from any other one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_TORCH = "torch_"
_LINEAR = """
class {title}(torch_.nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = torch_.nn.Parameter(torch_.randn(out_features, in_features) / in_features**0.5)
        self.bias = torch_.nn.Parameter(torch_.zeros(out_features)) if bias else None

    def forward(self, x):
        return torch_.nn.functional.linear(x, self.weight, self.bias)
"""
_CONV = """
class {title}(torch_.nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
        bias=True,
    ):
        super().__init__()
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.weight = torch_.nn.Parameter(
            torch_.randn(out_channels, in_channels // groups, {sizes})
            / (in_channels // groups * {volume}) ** 0.5
        )
        self.bias = torch_.nn.Parameter(torch_.zeros(out_channels)) if bias else None

    def forward(self, x):
        return torch_.nn.functional.conv{dims}d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )
"""
_NORM = """
class {title}(torch_.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__()
        self.normalized_shape, self.eps = (normalized_shape,), eps
        self.weight = torch_.nn.Parameter(torch_.ones(normalized_shape))
        self.bias = torch_.nn.Parameter(torch_.zeros(normalized_shape))

    def forward(self, x):
        return torch_.nn.functional.layer_norm(
            x, self.normalized_shape, self.weight, self.bias, self.eps
        )
"""
_EMBEDDING = """
class {title}(torch_.nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = torch_.nn.Parameter(torch_.randn(num_embeddings, embedding_dim))

    def forward(self, x):
        return torch_.nn.functional.embedding(x, self.weight)
"""
_WRITTEN = {
    "Linear": _LINEAR,
    "LayerNorm": _NORM,
    "Embedding": _EMBEDDING,
    **{f"Conv{dims}d": _CONV for dims in (1, 2, 3)},
}
_WEIGHTS = ("weight", "bias", "_conv_forward")


def without_derived_layers(origin: Origin) -> None:
    """Change the file in place; a class that reads no weights is left to have the layer as a part."""
    found: dict[str, ast.ClassDef] = {}
    for node in list(origin.classes.values()):
        layer = _layer(origin, node)
        if layer is None:
            continue
        title = f"Torch{layer}"
        if title in origin.classes:
            continue
        base = found.setdefault(title, _class(layer, title, _is_tuple(origin, node)))
        node.bases = [ast.copy_location(ast.Name(title, ast.Load()), node.bases[0])]
        _passed_on(node, base)
        forward = next(f for f in base.body if getattr(f, "name", "") == "forward")
        assert isinstance(forward, ast.FunctionDef)
        [result] = forward.body
        assert isinstance(result, ast.Return)
        _Forward(result.value).visit(node)
        _begun_anew(node, base)
        if method_of(node, "__init__") is None:
            # It is the layer, but for what it defines itself.
            known = {getattr(m, "name", "") for m in node.body}
            node.body += [
                cloned(m) for m in base.body if getattr(m, "name", "") not in known
            ]
            node.bases = cloned(base.bases)
    if found:
        used = {p.id for p in walk(origin.tree) if isinstance(p, ast.Name)}
        found = {title: base for title, base in found.items() if title in used}
        origin.tree.body[:0] = ast.parse(f"import torch as {_TORCH}").body
        origin.tree.body += found.values()
        origin.forget("imports", "classes", "copied")
        located(origin.tree)


def _layer(origin: Origin, node: ast.ClassDef) -> str | None:
    """The layer that a class is built on, where it reads what that has."""
    if len(node.bases) != 1:
        return None
    layer = origin.qualified(node.bases[0]).removeprefix("torch.nn.")
    if layer not in _WRITTEN:
        return None
    reads = any(self_attribute(part) in _WEIGHTS for part in walk(node))
    return layer if reads else None


def _class(layer: str, title: str, windows: bool) -> ast.ClassDef:
    dims = int(layer[4]) if layer.startswith("Conv") else 0
    sizes = ", ".join(["kernel_size"] * dims)
    volume = f"kernel_size**{dims}"
    if windows and dims:
        # Windows that have a size for each axis.
        sizes = ", ".join(f"kernel_size[{d}]" for d in range(dims))
        volume = " * ".join(f"kernel_size[{d}]" for d in range(dims))
    given = {"title": title, "dims": dims, "sizes": sizes, "volume": volume}
    [made] = ast.parse(_WRITTEN[layer].format(**given)).body
    assert isinstance(made, ast.ClassDef)
    return made


def _is_tuple(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether the file makes a convolution of a class with a window that has a size for each axis."""
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and is_name(call.func, node.name):
            given = [*call.args[2:3]]
            given += [k.value for k in call.keywords if k.arg == "kernel_size"]
            if any(isinstance(g, ast.Tuple) for g in given):
                return True
    return False


def _passed_on(node: ast.ClassDef, base: ast.ClassDef) -> None:
    """Give a constructor that passes on `*args, **kwargs` the parameters of the layer."""
    start, other = method_of(node, "__init__"), method_of(base, "__init__")
    if start is None or other is None or start.args.vararg is None:
        return
    given = cloned(other.args)
    taken = {a.arg for a in start.args.args}
    more = [a for a in given.args[1:] if a.arg not in taken]
    late = len(given.args) - len(given.defaults)
    required = [a.arg for a in given.args[1:late]]
    for part in walk(start):
        if not isinstance(part, ast.Call) or not any(
            isinstance(a, ast.Starred) and is_name(a.value, start.args.vararg.arg)
            for a in part.args
        ):
            continue
        before = [a for a in part.args if not isinstance(a, ast.Starred)]
        order = [a.arg for a in given.args[1:]][len(before) :]
        said = {k.arg for k in part.keywords if k.arg}
        more = [a for a in more if a.arg in order and a.arg not in said]
        part.args = before
        part.keywords = [k for k in part.keywords if k.arg]
        part.keywords += [ast.keyword(a.arg, ast.Name(a.arg, ast.Load())) for a in more]
        break
    else:
        return
    start.args.vararg = start.args.kwarg = None
    defaults = dict(
        zip((a.arg for a in given.args[late:]), given.defaults, strict=True)
    )
    if start.args.defaults and any(a.arg in required for a in more):
        # What has no default cannot stand behind what has one.
        start.args.kwonlyargs += more
        start.args.kw_defaults += [defaults.get(a.arg) for a in more]
        return
    start.args.args += more
    start.args.defaults += [defaults[a.arg] for a in more if a.arg in defaults]


def _begun_anew(node: ast.ClassDef, base: ast.ClassDef) -> None:
    """Let the layer begin its weights by the `reset_parameters` of a class that has one."""
    named = any(getattr(m, "name", "") == "reset_parameters" for m in node.body)
    other = method_of(base, "__init__")
    call = "self.reset_parameters()"
    if named and other is not None and ast.unparse(other.body[-1]) != call:
        start = cloned(other)
        start.body += ast.parse(call).body
        if method_of(node, "__init__") is None:
            node.body.insert(0, start)


class _Forward(NodeTransformer):
    """Writes `super().forward(x)` out."""

    def __init__(self, result: ast.expr | None):
        self.result = result

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if self_attribute(func) == "_conv_forward" and isinstance(
            self.result, ast.Call
        ):
            # The method of PyTorch's, which is given the weights.
            made = cloned(self.result)
            made.args[: len(node.args)] = node.args
            return ast.copy_location(made, node)
        if (
            isinstance(func, ast.Attribute)
            and func.attr in ("forward", "__call__")
            and isinstance(func.value, ast.Call)
            and is_name(func.value.func, "super")
            and len(node.args) == 1
            and self.result is not None
        ):
            made = _Given(node.args[0]).visit(cloned(self.result))
            return ast.copy_location(made, node)
        return node


class _Given(NodeTransformer):
    def __init__(self, given: ast.expr):
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return cloned(self.given) if node.id == "x" else node
