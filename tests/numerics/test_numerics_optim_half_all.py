"""Every moment of 16 bits follows that of float32, over thousands of steps."""

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_optimizers import FAST_COMPILATION

from mlax import optim

BOUNDS = {"bfloat16": 0.1, "float16": 0.05}
"""Of the norm of the difference over the norm: noise of rounding, and no bias."""
STEPS = 2000
SHAPE = (4, 8)
SLOW = dict.fromkeys(
    ["b1", "b2", "b3", "beta", "adam_b1", "adam_b2", "decay", "momentum"], 0.999
)
"""Decays that are 1 in bfloat16: averages of a thousand gradients."""


def no_weight(path: str, weight: Any) -> bool:
    """A mask."""
    return False


OWN: dict[str, dict[str, Any]] = {
    "Accumulate": {"every": 2 * STEPS + 1},
    "AdaDelta": {"epsilon": 1e-3},
    "Adafactor": {"min_factored_size": 2, "decay_exponent": 0.9},
    "Galore": {"matrices": no_weight, "rank": 2},
    "Lookahead": {"period": 3, "slow_step": 0.01},
    "Muon": {"matrices": no_weight},
    "RProp": {"eta_minus": 0.999, "eta_plus": 1.001},
}
"""Settings beside those of all."""


CANCELS = [("Adan", "change")]
"""Means of what is nearly zero, beside the numbers that are averaged."""


def initialized(name: str, weights: Any) -> tuple[Any, Any]:
    """An optimizer with slow decays."""
    init = getattr(optim, name).init
    taken = inspect.signature(init).parameters
    given: dict[str, Any] = {k: v for k, v in SLOW.items() if k in taken}
    given |= OWN.get(name, {})
    if "learning_rate" in taken:
        given["learning_rate"] = 0.01
    if "optimizer" in taken:
        given["optimizer"] = optim.Sgd.init(weights, 0.01)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return init(weights, **given)


def holds_moments(name: str) -> bool:
    """Whether `init` takes weights and no more than a step would need to be run."""
    taken = inspect.signature(getattr(optim, name).init).parameters
    needed = {k for k, v in taken.items() if v.default is v.empty}
    if not needed <= {"trainables", "learning_rate", "optimizer", "every", "decay"}:
        return False
    if "trainables" not in needed:
        return False
    weights = jax.ShapeDtypeStruct((5,), jnp.float32)
    state, _ = jax.eval_shape(lambda w: initialized(name, w), weights)
    return any(leaf.shape == (5,) for leaf in jax.tree.leaves(state))


# The differences that L-BFGS keeps are those of weights, and no sum.
NAMES = [n for n in optim.__all__ if n[0].isupper() and n != "Lbfgs"]
MOMENTS = [n for n in NAMES if hasattr(getattr(optim, n), "init") and holds_moments(n)]


@pytest.fixture(autouse=True)
def _float32() -> Iterator[None]:
    """Scalars have 32 bits, as they have unless one asks for 64."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def drawn() -> tuple[Any, Any, Any]:
    """Weights, gradients and losses of every step: numbers of bfloat16."""
    generator = np.random.default_rng(0)
    mean = np.sign(generator.normal(size=SHAPE)) * generator.uniform(0.5, 2.0, SHAPE)
    gradients = mean + 0.5 * generator.normal(size=(2 * STEPS, *SHAPE))
    gradients[STEPS:] *= 0.1
    moved = 0.25 * np.arange(2 * STEPS) / STEPS
    weights = generator.normal(size=SHAPE) - mean * moved[:, None, None]
    losses = jnp.asarray(3.0 + moved, jnp.float32)
    return jnp.asarray(weights, "bfloat16"), jnp.asarray(gradients, "bfloat16"), losses


REFUSE_FLOAT16 = ("DAdaptAdamW", "Prodigy")
"""Their moments begin with the square of 1e-6."""


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_of_16_bits_follow(name, drawn):
    """One program for all dtypes: what is one for all weights is the same for each."""
    weights, gradients, losses = drawn
    dtypes = ["float32", *BOUNDS]
    if name in REFUSE_FLOAT16:
        dtypes.remove("float16")
        with pytest.raises(ValueError, match="give moment_dtype"):
            initialized(name, weights[0].astype("float16"))

    def both(x: Any) -> Any:
        return {dtype: x.astype(dtype) for dtype in dtypes}

    state, hyperparams = initialized(name, both(weights[0]))

    def body(carry: Any, given: Any) -> Any:
        state, _ = carry
        w, g, value = given
        w, g = both(w), both(g)

        def value_and_gradients(at: Any) -> Any:
            return value, jax.tree.map(lambda a, b, c: a + b - c, g, at, w)

        updates, state = hyperparams.apply(
            g,
            state,
            w,
            value=value,
            value_and_gradients=value_and_gradients,
            key=jax.random.key(0),
        )
        return (state, updates), None

    def run(state: Any, *given: Any) -> Any:
        carry = (state, both(weights[0]))
        return jax.lax.scan(body, carry, given)[0]

    run = jax.jit(run, compiler_options=FAST_COMPILATION)
    errors = {}
    for part in (slice(STEPS), slice(STEPS, None)):
        state, updates = run(state, weights[part], gradients[part], losses[part])
        fields = state._asdict() | {"updates": updates}
        for field, tree in fields.items():
            if isinstance(tree, dict) and (name, field) not in CANCELS:
                wide = np.asarray(tree["float32"], np.float64)
                for dtype in dtypes[1:]:
                    bound = BOUNDS[dtype]
                    difference = np.asarray(tree[dtype], np.float64) - wide
                    error, size = map(np.linalg.norm, (difference, wide))
                    if not error <= bound * size:
                        errors[field, dtype, part.start] = round(error / size, 3)
    assert not errors


def test_gradients_below_float16_reach_the_optimizer():
    """Loss scaling is for them: the scaled gradient is a number, 1e-8 is none."""
    weights = jnp.ones((3,), "float16")
    with pytest.raises(ValueError, match="give moment_dtype"):
        optim.DynamicLossScaling.init(optim.Adam.init(weights, 0.1))
    for inner in (
        optim.Adam.init(weights, 0.1, epsilon=1e-12, moment_dtype="float32"),
        optim.Sgd.init(weights, 1e7),
        optim.Chain.init([optim.Clip.init(weights, 1.0), optim.Sgd.init(weights, 1e7)]),
    ):
        state, hyperparams = optim.DynamicLossScaling.init(inner)
        gradients = (1e-8 * state.scale * jnp.ones((3,))).astype("float16")
        updates, state = hyperparams.apply(gradients, state, weights)
        assert updates.dtype == weights.dtype
        np.testing.assert_allclose(updates, -0.1, rtol=0.1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_mean_over_examples_does_not_depend_on_their_number(dtype):
    weights = jnp.zeros((3,), dtype)
    state, hyperparams = optim.DifferentiallyPrivate.init(
        optim.Sgd.init(weights, 1.0), clip_norm=1.0, noise_multiplier=0.0
    )
    step = jax.jit(hyperparams.apply, compiler_options=FAST_COMPILATION)
    for examples in (8, 4096):
        gradients = jnp.full((examples, 3), 0.5, dtype)
        updates, _ = step(gradients, state, weights, key=jax.random.key(0))
        np.testing.assert_allclose(np.asarray(updates, float), -0.5, rtol=0.02)
