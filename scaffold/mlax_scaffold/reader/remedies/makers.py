"""What stands for a layer's class in `setup`, written out where a layer is made of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from mlax_scaffold.model.definition import SECTIONS, Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import dotted

_DEPTH = 6
"""So many names are looked up, one in the other."""
_PARTIAL = ("partial", "functools.partial")


def layers_of(imports: Mapping[str, Import]) -> set[str]:
    """The names that stand for classes of layers."""
    return {
        name
        for name, imported in imports.items()
        if imported.reference and SECTIONS[imported.reference.section].is_layer
    }


def makes_layers(
    tree: ast.Module, name: str, value: ast.expr, layers: Collection[str]
) -> bool:
    """Whether a constant is of classes of layers, and a `setup` reads it."""
    if not any(isinstance(n, ast.Name) and n.id in layers for n in walk(value)):
        return False
    return any(
        isinstance(n, ast.Name) and n.id == name
        for method in walk(tree)
        if isinstance(method, ast.FunctionDef) and method.name == "setup"
        for n in walk(method)
    )


@dataclass(frozen=True)
class Makers:
    """What the names of `setup` stand for."""

    layers: Collection[str]
    """Names of the classes of layers."""
    bound: Mapping[str, ast.expr | ast.FunctionDef]
    """Names that stand for one thing, with what that is."""
    depth: int = field(default=0)

    def made(
        self,
        maker: ast.expr | ast.FunctionDef,
        args: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
    ) -> ast.expr | None:
        """What a call of a maker makes, of the classes themselves; None for anything else."""
        if self.depth > _DEPTH:
            return None
        match maker:
            case ast.Name(id=name) if name in self.layers:
                return ast.Call(ast.Name(name), [*args], [*keywords])
            case ast.Name(id=name) if name in self.bound:
                inner = Makers(self.layers, self.bound, self.depth + 1)
                return inner.made(self.bound[name], args, keywords)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                one = self.made(body, args, keywords)
                other = self.made(orelse, args, keywords)
                return ast.IfExp(test, one, other) if one and other else None
            case ast.Subscript(value=table, slice=chosen):
                return self._of_table(table, chosen, args, keywords)
            case ast.Call(func=called, args=[target, *first]) if (
                dotted(called) in _PARTIAL
            ):
                given = {k.arg for k in keywords}
                kept = [k for k in maker.keywords if k.arg not in given]
                return self.made(target, [*first, *args], [*kept, *keywords])
            case ast.Lambda(args=parameters, body=body):
                return self._returned(parameters, body, args, keywords)
            case ast.FunctionDef(args=parameters, body=body):
                value = _value(body)
                return value and self._returned(parameters, value, args, keywords)
        return None

    def _of_table(
        self,
        table: ast.expr,
        chosen: ast.expr,
        args: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
    ) -> ast.expr | None:
        """`{"a": A, "b": B}[self.kind](n)` as `A(n) if self.kind == "a" else B(n)`."""
        if isinstance(table, ast.Name):
            found = self.bound.get(table.id)
            if not isinstance(found, ast.Dict):
                return None
            table = found
        if not isinstance(table, ast.Dict) or not table.values:
            return None
        made = [self.made(value, args, keywords) for value in table.values]
        if not all(isinstance(key, ast.Constant) for key in table.keys):
            return None
        *pairs, (_, whole) = zip(table.keys, made, strict=True)
        for key, one in reversed(pairs):
            if one is None or whole is None or key is None:
                return None
            whole = ast.IfExp(ast.Compare(chosen, [ast.Eq()], [key]), one, whole)
        return whole

    def _returned(
        self,
        parameters: ast.arguments,
        value: ast.expr,
        args: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
    ) -> ast.expr | None:
        """What a function returns for some arguments; None where that is no layer."""
        names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        only = [a.arg for a in parameters.kwonlyargs]
        if parameters.vararg or parameters.kwarg or len(args) > len(names):
            return None
        if any(isinstance(a, ast.Starred) for a in args):
            return None
        last = names[len(names) - len(parameters.defaults) :]
        given = dict(zip(last, parameters.defaults, strict=True))
        pairs = zip(only, parameters.kw_defaults, strict=True)
        given |= {name: default for name, default in pairs if default is not None}
        given |= dict(zip(names, args, strict=False))
        for keyword in keywords:
            if keyword.arg not in (*names, *only):
                return None
            given[keyword.arg] = keyword.value
        if set(given) != {*names, *only}:
            return None
        return self._written(_Given(given).visit(deepcopy(value)))

    def _written(self, value: ast.expr) -> ast.expr | None:
        match value:
            case ast.Call(func=called, args=args, keywords=keywords):
                return self.made(called, args, keywords)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                one, other = self._written(body), self._written(orelse)
                return ast.IfExp(test, one, other) if one and other else None
        return None


class _Given(ast.NodeTransformer):
    """Arguments in the place of parameters."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _value(body: Sequence[ast.stmt]) -> ast.expr | None:
    """What the body of a function returns, as one expression; None where it does more."""
    match [s for s in body if not _is_text(s)]:
        case [ast.Return(value=ast.expr() as value)]:
            return value
        case [ast.If(test=test, body=first, orelse=[]), *rest]:
            pass
        case [ast.If(test=test, body=first, orelse=rest)]:
            pass
        case _:
            return None
    one, other = _value(first), _value(rest)
    return ast.IfExp(test, one, other) if one and other else None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def bound_once(
    method: ast.FunctionDef, module: Sequence[ast.stmt]
) -> dict[str, tuple[ast.expr | ast.FunctionDef, ast.stmt]]:
    """Names that one statement of `setup`, or of the module, binds, with what they stand for.

    An `if` whose branches bind one name each way binds it to a choice.
    """
    stored: dict[str, int] = {}
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                stored[name] = stored.get(name, 0) + 1
    found: dict[str, tuple[ast.expr | ast.FunctionDef, ast.stmt]] = {}
    for statement in module:
        if (pair := _binding(statement)) and pair[0] not in stored:
            found[pair[0]] = pair[1], statement
    for node in walk(method):
        pair = _binding(node) if isinstance(node, ast.stmt) else None
        if pair is None or node is method or not isinstance(node, ast.stmt):
            continue
        times = sum(
            isinstance(n, ast.Name) and n.id == pair[0] and isinstance(n.ctx, ast.Store)
            for n in walk(node)
        )
        if stored.get(pair[0]) == max(times, 1):
            found[pair[0]] = pair[1], node
    return found


def _binding(statement: ast.stmt) -> tuple[str, ast.expr | ast.FunctionDef] | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.FunctionDef(name=name, decorator_list=[]):
            return name, statement
        case ast.If(test=test, body=[first], orelse=[second]):
            one, other = _binding(first), _binding(second)
            if one and other and one[0] == other[0]:
                values = one[1], other[1]
                if all(isinstance(v, ast.expr) for v in values):
                    return one[0], ast.IfExp(test, *values)  # type: ignore[arg-type]
    return None
