"""Classes of PyTorch without attributes that calls hand a layer, `self.attend(q, k, dropout=self.dropout)`.

They are functions of the file then, which are given layers as any other ones are.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.handed.functions_of_layers import called_parameters
from mlax_scaffold.conversion.source.arguments_of import beside_self, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    Removing,
    is_name,
    name,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    located,
    walk,
)


def without_parts_of_layers(origin: Origin, thing: str) -> None:
    """Write them so, in place."""
    found = False
    for node in list(origin.classes.values()):
        call = _only_call(origin, node) if node.name != thing else None
        if call is None:
            continue
        owners = [
            (owner, made)
            for owner in origin.classes.values()
            if (made := _made_in(owner, node.name))
        ]
        uses = [p for p in walk(origin.tree) if is_name(p, node.name)]
        called = called_parameters(call)
        if not owners or len(uses) != sum(len(made) for _, made in owners):
            continue
        if not any(_hands_layers(o, made, call, called) for o, made in owners):
            continue
        if not all(_only_calls(o, made) for o, made in owners):
            continue
        title = _title(origin, node.name)
        call.name, call.args = title, beside_self(call.args, open_ended=True)
        origin.tree.body[origin.tree.body.index(node)] = call
        for owner, made in owners:
            _Called(made, title).visit(owner)
        found = True
        origin.forget("classes", "functions")
    if found:
        located(origin.tree)


def _only_call(origin: Origin, node: ast.ClassDef) -> ast.FunctionDef | None:
    """The call of a class that has nothing else, and reads nothing of its object."""
    call = method_of(node, "forward")
    if call is None or [*map(origin.qualified, node.bases)] != ["torch.nn.Module"]:
        return None
    for part in node.body:
        match part:
            case ast.FunctionDef(name="__init__"):
                if any(not _is_super(s) for s in part.body):
                    return None
            case ast.FunctionDef() if part is not call:
                return None
            case ast.Assign() | ast.AnnAssign():
                return None
    reads = any(is_name(p, call.args.args[0].arg) for s in call.body for p in walk(s))
    return None if reads or call.decorator_list else call


def _is_super(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and "super(" in ast.unparse(node)
    )


def _made_in(node: ast.ClassDef, title: str) -> set[str]:
    """The attributes of a class that are made of it, by a constructor."""
    return {
        attribute
        for part in walk(method_of(node, "__init__") or ast.Pass())
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and is_name(part.value.func, title)
        and (attribute := self_attribute(part.targets[0])) is not None
    }


def _calls(node: ast.ClassDef, made: set[str]) -> list[ast.Call]:
    return [
        p
        for p in walk(node)
        if isinstance(p, ast.Call) and self_attribute(p.func) in made
    ]


def _only_calls(node: ast.ClassDef, made: set[str]) -> bool:
    reads = [p for p in walk(node) if self_attribute(p) in made]
    # Each is set once, and called otherwise.
    return len(reads) == len(_calls(node, made)) + len(made)


def _hands_layers(
    node: ast.ClassDef, made: set[str], call: ast.FunctionDef, called: set[str]
) -> bool:
    places = [a.arg for a in call.args.args[1:]]
    for one in _calls(node, made):
        given = dict(zip(places, one.args, strict=False))
        given |= {str(k.arg): k.value for k in one.keywords}
        if any(p in called and self_attribute(v) for p, v in given.items()):
            return True
    return False


def _title(origin: Origin, text: str) -> str:
    made = "".join(f"_{c.lower()}" if c.isupper() else c for c in text).lstrip("_")
    known = {*origin.functions, *origin.classes, *origin.imports}
    while made in known:
        made += "_of"
    return made


class _Called(Removing):
    """Calls the function in the place of attributes, which nothing makes then."""

    def __init__(self, made: set[str], title: str):
        self.made, self.title = made, title

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        return None if self_attribute(node.targets[0]) in self.made else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) in self.made:
            node.func = ast.copy_location(name(self.title), node.func)
        return node
