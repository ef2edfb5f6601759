"""What a spec says, as values. Everything is frozen; nothing here knows where it came from or goes to."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum

from mlax_scaffold.errors import Location
from mlax_scaffold.model.docstrings import split_docstring
from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.import_time import is_initializer
from mlax_scaffold.model.shapes import Conditional, Shape


class Kind(Enum):
    """The kinds of definition. The value names the package that the generated modules live in."""

    LAYER = "nn"
    BLOCK = "block"
    FUNCTION = "functional"
    OPTIMIZER = "optim"
    SCHEDULE = "schedule"

    @property
    def section(self) -> str:
        return self.value

    @property
    def sections(self) -> tuple[str, ...]:
        """The packages that a module of this kind may live in."""
        return ("nn", "block") if self is Kind.LAYER else (self.value,)


OPTIMIZER_TOOLS = ("apply_updates", "from_optax", "state_shardings", "to_optax")
"""Functions of the package of optimizers that follow from no spec."""


@dataclass(frozen=True)
class Hyperparameter:
    """A field of a class, or a keyword-only parameter of a function."""

    name: str
    type: HyperType
    default: str | None
    """Source text of the default value; None where the hyperparameter is required."""
    doc: str
    location: Location = field(compare=False)


@dataclass(frozen=True)
class ArrayType:
    """`Float["..."]` and its kin, a tuple of them, or `PyTree`."""

    kind: str
    """Float, Int, Bool, Key, PyTree or tuple."""
    shape: Shape | Conditional | None = None
    items: tuple[ArrayType, ...] = ()
    optional: bool = False

    @property
    def annotation(self) -> str:
        """The type annotation in a generated module."""
        if self.kind == "PyTree":
            return "Any"
        if self.kind == "...":
            return "..."
        text = "jax.Array"
        if self.kind == "tuple":
            text = f"tuple[{', '.join(item.annotation for item in self.items)}]"
        return f"{text} | None" if self.optional else text

    def __str__(self) -> str:
        if self.kind == "tuple":
            return f"({', '.join(map(str, self.items))})"
        text = self.kind if self.shape is None else f'{self.kind}["{self.shape}"]'
        return f"{text} | None" if self.optional else text


@dataclass(frozen=True)
class Input:
    """An array input of a method or a function."""

    name: str
    type: ArrayType
    keyword: bool = False
    default: str | None = None
    doc: str = ""


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
    DERIVED = "derived"


@dataclass(frozen=True)
class Declaration:
    """`self.name = ...` in `setup`. Texts are source with `self.` still in it."""

    role: Role
    name: str
    initializer: str = ""
    shape: str = ""
    value: str = ""
    """Of a moment that begins as a value: the value, in the place of initializer and shape."""
    dtype: str | None = None
    at_least: str | None = None
    """The narrowest dtype of a state whose dtype is that of the weights."""
    condition: str | None = None
    """Where it is false, None stands in the declaration's place."""
    reference: Reference | None = None
    several: bool = False
    """Whether it is a list: a sub-layer for each item of a comprehension."""
    annotation: str | None = None
    doc: str = ""
    location: Location | None = field(default=None, compare=False)

    @property
    def optional(self) -> bool:
        return self.condition is not None


@dataclass(frozen=True)
class Requirement:
    """`require(condition, message)`, or `if violation: raise ValueError(message)`: a documented check."""

    condition: str
    message: str
    """Dots stand in the place of values that are formatted into it."""
    method: str
    violation: str = ""
    """Where it does not hold; empty where that is but the condition's contrary."""

    @property
    def told(self) -> str:
        """What every error of it says: the longest part of the message without values."""
        return (
            max(self.message.split("..."), key=len) if self.violation else self.message
        )


@dataclass(frozen=True)
class Example:
    """Values of hyperparameters that fit each other, and shapes that fit them."""

    values: tuple[tuple[str, str], ...]
    """Source text of values, by name."""
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

    @property
    def positional(self) -> tuple[Input, ...]:
        return tuple(i for i in self.inputs if not i.keyword)

    @property
    def keyword(self) -> tuple[Input, ...]:
        return tuple(i for i in self.inputs if i.keyword)


