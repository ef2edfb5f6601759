"""Layers of flax and haiku that loops in loops make and call in the next line, as calls of what makes them.

for i, size in enumerate(self.sizes):             for i, size in enumerate(self.sizes):
    conv = nn.Conv(size, (3, 3))                      x = nn.Conv(size, (3, 3))(x)
    x = conv(x)                        becomes        for j in range(self.blocks):
    for j in range(self.blocks):                          x = Block()(x)
        block = Block()
        x = block(x)

The layers of an inner loop are others in each pass of the outer one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, with_names
from mlax_scaffold.conversion.source.walking import located, walk


def with_layers_in_loops(origin: Origin, layers: Collection[str]) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        call = method_of(node, "__call__")
        if call is None or framework_of(origin, node) not in ("flax", "haiku"):
            continue
        for loop in walk(call):
            if isinstance(loop, ast.For) and any(
                isinstance(part, ast.For) for part in loop.body
            ):
                for inner in walk(loop):
                    if isinstance(inner, ast.For):
                        inner.body = _called(origin, inner.body, call, layers)
        located(call)


def _called(
    origin: Origin,
    body: list[ast.stmt],
    call: ast.FunctionDef,
    layers: Collection[str],
) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    at = 0
    while at < len(body):
        part, later = body[at], body[at + 1 : at + 2]
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Call() as value
            ) if later and _is_layer(origin, value, layers):
                uses = [p for p in walk(call) if is_name(p, local)]
                calls = [
                    p
                    for p in walk(later[0])
                    if isinstance(p, ast.Call) and is_name(p.func, local)
                ]
                if len(uses) == 2 and len(calls) == 1:
                    made.append(with_names(later[0], {local: value}))
                    at += 2
                    continue
        made.append(part)
        at += 1
    return made


def _is_layer(origin: Origin, call: ast.Call, layers: Collection[str]) -> bool:
    own = getattr(call.func, "id", "") in origin.classes
    return own or origin.qualified(call.func) in layers
