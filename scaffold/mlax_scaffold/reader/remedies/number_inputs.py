"""What stands among the inputs and is no array: flags, numbers, texts, and whether a layer is trained."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.likeness import single_arrays
from mlax_scaffold.reader.remedies.modes import TRAINS, mode
from mlax_scaffold.reader.remedies.types import needed
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    defaults_of,
    dotted,
    kind_of_value,
    self_attribute,
)


def of_training(
    source: Source, method: ast.FunctionDef, argument: ast.arg
) -> Fix | None:
    """A method that reads `self.training`, in the place of a parameter that tells it."""
    name = argument.arg
    if name not in TRAINS:
        return None
    return _read(
        source, method, argument, lambda node: mode(source, method, node, name)
    )


def as_field(
    source: Source,
    method: ast.FunctionDef,
    argument: ast.arg,
    default: ast.expr | None,
) -> Fix | None:
    """A parameter that is a flag, a number or a text as a field, `with_map: bool = False`.

    One without a default becomes a field without one, before those that have one.
    """
    name = argument.arg
    match default:
        case None if argument.annotation is not None:
            kind = _plain(source, argument.annotation)
            if kind == "float" or (
                kind == "int" and not _is_static(source, method, name)
            ):
                return None
        case ast.Constant(value=value) if argument.annotation is not None and (
            plain := _plain(source, argument.annotation)
        ):
            kind = plain if value is not None else f"{plain} | None"
        case ast.Constant() | ast.UnaryOp() if kind_of_value(default):
            kind = kind_of_value(default)
        case ast.Constant(value=None) if argument.annotation is not None:
            kind = _or_none(argument.annotation)
        case ast.Constant(value=None) if number := _in_place(source, method, name):
            kind = number
        case _:
            return None
    given = argument.annotation
    plain = given is None or kind in (unparsed(given), source.text_of(given))
    plain = bool(kind) and (plain or kind.endswith(" | None"))
    owner = class_of(source.tree, method)
    if owner is None:
        return None
    fields = [n for n in owner.body if isinstance(n, ast.AnnAssign)]
    named = {unparsed(f.target) for f in fields}
    named |= {n.attr for n in ast.walk(owner) if isinstance(n, ast.Attribute)}
    named |= {f.name for f in owner.body if isinstance(f, ast.FunctionDef)}
    # A method of that name keeps it.
    name += "_" if name in named else ""
    read = _read_anew(source, method, argument, f"self.{name}") or _read(
        source, method, argument, lambda node: source.edit(node, f"self.{name}")
    )
    if not plain or name in named or read is None or not fields:
        return None
    if default is None:
        filled = [f for f in fields if f.value is not None]
        line = filled[0].lineno if filled else (fields[-1].end_lineno or 0) + 1
        before = source.lines[line - 2].strip()
        if filled and before.startswith("#:"):
            return None
        text = f"    {name}: {kind}\n"
        return Fix((*read.edits, source.replace((line, 1), (line, 1), text)))
    end = fields[-1].end_lineno or fields[-1].lineno
    text = f"    {name}: {kind} = {source.text_of(default)}\n"
    return Fix((*read.edits, source.replace((end + 1, 1), (end + 1, 1), text)))


def as_number(
    source: Source, argument: ast.arg, default: ast.expr | None
) -> Fix | None:
    """A number that each call gives, `t: float`, as an array of no axes."""
    given = argument.annotation
    kind = {"float": "Float", "int": "Int"}.get(_plain(source, given) if given else "")
    if default is not None or given is None or kind is None:
        return None
    text = f'{kind}[""]'
    return Fix((source.edit(given, text),), needed(text))


_NUMBERS = ("bool", "float", "int", "str", "Positive", "NonNegative", "Probability")
_KINDS = (*_NUMBERS, "Count", "Decay", "Fraction", "Size")

_OPERATIONS = frozenset(
    [
        *(
            "sin",
            "cos",
            "tanh",
            "exp",
            "log",
            "log1p",
            "expm1",
            "sqrt",
            "square",
            "abs",
        ),
        *("minimum", "maximum", "clip", "where", "asarray", "array", "full_like"),
    ]
)
"""What takes a number that is traced, and gives one."""


def _plain(source: Source, annotation: ast.expr) -> str:
    """The type of a flag, a number or a text, as a field has it; empty for any other."""
    text = unparsed(annotation)
    chosen = isinstance(annotation, ast.Subscript) and (
        unparsed(annotation.value).rpartition(".")[2] == "Literal"
    )
    return source.text_of(annotation) if chosen or text in _KINDS else ""


def _is_static(source: Source, method: ast.FunctionDef, name: str) -> bool:
    """Whether a number may have to be known when a call is compiled: a size, a choice, a place among layers.

    It need not where results are computed with it, or where it is an argument of an
    operation or the index of an array.
    """
    above = {
        child: node for node in ast.walk(method) for child in ast.iter_child_nodes(node)
    }
    arrays = single_arrays(class_of(source.tree, method))
    for node in ast.walk(method):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        inner, outer, traced = node, above[node], False
        while isinstance(outer, ast.expr) and not traced:
            traced = _takes(outer, inner, arrays)
            if not traced and not _computes(outer):
                return True
            inner, outer = outer, above[outer]
        if not traced and not isinstance(outer, ast.Return):
            return True
    return False


def _computes(node: ast.expr) -> bool:
    match node:
        case ast.BinOp() | ast.UnaryOp(op=ast.USub()):
            return True
    return False


def _takes(node: ast.expr, operand: ast.AST, arrays: Collection[str | None]) -> bool:
    """Whether an operation or an index takes the operand as it takes arrays."""
    match node:
        case ast.Call(func=function, args=args):
            name = (dotted(function) or "").rpartition(".")[2]
            return operand in args and name in _OPERATIONS
        case ast.Subscript(value=array, slice=index):
            return index is operand and (
                isinstance(array, ast.Attribute) and self_attribute(array) in arrays
            )
    return False


def _in_place(source: Source, method: ast.FunctionDef, name: str) -> str:
    """The type of what is only read as `scale or self.scale`: no array is asked whether it is true.

    It is that of what stands there in its place; empty where this is no number, and no text.
    """
    owner = class_of(source.tree, method)
    fields = [n for n in owner.body if isinstance(n, ast.AnnAssign)] if owner else []
    types = {f"self.{unparsed(f.target)}": unparsed(f.annotation) for f in fields}
    kinds = set()
    asked = 0
    for node in ast.walk(method):
        match node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=first), other]) if (
                first == name
            ):
                asked += 1
                known = isinstance(other, ast.Constant)
                kinds.add(
                    type(other.value).__name__ if known else types.get(unparsed(other))
                )
    reads = [n for n in ast.walk(method) if isinstance(n, ast.Name) and n.id == name]
    if len(kinds) > 1 and kinds <= {*_NUMBERS} - {"bool", "str"}:
        kinds = {"float"}
    kind = kinds.pop() if len(kinds) == 1 and len(reads) == asked else None
    return f"{kind} | None" if kind in _NUMBERS else ""


def _or_none(annotation: ast.expr) -> str:
    """A number, a flag or a text that may be None, as the type of a field; empty for anything else."""
    match annotation:
        case ast.BinOp(left=ast.Name(id=kind), op=ast.BitOr(), right=right) if (
            isinstance(right, ast.Constant) and right.value is None
        ):
            pass
        case ast.Subscript(value=owner, slice=ast.Name(id=kind)) if (
            unparsed(owner).rpartition(".")[2] == "Optional"
        ):
            pass
        case _:
            return ""
    return f"{kind} | None" if kind in ("bool", "float", "int", "str") else ""


def _read(
    source: Source,
    method: ast.FunctionDef,
    argument: ast.arg,
    told: Callable[[ast.Name], Edit],
) -> Fix | None:
    """A method without a parameter, in whose place something else is read."""
    gone = without_parameter(source, method, argument)
    if gone is None:
        return None
    edits = list(gone.edits)
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and node.id == argument.arg:
            if not isinstance(node.ctx, ast.Load):
                return None
            edits.append(told(node))
    return Fix(tuple(edits))


def _read_anew(
    source: Source, method: ast.FunctionDef, argument: ast.arg, text: str
) -> Fix | None:
    """A method without a parameter that it sets anew: a local that begins as what is read in its place.

    None for one that it only reads.
    """
    gone = without_parameter(source, method, argument)
    names = [n for n in ast.walk(method) if isinstance(n, ast.Name)]
    set_anew = any(
        n.id == argument.arg and not isinstance(n.ctx, ast.Load) for n in names
    )
    if gone is None or not set_anew:
        return None
    documented = ast.get_docstring(method, clean=False) is not None
    first = method.body[documented:][0]
    line = first.lineno
    while source.lines[line - 2].strip().startswith("#"):
        line -= 1
    indent = " " * first.col_offset
    begun = f"{indent}{argument.arg} = {text}\n"
    return Fix((*gone.edits, source.replace((line, 1), (line, 1), begun)))


def without_parameter(
    source: Source, method: ast.FunctionDef, argument: ast.arg
) -> Fix | None:
    """A method without a parameter; None for its first one."""
    parameters = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    at = parameters.index(argument)
    if at == 0:
        return None
    by_keyword = method.args.kwonlyargs
    if by_keyword[1:] and argument is by_keyword[0]:
        start = source.start(argument)
        return Fix((source.replace(start, source.start(by_keyword[1]), ""),))
    defaults = dict(defaults_of(method.args))
    last = defaults.get(argument) or argument
    previous = parameters[at - 1]
    previous = defaults.get(previous) or previous.annotation or previous
    return Fix((source.replace(source.end(previous), source.end(last), ""),))
