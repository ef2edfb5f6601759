"""What a model expects: its weights and states, by the layers that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.weights.arrays import Shape
from mlax_scaffold.weights.paths import key_names, path_name

GROUPS = ("trainables", "non_trainables", "weights")
"""The trees of a model: those of a layer, or one of any kind."""

WHOLE = ("MultiHeadAttention",)
"""Layers that are filled as one with their parts."""

OPTIONS = (
    *("channel_last", "flip_kernel", "forget_bias", "groups", "heads"),
    "reset_after",
)
"""Hyperparameters that say how weights lie."""


@dataclass(frozen=True)
class Leaf:
    """One weight or state."""

    group: str
    path: str
    shape: Shape
    dtype: str

    @property
    def floating(self) -> bool:
        """Whether a checkpoint can hold it; keys and counters keep their initial values."""
        return self.dtype.startswith(("float", "bfloat", "complex"))


@dataclass(frozen=True)
class Slot:
    """A layer of the model. `leaves` are by their names in the layer; nothing fills what is `kept`.

    Of a stack of layers there is one for each, at `index` of `depth`, with the shapes of one.
    """

    path: tuple[str, ...]
    kind: str
    leaves: Mapping[str, Leaf]
    options: Mapping[str, Any] = field(default_factory=dict)
    index: int = 0
    depth: int = 0
    kept: tuple[str, ...] = ()

    @property
    def wanted(self) -> dict[str, Shape]:
        """The shapes of what is to be filled."""
        return {name: leaf.shape for name, leaf in self.leaves.items()}

    def signature(self) -> tuple[Any, ...]:
        """What decides which arrays fit it."""
        wanted, options = self.wanted.items(), self.options.items()
        return self.kind, tuple(wanted), tuple(options), self.kept


@dataclass(frozen=True)
class Model:
    """All that a model expects, in its order; `kept` are leaves that nothing fills."""

    slots: tuple[Slot, ...]
    kept: tuple[Leaf, ...]
    groups: tuple[str, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Each leaf once, with its whole shape."""
        found: dict[tuple[str, str], Leaf] = {}
        for slot in self.slots:
            for leaf in slot.leaves.values():
                whole = (slot.depth, *leaf.shape) if slot.depth else leaf.shape
                found[leaf.group, leaf.path] = Leaf(
                    leaf.group, leaf.path, whole, leaf.dtype
                )
        return (*found.values(), *self.kept)


def trees_of(model: Any) -> dict[str, Any]:
    """The trees of a model by their groups.

    `(trainables, non_trainables, hyperparams)` of `init`, or without the last one;
    anything else is a tree of weights.
    """
    if type(model) is tuple and len(model) in (2, 3) and _is_pair(model):
        return dict(zip(GROUPS, model[:2], strict=False))
    return {"weights": model}


def _is_pair(model: tuple[Any, ...]) -> bool:
    names = [type(tree).__name__ for tree in model]
    return (
        names[0].endswith("Trainables")
        or names[1].endswith("NonTrainables")
        or (len(model) == 3 and names[2].endswith("Hyperparams"))
    )


def read_model(model: Any) -> Model:
    """What a model expects.

    Args:
        model: an initialized layer `(trainables, non_trainables, hyperparams)`, such a
            pair without the last one, or any tree of arrays or of their shapes.

    Raises:
        UsageError: where there is no array in it.
    """
    trees = trees_of(model)
    hyperparams = model[2] if len(trees) == 2 and len(model) == 3 else None
    kinds: dict[tuple[str, ...], str] = {}
    leaves = []
    for group, tree in trees.items():
        kinds |= dict(_kinds(tree, ()))
        leaves += [(names, _leaf(group, names, x)) for names, x in _leaves(tree)]
    if not leaves:
        raise UsageError(
            f"the model, {type(model).__name__}, holds no arrays; give an initialized "
            "layer (trainables, non_trainables, hyperparams), or a tree of weights"
        )
    kept = [leaf for names, leaf in leaves if _is_kept(names, leaf, kinds)]
    grouped: dict[tuple[str, ...], dict[str, Leaf]] = {}
    beside: dict[tuple[str, ...], list[str]] = {}
    for names, leaf in leaves:
        owner = _owner(names, kinds)
        name = path_name(names[len(owner) :])
        if leaf in kept:
            beside.setdefault(owner, []).append(name)
        else:
            grouped.setdefault(owner, {})[name] = leaf
    slots: list[Slot] = []
    for owner, own in grouped.items():
        for slot in _slots(owner, kinds.get(owner, ""), own):
            options = _options(hyperparams, owner)
            known = replace(slot, options=options, kept=tuple(beside.get(owner, ())))
            slots += _unstacked(known, kinds)
    return Model(tuple(slots), tuple(kept), tuple(trees))


