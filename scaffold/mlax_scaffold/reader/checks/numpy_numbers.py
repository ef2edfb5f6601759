"""Numbers that NumPy computes in a body: they are of float64, and what they meet becomes float32."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source, self_attribute

_OF_MATH = frozenset(
    [
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh"),
        *("exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh"),
        *("sqrt", "tan", "tanh"),
    ]
)
"""Functions of NumPy that `math` has by the same name, with results that are floating."""


def check_numpy_numbers(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report functions of NumPy whose argument is certain to be a number."""
    for node in ast.walk(method):
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
            continue
        module, _, name = (qualified(node.func, imports) or "").rpartition(".")
        if module != "numpy" or name not in _OF_MATH:
            continue
        if not _is_number(node.args[0], attributes):
            continue
        edit = source.edit(node.func, f"math.{name}")
        source.report(
            node.func,
            f"a number of `{source.text_of(node.func)}` makes float32 of half precision",
            f"NumPy's numbers are no Python numbers: write `math.{name}`.",
            fix=Fix((edit,), (Needed("math", "", "math"),)),
        )


def _is_number(node: ast.expr, attributes: Mapping[str, str]) -> bool:
    """Whether an expression is a number, whatever arrays the method is given."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Attribute() if self_attribute(node):
            return attributes.get(self_attribute(node) or "") == "hyperparameter"
        case ast.Attribute(attr="ndim" | "size"):
            return True
        case ast.Subscript(
            value=ast.Attribute(attr="shape"),
            slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant()),
        ):
            return True
        case ast.UnaryOp(operand=inner):
            return _is_number(inner, attributes)
        case ast.BinOp(left=left, right=right):
            return _is_number(left, attributes) and _is_number(right, attributes)
        case ast.Call(func=ast.Name(id="len" | "float" | "int")):
            return True
    return False
