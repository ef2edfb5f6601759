"""Annotations of other libraries and of older Python, as the words of specs."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.hyper_types import row_elements
from mlax_scaffold.model.shapes import ShapeError, parse_shape
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.axes.sizes import hyperparameters
from mlax_scaffold.reader.remedies.modes import KEYS
from mlax_scaffold.reader.remedies.names import SPEC
from mlax_scaffold.reader.remedies.types_of_defaults import (
    of_default,
    of_rows,
    of_value,
)
from mlax_scaffold.reader.source import Source, dotted, is_none
from mlax_scaffold.spelling import misspelt

_FIELDS = {
    "Any": "",
    "Array": "",
    "Bool": "bool",
    "Callable": "Activation",
    "Dtype": "DType",
    "DTypeLike": "DType",
    "dtype": "DType",
    "Integer": "int",
    "PrecisionLike": "Precision",
    "Str": "str",
    "String": "str",
    "boolean": "bool",
    "callable": "Activation",
    "double": "float",
    "function": "Function",
    "integer": "int",
    "number": "float",
    "string": "str",
    "Initializer": "Initializer",
    "PaddingLike": "Padding",
}
"""Types of fields by the last part of their names, and the words that they mean."""

_CHOICES = ("Optional", "Union")

_SEQUENCES = ("Iterable", "List", "Sequence", "Tuple", "list", "tuple")

_ARRAYS = {
    "Array": "Float",
    "ArrayLike": "Float",
    "DeviceArray": "Float",
    "Float16": "Float",
    "Float32": "Float",
    "Float64": "Float",
    "BFloat16": "Float",
    "Inexact": "Float",
    "Num": "Float",
    "Shaped": "Float",
    "Tensor": "Float",
    "Float": "Float",
    "Complex": "Complex",
    "Real": "Real",
    "Complex64": "Complex",
    "Complex128": "Complex",
    "FloatTensor": "Float",
    "LongTensor": "Int",
    "Int": "Int",
    "Int8": "Int",
    "Int16": "Int",
    "Int32": "Int",
    "Int64": "Int",
    "Integer": "Int",
    "UInt8": "Int",
    "UInt32": "Int",
    "Bool": "Bool",
    "ndarray": "Float",
    "PRNGKey": "Key",
    "PRNGKeyArray": "Key",
    "Key": "Key",
    "Any": "PyTree",
    "PyTree": "PyTree",
}
"""Types of arrays by the last part of their names, and the words that they mean."""


def field_type(source: Source, node: ast.expr) -> Fix | None:
    """The annotation of a field as a word; None where it is not clear which."""
    told = of_default(source, node) if is_bare(node) else of_value(source, node)
    text = _field(node) if told is None else told
    if text and re.fullmatch(r"tuple\[(Sizes|tuple\[\w+, \.\.\.\]), \.\.\.\]", text):
        text = of_rows(source, node) or text
    if not text or text == unparsed(node):
        return None
    return _written(source, node, text)


def is_bare(node: ast.expr) -> bool:
    """Whether an annotation is `tuple` or `list`, which says nothing of the items."""
    return _name(node) in _SEQUENCES and not isinstance(node, ast.Subscript)


def array_type(source: Source, node: ast.expr) -> Fix | None:
    """The annotation of an input or a result as the type of an array."""
    text = "Key" if _is_key(source, node) else _array(node)
    if text is None or text == unparsed(node):
        return None
    return _written(source, node, text)


def shape_text(source: Source, node: ast.Constant) -> Fix | None:
    """A shape in another grammar: with commas, in parentheses, with spaces in a product."""
    text = str(node.value)
    plain = " ".join(re.sub(r"[,()\[\]]", " ", text).split())
    fields = {n.removeprefix("self.") for n in hyperparameters(source.tree, node)}
    for other in (
        plain,
        re.sub(r"\.\.\.(?=\w)", "*", plain),
        _joined(plain, fields),
        re.sub(r"\s*(\*|\+|-|//)\s*", r"\1", plain),
    ):
        try:
            parse_shape(other)
        except ShapeError:
            continue
        return Fix((source.edit(node, f'"{other}"'),))
    return None


def _joined(text: str, fields: Collection[str]) -> str:
    """A star with the name behind it: of a product, or of any number of axes; before a size, by itself."""

    def written(found: re.Match[str]) -> str:
        before, name = found.groups()
        if before and {before, name} & {*fields}:
            return f"{before}*{name}"
        star = f"... {name}" if name in fields else f"*{name}"
        return f"{before} {star}" if before else star

    return re.sub(r"(?:(\w+) )?\* ([A-Za-z_]\w*)", written, text)


def or_none(source: Source, annotation: ast.expr) -> Fix:
    """A type that None may be, too."""
    end = source.end(annotation)
    return Fix((source.replace(end, end, " | None"),))


def annotated(
    source: Source, node: ast.arg, default: ast.expr | None, guessed: str
) -> Fix | None:
    """An input of no type, or of one that says no shape, with one that was read off its uses."""
    none = " | None" if default is not None and is_none(default) else ""
    if node.annotation is None:
        line, column = source.start(node)
        end = (line, column + len(node.arg))
        text = f": {guessed}{none}"
        return Fix((source.replace(end, end, text),), needed(guessed))
    text = "Key" if _is_key(source, node.annotation) else _array(node.annotation)
    text = text or beside(source, node.annotation)
    if text in ('Float["..."]', 'Float["..."] | None'):
        text = text.replace('Float["..."]', guessed)
    if text is None or text == unparsed(node.annotation):
        return None
    return _written(source, node.annotation, text)


def beside(source: Source, node: ast.expr) -> str | None:
    """A class beside the definition, also one that None may be, or in quotes."""
    match node:
        case ast.Name(id=name):
            classes = (s for s in source.tree.body if isinstance(s, ast.ClassDef))
            return name if any(c.name == name for c in classes) else None
        case ast.Constant(value=str(text)):
            inner = quoted(text)
            return inner and beside(source, inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = [left, right]
        case ast.Subscript(value=owner, slice=inner) if _name(owner) in _CHOICES:
            parts = [*(inner.elts if isinstance(inner, ast.Tuple) else [inner])]
            parts += [ast.Constant(None)] if _name(owner) == "Optional" else []
        case _:
            return None
    kept = [part for part in parts if not is_none(part)]
    one = beside(source, kept[0]) if len(kept) == 1 else None
    return one and (f"{one} | None" if len(kept) < len(parts) else one)


def _written(source: Source, node: ast.expr, text: str) -> Fix:
    return Fix((source.edit(node, text),), needed(text))


def needed(text: str) -> tuple[Needed, ...]:
    """What a type takes from imports."""
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    words = (*WORDS, *_ARRAYS.values(), "PerDim", "Literal")
    plain = ("int", "float", "bool", "str")
    return tuple(
        Needed(WORDS[n].module if n in WORDS else SPEC, n, n)
        for n in sorted(names)
        if n in words and n not in plain
    )


def _field(node: ast.expr) -> str | None:
    name = _name(node)
    match node:
        case ast.Call(func=ast.Name(id="Literal"), args=choices, keywords=[]):
            given = ", ".join(map(unparsed, choices)).replace("'", '"')
            return f"Literal[{given}]"
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            inner = _field(left)
            return inner and f"{inner} | None"
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            inner = _field(right)
            return inner and f"{inner} | None"
        case ast.Subscript(value=owner, slice=inner):
            return _field_of(_name(owner), inner)
        case ast.Constant(value=str(text)):
            inner = quoted(text)
            return None if inner is None else _field(inner)
        case ast.Name(id=known) if known in WORDS:
            return known
    for known, row in WORDS.items():
        if name in row.spellings:
            return known
    if name in _FIELDS:
        return _FIELDS[name] or None
    if name in ("List", "Tuple", "list", "tuple", "Sequence"):
        return "Sizes"
    return _close(name)


def _field_of(owner: str, inner: ast.expr) -> str | None:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if owner == "Optional":
        one = _field(inner)
        return one and f"{one} | None"
    if owner == "Union":
        kept = [p for p in parts if not is_none(p)]
        one = _field(kept[0]) if len(kept) == 1 else None
        return one and (f"{one} | None" if len(kept) < len(parts) else one)
    if owner in _SEQUENCES:
        if len(parts) - _is_dots(parts[-1]) == 1 and (row := _row(parts[0])):
            return f"tuple[{row}, ...]"
        if len(set(names := _names(parts))) > 1:
            return f"tuple[{', '.join(names)}]"
        words = {_field(p) for p in parts if not _is_dots(p)}
        [word] = words if len(words) == 1 else [None]
        if (several := f"{'Size' if word == 'int' else word}s") in WORDS:
            return several
        return word and f"tuple[{word}, ...]"
    if owner in ("Final", "ClassVar", "Annotated", "Required"):
        return _field(parts[0])
    if owner == "Callable":
        return "Activation"
    if owner == "PerDim":
        one = _field(inner)
        return f"PerDim[{'Size' if one == 'int' else one}]" if one else None
    if owner == "Literal":
        return f"Literal[{unparsed(inner)}]"
    return None


def row_of(node: ast.expr) -> tuple[str, ...]:
    """The words of `tuple[int, float]`; none where it is no tuple of one value for each of several words."""
    match node:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            known = len(names) == len(parts) and {*names} <= {*row_elements()}
            return tuple(names) if known else ()
    return ()


def _row(node: ast.expr) -> str | None:
    """A tuple of a value for each of several types, with words for the types."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Tuple(elts=parts)) if (
            _name(owner) in _SEQUENCES
        ):
            return row_text(parts)
    return None


