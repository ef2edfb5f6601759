"""Schedules that are written as functions, as classes."""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import of_jax, word
from mlax_scaffold.reader.remedies.types_of_defaults import of_items
from mlax_scaffold.reader.source import Source, kind_of_value

_OF_STEPS = ("steps", "epochs", "period", "interval", "warmup", "every")
"""Ends of the names of parameters that count steps."""


@dataclass(frozen=True)
class _Form:
    """A function of the step, and the parameters that are its hyperparameters."""

    step: str
    fields: tuple[ast.arg, ...]
    before: tuple[ast.stmt, ...]
    """What is computed of the hyperparameters alone."""
    body: tuple[ast.stmt, ...] = ()
    result: ast.expr | None = None
    """What a function of one expression computes, in the place of statements."""


def schedule_class(source: Source, function: ast.FunctionDef) -> Fix | None:
    """`def decay(step, rate=0.1)`, or one that returns a function of the step, as a class.

    None where a parameter is another thing in the body, or has no plain type.
    """
    form = _form(function)
    if form is None or function.args.vararg or function.args.kwarg:
        return None
    names = {a.arg for a in form.fields}
    parts = [*form.before, *form.body, *([form.result] if form.result else [])]
    if any(name_bound(node) in names for part in parts for node in walk(part)):
        return None
    if any(s.lineno == function.lineno for s in function.body):
        return None
    defaults = defaults_of(function.args)
    fields = [
        field_of(source, a, defaults.get(a.arg), function.body) for a in form.fields
    ]
    base = word(source, "Schedule")
    title = titled(function.name)
    docstring = ast.get_docstring(function, clean=False)
    first = function.body[0]
    lines = [f"class {title}({base.bound}):"]
    if docstring is not None:
        lines += [f"    {source.text_of(first)}", ""]
    lines += [*(f"    {line}" for line in fields), *([""] if fields else [])]
    checked, form = _checked(form)
    if checked:
        lines += ["    def setup(self):", *shifted(source, checked, names), ""]
    lines.append(f"    def value(self, {form.step}):")
    for part in ((s,) for s in form.before) if checked else (form.before,):
        lines += shifted(source, part, names)
    lines += (
        shifted(source, form.body, names)
        if form.result is None
        else _returned(source, form.result, names)
    )
    start = min(d.lineno for d in (function, *function.decorator_list))
    edit = source.replace((start, 1), source.end(function), "\n".join(lines))
    return Fix((edit,), (base,))


def _checked(form: _Form) -> tuple[tuple[ast.stmt, ...], _Form]:
    """What a schedule requires, with what that is computed by, and the form without."""

    def is_check(statement: ast.stmt) -> bool:
        match statement:
            case ast.If(body=[ast.Raise()], orelse=[]) | ast.Assert():
                return True
            case ast.Expr(value=ast.Call(func=ast.Name(id="require"))):
                return True
        return False

    def of_step(statement: ast.stmt) -> bool:
        return any(
            isinstance(n, ast.Name) and n.id == form.step for n in walk(statement)
        )

    first = itertools.takewhile(lambda s: is_check(s) and not of_step(s), form.body)
    parts = (*form.before, *first)
    checks = [i for i, statement in enumerate(parts) if is_check(statement)]
    if not checks:
        return (), form
    before = tuple(s for s in form.before if not is_check(s))
    body = form.body[len(parts) - len(form.before) :]
    return parts[: checks[-1] + 1], dataclasses.replace(form, before=before, body=body)


def value_of(source: Source, name: str) -> ast.FunctionDef | None:
    """The method `value` of a class of schedules; None where it has another's."""
    for owner in source.tree.body:
        if isinstance(owner, ast.ClassDef) and owner.name == name:
            for part in owner.body:
                if isinstance(part, ast.FunctionDef) and part.name == "value":
                    return part
    return None


def each_step(source: Source, method: ast.FunctionDef) -> Fix | None:
    """A `value` that takes one step as a method, which `value` calls with each of several."""
    taken = {n.attr for n in walk(source.tree) if isinstance(n, ast.Attribute)}
    taken |= {n.name for n in walk(source.tree) if isinstance(n, ast.FunctionDef)}
    name = next((n for n in ("at_step", "at_one_step") if n not in taken), None)
    given = [a.arg for a in method.args.args]
    if name is None or method.decorator_list or len(given) < 2:
        return None
    jnp = of_jax(source, "jnp")
    start = source.start(method)
    indent = " " * method.col_offset
    written = (
        f"def value({', '.join(given)}):\n"
        f"{indent}    return {jnp.bound}.vectorize({given[0]}.{name})({', '.join(given[1:])})\n\n"
        f"{indent}def {name}"
    )
    end = (start[0], start[1] + len("def value"))
    if source.between(start, end) != "def value":
        return None
    return Fix((source.replace(start, end, written),), (jnp,))


