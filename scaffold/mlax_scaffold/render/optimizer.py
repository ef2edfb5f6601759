"""What the templates of optimizers and schedules place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.layer import Field, FunctionView, module_doc
from mlax_scaffold.render.parameters import canonical, check, hyperparameter, plain
from mlax_scaffold.render.text import (
    docstring,
    indented,
    paragraphs,
    section,
    sentence,
    wrapped,
)
from mlax_scaffold.rewrite import Rewritten


@dataclass(frozen=True)
class OptimizerView:
    """A generated optimizer module."""

    name: str
    doc: str
    state: tuple[Field, ...]
    hyperparams: tuple[Field, ...]
    init: FunctionView
    step: FunctionView


@dataclass(frozen=True)
class ScheduleView:
    """A generated schedule."""

    name: str
    doc: str
    fields: tuple[str, ...]
    checks: str
    call_doc: str
    body: str


def optimizer_view(
    definition: Definition, library: Library, methods: Mapping[str, Rewritten]
) -> OptimizerView:
    """The view of an optimizer."""
    return _OptimizerBuilder(definition, methods).view()


class _OptimizerBuilder:
    def __init__(self, definition: Definition, methods: Mapping[str, Rewritten]):
        self.definition = definition
        self.methods = methods
        self.name = definition.name
        self.moments = definition.declared(Role.MOMENT)
        self.structural = definition.structural()
        self.counts = any(
            "step" in self._reads(name) for name in ("update", "prepare")
        ) or bool(self._scheduled())

    def _scheduled(self) -> list[str]:
        return [
            h.name
            for h in self.definition.hyperparameters
            if h.type.word.name == "Scheduled"
        ]

    def _reads(self, method: str) -> set[str]:
        found = self.definition.method(method)
        return set() if found is None else set(found.reads)

    def view(self) -> OptimizerView:
        return OptimizerView(
            self.name,
            module_doc(self.definition),
            tuple(self._state_fields()),
            tuple(
                Field(h.name, h.type.canonical, docstring(sentence(h.doc)))
                for h in self.definition.hyperparameters
            ),
            self._init(),
            self._step(),
        )

    def _state_fields(self):
        if self.counts:
            yield Field("step", "jax.Array", docstring("Number of steps so far."))
        for d in self.moments:
            doc = d.doc or f"for each weight, of shape {plain(d.shape)}"
            yield Field(
                d.name,
                "Any",
                docstring(f"{sentence(doc)} Structured like the weights."),
            )
        for h in self.structural:
            yield Field(h.name, "tuple[Any, ...]", docstring(f"Those of {h.name}."))

    def _init(self) -> FunctionView:
        parameters = [hyperparameter(h) for h in self.definition.hyperparameters]
        signature = [p.text for p in parameters]
        documented = [(p.name, p.doc) for p in parameters]
        if not self.structural:
            signature.insert(0, "trainables: Any")
            documented.insert(
                0, ("trainables", "the weights: a tree of floating arrays.")
            )
        doc = paragraphs(
            f"Create the state and the hyperparameters of {self.name}.",
            section("Args", documented),
            "Returns:\n    `(state, hyperparams)`.",
            section(
                "Raises",
                [
                    ("ValueError", "where a hyperparameter is not what it may be."),
                    *(
                        ("ValueError", f"{r.message.rstrip('.')}.")
                        for r in self.definition.requirements
                        if r.method == "setup"
                    ),
                    *(
                        [("TypeError", "where a weight is not floating.")]
                        if not self.structural
                        else []
                    ),
                ],
            ),
        )
        return FunctionView(
            "init",
            ", ".join(signature),
            f"tuple[{self.name}State, {self.name}Hyperparams]",
            docstring(doc, 4),
            self._init_body(),
        )

    def _init_body(self) -> str:
        lines: list[str] = []
        if not self.structural:
            lines.append(f"trees.check_weights({self.name!r}, trainables)")
        for h in self.definition.hyperparameters:
            if h.type.word.structural:
                lines.append(
                    f"{h.name}_state, {h.name}_hyperparams = "
                    f"checks.sub_optimizers({self.name!r}, {h.name}={h.name})"
                )
            else:
                lines.append(check(self.name, h))
        fields = []
        if self.counts:
            fields.append("step=jnp.zeros((), jnp.int32)")
        if self.moments:
            lines.append(self._moments())
            fields.append("**trees.unzip(trainables, moments)")
        fields += [f"{h.name}={h.name}_state" for h in self.structural]
        given = ", ".join(
            f"{h.name}={h.name}{'_hyperparams' if h.type.word.structural else ''}"
            for h in self.definition.hyperparameters
        )
        lines += [
            f"state = {self.name}State({', '.join(fields)})",
            f"return state, {self.name}Hyperparams({given})",
        ]
        return "\n".join(lines)

    def _moments(self) -> str:
        names = ", ".join(f"{d.name!r}: {d.name}" for d in self.moments)
        body = self.methods["setup"].body.rstrip("\n")
        return "\n".join(
            [
                "\ndef moments(param: jax.Array) -> dict[str, jax.Array]:",
                indented(f"{body}\nreturn {{{names}}}\n"),
            ]
        )

    def _step(self) -> FunctionView:
        doc = paragraphs(
            wrapped(f"One step of {self.name}: the updates to add to the weights.", 4),
            section(
                "Args",
                [
                    (
                        "gradients",
                        "structured like the weights, with their shapes and dtypes.",
                    ),
                    ("state", "of the step before, or from `init`."),
                    ("trainables", "the weights."),
                    ("hyperparams", "what `init` returned."),
                ],
            ),
            "Returns:\n    `(updates, state)`; updates have the dtypes of the weights.",
            section(
                "Raises",
                [
                    (
                        "ValueError, TypeError",
                        "where gradients and weights differ in structure, shape or "
                        "dtype, or the state is of another optimizer.",
                    )
                ],
            ),
        )
        return FunctionView(
            "step",
            f"gradients: Any, state: {self.name}State, trainables: Any, "
            f"hyperparams: {self.name}Hyperparams",
            f"tuple[Any, {self.name}State]",
            docstring(doc, 4),
            self._step_body(),
        )

    def _step_body(self) -> str:
        lines = [
            f"trees.check_state({self.name!r}, state, {self.name}State)",
            f"trees.check_gradients({self.name!r}, gradients, trainables)",
        ]
        if "step" in self.methods:
            return "\n".join([*lines, self.methods["step"].body])
        used = self._reads("update") | self._reads("prepare")
        if "step" in used:
            lines.append("step = trees.scalar(state.step + 1)")
        for name in self._scheduled():
            if name in used:
                lines.append(
                    f"{name} = trees.scheduled(hyperparams.{name}, state.step)"
                )
        if "prepare" in self.methods:
            lines.append(self.methods["prepare"].body.rstrip("\n"))
        names = [d.name for d in self.moments]
        lines.append(
            "\n".join(
                [
                    f"\ndef update({', '.join(['grad', 'param', *names])}):",
                    indented(self.methods["update"].body),
                ]
            )
        )
        given = ["update", "trainables", "gradients"]
        given += [f"state.{name}" for name in names]
        if any(h.name == "moment_dtype" for h in self.definition.hyperparameters):
            given.append("dtype=hyperparams.moment_dtype")
        targets = ", ".join(["updates", *names])
        unpacked = targets if names else "(updates,)"
        fields = ["step=state.step + 1"] if self.counts else []
        fields += [f"{name}={name}" for name in names]
        lines += [
            f"{unpacked} = trees.map_leaves({', '.join(given)})",
            f"return updates, {self.name}State({', '.join(fields)})",
        ]
        return "\n".join(lines)


_CALL_DOC = """\
The value at a step.

Args:
    step: a number, or an array of them; integers are taken in the default float dtype.

Returns:
    The value, in the dtype and the shape of the step."""


def schedule_view(
    definition: Definition, methods: Mapping[str, Rewritten]
) -> ScheduleView:
    """The view of a schedule."""
    fields = []
    lines = []
    for h in definition.hyperparameters:
        p = hyperparameter(h)
        doc = docstring(wrapped(sentence(p.doc), 4 + 3))
        fields.append(f"{p.text}\n{doc}")
        made = canonical(definition.name, h, f"self.{h.name}")
        lines.append(f"object.__setattr__(self, {h.name!r}, {made})")
    if "setup" in methods:
        lines.append(methods["setup"].body.rstrip("\n"))
    return ScheduleView(
        definition.name,
        docstring(paragraphs(definition.summary, definition.description), 4),
        tuple(fields),
        "\n".join(lines),
        docstring(_CALL_DOC, 8),
        methods["value"].body,
    )
