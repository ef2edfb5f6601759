"""Functions of a file of flax or haiku that make layers or draw, written out where a method calls them.

A call makes layers of its own, so that its lines stand before the statement that calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.conversion.handed.config_names import is_configuration
from mlax_scaffold.conversion.handed.deciding_arguments import (
    without_deciding_arguments,
)
from mlax_scaffold.conversion.handed.layer_functions import (
    bound_arguments,
    with_own_keywords,
)
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    Names,
    names,
    replaced,
    visited,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_DEEP = 4
_INNER = (
    *(ast.Lambda, ast.IfExp, ast.BoolOp),
    *(ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp),
)
_DRAWS = ("haiku.dropout", "haiku.next_rng_key", "haiku.get_parameter")


def without_making_functions(origin: Origin, layers: Collection[str]) -> None:
    """Write the statements of such functions out, in place, where they are more than one expression."""
    if not origin.uses("flax") and not origin.uses("haiku"):
        return
    making = _making(origin, layers)
    found = {t: f for t, f in origin.functions.items() if t in making}
    cases = without_deciding_arguments(origin, found)
    found |= cases
    configured = {t for t, f in found.items() if _reads_settings(f)}
    known = {
        t: f
        for t, f in found.items()
        if is_followed(f, alone=t in cases or t in configured)
    }
    if not known:
        return
    callers = [*found.values()]
    for node in origin.classes.values():
        callers += [m for m in node.body if isinstance(m, ast.FunctionDef)]
    for _ in range(_DEEP):
        for caller in callers:
            calls = {n: cloned(f) for n, f in known.items() if f is not caller}
            taken = names(caller) | {a.arg for a in caller.args.args}
            Blocks(calls, taken).visit(caller)
    located(origin.tree)


def _making(origin: Origin, layers: Collection[str]) -> set[str]:
    """The functions that make layers or draw, or call one that does."""
    found: set[str] = set()
    while True:
        more = {
            title
            for title, function in origin.functions.items()
            if title not in found
            and any(
                isinstance(part, ast.Call)
                and (
                    origin.qualified(part.func) in (*layers, *_DRAWS)
                    or getattr(part.func, "id", "") in {*origin.classes, *found}
                )
                for part in walk(function)
            )
        }
        if not more:
            return found
        found |= more


def _reads_settings(function: ast.FunctionDef) -> bool:
    """Whether a function reads settings of a configuration, which who calls it has as fields."""
    given = (*function.args.args, *function.args.kwonlyargs)
    titles = {a.arg for a in given if is_configuration(a, set())}
    return any(
        isinstance(p, ast.Attribute) and getattr(p.value, "id", "") in titles
        for p in walk(function)
    )


def is_followed(function: ast.FunctionDef, *, alone: bool) -> bool:
    """Whether a function is statements and one return at their end; or that alone, if asked for."""
    body = without_docstring(function.body)
    returns = [p for p in walk(function) if isinstance(p, ast.Return)]
    inner = any(
        isinstance(p, ast.FunctionDef | ast.Lambda) and p is not function
        for p in walk(function)
    )
    plain = all(
        isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) for s in body[:-1]
    )  # fmt: skip
    one = plain and all(len([*stored_names(s)]) == 1 for s in body[:-1])
    bound = [n for s in body[:-1] for n in stored_names(s)]
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    straight = one and len(bound) == len(set(bound)) and not given & {*bound}
    return (
        not function.decorator_list
        and not inner
        and len(returns) == 1
        and body[-1] is returns[0]
        and returns[0].value is not None
        and (alone or not straight)
    )


class Blocks(NodeTransformer):
    """Statements, before those of which the lines of what they call are put.

    Args:
        known: the functions whose calls are written out, by what is called: `attend`, `self.attend`.
        taken: names that locals may not have.
    """

    def __init__(self, known: Mapping[str, ast.FunctionDef], taken: set[str]):
        self.known, self.taken = known, taken
        self.before: list[ast.stmt] = []

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for title in ("body", "orelse", "finalbody"):
            inner = getattr(node, title, None)
            if isinstance(inner, list):
                setattr(node, title, [s for part in inner for s in self._written(part)])
        return node

    def _written(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.AnnAssign):
            if node.value is None:
                return [node]
            node.value = visited(_Calls(self), node.value)
            made, self.before = [*self.before, node], []
            return made
        return [self.visit(node)]


class _Calls(NodeTransformer):
    def __init__(self, blocks: Blocks):
        self.blocks = blocks

    def visit(self, node: ast.AST) -> ast.AST:
        # What runs often, or not at all, is no line of its own.
        return node if isinstance(node, _INNER) else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = self.blocks.known.get(ast.unparse(node.func))
        if function is not None and function.args.kwarg is not None:
            function, node = with_own_keywords(function, node)
        given = bound_arguments(function, node) if function is not None else None
        if function is None or given is None:
            return node
        body = without_docstring(function.body)
        bound = {n for s in body for n in stored_names(s)}
        parts: dict[str, ast.expr] = {}
        for local in sorted(bound | given.keys()):
            plain = local in given and _is_plain(given[local])
            if plain and local not in bound:
                parts[local] = given[local]
                continue
            title = self._free(local)
            parts[local] = ast.Name(title, ast.Load())
            if local in given:
                target = ast.Name(title, ast.Store())
                made = ast.Assign([target], given[local], lineno=node.lineno)
                self.blocks.before.append(ast.copy_location(made, node))
        lines = [Names(parts).visit(cloned(s)) for s in body]
        lines = [_Titles().visit(s) for s in lines]
        self.blocks.before += lines[:-1]
        value = lines[-1].value
        if any(isinstance(getattr(p, "func", None), ast.Call) for p in walk(value)):
            # A layer that it makes is made before those of what is called next.
            title = self._free("made")
            kept = ast.Assign([ast.Name(title, ast.Store())], value)
            self.blocks.before.append(ast.copy_location(kept, lines[-1]))
            value = ast.Name(title, ast.Load())
        return ast.copy_location(replaced(value, {}), node)

    def _free(self, local: str) -> str:
        made, count = local, 1
        while made in self.blocks.taken:
            count += 1
            made = f"{local}_{count}"
        self.blocks.taken.add(made)
        return made


def _is_plain(node: ast.expr) -> bool:
    """Whether a value may stand wherever it is read: a name, a text, or arithmetic of such."""
    if isinstance(node, ast.BinOp):
        return _is_plain(node.left) and _is_plain(node.right)
    return isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.JoinedStr)


class _Titles(NodeTransformer):
    """What layers are named is one text: `("first" or "mlp") + "_norm"` is `"first_norm"`."""

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg == "name":
            node.value = ast.copy_location(_text(node.value), node.value)
        self.generic_visit(node)
        return node


def _text(node: ast.expr) -> ast.expr:
    match node:
        case ast.BoolOp(values=[alone]):
            return _text(alone)
        case ast.BoolOp(op=ast.Or(), values=[ast.JoinedStr() as first, *_]):
            return first
        case ast.BoolOp(op=ast.Or(), values=[ast.Constant(value=first), *rest]):
            return node.values[0] if first else _text(ast.BoolOp(ast.Or(), rest))
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str())):
            before = _text(left)
            if isinstance(before, ast.JoinedStr):
                return ast.JoinedStr([*before.values, node.right])
            if isinstance(before, ast.Constant) and isinstance(before.value, str):
                return ast.Constant(f"{before.value}{node.right.value}")  # type: ignore[attr-defined]
    return node
