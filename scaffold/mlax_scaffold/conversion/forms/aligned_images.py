"""Images of PyTorch that are resized by linear interpolation: corner to corner, or to a size.

jax has no word for the first, and `jax.image.resize` computes weights in another dtype than the image's.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.added_code import with_definitions
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_TORCH = "torch_"
"""What the code that is added calls PyTorch."""
_CORNERS = """
def resize_aligned(x, rows, columns):
    \"\"\"Images (..., rows, columns) of another size, corner to corner, by linear interpolation.\"\"\"
    last, end = x.shape[-2] - 1, x.shape[-1] - 1
    top = [i * last / max(rows - 1, 1) for i in range(rows)]
    left = [i * end / max(columns - 1, 1) for i in range(columns)]
"""
_MIDDLES = """
def resize_linear(x, rows, columns):
    \"\"\"Images (..., rows, columns) of another size, by linear interpolation between middles.\"\"\"
    last, end = x.shape[-2] - 1, x.shape[-1] - 1
    top = [max((i + 0.5) * (last + 1) / rows - 0.5, 0.0) for i in range(rows)]
    left = [max((i + 0.5) * (end + 1) / columns - 0.5, 0.0) for i in range(columns)]
"""
_BETWEEN = """\
    above = torch_.tensor([int(at) for at in top])
    below = torch_.tensor([min(int(at) + 1, last) for at in top])
    before = torch_.tensor([int(at) for at in left])
    behind = torch_.tensor([min(int(at) + 1, end) for at in left])
    down = x.new_tensor([at - int(at) for at in top])[:, None]
    along = x.new_tensor([at - int(at) for at in left])
    x = x.index_select(-2, above) * (1 - down) + x.index_select(-2, below) * down
    return x.index_select(-1, before) * (1 - along) + x.index_select(-1, behind) * along
"""
_CLASS = """
class AlignedUpsample(torch_.nn.Module):
    \"\"\"Images that are made larger, whose corners stay where they are.\"\"\"

    def __init__(self, scale_factor):
        super().__init__()
        self.scale_factor = scale_factor

    def forward(self, x):
        rows, columns = x.shape[-2] * self.scale_factor, x.shape[-1] * self.scale_factor
        return resize_aligned(x, rows, columns)
"""
_UPSAMPLES = ("torch.nn.Upsample", "torch.nn.UpsamplingBilinear2d")
_RESIZES = ("torch.nn.functional.interpolate", "torch.nn.functional.upsample")


def without_aligned_images(origin: Origin) -> None:
    """Write such calls as those of a function, and of a class, which the file has then, in place."""
    if not origin.uses("torch"):
        return
    calls = _Calls(origin)
    calls.visit(origin.tree)
    if not calls.line:
        return
    places = {"resize_aligned": _CORNERS, "resize_linear": _MIDDLES}
    texts = [places[title] + _BETWEEN for title in sorted(calls.used)]
    texts += [_CLASS] if calls.layers else []
    with_definitions(origin, texts, calls.line, _TORCH)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.layers = False
        self.line = 0
        self.used: set[str] = set()
        """The functions that are called then."""
        self.pairs: set[str] = set()
        """Locals of a function that are sizes of images."""
        self.shapes: set[str] = set()
        """Locals that are all sizes of an image."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        saved, shapes = self.pairs, self.shapes
        self.shapes = {
            part.targets[0].id
            for part in walk(node)
            if isinstance(part, ast.Assign)
            if isinstance(part.targets[0], ast.Name) and _is_shape(part.value)
        }
        self.pairs = {
            part.targets[0].id
            for part in walk(node)
            if isinstance(part, ast.Assign)
            if isinstance(part.targets[0], ast.Name) and _is_pair(part.value)
        }
        self.generic_visit(node)
        self.pairs, self.shapes = saved, shapes
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        given = {str(k.arg): k.value for k in node.keywords}
        places = ("size", "scale_factor", "mode", "align_corners")
        if full in _RESIZES:
            given |= dict(zip(("x", *places), node.args, strict=False))
        elif full in _UPSAMPLES:
            given |= dict(zip(places, node.args, strict=False))
            if full.endswith("2d"):
                given |= {"mode": ast.Constant("bilinear"), "align_corners": ast.Constant(True)}  # fmt: skip
        else:
            return node
        aligned = literal(given.get("align_corners")) is True
        size, factor = given.get("size"), given.get("scale_factor")
        if literal(given.get("mode")) != "bilinear" or "antialias" in given:
            return node
        if full in _UPSAMPLES:
            if factor is None or not aligned or not _whole(factor):
                return node
            self.layers, self.line = True, node.lineno
            self.used.add("resize_aligned")
            return _at(f"AlignedUpsample({ast.unparse(factor)})", node)
        x = given.get("x")
        if x is None:
            return node
        parts = self._sizes(size) if size is not None else ""
        if not parts and aligned and factor is not None and _whole(factor):
            by = ast.unparse(factor)
            if not isinstance(x, ast.Name):
                return node
            parts = f"{x.id}.shape[-2] * ({by}), {x.id}.shape[-1] * ({by})"
        if not parts:
            return node
        self.line = node.lineno
        title = "resize_aligned" if aligned else "resize_linear"
        self.used.add(title)
        made = _at(f"{title}(x, {parts})", node)
        assert isinstance(made, ast.Call)
        made.args[0] = x
        return made

    def _sizes(self, size: ast.expr) -> str:
        """The two sizes of an image that is made; "" where that is not to be told."""
        if isinstance(size, ast.Tuple | ast.List) and len(size.elts) == 2:
            return ", ".join(map(ast.unparse, size.elts))
        said = ast.unparse(size)
        if type(literal(size)) is int:
            return f"{said}, {said}"
        sides = isinstance(size, ast.Subscript) and isinstance(size.slice, ast.Slice)
        if sides and isinstance(size.value, ast.Name) and size.value.id in self.shapes:  # type: ignore[union-attr]
            return f"({said})[-2], ({said})[-1]"
        if _is_pair(size) or (isinstance(size, ast.Name) and size.id in self.pairs):
            return f"({said})[-2], ({said})[-1]"
        return ""


def _is_pair(node: ast.expr) -> bool:
    """Whether an expression is the sizes of an image: `x.shape[-2:]`, `x.size()[2:]`."""
    if isinstance(node, ast.Tuple | ast.List):
        return len(node.elts) == 2
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return False
    inner = node.value.func if isinstance(node.value, ast.Call) else node.value
    return isinstance(inner, ast.Attribute) and inner.attr in ("shape", "size")


def _is_shape(node: ast.expr) -> bool:
    """Whether an expression is all sizes of a tensor: `x.size()`, `x.shape`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return True
        case ast.Attribute(attr="shape"):
            return True
    return False


def _whole(node: ast.expr) -> bool:
    value = literal(node)
    if isinstance(value, float) and value == int(value):
        assert isinstance(node, ast.Constant)
        node.value = int(value)
        return True
    return type(value) is int or is_name(node, getattr(node, "id", ""))


def _at(text: str, node: ast.expr) -> ast.expr:
    made = ast.parse(text, mode="eval").body
    for part in walk(made):
        if isinstance(part, ast.expr):
            ast.copy_location(part, node)
    return made
