"""Parameters of functions that stand at another place, or are told in another way, than specs have them."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.remedies.names import renamed, word
from mlax_scaffold.reader.remedies.types import needed
from mlax_scaffold.reader.source import Source, kind_of_value


def keyword_only(
    source: Source, function: ast.FunctionDef, arg: ast.arg, default: ast.expr | None
) -> Fix | None:
    """A hyperparameter of a function, and all behind it, by keyword; None where it is none."""
    given = function.args
    if given.vararg or arg not in given.args:
        return None
    if arg.annotation is None and with_word(source, arg, default) is None:
        return None
    star = source.insert(arg, "*, ")
    if not given.kwonlyargs:
        return Fix((star,))
    last = given.defaults[-1] if given.defaults else given.args[-1]
    span = source.end(last), source.start(given.kwonlyargs[0])
    before, _, after = source.between(*span).partition("*")
    if "#" in before + after:
        return None
    kept = before + after.lstrip().removeprefix(",").lstrip()
    return Fix((star, source.replace(*span, kept)))


def with_word(source: Source, arg: ast.arg, default: ast.expr | None) -> Fix | None:
    """`flip=False` as `flip: bool = False`; None where the default is no plain value."""
    kind = kind_of_value(default)
    if default is None or not kind:
        return None
    place = source.start(arg), source.start(default)
    return Fix((source.replace(*place, f"{arg.arg}: {kind} = "),))


def before_star(source: Source, function: ast.FunctionDef, name: str) -> Fix | None:
    """An array of a function before its `*`; None where it has to be given, and those before it have not."""
    given = function.args
    moved = next(a for a in given.kwonlyargs if a.arg == name)
    place = given.kwonlyargs.index(moved)
    default = given.kw_defaults[place]
    if given.vararg or (given.defaults and default is None) or not given.args:
        return None
    # What stands between two parameters goes with the first: comments would lose theirs.
    last = given.defaults[-1] if given.defaults else given.args[-1]
    end = source.end(default or moved)
    text = source.between(source.start(moved), end)
    if place + 1 < len(given.kwonlyargs):
        span = source.start(moved), source.start(given.kwonlyargs[place + 1])
    else:
        before = given.kw_defaults[place - 1] or given.kwonlyargs[place - 1]
        span = source.end(before if place else last), end
    if "#" in source.between(*span):
        return None
    after = source.end(last)
    if not place and span[0] == after:
        # It is the only one behind the `*`, which goes.
        return Fix((source.replace(after, end, f", {text}"),))
    return Fix((source.replace(after, after, f", {text}"), source.replace(*span, "")))


def without_star(source: Source, arg: ast.arg) -> Fix | None:
    """A method without `*args`, which it only hands on; None where it reads them.

    What a layer takes is one input or one tuple, and others by name.
    """
    for method in ast.walk(source.tree):
        if not isinstance(method, ast.FunctionDef) or method.args.vararg is not arg:
            continue
        uses = [
            n for n in ast.walk(method) if isinstance(n, ast.Name) and n.id == arg.arg
        ]
        calls = [n for n in ast.walk(method) if isinstance(n, ast.Call)]
        edits = [
            _unlisted(source, call, a)
            for call in calls
            for a in call.args
            if isinstance(a, ast.Starred) and a.value in uses
        ]
        before = [*method.args.posonlyargs, *method.args.args]
        if len(edits) != len(uses) or None in edits or len(before) < 2:
            return None
        previous = method.args.defaults[-1] if method.args.defaults else before[-1]
        end = source.end(getattr(previous, "annotation", None) or previous)
        own = source.replace(end, source.end(arg.annotation or arg), "")
        if method.args.kwonlyargs:
            own = source.replace(end, source.end(arg.annotation or arg), ", *")
        return Fix((own, *(e for e in edits if e)))
    return None


def as_tuple(source: Source, arg: ast.arg) -> Fix | None:
    """The further inputs `*arg` of a method as a tuple of any number of arrays.

    None where inputs before it may be left out, or they are handed on with a star.
    """
    for method in ast.walk(source.tree):
        if not isinstance(method, ast.FunctionDef) or method.args.vararg is not arg:
            continue
        handed = [n.value for n in ast.walk(method) if isinstance(n, ast.Starred)]
        if any(isinstance(n, ast.Name) and n.id == arg.arg for n in handed):
            return None
        line, column = source.start(arg)
        star = (line, column - 1)
        if method.args.defaults or source.between(star, (line, column)) != "*":
            return None
        each = source.text_of(arg.annotation) if arg.annotation else 'Float["..."]'
        end = source.end(arg.annotation or arg)
        behind = ", *" if method.args.kwonlyargs else ""
        text = f"{arg.arg}: tuple[{each}, ...]{behind}"
        return Fix((source.replace(star, end, text),), needed(each))
    return None


def _unlisted(source: Source, call: ast.Call, given: ast.expr) -> Edit | None:
    """A call without one of its arguments, which is not the first."""
    place = call.args.index(given)
    if not place:
        return None
    return source.replace(source.end(call.args[place - 1]), source.end(given), "")


def handed_on(source: Source, arg: ast.arg, name: str) -> Fix | None:
    """The keyword inputs `**arg` of a method by that name, as trees; None where the name is taken."""
    for method in ast.walk(source.tree):
        if not isinstance(method, ast.FunctionDef) or not source.same(
            method.args.kwarg, arg
        ):
            continue
        edits: tuple[Edit, ...] = ()
        if arg.arg != name:
            others = renamed(source, method, arg.arg, name)
            if others is None:
                return None
            place = source.start(arg)
            edits = tuple(e for e in others.edits if (e.line, e.column) != place)
        needed = word(source, "PyTree")
        named = source.edit(arg, f"{name}: {needed.bound}")
        return Fix((named, *edits), (needed,))
    return None
