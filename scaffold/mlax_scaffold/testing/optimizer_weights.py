"""The weights that optimizers are tried with: of many structures, those left out that one refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from mlax_scaffold.testing.optimizer import OptimizerCase

PyTree = Any


class _Pair(NamedTuple):
    a: Any
    b: Any


def trees() -> dict[str, PyTree]:
    """Weights of many structures, as `jax.ShapeDtypeStruct` in float32."""
    matrix = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    vector = jax.ShapeDtypeStruct((3,), jnp.float32)
    scalar = jax.ShapeDtypeStruct((), jnp.float32)
    kernel = jax.ShapeDtypeStruct((3, 2, 4), jnp.float32)
    return {
        "leaf": matrix,
        "dict": {"kernel": matrix, "bias": vector},
        "none": {"kernel": matrix, "bias": None},
        "named tuple": _Pair(matrix, [vector, (scalar, kernel)]),
        "partial": jax.tree_util.Partial(max, matrix),
        "empty": {},
        "only none": (None, None),
    }


def taken(case: OptimizerCase, structs: PyTree) -> PyTree:
    """The same weights, with None for each that a requirement of the optimizer refuses by itself.

    All of them where it refuses all: then something else is wrong.
    """
    if not case.requirements or not _is_refused(case, structs):
        return structs
    found = jax.tree.map(lambda w: None if _is_refused(case, w) else w, structs)
    return found if jax.tree.leaves(found) else structs


def taken_shape(case: OptimizerCase, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape of weights, or another one where a requirement of the optimizer refuses it by itself."""
    if not case.requirements:
        return shape
    others = (shape, (2, 3), (3,), (3, 2, 4), (2, 3, 2, 4), ())
    structs = ((s, jax.ShapeDtypeStruct(s, jnp.float32)) for s in others)
    return next((s for s, struct in structs if not _is_refused(case, struct)), shape)


def _is_refused(case: OptimizerCase, structs: PyTree) -> bool:
    """Whether a requirement of an optimizer refuses these weights. Only traces."""
    try:
        state, hyperparams = jax.eval_shape(case.initialize, structs)
        jax.eval_shape(
            lambda g, s, p: case.take(g, s, p, hyperparams), structs, state, structs
        )
    except ValueError as error:
        return case.refuses(error)
    except Exception:  # What else is wrong, the contract tells.
        return False
    return False


def weights(structs: PyTree, seed: int = 0) -> PyTree:
    """Standard normal arrays of these shapes and dtypes."""
    generator = np.random.default_rng(seed)

    def draw(struct: Any) -> Any:
        values = np.asarray(generator.standard_normal(struct.shape))
        return jax.device_put(values.astype(struct.dtype))

    return jax.tree.map(draw, structs)
