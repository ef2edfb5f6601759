"""Which arguments of functions of a spec are numbers of Python at every call: fields, sizes, literals."""

from __future__ import annotations

import ast
from collections import Counter

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.source import dotted, self_attribute

_ARRAYS = ("Bool", "Complex", "Float", "Int", "Key", "PyTree", "Real")
"""Words of inputs: whatever else is annotated is a number, or another value of Python."""
_OF_NUMBERS = ("abs", "float", "int", "len", "max", "min", "pow", "round")


def number_arguments(tree: ast.Module, method: ast.FunctionDef) -> set[str]:
    """The parameters of a function that its default, and each call in the module, gives such a number."""
    return _numbers(tree, method, ())


def numpy_arguments(tree: ast.Module, method: ast.FunctionDef) -> set[str]:
    """The parameters of a function beside the definition that a call gives what NumPy makes."""
    numpy = {
        alias.asname or alias.name
        for s in tree.body
        if isinstance(s, ast.Import)
        for alias in s.names
        if alias.name == "numpy"
    }
    names = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    found: set[str] = set()
    for caller in (n for n in walk(tree) if isinstance(n, ast.FunctionDef)):
        for call in (n for n in walk(caller) if isinstance(n, ast.Call)):
            if dotted(call.func) != method.name:
                continue
            pairs = [*zip(names, call.args, strict=False)]
            pairs += [(k.arg, k.value) for k in call.keywords if k.arg]
            for name, value in pairs:
                made = (
                    only_value(value.id, caller) if isinstance(value, ast.Name) else []
                )
                if any(_root(part) in numpy for part in (*made, value)):
                    found.add(name)
    return found


def _root(node: ast.expr) -> str:
    """The module of the call that an expression is, or is a part of; empty for any other."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Call):
        return ""
    return (dotted(node.func) or "").partition(".")[0]


def _numbers(
    tree: ast.Module, method: ast.FunctionDef, above: tuple[str, ...]
) -> set[str]:
    given = [*method.args.posonlyargs, *method.args.args]
    member = bool(given) and given[0].arg == "self"
    names = [a.arg for a in given[member:]]
    behind = given[len(given) - len(method.args.defaults) :]
    found = {
        arg.arg: True
        for arg, default in zip(behind, method.args.defaults, strict=True)
        if _is_number(default, set())
    }
    for caller in (n for n in walk(tree) if isinstance(n, ast.FunctionDef)):
        for call in (n for n in walk(caller) if isinstance(n, ast.Call)):
            called = self_attribute(call.func) if member else dotted(call.func)
            if called != method.name or caller.name in (method.name, *above):
                continue
            pairs = [*zip(names, call.args, strict=False)]
            pairs += [(k.arg, k.value) for k in call.keywords if k.arg]
            known = _of_caller(tree, caller, (*above, method.name))
            for name, value in pairs:
                found[name] = found.get(name, True) and _is_number(value, known)
    return {name for name, number in found.items() if number}


def _of_caller(
    tree: ast.Module, caller: ast.FunctionDef, above: tuple[str, ...]
) -> set[str]:
    """The names and the attributes of self that are numbers in a function."""
    known = {
        f"self.{s.target.id}"
        for c in tree.body
        if isinstance(c, ast.ClassDef)
        for s in c.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    }
    known |= {
        a.arg
        for a in caller.args.kwonlyargs
        if a.annotation is not None and not _is_array(a.annotation)
    }
    known |= _numbers(tree, caller, above)
    known |= _counted(tree, caller)
    return known | _sizes(caller, known)


def _sizes(caller: ast.FunctionDef, known: set[str]) -> set[str]:
    """The locals that hold sizes of an array, or what is computed of such, and nothing else."""
    stored = Counter(
        n.id
        for n in walk(caller)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    found: set[str] = set()
    for node in walk(caller):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)], value=ast.Attribute(attr="shape")
            ):
                names = [part.id for part in parts if isinstance(part, ast.Name)]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_number(
                value, known | found
            ):
                names = [name]
            case _:
                continue
        found |= {name for name in names if stored[name] == 1}
    return found


def _counted(tree: ast.Module, caller: ast.FunctionDef) -> set[str]:
    """The variables of loops over ranges, and over constants of the module that hold numbers alone."""
    tables = {
        target.id
        for s in tree.body
        if isinstance(s, ast.Assign) and _holds_numbers(s.value)
        for target in s.targets
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for node in walk(caller):
        match node:
            case (
                ast.For(target=target, iter=over)
                | ast.comprehension(target=target, iter=over)
            ) if dotted(over) in tables or (
                isinstance(over, ast.Call) and dotted(over.func) == "range"
            ):
                found |= {n.id for n in walk(target) if isinstance(n, ast.Name)}
    return found


def _holds_numbers(value: ast.expr) -> bool:
    """Whether a constant is a list of numbers, or of lists of them."""
    if isinstance(value, ast.List | ast.Tuple):
        return all(
            _is_number(part, set()) or _holds_numbers(part) for part in value.elts
        )
    return False


def _is_array(annotation: ast.expr) -> bool:
    names = (n.id for n in ast.walk(annotation) if isinstance(n, ast.Name))
    return any(name in _ARRAYS for name in names)


def _is_number(value: ast.expr, known: set[str]) -> bool:
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name() | ast.Attribute():
            return dotted(value) in known
        case ast.UnaryOp(operand=inner):
            return _is_number(inner, known)
        case ast.BinOp(left=left, right=right):
            return _is_number(left, known) and _is_number(right, known)
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant()):
            return True
        case ast.Call(func=function, args=given, keywords=[]):
            name = dotted(function) or ""
            return name == "len" or (
                (name in _OF_NUMBERS or name.startswith("math."))
                and all(_is_number(a, known) for a in given)
            )
    return False
