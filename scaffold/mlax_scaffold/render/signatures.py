"""The signatures of generated functions, as data: what modules, pages, module classes and `show` say of them.

Each is built here, once, from the definition alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlax_scaffold.model.arrays import OUTPUT, ArrayType
from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    Hyperparameter,
    Input,
    Kind,
    Method,
    Role,
)
from mlax_scaffold.model.expressions import text_of
from mlax_scaffold.model.library import Library, Traits
from mlax_scaffold.render.arrays import array_doc
from mlax_scaffold.render.text import listed


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generated function."""

    name: str
    """With two stars where it takes all other keywords, with one where all further arguments."""
    annotation: str
    default: str | None
    doc: str
    keyword: bool = False
    used: bool = True
    """Whether what is given makes a difference."""

    @property
    def text(self) -> str:
        """How it stands in a definition."""
        given = f": {self.annotation}" if self.annotation else ""
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}{given}{default}"

    @property
    def call(self) -> str:
        """The same without its type."""
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class Signature:
    """The signature of a generated function."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str

    @property
    def text(self) -> str:
        """What follows `def`."""
        return f"{self.name}({', '.join(self._listed('text'))}) -> {self.returns}"

    @property
    def call(self) -> str:
        """Name and parameters, without types."""
        return f"{self.name}({', '.join(self._listed('call'))})"

    @property
    def docs(self) -> tuple[tuple[str, str], ...]:
        """The documentation of its parameters, by name: of those that make a difference."""
        return tuple((p.name, p.doc) for p in self.parameters if p.doc and p.used)

    def unused(self, whose: str) -> str:
        """What is said of parameters that are there because all layers, or optimizers, take them."""
        names = [f"`{p.name}`" for p in self.parameters if not p.used]
        if not names:
            return ""
        needs = ("does not need it", "needs neither", "needs none of them")
        return (
            f"{whose} takes {listed(names)}; this one {needs[min(len(names), 3) - 1]}."
        )

    def _listed(self, form: str) -> list[str]:
        texts = [getattr(p, form) for p in self.parameters]
        starred = any(p.name.count("*") == 1 for p in self.parameters)
        for place, parameter in enumerate(self.parameters):
            if parameter.keyword and not starred:
                return [*texts[:place], "*", *texts[place:]]
        return texts


def signatures(definition: Definition, library: Library) -> tuple[Signature, ...]:
    """Those of every function that a definition offers, in the order of its module."""
    match definition.kind:
        case Kind.LAYER | Kind.BLOCK:
            entries = (layer_entry(definition, library, m) for m in definition.entries)
            return (layer_init(definition, library), *entries)
        case Kind.FUNCTION:
            return (function_call(definition),)
        case Kind.OPTIMIZER:
            return (optimizer_init(definition), optimizer_step(definition))
        case Kind.SCHEDULE:
            return (schedule_init(definition), SCHEDULE_CALL)


# Parameters


def hyperparameter(h: Hyperparameter) -> Parameter:
    """The parameter of `init` that a hyperparameter is."""
    takes = h.type.takes
    doc = f"{h.doc.rstrip('.')} ({takes})." if h.doc else f"{takes}."
    if h.doc and h.type.argument == "bool":
        doc = f"{h.doc.rstrip('.')}."
    return Parameter(h.name, h.type.argument, text_of(h.default), doc)


def initializer(definition: Definition, d: Declaration) -> Parameter:
    """The parameter of `init` for the initializer of a weight."""
    assert d.initializer is not None
    assert d.shape is not None
    kind, default = "arrays.Initializer", d.initializer.text
    shape = definition.expanded(d.shape).plain
    doc = f"initializer of `{d.name}`, of shape {shape}"
    if definition.depends(d):
        kind, default = f"{kind} | None", "None"
        doc = f"{doc}; None: {definition.expanded(d.initializer).plain}"
    return Parameter(f"{d.name}_initializer", kind, default, f"{doc}.")


def keyword_input(item: Input) -> Parameter:
    """The keyword-only parameter that a keyword input is."""
    return replace(array_input(item), keyword=True)


def array_input(item: Input) -> Parameter:
    """The parameter that an input is."""
    before = f"{item.doc.rstrip('.')}: " if item.doc else ""
    doc = f"{before}{array_doc(item.type)}."
    if item.several:
        doc = f"any number of further inputs, each {array_doc(item.type)}."
    name = f"*{item.name}" if item.several else item.name
    return Parameter(name, item.type.annotation, text_of(item.default), doc)


DTYPE = Parameter(
    "dtype",
    "DTypeLike | None",
    "None",
    "dtype of the weights; None: that of their initializers.",
)
PASSED = Parameter(
    "**inputs", "Any", None, "keyword inputs, handed to the layers that take them."
)


def result_of(method: Method) -> str:
    """Type of the result of a method."""
    return "Any" if method.returns is None else method.returns.annotation


# Layers and blocks


def weights_of(definition: Definition, traits: Traits) -> tuple[str, str]:
    """Types of the trainables and the non-trainables."""
    name = definition.name
    trainables = f"{name}Trainables" if traits.trainable else "None"
    return trainables, f"{name}NonTrainables" if traits.stateful else "None"


def with_output(definition: Definition, h: Hyperparameter, annotation: str) -> str:
    """The type of a layer that a block is given, with what it returns where the block does."""
    if not definition.returns_output or not h.type.word.returns:
        return annotation
    returning = f"LayerHyperparams[{OUTPUT}]"
    annotation = annotation.replace("LayerHyperparams", returning)
    return annotation.replace("InitializedLayer", f"tuple[Any, Any, {returning}]")


def hyperparams_of(definition: Definition) -> str:
    """The type of the hyperparameters."""
    name = f"{definition.name}Hyperparams"
    return f"{name}[{OUTPUT}]" if definition.returns_output else name


def base_of(definition: Definition) -> str:
    """The base of their class: it tells what `fwd` returns, where arrays are all of it."""
    returns = definition.entry.returns
    if returns is None or not _is_known(returns):
        return "OfLayer"
    return f"OfLayer[{returns.annotation}]"


def _is_known(array: ArrayType) -> bool:
    """Whether a type is made of arrays, which may be looked up at import."""
    if array.kind == "PyTree":
        return array.name in (OUTPUT, "jax.Array")
    return not array.name and all(
        item.kind == "..." or not item.name for item in array.items
    )


def layer_init(definition: Definition, library: Library) -> Signature:
    """That of `init` of a layer or a block."""
    traits = library.traits(definition.reference)
    parameters = [
        *(_given(definition, h) for h in definition.hyperparameters),
        *map(hyperparameter, definition.initializers),
        *(initializer(definition, d) for d in definition.weights),
    ]
    if library.takes_key(definition):
        key = Parameter("key", "jax.Array", None, "PRNG key of the weights.")
        parameters = [key, *parameters, DTYPE]
    required = [p for p in parameters if p.default is None]
    defaulted = [p for p in parameters if p.default is not None]
    trees = ", ".join((*weights_of(definition, traits), hyperparams_of(definition)))
    return Signature("init", (*required, *defaulted), f"tuple[{trees}]")


def layer_entry(definition: Definition, library: Library, method: Method) -> Signature:
    """That of `fwd`, or of another entry point."""
    traits = library.traits(definition.reference)
    trainables, state = weights_of(definition, traits)
    block = definition.kind is Kind.BLOCK
    mode = "static; whether state is kept and nothing is random."
    key = "PRNG key; needed in training only."
    if library.asks(definition, method) or not traits.training:
        mode, key = "static; whether state is kept.", "PRNG key; needed."
    if block:
        mode, key = "handed to the layers.", "PRNG key, split over the layers."
    cast = "weights, cast to the dtype of the input." if traits.trainable else "None."
    kept = "state, kept in its own dtype." if traits.stateful else "None."
    made = "what `init` returned."
    return Signature(
        method.function,
        (
            _x(method),
            Parameter("trainables", trainables, None, cast),
            Parameter("non_trainables", state, None, kept),
            Parameter("hyperparams", hyperparams_of(definition), None, made),
            _unless(
                Parameter("inference_mode", "bool", "False", mode),
                unused=not (block or traits.training),
            ),
            _unless(
                Parameter("key", "jax.Array | None", "None", key),
                unused=not (block or traits.draws),
            ),
            *map(keyword_input, method.keyword),
            *([PASSED] if method.passes else []),
        ),
        f"tuple[{result_of(method)}, {state}]",
    )


def _given(definition: Definition, h: Hyperparameter) -> Parameter:
    parameter = hyperparameter(h)
    kind = with_output(definition, h, parameter.annotation)
    return replace(parameter, annotation=kind)


def _unless(parameter: Parameter, *, unused: bool) -> Parameter:
    """The parameter; it may be there because all layers take it."""
    return replace(parameter, used=False) if unused else parameter


def _x(method: Method) -> Parameter:
    """The one input of an entry point, or the tuple of several."""
    match method.positional:
        case (x,):
            called = "" if x.name == "x" else f"{x.name}: "
            doc = f"{called}{x.doc or array_doc(x.type)}."
            return Parameter("x", x.type.annotation, None, doc)
        case several:
            parts = "; ".join(f"{i.name}: {array_doc(i.type)}" for i in several)
            doc = f"tuple ({', '.join(i.name for i in several)}). {parts}."
            return Parameter("x", "Any", None, doc)


# The others


def function_call(definition: Definition) -> Signature:
    """That of a function."""
    method = definition.entry
    named = map(hyperparameter, definition.hyperparameters)
    parameters = (
        *map(array_input, method.inputs),
        *(replace(p, keyword=True) for p in named),
    )
    return Signature(definition.name, parameters, result_of(method))


def optimizer_init(definition: Definition) -> Signature:
    """That of `init` of an optimizer."""
    weights = Parameter(
        "trainables", "Any", None, "the weights: a tree of floating arrays."
    )
    name = definition.name
    return Signature(
        "init",
        (
            *([weights] if definition.takes_weights else []),
            *map(hyperparameter, definition.hyperparameters),
        ),
        f"tuple[{name}State, {name}Hyperparams]",
    )


STEP_INPUTS = {
    "value": ("jax.Array | None", "the loss at the weights"),
    "value_and_gradients": (
        "Callable[[Any], tuple[jax.Array, Any]] | None",
        "a function of weights that returns the loss there and its gradients",
    ),
    "key": ("jax.Array | None", "a PRNG key"),
}
"""The inputs of `step` that are keyword-only: types, and what they are."""


def needs(definition: Definition) -> list[str]:
    """The inputs of `step` without which an optimizer cannot do."""
    reads = frozenset().union(*(m.reads - m.compared for m in definition.methods))
    return [name for name in STEP_INPUTS if name in reads]


def optimizer_step(definition: Definition) -> Signature:
    """That of `step`, which is the same for every optimizer."""
    name, needed = definition.name, needs(definition)
    handed_on = bool(definition.structural() or definition.declared(Role.OPTIMIZER))
    given = (
        "those of each example, stacked along a first axis: structured like the "
        "weights, of the shapes (examples, *weight.shape) and their dtypes."
        if definition.per_example
        else "structured like the weights, with their shapes and dtypes."
    )
    return Signature(
        "step",
        (
            Parameter("gradients", "Any", None, given),
            Parameter(
                "state", f"{name}State", None, "of the step before, or from `init`."
            ),
            Parameter("trainables", "Weights", None, "the weights."),
            Parameter(
                "hyperparams", f"{name}Hyperparams", None, "what `init` returned."
            ),
            *(
                Parameter(
                    called,
                    kind,
                    "None",
                    f"{doc}; {'needed' if called in needed else 'handed on'}.",
                    keyword=True,
                    used=called in needed or handed_on,
                )
                for called, (kind, doc) in STEP_INPUTS.items()
            ),
        ),
        f"tuple[Weights, {name}State]",
    )


def schedule_init(definition: Definition) -> Signature:
    """That of the class of a schedule, whose parameters are its fields."""
    fields = tuple(map(hyperparameter, definition.hyperparameters))
    return Signature(definition.name, fields, definition.name)


SCHEDULE_CALL = Signature(
    "__call__",
    (
        Parameter("self", "", None, ""),
        Parameter("step", "ArrayLike", None, "a number, or an array of steps."),
    ),
    "jax.Array",
)
