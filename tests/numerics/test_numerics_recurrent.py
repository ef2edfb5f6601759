"""Recurrent cells and what runs them, against flax, and against NumPy and JAX in float64."""

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import assert_close, compiled, draw, numpy, reference
from numerics_compare import assert_same, redrawn, shapes_of

import mlax

IN, SIZE, BATCH, TIME = 4, 3, 2, 5
KEY = jax.random.key(0)


def columns(array, number):
    return array[..., SIZE * number : SIZE * (number + 1)]


def dense(weights, inner, outer, number, bias=None):
    """The parameters of flax's two maps of a gate, by their names."""
    of_input = {"kernel": columns(weights.kernel, number), "bias": bias}
    of_state = {"kernel": columns(weights.recurrent_kernel, number)}
    return {inner: of_input, outer: of_state}


def simple(w):
    return {
        "i": {"kernel": w.kernel, "bias": w.bias},
        "h": {"kernel": w.recurrent_kernel},
    }


def gru(w):
    params = {}
    for number, gate in enumerate("rzn"):
        bias = columns(w.bias, number)
        params |= dense(w, f"i{gate}", f"h{gate}", number, bias)
    params["hn"]["bias"] = w.recurrent_bias
    return params


def mgu(w):
    params = dense(w, "if", "hf", 0, w.forget_bias) | dense(w, "in", "hn", 1, w.bias)
    if w.recurrent_bias is not None:
        params["hn"]["bias"] = w.recurrent_bias
    return params


def lstm(w):
    params = {}
    for number, gate in enumerate("ifgo"):
        params[f"i{gate}"] = {"kernel": columns(w.kernel, number)}
        params[f"h{gate}"] = {
            "kernel": columns(w.recurrent_kernel, number),
            "bias": columns(w.bias, number),
        }
    return params


def conv_lstm(w):
    def gates(array):
        """The gates in the order of flax: i, g, f, o."""
        i, f, g, o = jnp.split(array, 4, axis=-1)
        return jnp.concatenate([i, g, f, o], axis=-1)

    return {
        name: {
            "kernel": gates(jnp.moveaxis(part.kernel, 0, -1)),
            "bias": gates(part.bias),
        }
        for name, part in (("ih", w.of_input), ("hh", w.of_state))
    }


RELU = {"activation": jax.nn.relu}
FLAX = {"dtype": jnp.float64, "param_dtype": jnp.float64}
CELLS = {
    "simple": (mlax.nn.SimpleCell, {}, nn.SimpleCell, {}, simple),
    "simple_residual": (
        mlax.nn.SimpleCell,
        {"residual": True, **RELU},
        nn.SimpleCell,
        {"residual": True, "activation_fn": jax.nn.relu},
        simple,
    ),
    "gru": (mlax.nn.GRUCell, {}, nn.GRUCell, {}, gru),
    "mgu": (mlax.nn.MGUCell, {}, nn.MGUCell, {}, mgu),
    "mgu_without_reset": (
        mlax.nn.MGUCell,
        {"reset_gate": False},
        nn.MGUCell,
        {"reset_gate": False},
        mgu,
    ),
    "lstm": (mlax.nn.LSTMCell, {}, nn.OptimizedLSTMCell, {}, lstm),
    "lstm_other_activations": (
        mlax.nn.LSTMCell,
        {"gate_activation": jax.nn.hard_sigmoid, **RELU},
        nn.OptimizedLSTMCell,
        {"gate_fn": jax.nn.hard_sigmoid, "activation_fn": jax.nn.relu},
        lstm,
    ),
}


def initialized(cell, dtype, **hyperparameters):
    weights, _, hyper = shapes_of(
        lambda key: cell.init(
            key, IN, SIZE, precision="highest", dtype=dtype, **hyperparameters
        )
    )
    return redrawn(weights, dtype), hyper


def first_carry(hyper, dtype, seed=20):
    carry = jax.eval_shape(lambda: hyper.initial_carry((BATCH, IN), dtype))
    return redrawn(carry, dtype, seed)


