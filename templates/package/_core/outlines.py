"""What `init` makes for hyperparameters: shapes in the place of arrays, which `fwd` expects."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp


class _Shapes:
    """See `SHAPES`."""


SHAPES: Any = _Shapes()
"""In the place of a key: `init` makes shapes in the place of arrays, and draws nothing."""


class _Anything:
    """See `ANYTHING`."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "anything"


ANYTHING: Any = _Anything()
"""The tree of a layer that does not say what it expects. It equals every tree and shape."""


class Outline:
    """The trees that belong to hyperparameters, with shapes in the place of arrays."""

    def __init__(self, trainables: Any, non_trainables: Any) -> None:
        self.trainables, self.non_trainables = trainables, non_trainables
        leaves, self._structure = jax.tree.flatten((trainables, non_trainables))
        self.shapes: list[Any] = [
            ANYTHING if x is ANYTHING else x.shape for x in leaves
        ]
        self.fitting: set[Any] = set()
        """Shapes of inputs that have been found to fit, each with what it has to fit."""
        # The type of the weights where they are arrays alone, and there is no state.
        arrays = isinstance(trainables, tuple) and all(
            isinstance(x, jax.ShapeDtypeStruct) for x in trainables
        )
        self.flat = type(trainables) if arrays and non_trainables is None else None

    def fits(self, trainables: Any, non_trainables: Any) -> bool:
        """Whether trees have its structure and its shapes."""
        if not self.shapes and trainables is self.trainables:
            return non_trainables is self.non_trainables
        try:
            leaves = self._structure.flatten_up_to((trainables, non_trainables))
        except ValueError:
            return False
        return [getattr(leaf, "shape", None) for leaf in leaves] == self.shapes

    def problems(self, trainables: Any, non_trainables: Any) -> list[str]:
        """What does not fit, by the names of weights."""
        return [
            *_problems("trainables", "", self.trainables, trainables),
            *_problems("non_trainables", "", self.non_trainables, non_trainables),
        ]


def of(hyperparams: Any) -> Outline:
    """The outline of hyperparameters, which is made once for each object."""
    try:
        return hyperparams.__dict__["_outline"]
    except KeyError:
        trainables, non_trainables, _ = hyperparams.outline()
        outline = Outline(*_as_they_stand(hyperparams, trainables, non_trainables))
        object.__setattr__(hyperparams, "_outline", outline)
        return outline


def _as_they_stand(
    hyperparams: Any, trainables: Any, non_trainables: Any
) -> tuple[Any, Any]:
    """The trees of a layer, with those of what stands in the places of layers in it."""
    trees = trainables, non_trainables
    if runs_any(hyperparams):
        return trees  # It asks its layers.
    for name in getattr(hyperparams, "__dataclass_fields__", ()):
        value = getattr(hyperparams, name)
        if _is_altered(value):
            trees = tuple(
                tree._replace(**{name: _standing(value, getattr(tree, name), i)})
                if name in getattr(tree, "_fields", ())
                else tree
                for i, tree in enumerate(trees)
            )
    return trees  # type: ignore[return-value]


def runs_any(hyperparams: Any) -> bool:
    """Whether these are of a block, which runs any layer by its `apply`."""
    return "outline" in vars(type(hyperparams))


def _is_altered(value: Any) -> bool:
    """Whether something stands in the place of a layer in hyperparameters."""
    if type(value) is tuple:
        return any(map(_is_altered, value))
    if type(value) is dict:
        return any(map(_is_altered, value.values()))
    kind = type(value)
    if getattr(kind, "stands_in", False):
        return True
    fields = (
        getattr(value, "__dataclass_fields__", ()) if hasattr(kind, "outline") else ()
    )
    return any(_is_altered(getattr(value, name)) for name in fields)


def _standing(value: Any, tree: Any, part: int) -> Any:
    """One of the trees of a layer, or of several, as it is with what stands in them."""
    if tree is ANYTHING or not _is_altered(value):
        return tree
    if type(value) is tuple:
        trees = (None,) * len(value) if tree is None else tree
        made = tuple(_standing(*item, part) for item in zip(value, trees, strict=True))
        return None if tree is None and not any(x is not None for x in made) else made
    if type(value) is dict:
        return {name: _standing(value[name], tree[name], part) for name in value}
    return layer(value)[part]


def layer(hyperparams: Any, depth: int | None = None) -> tuple[Any, Any, Any]:
    """An initialized layer of shapes; with a depth, of those of as many layers, stacked."""
    # Attributes of instances may be those of another object that they stand for.
    if not hasattr(type(hyperparams), "outline"):
        return ANYTHING, ANYTHING, hyperparams
    trees = of(hyperparams).trainables, of(hyperparams).non_trainables
    if depth is not None:
        return stacked_shapes((*trees, hyperparams), depth)
    return *trees, hyperparams


def stacked_shapes(made: tuple[Any, Any, Any], depth: int) -> tuple[Any, Any, Any]:
    """An initialized layer of shapes, of as many layers that are stacked."""
    *trees, hyperparams = made
    trees = jax.tree.map(lambda x: _stacked(x, depth), trees)
    return *trees, hyperparams  # type: ignore[return-value]


def undecided(made: tuple[Any, Any, Any], *names: str) -> tuple[Any, Any, Any]:
    """An initialized layer of shapes, in which initializers decide whether some are there.

    Hyperparameters do not hold initializers, so that anything may be in these places.
    """
    *trees, hyperparams = made
    for i, tree in enumerate(trees):
        found = [name for name in names if hasattr(tree, name)]
        if found:
            trees[i] = tree._replace(**dict.fromkeys(found, ANYTHING))
    return *trees, hyperparams  # type: ignore[return-value]


def _stacked(x: Any, depth: int) -> Any:
    return x if x is ANYTHING else jax.ShapeDtypeStruct((depth, *x.shape), x.dtype)


def fits(given: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Whether an array of one shape may stand where another is expected.

    Inside of `jax.shard_map` an array is a part of the whole, and has its rank.
    """
    return given == expected or (
        len(given) == len(expected)
        and bool(jax.sharding.get_abstract_mesh().manual_axes)
    )


def _problems(root: str, name: str, expected: Any, given: Any) -> Iterator[str]:
    shown = repr(name) if name else root
    if expected is ANYTHING:
        return
    if isinstance(expected, jax.ShapeDtypeStruct):
        if not hasattr(given, "shape"):
            yield f"{shown} must have shape {expected.shape}, got {_described(given)}"
        elif not fits(given.shape, expected.shape):
            yield f"{shown} must have shape {expected.shape}, got {given.shape}"
    elif expected is None:
        if given is not None:
            yield f"{shown} must be None, got {_described(given)}"
    elif type(given) is not type(expected):
        yield f"{shown} must be {_described(expected)}, got {_described(given)}"
    elif len(given) != len(expected):
        yield f"{shown} must be {_described(expected)}, got {len(given)}"
    elif isinstance(expected, dict):
        for part, tree in expected.items():
            below = f"{name}/{part}" if name else str(part)
            if part not in given:
                yield f"{below!r} is missing"
                continue
            yield from _problems(root, below, tree, given[part])
    else:
        names = getattr(expected, "_fields", range(len(expected)))
        for part, *trees in zip(names, expected, given, strict=True):
            below = f"{name}/{part}" if name else str(part)
            yield from _problems(root, below, *trees)


def _described(tree: Any) -> str:
    if hasattr(tree, "shape"):
        return f"an array of shape {jnp.shape(tree)}"
    if type(tree) in (tuple, dict):
        return f"a {type(tree).__name__} of {len(tree)}"
    return "None" if tree is None else type(tree).__name__