def _leaves(tree: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    import jax

    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            yield key_names(path), leaf


def _leaf(group: str, names: tuple[str, ...], array: Any) -> Leaf:
    return Leaf(group, path_name(names), tuple(array.shape), str(array.dtype))


def _kinds(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The layers in a tree, by the classes of their weights."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        name = type(tree).__name__
        for suffix in ("NonTrainables", "Trainables"):
            if name.endswith(suffix):
                yield path, name.removesuffix(suffix)
                break
        children = list(zip(getattr(tree, "_fields"), tree, strict=True))  # noqa: B009
    elif isinstance(tree, list | tuple):
        children = [(str(i), child) for i, child in enumerate(tree)]
    elif isinstance(tree, dict):
        children = [(str(name), child) for name, child in tree.items()]
    else:
        return
    for name, child in children:
        yield from _kinds(child, (*path, name))


def _is_kept(
    names: tuple[str, ...], leaf: Leaf, kinds: Mapping[tuple[str, ...], str]
) -> bool:
    cache = kinds.get(names[:-1]) in WHOLE and names[-1].startswith("cached")
    return cache or not leaf.floating


def _owner(
    names: tuple[str, ...], kinds: Mapping[tuple[str, ...], str]
) -> tuple[str, ...]:
    for end in range(len(names)):
        if kinds.get(names[:end]) in WHOLE:
            return names[:end]
        if names[end:] and names[end] == "to_query":
            return names[:end]
    # Parts of attention whose layer is not known, as in `Params`, are found by their names.
    if len(names) > 1 and names[-2] in ("to_key", "to_value", "to_output"):
        return names[:-2]
    return names[:-1]


def _slots(
    owner: tuple[str, ...], kind: str, leaves: dict[str, Leaf]
) -> Iterator[Slot]:
    """The layer of these weights; where nothing says what it is, each is one of its own."""
    if kind:
        yield Slot(owner, kind, leaves)
        return
    common = {_COMMON.get(name, name): leaf for name, leaf in leaves.items()}
    if len(common.get("kernel", Leaf("", "", (0, 0), "")).shape) == 1:
        common["scale"] = common.pop("kernel")
    if len(common) == len(leaves) and (kind := _inferred(common)):
        yield Slot(owner, kind, common)
        return
    for name, leaf in leaves.items():
        yield Slot((*owner, *filter(None, [name])), "", {"value": leaf})


_COMMON = {
    **dict.fromkeys(("w", "weight"), "kernel"),
    **dict.fromkeys(("b", "offset", "beta"), "bias"),
    "gamma": "scale",
    "embeddings": "embedding",
}
"""What weights are called in models that are written by hand."""


def _inferred(leaves: Mapping[str, Leaf]) -> str:
    """The kind of a layer of which the names of its weights are known only."""
    names = set(leaves)
    if "to_query/kernel" in names:
        return "MultiHeadAttention"
    if {"kernel", "recurrent_kernel"} <= names:
        size = leaves["recurrent_kernel"].shape
        gates = size[-1] // size[0] if len(size) == 2 and size[0] else 0
        return {4: "LSTMCell", 3: "GRUCell", 1: "SimpleCell"}.get(gates, "")
    if names <= {"kernel", "bias"} and "kernel" in names:
        return "Linear" if len(leaves["kernel"].shape) == 2 else "Conv"
    if "embedding" in names:
        return "Embed"
    return "LayerNorm" if names <= {"scale", "bias", "mean", "var"} else ""


def _options(hyperparams: Any, path: tuple[str, ...]) -> dict[str, Any]:
    """The options of the layer at a path, as far as they are known."""
    for name in path:
        if isinstance(hyperparams, tuple | list) and name.isdigit():
            place = int(name)
            hyperparams = hyperparams[place] if place < len(hyperparams) else None
        else:
            hyperparams = getattr(hyperparams, name, None)
    return {
        name: getattr(hyperparams, name)
        for name in OPTIONS
        if hasattr(hyperparams, name)
    }


def _unstacked(slot: Slot, kinds: Mapping[tuple[str, ...], str]) -> Iterator[Slot]:
    """A slot for each of a stack of layers; the slot itself where there is none."""
    ends = [
        n for n in range(len(slot.path) + 1) if kinds.get(slot.path[:n]) == "Repeat"
    ]
    depths = {leaf.shape[0] if leaf.shape else 0 for leaf in slot.leaves.values()}
    if len(ends) != 1 or len(depths) != 1:
        yield slot
        return
    [end], [depth] = ends, depths
    leaves = {
        name: Leaf(leaf.group, leaf.path, leaf.shape[1:], leaf.dtype)
        for name, leaf in slot.leaves.items()
    }
    for index in range(depth):
        path = (*slot.path[:end], str(index), *slot.path[end + 1 :])
        yield replace(slot, path=path, leaves=leaves, index=index, depth=depth)


def to_json(model: Model) -> dict[str, Any]:
    """The model as data that JSON can hold."""
    return asdict(model)


def from_json(data: Mapping[str, Any]) -> Model:
    """The model from what `to_json` made."""

    def leaf(row: Mapping[str, Any]) -> Leaf:
        return Leaf(row["group"], row["path"], tuple(row["shape"]), row["dtype"])

    slots = tuple(
        Slot(
            tuple(row["path"]),
            row["kind"],
            {name: leaf(own) for name, own in row["leaves"].items()},
            row["options"],
            row["index"],
            row["depth"],
            tuple(row["kept"]),
        )
        for row in data["slots"]
    )
    return Model(slots, tuple(map(leaf, data["kept"])), tuple(data["groups"]))
