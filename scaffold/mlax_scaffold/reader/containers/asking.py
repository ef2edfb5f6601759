"""What a test asks of a layer that may be missing, or of a list of layers: whether it is there.

`if self.norm:` is read as `if self.norm is not None:`, and `if self.layers:` as `if len(self.layers):`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator


def asked(method: ast.FunctionDef) -> Iterator[ast.expr]:
    """The expressions of a method of which it is only asked whether they are true."""
    for node in ast.walk(method):
        match node:
            case (
                ast.If(test=test)
                | ast.IfExp(test=test)
                | ast.While(test=test)
                | ast.UnaryOp(op=ast.Not(), operand=test)
                | ast.Call(func=ast.Name(id="bool"), args=[test], keywords=[])
            ):
                yield from _parts(test)
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield from _parts(test)


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """A test, or those that `and` and `or` join to one."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _parts(value)
    else:
        yield test
