"""What a spec says, as values. Everything is frozen; nothing here knows where it came from or goes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from mlax_scaffold.errors import Diagnostic, Location
from mlax_scaffold.model.arrays import OUTPUT, ArrayType, Input
from mlax_scaffold.model.docstrings import split_docstring
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.import_time import is_initializer
from mlax_scaffold.model.invariances import Invariance
from mlax_scaffold.model.members import (
    Declaration,
    Example,
    Helper,
    Import,
    Method,
    MethodRole,
    Reference,
    Requirement,
    Role,
)
from mlax_scaffold.model.resolved import Resolved
from mlax_scaffold.model.shapes import Shape
from mlax_scaffold.model.smooth import SmoothAt
from mlax_scaffold.model.word import Word

__all__ = [
    "OPTIMIZER_TOOLS",
    "RESULT",
    "SECTIONS",
    "ArrayType",
    "Declaration",
    "Definition",
    "Example",
    "Helper",
    "Hyperparameter",
    "Import",
    "Input",
    "Kind",
    "Method",
    "MethodRole",
    "Reference",
    "Requirement",
    "Role",
]


RESULT = "y"
"""What examples call the shape of the result."""


class Kind(Enum):
    """The kinds of definition. The value names the package that generated modules live in by default."""

    LAYER = "nn"
    BLOCK = "block"
    FUNCTION = "functional"
    OPTIMIZER = "optim"
    SCHEDULE = "schedule"

    @property
    def section(self) -> str:
        return self.value

    @property
    def is_layer(self) -> bool:
        """Whether definitions have `init` and `fwd`, and a module class."""
        return self in (Kind.LAYER, Kind.BLOCK)

    @property
    def is_member(self) -> bool:
        """Whether a package exports the very definition, and not the module that it is in."""
        return self in (Kind.FUNCTION, Kind.SCHEDULE)

    @property
    def sections(self) -> tuple[str, ...]:
        """The packages that a module of this kind may live in."""
        others = {
            Kind.LAYER: ("block",),
            Kind.BLOCK: ("nn",),
            Kind.FUNCTION: ("loss",),
        }
        return (self.value, *others.get(self, ()))


SECTIONS = {
    "nn": Kind.LAYER,
    "block": Kind.BLOCK,
    "functional": Kind.FUNCTION,
    "loss": Kind.FUNCTION,
    "optim": Kind.OPTIMIZER,
    "schedule": Kind.SCHEDULE,
}
"""The packages of generated modules, and the folders of specs, with what they are for."""


OPTIMIZER_TOOLS = (
    *("apply_updates", "from_optax", "inject", "named_chain", "partition"),
    *("state_shardings", "to_optax"),
)
"""Functions of the package of optimizers that follow from no spec."""


@dataclass(frozen=True)
class Hyperparameter:
    """A field of a class, or a keyword-only parameter of a function."""

    name: str
    type: HyperType
    default: Expression | None
    """None where the hyperparameter is required."""
    doc: str
    location: Location = field(compare=False)


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
    location: Location = field(compare=False, repr=False)
    hyperparameters: tuple[Hyperparameter, ...] = ()
    initializers: tuple[Hyperparameter, ...] = ()
    """Fields that hold initializers: parameters of `init`, and no fields of `hyperparams`."""
    declarations: tuple[Declaration, ...] = ()
    bindings: tuple[tuple[str, Expression], ...] = ()
    """Locals of `setup` that are assigned once, with their values."""
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
    surrogate_gradient: bool | None = None
    """Whether its gradient is meant not to be the derivative of its values; None: it does not say."""
    stops_gradients: bool = False
    """Whether it stops gradients, itself or in what stands beside it."""
    named_dtypes: tuple[str, ...] = ()
    """Floating dtypes that its code names, itself or in what stands beside it."""
    own_dtypes: tuple[str, ...] = ()
    """Those of them that it may compute in: of the library's own, none."""
    widens_calls_alone: bool = False
    """Whether single precision is named by none but calls of jax's functions that `widened` makes."""
    complex_numbers: bool = False
    """Whether it computes with complex numbers, itself or in what stands beside it."""
    smooth_at: tuple[SmoothAt, ...] = ()
    """The values at which it says that it is smooth."""
    invariances: tuple[Invariance, ...] = ()
    """What it says of axes."""
    per_example: bool = False
    """Whether a step takes the gradients of each example, stacked along a first axis."""
    keeps_weights: bool = False
    """Whether the state of an optimizer is of weights: has a copy of them, or what they moved by."""
    constants: tuple[tuple[str, Expression], ...] = ()
    """Those of the class, with their values."""
    texts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Hyperparameters that its code compares with texts, and these."""
    several: bool = False
    """Whether its file has other definitions, too."""
    resolved: Resolved | None = field(default=None, compare=False, repr=False)
    """The text in which containers are resolved, where there are any."""

    @property
    def core(self) -> str:
        """The text that is rewritten."""
        return self.text if self.resolved is None else self.resolved.text

    def finding(
        self,
        message: str,
        hint: str = "",
        place: Location | None = None,
        width: int = 1,
    ) -> Diagnostic:
        """A finding at a place of its text, else at its name."""
        if place is None:
            word = "def" if self.kind is Kind.FUNCTION else "class"
            place, width = self.location, len(f"{word} {self.name}")
        line = self.text.split("\n")[place.line - 1 : place.line]
        return Diagnostic(place, message, hint, "".join(line), width)

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
        return self.kind is Kind.LAYER and self.carries

    @property
    def carries(self) -> bool:
        """Whether it maps an input and a carry, of which it makes the first."""
        entry = self.method("forward")
        made = self.method("initial_carry") is not None
        return made and entry is not None and len(entry.positional) == 2

    @property
    def section(self) -> str:
        """The package of the generated module: the folder of its spec, or that of its kind."""
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

    @property
    def entries(self) -> tuple[Method, ...]:
        """The methods that are functions of the module; of a function, itself."""
        return tuple(m for m in self.methods if m.role is MethodRole.ENTRY)

    @property
    def entry(self) -> Method:
        """The first of them: `forward`, or the function itself; of the others the first method."""
        return self.method("forward") or self.methods[0]

    @property
    def returns_output(self) -> bool:
        """Whether it returns what the layers return that it is given."""
        returns = self.entry.returns
        return returns is not None and returns.name == OUTPUT

    def declared(self, *roles: Role) -> tuple[Declaration, ...]:
        return tuple(d for d in self.declarations if d.role in roles)

    @property
    def weights(self) -> tuple[Declaration, ...]:
        """The weights that have names of their own: not those of lists and dictionaries."""
        return tuple(d for d in self.declared(Role.TRAINABLE) if not d.members)

    def absent_sizes(self, array: ArrayType) -> tuple[str, ...]:
        """The hyperparameters that are sizes of an array, whatever the others are, and may be None."""
        named = array.shape.names() if isinstance(array.shape, Shape) else ()
        return tuple(
            h.name
            for h in self.hyperparameters
            if h.name in named and h.type.optional and h.type.word.names == "axis"
        )

    def depends(self, declaration: Declaration) -> bool:
        """Whether an initializer is built in `init`: a signature holds none but the known ones."""
        made = declaration.initializer
        if declaration.branches > 1:
            return True
        return made is not None and not is_initializer(made.tree, made.meanings)

    def expanded(self, expression: Expression) -> Expression:
        """An expression of `setup` in terms of hyperparameters, where its locals follow from them."""
        return expression.expanded(dict(self.bindings))

    @property
    def example_values(self) -> dict[str, str]:
        """Text of the hyperparameters of the first example; none without one."""
        if not self.examples:
            return {}
        return {name: value.text for name, value in self.examples[0].values}

    @property
    def example_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays of the first example; none without one."""
        return dict(self.examples[0].shapes) if self.examples else {}

    @property
    def result_shape(self) -> tuple[int, ...] | None:
        """The shape of the result in the first example; an input that is called so is none."""
        inputs = {i.name for method in self.methods for i in method.inputs}
        return None if RESULT in inputs else self.example_shapes.get(RESULT)

    @property
    def given_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the inputs in the first example."""
        shapes = self.example_shapes
        if self.result_shape is not None:
            del shapes[RESULT]
        return shapes

    @property
    def takes_weights(self) -> bool:
        """Whether `init` of an optimizer needs the weights."""
        tree = self.method("setup_tree")
        return bool(
            not self.structural()
            or self.declared(Role.OPTIMIZER)
            or self.method("setup")
            or (tree is not None and "params" in tree.names)
        )

    @property
    def has_optimizers(self) -> bool:
        """Whether it is an optimizer that is given or makes others."""
        return bool(self.structural() or self.declared(Role.OPTIMIZER))

    def structural(self) -> tuple[Hyperparameter, ...]:
        """The hyperparameters that are initialized layers or optimizers."""
        return tuple(h for h in self.hyperparameters if h.type.word.structural)

    def word(self, name: str) -> Word:
        """The word of the hyperparameter of a name."""
        return next(h.type.word for h in self.hyperparameters if h.name == name)

    def holding(self, *attributes: str) -> tuple[str, ...]:
        """Names of the hyperparameters whose words make attributes of these kinds."""
        return tuple(
            h.name for h in self.hyperparameters if h.type.word.attribute in attributes
        )
