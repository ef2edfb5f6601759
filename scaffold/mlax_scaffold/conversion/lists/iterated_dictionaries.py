"""Dictionaries of layers that loops fill and go over, as one writes heads for several tasks.

tasks = {"action": 12, "view": 3}
self.heads = nn.ModuleDict()
for name, classes in tasks.items():
    self.heads[name] = nn.Linear(dim, classes)
...
return {name: head(h) for name, head in self.heads.items()}
becomes
self.heads = nn.ModuleDict({"action": nn.Linear(dim, 12), "view": nn.Linear(dim, 3)})
...
return {"action": self.heads["action"](h), "view": self.heads["view"](h)}
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_CLASS = "torch.nn.ModuleDict"
_VIEWS = ("items", "values", "keys")


def without_iterated_dictionaries(origin: Origin, notes: Notes) -> None:
    """Write out such loops and comprehensions of PyTorch's classes, in place; what is decided is told."""
    if _CLASS.rpartition(".")[2] not in ast.unparse(origin.tree):
        return
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        _decide(origin, node, start, notes)
        keys = _Filled(origin, node, start).run()
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and keys:
                _Read(keys).visit(method)
        located(node)


def _decide(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, notes: Notes
) -> None:
    """Let a dictionary that nothing gives, `tasks = tasks or {...}`, be what it is then."""
    defaults = defaults_of(start.args)
    places = [a.arg for a in start.args.args[1:]]
    calls = [
        call
        for call in walk(origin.tree)
        if isinstance(call, ast.Call) and is_name(call.func, node.name)
    ]
    for part in start.body:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.BoolOp(
                    op=ast.Or(), values=[ast.Name(id=title), ast.Dict() as made]
                ),
            ) if local == title and is_none(defaults.get(title)) and _is_plain(made):
                given = {
                    *(p for c in calls for p in places[: len(c.args)]),
                    *(k.arg for c in calls for k in c.keywords),
                }
                if title in given or None in given:
                    continue
                part.value = made
                without_arguments(start.args, {title})
                notes.remark(
                    part,
                    f"`{title}` of {node.name} is always what this line says",
                    "write another spec for other keys",
                )


class _Filled:
    """The dictionaries that a constructor fills."""

    def __init__(self, origin: Origin, node: ast.ClassDef, start: ast.FunctionDef):
        self.origin, self.node, self.start = origin, node, start

    def run(self) -> dict[str, list[str]]:
        """Write what fills them as one dictionary each; their keys, by attribute."""
        found: dict[str, list[str]] = {}
        known = self._literals()
        for part in list(self.start.body):
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call) if (
                    self.origin.qualified(call.func) == _CLASS
                ):
                    attribute = self_attribute(target)
                    made = self._made(call, attribute or "", known)
                    if attribute is None or made is None:
                        continue
                    call.args, call.keywords = [made], []
                    found[attribute] = [str(literal(k)) for k in made.keys if k]
        if found:
            self._without_unread(known)
        return found

    def _literals(self) -> dict[str, ast.Dict]:
        """Dictionaries of literals that locals and attributes hold, under conditions never."""
        known: dict[str, ast.Dict] = {}
        for part in self.start.body:
            match part:
                case ast.Assign(targets=places, value=ast.Dict() as value) if _is_plain(
                    value
                ):
                    known |= {ast.unparse(place): value for place in places}
                case ast.Assign(targets=[place], value=ast.Name(id=local)):
                    if local in known:
                        known[ast.unparse(place)] = known[local]
        bound = [t for part in walk(self.start) for t in _bound(part)]
        return {
            place: value for place, value in known.items() if bound.count(place) < 2
        }

    def _made(
        self, call: ast.Call, attribute: str, known: Mapping[str, ast.Dict]
    ) -> ast.Dict | None:
        """The dictionary that it is after all; None where that is not told."""
        match call.args:
            case [] if not call.keywords:
                return self._of_loop(attribute, known)
            case [ast.Dict(keys=[]) | ast.List(elts=[])]:
                return self._of_loop(attribute, known)
            case [ast.Dict(keys=keys) as made]:
                plain = all(isinstance(literal(k), str) for k in keys if k is not None)
                return made if plain and None not in keys else None
            case [ast.DictComp(generators=[ast.comprehension(ifs=[]) as each]) as made]:
                passes = _passes(each.target, each.iter, known)
                pairs = [
                    (replaced(made.key, p), replaced(made.value, p)) for p in passes
                ]
                return _dictionary(pairs)
        return None

    def _of_loop(
        self, attribute: str, known: Mapping[str, ast.Dict]
    ) -> ast.Dict | None:
        """What loops and lines of the constructor fill it with, in order."""
        filling = [
            part
            for part in self.start.body
            if not isinstance(part, ast.Assign)
            or self_attribute(part.targets[0]) is None
            if any(self_attribute(n) == attribute for n in walk(part))
        ]
        pairs: list[tuple[ast.expr, ast.expr]] = []
        for part in filling:
            passes: list[dict[str, ast.expr]] = [{}]
            body = [part]
            if isinstance(part, ast.For):
                body = [] if part.orelse else part.body
                passes = _passes(part.target, part.iter, known)
            found = [_set(statement, attribute) for statement in body]
            if not passes or not found or None in found:
                return None
            pairs += [
                (replaced(key, passed), replaced(value, passed))
                for passed in passes
                for key, value in filter(None, found)
            ]
        made = _dictionary(pairs)
        if made is not None:
            self.start.body = [p for p in self.start.body if p not in filling]
        return made

    def _without_unread(self, known: Mapping[str, ast.Dict]) -> None:
        """Leave out the dictionaries that nothing reads any more."""
        for part in reversed(self.start.body):
            if not isinstance(part, ast.Assign) or len(part.targets) != 1:
                continue
            place = ast.unparse(part.targets[0])
            reads = [
                n
                for n in walk(self.node)
                if isinstance(n, ast.Name | ast.Attribute)
                and isinstance(n.ctx, ast.Load)
                and ast.unparse(n) == place
            ]
            if place in known and not reads:
                self.start.body.remove(part)


