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
from dataclasses import dataclass

from mlax_scaffold.conversion.origin import Origin
from mlax_scaffold.conversion.trees import is_name, literal

_SCANS = ("flax.linen.scan", "flax.linen.transforms.scan")
_CELLS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell")


def without_scanned_cells(origin: Origin) -> None:
    """Change the methods of a file in place; scans of anything else stay."""
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                _written(origin, method)


@dataclass
class _Scan:
    cell: ast.expr
    module: ast.expr
    time_major: bool


def _written(origin: Origin, method: ast.FunctionDef) -> None:
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
    if scans and layers and not left:
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
