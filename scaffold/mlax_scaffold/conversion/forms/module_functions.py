"""Modules of PyTorch that take several inputs and have no weights, as the functions that they call.

self.criterion = nn.CrossEntropyLoss(reduction="sum")
return self.criterion(logits, labels)    becomes    return F.cross_entropy(logits, labels, reduction="sum")
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.tables.torch_functional import (
    MODULE_ARGUMENTS,
    MODULES,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FUNCTIONAL = "functional_"
"""What the code that is added calls PyTorch's functions."""
_PARAMETERS = ("size_average", "reduce")


def without_module_functions(origin: Origin) -> None:
    """Write them as such in place: attributes of classes, and those that are called where they are made."""
    if not origin.uses("torch"):
        return
    calls = _Calls(origin)
    for node in origin.classes.values():
        if framework_of(origin, node) == "torch":
            calls.run(node)
    for function in origin.functions.values():
        _with_locals_written(origin, function)
        calls.attributes = {}
        calls.visit(function)
    if calls.made:
        origin.tree.body[:0] = ast.parse(
            f"import torch.nn.functional as {_FUNCTIONAL}"
        ).body
        origin.forget("imports")
        located(origin.tree)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.attributes: dict[str, ast.Call] = {}
        """What makes the module of an attribute, with arguments that a method can read."""
        self.made = False

    def run(self, node: ast.ClassDef) -> None:
        """Rewrite a class."""
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        start = next((m for m in methods if m.name == "__init__"), None)
        self.attributes = _made(self.origin, node, start) if start else {}
        for method in methods:
            if method is not start:
                _with_locals_written(self.origin, method)
            self.visit(method)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        attribute = self_attribute(node.func)
        making = self.attributes.get(attribute) if attribute else None
        if making is None and isinstance(node.func, ast.Call):
            making = node.func
        title = _title(self.origin, making) if making is not None else ""
        if not title or making is None or not node.args:
            return node
        self.made = True
        func = ast.parse(f"{_FUNCTIONAL}.{MODULES[title]}", mode="eval").body
        told = [*cloned(_keywords(title, making)), *node.keywords]
        return located(ast.copy_location(ast.Call(func, node.args, told), node))


def _title(origin: Origin, call: ast.expr) -> str:
    """The class of such a module that a call makes; "" for others."""
    if not isinstance(call, ast.Call):
        return ""
    full = origin.qualified(call.func)
    title = full.removeprefix("torch.nn.").removeprefix("modules.loss.")
    places = MODULE_ARGUMENTS.get(title, ())
    known = title in MODULES and full.startswith("torch.nn.")
    return title if known and len(call.args) <= len(places) else ""


def _with_locals_written(origin: Origin, function: ast.FunctionDef) -> None:
    """Write what makes the module of a local, `loss = nn.MSELoss()`, where it is called, in place."""
    reads: dict[str, set[int]] = {}
    for part in walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            reads.setdefault(part.id, set()).add(id(part))
    blocks = [
        body
        for part in walk(function)
        for field in ("body", "orelse")
        if isinstance(body := getattr(part, field, None), list)
    ]
    held: dict[str, list[tuple[list[ast.stmt], ast.Assign]]] = {}
    for body in blocks:
        for part in body:
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    if _title(origin, value):
                        held.setdefault(local, []).append((body, part))
    for local, places in held.items():
        stored = [
            p
            for p in walk(function)
            if isinstance(p, ast.Name)
            and p.id == local
            and isinstance(p.ctx, ast.Store)
        ]
        calls = [
            [
                p
                for s in body[body.index(made) + 1 :]
                for p in walk(s)
                if isinstance(p, ast.Call) and is_name(p.func, local)
            ]
            for body, made in places
        ]
        told = {id(c.func) for found in calls for c in found}
        apart = sum(map(len, calls)) == len(told)
        if len(stored) != len(places) or told != reads.get(local, set()) or not apart:
            continue
        for (body, made), found in zip(places, calls, strict=True):
            for call in found:
                call.func = cloned(made.value)
            body[body.index(made)] = ast.copy_location(ast.Pass(), made)


def _keywords(title: str, call: ast.Call) -> list[ast.keyword]:
    named = [
        ast.keyword(t, a)
        for t, a in zip(MODULE_ARGUMENTS.get(title, ()), call.args, strict=False)
    ]
    return [k for k in (*named, *call.keywords) if k.arg not in _PARAMETERS]


def _made(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef
) -> dict[str, ast.Call]:
    """The attributes that are always such a module; their statements keep the arguments, as attributes."""
    found: dict[str, ast.Call] = {}
    for statement in list(start.body):
        match statement:
            case ast.Assign(
                targets=[ast.Attribute() as target], value=ast.Call() as call
            ):
                attribute = self_attribute(target)
                title = _title(origin, call)
                if attribute is None or not title or _is_else_used(node, attribute):
                    continue
                at = start.body.index(statement)
                kept: list[ast.stmt] = []
                keywords = _keywords(title, call)
                for keyword in keywords:
                    if not isinstance(literal(keyword.value), ast.AST):
                        continue
                    if self_attribute(keyword.value) is not None:
                        continue
                    own = ast.parse(f"self.{attribute}_{keyword.arg}", mode="eval").body
                    store = cloned(own)
                    store.ctx = ast.Store()  # type: ignore[attr-defined]
                    assign = ast.Assign([store], keyword.value)
                    kept.append(located(ast.copy_location(assign, statement)))
                    keyword.value = own
                start.body[at : at + 1] = kept
                found[attribute] = ast.Call(call.func, [], keywords)
    if not start.body:
        start.body.append(ast.Pass())
    return found


def _is_else_used(node: ast.ClassDef, attribute: str) -> bool:
    """Whether an attribute is anything else than called, in the methods of its class."""
    uses = [p for p in walk(node) if self_attribute(p) == attribute]
    called = [
        p
        for p in walk(node)
        if isinstance(p, ast.Call) and self_attribute(p.func) == attribute and p.args
    ]
    return len(uses) != len(called) + 1
