"""What of a file something is made of."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import given_to
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import reached, self_attribute
from mlax_scaffold.conversion.source.walking import walk


def used_by(origin: Origin, thing: str) -> set[str]:
    """What of the file a class or a function is made of, and itself; all where the file has no such name."""
    nodes = {**origin.classes, **origin.functions}
    return reached(nodes, [thing] if thing in nodes else [*nodes])


def leave_others_out(origin: Origin, thing: str, notes: Notes, before: int) -> None:
    """Forget the remarks since a place that are of lines of what a thing is not made of."""
    used = used_by(origin, thing)
    others = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for title, node in {**origin.classes, **origin.functions}.items()
        if title not in used
    ]
    notes.found[before:] = [
        note
        for note in notes.found[before:]
        if note.blocks or not any(note.line in lines for lines in others)
    ]


def uncalled(origin: Origin, of: ast.ClassDef | None = None) -> set[str]:
    """The methods of classes of the file that none of its functions reads, but those at most.

    Args:
        origin: the file.
        of: a class whose methods these are: what classes that have nothing to do with it read of themselves,
            and what methods of one name read of others, is none of them.
    """
    methods = [
        m
        for c in origin.classes.values()
        for m in c.body
        if isinstance(m, ast.FunctionDef)
        # What makes a class a layer is called wherever that is called.
        and not (m.name.startswith("__") or m.name == "forward")
    ]
    found: set[str] = set()
    others = _other_reads(origin, of) if of is not None else set()
    others |= _misfits(origin, methods)
    while True:
        inside = others | {
            id(p) for m in methods if m.name in found for p in walk(m) if p is not m
        }
        read = {
            p.attr
            for p in walk(origin.tree)
            if isinstance(p, ast.Attribute) and id(p) not in inside
        }
        # Calls that are read already have the names that methods of a spec have.
        read |= {title.removeprefix("_") for title in read}
        more = {m.name for m in methods} - read - found
        if not more:
            return found
        found |= more


def _misfits(origin: Origin, methods: list[ast.FunctionDef]) -> set[int]:
    """What is called by the name of a method without all that it must be given, as `x.log()` of an array."""
    plain: dict[str, list[ast.FunctionDef]] = {}
    for method in methods:
        plain.setdefault(method.name, []).append(method)
    calls = [
        p
        for p in walk(origin.tree)
        if isinstance(p, ast.Call)
        and isinstance(p.func, ast.Attribute)
        and p.func.attr in plain
    ]
    return {
        id(call.func)
        for call in calls
        if not any(_may_call(m, call) for m in plain[call.func.attr])  # type: ignore[attr-defined]
    }


def _may_call(method: ast.FunctionDef, call: ast.Call) -> bool:
    spread = any(isinstance(a, ast.Starred) for a in call.args)
    spread = spread or any(k.arg is None for k in call.keywords)
    open_ended = method.args.vararg is not None or bool(method.decorator_list)
    return spread or open_ended or given_to(method, call) is not None


def _other_reads(origin: Origin, of: ast.ClassDef) -> set[int]:
    """What is read elsewhere under the names of methods, and does not reach those of a class."""
    line = {of.name, *_bases(origin, of)}
    found: set[int] = set()
    for node in origin.classes.values():
        known = {node.name, *_bases(origin, node)}
        related = node.name in line or of.name in known or bool(known & line)
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            for part in walk(method):
                apart = not related and self_attribute(part) is not None
                again = isinstance(part, ast.Attribute) and part.attr == method.name
                found |= {id(part)} if apart or again else set()
    return found


def _bases(origin: Origin, node: ast.ClassDef) -> set[str]:
    """The classes of the file that a class is built on."""
    found: set[str] = set()
    queue = [node]
    while queue:
        for base in queue.pop().bases:
            title = base.id if isinstance(base, ast.Name) else ""
            if title in origin.classes and title not in found:
                found.add(title)
                queue.append(origin.classes[title])
    return found
