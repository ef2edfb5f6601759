"""The arrays that a mapping makes of a checkpoint, checked and in the dtypes of the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.weights.arrays import compute, names_in
from mlax_scaffold.weights.checkpoint import Checkpoint
from mlax_scaffold.weights.mapping import Mapping, described
from mlax_scaffold.weights.model import GROUPS, Leaf

_SHOWN = 10


def mapped_arrays(
    mapping: Mapping, checkpoint: Checkpoint
) -> dict[tuple[str, str], np.ndarray]:
    """The weights of a model by group and path, without those that keep their initial values.

    Raises:
        FindingsError: where the mapping is not complete, or does not fit the checkpoint: a
            name is missing on either side, a shape is another one, numbers would be lost.
    """
    undecided = [w.leaf.path for w in mapping.weights if not w.decided]
    used = {n for w in mapping.weights if w.expression for n in names_in(w.expression)}
    aside = {*mapping.unused, *(name for name, _ in mapping.ignored)}
    absent = sorted(used - set(checkpoint.shapes))
    more = [n for n in checkpoint.shapes if n not in used and n not in aside]
    problems = [
        *_listed("not decided", undecided),
        *_listed(f"not in {checkpoint.place}", absent),
        *_listed("neither used nor listed as unused", more),
    ]
    if problems:
        raise _refused(checkpoint, problems)
    arrays = checkpoint.read(used)
    found: dict[tuple[str, str], np.ndarray] = {}
    for weight in mapping.weights:
        if weight.expression is None:
            continue
        try:
            array = compute(weight.expression, arrays)
        except ValueError as error:
            problems.append(f"  {weight.leaf.path}: {error}")
            continue
        if array.shape != weight.leaf.shape:
            problems.append(
                f"  {weight.leaf.path}: expected {described(weight.leaf)}, and "
                f"{weight.expression} is {array.dtype}{list(array.shape)}"
            )
        elif why := _lossy(array, weight.leaf):
            problems.append(f"  {weight.leaf.path}: {why}")
        else:
            found[weight.leaf.group, weight.leaf.path] = array.astype(
                _dtype(weight.leaf.dtype)
            )
    if problems:
        raise _refused(checkpoint, problems)
    return found


def _refused(checkpoint: Checkpoint, problems: Iterable[str]) -> FindingsError:
    return FindingsError(
        f"The mapping does not fit {checkpoint.place}; edit it, or map again.\n"
        + "\n".join(problems)
    )


def _listed(what: str, names: list[str]) -> list[str]:
    more = [f"  {what}: ... and {len(names) - _SHOWN} more"] * (len(names) > _SHOWN)
    return [f"  {what}: {name or 'the root'}" for name in names[:_SHOWN]] + more


def _dtype(name: str) -> np.dtype:
    import jax.numpy as jnp

    return jnp.dtype(name)


def _lossy(array: np.ndarray, leaf: Leaf) -> str:
    """Why an array cannot be of a dtype; floating ones are rounded to one another."""
    import jax.numpy as jnp

    try:
        dtype = _dtype(leaf.dtype)
    except TypeError:
        return f"there is no dtype {leaf.dtype}"
    kinds = [
        kind
        for given in (array.dtype, dtype)
        for kind in (jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)
        if jnp.issubdtype(given, kind)
    ]
    if len(kinds) == 2 and kinds[0] is kinds[1]:
        if kinds[0] is jnp.integer and not np.can_cast(array.dtype, dtype):
            bounds = jnp.iinfo(dtype)
            if (
                array.size
                and not bounds.min <= array.min() <= array.max() <= bounds.max
            ):
                return f"expected {dtype}, got {array.dtype}, whose numbers do not fit"
        return ""
    return f"expected {dtype}, got {array.dtype}; quantized weights have to be dequantized first"


def write_file(
    mapping: Mapping, arrays: dict[tuple[str, str], np.ndarray], path: Path
) -> None:
    """Write arrays to a safetensors file, by the names that `load_safetensors` of a package expects.

    Of a pair these are those of `(trainables, non_trainables)`.

    Raises:
        FindingsError: where weights keep initial values, which no file holds.
        UsageError: where the package safetensors is not installed, the folder not there, or the disk full.
    """
    initial = [w.leaf for w in mapping.weights if w.initial]
    if initial:
        names = "\n".join(_listed("initial", [leaf.path for leaf in initial]))
        raise FindingsError(
            "Some weights keep their initial values, which are not in the checkpoint; load "
            f"with mlax_scaffold.weights.load_mapped in your program.\n{names}"
        )
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError as error:
        raise UsageError(
            f'{path} is written with safetensors: pip install "mlax-scaffold[safetensors]"'
        ) from error
    named = {
        _name(group, name): np.ascontiguousarray(array).reshape(array.shape)
        for (group, name), array in arrays.items()
    }
    try:
        replaced(path, lambda temporary: save_file(named, temporary))
    except SafetensorError as error:
        raise UsageError(f"{path} cannot be written: {error}") from error


def replaced(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place and move it there: it is whole, or not there.

    Raises:
        UsageError: where the folder is not there.
        OSError: where it cannot be written, with the name of the file.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it")
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.touch()
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        # Nobody knows the file beside it.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _name(group: str, path: str) -> str:
    if group == "weights":
        return path
    number = str(GROUPS.index(group))
    return f"{number}/{path}" if path else number


def filled(mapping: Mapping, checkpoint: Checkpoint, model: Any) -> Any:
    """The model with the arrays that the mapping makes.

    Args:
        mapping: complete.
        checkpoint: what it is of.
        model: as it was mapped: an initialized layer, a pair of trees, or a tree. Shapes
            can stand for arrays, other than for those that keep their initial values.

    Returns:
        The model; arrays lie where those of the model lie, if these say so.
    """
    import jax

    from mlax_scaffold.weights.model import read_model, trees_of
    from mlax_scaffold.weights.paths import key_names, path_name

    expected = {(leaf.group, leaf.path): leaf for leaf in read_model(model).leaves}
    own = {(w.leaf.group, w.leaf.path): w.leaf for w in mapping.weights}
    problems = [
        *_listed("not in the mapping", [p for g, p in expected if (g, p) not in own]),
        *_listed("not in the model", [p for g, p in own if (g, p) not in expected]),
        *_listed(
            "different",
            [
                f"{path}: the model has {described(leaf)}, the mapping {described(own[group, path])}"
                for (group, path), leaf in expected.items()
                if own.get((group, path), leaf) != leaf
            ],
        ),
    ]
    if problems:
        raise FindingsError(
            "The mapping is of another model; map again.\n" + "\n".join(problems)
        )
    arrays = mapped_arrays(mapping, checkpoint)

    def placed(group: str, path: Any, leaf: Any) -> Any:
        name = path_name(key_names(path))
        if (group, name) not in own:
            return leaf
        if (group, name) in arrays:
            sharding = getattr(leaf, "sharding", None)
            if isinstance(sharding, jax.sharding.NamedSharding):
                return jax.device_put(arrays[group, name], sharding)
            return jax.numpy.asarray(arrays[group, name])
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise FindingsError(
                f"{name or 'the root'} keeps its initial value, and the model has a shape in "
                "its place; give the weights that init makes"
            )
        return leaf

    trees = {
        group: jax.tree_util.tree_map_with_path(
            lambda path, leaf, group=group: placed(group, path, leaf), tree
        )
        for group, tree in trees_of(model).items()
    }
    if "weights" in trees:
        return trees["weights"]
    return (*trees.values(), *model[2:])
