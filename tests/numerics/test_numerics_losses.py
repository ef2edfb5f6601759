"""Losses beside those of optax, in float64, and where half precision and edges decide."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mlax import loss

_RANDOM = np.random.default_rng(7)
_LOGITS = _RANDOM.normal(size=(5, 4)) * 3.0
_OTHERS = _RANDOM.normal(size=(5, 4))
_THIRD = _RANDOM.normal(size=(5, 4))
_SHARES = _RANDOM.dirichlet(np.ones(4), size=5)
_LABELS = _RANDOM.integers(0, 4, size=5)
_BITS = (_RANDOM.random((5, 4)) < 0.5).astype("float64")
_WHERE = (
    np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0], [1, 1, 1, 0]])
    == 1
)
_LOGS = np.log(_SHARES[::-1].copy())

_CASES = {
    "squared_error": ((_LOGITS, _OTHERS), {}, {}),
    "l2_loss": ((_LOGITS, _OTHERS), {}, {}),
    "huber_loss": ((_LOGITS, _OTHERS), {"delta": 0.7}, {}),
    "log_cosh": ((_LOGITS, _OTHERS), {}, {}),
    "sigmoid_binary_cross_entropy": ((_LOGITS, _SHARES), {}, {}),
    "sigmoid_focal_loss": ((_LOGITS, _BITS), {"alpha": 0.3, "gamma": 1.5}, {}),
    "hinge_loss": ((_LOGITS, 2.0 * _BITS - 1.0), {}, {}),
    "perceptron_loss": ((_LOGITS, 2.0 * _BITS - 1.0), {}, {}),
    "sparsemax_loss": ((_LOGITS, _BITS), {}, {}),
    "smooth_labels": ((_SHARES,), {"alpha": 0.1}, {}),
    "softmax_cross_entropy": ((_LOGITS, _SHARES), {}, {}),
    "softmax_cross_entropy_with_integer_labels": ((_LOGITS, _LABELS), {}, {}),
    "poly_loss_cross_entropy": ((_LOGITS, _SHARES), {"epsilon": 1.3}, {}),
    "kl_divergence": ((_LOGS, _SHARES), {}, {}),
    "kl_divergence_with_log_targets": ((_LOGS, np.log(_SHARES)), {}, {}),
    "generalized_kl_divergence": ((_LOGS, _SHARES * 1.5), {}, {}),
    "cosine_similarity": ((_LOGITS, _OTHERS), {}, {}),
    "cosine_distance": ((_LOGITS, _OTHERS), {}, {}),
    "triplet_margin_loss": (
        (_LOGITS, _OTHERS, _THIRD),
        {"margin": 0.5, "epsilon": 1e-4},
        {"margin": 0.5, "eps": 1e-4},
    ),
    "multiclass_hinge_loss": ((_LOGITS, _LABELS), {}, {}),
    "ranking_softmax_loss": ((_LOGITS, _SHARES * 3.0), {}, {"reduce_fn": None}),
    "multiclass_perceptron_loss": ((_LOGITS, _LABELS), {}, {}),
}
"""Arguments, and hyperparameters here and, where they are called otherwise, there."""


def _both(name, arguments, ours, theirs):
    ours_of, theirs_of = getattr(loss, name), getattr(optax.losses, name)
    return (
        jax.jit(lambda x: ours_of(x, *arguments[1:], **ours)),
        jax.jit(lambda x: theirs_of(x, *arguments[1:], **(theirs or ours))),
    )


@pytest.mark.parametrize("name", _CASES)
def test_losses_and_their_gradients_are_those_of_optax(name):
    (first, *others), ours, theirs = _CASES[name]
    arguments = [jnp.asarray(a) for a in (first, *others)]
    functions = _both(name, arguments, ours, theirs)
    values = [f(arguments[0]) for f in functions]
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12)
    gradients = [
        jax.jit(jax.grad(lambda x, f=f: jnp.sum(f(x) ** 2)))(arguments[0])
        for f in functions
    ]
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-10)


def test_classes_that_are_left_out_are_those_of_optax():
    labels = jnp.asarray(_SHARES * _WHERE)
    ours = loss.softmax_cross_entropy(jnp.asarray(_LOGITS), labels, jnp.asarray(_WHERE))
    theirs = optax.losses.softmax_cross_entropy(_LOGITS, labels, where=_WHERE)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_items_that_are_left_out_of_a_ranking_are_those_of_optax():
    with jax.enable_x64(True):
        labels, where, weights = map(jnp.asarray, (_SHARES, _WHERE, np.abs(_OTHERS)))
        actual, expected = (
            jax.jit(jax.value_and_grad(lambda x, f=f: f(x).sum()))(jnp.asarray(_LOGITS))
            for f in (
                lambda x: loss.ranking_softmax_loss(x, labels, where, weights),
                lambda x: optax.losses.ranking_softmax_loss(
                    x, labels, where=where, weights=weights, reduce_fn=None
                ),
            )
        )
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(actual[1], expected[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("where", [None, _WHERE])
def test_smoothing_is_that_of_the_labels(where):
    given = (jnp.asarray(_LOGITS), jnp.asarray(_SHARES))
    mask = () if where is None else (jnp.asarray(where),)
    smooth = optax.losses.smooth_labels(_SHARES, 0.2, where=where)
    expected = loss.softmax_cross_entropy(given[0], jnp.asarray(smooth), *mask)
    actual = loss.softmax_cross_entropy(*given, *mask, label_smoothing=0.2)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_smoothing_of_integers_is_that_of_one_hot_labels():
    logits, labels = jnp.asarray(_LOGITS), jnp.asarray(_LABELS)
    actual = loss.softmax_cross_entropy_with_integer_labels(
        logits, labels, label_smoothing=0.2
    )
    hot = jax.nn.one_hot(labels, 4, dtype=logits.dtype)
    expected = loss.softmax_cross_entropy(logits, hot, label_smoothing=0.2)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_likelihoods_are_those_of_their_distributions():
    means, logs, targets = map(jnp.asarray, (_LOGITS, _OTHERS, _THIRD))
    expected = -jax.scipy.stats.norm.logpdf(targets, means, jnp.exp(logs))
    actual = loss.gaussian_loss(means, logs, targets)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    counts = jnp.asarray(_RANDOM.integers(0, 5, size=(5, 4)).astype("float64"))
    expected = -jax.scipy.stats.poisson.logpmf(counts, jnp.exp(logs))
    constant = jax.scipy.special.gammaln(counts + 1.0)
    actual = loss.poisson_loss(logs, counts) + constant
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_the_best_constant_of_a_quantile_loss_is_the_quantile():
    targets = jnp.asarray(_RANDOM.normal(size=1001))
    candidates = jnp.sort(targets)

    @jax.jit
    def error(candidate):
        given = jnp.full_like(targets, candidate), targets
        return loss.quantile_loss(*given, quantile=0.3).mean()

    errors = [error(c) for c in candidates]
    assert candidates[int(np.argmin(errors))] == np.quantile(targets, 0.3)


def test_labels_out_of_range_are_nan_and_ignored_ones_zero():
    logits = jnp.asarray(_LOGITS[:3])
    labels = jnp.asarray([-100, 4, 2])
    given = {"ignored_label": -100}
    values = loss.softmax_cross_entropy_with_integer_labels(logits, labels, **given)
    assert values[0] == 0.0
    assert np.isnan(values[1])
    assert values[2] > 0.0
    for name in ("multiclass_hinge_loss", "multiclass_perceptron_loss"):
        assert list(np.isnan(getattr(loss, name)(logits, labels))) == [
            True,
            True,
            False,
        ]

    def total(logits):
        values = loss.softmax_cross_entropy_with_integer_labels(logits, labels, **given)
        return values[jnp.array([0, 2])].sum()

    gradient = jax.jit(jax.grad(total))(logits)
    assert not gradient[0].any()
    assert np.isfinite(gradient[2]).all()


def test_what_is_impossible_and_not_asked_for_costs_nothing():
    logits = jnp.asarray([[0.0, -jnp.inf, 1.0]])
    labels = jnp.asarray([[0.5, 0.0, 0.5]])
    value, gradient = jax.jit(
        jax.value_and_grad(lambda x: loss.softmax_cross_entropy(x, labels).sum())
    )(logits)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    absent = jnp.asarray([[0.5, 0.5, 0.0]])
    value, gradient = jax.jit(
        jax.value_and_grad(lambda x: loss.kl_divergence(x, absent).sum())
    )(jnp.log(jnp.asarray([[0.5, 0.5, 0.0]])))
    assert value == 0.0
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", _CASES)
def test_half_precision_is_near_float64(name, dtype):
    arguments, ours, _ = _CASES[name]

    half = [a.astype(dtype) if a.dtype == "float64" else a for a in arguments]
    exact = [a.astype("float64") if a.dtype == dtype else a for a in half]
    run = jax.jit(functools.partial(getattr(loss, name), **ours))
    actual, expected = run(*half), run(*exact)
    assert actual.dtype == dtype
    eps = float(jnp.finfo(dtype).eps)
    scale = max(1.0, np.max(np.abs(expected)))
    assert np.max(np.abs(np.asarray(actual, "float64") - expected)) <= 6 * eps * scale


@pytest.mark.parametrize("error", [1e-3, 0.1, 0.9, 1.1, 30.0, 200.0])
def test_log_cosh_has_the_digits_of_its_dtype(error):
    given = jnp.float32(error), jnp.float32(0.0)
    expected = float(np.log(np.cosh(np.longdouble(float(given[0])))))
    np.testing.assert_allclose(loss.log_cosh(*given), expected, rtol=8 * 2.0**-23)


def test_contrastive_losses_are_those_of_optax():
    embeddings, labels = jnp.asarray(_LOGITS), jnp.asarray([0, 1, 0, 2, 1])
    functions = (
        lambda x: loss.ntxent(x, labels, temperature=0.3),
        lambda x: optax.losses.ntxent(x, labels, temperature=0.3),
    )
    results = [jax.jit(jax.value_and_grad(f))(embeddings) for f in functions]
    for actual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)
    alone = jax.jit(jax.value_and_grad(loss.ntxent))(embeddings, jnp.arange(5))
    assert alone[0] == 0.0
    assert not alone[1].any()


def test_sparsemax_losses_are_those_of_optax():
    scores, labels = jnp.asarray(_LOGITS / 3.0), jnp.asarray(_LABELS)
    functions = (
        loss.multiclass_sparsemax_loss,
        optax.losses.multiclass_sparsemax_loss,
    )
    values = [jax.jit(f)(scores, labels) for f in functions]
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12)
    gradients = [
        jax.jit(jax.grad(lambda x, f=f: f(x, labels).sum()))(scores) for f in functions
    ]
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-12)


def test_dice_losses_are_those_of_optax():
    probabilities = jnp.asarray(_RANDOM.dirichlet(np.ones(3), size=(2, 4, 5)))
    targets = jax.nn.one_hot(_RANDOM.integers(0, 3, size=(2, 4, 5)), 3, dtype=float)
    given, smooth, alpha, beta = (probabilities, targets), 0.7, 0.3, 0.6
    expected = optax.losses.dice_loss(
        *given,
        smooth=smooth,
        alpha=alpha,
        beta=beta,
        apply_softmax=False,
        reduction="none",
    )
    actual = loss.dice_loss(*given, smooth=smooth, alpha=alpha, beta=beta)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("blank", [0, 3])
def test_alignments_are_those_of_optax(blank):
    logits = jnp.asarray(_RANDOM.normal(size=(4, 7, 5)))
    symbols = np.array([[1, 1, 2], [2, 4, 1], [1, 2, 4], [4, 4, 0]])
    lengths, counts = np.array([7, 6, 3, 4]), np.array([3, 3, 2, 2])
    late = (np.arange(7) >= lengths[:, None]).astype("float64")
    absent = (np.arange(3) >= counts[:, None]).astype("float64")
    functions = (
        lambda x: loss.ctc_loss(
            x,
            jnp.asarray(symbols),
            jnp.asarray(lengths),
            jnp.asarray(counts),
            blank=blank,
        ),
        lambda x: optax.losses.ctc_loss(x, late, symbols, absent, blank_id=blank),
    )
    values = [jax.jit(f)(logits) for f in functions]
    np.testing.assert_allclose(*values, rtol=1e-10)
    gradients = [
        jax.jit(jax.grad(lambda x, f=f: f(x).sum()))(logits) for f in functions
    ]
    np.testing.assert_allclose(*gradients, rtol=1e-8, atol=1e-10)


def test_alignments_that_do_not_exist_have_infinite_losses_and_no_gradient():
    logits = jnp.zeros((2, 2, 3))
    labels = jnp.array([[1, 1], [1, 2]])
    # Between equal symbols there must be a blank.
    run = jax.jit(loss.ctc_loss)
    assert list(np.isinf(run(logits, labels))) == [True, False]
    gradient = jax.jit(jax.grad(lambda x: loss.ctc_loss(x, labels)[0]))(logits)
    assert not gradient.any()
    # Without a position, or a symbol, there is one alignment.
    none = jnp.zeros(2, int)
    values = run(logits, labels, none, none)
    np.testing.assert_array_equal(values, [0.0, 0.0])
    one = run(logits, labels[:, :0])
    np.testing.assert_allclose(one, 2 * np.log(3.0), rtol=1e-12)


def test_ctc_of_no_time_is_certain_of_no_symbol() -> None:
    logits, labels = jnp.zeros((2, 0, 5)), jnp.ones((2, 3), int)
    given = loss.ctc_loss(logits, labels, None, jnp.array([0, 1]))
    np.testing.assert_array_equal(given, [0.0, jnp.inf])
    # The same where all time is beyond the lengths.
    late = loss.ctc_loss(
        jnp.zeros((2, 4, 5)), labels, jnp.zeros(2, int), jnp.array([0, 1])
    )
    np.testing.assert_array_equal(late, given)


_REGIONS = np.eye(4)[_RANDOM.integers(0, 4, size=(3, 6, 5))]
_MAPS = _RANDOM.normal(size=(3, 6, 5, 4))


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("ignore_background", [False, True])
def test_generalized_dice_is_that_of_optax(ignore_background, absent):
    targets = _REGIONS.copy()
    if absent:
        targets[..., 1] += targets[..., 2]
        targets[..., 2] = 0.0
    given = {"smooth": 0.7, "ignore_background": ignore_background}
    actual, expected = (
        jax.jit(
            jax.value_and_grad(
                lambda x, f=f: f(x, jnp.asarray(targets), **given).mean()
            )
        )(jnp.asarray(_MAPS))
        for f in (
            loss.multiclass_generalized_dice_loss,
            optax.losses.multiclass_generalized_dice_loss,
        )
    )
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(actual[1], expected[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_generalized_dice_weighs_rare_classes_in_half_precision_too(dtype):
    # 2^17 positions, which float16 has no number for, and a class that has eight of them.
    numbers = np.arange(2**17) % 2
    numbers[:8] = 2
    targets = np.eye(3)[numbers].reshape(1, 2**9, 2**8, 3)
    logits = (4.0 * targets).astype(dtype).astype("float64")
    run = jax.jit(loss.multiclass_generalized_dice_loss)
    exact = run(logits, targets)
    half = run(logits.astype(dtype), targets.astype(dtype))
    assert half.dtype == dtype
    np.testing.assert_allclose(np.asarray(half, "float64"), exact, rtol=0.03)


def test_binary_dice_is_that_of_optax():
    logits, targets = jnp.asarray(_MAPS), jnp.asarray(_REGIONS)
    actual, expected = (
        jax.jit(jax.value_and_grad(lambda x, f=f: jnp.sum(f(x) ** 2)))(logits)
        for f in (
            lambda x: loss.binary_dice_loss(x, targets, smooth=0.5),
            lambda x: optax.losses.binary_dice_loss(
                x[..., None], targets[..., None], smooth=0.5
            ),
        )
    )
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(actual[1], expected[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    "maximum", [jax.scipy.special.logsumexp, lambda s: jnp.sum(jax.nn.softplus(s))]
)
def test_fenchel_young_losses_are_those_of_optax(maximum):
    theirs = optax.losses.make_fenchel_young_loss(max_fun=maximum)
    scores, targets = jnp.asarray(_LOGITS), jnp.asarray(_SHARES)
    actual, expected = (
        jax.jit(jax.value_and_grad(lambda x, f=f: jnp.sum(f(x) ** 2)))(scores)
        for f in (
            lambda x: loss.fenchel_young_loss(x, targets, max_function=maximum),
            lambda x: theirs(x, targets),
        )
    )
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(actual[1], expected[1], rtol=1e-10, atol=1e-14)


def test_the_gradient_of_a_fenchel_young_loss_is_the_error_of_its_prediction():
    scores, targets = jnp.asarray(_LOGITS), jnp.asarray(_SHARES)
    gradient = jax.jit(jax.grad(lambda s: loss.fenchel_young_loss(s, targets).sum()))(
        scores
    )
    np.testing.assert_allclose(gradient, jax.nn.softmax(scores) - targets, rtol=1e-12)
    cross_entropy = loss.softmax_cross_entropy(scores, targets)
    np.testing.assert_allclose(
        loss.fenchel_young_loss(scores, targets), cross_entropy, rtol=1e-12
    )
    separate = loss.fenchel_young_loss(scores, targets, max_function=jax.nn.softplus)
    np.testing.assert_allclose(
        separate,
        loss.sigmoid_binary_cross_entropy(scores, targets).sum(-1),
        rtol=1e-12,
    )


_WITHOUT = {
    "convex_kl_divergence": "the old name of generalized_kl_divergence",
    "ctc_loss_with_forward_probs": "what the recursion of ctc_loss has on its way",
    "make_fenchel_young_loss": "fenchel_young_loss(..., max_function=...)",
    "safe_softmax_cross_entropy": "softmax_cross_entropy, which is as safe",
}
"""Losses of optax that have no function of that name here, and why."""


def test_every_loss_of_optax_is_here_or_has_a_reason():
    theirs = {
        name
        for name in dir(optax.losses)
        if callable(getattr(optax.losses, name)) and not name.startswith("_")
    }
    assert theirs - set(dir(loss)) == set(_WITHOUT)


def test_softmax_cross_entropy_is_as_safe_as_that_of_optax():
    logits = jnp.asarray(np.where(_WHERE, _LOGITS, -np.inf))
    labels = jnp.asarray(np.where(_WHERE, _SHARES, 0.0))
    expected = optax.losses.safe_softmax_cross_entropy(logits, labels)
    actual = loss.softmax_cross_entropy(logits, labels)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
