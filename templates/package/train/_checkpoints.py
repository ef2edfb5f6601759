"""Checkpoints: a file, or a folder, for each step that was saved."""

from __future__ import annotations

import importlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.weights import flatten, load_safetensors, save_safetensors, unflatten
from ._state import is_key

_NAME = re.compile(r"step-(\d+)(\.safetensors)?", re.ASCII)


def save(
    folder: str | os.PathLike[str],
    state: Any,
    *,
    step: int | None = None,
    keep: int | None = None,
    library: Literal["safetensors", "orbax"] = "safetensors",
) -> Path:
    """Write a checkpoint: complete, or not there.

    Args:
        folder: of the checkpoints; it is created where it is not there.
        state: a `State`, or any tree of arrays and numbers that holds one.
        step: the number that the checkpoint is named after; None: that of the state.
        keep: how many checkpoints stay, those of the largest numbers; None: all.
        library: what writes it: a file that many programs read, or, with `orbax`, a folder
            in which each host writes its own parts of the arrays.

    Returns:
        Where it is: `step-00001000.safetensors`, or the folder `step-00001000`.

    Raises:
        ModuleNotFoundError: where the library is not installed.
        ValueError, TypeError: where an argument is not what it may be.
        FileExistsError: where `orbax` would replace a checkpoint.
    """
    keep = checks.optional(checks.size, "train.save", keep=keep)
    if step is None:
        if not hasattr(state, "step"):
            raise ValueError(
                "train.save: the tree is no train.State, so that its step must be given: step=..."
            )
        step = int(state.step)
    step = checks.count("train.save", step=step)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if library == "orbax":
        written = place / f"step-{step:08d}"
        _write_folder(written, state)
    elif library == "safetensors":
        written = place / f"step-{step:08d}.safetensors"
        save_safetensors(written, state)
    else:
        raise ValueError(
            f"train.save: library must be 'safetensors' or 'orbax', got {library!r}"
        )
    for _, old in sorted(_checkpoints(place))[: -keep if keep else 0]:
        if old != written:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    return written


def latest(folder: str | os.PathLike[str]) -> Path | None:
    """The checkpoint of the largest number of steps in a folder, or None."""
    place = Path(folder)
    found = list(_checkpoints(place)) if place.is_dir() else []
    return max(found)[1] if found else None


def restore(place: str | os.PathLike[str], like: Any) -> Any:
    """Read a checkpoint.

    Args:
        place: a checkpoint, or a folder of several, of which the latest is read.
        like: what was saved, or its shapes, as `jax.eval_shape` returns them: it says the
            structure, the shapes, the dtypes, and, by `jax.sharding.NamedSharding`, where
            arrays lie. Numbers of Python come back as such.

    Raises:
        FileNotFoundError: where there is no checkpoint.
        ModuleNotFoundError: where the library that wrote it is not installed.
        ValueError: where the checkpoint does not fit `like`.
    """
    path = Path(place)
    if path.is_dir() and not _NAME.fullmatch(path.name):
        found = latest(path)
        if found is None:
            raise FileNotFoundError(
                f"train.restore: there is no checkpoint in {str(path)!r}; "
                "train.latest says None there"
            )
        path = found
    if not path.exists():
        raise FileNotFoundError(f"train.restore: there is no checkpoint {str(path)!r}")
    state = _read_folder(path, like) if path.is_dir() else load_safetensors(path, like)
    return jax.tree.map(_number, state, like)


def _checkpoints(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in folder.iterdir():
        if found := _NAME.fullmatch(path.name):
            yield int(found[1]), path


def _number(array: Any, like: Any) -> Any:
    return type(like)(array) if isinstance(like, bool | int | float) else array


def _orbax() -> Any:
    try:
        return importlib.import_module("orbax.checkpoint")
    except ImportError as error:
        raise ModuleNotFoundError(
            "train.save and train.restore need the package orbax-checkpoint for this: "
            "pip install orbax-checkpoint"
        ) from error


def _write_folder(folder: Path, state: Any) -> None:
    if folder.exists():
        raise FileExistsError(f"train.save: {str(folder)!r} is there already")
    plain = {
        name: jax.random.key_data(leaf) if is_key(leaf) else jnp.asarray(leaf)
        for name, leaf in flatten(state).items()
    }
    # It refuses arrays without elements, such as moments of what has none.
    plain = {name: array for name, array in plain.items() if array.size}
    with _orbax().StandardCheckpointer() as writer:
        writer.save(folder.absolute(), plain)


def _read_folder(folder: Path, like: Any) -> Any:
    expected = jax.tree.map(_expected, like)
    named = flatten(expected)
    empty = {name: shape for name, shape in named.items() if not shape.size}
    with _orbax().StandardCheckpointer() as reader:
        stored = reader.metadata(folder.absolute()).item_metadata
        shapes = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in stored.items()}
        # It would cast what has another dtype.
        unflatten(empty | shapes, expected)
        held = {name: shape for name, shape in named.items() if name not in empty}
        arrays = reader.restore(folder.absolute(), held)
    arrays |= {
        name: jnp.zeros(shape.shape, shape.dtype, device=shape.sharding)
        for name, shape in empty.items()
    }
    leaves = [
        jax.random.wrap_key_data(arrays[name], impl=_implementation(leaf))
        if is_key(leaf)
        else arrays[name]
        for name, leaf in flatten(like).items()
    ]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _implementation(leaf: Any) -> Any:
    """The implementation of a PRNG key, of which there may be the shape only."""
    return jax.random.key_impl(jnp.zeros((), leaf.dtype))


def _expected(leaf: Any) -> jax.ShapeDtypeStruct:
    """What is to be read for a leaf: of a key its data."""
    sharding = getattr(leaf, "sharding", None)
    if is_key(leaf):
        leaf = jax.eval_shape(jax.random.key_data, leaf)
    if not isinstance(sharding, jax.sharding.NamedSharding):
        sharding = None
    return jax.ShapeDtypeStruct(
        jnp.shape(leaf), jnp.result_type(leaf), sharding=sharding
    )
