"""What generated functions say, in the words of the method of a spec that they follow from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OWNERS = (
    (r"\bnot inference_mode\b", "self.training"),
    # As a parameter it has a type.
    (r"\binference_mode\b(?!:)", "not self.training"),
    (r"\barrays\.in_dtype\(([\w.]+), [\w.]+\)", r"\1"),
    (r"\b(hyperparams|trainables|non_trainables|state)\.", "self."),
    (r",[^\S\n]*non_trainables\b", ""),
    (r"(?m)^(\s*return\b.*|[])}]+),\s*None$", r"\1"),
)
"""What stands in specs for what the functions take."""

_ADDED = ((r"\.astype\([\w.]+\.dtype\)", ""), (r"\btrees\.scalar\(", ""))
"""What the generator adds around what is said."""

_FIELD = re.compile(r"arrays\.in_dtype\((?:trainables|non_trainables)\.(\w+), [\w.]+\)")


def told(text: str) -> str:
    """What a spec calls that, without what the generator adds around it."""
    text = _in_words(text, (*_OWNERS, *_ADDED))
    try:
        whole = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text
    if isinstance(whole, ast.Tuple) and all(
        isinstance(e, ast.Name | ast.Constant) for e in whole.elts[1:]
    ):
        # What a function returns beside its result.
        return f" {ast.get_source_segment(text.strip(), whole.elts[0])}"
    return text


def told_function(text: str, method: str) -> str:
    """A generated function as the method of a spec would say it, line by line.

    Args:
        text: the function.
        method: the method, with the locals of its own and the fields that it names.
    """
    return _in_words(_with_fields(text, method), _OWNERS)


def _in_words(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in pairs:
        text = re.sub(pattern, replacement, text)
    return text


def _with_fields(text: str, method: str) -> str:
    """A function in which the locals that the generator made of fields are fields."""
    tree, own = ast.parse(text), _Method.of(method)
    called = {name: f"self.{name}" for name in own.fields - own.names}
    called |= {name: f"self.{field}" for name, field in _cast_weights(tree)}
    changes = list(_returned_beside(tree, called)) if own.returns_one else []
    hoisted: dict[str, str] = {}
    anew: list[tuple[ast.stmt, list[str]]] = []
    for node in _in_order(tree):
        if call := _called_layer(node):
            statement, name, layer, given, named = call
            known = called | hoisted
            said = [_said(value, known) for value in given]
            said += [f"{k.arg}={_said(k.value, known)}" for k in named]
            whole = f"self.{layer}({', '.join(said)})"
            if name in own.names:
                anew.append((statement, [f"{name} = {whole}"]))
            else:
                hoisted[name] = whole
                anew.append((statement, []))
        elif state := _next_state(node):
            statement, values = state
            fields = [(k, v) for k, v in values if k in own.assigned]
            known = called | hoisted
            lines = [f"self.{field} = {_said(v, known)}" for field, v in fields]
            anew.append((statement, lines))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if said := {**called, **hoisted}.get(node.id):
                changes.append((_span(node), said))
        elif isinstance(node, ast.Name) and node.id in called:
            changes.append((_span(node), called[node.id]))
    return _with_statements(_changed(text, changes), anew)


def _with_statements(text: str, anew: list[tuple[ast.stmt, list[str]]]) -> str:
    """A text with other lines in the place of statements, where a block stays one without them."""
    lines = text.splitlines(keepends=True)
    for node, said in sorted(anew, key=lambda pair: pair[0].lineno, reverse=True):
        margin = " " * node.col_offset
        lines[node.lineno - 1 : node.end_lineno] = [
            f"{margin}{line}\n" for line in said
        ]
    written = "".join(lines)
    try:
        ast.parse(written)
    except SyntaxError:
        return text
    return written


_Span = tuple[int, int, int]
"""A line, and two columns of it in bytes."""


def _span(node: ast.expr) -> _Span:
    return node.lineno, node.col_offset, node.end_col_offset or node.col_offset


def _changed(text: str, changes: list[tuple[_Span, str]]) -> str:
    """A text with some parts of lines written otherwise; parts of those are left."""
    lines = text.splitlines(keepends=True)
    outer: list[tuple[_Span, str]] = []
    for span, said in sorted(changes, key=lambda c: (c[0][:2], -c[0][2])):
        if not outer or outer[-1][0][0] != span[0] or outer[-1][0][2] <= span[1]:
            outer.append((span, said))
    for (number, start, end), said in reversed(outer):
        line = lines[number - 1].encode()
        lines[number - 1] = (line[:start] + said.encode() + line[end:]).decode()
    return "".join(lines)


def _said(node: ast.expr, called: dict[str, str]) -> str:
    """An expression on one line, with other names."""
    text = ast.unparse(node)
    names = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)]
    found = [(_span(n), called[n.id]) for n in names if n.id in called]
    return _changed(text, found)


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes as they are evaluated: what is assigned after what is assigned to it."""
    for child in ast.iter_child_nodes(tree):
        yield from _in_order(child)
    yield tree


