"""Shapes of inputs and results, as the words of a spec say them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from mlax_scaffold.conversion.shapes.size_equations import ONE_ELEMENT, is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Each, Record, Several, Value
from mlax_scaffold.conversion.source.trees import expression, folded, literal, same
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.spelling import did_you_mean

_ALSO = {"height": "rows", "width": "columns", "depth": "slices", "time": "steps"}
"""Other names of axes, where a hyperparameter has the first."""


def symbols_named(
    symbols: Symbols, env: Mapping[str, Value], fields: set[str]
) -> dict[str, str]:
    """A name for every axis whose size is unknown, by symbol."""
    found: dict[str, str] = {}
    # `*batch` stands for all that comes before the axes that are known.
    taken = {"y", *(["batch", "rest"] if any(map(_leads, env.values())) else [])}
    for value in flattened(env.values()):
        for i, axis in enumerate(value.axes):
            known = _unknown(symbols.find(axis))
            if known is None or known.id in found:
                continue
            hint = symbols.hints.get(known.id, "")
            wanted = hint if hint.isidentifier() and hint.strip("_") else ""
            if not wanted:
                first = i == 0 and len(value.axes) > 1 and not value.lead
                wanted = "batch" if first else f"axis{i}"
            if wanted in fields:
                wanted = _ALSO.get(wanted, wanted)
            elif _looks_like_a_slip(wanted, fields):
                wanted = f"axis{i}"
            made, count = wanted, 1
            while made in found.values() or made in fields or made in taken:
                count += 1
                made = f"{wanted}{count}"
            found[known.id] = made
    return found


def _looks_like_a_slip(axis: str, fields: set[str]) -> bool:
    """Whether the name of an axis is taken for that of a hyperparameter, as `channels` for `in_channels`."""
    bounds = {f"{word}_{axis}" for word in ("max", "min", "n", "num", "out")}
    if axis in ("batch", "height", "length", "time", "width"):
        return False
    return bool(did_you_mean(axis, [*fields - bounds], cutoff=0.8))


def flattened(values: Iterable[Value]) -> Iterator[Array]:
    """The arrays of inputs, with those of pairs."""
    for value in values:
        if isinstance(value, Several):
            yield from flattened(value.items)
        elif isinstance(value, Array):
            yield value


def _unknown(axis: ast.expr) -> ast.Name | None:
    """The unknown size that an axis has, or has a multiple of."""
    if isinstance(axis, ast.BinOp) and isinstance(axis.op, ast.Mult):
        axis = axis.right if isinstance(axis.left, ast.Constant) else axis.left
    return axis if isinstance(axis, ast.Name) and is_symbol(axis) else None


def _leads(value: Value) -> bool:
    return isinstance(value, Array) and value.lead


def _leads_alone(value: Value) -> TypeGuard[Array]:
    """Whether nothing is known of an array."""
    return isinstance(value, Array) and value.lead and not value.axes


def annotated(
    symbols: Symbols,
    argument: ast.arg,
    value: Value,
    texts: Mapping[str, str],
    fields: set[str],
    optional: bool,
    env: Mapping[str, Value],
    *,
    unread: bool = False,
) -> ast.expr:
    """The type of an input, beside the others."""
    text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    if isinstance(value, Several):
        made = _of_tuple(symbols, value, texts, fields)
    elif isinstance(value, Each) and isinstance(value.first, Array):
        made = _of_list(symbols, value.first, texts, fields)
    elif isinstance(value, Record):
        # Each array that is read becomes a field of its type.
        made = "dict[str, _module_jax.Array]"
    elif not isinstance(value, Array):
        made = text if text in ("int", "float", "bool", "str") else "@word:PyTree"
    elif re.match(r"['\"]?(dict|Dict|PyTree|tuple|Tuple|list|List)\b", text):
        made = "@word:PyTree"
    else:
        shape = shape_text(symbols, value, texts, fields)
        against = value.against
        if against is not None and value.prefix is against.prefix and value.lead:
            # All axes of the other one but those that are its own.
            shape = shape.replace("*shape", "*batch")
        elif not value.axes and value.lead and against is not None and against.axes:
            axes = [_demanded(symbols, a, texts, fields) for a in against.axes]
            # Of two inputs that begin with the same axes, each has them.
            same = against.lead and any(
                _leads_alone(v) and v.prefix is against.prefix for v in env.values()
            )
            before = ["batch", "*rest"] if against.prefix.some else ["*batch"]
            first = before if against.lead else []
            if same:
                axes = ["1" if a == "_" else a for a in axes]
            shape = " ".join(([] if same else ["#"]) + first + axes)
            number = value.kind != "Bool" and not against.lead
            if number and axes[0] in ("1", "_") and len(axes) > 1:
                # A weight with an axis for each of the input's: `ones(1, 1, dim)`.
                open_ = ["batch", *("_" if a == "1" else a for a in axes[1:])]
                shape = " ".join(open_)
        elif (
            _leads_alone(value)
            and not value.prefix.some
            and any(
                isinstance(v, Array)
                and any(
                    other is not None
                    and other is not value
                    and other.axes
                    and other.prefix is value.prefix
                    for other in (v, v.against)
                )
                for v in env.values()
            )
        ):
            shape = "*batch"
        kind = value.kind
        if optional and kind == "Bool":
            # What is made where it is left out goes with all of a batch, and with all heads.
            shape = re.sub(
                r"^(?:1 )+(?=\w)", lambda ones: "_ " * ones[0].count("1"), shape
            )
        indices = any(isinstance(v, Array) and v.kind == "Int" for v in env.values())
        if optional and unread and indices:
            # Of a model of tokens that computes no loss here, the targets are tokens, too.
            kind = "Int"
        made = f'@word:{kind}["{shape}"]'
    made = made.replace("@word:", "_word_")
    node = expression(f"{made} | None" if optional or "None" in text else made)
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id.startswith("_word_"):
            part.id = "@word:" + part.id[6:]
        if isinstance(part, ast.Name) and part.id == "_module_jax":
            part.id = "@module:jax"
    return node


def _of_tuple(
    symbols: Symbols,
    value: Several,
    texts: Mapping[str, str],
    fields: set[str],
    nested: bool = False,
) -> str:
    """The type of a tuple of arrays; of one that holds anything else, that of any tree."""
    arrays = [*_arrays(value)]
    if None in arrays:
        return "@word:PyTree"
    nested = nested or any(isinstance(item, Several) for item in value.items)
    made = [
        _of_tuple(symbols, item, texts, fields, nested)
        if isinstance(item, Several)
        else _of_item(symbols, item, texts, fields, nested)
        for item in value.items
        if isinstance(item, Array | Several)
    ]
    return f"tuple[{', '.join(made)}]"


def _arrays(value: Several) -> Iterator[Array | None]:
    """The arrays of a tuple, and of the tuples in it; None for anything else."""
    for item in value.items:
        if isinstance(item, Several):
            yield from _arrays(item)
        else:
            yield item if isinstance(item, Array) else None


def _of_item(
    symbols: Symbols,
    value: Array,
    texts: Mapping[str, str],
    fields: set[str],
    nested: bool,
) -> str:
    # Of what one of them is broadcast to it mostly has all axes; tables beside each other have fewer.
    other = value.against if _leads_alone(value) else None
    shape = shape_text(symbols, other or value, texts, fields)
    shape = f"# {shape}" if nested and other else shape
    return f"@word:{value.kind}[{shape!r}]"


def _of_list(
    symbols: Symbols, value: Array, texts: Mapping[str, str], fields: set[str]
) -> str:
    """The type of any number of arrays, each of which has sizes of its own but for those of fields."""
    axes = shape_text(symbols, value, texts, fields).split()
    if value.lead and not value.axes:
        return f"tuple[@word:{value.kind}['...'], ...]"
    kept = [a if i == 0 or a in fields or a.isdigit() else "_" for i, a in enumerate(axes)]  # fmt: skip
    return f"tuple[@word:{value.kind}[{' '.join(kept)!r}], ...]"


def result_type(
    symbols: Symbols,
    result: Value,
    env: Mapping[str, Value],
    texts: Mapping[str, str],
    fields: set[str],
) -> ast.expr | None:
    """The type of the result; None where it is not wholly known."""
    if not isinstance(result, Array) or isinstance(result, Several):
        return None
    first = next((v for v in env.values() if isinstance(v, Array)), None)
    if first is None or (
        result.lead and not (first.lead and result.prefix is first.prefix)
    ):
        return None
    for axis in result.axes:
        text = axis_text(symbols, axis, texts, fields)
        if text in ("_", "1") or _is_of_one_branch(symbols, axis):
            return None
    shape = shape_text(symbols, result, texts, fields)
    if result.lead and first.axes and not result.axes:
        # All axes that are left are those before what is known of the input.
        shape = shape.replace("*shape", "*batch")
    node = expression(f'_word_["{shape}"]')
    for part in walk(node):
        if isinstance(part, ast.Name):
            part.id = "@word:Float"
    return node


def _is_of_one_branch(symbols: Symbols, axis: ast.expr) -> bool:
    """Whether a size is that of one branch, and nothing tells that of the other one."""
    pairs = [tuple(map(symbols.find, pair)) for pair in symbols.unsettled]
    known = symbols.find(axis)
    return any(same(known, one) and not same(one, other) for one, other in pairs)


def _without_unknown_axes(forward: ast.FunctionDef, fields: set[str]) -> None:
    """Let inputs that may be None have any sizes where no other input tells what they are broadcast to."""
    types = [a.annotation for a in (*forward.args.args, *forward.args.kwonlyargs)]
    shapes = [(_shape_of(t), isinstance(t, ast.BinOp)) for t in types if t is not None]
    told = {n for s, absent in shapes if s is not None and not absent for n in s.value.split()}  # type: ignore[union-attr]  # fmt: skip
    for shape, absent in shapes:
        if shape is None or not absent or not str(shape.value).startswith("# "):
            continue
        axes = str(shape.value).split()[1:]
        if any(a.isidentifier() and a not in told | fields | {"_"} for a in axes):
            shape.value = " ".join("_" for _ in axes)


def _with_one_meaning(forward: ast.FunctionDef, returned: ast.expr | None) -> None:
    """Let `*batch` of an input be other axes where the first axis of another one is called `batch`."""
    types = [a.annotation for a in (*forward.args.args, *forward.args.kwonlyargs)]
    shapes = [
        part
        for kind in types
        if kind is not None
        for part in walk(kind)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    named = {axis for shape in shapes for axis in str(shape.value).split()}
    if {"batch", "*rest", "*batch"} <= named:
        of_result = walk(returned) if returned is not None else ()
        shapes += [p for p in of_result if isinstance(p, ast.Constant)]
        for shape in shapes:
            shape.value = str(shape.value).replace("*batch", "*rows")


def _shape_of(node: ast.expr) -> ast.Constant | None:
    """The text that tells the axes of an array; None of another type."""
    inner = node.left if isinstance(node, ast.BinOp) else node
    match inner:
        case ast.Subscript(slice=ast.Constant(value=str()) as shape):
            return shape
    return None


def with_leading_axes(
    forward: ast.FunctionDef, returned: ast.expr | None, fields: set[str]
) -> ast.expr | None:
    """The type of a result, whose first axes are called as its input calls them."""
    _without_unknown_axes(forward, fields)
    _with_one_meaning(forward, returned)
    given = [a.annotation for a in (*forward.args.args, *forward.args.kwonlyargs)]
    texts = [ast.unparse(a) for a in given if a is not None]
    own = any("*shape" in t for t in texts) and not any("*batch" in t for t in texts)
    for part in walk(returned) if returned is not None and own else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            part.value = part.value.replace("*batch", "*shape")
    return returned


def shape_text(
    symbols: Symbols,
    array: Array,
    texts: Mapping[str, str],
    fields: set[str],
) -> str:
    """The shape of an array in the grammar of specs."""
    if array.whole:
        return f"batch *{array.whole}"
    axes = [axis_text(symbols, a, texts, fields) for a in array.axes]
    if array.lead:
        if array.prefix.some:
            axes[:0] = ["batch", "*rest"]
        elif not array.axes and array.prefix.bare > 1:
            axes = ["batch", *["_"] * (array.prefix.bare - 1), "*rest"]
        else:
            axes.insert(0, "*batch" if array.axes else "*shape")
    if not axes:
        return ""
    return " ".join(axes)


def axis_text(
    symbols: Symbols, axis: ast.expr, texts: Mapping[str, str], fields: set[str]
) -> str:
    """An axis: its name, its size, or `_`."""
    known = symbols.find(axis)
    return _told(known, texts, fields)


def _demanded(
    symbols: Symbols, axis: ast.expr, texts: Mapping[str, str], fields: set[str]
) -> str:
    """An axis of what a mask is broadcast to: `_` where it has no name, one where it has one element."""
    known = symbols.find(axis)
    sizes = [known]
    for pair in symbols.demands:
        both = [symbols.find(side) for side in pair]
        if any(same(side, known) for side in both):
            sizes += both
    named = (_told(size, texts, fields) for size in sizes)
    single = isinstance(known, ast.Name) and symbols.hints.get(known.id) == ONE_ELEMENT
    return next((text for text in named if text != "_"), "1" if single else "_")


def _told(known: ast.expr, texts: Mapping[str, str], fields: set[str]) -> str:
    """What a size is called."""
    known = folded(known)
    if isinstance(known, ast.Name) and known.id in texts:
        return texts[known.id]
    value = literal(known)
    if isinstance(value, int):
        return str(value)
    text = ast.unparse(known).replace("self.", "")
    for symbol, given in texts.items():
        text = text.replace(symbol, given)
    count = re.fullmatch(r"len\((\w+)\)", text)
    if count is not None and count[1] in fields:
        return text
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    known_names = {*fields, *texts.values()}
    # The first and the last of several sizes may stand there as names do.
    plain = re.sub(r"\b([A-Za-z_]\w*)\[(0|-1)\]", r"\1", text)
    if (
        "@" in text
        or not names <= known_names
        or not re.fullmatch(r"[\w +*/()-]+", plain)
    ):
        return "_"
    if (
        ("//" in text and "-(" in text)
        or ("(" in text and "/" in text)
        or "/" in text.replace("//", "")
    ):
        return "_"
    if "(" in text or "**" in text or text.startswith("-"):
        return "_"
    return text.replace(" ", "")
