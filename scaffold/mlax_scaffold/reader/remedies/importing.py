"""Adds imports to a text, and takes out those that edits left without a use."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable

from mlax_scaffold.errors import Needed

_WIDTH = 88
_STANDARD = ("math", "typing", "collections", "functools", "__future__", "enum")
"""First parts of modules that stand in a group of their own, before all others."""
_OWN = ("mlax_scaffold", "specs")
"""Those that stand after all others."""


def with_imports(text: str, needed: Iterable[Needed]) -> str:
    """The text with what it needs imported, where it is not yet."""
    for item in sorted(set(needed)):
        text = _with_import(text, item)
    return text


def without_unused(text: str, before: str) -> str:
    """The text without imports that `before` used, and it does not.

    Of one that was no Python nobody knows what it used.
    """
    try:
        gone = _used(before) - _used(text)
    except SyntaxError:
        return text
    tree = parsed(text)
    lines = text.split("\n")
    for statement in reversed(_imports(tree)):
        kept = [a for a in statement.names if _bound(a) not in gone]
        if len(kept) == len(statement.names):
            continue
        end = statement.end_lineno or statement.lineno
        if kept and isinstance(statement, ast.ImportFrom):
            lines[statement.lineno - 1 : end] = _from(statement, kept)
        elif kept:
            names = ", ".join(map(_alias, kept))
            lines[statement.lineno - 1 : end] = [f"import {names}"]
        else:
            del lines[statement.lineno - 1 : end]
            _close_gap(lines, statement.lineno - 1)
    return "\n".join(lines)


def _with_import(text: str, needed: Needed) -> str:
    tree = parsed(text)
    statements = _imports(tree)
    alias = ast.alias(needed.name or needed.module, None)
    if needed.bound not in (alias.name, needed.module):
        alias.asname = needed.bound
    lines = text.split("\n")
    for statement in statements:
        if _module(statement) != (needed.module if needed.name else ""):
            continue
        given = [_alias(a) for a in statement.names]
        if _alias(alias) in given or given == ["*"]:
            return text
        if isinstance(statement, ast.ImportFrom) and alias.asname is None:
            end = statement.end_lineno or statement.lineno
            block = lines[statement.lineno - 1 : end]
            if any("#" in line for line in block) or any(
                other.asname for other in statement.names
            ):
                continue  # a statement of its own leaves the comment in its place
            names = sorted([*statement.names, alias], key=_order)
            lines[statement.lineno - 1 : end] = _from(statement, names)
            return "\n".join(lines)
    return "\n".join(_inserted(lines, tree, statements, needed))


def _inserted(
    lines: list[str],
    tree: ast.Module,
    statements: list[ast.Import | ast.ImportFrom],
    needed: Needed,
) -> list[str]:
    """The lines with a statement more, in its group."""
    line = str(needed)
    key = _key_of(needed)
    same = [s for s in statements if _key(s)[0] == key[0]]
    before = [s for s in same or statements if _key(s) <= key]
    after = [s for s in same or statements if _key(s) > key]
    if before:
        at = before[-1].end_lineno or before[-1].lineno
        new = [line] if same else ["", line]
    elif after:
        at = after[0].lineno - 1
        new = [line] if same else [line, ""]
    else:
        documented = ast.get_docstring(tree, clean=False) is not None
        at = (tree.body[0].end_lineno or 1) if documented else 0
        new = ["", line] if documented else [line, "", ""]
    return [*lines[:at], *new, *lines[at:]]


def _key(statement: ast.Import | ast.ImportFrom) -> tuple[int, int, str]:
    if isinstance(statement, ast.Import):
        return _place(statement.names[0].name, plain=True)
    return _place("." * statement.level + (statement.module or ""), plain=False)


def _key_of(needed: Needed) -> tuple[int, int, str]:
    return _place(needed.module, plain=not needed.name)


def _place(module: str, *, plain: bool) -> tuple[int, int, str]:
    top = module.partition(".")[0]
    group = 0 if top in _STANDARD else 2 if top in (*_OWN, "") else 1
    return group, int(not plain), module


def _from(statement: ast.ImportFrom, names: list[ast.alias]) -> list[str]:
    module = "." * statement.level + (statement.module or "")
    line = f"from {module} import {', '.join(map(_alias, names))}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {_alias(n)}," for n in names), ")"]


def _alias(alias: ast.alias) -> str:
    other = f" as {alias.asname}" if alias.asname not in (None, alias.name) else ""
    return f"{alias.name}{other}"


def _order(alias: ast.alias) -> tuple[int, str]:
    """Constants, then classes, then all else."""
    name = alias.name
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def _imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]


def _module(statement: ast.Import | ast.ImportFrom) -> str:
    if isinstance(statement, ast.Import):
        return ""
    return "." * statement.level + (statement.module or "")


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, whatever Python would warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _used(text: str) -> set[str]:
    """The names that a text reads."""
    return {
        n.id
        for n in ast.walk(parsed(text))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


def _close_gap(lines: list[str], at: int) -> None:
    """Leave no two groups of empty lines where a statement was taken out."""
    above = at == 0 or not lines[at - 1].strip()
    if above and at < len(lines) and not lines[at].strip():
        following = next((line for line in lines[at:] if line.strip()), "")
        if following.startswith(("import ", "from ")) or at == 0:
            del lines[at]
