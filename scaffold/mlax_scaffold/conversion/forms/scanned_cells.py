"""Cells of flax that `nn.scan` runs over time, as what `nn.RNN` does with them.

LSTM = nn.scan(nn.LSTMCell, variable_broadcast="params", in_axes=1, out_axes=1)
lstm = LSTM(size)
carry = lstm.initialize_carry(key, x[:, 0].shape)
carry, y = lstm(carry, x)

becomes

carry, y = nn.RNN(nn.LSTMCell(size), return_carry=True)(x)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    without_docstring,
)

_SCANS = ("flax.linen.scan", "flax.linen.transforms.scan")
_CELLS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell")


def without_scanned_cells(origin: Origin) -> None:
    """Change the methods of a file in place; scans of anything else stay."""
    known = {
        title: found
        for title, node in origin.classes.items()
        if (found := _scanned_class(origin, node))
    }
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                _written(origin, method, known)


@dataclass
class _Scan:
    cell: ast.expr
    module: ast.expr
    time_major: bool


@dataclass
class _ScannedClass:
    """A class whose method `nn.scan` runs over time, and that runs one cell."""

    scan: _Scan
    fields: list[str]
    cell: ast.Call

    def run(self, call: ast.Call) -> ast.Call | None:
        """What a call that makes one makes; None where it is not given what the cell reads."""
        given = dict(zip(self.fields, call.args, strict=False))
        given |= {k.arg: k.value for k in call.keywords if k.arg in self.fields}
        read = {a for part in ast.walk(self.cell) if (a := self_attribute(part))}
        if not read <= given.keys():
            return None
        cell = _Filled(given).visit(copy.deepcopy(self.cell))
        cell.keywords += [k for k in call.keywords if k.arg == "name"]
        return _run(self.scan, cell)


class _Filled(ast.NodeTransformer):
    """Writes what fields are given in their place."""

    def __init__(self, given: Mapping[str, ast.expr]):
        self.given = given

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self_attribute(node)
        if attribute is not None and attribute in self.given:
            return copy.deepcopy(self.given[attribute])
        self.generic_visit(node)
        return node


def _scanned_class(origin: Origin, node: ast.ClassDef) -> _ScannedClass | None:
    """`@partial(nn.scan, ...)` over a method that returns `nn.LSTMCell(size)(carry, x)`."""
    call = next((f for f in node.body if getattr(f, "name", "") == "__call__"), None)
    if not isinstance(call, ast.FunctionDef) or len(call.decorator_list) != 2:
        return None
    first = call.decorator_list[0]
    if not isinstance(first, ast.Call) or not first.args:
        return None
    if origin.qualified(first.func) != "functools.partial":
        return None
    match without_docstring(call.body):
        case [
            ast.Return(
                value=ast.Call(
                    func=ast.Call() as cell, args=[ast.Name(carry), ast.Name(x)]
                )
            )
        ] if [a.arg for a in call.args.args[1:]] == [carry, x]:
            options = ast.Call(first.args[0], [cell.func], first.keywords)
            scan = _scan(origin, options)
            fields = [
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            ]
            return _ScannedClass(scan, fields, cell) if scan is not None else None
    return None


def _written(
    origin: Origin, method: ast.FunctionDef, known: Mapping[str, _ScannedClass]
) -> None:
    made = copy.deepcopy(method)
    scans: dict[str, _Scan] = {}
    layers: dict[str, ast.Call] = {}
    carries: dict[str, str] = {}
    body: list[ast.stmt] = []
    for part in made.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as call):
                scan = _scan(origin, call)
                func = call.func
                if scan is not None:
                    scans[local] = scan
                    continue
                if isinstance(func, ast.Name) and func.id in scans:
                    layers[local] = _run(scans[func.id], call)
                    continue
                one = known.get(func.id) if isinstance(func, ast.Name) else None
                if one is not None and (run := one.run(call)) is not None:
                    layers[local] = run
                    continue
                match func:
                    case ast.Attribute(
                        value=ast.Name(id=owner), attr="initialize_carry"
                    ):
                        if owner in layers:
                            carries[local] = owner
                            continue
            case ast.Assign(
                value=ast.Call(func=ast.Name(id=owner), args=[carry, x]) as call
            ) if owner in layers and carries.get(getattr(carry, "id", "")) == owner:
                call.func, call.args = layers[owner], [x]
                carries.pop(carry.id)  # type: ignore[attr-defined]
        body.append(part)
    made.body = body
    gone = {*scans, *layers, *carries}
    left = any(is_name(p, n) for n in gone for part in body for p in ast.walk(part))
    if layers and not left:
        method.body = body
        ast.fix_missing_locations(method)


def _scan(origin: Origin, call: ast.Call) -> _Scan | None:
    """What `nn.scan` makes of a cell whose weights are the same at all times."""
    if origin.qualified(call.func) not in _SCANS or len(call.args) != 1:
        return None
    [cell] = call.args
    given = {k.arg: literal(k.value) for k in call.keywords}
    axes = (given.get("in_axes", 0), given.get("out_axes", 0))
    known = {"variable_broadcast", "split_rngs", "in_axes", "out_axes"}
    if axes not in ((0, 0), (1, 1)) or set(given) - known:
        return None
    if given.get("variable_broadcast") != "params":
        return None
    last = origin.qualified(cell).rpartition(".")[2]
    if last not in _CELLS or not isinstance(cell, ast.Attribute):
        return None
    return _Scan(cell, cell.value, axes == (0, 0))


def _run(scan: _Scan, call: ast.Call) -> ast.Call:
    cell = ast.Call(copy.deepcopy(scan.cell), call.args, call.keywords)
    options = [ast.keyword("return_carry", ast.Constant(True))]
    if scan.time_major:
        options.append(ast.keyword("time_major", ast.Constant(True)))
    run = ast.Attribute(copy.deepcopy(scan.module), "RNN", ast.Load())
    return ast.copy_location(ast.Call(run, [cell], options), call)
