"""What the templates of layers and blocks place: every piece of the module, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    Method,
    MethodRole,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.arrays import result_doc
from mlax_scaffold.render.package.held import held_doc, held_layers_doc
from mlax_scaffold.render.package.input_checks import (
    InputChecks,
    complex_check,
    counted_axes,
)
from mlax_scaffold.render.package.methods import hyper_methods, own_functions
from mlax_scaffold.render.package.outline import outline
from mlax_scaffold.render.parameters import check, field_doc, unless
from mlax_scaffold.render.signatures import (
    Signature,
    base_of,
    layer_entry,
    layer_init,
    with_output,
)
from mlax_scaffold.render.text import (
    WIDTH,
    docstring,
    indented,
    listed,
    lower_first,
    offered,
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
    doc: str = ""
    """A docstring literal; empty where name and type say it all."""


@dataclass(frozen=True)
class FunctionView:
    """A generated function."""

    signature: Signature
    doc: str
    body: str
    decorator: str = ""


@dataclass(frozen=True)
class LayerView:
    """A generated layer module."""

    name: str
    doc: str
    exports: str
    """What the module offers, as source."""
    trainables: tuple[Field, ...]
    non_trainables: tuple[Field, ...]
    hyperparams: tuple[Field, ...]
    base: str
    """The base of their class."""
    methods: str
    """Source of the methods of the hyperparameters, not indented."""
    init: FunctionView
    outline: str
    """The call of `init` that makes shapes in the place of arrays."""
    functions: str
    """Source of the methods that became functions of the module."""
    entries: tuple[FunctionView, ...]


def layer_view(
    definition: Definition, library: Library, methods: Mapping[str, Rewritten]
) -> LayerView:
    """The view of a layer or a block."""
    return _LayerBuilder(definition, library, methods).view()


def _is_public(method: Method) -> bool:
    """Whether a method is a function that people may call, too."""
    return method.role is MethodRole.OWN and not method.name.startswith("_")


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
        self.takes_key = library.takes_key(definition)

    def view(self) -> LayerView:
        entries = tuple(map(self._entry, self.definition.entries))
        names = ["init", *(entry.signature.name for entry in entries)]
        names += [m.name for m in self.definition.methods if _is_public(m)]
        names.append(f"{self.name}Hyperparams")
        if self.traits.trainable:
            names.append(f"{self.name}Trainables")
        if self.traits.stateful:
            names.append(f"{self.name}NonTrainables")
        return LayerView(
            name=self.name,
            doc=module_doc(self.definition),
            exports=offered(names),
            trainables=tuple(self._tree_fields(Role.TRAINABLE, "trainable")),
            non_trainables=tuple(self._tree_fields(Role.STATE, "stateful")),
            hyperparams=tuple(self._hyper_fields()),
            base=base_of(self.definition),
            methods=hyper_methods(self.definition, self.methods),
            init=self._init(),
            outline=outline(self.definition, self.takes_key),
            functions=own_functions(self.definition, self.methods),
            entries=entries,
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
            if d.role is role and d.members:
                yield Field(d.name, "Any", docstring(held_doc(d)))
            elif d.role is role:
                assert d.shape is not None
                condition = d.condition and self.definition.expanded(d.condition)
                absent = unless(condition, ", or ")
                shape = self.definition.expanded(d.shape).plain
                doc = f"{d.doc}: " if d.doc else ""
                annotation = "jax.Array | None" if d.optional else "jax.Array"
                text = wrapped(f"{doc}{shape}{absent}.", 4 + 3)
                yield Field(d.name, annotation, docstring(text, 4))
            elif d.role is Role.SUB_LAYER and getattr(self.subs[d.name], trait):
                if d.members:
                    yield Field(d.name, "Any", docstring(held_layers_doc(d)))
                    continue
                assert d.reference is not None
                tree = "Trainables" if role is Role.TRAINABLE else "NonTrainables"
                kind = f"{d.reference.name}.{d.reference.name}{tree}"
                yield Field(d.name, _nested(d, kind))
        for h in self.definition.structural():
            if not h.type.word.many:
                yield Field(h.name, "Any")
            elif role is Role.STATE:
                doc = docstring("None where no layer has any.")
                yield Field(h.name, "tuple[Any, ...] | None", doc)
            else:
                yield Field(h.name, "tuple[Any, ...]")

    def _hyper_fields(self):
        for h in self.definition.hyperparameters:
            kind = with_output(self.definition, h, h.type.canonical)
            yield Field(h.name, kind, docstring(field_doc(h), 4))
        for d in self.definition.declared(Role.DERIVED):
            doc = docstring(sentence(d.doc)) if d.doc else ""
            yield Field(d.name, d.annotation or "Any", doc)
        for d in self.definition.declared(Role.SUB_LAYER):
            if d.members:
                yield Field(d.name, "Any", docstring(held_layers_doc(d)))
                continue
            assert d.reference is not None
            kind = f"{d.reference.name}.{d.reference.name}Hyperparams"
            yield Field(d.name, _nested(d, kind))

    # init

    def _init(self) -> FunctionView:
        signature = layer_init(self.definition, self.library)
        doc = paragraphs(
            wrapped(self._creates(), 4),
            section("Args", signature.docs),
            "Returns:\n    `(trainables, non_trainables, hyperparams)`.",
            self._raises(),
        )
        return FunctionView(signature, docstring(doc, 4), self._init_body())

    def _creates(self) -> str:
        trees = [
            *(["the weights"] if self.traits.trainable else []),
            *(["the state"] if self.traits.stateful else []),
            "the hyperparameters",
        ]
        return (
            f"Create {listed(trees)} of {self.name}."
            if len(trees) > 1
            else (f"Create the hyperparameters of {self.name}, which has no weights.")
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
            number = "depth, " if word.stacked else ""
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
        signature = layer_entry(self.definition, self.library, method)
        doc = docstring(self._entry_doc(method, signature), 4)
        named = f"applied_by({self.name}Hyperparams, init)"
        if signature.name != "fwd":
            named = f"scoped({self.name!r})"
        return FunctionView(signature, doc, self._entry_body(method), named)

    def _entry_doc(self, method: Method, signature: Signature) -> str:
        result = result_doc(method.returns)
        state = "non_trainables" if self.traits.stateful else "None"
        floating = any(i.type.computes for i in method.positional)
        dtype = ", in the dtype of the input" if floating else ""
        raises = [("ValueError, TypeError", "where an input or a weight does not fit.")]
        raises += [
            ("ValueError", f"{r.message.rstrip('.')}.")
            for r in self.definition.requirements
            if r.method == method.name
        ]
        first = method.doc or f"Compute {method.name} of {self.name}."
        if method.name == "forward":
            first = opening(self.definition.summary, 4)
            first = paragraphs(first, method.doc)
        return paragraphs(
            first,
            wrapped(signature.unused("Every layer"), 4),
            section("Args", signature.docs),
            "Returns:\n"
            + indented(wrapped(f"`(y, {state})`; y is {result}{dtype}.", 8)),
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
            targets = ", ".join(i.variable for i in positional)
            lines.append(
                f"{targets} = checks.unpack({self.name!r}, '({names})', x, {len(positional)})"
            )
        if method.passes:
            lines.append(f"checks.passed({self.name!r}, hyperparams, inputs)")
        axes = counted_axes(self.definition, method)
        given = {i.name: "x" for i in positional if len(positional) == 1}
        checks = InputChecks(
            self.name,
            sizes,
            "hyperparams",
            axes,
            given,
            self.definition.absent_sizes,
        )
        return [*lines, *checks.statements(method.inputs), *self._complex(method)]

    def _complex(self, method: Method) -> list[str]:
        """What refuses half precision where there are no complex numbers."""
        if not self.library.refuses_half(self.definition):
            return []
        return complex_check(self.definition, method, "hyperparams.")

    def _entry_body(self, method: Method) -> str:
        body = self.methods[method.name].body
        return "\n\n".join(["\n".join(self._entry_checks(method)), body])


def _nested(d: Declaration, kind: str) -> str:
    """The type of a tree of sub-layers, from that of one."""
    # Type checkers cannot follow that the condition decides all its trees.
    if d.optional:
        return "Any"
    return f"tuple[{kind}, ...]" if d.several else kind


def module_doc(definition: Definition) -> str:
    """The docstring of the module of a definition."""
    return docstring(paragraphs(_titled(definition), definition.description))


def summary_doc(definition: Definition) -> str:
    """The docstring of a module whose definition has its own in it."""
    return docstring(_titled(definition))


def _titled(definition: Definition) -> str:
    """The summary, behind the name where there is room for that."""
    summary = definition.summary
    titled = f"{definition.name}: {lower_first(summary)}"
    if not summary.startswith(definition.name) and len(titled) + 3 <= WIDTH:
        summary = titled
    return opening(summary)
