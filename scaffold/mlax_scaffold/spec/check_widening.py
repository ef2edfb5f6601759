"""The functions that compute half precision in float32, and the strict words for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.spec.parse_source import dotted, self_attribute

WIDENING = {
    "jax.numpy.average": "mean",
    "jax.numpy.linalg.norm": "l2_norm",
    "jax.numpy.mean": "mean",
    "jax.numpy.median": "moments",
    "jax.numpy.nansum": "sum",
    "jax.numpy.prod": "prod",
    "jax.numpy.std": "std",
    "jax.numpy.sum": "sum",
    "jax.numpy.trapezoid": "sum",
    "jax.numpy.var": "var",
    "jax.nn.dot_product_attention": "dot_product_attention",
    "jax.nn.log1mexp": "log1mexp",
    "jax.nn.log_softmax": "log_softmax",
    "jax.nn.logmeanexp": "logmeanexp",
    "jax.nn.logsumexp": "logsumexp",
    "jax.nn.softmax": "softmax",
    "jax.nn.standardize": "standardize",
    "jax.random.bernoulli": "bernoulli",
    "jax.random.rademacher": "bernoulli",
    "jax.scipy.special.logsumexp": "logsumexp",
}
"""Functions that compute half-precision input in float32, and the strict word to use."""

_WIDENING_METHODS = {
    "mean": "mean",
    "prod": "prod",
    "std": "std",
    "sum": "sum",
    "var": "var",
}
"""The same as methods of arrays."""


_EXACT = ("sum", "prod")
"""Words of functions that widen nothing where they are given integers or booleans."""

_TO_BOOLEANS = frozenset(
    [
        *("all", "any", "equal", "greater", "greater_equal", "isfinite", "isin"),
        *("isinf", "isnan", "less", "less_equal", "logical_and", "logical_not"),
        *("logical_or", "logical_xor", "not_equal", "signbit"),
    ]
)
"""Functions of `jax.numpy` whose result is boolean, whatever they are given."""

_INTEGERS = frozenset(
    [
        *("bool", "int", "jax.numpy.bool_", "jax.numpy.int8", "jax.numpy.int16"),
        *("jax.numpy.int32", "jax.numpy.int64", "jax.numpy.uint8"),
        *("jax.numpy.uint16", "jax.numpy.uint32", "jax.numpy.uint64"),
    ]
)


def strict_word(
    call: ast.Call, imports: Mapping[str, Import], method: ast.FunctionDef
) -> str | None:
    """The strict word for a function that widens what it is given; None for any other call.

    Functions are known by their qualified names, whatever they are imported as. A sum
    of what is certain to be integers or booleans widens nothing.
    """
    word = _word(call.func, imports)
    if word in _EXACT and all(k.arg in ("axis", "keepdims") for k in call.keywords):
        given = list(call.args)
        method_of = call.func if not _qualified(call.func, imports) else None
        if isinstance(method_of, ast.Attribute):
            given.insert(0, method_of.value)
        # A third one is the dtype of the sum.
        if 1 <= len(given) <= 2 and _exact(given[0], imports, method):
            return None
    return word


def _exact(
    node: ast.expr, imports: Mapping[str, Import], method: ast.FunctionDef
) -> bool:
    """Whether an expression is certain to hold integers or booleans."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.UnaryOp(op=ast.Invert(), operand=inner):
            return _exact(inner, imports, method)
        case ast.BinOp(left=a, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=b):
            return _exact(a, imports, method) or _exact(b, imports, method)
        case ast.Call(func=ast.Attribute(attr="astype"), args=[dtype], keywords=[]):
            return (_qualified(dtype, imports) or dotted(dtype)) in _INTEGERS
        case ast.Call(func=function):
            module, _, name = (_qualified(function, imports) or "").rpartition(".")
            return module == "jax.numpy" and name in _TO_BOOLEANS
        case ast.Name(id=name):
            return name in _exact_inputs(method)
    return False


def _exact_inputs(method: ast.FunctionDef) -> set[str]:
    """The inputs that are annotated as integers or booleans, and that nothing binds again."""
    inputs = {
        a.arg
        for a in (*method.args.args, *method.args.kwonlyargs)
        if isinstance(a.annotation, ast.Subscript)
        and dotted(a.annotation.value) in ("Int", "Bool")
    }
    own = set(map(id, (*method.args.args, *method.args.kwonlyargs)))
    for node in ast.walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                inputs.discard(name)
            case ast.arg(arg=name) if id(node) not in own:
                inputs.discard(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                inputs.discard(name)
    return inputs


def _qualified(function: ast.expr, imports: Mapping[str, Import]) -> str | None:
    root, _, rest = (dotted(function) or "").partition(".")
    imported = imports.get(root)
    if imported is None:
        return None
    return ".".join(filter(None, (imported.module, imported.attribute, rest)))


def _word(function: ast.expr, imports: Mapping[str, Import]) -> str | None:
    root, _, rest = (dotted(function) or "").partition(".")
    imported = imports.get(root)
    if imported is not None:
        parts = (imported.module, imported.attribute, rest)
        return WIDENING.get(".".join(filter(None, parts)))
    if isinstance(function, ast.Attribute) and self_attribute(function) is None:
        return _WIDENING_METHODS.get(function.attr)
    return None
