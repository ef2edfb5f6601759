"""Rules that fill weights, run for a layer that is declared here."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from mlax_scaffold.conversion.forms.initial_rules import Rule, called, fills
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import replaced, same
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.model.arithmetic import COMPARE

_MODULES = {
    "torch.nn.modules.conv._ConvNd": ("Conv1d", "Conv2d", "Conv3d"),
    "torch.nn.modules.batchnorm._BatchNorm": ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    "torch.nn.modules.instancenorm._InstanceNorm": ("InstanceNorm1d", "InstanceNorm2d"),
}  # fmt: skip
_TEXTS = ("find", "startswith", "endswith", "lower", "upper", "count")


class Unknown(Exception):
    """What cannot be told without the module."""


class _Finished(Exception):
    """The rule has returned."""


@dataclass(frozen=True)
class Subject:
    """A module, or a parameter of one, that a rule is run for."""

    kind: str
    """The class of the module, in PyTorch."""
    weights: Mapping[str, int]
    """Its weights by name, with the number of their axes."""
    title: str = ""
    """The end of the name of a parameter."""


@dataclass(frozen=True)
class Filled:
    """A weight that a rule fills."""

    place: tuple[str, ...]
    """Where it is from the module on; () for the parameter itself."""
    call: ast.Call


class Run:
    """One rule, run for one module."""

    def __init__(self, origin: Origin, rule: Rule, subject: Subject):
        self.origin, self.rule, self.subject = origin, rule, subject
        self.locals = dict(rule.locals)
        self.left: list[ast.stmt] = []
        """Statements of which nothing can be told."""
        self.found: list[Filled] = []
        with suppress(_Finished):
            self._block(rule.body)

    def _block(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=other):
                try:
                    chosen = body if self._value(test) else other
                except Unknown:
                    self._leave([*body, *other])
                    return
                self._block(chosen)
            case ast.With(body=body):
                self._block(body)
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                self.locals[local] = replaced(value, self.locals)
            case ast.Return() | ast.Continue():
                raise _Finished
            case ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Expr(value=ast.Call() as call) if self._fills(call):
                self._fill(node, call)
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                self._leave([node])

    def _leave(self, body: list[ast.stmt]) -> None:
        """What may fill a weight, or not."""
        for node in body:
            inner = [p for p in walk(node) if isinstance(p, ast.stmt)]
            found = [p for p in inner if fills(p) or self._sets(p)]
            self.left += found

    def _sets(self, node: ast.stmt) -> bool:
        """Whether a statement sets a part of the module."""
        targets = node.targets if isinstance(node, ast.Assign) else []
        return any(self._place(t) is not None for t in targets)

    def _fills(self, call: ast.Call) -> bool:
        return called(call.func) in IN_PLACE

    def _fill(self, node: ast.stmt, call: ast.Call) -> None:
        func = call.func
        named = isinstance(func, ast.Name) or self.origin.qualified(func)
        given = call
        if not named and isinstance(func, ast.Attribute):
            # `m.weight.data.normal_(0, 0.02)`
            given = ast.Call(func, [func.value, *call.args], call.keywords)
        if not given.args:
            self._leave([node])
            return
        place = self._place(replaced(given.args[0], self.locals))
        if place is None:
            self.left.append(node)
            return
        made = ast.Call(
            ast.Attribute(ast.Name("init", ast.Load()), called(func), ast.Load()),
            [replaced(a, self.locals) for a in given.args],
            [
                ast.keyword(k.arg, replaced(k.value, self.locals))
                for k in given.keywords
            ],
        )
        self.found.append(Filled(place, ast.copy_location(made, node)))

    def _place(self, node: ast.expr) -> tuple[str, ...] | None:
        """What comes after the module in `m.weight.data`."""
        if same(node, ast.parse(self.rule.module, mode="eval").body):
            return ()
        match node:
            case ast.Attribute(value=value, attr="data"):
                return self._place(value)
            case ast.Attribute(value=value, attr=attr):
                before = self._place(value)
                return None if before is None else (*before, attr)
            case ast.Subscript(value=value, slice=index):
                before = self._place(value)
                return None if before is None else (*before, f"[{ast.unparse(index)}]")
        return None

    # Conditions.

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=local) if local in self.locals:
                return self._value(self.locals[local])
            case ast.Name(id=local) if local == self.rule.title and self.subject.title:
                return self.subject.title
            case ast.BoolOp(op=op, values=values):
                return self._both(isinstance(op, ast.And), values)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return -value
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._value(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right)
            case ast.Call(func=ast.Name(id="isinstance"), args=[given, kinds]):
                if self._place(given) == () and self.rule.kind != "parameters":
                    return any(map(self._is, _listed(kinds)))
            case ast.Call(
                func=ast.Name(id="hasattr"), args=[given, ast.Constant() as n]
            ):
                if self._place(given) == ():
                    return n.value in self.subject.weights
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                if isinstance(inner, ast.Attribute) and inner.attr == "shape":
                    return self._axes(inner.value)
            case ast.Call(func=ast.Attribute(value=inner, attr="dim"), args=[]):
                return self._axes(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=args):
                text = self._value(inner)
                if attr in _TEXTS and isinstance(text, str):
                    return getattr(text, attr)(*map(self._value, args))
            case ast.Attribute(attr="__name__", value=inner) if self._is_class(inner):
                return self.subject.kind.rpartition(".")[2]
            case ast.Attribute(attr="ndim", value=inner):
                return self._axes(inner)
            case ast.Attribute(attr="requires_grad"):
                return True
            case ast.Attribute():
                place = self._place(node)
                if place is not None and len(place) == 1:
                    return (
                        True if place[0] in self.subject.weights else self._other(place)
                    )
        raise Unknown

    def _other(self, place: tuple[str, ...]) -> None:
        """An attribute that is no weight of the module."""
        if place[0] in ("weight", "bias", "padding_idx"):
            return
        raise Unknown

    def _axes(self, node: ast.expr) -> int:
        place = self._place(node)
        if self.rule.kind == "parameters" and place == ():
            return next(iter(self.subject.weights.values()))
        if place is not None and len(place) == 1 and place[0] in self.subject.weights:
            return self.subject.weights[place[0]]
        raise Unknown

    def _both(self, every: bool, values: list[ast.expr]) -> bool:
        unknown = False
        for value in values:
            try:
                if bool(self._value(value)) is not every:
                    return not every
            except Unknown:
                unknown = True
        if unknown:
            raise Unknown
        return every

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> object:
        if self._is_class(left):
            kinds = [self._is(k, exactly=True) for k in _listed(right)]
            return any(kinds) is not isinstance(op, ast.NotEq | ast.NotIn | ast.IsNot)
        if isinstance(op, ast.In | ast.NotIn):
            parts = _listed(right)
            if parts == [right]:
                found = str(self._value(left)) in str(self._value(right))
            else:
                found = self._value(left) in [self._value(p) for p in parts]
            return found is isinstance(op, ast.In)
        return COMPARE[type(op)](self._value(left), self._value(right))

    def _is_class(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="type"), args=[given]):
                return self._place(given) == ()
            case ast.Attribute(value=given, attr="__class__"):
                return self._place(given) == ()
        return False

    def _is(self, node: ast.expr, exactly: bool = False) -> bool:
        """Whether the module is of a class."""
        own = getattr(node, "id", "")
        if own in self.origin.classes:
            return self.subject.kind == own
        full = self.origin.qualified(node)
        if not full:
            raise Unknown
        if full == "torch.nn.Module":
            return not exactly
        last = self.subject.kind.rpartition(".")[2]
        of_torch = self.subject.kind.startswith("torch.nn.")
        return of_torch and last in _MODULES.get(full, (full.rpartition(".")[2],))


def _listed(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return node.elts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_listed(node.left), *_listed(node.right)]
    return [node]
