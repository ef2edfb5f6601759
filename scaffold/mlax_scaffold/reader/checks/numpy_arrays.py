"""Arrays of floats that setup derives by NumPy: what they meet in a body becomes float32."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.likeness import (
    arguments_without_dtype,
    exact_arguments,
    floating_of,
    given_by_layer,
)
from mlax_scaffold.reader.checks.number_arguments import number_arguments
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute

_FLOATING = frozenset(
    [
        *("bartlett", "blackman", "eye", "geomspace", "hamming", "hanning", "identity"),
        *("kaiser", "linspace", "logspace", "ones", "tri", "zeros"),
    ]
)
"""Functions of NumPy that make arrays of floats where no dtype is given."""

_BY_ELEMENT = frozenset(
    [
        *("cos", "deg2rad", "exp", "expm1", "log", "log10", "log1p", "log2", "power"),
        *("sin", "sinc", "sqrt", "tan", "tanh", "true_divide"),
    ]
)
"""Those whose results are floats, and arrays where they are given arrays."""

_SAME = frozenset(
    [
        *("abs", "broadcast_to", "concatenate", "cumsum", "diag", "diff"),
        *("expand_dims", "flip", "hstack", "maximum", "minimum", "outer", "ravel"),
        *("repeat", "reshape", "roll", "squeeze", "stack", "tile", "transpose"),
        *("tril", "triu", "vstack", "where"),
    ]
)
"""Those whose results hold what they are given."""

_METHODS = frozenset(
    [
        *("copy", "cumsum", "flatten", "ravel", "repeat", "reshape", "squeeze"),
        *("swapaxes", "transpose"),
    ]
)
"""The same as methods of arrays."""

_DEPTH = 5
"""So many functions are looked into, one called by the other."""

_FREE = frozenset(["shape", "ndim", "size", "dtype", "nbytes"])
"""Attributes of an array that are no arrays."""


def check_numpy_arrays(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report derived arrays of floats that a body reads as they are."""
    owner = class_of(source.tree, method)
    like = computed_dtype(source, method)
    if owner is None or like is None:
        return
    scope = Scope(source.tree, owner)
    _add_parts(scope.methods.get("setup"), scope)
    for node in _bare(method, imports):
        name = self_attribute(node) or ""
        found = scope, scope.declared.get(name)
        if isinstance(node, ast.Call):
            found = Scope(source.tree, owner), node
        elif attributes.get(name) != "derived":
            found = _of_property(scope, name)
        within, value = found
        if value is None or not _Values(within, imports).floating(value):
            continue
        needed = of_jax(source, "jnp")
        text = f"{needed.bound}.asarray({source.text_of(node)}, {like})"
        source.report(
            node,
            f"{unparsed(node)} is an array of floats of NumPy: what it meets becomes float32",
            f"Write `{text}`.",
            fix=Fix((source.edit(node, text),), (needed,)),
        )


def _of_property(scope: Scope, name: str) -> tuple[Scope, ast.expr | None]:
    """What a property returns, with its locals; None where it is none, or returns several."""
    method = scope.methods.get(name)
    if method is None or [dotted(d) for d in method.decorator_list] != ["property"]:
        return scope, None
    own = Scope(scope.module, scope.owner)
    return own, _returned_by(method, own)


def _returned_by(function: ast.FunctionDef, own: Scope) -> ast.expr | None:
    """What a function returns, whose locals are added to its scope; None where it returns several."""
    returned = []
    for node in walk(function):
        match node:
            case ast.Return(value=ast.expr() as value):
                returned.append(value)
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                own.locals.setdefault(local, value)
    _add_parts(function, own)
    return returned[0] if len(returned) == 1 else None


def _add_parts(function: ast.FunctionDef | None, own: Scope) -> None:
    """Adds the locals of `a, b = x, y`, and those of `a, b = f(x)`, as `f(x)[0]` and `f(x)[1]`."""
    for node in walk(function) if function else ():
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                parts = value.elts if isinstance(value, ast.Tuple) else []
            case _:
                continue
        for place, name in enumerate(names):
            part = ast.Subscript(value, ast.Constant(place), ast.Load())
            if isinstance(name, ast.Name):
                known = parts[place] if place < len(parts) else part
                own.locals.setdefault(name.id, known)


def _classes(source: Source) -> list[ast.ClassDef]:
    return [s for s in source.tree.body if isinstance(s, ast.ClassDef)]


