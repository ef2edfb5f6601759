"""Small functions that PyTorch's code carries along, written out: `exists(x)`, `default(x, d)`.

What asks for None, or copies a layer, is read where it stands, and not through a function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    names,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_COPY = "copy.deepcopy"
_ASKS = ("callable", "isfunction", "inspect.isfunction")


def without_small_helpers(origin: Origin) -> None:
    """Write them out in place, in a file of PyTorch."""
    if not origin.uses("torch"):
        return
    known: dict[str, Callable[[ast.Call], ast.expr | None]] = {}
    asked = {
        n
        for n, f in origin.functions.items()
        if ast.unparse(_returned(f) or f) == f"{_first(f)} is not None"
    }
    for title, function in origin.functions.items():
        if title in asked:
            known[title] = lambda call: (
                expression("(x) is not None", x=call.args[0])
                if len(call.args) == 1 and not call.keywords
                else None
            )
        elif _defaults(function, asked):
            known[title] = _default
        elif _pairs(function):
            known[title] = _pair
        elif (made := _copies(origin, function)) is not None:
            known[title] = made
    _Calls(origin, known).visit(origin.tree)
    module = origin.name_of("torch.nn")
    flat = {n for n, c in origin.classes.items() if _flattens(c)} if module else set()
    if flat:
        # A layer of PyTorch under a name of the file.
        _Flattens(flat, module).visit(origin.tree)
        origin.tree.body = [
            s for s in origin.tree.body if getattr(s, "name", "") not in flat
        ]
        origin.forget("classes")
    without_copies(origin)
    located(origin.tree)


def without_copies(origin: Origin) -> None:
    """Write `cloned(layer)` as what makes that layer, where a local names it, in place."""
    for node in [origin.tree, *walk(origin.tree)]:
        if isinstance(node, ast.FunctionDef | ast.Module):
            _Copies(origin, node).run()


def _flattens(node: ast.ClassDef) -> bool:
    """Whether a class makes one axis of all but the first, and does nothing else."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    if [m.name for m in methods] != ["forward"] or len(methods[0].args.args) != 2:
        return False
    x = methods[0].args.args[1].arg
    value = _returned(methods[0])
    sizes = (f"{x}.size(0)", f"{x}.shape[0]", f"{x}.size()[0]", f"len({x})")
    known = {f"{x}.{view}({n}, -1)" for view in ("view", "reshape") for n in sizes}
    known |= {f"torch.flatten({x}, 1)", f"{x}.flatten(1)"}
    return value is not None and ast.unparse(value) in known


class _Flattens(NodeTransformer):
    def __init__(self, titles: set[str], module: str):
        self.titles, self.module = titles, module

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if getattr(node.func, "id", "") in self.titles and not node.args:
            made = ast.Attribute(
                ast.Name(self.module, ast.Load()), "Flatten", ast.Load()
            )
            node.func = ast.copy_location(made, node.func)
        return node


def _first(function: ast.FunctionDef) -> str:
    given = function.args.args
    return given[0].arg if len(given) == 1 else ""


def _returned(function: ast.FunctionDef) -> ast.expr | None:
    """What a function returns that does nothing else."""
    match without_docstring(function.body):
        case [ast.Return(value=ast.expr() as value)]:
            return value
    return None


def _defaults(function: ast.FunctionDef, asked: set[str]) -> bool:
    """Whether a function returns its first argument, or the second one where that is None."""
    given = [a.arg for a in function.args.args]
    if len(given) != 2:
        return False
    value, other = given
    there = [f"{value} is not None", *(f"{f}({value})" for f in asked)]
    last = [other, *(f"{other}() if {f}({other}) else {other}" for f in _ASKS)]
    match without_docstring(function.body):
        case [ast.Return(value=ast.IfExp(test=test, body=body, orelse=orelse))]:
            pass
        case [
            ast.If(test=test, body=[ast.Return(value=body)], orelse=[]),
            ast.Return(value=orelse),
        ]:
            pass
        case _:
            return False
    return (
        ast.unparse(test) in there
        and is_name(body, value)
        and isinstance(orelse, ast.expr)
        and ast.unparse(orelse) in last
    )