def row_text(types: list[ast.expr]) -> str | None:
    """The tuple of a value for each of several types; None where one is no word."""
    names = _names(types)
    return f"tuple[{', '.join(names)}]" if names else None


def _names(parts: list[ast.expr]) -> list[str]:
    """The words of types, where each has one that may stand in a tuple."""
    names = [_field(part) or "" for part in parts if not _is_dots(part)]
    known = len(names) == len(parts) and {*names} <= {*row_elements()}
    return names if known else []


def _is_key(source: Source, node: ast.expr) -> bool:
    """Whether a plain array is the type of an argument that is named as keys are."""
    given = (a for a in ast.walk(source.tree) if isinstance(a, ast.arg))
    named = {a.arg for a in given if source.same(a.annotation, node)}
    return _name(node) in ("Array", "ArrayLike", "ndarray") and bool(named & {*KEYS})


def _array(node: ast.expr) -> str | None:
    name = _name(node)
    match node:
        case ast.Tuple(elts=parts) if parts:
            items = [item for item in map(_array, parts) if item]
            return f"tuple[{', '.join(items)}]" if len(items) == len(parts) else None
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            inner = _array(left)
            return inner and f"{inner} | None"
        case ast.Subscript(value=owner, slice=inner):
            return _array_of(_name(owner), inner)
        case ast.Constant(value=str(text)):
            return _array_in_quotes(text)
    if name in ("PyTree", "Key", "PRNGKey", "PRNGKeyArray", "Any"):
        return _ARRAYS[name]
    if name in _SEVERAL:
        return 'tuple[Float["..."], ...]'
    if name in _ARRAYS:
        return f'{_ARRAYS[name]}["..."]'
    return None


