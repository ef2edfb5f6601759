"""Axes that a type leaves open, called what they are in the types of a method or a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.reader.source import Source

LAST = "any_axis"
"""What tests call the axis that stands for `...` behind others."""


def renamed(
    source: Source, owner: str, axes: Mapping[str, str]
) -> tuple[ast.AST, Fix] | None:
    """The types of the definition of that name with other texts for some axes, and the first of them.

    None where no type has such an axis.
    """
    first, edits = None, []
    for text in _texts(source.tree, owner):
        written = source.text_of(text)
        new = _replaced(written, axes)
        if LAST in axes and str(text.value).endswith(" ..."):
            new = f"{new[:-1]} {axes[LAST]}{new[-1]}"
        if new != written:
            first = first or text
            edits.append(source.edit(text, new))
    return (first, Fix(tuple(edits))) if first else None


def reshaped(
    source: Source, owner: str, shapes: Mapping[str, str]
) -> Iterator[tuple[ast.AST, str, Fix]]:
    """The types of inputs with other shapes, by the names of the inputs."""
    for function in _functions(source.tree, owner):
        for argument in (*function.args.posonlyargs, *function.args.args):
            texts = [*_shapes(argument.annotation)] if argument.annotation else []
            shape = shapes.get(argument.arg)
            if shape and len(texts) == 1 and texts[0].value != shape:
                fix = Fix((source.edit(texts[0], f'"{shape}"'),))
                yield texts[0], shape, fix


def _functions(tree: ast.Module, owner: str) -> Iterator[ast.FunctionDef]:
    """`forward` of the class, or the function, of that name."""
    for part in tree.body:
        match part:
            case ast.FunctionDef(name=name) if name == owner:
                yield part
            case ast.ClassDef(name=name, body=body) if name == owner:
                yield from (
                    s
                    for s in body
                    if isinstance(s, ast.FunctionDef) and s.name == "forward"
                )


def _replaced(text: str, axes: Mapping[str, str]) -> str:
    """A shape in which names of axes are other texts."""

    def other(found: re.Match[str]) -> str:
        new = axes.get(found[0], found[0])
        whole = found.string[found.end() :][:1] in ("", " ", '"', "'")
        before = found.string[: found.start()][-1:] in ("", " ", '"', "'")
        return new if (whole and before) or new.isidentifier() else f"({new})"

    return re.sub(r"(?<![\w*#\[(])[A-Za-z_]\w*(?![\w(\[])", other, text)


def _texts(tree: ast.Module, owner: str) -> Iterator[ast.Constant]:
    """The shapes in the types of `forward` of the class, or of the function, and of the classes beside it."""
    for part in tree.body:
        match part:
            case ast.ClassDef(body=body):
                for item in body:
                    match item:
                        case ast.FunctionDef(name="forward") if part.name == owner:
                            yield from _of(item)
                        case ast.AnnAssign(annotation=type_):
                            yield from _shapes(type_)
            case ast.FunctionDef(name=name) if name == owner:
                yield from _of(part)


def _of(function: ast.FunctionDef) -> Iterator[ast.Constant]:
    arguments = (*function.args.posonlyargs, *function.args.args)
    types = [a.annotation for a in (*arguments, *function.args.kwonlyargs)]
    for type_ in filter(None, (*types, function.returns)):
        yield from _shapes(type_)


def _shapes(type_: ast.expr) -> Iterator[ast.Constant]:
    for node in ast.walk(type_):
        match node:
            case ast.Subscript(
                value=ast.Name(id=kind), slice=ast.Constant(value=str()) as text
            ) if kind in KINDS:
                yield text
