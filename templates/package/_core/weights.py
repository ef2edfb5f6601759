"""Weights by name: arrays of any tree by their paths, and files of them."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from .paths import named_leaves

_KEYS = "prng_keys"
"""What a file calls the implementations of the PRNG keys in it, by their names."""

_SHOWN = 10
"""How many paths an error lists of a kind."""


def flatten(tree: Any) -> dict[str, Any]:
    """The leaves of a tree by their paths: names and indices, joined by `/`.

    A `/` in a name is written `~1` and a `~` is written `~0`, as in a JSON pointer
    (RFC 6901), so that no two leaves have the same path: split at each `/`, then replace
    `~1` and at last `~0`, and the names are back. None is no leaf. A key that is a tuple
    of names, as those of `Params` are, is a path already. Masks of optimizers, tables,
    files and errors name a weight so, too.

    Args:
        tree: any pytree, of arrays or of `jax.ShapeDtypeStruct`.

    Returns:
        The leaves as they are, in the order of the tree.

    Raises:
        ValueError: where keys of one node have the same text.
    """
    named: dict[str, Any] = {}
    for name, leaf in named_leaves(tree):
        if name in named:
            raise ValueError(
                f"flatten: two leaves have the path {name!r}; rename a key"
            )
        named[name] = leaf
    return named


def unflatten(arrays: Mapping[str, Any], like: Any) -> Any:
    """The tree that `flatten` was given: the structure of `like`, with the arrays as leaves.

    Args:
        arrays: an array for each leaf of `like`, by its path.
        like: a tree of arrays or of `jax.ShapeDtypeStruct` (`jax.eval_shape` of `init`
            creates no weights), which says what shapes and dtypes are expected.

    Raises:
        ValueError: where paths are missing or unexpected, or shapes or dtypes differ; it
            names them all.
    """
    if not isinstance(arrays, Mapping):
        raise TypeError(
            "unflatten: arrays must be a dict of arrays by path, got "
            f"{type(arrays).__name__}; the tree to fill is the second argument"
        )
    expected = flatten(like)
    problems = [
        *_listed("missing", [name for name in expected if name not in arrays]),
        *_listed("unexpected", [name for name in arrays if name not in expected]),
        *_listed("different", list(_differences(arrays, expected))),
    ]
    if problems:
        raise ValueError(
            "unflatten: the arrays do not fit the tree; rename, reshape or cast them.\n"
            + "\n".join(problems)
        )
    leaves = [arrays[name] for name in expected]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _differences(
    arrays: Mapping[str, Any], expected: Mapping[str, Any]
) -> Iterator[str]:
    for name, leaf in expected.items():
        if name in arrays:
            wanted, given = _described(leaf), _described(arrays[name])
            if wanted != given:
                yield f"{name}: expected {wanted}, got {given}"


def _described(array: Any) -> str:
    return f"{_dtype(array)}{list(jnp.shape(array))}"


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)


def _dtype(array: Any) -> Any:
    return array.dtype if hasattr(array, "dtype") else jnp.result_type(array)


def _is_key(array: Any) -> bool:
    return jnp.issubdtype(_dtype(array), jax.dtypes.prng_key)


def _listed(kind: str, lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    shown = [f"  {kind}: {line or '(the root)'}" for line in lines[:_SHOWN]]
    return [*shown, f"  {kind}: ... and {more} more"] if more > 0 else shown


def save_safetensors(
    path: str | os.PathLike[str], tree: Any, metadata: Mapping[str, str] | None = None
) -> None:
    """Write the arrays of a tree to a safetensors file, by the paths that `flatten` gives.

    The file is complete or not there: it is written beside its place and then moved.

    Args:
        path: of the file; one that is there is replaced.
        tree: any pytree of arrays, a dict by names as other libraries expect them too.
        metadata: texts to keep in the file. PRNG keys, whose data are stored, add one
            that says which ones they are, and of which implementation.

    Raises:
        ModuleNotFoundError: where the package `safetensors` is not installed.
        TypeError: where a leaf is no array, or metadata are no texts by name.
        ValueError: where a leaf is called `__metadata__`, which the format reserves, or a
            text `prng_keys`.
        FileNotFoundError: where the folder of the file is not there.
    """
    library = _safetensors("save_safetensors")
    final = os.fspath(path)
    folder = os.path.dirname(final) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"save_safetensors: the folder {folder!r} of {final!r} is not there; create it"
        )
    named = flatten(tree)
    if "__metadata__" in named:
        raise ValueError("save_safetensors: the format reserves the name __metadata__")
    for name, leaf in named.items():
        if isinstance(leaf, jax.core.Tracer) or not _is_array(leaf):
            raise TypeError(
                f"save_safetensors: {name or 'the root'} must be an array, got {leaf!r}; "
                "a traced one is saved after the compiled function has returned it"
            )
        if isinstance(leaf, jax.ShapeDtypeStruct):
            raise TypeError(f"save_safetensors: {name} is a shape without an array")
    if _KEYS in (metadata or {}):
        raise ValueError(
            f"save_safetensors: {_KEYS!r} in the metadata is that of PRNG keys"
        )
    keys = {
        n: str(jax.random.key_impl(leaf)) for n, leaf in named.items() if _is_key(leaf)
    }
    named |= {name: jax.random.key_data(named[name]) for name in keys}
    texts = {**(metadata or {}), **({_KEYS: json.dumps(keys)} if keys else {})}
    arrays = {
        name: array if array.flags.c_contiguous else array.copy(order="C")
        for name, leaf in named.items()
        for array in [
            jax.device_get(leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf))
        ]
    }
    written = f"{final}.{os.getpid()}.tmp"
    try:
        library.save_file(arrays, written, texts or None)
        os.replace(written, final)
    finally:
        if os.path.exists(written):
            os.remove(written)


def load_safetensors(path: str | os.PathLike[str], like: Any = None) -> Any:
    """Read a safetensors file.

    Args:
        path: of the file.
        like: the tree to fill, see `unflatten`. Where a leaf of it is an array with a
            `jax.sharding.NamedSharding`, or a shape with one, the array read lies there.

    Returns:
        The filled tree; without `like` the arrays by name. PRNG keys are keys again.

    Raises:
        ModuleNotFoundError: where the package `safetensors` is not installed.
        FileNotFoundError, IsADirectoryError: where there is no such file.
        ValueError: where it is no safetensors file, the arrays do not fit `like`, or
            have 64 bits while JAX has not.
    """
    library, file = _safetensors("load_safetensors"), os.fspath(path)
    if os.path.isdir(file):
        raise IsADirectoryError(f"load_safetensors: {file!r} is a folder; name a file")
    try:
        arrays = library.load_file(file)
    except _safetensors_error() as error:
        raise ValueError(
            f"load_safetensors: {file!r} is no safetensors file, or not a complete one: "
            f"{error}"
        ) from error
    except (
        AttributeError
    ) as error:  # a dtype that its reader for NumPy looks for in vain
        raise ValueError(
            f"load_safetensors: {file!r} has arrays of a dtype that NumPy has not: {error}"
        ) from error
    for name, array in arrays.items():
        if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
            raise ValueError(
                f"load_safetensors: {name} is {array.dtype}, which JAX would narrow; "
                "enable 64-bit mode: jax.config.update('jax_enable_x64', True)"
            )
    for name, implementation in _keys_in(file).items():
        arrays[name] = jax.random.wrap_key_data(arrays[name], impl=implementation)
    if like is None:
        return {name: jnp.asarray(array) for name, array in arrays.items()}
    return jax.tree.map(_placed, unflatten(arrays, like), like)


def _keys_in(file: str) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as opened:
        return json.loads((opened.metadata() or {}).get(_KEYS, "{}"))


def _placed(array: Any, like: Any) -> jax.Array:
    sharding = getattr(like, "sharding", None)
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.device_put(array, sharding)
    return jnp.asarray(array)


def _safetensors_error() -> type[Exception]:
    import safetensors

    return safetensors.SafetensorError


def _safetensors(owner: str) -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{owner} needs the package safetensors: pip install safetensors"
        ) from error
    return safetensors.numpy


def summary(
    trainables: Any, non_trainables: Any = None, hyperparams: Any = None
) -> str:
    """A table of the arrays of a layer: path, shape, dtype, number of parameters, bytes.

    Args:
        trainables: any tree, also an optimizer's state, or the shapes of weights
            (`jax.eval_shape` of `init`).
        non_trainables: another one.
        hyperparams: what `init` returned; their name stands above the table. So
            `summary(*layer)` shows an initialized layer.

    Returns:
        Lines of text; the last one is the total.
    """
    rows: list[tuple[str, ...]] = [
        ("path", "shape", "dtype", "parameters", "bytes"),
        (),
    ]
    groups = {
        "trainables": flatten(trainables),
        "non-trainables": flatten(non_trainables),
    }
    count = size = 0
    for kind, leaves in groups.items():
        before = count, size
        for path, leaf in leaves.items():
            elements = math.prod(jnp.shape(leaf))
            memory = elements * _dtype(leaf).itemsize
            shape, dtype = str(jnp.shape(leaf)), str(_dtype(leaf))
            rows.append(
                (path or "(root)", shape, dtype, f"{elements:,}", f"{memory:,}")
            )
            count, size = count + elements, size + memory
        if all(groups.values()):
            own = (f"{count - before[0]:,}", f"{size - before[1]:,}")
            rows += [(kind, "", "", *own), ()]
    rows += [()] if rows[-1] else []
    rows.append(("total", "", "", f"{count:,}", f"{size:,}"))
    lines = _aligned(rows)
    if hyperparams is not None:
        lines.insert(0, type(hyperparams).__name__.removesuffix("Hyperparams"))
    return "\n".join(lines)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as lines, an empty one as a rule; the last two columns hold numbers."""
    columns = zip(*filter(None, rows), strict=True)
    *texts, count, size = (max(map(len, column)) for column in columns)
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, texts, strict=False)]
        if row:
            cells += [row[-2].rjust(count), row[-1].rjust(size)]
        lines.append("  ".join(cells))
    return [line or "-" * len(lines[0]) for line in lines]
