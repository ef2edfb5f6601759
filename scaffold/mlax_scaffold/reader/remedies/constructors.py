"""The constructor of a class as its fields and its `setup`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import stored_in
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.classes import called
from mlax_scaffold.reader.remedies.modes import KEYS
from mlax_scaffold.reader.remedies.names import SPEC
from mlax_scaffold.reader.source import Source, self_attribute


def as_setup(
    source: Source, owner: ast.ClassDef, method: ast.FunctionDef
) -> Fix | None:
    """`__init__` as annotated fields, and as `setup` where it does more than keep what it is given.

    Fields that it takes and does not set stay as they are. None where it keeps what it sets anew, where the
    class has fields that it neither sets nor takes, or a `setup` beside what it does more, or where
    arguments are of a kind that no field is.
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
    keys = [a for a in (*named, *given.kwonlyargs) if a.arg in KEYS]
    defaults = {n: d for n, d in defaults.items() if n not in KEYS}
    several = given.vararg or given.kwarg or method.decorator_list
    if several or keys[1:]:
        return None
    # Those of equinox are the types of what the constructor sets.
    fields = [s for s in owner.body if isinstance(s, ast.AnnAssign)]
    annotated = {unparsed(f.target): f for f in fields}
    staying = sorted(annotated.keys() & defaults.keys() - {*_set_in(method)})
    if not {*annotated} <= {*_set_in(method), *staying}:
        return None
    begun = [(annotated[n], defaults[n]) for n in staying]
    if any(d and f.value and unparsed(d) != unparsed(f.value) for f, d in begun):
        return None
    fields = [f for f in fields if f not in [f for f, _ in begun]]
    kept = [s for s in method.body if not _is_left_out(s)]
    beside = methods.get("setup")
    if beside and not all(_does_nothing(s) or _is_requirement(s) for s in kept):
        return None
    uses = [n for s in kept for n in walk(s) if isinstance(n, ast.Name)]
    uses = [n for n in uses if n.id in defaults]
    anew = stored_in(kept) & defaults.keys()
    if anew & {*_set_in(method)}:
        return None
    starts, uses = _set_anew(kept, uses, anew)
    arguments = [
        a
        for a in (*named, *given.kwonlyargs)
        # A name for the layer, as haiku has it, is handed to the base alone.
        if a.arg in defaults and (a.arg != "name" or any(n.id == "name" for n in uses))
    ]
    used = {n.id for n in uses} | anew | {*_read_in(kept), *_counting(owner)}
    kinds = {n: f.annotation for n, f in annotated.items()}
    types = [
        _type(a.arg, a.annotation or kinds.get(a.arg), defaults[a.arg], used)
        for a in arguments
    ]
    lines = [
        f"{a.arg}: {kind}" + (f" = {unparsed(default)}" if default else "")
        for a, kind in zip(arguments, types, strict=True)
        for default in [defaults[a.arg]]
        if a.arg not in staying
    ]
    given_in = [
        source.edit(f.annotation, f"{source.text_of(f.annotation)} = {unparsed(d)}")
        for f, d in begun
        if d and f.value is None
    ]
    lines.sort(key=lambda line: " = " in line)
    written = " ".join(lines).replace(",", " ").split()
    words = {*written} & {"Size"}
    needed = tuple(Needed(SPEC, word, word) for word in sorted(words))
    edits = _edits(
        source, method, kept, lines, uses, [a.arg for a in keys], starts, beside
    )
    return Fix((*given_in, *_without(source, fields), *edits), needed)


def _set_anew(
    kept: Sequence[ast.stmt], uses: Sequence[ast.Name], anew: Collection[str]
) -> tuple[list[str], list[ast.Name]]:
    """What `setup` begins with, so that arguments can be set anew, and the names that stand for fields.

    `width = width or features` is that of the fields; any other is a local from the start.
    """
    starts: list[str] = []
    fields = [n for n in uses if n.id not in anew]
    for name in sorted(anew):
        first = next(
            s for s in kept if any(n in uses and n.id == name for n in _names(s))
        )
        match first:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if (
                target == name
            ):
                fields += [n for n in _names(value) if n.id == name]
            case _:
                starts.append(f"{name} = self.{name}")
    return starts, fields


