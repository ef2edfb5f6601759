"""What is known of an input: its kind, and its axes from either end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from mlax_scaffold.model.shapes import ShapeError, parse_shape
from mlax_scaffold.spelling import closest

NAMES = {
    1: ("batch",),
    2: ("batch", "features"),
    3: ("batch", "length", "features"),
    4: ("batch", "height", "width", "channels"),
    5: ("batch", "depth", "height", "width", "channels"),
}
"""What axes are called that nothing gives a name, by their number."""

_ADDED = ("bias", "biases", "mask", "masks")
"""Ends of names of what is added to logits, whose last axis is no size of features."""
_LAST = ("features", "channels", "dim", "model", "size", "width")
"""Ends of the names of fields that are the size of a last axis."""

USUAL = (
    *(
        "in_features",
        "in_channels",
        "in_dim",
        "input_dim",
        "d_model",
        "dim",
        "features",
    ),
    *("channels", "embed_dim", "hidden_size", "hidden_dim", "width", "model_dim"),
)
"""Fields that are the size of an input's last axis, where nothing says what it is."""


_INDICES = (
    *("ids", "idx", "index", "indices", "receivers", "senders"),
    "labels",
)
"""Ends of the names of what is looked up, or counts."""


_SINGLE = ("eps", "epsilon", "learning_rate", "lr", "tau", "temperature")
"""Names of single numbers."""


EDGES = "edges"
"""What the axis of the edges of a graph is called."""
_ARRAYS_OF_ENDS = ("edge_index", "edge_indices")
"""What arrays are called of whose two rows these are."""

_ENDS = ("senders", "receivers")
"""Ends of the names of both nodes of each edge of a graph."""


