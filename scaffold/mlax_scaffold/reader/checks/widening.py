"""The functions that compute half precision in float32, and the strict words for them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import is_exact, qualified
from mlax_scaffold.reader.checks.floats import is_float, of_floats
from mlax_scaffold.reader.checks.likeness import like_of
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.checks.number_arguments import number_arguments
from mlax_scaffold.reader.checks.numpy_arrays import of_numpy_floats
from mlax_scaffold.reader.checks.numpy_values import is_of_numpy
from mlax_scaffold.reader.source import dotted, self_attribute

WIDENING = {
    "jax.numpy.average": "mean",
    "jax.numpy.linalg.norm": "l2_norm",
    "jax.numpy.mean": "mean",
    "jax.numpy.linalg.matrix_norm": "l2_norm",
    "jax.numpy.linalg.trace": "sum",
    "jax.numpy.linalg.vector_norm": "l2_norm",
    "jax.numpy.nanmean": "mean",
    "jax.numpy.nanprod": "prod",
    "jax.numpy.nanstd": "std",
    "jax.numpy.nansum": "sum",
    "jax.numpy.nanvar": "var",
    "jax.numpy.prod": "prod",
    "jax.numpy.std": "std",
    "jax.numpy.sum": "sum",
    "jax.numpy.trace": "sum",
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
    "jax.scipy.special.log_softmax": "log_softmax",
    "jax.scipy.special.logsumexp": "logsumexp",
    "jax.scipy.special.softmax": "softmax",
}
"""Functions that compute half-precision input in float32, and the strict word to use."""

UNTYPED = {
    "jax.nn.one_hot": 2,
    "jax.numpy.eye": 3,
    "jax.numpy.fft.fftfreq": 2,
    "jax.numpy.fft.rfftfreq": 2,
    "jax.numpy.geomspace": 4,
    "jax.numpy.identity": 1,
    "jax.numpy.ones": 1,
    "jax.numpy.tri": 3,
    "jax.numpy.zeros": 1,
    "jax.numpy.linspace": 5,
    "jax.numpy.logspace": 5,
    "jax.random.beta": 4,
    "jax.random.cauchy": 2,
    "jax.random.chisquare": 3,
    "jax.random.dirichlet": 3,
    "jax.random.exponential": 2,
    "jax.random.gamma": 3,
    "jax.random.gumbel": 2,
    "jax.random.laplace": 2,
    "jax.random.logistic": 2,
    "jax.random.multivariate_normal": 4,
    "jax.random.normal": 2,
    "jax.random.t": 3,
    "jax.random.truncated_normal": 4,
    "jax.random.uniform": 2,
}
"""Functions that make arrays of float32 where no dtype is given, and the place of the dtype."""

_WIDENING_METHODS = {
    "mean": "mean",
    "prod": "prod",
    "std": "std",
    "sum": "sum",
    "trace": "sum",
    "var": "var",
}
"""The same as methods of arrays."""


_EXACT = ("sum", "prod")
"""Words of functions that widen nothing where they are given integers or booleans."""


def strict_word(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> str | None:
    """The strict word for a function that widens what it is given; None for any other call.

    Functions are known by their qualified names, whatever they are imported as. A sum
    of what is certain to be integers or booleans widens nothing, nor does a method of
    an array of NumPy.
    """
    word = word_of(call.func, imports)
    if word and _is_method_of_numpy(call, tree, imports, method):
        return None
    drawn = qualified(call.func, imports) == "jax.random.bernoulli"
    if drawn and _has_array_of_chances(call, tree, imports, method):
        return None
    if word in _EXACT and all(k.arg in ("axis", "keepdims") for k in call.keywords):
        given = list(call.args)
        method_of = call.func if not qualified(call.func, imports) else None
        if isinstance(method_of, ast.Attribute):
            given.insert(0, method_of.value)
        # A third one is the dtype of the sum.
        if 1 <= len(given) <= 2 and is_exact(given[0], tree, imports, method):
            return None
    return word


def _has_array_of_chances(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether `jax.random.bernoulli` is given an array of probabilities, in whose dtype it draws."""
    given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "p")]
    inputs = {a.arg for a in method.args.args} - number_arguments(tree, method)
    own = {
        m.name
        for part in tree.body
        if isinstance(part, ast.ClassDef)
        for m in part.body
        if isinstance(m, ast.FunctionDef)
    }

    def is_array(node: ast.AST, seen: frozenset[str]) -> bool:
        match node:
            case ast.Attribute(attr="shape" | "ndim" | "size" | "dtype"):
                return False
            case ast.Call(func=function):
                # What a method makes of numbers is a number, what a layer makes of anything is none.
                called = self_attribute(function)
                if (qualified(function, imports) or "").startswith("jax."):
                    return True
                if called and called not in own:
                    return True
            case ast.Name(id="self"):
                return False
            case ast.Name(id=name) if name not in imports and name not in seen:
                if name in inputs:
                    return True
                values = only_value(name, method)
                return any(is_array(v, seen | {name}) for v in values)
        return any(is_array(part, seen) for part in ast.iter_child_nodes(node))

    return any(is_array(node, frozenset()) for node in given)