@pytest.mark.parametrize("name", CELLS)
def test_cells_are_those_of_flax(name, dtype):
    cell, options, module, flax_options, params = CELLS[name]
    weights, hyper = initialized(cell, dtype, **options)
    theirs = module(SIZE, **FLAX, **flax_options)

    def of_flax(weights, inputs, carry):
        carry, y = theirs.apply({"params": params(weights)}, carry, inputs)
        return y, carry

    assert_same(
        lambda w, inputs, carry: cell.fwd((inputs, carry), w, None, hyper)[0],
        of_flax,
        weights,
        draw(10, (BATCH, IN), dtype),
        first_carry(hyper, dtype),
    )


def test_gru_that_resets_before_its_product(dtype):
    """As Cho et al. write it, and haiku and Keras have it."""
    weights, hyper = initialized(mlax.nn.GRUCell, dtype, reset_after=False)

    def by_hand(w, x, h):
        of_input = [x @ columns(w.kernel, i) + columns(w.bias, i) for i in range(3)]
        u = [columns(w.recurrent_kernel, i) for i in range(3)]
        r = 1.0 / (1.0 + jnp.exp(-(of_input[0] + h @ u[0])))
        z = 1.0 / (1.0 + jnp.exp(-(of_input[1] + h @ u[1])))
        h = (1.0 - z) * jnp.tanh(of_input[2] + (r * h) @ u[2]) + z * h
        return h, h

    assert_same(
        lambda w, inputs, h: mlax.nn.GRUCell.fwd((inputs, h), w, None, hyper)[0],
        by_hand,
        weights,
        draw(10, (BATCH, IN), dtype),
        first_carry(hyper, dtype),
    )


def test_forget_bias_is_added_to_the_forget_gate(dtype):
    weights, hyper = initialized(mlax.nn.LSTMCell, dtype, forget_bias=1.0)
    _, plain = initialized(mlax.nn.LSTMCell, dtype)
    x = (draw(10, (BATCH, IN), dtype), first_carry(hyper, dtype))
    shift = jnp.zeros_like(weights.bias).at[SIZE : 2 * SIZE].set(1.0)
    shifted = weights._replace(bias=weights.bias + shift)
    y, _ = mlax.nn.LSTMCell.fwd(x, weights, None, hyper)
    assert_close(y, mlax.nn.LSTMCell.fwd(x, shifted, None, plain)[0], dtype)


@pytest.mark.parametrize("channel_last", [True, False])
def test_conv_lstm_cell(channel_last, dtype):
    options = {"channel_last": channel_last, "precision": "highest"}
    weights, _, hyper = shapes_of(
        lambda key: mlax.nn.ConvLSTMCell.init(
            key, 2, IN, SIZE, (3, 2), dtype=dtype, **options
        )
    )
    weights = redrawn(weights, dtype)
    shape = (BATCH, 4, 5, IN) if channel_last else (BATCH, IN, 4, 5)
    carry = redrawn(hyper.initial_carry(shape, dtype), dtype, 20)
    theirs = nn.ConvLSTMCell(SIZE, (3, 2), **FLAX)

    def last(array):
        return array if channel_last else jnp.moveaxis(array, 1, -1)

    def first(array):
        return array if channel_last else jnp.moveaxis(array, -1, 1)

    def of_flax(weights, inputs, carry):
        kernels = jax.tree.map(lambda a: last(a) if a.ndim > 1 else a, weights)
        given = ({"params": conv_lstm(kernels)}, jax.tree.map(last, carry))
        carry, y = theirs.apply(*given, last(inputs))
        return jax.tree.map(first, (y, carry))

    assert_same(
        lambda w, inputs, carry: mlax.nn.ConvLSTMCell.fwd(
            (inputs, carry), w, None, hyper
        )[0],
        of_flax,
        weights,
        draw(10, shape, dtype),
        carry,
    )


