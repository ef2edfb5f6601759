"""Calls of PyTorch whose activations are computed again for gradients, as the calls that they are.

if self.use_checkpoint and self.training:
    x = checkpoint(block, x, mask)              becomes    x = block(x, mask)
else:
    x = block(x, mask)

So are functions of the file that do that where they are told to: `checkpoint(run, (x, t), params, flag)`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, same, without_docstring
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_AGAIN = "torch.utils.checkpoint.checkpoint"
_SEQUENTIAL = "torch.utils.checkpoint.checkpoint_sequential"
_HOW = (
    *(
        "use_reentrant",
        "preserve_rng_state",
        "context_fn",
        "determinism_check",
        "debug",
    ),
)


def without_computing_again(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("torch"):
        return
    _Wrapped().visit(origin.tree)
    calls = _Calls(origin, _functions(origin))
    calls.visit(origin.tree)
    if calls.found:
        _Alike().visit(origin.tree)
        located(origin.tree)


def _functions(origin: Origin) -> dict[str, tuple[int, int]]:
    """Functions of the file that hand a function its inputs: the places of both among what they take."""
    found: dict[str, tuple[int, int]] = {}
    for title, function in origin.functions.items():
        match without_docstring(function.body):
            case [
                ast.If(
                    test=ast.Name(),
                    orelse=[
                        ast.Return(
                            value=ast.Call(
                                func=ast.Name(id=run),
                                args=[ast.Starred(value=ast.Name(id=inputs))],
                                keywords=[],
                            )
                        )
                    ],
                )
            ] if "heckpoint" in title and "heckpoint" in ast.unparse(function.body[-1]):
                places = [a.arg for a in function.args.args]
                if run in places and inputs in places:
                    found[title] = places.index(run), places.index(inputs)
    return found


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin, functions: dict[str, tuple[int, int]]):
        self.origin, self.functions, self.found = origin, functions, False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func) or ""
        if full == _AGAIN and node.args:
            self.found = True
            more = [k for k in node.keywords if k.arg not in _HOW]
            return ast.copy_location(ast.Call(node.args[0], node.args[1:], more), node)
        if full == _SEQUENTIAL and len(node.args) == 3:
            self.found = True
            return ast.copy_location(ast.Call(node.args[0], node.args[2:], []), node)
        known = self.functions.get(getattr(node.func, "id", ""))
        if known is not None and max(known) < len(node.args):
            run, inputs = (node.args[i] for i in known)
            if isinstance(inputs, ast.Tuple | ast.List):
                self.found = True
                return ast.copy_location(ast.Call(run, inputs.elts, []), node)
        return node


class _Alike(NodeTransformer):
    """Puts what both branches of a condition do in its place."""

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if _same(node.body, node.orelse) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        return node.body if same(node.body, node.orelse) else node


def _same(some: Sequence[ast.stmt], others: Sequence[ast.stmt]) -> bool:
    return len(some) == len(others) and all(map(same, some, others))


class _Wrapped(NodeTransformer):
    """Takes functions out that only make one which calls what it is given, `make(block)(*inputs)`."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            return node
        made = {getattr(p, "name", "") for p in body if _hands_on(p)}
        again = any("heckpoint" in ast.unparse(s) for s in body) if made else False
        if again:
            node.body = [s for s in body if getattr(s, "name", "") not in made]  # type: ignore[attr-defined]
            _Unwrapped(made).visit(node)
        return node


def _hands_on(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef(
            args=ast.arguments(args=[ast.arg(arg=held)]),
            body=[
                ast.FunctionDef(
                    name=inner, args=ast.arguments(vararg=ast.arg(arg=given))
                ) as function,
                ast.Return(value=ast.Name(id=returned)),
            ],
        ) if inner == returned:
            match function.body:
                case [
                    ast.Return(
                        value=ast.Call(
                            func=ast.Name(id=called),
                            args=[ast.Starred(value=ast.Name(id=spread)), *_],
                        )
                    )
                ]:
                    more = function.body[0].value  # type: ignore[attr-defined]
                    plain = len(more.args) == 1 and not more.keywords
                    return called == held and spread == given and plain
    return False


class _Unwrapped(NodeTransformer):
    def __init__(self, titles: set[str]):
        self.titles = titles

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        wraps = any(is_name(node.func, t) for t in self.titles) and len(node.args) == 1
        return node.args[0] if wraps else node
