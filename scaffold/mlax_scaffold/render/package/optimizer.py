"""What the templates of optimizers place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Declaration, Definition, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.places import container_of
from mlax_scaffold.model.reserved import OF_OPTIMIZERS
from mlax_scaffold.render.declared_shapes import shape_text
from mlax_scaffold.render.package.layer import (
    Field,
    FunctionView,
    hyper_methods,
    module_doc,
)
from mlax_scaffold.render.parameters import check, field_doc, unless
from mlax_scaffold.render.signatures import (
    needs,
    optimizer_init,
    optimizer_step,
)
from mlax_scaffold.render.text import (
    docstring,
    indented,
    offered,
    paragraphs,
    section,
    sentence,
    wrapped,
)
from mlax_scaffold.rewrite import Rewritten
from mlax_scaffold.rewrite.keys import PREPARE_KEY
from mlax_scaffold.rewrite.optimizer import NEXT, beside, counts, scalars


@dataclass(frozen=True)
class OptimizerView:
    """A generated optimizer module."""

    name: str
    doc: str
    exports: str
    """What the module offers, as source."""
    state: tuple[Field, ...]
    keeps_weights: bool
    """Whether the state is of weights, and not of their gradients alone."""
    hyperparams: tuple[Field, ...]
    methods: str
    """Source of the methods of the hyperparameters, not indented."""
    init: FunctionView
    step: FunctionView


def optimizer_view(
    definition: Definition, library: Library, methods: Mapping[str, Rewritten]
) -> OptimizerView:
    """The view of an optimizer."""
    return _OptimizerBuilder(definition, methods).view()


def container(d: Declaration) -> str:
    """What a moment is that holds several."""
    kinds = {"dict": "a dictionary of moments", "list": "a list of moments"}
    return kinds.get(container_of(d.members), "several moments")


class _OptimizerBuilder:
    def __init__(self, definition: Definition, methods: Mapping[str, Rewritten]):
        self.definition = definition
        self.methods = methods
        self.name = definition.name
        self.moments = definition.declared(Role.MOMENT)
        self.structural = definition.structural()
        self.states = definition.declared(Role.STATE)
        self.made = definition.declared(Role.OPTIMIZER)
        self.reads = frozenset().union(*(m.reads for m in definition.methods))
        self.counts = counts(definition)

    def _reads(self, method: str) -> frozenset[str]:
        found = self.definition.method(method)
        return frozenset() if found is None else found.reads

    def view(self) -> OptimizerView:
        return OptimizerView(
            self.name,
            module_doc(self.definition),
            offered(["init", "step", f"{self.name}Hyperparams", f"{self.name}State"]),
            tuple(self._state_fields()),
            self.definition.keeps_weights,
            (
                *(
                    Field(h.name, h.type.canonical, docstring(field_doc(h), 4))
                    for h in self.definition.hyperparameters
                ),
                *(Field(d.name, "OptimizerHyperparams") for d in self.made),
            ),
            hyper_methods(self.definition, self.methods),
            self._init(),
            self._step(),
        )

    def _state_fields(self):
        if self.counts:
            yield Field("step", "jax.Array", docstring("Number of steps so far."))
        for d in self.moments:
            own = f"at first {d.value}"
            each = "Structured"
            if d.members:
                own, each = container(d), "Each is structured"
            elif d.shape:
                own = f"of shape {shape_text(self.definition, d.shape)}"
            doc = d.doc or f"for each weight, {own}"
            absent = unless(d.condition, " ")
            text = f"{sentence(doc)} {each} like the weights.{absent}"
            text += "." if absent else ""
            yield Field(d.name, "Any", docstring(wrapped(text, 4), 4))
        for d in self.states:
            assert d.shape is not None
            doc = d.doc or f"of shape {d.shape.plain}"
            yield Field(d.name, "jax.Array", docstring(sentence(doc)))
        for h in self.structural:
            many = h.type.word.many
            kind = "tuple[Any, ...]" if many else "Any"
            yield Field(h.name, kind)
        for d in self.made:
            yield Field(d.name, "Any", docstring(f"State of {d.name}."))

    def _init(self) -> FunctionView:
        signature = optimizer_init(self.definition)
        doc = paragraphs(
            f"Create the state and the hyperparameters of {self.name}.",
            section("Args", signature.docs),
            "Returns:\n    `(state, hyperparams)`.",
            section(
                "Raises",
                [
                    ("ValueError", "where a hyperparameter is not what it may be."),
                    *(
                        ("ValueError", f"{r.message.rstrip('.')}.")
                        for r in self.definition.requirements
                        if r.method in ("setup", "setup_tree")
                    ),
                    *(
                        ("ValueError", f"where {name} selects no weight.")
                        for name in self.definition.holding("mask")
                        if not self._is_optional(name)
                    ),
                    *(
                        [("TypeError", "where a weight is not floating.")]
                        if self.definition.takes_weights
                        else []
                    ),
                ],
            ),
        )
        return FunctionView(
            signature,
            docstring(doc, 4),
            self._init_body(),
        )

    def _init_body(self) -> str:
        lines: list[str] = []
        if self.definition.takes_weights:
            lines.append(f"trees.check_weights({self.name!r}, trainables)")
        for h in self.definition.hyperparameters:
            if h.type.word.structural:
                lines.append(
                    f"{h.name}_state, {h.name}_hyperparams = "
                    f"checks.{h.type.word.check}({self.name!r}, {h.name}={h.name})"
                )
            elif h.type.word.attribute == "mask":
                lines.append(self._mask(h.name))
            else:
                lines.append(check(self.name, h))
        inner = (*self.structural, *self.made)
        fields = []
        if self.counts:
            fields.append(f"step=placement.create_count({beside(self.definition)})")
        fields += [f"{d.name}={d.name}" for d in self.states]
        if "setup" in self.methods:
            given = ["trainables", "moments", *self._selected(self._reads("setup"))]
            fields.append(f"**trees.unzip({', '.join(given)})")
        fields += [f"{part.name}={part.name}_state" for part in inner]
        given = ", ".join(
            f"{part.name}={part.name}{'_hyperparams' if part in inner else ''}"
            for part in (*self.definition.hyperparameters, *self.made)
        )
        hyperparams = f"hyperparams = {self.name}Hyperparams({given})"
        tree = self.methods.get("setup_tree")
        made = [] if tree is None else [tree.body.rstrip("\n")]
        # Methods are there for `setup_tree`, unless it makes optimizers, whose own are among them.
        lines += [*made, hyperparams] if self.made else [hyperparams, *made]
        if "setup" in self.methods:
            lines.append(self._moments())
        lines += [
            f"state = {self.name}State({', '.join(fields)})",
            "return state, hyperparams",
        ]
        return "\n".join(lines)

    def _is_optional(self, name: str) -> bool:
        fields = self.definition.hyperparameters
        return any(h.name == name and h.type.optional for h in fields)

    def _mask(self, name: str) -> str:
        required = "" if self._is_optional(name) else ", required=True"
        given = f"{self.name!r}, trainables, {name}={name}"
        kept = self.definition.word(name).kept
        return f"{name} = trees.{kept}({given}{required})"

    def _masks(self, reads: frozenset[str]) -> list[str]:
        """The masks that a function of one leaf is given."""
        return [name for name in self.definition.holding("mask") if name in reads]

    def _selected(self, reads: frozenset[str], owner: str = "") -> list[str]:
        return [
            f"trees.{self.definition.word(name).of_each}({owner}{name}, trainables)"
            for name in self._masks(reads)
        ]

    def _moments(self) -> str:
        names = ", ".join(f"{d.name!r}: {d.name}" for d in self.moments)
        body = self.methods["setup"].body.rstrip("\n")
        masks = "".join(
            f", {name}: {self.definition.word(name).of_one}"
            for name in self._masks(self._reads("setup"))
        )
        return "\n".join(
            [
                f"\ndef moments(param: jax.Array{masks}) -> dict[str, Any]:",
                indented(f"{body}\nreturn {{{names}}}\n"),
            ]
        )

    def _step(self) -> FunctionView:
        signature = optimizer_step(self.definition)
        doc = paragraphs(
            wrapped(f"One step of {self.name}: the updates to add to the weights.", 4),
            wrapped(signature.unused("Every optimizer"), 4),
            section("Args", signature.docs),
            "Returns:\n    `(updates, state)`; updates have the dtypes of the weights.",
            section(
                "Raises",
                [
                    (
                        "ValueError, TypeError",
                        "where gradients and weights differ in structure, shape or "
                        "dtype, or the state is of another optimizer or of other "
                        "weights.",
                    ),
                    *(
                        [("ValueError", f"where {' or '.join(missing)} is missing.")]
                        if (missing := needs(self.definition))
                        else []
                    ),
                ],
            ),
        )
        return FunctionView(
            signature,
            docstring(doc, 4),
            self._step_body(),
        )

    def _step_body(self) -> str:
        moments = "".join(f", {d.name!r}" for d in self.moments if not d.members)
        held = "".join(f"{d.name!r}, " for d in self.moments if d.members)
        moments += f", held=({held})" if held else ""
        of = f", trainables{moments}" if moments else ""
        given = ", per_example=True" if self.definition.per_example else ""
        lines = [
            f"trees.check_state({self.name!r}, state, {self.name}State{of})",
            f"trees.check_gradients({self.name!r}, gradients, trainables{given})",
        ]
        used = self.reads
        if "step" in used:
            lines.append(f"step = trees.scalar({NEXT})")
        if "step_number" in used:
            lines.append(f"step_number = {NEXT}")
        for name in self.definition.holding("scheduled"):
            if name in used:
                lines.append(
                    f"{name} = trees.scheduled(hyperparams.{name}, state.step)"
                )
        if "dither" in used:
            lines.append("dither = trees.dither(state.step)")
        if "step" in self.methods:
            return "\n".join([*lines, self.methods["step"].body])
        if "prepare" in self.methods:
            if "key" in self._reads("prepare") and "key" in self._reads("update"):
                given = f"trees.required({self.name!r}, key=key)"
                lines.append(f"{PREPARE_KEY}, key = arrays.split_keys({given}, 2)")
            lines.append(self.methods["prepare"].body.rstrip("\n"))
        names = [d.name for d in self.moments]
        # What `step` calls its own keeps its name.
        made = [f"new_{name}" if name in OF_OPTIMIZERS else name for name in names]
        reads = self._reads("update")
        draws = ["key"] if "key" in reads else []
        numbers = [name for name in scalars(self.definition) if name in reads]
        taken = ["grad", "param", *names, *numbers, *self._masks(reads), *draws]
        lines.append(
            "\n".join(
                [
                    f"\ndef update({', '.join(taken)}):",
                    indented(self.methods["update"].body),
                ]
            )
        )
        given = ["update", "trainables", "gradients"]
        given += [
            f"trees.Held(state.{d.name})" if d.members else f"state.{d.name}"
            for d in self.moments
        ]
        if numbers:
            given.append(f"scalars=({', '.join(numbers)},)")
        if any(h.name == "moment_dtype" for h in self.definition.hyperparameters):
            given.append("dtype=hyperparams.moment_dtype")
        if masks := self._selected(reads, "hyperparams."):
            given.append(f"masks=({', '.join(masks)},)")
        if draws:
            given.append(f"key=trees.required({self.name!r}, key=key)")
        targets = ", ".join(["updates", *made])
        unpacked = targets if names else "(updates,)"
        fields = [f"step={NEXT}"] if self.counts else []
        fields += [f"{name}={own}" for name, own in zip(names, made, strict=True)]
        lines.append(f"{unpacked} = trees.map_leaves({', '.join(given)})")
        replaces = "finish" in self.methods or self.states
        new = f"{self.name}State({', '.join(fields)})"
        if replaces:
            new = f"state._replace({', '.join(fields)})" if fields else "state"
        if "finish" in self.methods:
            lines += [f"state = {new}"] * bool(fields)
            lines += [self.methods["finish"].body.rstrip("\n"), "return updates, state"]
        else:
            lines.append(f"return updates, {new}")
        return "\n".join(lines)
