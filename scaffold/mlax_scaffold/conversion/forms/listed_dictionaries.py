"""Lists of dictionaries of layers, of equinox and nnx, as a list for each key.

stages.append(nnx.Dict(conv=Conv(a, b), norm=Norm(b)))      stages_conv.append(Conv(a, b))
self.stages = nnx.List(stages)                              stages_norm.append(Norm(b))
...                                                becomes  ...
for stage in self.stages:                                   for stage_conv, stage_norm in zip(...):
    x = stage["norm"](stage["conv"](x))                         x = stage_norm(stage_conv(x))
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_DICTIONARY = "flax.nnx.Dict"


def without_listed_dictionaries(origin: Origin) -> None:
    """Write them so, in place, where nothing else is done with the elements."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("equinox", "nnx"):
            continue
        start = method_of(node, "__init__")
        for held in _held(origin, start) if start is not None else ():
            made, apart = cloned(node), _Apart(origin, held)
            for method in made.body:
                if isinstance(method, ast.FunctionDef):
                    method.body = apart.statements(method.body)
            read = (self_attribute(p) == held.attribute for p in walk(made))
            if apart.whole and not any(read):
                node.body = made.body
    located(origin.tree)


@dataclass(frozen=True)
class _Held:
    """A list of such dictionaries."""

    attribute: str
    local: str
    """The local that is filled first; "" where none is."""
    keys: tuple[str, ...]


def _held(origin: Origin, start: ast.FunctionDef) -> list[_Held]:
    appended: dict[str, list[tuple[str, ...]]] = {}
    for part in walk(start):
        match part:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[one]):
                keys = tuple(_parts(origin, one))
                appended.setdefault(ast.unparse(owner), []).append(keys)
    found: list[_Held] = []
    for part in start.body:
        if not isinstance(part, ast.Assign) or len(part.targets) != 1:
            continue
        attribute = self_attribute(part.targets[0])
        if not attribute:
            continue
        listed = _listed(origin, part.value)
        match listed:
            case ast.ListComp(elt=elt):
                keys, local = [tuple(_parts(origin, elt))], ""
            case ast.Name(id=local):
                keys = appended.get(local, [])
            case ast.List(elts=[]):
                keys, local = appended.get(f"self.{attribute}", []), ""
            case _:
                continue
        if keys and keys[0] and len({*keys}) == 1:
            found.append(_Held(attribute, local, keys[0]))
    return found


