"""Specs of the library, changed: by tokens, by lines, and by nodes of the syntax tree."""

from __future__ import annotations

import ast
import io
import random
import tokenize
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fuzz_hostile import EXPRESSIONS, ODD
from fuzz_pipeline import library_files

from mlax_scaffold.reader.files import SpecFile


def mutated(chance: random.Random) -> SpecFile:
    """A spec of the library with one to four changes of one sort."""
    file = chance.choice(library_files())
    change = chance.choice((by_token, by_line, by_node, by_node))
    text = file.text
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        text = change(text, chance)
    return replace(file, text=text)


@cache
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text and what stands between them; its lines where it has no tokens."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts: list[str] = []
    at = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            start = starts[min(token.start[0] - 1, len(lines))] + token.start[1]
            parts += [text[at:start], token.string]
            at = start + len(token.string)
    except (tokenize.TokenError, SyntaxError):
        return tuple(lines) or ("",)
    return tuple(filter(None, parts)) or ("",)


def by_token(text: str, chance: random.Random) -> str:
    """One token deleted, doubled, replaced, swapped or put in."""
    return _changed(tokens(text), tokens(_other(chance)), chance)


def by_line(text: str, chance: random.Random) -> str:
    """The same with a line."""
    lines = text.splitlines(keepends=True) or [""]
    return _changed(lines, _other(chance).splitlines(keepends=True), chance)


def _other(chance: random.Random) -> str:
    return chance.choice(library_files()).text


def _changed(given: Sequence[str], pool: Sequence[str], chance: random.Random) -> str:
    parts = list(given)
    i = chance.randrange(len(parts))
    match chance.choice(("delete", "double", "replace", "swap", "insert")):
        case "delete":
            del parts[i]
        case "double":
            parts.insert(i, parts[i])
        case "replace":
            parts[i] = chance.choice((*pool, *ODD))
        case "swap":
            j = chance.randrange(len(parts))
            parts[i], parts[j] = parts[j], parts[i]
        case _:
            parts.insert(i, chance.choice((*pool, *ODD)))
    return "".join(parts)


@cache
def expressions() -> tuple[str, ...]:
    """Every expression of the library's specs, once."""
    found: dict[str, None] = {}
    for file in library_files():
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, ast.expr):
                found[ast.unparse(node)] = None
    return tuple(found)


def by_node(text: str, chance: random.Random) -> str:
    """One expression in the place of another, or a statement less, twice or elsewhere; comments stay."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return by_line(text, chance)
    wanted = ast.stmt if chance.random() < 0.2 else ast.expr
    nodes = [n for n in ast.walk(tree) if isinstance(n, wanted)]
    if not nodes:
        return by_line(text, chance)
    node = chance.choice(nodes)
    start, end = _span(text, node)
    if isinstance(node, ast.expr):
        pool = EXPRESSIONS if chance.random() < 0.6 else expressions()
        return text[:start] + chance.choice(pool) + text[end:]
    match chance.choice(("delete", "double", "pass", "move")):
        case "delete":
            return text[:start] + text[end:]
        case "double":
            indent = " " * node.col_offset
            return f"{text[:end]}\n{indent}{text[start:end]}{text[end:]}"
        case "pass":
            return f"{text[:start]}pass{text[end:]}"
    other = _span(text, chance.choice(nodes))
    return text[: other[0]] + text[start:end] + text[other[1] :]


def _span(text: str, node: ast.stmt | ast.expr) -> tuple[int, int]:
    lines = text.splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        before = sum(map(len, lines[: line - 1]))
        return before + len(lines[line - 1].encode()[:column].decode(errors="replace"))

    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = at(node.lineno, node.col_offset)
    return start, at(node.end_lineno, node.end_col_offset)