def titled(name: str) -> str:
    """The name of a class in the place of a function."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _form(function: ast.FunctionDef) -> _Form | None:
    parameters = (*function.args.args, *function.args.kwonlyargs)
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    if function.args.posonlyargs or not body:
        return None
    match body:
        case [
            *before,
            ast.FunctionDef(name=name, args=ast.arguments(args=[step])) as inner,
            ast.Return(value=ast.Name(id=returned)),
        ] if returned == name and not inner.decorator_list:
            return _Form(step.arg, parameters, tuple(before), tuple(inner.body))
        case [
            *before,
            ast.Return(value=ast.Lambda(args=ast.arguments(args=[step]), body=result)),
        ]:
            return _Form(step.arg, parameters, tuple(before), result=result)
    if not function.args.args or len(function.args.defaults) == len(function.args.args):
        return None
    step, *fields = parameters
    return _Form(step.arg, tuple(fields), (), tuple(body))


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters by their names."""
    given = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    found = {a.arg: d for a, d in zip(given, arguments.defaults, strict=True)}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found | {a.arg: d for a, d in pairs if d is not None}


def field_of(
    source: Source,
    parameter: ast.arg,
    default: ast.expr | None,
    body: Sequence[ast.stmt],
) -> str:
    """A parameter as a field of a class, by its type, its default, or what a body reads of it."""
    name, value = parameter.arg, default and source.text_of(default)
    if parameter.annotation is not None:
        kind = source.text_of(parameter.annotation)
        if kind.rpartition(".")[2] == "ScalarOrSchedule":
            kind = "Scheduled"
    elif kind_of_value(default):
        kind = kind_of_value(default)
    elif isinstance(default, ast.Tuple | ast.List) and default.elts:
        kind = of_items(default.elts) or "tuple[int, ...]"
    else:
        item = "int" if name.endswith(_OF_STEPS) else "float"
        kind = _of_uses(name, item, body) if default is None else item
    return f"{name}: {kind}" + (f" = {value}" if value else "")


def _of_uses(name: str, item: str, body: Sequence[ast.stmt]) -> str:
    """The type of what is read as a sequence, of items or of rows; else that of one item."""
    kind = item
    for node in (part for statement in body for part in walk(statement)):
        match node:
            case (
                ast.For(target=target, iter=ast.Name(id=read))
                | ast.comprehension(target=target, iter=ast.Name(id=read))
            ) if read == name:
                if isinstance(target, ast.Tuple):
                    row = ", ".join([item] * len(target.elts))
                    return f"tuple[tuple[{row}], ...]"
                kind = f"tuple[{item}, ...]"
            case ast.Call(func=ast.Name(id="len" | "zip"), args=args) if any(
                isinstance(a, ast.Name) and a.id == name for a in args
            ):
                kind = f"tuple[{item}, ...]"
            case ast.Subscript(value=ast.Name(id=read)) if read == name:
                kind = f"tuple[{item}, ...]"
    return kind


def name_bound(node: ast.AST) -> str | None:
    """The name that a node gives another meaning."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name
        case ast.arg(arg=name) | ast.FunctionDef(name=name):
            return name
    return None


def shifted(
    source: Source, statements: Sequence[ast.stmt], names: set[str]
) -> Iterator[str]:
    """The lines of statements and of comments above them, with hyperparameters as attributes."""
    if not statements:
        return
    first, last = statements[0].lineno, statements[-1].end_lineno or 0
    while source.lines[first - 2].lstrip().startswith("#"):
        first -= 1
    rows = source.lines[first - 1 : last]
    read = (n for s in statements for n in walk(s) if isinstance(n, ast.Name))
    for node in sorted(read, key=source.start, reverse=True):
        if node.id in names:
            line, column = source.start(node)
            row = rows[line - first]
            rows[line - first] = f"{row[: column - 1]}self.{row[column - 1 :]}"
    indent = len(rows[0]) - len(rows[0].lstrip())
    for row in rows:
        yield f"        {row[indent:]}" if row.strip() else ""


def _returned(source: Source, result: ast.expr, names: set[str]) -> Iterator[str]:
    """The lines of the result of a function of one expression."""
    read = [n for n in walk(result) if isinstance(n, ast.Name) and n.id in names]
    text, (line, column) = source.text_of(result), source.start(result)
    rows = text.split("\n")
    for node in sorted(read, key=source.start, reverse=True):
        row, place = source.start(node)
        at = place - 1 - (column - 1 if row == line else 0)
        old = rows[row - line]
        rows[row - line] = f"{old[:at]}self.{old[at:]}"
    if len(rows) > 1:
        rows[0], rows[-1] = f"({rows[0]}", f"{rows[-1]})"
    yield f"        return {rows[0]}"
    yield from rows[1:]
