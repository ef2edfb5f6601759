"""Arrays by name, from files of several formats and from trees in memory."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlax_scaffold.errors import UsageError
from mlax_scaffold.weights.arrays import Shape
from mlax_scaffold.weights.paths import key_names

Arrays = dict[str, np.ndarray]

_PICKLES = {
    ".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib",
}  # fmt: skip
_WHY = {
    **dict.fromkeys(
        _PICKLES,
        "runs code when it is read, so that it is not read here; where it was made, save "
        "the arrays: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')",
    ),
    ".eqx": "holds no names; save the arrays by name: "
    "numpy.savez('model.npz', **{jax.tree_util.keystr(path): leaf for path, leaf in "
    "jax.tree_util.tree_leaves_with_path(equinox.filter(model, equinox.is_array))})",
    ".msgpack": "is flax's own; read it with flax.serialization.msgpack_restore, and give "
    "the tree to mlax_scaffold.weights.map_weights, or save it with orbax or numpy.savez",
    ".h5": "is HDF5; save the arrays with numpy.savez",
}
_FORMATS = "a .safetensors file, the .safetensors.index.json of several, an .npz file, or an orbax folder"


_INTEGERS = frozenset({"int32", "int64", "bool", "I32", "I64", "BOOL"})
"""Dtypes of what holds no weights, as NumPy and safetensors call them. Narrower ones may be of
weights that are quantized."""


@dataclass(frozen=True)
class Checkpoint:
    """Arrays by name, read when they are needed.

    `framework` is a key of `LAYOUTS` where the tree itself says it, else None. `integers` are the names of
    those that are indices, counters and masks.
    """

    shapes: Mapping[str, Shape]
    read: Callable[[Iterable[str]], Arrays]
    place: str
    framework: str | None = None
    integers: frozenset[str] = frozenset()


def read_checkpoint(given: Any) -> Checkpoint:
    """The arrays of a checkpoint.

    Args:
        given: the path of a file or folder, or any tree of arrays: a dict, flax variables,
            haiku parameters (or `(params, state)`), an nnx or equinox module, an equinox
            module with its `State`.

    Raises:
        UsageError: where there is no such file, it is of another format or damaged, or two
            arrays have the same name.
        ModuleNotFoundError: where the package that reads the format is not installed.
    """
    if not isinstance(given, str | os.PathLike):
        return _of_tree(given)
    path = Path(given)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file; name {_FORMATS}")
    if path.is_dir():
        shards = sorted(path.glob("*.safetensors.index.json"))
        return _index(shards[0]) if len(shards) == 1 else _orbax(path)
    if path.name.endswith(".index.json"):
        return _index(path)
    if path.suffix == ".safetensors":
        return _safetensors(path)
    if path.suffix == ".npz":
        return _npz(path)
    why = _WHY.get(
        path.suffix, f"is of a format that is not known here; name {_FORMATS}"
    )
    raise UsageError(f"{path}: {why}")


def _needed(module: str, package: str, path: Path) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{path} is read with {module}: pip install '{package}'"
        ) from error


def _safetensors(path: Path) -> Checkpoint:
    library = _needed("safetensors", "mlax-scaffold[safetensors]", path)

    def opened() -> Any:
        try:
            return library.safe_open(path, framework="numpy")
        except (library.SafetensorError, OSError) as error:
            raise UsageError(
                f"{path} is no safetensors file, or not a complete one: {error}"
            ) from error

    with opened() as file:
        slices = {n: file.get_slice(n) for n in file.keys()}  # noqa: SIM118
        shapes = {n: tuple(part.get_shape()) for n, part in slices.items()}
        integers = {n for n, part in slices.items() if part.get_dtype() in _INTEGERS}

    def read(names: Iterable[str]) -> Arrays:
        with opened() as file:
            try:
                return {name: file.get_tensor(name) for name in names}
            except (AttributeError, TypeError) as error:
                raise UsageError(
                    f"{path} has arrays of a dtype that NumPy has not: {error}"
                ) from error

    return Checkpoint(shapes, read, str(path), integers=frozenset(integers))


def _index(path: Path) -> Checkpoint:
    """Several safetensors files, and the list of what lies in which."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        places = {str(k): str(v) for k, v in data["weight_map"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f'{path} is no index of safetensors files, {{"weight_map": {{name: file}}}}: {error!r}'
        ) from error
    files = {
        name: path.parent / Path(name).name for name in sorted(set(places.values()))
    }
    absent = [str(file) for file in files.values() if not file.is_file()]
    if absent:
        raise UsageError(f"{path} names files that are not there: {', '.join(absent)}")
    parts = {name: _safetensors(file) for name, file in files.items()}
    lost = [name for name, place in places.items() if name not in parts[place].shapes]
    if lost:
        raise UsageError(
            f"{path} names arrays that are not there: {', '.join(lost[:10])}"
        )
    shapes = {name: parts[place].shapes[name] for name, place in places.items()}

    def read(names: Iterable[str]) -> Arrays:
        wanted = list(names)
        found: Arrays = {}
        for place, part in parts.items():
            found |= part.read(n for n in wanted if places[n] == place)
        return found

    integers = {n for n, place in places.items() if n in parts[place].integers}
    return Checkpoint(shapes, read, str(path), integers=frozenset(integers))


