"""What fills the weights of all layers of PyTorch under a flag, `if zero_init: for m in self.modules(): ...`.

It is done, or left out, as the flag is by default, which is told: initializers are no matter of flags here.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute

_LOOPS = ("modules", "named_modules", "parameters", "named_parameters", "children")


def without_conditional_rules(origin: Origin, thing: str, notes: Notes) -> None:
    """Write such statements of what a class is made of so, in place."""
    if not origin.uses("torch"):
        return
    used = used_by(origin, thing)
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or node.name not in used:
            continue
        defaults = defaults_of(start.args)
        body: list[ast.stmt] = []
        for part in start.body:
            done = _done(part, defaults)
            if done is None:
                body.append(part)
                continue
            assert isinstance(part, ast.If)
            text = ast.unparse(part.test)
            what = "left out" if not done else "done in any case"
            notes.remark(
                part,
                f"what fills weights under `{text}` of {node.name} is {what}, as it is by default",
                "give the layers initializers where it is to differ",
            )
            body += part.body if done else part.orelse
        start.body = body


def _done(node: ast.stmt, defaults: dict[str, ast.expr]) -> bool | None:
    """Whether a statement fills weights by default; None for one that does anything else."""
    if not isinstance(node, ast.If) or not all(map(_fills, (*node.body, *node.orelse))):
        return None
    test, denied = node.test, False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, denied = test.operand, True
    value = literal(defaults.get(test.id)) if isinstance(test, ast.Name) else None
    return value is not denied if isinstance(value, bool) else None


def _fills(node: ast.stmt) -> bool:
    """Whether a statement goes over all modules or weights, or applies a function to them."""
    match node:
        case ast.For(iter=ast.Call(func=func)):
            return self_attribute(func) in _LOOPS
        case ast.Expr(value=ast.Call(func=func)):
            title = self_attribute(func) or ""
            return title == "apply" or "init" in title or title == "reset_parameters"
    return False
