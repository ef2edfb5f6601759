"""Layer contracts: they hold for correct layers, and fail for each broken variant."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from handmade_layers import (
    BATCH_NORM,
    CASES,
    DROPOUT,
    EMBEDDING,
    LINEAR,
    BatchNormState,
    batch_norm_fwd,
    dropout_fwd,
    linear_fwd,
    linear_init,
    situation,
)

from mlax_scaffold.testing import key_claims, layer_gradients
from mlax_scaffold.testing import layer_claims as claims
from mlax_scaffold.testing.dtypes import FLOAT_DTYPES
from mlax_scaffold.testing.layer_gradients import assert_gradients

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def with_fwd(case, fwd):
    return dataclasses.replace(case, fwd=fwd)


def then(case, change_y=lambda y: y, change_state=lambda s: s):
    def fwd(*args, **kwargs):
        y, state = case.fwd(*args, **kwargs)
        return change_y(y), change_state(state)

    return with_fwd(case, fwd)


@each_case
@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
@pytest.mark.parametrize("weights_dtype", [None, *FLOAT_DTYPES], ids=str)
def test_dtype_contract_holds(case, dtype, weights_dtype):
    for training in case.modes():
        claims.keep_every_dtype(situation(case, dtype, weights_dtype, training))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_a_layer_may_read_what_it_has_stored(dtype):
    """As one does that calls a layer twice which reads the state that its first call left."""

    def fwd(x, trainables, state, hyperparams, inference_mode=False, key=None):
        y, state = batch_norm_fwd(
            x, trainables, state, hyperparams, inference_mode, key
        )
        mean = state.mean.astype(x.dtype) + 1
        state = state._replace(mean=mean.astype(state.mean.dtype))
        mean = state.mean.astype(x.dtype) * 2
        return y + mean, state._replace(mean=mean.astype(state.mean.dtype))

    for training in BATCH_NORM.modes():
        claims.keep_the_dtype(
            situation(with_fwd(BATCH_NORM, fwd), dtype, jnp.float32, training)
        )


def weights_not_cast(x, trainables, *args, **kwargs):
    return x @ trainables.kernel + trainables.bias, None


def wide_inside(x, *args, **kwargs):
    y, state = linear_fwd(x, *args, **kwargs)
    return jnp.exp(y.astype(jnp.float32)).astype(x.dtype), state


@jax.custom_vjp
def wide_gradient(x):
    return x * 2


wide_gradient.defvjp(
    lambda x: (x * 2, None),
    lambda _, ct: ((ct.astype(jnp.float32) * 2).astype(ct.dtype),),
)


@jax.custom_vjp
def gradient_in_float32(x):
    return x * 2


gradient_in_float32.defvjp(
    lambda x: (x * 2, None), lambda _, ct: (ct.astype(jnp.float32),)
)


def weight_used_twice(x, trainables, *args, **kwargs):
    kernel = trainables.kernel
    return x @ kernel.astype(x.dtype) + kernel.astype(x.dtype)[0], None


def wide_state(x, trainables, state, *args, **kwargs):
    y, new = batch_norm_fwd(x, trainables, state, *args, **kwargs)
    return y, new._replace(mean=0.5 * state.mean + 0.5 * new.mean)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (with_fwd(LINEAR, weights_not_cast), r"output y is float32, expected bfloat16"),
        (
            then(LINEAR, lambda y: {"a": y * 1.0, "b": y.astype(jnp.float32)}),
            r"y\['b'\]",
        ),
        (with_fwd(LINEAR, wide_inside), r"(?s)Linear in training.*forward:.*exp"),
        (then(LINEAR, wide_gradient), r"(?s)mul operand.*vjp of custom_vjp_call"),
        (with_fwd(LINEAR, weight_used_twice), r"(?s)gradient: .*add_any"),
        (with_fwd(BATCH_NORM, wide_state), r"(?s)BatchNorm.*forward:.*mul"),
        (
            then(BATCH_NORM, change_state=lambda s: jax.tree.map(jnp.bfloat16, s)),
            r"new state.mean is bfloat16\[3\], expected float32\[3\]",
        ),
        (then(BATCH_NORM, change_state=lambda s: s[:2]), "structure"),
        (
            then(BATCH_NORM, change_state=lambda s: s._replace(steps=jnp.asarray(3))),
            "weak int32",
        ),
        (
            then(EMBEDDING, lambda y: y.astype(jnp.bfloat16)),
            "output y is bfloat16, expected float32",
        ),
    ],
)
def test_dtype_contract_is_broken(case, message):
    with pytest.raises(AssertionError, match=message):
        claims.keep_every_dtype(situation(case, jnp.bfloat16, jnp.float32, True))


def test_gradient_of_another_dtype():
    """Jax itself does not check what a custom rule returns."""

    def fwd(x, *args, **kwargs):
        return gradient_in_float32(x), None

    with pytest.raises(AssertionError, match=r"gradient of x is float32.*bfloat16"):
        claims.keep_every_dtype(situation(with_fwd(LINEAR, fwd), jnp.bfloat16))


def test_allowed_dtypes_are_allowed():
    case = dataclasses.replace(with_fwd(LINEAR, wide_inside), allow=(jnp.float32,))
    claims.keep_every_dtype(situation(case, jnp.bfloat16))


def test_upcast_to_float64_is_found():
    def fwd(x, *args, **kwargs):
        y, state = linear_fwd(x, *args, **kwargs)
        return jnp.exp(y.astype(float)).astype(x.dtype), state

    with pytest.raises(AssertionError, match="float64"):
        claims.keep_every_dtype(
            situation(with_fwd(LINEAR, fwd), jnp.float32, jnp.float64)
        )


def shaped(case, y, training=False):
    claims.have_the_annotated_shapes(
        situation(dataclasses.replace(case, y=y), training=training)
    )


def test_shapes():
    shaped(LINEAR, (4, 2))
    shaped(LINEAR, (None, 2))
    shaped(then(DROPOUT, lambda y: {"a": y, "b": [y[0]]}), {"a": (4, 3), "b": [(3,)]})
    with pytest.raises(AssertionError, match=r"shape \(4, 2\), expected \(4, 3\)"):
        shaped(LINEAR, (4, 3))
    with pytest.raises(AssertionError, match="has the shape"):
        shaped(LINEAR, (None, None, 2))
    in_training = with_fwd(
        BATCH_NORM,
        lambda *a, inference_mode, **k: (
            batch_norm_fwd(*a, inference_mode=inference_mode, **k)[0][
                : 4 if inference_mode else 2
            ],
            None,
        ),
    )
    shaped(in_training, (4, 3))
    with pytest.raises(AssertionError, match=r"\(2, 3\), expected \(4, 3\)"):
        shaped(in_training, (4, 3), training=True)


@each_case
def test_static_hyperparams(case):
    claims.have_static_hyperparameters(situation(case))


@dataclasses.dataclass(frozen=True)
class Unregistered:
    features: int = 2


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class WithList:
    sizes: list


@jax.tree_util.register_static
class ById:
    pass


@jax.tree_util.register_static
class EqualButOtherHash:
    def __eq__(self, other):
        return isinstance(other, EqualButOtherHash)

    def __hash__(self):
        return id(self)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Unregistered, "static pytree"),
        (lambda: WithList([2]), "must be hashable: unhashable type: 'list'"),
        (ById, "not equal"),
        (EqualButOtherHash, "different hashes"),
        (lambda: (jnp.ones(()),), "have the leaves"),
        (lambda: 3.0, "hashable|the leaves"),
    ],
)
def test_hyperparams_that_are_not_static(make, message):
    keep = []

    def init(key, dtype):
        keep.append(make())
        return *linear_init(key, dtype)[:2], keep[-1]

    with pytest.raises(AssertionError, match=message):
        claims.have_static_hyperparameters(
            situation(dataclasses.replace(LINEAR, init=init))
        )


def replace_state(**new):
    return then(
        BATCH_NORM,
        change_state=lambda s: s._replace(**{k: f(s) for k, f in new.items()}),
    )


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (replace_state(mean=lambda s: s.mean.astype(jnp.float16)), "is float16"),
        (replace_state(mean=lambda s: s.mean[None]), r"float32\[1,3\]"),
        (then(BATCH_NORM, change_state=tuple), "structure"),
        (replace_state(steps=lambda s: jnp.asarray(3)), "weak int32"),
    ],
)
def test_state_that_is_not_stable(case, message):
    with pytest.raises(AssertionError, match=message):
        claims.keep_the_dtype(situation(case, training=True))


@each_case
def test_gradients(case):
    for training in case.modes():
        assert_gradients(case, training=training)


@jax.custom_vjp
def wrong_gradient(x):
    return jnp.sin(x)


wrong_gradient.defvjp(
    lambda x: (jnp.sin(x), x), lambda x, ct: (ct * jnp.cos(x) * (1 + 1e-4),)
)


@jax.custom_vjp
def infinite_gradient(x):
    return jnp.sin(x)


infinite_gradient.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct / 0,))


def wrong_for_bias(x, trainables, *args, **kwargs):
    trainables = trainables._replace(bias=wrong_gradient(trainables.bias))
    return linear_fwd(x, trainables, *args, **kwargs)


def test_wrong_gradients():
    with pytest.raises(AssertionError, match=r"gradient of trainables\.kernel gives"):
        assert_gradients(then(LINEAR, wrong_gradient))
    with pytest.raises(AssertionError, match=r"gradient of trainables\.bias gives"):
        assert_gradients(with_fwd(LINEAR, wrong_for_bias))


def saw(y):
    """A line with kinks everywhere, some nearer to a point than finite differences go at first."""
    return jnp.abs(2000 * y - jax.lax.stop_gradient(jnp.round(2000 * y))) / 2000


def test_kinks_nearby_are_passed_by(monkeypatch):
    assert_gradients(then(LINEAR, saw))
    with pytest.raises(AssertionError, match=r"gradient of .* gives"):
        assert_gradients(then(LINEAR, lambda y: wrong_gradient(saw(y))))
    monkeypatch.setattr(layer_gradients, "_STEPS", layer_gradients._STEPS[:1])
    with pytest.raises(AssertionError, match=r"gradient of .* gives"):
        assert_gradients(then(LINEAR, saw))


def test_infinities_that_stay_have_no_gradient():
    """As in a mask that is added; beside them the gradient is compared."""

    def masked(y):
        return y + jnp.where(jnp.arange(y.shape[-1]) % 2 == 1, -jnp.inf, 0.0)

    assert_gradients(then(LINEAR, masked))
    with pytest.raises(AssertionError, match=r"gradient of .* gives"):
        assert_gradients(then(LINEAR, lambda y: masked(wrong_gradient(y))))


def test_gradients_that_are_not_smooth():
    case = then(LINEAR, wrong_gradient)
    assert_gradients(dataclasses.replace(case, smooth=False))
    case = dataclasses.replace(then(LINEAR, infinite_gradient), smooth=False)
    with pytest.raises(AssertionError, match=r"trainables\.kernel is not finite"):
        assert_gradients(case)


def test_code_that_is_not_optimized_decides_nothing_of_finite_gradients(monkeypatch):
    """XLA makes NaN of some finite numbers where it optimizes nothing, as no user runs it."""
    of_users = claims._not_finite
    tried = []

    def not_finite(situation, options):
        tried.append(options)
        return "unlike what users run" if options else of_users(situation, options)

    monkeypatch.setattr(claims, "_not_finite", not_finite)
    claims.have_finite_gradients(situation(LINEAR))
    assert [bool(options) for options in tried] == [True, False]
    with pytest.raises(AssertionError, match="gradient of x is not finite"):
        claims.have_finite_gradients(situation(then(LINEAR, infinite_gradient)))


def test_finite_gradients():
    claims.have_finite_gradients(situation(LINEAR))
    claims.have_finite_gradients(situation(BATCH_NORM, training=True))
    broken = then(LINEAR, infinite_gradient)
    with pytest.raises(AssertionError, match="gradient of x is not finite"):
        claims.have_finite_gradients(situation(broken))
    with pytest.raises(AssertionError, match="y is not a number"):
        claims.have_finite_gradients(
            situation(then(LINEAR, lambda y: jax.lax.stop_gradient(y * jnp.nan)))
        )


def test_needs_key():
    key_claims.ask_for_a_key_where_it_draws(situation(DROPOUT, training=True))
    key_claims.ask_for_a_key_where_it_draws(situation(LINEAR, training=True))

    def does_without(x, *args, key=None, **kwargs):
        key = jax.random.key(0) if key is None else key
        return dropout_fwd(x, *args, key=key, **kwargs)

    with pytest.raises(AssertionError, match="raises no ValueError that says so"):
        key_claims.ask_for_a_key_where_it_draws(
            situation(with_fwd(DROPOUT, does_without), training=True)
        )


def test_keys():
    key_claims.use_no_key_twice(situation(DROPOUT, training=True))

    def twice(x, *args, **kwargs):
        y, _ = dropout_fwd(x, *args, **kwargs)
        return dropout_fwd(y, *args, **kwargs)

    with pytest.raises(AssertionError, match="Dropout uses a PRNG key twice"):
        key_claims.use_no_key_twice(situation(with_fwd(DROPOUT, twice), training=True))

    def init(key, dtype):
        one, other = (jax.random.normal(key, (3,), dtype) for _ in range(2))
        return (one, other), None, None

    with pytest.raises(AssertionError, match="Linear: init uses a PRNG key twice"):
        key_claims.create_with_each_key_once(
            situation(dataclasses.replace(LINEAR, init=init))
        )


def test_arguments_are_drawn_from_the_seed():
    first = BATCH_NORM.arguments(jnp.bfloat16, jnp.float32, seed=1)
    again = BATCH_NORM.arguments(jnp.bfloat16, jnp.float32, seed=1)
    other = BATCH_NORM.arguments(jnp.bfloat16, jnp.float32, seed=2)
    assert jax.tree.all(jax.tree.map(np.array_equal, first, again))
    assert not np.array_equal(first.x, other.x)
    assert isinstance(first.non_trainables, BatchNormState)
    assert first.x.dtype == jnp.bfloat16
    assert first.trainables[0].dtype == first.non_trainables.mean.dtype == jnp.float32
    assert np.all(first.non_trainables.var > 0)
    assert first.non_trainables.steps == 0
    tokens = dataclasses.replace(
        EMBEDDING,
        x=[jax.ShapeDtypeStruct((50,), jnp.int32)] * 2,
        ranges={"x": (3, 5), "x[1]": (7, 8)},
    ).arguments(jnp.float32)
    assert set(np.asarray(tokens.x[0]).tolist()) == {3, 4}
    assert set(np.asarray(tokens.x[1]).tolist()) == {7}
