"""What goes wrong in generated code, as findings of the spec that it follows from."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.open_axes import with_given_layers, with_shapes, with_sizes
from mlax_scaffold.project.trial_failures import Failure, Frame
from mlax_scaffold.project.wide_values import explained_widening, widened_call
from mlax_scaffold.reader.origins import Origin, origin
from mlax_scaffold.reader.remedies.bodies import in_place, of_numpy
from mlax_scaffold.reader.remedies.choosing import chosen
from mlax_scaffold.reader.remedies.examples import with_example
from mlax_scaffold.reader.remedies.floating import as_floating
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.remedies.schedules import each_step, value_of
from mlax_scaffold.reader.remedies.traced_math import traced_math
from mlax_scaffold.reader.remedies.widening import (
    as_stored,
    of_chosen_numbers,
    of_one_dtype,
)
from mlax_scaffold.reader.source import Source
from mlax_scaffold.spelling import did_you_mean

_EVERY = (
    " No sizes that the tests choose are taken: axes of one size have one name in the types, "
    "`require` says what hyperparameters have to be, `examples` gives values that fit."
)
_EXAMPLE = (
    " The example of the page has them: `examples` of a class gives others that fit, and a "
    'type says that a size is a multiple, as in `Float["2*pairs"]`.'
)
_Remedy = Callable[[Source, Origin], Fix | None]


_ARGUMENTS = re.compile(
    "unexpected keyword argument|positional argument|missing [0-9]+ required|multiple values"
)
"""What Python says where a call does not fit the signature, whatever the values are."""
_REQUIRES = re.compile(r"\brequire(_key)?\(")
"""A requirement that does not begin its line; `required(` reads an input of a step, and is none."""


@dataclass(frozen=True)
class _Explanation:
    """What an exception means to the author of a spec."""

    message: str
    hint: str
    remedy: _Remedy | None = None


def explained_step(definition: Definition) -> list[Diagnostic]:
    """A schedule that has a value for one step alone."""
    source = Source(definition.source, definition.text)
    method = value_of(source, definition.name)
    source.report(
        method or _first_line(definition),
        f"{definition.name} takes one step, and no array of them",
        "Give a value for each: `jnp.vectorize(self.at_step)(step)`.",
        fix=each_step(source, method) if method else None,
    )
    return source.diagnostics


def explained(
    definition: Definition,
    traced: Definition,
    failure: Failure,
    frame: Frame,
    text: str,
) -> list[Diagnostic]:
    """A failure at the place of the spec that a line of the package follows from.

    None where an example that does not fit the layer may be at fault.

    Args:
        definition: what the line follows from.
        traced: what was traced.
        failure: what was raised.
        frame: the line.
        text: the generated module that it is in.
    """
    line = text.split("\n")[frame.line - 1].strip()
    if failure.axes and (given := with_given_layers(traced, failure)):
        return given
    if failure.axes and (sized := with_sizes(traced, failure)):
        return sized
    if failure.types and (shaped := with_shapes(traced, failure)):
        return shaped
    if "Widening" in failure.kinds:
        return explained_widening(definition, failure, frame, text)
    if (
        not failure.default
        and not failure.module
        and not _certain(failure, traced, frame, line)
    ):
        return []
    source = Source(definition.source, definition.text)
    # The place is sought in the tree that edits are of.
    found = origin(definition.text, text, frame.line, frame.span, source.tree)
    done = "imported" if failure.module else "traced"
    summary = failure.message.strip().split("\n")[0]
    said = _explanation(failure, traced)
    if failure.default:
        said = _Explanation(
            f"this refuses the defaults of {traced.name}, whatever else is given: {summary}",
            "Give it what it takes, by name where the order may be another one; or choose "
            "defaults that fit.",
        )
    if said is None:
        said = _Explanation(
            f"what {definition.name} becomes cannot be {done}: "
            f"{failure.kinds[0]}: {summary}",
            f"It is line {frame.line} of {frame.path}: `{line}`.",
        )
    message = said.message + (f", where {failure.option}" if failure.option else "")
    if found is None:
        source.report(_first_line(definition), message, said.hint)
        return source.diagnostics
    fix = said.remedy(source, found) if said.remedy else None
    source.report(_asked(found.node), message, said.hint, fix=fix)
    return source.diagnostics


def _asked(node: ast.AST) -> ast.AST:
    """What a choice asks for: Python before 3.12 gives the place of the whole where that is a name."""
    return node.test if isinstance(node, ast.IfExp) else node


def _certain(failure: Failure, traced: Definition, frame: Frame, line: str) -> bool:
    """Whether the spec is at fault, whatever it was given."""
    kinds = failure.kinds
    own = failure.frames[-1] == frame
    if "NameError" in kinds or "ImportError" in kinds:
        return True
    if "AttributeError" in kinds and (
        "module '" in failure.message or _OF_A_LAYER.search(failure.message)
    ):
        return True
    # A check of the generated code, or of the library: the example may be at fault.
    checked = line.startswith(("raise ", "checks.")) or bool(_REQUIRES.search(line))
    if failure.always:
        return not checked
    if own and "TypeError" in kinds and _ARGUMENTS.search(failure.message):
        return True
    inputs = [i.type for m in traced.methods if m.returns for i in m.inputs]
    if (
        any("PyTree" in str(i) or "..." in str(i) for i in inputs)
        or traced.structural()
    ):
        return "Tracer" in kinds[0] or _immutable(failure)
    return own and not checked and "AssertionError" not in kinds


def _immutable(failure: Failure) -> bool:
    return "item assignment" in failure.message or "immutable" in failure.message


def _explanation(failure: Failure, traced: Definition) -> _Explanation | None:
    kinds, message = failure.kinds, failure.message
    if "TracerBoolConversionError" in kinds or "truth value of an array" in message:
        return _Explanation(
            "this asks whether a traced value is true, which jax does not know while it "
            "traces",
            "Choose between two results by `jnp.where(condition, a, b)`, or run one of "
            "two functions by `lax.cond`; `if` is for hyperparameters and shapes.",
            lambda source, found: chosen(source, found.node),
        )
    if "TracerArrayConversionError" in kinds:
        return _Explanation(
            "NumPy is given a traced value, which has no numbers yet",
            "Use the function of jax.numpy.",
            _with_jax_numpy,
        )
    if "NonConcreteBooleanIndexError" in kinds:
        return _Explanation(
            "a mask chooses elements, so that the shape of the result depends on values",
            "Keep the shape: `jnp.where(mask, x, 0)`.",
        )
    if {"ConcretizationTypeError", "TracerIntegerConversionError"} & {*kinds}:
        return _Explanation(
            "this needs the number in a traced value, which jax does not know while it "
            "traces",
            "Compute with arrays (`lax.fori_loop` for a loop, `.astype` for a cast), or "
            "take the number from a hyperparameter or a shape.",
            lambda source, found: traced_math(source, found.node),
        )
    if carried := _CARRIED.findall(message):
        told = ", ".join(f"{a} becomes {b}" for a, b in carried)
        return _Explanation(
            f"what this carries does not keep its type: {told}",
            "Begin with what the step returns, or cast that: numbers alone, as in "
            "`jnp.where(x > 0, 1.0, 0.0)`, have the dtype of no array.",
            lambda source, _: of_chosen_numbers(source),
        )
    if mixed := re.search(r"(?:the same dtypes|one dtype), got ([\w:, ]+)", message):
        dtypes = [part.rpartition(": ")[2] for part in mixed[1].split(", ")]
        return _Explanation(
            f"the arguments have several dtypes: {', '.join(dtypes)}",
            "Cast the wider one to the dtype of the input, `jnp.asarray(..., x.dtype)`; "
            "`self.stored.name` is a state in its own.",
            lambda source, found: (
                as_stored(source, found.node, dtypes)
                or of_one_dtype(source, found.node, dtypes)
            ),
        )
    if wanted := re.search(
        r"(?:(\w+): (\w+) )?must be a floating array, got (?!a )(\w+)", message
    ):
        owner, name = wanted[1] or "", wanted[2] or ""
        return _Explanation(
            f"a strict function is given {wanted[3]}, and takes floating numbers",
            "Cast it to the dtype of the input: `jnp.asarray(..., x.dtype)`.",
            lambda source, found: as_floating(source, found.node, owner, name),
        )
    if re.search(
        r"float16.*(not supported|unsupported)|[Uu]nsupported.*float16", message
    ):
        return _Explanation(
            "this has no half precision",
            "Write `widened(function)(...)`, which computes it in float32 there, and casts "
            "what it returns back.",
            widened_call,
        )
    if _immutable(failure):
        return _Explanation(
            "arrays of jax cannot be assigned to in place",
            "Write `x = x.at[index].set(value)`.",
            _not_in_place,
        )
    if "UnboundLocalError" in kinds:
        name = _quoted(message)
        return _Explanation(
            f"`{name}` is read before anything is assigned to it",
            "Assign it on every path that leads here.",
        )
    if "NameError" in kinds:
        return _Explanation(f"`{_quoted(message)}` is not defined", "")
    wrong = re.search(r"got an unexpected keyword argument '(\w+)'", message)
    if wrong:
        return _Explanation(
            f"`{message.partition('(')[0]}` takes no `{wrong[1]}`",
            "See its documentation for what it takes.",
        )
    if _ARGUMENTS.search(message):
        return _Explanation(message.strip().split("\n")[0], "")
    of_layer = _OF_A_LAYER.search(message)
    if of_layer:
        return _Explanation(
            f"{of_layer[1]} has no `{of_layer[2]}`",
            "What is read of a layer is one of its hyperparameters, weights, states and layers.",
        )
    attribute = re.search(r"has no attribute '?(\w+)'?", message)
    if "AttributeError" in kinds and attribute:
        owner = re.search(r"'(\w+)' object has", message)
        if owner and attribute[1] in ARRAY_METHODS:
            return _Explanation(
                f"a {owner[1]} has no `{attribute[1]}`",
                "Arrays have it, and this is none.",
            )
        close = did_you_mean(attribute[1], ARRAY_METHODS)
        return _Explanation(f"an array has no `{attribute[1]}`", close)
    if _OF_SHAPES.search(message):
        summary = message.strip().split("\n")[0]
        return _Explanation(
            f"the shapes do not fit: {summary}",
            "The inputs have the shapes that their types say, with small sizes."
            + (_EVERY if failure.always else _EXAMPLE),
            lambda source, _: with_example(source, failure.fits, traced.name),
        )
    return None


_OF_SHAPES = re.compile(
    "shape|dimension|broadcast|rank|axis|contract|Size of label|Einstein sum|equal division"
)
"""What jax says where sizes do not fit."""

_CARRIED = re.compile(
    r"[Tt]he input carry(?: component)?(?: \S+)? has type (.+?) "
    r"but the corresponding output carry(?: component)? has type (.+?), so "
)
"""What `lax.scan` and its kind say of a part of a carry that comes out as another type."""

_OF_A_LAYER = re.compile(r"^(\w+)Hyperparams has no attribute '(\w+)'")
"""What the hyperparameters of a layer say of what it does not have."""

ARRAY_METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "astype", "at", "clip", "conj"),
    *("copy", "cumprod", "cumsum", "diagonal", "dot", "dtype", "flatten", "imag"),
    *("max", "min", "ndim", "ravel", "real", "repeat", "reshape", "round", "shape"),
    *("size", "sort", "squeeze", "swapaxes", "take", "trace", "transpose", "T"),
)
"""What arrays have, of what specs need."""


def _quoted(message: str) -> str:
    found = re.search(r"'(\w+)'", message)
    return found[1] if found else message


def _not_in_place(source: Source, found: Origin) -> Fix | None:
    match found.statement:
        case ast.Assign(targets=[ast.Subscript() as target]):
            return in_place(source, found.statement, target)
        case ast.AugAssign(target=ast.Subscript() as target):
            return in_place(source, found.statement, target)
    return None


def _with_jax_numpy(source: Source, found: Origin) -> Fix | None:
    names = {
        alias.asname or alias.name
        for node in source.tree.body
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    }
    for node in ast.walk(found.node):
        if isinstance(node, ast.Attribute):
            fix = of_numpy(source, node, names)
            if fix is not None:
                return fix
    match found.node:
        case ast.Subscript(value=array, slice=ast.expr()):
            # An array of NumPy that a traced number indexes.
            jnp = of_jax(source, "jnp")
            text = f"{jnp.bound}.asarray({source.text_of(array)})"
            return Fix((source.edit(array, text),), (jnp,))
    return None


def _first_line(definition: Definition) -> int:
    starts = (f"class {definition.name}", f"def {definition.name}")
    lines = definition.text.split("\n")
    return next((i for i, t in enumerate(lines, 1) if t.startswith(starts)), 1)
