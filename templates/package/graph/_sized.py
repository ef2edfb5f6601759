"""Pairs whose sizes are those of an input."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import jax

from ._graph import Graph
from ._outlined import OutlinedModule


def init_for(
    layer: Any, x: Any, key: jax.Array | None = None, **arguments: Any
) -> tuple[Any, Any, Any]:
    """`init` of a layer, with the sizes that the shape of an input decides.

    >>> trees = init_for(nn.Linear, x, key, out_features=3)
    >>> y, _ = nn.Linear.fwd(x, *trees)

    Args:
        layer: the layer, such as `nn.Linear`.
        x: an input of its, or its shape and dtype: `jax.ShapeDtypeStruct(shape, dtype)`.
        key: the key of the weights, where the layer has any.
        **arguments: others of `init`, by name. A size that is given stays as it is.

    Returns:
        `(trainables, non_trainables, hyperparams)`.

    Raises:
        TypeError: where it is no layer, or an argument is missing or unknown.
        ValueError: where an argument does not fit.
    """
    kind = _module_class(layer)
    known = inspect.signature(layer.init).parameters
    inferred = set(kind.inferred)
    unknown = sorted(set(arguments) - set(known))
    missing = [
        name
        for name, parameter in known.items()
        if parameter.default is parameter.empty
        and name not in {"key", *inferred, *arguments}
    ]
    for wrong, names in (("has no argument", unknown), ("also needs", missing)):
        if names:
            raise TypeError(f"{kind.__name__}: init {wrong} {', '.join(names)}")
    own = {kind.aliases.get(name, name): value for name, value in arguments.items()}
    module = kind(Graph("sizes").child("layer"), **own)
    sizes = module.inferred_sizes(x)
    first = (key,) if "key" in known else ()
    return layer.init(*first, **{**sizes, **arguments})


def _module_class(layer: Any) -> type[OutlinedModule]:
    for found in vars(importlib.import_module(__package__ or "")).values():
        if (
            isinstance(found, type)
            and issubclass(found, OutlinedModule)
            and getattr(found, "functions", None) is layer
        ):
            return found
    raise TypeError(
        f"init_for takes a layer, such as nn.Linear, whose sizes an input decides, got {layer!r}"
    )
