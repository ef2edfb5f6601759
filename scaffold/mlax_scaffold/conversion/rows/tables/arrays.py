"""Functions of jax that widen half precision, as the strict words; methods of arrays likewise."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.activations import plain

_REDUCTION = "(a, axis=_, dtype=_, out=_, keepdims=_, initial=None, where=_)"
_BIASED = "(a, axis=_, dtype=_, out=_, ddof=0, keepdims=_, where=_)"


def _reduction(word: str) -> str:
    return f"word.{word}(a, where=where, axis=axis, keepdims=keepdims)"


_DROPOUT = "calc.dropout(x, rate)"
_NN = {
    "softmax": Row("(x, axis=_, where=_)", "word.softmax(x, where=where, axis=axis)"),
    "log_softmax": Row(
        "(x, axis=_, where=_)", "word.log_softmax(x, where=where, axis=axis)"
    ),
    "standardize": Row(
        "(x, axis=-1, mean=_, variance=_, epsilon=_, where=_)",
        "word.standardize(x, where=where, axis=axis, epsilon=epsilon)",
    ),
    "logsumexp": Row(
        "(a, axis=_, b=None, keepdims=_, return_sign=False, where=_)",
        "word.logsumexp(a, where=where, axis=axis, keepdims=keepdims)",
    ),
}
FUNCTIONS = {
    "jax.numpy.mean": Row(_REDUCTION, _reduction("mean")),
    "jax.numpy.sum": Row(_REDUCTION, _reduction("sum")),
    "jax.numpy.prod": Row(_REDUCTION, _reduction("prod")),
    "jax.numpy.var": Row(_BIASED, "calc.biased('var', a, axis, keepdims, ddof, where)"),
    "jax.numpy.std": Row(_BIASED, "calc.biased('std', a, axis, keepdims, ddof, where)"),
    "jax.numpy.linalg.norm": Row(
        "(x, ord=_, axis=_, keepdims=_)",
        "calc.norm_of_matrices(x, ord, axis, keepdims)",
    ),
    "jax.numpy.broadcast_to": Row("(array, shape)", "calc.spread(array, shape)"),
    "jax.scipy.special.logsumexp": _NN["logsumexp"],
    **{f"jax.nn.{name}": row for name, row in _NN.items()},
    **{
        name.replace("jax.numpy", "numpy"): row
        for name, row in {
            "jax.numpy.mean": Row(_REDUCTION, _reduction("mean")),
            "jax.numpy.sum": Row(_REDUCTION, _reduction("sum")),
        }.items()
    },
    "jax.random.normal": Row(
        "(key, shape=(), dtype=_)",
        "jax.random.normal(calc.key(key), shape, calc.dtype(shape))",
    ),
    "jax.random.uniform": Row(
        "(key, shape=(), dtype=_, minval=0.0, maxval=1.0)",
        "jax.random.uniform(calc.key(key), shape, calc.dtype(shape), minval, maxval)",
    ),
    "jax.random.bernoulli": Row(
        "(key, p=0.5, shape=_)", "word.bernoulli(calc.key(key), p=p, shape=shape)"
    ),
    "jax.random.gumbel": Row(
        "(key, shape=(), dtype=_)",
        "jax.random.gumbel(calc.key(key), shape, calc.dtype(shape))",
    ),
    "jax.random.categorical": Row(
        "(key, logits, axis=_)",
        "jax.random.categorical(calc.key(key), logits, axis=axis)",
    ),
    **plain("jax.nn"),
    "jax.nn.identity": Row("(x)", "x"),
}

METHODS = {
    name: Row(_REDUCTION, _reduction(name)) for name in ("mean", "sum", "prod")
} | {
    name: Row(
        "(a, axis=_, dtype=_, out=_, ddof=0, keepdims=_, where=_)",
        f"calc.biased('{name}', a, axis, keepdims, ddof, where)",
    )
    for name in ("var", "std")
}
