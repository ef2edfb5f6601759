"""Which expressions are certain to hold floating numbers of Python, of which jax makes float32."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.source import self_attribute

_WHOLE = frozenset(
    [
        *("math.ceil", "math.comb", "math.factorial", "math.floor", "math.gcd"),
        *("math.isqrt", "math.lcm", "math.perm", "math.prod", "math.trunc"),
    ]
)
"""Functions of `math` whose results may be integers."""
_INFINITE = ("jax.numpy.inf", "jax.numpy.nan", "math.inf", "math.nan")
_WORDS = frozenset(
    ("Decay", "Fraction", "NonNegative", "Positive", "Probability", "float")
)
"""Words of hyperparameters that are floating numbers."""
_OF_NUMBERS = ("abs", "float", "int", "len", "max", "min", "round", "sum")
"""Functions of Python that make numbers of numbers."""


def of_floats(
    node: ast.expr,
    tree: ast.Module,
    imports: Mapping[str, Import],
    function: ast.FunctionDef,
) -> bool:
    """Whether an expression is certain to hold floating numbers of Python, and no array.

    Args:
        node: the expression.
        tree: the spec, of which it may call functions.
        imports: what the spec imports.
        function: what it stands in.
    """
    return _Floats(tree, imports, function, frozenset()).hold(node)


def is_float(node: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether it is a floating number of Python."""
    match node:
        case ast.UnaryOp(operand=inner):
            return is_float(inner, imports)
        case ast.Constant(value=float()):
            return True
    return qualified(node, imports) in _INFINITE


@dataclass(frozen=True)
class _Floats:
    tree: ast.Module
    imports: Mapping[str, Import]
    function: ast.FunctionDef
    seen: frozenset[str]
    """The locals and the functions that are looked into."""

    def hold(self, node: ast.expr) -> bool:
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return any(map(self.hold, parts))
            case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
                return self.hold(part)
            case ast.Subscript(value=part) | ast.UnaryOp(operand=part):
                return self.hold(part)
            case ast.IfExp(body=one, orelse=other):
                return self.hold(one) and self.hold(other)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._is_number(left) and self._is_number(right)
            case ast.BinOp(left=left, op=ast.Add(), right=right) if not (
                self._is_number(left) and self._is_number(right)
            ):
                return self._is_list(left) and self._is_list(right)
            case ast.BinOp(left=left, right=right):
                numbers = self._is_number(left) and self._is_number(right)
                return numbers and (self.hold(left) or self.hold(right))
            case ast.Name(id=name) if self._is_field(name, self.function.args):
                return True
            case ast.Attribute() if name := self_attribute(node):
                classes = (c for c in self.tree.body if isinstance(c, ast.ClassDef))
                field = any(self._is_field(name, owner) for owner in classes)
                return field or self._is_derived(name)
            case ast.Name(id=name) if name not in self.seen:
                values = only_value(name, self.function)
                within = _Floats(
                    self.tree, self.imports, self.function, self.seen | {name}
                )
                return any(map(within.hold, values))
            case ast.Call(func=ast.Name(id=name)) if name not in self.seen:
                return name == "float" or self._returned(name)
            case ast.Call(func=called) if (name := self_attribute(called)) and (
                name not in self.seen
            ):
                return self._divided(name)
            case ast.Call(func=called):
                name = qualified(called, self.imports) or ""
                return name.startswith("math.") and name not in _WHOLE
        return is_float(node, self.imports)

    @staticmethod
    def _is_field(name: str, owner: ast.arguments | ast.ClassDef) -> bool:
        """Whether a hyperparameter is a tuple of floating numbers."""
        typed: list[tuple[str, ast.expr | None]] = []
        if isinstance(owner, ast.arguments):
            typed = [(a.arg, a.annotation) for a in (*owner.args, *owner.kwonlyargs)]
        else:
            typed = [
                (s.target.id, s.annotation)
                for s in owner.body
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
            ]
        for found, annotation in typed:
            match annotation:
                case ast.Subscript(
                    value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)
                ):
                    words = [p.id for p in parts if isinstance(p, ast.Name)]
                    if found == name and words and set(words) <= _WORDS:
                        return True
        return False

    def _is_derived(self, name: str) -> bool:
        """Whether `setup` derives floating numbers under that name, in each way that it does."""
        derived = f"self.{name}"
        if derived in self.seen:
            return False
        found = [
            _Floats(self.tree, self.imports, part, self.seen | {derived}).hold(n.value)
            for owner in self.tree.body
            for part in getattr(owner, "body", ())
            if isinstance(part, ast.FunctionDef) and part.name == "setup"
            for n in ast.walk(part)
            if isinstance(n, ast.Assign) and name in map(self_attribute, n.targets)
        ]
        return bool(found) and all(found)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is computed of names and numbers alone."""
        parts = ast.BinOp | ast.UnaryOp | ast.Constant | ast.Name | ast.operator
        others = ast.unaryop | ast.expr_context | ast.Attribute
        for part in ast.walk(node):
            match part:
                case ast.Call(func=ast.Name(id=name)) if name in _OF_NUMBERS:
                    continue
                case ast.Call(func=called) if (
                    qualified(called, self.imports) or ""
                ).startswith("math."):
                    continue
            if not isinstance(part, parts | others):
                return False
        return True

    def _is_list(self, node: ast.expr) -> bool:
        """Whether it is certain to be a list or a tuple of floats, or a slice of one."""
        match node:
            case ast.Subscript(value=inner, slice=ast.Slice()):
                return self._is_list(inner)
            case ast.List() | ast.Tuple() | ast.ListComp() | ast.Name() | ast.Call():
                return self.hold(node)
        return False

    def _returned(self, name: str) -> bool:
        """Whether a function of the spec, or one inside of the function, returns floats."""
        own = [n for n in ast.walk(self.function) if isinstance(n, ast.FunctionDef)]
        for found in (*own, *self.tree.body):
            if isinstance(found, ast.FunctionDef) and found.name == name:
                seen = self.seen | {name}
                # What a call in it calls may be one beside it.
                within = found if found in self.tree.body else self.function
                inside = _Floats(self.tree, self.imports, within, seen)
                return any(map(inside.hold, _results(found)))
        return False

    def _divided(self, name: str) -> bool:
        """Whether a method computes a quotient, of arrays of NumPy for instance."""
        classes = (c for c in self.tree.body if isinstance(c, ast.ClassDef))
        return any(
            isinstance(result, ast.BinOp) and isinstance(result.op, ast.Div)
            for owner in classes
            for method in owner.body
            if isinstance(method, ast.FunctionDef) and method.name == name
            for result in _results(method)
        )


def _results(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function returns, without what those in it do."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
