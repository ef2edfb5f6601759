"""Networks that are given an environment, and read how large its spaces are, as networks of these sizes.

def __init__(self, env):                                   def __init__(self, action_space_n):
    self.fc = nn.Linear(64, env.action_space.n)   becomes      self.fc = nn.Linear(64, action_space_n)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SIZES = ("n", "shape")
_KINDS = {"n": "int", "shape": "tuple[int, ...]"}


def without_given_spaces(origin: Origin) -> None:
    """Write them so in place, in a file of PyTorch."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                for given in list(method.args.args[1:]):
                    _written(origin, method, given)
    located(origin.tree)


def _written(origin: Origin, start: ast.FunctionDef, given: ast.arg) -> None:
    """Give a constructor the sizes that it reads of a parameter, where it reads nothing else of it."""
    chains: dict[str, str] = {}
    reads = 0
    for part in walk(start):
        match part:
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id=title), attr=space), attr=attr
            ) if title == given.arg and space.endswith("_space") and attr in _SIZES:
                chains[f"{space.removeprefix('single_')}_{attr}"] = ast.unparse(part)
                reads += 1
    taken = {a.arg for a in start.args.args}
    every = sum(is_name(part, given.arg) for part in walk(start))
    late = start.args.args[len(start.args.args) - len(start.args.defaults) :]
    if not chains or reads != every or taken & {*chains} or given in late:
        return
    at = start.args.args.index(given)
    start.args.args[at : at + 1] = [
        ast.arg(n, ast.parse(_KINDS[n.rpartition("_")[2]], mode="eval").body)
        for n in chains
    ]
    _Reads(origin, {text: n for n, text in chains.items()}).visit(start)


class _Reads(NodeTransformer):
    def __init__(self, origin: Origin, known: dict[str, str]):
        self.origin, self.known = origin, known

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        title = self.known.get(ast.unparse(node))
        if title is not None:
            return ast.copy_location(ast.Name(title, ast.Load()), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=made, args=[sizes]), attr="prod"
                ),
                args=[],
            ) if self.origin.qualified(made) in ("numpy.array", "numpy.asarray"):
                # `np.array(shape).prod()`
                if isinstance(sizes, ast.Name) and isinstance(made, ast.Attribute):
                    func = ast.Attribute(cloned(made.value), "prod", ast.Load())
                    return ast.copy_location(ast.Call(func, [sizes], []), node)
        return node
