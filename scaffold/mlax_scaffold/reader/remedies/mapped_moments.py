"""What an optimizer makes for each leaf, `jax.tree.map(lambda w: state(...), params)`, as moments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, class_of, dotted

_LEAF = "param"


def of_each_leaf(
    source: Source, method: ast.FunctionDef, statement: ast.stmt
) -> Fix | None:
    """The statement as one of `setup`, which is of each leaf.

    Args:
        source: the spec.
        method: what it stands in, `setup` or `setup_tree`.
        statement: `self.name = jax.tree.map(...)`.
    """
    match statement, method.args.args:
        case (
            ast.Assign(
                targets=[ast.Attribute() as target],
                value=ast.Call(
                    func=called,
                    args=[
                        ast.Lambda(
                            args=ast.arguments(args=[ast.arg(arg=leaf)]),
                            body=ast.Call(args=[initializer, *given]) as made,
                        ),
                        ast.Name(id=over),
                    ],
                    keywords=[],
                ),
            ),
            [_, ast.arg(arg=weights)],
        ) if (dotted(called) or "").endswith(("tree.map", "tree_map")):
            pass
        case _:
            return None
    known = dotted(made.func) in ("state", "moment") and not made.keywords
    if not known or over != weights or not given:
        return None
    if len(given) == 2 and unparsed(given[1]) == f"{leaf}.dtype":
        given = given[:1]  # A moment has that of its leaf.
    others = {n.id for part in (initializer, *given) for n in _names(part)}
    locals_ = {n.id for n in _names(method) if isinstance(n.ctx, ast.Store)}
    if others & ({weights} | locals_):
        return None
    owner = class_of(source.tree, method)
    body = owner.body if owner else ()
    methods = [m for m in body if isinstance(m, ast.FunctionDef)]
    setup = next((m for m in methods if m.name == "setup"), None)
    own = [a.arg for a in setup.args.args[1:]] if setup else [_LEAF]
    if len(own) != 1:
        return None
    moment = word(source, "moment")
    parts = (initializer, *given)
    texts = [_renamed(part, leaf, own[0]) for part in parts]
    line = f"{unparsed(target)} = {moment.bound}({', '.join(texts)})"
    edits: list[Edit] = []
    if setup is not None and setup.lineno == method.lineno:
        edits = [source.edit(statement, line)]
    elif setup is not None:
        end = source.end(setup.body[-1])
        margin = "\n" + " " * setup.body[-1].col_offset
        edits = [removed(source, statement), source.replace(end, end, margin + line)]
    elif method.body == [statement]:
        head = source.start(method), source.start(statement)
        margin = "\n" + " " * statement.col_offset
        text = f"def setup(self, {_LEAF}):{margin}"
        edits = [source.replace(*head, text), source.edit(statement, line)]
    else:
        margin = "\n" + " " * method.col_offset
        text = f"def setup(self, {_LEAF}):{margin}    {line}\n{margin}"
        edits = [removed(source, statement), source.insert(method, text)]
    return Fix(tuple(edits), (moment,))


def _names(node: ast.AST) -> Iterator[ast.Name]:
    return (n for n in walk(node) if isinstance(n, ast.Name))


def _renamed(node: ast.expr, leaf: str, name: str) -> str:
    tree = ast.parse(unparsed(node), mode="eval")
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id == leaf:
            part.id = name
    return unparsed(tree.body)