def conv_lstm_by_convolutions(weights, inputs, carry, **options):
    """An LSTM of two convolutions of flax, the first of which has the options."""

    def conv(part: Any, x: Any, **given: Any) -> Any:
        kernel = jnp.moveaxis(part.kernel, 0, -1)
        module = nn.Conv(4 * SIZE, kernel.shape[:-2], **given, **FLAX)
        return module.apply({"params": {"kernel": kernel, "bias": part.bias}}, x)

    c, h = carry
    gates = conv(weights.of_input, inputs, **options) + conv(weights.of_state, h)
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return h, (c, h)


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({"strides": (2, 1)}, (3, 5)),
        ({"padding": "VALID"}, (3, 4)),
        ({"strides": (2, 3), "padding": ((1, 0), (2, 3))}, (2, 3)),
    ],
    ids=str,
)
def test_conv_lstm_cell_of_other_strides_and_padding(options, sizes, dtype):
    """Those of the input's convolution, which the state has the sizes of, step after step."""
    given = {"channel_last": True, "precision": "highest", **options}
    cell = mlax.nn.ConvLSTMCell
    weights, _, hyper = shapes_of(
        lambda key: cell.init(key, 2, IN, SIZE, (3, 2), dtype=dtype, **given)
    )
    first = hyper.initial_carry((BATCH, 5, 5, IN), dtype)
    assert [a.shape for a in first] == [(BATCH, *sizes, SIZE)] * 2

    def ours(weights, inputs, carry):
        return cell.fwd((inputs, carry), weights, None, hyper)[0]

    assert_same(
        ours,
        functools.partial(conv_lstm_by_convolutions, **options),
        redrawn(weights, dtype),
        draw(10, (BATCH, 5, 5, IN), dtype),
        redrawn(first, dtype, 20),
    )


def test_padding_of_a_conv_lstm_cell_that_keeps_the_sizes_is_that_of_flax(dtype):
    """Both convolutions of flax have the padding: where it is "SAME" in numbers, it is the same."""
    options = {"channel_last": True, "precision": "highest", "padding": 1}
    weights, _, hyper = shapes_of(
        lambda key: mlax.nn.ConvLSTMCell.init(
            key, 2, IN, SIZE, 3, dtype=dtype, **options
        )
    )
    theirs = nn.ConvLSTMCell(SIZE, (3, 3), padding=((1, 1), (1, 1)), **FLAX)

    def of_flax(weights, inputs, carry):
        carry, y = theirs.apply({"params": conv_lstm(weights)}, carry, inputs)
        return y, carry

    shape = (BATCH, 4, 5, IN)
    assert_same(
        lambda w, inputs, carry: mlax.nn.ConvLSTMCell.fwd(
            (inputs, carry), w, None, hyper
        )[0],
        of_flax,
        redrawn(weights, dtype),
        draw(10, shape, dtype),
        redrawn(hyper.initial_carry(shape, dtype), dtype, 20),
    )


def test_a_carry_of_the_sizes_of_the_inputs_is_refused_where_strides_change_them():
    weights, _, hyper = mlax.nn.ConvLSTMCell.init(KEY, 1, 2, 3, 3, strides=2)
    carry = (jnp.ones((1, 3, 4)),) * 2
    with pytest.raises(ValueError, match=r"initial_carry .* \(1, 2, 4\).* \(1, 3, 4\)"):
        mlax.nn.ConvLSTMCell.fwd((jnp.ones((1, 2, 4)), carry), weights, None, hyper)


# Over a sequence


