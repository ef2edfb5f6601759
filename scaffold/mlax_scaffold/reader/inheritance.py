"""A class that is based on another spec's, as the class that it stands for: with all that it inherits in it.

What the class says itself stays as it is; its lines are known. A field that it gives another default keeps
its place, a new one stands behind the one before it. A field of its base that it gives a value without a
type, or that it has a method for, is none any more. Of its base come methods, fields, constants and examples
that it has not, with the imports, functions and constants of the base's file that these need.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from copy import copy

from mlax_scaffold.model.resolved import Resolved
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.overriding import (
    Line,
    Part,
    with_called,
    with_inputs,
    with_setup,
    with_short_super,
    with_types,
)
from mlax_scaffold.reader.source import parsed

Texts = Callable[[ast.ImportFrom | None, str], str | None]
"""The text of the spec that a class is imported from (None: this very file), where there is one."""


def flattened(
    text: str, texts: Texts, bases: Mapping[str, object], *, chosen: bool = True
) -> Resolved | None:
    """The text with all that its classes inherit in it; None where no class is based on a spec.

    Args:
        text: of a file.
        texts: the texts of other specs.
        bases: the names of the base classes of specs.
        chosen: whether functions that a class has names for stand where it calls them.
    """
    tree = parsed(text)
    lines = [(line, i) for i, line in enumerate(text.split("\n"), 1)]
    if not any(_parent(node, bases) or _chosen(node) for node in tree.body):
        return None
    out: list[Line] = []
    at = 0
    found = False
    for place, node in enumerate(tree.body):
        if not isinstance(node, ast.ClassDef):
            continue
        parent = _parent(node, bases)
        if parent is None:
            functions = _chosen(node) if chosen else {}
            if functions:
                found = True
                start, end = node.lineno - 1, node.end_lineno or node.lineno
                removed = {
                    s.lineno for s in node.body if set(_names(s)) & set(functions)
                }
                out += lines[at:start]
                out += [
                    ("" if number in removed else _inlined(line, functions), number)
                    for line, number in lines[start:end]
                ]
                at = end
            continue
        # What a class is based on stands before it.
        before = ast.Module(tree.body[:place], [])
        outer = defining_text(before, parent, texts, bases)
        if outer is None:
            continue
        found = True
        start = node.lineno - 1 - len(node.decorator_list)
        out += lines[at:start]
        merged, needed = _merged(node, lines, outer, parent, tree)
        out += [*needed, *merged]
        at = node.end_lineno or node.lineno
    if not found:
        return None
    out += lines[at:]
    return Resolved("\n".join(t for t, _ in out), (), tuple(n for _, n in out))


def _parent(node: ast.stmt, bases: Mapping[str, object]) -> str | None:
    match node:
        case ast.ClassDef(bases=[ast.Name(id=name)]) if name not in bases:
            return name
    return None


def _chosen(node: ast.stmt) -> dict[str, str]:
    """The functions that a class calls by names of its own, with what they are: `POOL = max_pool`."""
    if not isinstance(node, ast.ClassDef):
        return {}
    called = {
        n.func.attr
        for n in walk(node)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and unparsed(n.func.value) == "self"
    }
    return {
        name: unparsed(function)
        for s in node.body
        if isinstance(s, ast.Assign) and (function := _function(s.value))
        for name in _names(s)
        if name in called
    }


def _function(node: ast.expr) -> ast.expr | None:
    """The function that an attribute of a class is: `max_pool`, `staticmethod(max_pool)`."""
    match node:
        case ast.Call(func=ast.Name(id="staticmethod"), args=[function], keywords=[]):
            return _function(function)
        case ast.Name() | ast.Attribute():
            return node
    return None


def defining_text(
    tree: ast.Module, name: str, texts: Texts, bases: Mapping[str, object]
) -> str | None:
    """The text that defines a class of a file, its own or imported, what that inherits included."""
    source: str | None = None
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            source = _up_to(texts(None, name), name)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    source = texts(node, alias.name)
    if source is None:
        return None
    text = source

    def there(imported: ast.ImportFrom | None, name: str) -> str | None:
        return text if imported is None else texts(imported, name)

    try:
        whole = flattened(text, there, bases, chosen=False)
    except (SyntaxError, RecursionError):
        return None
    return text if whole is None else whole.text


def _up_to(text: str | None, name: str) -> str | None:
    """A text up to the end of a class in it."""
    ends = [
        node.end_lineno
        for node in (parsed(text).body if text else [])
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return "\n".join(text.split("\n")[: ends[0]]) if text and ends else text


def _merged(
    node: ast.ClassDef,
    lines: list[Line],
    outer: str,
    parent: str,
    tree: ast.Module,
) -> tuple[list[Line], list[Line]]:
    """The lines of a class with what it inherits, and of what that needs beside it."""
    other = parsed(outer)
    base = next(
        (n for n in other.body if isinstance(n, ast.ClassDef) and n.name == parent),
        None,
    )
    classes = [n for n in other.body if isinstance(n, ast.ClassDef)]
    base = base or classes[-1]
    inherited: list[Line] = [(line, 0) for line in outer.split("\n")]
    own = _statements(node, [with_short_super(node, line) for line in lines])
    theirs = _statements(base, inherited)
    own = [with_inputs(s, part, theirs) for s, part in own]
    own = [(s, with_types(s, part, theirs)) for s, part in own]
    names = {n for s, _ in own for n in _names(s)}
    fields = [n for s, _ in theirs for n in _names(s) if isinstance(s, ast.AnnAssign)]
    kept = [(s, part) for s, part in theirs if not names & set(_names(s))]
    fixed = {
        n: unparsed(s.value)
        for s, _ in own
        if isinstance(s, ast.Assign)
        for n in _names(s)
        if n in fields
    }
    body: list[Part] = []
    for statement, part in theirs:
        said = [p for p in own if set(_names(p[0])) & set(_names(statement))]
        if isinstance(statement, ast.AnnAssign) and said:
            at = own.index(said[0])
            if isinstance(said[0][0], ast.AnnAssign):
                body.append(own[at])
                following = own[at + 1 :]
                for extra in following:
                    if not isinstance(extra[0], ast.AnnAssign) or (
                        set(_names(extra[0])) & set(fields)
                    ):
                        break
                    body.append(extra)
        elif (statement, part) in kept and not _is_doc(statement):
            body.append((statement, part))
    there = {id(s) for s, _ in body}
    plain = [
        p
        for p in own
        if id(p[0]) not in there
        and not _is_doc(p[0])
        and not (isinstance(p[0], ast.Assign) and set(_names(p[0])) & set(fixed))
    ]
    if chosen := _of_all([*kept, *own]):
        fixed |= chosen
        body = [p for p in body if not set(_names(p[0])) & set(chosen)]
        plain = [p for p in plain if not set(_names(p[0])) & set(chosen)]
    annotated = [p for p in plain if isinstance(p[0], ast.AnnAssign)]
    rest = [p for p in plain if not isinstance(p[0], ast.AnnAssign)]
    last = max(
        (i for i, (s, _) in enumerate(body) if isinstance(s, ast.AnnAssign)), default=-1
    )
    body[last + 1 : last + 1] = annotated
    body += rest
    head, doc = _head(node, lines, base)
    merged = [*head, *doc]
    body = with_called(body, theirs, module_name(parent))
    for statement, part in body:
        whole = with_setup(statement, part, theirs)
        merged += whole if isinstance(statement, ast.AnnAssign) else [("", 0), *whole]
    merged = [(_inlined(text, fixed), number) for text, number in merged]
    return merged, _needed(other, inherited, base, tree)


def _of_all(parts: list[Part]) -> dict[str, str]:
    """The functions that a class and its bases have names for."""
    body = [statement for statement, _ in parts]
    return _chosen(ast.ClassDef("", [], [], body, []))


def _names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
    return []


def _is_doc(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _statements(node: ast.ClassDef, lines: list[Line]) -> list[Part]:
    """The statements of a class, each with its lines and the comments before it."""
    found = []
    end = node.body[0].lineno - 1
    for i, statement in enumerate(node.body):
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(d.lineno for d in decorators)]) - 1
        while i and start > end and lines[start - 1][0].strip().startswith("#"):
            start -= 1
        stop = statement.end_lineno or statement.lineno
        found.append((statement, lines[start:stop]))
        end = stop
    return found


def _head(
    node: ast.ClassDef, lines: list[Line], base: ast.ClassDef
) -> tuple[list[Line], list[Line]]:
    """The lines of a class up to its docstring, with the bases of its base, and those of that."""
    given = [*map(unparsed, base.bases), *(_keyword(k) for k in node.keywords)]
    known = {k.arg for k in node.keywords}
    given += [
        _keyword(k) for k in base.keywords if k.arg not in {*known, "module", "aliases"}
    ]
    first = node.body[0]
    head: list[Line] = [(f"class {node.name}({', '.join(given)}):", node.lineno)]
    if not _is_doc(first):
        return head, []
    return head, lines[first.lineno - 1 : first.end_lineno]


def _keyword(keyword: ast.keyword) -> str:
    return f"{keyword.arg}={unparsed(keyword.value)}"


def _inlined(text: str, fixed: Mapping[str, str]) -> str:
    """A line with values in the place of fields that are none any more."""
    for name, value in fixed.items():
        text = _replaced(text, f"self.{name}", value)
    return text


def _replaced(text: str, name: str, value: str) -> str:
    parts = text.split(name)
    made = parts[0]
    for part in parts[1:]:
        whole = not (part[:1].isalnum() or part[:1] == "_")
        made += (value if whole else name) + part
    return made


def _needed(
    other: ast.Module, inherited: list[Line], base: ast.ClassDef, tree: ast.Module
) -> list[Line]:
    """The imports, functions and constants of the base's file that the class's own has not."""
    known = {name for node in tree.body for name in _bound(node)}
    found: list[Line] = []
    for node in other.body:
        if node is base or _is_doc(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a for a in node.names if (a.asname or a.name) not in known]
            if names:
                kept = copy(node)
                kept.names = names
                found.append((unparsed(kept), 0))
        elif not known & set(_bound(node)):
            if isinstance(node, ast.ClassDef) and node.bases:
                kinds = {unparsed(b) for b in node.bases}
                if kinds & {"Layer", "Block", "Optimizer", "Schedule"}:
                    continue
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            found += [("", 0), *inherited[first - 1 : node.end_lineno], ("", 0)]
        known |= set(_bound(node))
    return found


def _bound(node: ast.stmt) -> list[str]:
    match node:
        case ast.Import() | ast.ImportFrom():
            return [a.asname or a.name.partition(".")[0] for a in node.names]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [t.id for t in targets if isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Expr(value=ast.Call(func=ast.Attribute() as rule)):
            return [unparsed(rule)]
    return []
