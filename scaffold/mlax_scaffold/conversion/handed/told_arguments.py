"""Parameters of PyTorch's classes that are the same in all calls: None, a function of the file, an object.

`FeedForward(dim, hidden_dim=None)` makes the class one without `if hidden_dim is not None: ...`, and so
does a default that is a function, where no call gives another one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    stored_names,
    without_parameters,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    literal,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk


def without_told_arguments(origin: Origin, thing: str, notes: Notes) -> None:
    """Write what they are in place; of what is converted it is told."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if framework_of(origin, node) != "torch" or start is None:
            continue
        calls = [
            part
            for part in walk(origin.tree)
            if isinstance(part, ast.Call) and is_name(part.func, node.name)
        ]
        defaults = defaults_of(start.args)
        places = [a.arg for a in start.args.args[1:]]
        for place, parameter in enumerate(places):
            given = [a for c in calls for a in c.args[place : place + 1]]
            given += [k.value for c in calls for k in c.keywords if k.arg == parameter]
            default = defaults.get(parameter)
            absent = default is None and given and len(given) == len(calls)
            if absent and all(map(is_none, given)) and node.name != thing:
                _write(node, start, parameter, given[0])
            elif default is not None and _is_one(origin, start, parameter, default):
                if any(not is_name(g, parameter) for g in given):
                    continue
                if node.name == thing:
                    what = (
                        f"`{parameter}` is always its default, `{ast.unparse(default)}`"
                    )
                    notes.remark(start, what, "write another spec for another one")
                _write(node, start, parameter, default)
            else:
                continue
            without_parameters(origin.tree, node, start, {parameter})
    located(origin.tree)


def _is_one(
    origin: Origin, start: ast.FunctionDef, parameter: str, default: ast.expr
) -> bool:
    """Whether a default is what no hyperparameter holds, or is asked what it is."""
    if isinstance(default, ast.Name):
        return default.id in origin.functions
    values = literal(default)
    if isinstance(default, ast.List | ast.Tuple) and isinstance(values, list | tuple):
        return any(isinstance(v, int | float) and v < 0 for v in values)
    for part in walk(start):
        match part:
            case ast.Call(
                func=ast.Name(id="isinstance"), args=[ast.Name(id=title), kind]
            ):
                layer = origin.qualified(kind) == "torch.nn.Module"
                if title == parameter and layer and isinstance(values, bool):
                    return True
            case ast.Attribute(value=ast.Name(id=title)):
                # An object that is there, or is not.
                if title == parameter and is_none(default):
                    return True
    return False


def _write(
    node: ast.ClassDef, start: ast.FunctionDef, parameter: str, value: ast.expr
) -> None:
    start.body = _known(start.body, Known({parameter: value}, {}), parameter)
    if not isinstance(value, ast.Name | ast.List | ast.Tuple):
        return
    kept = {
        str(self_attribute(s.targets[0])): s
        for s in start.body
        if isinstance(s, ast.Assign)
        and self_attribute(s.targets[0])
        and same(s.value, value)
    }
    start.body = [s for s in start.body if s not in kept.values()]
    known = Known({}, dict.fromkeys(kept, value))
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            method.body = [known.visit(s) for s in method.body]


def _known(body: list[ast.stmt], known: Known, parameter: str) -> list[ast.stmt]:
    """The statements with the value in place, up to where the name is bound to another one."""
    made: list[ast.stmt] = []
    queue = [*body]
    while queue:
        part = queue.pop(0)
        if isinstance(part, ast.If):
            part.test = known.visit(part.test)
            decided = truth(part.test)
            if decided is not None:
                queue[:0] = part.body if decided else part.orelse
                continue
        if parameter in stored_names(part):
            if isinstance(part, ast.Assign):
                part.value = known.visit(part.value)
            return [*made, part, *queue]
        made.append(known.visit(part))
    return made