@dataclass
class Known:
    """An input. Axes are counted from 0, and from -1 backwards; what is known first stays."""

    name: str
    kind: str = "Float"
    exact: int | None = None
    """The number of axes, where something says it."""
    counted: bool = False
    """Whether the code itself asks for that number: it takes the shape apart, or turns all axes around."""
    least: int = 0
    """There are so many at least."""
    open: str = ""
    """What the axes are called of which there are any number: the code asks how many."""
    front: int = 0
    """So many are counted from the front, none of which is the last one."""
    rear: int = 0
    """So many are counted from the end, before which there may be any."""
    axes: dict[int, str] = field(default_factory=dict)
    """The sizes of axes."""
    names: dict[int, str] = field(default_factory=dict)
    """Names that a body gives to sizes of axes: they say less."""
    described: set[int] = field(default_factory=set)
    """Axes that a docstring or a comment names."""
    items: list[Known] = field(default_factory=list)
    """The arrays of a tuple."""
    rows: list[Known] = field(default_factory=list)
    """The arrays that it is taken apart into along its first axis."""
    several: bool = False
    """Whether it is any number of arrays."""
    parts: dict[str, Known] = field(default_factory=dict)
    """The arrays of a dictionary, by the keys that it is read by."""
    compared: bool = False
    """Whether it is asked what it equals."""
    computed: bool = False
    """Whether something is computed of it."""
    others: Collection[str] = ()
    """The axes of inputs before it, of which it has none but a batch, where nothing says that it has."""
    each_with: list[tuple[Known, bool, bool]] = field(default_factory=list)
    """Inputs with each item of which each of its own goes.

    With each, whether their first axes are two, and whether their last ones are the same.
    """
    ends_like: Known | None = None
    """An input whose last axis is the same."""
    stretched: bool = False
    """Whether an axis is added at its end: it has one for each axis of what it goes with but the last."""
    like: tuple[Known, int, bool] | None = None
    """An input of the same shape, but for so many axes that it has more at the end.

    The last is whether their last axes are the same.
    """

    def has(self, count: int) -> None:
        """It has so many axes."""
        if self.exact is None:
            self.exact = count
        self.least = max(self.least, count)

    def counts(self, count: int) -> None:
        """It has so many axes, or the code fails."""
        self.counted = self.counted or self.exact is None
        self.has(count)

    def at(self, axis: int, *, front: bool = False) -> None:
        """It has that axis; `front` says that it is not the last one."""
        self.least = max(self.least, axis + 1 if axis >= 0 else -axis)
        if front:
            self.front = max(self.front, axis + 1)

    def from_end(self, axis: int) -> None:
        """It has the axis -1, -2 ..., and others before it or none."""
        self.at(axis)
        self.rear = max(self.rear, -axis)

    def name_axis(self, axis: int, name: str) -> None:
        """A body calls the size of an axis so."""
        self.at(axis)
        self.names.setdefault(axis, name)

    @property
    def last(self) -> str | None:
        """The size of its last axis, where something says it."""
        behind = (self.exact or 0) - 1
        return self.axes.get(-1) or self.axes.get(behind)

    def is_described(self, axis: int) -> bool:
        """Whether a docstring names an axis, counted from either end."""
        count = self.exact or 0
        return bool(self.described & {axis, axis - count, axis + count})

    def follows(self, other: Known, more: int, whole: bool = True) -> None:
        """It goes with another input, element by element."""
        if other is not self and other.like is None and not self.told:
            self.like = other, more, whole

    def settle(self) -> None:
        """Its kind by its name and what it is compared with, where nothing else says it.

        What it is taken apart into is of its kind.
        """
        if (
            self.name in _SINGLE
            and self.exact is None
            and not (self.parts or self.names)
        ):
            # What it goes with says no more than that it is stretched.
            self.exact, self.least, self.axes = 0, 0, {}
        self._settle_indices()
        kinds = [row.kind for row in self.rows if row.kind != "Float"]
        self.kind = kinds[0] if kinds and self.kind == "Float" else self.kind
        if self.kind == "Float" and (self.computed or self.axes):
            return
        if self.name.endswith(_ENDS) and self.exact in (None, 1) and self.least < 2:
            self.kind = "Int"
            self.has(1)
            self.names.setdefault(0, EDGES)
        if self.kind != "Float":
            return
        if self.compared or self.name.endswith(_INDICES):
            self.kind = "Int"
        elif self.name.endswith(("mask", "masks")):
            self.kind = "Bool"

    def _settle_indices(self) -> None:
        """Indices that it is taken apart into, `senders, receivers = edges`, are as many."""
        if len(self.items) < 2 or any(item.kind != "Int" for item in self.items):
            return
        if {1} != {item.exact for item in self.items if item.told}:
            return
        for item in self.items:
            item.has(1)
            item.names.setdefault(0, EDGES if "edge" in self.name else "batch")
        if self.name in _ARRAYS_OF_ENDS:
            self.kind, self.items = "Int", []
            self.has(2)
            self.axes[0] = "2"
            self.names[1] = EDGES

    @property
    def told(self) -> bool:
        """Whether its own axes are known."""
        return bool(self.axes or self.least or self.exact is not None)

    def call(self, axis: int, size: str) -> None:
        """An axis has that name or size."""
        self.at(axis)
        if size:
            self.axes.setdefault(axis, size)

    def annotation(self, fields: Collection[str]) -> str:
        """The type, which names sizes and no other fields."""
        if self.items:
            inner = ", ".join(item.annotation(fields) for item in self.items)
            return f"tuple[{inner}]"
        if self.several and not self.told:
            return f'tuple[{self.kind}["..."], ...]'
        text = self.shape(fields)
        try:
            parse_shape(text)
        except ShapeError:
            text = "..."
        return f'{self.kind}["{text}"]'

    def shape(self, fields: Collection[str]) -> str:
        """The axes, as the type says them."""
        if self.like is not None and not self.axes and self.exact is None:
            text = self._of_other(*self.like, fields)
            if not self.told or (text != "..." and len(text.split()) >= self.least):
                return text
        unknown = not self.axes and self.exact is None
        if unknown and self.kind == "Float" and self.name.endswith(_ADDED):
            return "..."
        back = max(self.rear, *(-axis for axis in (*self.axes, *self.names)), 0)
        first = max(self.front, *(a + 1 for a in self.axes), self.least - back, 0)
        if self.open and self.exact is None and (first or not back):
            count = first + back + 1
            names = [self._named(count, axis, fields) for axis in range(count)]
            names[first] = self.open
            return " ".join(names)
        count = self._count(back)
        if count is not None:
            count = max(count, back)
            return " ".join(self._named(count, axis, fields) for axis in range(count))
        if not back:
            return "..." if self.kind == "Float" else "*batch"
        named = [self._named(0, -axis, fields) for axis in range(back, 0, -1)]
        return " ".join(["*batch", *named])

    def _of_other(
        self, other: Known, more: int, whole: bool, fields: Collection[str]
    ) -> str:
        """The axes of an input that has `more` of them at the end, and of which the last may be another."""
        words = other.shape(fields).split()
        if more < 0 or "..." in words:
            return "..."
        open_ = [word for word in words[:1] if word.startswith("*")]
        words = words[: len(words) - more] or open_
        if not whole and words and not words[-1].startswith("*"):
            words[-1] = f"{self.name}_features"
        return " ".join(words)

    def _count(self, back: int) -> int | None:
        """The number of axes, where `back` of them are known from the end; None: any."""
        if self.exact is not None:
            return self.exact
        if self.kind != "Float" and not back and self.least:
            return self.least
        if max(self.least, self.front) > back:
            return max(self.least, self.front + 1)
        # An axis that is counted from the front is no other one that has a size.
        return self.front + back if back and self.front else None

    def is_called(self, what: str) -> bool:
        """Whether it is called so, or a kind of it, as `next_obs` is of `obs`."""
        name = self.name.rstrip("s")
        start = what.rstrip("s")
        return bool(start) and (
            start == name or what.startswith(f"{name}_") or name.endswith(f"_{start}")
        )

    def _named(self, count: int, axis: int, fields: Collection[str]) -> str:
        for known in (self.axes, self.names):
            for place in (axis, axis - count):
                if place in known:
                    return known[place]
        if axis < -self.rear:
            return "_"
        if axis < 0:
            count = self.rear + 1
        names = NAMES.get(count, tuple(f"axis_{i}" for i in range(count)))
        if count > 3 and 1 in self.axes and not {-1, count - 1} & {*self.axes}:
            names = ("batch", "channels", *names[1:-1])
        if axis in (count - 1, -1) and count > 1 and self.kind == "Float":
            if self.ends_like is not None:
                return self.ends_like.shape(fields).split()[-1]
            own = (f for f in fields if self.is_called(f.rpartition("_")[0]))
            other = self.axes.values()  # none that is another axis
            for field in (*own, *(f for f in USUAL if f not in self.others)):
                if field in fields and field.endswith(_LAST) and field not in other:
                    return field
        if count == 2 and self.kind != "Float":
            names = ("batch", "length")
        usual = names[axis]
        taken = usual in fields or usual in self.axes.values()
        if usual != names[0]:
            taken = taken or usual in self.others
        own = f"{self.name}_{usual}"
        others = [f for f in fields if not own.endswith(f"_{f}")]
        if taken and closest(own, others, 0.8):
            own = f"{usual}_of_{self.name}"  # It would be taken for a slip.
        return own if taken else usual