def _set(node: ast.stmt, attribute: str) -> tuple[ast.expr, ast.expr] | None:
    """The key and the layer of `self.heads[key] = layer`."""
    match node:
        case ast.Assign(
            targets=[ast.Subscript(value=owner, slice=key)], value=value
        ) if self_attribute(owner) == attribute:
            return key, value
    return None


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign):
        return [ast.unparse(place) for place in node.targets]
    return list(targets(node)) if isinstance(node, ast.For | ast.AugAssign) else []


def _is_plain(node: ast.Dict) -> bool:
    return bool(node.keys) and all(
        key is not None and not isinstance(literal(p), ast.AST)
        for key, value in zip(node.keys, node.values, strict=True)
        for p in (key, value)
    )


def _dictionary(pairs: Sequence[tuple[ast.expr, ast.expr]]) -> ast.Dict | None:
    keys = [literal(key) for key, _ in pairs]
    if (
        not pairs
        or not all(isinstance(k, str) for k in keys)
        or len({*keys}) < len(keys)
    ):
        return None
    return ast.Dict([k for k, _ in pairs], [v for _, v in pairs])


def _passes(
    target: ast.expr, source: ast.expr, known: Mapping[str, ast.Dict]
) -> list[dict[str, ast.expr]]:
    """What the names of a loop over a dictionary are in each pass; none of any other loop."""
    view, owner = "keys", source
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
        view, owner = source.func.attr, source.func.value
        if source.args or source.keywords or view not in _VIEWS:
            return []
    table = known.get(ast.unparse(owner))
    if table is None:
        return []
    found: list[dict[str, ast.expr]] = []
    for key, value in zip(table.keys, table.values, strict=True):
        match target:
            case ast.Tuple(elts=[ast.Name(id=one), ast.Name(id=other)]) if (
                view == "items" and key is not None
            ):
                found.append({one: key, other: value})
            case ast.Name(id=one) if view != "items" and key is not None:
                found.append({one: key if view == "keys" else value})
            case _:
                return []
    return found


class _Read(NodeTransformer):
    """Writes out what goes over such dictionaries."""

    def __init__(self, keys: Mapping[str, list[str]]):
        self.tables = {f"self.{a}": _table(a, names) for a, names in keys.items()}

    def _each(self, node: ast.DictComp | ast.ListComp) -> list[dict[str, ast.expr]]:
        match node.generators:
            case [ast.comprehension(target=target, iter=source, ifs=[])]:
                return _passes(target, source, self.tables)
        return []

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        self.generic_visit(node)
        pairs = [
            (replaced(node.key, p), replaced(node.value, p)) for p in self._each(node)
        ]
        return _dictionary(pairs) or node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        made = [replaced(node.elt, p) for p in self._each(node)]
        return ast.copy_location(ast.List(made, ast.Load()), node) if made else node

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        passes = _passes(node.target, node.iter, self.tables)
        ends = any(isinstance(p, ast.Break | ast.Continue) for p in walk(node))
        bound = {t for s in node.body for p in walk(s) for t in _bound(p)}
        if not passes or ends or node.orelse or bound & {*targets(node.target)}:
            return node
        made = [
            _Names(passed).visit(cloned(statement))
            for passed in passes
            for statement in node.body
        ]
        return made


class _Names(NodeTransformer):
    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        for title, value in self.parts.items():
            if is_name(node, title) and isinstance(node.ctx, ast.Load):
                return ast.copy_location(cloned(value), node)
        return node


def _table(attribute: str, names: Sequence[str]) -> ast.Dict:
    """A dictionary that has the layer of each key."""
    owner = ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Load())
    layers: list[ast.expr] = [
        ast.Subscript(cloned(owner), ast.Constant(n), ast.Load()) for n in names
    ]
    return ast.Dict([ast.Constant(n) for n in names], layers)
