"""The type of a cell's carry, by what `initial_carry` makes; and what arrays are that code begins with."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.reader.axes.operations import integer
from mlax_scaffold.reader.axes.sizes import SIGNS, Scope, computed

MADE = ("empty", "full", "ones", "zeros")
"""Functions that make an array of a shape, which is their first argument."""
_KINDS = {"bool": "Bool", "int": "Int", "uint": "Int"}
_DEPTH = 12
"""So many values are looked up, one in the other."""


def carried(scope: Scope, method: ast.FunctionDef, name: str, first: str) -> str | None:
    """The type of the carry; None for any other input, and where it is not plain.

    Args:
        scope: the class.
        method: its method.
        name: of the input.
        first: the type of the first input, whose axes `input_shape` are.
    """
    making = scope.methods.get("initial_carry")
    inputs = [a.arg for a in method.args.args if a.arg != "self"]
    if making is None or method.name != "forward" or name not in inputs[1:][-1:]:
        return None
    given = [a.arg for a in making.args.args if a.arg != "self"]
    functions = [n for n in ast.walk(making) if isinstance(n, ast.FunctionDef)]
    inside = {id(n) for f in functions[1:] for n in ast.walk(f)}
    returned = [
        n.value
        for n in ast.walk(making)
        if isinstance(n, ast.Return) and id(n) not in inside
    ]
    if len(given) != 2 or len(returned) != 1 or returned[0] is None:
        return None
    reader = Begins(scope, bound_once(making), given[0], given[1], words_of(first))
    return reader.type(returned[0])


def bound_once(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """The values of names that are bound once, also `a, b = ...` element by element."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)
            ) if len(names) == len(values):
                for target, value in zip(names, values, strict=True):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(value)
            case ast.Name(id=name, ctx=ast.Store()):
                found.setdefault(name, []).append(None)
    for node in ast.walk(function):
        match node:
            case ast.FunctionDef(name=name, args=args, body=[ast.Return(value=made)]):
                if made is not None and node is not function:
                    # A function of one expression is a lambda with a name.
                    found.setdefault(name, []).extend((ast.Lambda(args, made), None))
    # Each assignment is met as a statement, and as a name.
    return {n: v[0] for n, v in found.items() if len(v) == 2 and v[0] is not None}


def words_of(text: str) -> tuple[str, ...]:
    """The axes of the type of one array; none of any other type."""
    match ast.parse(text, mode="eval").body:
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(shape))):
            return tuple(shape.split())
    return ()