def _npz(path: Path) -> Checkpoint:
    import zipfile
    import zlib

    try:
        with np.load(path, allow_pickle=False) as file:
            if len(set(file.files)) != len(file.files):
                raise UsageError(f"{path} has two arrays of one name")
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError) as error:
        raise UsageError(
            f"{path} is no npz file of plain arrays, or not a complete one: {error}"
        ) from error
    return _of_arrays(arrays, str(path))


def _orbax(path: Path) -> Checkpoint:
    if not any(
        (path / n).exists() for n in ("_METADATA", "manifest.ocdbt", "_sharding")
    ):
        inner = [p.parent for p in sorted(path.glob("*/_METADATA"))]
        inner += [p.parent for p in sorted(path.glob("*/*/_METADATA"))]
        hint = f"; there are {', '.join(map(str, inner[:5]))}" if inner else ""
        raise UsageError(f"{path} is no checkpoint of orbax{hint}; name {_FORMATS}")
    library = _needed("orbax.checkpoint", "orbax-checkpoint", path)
    import jax

    with library.PyTreeCheckpointer() as checkpointer:
        try:
            metadata = checkpointer.metadata(path.absolute())
            tree = getattr(metadata, "item_metadata", metadata)
            tree = getattr(tree, "tree", tree)
            restore = jax.tree.map(
                lambda _: library.RestoreArgs(restore_type=np.ndarray), tree
            )
            tree = checkpointer.restore(path.absolute(), restore_args=restore)
        except Exception as error:
            # Orbax raises whatever its many layers raise.
            raise UsageError(
                f"{path} is no checkpoint of orbax, or not a complete one: "
                f"{str(error).splitlines()[0] if str(error) else error!r}"
            ) from error
    return _of_arrays(dict(_named(tree)), str(path))


def _of_arrays(
    arrays: Mapping[str, Any], place: str, framework: str | None = None
) -> Checkpoint:
    def read(names: Iterable[str]) -> Arrays:
        return {name: np.asarray(arrays[name]) for name in names}

    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    integers = {n for n, array in arrays.items() if str(array.dtype) in _INTEGERS}
    return Checkpoint(shapes, read, place, framework, frozenset(integers))


def _of_tree(tree: Any) -> Checkpoint:
    arrays: dict[str, Any] = {}
    rows = list(_with_state(tree)) if _is_stateful(tree) else list(_named(tree))
    if type(tree) is tuple and not _is_stateful(tree):
        # (params, state) of haiku: names do not begin with their places where they need not.
        shorter = [(name.partition("/")[2], array) for name, array in rows]
        rows = shorter if len(dict(shorter)) == len(rows) else rows
    for name, array in rows:
        if name in arrays:
            raise UsageError(f"two arrays of the checkpoint have the name {name!r}")
        arrays[name] = array
    if not arrays:
        raise UsageError(
            f"the checkpoint, {type(tree).__name__}, holds no arrays; give {_FORMATS}, or "
            "a tree of arrays"
        )
    return _of_arrays(arrays, "the checkpoint", _framework(tree))


def _framework(tree: Any) -> str | None:
    """The library whose class a tree is of."""
    tree = tree[0] if type(tree) is tuple and tree else tree
    modules = {cls.__module__.partition(".")[0] for cls in type(tree).__mro__}
    found = modules & {"equinox", "flax"}
    return found.pop() if found else None


def _named(tree: Any) -> Iterator[tuple[str, Any]]:
    import jax

    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        shaped = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
        if shaped and not jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            yield "/".join(key_names(path)), leaf


def _is_stateful(tree: Any) -> bool:
    """Whether it is an equinox module with its state, which the module points into."""
    return (
        type(tree) is tuple
        and len(tree) == 2
        and type(tree[1]).__name__ == "State"
        and type(tree[1]).__module__.startswith("equinox")
    )


def _with_state(tree: tuple[Any, Any]) -> Iterator[tuple[str, Any]]:
    import jax

    module, state = tree

    def is_index(leaf: Any) -> bool:
        return type(leaf).__name__ == "StateIndex"

    for path, leaf in jax.tree_util.tree_leaves_with_path(module, is_leaf=is_index):
        names = key_names(path)
        if not is_index(leaf):
            yield from (
                ("/".join((*names, rest) if rest else names), array)
                for rest, array in _named(leaf)
            )
            continue
        value = state.get(leaf)
        if names[-1] in ("ema_state_index", "batch_state_index") and len(value) == 2:
            for name, array in zip(("mean", "var"), value, strict=True):
                yield "/".join((*names[:-1], name)), array
        else:
            yield from (
                ("/".join((*names, rest) if rest else names), array)
                for rest, array in _named(value)
            )
