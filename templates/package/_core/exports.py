"""What `jax.export` writes of the library's types: names, fields, and what is static."""

import pickle
import sys
from collections.abc import Iterator
from typing import Any

from jax import export

_REGISTERED: set[type] = set()


def register_for_export() -> None:
    """Let `jax.export` write and read functions that take or return the types of this package.

    These are all weights, states and carries, hyperparameters, and the `Params` of modules.
    Without it `Exported.serialize` refuses them. Call it once in the program that writes,
    and in the one that reads; later calls add what was imported since.

    Of hyperparameters, and of the paths of `Params`, a pickle is written: who reads a file
    that holds some runs what is in it, so read those that you trust.

    >>> register_for_export()
    >>> data = jax.export.export(jax.jit(fwd))(x, trainables).serialize()
    >>> jax.export.deserialize(data).call(x, trainables)
    """
    for cls in {*_types()} - _REGISTERED:
        name = f"{cls.__module__}.{cls.__qualname__}"
        if _has_static_part(cls):
            export.register_pytree_node_serialization(
                cls,
                serialized_name=name,
                serialize_auxdata=pickle.dumps,
                deserialize_auxdata=pickle.loads,
            )
        else:
            export.register_namedtuple_serialization(cls, serialized_name=name)
        _REGISTERED.add(cls)


def _types() -> Iterator[type[Any]]:
    """The types of trees in the modules of this package that are imported."""
    package = __name__.removesuffix("_core.exports")
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for value in vars(module).values():
                if getattr(value, "__module__", "") != name:
                    continue  # That of another module, which imports it.
                if isinstance(value, type) and _is_tree(value):
                    yield value


def _is_tree(cls: type) -> bool:
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return is_named_tuple or _has_static_part(cls)


def _has_static_part(cls: type) -> bool:
    """Whether it is marked: what is derived from it is no tree by itself."""
    return "_has_static_part" in vars(cls)