def computed_dtype(source: Source, method: ast.FunctionDef) -> str | None:
    """The dtype that a body computes in: one that it is given, or that of an argument."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    given = [argument for argument in arguments if argument.arg != "self"]
    if any(argument.arg == "dtype" for argument in given):
        return "dtype"
    floating = floating_of(source.tree, given)
    if floating is not None:
        return f"{floating}.dtype"
    if any(argument.annotation is not None for argument in given):
        own = next(_weights(source, method), given_by_layer(source.tree, method))
        return own and f"{own}.dtype"
    known = Evidence(Scope(source.tree)).of(method)
    operands = {
        side.id
        for node in walk(method)
        if isinstance(node, ast.BinOp)
        for side in (node.left, node.right)
        if isinstance(side, ast.Name)
    }
    # What is neither used as an array nor computed with is a size.
    other = arguments_without_dtype(source.tree, method)
    given = [argument for argument in given if argument.arg not in other]
    arrays = [a.arg for a in given if known[a.arg].told]
    arrays += [a.arg for a in given if a.arg in operands]
    arrays += _weights(source, method)
    return f"{arrays[0]}.dtype" if arrays else None


def _weights(source: Source, method: ast.FunctionDef) -> Iterator[str]:
    """The real weights that a method reads, which have the dtype of the computation there."""
    declared = set()
    for statement in walk(source.tree):
        match statement:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Name(id="trainable"), args=[_, _]),
            ):
                declared.add(self_attribute(target))
    for node in walk(method):
        if isinstance(node, ast.Attribute) and self_attribute(node) in declared:
            yield source.text_of(node)


def of_numpy_floats(
    node: ast.expr,
    tree: ast.Module,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
) -> bool:
    """Whether an expression of a function is certain to be an array of floats of NumPy."""
    own = Scope(tree, class_of(tree, method))
    _returned_by(method, own)
    return _Values(own, imports).floating(node)


def _bare(
    method: ast.FunctionDef, imports: Mapping[str, Import]
) -> Iterator[ast.Attribute | ast.Call]:
    """What a body reads or calls of self, but for what it casts, gives to NumPy, or asks for a shape.

    Where an array is made of a call without a dtype, that is reported.
    """
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop(0)
        match node:
            case ast.Attribute(attr=name) if name in _FREE:
                continue
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                continue
            case ast.Call(func=ast.Attribute(attr="astype")):
                continue
            case ast.Call(func=function, args=[first, *rest], keywords=given):
                called = qualified(function, imports) or ""
                cast = called.endswith(("numpy.asarray", "numpy.array"))
                typed = bool(rest) or any(k.arg == "dtype" for k in given)
                made = isinstance(first, ast.Call)
                if called.startswith("numpy.") or (cast and (typed or made)):
                    continue
                if self_attribute(function):
                    yield node
                if isinstance(function, ast.Name) and function.id in (
                    "len",
                    "enumerate",
                ):
                    continue
            case ast.Call(func=function, args=[]) if self_attribute(function):
                yield node
            case ast.Attribute(value=ast.Name(id="self")):
                yield node
                continue
            case ast.For(iter=iterated) if self_attribute(iterated):
                pending += [*node.body, *node.orelse]
                continue
        pending += ast.iter_child_nodes(node)


def _is_floating(dtype: ast.expr) -> bool:
    """Whether what stands for a dtype is certain to be a floating one."""
    text = dtype.value if isinstance(dtype, ast.Constant) else dotted(dtype) or ""
    return str(text).rpartition(".")[2] in ("float", "float16", "float32", "float64")


def _keeps_an_axis(index: ast.expr) -> bool:
    """Whether what is read by an index is certain to be an array, and no number."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        isinstance(p, ast.Slice)
        or (isinstance(p, ast.Constant) and p.value in (None, ...))
        for p in parts
    )


def _spread(args: list[ast.expr]) -> Iterator[ast.expr]:
    """Arguments, and the parts of those that are lists, as of `np.stack`."""
    for argument in args:
        match argument:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                yield from parts
            case _:
                yield argument


