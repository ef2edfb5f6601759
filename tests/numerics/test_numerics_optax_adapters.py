"""The adapters from and to optax: their transformations work with one another."""

import functools
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from mlax import optim

SHAPES = {"kernel": (4, 3), "bias": (3,)}
adam = functools.partial(optim.Adam.init, learning_rate=0.1)


def tree(seed: int, dtype: Any = jnp.float32) -> dict[str, jax.Array]:
    generator = np.random.default_rng(seed)
    return {
        name: jnp.asarray(generator.normal(size=shape), dtype)
        for name, shape in SHAPES.items()
    }


def loss(weights: Any) -> jax.Array:
    return jnp.asarray(sum(jnp.sum((w - 1.0) ** 2) for w in jax.tree.leaves(weights)))


def run(transformation: Any, steps: int = 20, **extra: Any) -> Any:
    """Weights after steps on the loss, in one compiled loop."""

    def body(carry: Any, _: None) -> Any:
        weights, state = carry
        value, gradients = jax.value_and_grad(loss)(weights)
        given = extra | ({"value": value} if extra else {})
        updates, state = transformation.update(gradients, state, weights, **given)
        return (optax.apply_updates(weights, updates), state), None

    weights = tree(0)
    carry = (weights, transformation.init(weights))
    return jax.jit(lambda c: jax.lax.scan(body, c, length=steps)[0])(carry)[0]


def assert_same(actual: Any, expected: Any) -> None:
    for name in SHAPES:
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-5, atol=1e-6)


WRAPPERS = {
    "alone": lambda t: t,
    "chain": lambda t: optax.chain(optax.clip_by_global_norm(1.0), t, optax.scale(0.5)),
    "masked": lambda t: optax.masked(t, {"kernel": True, "bias": False}),
    "partition": lambda t: optax.partition(
        {"ours": t, "theirs": optax.sgd(0.1)}, {"kernel": "ours", "bias": "theirs"}
    ),
    "multi_steps": lambda t: optax.MultiSteps(t, 2).gradient_transformation(),
    "apply_if_finite": lambda t: optax.apply_if_finite(t, 3),
    "lookahead_of_extra_args": optax.with_extra_args_support,
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_ours_works_wherever_one_of_optax_does(name):
    wrap = WRAPPERS[name]
    assert_same(run(wrap(optim.to_optax(adam))), run(wrap(optax.adam(0.1))))


def test_to_optax_keeps_the_contract_of_a_transformation():
    transformation = optim.to_optax(adam)
    assert isinstance(transformation, optax.GradientTransformationExtraArgs)
    weights = tree(0, jnp.bfloat16)
    state = transformation.init(weights)
    updates, new = transformation.update(tree(1, jnp.bfloat16), state, weights)
    assert jax.tree.structure(new) == jax.tree.structure(state)
    assert jax.tree.structure(updates) == jax.tree.structure(weights)
    for one, other in zip(jax.tree.leaves(new), jax.tree.leaves(state), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert all(u.dtype == jnp.bfloat16 for u in jax.tree.leaves(updates))
    with pytest.raises(ValueError, match="update needs params"):
        transformation.update(weights, state)


def test_to_optax_hands_inputs_on_and_leaves_others():
    ours = optim.to_optax(
        functools.partial(optim.PolyakSgd.init, max_learning_rate=0.1)
    )
    theirs = optax.polyak_sgd(max_learning_rate=0.1)
    assert_same(run(ours, unknown=1), run(theirs, unknown=1))

    def sam(weights: Any) -> Any:
        return optim.Sam.init(optim.Sgd.init(weights, 0.1), 0.1)

    moved = run(optim.to_optax(sam), value_fn=loss)
    assert float(loss(moved)) < float(loss(tree(0)))
    with pytest.raises(ValueError, match="Sam: step needs value_and_gradients"):
        run(optim.to_optax(sam), steps=1)


def run_ours(initialized: Any, steps: int = 20) -> Any:
    state, hyperparams = initialized

    def body(carry: Any, _: None) -> Any:
        weights, state = carry
        value, gradients = jax.value_and_grad(loss)(weights)
        updates, state = hyperparams.apply(
            gradients,
            state,
            weights,
            value=value,
            value_and_gradients=jax.value_and_grad(loss),
            key=jax.random.key(0),
        )
        return (optim.apply_updates(weights, updates), state), None

    carry = (tree(0), state)
    return jax.jit(lambda c: jax.lax.scan(body, c, length=steps)[0])(carry)[0]


def test_from_optax_takes_its_steps():
    initialized = optim.from_optax(optax.adam(0.1), tree(0))
    assert_same(run_ours(initialized), run(optax.adam(0.1)))
    chain = optim.Chain.init(
        [
            optim.ClipByGlobalNorm.init(tree(0), 1.0),
            optim.from_optax(optax.adam(0.1), tree(0)),
        ]
    )
    expected = run(optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1)))
    assert_same(run_ours(chain), expected)


def test_from_optax_gives_what_a_step_knows():
    polyak = optax.polyak_sgd(max_learning_rate=0.1)
    actual = run_ours(optim.from_optax(polyak, tree(0)))
    assert_same(actual, run(polyak, unknown=1))
    lbfgs = optim.from_optax(optax.lbfgs(), tree(0))
    assert float(loss(run_ours(lbfgs, steps=5))) < 1e-8


def test_from_optax_is_static_and_keeps_dtypes():
    transformation = optax.adam(0.1, mu_dtype=jnp.float32)
    weights = tree(0, jnp.bfloat16)
    state, hyperparams = optim.from_optax(transformation, weights)
    assert not jax.tree.leaves(hyperparams)
    hash(hyperparams)
    updates, new = hyperparams.apply(tree(1, jnp.bfloat16), state, weights)
    assert all(u.dtype == jnp.bfloat16 for u in jax.tree.leaves(updates))
    assert jax.tree.structure(new) == jax.tree.structure(state)
    with pytest.raises(TypeError, match="must be an optax"):
        optim.from_optax(lambda g: g, weights)


def test_from_optax_needs_no_loss_that_it_does_not_look_at():
    def evaluated(weights: Any, make: Any) -> Any:
        state, hyperparams = optim.Accumulate.init(
            weights, optim.from_optax(make(), weights), every=2
        )
        value, gradients = jax.value_and_grad(loss)(weights)
        return hyperparams.apply(
            gradients,
            state,
            weights,
            value=value,
            value_and_gradients=jax.value_and_grad(loss),
        )

    evaluated(tree(0), lambda: optax.adam(0.1))
    # A call knows the loss of its own part only, which a line search evaluates.
    with pytest.raises(ValueError, match="Accumulate: a call knows"):
        evaluated(tree(0), optax.lbfgs)


def test_without_optax_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['optax'] = None\n"
        "from mlax import optim\n"
        "for name, arguments in (('to_optax', (len,)), ('from_optax', (None, {}))):\n"
        "    try: getattr(optim, name)(*arguments)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == (
        "to_optax needs optax: pip install optax\n"
        "from_optax needs optax: pip install optax\n"
    ), done.stderr
