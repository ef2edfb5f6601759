"""Functions of a file that are given a key which flax or haiku makes in a call, as methods that make it.

z = sample(self.make_rng("latent"), mean, std)        becomes        z = self.sample(mean, std)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name, with_names
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, TRAINING
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located

_MAKES = ("make_rng", "next_rng_key")
_MODES = {*TRAINING, *INFERENCE}
"""Parameters that methods are not told of: the mode is that of the layer."""


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
        located(node)


class _Calls(NodeTransformer):
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
        told = [a for p, a in zip(places, node.args, strict=False) if p in _MODES]
        told += [k.value for k in node.keywords if k.arg in _MODES]
        if not all(map(_follows, told)) or len(node.args) > len(places):
            return node
        if key not in places[: len(places) - len(function.args.defaults)]:
            return node
        given = (*node.args, *(k.value for k in node.keywords))
        maker = next(filter(_makes, given))
        if known is None:
            if function.name in self.own:
                return node
            self.made[function.name] = _method(function, key, maker)
        elif key in [a.arg for a in known.args.args]:
            return node
        pairs = [*zip(places, node.args, strict=False)]
        node.args = [a for p, a in pairs if not _makes(a) and p not in _MODES]
        node.keywords = [
            k for k in node.keywords if not _makes(k.value) and k.arg not in _MODES
        ]
        node.func = ast.copy_location(
            ast.Attribute(name("self"), function.name, ast.Load()), node.func
        )
        return node


def _method(function: ast.FunctionDef, key: str, maker: ast.expr) -> ast.FunctionDef:
    made = cloned(function)
    given = [a for a in made.args.args if a.arg != key]
    made.args.args = [ast.arg("self"), *given]
    made.decorator_list = []
    documented = 1 if ast.get_docstring(made) is not None else 0
    if isinstance(maker, ast.Attribute):
        # What makes keys is handed on itself.
        made.body = [with_names(part, {key: maker}) for part in made.body]
        return made
    begun = ast.Assign([ast.Name(key, ast.Store())], cloned(maker))
    made.body.insert(documented, ast.copy_location(begun, made.body[0]))
    return made


def _follows(node: ast.expr) -> bool:
    """Whether a value is the mode of the call, or the other one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    return isinstance(node, ast.Name) and node.id in _MODES


def _makes(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return isinstance(func, ast.Attribute) and func.attr in _MAKES
