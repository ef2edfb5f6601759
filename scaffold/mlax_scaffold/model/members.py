"""What a spec holds beside its hyperparameters: what `setup` declares, methods, helpers and imports.

`mlax_scaffold.model.definition` is the module to import from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from mlax_scaffold.errors import Location
from mlax_scaffold.model.arrays import ArrayType, Input
from mlax_scaffold.model.complex_numbers import names_complex
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.places import Member, Step


@dataclass(frozen=True)
class Reference:
    """Another spec, by section and name."""

    section: str
    name: str

    def __str__(self) -> str:
        return f"{self.section}.{self.name}"


class Role(Enum):
    """What a declaration in `setup` declares."""

    TRAINABLE = "trainable"
    STATE = "state"
    MOMENT = "moment"
    SUB_LAYER = "sub-layer"
    OPTIMIZER = "optimizer"
    DERIVED = "derived"


@dataclass(frozen=True)
class Declaration:
    """`self.name = ...` in `setup`."""

    role: Role
    name: str
    initializer: Expression | None = None
    """Of an array, and so is its shape."""
    shape: Expression | None = None
    value: Expression | None = None
    """What is derived; of a moment that begins as a value, in the place of initializer and shape."""
    dtype: Expression | None = None
    at_least: Expression | None = None
    """The narrowest dtype of a state whose dtype is that of the weights."""
    condition: Expression | None = None
    """Where it is false, None stands in the declaration's place."""
    reference: Reference | None = None
    several: bool = False
    """Whether it is a list: a sub-layer for each item of a comprehension."""
    members: tuple[Member, ...] = ()
    """Of what is declared in any other way than one of these: what is at each of its places."""
    annotation: str | None = None
    doc: str = ""
    branches: int = 1
    """How many branches of `setup` make it, each in its way."""
    absent: bool = False
    """Whether some branch neither makes it nor says that it is None."""
    location: Location | None = field(default=None, compare=False)

    @property
    def optional(self) -> bool:
        return self.condition is not None

    @property
    def is_complex(self) -> bool:
        """Whether it is an array of complex numbers, in the precision of the weights."""
        return self.dtype is not None and names_complex(self.dtype.tree)

    @property
    def references(self) -> tuple[Reference, ...]:
        """The layers that it may hold, those included that its layers are given."""
        kinds = (n for m in self.members for n in (m.what, *m.nested))
        found = (self.reference, *kinds)
        return tuple(dict.fromkeys(r for r in found if isinstance(r, Reference)))

    def holds(self, role: Role) -> bool:
        """Whether one of its members is an array of that role."""
        return any(m.what is role for m in self.members)


@dataclass(frozen=True)
class Requirement:
    """`require(condition, message)`, or `if violation: raise ValueError(message)`: a documented check."""

    condition: Expression
    message: str
    """Dots stand in the place of values that are formatted into it."""
    method: str
    violation: Expression | None = None
    """Where it does not hold; None where that is but the condition's contrary."""

    @property
    def told(self) -> str:
        """What every error of it says: the longest part of the message without values."""
        return (
            max(self.message.split("..."), key=len) if self.violation else self.message
        )


