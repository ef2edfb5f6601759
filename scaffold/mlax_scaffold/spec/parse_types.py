"""Reads annotations: the words of hyperparameters, and the types of array inputs."""

from __future__ import annotations

import ast
from dataclasses import replace

from mlax_scaffold.errors import did_you_mean
from mlax_scaffold.model.definition import ArrayType
from mlax_scaffold.model.hyper_types import (
    PER_DIM_ELEMENTS,
    SEQUENCE_ELEMENTS,
    HyperType,
    choice_type,
)
from mlax_scaffold.model.shapes import ShapeError, parse_shape
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.spec.parse_source import Source

ARRAY_KINDS = ("Float", "Int", "Bool", "Key", "PyTree")
_VOCABULARY = (*WORDS, "Literal", "PerDim", "tuple")


def read_hyper_type(source: Source, node: ast.expr) -> HyperType | None:
    """The type that a hyperparameter's annotation names; None, with a finding, where it is no word."""
    node, optional = _split_optional(node)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        word = node.value.id
        if word == "Literal":
            return _read_choices(source, node, optional)
        if word == "PerDim":
            element = node.slice
            if isinstance(element, ast.Name) and element.id in PER_DIM_ELEMENTS:
                return HyperType(WORDS[element.id], optional=optional, per_dim=True)
            allowed = " or ".join(f"PerDim[{name}]" for name in PER_DIM_ELEMENTS)
            source.report(element, f"PerDim takes {allowed}")
            return None
        if word == "tuple":
            return _read_sequence(source, node, optional)
    if isinstance(node, ast.Name) and node.id in WORDS:
        kind = HyperType(WORDS[node.id], optional=optional)
        if kind.word.structural and optional:
            source.report(node, f"{node.id} cannot be None", "Remove `| None`.")
        return kind
    given = ast.unparse(node)
    source.report(
        node,
        f"`{given}` is not a word of the vocabulary",
        did_you_mean(given, _VOCABULARY)
        or f"Hyperparameters are annotated with one of {', '.join(_VOCABULARY)}.",
    )
    return None


def is_array_annotation(node: ast.expr) -> bool:
    """Whether an annotation means an array rather than a hyperparameter."""
    node, _ = _split_optional(node)
    if isinstance(node, ast.Subscript):
        if isinstance(node.value, ast.Name) and node.value.id == "tuple":
            return not _is_sequence(node)
        node = node.value
    return isinstance(node, ast.Name) and node.id in (*ARRAY_KINDS, "tuple")


def _is_sequence(node: ast.Subscript) -> bool:
    """Whether `tuple[...]` is a sequence of hyperparameters rather than of arrays."""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return bool(elements) and (
        isinstance(elements[0], ast.Name) and elements[0].id in WORDS
    )


def _read_sequence(
    source: Source, node: ast.Subscript, optional: bool
) -> HyperType | None:
    match node.slice:
        case ast.Tuple(elts=[ast.Name(id=name), ast.Constant(value=end)]) if (
            end is ... and name in SEQUENCE_ELEMENTS
        ):
            return HyperType(WORDS[name], optional=optional, sequence=True)
    source.report(
        node,
        f"`{ast.unparse(node)}` is not a sequence of a word",
        "Write Sizes, or tuple[float, ...]; the word of a tuple is one of "
        f"{', '.join(SEQUENCE_ELEMENTS)}.",
    )
    return None


def read_array_type(source: Source, node: ast.expr) -> ArrayType | None:
    """The type that an input's annotation names; None, with a finding, where it is none."""
    node, optional = _split_optional(node)
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
            items = [read_array_type(source, element) for element in elements]
            if None in items:
                return None
            if repeated:
                items.append(ArrayType("..."))
            return ArrayType(
                "tuple", items=tuple(i for i in items if i), optional=optional
            )
        if word in ("Float", "Int", "Bool"):
            return _read_shape(source, node, ArrayType(word, optional=optional))
    given = ast.unparse(node)
    word = given.partition("[")[0]
    source.report(
        node,
        f"`{given}` is not the type of an array",
        (did_you_mean(word, ARRAY_KINDS) if word not in ARRAY_KINDS else "")
        or 'Write Float["..."], Int["..."], Bool["..."], PyTree, or a tuple of them.',
    )
    return None


def _read_shape(
    source: Source, node: ast.Subscript, array: ArrayType
) -> ArrayType | None:
    text = node.slice
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        source.report(
            text,
            f"the shape of {array.kind} is a string",
            f'Write {array.kind}["*batch features"], for example.',
        )
        return None
    try:
        shape = parse_shape(text.value)
    except ShapeError as error:
        source.report(
            text, f"not a shape: {error}", offset=_offset(text, text.value, error)
        )
        return None
    return replace(array, shape=shape)


def _offset(node: ast.Constant, value: str, error: ShapeError) -> int:
    """Where in a literal the error is; 0 where the literal is not what it looks like."""
    length = (node.end_col_offset or 0) - node.col_offset
    plain = (
        node.end_lineno == node.lineno
        and length == len(value.encode(errors="replace")) + 2
    )
    return 1 + error.offset if plain else 0


def _read_choices(
    source: Source, node: ast.Subscript, optional: bool
) -> HyperType | None:
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    choices = [
        element.value
        for element in elements
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    ]
    if len(choices) != len(elements):
        source.report(node, 'Literal takes strings, as in Literal["sum", "mean"]')
        return None
    for element, choice in zip(elements, choices, strict=True):
        if not choice or not choice.isprintable() or set(choice) & set('"\\'):
            source.report(
                element,
                "a choice is printable text without double quotes and backslashes",
                'For example Literal["sum", "mean"].',
            )
            return None
    return choice_type(tuple(choices), optional)


def _split_optional(node: ast.expr) -> tuple[ast.expr, bool]:
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and isinstance(node.right, ast.Constant)
        and node.right.value is None
    ):
        return node.left, True
    return node, False
