"""Numbers the places of an optimizer's method that take a PRNG key, in the order of the text.

Generated code splits the caller's key by these numbers; the eager side does the same.
"""

from __future__ import annotations

import ast
import functools
import inspect
from typing import TYPE_CHECKING, Any

from mlax_scaffold.spec.occurrences import Method, parse, routed, self_attribute

if TYPE_CHECKING:
    from mlax_scaffold.spec.optimizer import Optimizer


@functools.cache
def numbered(owner: type[Optimizer], function: Any) -> Method:
    """A method that asks for keys by number."""
    tree = parse(function)
    places = sorted(
        (node for node in ast.walk(tree) if _kind(owner, node)),
        key=lambda node: (node.lineno, node.col_offset),  # type: ignore[attr-defined]
    )
    numbers = {id(node): number for number, node in enumerate(places)}
    tree = ast.fix_missing_locations(_Routes(owner, numbers).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[function.__name__], len(places))


def _kind(owner: type[Optimizer], node: ast.AST) -> str | None:
    """The method that a place asks for what it takes; None where it takes no key."""
    match node:
        case ast.Call(func=ast.Attribute(attr="key") as called) if (
            self_attribute(called) == "key"
        ):
            return "_key"
        case ast.Call(func=ast.Attribute(value=inner, attr="apply")) if self_attribute(
            inner
        ) in owner._fields.named("SubOptimizer"):
            return "_optimizer"
        case ast.Call(func=called) if self_attribute(called) in owner._fields.named(
            "SubOptimizer"
        ):
            return "_optimizer"
        case ast.For() if _looped(owner, node):
            return "_optimizers"
    return None


def _looped(owner: type[Optimizer], node: ast.For) -> ast.Attribute | None:
    for part in ast.walk(node.iter):
        if isinstance(part, ast.Attribute) and (
            self_attribute(part) in owner._fields.named("SubOptimizers")
        ):
            return part
    return None


class _Routes(ast.NodeTransformer):
    def __init__(self, owner: type[Optimizer], numbers: dict[int, int]) -> None:
        self.owner = owner
        self.numbers = numbers

    def visit(self, node: ast.AST) -> Any:
        kind, number = _kind(self.owner, node), ast.Constant(self.numbers.get(id(node)))
        self.generic_visit(node)
        match kind, node:
            case "_key", ast.Call():
                return routed(node, "_key", [number], [])
            case "_optimizer", ast.Call(func=ast.Attribute(value=owner) as called):
                name = self_attribute(called)
                optimizer = called if name is not None else owner
                asked = self._asked("_optimizer", optimizer, number)
                if name is None:
                    called.value = asked
                else:
                    node.func = asked
            case "_optimizers", ast.For():
                field = _looped(self.owner, node)
                assert field is not None
                asked = self._asked("_optimizers", field, number)
                if node.iter is field:
                    node.iter = asked
                else:
                    assert isinstance(node.iter, ast.Call)
                    node.iter.args[node.iter.args.index(field)] = asked
        return node

    @staticmethod
    def _asked(method: str, field: ast.expr, number: ast.Constant) -> ast.Call:
        name = ast.Constant(self_attribute(field))
        return routed(field, method, [name, number], [])