@dataclass(frozen=True)
class Example:
    """Values of hyperparameters that fit each other, and shapes that fit them."""

    values: tuple[tuple[str, Expression], ...]
    """Literals, by name."""
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    """Shapes of inputs by name, and that of the result by `y`."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in (*self.values, *self.shapes))


class MethodRole(Enum):
    """What becomes of a method."""

    ENTRY = "entry"
    """A function of the module with the signature of `fwd`."""
    HYPER = "hyper"
    """A method of `hyperparams`."""
    PROPERTY = "property"
    """A property of `hyperparams`."""
    OWN = "own"
    """A function of the module that takes the weights, states and keys that it uses."""
    SETUP = "setup"
    SETUP_TREE = "setup_tree"
    UPDATE = "update"
    PREPARE = "prepare"
    FINISH = "finish"
    STEP = "step"
    VALUE = "value"


@dataclass(frozen=True)
class Method:
    """A method of a spec's class, or the function itself."""

    name: str
    role: MethodRole
    doc: str = ""
    inputs: tuple[Input, ...] = ()
    returns: ArrayType | None = None
    training: bool = False
    """Whether `self.training` is read here."""
    consumers: tuple[str, ...] = ()
    """What may take a PRNG key, in the order of the text: "key", "keys", "loop", or a sub-layer's name."""
    places: tuple[tuple[str, tuple[Step, ...]], ...] = ()
    """The places of containers whose layers are called, which may take a key, too."""
    calls: tuple[str, ...] = ()
    """Names of the sub-layers that are called."""
    assigns: tuple[str, ...] = ()
    """Names of the attributes of `self` that are assigned."""
    reads: frozenset[str] = frozenset()
    """Names of the attributes of `self` that are read."""
    names: frozenset[str] = frozenset()
    """Every identifier of the text that is not an attribute."""
    bound: frozenset[str] = frozenset()
    """The names among them that the body binds."""
    stored: frozenset[str] = frozenset()
    """Names of the states that are read in the dtype that they are stored in."""
    compared: frozenset[str] = frozenset()
    """Names of the attributes of `self` that are compared with None."""
    passes: bool = False
    """Whether it takes `**inputs`, and hands them to its layers."""
    parameters: tuple[str, ...] = ()
    """Names of its parameters, but for `self`; one that may be left out ends in `=`."""
    types: tuple[tuple[str, str], ...] = ()
    """Types of parameters (of the result: `return`) that are others in the generated module."""

    inside: frozenset[str] = frozenset()
    """Names of the attributes of `self` that functions in it call, and of those that are values."""
    handed: tuple[tuple[str, str], ...] = ()
    """The keyword inputs that it hands to layers that `init` is given: name of the field, and theirs."""
    unasked: tuple[str, ...] = ()
    """What it calls before it looks at `self.training`, and so at inference, too: of what may draw."""
    taken_apart: tuple[tuple[str, int], ...] = ()
    """Attributes of `self` that several names are assigned, as `a, b = self.pair`, and how many."""
    renewed: frozenset[str] = frozenset()
    """Names of the optimizers of `self` whose state it sets."""
    applies: bool = False
    """Whether it calls a layer, or an optimizer, by its pure `apply`."""

    @property
    def function(self) -> str:
        """The name of the function that an entry point becomes."""
        return "fwd" if self.name == "forward" else self.name

    @property
    def positional(self) -> tuple[Input, ...]:
        return tuple(i for i in self.inputs if not i.keyword)

    @property
    def keyword(self) -> tuple[Input, ...]:
        return tuple(i for i in self.inputs if i.keyword)


@dataclass(frozen=True)
class Helper:
    """A function, a constant or a small class beside the definition, which its module has, too."""

    name: str
    names: frozenset[str] = frozenset()
    """Every identifier of its text that is not an attribute."""
    types: tuple[tuple[str, str], ...] = ()
    """Types of parameters (of the result: `return`) that are others in the generated module."""
    value: Expression | None = None
    """Of a constant that pages show, with the values of other constants in it."""
    kind: str = "function"
    """`function`, `constant`, `NamedTuple`, `TypedDict` or `Enum`."""
    members: tuple[str, ...] = ()
    """Of a class: the names of its fields or members."""
    array: ArrayType | None = None
    """Of a NamedTuple or a TypedDict: the tree of the arrays of its fields, where all are such."""
    doc: str = ""
    """Of a function: its docstring."""
    home: Reference | None = None
    """Of a class: the definition before it in the file, whose module has it; None: it stands in its own."""
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Import:
    """A name that a spec imports, and where the generated module gets it from."""

    name: str
    module: str
    """Dotted module, or the section of a spec for `reference`."""
    attribute: str | None = None
    """What is imported from the module; None: the module itself."""
    reference: Reference | None = None
    file: str = field(default="", compare=False)
    """Name, without suffix, of the file that a spec is imported from; empty for a word."""
    pack: str = field(default="", compare=False)
    """The package of the folders of specs that a spec is imported from; empty for a relative import."""
    members: tuple[str, ...] = ()
    """Of an enumeration beside the definition: the names of its members."""
    array: ArrayType | None = None
    """Of a small class beside the definition: the tree of the arrays of its fields, where all are such."""
    is_tuple: bool = False
    """Whether it is a NamedTuple beside the definition, or what is edited becomes one."""
    location: Location | None = field(default=None, compare=False)

    @property
    def meaning(self) -> str:
        """The dotted name that the name stands for; that of the generated package begins with a dot."""
        if self.reference is not None:
            return f".{self.reference}"
        if self.attribute is None:
            top = self.module.partition(".")[0]
            return top if self.name == top else self.module
        own = self.module == "initializers" or self.module.startswith("_core.")
        return f"{'.' * own}{self.module}.{self.attribute}"