@dataclass(frozen=True)
class Helper:
    """A function or a constant beside the definition, which the generated module has, too."""

    name: str
    names: frozenset[str] = frozenset()
    """Every identifier of its text that is not an attribute."""
    types: tuple[tuple[str, str], ...] = ()
    """Types of parameters (of the result: `return`) that are others in the generated module."""
    value: str | None = None
    """Of a constant: its expression, with the values of other constants in it."""
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


@dataclass(frozen=True)
class Definition:
    """A spec."""

    kind: Kind
    name: str
    module: str
    """Name of the generated module: that of the definition in snake case."""
    doc: str
    source: str
    """Posix path of the spec, relative to the root that its errors are reported from."""
    text: str = field(compare=False, repr=False)
    hyperparameters: tuple[Hyperparameter, ...] = ()
    initializers: tuple[Hyperparameter, ...] = ()
    """Fields that hold initializers: parameters of `init`, and no fields of `hyperparams`."""
    declarations: tuple[Declaration, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    methods: tuple[Method, ...] = ()
    examples: tuple[Example, ...] = ()
    imports: tuple[Import, ...] = ()
    helpers: tuple[Helper, ...] = ()
    """Functions and constants beside it that it uses, directly or not, in the order of the text."""
    module_class: str = ""
    """What its module class is called, where that is not the name of the layer."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Hyperparameters that the module class calls otherwise, with their names there."""
    per_example: bool = False
    """Whether a step takes the gradients of each example, stacked along a first axis."""

    @property
    def module_name(self) -> str:
        """What its module class in `graph` is called."""
        return self.module_class or self.name

    def alias(self, name: str) -> str:
        """What the module class calls a hyperparameter."""
        return dict(self.aliases).get(name, name)

    @property
    def recurrent(self) -> bool:
        """Whether it is a recurrent cell: it has a first carry."""
        return self.kind is Kind.LAYER and self.method("initial_carry") is not None

    @property
    def section(self) -> str:
        """The package of the generated module. Layers that are built of others may live among blocks."""
        folder = self.source.rpartition("/")[0].rpartition("/")[2]
        return folder if folder in self.kind.sections else self.kind.section

    @property
    def summary(self) -> str:
        """What the docstring says in its first sentence, on one line."""
        return split_docstring(self.doc)[0]

    @property
    def description(self) -> str:
        """The docstring without its summary."""
        return split_docstring(self.doc)[1]

    @property
    def reference(self) -> Reference:
        return Reference(self.section, self.name)

    def method(self, name: str) -> Method | None:
        return next((m for m in self.methods if m.name == name), None)

    def declared(self, *roles: Role) -> tuple[Declaration, ...]:
        return tuple(d for d in self.declarations if d.role in roles)

    def depends(self, declaration: Declaration) -> bool:
        """Whether an initializer is built in `init`: a signature holds none but the known ones."""
        setup = self.method("setup")
        local = frozenset() if setup is None else setup.bound
        meanings = {i.name: i.meaning for i in self.imports if i.name not in local}
        expression = ast.parse(declaration.initializer, mode="eval").body
        return not is_initializer(expression, meanings)

    @property
    def example_values(self) -> dict[str, str]:
        """Source text of the hyperparameters of the first example; none without one."""
        return dict(self.examples[0].values) if self.examples else {}

    @property
    def example_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of the first example; none without one."""
        return dict(self.examples[0].shapes) if self.examples else {}

    @property
    def takes_weights(self) -> bool:
        """Whether `init` of an optimizer needs the weights."""
        tree = self.method("setup_tree")
        return bool(
            not self.structural()
            or self.method("setup")
            or (tree is not None and "params" in tree.names)
        )

    def structural(self) -> tuple[Hyperparameter, ...]:
        """The hyperparameters that are initialized layers or optimizers."""
        return tuple(h for h in self.hyperparameters if h.type.word.structural)
