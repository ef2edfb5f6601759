"""Classes of linen without weights that are given sizes, as functions: `Positions(dim)(x.shape[1])`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    name,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_weightless_layers(origin: Origin, thing: str) -> None:
    """Write them as functions of the file, in place, where each is called where it is made."""
    made = False
    for node in list(origin.classes.values()):
        if node.name == thing or framework_of(origin, node) != "flax":
            continue
        call = _only_call(origin, node)
        if call is None or not is_layer_class(origin, node):
            continue
        used = [p for p in walk(origin.tree) if is_name(p, node.name)]
        calls = [
            p
            for p in walk(origin.tree)
            if isinstance(p, ast.Call)
            and isinstance(p.func, ast.Call)
            and is_name(p.func.func, node.name)
        ]
        if not calls or len(used) != len(calls) or not any(map(_counts, calls)):
            continue
        function = _function(node, call)
        origin.tree.body[origin.tree.body.index(node)] = function
        for part in calls:
            _rewrite(part, node, function.name)
        made = True
    if made:
        origin.forget("classes", "functions")
        located(origin.tree)


def _only_call(origin: Origin, node: ast.ClassDef) -> ast.FunctionDef | None:
    """The method of a class that has no other one, no weights, and no layers."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    if [m.name for m in methods] != ["__call__"]:
        return None
    fields = {p.target.id for p in _fields(node)}  # type: ignore[union-attr]
    for part in walk(methods[0]):
        attribute = self_attribute(part)
        if attribute is not None and attribute not in fields:
            return None
        if not isinstance(part, ast.Call):
            continue
        if self_attribute(part.func) is not None:
            return None
        last = ast.unparse(part.func).rpartition(".")[2]
        own = last in origin.classes
        if own or (
            origin.qualified(part.func).startswith("flax") and last[:1].isupper()
        ):
            return None
    return methods[0]


def _fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        p
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]


def _counts(call: ast.Call) -> bool:
    """Whether a call is given a size of an array, or a number."""
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(
        isinstance(a, ast.Subscript)
        and isinstance(a.value, ast.Attribute)
        and a.value.attr == "shape"
        for a in given
    )


def _function(node: ast.ClassDef, call: ast.FunctionDef) -> ast.FunctionDef:
    given = beside_self(cloned(call.args))
    parts: dict[str, ast.expr] = {}
    for field in _fields(node):
        title = field.target.id  # type: ignore[union-attr]
        parts[title] = name(title)
        given.kwonlyargs.append(ast.arg(title, cloned(field.annotation)))
        given.kw_defaults.append(cloned(field.value))
    body = [_Locals().visit(cloned(p)) for p in without_docstring(call.body)]
    title = "".join(f"_{c.lower()}" if c.isupper() else c for c in node.name)
    made = ast.FunctionDef(title.lstrip("_"), given, body, [], call.returns)
    return ast.copy_location(made, call)


class _Locals(NodeTransformer):
    """`self.dim` as `dim`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        attribute = self_attribute(node)
        return node if attribute is None else ast.copy_location(name(attribute), node)


def _rewrite(call: ast.Call, node: ast.ClassDef, title: str) -> None:
    """Call the function with what the class was made with, in place."""
    inner = call.func
    assert isinstance(inner, ast.Call)
    titles = [p.target.id for p in _fields(node)]  # type: ignore[union-attr]
    named = [ast.keyword(t, a) for t, a in zip(titles, inner.args, strict=False)]
    named += [k for k in inner.keywords if k.arg != "name"]
    call.func = ast.copy_location(name(title), inner)
    call.keywords += named