def _parts(origin: Origin, node: ast.expr) -> dict[str, ast.expr]:
    """The layers of such a dictionary, by their keys."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords) if origin.qualified(
            func
        ) == _DICTIONARY or is_name(func, "dict"):
            inner = _parts(origin, args[0]) if len(args) == 1 else {}
            named = all(k.arg for k in keywords) and len(args) < 2
            return inner | {str(k.arg): k.value for k in keywords} if named else {}
        case ast.Dict(keys=keys, values=values):
            texts = [literal(k) for k in keys if k is not None]
            if len(texts) == len(values) and all(str(t).isidentifier() for t in texts):
                return dict(zip(map(str, texts), values, strict=True))
    return {}


def _listed(origin: Origin, node: ast.expr) -> ast.expr:
    """The list that a holder of nnx is given."""
    match node:
        case ast.Call(func=func, args=[inner], keywords=[]) if origin.qualified(
            func
        ) == "flax.nnx.List" or is_name(func, "tuple"):
            return inner
    return node


class _Apart:
    """Writes a method with a list for each key."""

    def __init__(self, origin: Origin, held: _Held):
        self.origin, self.held = origin, held
        self.whole = True
        """Whether nothing reads an element but for what it has."""

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, and those in them."""
        made: list[ast.stmt] = []
        for node in body:
            for field in ("body", "orelse"):
                inner = getattr(node, field, None)
                if isinstance(inner, list) and inner:
                    setattr(node, field, self.statements(inner))
            made += self._statement(node)
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="append") as func, args=[one])
            ) if self._is_list(func.value):
                parts = _parts(self.origin, one)
                return [self._appended(node, key, parts[key]) for key in self.held.keys]
            case ast.Assign(targets=[target]) if self._is_list(target):
                return [self._assigned(node, key) for key in self.held.keys]
            case ast.For():
                self._looped(node)
        return [node]

    def _is_list(self, node: ast.expr) -> bool:
        named = bool(self.held.local) and is_name(node, self.held.local)
        return named or self_attribute(node) == self.held.attribute

    def _of(self, node: ast.expr, key: str) -> ast.expr:
        """The list of one key, in the place of the whole."""
        apart = self

        class Put(NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                if apart.held.local and node.id == apart.held.local:
                    node.id = f"{node.id}_{key}"
                return node

            def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
                self.generic_visit(node)
                if self_attribute(node) == apart.held.attribute:
                    node.attr = f"{node.attr}_{key}"
                return node

        return Put().visit(cloned(node))

    def _appended(self, node: ast.Expr, key: str, layer: ast.expr) -> ast.stmt:
        call = cloned(node.value)
        assert isinstance(call, ast.Call)
        call.func = self._of(call.func, key)
        call.args = [layer]
        return ast.copy_location(ast.Expr(call), node)

    def _assigned(self, node: ast.Assign, key: str) -> ast.stmt:
        value = self._of(node.value, key)
        listed = _listed(self.origin, value)
        if isinstance(listed, ast.ListComp):
            listed.elt = _parts(self.origin, listed.elt)[key]
        targets = [self._of(target, key) for target in node.targets]
        return ast.copy_location(ast.Assign(targets, value), node)

    def _looped(self, node: ast.For) -> None:
        """Let a loop go over the lists of all keys, in place."""
        target, source = node.target, node.iter
        match source, target:
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(
                elts=[_, ast.Name(id=title)]
            ) if (lists := self._lists(inner)) is not None:
                source.args[0] = _zipped(lists)  # type: ignore[attr-defined]
                target.elts[1] = self._names(title)  # type: ignore[attr-defined]
            case ast.Call(func=ast.Name(id="zip"), args=args), ast.Tuple(elts=elts):
                title, at, found = "", 0, list[ast.expr]()
                for place, (one, inner) in enumerate(zip(elts, args, strict=False)):
                    lists = self._lists(inner)
                    if lists is not None and isinstance(one, ast.Name):
                        title, at, found = one.id, place, lists
                if not title:
                    return
                args[at : at + 1] = found
                elts[at : at + 1] = self._names(title).elts
            case _, ast.Name(id=title) if (lists := self._lists(source)) is not None:
                node.iter, node.target = _zipped(lists), self._names(title)
            case _:
                return
        read = _Read(title, self.held.keys)
        node.body = [read.visit(part) for part in node.body]
        left = (is_name(p, title) for part in node.body for p in walk(part))
        self.whole &= not any(left)

    def _lists(self, source: ast.expr) -> list[ast.expr] | None:
        """What a loop goes over, for each key."""
        match source:
            case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
                pass
            case _:
                inner = source
        if not self._is_list(inner):
            return None
        return [self._of(source, key) for key in self.held.keys]

    def _names(self, title: str) -> ast.Tuple:
        names = [ast.Name(f"{title}_{key}", ast.Store()) for key in self.held.keys]
        return ast.Tuple(list[ast.expr](names), ast.Store())


def _zipped(lists: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.Name("zip", ast.Load()), lists, [])


class _Read(NodeTransformer):
    """Reads items, or attributes, of an element as what the loop calls them."""

    def __init__(self, title: str, keys: tuple[str, ...]):
        self.title, self.keys = title, keys

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        key = literal(node.slice)
        if is_name(node.value, self.title) and key in self.keys:
            return ast.copy_location(ast.Name(f"{self.title}_{key}", node.ctx), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if is_name(node.value, self.title) and node.attr in self.keys:
            made = ast.Name(f"{self.title}_{node.attr}", node.ctx)
            return ast.copy_location(made, node)
        return node