_BY_HAND = {
    "initial": "The strict `{word}` has no initial: add it, or multiply by it.",
    "ord": "Of order 2 it is `l2_norm`; others are `sum(jnp.abs(x))`, `jnp.max(jnp.abs(x))`, "
    "or in float32 `widened(jnp.linalg.norm)`.",
    "weights": "Write `sum(x * weights) / sum(weights)`, with the strict `sum`.",
}
"""What to write for arguments that the strict words do not have."""

_NO_WORD = {
    "nanmean": "Write `mean(x, where=~jnp.isnan(x))`, with the strict `mean`.",
    "nanprod": "Write `prod(x, where=~jnp.isnan(x))`, with the strict `prod`.",
    "nanstd": "Write `std(x, where=~jnp.isnan(x))`, with the strict `std`.",
    "nansum": "Write `sum(x, where=~jnp.isnan(x))`, with the strict `sum`.",
    "nanvar": "Write `var(x, where=~jnp.isnan(x))`, with the strict `var`.",
    "rademacher": "Write `jnp.where(bernoulli(key, p=0.5, shape=shape), 1, -1)`.",
    "trace": "Write `sum(jnp.diagonal(x), axis=-1)`, with the strict `sum`.",
}
"""What to write for functions that no strict word stands for."""


def strict_hint(call: ast.Call, word: str) -> str:
    """What to write in the place of a call that widens."""
    name = (dotted(call.func) or "").rpartition(".")[2]
    given = [k.arg or "" for k in call.keywords]
    given += ["ord"] * (name == "norm" and len(call.args) > 1)
    for argument in given:
        if argument in _BY_HAND:
            return _BY_HAND[argument].format(word=word)
    return _NO_WORD.get(name) or (
        f"Use the strict `{word}` of mlax_scaffold.spec; its accum_dtype widens where "
        "that is asked for."
    )


def untyped(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
) -> str | None:
    """The array whose dtype a new one should have, and has not; None where all is well."""
    if _is_untyped(call, tree, imports, method):
        return like_of(call, tree, method, imports, attributes)
    return None


def untyped_call(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
) -> bool:
    """Whether a call makes floats of no dtype, where no array tells which."""
    made = _is_untyped(call, tree, imports, method)
    return made and like_of(call, tree, method, imports, attributes) is None


