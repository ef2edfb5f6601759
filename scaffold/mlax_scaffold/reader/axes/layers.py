"""What layers of the library say of their inputs, with the sizes that they are made with."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mlax_scaffold.model.shapes import ShapeError, parse_shape
from mlax_scaffold.reader.axes.aliases import Alias
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.places import made_at
from mlax_scaffold.reader.axes.sizes import Scope, arguments, fields_of, functions_in
from mlax_scaffold.reader.axes.spatial import LAST, channels_are_last, with_axes
from mlax_scaffold.reader.files import library_text
from mlax_scaffold.reader.homes import home
from mlax_scaffold.reader.source import parsed

_BATCH = "batch_dims"
"""The field that is the number of axes of a batch."""

_SPATIAL = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}


@dataclass(frozen=True)
class Layer:
    """A sub-layer: its class, and what it is made with."""

    node: ast.ClassDef
    module: ast.Module
    given: Mapping[str, ast.expr]

    @property
    def forward(self) -> ast.FunctionDef | None:
        """How it is called."""
        return functions_in(self.node).get("forward")


def layer_of(scope: Scope, node: ast.expr) -> Layer | None:
    """The layer that `self.name`, `self.name[i]["gate"]`, `Name(...)` stands for; None for anything else."""
    made = node if isinstance(node, ast.Call) else made_at(scope, node)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return None
    found = _class(scope, made.func.id)
    if found is None:
        return None
    fields = fields_of(found[0])
    whole = ast.Call(made.func, with_axes(scope.module, made, fields), made.keywords)
    return Layer(*found, arguments(whole, fields))


def _class(scope: Scope, name: str) -> tuple[ast.ClassDef, ast.Module] | None:
    if name in scope.classes:
        return scope.classes[name], scope.module
    for statement in scope.module.body:
        if not isinstance(statement, ast.ImportFrom):
            continue
        for alias in statement.names:
            every = alias.name == "*" and statement.module == "mlax_scaffold.spec"
            if every and (module_of := home(name)):
                module = _library(*module_of.split(".")[-2:])
                found = module and Scope(module).classes.get(name)
                return (found, module) if found and module else None
            if (alias.asname or alias.name) == name:
                place = tuple((statement.module or "").split(".")[-2:])
                # As in what generated code is called with: `from mlax.nn import Linear`, or beside it.
                if place[-1] in ("spec", *_of_generated(place)) and (
                    module_of := home(alias.name)
                ):
                    place = tuple(module_of.split(".")[-2:])
                module = _library(*place) if len(place) == 2 else None
                found = module and Scope(module).classes.get(alias.name)
                return (found, module) if found and module else None
    return None


def _of_generated(place: tuple[str, ...]) -> tuple[str, ...]:
    """The section of the library that a module is, or the specs of it."""
    homes = ("mlax", "mlax_scaffold", "specs")
    return place[-1:] if place[0] in homes else ()


@cache
def _library(section: str, stem: str) -> ast.Module | None:
    text = library_text(section, stem)
    return None if text is None else parsed(text)


def tell(
    scope: Scope, layer: Layer, annotation: ast.expr, known: Known, more: int = 0
) -> None:
    """What the type of a layer's input says of what is given to it.

    Where that has `more` axes at its end, it says nothing of the input but which axes it has before them.
    """
    match annotation:
        case ast.BinOp(left=left):
            return tell(scope, layer, left, known, more)
        case ast.Subscript(
            value=ast.Name(id="Float" | "Int" | "Bool" as kind),
            slice=ast.Constant(value=str(text)),
        ):
            pass
        case _:
            return None
    if kind != "Float" and not more:
        known.kind = kind
    words = dims(scope, layer, text)
    return None if words is None else _tell_words(scope, words, known, more)


def words_of(scope: Scope, layer: Layer, annotation: ast.expr | None) -> list[str]:
    """The words of the type of a layer's input in terms of what holds it; none of any other type."""
    text = _text(annotation) if annotation else None
    return dims(scope, layer, text) or [] if text else []


def _tell_words(scope: Scope, words: list[str], known: Known, more: int) -> None:
    """What the words of a shape say of what has it, with `more` axes at its end."""
    open_ = [i for i, word in enumerate(words) if word[0] in "*.#"]
    if more:
        ends = words[open_[-1] + 1 :] if open_ else []
        if open_ and words[open_[-1]] == "*spatial":
            ends = ["?", *ends]  # There is one such axis at least.
        for i, word in enumerate(ends[: len(ends) - more]):
            known.from_end(i - (len(ends) - more))
            known.call(i - (len(ends) - more), _own(word))
        return
    if not open_:
        known.has(len(words))
    front = words[: open_[0]] if open_ else words
    back = words[open_[-1] + 1 :] if open_ else []
    for i, word in (
        *enumerate(front),
        *((-1 - i, w) for i, w in enumerate(back[::-1])),
    ):
        # What a layer calls an axis of any size, its caller may call otherwise.
        free = word.isidentifier() and word not in scope.fields
        known.call(i, "" if free and known.is_described(i) else _own(word))
    if back and words[open_[-1]].startswith("*"):
        known.from_end(-len(back))


