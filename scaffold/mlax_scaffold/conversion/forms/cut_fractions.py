"""Fractions that PyTorch cuts off where it makes tensors of them, as a cast: what it makes is cut here, too.

torch.tensor([i * 0.7 for i in range(n)], dtype=torch.long)   torch.tensor([i * 0.7 for i in range(n)]).long()
torch.LongTensor(rates)                               becomes torch.tensor(rates).long()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CASTS = {
    "torch.long": "long",
    "torch.int64": "long",
    "torch.int": "int",
    "torch.int32": "int",
}
_WHOLE = {"torch.LongTensor": "long", "torch.IntTensor": "int"}
_MAKERS = frozenset(("torch.tensor", "torch.as_tensor", "torch.linspace"))
_BROKEN = frozenset(("linspace", "sqrt", "log", "log2", "exp", "geomspace", "logspace"))
"""What makes fractions."""


def with_cut_fractions(origin: Origin) -> None:
    """Write such casts, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _Casts(origin, method).visit(method)


class _Casts(NodeTransformer):
    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin, self.method = origin, method

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        maker = self.origin.qualified(node.func)
        cast = _WHOLE.get(maker, "")
        if maker in _MAKERS:
            said = [k for k in node.keywords if k.arg == "dtype"]
            cast = _CASTS.get(self.origin.qualified(said[0].value), "") if said else ""
        if not cast or not self._is_broken(node, set()):
            return node
        func = node.func
        if maker in _WHOLE and isinstance(func, ast.Attribute):
            func = ast.Attribute(func.value, "tensor", ast.Load())
        elif maker in _WHOLE:
            return node
        rest = [k for k in node.keywords if k.arg != "dtype"]
        made = ast.Call(func, node.args, rest)
        made = ast.Call(ast.Attribute(made, cast, ast.Load()), [], [])
        return located(ast.copy_location(made, node))

    def _is_broken(self, node: ast.expr, seen: set[str]) -> bool:
        """Whether there may be fractions in a value, or in what its locals are set to."""
        for part in walk(node):
            called = (
                getattr(part.func, "attr", "") if isinstance(part, ast.Call) else ""
            )
            is_float = isinstance(getattr(part, "value", None), float)
            if isinstance(part, ast.Div) or is_float or called in _BROKEN:
                return True
        for local in names(node) - seen:
            seen.add(local)
            if any(self._is_broken(value, seen) for value in self._values(local)):
                return True
        return False

    def _values(self, local: str) -> Iterator[ast.expr]:
        """What a local is set to, made of, and given."""
        for part in walk(self.method):
            match part:
                case ast.Assign(targets=[target], value=value) if is_name(
                    target, local
                ):
                    yield value
                case ast.AugAssign(target=target, value=value) if is_name(
                    target, local
                ):
                    yield value
                case ast.Call(
                    func=ast.Attribute(value=owner, attr="append" | "extend"), args=args
                ) if is_name(owner, local):
                    yield from args