def _names(node: ast.AST) -> list[ast.Name]:
    return [n for n in walk(node) if isinstance(n, ast.Name)]


def _without(source: Source, fields: Sequence[ast.AnnAssign]) -> Iterator[Edit]:
    """The class without fields, and without the blank line behind them where one stands before them."""
    for field in fields:
        yield removed(source, field)
    if fields:
        before, after = fields[0].lineno - 1, (fields[-1].end_lineno or 0) + 1
        lines = source.lines[before - 1], source.lines[after - 1]
        if not any(map(str.strip, lines)):
            yield source.replace((after, 1), (after + 1, 1), "")


def _edits(
    source: Source,
    method: ast.FunctionDef,
    kept: Sequence[ast.stmt],
    lines: Sequence[str],
    uses: Sequence[ast.Name],
    keys: Sequence[str],
    starts: Sequence[str],
    beside: ast.FunctionDef | None,
) -> tuple[Edit, ...]:
    indent = " " * method.col_offset
    start = source.start(method)
    required = [s for s in kept if not _does_nothing(s)]
    if beside or not required:
        text = f"\n{indent}".join(lines) or "pass"
        whole = source.replace(start, source.end(method), text)
        return (whole, *_required_in(source, beside, required, uses))
    first = kept[0]
    fields = f"\n{indent}".join(lines)
    text = f"def setup({', '.join(['self', *keys])}):\n{indent}    "
    text += "".join(f"{start}\n{indent}    " for start in starts)
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


def _required_in(
    source: Source,
    setup: ast.FunctionDef | None,
    statements: Sequence[ast.stmt],
    fields: Sequence[ast.Name],
) -> Iterator[Edit]:
    """What a constructor requires at the beginning of the `setup` beside it."""
    if setup is None or not statements:
        return
    places = {(n.lineno, n.col_offset) for n in fields}
    indent = " " * (setup.col_offset + 4)
    texts = []
    for statement in map(copy.deepcopy, statements):
        for node in walk(statement):
            if isinstance(node, ast.Name) and (node.lineno, node.col_offset) in places:
                node.id = f"self.{node.id}"
        texts += unparsed(statement).splitlines()
    line, _ = source.start(setup.body[0])
    while source.lines[line - 2].strip().startswith("#"):
        line -= 1
    text = "".join(f"{indent}{part}\n" for part in texts)
    yield source.replace((line, 1), (line, 1), text)


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


def _set_in(method: ast.FunctionDef) -> Iterator[str]:
    """The attributes that a method sets."""
    for node in walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield self_attribute(node) or ""


def _is_left_out(statement: ast.stmt) -> bool:
    """Whether a statement keeps an argument by its name, or calls the constructor of the base."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Tuple(elts=given)):
            names = [v.id for v in given if isinstance(v, ast.Name)]
            return [*map(self_attribute, parts)] == names
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


def _is_requirement(statement: ast.stmt) -> bool:
    """Whether a statement only refuses what does not fit."""
    match statement:
        case ast.Assert():
            return True
        case ast.If(body=[ast.Raise()], orelse=other):
            return all(isinstance(s, ast.Raise) or _is_requirement(s) for s in other)
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


def _type(
    name: str, annotation: ast.expr | None, default: ast.expr | None, used: set[str]
) -> str:
    """The word for an argument: as it is annotated, or by its default, or by what is made with it."""
    text = annotation and unparsed(annotation)
    if text and not (text == "int" and name in used):
        return text
    match default:
        case ast.Constant(value=bool() | float() | str() as value):
            return type(value).__name__
        case ast.Constant(value=None):
            # What nothing is made with, and nothing counts by, is any number.
            return "Size | None" if name in used else "float | None"
        case ast.Attribute() | ast.Name() | ast.Call():
            return "Callable"  # By its default it is another word.
        case ast.Tuple() | ast.List():
            return "tuple"
        case None if name not in used:
            return "float"
    return "Size"