def _called_layer(
    node: ast.AST,
) -> tuple[ast.Assign, str, str, list[ast.expr], list[ast.keyword]] | None:
    """An assignment of what a layer makes: the local, the layer, and the arguments of its call."""
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[ast.Name(id=name), ast.Name()])],
            value=ast.Call(
                func=ast.Attribute(attr="fwd"),
                args=[given, _, _, ast.Attribute(attr=layer), *_],
                keywords=named,
            ),
        ):
            several = given.elts if isinstance(given, ast.Tuple) else [given]
            return node, name, layer, several, named
    return None


def _next_state(
    node: ast.AST,
) -> tuple[ast.Assign, list[tuple[str, ast.expr]]] | None:
    """An assignment of the next state, and what is kept in each field."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id="non_trainables")],
            value=ast.Call(func=ast.Attribute(attr="_replace"), keywords=keywords),
        ):
            found = [(k.arg, _stored(k.value)) for k in keywords if k.arg]
            return node, found
    return None


def _stored(value: ast.expr) -> ast.expr:
    """What is kept, without the cast to the dtype that it is kept in."""
    match value:
        case ast.Call(func=ast.Attribute(attr="asarray"), args=[kept, _]):
            return kept
    return value


def _returned_beside(
    tree: ast.AST, called: dict[str, str]
) -> Iterator[tuple[_Span, str]]:
    """What is returned beside the result: state."""
    for node in ast.walk(tree):
        match node:
            case ast.Return(value=ast.Tuple(elts=[only]) as whole):
                yield from _without_tuple(whole, only)
            case ast.Return(value=ast.Tuple(elts=[first, *others])):
                fields = [isinstance(e, ast.Name) and e.id in called for e in others]
                last = others[-1] if others else first
                one_line = first.end_lineno == last.end_lineno
                if fields and all(fields) and one_line and first.end_lineno:
                    end = last.end_col_offset or 0
                    yield (first.end_lineno, first.end_col_offset or 0, end), ""


def _without_tuple(whole: ast.Tuple, only: ast.expr) -> Iterator[tuple[_Span, str]]:
    """What makes a tuple of one result, which says nothing."""
    line, start, end = _span(whole)
    if whole.end_lineno == line:
        yield (line, start, start + len("(")), ""
        yield (line, end - len(",)"), end), ""
    elif only.end_lineno:
        last = only.end_col_offset or 0
        yield (only.end_lineno, last, last + len(",")), ""


@dataclass(frozen=True)
class _Method:
    """What a method of a spec names, and what it returns."""

    fields: frozenset[str]
    assigned: frozenset[str]
    names: frozenset[str]
    returns_one: bool

    @classmethod
    def of(cls, text: str) -> _Method:
        """What a text says."""
        nodes = list(ast.walk(ast.parse(text)))
        own = [
            n
            for n in nodes
            if isinstance(n, ast.Attribute)
            and isinstance(n.value, ast.Name)
            and n.value.id == "self"
        ]
        fields = frozenset(n.attr for n in own)
        assigned = frozenset(n.attr for n in own if isinstance(n.ctx, ast.Store))
        names = {n.id for n in nodes if isinstance(n, ast.Name)}
        names |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        returned = [n.value for n in nodes if isinstance(n, ast.Return)]
        one = not any(isinstance(value, ast.Tuple) for value in returned)
        return cls(fields, assigned, frozenset(names), one)


def _cast_weights(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The locals that are weights in the dtype of the input, and the fields that they are."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found = _FIELD.fullmatch(ast.unparse(value))
                if found:
                    yield name, found.group(1)