@functools.cache
def flax_lstm(reverse):
    return nn.RNN(
        nn.OptimizedLSTMCell(SIZE, **FLAX),
        return_carry=True,
        reverse=reverse,
        keep_order=True,
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"unroll": TIME}, {"time_major": True}], ids=str
)
def test_recurrent_is_the_rnn_of_flax(reverse, options, dtype):
    weights, hyper = initialized(mlax.nn.LSTMCell, dtype)
    block = mlax.block.Recurrent
    trainables, state, recurrent = block.init(
        (weights, None, hyper), reverse=reverse, return_carry=True, **options
    )
    swap = (lambda a: jnp.swapaxes(a, 0, 1)) if "time_major" in options else lambda a: a

    def of_flax(trainables, x, carry):
        carry, y = flax_lstm(reverse).apply(
            {"params": {"cell": lstm(trainables.cell)}}, swap(x), initial_carry=carry
        )
        return swap(y), carry

    assert_same(
        lambda t, x, carry: block.fwd(x, t, state, recurrent, carry=carry)[0],
        of_flax,
        trainables,
        swap(draw(10, (BATCH, TIME, IN), dtype)),
        first_carry(hyper, dtype),
    )


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_reset_begins_a_sequence_of_its_own(both_ways, dtype):
    weights, hyper = initialized(mlax.nn.GRUCell, dtype)
    block: Any = mlax.block.Recurrent
    trainables, state, recurrent = block.init((weights, None, hyper))
    if both_ways:
        other = block.init((redrawn(weights, dtype, 40), None, hyper))
        block = mlax.block.Bidirectional
        layers = (trainables, state, recurrent), other
        trainables, state, recurrent = block.init(*layers)
    x = draw(10, (BATCH, TIME, IN), dtype)

    @jax.jit
    def run(x, **inputs):
        return block.fwd(x, trainables, state, recurrent, **inputs)[0]

    # The first sample begins anew at step 2, the second one at steps 2 and 4.
    reset = np.zeros((BATCH, TIME), bool)
    reset[(0, 1, 1), (2, 2, 4)] = True
    y = np.asarray(run(x, reset=reset))
    for sample, starts in ((0, (0, 2)), (1, (0, 2, 4))):
        for start, end in zip(starts, (*starts[1:], TIME), strict=True):
            assert_close(y[sample, start:end], run(x[sample, start:end]), dtype)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("kind", ["ahead", "reverse", "both ways"])
def test_a_sequence_has_its_length(kind, time_major, dtype):
    """What lies beyond is not read: each sequence is the same alone, cut to its length."""
    weights, hyper = initialized(mlax.nn.LSTMCell, dtype)
    block: Any = mlax.block.Recurrent
    options = {"return_carry": True, "time_major": time_major}
    layer = block.init((weights, None, hyper), **options, reverse=kind == "reverse")
    if kind == "both ways":
        other = block.init((redrawn(weights, dtype, 40), None, hyper), **options)
        block = mlax.block.Bidirectional
        layer = block.init(layer, other, **options)
    trainables, state, recurrent = layer
    place = functools.partial(jnp.swapaxes, axis1=0, axis2=1 if time_major else 0)
    lengths = np.asarray([3, TIME], np.int8)
    reset = np.broadcast_to(np.arange(TIME) == 2, (BATCH, TIME))

    @jax.jit
    def run(t, x, reset=None, lengths=None):
        reset = None if reset is None else place(reset)
        (y, carry), _ = block.fwd(
            place(x), t, state, recurrent, reset=reset, lengths=lengths
        )
        return place(y), carry

    x = np.array(draw(10, (BATCH, TIME, IN), dtype))
    x[0, 3:] = np.nan
    for given in (None, reset):
        y, carry = jax.tree.map(np.asarray, run(trainables, x, given, lengths))
        for sample, length in enumerate([3, TIME]):
            cut = None if given is None else given[sample : sample + 1, :length]
            expected = run(trainables, x[sample : sample + 1, :length], cut)
            assert_close(y[sample : sample + 1, :length], expected[0], dtype)
            mine = jax.tree.map(lambda c, s=sample: c[s : s + 1], carry)
            assert_close(mine, expected[1], dtype)
        assert not np.any(y[0, 3:])


@pytest.mark.parametrize("both_ways", [False, True])
def test_padding_has_no_gradient(both_ways, dtype):
    weights, hyper = initialized(mlax.nn.GRUCell, dtype)
    block: Any = mlax.block.Recurrent
    layer = block.init((weights, None, hyper))
    if both_ways:
        block = mlax.block.Bidirectional
        layer = block.init(layer, layer)
    trainables, state, recurrent = layer
    lengths = jnp.asarray([2, TIME])

    def loss(t, x):
        y = block.fwd(x, t, state, recurrent, lengths=lengths)[0]
        return jnp.sum(y**2)

    def alone(t, x):
        parts = ((x[:1, :2]), x[1:])
        return sum(
            jnp.sum(block.fwd(part, t, state, recurrent)[0] ** 2) for part in parts
        )

    x = draw(10, (BATCH, TIME, IN), dtype)
    gradients = jax.jit(jax.grad(loss, (0, 1)))(trainables, x)
    assert_close(gradients, jax.jit(jax.grad(alone, (0, 1)))(trainables, x), dtype)
    assert not np.any(np.asarray(gradients[1])[0, 2:])


