"""What a constructor refuses, as requirements with a message that says something."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import literal, negated
from mlax_scaffold.conversion.source.walking import located


def refusal(raised: ast.Raise, test: ast.expr) -> ast.Raise:
    """The error of a spec that is raised where a condition holds.

    `raise NotImplementedError(mode)` and `raise ValueError` say here what must hold.
    """
    message = _message(raised.exc) or ast.Constant(told_test(_contrary(test)))
    call = ast.Call(ast.Name("ValueError", ast.Load()), [message], [])
    return located(ast.copy_location(ast.Raise(call), raised))


def _message(error: ast.expr | None) -> ast.expr | None:
    match error:
        case ast.Call(args=[ast.JoinedStr() as text]):
            return text
        case ast.Call(args=[ast.Constant(value=str(text))]) if text.strip(". "):
            return ast.Constant(text)
    return None


def _contrary(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return ast.BoolOp(ast.Or(), [_contrary(part) for part in test.values])
    match test:
        case ast.Compare(left=left, ops=[op], comparators=right) if type(op) in _OTHER:
            return ast.Compare(left, [_OTHER[type(op)]()], right)
    return negated(test)


_OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}


def told_test(test: ast.expr) -> str:
    """A condition that has to hold, as a sentence."""
    return f"{ast.unparse(test).replace('self.', '')} must hold"


def plain_text(message: ast.expr, test: ast.expr) -> ast.expr:
    """A message as it is where it is a literal, or the condition as a sentence."""
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return message
    return ast.Constant(told_test(test))


def asserts(node: ast.AST, name: str) -> bool:
    """Whether a statement asserts that a parameter is one of some values."""
    return (
        isinstance(node, ast.Assert)
        and isinstance(node.test, ast.Compare)
        and isinstance(node.test.left, ast.Name)
        and node.test.left.id == name
        and len(node.test.ops) == 1
        and isinstance(node.test.ops[0], ast.In)
    )


def asserted(node: ast.FunctionDef, name: str) -> list[str]:
    """The texts of which a function asserts that a parameter is one."""
    for part in node.body:
        if asserts(part, name):
            assert isinstance(part, ast.Assert)
            assert isinstance(part.test, ast.Compare)
            found = literal(part.test.comparators[0])
            if isinstance(found, tuple | list | set) and all(
                isinstance(f, str) for f in found
            ):
                return (
                    sorted(map(str, found)) if isinstance(found, set) else list(found)
                )
    return []