def _is_untyped(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether a call makes an array of floats, and is given no dtype."""
    called = qualified(call.func, imports) or ""
    places = {UNTYPED.get(name) for name in _meant(call.func, imports, method)}
    at = places.pop() if len(places) == 1 else None
    if called == "jax.numpy.full" and len(call.args) > 1:
        filled = ast.List([call.args[1]], ast.Load())
        at = 2 if of_floats(filled, tree, imports, method) else None
    if called == "jax.numpy.arange" and any(is_float(a, imports) for a in call.args):
        at = 3
    if called in ("jax.numpy.array", "jax.numpy.asarray") and call.args:
        given = call.args[0], tree, imports, method
        at = 1 if of_floats(*given) or of_numpy_floats(*given) else None
    if (
        at is None
        or len(call.args) > at
        or any(k.arg == "dtype" for k in call.keywords)
    ):
        return False
    if any(isinstance(a, ast.Starred) for a in call.args):
        return False
    return not any(k.arg is None for k in call.keywords)


def _meant(
    function: ast.expr, imports: Mapping[str, Import], method: ast.FunctionDef
) -> list[str]:
    """The functions that a call may be of: one of a dictionary, or of a condition, under any name."""
    match function:
        case ast.Name(id=name) if name not in imports:
            return [
                meant
                for value in only_value(name, method)
                if isinstance(value, ast.Subscript | ast.IfExp | ast.Attribute)
                for meant in _meant(value, imports, method)
            ]
        case ast.Subscript(value=ast.Dict(values=values)):
            return [n for value in values for n in _meant(value, imports, method)]
        case ast.IfExp(body=first, orelse=second):
            return [
                n for value in (first, second) for n in _meant(value, imports, method)
            ]
    return [qualified(function, imports) or ""]


NARROW = {"jax.numpy.cumsum": "cumsum", "jax.ops.segment_sum": "segment_sum"}
"""Functions whose error grows with what they add in half precision, and the strict word to use."""
NARROW_WORDS = {
    "cumsum": "which rounds each sum once, along an axis",
    "segment_sum": "which adds them in pairs",
}
"""What the strict words do in the place of that."""


def narrow_word(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> str | None:
    """The strict word for such a function; None for any other call, and for one of integers."""
    word = NARROW.get(qualified(call.func, imports) or "")
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cumsum":
        root = (dotted(call.func) or "").partition(".")[0]
        word = word or ("cumsum" if root not in imports else None)
    if word and _is_method_of_numpy(call, tree, imports, method):
        return None
    if any(k.arg == "dtype" for k in call.keywords):
        return None  # it is said in which dtype it adds
    return word if word and not _is_of_integers(call, tree, imports, method) else None


def adds_integers(
    call: ast.Call,
    word: str,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether a call adds integers in another dtype, which the strict word does not."""
    return word in _EXACT and _is_of_integers(call, tree, imports, method)


def _is_method_of_numpy(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether a call is of a method of what NumPy has computed, as all is that `setup` derives."""
    function = call.func
    if not isinstance(function, ast.Attribute) or qualified(function, imports):
        return False
    if method.name == "setup" and [a.arg for a in method.args.args] == ["self"]:
        # What a function in it is given, as an initializer is, is another thing.
        inner = (n for n in walk(method) if isinstance(n, ast.FunctionDef | ast.Lambda))
        if not any(call in walk(n) for n in inner if n is not method):
            return True
    numbers = number_arguments(tree, method)
    return is_of_numpy(function.value, imports, method, numbers)


def _is_of_integers(
    call: ast.Call,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether what a call is given is certain to be of integers or booleans."""
    given = list(call.args)
    if isinstance(call.func, ast.Attribute) and not qualified(call.func, imports):
        given.insert(0, call.func.value)
    return bool(given) and is_exact(given[0], tree, imports, method)


def word_of(function: ast.expr, imports: Mapping[str, Import]) -> str | None:
    """The strict word for a function that widens, by its name; None for any other."""
    root, _, rest = (dotted(function) or "").partition(".")
    imported = imports.get(root)
    if imported is not None:
        parts = (imported.module, imported.attribute, rest)
        return WIDENING.get(".".join(filter(None, parts)))
    if isinstance(function, ast.Attribute) and self_attribute(function) is None:
        return _WIDENING_METHODS.get(function.attr)
    return None
