"""Compares what was converted with the code that it comes from, with that code's weights."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.testing.means_of_jax import means_of_jax
from mlax_scaffold.testing.originals import BUILT, Original
from mlax_scaffold.testing.tensors import tensors
from mlax_scaffold.testing.undecided import (
    as_declared,
    as_made_in_loops,
    as_named,
    as_numbered,
    moved,
)
from mlax_scaffold.weights import load_mapped, map_weights
from mlax_scaffold.weights.mapping import Mapping

__all__ = [
    "Original",
    "assert_function_parity",
    "assert_optimizer_parity",
    "assert_parity",
]

_SOURCES = {"nnx": "flax"} | {f: f for f in ("torch", "flax", "equinox", "haiku")}
_RTOL, _ATOL = 2e-4, 2e-5
_STEPS = 12


def assert_parity(
    layer: Any,
    original: Original,
    *,
    hyperparameters: MappingOf[str, Any],
    inputs: MappingOf[str, Sequence[Any]],
    near: str,
    integers: Sequence[str] = (),
    booleans: Sequence[str] = (),
    mapped: int = 0,
    unpadded: Sequence[str] = (),
    optional: MappingOf[str, Sequence[int]] | None = None,
    given: str = "",
    rtol: float = _RTOL,
    atol: float = _ATOL,
) -> None:
    """Raise AssertionError where the layer computes something else in inference, in float32.

    Args:
        layer: what has `init` and `fwd`.
        original: what it was converted from; it is skipped where that cannot be imported.
        hyperparameters: of the layer; the original has them, too.
        inputs: the shape of each; of a tuple of arrays, theirs.
        near: a file of the project.
        integers: the inputs that are indices; of a tuple by their places, `x[1]`.
        booleans: the inputs that are masks.
        mapped: how many first axes an original for one example is mapped over.
        unpadded: the indices of which none is zero, which would pad; of what is named after
            paddings all are.
        optional: the inputs that may be left out, and the shape of each.
        given: that of them which both are given; "" for none.
        rtol: relative to the original's result.
        atol: beside it.
    """
    thing = original.load(near)
    drawn = _drawn(inputs, integers, booleans)
    arrays = [_whole(n, a) if n in unpadded else a for n, a in drawn.items()]
    arguments = original.arguments(hyperparameters, thing)
    original.check_made(thing, arguments)
    beside: dict[str, Any] = {}
    if given:
        shape = (optional or {})[given]
        [array] = _drawn({given: shape}, integers, booleans, seed=7).values()
        part = array[(0,) * mapped]
        # What is for one example is the same for all of them.
        beside = {given: jnp.broadcast_to(part, array.shape)}
        original = replace(original, named={given: part})
    keyed = "key" in inspect.signature(layer.init).parameters
    key = {"key": jax.random.key(1)} if keyed else {}
    model = layer.init(**key, **hyperparameters)

    def compare(in_order: Callable[[Mapping], Mapping] | None) -> None:
        with _asked(original):
            source = BUILT[original.framework](thing, original, arguments, arrays)
        weights, loaded = source.weights, model
        if in_order is not None:
            framework = _SOURCES.get(original.framework, "mlax")
            mapping = in_order(map_weights(weights, model, framework))
            weights = source.settled(moved(weights, mapping))
            loaded = load_mapped(mapping, weights, model)
        run = source.run(weights)
        for _ in range(mapped):
            run = jax.vmap(run)
        trainables, state, hyperparams = loaded
        with _asked(original), means_of_jax():
            taken, expected = _taken(run, arrays)
        x = taken[0] if len(taken) == 1 else tuple(taken)
        given_all = (x, trainables, state, hyperparams)
        y, _ = layer.fwd(*given_all, inference_mode=True, **beside)
        _assert_same(y, expected, original, rtol, atol)

    if not jax.tree.leaves(model[:2]):
        compare(None)
        return
    for in_order in (as_declared, as_made_in_loops, as_numbered):
        # What names do not tell apart was made in another order, or something else is computed.
        with contextlib.suppress(AssertionError):
            compare(in_order)
            return
    compare(as_named)


def assert_function_parity(
    function: Callable[..., Any],
    original: Original,
    *,
    hyperparameters: MappingOf[str, Any],
    inputs: MappingOf[str, Sequence[Any]],
    near: str,
    integers: Sequence[str] = (),
    booleans: Sequence[str] = (),
    rtol: float = _RTOL,
    atol: float = _ATOL,
) -> None:
    """Raise AssertionError where the function computes something else in float32.

    Args:
        function: of the library.
        original: what it was converted from; it is skipped where that cannot be imported.
        hyperparameters: those that are given to both.
        inputs: the shape of each; of a tuple of arrays, theirs.
        near: a file of the project.
        integers: the inputs that are indices; of a tuple by their places, `x[1]`.
        booleans: the inputs that are masks.
        rtol: relative to the original's result.
        atol: beside it.
    """
    run = original.load(near)
    arrays = _drawn(inputs, integers, booleans)
    if original.framework == "torch":
        run = tensors(run)
    # NumPy writes into arrays, which those of jax are not for.
    given = {
        k: np.array(v) if original.framework == "numpy" else v
        for k, v in arrays.items()
    }
    expected = run(**given, **original.arguments(hyperparameters))
    y = function(*arrays.values(), **hyperparameters)
    _assert_same(y, expected, original, rtol, atol)


def assert_optimizer_parity(
    optimizer: Any,
    original: Original,
    *,
    hyperparameters: MappingOf[str, Any],
    near: str,
    rtol: float = _RTOL,
    atol: float = _ATOL,
) -> None:
    """Raise AssertionError where the optimizer makes other updates, over several steps in float32.

    Args:
        optimizer: what has `init` and `step`.
        original: what it was converted from; it is skipped where that cannot be imported.
        hyperparameters: those that are given to both.
        near: a file of the project.
        rtol: relative to the original's updates.
        atol: beside them.
    """
    thing = original.load(near)
    source = thing(**original.arguments(hyperparameters, thing))
    shapes = {"kernel": (3, 4), "bias": (4,), "scale": (), "tall": (4, 3)}
    weights: Any = _drawn(shapes)
    if not _takes_scalars(source, weights["scale"]):
        del shapes["scale"], weights["scale"]
    theirs = source.init(weights)
    state, hyperparams = optimizer.init(weights, **hyperparameters)
    # A chain hands on what it is given beside the weights.
    given_there = inspect.signature(source.update).parameters.values()
    takes_value = any(p.name == "value" or p.kind == p.VAR_KEYWORD for p in given_there)
    for step in range(_STEPS):
        # As large as gradients are in the first step, then small ones, and large ones again.
        scale = 2.0 ** (1 - 2 * (step % 5))
        gradients = _drawn(shapes, seed=10 * step + 3, scale=scale)
        loss = {"value": jnp.float32(2.0 + 0.5**step)}
        given = loss if takes_value else {}
        expected, theirs = source.update(gradients, theirs, weights, **given)
        updates, state = optimizer.step(gradients, state, weights, hyperparams, **loss)
        _assert_same(updates, expected, original, rtol, atol)
        weights = jax.tree.map(lambda w, u: w + 0.1 * u, weights, expected)


def _takes_scalars(source: Any, scalar: Any) -> bool:
    """Whether an optimizer of optax updates a weight without axes, which `optax.sm3` does not."""
    weights = {"scale": scalar}
    try:
        source.update(weights, source.init(weights), weights, value=scalar)
    except IndexError:
        return False
    except Exception:
        # What else it wants of a step, the comparison gives it, or tells.
        return True
    return True


_NEEDS = re.compile(r"NoneType|\bNone\b|has no attribute|missing|required")
"""What is said of inputs that are not given, and of layers that settings leave out."""


@contextlib.contextmanager
def _asked(original: Original) -> Iterator[None]:
    """Skip the test where the original needs something beside an input that may be left out.

    Another input, or a layer that it has not with these settings. What else it raises says that the
    definition takes what the original does not.
    """
    try:
        yield
    except Exception as error:
        if not original.named:
            raise
        names = ", ".join(original.named)
        needing = isinstance(error, AttributeError | TypeError | ValueError)
        if needing and _NEEDS.search(str(error)):
            pytest.skip(f"{original.thing} takes {names} beside others alone: {error}")
        raise AssertionError(
            f"{original.thing} refuses {names} as the definition takes it: {error}"
        ) from error


def _taken(run: Callable[..., Any], arrays: list[Any]) -> tuple[list[Any], Any]:
    """Arrays that the original takes, and what it makes of them.

    A loss of probabilities, such as that of `nn.BCELoss`, takes none but those between 0 and 1.
    """
    try:
        return arrays, run(*arrays)
    except (RuntimeError, ValueError) as error:
        if "between 0 and 1" not in str(error):
            raise
    arrays = jax.tree.map(_between, arrays)
    return arrays, run(*arrays)


def _whole(name: str, array: Any) -> Any:
    """An input that pads nothing."""
    return (jnp.zeros_like if "padding" in name else jnp.ones_like)(array)


def _between(array: Any) -> Any:
    floating = jnp.issubdtype(jnp.asarray(array).dtype, jnp.floating)
    return jax.nn.sigmoid(array) if floating else array


def _drawn(
    shapes: MappingOf[str, Sequence[Any]],
    integers: Sequence[str] = (),
    booleans: Sequence[str] = (),
    seed: int = 0,
    scale: float = 1.0,
) -> dict[str, Any]:
    """An array of each of these shapes, or a tuple of them."""
    found: dict[str, Any] = {}

    def drawn(name: str, shape: Sequence[Any], key: jax.Array) -> Any:
        if shape and not isinstance(shape[0], int):
            keys = jax.random.split(key, len(shape))
            parts = enumerate(zip(shape, keys, strict=True))
            return tuple(drawn(f"{name}[{i}]", *part) for i, part in parts)
        if name in integers or name in booleans:
            indices = jax.random.randint(key, tuple(shape), 0, 2)
            if name not in booleans:
                return indices
            # A row of a mask keeps something, whether that is True or False: of nothing each
            # framework makes something else.
            row = indices.at[..., 0].set(1)
            return (row.at[..., -1].set(0) if shape and shape[-1] > 1 else row) == 1
        return scale * jax.random.normal(key, tuple(shape))

    for i, (name, shape) in enumerate(shapes.items(), seed):
        found[name] = drawn(name, shape, jax.random.key(i))
    return found


def _assert_same(
    y: Any, expected: Any, original: Original, rtol: float, atol: float
) -> None:
    found, wanted = jax.tree.leaves(y), jax.tree.leaves(expected)
    if len(found) != len(wanted):
        raise AssertionError(
            f"the definition has {len(found)} results, and {original.thing} {len(wanted)}"
        )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
