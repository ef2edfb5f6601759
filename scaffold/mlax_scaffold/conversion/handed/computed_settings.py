"""Configurations whose constructors compute some of what they keep: fields, and a `__post_init__`.

class Config:                                        class Config:
    def __init__(self, heads=8, kv=None):                heads = 8
        if kv is None:                                   kv: int | None = None
            kv = heads                    becomes        def __post_init__(self):
        self.heads = heads                                   if self.kv is None:
        self.kv = kv                                             self.kv = self.heads

What a parameter of a layer's is called does not matter: this is about classes of settings alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.config_classes import (
    is_titled_settings,
    settings_class,
)
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    name,
    names,
    self_attribute,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_computed_settings(origin: Origin) -> None:
    """Change such classes of a file in place."""
    changed = False
    for title, node in origin.classes.items():
        start = method_of(node, "__init__")
        if start is None or is_layer_class(origin, node):
            continue
        if not is_titled_settings(title) or settings_class(origin, name(title)):
            continue
        made = _made(node, start)
        if made is not None:
            at = node.body.index(start)
            node.body[at : at + 1] = made
            changed = True
    if changed:
        located(origin.tree)


def _made(node: ast.ClassDef, start: ast.FunctionDef) -> list[ast.stmt] | None:
    """What stands for the constructor; None where it does more than to set what it is given."""
    given = dict(_parameters(start))
    if start.args.vararg is not None or not given:
        return None
    body = [
        part
        for part in without_docstring(start.body)
        if not ast.unparse(part).startswith("super()") and not _is_kept(part)
    ]
    parts = {title: ast.Attribute(name("self"), title, ast.Load()) for title in given}
    settled = [with_names(cloned(part), parts) for part in body]
    if not all(_only_sets(part) for part in settled):
        return None
    read = {n.id for p in settled for n in walk(p) if isinstance(n, ast.Name)}
    others = {start.args.kwarg.arg} if start.args.kwarg is not None else set()
    if read & others or _is_apart(body, {*given}):
        return None
    fields: list[ast.stmt] = [
        ast.AnnAssign(ast.Name(title, ast.Store()), annotation, default, 1)
        for title, (annotation, default) in given.items()
    ]
    if settled:
        late = cloned(start)
        late.name = "__post_init__"
        late.args.args = late.args.args[:1]
        late.args.defaults, late.args.kwonlyargs = [], []
        late.args.kw_defaults, late.args.kwarg = [], None
        late.body = settled
        fields.append(late)
    return [ast.copy_location(part, start) for part in fields]


def _parameters(
    start: ast.FunctionDef,
) -> Iterator[tuple[str, tuple[ast.expr, ast.expr | None]]]:
    """The parameters, with their types, told by their defaults where they are not written."""
    given = start.args.args[1:]
    early = [None] * (len(given) - len(start.args.defaults))
    defaults = [*early, *start.args.defaults, *start.args.kw_defaults]
    for argument, default in zip(
        (*given, *start.args.kwonlyargs), defaults, strict=True
    ):
        kind = type(literal(default)).__name__ if default is not None else "int"
        kind = {"NoneType": "int | None"}.get(kind, kind)
        annotation = argument.annotation or ast.parse(kind, mode="eval").body
        yield argument.arg, (cloned(annotation), cloned(default))


def _is_kept(node: ast.stmt) -> bool:
    """Whether a statement is `self.heads = heads`."""
    match node:
        case ast.Assign(targets=[target], value=value):
            return is_name(value, self_attribute(target) or "")
    return False


def _is_apart(body: list[ast.stmt], given: set[str]) -> bool:
    """Whether a parameter is read after something else was kept under its name."""
    kept: set[str] = set()
    for part in body:
        if names(part) & kept:
            return True
        kept |= {
            attribute
            for inner in walk(part)
            if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
            if (attribute := self_attribute(inner)) in given
        }
    return False


def _only_sets(node: ast.stmt) -> bool:
    """Whether a statement sets attributes, perhaps under a condition, or refuses something."""
    match node:
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            return self_attribute(target) is not None
        case ast.If(body=body, orelse=[]):
            return all(_only_sets(part) for part in body)
    return isinstance(node, ast.Raise | ast.Assert | ast.Pass)
