"""The signatures of module classes, as data: of the constructor, and of what runs the entry points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlax_scaffold.model.arrays import OUTPUT
from mlax_scaffold.model.definition import (
    Definition,
    Hyperparameter,
    Kind,
    Method,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.arrays import array_doc
from mlax_scaffold.render.graph.sizes import inferred
from mlax_scaffold.render.signatures import (
    DTYPE,
    Parameter,
    Signature,
    hyperparameter,
    initializer,
    keyword_input,
    result_of,
)

SELF = Parameter("self", "", None, "")
_GRAPH = Parameter("graph", "Graph", None, "a node of its own, `graph.child(...)`.")
_STATIC = Parameter(
    "is_static",
    "bool",
    "False",
    "whether `apply` is a Python loop, and not a compiled one.",
)
_METADATA = Parameter(
    "metadata",
    "Mapping[str, Any] | None",
    "None",
    "of the parameters, by their names, such as "
    '`{"kernel": {"sharding": P(None, "model")}}`.',
)
_PARAMS = Parameter(
    "params", "Params", None, "the parameters: those that are missing are created."
)
_TRAINING = Parameter(
    "is_training",
    "bool",
    "True",
    "static; whether state changes and something may be random.",
    keyword=True,
)
_PASSED = Parameter(
    "**inputs", "Any", None, "keyword inputs, handed to the modules that take them."
)

OTHERS = frozenset(("Graph", "Module", "Params", "Rng"))
"""What a module class has of these names, so that it shows no NamedTuple that is called so."""


def constructor(definition: Definition, library: Library) -> Signature:
    """That of the constructor of a module class."""
    late = inferred(definition)
    known = [
        _field(definition, h) for h in definition.hyperparameters if h.name not in late
    ]
    parameters = (
        SELF,
        _GRAPH,
        *(p for p in known if p.default is None),
        *(p for p in known if p.default is not None),
        *(
            replace(_late(_field(definition, h)), keyword=True)
            for h in definition.hyperparameters
            if h.name in late
        ),
        *(replace(p, keyword=True) for p in settings(definition, library)),
    )
    return Signature("__init__", parameters, "None")


def _late(parameter: Parameter) -> Parameter:
    """A parameter that the first input can decide."""
    return replace(
        parameter,
        annotation=f"{parameter.annotation} | None",
        default="None",
        doc=f"{parameter.doc.rstrip('.')}; None: that of the first input.",
    )


def _field(definition: Definition, h: Hyperparameter) -> Parameter:
    name, word = definition.alias(h.name), h.type.word
    if not word.structural:
        return replace(hyperparameter(h), name=name)
    doc = h.doc.rstrip(".").replace("an initialized ", "a ").replace("initialized ", "")
    what = "modules" if word.many else "a module"
    doc = f"{doc} ({what})." if doc else f"{what}."
    if word.stacked:
        doc = "a module, whose parameters get a first axis: one entry for each time."
    return Parameter(name, "Iterable[Module]" if word.many else "Module", None, doc)


def is_weighted(definition: Definition, library: Library) -> bool:
    """Whether a module class creates weights of its own."""
    return library.traits(definition.reference).keyed


def settings(definition: Definition, library: Library) -> Iterator[Parameter]:
    """What a constructor takes beside hyperparameters."""
    traits = library.traits(definition.reference)
    weighted = is_weighted(definition, library)
    if definition.recurrent:
        yield _STATIC
    if weighted:
        yield from map(hyperparameter, definition.initializers)
        for d in definition.weights:
            yield initializer(definition, d)
        yield DTYPE
        yield _METADATA
    always = library.asks(definition, definition.entry) or not traits.training
    when = "" if always else " in training"
    uses = [
        *(["the keys of the weights"] if weighted else []),
        *([f"that of each call{when}"] if traits.draws else []),
    ]
    doc = f"gives {' and '.join(uses)}."
    if definition.kind is Kind.BLOCK:
        of_call = "that of each call in training" if weighted else "the key in training"
        doc = " and ".join([*uses[:weighted], of_call])
        doc = f"gives {doc}; None: the first one among the modules."
        uses = ["the keys of the modules"]
    if uses:
        yield Parameter("rng", "Rng | None", "None", doc)


def call(definition: Definition, method: Method) -> Signature:
    """That of the method of a module class that runs an entry point: `__call__` for `fwd`."""
    forward = method.name == "forward"
    return Signature(
        "__call__" if forward else method.name,
        (
            SELF,
            _PARAMS,
            *positional(definition, method),
            *map(keyword_input, method.keyword),
            _TRAINING,
            *([_PASSED] if method.passes else []),
        ),
        f"tuple[{_here(result_of(method))}, Params]",
    )


_OWN = frozenset(p.name for p in (SELF, _PARAMS, _TRAINING))


def positional(definition: Definition, method: Method) -> list[Parameter]:
    """The parameters of a call for the positional inputs."""
    found = [
        Parameter(
            f"{i.name}_" if i.name in _OWN else i.name,
            _here(i.type.annotation),
            None,
            f"{i.doc or array_doc(i.type)}.",
        )
        for i in method.positional
    ]
    match found:
        case [x]:
            return [replace(x, name="x")]
        case [x, state] if takes_state(definition, method):
            doc = f"{state.doc.rstrip('.')}; None: the initial one."
            return [
                replace(x, name="x"),
                Parameter("prev_state", "Any", "None", doc),
            ]
    return found


def takes_state(definition: Definition, method: Method) -> bool:
    """Whether the method is that of a cell, which can begin with its first carry."""
    return method.name == "forward" and definition.recurrent


def _here(annotation: str) -> str:
    """A type of the layer's module, unless this one has another thing of that name.

    What a module returns is known to no type of it.
    """
    return "Any" if annotation in (*OTHERS, OUTPUT) else annotation
