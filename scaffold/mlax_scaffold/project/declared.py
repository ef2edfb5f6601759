"""Edits of what a generated module declares: what of it a spec says elsewhere, and where."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from mlax_scaffold.reader.imports import BASES

_BODY = (
    "No line of the spec says that: it is what the generator adds (checks, keys, casts, "
    "state), or stands between such lines. Say it in the spec."
)
_SIGNATURE = (
    "Signatures follow from the spec: those of `init` from the fields of its class and the "
    "initializers in `setup`, others from the arguments of its methods. Change it there."
)
_DOCUMENTATION = (
    "Documentation follows from the docstring of the spec's class, from the `#:` comments "
    "beside its fields, and from its annotations. Change it there."
)
_FIELDS = (
    "Classes of fields follow from the spec: hyperparameters from the fields of its class, "
    "weights and state from what `setup` declares. Change it there."
)


def why_not(before: str, after: str) -> str:
    """Why an edit of a function or of a class has no line in the spec, and where to make it."""
    one = _parsed(before)
    if documentation(before) != documentation(after):
        return _DOCUMENTATION
    if isinstance(one, ast.ClassDef | ast.AnnAssign):
        return _FIELDS
    return _SIGNATURE if declares_otherwise(before, after) else _BODY


def inherits(spec: str, name: str, methods: Sequence[str]) -> str:
    """Why the body of a method is no line of a spec: its class has it from another; else nothing.

    Args:
        spec: the text of the spec.
        name: the name of its class.
        methods: what a function may follow from.
    """
    for node in ast.parse(spec).body:
        match node:
            case ast.ClassDef(name=own, bases=[ast.Name(id=base)]) if own == name:
                there = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
                if base not in BASES and not set(methods) & set(there):
                    return (
                        f"{name} is based on {base}, and has this from it. Edit {base}, whose "
                        f"other classes follow, or write `{methods[0]}` in {name}."
                    )
    return ""


def declares_otherwise(before: str, after: str) -> bool:
    """Whether the signature of a function was edited, or the fields of a class."""
    one, two = _parsed(before), _parsed(after)
    if isinstance(one, ast.ClassDef | ast.AnnAssign):
        return True
    if isinstance(one, ast.FunctionDef) and isinstance(two, ast.FunctionDef):
        return _head(one) != _head(two)
    return False


def documentation(text: str) -> list[str]:
    """The docstrings of some code, those of fields too."""
    nodes = ast.walk(ast.parse(textwrap.dedent(text)))
    return [ast.unparse(node) for node in nodes if _is_text(node)]


def undocumented(text: str) -> str:
    """Some code without its docstrings."""
    text = textwrap.dedent(text)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and _is_text(node):
            last = node.end_lineno or node.lineno
            lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return "".join(lines)


def with_defaults(spec: str, name: str, before: str, after: str) -> str:
    """The spec whose fields have the defaults that a signature was edited to have.

    Args:
        spec: the text of the spec.
        name: the name of its class.
        before: the generated function.
        after: that function as it was edited.
    """
    old, new = _defaults(before), _defaults(after)
    changed = {arg: value for arg, value in new.items() if old.get(arg, value) != value}
    lines = spec.splitlines(keepends=True)
    for node in reversed(list(_fields(spec, name))):
        assert isinstance(node.target, ast.Name)
        value = node.value
        wanted = changed.get(node.target.id)
        if wanted is None or value is None or value.lineno != value.end_lineno:
            continue
        lines[value.lineno - 1] = _written(lines[value.lineno - 1], value, wanted)
    return "".join(lines)


def _fields(spec: str, name: str) -> Iterator[ast.AnnAssign]:
    for node in ast.parse(spec).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(
                    item.target, ast.Name
                ):
                    yield item


def _defaults(function: str) -> dict[str, str]:
    node = _parsed(function)
    if not isinstance(node, ast.FunctionDef):
        return {}
    places = [*node.args.posonlyargs, *node.args.args]
    given = zip(reversed(places), reversed(node.args.defaults), strict=False)
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {arg.arg: ast.unparse(value) for arg, value in (*given, *named) if value}


def with_attribute(spec: str, name: str, before: str, after: str) -> str:
    """The spec whose class says in an attribute what an expression was edited to be.

    Bodies that a class inherits differ in such attributes alone: `activation = jax.nn.relu`.

    Args:
        spec: the text of the spec.
        name: the name of its class.
        before: the generated function.
        after: that function as it was edited.
    """
    edits = {
        (ast.unparse(one), ast.unparse(two))
        for one, two in _differences(_parsed(before), _parsed(after))
    }
    if len(edits) != 1:
        return spec
    [(old, new)] = edits
    values = [
        statement.value
        for node in ast.parse(spec).body
        if isinstance(node, ast.ClassDef) and node.name == name
        for statement in node.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value) == old
    ]
    if len(values) != 1 or values[0].lineno != values[0].end_lineno:
        return spec
    [value], lines = values, spec.splitlines(keepends=True)
    lines[value.lineno - 1] = _written(lines[value.lineno - 1], value, new)
    return "".join(lines)


def _written(line: str, value: ast.expr, wanted: str) -> str:
    """A line with other text in the place of a value."""
    held = line.encode()
    end = value.end_col_offset
    return (held[: value.col_offset] + wanted.encode() + held[end:]).decode()


def _differences(
    one: ast.AST | None, two: ast.AST | None
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The smallest whole expressions in which two trees differ."""
    if one is None or two is None or ast.dump(one) == ast.dump(two):
        return
    pairs = list(
        zip(ast.iter_child_nodes(one), ast.iter_child_nodes(two), strict=False)
    )
    whole = isinstance(one, ast.Attribute | ast.Constant | ast.Name) or type(
        one
    ) is not type(two)
    if whole and isinstance(one, ast.expr) and isinstance(two, ast.expr):
        yield one, two
        return
    for pair in pairs:
        yield from _differences(*pair)


def _parsed(text: str) -> ast.stmt | None:
    body = ast.parse(textwrap.dedent(text)).body
    return body[0] if body else None


def _head(function: ast.FunctionDef) -> tuple[str, ...]:
    parts = (function.args, function.returns, *function.decorator_list)
    return tuple(ast.unparse(part) for part in parts if part is not None)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
