"""Layers that a constructor of PyTorch may be given, and that no call of the file gives: what stands there.

`self.act = activation or Swish()` is `self.act = Swish()`, and so is `self.act = activation` after
`if activation is None: activation = Swish()`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    NodeVisitor,
    located,
    walk,
)


def without_absent_layers(origin: Origin, thing: str, notes: Notes) -> None:
    """Write what stands there into the classes of a file, in place; of what is converted it is told."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if framework_of(origin, node) != "torch" or start is None:
            continue
        for parameter, default in defaults_of(start.args).items():
            if not is_none(default) or _is_given(origin, node, start, parameter):
                continue
            made = _Standing(origin, parameter)
            for part in start.body:
                made.visit(part)
            if len(made.found) != 1 or made.reads:
                continue
            [layer] = made.found
            _Written(made, layer).visit(start)
            without_arguments(start.args, {parameter})
            if node.name == thing:
                notes.remark(
                    layer,
                    f"`{parameter}` is always `{ast.unparse(layer)}`",
                    "write another spec for another one",
                )
    located(origin.tree)


def _is_given(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, parameter: str
) -> bool:
    """Whether a call of the file gives such a parameter, or may do so."""
    places = [a.arg for a in start.args.args[1:]]
    place = places.index(parameter) if parameter in places else len(places)
    if any(is_name(b, node.name) for c in origin.classes.values() for b in c.bases):
        return True
    return any(
        len(call.args) > place
        or any(isinstance(a, ast.Starred) for a in call.args)
        or any(k.arg in (parameter, None) for k in call.keywords)
        for call in walk(origin.tree)
        if isinstance(call, ast.Call) and is_name(call.func, node.name)
    )


class _Standing(NodeVisitor):
    """Finds what stands for a parameter that is None, and what else reads it."""

    def __init__(self, origin: Origin, parameter: str):
        self.origin, self.parameter = origin, parameter
        self.found: list[ast.Call] = []
        self.places: list[ast.AST] = []
        """The expressions, and the condition, that the layer stands in."""
        self.reads: list[ast.Name] = []

    def visit(self, node: ast.AST) -> None:
        layer = self._layer(node)
        if layer is not None:
            self.found.append(layer)
            self.places.append(node)
        elif is_name(node, self.parameter) and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            self.reads.append(node)  # type: ignore[arg-type]
        else:
            super().visit(node)

    def visit_If(self, node: ast.If) -> None:
        """A condition that binds the parameter; what reads it then, once, reads the layer."""
        match node:
            case ast.If(body=[ast.Assign(targets=[target], value=made)], orelse=[]):
                if (
                    is_name(target, self.parameter)
                    and self._absent(node.test) is True
                    and self._made(made)
                ):
                    assert isinstance(made, ast.Call)
                    self.found.append(made)
                    self.places.append(node)
                    return
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        bound = [p for p in self.places if isinstance(p, ast.If)]
        if bound and is_name(node.value, self.parameter) and len(self.places) == 1:
            self.places.append(node)
            return
        self.generic_visit(node)

    def _layer(self, node: ast.AST) -> ast.Call | None:
        match node:
            case ast.BoolOp(op=ast.Or(), values=[given, made]):
                there = is_name(given, self.parameter)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                absent = self._absent(test)
                given, made = (orelse, body) if absent else (body, orelse)
                there = absent is not None and is_name(given, self.parameter)
            case _:
                return None
        return made if there and self._made(made) else None  # type: ignore[return-value]

    def _absent(self, test: ast.expr) -> bool | None:
        """Whether a condition holds where the parameter is None; None for another one."""
        match test:
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[none]):  # fmt: skip
                if is_name(left, self.parameter) and is_none(none):
                    return isinstance(op, ast.Is)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return True if is_name(operand, self.parameter) else None
        return False if is_name(test, self.parameter) else None

    def _made(self, node: ast.expr) -> bool:
        """Whether an expression makes a layer."""
        if not isinstance(node, ast.Call):
            return False
        full = self.origin.qualified(node.func)
        own = self.origin.classes.get(getattr(node.func, "id", ""))
        last = full.rpartition(".")[2]
        library = full.startswith("torch.nn.") and last[:1].isupper()
        return (library and last != "Parameter") or (
            own is not None and is_layer_class(self.origin, own)
        )


class _Written(NodeTransformer):
    def __init__(self, made: _Standing, layer: ast.Call):
        self.made, self.layer = made, layer

    def visit(self, node: ast.AST) -> ast.AST:
        if not any(node is place for place in self.made.places):
            return self.generic_visit(node)
        if isinstance(node, ast.If):
            return ast.copy_location(ast.Pass(), node)
        if isinstance(node, ast.Assign):
            node.value = self.layer
            return node
        return self.layer
