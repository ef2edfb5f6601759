"""Functions that `nnx.scan` runs over time, as steps of `lax.scan`.

step = nnx.scan(lambda cell, c, x: cell(c, x), in_axes=(None, nnx.Carry, 1), out_axes=(nnx.Carry, 1))
c, y = step(self.cell, c, x)

becomes

def step(c, x):
    return self.cell(c, x)
c, y = jax.lax.scan(step, c, jnp.swapaxes(x, 0, 1)), with y swapped back
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    as_function,
    is_none,
    literal,
    marked,
    name,
    names,
    statement,
    with_names,
)
from mlax_scaffold.conversion.source.walking import cloned, located

_CARRY = "carry"


@dataclass(frozen=True)
class _Scan:
    """A function that is scanned: what each parameter is, the carry, the axis of time, or the same always."""

    function: ast.FunctionDef
    given: tuple[str | int | None, ...]
    made: int | None
    """The axis of time of the results; None where there is a carry alone."""


def without_scanned_functions(origin: Origin) -> None:
    """Write them so in the classes of a file, in place."""
    if not origin.uses("flax"):
        return
    for node in origin.classes.values():
        if framework_of(origin, node) == "nnx":
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    method.body = _Scans(origin).statements(method.body)
    located(origin.tree)


class _Scans:
    """The scans of a method."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.functions = dict(origin.functions)
        self.known: dict[str, _Scan] = {}

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            for title in ("body", "orelse"):
                inner = getattr(node, title, None)
                if isinstance(inner, list) and not isinstance(node, ast.FunctionDef):
                    setattr(node, title, self.statements(inner))
            found += self._statement(node)
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            made = self._decorated(node)
            self.functions[node.name] = node
            if made is not None:
                self.known[node.name] = made
                return []
            return [node]
        match as_function(node) or node:
            case ast.FunctionDef() as function:
                self.functions[function.name] = function
                return [node]
            case ast.Assign(targets=[target], value=ast.Call() as call):
                made = self._scan(call)
                if made is not None and isinstance(target, ast.Name):
                    self.known[target.id] = made
                    return []
                return self._called(target, call) or [node]
        return [node]

    def _decorated(self, node: ast.FunctionDef) -> _Scan | None:
        match node.decorator_list:
            case [ast.Call(func=func, args=args, keywords=keywords)]:
                told = ast.Call(func, [name(node.name)], keywords)
                if self.origin.qualified(func) == "functools.partial" and args:
                    told = ast.Call(args[0], [name(node.name)], keywords)
            case [ast.Name() | ast.Attribute() as func]:
                told = ast.Call(func, [name(node.name)], [])
            case _:
                return None
        plain = copy.copy(node)
        plain.decorator_list = []
        return self._scan(told, plain)

    def _scan(
        self, call: ast.Call, function: ast.FunctionDef | None = None
    ) -> _Scan | None:
        if self.origin.qualified(call.func) != "flax.nnx.scan" or len(call.args) != 1:
            return None
        told = {k.arg: k.value for k in call.keywords}
        if set(told) - {"in_axes", "out_axes"}:
            return None
        [scanned] = call.args
        if isinstance(scanned, ast.Lambda):
            body: list[ast.stmt] = [ast.Return(scanned.body)]
            function = ast.FunctionDef("step", scanned.args, body, [], lineno=0)
        elif function is None and isinstance(scanned, ast.Name):
            function = self.functions.get(scanned.id)
        given = self._axes(told.get("in_axes"), (_CARRY, 0))
        made = self._axes(told.get("out_axes"), (_CARRY, 0))
        if function is None or given is None or given.count(_CARRY) != 1:
            return None
        if len(function.args.args) != len(given) or made not in (
            (_CARRY,), (_CARRY, 0), (_CARRY, 1),
        ):  # fmt: skip
            return None
        last = function.body[-1]
        if len(made) == 1 and not isinstance(last, ast.Return):
            return None
        return _Scan(function, given, made[1] if len(made) > 1 else None)  # type: ignore[arg-type]

    def _axes(
        self, node: ast.expr | None, usual: tuple[str | int | None, ...]
    ) -> tuple[str | int | None, ...] | None:
        """What axes are told to be; None where that is not to be read."""
        if node is None:
            return usual
        found: list[str | int | None] = []
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            at = literal(one)
            if self.origin.qualified(one) == "flax.nnx.Carry":
                found.append(_CARRY)
            elif is_none(one):
                found.append(None)
            elif type(at) is int and at in (0, 1):
                found.append(at)
            else:
                return None
        return tuple(found)

    def _called(self, target: ast.expr, call: ast.Call) -> list[ast.stmt]:
        """The statements that a call of such a function is; none for another call."""
        made = self.known.get(getattr(call.func, "id", ""))
        if isinstance(call.func, ast.Call):
            made = self._scan(call.func)
        if made is None or call.keywords or len(call.args) != len(made.given):
            return []
        if made.made is not None and not isinstance(target, ast.Tuple):
            return []
        function = cloned(made.function)
        places = [a.arg for a in function.args.args]
        same = {
            p: a
            for p, a, at in zip(places, call.args, made.given, strict=True)
            if at is None
        }
        scanned = [
            (p, a if not at else marked("jnp.swapaxes(x, 0, 1)", x=a))
            for p, a, at in zip(places, call.args, made.given, strict=True)
            if isinstance(at, int)
        ]
        carry = made.given.index(_CARRY)
        if not scanned:
            return []
        body = [with_names(s, same) for s in function.body]
        arguments = [places[carry]]
        if len(scanned) == 1:
            arguments.append(scanned[0][0])
            xs = scanned[0][1]
        else:
            arguments.append("parts")
            body.insert(0, statement(f"{', '.join(p for p, _ in scanned)} = parts"))
            xs = ast.Tuple([a for _, a in scanned], ast.Load())
        if made.made is None:
            last = body[-1]
            assert isinstance(last, ast.Return)
            assert last.value is not None
            last.value = ast.Tuple([last.value, ast.Constant(None)], ast.Load())
        given = ast.arguments(
            [], [ast.arg(a) for a in arguments], None, [], [], None, []
        )
        step = ast.FunctionDef(function.name, given, body, [], lineno=0)
        run = marked("lax.scan(s, c, x)", s=name(step.name), c=call.args[carry], x=xs)
        lines: list[ast.stmt] = [step]
        if made.made is None:
            first = ast.Subscript(run, ast.Constant(0), ast.Load())
            return [*lines, ast.Assign([target], first, lineno=0)]
        lines.append(ast.Assign([target], run, lineno=0))
        assert isinstance(target, ast.Tuple)
        if made.made:
            for one in sorted(names(target.elts[1])):
                back = marked("jnp.swapaxes(y, 0, 1)", y=name(one))
                lines.append(ast.Assign([ast.Name(one, ast.Store())], back, lineno=0))
        return lines
