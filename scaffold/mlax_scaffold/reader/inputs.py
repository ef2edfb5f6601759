"""Reads the array inputs of methods and functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import (
    ArrayType,
    Import,
    Input,
)
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.axes import parts_of
from mlax_scaffold.reader.checks.defaults import check_defaults, check_none
from mlax_scaffold.reader.checks.sequences import PASSED
from mlax_scaffold.reader.remedies.begun_inputs import with_fields
from mlax_scaffold.reader.remedies.given_keys import as_drawn, as_input, draws
from mlax_scaffold.reader.remedies.lengths import of_length
from mlax_scaffold.reader.remedies.modes import told
from mlax_scaffold.reader.remedies.names import renamed
from mlax_scaffold.reader.remedies.number_inputs import (
    as_field,
    as_number,
    of_training,
)
from mlax_scaffold.reader.remedies.numbers_instead import number_of
from mlax_scaffold.reader.remedies.signatures import (
    as_tuple,
    before_star,
    handed_on,
    keyword_only,
    with_word,
    without_star,
)
from mlax_scaffold.reader.remedies.trees import DICTIONARIES, typed_dict
from mlax_scaffold.reader.remedies.types import annotated
from mlax_scaffold.reader.resolution import HERE, Scope
from mlax_scaffold.reader.source import Source, kind_of_value
from mlax_scaffold.reader.types import (
    is_array_annotation,
    read_array_type,
    tree_of_class,
)

_GIVEN = (RESERVED | {"x"}) - {
    "fwd",
    "init",
    "placement",
    "static",
    "step_count",
    "trees",
}
"""What no input that is given by its name can be called: `fwd` has them."""

_UNKNOWN = {"image": 'Float["..."]'}
"""A field of a dictionary whose keys nothing says."""

ENTRY_SIGNATURE = 'def forward(self, x: Float["*batch features"]) -> Float["..."]'


def read_inputs(
    source: Source,
    arguments: ast.arguments,
    imports: Mapping[str, Import],
    *,
    skip: int = 0,
    passes: bool = False,
    optional: bool = False,
    several: bool = False,
) -> tuple[tuple[Input, ...], list[tuple[ast.arg, ast.expr | None]]]:
    """Array inputs of a signature, and the parameters that are something else.

    `optional` says whether one with a default is given by its name, wherever it stands,
    `several` whether there may be further ones, `*others: PyTree`.
    """
    inputs: list[Input] = []
    others: list[tuple[ast.arg, ast.expr | None]] = []
    positional = [*arguments.posonlyargs, *arguments.args][skip:]
    none: list[ast.expr | None] = [None] * len(positional)
    defaults = (
        (none + list(arguments.defaults))[-len(positional) :] if positional else []
    )
    for extra in arguments.posonlyargs:
        source.report(extra, "a spec's signature has no /", "Remove it.")
    if passes and arguments.kwarg is not None:
        _check_passed(source, arguments.kwarg)
    further = arguments.vararg if several else None
    if further is not None and not _is_tree(further.annotation):
        further = None
    stars = None if further else arguments.vararg
    for extra in (stars, None if passes else arguments.kwarg):
        if extra is not None:
            takes = several and extra is arguments.vararg
            hint = f"A function may have `*{extra.arg}: PyTree`." if takes else ""
            fix = without_star(source, extra) if extra is stars else None
            if fix is None and extra is stars and not several:
                hint = f"Arrays of any number are a tuple of them, `{extra.arg}: tuple[...]`."
                fix = as_tuple(source, extra)
            source.report(
                extra, "a spec's signature has no * or ** parameters", hint, fix=fix
            )
    pairs = [
        (arg, default, False) for arg, default in zip(positional, defaults, strict=True)
    ]
    pairs += [
        (arg, default, True)
        for arg, default in zip(
            arguments.kwonlyargs, arguments.kw_defaults, strict=True
        )
    ]
    for arg, default, keyword in pairs:
        array = tree_of_class(arg.annotation, imports)
        if array is None:
            if arg.annotation is None or not is_array_annotation(arg.annotation):
                others.append((arg, default))
                continue
            array = read_array_type(source, arg.annotation, imports)
        if array is not None:
            if default is not None and arg.annotation is not None:
                check_none(source, arg.annotation, default, taken=array.optional)
            inputs.append(
                Input(
                    arg.arg,
                    array,
                    keyword or (optional and default is not None),
                    Scope(source, imports).optional(default),
                    source.doc_comment(arg, default),
                )
            )
    if further is not None:
        tree, doc = ArrayType("PyTree"), source.doc_comment(further, None)
        place = sum(not item.keyword for item in inputs)
        inputs.insert(place, Input(further.arg, tree, doc=doc, several=True))
    return tuple(inputs), others


def _is_tree(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "PyTree"


def _check_passed(source: Source, arg: ast.arg) -> None:
    """The keyword inputs that a block hands to its layers have one name and one type."""
    given = "" if arg.annotation is None else unparsed(arg.annotation)
    if (arg.arg, given) != (PASSED, "PyTree"):
        source.report(
            arg,
            f"the keyword inputs that a block hands on are not `**{PASSED}: PyTree`",
            f"Write `**{PASSED}: PyTree`.",
            fix=handed_on(source, arg, PASSED),
        )


def entry_inputs(
    source: Source,
    method: ast.FunctionDef,
    imports: Mapping[str, Import],
    passes: bool,
) -> tuple[Input, ...]:
    """The inputs of an entry point; what is wrong with them is reported."""
    inputs, others = read_inputs(
        source, method.args, imports, skip=1, passes=passes, optional=True
    )
    check_defaults(source, method.args, imports)
    for item in inputs:
        place = parameter(method, item.name)
        key = place if item.keyword and item.type.kind == "Key" else None
        if isinstance(key, ast.arg) and _is_drawn(source, method, key):
            continue
        if item.keyword and item.name in _GIVEN:
            source.report(
                place,
                f"`{item.name}` is a name of the generated function",
                f"Choose another name, such as `{item.name}_`, or leave out its default: "
                "an input without one may have any name.",
                fix=None
                if item.name == "x"
                else renamed(source, method, item.name, f"{item.name}_"),
            )
    for arg, default in others:
        mended = of_training(source, method, arg)
        if mended is not None:
            source.report(
                arg,
                f"`{arg.arg}` is no input: every layer knows whether it is trained",
                f"Read `{told(arg.arg)}` in the body.",
                fix=mended,
            )
            continue
        if _is_drawn(source, method, arg):
            continue
        if (measured := of_length(source, method, arg)) is not None:
            source.report(
                arg,
                f"`{arg.arg}` is no array, as inputs are",
                "Take what is so long, and read its size.",
                fix=measured,
            )
            continue
        field = as_field(source, method, arg, default)
        if field is not None:
            source.report(
                arg,
                f"`{arg.arg}` is no array, as inputs are",
                "Make it a field of the class, which is known when a call is compiled.",
                fix=field,
            )
            continue
        hint = 'Annotate it, as in `x: Float["*batch features"]`.'
        given = ast.unparse(arg.annotation) if arg.annotation else ""
        if given in imports and imports[given].module == HERE:
            hint = (
                f"Give each field of {given} the type of an array, as in "
                '`nodes: Float["n features"]`.'
            )
        parts = parts_of(source, method, arg.arg)
        if given not in imports and (parts or given.partition("[")[0] in DICTIONARIES):
            fields = "; ".join(f"{k}: {v}" for k, v in (parts or _UNKNOWN).items())
            hint = (
                "The keys of a dictionary have to be known: write a `TypedDict` beside the "
                f"definition with a field for each, `{fields}`."
            )
        source.report(
            arg,
            f"the input `{arg.arg}` needs the type of an array",
            hint,
            fix=as_number(source, arg, default) or typed(source, method, arg, default),
        )
    taken = [*method.args.posonlyargs, *method.args.args]
    # That self is missing is told elsewhere.
    alone = [a.arg for a in taken] in ([], ["self"])
    if len(taken) < 2 and alone and not method.args.vararg:
        source.report(
            method, f"{method.name} takes no input", f"Write `{ENTRY_SIGNATURE}`."
        )
    elif inputs and not others and all(i.keyword for i in inputs):
        source.report(
            parameter(method, inputs[0].name),
            f"every input of {method.name} has a default",
            f"The first one is what `fwd` is called with: write `{inputs[0].name}` "
            "without a default.",
        )
    return tuple(
        replace(i, alias=f"{i.name}_") if i.name in RESERVED and not i.keyword else i
        for i in inputs
    )


def _is_drawn(source: Source, method: ast.FunctionDef, arg: ast.arg) -> bool:
    """Whether an input is a key that the layer may draw, which is reported."""
    fix = as_drawn(source, method, arg)
    if fix is not None:
        source.report(
            arg,
            f"`{arg.arg}` is no input: every layer is given a key",
            "Draw it in the body: `self.key()`.",
            fix=fix,
        )
    return fix is not None


def not_by_keyword(
    source: Source,
    function: ast.FunctionDef,
    arg: ast.arg,
    default: ast.expr | None,
    others: list[tuple[ast.arg, ast.expr | None]],
) -> None:
    """Report what is no input of a function, and no hyperparameter that is given by keyword.

    `others` are all such. What stands behind the first that no edit makes an input is by keyword, too.
    """
    if draws(function, arg.arg):
        told = f"the key `{arg.arg}` has no type"
        fix = typed(source, function, arg, default)
        source.report(arg, told, f"Write `{arg.arg}: Key`.", fix=fix)
        return
    if arg in function.args.kwonlyargs:
        fix = with_word(source, arg, default)
        source.report(arg, f"`{arg.arg}` needs a word of the vocabulary", fix=fix)
        return
    fix = typed(source, function, arg, default)
    if fix is None:
        first = next(o for o in others if typed(source, function, *o) is None)
        fix = keyword_only(source, function, *first)
    source.report(
        arg,
        f"`{arg.arg}` is positional but not an array",
        "Arrays are positional, hyperparameters keyword-only: put `*` before it.",
        fix=fix,
    )


def check_positional(
    source: Source, function: ast.FunctionDef, inputs: tuple[Input, ...]
) -> None:
    """Report arrays of a function that are given by keyword."""
    for item in inputs:
        if item.keyword:
            source.report(
                parameter(function, item.name),
                f"the array `{item.name}` must be positional",
                "Put it before the `*`.",
                fix=before_star(source, function, item.name),
            )


def typed(
    source: Source,
    function: ast.FunctionDef,
    arg: ast.arg,
    default: ast.expr | None,
) -> Fix | None:
    """The edit that gives an input the type that its uses say; None for one with a value as default."""
    if kind_of_value(default):
        return None
    if default is not None and (number := number_of(function, arg.arg)):
        return annotated(source, arg, default, number)
    parts = parts_of(source, function, arg.arg)
    if parts is None:
        return None
    if parts:
        return typed_dict(source, function, arg, parts)
    if draws(function, arg.arg):
        return as_input(source, function, arg, default)
    return with_fields(source, function, arg, default)


def parameter(method: ast.FunctionDef, name: str) -> ast.AST:
    """The place of a parameter in a signature."""
    parameters = [n for n in ast.walk(method.args) if isinstance(n, ast.arg)]
    return next((p for p in parameters if p.arg == name), method)
