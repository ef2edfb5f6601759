"""Numbers that NumPy computes in a body: they are of float64, and what they meet becomes float32."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from typing import TypeGuard

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_OF_MATH = frozenset(
    [
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh"),
        *("exp", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh"),
        *("sqrt", "tan", "tanh"),
    ]
)
"""Functions of NumPy that `math` has by the same name, with results that are floating."""

_DECLARING = ("trainable", "state", "moment")

_ARRAYS = frozenset(["arange", "array", "eye", "full", "linspace", "ones", "zeros"])


def check_numpy_numbers(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report functions of NumPy whose argument is certain to be a number."""
    _check(source, method, attributes, imports, walk(method))


def check_initializer_numbers(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report the same in `setup` where an initializer computes with it: the weight would be of float64."""
    inner: list[ast.AST] = [
        n
        for n in walk(method)
        if isinstance(n, ast.Lambda | ast.FunctionDef) and n is not method
    ]
    inner += [
        n.args[0]
        for n in walk(method)
        if isinstance(n, ast.Call) and dotted(n.func) in _DECLARING and n.args
    ]
    nodes = {n: None for function in inner for n in walk(function)}
    read = {n.id for n in nodes if isinstance(n, ast.Name)} - {"self"}
    for node in walk(method):
        match node:
            case ast.Assign(targets=targets, value=value):
                stored = {
                    n.id for t in targets for n in walk(t) if isinstance(n, ast.Name)
                }
                if stored & read:
                    nodes |= dict.fromkeys(walk(value))
    _check(source, method, attributes, imports, nodes)


def _check(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
    nodes: Iterable[ast.AST],
) -> None:
    numbers = _numbers(source, method, attributes)
    of_arrays = _beside_arrays(method, imports)
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Pow):
            for side in (node.left, node.right):
                if _is_product(side, attributes) and id(side) not in of_arrays:
                    _report(source, side, "prod")
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
            continue
        if id(node) in of_arrays:
            continue
        module, _, name = (qualified(node.func, imports) or "").rpartition(".")
        if module != "numpy" or name not in _OF_MATH:
            continue
        if not _is_number(node.args[0], attributes, numbers):
            continue
        _report(source, node, name)
        if _is_product(node.args[0], attributes):
            _report(source, node.args[0], "prod")


def _report(source: Source, call: ast.Call, name: str) -> None:
    edit = source.edit(call.func, f"math.{name}")
    source.report(
        call.func,
        f"a number of `{source.text_of(call.func)}` makes float32 of half precision",
        f"NumPy's numbers are no Python numbers: write `math.{name}`.",
        fix=Fix((edit,), (Needed("math", "", "math"),)),
    )


def _is_product(node: ast.expr, attributes: Mapping[str, str]) -> TypeGuard[ast.Call]:
    """Whether it is `np.prod` of a hyperparameter that is a sequence, or of the shape of an input."""
    match node:
        case ast.Call(func=ast.Attribute(attr="prod") as function, args=[of]):
            given = of.value if isinstance(of, ast.Subscript) else of
            known = attributes.get(self_attribute(given) or "") == "hyperparameter"
            is_shape = isinstance(given, ast.Attribute) and given.attr == "shape"
            of_numpy = dotted(function.value) in ("np", "numpy")
            return not node.keywords and of_numpy and (known or is_shape)
    return False


def _beside_arrays(method: ast.FunctionDef, imports: Mapping[str, Import]) -> set[int]:
    """What meets arrays of NumPy in a function of NumPy, by identity: the result is an array, too."""

    def of_numpy(node: ast.AST) -> str:
        called = node.func if isinstance(node, ast.Call) else None
        module, _, name = (
            (qualified(called, imports) or "").rpartition(".") if called else ("",) * 3
        )
        return name if module == "numpy" else ""

    found: set[int] = set()
    for call in (n for n in walk(method) if of_numpy(n)):
        inside = [n for n in walk(call) if n is not call]
        if any(of_numpy(n) in _ARRAYS for n in inside):
            found |= {id(n) for n in inside}
    return found


def _numbers(
    source: Source, method: ast.FunctionDef, attributes: Mapping[str, str]
) -> set[str]:
    """The locals of a method, and what `setup` derives (`self.name`), that are numbers."""
    found: set[str] = set()
    for owner in source.tree.body:
        parts = owner.body if isinstance(owner, ast.ClassDef) else []
        functions = [f for f in parts if isinstance(f, ast.FunctionDef)]
        if not any(f.lineno == method.lineno for f in functions):
            continue
        for function in functions:
            if function.name == "setup":
                found |= _bound(function, attributes, found)
    own = {name for name in found if name.startswith("self.")}
    return own | _bound(method, attributes, own)


def _bound(
    method: ast.FunctionDef, attributes: Mapping[str, str], known: set[str]
) -> set[str]:
    """What a method binds to numbers alone, by statements in the order of the text."""
    numbers, others = set(known), set[str]()
    for node in walk(method):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)], value=ast.Attribute(attr="shape")
            ) if all(isinstance(p, ast.Name) for p in parts):
                numbers |= {ast.unparse(p) for p in parts}
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=v):
                is_number = _is_number(v, attributes, numbers)
                (numbers if is_number else others).add(ast.unparse(target))
            case ast.Name(id=name, ctx=ast.Store()) if name not in numbers:
                others.add(name)
            case ast.arg(arg=name):
                others.add(name)
    return numbers - others


def _is_number(
    node: ast.expr, attributes: Mapping[str, str], numbers: Collection[str]
) -> bool:
    """Whether an expression is a number, whatever arrays the method is given."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name(id=name):
            return name in numbers
        case ast.Attribute() if name := self_attribute(node):
            known = attributes.get(name) == "hyperparameter"
            return known or f"self.{name}" in numbers
        case ast.Attribute(attr="ndim" | "size"):
            return True
        case ast.Subscript(
            value=ast.Attribute(attr="shape"),
            slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant()),
        ):
            return True
        case ast.Subscript(value=ast.Attribute() as owner, slice=ast.Constant(int())):
            return attributes.get(self_attribute(owner) or "") == "hyperparameter"
        case ast.Call() if _is_product(node, attributes):
            return True
        case ast.UnaryOp(operand=inner):
            return _is_number(inner, attributes, numbers)
        case ast.BinOp(left=left, right=right):
            parts = left, right
            return all(_is_number(p, attributes, numbers) for p in parts)
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_] as parts):
            return all(_is_number(p, attributes, numbers) for p in parts)
        case ast.Call(func=ast.Name(id="len" | "float" | "int")):
            return True
    return False
