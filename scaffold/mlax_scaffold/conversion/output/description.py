"""What a spec is to say: frozen data, between what was read and what is printed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Field:
    """A hyperparameter."""

    name: str
    word: str
    default: ast.expr | None = None
    comment: str = ""


@dataclass(frozen=True)
class Pair:
    """Two functions that a layer is made of."""

    functions: tuple[str, str]
    """The one that makes the weights, and the one that takes them."""
    names: tuple[str, ...]
    """What the weights are called, in the order in which they are returned."""
    keys: tuple[str, ...]
    """Parameters for PRNG keys, of the first."""


@dataclass(frozen=True, repr=False)
class Written:
    """A value of a test that is written as an expression, such as a function of jax."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Trial:
    """Values that the original and the definition can be run with."""

    parameters: tuple[tuple[str, str], ...]
    """Parameters of the original's constructor, and the fields that they became."""
    hyperparameters: tuple[tuple[str, object], ...]
    inputs: tuple[tuple[str, tuple[object, ...]], ...]
    """The shape of each; of a tuple of arrays, theirs."""
    integers: tuple[str, ...] = ()
    """Inputs that are indices."""
    booleans: tuple[str, ...] = ()
    """Inputs that are masks."""
    mapped: int = 0
    """How many first axes the original, which is for one example, is mapped over."""
    flags: tuple[str, ...] = ()
    """Parameters of the call that the definition has not: flags of the mode, and keys."""
    keys: tuple[tuple[str, str], ...] = ()
    """Parameters of the constructor for random numbers, and what each is: "key" or "generator"."""
    settings: tuple[tuple[str, str], ...] = ()
    """Parameters of the constructor that hold settings, and the class of each; "" where none is known.

    What such a parameter holds is among `parameters`, as in `config.width`."""
    given: tuple[tuple[str, str], ...] = ()
    """Parameters of the constructor that are no fields, and what they are."""
    pair: Pair | None = None
    unpadded: tuple[str, ...] = ()
    """Inputs that are indices of which none is zero, which would pad."""
    optional: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """The inputs that may be left out, and the shape of each that is known."""


@dataclass(frozen=True)
class HelperDtypes:
    """What definitions tell of the dtypes of functions beside them."""

    dtyped: frozenset[str] = frozenset()
    """Those that are given the dtype of what they make."""
    kinds: frozenset[tuple[str, str, str]] = frozenset()
    """What arrays they are given: the function, the parameter, and the kind."""

    @classmethod
    def together(cls, several: Iterable[HelperDtypes]) -> HelperDtypes:
        """What all of them tell."""
        known = [*several]
        dtyped = frozenset(n for one in known for n in one.dtyped)
        return cls(dtyped, frozenset(k for one in known for k in one.kinds))

    def floats(self, helper: str) -> set[str]:
        """The parameters of a function that are always floating arrays."""
        other = {p for f, p, kind in self.kinds if f == helper and kind != "Float"}
        return {p for f, p, _ in self.kinds if f == helper} - other


@dataclass(frozen=True)
class Described:
    """One class of a spec."""

    name: str
    base: str
    doc: str
    fields: tuple[Field, ...]
    setup: tuple[ast.stmt, ...]
    methods: tuple[ast.FunctionDef, ...]
    constants: tuple[ast.stmt, ...] = ()
    example: tuple[tuple[str, object], ...] = ()
    keywords: str = ""
    trial: Trial | None = None
    """None where no values that fit each other are known."""
    keyless: frozenset[str] = frozenset()
    """Functions beside it that are given no key in inference."""
    helpers: HelperDtypes = field(default_factory=HelperDtypes)
    """The dtypes of functions beside it."""

    def arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """What a call of the class gives its fields."""
        order = [f.name for f in self.fields]
        given = dict(zip(order, call.args, strict=False))
        return given | {k.arg: k.value for k in call.keywords if k.arg}


@dataclass(frozen=True)
class Function:
    """One function of a spec."""

    name: str
    doc: str
    node: ast.FunctionDef
    fields: tuple[Field, ...]
    trial: Trial | None = None


@dataclass(frozen=True)
class SpecText:
    """A whole spec: definitions, and what stands beside them."""

    definitions: tuple[Described | Function, ...]
    beside: tuple[ast.stmt, ...] = ()
    """Functions, constants and small classes of the person's own."""
    imports: tuple[str, ...] = ()
    """Imports of the person's own modules."""
