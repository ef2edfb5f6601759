"""Functions of a file that are given a key which flax or haiku makes in a call, as methods that make it.

z = sample(self.make_rng("latent"), mean, std)        becomes        z = self.sample(mean, std)
"""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name

_MAKES = ("make_rng", "next_rng_key")


def without_given_keys(origin: Origin) -> None:
    """Give each class the functions that it hands such keys, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "haiku"):
            continue
        calls = _Calls(origin, {getattr(m, "name", "") for m in node.body})
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                calls.visit(method)
        node.body += calls.made.values()
        ast.fix_missing_locations(node)


class _Calls(ast.NodeTransformer):
    def __init__(self, origin: Origin, own: set[str]):
        self.origin, self.own = origin, own
        self.made: dict[str, ast.FunctionDef] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = self.origin.functions.get(getattr(node.func, "id", ""))
        keys = [i for i, a in enumerate(node.args) if _makes(a)]
        named = [k.arg for k in node.keywords if k.arg and _makes(k.value)]
        if function is None or len(keys) + len(named) != 1 or function.args.vararg:
            return node
        places = [a.arg for a in function.args.args]
        key = named[0] if named else "".join(places[keys[0] : keys[0] + 1])
        known = self.made.get(function.name)
        if key not in places[: len(places) - len(function.args.defaults)]:
            return node
        maker = next(a for a in (*node.args, *(k.value for k in node.keywords)) if _makes(a))  # fmt: skip
        if known is None:
            if function.name in self.own:
                return node
            self.made[function.name] = _method(function, key, maker)
        elif key in [a.arg for a in known.args.args]:
            return node
        node.args = [a for a in node.args if not _makes(a)]
        node.keywords = [k for k in node.keywords if not _makes(k.value)]
        node.func = ast.copy_location(
            ast.Attribute(name("self"), function.name, ast.Load()), node.func
        )
        return node


def _method(function: ast.FunctionDef, key: str, maker: ast.expr) -> ast.FunctionDef:
    made = copy.deepcopy(function)
    given = [a for a in made.args.args if a.arg != key]
    made.args.args = [ast.arg("self"), *given]
    made.decorator_list = []
    documented = 1 if ast.get_docstring(made) is not None else 0
    begun = ast.Assign([ast.Name(key, ast.Store())], copy.deepcopy(maker))
    made.body.insert(documented, ast.copy_location(begun, made.body[0]))
    return made


def _makes(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _MAKES
