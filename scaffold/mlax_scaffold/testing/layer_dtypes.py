"""The dtype contract of a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.testing._functions import Differentiable, abstract_key
from mlax_scaffold.testing.audit import assert_dtypes
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.compare import assert_same_structure
from mlax_scaffold.testing.dtypes import is_floating, precision_for
from mlax_scaffold.testing.sums import assert_no_narrow_sums

PyTree = Any


def assert_dtype_contract(
    case: Case,
    dtype: DTypeLike,
    weights_dtype: DTypeLike | None = None,
    *,
    training: bool | None = None,
) -> None:
    """Raise AssertionError unless the layer keeps the dtype contract. Compiles nothing.

    For inputs in `dtype` and weights in `weights_dtype` (None: the same), in training,
    in inference, or (None) in every mode that the case has:
    - floating outputs have the dtype of the input (without one: that of the weights);
    - `fwd` and its VJP compute in that dtype and in those that the case allows; where
      the case is `stored`, what only the new state depends on may be in the state's;
    - no sum of `fwd` adds 16-bit numbers one after another, which `narrow_sums` finds;
    - gradients have the dtypes of what they are gradients of;
    - state keeps its structure, shapes and dtypes, and nothing returned is weakly typed.
    """
    weights_dtype = dtype if weights_dtype is None else weights_dtype
    with precision_for(dtype, weights_dtype, *case.allow):
        for mode in case.modes() if training is None else (training,):
            _assert_dtype_contract(case, dtype, weights_dtype, mode)


def _assert_dtype_contract(
    case: Case, dtype: DTypeLike, weights_dtype: DTypeLike, training: bool
) -> None:
    compute_dtype = case.compute_dtype(dtype, weights_dtype)
    allowed = (compute_dtype, *case.allow)
    what = (
        f"{case.name} in {'training' if training else 'inference'}, inputs in "
        f"{jnp.dtype(dtype)}, weights in {jnp.dtype(weights_dtype)}"
    )
    arguments = case.abstract_arguments(dtype, weights_dtype)
    fwd = Differentiable(case, arguments, training=training)
    rest = (fwd.others, arguments.non_trainables, abstract_key())

    def forward(*args: Any) -> tuple[PyTree, PyTree]:
        return fwd(*args)[1]

    jaxpr, (y, state) = jax.make_jaxpr(forward, return_shape=True)(fwd.floats, *rest)
    _assert_outputs(y, compute_dtype, what)
    assert_same_structure(
        arguments.non_trainables, state, what=f"{what}: the new state"
    )
    leaves = jax.tree.leaves(arguments.non_trainables)
    stored = [v.dtype for v in leaves if case.stored and is_floating(v)]
    kept = [*(False for _ in jax.tree.leaves(y)), *(True for _ in leaves)]
    assert_dtypes(jaxpr, allowed, stored=stored, kept=kept, what=f"{what}, forward")
    assert_no_narrow_sums(jaxpr, what=f"{what}, forward")

    cotangents = [v for v in jax.tree.leaves(y) if is_floating(v)]
    if not fwd.floats or not cotangents:
        return
    jaxpr, (_, _, gradients) = jax.make_jaxpr(fwd.vjp, return_shape=True)(
        fwd.floats, *rest, cotangents
    )
    _assert_gradients(fwd, gradients, what)
    kept += [False] * len(gradients)
    assert_dtypes(jaxpr, allowed, stored=stored, kept=kept, what=f"{what}, gradient")


def _assert_outputs(y: PyTree, dtype: Any, what: str) -> None:
    for path, value in jax.tree_util.tree_leaves_with_path(y):
        if is_floating(value) and value.dtype != dtype:
            raise AssertionError(
                f"{what}: the output y{jax.tree_util.keystr(path)} is {value.dtype}, "
                f"expected {dtype}, the dtype of the input"
            )


def _assert_gradients(fwd: Differentiable, gradients: Sequence[Any], what: str) -> None:
    for place, value, gradient in zip(fwd.places, fwd.floats, gradients, strict=True):
        if gradient.dtype != value.dtype or gradient.shape != value.shape:
            raise AssertionError(
                f"{what}: the gradient of {place} is {gradient.dtype}{gradient.shape}, "
                f"expected {value.dtype}{value.shape}"
            )