def _default(call: ast.Call) -> ast.expr | None:
    if len(call.args) != 2 or call.keywords:
        return None
    value, other = call.args
    if not isinstance(value, ast.Name | ast.Attribute):
        return None
    if isinstance(other, ast.Lambda) and not other.args.args:
        other = other.body
    if ast.unparse(value) == ast.unparse(other):
        return value
    return expression("x if x is not None else d", x=value, d=other)


def _pairs(function: ast.FunctionDef) -> bool:
    """Whether a function gives both axes one size, where it is given one."""
    value, x = _returned(function), _first(function)
    kinds = ("tuple", "(list, tuple)", "(tuple, list)")
    there = {f"{x} if isinstance({x}, {k}) else ({x}, {x})" for k in kinds}
    return bool(x) and value is not None and ast.unparse(value) in there


def _pair(call: ast.Call) -> ast.expr | None:
    """Both axes, as hyperparameters are one size."""
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Name | ast.Constant):
        return None
    return ast.Tuple([call.args[0], cloned(call.args[0])], ast.Load())


def _copies(
    origin: Origin, function: ast.FunctionDef
) -> Callable[[ast.Call], ast.expr | None] | None:
    """What writes a call of a function out that lists copies of a layer."""
    value, given = _returned(function), [a.arg for a in function.args.args]
    copies = [
        part
        for part in walk(value or function)
        if isinstance(part, ast.Call) and origin.qualified(part.func) == _COPY
    ]
    if value is None or len(copies) != 1 or not names(copies[0].args[0]) <= {*given}:
        return None

    def written(call: ast.Call) -> ast.expr | None:
        if call.keywords or len(call.args) != len(given):
            return None
        return replaced(value, dict(zip(given, call.args, strict=True)))

    return written


class _Calls(NodeTransformer):
    def __init__(
        self, origin: Origin, known: dict[str, Callable[[ast.Call], ast.expr | None]]
    ):
        self.origin, self.known = origin, known

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if self.origin.functions.get(node.name) is not node or (
            node.name not in self.known
        ):
            self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        write = self.known.get(getattr(node.func, "id", ""))
        made = write(node) if write is not None else None
        if made is None:
            return node
        made = cloned(made)
        for part in walk(made):
            if isinstance(part, ast.expr | ast.comprehension | ast.arg):
                ast.copy_location(part, node)
        return made


class _Copies(NodeTransformer):
    """One function, or the lines of the module outside of all."""

    def __init__(self, origin: Origin, owner: ast.FunctionDef | ast.Module):
        self.origin, self.owner = origin, owner
        self.made: dict[str, list[ast.Assign]] = {}
        self.short: set[str] = set()
        """Other names of `copy.deepcopy`."""

    def run(self) -> None:
        for part in self.owner.body:
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    self.made.setdefault(local, []).append(part)
                    if self.origin.qualified(value) == _COPY:
                        self.short.add(local)
        self.copied: set[str] = set()
        self.owner.body = [
            s if isinstance(s, ast.ClassDef) else self.visit(s) for s in self.owner.body
        ]
        for local in self.copied:
            read = [
                p
                for s in self.owner.body
                for p in walk(s)
                if is_name(p, local) and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
            ]
            if not read:
                self.owner.body.remove(self.made[local][0])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = getattr(node.func, "id", "")
        if self.origin.qualified(node.func) != _COPY and called not in self.short:
            return node
        if len(node.args) != 1 or node.keywords:
            return node
        [given] = node.args
        if isinstance(given, ast.Name) and len(self.made.get(given.id, ())) == 1:
            value = self.made[given.id][0].value
            if isinstance(value, ast.Call):
                self.copied.add(given.id)
                return cloned(value)
        return given if isinstance(given, ast.Call) or is_none(given) else node
