"""What a method makes where it uses it, as declarations of `setup`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, class_of

_REPEATED = (
    *(ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ListComp),
    *(ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.If),
)


def hoisted(
    source: Source,
    method: ast.FunctionDef,
    calls: Sequence[ast.Call],
    attributes: Mapping[str, str],
) -> Fix | None:
    """The calls in `setup`, under the names that they have here, or those of what they make.

    None where one stands in a branch or is made several times, or reads what only this method has.
    """
    owner = class_of(source.tree, method)
    if owner is None or method.args.args[:1] == []:
        return None
    parents = {c: p for p in walk(method) for c in ast.iter_child_nodes(p)}
    own = {a.arg for a in walk(method.args) if isinstance(a, ast.arg)} - {"self"}
    names = [n for n in walk(method) if isinstance(n, ast.Name)]
    own |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    taken = {*attributes, *(m.name for m in _methods(owner))}
    edits: list[Edit] = []
    lines: list[str] = []
    for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
        above: ast.AST = call
        while (above := parents[above]) is not method:
            if isinstance(above, _REPEATED) or (above in calls):
                return None
        if {n.id for n in walk(call) if isinstance(n, ast.Name)} & own:
            return None
        statement = parents[call]
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if (
                sum(isinstance(n.ctx, ast.Store) for n in names if n.id == name) == 1
                and name not in taken
            ):
                edits.append(removed(source, statement))
                reads = [
                    n for n in names if n.id == name and n is not statement.targets[0]
                ]
                edits += [source.edit(n, f"self.{name}") for n in reads]
            case _:
                name = _named(call, taken)
                edits.append(source.edit(call, f"self.{name}"))
        taken.add(name)
        lines.append(f"self.{name} = {source.text_of(call)}")
    return Fix((_declared(source, owner, method, lines), *edits))


def _declared(
    source: Source, owner: ast.AST, method: ast.FunctionDef, lines: Sequence[str]
) -> Edit:
    """The statements at the end of `setup`, or in one that stands before the method."""
    indent = " " * method.col_offset
    body = f"\n{indent}    ".join(lines)
    setup = next((m for m in _methods(owner) if m.name == "setup"), None)
    if setup is None:
        return source.insert(
            method, f"def setup(self):\n{indent}    {body}\n\n{indent}"
        )
    end = source.end(setup.body[-1])
    return source.replace(end, end, f"\n{indent}    {body}")


def _named(call: ast.Call, taken: set[str]) -> str:
    assert isinstance(call.func, ast.Name)
    word = {"trainable": "weight", "state": "kept"}.get(call.func.id, call.func.id)
    name = base = module_name(word)
    number = 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _methods(owner: ast.AST) -> list[ast.FunctionDef]:
    body = getattr(owner, "body", [])
    return [m for m in body if isinstance(m, ast.FunctionDef)]
