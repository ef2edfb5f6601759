"""Which expressions are arrays of integers or booleans, of which a number of Python makes float32."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import TO_BOOLEANS, is_exact, qualified
from mlax_scaffold.reader.checks.handed import (
    called_from,
    handed,
    handed_by_callers,
)
from mlax_scaffold.reader.checks.local_values import item_of, only_value, value_at
from mlax_scaffold.reader.source import class_of, dotted, self_attribute

_FLOATS = ("Decay", "Fraction", "NonNegative", "Positive", "Probability", "float")
"""Words of hyperparameters that are floating numbers."""
_ARRAYS = ("Bool", "Complex", "Float", "Int", "Real")
_MODULES = ("functional", "jax.lax", "jax.nn", "jax.numpy", "jax.random", "jax.scipy")
_STATIC = frozenset(("finfo", "iinfo", "ndim", "result_type", "shape", "size"))
"""Functions of these modules that return no arrays."""
_CONSTANTS = ("jax.numpy.e", "jax.numpy.inf", "jax.numpy.pi", "math.e", "math.pi")


@dataclass(frozen=True)
class Integers:
    """What is known of the expressions of a method or a function."""

    tree: ast.Module
    imports: Mapping[str, Import]
    method: ast.FunctionDef
    attributes: Mapping[str, str]
    seen: frozenset[str] = frozenset()
    """The locals that are looked into."""

    def hold(self, node: ast.expr) -> bool:
        """Whether it is certain to be an array, and of integers or booleans."""
        return self.is_array(node) and is_exact(
            node, self.tree, self.imports, self.method
        )

    def are_booleans(self, node: ast.expr) -> bool:
        """Whether it is certain to be an array of booleans."""
        if not self.is_array(node):
            return False
        match node:
            case ast.Compare():
                return True
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                return self.are_booleans(inner)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr(), right=right):
                return self.are_booleans(left) and self.are_booleans(right)
            case ast.Name(id=name) if name not in self.seen:
                inner = replace(self, seen=self.seen | {name})
                given = (*self.method.args.args, *self.method.args.kwonlyargs)
                typed = any(a.arg == name and _is_array_type(a, "Bool") for a in given)
                values = value_at(node, self.method)
                return typed or any(map(inner.are_booleans, values))
            case ast.Call(func=function):
                module, _, name = (qualified(function, self.imports) or "").rpartition(
                    "."
                )
                return module == "jax.numpy" and name in TO_BOOLEANS
        return False

    def is_array(self, node: ast.expr) -> bool:
        """Whether it is certain to be an array of jax."""
        match node:
            case ast.Name(id=name) if name not in self.seen:
                given = (*self.method.args.args, *self.method.args.kwonlyargs)
                if any(a.arg == name and _is_array_type(a) for a in given):
                    return True
                inner = replace(self, seen=self.seen | {name})
                values = value_at(node, self.method)
                if name in handed(self.method) or any(map(inner.is_array, values)):
                    return True
                above = called_from(self.method, self.seen)
                given = handed_by_callers(name, self.method, self.tree) if above else []
                return any(
                    replace(self, method=caller, seen=above).is_array(value)
                    for caller, value in given
                )
            case ast.Attribute(value=inner, attr="T" | "mT"):
                return self.is_array(inner)
            case ast.Attribute():
                kind = self.attributes.get(self_attribute(node) or "")
                return kind in ("trainable", "state", "moment")
            case ast.Subscript(value=ast.Name(id=name)) if items := item_of(
                node, self.method
            ):
                # What a loop carries is an array in it, also where it begins as a number.
                return name in handed(self.method) or any(map(self.is_array, items))
            case ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
                return self.is_array(inner)
            case ast.BinOp(left=left, right=right):
                return self.is_array(left) or self.is_array(right)
            case ast.Compare(left=left, comparators=others):
                return any(map(self.is_array, (left, *others)))
            case ast.Call(func=function):
                module, _, name = (qualified(function, self.imports) or "").rpartition(
                    "."
                )
                if module:
                    return name not in _STATIC and module.startswith(_MODULES)
                return isinstance(function, ast.Attribute) and self.is_array(
                    function.value
                )
        return False

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is certain to be a floating number of Python."""
        match node:
            case ast.Constant(value=float()):
                return True
            case ast.UnaryOp(operand=inner):
                return self.is_number(inner)
            case ast.BinOp(left=left, op=op, right=right):
                parts = left, right
                either = any(map(self.is_number, parts)) or isinstance(op, ast.Div)
                return either and all(map(self.is_scalar, parts))
            case ast.Call(func=ast.Name(id="float")):
                return True
            case ast.Call(func=function):
                return (qualified(function, self.imports) or "").startswith("math.")
            case ast.Attribute() if name := self_attribute(node):
                return f"self.{name}" not in self.seen and self._field(name)
            case ast.Attribute():
                return qualified(node, self.imports) in _CONSTANTS
            case ast.Name(id=name) if name not in self.seen:
                inner = replace(self, seen=self.seen | {name})
                values = only_value(name, self.method)
                if self._parameter(name) or any(map(inner.is_number, values)):
                    return True
                return any(map(self._floats, self._taken_apart(name)))
            case ast.Subscript(value=ast.Attribute() as owner, slice=ast.Constant()):
                return self._floats(self_attribute(owner) or "")
        return False

    def is_scalar(self, node: ast.expr) -> bool:
        """Whether it is certain to be a number of Python, floating or not."""
        exact = is_exact(node, self.tree, self.imports, self.method)
        return self.is_number(node) or (exact and not self.is_array(node))

    def _taken_apart(self, name: str) -> Iterator[str]:
        """The field of which a local is an item: `low, high = self.bounds`."""
        stored = [
            n
            for n in walk(self.method)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        ]
        for node in walk(self.method):
            match node:
                case ast.Assign(
                    targets=[ast.Tuple(elts=parts)], value=ast.Attribute() as value
                ) if len(stored) == 1 and stored[0] in parts:
                    yield self_attribute(value) or ""

    def _floats(self, name: str) -> bool:
        """Whether a field is a tuple of floating numbers."""
        for owner in self.tree.body:
            for part in owner.body if isinstance(owner, ast.ClassDef) else ():
                match part:
                    case ast.AnnAssign(
                        target=ast.Name(id=found),
                        annotation=ast.Subscript(
                            value=ast.Name(id="tuple"), slice=ast.Tuple(elts=words)
                        ),
                    ) if found == name:
                        return dotted(words[0]) in _FLOATS
        return False

    def _parameter(self, name: str) -> bool:
        """Whether a function has a hyperparameter of that name that is floating, or a default that is."""
        given = self.method.args
        typed = {a.arg: a.annotation for a in (*given.args, *given.kwonlyargs)}
        if (annotation := typed.get(name)) is not None:
            return dotted(annotation) in _FLOATS
        last = given.args[len(given.args) - len(given.defaults) :]
        pairs = [*zip(last, given.defaults, strict=True)]
        pairs += [*zip(given.kwonlyargs, given.kw_defaults, strict=True)]
        return any(
            a.arg == name and isinstance(d, ast.Constant) and type(d.value) is float
            for a, d in pairs
        )

    def _field(self, name: str) -> bool:
        """Whether a field is floating, or what `setup` derives."""
        owner = class_of(self.tree, self.method)
        values: list[bool] = []
        for statement in owner.body if owner else ():
            match statement:
                case ast.AnnAssign(target=ast.Name(id=found), annotation=word) if (
                    found == name
                ):
                    return dotted(word) in _FLOATS
                case ast.FunctionDef(name="setup"):
                    inner = replace(
                        self, method=statement, seen=self.seen | {f"self.{name}"}
                    )
                    values += [
                        inner.is_number(n.value)
                        for n in walk(statement)
                        if isinstance(n, ast.Assign)
                        and any(self_attribute(t) == name for t in n.targets)
                    ]
        return bool(values) and all(values)


def _is_array_type(argument: ast.arg, *words: str) -> bool:
    match argument.annotation:
        case ast.Subscript(value=word) | ast.BinOp(left=ast.Subscript(value=word)):
            return dotted(word) in (words or _ARRAYS)
    return False
