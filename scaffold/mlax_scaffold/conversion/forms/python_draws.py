"""Numbers that a call of PyTorch draws by Python or NumPy, as tensors: `random.random() < self.p`.

What has no such counterpart, as it chooses one of several things, is told with what to do.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import uncalled, used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, name
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_UNIFORM = ("random.random", "numpy.random.random", "numpy.random.rand")
_BETWEEN = ("random.uniform", "numpy.random.uniform")
_NORMAL = ("random.gauss", "random.normalvariate", "numpy.random.normal")
_STANDARD = ("numpy.random.randn",)
_MODULES = ("random.", "numpy.random.")


def without_python_draws(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them so in place, in the calls of classes of PyTorch that a thing is made of."""
    torch = origin.name_of("torch")
    drawn = {full.partition(".")[0] for full in origin.imports.values()}
    if not torch or not drawn & {"random", "numpy"}:
        return
    alone, used = uncalled(origin), used_by(origin, thing)
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                told = node.name in used and method.name not in alone - {"forward"}
                _Draws(origin, torch, notes if told else Notes()).visit(method)
    located(origin.tree)


class _Draws(NodeTransformer):
    def __init__(self, origin: Origin, torch: str, notes: Notes):
        self.origin, self.torch, self.notes = origin, torch, notes

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        if not full.startswith(_MODULES):
            return node
        args = [*node.args, *(k.value for k in node.keywords if k.arg == "size")]
        named = [k for k in node.keywords if k.arg != "size"]
        made = None if named else self._drawn(full, args)
        if made is None:
            self.notes.refuse(
                node,
                f"`{ast.unparse(node.func)}` draws by itself, and a layer draws with its keys",
                "draw with `jax.random` and `self.key()`, or give the call what is drawn",
            )
            return node
        return ast.copy_location(made, node)

    def _drawn(self, full: str, args: list[ast.expr]) -> ast.expr | None:
        one: ast.expr = ast.Tuple([], ast.Load())
        match args:
            case [] if full in (*_UNIFORM, "numpy.random.uniform"):
                return self._tensor("rand", [one])
            case [] if full in (*_STANDARD, "numpy.random.normal"):
                return self._tensor("randn", [one])
            case [_, *_] if full in ("numpy.random.rand", *_STANDARD):
                kind = "randn" if full in _STANDARD else "rand"
                return self._tensor(kind, args)
            case [low, high, *shape] if full in _BETWEEN and len(shape) < 2:
                drawn = self._tensor("rand", shape or [one])
                return expression("u * (b - a) + a", u=drawn, a=low, b=high)
            case [mean, deviation, *shape] if full in _NORMAL and len(shape) < 2:
                drawn = self._tensor("randn", shape or [one])
                return expression("u * s + m", u=drawn, s=deviation, m=mean)
        return None

    def _tensor(self, kind: str, sizes: list[ast.expr]) -> ast.expr:
        func = ast.Attribute(name(self.torch), kind, ast.Load())
        return ast.Call(func, sizes, [])