def test_the_last_carry_is_that_of_flax(dtype):
    weights, hyper = initialized(mlax.nn.LSTMCell, dtype)
    block = mlax.block.Recurrent
    trainables, state, recurrent = block.init((weights, None, hyper), return_carry=True)
    lengths = jnp.asarray([3, TIME])
    theirs = nn.RNN(nn.OptimizedLSTMCell(SIZE, **FLAX), return_carry=True)
    assert_same(
        lambda t, x: block.fwd(x, t, state, recurrent, lengths=lengths)[0][1],
        lambda t, x: theirs.apply(
            {"params": {"cell": lstm(t.cell)}}, x, seq_lengths=lengths
        )[0],
        trainables,
        draw(10, (BATCH, TIME, IN), dtype),
    )


@pytest.mark.parametrize("strides", [1, 2])
def test_recurrent_over_images(strides, dtype):
    cell = mlax.nn.ConvLSTMCell
    weights, _, hyper = shapes_of(
        lambda key: cell.init(key, 1, 2, 3, 3, strides=strides, dtype=dtype)
    )
    weights = redrawn(weights, dtype)
    block = mlax.block.Recurrent
    trainables, state, recurrent = block.init((weights, None, hyper), time_major=True)
    x = draw(10, (3, BATCH, 2, 4), dtype)

    def ours(x):
        return block.fwd(x, trainables, state, recurrent)[0]

    def unrolled(x):
        carry, steps = hyper.initial_carry(x.shape[1:], dtype), []
        for t in range(3):
            (step, carry), _ = cell.fwd((x[t], carry), weights, None, hyper)
            steps.append(step)
        return jnp.stack(steps)

    assert_close(compiled(ours, dtype)(x), reference(unrolled)(x), dtype)


@pytest.mark.parametrize("merge", ["concatenate", "add", "multiply", "average"])
def test_bidirectional_is_that_of_flax(merge, dtype):
    functions = {
        "concatenate": lambda a, b: jnp.concatenate([a, b], -1),
        "add": jnp.add,
        "multiply": jnp.multiply,
        "average": lambda a, b: (a + b) / 2,
    }
    weights, hyper = initialized(mlax.nn.LSTMCell, dtype)
    other = redrawn(weights, dtype, 40)
    layers = [
        mlax.block.Recurrent.init((w, None, hyper), return_carry=True)
        for w in (weights, other)
    ]
    block = mlax.block.Bidirectional
    carries = {"return_carry": True}
    trainables, state, bidirectional = block.init(*layers, merge=merge, **carries)
    rnns = [nn.RNN(nn.OptimizedLSTMCell(SIZE, **FLAX)) for _ in range(2)]
    module = nn.Bidirectional(*rnns, merge_fn=functions[merge], **carries)

    def of_flax(trainables, x, carry):
        params = {
            "forward_rnn": {"cell": lstm(trainables.ahead.cell)},
            "backward_rnn": {"cell": lstm(trainables.back.cell)},
        }
        carry, y = module.apply({"params": params}, x, initial_carry=carry)
        return y, carry

    carry = first_carry(hyper, dtype)
    assert_same(
        lambda t, x, carry: block.fwd(x, t, state, bidirectional, carry=carry)[0],
        of_flax,
        trainables,
        draw(10, (BATCH, TIME, IN), dtype),
        (carry, jax.tree.map(jnp.negative, carry)),
    )


# Linear recurrent units


