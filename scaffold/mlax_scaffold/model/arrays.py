"""Arrays that a spec takes and returns: their kinds and shapes."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlax_scaffold.errors import Location
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.shapes import Conditional, Shape


@dataclass(frozen=True)
class ArrayKind:
    """What a word for arrays says of their dtypes."""

    name: str
    doc: str
    """What pages call such an array."""
    check: str
    """The function of the generated `_core.checks` that refuses others."""
    dtypes: tuple[str, ...]
    """What `jax.numpy` calls the dtypes that it may have."""
    example: str = ""
    """The dtype that tests and examples have it in; empty: that of the computation."""
    computes: bool = False
    """Whether its dtype is that of the computation."""


KINDS = {
    kind.name: kind
    for kind in (
        ArrayKind("Float", "floating", "floating", ("floating",), computes=True),
        ArrayKind(
            "Complex",
            "complex",
            "complex_valued",
            ("complexfloating",),
            "complex64",
            computes=True,
        ),
        ArrayKind(
            "Real",
            "floating or integer",
            "real",
            ("floating", "integer"),
            computes=True,
        ),
        ArrayKind("Int", "integer", "integral", ("integer",), "int32"),
        ArrayKind("Bool", "boolean", "logical", ("bool_",), "bool_"),
    )
}
"""The words for arrays, by name: one row for each."""

COMPUTING = tuple(name for name, kind in KINDS.items() if kind.computes)
"""The kinds of arrays whose dtype is that of the computation."""


OUTPUT = "LayerOutput"
"""The word for what the layers return that a block is given."""


@dataclass(frozen=True)
class ArrayType:
    """`Float["..."]` and its kin, a tuple or a dictionary of them, or `PyTree`."""

    kind: str
    """One of `KINDS`, Key, PyTree, tuple or dict."""
    name: str = field(default="", kw_only=True)
    """Of a tree: its type, such as `dict[str, jax.Array]`; empty where that may be any.

    Of a tuple: the NamedTuple that it is; empty for a plain one. Of a dictionary: the TypedDict.
    """
    keys: tuple[str, ...] = field(default=(), kw_only=True)
    """Of a dictionary: those of its items."""
    shape: Shape | Conditional | None = None
    items: tuple[ArrayType, ...] = ()
    optional: bool = False
    places: tuple[tuple[str, Location], ...] = field(
        default=(), compare=False, repr=False
    )
    """Where each name of its shape stands."""

    @property
    def parts(self) -> tuple[tuple[str, str, ArrayType], ...]:
        """The arrays in a tuple or a dictionary: the name of each, what selects it (`[0]`), and itself."""
        names = self.keys or tuple(map(str, range(len(self.items))))
        selected = [f"[{name!r}]" if self.keys else f"[{name}]" for name in names]
        return tuple(zip(names, selected, self.items, strict=True))

    def labels(self, name: str) -> tuple[str, ...]:
        """What it, and the arrays in it, are called: `carry`, `carry[0]`, `batch['x']`."""
        inner = (part.labels(f"{name}{at}") for _, at, part in self.parts)
        return (name, *(label for labels in inner for label in labels))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Every shape in it, both of one that depends on a hyperparameter."""
        inner = tuple(shape for item in self.items for shape in item.shapes)
        return (*self.branches, *inner)

    @property
    def branches(self) -> tuple[Shape, ...]:
        """Those of the array itself."""
        return () if self.shape is None else self.shape.branches

    def holds(self, *kinds: str) -> bool:
        """Whether it is an array of one of the kinds, or has one in it."""
        return self.kind in kinds or any(item.holds(*kinds) for item in self.items)

    @property
    def computes(self) -> bool:
        """Whether it is, or has in it, an array whose dtype is that of the computation."""
        return self.holds(*COMPUTING)

    @property
    def decides_dtype(self) -> bool:
        """Whether there is always such an array: its dtype is that of the computation."""
        several = any(item.kind == "..." for item in self.items)
        if self.optional or several:
            return False
        return self.kind in COMPUTING or any(i.decides_dtype for i in self.items)

    @property
    def annotation(self) -> str:
        """The type annotation in a generated module."""
        if self.kind == "PyTree":
            return self.name or "Any"
        if self.kind == "...":
            return "..."
        text = "jax.Array"
        if self.kind == "tuple":
            inner = ", ".join(item.annotation for item in self.items)
            text = f"tuple[{inner}]"
        text = self.name or text
        return f"{text} | None" if self.optional else text

    def __str__(self) -> str:
        if self.kind == "tuple":
            return f"({', '.join(map(str, self.items))})"
        if self.kind == "dict":
            items = zip(self.keys, self.items, strict=True)
            return f"{{{', '.join(f'{key}: {item}' for key, item in items)}}}"
        text = self.kind if self.shape is None else f'{self.kind}["{self.shape}"]'
        return f"{text} | None" if self.optional else text


@dataclass(frozen=True)
class Input:
    """An array input of a method or a function."""

    name: str
    type: ArrayType
    keyword: bool = False
    """Whether it is given by its name: it has a default, or stands after the `*`."""
    default: Expression | None = None
    doc: str = ""
    alias: str = ""
    """Its name in the generated function, where that has another use for its own."""
    several: bool = False
    """Whether it is any number of further arguments, with a star."""

    @property
    def variable(self) -> str:
        """What the generated function calls it."""
        return self.alias or self.name
