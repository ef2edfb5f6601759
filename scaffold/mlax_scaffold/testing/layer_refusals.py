"""What layers and functions are claimed to refuse. Nothing here compiles."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.model.shapes import ShapeMismatch, is_size, parse_shape
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dims import Shapes
from mlax_scaffold.testing.dtypes import (
    COMPLEX_DTYPES,
    FLOAT_DTYPES,
    is_floating,
    is_inexact,
)
from mlax_scaffold.testing.modes import (
    assert_module_rejects_other_modes,
    assert_rejects_other_modes,
)
from mlax_scaffold.testing.module import call_module, make_module
from mlax_scaffold.testing.situation import Situation
from mlax_scaffold.testing.weights import (
    assert_module_rejects_other_weights,
    assert_rejects_other_weights,
)

PyTree = Any


def refuse_another_mode(situation: Situation) -> None:
    """What is neither True nor False is no mode, of the layer and of its module."""
    assert_rejects_other_modes(situation.case)
    if situation.case.module is not None:
        assert_module_rejects_other_modes(situation.case)


def refuse_unknown_inputs(situation: Situation) -> None:
    """A keyword input that nothing takes is a TypeError that names it, and the block that hands it on."""
    case = situation.case
    x, trainables, non_trainables, hyperparams, inputs = case.arguments(jnp.float32)
    unknown = {**inputs, _UNKNOWN: jnp.ones(())}

    def layer() -> Any:
        return case.fwd(x, trainables, non_trainables, hyperparams, **unknown)

    kinds = {p.kind for p in inspect.signature(case.fwd).parameters.values()}
    said = f"{case.name}: " if inspect.Parameter.VAR_KEYWORD in kinds else ""
    _assert_names_unknown(case.name, lambda: case.on_devices(layer), said)
    if case.module is not None:
        module, _, params = make_module(case)
        _assert_names_unknown(
            type(module).__name__,
            lambda: call_module(case, module, params, True, x, unknown),
        )


_UNKNOWN = "no_such_input"


def _assert_names_unknown(owner: str, call: Callable[[], Any], begin: str = "") -> None:
    try:
        call()
    except TypeError as error:
        if _UNKNOWN not in str(error) or not str(error).startswith(begin):
            raise AssertionError(
                f"{owner}: the error for a keyword input that nothing takes does not name "
                f"it, or not {owner}: {error}"
            ) from error
        return
    raise AssertionError(f"{owner} takes a keyword input that nothing uses")


def refuse_other_weights(situation: Situation) -> None:
    """Weights and states that `init` does not make are errors that name them."""
    assert_rejects_other_weights(situation.case)


def refuse_other_parameters(situation: Situation) -> None:
    """So are parameters that the module does not create."""
    assert_module_rejects_other_weights(situation.case)


def refuse_other_shapes(situation: Situation) -> None:
    """A ValueError names the input where its shape is not as annotated."""
    case = situation.case
    if case.shapes is None:
        return
    for label, array in case.shapes.arrays.items():
        for shape in _other_shapes(array.shape):
            if not _fits(situation, case.shapes, label, shape):
                changed = _replaced(situation, array, shape)
                _assert_refused(changed, ValueError, case, label, str(shape))


def refuse_other_kinds(situation: Situation) -> None:
    """A TypeError names the input where it is of another kind: integers or booleans, or floating numbers."""
    case = situation.case
    if case.shapes is None:
        return
    for label, array in case.shapes.arrays.items():
        if label in case.shapes.trees:
            continue
        integers = jnp.bool_ if label in case.shapes.integers else jnp.int32
        other = jnp.dtype(integers) if is_inexact(array) else situation.dtype
        changed = _replaced(situation, array, array.shape, other)
        _assert_refused(changed, TypeError, case, label, other.name)


def refuse_mixed_dtypes(situation: Situation) -> None:
    """A TypeError says so where floating inputs have several dtypes."""
    case = situation.case
    if case.shapes is None:
        return
    arrays = {
        label: array
        for label, array in case.shapes.arrays.items()
        if is_inexact(array) and label not in case.shapes.trees
    }
    wide = situation.dtype == jnp.float32
    other = jnp.dtype(jnp.float16 if wide else jnp.float32)
    for label, array in arrays.items() if len(arrays) > 1 else ():
        changed = _replaced(situation, array, array.shape, other)
        _assert_refused(changed, TypeError, case, label, other.name)


def refuse_half_precision(situation: Situation) -> None:
    """A TypeError says so where half precision would need complex numbers of its own."""
    case = situation.case
    if case.dtypes is not COMPLEX_DTYPES or not any(map(is_floating, _inputs(case))):
        return
    for dtype in FLOAT_DTYPES:
        if dtype not in case.dtypes:
            other = dataclasses.replace(situation, dtype=dtype)
            try:
                _ = other.forward
            except TypeError as error:
                if "complex" not in str(error):
                    raise
            else:
                raise AssertionError(
                    f"{case.name} computes with complex numbers, and takes {dtype}"
                )


def _inputs(case: Case) -> list[Any]:
    return jax.tree.leaves((case.x, dict(case.inputs)))


def _other_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield (2, *shape)
    yield (1, *shape)
    yield (*shape, 1)
    for axes in range(1, len(shape)):
        yield shape[axes:]
    for axis, size in enumerate(shape):
        yield (*shape[:axis], *shape[axis + 1 :])
        yield (*shape[:axis], size + 1, *shape[axis + 1 :])


def _fits(
    situation: Situation, shapes: Shapes, label: str, shape: tuple[int, ...]
) -> bool:
    """Whether the annotations allow this shape beside those of the other inputs."""
    anything = {*shapes.loose, *shapes.trees}
    if label in anything:
        return True
    # What only the layers in a block know, the block does not check.
    own = situation.arguments.hyperparams
    known = {n: v for n, v in shapes.fields.items() if own is None or hasattr(own, n)}
    sizes: Any = {n: v for n, v in known.items() if is_size(v)}
    given = {name: v.shape for name, v in shapes.arrays.items()} | {label: shape}
    parsed = {
        name: parse_shape(shapes.patterns[name]).resolve(shapes.fields)
        for name in given
        if name not in anything
    }
    if parsed[label].broadcast:
        return True  # What it broadcasts to may depend on inputs that are not given.
    try:
        for name, pattern in parsed.items():
            if not pattern.broadcast:
                sizes = pattern.bind(given[name], sizes)
    except ShapeMismatch as error:
        # What is not known does not refuse anything.
        return "not known" in str(error)
    return True


def _replaced(
    situation: Situation, array: Any, shape: tuple[int, ...], dtype: Any = None
) -> Callable[[], Any]:
    """A call with another array in the place of one of the inputs, which is traced."""
    case, arguments = situation.case, situation.arguments
    own = _inputs(case)
    leaves, tree = jax.tree.flatten((arguments.x, arguments.inputs))
    changed = [
        jax.ShapeDtypeStruct(shape, dtype or value.dtype) if leaf is array else value
        for leaf, value in zip(own, leaves, strict=True)
    ]
    x, inputs = tree.unflatten(changed)
    given = x, *situation.arrays[1:3], inputs, situation.arrays[-1]

    def call() -> Any:
        with situation.precision():
            return jax.eval_shape(situation.run, *given)

    return call


def _assert_refused(
    call: Callable[[], Any], error: type[Exception], case: Case, label: str, given: str
) -> None:
    try:
        call()
    except error as raised:
        if not str(raised).startswith(f"{case.name}: "):
            raise AssertionError(
                f"{case.name} refuses {label} of {given} with {raised!r}, which does not "
                "say that it is an input of its own"
            ) from raised
        return
    except Exception as raised:
        raise AssertionError(
            f"{case.name} fails with {label} of {given}, expected a {error.__name__}: "
            f"{raised!r}"
        ) from raised
    raise AssertionError(
        f"{case.name} takes {label} of {given}, expected a {error.__name__}"
    )
