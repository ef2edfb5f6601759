"""One parameter: its value, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jax.typing import ArrayLike

from ._graph import Path, shown_path
from ._metadata import Metadata


@dataclass(frozen=True, eq=False)
class Param:
    """A parameter: a value, and what is known about it."""

    value: Any
    """An array; or what stands in its place, such as its shape or its sharding."""
    trainable: bool = True
    """Whether it gets gradients."""
    metadata: Mapping[str, Any] = field(default_factory=Metadata)
    """What else is known, such as its sharding: hashable values by name."""
    _has_static_part: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.trainable, bool):
            flag = checked_flag("Param", self.trainable)
            object.__setattr__(self, "trainable", flag)
        if not isinstance(self.metadata, Metadata):
            object.__setattr__(self, "metadata", Metadata(self.metadata))

    @property
    def sharding(self) -> Any:
        """What the metadata say of how it lies on devices; where they do not, `PartitionSpec()`."""
        return self.metadata.get("sharding", PartitionSpec())

    def replace(self, **changes: Any) -> Param:
        """The same with another value, flag or metadata."""
        return replace(self, **changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Param):
            return NotImplemented
        # Tuples ask whether values are the same objects before they ask whether they are
        # equal, which arrays do not answer. The method that `dataclass` makes asks only
        # that, from Python 3.13 on.
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.value, self.trainable, self.metadata


jax.tree_util.register_dataclass(
    Param, data_fields=["value"], meta_fields=["trainable", "metadata"]
)


def checked_flag(owner: Any, trainable: Any) -> bool:
    """Whether a parameter is trainable: a bool, also one of NumPy.

    Raises:
        TypeError: where it is something else.
    """
    known = isinstance(trainable, ArrayLike) and not isinstance(trainable, jax.Array)
    if not known or jnp.shape(trainable) or jnp.result_type(trainable) != jnp.bool_:
        raise TypeError(f"{owner}: trainable must be True or False, got {trainable!r}")
    return bool(trainable)


def unshared(value: Any) -> Any:
    """An array of NumPy that nobody can write to, a copy where somebody could; else itself."""
    part: Any = value if type(value).__module__ == "numpy" else None
    while hasattr(part, "flags"):
        if part.flags.writeable:
            value = value.copy()
            value.setflags(write=False)
            break
        part = part.base
    return value


def checked_value(path: Path, value: Any) -> Any:
    if isinstance(value, Param):
        raise TypeError(
            f"Params: the value of {shown_path(path)} must be an array, got a Param; pass its value"
        )
    return unshared(value)


def checked_path(path: Any) -> Path:
    names = isinstance(path, tuple) and all(isinstance(p, str) and p for p in path)
    if not path or not names:
        raise TypeError(
            "Params: a path must be a tuple of strings that are not empty, such as "
            f'("model", "bias"), got {path!r}'
        )
    return path
