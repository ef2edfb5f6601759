"""Fields of linen that are the kernel of a convolution, of as many sides as what it makes is told to have.

patch: Any                                                   patch: tuple[int, int]
x = nn.Conv(8, self.patch, strides=self.patch)(x)  becomes   x = nn.Conv(8, self.patch, strides=self.patch)(x)
x = rearrange(x, "n h w c -> n (h w) c")                     x = rearrange(x, "n h w c -> n (h w) c")

So does `n, h, w, c = x.shape`. What else a field says of its type stays.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.axis_patterns import Pattern
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_OPEN = ("Any", "tuple", "Tuple", "Sequence[int]", "Tuple[int, ...]", "tuple[int, ...]")


def with_kernel_ranks(origin: Origin) -> None:
    """Write such types, in place."""
    for node in origin.classes.values():
        call = method_of(node, "__call__")
        if framework_of(origin, node) != "flax" or call is None:
            continue
        sides = _sides(origin, call)
        for part in node.body:
            match part:
                case ast.AnnAssign(target=ast.Name(id=title), value=None) if (
                    title in sides
                    and ast.unparse(part.annotation).removeprefix("typing.") in _OPEN
                ):
                    kinds = ", ".join(["int"] * sides[title])
                    kind = ast.parse(f"tuple[{kinds}]", mode="eval").body
                    part.annotation = ast.copy_location(kind, part.annotation)
        located(node)


def _sides(origin: Origin, method: ast.FunctionDef) -> dict[str, int]:
    """How many sides the kernels have, by the field that each is."""
    made: dict[str, str] = {}
    found: dict[str, int] = {}
    for part in method.body:
        for title, kernel in made.items():
            count = next((n for p in walk(part) if (n := _axes(origin, p, title))), 0)
            if count > 2:
                found.setdefault(kernel, count - 2)
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value):
                made.pop(title, None)
                kernel = _kernel(origin, value)
                if kernel:
                    made[title] = kernel
    return found


def _kernel(origin: Origin, node: ast.expr) -> str:
    """The field that is the kernel of a convolution that is made and called."""
    match node:
        case ast.Call(func=ast.Call(func=conv, args=given, keywords=named)):
            if origin.qualified(conv) == "flax.linen.Conv":
                kernels = [*given[1:2]]
                kernels += [k.value for k in named if k.arg == "kernel_size"]
                return self_attribute(kernels[0]) or "" if kernels else ""
    return ""


def _axes(origin: Origin, node: ast.AST, title: str) -> int:
    """How many axes an expression or a statement tells an array of this name to have; 0 for none."""
    match node:
        case ast.Call(func=func, args=[given, pattern, *_]) if is_name(given, title):
            text = literal(pattern)
            if not origin.qualified(func).startswith("einops."):
                return 0
            read = Pattern.read(text) if isinstance(text, str) else None
            return len(read.left) if read is not None and not read.after_all else 0
        case ast.Assign(
            targets=[ast.Tuple(elts=elements)],
            value=ast.Attribute(value=given, attr="shape"),
        ) if is_name(given, title):
            starred = any(isinstance(e, ast.Starred) for e in elements)
            return 0 if starred else len(elements)
    return 0
