"""Weights that pairs of functions stack for layers of one kind, as a list of them that a loop goes over.

blocks = jax.vmap(lambda k: init_block(k, dim))(keys)         blocks = [init_block(k, dim) for k in keys]
...                                                becomes    ...
x, _ = jax.lax.scan(step, x, params["blocks"])                for p in params["blocks"]:
                                                                  x = block(p, x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.scan_loops import scan_as_loop
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    name,
    names,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SPLIT = ("jax.random.split",)
_MAP = "jax.vmap"
_SCAN = "jax.lax.scan"


def with_listed_weights(
    origin: Origin, first: ast.FunctionDef, second: ast.FunctionDef
) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    """The function that makes weights and the one that is given them, written so.

    Both stay as they are where something else is done with what is stacked.
    """
    made = cloned(first)
    listed = _Listed(origin, made)
    made.body = [listed.visit(part) for part in made.body]
    keys = _keys(made, listed.found)
    if not keys:
        return first, second
    run = cloned(second)
    loops = _Loops(origin, run, keys)
    run.body = loops.statements(run.body)
    if loops.left():
        return first, second
    return located(made), located(run)


class _Listed(NodeTransformer):
    """Writes a list of what is made of each key."""

    def __init__(self, origin: Origin, function: ast.FunctionDef):
        self.origin = origin
        self.found: list[ast.ListComp] = []
        self.splits = {
            target.id
            for part in walk(function)
            if isinstance(part, ast.Assign) and self._is_split(part.value)
            for target in part.targets
            if isinstance(target, ast.Name)
        }

    def _is_split(self, node: ast.expr) -> bool:
        known = isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1
        return known and self.origin.qualified(node.func) in _SPLIT  # type: ignore[attr-defined]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Call(func=func, args=[maker], keywords=told),
                args=[keys, *rest],
                keywords=[],
            ) if self.origin.qualified(func) == _MAP:
                pass
            case _:
                return node
        split = self._is_split(keys) or getattr(keys, "id", "") in self.splits
        axes = [k.value for k in told if k.arg == "in_axes"]
        alike = not axes if not rest else len(axes) == 1 and _first_alone(axes[0])
        if not split or not alike or len(told) > len(axes):
            return node
        key, passes = name("k"), keys
        if isinstance(keys, ast.Call):
            # All that is drawn has a key of its own here.
            key = keys.args[0]
            count = [*keys.args[1:], *(k.value for k in keys.keywords)][0]
            passes = expression("range(n)", n=count)
        element = self._made(maker, key, rest)
        if element is None:
            return node
        title = "_" if passes is not keys else "k"
        loop = ast.comprehension(ast.Name(title, ast.Store()), passes, [], 0)
        listed = ast.copy_location(ast.ListComp(element, [loop]), node)
        self.found.append(listed)
        return listed

    def _made(
        self, maker: ast.expr, key: ast.expr, rest: list[ast.expr]
    ) -> ast.expr | None:
        """What is made of one key."""
        match maker:
            case ast.Lambda(args=ast.arguments(args=[given]), body=body) if not rest:
                return replaced(body, {given.arg: key})
            case ast.Name():
                return ast.Call(maker, [key, *rest], [])
            case ast.Call(func=func, args=[inner, *args], keywords=keywords) if (
                self.origin.qualified(func) == "functools.partial" and not args
            ):
                return ast.Call(inner, [key, *rest], keywords)
        return None


def _first_alone(axes: ast.expr) -> bool:
    match axes:
        case ast.Tuple(elts=[first, *others]):
            return literal(first) == 0 and all(map(is_none, others))
    return False


def _keys(function: ast.FunctionDef, found: list[ast.ListComp]) -> set[str]:
    """What such lists are called in what a function returns."""
    local = {
        target.id
        for part in walk(function)
        if isinstance(part, ast.Assign) and part.value in found
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    keys: set[str] = set()
    for part in walk(function):
        pairs: list[tuple[object, ast.expr]] = []
        if isinstance(part, ast.Dict):
            pairs = [
                (literal(k), v)
                for k, v in zip(part.keys, part.values, strict=True)
                if k is not None
            ]
        elif isinstance(part, ast.Call):
            pairs = [(k.arg, k.value) for k in part.keywords]
        for key, value in pairs:
            listed = value in found or getattr(value, "id", "") in local
            if isinstance(key, str) and listed:
                keys.add(key)
    return keys


class _Loops:
    """Writes scans over such lists as loops."""

    def __init__(self, origin: Origin, function: ast.FunctionDef, keys: set[str]):
        self.origin, self.function, self.keys = origin, function, keys
        self.steps = dict(origin.functions) | {
            part.name: part
            for part in walk(function)
            if isinstance(part, ast.FunctionDef) and part is not function
        }

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, without steps that nothing scans any more."""
        made = [s for part in body for s in self._statement(part)]
        read = {n for s in made if not isinstance(s, ast.FunctionDef) for n in names(s)}
        return [s for s in made if not isinstance(s, ast.FunctionDef) or s.name in read]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name() as target, ast.Name()])],
                value=ast.Call(func=func, args=[step, start, over], keywords=[]),
            ) if self.origin.qualified(func) == _SCAN and self._is_listed(over):
                pass
            case _:
                return [node]
        if isinstance(step, ast.Call) and len(step.args) == 1:
            # Computed again for its gradient.
            step = step.args[0]
        function = self.steps.get(getattr(step, "id", ""))
        if function is None or len(function.args.args) != 2:
            return [node]
        carry, element = (a.arg for a in function.args.args)
        match cloned(without_docstring(function.body)):
            case [*inner, ast.Return(value=ast.Tuple(elts=[after, end]))] if is_none(
                end
            ):
                return scan_as_loop(
                    node, target, carry, element, over, start, inner, after
                )
        return [node]

    def _is_listed(self, node: ast.expr) -> bool:
        key = literal(node.slice) if isinstance(node, ast.Subscript) else None
        key = node.attr if isinstance(node, ast.Attribute) else key
        params = self.function.args.args[0].arg if self.function.args.args else ""
        held = isinstance(node, ast.Subscript | ast.Attribute)
        return held and key in self.keys and is_name(node.value, params)  # type: ignore[attr-defined]

    def left(self) -> bool:
        """Whether something but a loop reads such a list."""
        loops = {
            id(p.iter)
            for p in walk(self.function)
            if isinstance(p, ast.For | ast.comprehension)
        }
        return any(
            self._is_listed(p) and id(p) not in loops
            for p in walk(self.function)
            if isinstance(p, ast.expr)
        )
