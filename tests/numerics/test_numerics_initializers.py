"""Initializers: what they draw, in every dtype, and that they are values."""

import functools
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import reference

import mlax
from mlax import initializers, nn
from mlax._core import placement
from mlax_scaffold.spec import initializers as words

DTYPES = ("float16", "bfloat16", "float32", "float64")
ALL = [
    initializers.constant(0.5),
    initializers.delta_orthogonal(2.0),
    initializers.identity(3.0),
    initializers.lecun_normal(),
    initializers.normal(),
    initializers.orthogonal(),
    initializers.per_gate(initializers.orthogonal(), 2),
    initializers.truncated_normal(),
    initializers.uniform(0.1),
    initializers.variance_scaling(2.0, "fan_out", "normal", 0, [1, 2], ()),
]


def shape_for(initializer: Any) -> tuple[int, ...]:
    tensors = (initializers.delta_orthogonal, initializers.variance_scaling)
    return (6, 4, 3) if isinstance(initializer, tensors) else (4, 6)


def drawn(initializer: Any, seed: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """What it draws, compiled as one program."""
    return reference(lambda key: initializer(key, shape, dtype))(jax.random.key(seed))


def gram_error(matrix: Any, scale: float = 1.0) -> float:
    """How far the shorter side of a matrix is from orthonormal."""
    m = np.asarray(matrix, np.float64)
    m = m if m.shape[0] >= m.shape[1] else m.T
    return float(np.abs(m.T @ m - scale**2 * np.eye(m.shape[1])).max())


@pytest.mark.parametrize("initializer", ALL, ids=repr)
def test_keeps_the_dtype_and_the_shape(initializer):
    key, shape = jax.random.key(0), shape_for(initializer)

    def make(key):
        return [initializer(key, shape, dtype) for dtype in (*DTYPES, None)]

    with jax.numpy_dtype_promotion("strict"):
        made = jax.eval_shape(make, key)
        for array, dtype in zip(made, (*DTYPES, "float64"), strict=True):
            assert (array.shape, array.dtype) == (shape, dtype)
            assert not array.weak_type
        with jax.enable_x64(False):
            narrow = jax.eval_shape(lambda key: initializer(key, shape), key)
            assert narrow.dtype == jnp.float32


@pytest.mark.parametrize("initializer", ALL, ids=repr)
def test_is_a_value(initializer):
    again = eval(repr(initializer), dict(vars(initializers)))
    assert again == initializer
    assert hash(again) == hash(initializer)
    assert pickle.loads(pickle.dumps(initializer)) == initializer
    with pytest.raises(AttributeError, match="cannot assign"):
        setattr(initializer, "scale", 3.0)  # noqa: B010
    shape = shape_for(initializer)
    traces = []
    make = jax.jit(
        lambda init, key: traces.append(init) or init(key, shape), static_argnums=0
    )
    for init in (initializer, again):
        make.trace(init, jax.random.key(0))
    assert len(traces) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 8), (8, 3), (3, 8)], ids=str)
def test_orthogonal_is_orthogonal_in_every_dtype(shape, dtype):
    made = drawn(initializers.orthogonal(2.0), 1, shape, dtype)
    assert gram_error(made, 2.0) < 32 * float(jnp.finfo(dtype).eps)