def linear_recurrence(w, x, start):
    """The equations of Orvieto et al., step by step, in complex numbers of NumPy."""
    a = np.exp(-np.exp(w.log_decay) + 1j * np.exp(w.log_phase))
    b = w.input_real + 1j * w.input_imaginary
    c = w.output_real + 1j * w.output_imaginary
    h, ys = start, []
    for t in range(x.shape[-2]):
        h = a * h + np.sqrt(1.0 - np.abs(a) ** 2) * (x[..., t, :] @ b)
        ys.append((h @ c).real + w.skip * x[..., t, :])
    return np.stack(ys, -2), h


@pytest.mark.parametrize("time", [1, 7])
@pytest.mark.parametrize("with_carry", [False, True])
def test_linear_recurrent_unit(time, with_carry, dtype):
    weights, _, hyper = shapes_of(
        lambda key: mlax.nn.LRU.init(
            key, IN, SIZE, return_carry=True, precision="highest", dtype=dtype
        )
    )
    weights = redrawn(weights, dtype)
    x = draw(10, (BATCH, time, IN), dtype)
    carry = (draw(11, (BATCH, SIZE), dtype), draw(12, (BATCH, SIZE), dtype))
    given = carry if with_carry else None
    start = numpy(carry[0]) + 1j * numpy(carry[1]) if with_carry else 0.0

    def run(x, weights, given):
        return mlax.nn.LRU.fwd(x, weights, None, hyper, carry=given)[0]

    y, (real, imaginary) = compiled(run, dtype)(x, weights, given)
    expected, last = linear_recurrence(numpy(weights), numpy(x), start)
    assert_close((y, real, imaginary), (expected, last.real, last.imag), dtype)


def test_gradients_of_a_linear_recurrent_unit(dtype):
    weights, _, hyper = shapes_of(
        lambda key: mlax.nn.LRU.init(key, IN, SIZE, precision="highest", dtype=dtype)
    )
    weights = redrawn(weights, dtype)

    def in_a_loop(w, x, carry):
        a = jnp.exp(-jnp.exp(w.log_decay) + 1j * jnp.exp(w.log_phase))
        b = w.input_real + 1j * w.input_imaginary
        c = w.output_real + 1j * w.output_imaginary
        h, ys = carry[0] + 1j * carry[1], []
        for t in range(TIME):
            h = a * h + jnp.sqrt(1.0 - jnp.abs(a) ** 2) * (x[:, t] @ b)
            ys.append((h @ c).real + w.skip * x[:, t])
        return jnp.stack(ys, 1)

    assert_same(
        lambda w, x, carry: mlax.nn.LRU.fwd(x, w, None, hyper, carry=carry)[0],
        in_a_loop,
        weights,
        draw(10, (BATCH, TIME, IN), dtype),
        (draw(11, (BATCH, SIZE), dtype), draw(12, (BATCH, SIZE), dtype)),
    )


def test_linear_recurrent_unit_step_by_step_and_at_the_edge(dtype):
    init = functools.partial(mlax.nn.LRU.init, KEY, IN, 64, return_carry=True)
    weights, _, hyper = init(min_radius=0.9, max_radius=0.99, dtype=dtype)
    radius = np.exp(-np.exp(numpy(weights.log_decay)))
    assert 0.9 <= radius.min() < 0.92 < 0.97 < radius.max() <= 0.99
    x = draw(10, (TIME, IN), dtype)
    fwd = jax.jit(mlax.nn.LRU.fwd)
    (whole, last), _ = fwd(x, weights, None, hyper)
    carry = (jnp.zeros((64,), dtype), jnp.zeros((64,), dtype))
    for t in range(TIME):
        (y, carry), _ = fwd(x[t : t + 1], weights, None, hyper, carry=carry)
        assert_close(y[0], whole[t], dtype)
    assert_close(carry, last, dtype)
    # Where |a| rounds to one, the scale of the input is still finite and positive.
    half, _, hyper = init(min_radius=0.999, max_radius=1.0, dtype="float16")
    ones = jnp.ones((TIME, IN), jnp.float16)

    def loss(weights):
        return mlax.nn.LRU.fwd(ones, weights, None, hyper)[0][0].sum()

    for gradient in jax.tree.leaves(jax.jit(jax.grad(loss))(half)):
        assert bool(jnp.isfinite(gradient).all())
