"""The constructor of a class as its fields and its `setup`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import stored_in
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.classes import called
from mlax_scaffold.reader.remedies.names import SPEC
from mlax_scaffold.reader.source import Source, self_attribute

_OF_OTHERS = ("key", "rng", "rngs")
"""What other libraries make weights with: here `init` is given it."""


def as_setup(
    source: Source, owner: ast.ClassDef, method: ast.FunctionDef
) -> Fix | None:
    """`__init__` as annotated fields, and as `setup` where it does more than keep what it is given.

    None where it sets what it is given anew, where the class has fields, or a `setup` beside what it
    does more, or where arguments are of a kind that no field is.
    """
    found = [s for s in owner.body if isinstance(s, ast.FunctionDef)]
    methods = {s.name: s for s in found}
    if method.name == "__post_init__":
        if "setup" not in methods:
            return called(source, method, "setup")
        return _before(source, owner, method, methods["setup"])
    given = method.args
    named = [*given.posonlyargs, *given.args][1:]
    firsts = [None] * (len(named) - len(given.defaults))
    defaults = dict(
        zip(
            (a.arg for a in (*named, *given.kwonlyargs)),
            (*firsts, *given.defaults, *given.kw_defaults),
            strict=True,
        )
    )
    fields = any(isinstance(s, ast.AnnAssign) for s in owner.body)
    several = given.vararg or given.kwarg or method.decorator_list
    if fields or several or {*_OF_OTHERS} & defaults.keys():
        return None
    kept = [s for s in method.body if not _is_left_out(s)]
    if "setup" in methods and not all(map(_does_nothing, kept)):
        return None
    uses = [n for s in kept for n in walk(s) if isinstance(n, ast.Name)]
    uses = [n for n in uses if n.id in defaults]
    if stored_in(method.body) & defaults.keys():
        return None
    arguments = [
        a
        for a in (*named, *given.kwonlyargs)
        # A name for the layer, as haiku has it, is handed to the base alone.
        if a.arg != "name" or any(n.id == "name" for n in uses)
    ]
    used = {n.id for n in uses} | {*_read_in(kept), *_counting(owner)}
    types = [_type(a, defaults[a.arg], used) for a in arguments]
    lines = [
        f"{a.arg}: {kind}" + (f" = {unparsed(default)}" if default else "")
        for a, kind in zip(arguments, types, strict=True)
        for default in [defaults[a.arg]]
    ]
    lines.sort(key=lambda line: " = " in line)
    words = {part for kind in types for part in kind.split(" | ")} & {"Size"}
    needed = tuple(Needed(SPEC, word, word) for word in sorted(words))
    return Fix(_edits(source, method, kept, lines, uses), needed)


def _edits(
    source: Source,
    method: ast.FunctionDef,
    kept: Sequence[ast.stmt],
    lines: Sequence[str],
    uses: Sequence[ast.Name],
) -> tuple[Edit, ...]:
    indent = " " * method.col_offset
    start = source.start(method)
    if all(map(_does_nothing, kept)):
        text = f"\n{indent}".join(lines) or "pass"
        return (source.replace(start, source.end(method), text),)
    first = kept[0]
    fields = f"\n{indent}".join(lines)
    text = f"def setup(self):\n{indent}    "
    if fields:
        text = f"{fields}\n\n{indent}{text}"
    line, column = source.start(first)
    while source.lines[line - 2].strip().startswith("#"):
        line -= 1
    edits = [source.replace(start, (line, column), text)]
    later = method.body[method.body.index(first) :]
    edits += [removed(source, s) for s in later if s not in kept]
    edits += [source.edit(n, f"self.{n.id}") for n in uses]
    return tuple(edits)


def _before(
    source: Source, owner: ast.ClassDef, first: ast.FunctionDef, setup: ast.FunctionDef
) -> Fix | None:
    """What runs behind the constructor as the beginning of the `setup` that follows it.

    None where something stands between them, or where `first` may end before its last statement.
    """
    place = owner.body.index(first)
    given = [*first.args.args[1:], *setup.args.args[1:]]
    ends = any(isinstance(n, ast.Return) for n in walk(first))
    if owner.body[place + 1 : place + 2] != [setup] or given or ends:
        return None
    renamed = called(source, first, "setup")
    calls = [s for s in first.body if _is_of_base(s) or _does_nothing(s)]
    if len(calls) == len(first.body):
        return Fix((source.replace(source.start(first), source.start(setup), ""),))
    start = (first.body[-1].end_lineno or first.lineno) + 1
    body = setup.body
    while body and _does_nothing(body[0]):
        body = body[1:]
    if not body:
        return None
    line = body[0].lineno
    while source.lines[line - 2].strip().startswith("#"):
        line -= 1
    edits = [*renamed.edits, source.replace((start, 1), (line, 1), "")]
    edits += [removed(source, s) for s in calls]
    return Fix(tuple(edits))


def _is_left_out(statement: ast.stmt) -> bool:
    """Whether a statement keeps an argument by its name, or calls the constructor of the base."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Name(id=name)):
            return self_attribute(target) == name
        case ast.AnnAssign(target=target, value=ast.Name(id=name)):
            return self_attribute(target) == name
    return _is_of_base(statement)


def _is_of_base(statement: ast.stmt) -> bool:
    """Whether a statement is a call of the constructor of the base."""
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="__init__" | "__post_init__"))
        ):
            return True
    return False


def _does_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or `pass`."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
    return False


def _read_in(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The attributes that are read where things are made."""
    for node in (n for s in statements for n in walk(s)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield self_attribute(node) or ""


def _counting(owner: ast.ClassDef) -> Iterator[str]:
    """The attributes that a class reads where an integer stands: `x[:self.k]`, `range(self.k)`."""
    for node in walk(owner):
        match node:
            case ast.Slice(lower=lower, upper=upper, step=step):
                places = [lower, upper, step]
            case ast.Call(func=ast.Name(id="range"), args=places):
                pass
            case ast.Call(func=ast.Attribute(attr="reshape"), args=places):
                pass
            case _:
                continue
        for part in (n for place in places if place for n in walk(place)):
            yield self_attribute(part) or ""


def _type(argument: ast.arg, default: ast.expr | None, used: set[str]) -> str:
    """The word for an argument: as it is annotated, or by its default, or by what is made with it."""
    annotation = argument.annotation and unparsed(argument.annotation)
    if annotation and not (annotation == "int" and argument.arg in used):
        return annotation
    match default:
        case ast.Constant(value=bool() | float() | str() as value):
            return type(value).__name__
        case ast.Constant(value=None):
            return "Size | None"
        case None if argument.arg not in used:
            return "float"
    return "Size"
