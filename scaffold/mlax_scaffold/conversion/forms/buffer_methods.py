"""Methods of PyTorch's modules that read buffers and are given indices and sizes alone: the input, too.

class Noise(nn.Module):                              class Noise(nn.Module):
    def scale(self, t):                                  def scale(self, t, x):
        return self.betas[t].sqrt()                          return self.betas[t].sqrt()

    def forward(self, x, t):                             def forward(self, x, t):
        return x * self.scale(t)[:, None]                    return x * self.scale(t, x=x)[:, None]

A buffer has the dtype of what a method is given, which indices and numbers have not. In a class that has
weights it has theirs.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.counting import counts, indexes
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import reached, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def with_inputs_for_buffers(origin: Origin) -> None:
    """Give it to them, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) == "torch":
            _given(origin, node)


def _given(origin: Origin, node: ast.ClassDef) -> None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    start, forward = methods.pop("__init__", None), methods.pop("forward", None)
    if start is None or forward is None or len(forward.args.args) < 2:
        return
    first = forward.args.args[1].arg
    if indexes(forward, first) or _has_weights(origin, start):
        return
    buffers = {p for part in walk(start) if (p := _buffer(origin, part))}
    calls = {
        title: ast.Tuple(
            [ast.Name(a, ast.Load()) for p in walk(m) if (a := self_attribute(p))],
            ast.Load(),
        )
        for title, m in methods.items()
    }
    wanting = {
        title
        for title, method in methods.items()
        if not method.decorator_list
        and buffers & {self_attribute(p) for p in walk(method)}
        and all(_is_number(method, a.arg) for a in method.args.args[1:])
    }
    # Those through which they are called hand it on.
    through = {t for t in calls if reached(calls, [t]) & wanting}
    if not wanting or any(
        first in {*(a.arg for a in methods[t].args.args)}
        or any(first in stored_names(s) for s in methods[t].body)
        for t in through
    ):
        return
    _Calls(through, first).visit(forward)
    for title in through:
        method = methods[title]
        _Calls(through, first).visit(method)
        method.args.kwonlyargs.append(ast.arg(first))
        method.args.kw_defaults.append(None)
    located(node)


def _has_weights(origin: Origin, start: ast.FunctionDef) -> bool:
    for part in walk(start):
        if isinstance(part, ast.Call):
            full = origin.qualified(part.func)
            own = getattr(part.func, "id", "") in origin.classes
            if own or full.startswith("torch.nn."):
                return True
    return False


def _buffer(origin: Origin, node: ast.AST) -> str | None:
    """The attribute that is an array."""
    match node:
        case ast.Call(func=func, args=[ast.Constant(value=str() as title), *_]):
            return title if self_attribute(func) == "register_buffer" else None
        case ast.Assign(targets=[target], value=ast.Call(func=func)):
            made = origin.qualified(func).startswith("torch.")
            return self_attribute(target) if made else None
    return None


def _is_number(method: ast.FunctionDef, argument: str) -> bool:
    return counts(method, argument) or indexes(method, argument)


class _Calls(NodeTransformer):
    def __init__(self, called: set[str], given: str):
        self.called, self.given = called, given

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if self_attribute(node.func) in self.called:
            value = ast.Name(self.given, ast.Load())
            node.keywords.append(ast.keyword(self.given, value))
        return node