def tell_rank(scope: Scope, layer: Layer, annotation: ast.expr, alias: Alias) -> None:
    """What the type of a layer's input says of the number of axes of what is given to it.

    That has another last axis than the input, and the others of it. What ends in its channels has no
    spatial axes behind them.
    """
    words = dims(scope, layer, _text(annotation) or "")
    if words and alias.last and words[-2:] == [alias.last, "*spatial"]:
        count = layer.given.get(_BATCH, fields_of(layer.node).get(_BATCH))
        number = count.value if isinstance(count, ast.Constant) else None
        words = ["batch", alias.last] if words[0] == "*batch" and number == 1 else words
    if words and not any(word[0] in "*.#" for word in words):
        alias.known.has(len(words))


def _own(word: str) -> str:
    return "" if word == "?" else word


def dims(scope: Scope, layer: Layer, text: str) -> list[str] | None:
    """The words of a layer's shape in the terms of what holds it; "?" for what is unknown."""
    fields = fields_of(layer.node)
    if " if " in text:
        yes, _, rest = text.partition(" if ")
        field, _, no = rest.partition(" else ")
        chosen = layer.given.get(field, fields.get(field))
        if field == LAST and field not in layer.given:
            chosen = ast.Constant(channels_are_last(scope.module))
        if not isinstance(chosen, ast.Constant):
            return None
        text = yes if chosen.value else no
    words: list[str] = []
    for word in text.split():
        if word in fields:
            given = layer.given.get(word, fields[word])
            words.append((given is not None and scope.size(given)) or "?")
        elif word == "*spatial" and "spatial_dims" in fields:
            given = layer.given.get("spatial_dims", fields["spatial_dims"])
            count = given.value if isinstance(given, ast.Constant) else 0
            words += _SPATIAL.get(count if isinstance(count, int) else 0, ("*spatial",))
        elif word.startswith(("*", "#", "...")):
            words.append(word)
        else:
            words.append(_computed(scope, layer, word, fields))
    return words


def _computed(
    scope: Scope, layer: Layer, word: str, fields: Mapping[str, ast.expr | None]
) -> str:
    """A word that is none of the layer's fields, but may be computed of them, as `len(sizes)`."""
    if word.isidentifier() or not {*re.findall(r"[A-Za-z_]\w*", word)} & {*fields}:
        return word if _plain(word, fields) else "?"

    def own(found: re.Match[str]) -> str:
        name = found[0]
        if name not in fields:
            return name
        given = layer.given.get(name, fields[name])
        size = (given is not None and scope.size(given)) or "?"
        return size if size.isidentifier() or size.isdecimal() else f"({size})"

    text = re.sub(r"[A-Za-z_]\w*", own, word)
    try:
        parse_shape(text)
    except ShapeError:
        return "?"
    return text


def _plain(word: str, fields: Mapping[str, object]) -> bool:
    """Whether a word says the same outside of the layer."""
    try:
        parse_shape(word)
    except ShapeError:
        return False
    return word.isidentifier() and word not in fields


def keeps(layer: Layer) -> tuple[int, bool] | None:
    """How many axes more the result has than the input, and whether its last one is that of the input.

    None where the types do not say it.
    """
    method = layer.forward
    if method is None or method.returns is None or len(method.args.args) < 2:
        return None
    given, returned = method.args.args[1].annotation, method.returns
    texts = [None if a is None else _text(a) for a in (given, returned)]
    if None in texts:
        return None
    first, last = (str(text).split() for text in texts)
    more = len(last) - len(first)
    if first[:1] != last[:1] or more not in (-1, 0, 1):
        return None
    return more, first == last


def ends_in(scope: Scope, layer: Layer) -> str:
    """The size of the last axis of the result, where that is a field; empty where it is unknown, or 1."""
    method = layer.forward
    text = _text(method.returns) if method and method.returns else None
    words = dims(scope, layer, text) if text else None
    if not text or not words or words[-1] in ("?", "1"):
        return ""
    return words[-1] if text.split()[-1] in fields_of(layer.node) else ""


def _text(annotation: ast.expr) -> str | None:
    match annotation:
        case ast.Subscript(slice=ast.Constant(value=str(text))):
            return text
    return None
