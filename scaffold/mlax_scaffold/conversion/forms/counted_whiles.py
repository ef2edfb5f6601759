"""Loops of PyTorch that count a number down to their end, as loops over a range.

while count - 1:
    layers.append(Block(width))
    count -= 1

becomes `for _ in range(count - 1): layers.append(Block(width))`, where nothing else reads the number.

while len(shift.shape) < len(image.shape):
    shift = shift[..., None]

becomes `shift = shift[..., None, None]` in a class of convolutions over images: what is added to each channel
has the axes of a batch and of channels.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, is_name, literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_counted_whiles(origin: Origin) -> None:
    """Change the functions and methods of a file in place."""
    changed = False
    for owner in origin.classes.values():
        dims = _dims(origin, owner)
        changed = (bool(dims) and _Widened(dims).changed(owner)) or changed
    for function in walk(origin.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for part in walk(function):
            for field in ("body", "orelse"):
                body = getattr(part, field, None)
                if not isinstance(body, list):
                    continue
                for at, node in enumerate(body):
                    made = _counted(function, node)
                    if made is not None:
                        body[at], changed = made, True
    if changed:
        located(origin.tree)


def _dims(origin: Origin, node: ast.ClassDef) -> int:
    """Over how many axes the convolutions of a class go; 0 where they differ, or it has none."""
    calls = [origin.qualified(p.func) for p in walk(node) if isinstance(p, ast.Call)]
    found = {c for c in calls if c in _CONVOLUTIONS}
    return int(found.pop()[-2]) if len(found) == 1 else 0


_CONVOLUTIONS = tuple(f"torch.nn.Conv{n}d" for n in (1, 2, 3))
_RANKS = (
    "len({0}.shape) < len({1}.shape)",
    "{0}.ndim < {1}.ndim",
    "{0}.dim() < {1}.dim()",
)
_WIDENS = ("{0}[..., None]", "{0}.unsqueeze(-1)")


class _Widened(NodeTransformer):
    def __init__(self, dims: int):
        self.dims, self.found = dims, False

    def changed(self, node: ast.ClassDef) -> bool:
        self.visit(node)
        return self.found

    def visit_While(self, node: ast.While) -> ast.stmt:
        match node.test, node.body:
            case (
                ast.Compare() as test,
                [ast.Assign(targets=[ast.Name(id=local)], value=value)],
            ):
                text = ast.unparse(test)
                other = text.rpartition("< ")[2].removeprefix("len(").partition(".")[0]
                asks = any(text == r.format(local, other) for r in _RANKS)
                if asks and ast.unparse(value) in [w.format(local) for w in _WIDENS]:
                    self.found = True
                    new = ", None" * self.dims
                    made = expression(f"{local}[...{new}]")
                    whole = ast.Assign([ast.Name(local, ast.Store())], made)
                    return ast.copy_location(whole, node)
        self.generic_visit(node)
        return node


def _counted(function: ast.FunctionDef, node: ast.stmt) -> ast.For | None:
    if not isinstance(node, ast.While) or node.orelse or len(node.body) < 2:
        return None
    found = _count(node.test)
    if found is None:
        return None
    title, times = found
    last = node.body[-1]
    match last:
        case ast.AugAssign(
            target=ast.Name(id=counted), op=ast.Sub(), value=ast.Constant(value=1)
        ) if counted == title:
            pass
        case _:
            return None
    own = {id(p) for p in (*walk(node.test), *walk(last))}
    begins = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    others = [p for p in walk(function) if is_name(p, title) and id(p) not in own]
    ends = any(isinstance(p, ast.Break | ast.Continue) for p in walk(node))
    if title not in begins or others or ends:
        # What a local begins with may be no whole number, and what is read elsewhere would not be counted.
        return None
    made = ast.For(
        ast.Name("_", ast.Store()),
        expression("range(times)", times=times),
        node.body[:-1],
        [],
    )
    return ast.copy_location(made, node)


def _count(test: ast.expr) -> tuple[str, ast.expr] | None:
    """The number that a condition counts down, and how often it holds."""
    match test:
        case ast.Name(id=title):
            return title, test
        case ast.BinOp(left=ast.Name(id=title), op=ast.Sub(), right=right) if (
            type(literal(right)) is int
        ):
            return title, test
        case ast.Compare(
            left=ast.Name(id=title), ops=[ast.Gt()], comparators=[right]
        ) if type(literal(right)) is int:
            number = literal(right)
            name = ast.Name(title, ast.Load())
            return title, expression(f"n - {number}", n=name) if number else name
    return None