def test_orthogonal_is_that_of_jax_where_that_works(dtype):
    theirs = drawn(jax.nn.initializers.orthogonal(1.5, 0), 1, (3, 2, 4), dtype)
    ours = drawn(initializers.orthogonal(1.5, column_axis=0), 1, (3, 2, 4), dtype)
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(Exception, match=r"(?i)dtype|type|not implemented|unsupported"):
        jax.nn.initializers.orthogonal()(jax.random.key(1), (3, 3), jnp.bfloat16)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_a_constant_may_be_a_count(dtype):
    made = initializers.constant(3)(None, (2,), dtype)
    assert (made.dtype, made.tolist()) == (dtype, [3, 3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_gate_is_orthogonal(dtype):
    initializer = initializers.per_gate(initializers.orthogonal(), 4)
    made = drawn(initializer, 2, (5, 20), dtype)
    gates = np.split(np.asarray(made, np.float64), 4, axis=-1)
    bound = 32 * float(jnp.finfo(dtype).eps)
    assert all(gram_error(gate) < bound for gate in gates)
    assert not np.allclose(gates[0], gates[1])
    # Which orthogonal() alone does not give: its rows are, of the whole.
    whole = drawn(initializers.orthogonal(), 2, (5, 20), "float64")
    assert gram_error(whole[:, :5]) > 0.1
    rows = initializers.per_gate(initializers.orthogonal(), 2, axis=0)
    made = drawn(rows, 2, (6, 3), dtype)
    assert gram_error(made[:3]) < bound
    assert gram_error(made[3:]) < bound


def test_truncated_normal_is_cut_at_two_deviations():
    made = np.asarray(drawn(initializers.truncated_normal(), 3, (200, 200), "float32"))
    assert 0.039 < np.abs(made).max() <= 0.04
    assert abs(made.mean()) < 3e-4
    # The deviation of a normal distribution that is cut at two of its own.
    assert made.std() == pytest.approx(0.02 * 0.87962566, rel=0.01)
    for half in ("float16", "bfloat16"):
        made = drawn(initializers.truncated_normal(1.0), 3, (500,), half)
        assert np.abs(np.asarray(made)).max() <= 2
    skewed = initializers.truncated_normal(1.0, lower=0.0, upper=1.0)
    values = np.asarray(drawn(skewed, 3, (1000,), "float32"))
    assert 0 <= values.min() < 0.01 < 0.99 < values.max() <= 1


@pytest.mark.parametrize(
    ("name", "fan", "variance"),
    [
        ("lecun_normal", "in", 1),
        ("lecun_uniform", "in", 1),
        ("he_normal", "in", 2),
        ("he_uniform", "in", 2),
        ("glorot_normal", "avg", 1),
        ("glorot_uniform", "avg", 1),
    ],
)
def test_scaled_variances_are_those_of_jax(name, fan, variance, dtype):
    made, theirs = (
        np.asarray(drawn(getattr(of, name)(), 4, (300, 100), dtype))
        for of in (initializers, jax.nn.initializers)
    )
    np.testing.assert_array_equal(made, theirs)
    expected = variance / {"in": 300, "avg": 200}[fan]
    assert made.var() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("channel_last", [False, True])
def test_delta_orthogonal_keeps_norms(channel_last):
    initializer = initializers.delta_orthogonal(channel_last=channel_last)
    shape, x_shape = (6, 4, 3, 5), (2, 4, 7, 7)
    layout, axis = ("NCHW", "OIHW", "NCHW"), 1
    if channel_last:
        shape, x_shape = (6, 3, 5, 4), (2, 7, 7, 4)
        layout, axis = ("NHWC", "OHWI", "NHWC"), -1
    kernel = drawn(initializer, 5, shape, "float64")
    x = jnp.asarray(np.random.default_rng(6).normal(size=x_shape))
    y = jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=layout
    )
    norms = functools.partial(np.linalg.norm, axis=axis)
    np.testing.assert_allclose(norms(y), norms(x), rtol=1e-12)


@pytest.mark.parametrize("initializer", ALL, ids=repr)
def test_the_words_of_specs_draw_the_same(initializer):
    """Where a spec runs eagerly its initializers are others, with the same numbers."""
    name = type(initializer).__name__
    if not hasattr(words, name):
        assert name == "identity"  # which is no word: a function has the name
        return
    fields = {n: v for n, v in vars(initializer).items() if not n.startswith("_")}
    shape = shape_for(initializer)
    if name == "uniform":  # that of jax draws from zero
        assert float(drawn(initializer, 7, (1000,), "float32").min()) < -0.09
        return
    word = getattr(words, name)(**fields)
    ours, expected = (drawn(i, 7, shape, jnp.bfloat16) for i in (initializer, word))
    np.testing.assert_array_equal(ours, expected)


def test_a_layer_takes_them_in_half_precision():
    cell, _, _ = mlax.nn.LSTMCell.init(
        jax.random.key(0),
        3,
        4,
        recurrent_kernel_initializer=initializers.per_gate(
            initializers.orthogonal(), 4
        ),
        dtype="bfloat16",
    )
    assert cell.recurrent_kernel.dtype == jnp.bfloat16
    assert gram_error(cell.recurrent_kernel[:, 4:8]) < 0.05


wrong: Any = initializers
"""With values that its types do not allow."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: initializers.truncated_normal(lower=1.0, upper=-1.0), "lower must be"),
        (lambda: initializers.truncated_normal(-1.0), "stddev must be"),
        (lambda: wrong.constant("a"), "value must be"),
        (lambda: initializers.variance_scaling(0.0), "scale must be"),
        (lambda: wrong.variance_scaling(1.0, "fan"), "mode must be"),
        (lambda: wrong.per_gate(3, 4), "initializer must be"),
        (lambda: initializers.per_gate(initializers.normal(), 0), "gates must be"),
        (lambda: initializers.orthogonal()(jax.random.key(0), (3,)), "two axes"),
        (
            lambda: initializers.orthogonal(1.0, 5)(jax.random.key(0), (3, 3)),
            "column_axis=5 among them",
        ),
        (
            lambda: initializers.lecun_normal()(jax.random.key(0), (3,)),
            "shape must have",
        ),
        (
            lambda: nn.Linear.init(
                jax.random.key(0),
                2,
                3,
                kernel_initializer=jax.nn.initializers.he_normal,  # pyright: ignore[reportArgumentType]
            ),
            "called with them first",
        ),
        (
            lambda: nn.Linear.init(
                jax.random.key(0), 2, 3, kernel_initializer=lambda *_: jnp.ones((3, 2))
            ),
            r"must return an array of shape \(2, 3\), got \(3, 2\)",
        ),
        (lambda: initializers.constant(0.5)(None, (), jnp.int32), "dtype must be"),
        (lambda: initializers.normal()(jax.random.key(0), (3,), int), "dtype must be"),
        (lambda: initializers.identity()(None, (3, 3, 3)), "two axes"),
        (
            lambda: initializers.per_gate(initializers.normal(), 4)(
                jax.random.key(0), (2, 6)
            ),
            "that 4 divides",
        ),
        (
            lambda: initializers.delta_orthogonal()(jax.random.key(0), (2, 3, 1)),
            "no fewer outputs",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_states_of_optimizers_may_begin_with_what_is_drawn():
    drawn, weight = initializers.normal(), jnp.ones((2, 3))
    moment = placement.create_moment(drawn, (3, 1), None, weight)
    once = placement.create_state(drawn, (3, 1), weight.dtype, {"weight": weight})
    expected = drawn(jax.random.key(0), (3, 1), weight.dtype)
    np.testing.assert_array_equal(moment, expected)
    np.testing.assert_array_equal(once, expected)
