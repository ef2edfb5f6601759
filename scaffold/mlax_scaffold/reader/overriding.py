"""What methods of a class take of those of its base: what `super()` calls, and types of their inputs."""

from __future__ import annotations

import ast
import re
import textwrap
from copy import deepcopy

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk

Line = tuple[str, int]
"""A line, and the number that it has in the text that was written; 0 where it is inherited.

Below 0 it is that of a line which says something else there.
"""

Part = tuple[ast.stmt, list[Line]]
"""A statement of a class, and its lines."""


def with_short_super(node: ast.ClassDef, line: Line) -> Line:
    """`super(Name, self)` as `super()`."""
    text, number = line
    return text.replace(f"super({node.name}, self)", "super()"), number


def with_types(statement: ast.stmt, part: list[Line], theirs: list[Part]) -> list[Line]:
    """A method with the types of inputs and result that it has in the base, where it gives none."""
    known = {s.name: s for s, _ in theirs if isinstance(s, ast.FunctionDef)}
    if not isinstance(statement, ast.FunctionDef) or statement.name not in known:
        return part
    base = known[statement.name]
    types = {a.arg: a.annotation for a in _arguments(base.args)}
    arguments = deepcopy(statement.args)
    given = _arguments(arguments)
    bare = [a for a in given if a.annotation is None]
    for argument in bare:
        argument.annotation = types.get(argument.arg)
    # It may leave out inputs of the base, and has no others.
    alike = bare == given and all(a.arg in types for a in given)
    returned = statement.returns
    if alike and not _collects(statement):
        returned = returned or base.returns
    place = next(
        i for i, (text, _) in enumerate(part) if text.lstrip().startswith("def ")
    )
    text, number = part[place]
    if not any(a.annotation for a in bare) or not text.rstrip().endswith(":"):
        return part
    indent = text[: len(text) - len(text.lstrip())]
    returns = f" -> {unparsed(returned)}" if returned else ""
    head = f"{indent}def {statement.name}({unparsed(arguments)}){returns}:"
    return [*part[:place], (head, -abs(number)), *part[place + 1 :]]


def with_inputs(statement: ast.stmt, part: list[Line], theirs: list[Part]) -> Part:
    """`def forward(self, *args, **kwargs)`, which hands them to the base, with the inputs of that."""
    known = {s.name: s for s, _ in theirs if isinstance(s, ast.FunctionDef)}
    if not isinstance(statement, ast.FunctionDef) or statement.name not in known:
        return statement, part
    base, own = known[statement.name], statement.args
    some = [a.arg for a in (own.vararg, own.kwarg) if a is not None]
    plain = not (own.kwonlyargs or own.defaults or own.posonlyargs)
    of_base = base.args
    if not some or not plain or of_base.vararg or of_base.kwarg or of_base.posonlyargs:
        return statement, part
    handed = {id(n.value) for n in walk(statement) if isinstance(n, ast.Starred)}
    handed |= {
        id(n.value)
        for n in walk(statement)
        if isinstance(n, ast.keyword) and n.arg is None
    }
    uses = [n for n in walk(statement) if isinstance(n, ast.Name) and n.id in some]
    place = next(i for i, (t, _) in enumerate(part) if t.lstrip().startswith("def "))
    text, number = part[place]
    if any(id(n) not in handed for n in uses) or not text.rstrip().endswith(":"):
        return statement, part
    more = of_base.args[len(own.args) :]
    needed = len(more) - min(len(of_base.defaults), len(more))
    by_place = len(more) if own.kwarg is None else needed if own.vararg else 0
    named = [*more[by_place:], *(of_base.kwonlyargs if own.kwarg else [])]
    arguments = deepcopy(of_base)
    for argument, given in zip(arguments.args, own.args, strict=False):
        argument.arg = given.arg
        argument.annotation = given.annotation or argument.annotation
    if own.kwarg is None:
        arguments.kwonlyargs, arguments.kw_defaults = [], []
    values = {
        f"**{own.kwarg.arg}" if own.kwarg else "": [f"{a.arg}={a.arg}" for a in named],
        f"*{own.vararg.arg}" if own.vararg else "": [a.arg for a in more[:by_place]],
    }
    returned = statement.returns or (None if _collects(statement) else base.returns)
    returns = f" -> {unparsed(returned)}" if returned else ""
    indent = text[: len(text) - len(text.lstrip())]
    head = f"{indent}def {statement.name}({unparsed(arguments)}){returns}:"
    lines = [*part[:place], (head, -abs(number))]
    for line, at in part[place + 1 :]:
        new = line
        for star, names in values.items():
            new = _handed(new, star, names)
        lines.append((new, at if new == line else -abs(at)))
    try:
        read = ast.parse(textwrap.dedent("\n".join(t for t, _ in lines)))
    except SyntaxError:  # a text of several lines stands at the margin
        return statement, part
    return read.body[0], lines


def _handed(line: str, star: str, names: list[str]) -> str:
    """A line in which inputs are handed on one by one."""
    if not star:
        return line
    found = rf"(?<!\*){re.escape(star)}\b"
    if names:
        return re.sub(found, ", ".join(names), line)
    return re.sub(rf",\s*{found}|{found},\s*|{found}", "", line)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    return [a for a in walk(arguments) if isinstance(a, ast.arg)]


def _collects(method: ast.FunctionDef) -> bool:
    """Whether a method says that it returns several things."""
    returned = (n.value for n in walk(method) if isinstance(n, ast.Return))
    return any(isinstance(v, ast.Tuple | ast.List | ast.Dict) for v in returned)


def with_called(body: list[Part], theirs: list[Part], base: str) -> list[Part]:
    """Statements with the methods of the base that `super().name(...)` calls, under another name."""
    made: list[Part] = []
    added: dict[str, Part] = {}
    for statement, part in body:
        own = part
        for other, lines in theirs:
            if not isinstance(other, ast.FunctionDef) or other.name == "setup":
                continue
            called, name = f"super().{other.name}(", f"_{other.name}_of_{base}"
            if any(called in text for text, _ in own):
                own = [(t.replace(called, f"self.{name}("), n) for t, n in own]
                head = f"def {other.name}(", f"def {name}("
                added[name] = other, [(t.replace(*head), n) for t, n in lines]
        made.append((statement, own))
    return [*made, *added.values()]


def with_setup(statement: ast.stmt, part: list[Line], theirs: list[Part]) -> list[Line]:
    """A method in whose text `super().setup()` is what the base does there."""
    if not (isinstance(statement, ast.FunctionDef) and statement.name == "setup"):
        return part
    outer = next((p for s, p in theirs if getattr(s, "name", "") == "setup"), None)
    if outer is None or outer is part:
        return part
    made: list[Line] = []
    for text, number in part:
        if text.strip() == "super().setup()":
            made += [p for p in outer if not p[0].lstrip().startswith("def setup(")]
        else:
            made.append((text, number))
    return made
