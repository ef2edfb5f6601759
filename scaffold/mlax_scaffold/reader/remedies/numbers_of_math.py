"""Numbers that NumPy or jax would compute at import, computed by functions of `math`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import deepcopy

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.import_time import Refused
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source

_SAME = (
    *("ceil", "copysign", "cos", "cosh", "exp", "expm1", "floor", "hypot", "log"),
    *("log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)
_OTHER = {
    "absolute": "fabs",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "deg2rad": "radians",
    "power": "pow",
    "rad2deg": "degrees",
}
_FUNCTIONS = {
    f"{module}.{name}": other
    for module in ("numpy", "jax.numpy")
    for name, other in {**{name: name for name in _SAME}, **_OTHER}.items()
}
"""What functions of numbers are called in `math`."""
_MATH = Needed("math", "", "math")
_BITS = {
    "float16": (10, 15),
    "bfloat16": (7, 127),
    "float32": (23, 127),
    "float64": (52, 1023),
}
"""The mantissa and the largest exponent of floating dtypes."""


def by_math(
    source: Source,
    value: ast.expr,
    imports: Mapping[str, Import],
    check: Callable[[ast.expr, Mapping[str, str]], object],
) -> Fix | None:
    """`np.sqrt(2.0)` as `math.sqrt(2.0)`, `float(np.log(2.0))` without `float`, limits of dtypes as numbers.

    None where that is no value either.
    """
    edits: list[Edit] = []
    for node in ast.walk(value):
        if limit := _limit(node, imports):
            edits.append(source.edit(node, repr(limit)))
        if not isinstance(node, ast.Call) or node.keywords:
            continue
        if name := _FUNCTIONS.get(qualified(node.func, imports) or ""):
            edits.append(source.edit(node.func, f"math.{name}"))
        elif _is_float(node):
            first, last = source.start(node.args[0]), source.end(node.args[0])
            edits.append(source.replace(source.start(node), first, ""))
            edits.append(source.replace(last, source.end(node), ""))
    if not edits:
        return None
    meanings = {name: imported.meaning for name, imported in imports.items()}
    try:
        mended = _Mended(imports).visit(deepcopy(value))
        check(mended, {**meanings, "math": "math"})
    except Refused:
        return None
    computed = any("math." in edit.text for edit in edits)
    return Fix(tuple(edits), (_MATH,) if computed else ())


def _limit(node: ast.AST, imports: Mapping[str, Import]) -> float | None:
    """`np.finfo(np.float32).eps`."""
    match node:
        case ast.Attribute(
            value=ast.Call(func=function, args=[dtype], keywords=[]), attr=name
        ) if qualified(function, imports) in ("numpy.finfo", "jax.numpy.finfo"):
            pass
        case _:
            return None
    written = dtype.value if isinstance(dtype, ast.Constant) else None
    bits = _BITS.get(str(written or qualified(dtype, imports)).rpartition(".")[2])
    if bits is None:
        return None
    mantissa, exponent = bits
    largest = (2.0 - 2.0**-mantissa) * 2.0**exponent
    known = {"eps": 2.0**-mantissa, "tiny": 2.0 ** (1 - exponent), "max": largest}
    known |= {"smallest_normal": known["tiny"], "min": -largest}
    return known.get(name)


def _is_float(node: ast.Call) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="float"), args=[inner], keywords=[]) if (
            isinstance(inner, ast.Call | ast.Attribute)
        ):
            return True
    return False


class _Mended(ast.NodeTransformer):
    """The same, as it is to be."""

    def __init__(self, imports: Mapping[str, Import]):
        self.imports = imports

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        limit = _limit(node, self.imports)
        return node if limit is None else ast.Constant(limit)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = _FUNCTIONS.get(qualified(node.func, self.imports) or "")
        number = _is_float(node)
        self.generic_visit(node)
        if name and not node.keywords:
            node.func = ast.Attribute(ast.Name("math", ast.Load()), name, ast.Load())
        return node.args[0] if number else node
