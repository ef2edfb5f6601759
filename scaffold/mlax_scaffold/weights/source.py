"""The arrays of a checkpoint as a tree of layers, and the framework that they come from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlax_scaffold.weights.arrays import Given, Shape, Shaped


@dataclass(frozen=True)
class Layout:
    """How a framework lays its kernels out: `o` outputs, `i` inputs, `*` the spatial axes."""

    name: str
    linear: str
    conv: str
    conv_transpose: str
    flips: bool = False
    """Whether transposed convolutions flip their kernels in space."""
    forget_bias: float = 0.0
    """What its LSTM adds to the forget gate."""


LAYOUTS = {
    "torch": Layout("torch", "oi", "oi*", "io*", flips=True),
    "flax": Layout("flax", "io", "*io", "*io"),
    "equinox": Layout("equinox", "oi", "oi*", "oi*"),
    "haiku": Layout("haiku", "io", "*io", "*oi", forget_bias=1.0),
    "mlax": Layout("mlax", "io", "", ""),
}
"""By the names that `--from` takes. `mlax` is this library: convolutions lie as the model's."""

IGNORED = (
    (r"num_batches_tracked$", "counts batches, which nothing here does"),
    (
        r"(mean|var)_ema/(hidden|counter)$",
        "is kept to compute the average, which is taken",
    ),
    (r"(^|/)rngs/|(^|/)rng/", "belongs to random numbers"),
    (r"position_ids$", "holds positions, no weights"),
    (
        r"(^|/)(batch_counter|ema_first_time_index)$",
        "counts batches, which nothing here does",
    ),
)
"""What needs no place in a model, and why."""

BARE = "value"
"""What the array is called in a place that stands for a single one."""

_OF_LAYERS = {
    *("weight", "bias", "kernel", "scale", "embedding", "mean", "var", "gamma", "beta"),
    *("w", "b", "offset", "embeddings", "w_i", "w_h", "running_mean", "running_var"),
    *("weight_ih", "weight_hh", "bias_ih", "bias_hh", "bias_n", "in_proj_weight"),
    *("in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight"),
}
"""Names of arrays that belong to a layer; any other one can stand for itself."""

_SEPARATORS = re.compile(r"[./\[\]'\"]+")
_FUSED = re.compile(
    r"(weight_ih|weight_hh|bias_ih|bias_hh|weight_hr)_l(\d+)(_reverse)?"
)
_COLLECTIONS = {"params", "batch_stats", "state"}
_AVERAGES = {"mean_ema": "mean", "var_ema": "var"}


@dataclass(frozen=True)
class Node:
    """A place in a checkpoint: arrays by name, and places below it."""

    path: tuple[str, ...]
    leaves: dict[str, Shaped] = field(default_factory=dict)
    children: dict[str, Node] = field(default_factory=dict)

    def walk(self) -> Iterator[Node]:
        """The place itself, and all below it."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    def all_leaves(self) -> list[Shaped]:
        """Its arrays and all below it."""
        return [leaf for node in self.walk() for leaf in node.leaves.values()]

    def picked(self, index: int, at: int) -> Node:
        """One of the layers that are stacked in every array here and below.

        Its number stands at that place of the path: behind all that is stacked.
        """
        return self._picked(index, (*self.path[:at], str(index), *self.path[at:]))

    def _picked(self, index: int, path: tuple[str, ...]) -> Node:
        return Node(
            path,
            {name: leaf.picked(index) for name, leaf in self.leaves.items()},
            {
                name: child._picked(index, (*path, name))
                for name, child in self.children.items()
            },
        )


@dataclass(frozen=True)
class Source:
    """A checkpoint: its tree, its framework as far as it is known, and what is left aside."""

    root: Node
    shapes: Mapping[str, Shape]
    layout: Layout | None
    ignored: Mapping[str, str]

    @property
    def layouts(self) -> list[Layout]:
        """Those that it may have."""
        return [self.layout] if self.layout else list(LAYOUTS.values())


def read_source(
    shapes: Mapping[str, Shape],
    framework: str | None = None,
    integers: Collection[str] = (),
) -> Source:
    """A checkpoint as a tree.

    Args:
        shapes: of its arrays, by their names.
        framework: a key of `LAYOUTS`; None: as their names say.
        integers: the names of arrays of integers, which hold no weights.
    """
    paths = _without_collections({name: components(name) for name in shapes})
    whole = {n: "holds integers, no weights" for n in shapes if n in integers}
    ignored = whole | {
        name: why
        for name, path in paths.items()
        for pattern, why in IGNORED
        if re.search(pattern, "/".join(path))
    }
    used = {name: path for name, path in paths.items() if name not in ignored}
    layout = LAYOUTS[framework] if framework else _detected(used, shapes)
    root = Node(())
    backward = {path[:-2] for path in used.values() if path[-2:-1] == ("back",)}
    for name, given in used.items():
        path = _ahead(given, backward)
        node = root
        for part in path[:-1]:
            below = node.children.setdefault(part, Node((*node.path, part)))
            node = below
        leaf = Shaped(Given(name), tuple(shapes[name]))
        node.leaves[path[-1]] = leaf
        if path[-1] not in _OF_LAYERS and path[-1] not in node.children:
            bare = Node((*node.path, path[-1]), {BARE: leaf})
            node.children[path[-1]] = bare
    return Source(_numbered(root), dict(shapes), layout, ignored)


def _without_collections(
    paths: dict[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """Paths without the collections of one's own, `stats` beside `params`, that flax has states in."""
    outer = {name: _SEPARATORS.split(name)[0] for name in paths}
    if "params" not in outer.values():
        return paths
    own = {n for n, head in outer.items() if head not in _COLLECTIONS}
    made = {n: p[1:] if n in own and len(p) > 1 else p for n, p in paths.items()}
    return made if len(set(made.values())) == len(made) else paths


