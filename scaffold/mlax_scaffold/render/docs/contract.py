"""What a reference page says of dtypes and of requirements."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mlax_scaffold.model.definition import Definition, Kind, Requirement, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.docs.accuracy import accuracy
from mlax_scaffold.render.docs.markdown import code, marked, prose
from mlax_scaffold.render.text import sentence


def dtypes(definition: Definition, library: Library) -> Iterator[str]:
    """Paragraphs on what the dtype guarantee means here."""
    return _Contract(definition, library).dtypes()


def requirements(definition: Definition) -> Iterator[str]:
    """The list of what has to hold beside what each parameter takes; nothing without any."""
    names = {h.name for h in definition.hyperparameters}
    names |= {i.name for method in definition.entries for i in method.inputs}
    lines = [f"- {_said(r, names)}" for r in definition.requirements]
    if lines:
        yield "\n".join(lines)


def _said(requirement: Requirement, names: Collection[str]) -> str:
    """What has to hold; of an error that a spec raises itself, also where it does."""
    message = marked(requirement.message, names)
    if requirement.violation is None:
        return prose(sentence(message))
    where = code(requirement.violation.plain)
    return f"{prose(message.rstrip('.'))}: a ValueError where {where}."


class _Contract:
    def __init__(self, definition: Definition, library: Library):
        self.definition = definition
        self.library = library
        self.layer = definition.kind.is_layer

    def dtypes(self) -> Iterator[str]:
        match self.definition.kind:
            case Kind.LAYER:
                yield self._layer_dtypes()
            case Kind.BLOCK:
                own = self.definition.declared(Role.TRAINABLE, Role.SUB_LAYER)
                rest = "its own weights are cast to that of the block's"
                yield (
                    "Each layer computes in the dtype of the input that it is given; "
                    f"{rest if own else 'the block itself casts nothing else'}. "
                    "State stays in its own dtype."
                )
            case Kind.FUNCTION:
                yield self._function_dtypes()
            case Kind.OPTIMIZER:
                yield (
                    "Each weight is updated in its own dtype, and its update has that "
                    "dtype. Coefficients that are the same for all weights are computed "
                    "in the default float dtype and cast once."
                )
            case Kind.SCHEDULE:
                yield (
                    "The value has the dtype of the step; a step that is an integer is "
                    "taken in the default float dtype."
                )
        if (
            self.library.traits(self.definition.reference).surrogate
            if self.layer
            else self.library.surrogate(self.definition)
        ):
            yield (
                "Its gradients are meant not to be the derivatives of its values: they "
                "are those that the spec gives, which tests compare with."
            )
        if (
            self.library.traits(self.definition.reference).complex_numbers
            if self.layer
            else self.library.has_complex(self.definition)
        ):
            yield (
                "Computes with complex numbers, in the precision of the input: complex64 "
                "for float32, complex128 for float64. Half precision has none, and is a "
                "TypeError."
            )
        if self.definition.smooth_at:
            given = (
                f"{code(s.name)} is from {s.low:g} to {s.high:g}"
                for s in self.definition.smooth_at
            )
            yield f"Gradients are tested where {', and '.join(given)}."
        overrides = [
            f"{code(h.name)}: {prose(h.doc.rstrip('.'))}."
            if h.doc
            else f"{code(h.name)}."
            for h in self.definition.hyperparameters
            if h.type.word.declares_dtype
        ]
        if overrides:
            yield "Overridden only by " + " ".join(overrides)
        yield from accuracy(self.definition)

    def _layer_dtypes(self) -> str:
        traits = self.library.traits(self.definition.reference)
        method = self.definition.method("forward")
        floating = method and any(i.type.computes for i in method.positional)
        text = (
            "Computes in the dtype of the input; the result has it too."
            if floating
            else "Computes in the dtype of its weights, since no input is floating."
            if traits.trainable
            else "Casts nothing: the input goes in as it is."
        )
        if traits.trainable and floating:
            text += " Weights are kept in theirs and cast where they are used."
        if traits.stateful:
            text += " State is stored in its own dtype, whatever the input's is."
        if traits.stored:
            text += (
                " What is computed for the new state only is computed in that dtype."
            )
        return text

    def _function_dtypes(self) -> str:
        method = self.definition.methods[0]
        if any(i.type.computes for i in method.inputs):
            return "Computes in the dtype of its floating inputs; so is the result's."
        return "No input is floating; nothing is promoted."
