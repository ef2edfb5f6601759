"""Parameters of constructors of PyTorch that are only compared with texts, `if kind == "batch": ...`.

Without a type they are texts. What is converted has the first one that is asked for as a default, where
nothing else tells which there are.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal
from mlax_scaffold.conversion.source.walking import located, walk


def with_text_parameters(origin: Origin, thing: str) -> None:
    """Give them the type, and the default, in place."""
    starts = {
        node.name: start
        for node in origin.classes.values()
        if framework_of(origin, node) == "torch"
        and (start := method_of(node, "__init__")) is not None
    }
    found: dict[tuple[str, str], ast.expr] = {}
    for _ in range(len(starts)):
        before = len(found)
        for title, start in starts.items():
            defaults = defaults_of(start.args)
            for argument in start.args.args[1:]:
                if argument.annotation is None and argument.arg not in defaults:
                    text = _text(start, argument.arg, starts, found)
                    if text is not None:
                        found[title, argument.arg] = text
        if len(found) == before:
            break
    for (title, name), text in found.items():
        given = starts[title].args
        argument = next(a for a in given.args if a.arg == name)
        argument.annotation = ast.copy_location(ast.Name("str", ast.Load()), argument)
        behind = len(given.args) - given.args.index(argument) - 1
        if title == thing and behind == len(given.defaults):
            given.defaults.insert(0, ast.copy_location(text, argument))
    located(origin.tree)


def _text(
    start: ast.FunctionDef,
    name: str,
    starts: dict[str, ast.FunctionDef],
    known: dict[tuple[str, str], ast.expr],
) -> ast.expr | None:
    """The first text that a parameter is compared with, or a class that it is handed to compares it with.

    None where the constructor does other things with it.
    """
    found: list[ast.expr] = []
    uses: set[int] = set()
    for part in walk(start):
        match part:
            case ast.Compare(
                left=ast.Name() as left,
                ops=[ast.Eq() | ast.NotEq()],
                comparators=[right],
            ) if is_name(left, name) and isinstance(literal(right), str):
                uses.add(id(left))
                found.append(right)
            case ast.Call(func=ast.Name(id=owner), args=args) if owner in starts:
                places = [a.arg for a in starts[owner].args.args[1:]]
                given = [*zip(places, args, strict=False)]
                given += [(str(k.arg), k.value) for k in part.keywords]
                for title, value in given:
                    if is_name(value, name) and (owner, title) in known:
                        uses.add(id(value))
                        found.append(known[owner, title])
    others = any(is_name(p, name) and id(p) not in uses for p in walk(start))
    return None if others or not found else found[0]