class _Values:
    """What values are of `setup`, or of a function that it calls, as far as their text is certain."""

    def __init__(self, scope: Scope, imports: Mapping[str, Import], depth: int = 0):
        self.scope = scope
        self.imports = imports
        self.depth = depth

    def floating(self, node: ast.expr) -> bool:
        """Whether it is certain to be an array of floats."""
        return self._array(node, ()) and self._floats(node, ())

    def _returned(self, node: ast.expr) -> tuple[_Values, ast.expr] | None:
        """What a call of a function of the module returns, or a part of that, and what is known in it."""
        match node:
            case ast.Subscript(value=call, slice=ast.Constant(value=int(place))):
                found = self._returned(call)
                parts = (
                    found[1].elts if found and isinstance(found[1], ast.Tuple) else []
                )
                return (
                    (found[0], parts[place]) if found and place < len(parts) else None
                )
        if not isinstance(node, ast.Call) or self.depth > _DEPTH:
            return None
        function = self.scope.functions.get(dotted(node.func) or "")
        own = Scope(self.scope.module)
        if name := self_attribute(node.func):
            function = self.scope.methods.get(name)
            own = Scope(self.scope.module, self.scope.owner)
        if function is None or (name and not self._of_sizes(function)):
            return None
        returned = _returned_by(function, own)
        return returned and (_Values(own, self.imports, self.depth + 1), returned)

    def _of_sizes(self, method: ast.FunctionDef) -> bool:
        """Whether a method is given numbers alone, and makes what it returns of them, by NumPy."""
        tree = self.scope.module
        for node in walk(method):
            if not isinstance(node, ast.Call):
                continue
            by = qualified(node.func, self.imports) or ""
            if by.startswith("jax") or dotted(node.func) in self.scope.functions:
                return False
        numbers = exact_arguments(tree, method) | number_arguments(tree, method)
        given = {a.arg for a in (*method.args.posonlyargs, *method.args.args)}
        return not method.decorator_list and given <= {"self", *numbers}

    def _array(self, node: ast.expr, seen: tuple[str, ...]) -> bool:
        if found := self._returned(node):
            return found[0]._array(found[1], ())
        match node:
            case ast.Name() | ast.Attribute() if found := self._bound(node, seen):
                return self._array(found, (*seen, unparsed(node)))
            case ast.Compare(left=inner):
                return self._array(inner, seen)
            case ast.BinOp(left=left, right=right):
                return self._array(left, seen) or self._array(right, seen)
            case ast.UnaryOp(operand=inner):
                return self._array(inner, seen)
            case ast.Subscript(value=inner, slice=index):
                return _keeps_an_axis(index) and self._array(inner, seen)
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if (
                method == "astype" or self._is_method(node.func)
            ):
                return self._array(inner, seen)
            case ast.Attribute(value=inner, attr="T"):
                return self._array(inner, seen)
            case ast.Call(func=function, args=args):
                name = self._of_numpy(function)
                if name in _FLOATING or name in ("arange", "array", "asarray", "full"):
                    return True
                return name in _BY_ELEMENT | _SAME and any(
                    self._array(a, seen) for a in _spread(args)
                )
        return False

    def _floats(self, node: ast.expr, seen: tuple[str, ...]) -> bool:
        if found := self._returned(node):
            return found[0]._floats(found[1], ())
        match node:
            case ast.Constant(value=value):
                return isinstance(value, float)
            case ast.Name() | ast.Attribute() if found := self._bound(node, seen):
                return self._floats(found, (*seen, unparsed(node)))
            case ast.BinOp(left=left, op=op, right=right):
                divides = isinstance(op, ast.Div)
                return divides or self._floats(left, seen) or self._floats(right, seen)
            case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner):
                return self._floats(inner, seen)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return any(self._floats(p, seen) for p in parts)
            case ast.Call(func=ast.Attribute(attr="astype"), args=[dtype]):
                return _is_floating(dtype)
            case ast.Attribute(value=inner, attr="T"):
                return self._floats(inner, seen)
            case ast.Call(func=ast.Attribute(value=inner)) if self._is_method(
                node.func
            ):
                return self._floats(inner, seen)
            case ast.Call(func=function, args=args, keywords=given):
                for dtype in (k.value for k in given if k.arg == "dtype"):
                    return _is_floating(dtype)
                name = self._of_numpy(function)
                if name in _FLOATING:
                    # A second argument may be a dtype.
                    return len(args) < 2 or name in (
                        "linspace",
                        "logspace",
                        "geomspace",
                    )
                if name in _BY_ELEMENT:
                    return True
                return bool(name) and any(self._floats(a, seen) for a in args)
        return False

    def _bound(self, node: ast.expr, seen: tuple[str, ...]) -> ast.expr | None:
        """What a local or an attribute of `setup` is."""
        if unparsed(node) in seen:
            return None
        if isinstance(node, ast.Name):
            return self.scope.locals.get(node.id)
        return self.scope.declared.get(self_attribute(node) or "")

    def _is_method(self, function: ast.expr) -> bool:
        """Whether it is a method, of whatever, whose result holds what the array does."""
        return (
            isinstance(function, ast.Attribute)
            and function.attr in _METHODS
            and not qualified(function, self.imports)
        )

    def _of_numpy(self, function: ast.expr) -> str:
        module, _, name = (qualified(function, self.imports) or "").rpartition(".")
        return name if module == "numpy" else ""
