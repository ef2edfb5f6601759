"""Which library a class is written with, told by its bases, its imports and its shape."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin

_BASES = {
    "torch.nn": "torch",
    "torch.nn.modules": "torch",
    "pytorch_lightning": "torch",
    "lightning": "torch",
    "flax.linen": "flax",
    "flax.nnx": "nnx",
    "equinox": "equinox",
    "haiku": "haiku",
}
RUN = ("torch", "equinox", "nnx")
"""The libraries whose constructors are run."""
LAYERS_OF = ("torch.nn.", "equinox.nn.", "flax.nnx.")
"""How the full names of what makes their layers begin."""
ARRAYS_OF = ("torch", "equinox", "flax", "jax")
OBJECTS = tuple(f"{library}." for library in ARRAYS_OF)
_CALLS = ("__call__", "forward", "call", "apply")


def framework_of(origin: Origin, node: ast.ClassDef) -> str:
    """The library; "plain" for a class that is built on none."""
    for base in sorted(origin.bases(node)):
        for known, framework in _BASES.items():
            if base.startswith(f"{known}.") or base == known:
                return framework
    return "plain"


def is_layer_class(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether a class is one of layers: of a library's, or with a method that is called."""
    if framework_of(origin, node) != "plain":
        return True
    methods = [f for f in node.body if isinstance(f, ast.FunctionDef)]
    static = [
        f
        for f in methods
        if any(ast.unparse(d) == "staticmethod" for d in f.decorator_list)
    ]
    if {"init", "apply"} <= {f.name for f in static}:
        return False
    if any(f.name in _CALLS for f in methods):
        return True
    # What a base of the file has, it has, too.
    bases = (origin.classes.get(getattr(b, "id", "")) for b in node.bases)
    return any(
        b is not None and b is not node and is_layer_class(origin, b) for b in bases
    )
