"""Runs small layers eagerly and as generated code, on the same weights, states and keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.keys import assert_key_is_used_once


@contextlib.contextmanager
def examples_of(
    bodies: Mapping[str, str], root: Path, words, example_files, base: str = "Layer"
) -> Iterator[Examples]:
    """The package of layers, by their names in snake case."""
    specs: dict[str, SpecFile] = {}
    for name, body in bodies.items():
        own, *others = example_files(body, base)
        title = name.title().replace("_", "")
        path = own.path.replace("example", name)
        specs |= {f.path: f for f in others}
        text = own.text.replace("class Example(", f"class {title}(")
        specs[path] = SpecFile(path, own.section, text)
    with importable(specs.values(), words, root) as made:
        yield made


def as_dict(tree: Any) -> Any:
    """NamedTuples as dictionaries, so that both sides have one order."""
    if hasattr(tree, "_asdict"):
        return {name: as_dict(value) for name, value in tree._asdict().items()}
    if isinstance(tree, list | tuple):
        return [as_dict(value) for value in tree]
    return tree


def assert_same(given: Any, expected: Any) -> None:
    """The same leaves in the same order, in the same dtypes."""
    given, expected = jax.tree.leaves(given), jax.tree.leaves(expected)
    assert [leaf.dtype for leaf in given] == [leaf.dtype for leaf in expected]
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=1e-6
        )


def created(module: Any, **hyperparameters: Any) -> tuple[Any, Any, Any]:
    """What `init` returns."""
    try:
        return module.init(jax.random.key(3), **hyperparameters)
    except TypeError:  # a layer without weights
        return module.init(**hyperparameters)


def assert_runs_alike(
    module: Any,
    layer: Any,
    made: tuple[Any, Any, Any],
    x: Any,
    training: bool,
    entry: str = "fwd",
) -> None:
    """Two steps give the same results and states, and no key is used twice."""
    trainables, state, hyperparams = made
    layer.load(trainables, state)
    fwd, key = getattr(module, entry), jax.random.key(5)
    run = layer if entry == "fwd" else getattr(layer, entry)
    for _ in range(2):
        y, state = fwd(x, trainables, state, hyperparams, not training, key)
        assert_same(y, run(x, training=training, key=key))
        assert_same(as_dict(state), layer.non_trainables)

    def drawn(x: Any, key: Any) -> Any:
        return fwd(x, trainables, state, hyperparams, not training, key)

    assert_key_is_used_once(drawn, x, key, what=entry)


def rows(dtype: str = "float32") -> jax.Array:
    """A small input."""
    return jnp.asarray(np.linspace(-1.0, 2.0, 12).reshape(4, 3), dtype)
