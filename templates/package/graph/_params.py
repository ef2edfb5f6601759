"""The container of parameters: immutable, and a pytree whose keys are paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import jax

from ._graph import Path, shown_path
from ._immutable import Immutable
from ._layout import Entry, Layout, LockedError
from ._metadata import Metadata
from ._param import Param, checked_flag, checked_path, checked_value, unshared


class Params(Immutable, Mapping[Path, Param]):
    """All parameters of a model: weights, counters, moving averages, by their paths.

    It is immutable: what changes it returns another one. It is a pytree whose leaves are
    the values, in the order in which they were made; paths, flags and metadata are static.

    >>> params = Params({("model", "bias"): jnp.zeros(3)})
    >>> params["model", "bias"].value.shape
    (3,)

    Args:
        entries: a `Param`, or an array, which is trainable, for each path.

    Raises:
        TypeError: where a path is not a tuple of strings, or entries are no mapping.
    """

    __slots__ = ("__weakref__", "_layout", "_values")

    _has_static_part: ClassVar[bool] = True
    """See `exports`."""

    _layout: Layout
    _values: tuple[Any, ...]

    def __init__(self, entries: Mapping[Path, Any] | None = None) -> None:
        if not isinstance(entries, Mapping | None):
            raise TypeError(
                f"Params: entries must be a mapping of paths to values, got {entries!r}"
            )
        given = {} if entries is None else entries
        made = {
            checked_path(path): value if isinstance(value, Param) else Param(value)
            for path, value in given.items()
        }
        rows = (
            Entry(path, param.trainable, Metadata(param.metadata), order)
            for order, (path, param) in enumerate(made.items())
        )
        values = tuple(unshared(p.value) for p in made.values())
        _fill(self, Layout(tuple(rows), False), values)

    # Looking

    def __getitem__(self, path: Path) -> Param:
        index = self._layout.index.get(path)
        if index is None:
            raise KeyError(
                f"Params: there is no parameter {shown_path(path)}"
                + self._layout.nearest(path)
            )
        entry = self._layout.entries[index]
        return Param(self._values[index], entry.trainable, entry.metadata)

    def value(self, path: Path) -> Any:
        """The value at a path: `params[path].value`, without the rest."""
        index = self._layout.index.get(path)
        return self[path].value if index is None else self._values[index]

    def values_at(self, paths: Iterable[Path]) -> list[Any]:
        """The values at some paths. KeyError where one has no parameter, see `lacking`."""
        index, values = self._layout.index, self._values
        return [values[index[path]] for path in paths]

    def lacking(self, paths: Iterable[Path]) -> list[Path]:
        """Those of some paths that have no parameter."""
        index = self._layout.index
        return [path for path in paths if path not in index]

    def __contains__(self, path: object) -> bool:
        return path in self._layout.index

    def __iter__(self) -> Iterator[Path]:
        return iter(self._layout.index)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def is_locked(self) -> bool:
        """Whether no parameter can be added: True at run time, False in initialization."""
        return self._layout.locked

    @property
    def layout(self) -> Layout:
        """Their paths, flags and metadata: one object while only values change."""
        return self._layout

    # Locking

    def locked(self) -> Params:
        """The same parameters, to which none can be added."""
        return self if self.is_locked else _make(self._layout.lock(True), self._values)

    def unlocked(self) -> Params:
        """The same parameters, to which others can be added."""
        return _make(self._layout.lock(False), self._values) if self.is_locked else self

    # Changing

    def set(self, path: Path, value: Any) -> Params:
        """The parameters with another value at a path. See `add` for a new path."""
        return self.update({path: value})

    def update(self, values: Mapping[Path, Any]) -> Params:
        """The parameters with other values at some paths; flags and metadata are kept.

        Args:
            values: arrays by path, or other `Params`, of which the values are taken.

        Raises:
            KeyError: where there is no such parameter.
            TypeError: where a value is a `Param` and not the array in it.
        """
        if not values:
            return self
        if isinstance(values, Params):
            values = dict(zip(values, values._values, strict=True))
        changed, changing = list(self._values), self._layout.changing
        for path, value in values.items():
            index = self._layout.index.get(path)
            if index is None:
                raise KeyError(
                    f"Params: there is no parameter {shown_path(path)} to set; `add` makes one"
                    + self._layout.nearest(path)
                )
            if changing is None or path in changing:
                changed[index] = checked_value(path, value)
        return _make(self._layout, tuple(changed))

    def add(
        self,
        path: Path,
        value: Any,
        *,
        trainable: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> Params:
        """The parameters and a new one.

        Raises:
            LockedError: where they are locked. It is a RuntimeError and a KeyError.
            ValueError: where the path is taken.
            TypeError: where the value is a `Param` and not the array in it.
        """
        if checked_path(path) in self._layout.index:
            raise ValueError(
                f"Params: there is a parameter {shown_path(path)} already; `set` changes its value"
            )
        self.require_unlocked(path)
        flag = checked_flag(path, trainable)
        layout = self._layout.add(path, flag, Metadata(metadata))
        return _make(layout, (*self._values, checked_value(path, value)))

    def mark(
        self,
        path: Path,
        *,
        trainable: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Params:
        """The parameters with another flag, or other metadata, of one of them.

        Args:
            path: of the parameter, whose value is kept.
            trainable: whether it gets gradients; None: as before.
            metadata: in the place of what is there; None: as before.

        Raises:
            KeyError: where there is no such parameter.
            TypeError: where trainable is not True or False, or metadata no mapping of names
                to hashable values.
        """
        param = self[path]
        entry = Entry(
            path,
            param.trainable if trainable is None else checked_flag(path, trainable),
            Metadata(param.metadata if metadata is None else metadata),
            0,
        )
        changing = self._layout.changing
        if changing is not None and path not in changing:
            return self
        return _make(self._layout.mark(entry), self._values)

    def marked_unlike(self, other: Params) -> list[Path]:
        """The paths whose flags or metadata differ in another container."""
        return self._layout.marked_unlike(other._layout)

    def require_unlocked(self, *missing: Path) -> None:
        """Refuse new parameters where these are locked.

        Raises:
            LockedError: naming the parameters that are missing.
        """
        if self.is_locked:
            shown = ", ".join(map(shown_path, missing))
            hint = self._layout.nearest(*missing) if len(missing) == 1 else ""
            raise LockedError(
                f"Params is locked: the new parameter{'s' * (len(missing) > 1)} {shown} "
                f"cannot be created; call params.unlocked() first, or check the path{hint}"
            )

    def changing(self, paths: Iterable[Path] | None) -> Params:
        """The same parameters, of which only some change; None: all.

        What `update`, `set` and `mark` are given for others is left out. So a module that is called
        for the parameters that it creates leaves them as they were created.
        """
        only = None if paths is None else frozenset(paths)
        return _make(self._layout.only(only), self._values)

    def remove(self, paths: Iterable[Path]) -> Params:
        """The parameters without some of them.

        Raises:
            KeyError: where one is not there.
        """
        removed = set(paths)
        for path in removed:
            self[path]
        return self._where([path not in removed for path in self])

    # Splitting

    def split(
        self, predicate: Callable[[Path, Param], bool] | None = None
    ) -> tuple[Params, Params]:
        """Those that are trainable, and the others; or those that a predicate is true of.

        `merge` puts them together again, in their order.
        """
        if predicate is None:
            first, second = self._layout.halves
            return self._part(first), self._part(second)
        chosen = [bool(predicate(path, param)) for path, param in self.items()]
        return self._where(chosen), self._where([not c for c in chosen])

    def below(self, places: frozenset[Path], without: frozenset[Path]) -> Params:
        """Those below some places, but for those below some others."""
        return self._part(self._layout.below(places, without))

    def merge(self, *others: Params) -> Params:
        """All parameters of several containers, locked if all of them are.

        Raises:
            ValueError: where two have a parameter of the same path.
        """
        for other in others:
            if not isinstance(other, Params):
                raise TypeError(
                    f"Params: merge takes Params, got {type(other).__name__}"
                )
        layout, order = self._layout.merge(*(other._layout for other in others))
        values = [value for part in (self, *others) for value in part._values]
        return _make(layout, tuple(values[i] for i in order))

    def _where(self, chosen: list[bool]) -> Params:
        indices = tuple(i for i, c in enumerate(chosen) if c)
        return self._part((self._layout.select(indices), indices))

    def _part(self, part: tuple[Layout, tuple[int, ...]]) -> Params:
        layout, indices = part
        return _make(layout, tuple(self._values[i] for i in indices))

    # Being a value

    # Arrays do not compare to one truth value, so a container is equal to itself only.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_leaves, (self._layout, self._values)

    def __repr__(self) -> str:
        state = "locked" if self.is_locked else "unlocked"
        return f"Params({len(self)} parameters, {state})"


def _fill(params: Params, layout: Layout, values: tuple[Any, ...]) -> Params:
    object.__setattr__(params, "_layout", layout)
    object.__setattr__(params, "_values", values)
    return params


def _make(layout: Layout, values: Iterable[Any]) -> Params:
    return _fill(object.__new__(Params), layout, tuple(values))


def _from_leaves(layout: Layout, values: Iterable[Any]) -> Params:
    """What transformations make of leaves that are anybody's."""
    given = tuple(values)
    if any(kind.__module__ == "numpy" for kind in set(map(type, given))):
        given = tuple(map(unshared, given))
    return _make(layout, given)


jax.tree_util.register_pytree_with_keys(
    Params,
    lambda params: (
        zip(params._layout.keys, params._values, strict=True),
        params._layout,
    ),
    _from_leaves,
    lambda params: (params._values, params._layout),
)
