"""Numbers at the ends of the range leave updates and states finite, for every optimizer."""

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_every import PER_EXAMPLE
from numerics_optimizers import FAST_COMPILATION

from mlax import optim

NAMES = [
    name
    for name in optim.__all__
    if name[0].isupper() and hasattr(getattr(optim, name), "step")
]
AS_WRITTEN = FAST_COMPILATION | {
    "xla_allow_excess_precision": False,
    "xla_disable_hlo_passes": "algsimp",
}
"""Every operation is rounded to its dtype, and so is out of range where it may be."""
STEPS = {
    "large": (np.inf, np.inf, 0.0),
    "small": (1e-7, np.inf),
    "none": (0.0, 300.0),
}
"""Sizes of gradients; infinity is a quarter of the largest number of the dtype."""


@pytest.fixture(autouse=True)
def _float32() -> Iterator[None]:
    """Scalars have 32 bits, as they have unless one asks for 64."""
    with jax.enable_x64(False):
        yield


def every(path: str, weight: Any) -> bool:
    """A mask."""
    return True


GIVEN = {
    "clip_norm": 1.0,
    "clipping": 0.01,
    "condition": functools.partial(jnp.less, 1),
    "decay": 0.9,
    "eta": 0.1,
    "every": 2,
    "factor": 0.5,
    "gamma": 0.55,
    "learning_rate": 0.1,
    "mask": every,
    "max_delta": 1.0,
    "max_norm": 1.0,
    "measure": jnp.abs,
    "noise_multiplier": 0.1,
    "projection": jnp.tanh,
    "threshold": 1.0,
    "weight_decay": 0.1,
}
"""What has no default."""


def initialized(name: str, weights: Any) -> Any:
    """An optimizer with momentum, if it has any; in float32 where it asks for that."""
    init = getattr(optim, name).init
    taken = inspect.signature(init).parameters
    needed = [key for key, value in taken.items() if value.default is value.empty]
    given = {key: GIVEN[key] for key in needed if key in GIVEN}
    if "momentum" in taken:
        given["momentum"] = 0.9
    if "optimizer" in needed:
        given["optimizer"] = optim.Sgd.init(weights, 0.1)
    if "adversary" in needed:
        given["adversary"] = optim.Sgd.init(weights, 0.1)
    if "transformations" in needed:
        given["transformations"] = [optim.Sgd.init(weights, 0.1)]
    if "trainables" in needed:
        given["trainables"] = weights
    if name in REFUSE:
        with pytest.raises(ValueError, match="give moment_dtype=jnp"):
            init(**given)
        given["moment_dtype"] = "float32"
    return init(**given)


REFUSE = ("DAdaptAdamW", "Prodigy")
"""The range of float16 is too short for their moments, and they say so."""


MIXED = (
    *("BacktrackingSearch", "ClipByGlobalNorm", "DAdaptAdamW", "DoG", "DoWG", "Lbfgs"),
    *("Momo", "MomoAdam", "PolyakSgd", "Prodigy", "Sam", "ZoomSearch"),
)
"""What follows from all weights may be out of the range of some."""


def tree(mixed: bool) -> dict[str, jax.Array]:
    """Weights that are zero, small and large, of a short range, and one of a long one."""
    drawn = jnp.asarray([[1.0, -0.5, 0.25], [2.0, 1.5, -1.0]])
    sizes = {"zero": 0.0, "one": 1.0, "large": 1e4}
    weights = {k: (drawn * v).astype("float16") for k, v in sizes.items()}
    return weights | ({"wide": drawn} if mixed else {})


def gradients(weights: Any, size: float) -> Any:
    def leaf(weight: jax.Array) -> jax.Array:
        signs = np.asarray([[1.0, -1.0, 1.0], [-0.5, 1.0, -0.25]])
        bound = min(size, float(jnp.finfo(weight.dtype).max) / 4.0)
        return jnp.asarray(signs * bound).astype(weight.dtype)

    return jax.tree.map(leaf, weights)


def value_and_gradients(weights: Any) -> Any:
    """Those of half the square of a weight, as far as it matters."""
    one = weights["one"].astype("float32")
    return jnp.vdot(one, one) / 2.0, weights


@pytest.mark.parametrize("name", NAMES)
def test_updates_and_states_are_finite(name):
    weights = tree(name in MIXED)
    first, hyperparams = initialized(name, weights)
    step = functools.partial(hyperparams.apply, value_and_gradients=value_and_gradients)
    step = jax.jit(step, compiler_options=AS_WRITTEN)
    for how, sizes in STEPS.items():
        state = first
        for size in sizes:
            given = gradients(weights, size)
            if name in PER_EXAMPLE:
                given = jax.tree.map(lambda g: jnp.stack([g, g]), given)
            updates, state = step(
                given, state, weights, value=jnp.ones(()), key=jax.random.key(0)
            )
            results = {"updates": updates, "state": state}
            for path, leaf in jax.tree_util.tree_leaves_with_path(results):
                if jnp.issubdtype(leaf.dtype, jnp.floating):
                    finite = np.all(np.isfinite(np.asarray(leaf, np.float64)))
                    assert finite, (how, size, jax.tree_util.keystr(path))
