"""What a reference page says of dtypes and of errors."""

from __future__ import annotations

from collections.abc import Iterator

from mlax_scaffold.model.definition import Definition, Kind, Method, MethodRole
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.docs_accuracy import accuracy
from mlax_scaffold.render.docs_markdown import code, prose, table
from mlax_scaffold.render.input_checks import counted_axes
from mlax_scaffold.render.parameters import plain


def entries(definition: Definition) -> list[Method]:
    """The methods that are functions of the module, or the function itself."""
    if definition.kind is Kind.FUNCTION:
        return [definition.methods[0]]
    return [m for m in definition.methods if m.role is MethodRole.ENTRY]


def entry_name(method: Method) -> str:
    """The name of the function that a method becomes."""
    return "fwd" if method.name == "forward" else method.name


def dtypes(definition: Definition, library: Library) -> Iterator[str]:
    """Paragraphs on what the dtype guarantee means here."""
    return _Contract(definition, library).dtypes()


def errors(definition: Definition, library: Library) -> Iterator[str]:
    """The table of what is raised, and where."""
    return _Contract(definition, library).errors()


class _Contract:
    def __init__(self, definition: Definition, library: Library):
        self.definition = definition
        self.library = library
        self.layer = definition.kind in (Kind.LAYER, Kind.BLOCK)

    def dtypes(self) -> Iterator[str]:
        match self.definition.kind:
            case Kind.LAYER:
                yield self._layer_dtypes()
            case Kind.BLOCK:
                yield (
                    "Each layer computes in the dtype of the input that it is given; "
                    "the block itself casts nothing else. State stays in its own dtype."
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
        overrides = [
            f"{code(h.name)}: {prose(h.doc.rstrip('.'))}."
            if h.doc
            else f"{code(h.name)}."
            for h in self.definition.hyperparameters
            if h.type.word.name == "DType"
        ]
        if overrides:
            yield "Overridden only by " + " ".join(overrides)
        yield from accuracy(self.definition)

    def _layer_dtypes(self) -> str:
        traits = self.library.traits(self.definition.reference)
        method = self.definition.method("forward")
        floating = method and any("Float" in str(i.type) for i in method.positional)
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
        if any("Float" in str(i.type) for i in method.inputs):
            return "Computes in the dtype of its floating inputs; so is the result's."
        return "No input is floating; nothing is promoted."

    def errors(self) -> Iterator[str]:
        name = self.definition.name
        made = self.definition.kind in (Kind.FUNCTION, Kind.SCHEDULE)
        where = {"setup": name if made else "init", "forward": "fwd"}
        rows = [
            (
                code(name if made else "init"),
                "`ValueError`",
                code(f"{name}: {h.name} must be ..."),
                f"not {prose(h.type.takes)}",
            )
            for h in self.definition.hyperparameters
        ]
        rows += [
            (
                code(where.get(r.method, r.method)),
                "`ValueError`",
                prose(r.message),
                code(
                    plain(r.violation) if r.violation else f"not ({plain(r.condition)})"
                ),
            )
            for r in self.definition.requirements
        ]
        rows += self._input_errors()
        if rows:
            yield table(("raised by", "error", "message", "where"), rows)

    def _input_errors(self) -> Iterator[tuple[str, str, str, str]]:
        name = self.definition.name
        for method in entries(self.definition):
            entry = code(entry_name(method) if self.layer else name)
            shaped = [i for i in method.inputs if i.type.shape is not None]
            if shaped:
                names = ", ".join(code(i.name) for i in shaped)
                yield (
                    entry,
                    "`TypeError`, `ValueError`",
                    code(f"{name}: ..."),
                    f"{names} of another kind or shape than above",
                )
            for axis in counted_axes(self.definition, method):
                yield (
                    entry,
                    "`ValueError`",
                    code(f"{name}: {axis} must be ..."),
                    f"not different axes of {code(method.inputs[0].name)}",
                )
            if self.layer:
                yield (
                    entry,
                    "`TypeError`",
                    code(f"{name}: inference_mode ..."),
                    "`inference_mode` is traced, or neither True nor False",
                )
                yield (
                    entry,
                    "`ValueError`",
                    code(f"{name}: ... must have shape ..."),
                    "`trainables` or `non_trainables` are not those of `init` with the same "
                    "hyperparameters; inside of `jax.shard_map` they may be parts",
                )
        if self.layer and self.definition.kind is Kind.LAYER:
            traits = self.library.traits(self.definition.reference)
            if traits.draws:
                yield (
                    "`fwd`",
                    "`ValueError`",
                    code(f"{name}: ..."),
                    "random numbers are needed and `key` is None",
                )
        if self.definition.kind is Kind.OPTIMIZER:
            yield (
                "`step`",
                "`TypeError`, `ValueError`",
                code(f"{name}: ..."),
                "gradients and weights differ in structure, shape or dtype, or the "
                "state is another optimizer's",
            )
