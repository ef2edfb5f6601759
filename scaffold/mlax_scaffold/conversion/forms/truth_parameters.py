"""Parameters of PyTorch's classes that are only asked whether they hold, `if self.odd:`, as bools."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_BY_NAME = 1_000
"""The place of what is given by name alone."""


def with_truth_parameters(origin: Origin) -> None:
    """Say so in place, and give them bools where the file makes such a class."""
    told: dict[str, list[tuple[int, str]]] = {}
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if framework_of(origin, node) != "torch" or not isinstance(
            start, ast.FunctionDef
        ):
            continue
        late = len(start.args.args) - len(start.args.defaults)
        for place, argument in enumerate(start.args.args[1:]):
            typed = argument.annotation is not None or place + 1 >= late
            if not typed and _is_truth(node, start, argument.arg):
                argument.annotation = ast.copy_location(
                    ast.Name("bool", ast.Load()), argument
                )
                told.setdefault(node.name, []).append((place, argument.arg))
        for argument, default in zip(
            start.args.kwonlyargs, start.args.kw_defaults, strict=True
        ):
            typed = argument.annotation is not None or default is not None
            if not typed and _is_truth(node, start, argument.arg):
                flag = ast.Name("bool", ast.Load())
                argument.annotation = ast.copy_location(flag, argument)
                told.setdefault(node.name, []).append((_BY_NAME, argument.arg))
    for call in walk(origin.tree):
        title = getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""
        for place, parameter in told.get(title, ()):
            assert isinstance(call, ast.Call)
            if any(isinstance(a, ast.Starred) for a in call.args):
                continue
            if place < len(call.args):
                call.args[place] = _as_bool(call.args[place])
            for keyword in call.keywords:
                if keyword.arg == parameter:
                    keyword.value = _as_bool(keyword.value)


def _is_truth(node: ast.ClassDef, start: ast.FunctionDef, parameter: str) -> bool:
    """Whether nothing is done with a parameter but to ask whether it holds."""
    stored = {
        a
        for s in walk(start)
        if isinstance(s, ast.Assign)
        and is_name(s.value, parameter)
        and (a := self_attribute(s.targets[0]))
    }
    asked = {id(t) for part in walk(node) for t in _tests(part)}
    kept = {
        id(s.value)
        for s in walk(start)
        if isinstance(s, ast.Assign)
        and is_name(s.value, parameter)
        and self_attribute(s.targets[0])
    }
    reads = [p for p in walk(start) if is_name(p, parameter)]
    reads = [p for p in reads if id(p) not in kept]
    reads += [
        p
        for p in walk(node)
        if self_attribute(p) in stored and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    return bool(reads) and all(id(p) in asked for p in reads)


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of a condition that are asked whether they hold."""
    if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
        yield from _parts(node.test)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _parts(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _parts(value)
        case _:
            yield node


def _as_bool(node: ast.expr) -> ast.expr:
    value = literal(node)
    if isinstance(value, int):
        return ast.copy_location(ast.Constant(bool(value)), node)
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Name() | ast.Attribute():
            if not isinstance(node, ast.Name):
                return node
    made = ast.Call(ast.Name("bool", ast.Load()), [node], [])
    return located(ast.copy_location(made, node))
