"""Gradients of what all steps of a loop share: their error does not grow with the steps."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Literal

import mlax.functional as F
import mlax.graph as bx
import mlax.loss
from mlax import block, nn
from mlax._core.loops import map_chunks, scan
from mlax_scaffold.testing.sums import narrow_sums

FAST = {"xla_backend_optimization_level": 0}
HALVES = ("bfloat16", "float16")
CELLS = ("SimpleCell", "GRUCell", "LSTMCell", "MGUCell", "ConvLSTMCell")
MODULES = ("SimpleRNN", "GRU", "LSTM", "MGU", "ConvLSTM")


def _draw(shape, dtype, seed=0):
    values = np.random.default_rng(seed).uniform(-0.25, 0.5, shape)
    return jnp.asarray(values.astype("float32")).astype(dtype)


def _arrays(dtype, steps):
    """A weight, a bias and an input that all steps share, a carry, and inputs."""
    shapes = ((4, 4), (2, 4), (2, 4), (2, 4), (steps, 2, 4))
    return [_draw(s, dtype, i) for i, s in enumerate(shapes)]


def _recurrence(loop, weight, bias, given, init, xs, **options):
    def step(carry, x):
        number, h = carry
        h = jnp.tanh(h @ weight + x * given + bias)
        return (number + 1, h), h

    (_, h), ys = loop(step, (0, init), xs, **options)
    return h, ys


def _gradients(loop, *arrays, **options):
    results, vjp = jax.vjp(lambda *a: _recurrence(loop, *a, **options), *arrays)
    return vjp(jax.tree.map(jnp.ones_like, results))


def _units(actual, exact, dtype):
    actual, exact = (np.asarray(v).astype("float64") for v in (actual, exact))
    exponent = np.floor(np.log2(np.max(np.abs(exact))))
    return np.max(np.abs(actual - exact)) / 2.0 ** (exponent - jnp.finfo(dtype).nmant)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("steps", [16, 4096])
def test_the_error_does_not_grow_with_the_steps(dtype, steps):
    arrays = _arrays(dtype, steps)
    wide = [a.astype("float64") for a in arrays]
    exact = jax.jit(lambda *a: _gradients(lax.scan, *a))(*wide)

    def largest(ours):
        return max(_units(*pair, dtype) for pair in zip(ours[:3], exact, strict=False))

    assert largest(_gradients(scan, *arrays)) <= 4
    compiled = largest(jax.jit(lambda *a: _gradients(scan, *a))(*arrays))
    assert compiled <= 4 or _a_product_collapses(dtype, steps)


def _a_product_collapses(dtype, steps):
    """Whether this compiler adds up a plain product of 16 bits in 16 bits.

    XLA of jax 0.12 does so on CPUs, in bfloat16, where it moves a transpose into the product:
    the gradient of a layer with a residual is 11 units off at 8,192 rows.
    """
    given = _draw((4, 4), dtype), _draw((steps, 2, 4), dtype)

    def gradient(kernel, x):
        y, vjp = jax.vjp(lambda kernel: jnp.tanh(jnp.tanh(x) @ kernel + x), kernel)
        return vjp(jnp.ones_like(y))[0]

    exact = gradient(*(v.astype("float64") for v in given))
    return _units(jax.jit(gradient)(*given), exact, dtype) > 4


def test_derivatives_of_every_kind_are_those_of_a_loop():
    options = {"reverse": True, "unroll": 2}
    weight, *rest = _arrays("bfloat16", 4)

    def loss(loop, weight, rest):
        h, ys = _recurrence(loop, weight, *rest, **options)
        return (h.sum() + (ys**2).sum()).astype(weight.dtype)

    @functools.partial(jax.jit, compiler_options=FAST)
    def derivatives(weight, rest, loop):
        f = lambda w: loss(loop.value, w, rest)  # noqa: E731
        return {
            "jvp": jax.jvp(f, (weight,), (weight,)),
            "hessian": jax.hessian(f)(weight),
            "vmap": jax.vmap(jax.grad(jax.checkpoint(f)))(weight[None]),
            "all": jax.grad(loss, (1, 2))(loop.value, weight, rest),
        }

    @jax.tree_util.register_static
    class Loop:
        def __init__(self, value):
            self.value = value

    ours = derivatives(weight, rest, Loop(scan))
    wide = jax.tree.map(lambda v: v.astype("float32"), (weight, rest))
    exact = derivatives(*wide, Loop(lax.scan))
    for name, wanted in exact.items():
        for a, b in zip(*map(jax.tree.leaves, (ours[name], wanted)), strict=True):
            scale = np.max(np.abs(b))
            np.testing.assert_allclose(
                a.astype("float32"), b, atol=0.04 * scale, err_msg=name
            )


def test_it_is_the_loop_of_jax_where_nothing_is_rounded_to_16_bits():
    def program(loop, dtype, function):
        arrays = _arrays(dtype, 8)
        return str(jax.make_jaxpr(lambda *a: function(loop, *a))(*arrays))

    for function in (_recurrence, _gradients):
        programs = [program(loop, "float32", function) for loop in (scan, lax.scan)]
        assert programs[0] == programs[1]
    assert program(scan, "bfloat16", _gradients) != program(
        lax.scan, "bfloat16", _gradients
    )


def test_weights_are_not_copied_for_each_step():
    jaxpr = jax.make_jaxpr(lambda *a: _gradients(scan, *a))(*_arrays("bfloat16", 9))
    assert "bf16[9,4,4]" not in str(jaxpr)
    assert "bf16[9,2,4]" in str(jaxpr)


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg"])
def test_numbers_are_drawn_alike_in_gradients(implementation):
    keys = jax.random.split(jax.random.key(0, impl=implementation), 8)

    def gradients(loop, weight, x):
        def step(h, key):
            kept = jax.random.bernoulli(key, 0.5, h.shape)
            return jnp.where(kept, h * weight, h), None

        return jax.grad(lambda w: loop(step, x, keys)[0].sum().astype(w.dtype))(weight)

    weight, x = jnp.asarray(1.0, "bfloat16"), jnp.ones(4, "bfloat16")
    assert gradients(scan, weight, x) == gradients(lax.scan, weight, x)


@pytest.mark.parametrize("around", [jax.jit, jax.checkpoint, jax.vmap])
def test_steps_close_over_what_has_no_derivative(around):
    """Masks and keys: the rule runs when the trace that they are of has ended."""

    def total(weight, mask, key, xs):
        kept = mask > 0

        def step(carry, x):
            noise = jax.random.bernoulli(key, 0.5, carry.shape)
            return jnp.where(kept & noise, carry * weight, x * weight), None

        return scan(step, xs[0], xs)[0]

    def given(weight, mask, key, xs):
        if around is not jax.vmap:
            return around(total)(weight, mask, key, xs)
        each = (w[None] for w in (weight, mask, key, xs))
        return around(jax.jit(total))(*each)[0]

    weight, xs = _draw((5,), "bfloat16"), _draw((4, 5), "bfloat16", 1)
    others = jnp.asarray([0, 1, 1, 0, 1]), jax.random.key(3)
    expected = jax.grad(lambda w, x: total(w, *others, x).sum(), (0, 1))(weight, xs)
    actual = jax.grad(lambda w, x: given(w, *others, x).sum(), (0, 1))(weight, xs)
    jax.tree.map(np.testing.assert_array_equal, actual, expected)
    assert all(np.any(np.asarray(g, "float32")) for g in expected)


def test_the_gradient_of_a_compiled_loss_of_alignments_is_there():
    logits = _draw((3, 7, 5), "bfloat16")
    labels = jnp.asarray([[1, 2], [3, 3], [4, 1]])
    plain = jax.grad(lambda x: mlax.loss.ctc_loss(x, labels).sum())(logits)
    loss = jax.jit(lambda x, y: mlax.loss.ctc_loss(x, y).sum())
    np.testing.assert_array_equal(jax.grad(loss)(logits, labels), plain)


def test_chunks_are_added_in_groups():
    @jax.jit
    def gradient(weight, xs):
        return jax.grad(
            lambda w: map_chunks(lambda x: x * w, xs).astype("float32").sum()
        )(weight)

    for dtype, count in (("bfloat16", 17), ("float16", 4096)):
        weight, xs = jnp.ones((), dtype), _draw((count, 1), dtype)
        units = _units(gradient(weight, xs), np.sum(np.float64(xs)), dtype)
        assert units <= 4, (dtype, count)
    np.testing.assert_array_equal(map_chunks(lambda x: x + 1, xs[:5]), xs[:5] + 1)


@pytest.mark.parametrize("dtype", HALVES)
def test_no_gradient_of_attention_is_added_chunk_by_chunk(dtype):
    q = jax.ShapeDtypeStruct((17, 1, 4), dtype)
    bias = jax.ShapeDtypeStruct((1, 1, 17), dtype)
    for causal in (False, True):

        def attend(q, k, v, bias, causal=causal):
            return F.chunked_attention(q, k, v, None, bias, chunk_size=2, causal=causal)

        assert not narrow_sums(_program(attend, q, q, q, bias))


def _cells(dtype):
    for name in CELLS:
        init = getattr(nn, name).init
        sizes = (2, 2, 2, 3) if name == "ConvLSTMCell" else (4, 4)
        cell = jax.eval_shape(
            lambda init=init, sizes=sizes: init(jax.random.key(0), *sizes)
        )
        shape = (8, 1, 2, 5, 5) if name == "ConvLSTMCell" else (8, 2, 4)
        yield name, cell, jax.ShapeDtypeStruct(shape, dtype)


def _half(dtype):
    def half(x):
        floating = jnp.issubdtype(x.dtype, jnp.floating)
        return jax.ShapeDtypeStruct(x.shape, dtype if floating else x.dtype)

    return half


def _program(function, *arrays):
    def gradient(*arrays):
        y, vjp = jax.vjp(function, *arrays)
        return vjp(jax.tree.map(jnp.ones_like, y))

    return jax.make_jaxpr(gradient)(*arrays)


@pytest.mark.parametrize("dtype", HALVES)
def test_no_gradient_of_a_recurrent_layer_is_added_step_by_step(dtype):
    for name, cell, x in _cells(dtype):
        ahead = block.Recurrent.init(cell, time_major=True)
        for made in (block.Recurrent, block.Bidirectional):
            both = (ahead, block.Recurrent.init(cell, reverse=True, time_major=True))
            given = (
                ahead if made is block.Recurrent else made.init(*both, time_major=True)
            )
            weights, state, hyperparams = given
            half = jax.tree.map(_half(dtype), weights)
            call = lambda x, w: made.fwd(x, w, state, hyperparams)[0]  # noqa: B023, E731
            assert not narrow_sums(_program(call, x, half)), (name, made)


def _modules(is_static):
    for name in MODULES:
        module = getattr(bx, name)
        sizes = (2, 3) if name == "ConvLSTM" else (3,)
        rng = bx.Rng(bx.Graph("net").child("rng"))
        made = module(bx.Graph("net").child(name), *sizes, rng=rng, is_static=is_static)
        shape = (1, 16, 2, 5, 5) if name == "ConvLSTM" else (2, 16, 3)
        yield name, made, rng.seed(bx.Params(), seed=0), shape


def _longest_chain(jaxpr):
    """Of additions by the transpose of a program, one of which is a term of the next."""
    depth = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "add_any":
            terms = [v for v in eqn.invars if not isinstance(v, Literal)]
            depth[eqn.outvars[0]] = 1 + max(depth.get(v, 0) for v in terms)
    return max(depth.values(), default=0)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("is_static", [False, True])
def test_no_gradient_of_a_recurrent_module_is_added_step_by_step(dtype, is_static):
    for name, module, params, shape in _modules(is_static):
        x = _draw(shape, dtype)
        made = jax.eval_shape(lambda p, x=x, m=module: m.apply(p, x)[1], params)
        made = jax.tree.map(_half(dtype), made)

        def call(params, x=x, module=module):
            return module.apply(params, x)[0]

        program = _program(call, made)
        assert not narrow_sums(program), name
        assert _longest_chain(program.jaxpr) <= 6, name


def test_modules_are_all_that_recur():
    found = {
        n
        for n, m in vars(bx).items()
        if isinstance(m, type) and hasattr(m, "is_static")
    }
    assert found - set(MODULES) <= {"RecurrentModule"}
