"""Weights of linen that begin as what others are drawn as, `self.param("gamma", start, (self.nu,))`.

A weight here begins by itself: such a one begins as zeros, which is told.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name, self_attribute
from mlax_scaffold.conversion.source.walking import cloned


def without_dependent_starts(origin: Origin, notes: Notes) -> None:
    """Let them begin so, in place."""
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _settle(method, notes)


def _settle(method: ast.FunctionDef, notes: Notes) -> None:
    shapes: dict[str, ast.expr] = {}
    for part in method.body:
        match part:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=func, args=[_, start, given]) as call,
            ) if self_attribute(func) == "param":
                read = given.elts if isinstance(given, ast.Tuple) else [given]
                others = [shapes.get(ast.unparse(e)) for e in read]
                shape = others[0] if others and None not in others else None
                if shape is not None:
                    notes.remark(
                        part,
                        f"`{ast.unparse(target)}` begins as zeros, and as "
                        f"`{ast.unparse(start)}` of other weights there",
                        "compute it once these are drawn",
                    )
                    zeros = ast.copy_location(name("@word:zeros"), start)
                    call.args[1:] = [zeros, cloned(shape)]
                    given = shape
                shapes[ast.unparse(target)] = given
