"""Which place of a checkpoint fills which layer of a model: by shapes, names, and numbers.

Nothing is guessed. Layers are sorted into groups of which each could take the place of every
other one, by kinds and shapes; in a group names decide, then what is left over, and layers of
which only numbers differ are taken in the order of these. What is not decided so is ambiguous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mlax_scaffold.weights.arrays import Given, names_in
from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.naming import (
    Family,
    family,
    meanings,
    numbers,
    ranks,
)
from mlax_scaffold.weights.recipes import COMPOSITE, Fill, fills
from mlax_scaffold.weights.source import Node, Source
from mlax_scaffold.weights.turning import Pair, is_turned, turned

T = TypeVar("T")

ONLY = "the only one of its shape"
LEFT = "the only one left of its shape"
NAMES = "by name"
BOTH = "by name and number"
ORDER = "by number"
COUNT = "by how many there are"


@dataclass(frozen=True)
class Match:
    """A layer, what fills it, and why."""

    slot: Slot
    node: Node
    fills: tuple[Fill, ...]
    reason: str


@dataclass
class Matching:
    """What is found so far: matches, and layers for which there are several places."""

    matches: list[Match] = field(default_factory=list)
    open: list[tuple[Slot, list[tuple[Node, tuple[Fill, ...]]]]] = field(
        default_factory=list
    )

    def used(self) -> set[str]:
        """The names of arrays that are taken; of those that are stacked, the layer, too."""
        return {name for match in self.matches for name in _taken(match.fills)}


def match(slots: Sequence[Slot], source: Source, roles: bool) -> Matching:
    """Find a place for each layer.

    Args:
        slots: layers of the model.
        source: the checkpoint.
        roles: whether `norm1` and `linear2` are names of roles, as the model has these, or
            count.
    """
    nodes = [node for node in source.root.walk() if node.leaves or node.children]
    found = Matching()
    # The node is kept with what it fills: the id of one that is gone may be another's.
    cache: dict[tuple[object, int], tuple[Node, tuple[Fill, ...]]] = {}

    def fitting(slot: Slot, node: Node) -> tuple[Fill, ...]:
        key = (slot.signature(), id(node))
        if key not in cache:
            cache[key] = node, fills(slot, node, source)
        return cache[key][1]

    nodes += _unstacked(slots, nodes, fitting)
    for composite in (True, False):
        own = [s for s in slots if (s.kind in COMPOSITE) == composite]
        for contrary in (False, True):
            _round(own, nodes, fitting, found, source, contrary, roles)
    return found


def _unstacked(
    slots: Sequence[Slot],
    nodes: Sequence[Node],
    fitting: Callable[[Slot, Node], tuple[Fill, ...]],
) -> list[Node]:
    """Places one by one, of which a checkpoint has several as one, stacked."""
    kinds = list({slot.signature(): slot for slot in slots}.values())
    found: list[Node] = []
    outer: dict[tuple[str, ...], int] = {}
    for node in nodes:
        leaves = node.all_leaves()
        sizes = {leaf.shape[0] if leaf.shape else 0 for leaf in leaves}
        if len(sizes) != 1 or max(sizes) < 2 or not node.path:
            continue
        # What is stacked in a stack of layers is numbered by these.
        at = outer.get(node.path[:-1], len(node.path))
        outer[node.path] = at
        if any(fitting(slot, node) for slot in kinds):
            continue
        picked = [node.picked(i, at) for i in range(sizes.pop())]
        if any(fitting(slot, picked[0]) for slot in kinds):
            found += picked
    return found


def _taken(fills: Iterable[Fill]) -> set[str]:
    """What a fill takes: names of arrays, and of a stacked one the place in it."""
    found = set()
    for fill in list(fills)[:1]:
        for array in fill.arrays.values():
            text = str(array.expression)
            for name in names_in(array.expression):
                picked = text.partition(f"pick({_quoted(name)}, 0, ")[2]
                found.add(f"{name}#{picked.partition(')')[0]}" if picked else name)
    return found


def _quoted(name: str) -> str:
    return str(Given(name))


def _round(
    slots: Sequence[Slot],
    nodes: Sequence[Node],
    fitting: Callable[[Slot, Node], tuple[Fill, ...]],
    found: Matching,
    source: Source,
    contrary: bool,
    roles: bool,
) -> None:
    """Match what can be matched: first by the layout of the framework, then against it."""
    done = {id(m.slot) for m in found.matches} | {id(s) for s, _ in found.open}
    used = found.used()
    linear = source.layout.linear if source.layout else ""
    table: dict[int, dict[int, tuple[Fill, ...]]] = {}
    own = [slot for slot in slots if id(slot) not in done]
    free: dict[int, Node] = {}
    for slot in own:
        for node in nodes:
            ways = fitting(slot, node)
            if not contrary and linear:
                ways = tuple(w for w in ways if not w.orders - {linear})
            if ways and not _taken(ways) & used:
                table.setdefault(id(slot), {})[id(node)] = ways
                free[id(node)] = node
    _drop_around(table, free)
    # Layers that may be numbered either way are where those beside them are, which come first.
    groups = [*_groups(own, free, table)]
    for group in sorted(groups, key=lambda group: _either_way(group[0], roles)):
        _decide(*group, table, found, roles)


def _drop_around(
    table: dict[int, dict[int, tuple[Fill, ...]]], nodes: dict[int, Node]
) -> None:
    """Leave out places around one that gives the very same arrays."""
    for row in table.values():
        deepest: dict[frozenset[str], int] = {}
        for place in sorted(row, key=lambda i: len(nodes[i].path)):
            deepest[frozenset(_taken(row[place]))] = place
        for place in set(row) - set(deepest.values()):
            del row[place]
    for place in set(nodes) - {i for row in table.values() for i in row}:
        del nodes[place]


def _groups(
    slots: Sequence[Slot],
    nodes: dict[int, Node],
    table: Mapping[int, Mapping[int, object]],
) -> Iterator[tuple[list[Slot], list[Node]]]:
    """Layers and places that are connected by what fits."""
    by_id = {id(slot): slot for slot in slots}
    takers: dict[int, list[int]] = {}
    for slot, row in table.items():
        for node in row:
            takers.setdefault(node, []).append(slot)
    left = [i for i in by_id if i in table]
    seen: set[int] = set()
    for start in left:
        if start in seen:
            continue
        group, places, queue = [], set(), [start]
        seen.add(start)
        while queue:
            slot = queue.pop()
            group.append(slot)
            for node in table[slot]:
                if node not in places:
                    places.add(node)
                    fresh = [s for s in takers[node] if s not in seen]
                    seen.update(fresh)
                    queue += fresh
        yield (
            [by_id[i] for i in left if i in set(group)],
            [node for i, node in nodes.items() if i in places],
        )


def _decide(
    slots: list[Slot],
    nodes: list[Node],
    table: dict[int, dict[int, tuple[Fill, ...]]],
    found: Matching,
    roles: bool,
) -> None:
    """Match the families of a group, as long as something decides."""
    ours = _families(slots, lambda slot: slot.path, roles)
    theirs = _families(nodes, lambda node: node.path, roles)
    only = len(ours) == len(theirs) == 1
    while ours and theirs:
        pair = _next(ours, theirs, table, roles, only)
        if pair is None:
            break
        left, right, reason, pairs = pair
        other = turned(pairs, roles)
        known = [(m.slot, m.node) for m in found.matches]
        if other and _fit(other, table) and is_turned(pairs, other, known, roles):
            pairs = other
        for slot, node in pairs:
            ways = table[id(slot)][id(node)]
            found.matches.append(Match(slot, node, ways, reason))
        del ours[left], theirs[right]
        # What overlaps with what was taken, such as a place around it, is taken, too.
        used = found.used()
        for key, members in list(theirs.items()):
            if any(_overlaps(node, table, used) for node in members):
                del theirs[key]
    rest = [node for members in theirs.values() for node in members]
    for slot in (slot for members in ours.values() for slot in members):
        ways = [(n, table[id(slot)][id(n)]) for n in rest if id(n) in table[id(slot)]]
        if ways:
            found.open.append((slot, ways))


def _overlaps(
    node: Node, table: dict[int, dict[int, tuple[Fill, ...]]], used: set[str]
) -> bool:
    return any(
        _taken(row[id(node)]) & used for row in table.values() if id(node) in row
    )


def _families(
    members: Sequence[T], path: Callable[[T], tuple[str, ...]], roles: bool
) -> dict[Family, list[T]]:
    """Members by families, each in the order of its numbers."""
    found: dict[Family, list[T]] = {}
    for member in members:
        found.setdefault(family(path(member), roles), []).append(member)
    for own in found.values():
        own.sort(key=lambda member: numbers(path(member), roles))
    return found


Found = tuple[Family, Family, str, list[Pair]]


def _next(
    ours: dict[Family, list[Slot]],
    theirs: dict[Family, list[Node]],
    table: dict[int, dict[int, tuple[Fill, ...]]],
    roles: bool,
    only: bool,
) -> Found | None:
    """The next two families that belong together, and why."""
    mine = {a: meanings(slots[0].path, roles) for a, slots in ours.items()}
    other = {b: meanings(nodes[0].path, roles) for b, nodes in theirs.items()}
    pairs = {
        (a, b): paired
        for a, slots in ours.items()
        for b, nodes in theirs.items()
        if not (_elsewhere(a, b, mine, other) and _elsewhere(b, a, other, mine))
        if (paired := _paired(slots, nodes, table, roles))
    }
    if len(ours) == len(theirs) == 1 and pairs:
        [(a, b)] = pairs
        alone = ONLY if only else LEFT
        return a, b, alone if len(ours[a]) == 1 else ORDER, pairs[a, b]
    scores = _scores(mine, other, pairs)
    for (a, b), score in scores.items():
        rivals = [s for (c, d), s in scores.items() if (c == a) != (d == b)]
        if score > 0 and all(score > rival + 1e-9 for rival in rivals):
            return a, b, NAMES if len(ours[a]) == 1 else BOTH, pairs[a, b]
    for a, b in pairs:
        alone = [key for key in pairs if key[0] == a or key[1] == b] == [(a, b)]
        sizes = Counter(len(members) for members in theirs.values())
        if alone and len(ours[a]) > 1 and sizes[len(ours[a])] == 1:
            return a, b, COUNT, pairs[a, b]
    return None


def _paired(
    slots: list[Slot],
    nodes: list[Node],
    table: dict[int, dict[int, tuple[Fill, ...]]],
    roles: bool,
) -> list[Pair]:
    """Layers and places in the order of their numbers; none where these do not correspond."""
    if len(slots) != len(nodes):
        return []
    mine = ranks([numbers(slot.path, roles) for slot in slots])
    other = ranks([numbers(node.path, roles) for node in nodes])
    flat = any(len(counted[:1][0]) <= 1 for counted in (mine, other) if counted)
    if not mine or not other or (mine != other and not flat):
        return []
    pairs = list(zip(slots, nodes, strict=True))
    return pairs if _fit(pairs, table) else []


def _fit(pairs: list[Pair], table: dict[int, dict[int, tuple[Fill, ...]]]) -> bool:
    return all(id(node) in table[id(slot)] for slot, node in pairs)


def _either_way(slots: Sequence[Slot], roles: bool) -> bool:
    """Whether layers of a family have two numbers, which places may have in the other order."""
    families = _families(slots, lambda slot: slot.path, roles).values()
    return any(turned([(s, s) for s in own], roles) for own in families)


def _elsewhere(
    own: Family,
    partner: Family,
    mine: Mapping[Family, frozenset[str]],
    other: Mapping[Family, frozenset[str]],
) -> bool:
    """Whether a word of a family is one of others there, and not of this one."""
    said = mine[own] - other[partner]
    return any(said & words for b, words in other.items() if b != partner)


def _scores(
    mine: Mapping[Family, frozenset[str]],
    other: Mapping[Family, frozenset[str]],
    pairs: Iterable[tuple[Family, Family]],
) -> dict[tuple[Family, Family], float]:
    """How much the names of families have in common; rare words count more."""
    seen = Counter(word for said in mine.values() for word in said)
    heard = Counter(word for said in other.values() for word in said)
    scores = {}
    for a, b in pairs:
        shared = mine[a] & other[b]
        scores[a, b] = sum(1 / (seen[word] * heard[word]) for word in shared)
    return scores
