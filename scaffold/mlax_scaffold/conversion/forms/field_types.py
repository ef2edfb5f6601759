"""Types that a class says of its fields, as those of what its constructor is given for them.

t1: float                                       t1: float

def __init__(self, dim, t1, *, key):            def __init__(self, dim, t1: float, *, key):
    self.t1 = t1                                    self.t1 = t1
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import cloned, walk

_KINDS = ("float", "bool", "str")
"""Whole numbers are sizes where they are used so, and else what their type says."""


def with_field_types(origin: Origin) -> None:
    """Write them so, in place."""
    _with_dtypes(origin)
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        told = {
            p.target.id: p.annotation
            for p in node.body
            if isinstance(p, ast.AnnAssign)
            and isinstance(p.target, ast.Name)
            and ast.unparse(p.annotation) in _KINDS
        }
        if start is None or not told:
            continue
        kept = _kept(start)
        for argument in (*start.args.args, *start.args.kwonlyargs):
            kind = told.get(kept.get(argument.arg, ""))
            if argument.annotation is None and kind is not None:
                argument.annotation = cloned(kind)


_DTYPES = ("float32", "bfloat16", "float16")


def _with_dtypes(origin: Origin) -> None:
    """Call fields of flax that are dtypes by names and defaults, `dtype_mm: str = "float32"`, as it does."""
    fields = {
        (p.target.id, node.name)
        for node in origin.classes.values()
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    }
    found = {
        p.target.id
        for node in origin.classes.values()
        if framework_of(origin, node) == "flax"
        for p in node.body
        if isinstance(p, ast.AnnAssign)
        and isinstance(p.target, ast.Name)
        and "dtype" in p.target.id
        and literal(p.value) in _DTYPES
    } - {"dtype", "param_dtype"}
    both = {c for t, c in fields if t == "dtype"} & {c for t, c in fields if t in found}
    if len(found) != 1 or both:
        return
    for part in walk(origin.tree):
        if isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") in found:
            part.target.id = "dtype"  # type: ignore[union-attr]
        elif isinstance(part, ast.Attribute) and self_attribute(part) in found:
            part.attr = "dtype"
        elif isinstance(part, ast.keyword) and part.arg in found:
            part.arg = "dtype"


def _kept(start: ast.FunctionDef) -> dict[str, str]:
    """The attributes that parameters are kept in as they are."""
    found: dict[str, str] = {}
    for node in start.body:
        match node:
            case ast.Assign(targets=[target], value=ast.Name(id=given)):
                attribute = self_attribute(target)
                if attribute is not None:
                    found[given] = attribute
    return found
