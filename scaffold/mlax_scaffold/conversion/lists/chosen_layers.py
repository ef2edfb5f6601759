"""Layers that the branches of a condition choose, as one expression: `nn.ReLU() if c else nn.GELU()`."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located

_STARTS = ("__init__", "setup")


def with_chosen_layers(
    origin: Origin, node: ast.ClassDef, layers: Collection[str]
) -> None:
    """Write such branches as expressions, in place.

    Where they choose a class of layers (`norm = nn.BatchNorm2d`), its calls choose.

    Args:
        origin: the file.
        node: the class.
        layers: the full names of what makes layers.
    """
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name in _STARTS:
            chosen = _Chosen(origin, layers)
            start.body = chosen.statements(chosen.with_defaults(start))
            located(start)


class _Chosen:
    def __init__(self, origin: Origin, layers: Collection[str]):
        self.origin, self.layers = origin, layers

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for at, part in enumerate(body):
            found = self._assigned(part)
            if found is None:
                made.append(part)
                continue
            target, value, require = found
            if require is not None:
                made.append(require)
            local = target.id if isinstance(target, ast.Name) else ""
            if local and self._is_class(value):
                calls = _Calls(local, value)
                rest = [calls.visit(cloned(s)) for s in body[at + 1 :]]
                if not calls.others:
                    return made + self.statements(rest)
            made.append(ast.copy_location(ast.Assign([target], value), part))
        return made

    def with_defaults(self, start: ast.FunctionDef) -> list[ast.stmt]:
        """The statements, without those that choose a layer where a parameter is None by default.

        That layer is the default then.
        """
        given = start.args
        places = [*given.posonlyargs, *given.args][-len(given.defaults) or None :]
        defaults = [(given.defaults, i, a.arg) for i, a in enumerate(places)]
        if not given.defaults:
            defaults = []
        for i, (a, default) in enumerate(
            zip(given.kwonlyargs, given.kw_defaults, strict=True)
        ):
            if default is not None:
                defaults.append((given.kw_defaults, i, a.arg))  # type: ignore[arg-type]
        kept: list[ast.stmt] = []
        for part in start.body:
            value = self._fallback(part)
            found = next(
                (
                    (values, i)
                    for values, i, local in defaults
                    if value is not None and value[0] == local and is_none(values[i])
                ),
                None,
            )
            if found is None or value is None:
                kept.append(part)
            else:
                found[0][found[1]] = value[1]
        return kept

    def _fallback(self, node: ast.stmt) -> tuple[str, ast.expr] | None:
        """`if norm is None: norm = nn.LayerNorm`."""
        match node:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=local), ops=[ast.Is()], comparators=[none]
                ),
                body=[ast.Assign(targets=[ast.Name(id=target)], value=value)],
                orelse=[],
            ) if local == target and is_none(none):
                known = self._names(value) or self._is_layer(value)
                return (local, value) if known else None
        return None

    def _assigned(
        self, node: ast.stmt
    ) -> tuple[ast.expr, ast.expr, ast.stmt | None] | None:
        """What each branch assigns, as one value; and what has to hold where another one raises."""
        if not isinstance(node, ast.If):
            return None
        branches: list[tuple[ast.expr, ast.expr]] = []
        rest: list[ast.stmt] = [node]
        target: ast.expr | None = None
        while len(rest) == 1 and isinstance(rest[0], ast.If):
            branch = rest[0]
            match branch.body:
                case [ast.Assign(targets=[one], value=value)]:
                    pass
                case _:
                    return None
            if target is not None and ast.unparse(one) != ast.unparse(target):
                return None
            target = one
            branches.append((branch.test, value))
            rest = branch.orelse
        require: ast.stmt | None = None
        match rest:
            case [ast.Assign(targets=[one], value=value)] if target is not None:
                if ast.unparse(one) != ast.unparse(target):
                    return None
            case [ast.Raise()] if len(branches) > 1:
                tests = [cloned(test) for test, _ in branches]
                require = ast.copy_location(
                    ast.Assert(ast.BoolOp(ast.Or(), tests), None), node
                )
                value = branches.pop()[1]
            case _:
                return None
        if not isinstance(target, ast.Name) and self_attribute(target) is None:  # type: ignore[arg-type]
            return None
        for test, chosen in reversed(branches):
            value = ast.copy_location(ast.IfExp(test, chosen, value), node)
        assert target is not None
        leaves = _leaves(value)
        if not any(self._is_layer(leaf) or self._names(leaf) for leaf in leaves):
            return None
        return target, value, require

    def _is_layer(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._names(node.func)

    def _names(self, node: ast.expr) -> bool:
        """Whether an expression is the name of a class of layers."""
        known = isinstance(node, ast.Name) and node.id in self.origin.classes
        return known or self.origin.qualified(node) in self.layers

    def _is_class(self, value: ast.expr) -> bool:
        return all(self._names(leaf) for leaf in _leaves(value))


def _leaves(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [*_leaves(node.body), *_leaves(node.orelse)]
    return [node]


class _Calls(NodeTransformer):
    """Writes calls of a local that is one of several classes."""

    def __init__(self, local: str, value: ast.expr):
        self.local, self.value = local, value
        self.others = False
        """Whether the local is used in another way."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not is_name(node.func, self.local):
            self.generic_visit(node)
            return node
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return self._called(self.value, node)

    def _called(self, value: ast.expr, call: ast.Call) -> ast.expr:
        if isinstance(value, ast.IfExp):
            sides = (self._called(v, call) for v in (value.body, value.orelse))
            made: ast.expr = ast.IfExp(cloned(value.test), *sides)
        else:
            made = ast.Call(
                cloned(value),
                cloned(call.args),
                cloned(call.keywords),
            )
        return ast.copy_location(made, call)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        self.others = self.others or node.id == self.local
        return node
