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


def check_keys(
    source: Source, function: ast.FunctionDef, attributes: Mapping[str, str]
) -> None:
    """Report every key that a loop or a repeated function uses, and does not draw itself.

    A key is a name that `self.key()` is assigned to, or a parameter of the type Key. Folding
    a number into it makes another.
    """
    bound = _bound(function)
    if not bound:
        return
    places = _Places(function)
    for node in walk(function):
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            continue
        if node.id not in bound or places.is_no_use(node):
            continue
        inside = [set(map(id, places.repeats(b))) for b in bound[node.id]]
        around = places.repeats(node)
        repeat = next((r for r in around if not any(id(r) in i for i in inside)), None)
        if repeat is None:
            continue
        drawn = not isinstance(bound[node.id][0], ast.arg)
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


def _bound(function: ast.FunctionDef) -> dict[str, list[ast.AST]]:
    """The names of keys, with the places that bind them; None may be bound to them, too."""
    found: dict[str, list[ast.AST]] = {}
    others: set[str] = set()
    for node in walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                if isinstance(value, ast.Call) and self_attribute(value.func) == "key":
                    found.setdefault(name, []).append(node)
                elif not (isinstance(value, ast.Constant) and value.value is None):
                    others.add(name)
            case ast.arg(arg=name, annotation=ast.expr() as kind) if (
                unparsed(kind).partition(" ")[0] == "Key"
            ):
                found.setdefault(name, []).append(node)
    return {name: places for name, places in found.items() if name not in others}


class _Places:
    """Where the nodes of a method stand."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self.method = method
        self.parents = {
            child: parent
            for parent in walk(method)
            for child in ast.iter_child_nodes(parent)
        }
        self.repeated: set[ast.AST] = set()
        named = {
            n.name: n
            for n in walk(method)
            if isinstance(n, ast.FunctionDef) and n is not method
        }
        while found := self._more(named):
            self.repeated |= found

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
