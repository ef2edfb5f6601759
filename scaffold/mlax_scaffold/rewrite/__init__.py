"""Rewrites the methods of a spec into the bodies of pure functions: ordered lists of libcst passes.

Each pass is a module with `rewrite(function, context)`. The reader has refused what no pass can rewrite
faithfully, so a pass has no case for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst

from mlax_scaffold.errors import Location, SpecError
from mlax_scaffold.model.definition import (
    Definition,
    Kind,
    Method,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.needs import needs
from mlax_scaffold.reader.effects import marks_of
from mlax_scaffold.rewrite import (
    branches,
    closures,
    comprehensions,
    hyperparameters,
    keys,
    locals,
    loops,
    merges,
    optimizer,
    places,
    requirements,
    rereads,
    returns,
    setup,
    state,
    sub_layers,
    sub_optimizers,
    targets,
    trainables,
    training,
    values,
)
from mlax_scaffold.rewrite.context import Context, Pass
from mlax_scaffold.rewrite.functions import own_signature
from mlax_scaffold.rewrite.layout import normalized
from mlax_scaffold.rewrite.nodes import (
    comments_in,
    has_docstring,
    local_names,
    missing_comments,
    with_body,
    with_comments,
    with_prelude,
)

ENTRY: tuple[Pass, ...] = (
    closures.rewrite,
    requirements.rewrite,
    keys.rewrite,
    targets.rewrite,
    branches.rewrite,
    comprehensions.rewrite,
    loops.rewrite,
    sub_layers.rewrite,
    places.rewrite,
    rereads.rewrite,
    state.rewrite,
    merges.rewrite,
    trainables.rewrite,
    training.rewrite,
    hyperparameters.rewrite,
    returns.rewrite,
)
PASSES: Mapping[MethodRole, tuple[Pass, ...]] = {
    MethodRole.ENTRY: ENTRY,
    MethodRole.OWN: ENTRY,
    MethodRole.SETUP: (requirements.rewrite, locals.rewrite, setup.rewrite),
    MethodRole.SETUP_TREE: (requirements.rewrite, locals.rewrite, setup.rewrite),
    MethodRole.PREPARE: (
        closures.rewrite,
        requirements.rewrite,
        locals.rewrite,
        keys.rewrite,
        targets.rewrite,
        branches.rewrite,
        sub_optimizers.rewrite,
        optimizer.tree,
    ),
    MethodRole.UPDATE: (
        closures.rewrite,
        requirements.rewrite,
        locals.rewrite,
        keys.rewrite,
        branches.rewrite,
        optimizer.update,
    ),
    MethodRole.FINISH: (
        closures.rewrite,
        requirements.rewrite,
        locals.rewrite,
        keys.rewrite,
        targets.rewrite,
        branches.rewrite,
        sub_optimizers.rewrite,
        optimizer.tree,
    ),
    MethodRole.STEP: (
        closures.rewrite,
        requirements.rewrite,
        locals.rewrite,
        keys.rewrite,
        targets.rewrite,
        branches.rewrite,
        comprehensions.rewrite,
        loops.rewrite,
        sub_optimizers.rewrite,
        optimizer.step,
    ),
    MethodRole.HYPER: (requirements.rewrite,),
    MethodRole.PROPERTY: (requirements.rewrite,),
}


Passes = Callable[[Method, Definition], tuple[Pass, ...]]
"""Which passes a method is rewritten by."""


@dataclass(frozen=True)
class Rewritten:
    """A rewritten method."""

    signature: str
    """Its parameters and result as they stand in the spec, `self` included."""
    body: str
    """Its statements, not indented, without the docstring."""


def passes_of(method: Method, definition: Definition) -> tuple[Pass, ...]:
    """The passes that a method is rewritten by, in order."""
    # A function has no self to rewrite; a schedule stays the object that it is.
    if definition.kind.is_member:
        schedule = definition.kind is Kind.SCHEDULE
        return (requirements.rewrite, *([values.rewrite] if schedule else []))
    return PASSES[method.role]


def rewrite_methods(
    definition: Definition, library: Library, passes: Passes = passes_of
) -> Mapping[str, Rewritten]:
    """Every method of a definition (of a function: the function itself), by name.

    Args:
        definition: the definition.
        library: what it is built on.
        passes: which passes a method is rewritten by; another kind of output may have its own.

    Raises:
        SpecError: where the text cannot be rewritten: it is nested too deeply, or in too odd a form.
    """
    traits = library.sub_layers(definition)
    kinds = {
        r: library.traits(r)
        for d in definition.declared(Role.SUB_LAYER)
        for r in d.references
    }
    members = {
        m: library.member(m)
        for d in definition.declared(Role.SUB_LAYER)
        for m in d.members
        if isinstance(m.what, Reference)
    }
    fields = {r: library[r].structural() for r in kinds}
    stacked = {r: h.name for r, fs in fields.items() for h in fs if h.type.word.stacked}
    optimizers = {
        i.name: library[i.reference].takes_weights
        for i in definition.imports
        if i.reference and i.reference.section == Kind.OPTIMIZER.section
    }
    taken = needs(definition, library, library.traits(definition.reference))
    if not definition.kind.is_layer:
        taken = {}
    marks = marks_of(definition, library)
    given = (traits, kinds, members, stacked, optimizers, taken, marks)
    place = definition.source, definition.name, passes
    # Definitions are equal that say the same in other words: of their comments nothing is compared.
    whole = (definition.text, definition.core, definition, *given)
    before = _last.get(place)
    if before is None or before.given != whole:
        before = _last[place] = _Known(whole, _rewrite_all(definition, given, passes))
    return before.made


@dataclass(frozen=True)
class _Known:
    """What a definition was rewritten from, and to."""

    given: tuple[object, ...]
    made: Mapping[str, Rewritten]


# Who saves one spec while `watch` runs, waits for that one alone: what all the others are rewritten
# from is what it was.
_last: dict[tuple[str, str, Passes], _Known] = {}


def _rewrite_all(
    definition: Definition, given: tuple[Any, ...], passes: Passes
) -> Mapping[str, Rewritten]:
    try:
        module = normalized(definition.core)
    except cst.ParserSyntaxError as error:
        place = Location(definition.source, error.raw_line, error.raw_column + 1)
        message = "this is Python, and yet in a form that cannot be rewritten"
        hint = "Write it in a plainer way."
        raise SpecError([definition.finding(message, hint, place)]) from None
    try:
        functions = _functions(module, definition)
        return {
            method.name: _rewrite(
                functions[method.name],
                Context(definition, method, *given, texts=functions),
                passes(method, definition),
            )
            for method in definition.methods
        }
    except RecursionError:
        message = f"{definition.name} is nested too deeply to be rewritten"
        found = definition.finding(message, "Split the expression.")
        raise SpecError([found]) from None


def _rewrite(
    function: cst.FunctionDef, context: Context, passes: tuple[Pass, ...]
) -> Rewritten:
    function = _without_docstring(function)
    original = function.body
    signature = _signature(function)
    if context.definition.kind in (Kind.LAYER, Kind.BLOCK, Kind.OPTIMIZER):
        function = locals.make_way(function, context)
    for rewrite in passes:
        function = rewrite(function, context)
    function = training.simplified(function, context)
    rebinds = context.rebinds_input or context.tree_dtype
    rebinds = context.method.role is MethodRole.ENTRY and rebinds
    if rebinds and "dtype" in local_names(function):
        dtype = context.tree_dtype or f"{context.floating_input}.dtype"
        function = with_prelude(function, [f"dtype = {dtype}"])
    if context.is_own:
        signature = own_signature(function, context)
    # Comments of fields apart: looking for others in the text is cheaper than in the nodes.
    if "#" in context.definition.text.replace("#:", ""):
        function = _with_all_comments(function, original)
    return Rewritten(signature, _text(function))


def _without_docstring(function: cst.FunctionDef) -> cst.FunctionDef:
    """The function without its docstring; the comments around it go to the first statement."""
    block = cst.ensure_type(function.body, cst.IndentedBlock)
    body = list(block.body)
    comments = [] if block.header.comment is None else [block.header.comment.value]
    if has_docstring(function):
        comments += comments_in(body.pop(0))
    if body:
        first = cst.ensure_type(body[0], cst.BaseStatement)
        own = [line.comment.value for line in first.leading_lines if line.comment]  # type: ignore[attr-defined]
        bare = first.with_changes(leading_lines=[])
        body[0] = with_comments(bare, [*comments, *own])
    return with_body(function, body)


def _with_all_comments(
    function: cst.FunctionDef, original: cst.BaseSuite
) -> cst.FunctionDef:
    """The function, with the comments that no pass could keep in their place at its top."""
    lost = missing_comments(original, [function.body])
    lost = [comment for comment in lost if not comment.startswith("#:")]
    if not lost or not function.body.body:
        return function
    first, *rest = function.body.body
    first = cst.ensure_type(first, cst.BaseStatement)
    return with_body(function, [with_comments(first, lost), *rest])


def _functions(
    module: cst.Module, definition: Definition
) -> dict[str, cst.FunctionDef]:
    """The methods of the class, or the function itself."""
    found: dict[str, cst.FunctionDef] = {}
    for item in module.body:
        match item:
            case cst.ClassDef(
                name=cst.Name(value=definition.name), body=cst.BaseSuite(body=body)
            ):
                parts = body
            case cst.FunctionDef(name=cst.Name(value=definition.name)):
                parts = [item]
            case _:
                parts = []
        for part in parts:
            if isinstance(part, cst.FunctionDef):
                found[part.name.value] = part
    return found


def _signature(function: cst.FunctionDef) -> str:
    empty = cst.Module(body=[])
    parameters = empty.code_for_node(function.params)
    returns = function.returns
    result = "" if returns is None else f" -> {empty.code_for_node(returns.annotation)}"
    return f"({parameters}){result}"


def _text(function: cst.FunctionDef) -> str:
    block = cst.ensure_type(function.body, cst.IndentedBlock)
    header = [line for line in block.footer if line.comment]
    module = cst.Module([]).with_changes(body=block.body, footer=header)
    return module.code.strip("\n") + "\n"
