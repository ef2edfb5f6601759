"""Compares what was converted with the code that it comes from, with that code's weights."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.weights import load_mapped, map_weights
from mlax_scaffold.weights.arrays import names_in, parse
from mlax_scaffold.weights.mapping import Mapping

Run = Callable[..., Any]
_OFF = ("train", "training", "is_training", "is_train", "enable_dropout")
_ON = ("deterministic", "inference", "eval_mode", "use_running_average", "test")
_MODULES = {
    "torch": "torch",
    "flax": "flax",
    "nnx": "flax",
    "equinox": "equinox",
    "haiku": "haiku",
}


@dataclass(frozen=True)
class Original:
    """A class of layers of somebody's.

    Args:
        path: its file, from the folder of the project.
        thing: its name there.
        framework: what it is written with.
        parameters: those of its constructor, and the hyperparameters that they became.
        flags: parameters of its call that the layer has not.
    """

    path: str
    thing: str
    framework: str
    parameters: MappingOf[str, str] = field(default_factory=dict)
    flags: Sequence[str] = ()

    def load(self, near: str) -> Any:
        """The class. Skips the test where its framework is not installed, or the file is gone."""
        module = _MODULES[self.framework]
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{self.path} needs {module}, which is not installed")
        folders = [p for p in Path(near).resolve().parents if (p / self.path).is_file()]
        if not folders:
            pytest.skip(f"{self.path}, which it was converted from, is not there")
        place = folders[0] / self.path
        name = "original_" + "_".join(place.with_suffix("").parts[-3:])
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        try:
            spec.loader.exec_module(made)
        except ImportError as error:
            pytest.skip(f"{self.path} cannot be imported: {error}")
        return getattr(made, self.thing)

    def given_flags(self) -> dict[str, Any]:
        """Its flags as they are in inference."""
        modes = {f: f in _ON for f in self.flags if f in (*_OFF, *_ON)}
        keys = {f: jax.random.key(2) for f in self.flags if f not in modes}
        return modes | keys


def assert_parity(
    layer: Any,
    original: Original,
    *,
    hyperparameters: MappingOf[str, Any],
    inputs: MappingOf[str, Sequence[int]],
    near: str,
    integers: Sequence[str] = (),
    mapped: int = 0,
    rtol: float = 2e-4,
    atol: float = 2e-5,
) -> None:
    """Raise AssertionError where the layer computes something else in inference, in float32.

    Args:
        layer: what has `init` and `fwd`.
        original: what it was converted from; it is skipped where that cannot be imported.
        hyperparameters: of the layer; the original has them, too.
        inputs: the shape of each.
        near: a file of the project.
        integers: the inputs that are indices.
        mapped: how many first axes an original for one example is mapped over.
        rtol: relative to the original's result.
        atol: beside it.
    """
    thing = original.load(near)
    arrays = [
        jax.random.randint(jax.random.key(i), tuple(shape), 0, 2)
        if name in integers
        else jax.random.normal(jax.random.key(i), tuple(shape))
        for i, (name, shape) in enumerate(inputs.items())
    ]
    arguments = {p: hyperparameters[f] for p, f in original.parameters.items()}
    weights, run = _BUILT[original.framework](
        thing, arguments, arrays, original.given_flags()
    )
    for _ in range(mapped):
        run = jax.vmap(run)
    model = layer.init(jax.random.key(1), **hyperparameters)
    mapping = _in_order(map_weights(weights, model, _SOURCES[original.framework]))
    trainables, state, hyperparams = load_mapped(mapping, weights, model)
    x = arrays[0] if len(arrays) == 1 else tuple(arrays)
    y, _ = layer.fwd(x, trainables, state, hyperparams, inference_mode=True)
    found, expected = jax.tree.leaves(y), jax.tree.leaves(run(*arrays))
    if len(found) != len(expected):
        raise AssertionError(
            f"the layer has {len(found)} results, and {original.thing} {len(expected)}"
        )
    for one, other in zip(found, expected, strict=True):
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


def _moved(tree: Any) -> Any:
    """Weights other than the initial ones: zeros and ones would hide what is exchanged."""

    def other(leaf: Any) -> Any:
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
            return leaf
        drawn = jax.random.normal(jax.random.key(leaf.size), leaf.shape)
        return leaf + 0.1 * jnp.abs(drawn)

    return jax.tree.map(other, tree)


def _taken(cls: Any, **given: Any) -> dict[str, Any]:
    """What a constructor takes of these."""
    names = inspect.signature(cls.__init__).parameters
    return {name: value for name, value in given.items() if name in names}


def _flax(cls: Any, arguments: Any, arrays: Any, flags: Any) -> tuple[Any, Run]:
    module = cls(**arguments)
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    variables = _moved(module.init(keys, *arrays, **flags))
    return variables, lambda *x: module.apply(variables, *x, **flags)


def _nnx(cls: Any, arguments: Any, arrays: Any, flags: Any) -> tuple[Any, Run]:
    from flax import nnx

    module = cls(**arguments, **_taken(cls, rngs=nnx.Rngs(0)))
    module.eval()
    graph, weights, rest = nnx.split(module, (nnx.Param, nnx.BatchStat), ...)
    module = nnx.merge(graph, _moved(weights), rest)
    return nnx.state(module, (nnx.Param, nnx.BatchStat)), lambda *x: module(*x, **flags)


def _equinox(cls: Any, arguments: Any, arrays: Any, flags: Any) -> tuple[Any, Run]:
    import equinox as eqx

    module = eqx.nn.inference_mode(
        cls(**arguments, **_taken(cls, key=jax.random.key(0)))
    )
    weights, rest = eqx.partition(module, eqx.is_inexact_array)
    module = eqx.combine(_moved(weights), rest)
    return module, lambda *x: module(*x, **flags)


def _haiku(cls: Any, arguments: Any, arrays: Any, flags: Any) -> tuple[Any, Run]:
    import haiku as hk

    def called(*x: Any) -> Any:
        made = cls(**arguments) if isinstance(cls, type) else cls
        return made(*x, **flags)

    source = hk.transform_with_state(called)
    params, state = source.init(jax.random.key(0), *arrays)
    params = _moved(params)
    return (params, state), lambda *x: source.apply(
        params, state, jax.random.key(1), *x
    )[0]


def _torch(cls: Any, arguments: Any, arrays: Any, flags: Any) -> tuple[Any, Run]:
    torch = importlib.import_module("torch")
    module = cls(**arguments).eval()
    weights = {k: np.asarray(v.detach()) for k, v in module.state_dict().items()}
    moved = {k: np.asarray(v) for k, v in _moved(weights).items()}
    module.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in moved.items()})

    def run(*x: Any) -> Any:
        with torch.no_grad():
            y = module(*(torch.from_numpy(np.array(a)) for a in x), **flags)
        return jax.tree.map(np.asarray, y)

    return moved, run


_BUILT: MappingOf[str, Callable[[Any, Any, Any, Any], tuple[Any, Run]]] = {
    "torch": _torch,
    "flax": _flax,
    "nnx": _nnx,
    "equinox": _equinox,
    "haiku": _haiku,
}
_SOURCES = {"nnx": "flax"} | {f: f for f in ("torch", "flax", "equinox", "haiku")}
