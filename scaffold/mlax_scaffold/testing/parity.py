"""Compares what was converted with the code that it comes from, with that code's weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.testing.originals import BUILT, Original
from mlax_scaffold.testing.tensors import tensors
from mlax_scaffold.weights import load_mapped, map_weights
from mlax_scaffold.weights.arrays import names_in, parse
from mlax_scaffold.weights.mapping import Mapping
from mlax_scaffold.weights.paths import key_names

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
        rtol: relative to the original's result.
        atol: beside it.
    """
    thing = original.load(near)
    arrays = list(_drawn(inputs, integers, booleans).values())
    arguments = original.arguments(hyperparameters, thing)
    original.check_made(thing, arguments)
    source = BUILT[original.framework](thing, original, arguments, arrays)
    keyed = "key" in inspect.signature(layer.init).parameters
    key = {"key": jax.random.key(1)} if keyed else {}
    model = layer.init(**key, **hyperparameters)
    weights = source.weights
    if jax.tree.leaves(model[:2]):
        framework = _SOURCES.get(original.framework, "mlax")
        mapping = _in_order(map_weights(weights, model, framework))
        weights = source.settled(_moved(weights, mapping))
        model = load_mapped(mapping, weights, model)
    run = source.run(weights)
    for _ in range(mapped):
        run = jax.vmap(run)
    trainables, state, hyperparams = model
    x = arrays[0] if len(arrays) == 1 else tuple(arrays)
    y, _ = layer.fwd(x, trainables, state, hyperparams, inference_mode=True)
    _assert_same(y, run(*arrays), original, rtol, atol)


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
    source = original.load(near)(**original.arguments(hyperparameters))
    shapes = {"kernel": (3, 4), "bias": (4,), "scale": (), "tall": (4, 3)}
    weights: Any = _drawn(shapes)
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
            # A row of a mask keeps something: of nothing each framework makes something else.
            return indices.at[..., 0].set(1) == 1 if name in booleans else indices
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


def _in_order(mapping: Mapping) -> Mapping:
    """The mapping, in which weights that names do not tell apart are taken as they were made.

    What the original has not, which these hyperparameters leave unused, keeps its initial value:
    whether all this was right, the results say.
    """
    used = {n for w in mapping.weights if w.expression for n in names_in(w.expression)}
    known, made = set(used), []
    for weight in mapping.weights:
        if not weight.decided:
            fitting = [parse(text) for text in weight.candidates]
            known.update(n for f in fitting for n in names_in(f))
            left = [f for f in fitting if not used & set(names_in(f))]
            used.update(n for f in left[:1] for n in names_in(f))
            chosen = left[0] if left else None
            made.append(replace(weight, expression=chosen, initial=chosen is None))
        else:
            made.append(weight)
    unused = tuple(sorted({*mapping.unused, *(known - used)}))
    return replace(mapping, weights=tuple(made), unused=unused)


def _moved(tree: Any, mapping: Mapping) -> Any:
    """Weights other than the initial ones: zeros and ones would hide what is exchanged."""
    used = {n for w in mapping.weights if w.expression for n in names_in(w.expression)}

    def other(leaf: Any) -> Any:
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
            return leaf
        drawn = jax.random.normal(jax.random.key(leaf.size), leaf.shape)
        moved = leaf + 0.1 * jnp.abs(drawn)
        return np.asarray(moved, leaf.dtype) if isinstance(leaf, np.ndarray) else moved

    if isinstance(tree, dict) and used <= set(tree):
        # What the layer computes from its hyperparameters stays what it is.
        return {name: other(x) if name in used else x for name, x in tree.items()}
    if isinstance(tree, tuple) and len(tree) == 2:
        # The parameters and the state of haiku.
        return jax.tree.map(other, tree[0]), tree[1]
    paths = (path for path, _ in jax.tree_util.tree_leaves_with_path(tree))
    known = used <= {"/".join(key_names(path)) for path in paths}

    def unless_computed(path: Any, leaf: Any) -> Any:
        """Another array, unless it is one that the layer computes; those are not all of one number."""
        computed = known and "/".join(key_names(path)) not in used
        return leaf if computed and np.ptp(leaf) > 0 else other(leaf)

    return jax.tree_util.tree_map_with_path(unless_computed, tree)
