"""Rules to fill weights with that a module of haiku may be given, and is not: `w_init=None`.

self.w_init = w_init
self.b_init = b_init or jnp.zeros
...
w_init = self.w_init
if w_init is None:
    w_init = hk.initializers.TruncatedNormal(1 / np.sqrt(size))

What is computed without such a rule is all that is left. An attribute that a call of the module binds
beside a local, `size = self.size = x.shape[-1]`, is the local.
"""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.forms.leaf_functions import Decided
from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_ENDS = ("_init", "initializer", "_init_fn")


def without_module_rules(origin: Origin, notes: Notes) -> None:
    """Leave such parameters out, in place, with a remark; of a rule that the file gives nothing changes."""
    if not origin.uses("haiku"):
        return
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "haiku":
            continue
        gone = _absent(origin, node, start)
        if gone:
            _leave_out(node, start, gone, notes)
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method is not start:
                _of_locals(method)
    located(origin.tree)


def _absent(origin: Origin, node: ast.ClassDef, start: ast.FunctionDef) -> set[str]:
    """The parameters for rules that are None by default, and that no call of the class gives."""
    defaults = defaults_of(start.args)
    found = {
        a
        for a, d in defaults.items()
        if d is not None and is_none(d) and a.endswith(_ENDS)
    }
    places = [a.arg for a in start.args.args[1:]]
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and is_name(call.func, node.name):
            found -= {*places[: len(call.args)], *(str(k.arg) for k in call.keywords)}
            if any(k.arg is None for k in call.keywords):
                return set()
    return found


def _leave_out(
    node: ast.ClassDef, start: ast.FunctionDef, gone: set[str], notes: Notes
) -> None:
    for argument in (*start.args.args, *start.args.kwonlyargs):
        if argument.arg in gone:
            notes.remark(
                argument,
                f"`{argument.arg}` of {node.name}, which is None, is left out",
                "write a class for what is computed with it",
            )
    without_arguments(start.args, gone)
    _Absent(gone).visit(start)
    _chosen(start)
    held: dict[str, ast.expr] = {}
    for part in list(start.body):
        match part:
            case ast.Assign(targets=[target], value=value):
                attribute = self_attribute(target)
                if attribute is None or attribute.lstrip("_") not in gone:
                    continue
                # None, or what fills an array: a function of jax, or what haiku makes.
                if is_none(value) or isinstance(value, ast.Attribute | ast.Call):
                    held[attribute] = value
                    start.body.remove(part)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method is not start:
            _Held(held).visit(method)
            _chosen(method)


def _chosen(function: ast.FunctionDef) -> None:
    """Decide what is asked of None, and of locals that are bound to it before all else."""
    for part in list(function.body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if is_none(
                value
            ):
                at = function.body.index(part)
                following = function.body[at + 1 : at + 2]
                if following and isinstance(following[0], ast.If):
                    asked = following[0].test
                    if isinstance(asked, ast.Compare) and is_name(asked.left, local):
                        asked.left = ast.copy_location(ast.Constant(None), asked.left)
                        function.body.remove(part)
    _Either().visit(function)
    Decided().visit(function)


def _of_locals(method: ast.FunctionDef) -> None:
    """Let attributes that are bound beside a local be the local."""
    for part in walk(method):
        match part:
            case ast.Assign(targets=[ast.Name(id=local), ast.Attribute() as other]):
                pass
            case ast.Assign(targets=[ast.Attribute() as other, ast.Name(id=local)]):
                pass
            case _:
                continue
        attribute = self_attribute(other)
        if attribute is None:
            continue
        part.targets = [ast.copy_location(ast.Name(local, ast.Store()), part)]
        _Beside(attribute, local).visit(method)


class _Absent(NodeTransformer):
    def __init__(self, gone: set[str]):
        self.gone = gone

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.gone and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(None), node)
        return node


class _Held(NodeTransformer):
    def __init__(self, held: dict[str, ast.expr]):
        self.held = held

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        value = self.held.get(self_attribute(node) or "")
        if value is not None and isinstance(node.ctx, ast.Load):
            return ast.copy_location(cloned(value), node)
        return node


class _Beside(NodeTransformer):
    def __init__(self, attribute: str, local: str):
        self.attribute, self.local = attribute, local

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node) == self.attribute and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(self.local, ast.Load()), node)
        return node


class _Either(NodeTransformer):
    """`None or jnp.zeros` is the latter."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Or) and is_none(node.values[0]):
            rest = node.values[1:]
            return rest[0] if len(rest) == 1 else ast.BoolOp(ast.Or(), copy.copy(rest))
        return node
