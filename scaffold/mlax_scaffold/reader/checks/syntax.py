"""Finds what is Python, and yet means something else to some of its readers, or cannot be read at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mlax_scaffold.model.import_time import MAX_BITS
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import renamed
from mlax_scaffold.reader.source import Source

# PEP 263; Python looks for it on the first two lines.
_ENCODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_UTF_8 = re.compile(r"utf[-_]?8([-_].*)?", re.IGNORECASE)


def check_syntax(source: Source, tree: ast.Module) -> None:
    """Report what is read in different ways by Python, by the generator and by people."""
    for number, line in enumerate(source.lines[:2], 1):
        found = _ENCODING.match(line)
        if found and not _UTF_8.fullmatch(found[1]):
            source.report(
                number,
                f"the spec says that its encoding is {found[1]}",
                "Specs are UTF-8: remove the comment.",
            )
    for node in walk(tree):
        match node:
            case ast.Constant(value=int(value)) if value.bit_length() > MAX_BITS:
                source.report(
                    node,
                    f"a number of {value.bit_length()} bits",
                    "Numbers have at most as many as the largest of float64: "
                    f"{MAX_BITS}.",
                )
            case ast.AnnAssign(target=ast.Name(id=name), simple=0):
                source.report(
                    node.target,
                    f"`({name})` is annotated in parentheses, and so declares nothing",
                    f"Write `{name}: ...`.",
                )
            case ast.ClassDef():
                _check_self(source, node)


def _check_self(source: Source, owner: ast.ClassDef) -> None:
    """Report methods that call the object by another name than `self`."""
    methods = [m for m in owner.body if isinstance(m, ast.FunctionDef)]
    named = [(m, name) for m in methods if (name := _other_name(m))]
    members = {getattr(s, "name", "") for s in owner.body} | {
        unparsed(s.target) for s in owner.body if isinstance(s, ast.AnnAssign)
    }
    for method, name in named:
        members |= {n.attr for n in _read_of(method, name, ast.Store)}
    for method, name in named:
        if any(n.attr in members for n in _read_of(method, name, ast.expr_context)):
            source.report(
                method.args.args[0],
                f"{method.name} calls the object `{name}`",
                "In a spec it is called `self`.",
                fix=renamed(source, method, name, "self"),
            )


def _other_name(method: ast.FunctionDef) -> str | None:
    """The first parameter of a method, where it has no type and is not `self`."""
    match method:
        case ast.FunctionDef(
            args=ast.arguments(args=[ast.arg(arg=name, annotation=None), *_]),
            decorator_list=[] | [ast.Name(id="property")],
        ) if name != "self":
            return name
    return None


def _read_of(
    method: ast.AST, name: str, context: type[ast.expr_context]
) -> Iterator[ast.Attribute]:
    """The attributes of a name that are read, or set."""
    for node in walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), ctx=ctx) if (
                owner == name and isinstance(ctx, context)
            ):
                yield node
