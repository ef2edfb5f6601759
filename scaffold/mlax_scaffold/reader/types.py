"""Reads annotations: the words of hyperparameters, and the types of array inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from mlax_scaffold.errors import Location
from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.definition import ArrayType, Import
from mlax_scaffold.model.hyper_types import (
    HyperType,
    choice_type,
    per_dim_elements,
    row_type,
    sequence_elements,
)
from mlax_scaffold.model.shapes import ShapeError, parse_shape
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.remedies.configurations import as_fields
from mlax_scaffold.reader.remedies.functions_by_name import as_function
from mlax_scaffold.reader.remedies.mappings import as_pairs
from mlax_scaffold.reader.remedies.types import (
    array_type,
    field_type,
    is_bare,
    row_of,
    shape_text,
)
from mlax_scaffold.reader.source import Source, is_none
from mlax_scaffold.spelling import did_you_mean

ARRAY_KINDS = (*KINDS, "Key", "PyTree")
_PLAIN_ARRAYS = ("Array", "jax.Array", "jnp.ndarray", "jax.numpy.ndarray", "chex.Array")
"""What annotates an array, and says nothing of it."""
_KNOWN = ", ".join(f'{name}["..."]' for name in KINDS)


def read_hyper_type(
    source: Source,
    node: ast.expr,
    imports: Mapping[str, Import] = MappingProxyType({}),
) -> HyperType | None:
    """The type that a hyperparameter's annotation names; None, with a finding, where it is no word."""
    whole = node
    node, optional = split_optional(node)
    if isinstance(node, ast.Name) and node.id in imports:
        members = imports[node.id].members
        if members:
            return HyperType(WORDS["str"], optional, members, enumeration=node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        word = node.value.id
        if word == "Literal":
            return _read_choices(source, node, optional)
        if word == "PerDim":
            element = node.slice
            if isinstance(element, ast.Name) and element.id in per_dim_elements():
                return HyperType(WORDS[element.id], optional=optional, per_dim=True)
            allowed = " or ".join(f"PerDim[{name}]" for name in per_dim_elements())
            source.report(element, f"PerDim takes {allowed}")
            return None
        if word == "tuple":
            return _read_sequence(source, node, optional, imports)
    if isinstance(node, ast.Name) and node.id in WORDS:
        kind = HyperType(WORDS[node.id], optional=optional)
        if kind.word.structural and optional:
            source.report(node, f"{node.id} cannot be None", "Remove `| None`.")
        return kind
    given = unparsed(node)
    vocabulary = (*WORDS, "Literal", "PerDim", "tuple")
    close = "" if given in vocabulary else did_you_mean(given, vocabulary)
    fix = as_pairs(source, node) or as_function(source, node)
    fix = fix or field_type(source, whole)
    last = given.rpartition(".")[2]
    if fix is None and last in ("Array", "ndarray", "Tensor", "DeviceArray"):
        source.report(
            node,
            f"`{given}` is an array, which no hyperparameter can be",
            "A weight is declared in setup: `self.name = trainable(initializer, shape)`.",
        )
        return None
    if fix is not None:
        text = fix.edits[0].text
        source.report(
            node,
            f"`{given}` is not a word of the vocabulary",
            close if f'"{text}"' in close else f"Write `{text}`.",
            fix=fix,
        )
        return None
    settings = next((c for c in _classes(source) if c.name == given), None)
    fix = as_fields(source, settings) if settings else None
    source.report(
        node,
        f"`{given}` is not a word of the vocabulary",
        "Settings are fields of the layers that read them."
        if fix
        else _BARE
        if is_bare(node)
        else _of_plugin(imports.get(given))
        or close
        or f"Hyperparameters are annotated with one of {', '.join(vocabulary)}.",
        fix=fix,
    )
    return None


_BARE = (
    "It holds values of one kind, `tuple[int, ...]`, one for each of several words, or rows of these "
    "that are all as long: write a field for each of those that differ."
)


def _classes(source: Source) -> list[ast.ClassDef]:
    return [n for n in source.tree.body if isinstance(n, ast.ClassDef)]


def _of_plugin(imported: Import | None) -> str:
    """What to do about a type that a spec imports from another package, or ""."""
    if imported is None or imported.attribute is None or imported.reference:
        return ""
    if imported.module.startswith("."):  # it stands beside the definition
        return ""
    return (
        f"If {imported.module} is a plugin's, name the plugin in `plugins` of "
        "[tool.mlax-scaffold]."
    )


def is_array_annotation(node: ast.expr) -> bool:
    """Whether an annotation means an array rather than a hyperparameter."""
    node, _ = split_optional(node)
    if isinstance(node, ast.Subscript):
        if isinstance(node.value, ast.Name) and node.value.id == "tuple":
            return not _is_sequence(node)
        node = node.value
    return isinstance(node, ast.Name) and node.id in (*ARRAY_KINDS, "tuple")


def holds_arrays(node: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether an annotation is a tree of arrays: `tuple[Float["a"], Boxes]`, or the NamedTuple `Boxes`."""
    if tree_of_class(node, imports):
        return True
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    arrays = {name for name, meant in imports.items() if meant.array}
    return is_array_annotation(node) and bool(names & {*ARRAY_KINDS, *arrays})


def tree_of_class(
    node: ast.expr | None, imports: Mapping[str, Import]
) -> ArrayType | None:
    """The arrays of a NamedTuple or a TypedDict beside the definition; None for any other annotation."""
    if node is None:
        return None
    node, optional = split_optional(node)
    if not isinstance(node, ast.Name) or node.id not in imports:
        return None
    array = imports[node.id].array
    return array and replace(array, optional=optional)


def _is_sequence(node: ast.Subscript) -> bool:
    """Whether `tuple[...]` is a sequence of hyperparameters rather than of arrays."""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    first = elements[0] if elements else node
    match first:
        case ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Name(id=word):
            return word in WORDS
    return bool(row_of(first))


def _read_sequence(
    source: Source,
    node: ast.Subscript,
    optional: bool,
    imports: Mapping[str, Import],
) -> HyperType | None:
    match node.slice:
        case ast.Tuple(elts=[ast.Name(id=name), ast.Constant(value=end)]) if (
            end is ... and name in imports and imports[name].members
        ):
            one = read_hyper_type(source, node.slice.elts[0], imports)
            return one and replace(one, optional=optional, sequence=True)
        case ast.Tuple(elts=[ast.Name(id=name), ast.Constant(value=end)]) if (
            end is ... and name in sequence_elements()
        ):
            return HyperType(WORDS[name], optional=optional, sequence=True)
        case ast.Tuple(elts=[row, ast.Constant(value=end)]) if end is ... and (
            names := row_of(row)
        ):
            return replace(row_type(names), optional=optional, sequence=True)
        case ast.Tuple(
            elts=[
                ast.Subscript(value=ast.Name(id="Literal")) as item,
                ast.Constant(value=end),
            ]
        ) if end is ...:
            kind = _read_choices(source, item, optional=False)
            return kind and replace(kind, optional=optional, sequence=True)
    if len(set(names := row_of(node))) > 1:
        return replace(row_type(names), optional=optional)
    fix = field_type(source, node)
    hint = (
        f"Write `{fix.edits[0].text}`."
        if fix
        else "Write Sizes, or tuple[float, ...]; the word of a tuple is one of "
        f"{', '.join(sequence_elements())}."
    )
    source.report(
        node, f"`{unparsed(node)}` is not a sequence of a word", hint, fix=fix
    )
    return None


def read_array_type(
    source: Source,
    node: ast.expr,
    imports: Mapping[str, Import] = MappingProxyType({}),
) -> ArrayType | None:
    """The type that an input's annotation names; None, with a finding, where it is none."""
    if tree := tree_of_class(node, imports):
        return tree
    node, optional = split_optional(node)
    if isinstance(node, ast.Name) and node.id in ("PyTree", "Key"):
        return ArrayType(node.id, optional=optional)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        word = node.value.id
        if word == "tuple":
            elements = (
                node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            )
            if not elements:
                source.report(node, "a tuple of arrays has elements")
                return None
            repeated = isinstance(elements[-1], ast.Constant) and (
                elements[-1].value is ...
            )
            if repeated and len(elements) == 2:
                elements = elements[:1]
            items = [read_array_type(source, e, imports) for e in elements]
            if None in items:
                return None
            if repeated:
                items.append(ArrayType("..."))
            return ArrayType(
                "tuple", items=tuple(i for i in items if i), optional=optional
            )
        if word in KINDS:
            return _read_shape(source, node, ArrayType(word, optional=optional))
    given = unparsed(node)
    word = given.partition("[")[0]
    if unshaped := _unshaped(source, given):
        source.report(
            node,
            f"`{given}` says nothing of the axes of its arrays",
            f'Write them in the class: `{unshaped}: Float["batch features"]`, for example.',
        )
        return None
    source.report(
        node,
        f"`{given}` is not the type of an array",
        (
            did_you_mean(word, ARRAY_KINDS)
            if word.isidentifier() and word not in ARRAY_KINDS
            else ""
        )
        or f"Write {_KNOWN}, PyTree, or a tuple of them.",
        fix=array_type(source, node),
    )
    return None


def _unshaped(source: Source, name: str) -> str:
    """The first array of a small class beside the definition of which no axes are written; "" for none."""
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for field in node.body:
                match field:
                    case ast.AnnAssign(target=ast.Name(id=own), annotation=kind) if (
                        unparsed(kind) in _PLAIN_ARRAYS
                    ):
                        return own
    return ""


def _read_shape(
    source: Source, node: ast.Subscript, array: ArrayType
) -> ArrayType | None:
    text = node.slice
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        source.report(
            text,
            f"the shape of {array.kind} is a string",
            f'Write {array.kind}["*batch features"], for example.',
            fix=array_type(source, node),
        )
        return None
    try:
        shape = parse_shape(text.value)
    except ShapeError as error:
        source.report(
            text,
            f"not a shape: {error}",
            fix=shape_text(source, text),
            offset=_offset(text, text.value, error.offset),
        )
        return None
    return replace(array, shape=shape, places=tuple(_places(source, text, text.value)))


def _places(
    source: Source, node: ast.Constant, value: str
) -> Iterator[tuple[str, Location]]:
    """The first place of each name in the literal of a shape."""
    literal = source.location(node)
    found: dict[str, int] = {}
    for match in re.finditer(r"[^\W\d]\w*", value):
        found.setdefault(match.group(), match.start())
    for name, offset in found.items():
        inside = _offset(node, value, offset)
        yield name, replace(literal, column=literal.column + inside)


def _offset(node: ast.Constant, value: str, offset: int) -> int:
    """Where in a literal a character is; 0 where the literal is not what it looks like."""
    length = (node.end_col_offset or 0) - node.col_offset
    plain = (
        node.end_lineno == node.lineno
        and length == len(value.encode(errors="replace")) + 2
    )
    return 1 + offset if plain else 0


def _read_choices(
    source: Source, node: ast.Subscript, optional: bool
) -> HyperType | None:
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    # `Literal["sum", None]` is `Literal["sum"] | None`.
    elements = [element for element in given if not is_none(element)]
    optional = optional or len(elements) < len(given)
    choices = [
        element.value
        for element in elements
        if isinstance(element, ast.Constant)
        and isinstance(element.value, str | int)
        and not isinstance(element.value, bool)
    ]
    if len(choices) != len(elements) or not choices:
        told = 'Literal takes strings, as in Literal["sum", "mean"], or integers'
        source.report(node, told)
        return None
    for element, choice in zip(elements, choices, strict=True):
        if isinstance(choice, int):
            continue
        if not choice or not choice.isprintable() or set(choice) & set('"\\'):
            source.report(
                element,
                "a choice is printable text without double quotes and backslashes",
                'For example Literal["sum", "mean"].',
            )
            return None
    return choice_type(tuple(choices), optional)


def split_optional(node: ast.expr) -> tuple[ast.expr, bool]:
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and isinstance(node.right, ast.Constant)
        and node.right.value is None
    ):
        return node.left, True
    return node, False