def components(name: str) -> tuple[str, ...]:
    """The parts of a name; layers whose number stands in the names of their arrays are parts."""
    parts = [p for p in _SEPARATORS.split(name) if p and p != "~"]
    parts = parts or [name]
    if len(parts) > 1 and parts[-1] in ("value", "raw_value"):
        parts.pop()
    if len(parts) > 1 and parts[0] in _COLLECTIONS:
        parts.pop(0)
    if len(parts) > 1 and parts[-2] in _AVERAGES and parts[-1] == "average":
        parts[-2:] = [_AVERAGES[parts[-2]]]
    if fused := _FUSED.fullmatch(parts[-1]):
        weight, number, reverse = fused.groups()
        parts[-1:] = [f"l{number}", *(["back"] if reverse else []), weight]
    return tuple(parts)


def _ahead(path: tuple[str, ...], backward: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The path with a part for the direction, where there are two."""
    return (*path[:-1], "ahead", path[-1]) if path[:-1] in backward else path


def _numbered(node: Node) -> Node:
    """With `linear` as the one before `linear_1`, which is how haiku counts."""
    renamed = {
        name: f"{name}_0" if f"{name}_1" in node.children else name
        for name in node.children
    }
    taken = len(set(renamed.values()) | set(node.leaves)) == len(renamed) + len(
        node.leaves
    )
    renamed = renamed if taken else {name: name for name in renamed}
    if "norm3" in renamed and {"multihead_attn", "self_attn"} & set(renamed):
        # The layer of a decoder: its second norm is that of the attention to the context.
        renamed |= {"norm2": "context_norm", "norm3": "feed_forward_norm"}
    children = {}
    for name, child in node.children.items():
        path = (*node.path, renamed[name])
        children[renamed[name]] = _numbered(_moved(child, path))
    return replace(node, children=children)


def _moved(node: Node, path: tuple[str, ...]) -> Node:
    children = {n: _moved(child, (*path, n)) for n, child in node.children.items()}
    return Node(path, node.leaves, children)


def _detected(
    paths: Mapping[str, tuple[str, ...]], shapes: Mapping[str, Shape]
) -> Layout | None:
    """The framework that calls its arrays so; None where several do."""
    last = {path[-1] for path in paths.values()}
    found = set()
    if last & {"kernel", "embedding"}:
        found.add("flax")
    if last & {"w", "embeddings", "w_i"}:
        found.add("haiku")
    if last & {"weight", "in_proj_weight", "weight_ih", "q_proj_weight"}:
        found.add("equinox" if _equinox(paths, shapes, last) else "torch")
    if not found and last & {"offset"}:
        found.add("haiku")
    return LAYOUTS[found.pop()] if len(found) == 1 else None


def _equinox(
    paths: Mapping[str, tuple[str, ...]], shapes: Mapping[str, Shape], last: set[str]
) -> bool:
    """Names that torch has, too; biases of convolutions and cells tell them apart."""
    wide = any(
        path[-1] == "bias" and len(shapes[name]) > 1 for name, path in paths.items()
    )
    cells = "weight_ih" in last and "bias" in {
        path[-1]
        for path in paths.values()
        if any((*path[:-1], "weight_ih") == other for other in paths.values())
    }
    return wide or cells or any("/" in name or "[" in name for name in paths)
