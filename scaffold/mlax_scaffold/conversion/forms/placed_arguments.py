"""Arguments of functions of jax that have names, by place: `resize(x, shape=(n, 8), method="linear")`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import walk

_PLACES = {
    "jax.image.resize": ("image", "shape", "method"),
    "jax.numpy.reshape": ("a", "shape"),
    "jax.numpy.broadcast_to": ("array", "shape"),
    "jax.numpy.transpose": ("a", "axes"),
    "jax.numpy.tile": ("A", "reps"),
    "jax.numpy.pad": ("array", "pad_width"),
    "jax.numpy.arange": ("start", "stop", "step"),
    "jax.numpy.linspace": ("start", "stop", "num"),
    "jax.numpy.zeros": ("shape",),
    "jax.numpy.ones": ("shape",),
    "jax.numpy.full": ("shape", "fill_value"),
    "jax.numpy.concatenate": ("arrays",),
    "jax.numpy.stack": ("arrays",),
    "jax.numpy.split": ("ary", "indices_or_sections"),
    "jax.numpy.repeat": ("a", "repeats"),
    "jax.numpy.expand_dims": ("a", "axis"),
    "jax.numpy.swapaxes": ("a", "axis1", "axis2"),
    "jax.numpy.moveaxis": ("a", "source", "destination"),
}


def with_placed_arguments(origin: Origin) -> None:
    """Write them so, in place, in a file of jax."""
    if not origin.uses("jax"):
        return
    for part in walk(origin.tree):
        if isinstance(part, ast.Call) and part.keywords:
            places = _PLACES.get(origin.qualified(part.func), ())
            given = {k.arg: k for k in part.keywords}
            for title in places[len(part.args) :]:
                if title not in given:
                    break
                part.args.append(given[title].value)
                part.keywords.remove(given[title])
