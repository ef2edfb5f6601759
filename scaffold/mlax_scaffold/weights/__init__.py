"""Weights of models that were trained elsewhere.

>>> mapping = map_weights("resnet.safetensors", model)
>>> print(mapping)
>>> model = load_mapped(mapping, "resnet.safetensors", model)

PyTorch, flax, equinox and haiku; safetensors, npz and orbax, or trees in memory. None of these
libraries is needed other than the one that reads the file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.weights.mapping import Mapping, parse_mapping

__all__ = ["Mapping", "load_mapped", "map_weights", "parse_mapping", "read_mapping"]

FRAMEWORKS = ("torch", "flax", "equinox", "haiku", "mlax")


def map_weights(
    checkpoint: Any,
    model: Any,
    source: str | None = None,
    linear: str | None = None,
    qkv: str | None = None,
) -> Mapping:
    """Propose what each weight of a model is made of.

    Args:
        checkpoint: the path of a `.safetensors` or `.npz` file, of the index of several
            safetensors files, or of an orbax folder; or a tree of arrays: flax variables, haiku
            parameters, an nnx or equinox module, `(module, state)` of equinox.
        model: an initialized layer `(trainables, non_trainables, hyperparams)`, also with shapes in
            the place of arrays; or any tree of arrays, of which the names of the weights say less.
        source: "torch", "flax", "equinox", "haiku" or "mlax"; None: as the names say.
        linear: how 2-D kernels lie in the checkpoint, "oi" (outputs, inputs) or "io"; None: as in
            its framework. Only square ones need it.
        qkv: how queries, keys and values lie where they are one array: "thirds", each of them
            together, or "heads", those of a head together; None: it is open.

    Returns:
        The mapping. What is ambiguous or missing is left open in it.

    Raises:
        UsageError: where the checkpoint cannot be read, or an argument is not one of these.
    """
    from mlax_scaffold.weights.checkpoint import read_checkpoint
    from mlax_scaffold.weights.model import read_model
    from mlax_scaffold.weights.proposing import propose

    for name, value, known in (
        ("source", source, FRAMEWORKS),
        ("linear", linear, ("oi", "io")),
        ("qkv", qkv, ("thirds", "heads")),
    ):
        if value is not None and value not in known:
            raise UsageError(
                f"{name} must be one of {', '.join(known)}, or None; got {value!r}"
            )
    read = read_checkpoint(checkpoint)
    return propose(
        read_model(model),
        read.shapes,
        source or read.framework,
        linear=linear,
        qkv=qkv,
        integers=read.integers,
    )


def load_mapped(mapping: Mapping, checkpoint: Any, model: Any) -> Any:
    """Fill a model with what a mapping makes of a checkpoint.

    Args:
        mapping: complete, see `Mapping.complete`.
        checkpoint: as for `map_weights`.
        model: as for `map_weights`.

    Returns:
        The model, of the structure that was given, with arrays in its own dtypes.

    Raises:
        FindingsError: where a weight is not decided, or the mapping fits the checkpoint or the
            model not; it names them all.
    """
    from mlax_scaffold.weights.checkpoint import read_checkpoint
    from mlax_scaffold.weights.loading import filled

    return filled(mapping, read_checkpoint(checkpoint), model)


def read_mapping(path: str | os.PathLike[str]) -> Mapping:
    """The mapping in a file, which `str(mapping)` is the text of.

    Raises:
        UsageError: where there is no such file, or it is no mapping.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no file {place}; `mlax-scaffold weights map` writes a mapping"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} cannot be read: {error}") from error
    return parse_mapping(text, str(place))
