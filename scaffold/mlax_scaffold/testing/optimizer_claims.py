"""What is claimed of optimizers. All but the last only trace."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp

from mlax_scaffold.testing._functions import assert_static
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.compare import assert_same_structure
from mlax_scaffold.testing.copies import assert_equal_copies
from mlax_scaffold.testing.keys import assert_program_uses_keys_once
from mlax_scaffold.testing.optimizer import (
    assert_mixed_dtypes,
    assert_structure,
    assert_zero_gradients,
    declared_dtypes,
)
from mlax_scaffold.testing.optimizer_situation import OptimizerSituation
from mlax_scaffold.testing.programs import assert_same_programs
from mlax_scaffold.testing.refusals import (
    assert_rejects_gradients,
    assert_rejects_missing_inputs,
    assert_rejects_state,
    assert_rejects_weights,
)


def compute_what_the_spec_says(situation: OptimizerSituation) -> None:
    """`step` gives the updates and the state of the spec."""
    dtypes = situation.dtype, *(jnp.dtype(d) for d in declared_dtypes(situation.case))
    with situation.precision():
        assert_same_programs(
            situation.expected,
            situation.step,
            situation.drawn,
            min(dtypes, key=lambda dtype: dtype.itemsize),
            what=str(situation),
            names=("updates", "state"),
            spec=situation.spec.path,
        )


def create_what_the_spec_declares(situation: OptimizerSituation) -> None:
    """`init` makes the state that the spec makes."""
    expected, actual = situation.creation()

    def drawn() -> list[Any]:
        return [jnp.ones(v.shape, v.dtype) for v in jax.tree.leaves(situation.weights)]

    with situation.precision():
        assert_same_programs(
            expected,
            actual,
            drawn,
            situation.dtype,
            what=f"{situation}: the state of init",
            spec=situation.spec.path,
        )


def keep_the_dtype(situation: OptimizerSituation) -> None:
    """Updates have the weights' dtype, state keeps its own, and no array is widened.

    Scalars may be in the default float dtype, and so may what is kept once for all weights; arrays
    may be in the dtypes that hyperparameters name.
    """
    what = str(situation)
    state, _ = situation.initialized
    _assert_strong(state, f"{what}: init makes")
    updates, new = situation.step.out
    assert_same_structure(situation.weights, updates, what=f"{what}: updates")
    assert_same_structure(state, new, what=f"{what}: the new state")
    for aval in situation.step.jaxpr.out_avals:
        if getattr(aval, "weak_type", False):
            raise AssertionError(
                f"{what}: step returns the weakly typed {aval}; cast Python numbers with "
                "jnp.asarray(value, dtype)"
            )
    with situation.precision():
        assert_dtypes(
            situation.step.jaxpr,
            (situation.dtype, *declared_dtypes(situation.case)),
            scalars=(jnp.float32, jnp.result_type(float)),
            shapes={(), *_shapes_of_all(situation)},
            what=what,
        )


def _shapes_of_all(situation: OptimizerSituation) -> list[tuple[int, ...]]:
    """The shapes of what the state has once for all weights."""
    state, _ = situation.initialized
    kept = [getattr(state, name) for name in situation.case.partial_moments]
    single = jax.tree_util.all_leaves([situation.weights])
    return [] if single else [each.shape for each in kept if hasattr(each, "shape")]


def _assert_strong(state: Any, what: str) -> None:
    for path, value in jax.tree_util.tree_leaves_with_path(state):
        if getattr(value, "weak_type", False):
            raise AssertionError(
                f"{what} weakly typed state{jax.tree_util.keystr(path)}"
            )


def use_no_key_twice(situation: OptimizerSituation) -> None:
    """`step` uses no key twice, and each weight has a key of its own."""
    if "key" not in (*situation.case.needs, *situation.inputs):
        return
    assert_program_uses_keys_once(situation.step.jaxpr, situation.case.name)


def have_static_hyperparameters(situation: OptimizerSituation) -> None:
    """Those of two calls of `init`, and copies, are equal, hashable, and a pytree without leaves."""
    init, weights = situation.case.init, situation.weights

    def made() -> Any:
        # Of a function of its own: `eval_shape` remembers what it has traced.
        return jax.eval_shape(functools.partial(init), weights)[1]

    with situation.precision():
        first, second = made(), made()
    assert_static(first, second, what=situation.case.name)
    assert_equal_copies(first, what=situation.case.name)


def keep_the_dtype_of_each_weight(situation: OptimizerSituation) -> None:
    """In a tree of mixed dtypes each weight keeps its own."""
    assert_mixed_dtypes(situation.case)


def have_moments_of_the_structure_of_the_weights(situation: OptimizerSituation) -> None:
    """Moments have the structure of the weights, whatever that is."""
    assert_structure(situation.case)


def refuse_what_does_not_fit(situation: OptimizerSituation) -> None:
    """Gradients, states and weights of another kind, and what a step needs and is not given."""
    assert_rejects_gradients(situation.case)
    assert_rejects_state(situation.case)
    assert_rejects_missing_inputs(situation.case)


def refuse_weights_that_are_not_floating(situation: OptimizerSituation) -> None:
    """Integers and complex numbers are no weights."""
    assert_rejects_weights(situation.case)


def behave_without_gradients(situation: OptimizerSituation) -> None:
    """Without gradients, or weights too, updates and state remain finite, and are no weights. It compiles."""
    assert_zero_gradients(situation.case)
