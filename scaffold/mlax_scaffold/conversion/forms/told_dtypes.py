"""Functions of PyTorch's code that are told what follows from their inputs here: a dtype, or a device.

`def table(size, dtype=torch.float32): ...; return made.type(dtype)` becomes one without the parameter.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_FLOATS = ("float", "float32", "float64", "double", "get_default_dtype()")
_CASTS = ("type", "to")


def without_told_dtypes(origin: Origin) -> None:
    """Change the functions of a file, and their calls, in place."""
    if not origin.uses("torch"):
        return
    # First where they are told with their calls: what takes none is called with none.
    _without_told_devices(origin)
    _Devices().visit(origin.tree)
    for function in origin.functions.values():
        default = defaults_of(function.args).get("dtype")
        if default is None or not (is_none(default) or _floating(default)):
            continue
        places = [a.arg for a in function.args.args]
        place = places.index("dtype") if "dtype" in places else len(places)
        calls = [
            part
            for part in walk(origin.tree)
            if isinstance(part, ast.Call) and is_name(part.func, function.name)
        ]
        given = [a for c in calls for a in c.args[place : place + 1]]
        given += [k.value for c in calls for k in c.keywords if k.arg == "dtype"]
        if not all(_floating(g) or _of_array(g) or is_none(g) for g in given):
            continue
        without_arguments(function.args, {"dtype"})
        for call in calls:
            del call.args[place : place + 1]
            call.keywords = [k for k in call.keywords if k.arg != "dtype"]
        _Casts().visit(function)


def _without_told_devices(origin: Origin) -> None:
    """Take parameters for devices out of functions and methods, and out of the calls that give them."""
    methods = [
        part
        for node in origin.classes.values()
        for part in node.body
        if isinstance(part, ast.FunctionDef)
        and part.name not in ("__init__", "forward")
    ]
    titles = {m.name for m in methods}
    for title in sorted({f for f in origin.functions if f not in titles} | titles):
        of_class = title in titles
        found = [m for m in methods if m.name == title] or [origin.functions[title]]
        given = [[a.arg for a in f.args.args] for f in found]
        places = {g.index("device") if "device" in g else -1 for g in given}
        spread = any(f.args.vararg is not None for f in found)
        static = of_class and any(g[:1] != ["self"] for g in given)
        if len(places) != 1 or places == {-1} or spread or static:
            continue
        place = places.pop() - of_class
        for call in walk(origin.tree):
            called = isinstance(call, ast.Call) and (
                getattr(call.func, "attr" if of_class else "id", "")
            )
            if called == title:
                del call.args[place : place + 1]  # type: ignore[attr-defined]
        for function in found:
            without_arguments(function.args, {"device"})


def _floating(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition("torch.")[2] in _FLOATS


def _of_array(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "dtype"


class _Devices(NodeTransformer):
    """Takes parameters for devices out, and what is made of them where none is given."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        default = defaults_of(node.args).get("device")
        if default is not None and is_none(default):
            without_arguments(node.args, {"device"})
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """A local that says where an array is, `device = x.device`, in functions as in methods."""
        self.generic_visit(node)
        local = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if local and getattr(node.value, "attr", "") == "device":
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        if ast.unparse(node.test) in ("device is None", "device is not None"):
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.keywords = [k for k in node.keywords if k.arg != "device"]
        return node


class _Casts(NodeTransformer):
    """Takes casts to the dtype out."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.keywords = [
            k
            for k in node.keywords
            if not (k.arg == "dtype" and is_name(k.value, "dtype"))
        ]
        node.args = [a for a in node.args if not is_name(a, "dtype")]
        func = node.func
        bare = not node.args and not node.keywords
        if isinstance(func, ast.Attribute) and func.attr in _CASTS and bare:
            return func.value
        return node
