"""Attributes with computed names, of `setattr` and `getattr`, as items of a dictionary under these names."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Mapping

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.reserved import OF_STEPS
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_NAMES = ("parts", "by_name", "named_parts")
"""What the dictionary is called: the first that the class does not have."""


def by_their_names(source: Source, call: ast.Call) -> Fix | None:
    """`setattr(self, f"layer{i}", made)` as `self.parts[f"layer{i}"] = made`, and so wherever one is read.

    Under a name that is written down it stays an attribute. None where one is made elsewhere than in
    `setup`, or where `getattr` has a default.
    """
    place = source.start(call)
    owner = next((c for c in _classes(source.tree) if _starts(source, c, place)), None)
    methods = [] if owner is None else _methods(owner)
    setup = next((m for m in methods if m.name == "setup"), None)
    if owner is None or setup is None:
        return None
    calls = [n for n in walk(owner) if isinstance(n, ast.Call)]
    made = [c for c in calls if _is(c, "setattr", 3)]
    read = [c for c in calls if _is(c, "getattr", 2)]
    stated = [s.value for s in walk(setup) if isinstance(s, ast.Expr)]
    parts = next((n for n in _NAMES if n not in _known(owner)), None)
    if parts is None or not all(c in stated for c in made):
        return None
    if any(_name_of(c) == "setattr" for c in calls if c not in made):
        return None
    plain = all(_written(c.args[1]) for c in read)
    statements = _one_by_one(source, setup, made) if plain else None
    if statements:
        return Fix(tuple(statements))
    patterns = {_pattern(c.args[1]) for c in made if not _written(c.args[1])}
    edits: list[Edit] = []
    for each in made:
        value = source.text_of(each.args[2])
        if "\n" in value and not isinstance(each.args[2], ast.Call):
            value = f"({value})"
        item = _item(source, each.args[1], parts, patterns)
        edits.append(source.edit(each, f"{item} = {value}"))
    edits += [
        source.edit(each, _item(source, each.args[1], parts, patterns))
        for each in read
        if _written(each.args[1]) or _pattern(each.args[1]) in patterns
    ]
    known = _known(owner)
    for node in walk(owner):
        name = self_attribute(node)
        if name and name not in known and _fits(name, patterns):
            edits.append(source.edit(node, f'self.{parts}["{name}"]'))
    first = next((s for s in setup.body if any(c in walk(s) for c in made)), None)
    if patterns and first is not None:
        empty = f"self.{parts} = {{}}\n{' ' * first.col_offset}"
        edits.append(source.insert(first, empty))
    return Fix(tuple(edits))


def declared_by_their_names(source: Source, call: ast.Call) -> Fix | None:
    """`getattr(self, f"layer_{i}")` of `self.layer_0` and others as items of a dictionary under these names.

    None where one of them is set elsewhere than in `setup`, or in no statement of its own.
    """
    place = source.start(call)
    owner = next((c for c in _classes(source.tree) if _starts(source, c, place)), None)
    methods = [] if owner is None else _methods(owner)
    setup = next((m for m in methods if m.name == "setup"), None)
    if owner is None or setup is None or not _is(call, "getattr", 2):
        return None
    pattern = _pattern(call.args[1])
    stored = [
        n
        for n in walk(owner)
        if isinstance(getattr(n, "ctx", None), ast.Store)
        and _fits(self_attribute(n) or "", [pattern])
    ]
    targets = [s.targets[0] for s in walk(setup) if isinstance(s, ast.Assign)]
    parts = next((n for n in _NAMES if n not in _known(owner)), None)
    if not stored or parts is None or not all(n in targets for n in stored):
        return None
    names = {self_attribute(n) for n in stored}
    edits = [
        source.edit(n, f'self.{parts}["{self_attribute(n)}"]')
        for n in walk(owner)
        if self_attribute(n) in names
    ]
    edits += [
        source.edit(c, f"self.{parts}[{source.text_of(c.args[1])}]")
        for c in walk(owner)
        if isinstance(c, ast.Call)
        and _is(c, "getattr", 2)
        and _pattern(c.args[1]) == pattern
    ]
    first = next(s for s in setup.body if any(n in walk(s) for n in stored))
    empty = f"self.{parts} = {{}}\n{' ' * first.col_offset}"
    return Fix((source.insert(first, empty), *edits))


def _one_by_one(
    source: Source, setup: ast.FunctionDef, made: Collection[ast.Call]
) -> list[Edit] | None:
    """`for name in ("m", "v"): setattr(self, name, made)` as two statements; None for any other.

    Several variables, of rows that are written down, stand for what the row holds.
    """
    edits, left = [], [*made]
    for loop in setup.body:
        passes = _passes(loop)
        if passes is None or not isinstance(loop, ast.For):
            continue
        lines = []
        for given in passes:
            for statement in loop.body:
                call = statement.value if isinstance(statement, ast.Expr) else None
                if call not in left or not isinstance(call, ast.Call):
                    return None
                name = _text(call.args[1], given)
                if name is None or not name.isidentifier():
                    return None
                lines.append(f"self.{name} = {_made_of(source, call.args[2], given)}")
        left = [c for c in left if not any(c in walk(s) for s in loop.body)]
        indent = f"\n{' ' * loop.col_offset}"
        edits.append(source.edit(loop, indent.join(lines)))
    return None if left else edits


def _passes(loop: ast.stmt) -> list[Mapping[str, ast.expr]] | None:
    """What the variables of a loop are in each of its passes, where these are written down."""
    match loop:
        case ast.For(target=target, iter=ast.Constant(value=str(text)), orelse=[]):
            items: list[ast.expr] = [ast.Constant(letter) for letter in text]
        case ast.For(
            target=target, iter=ast.Tuple(elts=elts) | ast.List(elts=elts), orelse=[]
        ):
            items = elts
        case _:
            return None
    found = []
    for item in items:
        match target, item:
            case ast.Name(id=name), _:
                given = {name: item}
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(
                values
            ):
                pairs = zip(names, values, strict=True)
                given = {n.id: v for n, v in pairs if isinstance(n, ast.Name)}
                if len(given) < len(names):
                    return None
            case _:
                return None
        if not all(isinstance(v, ast.Constant) or dotted(v) for v in given.values()):
            return None
        found.append(given)
    return found


def _made_of(source: Source, node: ast.expr, given: Mapping[str, ast.expr]) -> str:
    """The text of what is set, with the values of a pass in the place of its variables."""
    if not any(isinstance(n, ast.Name) and n.id in given for n in walk(node)):
        return source.text_of(node)
    return ast.unparse(_Given(given).visit(copy.deepcopy(node)))


class _Given(ast.NodeTransformer):
    """Values in the place of names."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def _text(node: ast.expr, given: Mapping[str, ast.expr]) -> str | None:
    """What an expression of the variables of a pass is; None for anything but joined texts."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in given:
            value = given[name]
            return str(value.value) if isinstance(value, ast.Constant) else None
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return _text(inner, given)
        case ast.JoinedStr(values=parts):
            texts = [_text(part, given) for part in parts]
            return None if None in texts else "".join(t for t in texts if t)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = (_text(side, given) for side in (left, right))
            return None if one is None or other is None else one + other
    return None


def _item(source: Source, name: ast.expr, parts: str, patterns: Collection[str]) -> str:
    written = _written(name)
    if written and not _fits(written, patterns):
        return f"self.{written}"
    return f"self.{parts}[{source.text_of(name)}]"


def _written(name: ast.expr) -> str:
    match name:
        case ast.Constant(value=str(text)) if text.isidentifier():
            return text
    return ""


def _pattern(name: ast.expr) -> str:
    """What the names are like that an expression makes."""
    match name:
        case ast.Constant(value=value):
            return re.escape(str(value))
        case ast.JoinedStr(values=parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _pattern(left) + _pattern(right)
    return ".+"


def _fits(name: str, patterns: Collection[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _known(owner: ast.ClassDef) -> set[str]:
    """Attributes that the class has, and those that every spec has."""
    stored = {
        self_attribute(n) or ""
        for n in walk(owner)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }
    fields = {
        n.target.id
        for n in owner.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    every = {"hyperparams", "key", "keys", "mask", "stored", "training", *OF_STEPS}
    return stored | fields | every | {m.name for m in _methods(owner)}


def _is(node: ast.Call, function: str, count: int) -> bool:
    match node:
        case ast.Call(
            func=ast.Name(id=name), args=[ast.Name(id="self"), *others], keywords=[]
        ):
            return name == function and len(others) == count - 1
    return False


def _name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [n for n in tree.body if isinstance(n, ast.ClassDef)]


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [n for n in owner.body if isinstance(n, ast.FunctionDef)]


def _starts(source: Source, owner: ast.ClassDef, place: tuple[int, int]) -> bool:
    """Whether a call that begins there is part of a class."""
    return any(
        isinstance(n, ast.Call) and source.start(n) == place for n in walk(owner)
    )