@dataclass(frozen=True)
class Begins:
    """Reads the types of arrays off what makes them."""

    scope: Scope
    locals: Mapping[str, ast.expr]
    shape: str
    """What the shape of the input is called, and its dtype."""
    dtype: str
    words: tuple[str, ...]
    """The axes of the input."""
    sizes: Collection[str] = ()
    """Names that stand for sizes: `batch` of `def init_cache(self, batch)`."""

    def type(self, node: ast.expr, depth: int = 0) -> str | None:
        """The type of an array, or of a tuple of them."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name(id=name) if name in self.locals:
                return self.type(self.locals[name], depth + 1)
            case ast.Tuple(elts=parts) if parts:
                inner = [self.type(part, depth + 1) for part in parts]
                known = [text for text in inner if text is not None]
                if len(known) < len(inner):
                    return None
                return f"tuple[{', '.join(known)}]"
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if (
                inner := self._inside(name, given)
            ):
                return inner[0].type(inner[1], depth + 1)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Attribute(value=owner, attr="at"))
                )
            ):
                return self.type(owner, depth + 1)
            case ast.Call(func=ast.Attribute(attr=made), args=[shape, *others]) if (
                made in MADE
            ):
                axes = self._axes(shape, depth + 1)
                dtypes = [k.value for k in node.keywords if k.arg == "dtype"]
                dtypes += others[1:] if made == "full" else others
                kind = self._kind(dtypes)
                if axes is None or kind is None:
                    return None
                return f'{kind}["{" ".join(axes)}"]'
        return None

    def _inside(
        self, name: str, given: list[ast.expr]
    ) -> tuple[Begins, ast.expr] | None:
        """What a lambda returns that is bound to a name, read with what it is given."""
        match self.locals.get(name):
            case ast.Lambda(args=args, body=body):
                pass
            case _:
                return None
        names = [a.arg for a in (*args.posonlyargs, *args.args)]
        starred = any(isinstance(a, ast.Starred) for a in given)
        more = given[len(names) :]
        if starred or len(given) < len(names) or args.kwonlyargs or args.kwarg:
            return None
        bound: dict[str, ast.expr] = dict(zip(names, given, strict=False))
        if args.vararg is not None:
            bound[args.vararg.arg] = ast.Tuple(more, ast.Load())
        elif more:
            return None
        return replace(self, locals={**self.locals, **bound}), body

    def _kind(self, dtypes: list[ast.expr]) -> str | None:
        match dtypes:
            case [] | [ast.Name(id=self.dtype)]:
                return "Float"
            case [ast.Name(id=name) | ast.Attribute(attr=name)]:
                return _KINDS.get(name.rstrip("_0123456789"))
        return None

    def _axes(self, node: ast.expr, depth: int) -> list[str] | None:
        """The axes of a shape."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name(id=name) if name == self.shape:
                return [*self.words] or None
            case ast.Name(id=name) if name in self.locals:
                return self._axes(self.locals[name], depth + 1)
            case ast.Subscript(value=inner, slice=ast.Slice(lower, upper, None)):
                axes = self._axes(inner, depth + 1)
                bounds = [integer(bound) for bound in (lower, upper)]
                plain = axes is not None and _counted(axes, bounds[1])
                if not plain or bounds[0] not in (None, 0) or axes is None:
                    return None
                return axes[: bounds[1]]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self._axes(part, depth + 1) for part in (left, right)]
                known = [part for part in parts if part is not None]
                return [w for p in known for w in p] if len(known) == 2 else None
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                found: list[str] = []
                for part in parts:
                    inner = (
                        self._axes(part.value, depth + 1)
                        if isinstance(part, ast.Starred)
                        else self._axis(part, depth + 1)
                    )
                    if inner is None:
                        return None
                    found += inner
                return found
        axis = self._axis(node, depth + 1)
        return axis

    def _axis(self, node: ast.expr, depth: int) -> list[str] | None:
        """The one axis that a size is."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Name(id=name) if name in self.locals:
                return self._axis(self.locals[name], depth + 1)
            case ast.Name(id=self.shape):
                # `jnp.zeros((batch_size, self.width))`: a size, and no shape.
                return [*self.words[:1]] or None
            case ast.Subscript(value=ast.Name(id=self.shape), slice=index):
                place = integer(index)
                words = self.words
                if place is None or not -len(words) <= place < len(words):
                    return None
                passed = words[: place + 1] if place >= 0 else words[place:]
                open_ = any(word.startswith(("*", ".")) for word in passed)
                return None if open_ else [words[place]]
        size = self.scope.size(node)
        if not size and isinstance(node, ast.Name) and node.id in self.sizes:
            size = node.id
        return [size] if size else self._of_axes(node, depth)

    def _of_axes(self, node: ast.expr, depth: int) -> list[str] | None:
        """What sizes of which one is an axis make."""
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                sides = [self._axis(part, depth + 1) or [""] for part in (left, right)]
                made = computed([side[0] for side in sides], SIGNS[type(op)])
                return [made] if made else None
        return None


def _counted(axes: list[str], upper: int | None) -> bool:
    """Whether so many axes are cut off that have one size each."""
    if upper is None:
        return True
    cut = axes[upper:] if upper < 0 else axes[:upper]
    return not any(word.startswith(("*", ".")) for word in cut)
