"""Running metrics beside float64 references and flax: batches, masks, edges, and dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.nnx import metrics as nnx_metrics

from mlax import metric
from mlax_scaffold.testing.audit import assert_dtypes

_RANDOM = np.random.default_rng(3)
_SIZES = (7, 1, 12, 5)
_TOTAL = sum(_SIZES)
_VALUES = _RANDOM.normal(size=_TOTAL) * 3.0 + 5.0
_OTHERS = _VALUES + _RANDOM.normal(size=_TOTAL)
_LOGITS = _RANDOM.normal(size=(_TOTAL, 4)) * 2.0
_LABELS = _RANDOM.integers(0, 4, size=_TOTAL)
_GUESSES = np.where(
    _RANDOM.random(_TOTAL) < 0.6, _LABELS, _RANDOM.integers(0, 3, size=_TOTAL)
)
_SCORES = np.round(_RANDOM.random(_TOTAL), 1)
_BITS = _RANDOM.integers(0, 2, size=_TOTAL)
_WHERE = _RANDOM.random(_TOTAL) < 0.7
_WIDE: dict[str, Any] = {"dtype": "float64"}


def _mean(values):
    return np.mean(values)


def _hits(k):
    def of(logits, labels):
        best = np.argsort(-logits, axis=-1, kind="stable")[:, :k]
        return np.mean(np.any(best == labels[:, None], axis=-1))

    return of


def _perplexity(logits, labels):
    logs = logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
    return np.exp(-np.mean(logs[np.arange(len(labels)), labels]))


def _confusion(guesses, labels, classes=4):
    matrix = np.zeros((classes, classes))
    np.add.at(matrix, (labels, guesses), 1)
    return matrix


def _retrieval(share, average, classes=4):
    def of(guesses, labels):
        matrix = _confusion(guesses, labels, classes)
        hits, actual, found = matrix.diagonal(), matrix.sum(1), matrix.sum(0)
        if average == "micro":
            return share(hits.sum(), found.sum(), actual.sum())
        values = np.array(
            [share(*each) for each in zip(hits, found, actual, strict=True)]
        )
        if average == "binary":
            return values[1]
        return values[actual + found > 0].mean() if average == "macro" else values

    return of


def _precision(hits, found, actual):
    return hits / found if found else 0.0


def _recall(hits, found, actual):
    return hits / actual if actual else 0.0


def _f1(hits, found, actual):
    return 2 * hits / (found + actual) if found + actual else 0.0


def _auc(scores, labels):
    positive, negative = scores[labels == 1], scores[labels == 0]
    apart = positive[:, None] - negative[None, :]
    return np.mean((apart > 0) + 0.5 * (apart == 0))


def _r2(guesses, targets):
    return 1 - np.sum((guesses - targets) ** 2) / np.sum(
        (targets - targets.mean()) ** 2
    )


_CASES = (
    {
        "mean": (metric.Mean(**_WIDE), (_VALUES,), _mean),
        "accuracy": (metric.Accuracy(**_WIDE), (_LOGITS, _LABELS), _hits(1)),
        "top 2": (metric.Accuracy(k=2, **_WIDE), (_LOGITS, _LABELS), _hits(2)),
        "perplexity": (metric.Perplexity(**_WIDE), (_LOGITS, _LABELS), _perplexity),
        "confusion": (
            metric.ConfusionMatrix(4, **_WIDE),
            (_GUESSES, _LABELS),
            _confusion,
        ),
        "squared": (
            metric.MeanSquaredError(**_WIDE),
            (_VALUES, _OTHERS),
            lambda a, b: np.mean((a - b) ** 2),
        ),
        "absolute": (
            metric.MeanAbsoluteError(**_WIDE),
            (_VALUES, _OTHERS),
            lambda a, b: np.mean(abs(a - b)),
        ),
        "r2": (metric.R2(**_WIDE), (_OTHERS, _VALUES), _r2),
        "variance": (metric.Variance(**_WIDE), (_VALUES,), np.var),
        "unbiased": (
            metric.Variance(correction=1, **_WIDE),
            (_VALUES,),
            lambda values: np.var(values, ddof=1),
        ),
        # The scores are multiples of 0.1: each has a bin of its own.
        "auc": (
            metric.AUC(bins=11, low=-0.05, high=1.05, **_WIDE),
            (_SCORES, _BITS),
            _auc,
        ),
    }
    | {
        f"{kind.__name__} {average}": (
            kind(4, average=average, **_WIDE),
            (_GUESSES, _LABELS),
            _retrieval(share, average),
        )
        for kind, share in (
            (metric.Precision, _precision),
            (metric.Recall, _recall),
            (metric.F1, _f1),
        )
        for average in ("macro", "micro", "none")
    }
    | {
        f"{kind.__name__} binary": (
            kind(2, average="binary", **_WIDE),
            (_GUESSES % 2, _BITS),
            _retrieval(share, "binary", 2),
        )
        for kind, share in (
            (metric.Precision, _precision),
            (metric.Recall, _recall),
            (metric.F1, _f1),
        )
    }
)
"""A metric, all examples, and the value of them in NumPy."""


def _batches(*arrays):
    ends = np.cumsum(_SIZES)[:-1]
    return zip(*(np.split(a, ends) for a in arrays), strict=True)


@pytest.mark.parametrize("name", _CASES)
def test_batches_have_the_value_of_all_examples(name):
    kind, arrays, expected = _CASES[name]
    state = kind.init()
    for batch in _batches(*arrays):
        state = kind.update(state, *map(jnp.asarray, batch))
    result = kind.result(state)
    assert result.dtype == jnp.float64
    np.testing.assert_allclose(result, expected(*arrays), rtol=1e-12)


@pytest.mark.parametrize("name", _CASES)
def test_what_a_mask_leaves_out_counts_nothing(name):
    kind, arrays, expected = _CASES[name]
    spoiled = [
        np.where(
            _WHERE.reshape(-1, *[1] * (a.ndim - 1)),
            a,
            np.nan if a.dtype == float else -1,
        )
        for a in arrays
    ]
    state = kind.init()
    for *batch, where in _batches(*spoiled, _WHERE):
        state = kind.update(state, *map(jnp.asarray, batch), where=jnp.asarray(where))
    kept = [a[_WHERE] for a in arrays]
    np.testing.assert_allclose(kind.result(state), expected(*kept), rtol=1e-12)


@pytest.mark.parametrize("name", _CASES)
def test_merging_is_updating_and_nothing_changes_nothing(name):
    kind, arrays, _ = _CASES[name]
    first, second, *_ = (list(map(jnp.asarray, batch)) for batch in _batches(*arrays))
    merged = kind.merge(kind.of(*first), kind.of(*second))
    updated = kind.update(kind.update(kind.init(), *first), *second)
    swapped = kind.merge(kind.of(*second), kind.of(*first))
    for other in (updated, swapped, kind.merge(merged, kind.init())):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14),
            merged,
            other,
        )


@pytest.mark.parametrize("name", _CASES)
def test_of_nothing_it_is_nan(name):
    kind, arrays, _ = _CASES[name]
    nothing = jnp.zeros(len(arrays[0]), bool)
    masked = kind.update(kind.init(), *map(jnp.asarray, arrays), where=nothing)
    empty = kind.update(kind.init(), *(jnp.asarray(a[:0]) for a in arrays))
    for state in (kind.init(), masked, empty):
        result = kind.result(state)
        assert jnp.all(result == 0 if name == "confusion" else jnp.isnan(result))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", _CASES)
def test_states_and_results_have_their_dtype_whatever_the_input_has(name, dtype):
    kind, arrays, _ = _CASES[name]
    values = {field: getattr(kind, field) for field in type(kind).__dataclass_fields__}
    kind = type(kind)(**values | {"dtype": jnp.float32})
    given = [jnp.asarray(a, dtype if a.dtype == float else jnp.int32) for a in arrays]
    program = jax.make_jaxpr(kind.update)(kind.init(), *given)
    assert_dtypes(program, ("float32", dtype), what=f"update of {kind}")
    # What has 16 bits, or 64, is cast and nothing else is done with it.
    state = jax.eval_shape(kind.update, kind.init(), *given)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == jax.tree.map(
        lambda x: (x.shape, x.dtype), kind.init()
    )
    assert not any(x.weak_type for x in jax.tree.leaves(state))
    program = jax.make_jaxpr(kind.result)(state)
    assert_dtypes(program, ("float32",), what=f"result of {kind}")
    assert jax.eval_shape(kind.result, state).dtype == jnp.float32


def test_accuracy_mean_and_variance_are_those_of_flax():
    accuracy, mean, spread = (
        nnx_metrics.Accuracy(),
        nnx_metrics.Average("values"),
        nnx_metrics.Welford("values"),
    )
    ours: list[Any] = [
        *(metric.Accuracy(), metric.Mean(**_WIDE), metric.Variance(**_WIDE))
    ]
    states = [kind.init() for kind in ours]
    for logits, labels, values in _batches(_LOGITS, _LABELS, _VALUES):
        accuracy.update(
            logits=jnp.asarray(logits), labels=jnp.asarray(labels, jnp.int32)
        )
        mean.update(values=jnp.asarray(values))
        spread.update(values=jnp.asarray(values))
        batches = (logits, labels), (values,), (values,)
        states = [
            kind.update(state, *map(jnp.asarray, batch))
            for kind, state, batch in zip(ours, states, batches, strict=True)
        ]
    results = [kind.result(state) for kind, state in zip(ours, states, strict=True)]
    np.testing.assert_allclose(results[0], accuracy.compute(), rtol=1e-7)
    np.testing.assert_allclose(results[1], mean.compute(), rtol=1e-6)
    theirs = spread.compute()
    np.testing.assert_allclose(states[2].mean, theirs.mean, rtol=1e-6)
    np.testing.assert_allclose(results[2], theirs.standard_deviation**2, rtol=1e-6)


def test_equal_logits_are_ordered_as_argmax_and_top_k_order_them():
    logits = jnp.array(np.random.default_rng(0).integers(0, 3, size=(200, 6)), float)
    labels = jnp.array(np.random.default_rng(1).integers(0, 6, size=200))
    for k in (1, 2, 5, 6, 9):
        _, best = jax.lax.top_k(logits, min(k, 6))
        state = metric.Accuracy(k=k).of(logits, labels)
        assert state.hits.low == jnp.sum(jnp.any(best == labels[:, None], axis=-1))
    state = metric.Accuracy().of(logits, labels)
    assert state.hits.low == jnp.sum(jnp.argmax(logits, axis=-1) == labels)


def test_what_is_no_class_or_no_number_is_wrong_and_counts():
    logits = jnp.array([[0.0, 1.0], [0.0, 1.0], [jnp.nan, 1.0], [-jnp.inf, -jnp.inf]])
    kind = metric.Accuracy()
    state = kind.of(logits, jnp.array([-1, 2, 1, 0]))
    assert (int(state.hits.low), int(state.number.low)) == (1, 4)


def test_pairs_that_are_no_classes_do_not_count():
    kind = metric.ConfusionMatrix(2)
    state = kind.of(jnp.array([0, 2, 1, -1]), jnp.array([0, 0, -1, 1]))
    assert kind.result(state).tolist() == [[1, 0], [0, 0]]
    small = jnp.array([0, 1, -1], jnp.int8)
    large = metric.ConfusionMatrix(300)
    assert large.result(large.of(small, small)).sum() == 2
    flags = jnp.array([True, False, True])
    assert kind.result(kind.of(flags, flags)).tolist() == [[1, 0], [0, 2]]


def test_scores_in_one_bin_count_a_half():
    scores, labels = jnp.array([0.1, 0.4, 0.35, 0.8]), jnp.array([0, 0, 1, 1])
    fine, coarse = metric.AUC(), metric.AUC(bins=2)
    assert fine.result(fine.of(scores, labels)) == 0.75
    # 0.35 is in one bin with 0.1 and 0.4, and 0.8 above both: (0.5 + 0.5 + 1 + 1) / 4.
    assert coarse.result(coarse.of(scores, labels)) == 0.75
    assert coarse.result(coarse.of(scores - 9.0, labels)) == 0.5


def test_a_score_that_is_nan_is_no_area():
    kind = metric.AUC()
    state = kind.of(jnp.array([0.1, jnp.nan, 0.9]), jnp.array([0, 1, 1]))
    assert jnp.isnan(kind.result(state))


def test_one_state_serves_precision_recall_and_f1():
    guesses, labels = jnp.asarray(_GUESSES), jnp.asarray(_LABELS)
    state = metric.ConfusionMatrix(4).of(guesses, labels)
    for kind in (metric.Precision(4), metric.Recall(4), metric.F1(4)):
        assert kind.result(state) == kind.result(kind.of(guesses, labels))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: metric.Mean(dtype="bfloat16"), "Mean: dtype must have 32 or 64 bits"),
        (lambda: metric.Mean(dtype="int32"), "Mean: dtype"),
        (lambda: metric.Accuracy(k=0), "Accuracy: k"),
        (lambda: metric.F1(3, average="binary"), "'binary' is of 2 classes"),
        (lambda: metric.F1(3, average="some"), "F1: average"),  # type: ignore[arg-type]
        (lambda: metric.AUC(low=1.0, high=0.0), "AUC: low must be below high"),
        (
            lambda: metric.Mean().of(jnp.ones((2, 3)), where=jnp.ones(2, bool)),
            "Mean: where",
        ),
        (
            lambda: metric.R2().of(jnp.ones(2), jnp.ones(3)),
            "R2: targets",
        ),
        (lambda: metric.Accuracy().of(jnp.ones((2, 3)), jnp.ones(3, int)), "labels"),
    ],
)
def test_what_does_not_fit_is_told(make, told):
    with pytest.raises(ValueError, match=told):
        make()


def test_what_is_no_number_is_told():
    with pytest.raises(TypeError, match="Perplexity: logits"):
        metric.Perplexity().of(jnp.ones((2, 3), int), jnp.ones(2, int))
    with pytest.raises(TypeError, match=r"F1: predictions must .* jnp.argmax"):
        metric.F1(2).of(jnp.ones(2), jnp.ones(2, int))
    with pytest.raises(TypeError, match="Mean: where"):
        metric.Mean().of(jnp.ones(2), where=jnp.ones(2))


def test_a_hit_that_is_left_out_is_none():
    kind = metric.Accuracy()
    state = kind.of(jnp.eye(4), jnp.array([0, 1, 0, 0]), where=jnp.arange(4) > 0)
    assert (int(state.hits.low), int(state.number.low)) == (1, 3)


def test_a_class_that_is_predicted_or_a_label_is_in_the_macro_average():
    guesses, labels = jnp.array([0, 0, 1]), jnp.array([0, 2, 0])
    # Class 1 is predicted only, 2 a label only, and 3 neither.
    for kind, expected in (
        (metric.Precision(4), (0.5 + 0 + 0) / 3),
        (metric.Recall(4), (0.5 + 0 + 0) / 3),
        (metric.F1(4), (0.5 + 0 + 0) / 3),
    ):
        np.testing.assert_allclose(kind.result(kind.of(guesses, labels)), expected)
    none = metric.F1(4, average="none")
    assert none.result(none.of(guesses, labels)).tolist() == [0.5, 0, 0, 0]
