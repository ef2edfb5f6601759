"""Layers of PyTorch that a function wraps, as classes of the file: norms of weights, stacks of encoders."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.lists.stages import Parameters
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_TORCH = "torch_"
"""What the classes that are added call PyTorch."""
_WRAPPERS = {
    "torch.nn.utils.weight_norm": "weight",
    "torch.nn.utils.parametrizations.weight_norm": "weight",
    "torch.nn.utils.spectral_norm": "spectral",
    "torch.nn.utils.parametrizations.spectral_norm": "spectral",
}
_ENCODER = "torch.nn.TransformerEncoder"
_ENCODER_LAYER = "torch.nn.TransformerEncoderLayer"
_LINEAR = """
class {title}(torch_.nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
{weights}
        self.bias = torch_.nn.Parameter(torch_.zeros(out_features)) if bias else None

    def forward(self, x):
{body}
        return torch_.nn.functional.linear(x, weight, self.bias)
"""
_CONV = """
class {title}(torch_.nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
        bias=True,
    ):
        super().__init__()
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
{weights}
        self.bias = torch_.nn.Parameter(torch_.zeros(out_channels)) if bias else None

    def forward(self, x):
{body}
        return torch_.nn.functional.conv{dims}d(
            x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )
"""
_TRANSPOSED = """
class {title}(torch_.nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, bias=True,
        dilation=1,
    ):
        super().__init__()
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.in_channels, self.dilation = in_channels, dilation
{weights}
        self.bias = torch_.nn.Parameter(torch_.zeros(out_channels)) if bias else None

    def forward(self, x):
        {axes} = x.shape
        assert channels == self.in_channels
{body}
        return torch_.nn.functional.conv_transpose{dims}d(
            x, weight, self.bias, self.stride, self.padding, self.output_padding, dilation=self.dilation
        )
"""
_EMBEDDING = """
class {title}(torch_.nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
{weights}

    def forward(self, x: torch_.LongTensor):
{body}
        return torch_.nn.functional.embedding(x, weight)
"""
_LAYERS = ("Linear", "Embedding", *(f"Conv{n}d" for n in (1, 2, 3)))
_TURNED = tuple(f"ConvTranspose{n}d" for n in (1, 2, 3))
"""Those whose weights have the inputs first."""
_WEIGHTS = {
    "weight": """
        self.weight_g = torch_.nn.Parameter(torch_.ones({ones}))
        self.weight_v = torch_.nn.Parameter(torch_.randn({shape}) / ({fan}) ** 0.5)""",
    "spectral": """
        self.weight_orig = torch_.nn.Parameter(torch_.randn({shape}) / ({fan}) ** 0.5)
        self.register_buffer("weight_u", torch_.randn({out}))
        self.register_buffer("weight_v", torch_.randn({fan}))""",
}
_BODIES = {
    "weight": """
        length = torch_.sqrt((self.weight_v**2).sum(dim={rest}, keepdim=True))
        weight = self.weight_v * (self.weight_g / length)""",
    "spectral": """
        matrix = self.weight_orig{turned}.flatten(1)
        if self.training:
            v = torch_.nn.functional.normalize(matrix.t() @ self.weight_u, dim=0, eps=1e-12)
            u = torch_.nn.functional.normalize(matrix @ v, dim=0, eps=1e-12)
            self.weight_u = u.detach()
            self.weight_v = v.detach()
        sigma = torch_.sum(self.weight_u * (matrix @ self.weight_v))
        weight = self.weight_orig / sigma""",
}


def without_wrappers(origin: Origin) -> None:
    """Write such calls as those of classes, which the file has then, in place."""
    if not any(full.startswith("torch") for full in origin.imports.values()):
        return
    added = _Wrapped(origin)
    for node in list(origin.tree.body):
        if isinstance(node, ast.ClassDef):
            added.owner = node
            added.visit(node)
    if added.found:
        origin.tree.body[:0] = ast.parse(f"import torch as {_TORCH}").body
        origin.tree.body += added.found.values()
        origin.forget("imports", "classes", "copied")
    located(origin.tree)


class _Wrapped(NodeTransformer):
    owner: ast.ClassDef

    def __init__(self, origin: Origin):
        self.origin = origin
        self.found: dict[str, ast.ClassDef] = {}
        self.place = ""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        place = self_attribute(node.targets[0]) or ""
        self.place, before = place or self.place, self.place
        self.generic_visit(node)
        self.place = before
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        made = None
        if full in _WRAPPERS and len(node.args) == 1 and not node.keywords:
            made = self._normed(_WRAPPERS[full], node.args[0], node)
        elif full == _ENCODER:
            made = self._encoder(node)
        return node if made is None else made

    def _normed(self, kind: str, inner: ast.expr, at: ast.expr) -> ast.expr | None:
        """The layer whose weight is divided by its length, or by its largest singular value."""
        if not isinstance(inner, ast.Call):
            return None
        layer = self.origin.qualified(inner.func).removeprefix("torch.nn.")
        turned = layer in _TURNED
        if layer not in (*_LAYERS, *_TURNED):
            return None
        dims = int(layer[-2]) if "Conv" in layer else 0
        title = f"{kind.title()}Norm{layer}"
        if dims:
            size = _argument(inner, 2, "kernel_size")
            several = isinstance(size, ast.Tuple | ast.List)
            title += "Sizes" if several and dims > 1 else ""
            kernel = "*kernel_size" if several else ", ".join(["kernel_size"] * dims)
            window = "math.prod(kernel_size)" if several else f"kernel_size**{dims}"
            inputs = "in_channels // groups"
            shape, out = f"out_channels, {inputs}, {kernel}", "out_channels"
            fan = f"{inputs} * {window}" if dims > 1 else f"({inputs}) * kernel_size"
            text = _CONV
            if turned and (
                several or len(inner.args) > 6 or _argument(inner, 6, "groups")
            ):
                return None
            if turned:
                shape, fan = (
                    f"in_channels, out_channels, {kernel}",
                    f"in_channels * {window}",
                )
                # A norm is of the first axis, and the singular value that of the outputs.
                out = "in_channels" if kind == "weight" else "out_channels"
                text = _TRANSPOSED
        elif layer == "Embedding":
            if len(inner.args) != 2 or inner.keywords:
                return None
            shape, out, fan = (
                "num_embeddings, embedding_dim",
                "num_embeddings",
                "embedding_dim",
            )
            text = _EMBEDDING
        else:
            shape, out, fan = "out_features, in_features", "out_features", "in_features"
            text = _LINEAR
        rest = tuple(range(1, dims + 2))
        written = text.format(
            title=title,
            dims=dims,
            axes=", ".join(
                ["batch", "channels", "height", "width", "depth"][: dims + 2]
            ),
            weights=_WEIGHTS[kind].format(
                shape=shape, out=out, fan=fan, ones=", ".join([out] + ["1"] * len(rest))
            ),
            body=_BODIES[kind].format(
                rest=rest, turned=".transpose(0, 1)" if turned else ""
            ),
        )
        self._add(title, written, at)
        made = ast.Call(ast.Name(title, ast.Load()), inner.args, inner.keywords)
        return ast.copy_location(made, at)

    def _encoder(self, node: ast.Call) -> ast.expr | None:
        """`nn.TransformerEncoder(layer, depth)`, as a list of layers that are called in order."""
        layer = self._layer(_argument(node, 0, "encoder_layer"))
        depth = _argument(node, 1, "num_layers")
        norm = _argument(node, 2, "norm")
        if layer is None or depth is None or not self.place:
            return None
        layer = cloned(layer)
        first = literal(_argument(layer, 9, "batch_first")) is True
        if not first:
            layer.keywords = [k for k in layer.keywords if k.arg != "batch_first"]
            layer.keywords.append(ast.keyword("batch_first", ast.Constant(True)))
        given: dict[str, ast.expr] = {}
        parameters = Parameters(self.origin, given)
        layer = parameters.visit(layer)
        count = parameters.visit(cloned(depth))
        last = parameters.visit(cloned(norm)) if norm is not None else None
        inputs, passed = self._masks()
        turned = "" if first else ".transpose(0, 1)"
        title = f"{self.owner.name}{self.place.title().replace('_', '')}"
        lines = [
            f"class {title}({_TORCH}.nn.Module):",
            f"    def __init__({', '.join(['self', *given])}):",
            "        super().__init__()",
            f"        self.layers = {_TORCH}.nn.ModuleList(",
            f"            [{ast.unparse(layer)} for _ in range({ast.unparse(count)})])",
            *([f"        self.norm = {ast.unparse(last)}"] if last is not None else []),
            f"    def forward({', '.join(['self', 'src', *inputs])}):",
            *([f"        src = src{turned}"] if turned else []),
            "        for layer in self.layers:",
            f"            src = layer({', '.join(['src', *passed])})",
            *(["        src = self.norm(src)"] if last is not None else []),
            f"        return src{turned}",
        ]
        self._add(title, "\n".join(lines), node)
        made = ast.Call(ast.Name(title, ast.Load()), list(given.values()), [])
        return ast.copy_location(made, node)

    def _layer(self, node: ast.expr | None) -> ast.Call | None:
        """The call that makes the layer, which may stand in an assignment before."""
        if isinstance(node, ast.Call):
            return node if self.origin.qualified(node.func) == _ENCODER_LAYER else None
        title = ast.unparse(node) if node is not None else ""
        for part in walk(self.owner):
            if isinstance(part, ast.Assign) and any(
                ast.unparse(t) == title for t in part.targets
            ):
                return self._layer(part.value)
        return None

    def _masks(self) -> tuple[list[str], list[str]]:
        """The masks that calls of the stack give, and how they are handed on."""
        names = {"mask": "src_mask", "src_key_padding_mask": "src_key_padding_mask"}
        used: dict[str, str] = {}
        for call in _calls_of(self.owner, self.place):
            if len(call.args) > 1:
                call.keywords.append(ast.keyword("mask", call.args.pop(1)))
            call.keywords = [k for k in call.keywords if k.arg != "is_causal"]
            used |= {
                n: names[n] for n in names if any(k.arg == n for k in call.keywords)
            }
        # In the order of their parameters, as the calls give them.
        chosen = [n for n in names if n in used]
        for call in _calls_of(self.owner, self.place):
            by_name = {k.arg: k.value for k in call.keywords}
            if all(n in by_name for n in chosen):
                call.args += [by_name[n] for n in chosen]
                call.keywords = [k for k in call.keywords if k.arg not in chosen]
        return chosen, [f"{names[n]}={n}" for n in chosen]

    def _add(self, title: str, text: str, at: ast.expr) -> None:
        [node] = ast.parse(text).body
        assert isinstance(node, ast.ClassDef)
        for part in walk(node):
            if hasattr(part, "lineno"):
                ast.copy_location(part, at)
        self.found[title] = node


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if place < len(call.args) else None


def _calls_of(node: ast.AST, attribute: str) -> Iterator[ast.Call]:
    for part in walk(node):
        if isinstance(part, ast.Call) and self_attribute(part.func) == attribute:
            yield part
