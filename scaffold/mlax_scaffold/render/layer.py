"""What the templates of layers and blocks place: every piece of the module, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    Kind,
    Method,
    MethodRole,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.render import keyword_inputs
from mlax_scaffold.render.input_checks import InputChecks, counted_axes
from mlax_scaffold.render.outline import outline
from mlax_scaffold.render.parameters import (
    Parameter,
    array_doc,
    check,
    field_doc,
    hyperparameter,
    initializer,
    plain,
    weights,
)
from mlax_scaffold.render.text import (
    WIDTH,
    docstring,
    indented,
    opening,
    paragraphs,
    section,
    sentence,
    wrapped,
)
from mlax_scaffold.rewrite import Rewritten


@dataclass(frozen=True)
class Field:
    """A field of a NamedTuple or of the hyperparameters."""

    name: str
    annotation: str
    doc: str


@dataclass(frozen=True)
class FunctionView:
    """A generated function."""

    name: str
    signature: str
    returns: str
    doc: str
    body: str


@dataclass(frozen=True)
class LayerView:
    """A generated layer module."""

    name: str
    doc: str
    trainables: tuple[Field, ...]
    non_trainables: tuple[Field, ...]
    hyperparams: tuple[Field, ...]
    methods: str
    """Source of the methods of the hyperparameters, not indented."""
    init: FunctionView
    outline: str
    """The call of `init` that makes shapes in the place of arrays."""
    entries: tuple[FunctionView, ...]


def layer_view(
    definition: Definition, library: Library, methods: Mapping[str, Rewritten]
) -> LayerView:
    """The view of a layer or a block."""
    return _LayerBuilder(definition, library, methods).view()


def hyper_methods(definition: Definition, methods: Mapping[str, Rewritten]) -> str:
    """Source of the methods of the hyperparameters, and of what they say of keyword inputs."""
    parts = list(filter(None, [keyword_inputs.source(definition)]))
    for method in definition.methods:
        if method.role not in (MethodRole.HYPER, MethodRole.PROPERTY):
            continue
        rewritten = methods[method.name]
        lines = ["@property"] if method.role is MethodRole.PROPERTY else []
        lines.append(f"def {method.name}{rewritten.signature}:")
        doc = docstring(method.doc or f"{method.name}.", 4)
        lines.append(indented(doc + "\n" + rewritten.body))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


class _LayerBuilder:
    def __init__(
        self,
        definition: Definition,
        library: Library,
        methods: Mapping[str, Rewritten],
    ):
        self.definition = definition
        self.library = library
        self.methods = methods
        self.name = definition.name
        self.traits = library.traits(definition.reference)
        self.subs = library.sub_layers(definition)
        self.takes_key = self.traits.takes_key and definition.kind is Kind.LAYER

    def view(self) -> LayerView:
        entries = [m for m in self.definition.methods if m.role is MethodRole.ENTRY]
        return LayerView(
            name=self.name,
            doc=module_doc(self.definition),
            trainables=tuple(self._tree_fields(Role.TRAINABLE, "trainable")),
            non_trainables=tuple(self._tree_fields(Role.STATE, "stateful")),
            hyperparams=tuple(self._hyper_fields()),
            methods=hyper_methods(self.definition, self.methods),
            init=self._init(),
            outline=outline(self.definition, self.takes_key),
            entries=tuple(self._entry(m) for m in entries),
        )

    # Trees

    def _sub_declarations(self, trait: str) -> list[Declaration]:
        return [
            d
            for d in self.definition.declared(Role.SUB_LAYER)
            if getattr(self.subs[d.name], trait)
        ]

    def _tree_fields(self, role: Role, trait: str):
        for d in self.definition.declarations:
            if d.role is role:
                absent = f", or None unless {plain(d.condition)}" if d.condition else ""
                doc = f"{d.doc}: " if d.doc else ""
                annotation = "jax.Array | None" if d.optional else "jax.Array"
                yield Field(
                    d.name, annotation, docstring(f"{doc}{plain(d.shape)}{absent}.")
                )
            elif d.role is Role.SUB_LAYER and getattr(self.subs[d.name], trait):
                assert d.reference is not None
                tree = "Trainables" if role is Role.TRAINABLE else "NonTrainables"
                kind = f"{d.reference.name}.{d.reference.name}{tree}"
                yield Field(d.name, _nested(d, kind), docstring(f"Those of {d.name}."))
        for h in self.definition.structural():
            many = h.type.word.name == "SubLayers"
            annotation, doc = "tuple[Any, ...]" if many else "Any", f"Those of {h.name}"
            if many and role is Role.STATE:
                annotation += " | None"
                doc += ", or None where none of them has any"
            yield Field(h.name, annotation, docstring(f"{doc}."))

    def _hyper_fields(self):
        for h in self.definition.hyperparameters:
            yield Field(h.name, h.type.canonical, docstring(field_doc(h), 4))
        for d in self.definition.declared(Role.DERIVED):
            doc = sentence(d.doc) if d.doc else "Derived from the others."
            yield Field(d.name, d.annotation or "Any", docstring(doc))
        for d in self.definition.declared(Role.SUB_LAYER):
            assert d.reference is not None
            kind = f"{d.reference.name}.{d.reference.name}Hyperparams"
            yield Field(d.name, _nested(d, kind), docstring(f"Those of {d.name}."))

    # init

    @property
    def _layer_arguments(self) -> list[Parameter]:
        return [
            *map(hyperparameter, self.definition.hyperparameters),
            *map(hyperparameter, self.definition.initializers),
            *(initializer(self.definition, d) for d in weights(self.definition)),
        ]

    def _init(self) -> FunctionView:
        parameters = list(self._layer_arguments)
        if self.takes_key:
            parameters.insert(
                0, Parameter("key", "jax.Array", None, "PRNG key of the weights.")
            )
            dtype_doc = "dtype of the weights; None: that of their initializers."
            parameters.append(Parameter("dtype", "DTypeLike | None", "None", dtype_doc))
        required = [p for p in parameters if p.default is None]
        defaulted = [p for p in parameters if p.default is not None]
        doc = paragraphs(
            f"Create the weights and the hyperparameters of {self.name}.",
            section("Args", [(p.name, p.doc) for p in (*required, *defaulted)]),
            "Returns:\n    `(trainables, non_trainables, hyperparams)`.",
            self._raises(),
        )
        trainables = f"{self.name}Trainables" if self.traits.trainable else "None"
        state = f"{self.name}NonTrainables" if self.traits.stateful else "None"
        return FunctionView(
            "init",
            ", ".join(p.text for p in (*required, *defaulted)),
            f"tuple[{trainables}, {state}, {self.name}Hyperparams]",
            docstring(doc, 4),
            self._init_body(),
        )

    def _raises(self) -> str:
        messages = [
            r.message for r in self.definition.requirements if r.method == "setup"
        ]
        entries = [("ValueError", "where a hyperparameter is not what it may be.")]
        entries += [("ValueError", f"{m.rstrip('.')}.") for m in messages]
        if not self.definition.hyperparameters:
            return ""
        return section("Raises", entries)

    def _init_body(self) -> str:
        lines: list[str] = []
        for h in self.definition.hyperparameters:
            if not h.type.word.structural:
                lines.append(check(self.name, h))
        for h in self.definition.structural():
            word = h.type.word
            number = "depth, " if word.name == "Stacked" else ""
            lines.append(
                f"{h.name}_weights, {h.name}_state, {h.name}_hyperparams = "
                f"checks.{word.check}({self.name!r}, {number}{h.name}={h.name})"
            )
        keyed = [d for d in self.definition.declarations if d.role is not Role.DERIVED]
        if self.takes_key and len(keyed) > 1:
            lines.append(f"keys = arrays.declared_keys(key, {len(keyed)})")
        setup = self.methods.get("setup")
        if setup is not None:
            lines.append(setup.body.rstrip("\n"))
        lines.append(self._init_return())
        return "\n".join(line for line in lines if line != "pass")

    def _init_return(self) -> str:
        def tree(suffix: str, role: Role, trait: str, local: str) -> str:
            own = [f"{d.name}={d.name}" for d in self.definition.declared(role)]
            names = [d.name for d in self._sub_declarations(trait)]
            names += [h.name for h in self.definition.structural()]
            fields = {f.name: "" for f in self._tree_fields(role, trait)}
            fields |= dict(part.split("=") for part in own)
            fields |= {name: f"{name}_{local}" for name in names}
            given = ", ".join(f"{name}={value}" for name, value in fields.items())
            return f"{self.name}{suffix}({given})" if fields else "None"

        trainables = tree("Trainables", Role.TRAINABLE, "trainable", "weights")
        state = tree("NonTrainables", Role.STATE, "stateful", "state")
        given = []
        for f in self._hyper_fields():
            composed = f.name in self.subs or any(
                h.name == f.name for h in self.definition.structural()
            )
            given.append(f"{f.name}={f.name}{'_hyperparams' if composed else ''}")
        lines = []
        if trainables != "None":
            lines.append(f"trainables = {trainables}")
        if state != "None":
            lines.append(f"non_trainables = {state}")
        lines.append(f"hyperparams = {self.name}Hyperparams({', '.join(given)})")
        result = ", ".join(
            [
                "trainables" if trainables != "None" else "None",
                "non_trainables" if state != "None" else "None",
                "hyperparams",
            ]
        )
        return "\n".join([*lines, f"return {result}"])

    # fwd and its kin

    def _entry(self, method: Method) -> FunctionView:
        name = "fwd" if method.name == "forward" else method.name
        positional = method.positional
        single = len(positional) == 1
        x = positional[0].type.annotation if single else "Any"
        trainables = f"{self.name}Trainables" if self.traits.trainable else "None"
        state = f"{self.name}NonTrainables" if self.traits.stateful else "None"
        parameters = [
            f"x: {x}",
            f"trainables: {trainables}",
            f"non_trainables: {state}",
            f"hyperparams: {self.name}Hyperparams",
            "inference_mode: bool = False",
            "key: jax.Array | None = None",
        ]
        parameters += keyword_inputs.parameters(method)
        result = "Any" if method.returns is None else method.returns.annotation
        return FunctionView(
            name,
            ", ".join(parameters),
            f"tuple[{result}, {state}]",
            docstring(self._entry_doc(method, name), 4),
            self._entry_body(method),
        )

    def _entry_doc(self, method: Method, name: str) -> str:
        positional = method.positional
        if len(positional) == 1:
            x_doc = f"{positional[0].doc or array_doc(positional[0].type)}."
        else:
            parts = "; ".join(f"{i.name}: {array_doc(i.type)}" for i in positional)
            x_doc = f"tuple ({', '.join(i.name for i in positional)}). {parts}."
        mode = "static; whether state is kept and nothing is random."
        mode = mode if self.traits.training else "not used."
        key = "PRNG key; needed in training only." if self.traits.draws else "not used."
        if self.definition.kind is Kind.BLOCK:
            mode, key = "handed to the layers.", "PRNG key, split over the layers."
        entries = [
            ("x", x_doc),
            (
                "trainables",
                "weights, cast to the dtype of the input."
                if self.traits.trainable
                else "None.",
            ),
            (
                "non_trainables",
                "state, kept in its own dtype." if self.traits.stateful else "None.",
            ),
            ("hyperparams", "what `init` returned."),
            ("inference_mode", mode),
            ("key", key),
            *keyword_inputs.docs(method),
        ]
        result = "anything" if method.returns is None else array_doc(method.returns)
        floating = any("Float" in str(i.type) for i in positional)
        dtype = ", in the dtype of the input" if floating else ""
        raises = [("ValueError, TypeError", "where an input or a weight does not fit.")]
        raises += [
            ("ValueError", f"{r.message.rstrip('.')}.")
            for r in self.definition.requirements
            if r.method == method.name
        ]
        first = f"Apply {self.name}." if name == "fwd" else ""
        if not first and not method.doc:
            first = f"Compute {name} of {self.name}."
        return paragraphs(
            first,
            method.doc,
            section("Args", entries),
            "Returns:\n"
            + indented(wrapped(f"`(y, non_trainables)`; y is {result}{dtype}.", 8)),
            section("Raises", raises),
        )

    def _entry_checks(self, method: Method) -> list[str]:
        derived = self.definition.declared(Role.DERIVED)
        named = (*self.definition.hyperparameters, *derived)
        sizes = {item.name: f"hyperparams.{item.name}" for item in named}
        given = "trainables, non_trainables, hyperparams, inference_mode"
        lines = [f"checks.arguments({self.name!r}, {given})"]
        positional = method.positional
        if len(positional) > 1:
            names = ", ".join(i.name for i in positional)
            lines.append(
                f"{names} = checks.unpack({self.name!r}, '({names})', x, {len(positional)})"
            )
        if method.passes:
            lines.append(f"checks.passed({self.name!r}, hyperparams, inputs)")
        optional = frozenset(
            h.name for h in self.definition.hyperparameters if h.type.optional
        )
        axes = counted_axes(self.definition, method)
        checks = InputChecks(self.name, sizes, optional, axes)
        return [*lines, *checks.statements(method.inputs)]

    def _entry_body(self, method: Method) -> str:
        body = self.methods[method.name].body
        return "\n".join([*self._entry_checks(method), body])


def _nested(d: Declaration, kind: str) -> str:
    """The type of a tree of sub-layers, from that of one."""
    # Type checkers cannot follow that the condition decides all its trees.
    if d.optional:
        return "Any"
    return f"tuple[{kind}, ...]" if d.several else kind


def module_doc(definition: Definition) -> str:
    """The docstring of the module of a definition."""
    summary = definition.summary
    titled = f"{definition.name}: {_lower_first(summary)}"
    if not summary.startswith(definition.name) and len(titled) + 3 <= WIDTH:
        summary = titled
    return docstring(paragraphs(opening(summary), definition.description))


def _lower_first(text: str) -> str:
    """The text as it goes on after a colon; an acronym keeps its capitals."""
    if len(text) > 1 and text[1].isupper():
        return text
    return text[:1].lower() + text[1:]
