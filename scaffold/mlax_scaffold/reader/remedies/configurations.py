"""A class of settings that layers are given, as fields of these layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, self_attribute


class _Unfit(Exception):
    """Something is done with the settings that fields do not allow."""


def as_fields(source: Source, settings: ast.ClassDef) -> Fix | None:
    """`config: Config` of each layer as the fields of it that the layer reads, or hands on.

    None where no layer has such a field, or where more is done than to read settings and to hand all on.
    """
    known = _fields_of(settings)
    users = {
        user.node.name: user
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and node.name != settings.name
        for user in [_user(node, settings.name)]
        if user is not None
    }
    if not users or known is None:
        return None
    try:
        for user in users.values():
            user.read(users)
        needed = _needed(users)
        edits = [_without(source, settings)]
        for name, user in users.items():
            edits += user.edits(source, known, needed, needed[name])
    except _Unfit:
        return None
    return Fix(tuple(edits))


def _fields_of(settings: ast.ClassDef) -> dict[str, ast.AnnAssign] | None:
    """None where the class holds more than fields."""
    found = {}
    for statement in settings.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = statement
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case _:
                return None
    return found


@dataclass
class _User:
    """A layer with settings."""

    node: ast.ClassDef
    statement: ast.AnnAssign
    """The field that holds them."""
    reads: list[tuple[ast.Attribute, str]] = field(default_factory=list)
    """Where one of them is read, and which one."""
    handed: list[tuple[ast.expr, str]] = field(default_factory=list)
    """Where another layer is given all of them, and which one."""
    aliases: list[ast.stmt] = field(default_factory=list)

    def read(self, users: Mapping[str, _User]) -> None:
        """Find what its methods do with them."""
        assert isinstance(self.statement.target, ast.Name)
        held = self.statement.target.id
        stored = {
            self_attribute(n)
            for n in walk(self.node)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        }
        for method in (m for m in self.node.body if isinstance(m, ast.FunctionDef)):
            names = set()
            for node in walk(method):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                        self_attribute(value) == held
                    ):
                        names.add(name)
                        self.aliases.append(node)
            if any(isinstance(n, ast.arg) and n.arg in names for n in walk(method)):
                raise _Unfit
            told = {id(s.value) for s in self.aliases if isinstance(s, ast.Assign)}
            before = len(self.reads)
            for node in walk(method):
                match node:
                    case ast.Attribute(value=owner, attr=name) if _is(
                        owner, held, names
                    ):
                        self.reads.append((node, name))
                        told.add(id(owner))
                    case ast.Call(func=ast.Name(id=other), args=args, keywords=given):
                        if other not in users:
                            continue
                        values = [v for v in args if _is(v, held, names)]
                        values += [k.value for k in given if _is(k.value, held, names)]
                        if values and len(args) + len(given) > 1:
                            raise _Unfit
                        self.handed += [(v, other) for v in values]
                        told |= {id(v) for v in values}
            for node in walk(method):
                loads = isinstance(getattr(node, "ctx", None), ast.Load)
                if loads and _is(node, held, names) and id(node) not in told:
                    raise _Unfit
            # What has the name of a setting is a layer there.
            if method.name != "setup" and any(
                name in stored for _, name in self.reads[before:]
            ):
                raise _Unfit

    def edits(
        self,
        source: Source,
        known: Mapping[str, ast.AnnAssign],
        needed: Mapping[str, set[str]],
        own: set[str],
    ) -> Iterator[Edit]:
        if not own <= known.keys():
            raise _Unfit
        indent = "\n" + " " * self.statement.col_offset
        lines = [_line(source, known[name]) for name in known if name in own]
        yield source.edit(self.statement, indent.join(lines) or "pass")
        for node, name in self.reads:
            yield source.edit(node, f"self.{name}")
        for value, other in self.handed:
            wanted = [name for name in known if name in needed[other]]
            text = ", ".join(f"{name}=self.{name}" for name in wanted)
            yield source.edit(_whole(self.node, value), text)
        for statement in self.aliases:
            yield removed(source, statement)


def _user(node: ast.ClassDef, settings: str) -> _User | None:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(), annotation=annotation) if (
                unparsed(annotation) == settings
            ):
                return _User(node, statement)
    return None


def _is(node: ast.AST, held: str, names: set[str]) -> bool:
    """Whether an expression is the settings."""
    if isinstance(node, ast.Name):
        return node.id in names and isinstance(node.ctx, ast.Load)
    return self_attribute(node) == held


def _needed(users: Mapping[str, _User]) -> dict[str, set[str]]:
    """The settings that each layer reads, or that those read which it hands them to."""
    found = {name: {read for _, read in user.reads} for name, user in users.items()}
    for _ in users:
        for name, user in users.items():
            for _, other in user.handed:
                found[name] |= found[other]
    return found


def _whole(node: ast.AST, value: ast.expr) -> ast.AST:
    """The argument that a value is, with its name where it has one."""
    for part in walk(node):
        if isinstance(part, ast.keyword) and part.value is value:
            return part
    return value


def _line(source: Source, statement: ast.AnnAssign) -> str:
    """A field as it stands there, with the comment behind it."""
    if statement.lineno == statement.end_lineno:
        return source.lines[statement.lineno - 1].strip()
    return source.text_of(statement)


def _without(source: Source, node: ast.ClassDef) -> Edit:
    """A class taken out, with its decorators."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    last = (node.end_lineno or node.lineno) + 1
    return source.replace((first, 1), (last, 1), "")
