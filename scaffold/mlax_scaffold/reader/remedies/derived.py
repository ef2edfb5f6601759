"""Values that `setup` cannot declare, written where they are read, or as properties."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source, self_attribute


def derived(source: Source, setup: ast.FunctionDef, value: ast.expr) -> Fix | None:
    """`self.name = value` of a schedule or an optimizer.

    A value of fields, and of locals, becomes a property; one of the leaf stands
    where it is read, in methods that have the leaf. None for any other, and where there are several.
    One that is changed after that, as by `self.name.append(...)`, is a local until it is whole.
    """
    for statement in setup.body:
        if isinstance(statement, ast.Assign) and statement.value is value:
            break
    else:
        return None
    name = self_attribute(statement.targets[0]) or ""
    uses = [*uses_of_self(source.tree, name)]
    reads = [u for u in uses if isinstance(u.ctx, ast.Load)]
    if len(uses) - len(reads) != 1:
        return None
    if any(_changes(n, name) for n in ast.walk(source.tree)):
        return _as_local(source, setup, name)
    inputs = {a.arg for a in setup.args.args} - {"self"}
    before = _before(setup, value)
    read = _names(value).union(*map(_names, before or ()))
    if before is None or (before and read & inputs):
        return None
    if read & inputs:
        return _in_places(source, statement, value, reads, read & inputs)
    return _as_property(source, setup, statement, name, before)


def _changes(node: ast.AST, name: str) -> bool:
    """Whether it changes the value of an attribute: `self.sizes.append(size)`, `self.sizes[0] = 1`."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            return _holder(owner) == name
        case ast.Subscript(value=owner, ctx=ast.Store() | ast.Del()):
            return _holder(owner) == name
    return False


def _holder(node: ast.expr) -> str | None:
    """The attribute of self that an item is part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node)


def _as_local(source: Source, setup: ast.FunctionDef, name: str) -> Fix | None:
    """The attribute as a local of `setup`, and declared at its end; None where another method changes it."""
    inside = [*ast.walk(setup)]
    bound = {n.id for n in inside if isinstance(n, ast.Name)}
    bound |= {a.arg for a in inside if isinstance(a, ast.arg)}
    others = (n for n in ast.walk(source.tree) if n not in inside)
    if name in bound or any(_changes(n, name) for n in others):
        return None
    edits = [source.edit(use, name) for use in uses_of_self(setup, name)]
    end = source.end(setup.body[-1])
    text = f"\n{' ' * setup.body[-1].col_offset}self.{name} = {name}"
    return Fix((*edits, source.replace(end, end, text)))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _before(setup: ast.FunctionDef, value: ast.expr) -> list[ast.stmt] | None:
    """The statements that make the locals of a value, in order; None where one does more than that."""
    place = next(i for i, s in enumerate(setup.body) if value in ast.walk(s))
    bound = {name for s in setup.body for name in _changed(s)}
    needed, found = _names(value) & bound - {*_bound(value)}, []
    for statement in reversed(setup.body[:place]):
        changed = {*_changed(statement)}
        if changed & needed:
            found.insert(0, statement)
            needed |= _names(statement) & bound
    later = {name for s in setup.body[place + 1 :] for name in _changed(s)}
    told = {name for s in found for name in _changed(s)}
    declares = any(
        self_attribute(node) and isinstance(node.ctx, ast.Store)
        for statement in found
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute)
    )
    return found if needed <= told and not declares and not later & needed else None


def _changed(statement: ast.stmt) -> Iterator[str]:
    """The locals that a statement binds, or whose values it changes: `sizes.append(size)`, `sizes[0] = 1`."""
    yield from _bound(statement)
    for node in ast.walk(statement):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name


def _bound(scope: ast.AST) -> Iterator[str]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _as_property(
    source: Source,
    setup: ast.FunctionDef,
    statement: ast.stmt,
    name: str,
    before: list[ast.stmt],
) -> Fix:
    assert isinstance(statement, ast.Assign)
    indent = " " * setup.col_offset
    lines = [*map(source.text_of, before), f"return {source.text_of(statement.value)}"]
    # What a statement of several lines holds stands as deep as it did.
    body = "".join(f"{indent}    {line}\n" for line in lines)
    text = f"{indent}@property\n{indent}def {name}(self):\n{body}"
    last = (setup.end_lineno or setup.lineno) + 1
    others = [
        s
        for s in setup.body
        if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    if others == [statement]:
        # The property takes the place of the method, which held nothing else.
        return Fix((source.replace((setup.lineno, 1), (last, 1), text),))
    return Fix(
        (
            removed(source, statement),
            source.replace((last, 1), (last, 1), f"\n{text}"),
        )
    )


def _in_places(
    source: Source,
    statement: ast.stmt,
    value: ast.expr,
    reads: list[ast.Attribute],
    needed: set[str],
) -> Fix | None:
    methods = [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)]
    for use in reads:
        owner = next(m for m in methods if use in ast.walk(m))
        if not needed <= {a.arg for a in owner.args.args} - set(_bound(owner)):
            return None
    atom = isinstance(value, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    bare = source.text_of(value)
    tests = [n.test for n in ast.walk(source.tree) if isinstance(n, ast.If | ast.IfExp)]
    edits = [
        source.edit(use, bare if atom or use in tests else f"({bare})") for use in reads
    ]
    return Fix((removed(source, statement), *edits))
