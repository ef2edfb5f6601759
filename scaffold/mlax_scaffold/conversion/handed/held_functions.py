"""Functions of the file that layers of PyTorch keep and call, `ScoreNet(marginal_prob_std=std_fn)`.

def __init__(self, marginal_prob_std):
    self.std = marginal_prob_std
...
    h / self.std(t)                        becomes         h / marginal_prob_std(t, sigma=25.0)

where all calls of the file hand the class one function, or one partial call of a function.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    given_to,
    method_of,
    stored_names,
    without_parameters,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_held_functions(origin: Origin, thing: str, notes: Notes) -> dict[str, str]:
    """Write calls of the functions in place of such attributes, in place.

    Returns:
        What the original is given for the parameters that the class has no more, to be compared.
    """
    found: dict[str, str] = {}
    if not origin.uses("torch"):
        return found
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        for argument in [*start.args.args[1:], *start.args.kwonlyargs]:
            held = _held(node, start, argument.arg)
            function = _given(origin, node, start, argument.arg) if held else None
            if not held or function is None or not _is_free(node, start, function):
                continue
            without_parameters(origin.tree, node, start, {argument.arg})
            start.body = [
                s
                for s in start.body
                if not (isinstance(s, ast.Assign) and is_name(s.value, argument.arg))
            ] or [ast.Pass()]
            _Called(held, function).visit(node)
            if node.name == thing:
                found[argument.arg] = _partial(origin, function)
                notes.remark(
                    start,
                    f"`{argument.arg}` of {thing} is always `{ast.unparse(function)}`",
                    "write another spec for another function",
                )
    located(origin.tree)
    return found


def _partial(origin: Origin, function: ast.Call) -> str:
    """The function as the file hands it on."""
    if not function.keywords:
        return ast.unparse(function.func)
    for title, assigned in origin.assigned.items():
        match assigned.value:
            case ast.Call(args=[inner], keywords=given) as made:
                if origin.qualified(made.func) != "functools.partial":
                    continue
                if ast.unparse(ast.Call(inner, [], given)) == ast.unparse(function):
                    return title
    given = [ast.unparse(function.func), *map(ast.unparse, function.keywords)]
    return f"functools.partial({', '.join(given)})"


def _held(node: ast.ClassDef, start: ast.FunctionDef, title: str) -> str:
    """The attribute that keeps a parameter, where nothing else reads that, and it is only called."""
    kept = [
        self_attribute(s.targets[0]) or ""
        for s in start.body
        if isinstance(s, ast.Assign) and is_name(s.value, title)
    ]
    reads = [p for p in walk(start) if is_name(p, title)]
    if len(kept) != 1 or len(reads) != 1 or not kept[0]:
        return ""
    uses = [p for p in walk(node) if self_attribute(p) == kept[0]]
    calls = [
        p
        for p in walk(node)
        if isinstance(p, ast.Call) and self_attribute(p.func) == kept[0]
    ]
    return kept[0] if calls and len(uses) == len(calls) + 1 else ""


def _given(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, title: str
) -> ast.Call | None:
    """The function that all calls of a class hand it, called with what a partial call of it gives."""
    values: list[ast.expr] = []
    for part in walk(origin.tree):
        if isinstance(part, ast.Call) and is_name(part.func, node.name):
            given = given_to(start, part)
            if given is None or title not in given:
                return None
            values.append(given[title])
        elif isinstance(part, ast.ClassDef) and node.name in map(
            ast.unparse, part.bases
        ):
            return None
    if len({*map(ast.unparse, values)}) != 1:
        return None
    value = values[0]
    assigned = origin.assigned.get(getattr(value, "id", ""))
    if assigned is not None and assigned.value is not None:
        value = assigned.value
    partial = isinstance(value, ast.Call) and (
        origin.qualified(value.func) == "functools.partial"
    )
    if partial:
        assert isinstance(value, ast.Call)
        inner, given = value.args[:1], value.keywords
        if len(value.args) != 1 or any(k.arg is None for k in given):
            return None
        value = inner[0]
    else:
        given = []
    if not isinstance(value, ast.Name) or value.id not in origin.functions:
        return None
    known = all(
        isinstance(k.value, ast.Constant)
        or (isinstance(k.value, ast.Name) and k.value.id in origin.assigned)
        for k in given
    )
    return ast.Call(value, [], given) if known else None


def _is_free(node: ast.ClassDef, start: ast.FunctionDef, function: ast.Call) -> bool:
    """Whether no method has other things under the names of a function and of what it is given."""
    read = {n.id for n in walk(function) if isinstance(n, ast.Name)}
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            bound = {n for s in method.body for n in stored_names(s)}
            if method is not start:
                bound |= {p.arg for p in walk(method) if isinstance(p, ast.arg)}
            if bound & read:
                return False
    return True


class _Called(NodeTransformer):
    def __init__(self, attribute: str, function: ast.Call):
        self.attribute, self.function = attribute, function

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) != self.attribute:
            return node
        made = cloned(self.function)
        made.args, made.keywords = node.args, [*node.keywords, *made.keywords]
        return ast.copy_location(made, node)
