"""Finds a key that is taken once and used several times: in a loop, or in a function that jax repeats."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.draws import draws_inside, several_keys
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_REPEATING = frozenset(
    [
        "associative_scan",
        "fori_loop",
        "map",
        "map_chunks",
        "map_with_path",
        "pmap",
        "scan",
        "tree_map",
        "tree_map_with_path",
        "vmap",
        "while_loop",
    ]
)
"""Functions that call a function several times, by the last part of their names."""

_FUNCTIONS = (ast.FunctionDef, ast.Lambda)

_Name = tuple[ast.AST, str]
"""A name, with the function or comprehension that it is one of."""


def check_keys(
    source: Source, function: ast.FunctionDef, attributes: Mapping[str, str]
) -> None:
    """Report every key that a loop or a repeated function uses, and does not draw itself.

    A key is a name that `self.key()` is assigned to, or a parameter of the type Key. Folding
    a number into it makes another.
    """
    if not any(map(_is_key, walk(function))):
        return
    places = _Places(function)
    bound = _bound(function, places)
    for node in walk(function):
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            continue
        binding = bound.get(places.named(node, node.id), [])
        if not binding or places.is_no_use(node):
            continue
        inside = [set(map(id, places.repeats(b))) for b in binding]
        around = places.repeats(node)
        repeat = next((r for r in around if not any(id(r) in i for i in inside)), None)
        if repeat is None:
            continue
        drawn = not isinstance(binding[0], ast.arg)
        if drawn and isinstance(repeat, ast.For):
            hint = "Call `self.key()` in the loop: each pass gets a key of its own."
        elif drawn and draws_inside(attributes) and isinstance(repeat, _FUNCTIONS):
            hint = "Call `self.key()` in the function: each call gets a key of its own."
        elif drawn:
            hint = several_keys(attributes)
        else:
            hint = f"Use one of `jax.random.split({node.id}, n)` in each."
        many = (
            "a loop" if isinstance(repeat, ast.For) else "what is called several times"
        )
        source.report(node, f"the key `{node.id}` is one, and used in {many}", hint)


def _bound(function: ast.FunctionDef, places: _Places) -> dict[_Name, list[ast.AST]]:
    """The names of keys, with the places that bind them; None may be bound to them, too.

    In `key, draw = jax.random.split(key)` each name becomes another key, as often as that runs.
    """
    found: dict[_Name, list[ast.AST]] = {}
    parts: list[tuple[_Name, ast.Name, ast.expr]] = []
    others: set[_Name] = set()
    for node in walk(function):
        match node:
            case ast.arg(arg=name):
                named, key = places.named(node, name), _is_typed(node)
            case ast.Name(id=name, ctx=ast.Store()):
                value, alone = places.assigned(node)
                if isinstance(value, ast.Constant) and value.value is None:
                    continue
                named, key = places.named(node, name), alone and _is_drawn(value)
                if (split := _split(value)) and not alone:
                    parts.append((named, node, split))
                    continue
            case _:
                continue
        if key:
            found.setdefault(named, []).append(node)
        else:
            others.add(named)
    keys: dict[_Name, list[ast.AST]] = {}
    while len(keys) < len(found):
        keys = dict(found)
        for named, node, whole in list(parts):
            if _is_drawn(whole) or (
                isinstance(whole, ast.Name) and places.named(whole, whole.id) in keys
            ):
                found.setdefault(named, []).append(node)
                parts.remove((named, node, whole))
    others |= {named for named, _, _ in parts}
    return {named: places for named, places in found.items() if named not in others}


def _is_key(node: ast.AST) -> bool:
    return _is_typed(node) if isinstance(node, ast.arg) else _is_drawn(node)


def _is_typed(parameter: ast.arg) -> bool:
    kind = parameter.annotation
    return kind is not None and unparsed(kind).partition(" ")[0] == "Key"


def _is_drawn(value: ast.AST | None) -> bool:
    return isinstance(value, ast.Call) and self_attribute(value.func) == "key"


def _split(value: ast.expr | None) -> ast.expr | None:
    """What is split, where something is."""
    match value:
        case ast.Call(func=function, args=[whole, *_]):
            last = (dotted(function) or "").rpartition(".")[2]
            return whole if last == "split" else None
    return None


class _Places:
    """Where the nodes of a method stand."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self.method = method
        self.parents = {
            child: parent
            for parent in walk(method)
            for child in ast.iter_child_nodes(parent)
        }
        self.names: dict[ast.AST, set[str]] = {}
        for node in walk(method):
            if isinstance(node, ast.arg) or (
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ):
                name = node.arg if isinstance(node, ast.arg) else node.id
                scope = next(self._scopes(node), method)
                self.names.setdefault(scope, set()).add(name)
        self.repeated: set[ast.AST] = set()
        named = {
            n.name: n
            for n in walk(method)
            if isinstance(n, ast.FunctionDef) and n is not method
        }
        while found := self._more(named):
            self.repeated |= found

    def named(self, node: ast.AST, name: str) -> _Name:
        """A name, as it is meant at a node: by the innermost function that binds it."""
        for scope in self._scopes(node):
            if name in self.names.get(scope, ()):
                return scope, name
        return self.method, name

    def _scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The functions and comprehensions inside of the method whose names a node sees."""
        while node is not self.method:
            child, node = node, self.parents[node]
            match node:
                case ast.arguments(defaults=values, kw_defaults=others) if (
                    child in values or child in others
                ):
                    node = self.parents[
                        node
                    ]  # It is evaluated where the function is made.
                case ast.FunctionDef(decorator_list=decorators) if child in decorators:
                    pass
                case ast.FunctionDef() | ast.Lambda() | ast.comprehension():
                    if node is not self.method:
                        yield node
                case (
                    ast.ListComp(generators=parts)
                    | ast.SetComp(generators=parts)
                    | ast.GeneratorExp(generators=parts)
                    | ast.DictComp(generators=parts)
                ):
                    yield from parts

    def assigned(self, name: ast.Name) -> tuple[ast.expr | None, bool]:
        """What a name is assigned, and whether alone, or as a part of a tuple."""
        target, alone = name, True
        if isinstance(parent := self.parents[name], ast.Tuple | ast.List):
            target, alone = parent, False
        match self.parents[target]:
            case (
                ast.Assign(value=value)
                | ast.AnnAssign(value=value)
                | ast.NamedExpr(value=value)
            ):
                return value, alone
        return None, alone

    def is_no_use(self, name: ast.Name) -> bool:
        """Whether a key is compared with None, or is what a number is folded into."""
        match self.parents[name]:
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return True
            case ast.Call(func=called, args=[first, *_]):
                last = (dotted(called) or "").rpartition(".")[2]
                return first is name and last == "fold_in"
        return False

    def repeats(self, node: ast.AST) -> Iterator[ast.AST]:
        """The loops and repeated functions around a node, from the inside."""
        child = node
        while child is not self.method:
            parent = self.parents[child]
            match parent:
                case ast.For(body=body) if child in body:
                    yield parent
                case ast.While(orelse=after) if child not in after:
                    yield parent
                case (
                    ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
                ):
                    # What the first part runs over is evaluated once.
                    if child is not parent.generators[0]:
                        yield parent
                case ast.comprehension(iter=iterated) if child is not iterated:
                    yield parent
                case ast.FunctionDef() | ast.Lambda() if parent in self.repeated:
                    yield parent
            child = parent

    def _more(self, named: Mapping[str, ast.FunctionDef]) -> set[ast.AST]:
        """Functions that are found to be repeated, of which it was not known."""
        found: set[ast.AST] = set()
        for node in walk(self.method):
            if isinstance(node, ast.Lambda) and self._repeated(node, node):
                found.add(node)
            elif isinstance(node, ast.Name) and node.id in named:
                definition = named[node.id]
                if self._repeated(node, definition):
                    found.add(definition)
        return found - self.repeated

    def _repeated(self, use: ast.AST, definition: ast.AST) -> bool:
        """Whether a function is used where it is called several times."""
        known = set(map(id, self.repeats(definition)))
        if any(id(r) not in known for r in self.repeats(use) if r is not definition):
            return True
        child = use
        while not isinstance(child, ast.stmt):
            parent = self.parents[child]
            match parent:
                case ast.Call(func=called) if child is not called:
                    name = (dotted(called) or "").rpartition(".")[2]
                    if name in _REPEATING:
                        return True
            child = parent
        return False