def quoted(text: str) -> ast.expr | None:
    """The type that stands in quotes; None where the text is no expression."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _array_in_quotes(text: str) -> str | None:
    """`"Float[Array, 'batch features']"`; the shape may stand in it without quotes of its own."""
    inner = quoted(text)
    if inner is not None:
        return _array(inner)
    found = re.fullmatch(r"(\w+)\[([^\[\]\"']+)\]", text.strip())
    word = _ARRAYS.get(found[1]) if found else None
    return f'{word}["{found[2].strip()}"]' if found and word in KINDS else None


def _array_of(owner: str, inner: ast.expr) -> str | None:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if owner == "Optional":
        one = _array(inner)
        return one and f"{one} | None"
    if owner == "Union":
        kept = [p for p in parts if not is_none(p)]
        one = _array(kept[0]) if len(kept) == 1 else None
        return one and (f"{one} | None" if len(kept) < len(parts) else one)
    if owner in _SEVERAL:
        one = _array(inner)
        return one and f"tuple[{one}, ...]"
    if owner in ("Tuple", "tuple"):
        items = ["..." if _is_dots(p) else _array(p) for p in parts]
        known = [i for i in items if i]
        return f"tuple[{', '.join(known)}]" if len(known) == len(items) else None
    word = _ARRAYS.get(owner)
    if word in KINDS:
        texts = [p.value for p in parts if isinstance(p, ast.Constant)]
        if len(parts) > 1 and len(texts) == len(parts):
            return f'{word}["{" ".join(map(str, texts))}"]'
        # As in jaxtyping: the array that has the shape stands first.
        shape = parts[-1]
        if (
            len(parts) < 3
            and isinstance(shape, ast.Constant)
            and isinstance(shape.value, str)
        ):
            return f'{word}["{shape.value}"]'
        if all(isinstance(p, ast.Name | ast.Constant) for p in parts):
            names = [unparsed(p) for p in parts]
            return f'{word}["{" ".join("..." if n == "..." else n for n in names)}"]'
    return None


_SEVERAL = ("Iterable", "List", "Sequence", "list")
"""Types of any number of arrays: they are tuples."""


def _close(name: str) -> str | None:
    return misspelt(name, WORDS) or None


def _name(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
