"""Functions of PyTorch that sample images at places, as functions that the file has then."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.added_code import with_definitions
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_TORCH = "torch_"
"""What the code that is added calls PyTorch."""
_PLACES = {
    True: "(grid[..., 0] + 1) / 2 * (width - 1), (grid[..., 1] + 1) / 2 * (height - 1)",
    False: "((grid[..., 0] + 1) * width - 1) / 2, ((grid[..., 1] + 1) * height - 1) / 2",
}
"""The columns and rows of places between -1 and 1: those of outer middles, or of outer sides."""
_SAMPLE = """
def sample_{name}(x, grid):
    \"\"\"Images (batch, channels, height, width) at places (batch, rows, columns, 2).\"\"\"
    height, width = x.shape[2], x.shape[3]
    column, row = {places}
    left, top = torch_.floor(column), torch_.floor(row)
    flat = x.flatten(2)
    found = 0
    for down in (0, 1):
        for along in (0, 1):
            c, r = left + along, top + down
            near = (1 - torch_.abs(column - c)) * (1 - torch_.abs(row - r))
            inside = (c >= 0) & (c < width) & (r >= 0) & (r < height)
            index = torch_.clamp(r, 0, height - 1) * width + torch_.clamp(c, 0, width - 1)
            index = index.long().reshape(x.shape[0], 1, -1)
            values = torch_.gather(flat, 2, index.expand(x.shape[0], x.shape[1], index.shape[2]))
            values = values.reshape(x.shape[0], x.shape[1], grid.shape[1], grid.shape[2])
            found = found + values * torch_.where(inside, near, torch_.zeros_like(near))[:, None]
    return found
"""
_GRID = """
def places_{name}(theta, height, width):
    \"\"\"Where the elements of an image lie that affine maps (batch, 2, 3) give.\"\"\"
    columns = theta.new_tensor([{column} for i in range(width)])
    rows = theta.new_tensor([{row} for i in range(height)])
    along = columns[None, :].expand(height, width)
    down = rows[:, None].expand(height, width)
    places = torch_.stack((along, down, torch_.ones_like(along)), dim=-1)
    return torch_.einsum('hwk,bik->bhwi', places, theta)
"""
_STEPS = {
    True: "2 * i / max({} - 1, 1) - 1",
    False: "(2 * i + 1) / {} - 1",
}
_ALIGNED = {True: "aligned", False: "between"}
_GIVEN = {
    "torch.nn.functional.grid_sample": (
        *("x", "grid", "mode", "padding_mode", "align_corners"),
    ),
    "torch.nn.functional.affine_grid": ("theta", "size", "align_corners"),
}


def without_sampled_images(origin: Origin) -> None:
    """Write such calls as those of functions, in place."""
    if not origin.uses("torch"):
        return
    calls = _Calls(origin)
    calls.visit(origin.tree)
    if not calls.texts:
        return
    with_definitions(origin, calls.texts.values(), calls.line, _TORCH)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.texts: dict[str, str] = {}
        self.line = 0

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        places = _GIVEN.get(self.origin.qualified(node.func), ())
        given = dict(zip(places, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        if "input" in given:
            given["x"] = given.pop("input")
        aligned = literal(given.pop("align_corners", ast.Constant(None))) is True
        if {"x", "grid"} <= given.keys() <= {*places}:
            modes = [literal(given[m]) for m in ("mode", "padding_mode") if m in given]
            if not {*modes} <= {"bilinear", "zeros"}:
                return node
            title = f"sample_{_ALIGNED[aligned]}"
            text = _SAMPLE.format(name=_ALIGNED[aligned], places=_PLACES[aligned])
            made = [given["x"], given["grid"]]
        elif given.keys() == {"theta", "size"}:
            title = f"places_{_ALIGNED[aligned]}"
            steps = [_STEPS[aligned].format(n) for n in ("width", "height")]
            text = _GRID.format(name=_ALIGNED[aligned], column=steps[0], row=steps[1])
            said = ast.unparse(given["size"])
            sides = [ast.parse(f"({said})[{i}]", mode="eval").body for i in (2, 3)]
            if isinstance(given["size"], ast.Tuple | ast.List):
                sides = given["size"].elts[2:]
            made = [given["theta"], *sides]
        else:
            return node
        self.texts[title], self.line = text, node.lineno
        call = ast.Call(ast.Name(title, ast.Load()), made, [])
        return located(ast.copy_location(call, node))
