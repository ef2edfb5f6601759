"""What the statements of a function bind and read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, self_attribute


class Substituted(ast.NodeTransformer):
    """Puts what names hold in the place of the names."""

    def __init__(self, values: Mapping[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        found = self.values.get(target_name(node) or "")
        return self.generic_visit(node) if found is None else found


def target_name(node: ast.AST) -> str | None:
    """What may be assigned to: a name, or an attribute of self."""
    if isinstance(node, ast.Name):
        return node.id
    name = self_attribute(node)
    return f"self.{name}" if name else None


def draws(node: ast.AST) -> bool:
    """Whether an expression calls a method or a layer, which would be called twice."""
    calls = (n.func for n in walk(node) if isinstance(n, ast.Call))
    return any(self_attribute(function) for function in calls)


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names and the attributes of self in expressions, without those of modules."""
    found = {target_name(n) for node in nodes for n in walk(node)}
    return {n for n in found if n} - {"jnp", "jax", "lax"}


def stored_in(statements: Iterable[ast.stmt]) -> set[str]:
    """What statements assign to."""
    nodes = (n for s in statements for n in walk(s))
    stored = (
        target_name(n) for n in nodes if isinstance(getattr(n, "ctx", 0), ast.Store)
    )
    return {*filter(None, stored)}


def bound_before(function: ast.FunctionDef, node: ast.stmt) -> set[str]:
    """What has a value where a statement begins; of attributes, all."""
    found = {a.arg for a in walk(function.args) if isinstance(a, ast.arg)}
    for n in walk(function):
        name = target_name(n)
        if name and ("." in name or getattr(n, "lineno", 0) < node.lineno):
            found.add(name)
    return found


def choices_in(tree: ast.AST) -> Iterator[tuple[str, object]]:
    """The choices that fields and arguments have by a `Literal`, with their names."""
    for node in walk(tree):
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id=name), annotation=annotation)
                | ast.arg(arg=name, annotation=ast.expr() as annotation)
            ) if isinstance(annotation, ast.Subscript) and (
                unparsed(annotation.value) == "Literal"
            ):
                for part in walk(annotation.slice):
                    if isinstance(part, ast.Constant):
                        yield name, part.value


def chain_of(
    node: ast.If,
) -> tuple[list[tuple[ast.expr, list[ast.stmt]]], list[ast.stmt]]:
    """The conditions and the branches of `if` and `elif`, and that of `else`."""
    branches = [(node.test, node.body)]
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        branches.append((node.test, node.body))
    return branches, node.orelse


def is_elif(source: Source, node: ast.If) -> bool:
    return source.text_of(node).startswith("elif")


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a statement, without the functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield child
            yield from inside(child)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements in a node."""
    for inner in walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(inner, name, None)
            if isinstance(block, list):
                yield block
