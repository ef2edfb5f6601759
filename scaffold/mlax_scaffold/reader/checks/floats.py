"""Which expressions are certain to hold floating numbers of Python, of which jax makes float32."""

from __future__ import annotations

import ast
import math
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
                return any(map(self._is_element, parts))
            case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
                return self._is_element(part)
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
            case ast.Name() if self._is_field(node, of_several=True):
                return True
            case ast.Attribute() if name := self_attribute(node):
                field = self._is_field(node, of_several=True)
                return field or self._is_derived(name) or self._is_computed(name)
            case ast.Name(id=name) if name not in self.seen:
                values = only_value(name, self.function)
                within = _Floats(
                    self.tree, self.imports, self.function, self.seen | {name}
                )
                return any(map(within.hold, values))
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[part]):
                return self.hold(part)
            case ast.Call(func=ast.Name(id=name)) if name not in self.seen:
                return name == "float" or self._returned(name)
            case ast.Call(func=called) if (name := self_attribute(called)) and (
                name not in self.seen
            ):
                return self._divided(name)
            case ast.Call(func=called):
                name = qualified(called, self.imports) or ""
                return self._is_of_math(node, name)
        return is_float(node, self.imports)

    def _is_element(self, node: ast.expr) -> bool:
        """Whether what stands in a list is a floating number, or a list of such.

        A number by itself takes the dtype of what it meets; in a list jax gives it one.
        """
        computed = [
            n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)
        ]
        whole = any(isinstance(n, ast.Call) for n in ast.walk(node))
        fields = (n for n in computed if self._is_field(n, of_several=False))
        number = not whole and self._is_number(node) and any(fields)
        return number or self.hold(node)

    def _is_field(self, node: ast.Name | ast.Attribute, *, of_several: bool) -> bool:
        """Whether it is a hyperparameter that is a floating number, or a tuple of several."""
        if isinstance(node, ast.Name):
            given = (*self.function.args.args, *self.function.args.kwonlyargs)
            typed = [(a.arg, a.annotation) for a in given]
            name = node.id
        else:
            name = self_attribute(node) or ""
            typed = [
                (s.target.id, s.annotation)
                for owner in self.tree.body
                if isinstance(owner, ast.ClassDef)
                for s in owner.body
                if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
            ]
        words = [_words(t, of_several=of_several) for n, t in typed if n == name]
        return any(w and set(w) <= _WORDS for w in words)

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

    def _is_of_math(self, call: ast.Call, name: str) -> bool:
        """Whether it is a floating number of `math`, or what jax computes so of numbers alone."""
        owner, _, function = name.rpartition(".")
        if owner == "jax.numpy":
            given = call.args and all(map(self._is_of_fields, call.args))
            return (
                bool(given)
                and f"math.{function}" not in _WHOLE
                and hasattr(math, function)
            )
        return owner == "math" and name not in _WHOLE

    def _is_computed(self, name: str) -> bool:
        """Whether a property of that name computes floating numbers."""
        computed = f"self.{name}()"
        if computed in self.seen:
            return False
        return any(
            _Floats(self.tree, self.imports, part, self.seen | {computed}).hold(result)
            for owner in self.tree.body
            for part in getattr(owner, "body", ())
            if isinstance(part, ast.FunctionDef) and part.name == name
            for result in _results(part)
        )

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

    def _is_of_fields(self, node: ast.expr) -> bool:
        """Whether it is computed of hyperparameters and numbers alone, and so of no array."""
        fields = {
            s.target.id
            for owner in self.tree.body
            if isinstance(owner, ast.ClassDef)
            for s in owner.body
            if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        }
        read = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
        read = [n for n in read if not (isinstance(n, ast.Name) and n.id == "self")]
        return self._is_number(node) and all(self_attribute(n) in fields for n in read)

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


def _words(annotation: ast.expr | None, *, of_several: bool) -> list[str]:
    """The words of a number, or of a tuple of several; none of anything else."""
    match annotation:
        case ast.Name(id=word) if not of_several:
            return [word]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=parts)) if (
            of_several
        ):
            return [p.id for p in parts if isinstance(p, ast.Name)]
    return []


def _results(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What a function returns, without what those in it do."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
