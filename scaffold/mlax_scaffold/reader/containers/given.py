"""Layers that a block is given, in methods: their other names, and loops over their numbers.

`for i in range(len(self.layers)): x = self.layers[i](x)` is read as
`for i, layer in enumerate(self.layers): x = layer(x)`, and `layers = self.layers` is no statement.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.model.resolved import Change
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.containers.handing import (
    as_function,
    called_later,
    handed_on,
    item_of,
)
from mlax_scaffold.reader.looping import looped
from mlax_scaffold.reader.source import self_attribute

SEVERAL = "SubLayers"
"""The word of fields that hold several layers."""
ONE = "SubLayer"
_ENDS = ast.Break | ast.Continue | ast.Return
"""What ends a pass of a loop, or the loop."""


def fields_of(node: ast.ClassDef, word: str) -> set[str]:
    """The fields of a class that have a type."""
    return {
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and unparsed(statement.annotation).removesuffix(" | None") == word
    }


def changes_of(
    node: ast.ClassDef, several: Collection[str], one: Collection[str]
) -> Iterator[Change]:
    """What to change in the methods of a class, by the names of its fields that hold layers."""
    fields = {*several, *one}
    for method in node.body:
        if fields and isinstance(method, ast.FunctionDef) and method.name != "setup":
            yield from _Method(method, fields, {*several}).changes()


def slices_of(node: ast.ClassDef, containers: Collection[str]) -> Iterator[Change]:
    """What to change for other names of parts of containers: `first = self.layers[::2]` is no statement."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name != "setup":
            found = _Method(method, set(), {*containers})
            found.keep_slices()
            yield from found.renamed()


class _Method:
    def __init__(
        self, method: ast.FunctionDef, fields: set[str], several: set[str]
    ) -> None:
        self.method = method
        self.fields = fields
        self.several = several
        self.nodes = list(walk(method))
        self.names = [n for n in self.nodes if isinstance(n, ast.Name)]
        self.handed = handed_on(self.nodes)
        arguments = [n.arg for n in self.nodes if isinstance(n, ast.arg)]
        stored = [n.id for n in self.names if isinstance(n.ctx, ast.Store)]
        self.bound = [*arguments, *stored]
        self.renaming: list[ast.Assign | ast.NamedExpr] = []
        """What only gives layers other names."""
        self.aliases: dict[str, str] = {}
        for node in self.nodes:
            if not isinstance(node, ast.Assign | ast.NamedExpr):
                continue
            names = self._aliases(node)
            if names and all(self.bound.count(name) == 1 for name in names):
                self.renaming.append(node)
                self.aliases |= names

    def keep_slices(self) -> None:
        """Only names that all stand for slices where they are given, or are unpacked, are other names."""
        given = {s: self._aliases(s) for s in self.renaming}
        self.renaming = [
            s
            for s in given
            if all(":" in t for t in given[s].values()) or _is_unpacked(s)
        ]
        self.aliases = {n: t for s in self.renaming for n, t in given[s].items()}

    def changes(self) -> Iterator[Change]:
        counted = [pair for loop in self._loops() for pair in self._counted(*loop)]
        counted += [pair for loop in self._inner() for pair in self._placed(loop)]
        inside = {id(n) for node, _ in counted for n in walk(node)}
        for node in self.nodes:
            # An index that runs over all layers says which one it is when it is called.
            if isinstance(node, ast.Subscript) and id(node) not in inside:
                field, count = self._field(node.value), self.handed.get(id(node))
                if field in self.fields and count and not _is_slice(node):
                    layer = f"self.{field}[{unparsed(node.slice)}]"
                    counted.append((node, as_function(layer, count)))
        yield from (_change(node, text) for node, text in counted)
        yield from self.renamed({id(n) for node, _ in counted for n in walk(node)})

    def renamed(self, inside: Collection[int] = ()) -> Iterator[Change]:
        """What other names stand for, in their place; not for nodes that others change."""
        for node in self.renaming:
            if isinstance(node, ast.Assign):
                yield _change(node, self._left(node))
            elif id(node) not in inside:
                yield _change(node, self.aliases[node.target.id])
        inner: set[int] = set()
        for node in self.nodes:
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                    ":" in self.aliases.get(name, "") and id(node) not in inside
                ):
                    part = ast.parse(self.aliases[name], mode="eval").body
                    layer = item_of(part, index)
                    if layer is not None and isinstance(node.ctx, ast.Load):
                        inner.add(id(node.value))
                        yield _change(node, self._as_value(node, unparsed(layer)))
        for name in self.names:
            text = self.aliases.get(name.id)
            if (
                text
                and isinstance(name.ctx, ast.Load)
                and id(name) not in {*inside, *inner}
            ):
                yield _change(name, self._as_value(name, text))

    def _as_value(self, node: ast.expr, layer: str) -> str:
        """A layer of several as a function where it is handed on."""
        count = self.handed.get(id(node))
        several = "[" in layer and ":" not in layer
        return as_function(layer, count) if several and count else layer

    def _loops(self) -> Iterator[tuple[ast.expr, ast.expr, list[ast.AST]]]:
        """Targets, what they run over, and the nodes of their passes.

        Of loops that may stand for one over layers: they run to their end, in no other loop.
        """
        loops = [n for n in self.nodes if isinstance(n, ast.For | ast.While)]
        inner = {id(n) for loop in loops for n in walk(loop) if n is not loop}
        for node in self.nodes:
            if id(node) in inner:
                continue
            match node:
                case ast.For(target=target, iter=iterated, body=body, orelse=[]):
                    passes = [n for part in body for n in walk(part)]
                    ends = any(isinstance(n, _ENDS) for n in passes)
                    if not ends and not self._is_later(body):
                        yield target, iterated, passes
                case (
                    ast.ListComp(generators=[loop])
                    | ast.GeneratorExp(generators=[loop])
                ):
                    parts = [node.elt, *loop.ifs]
                    passes = [n for part in parts for n in walk(part)]
                    yield loop.target, loop.iter, passes

    def _inner(self) -> Iterator[ast.For]:
        """Loops over layers in others, in a `while` loop, or with an end, and others over the same layers."""
        loops = [
            n
            for n in self.nodes
            if isinstance(n, ast.For) and (self._over(n) or self._hands_on(n))
        ]
        inner = {
            id(n)
            for outer in self.nodes
            if outer in loops or isinstance(outer, ast.While)
            for n in walk(outer)
            if n is not outer
        }
        found = [
            n
            for n in loops
            if id(n) in inner or n.orelse or _ends(n) or self._hands_on(n)
        ]
        again = {field for loop in found for field in self._over(loop).values()}
        for loop in loops:
            if loop in found or again & {*self._over(loop).values()}:
                yield loop

    def _hands_on(self, loop: ast.For) -> bool:
        """Whether a layer that is the variable of a loop is called later."""
        over = self._over(loop, parts=True)
        passes = [n for part in loop.body for n in walk(part)]
        uses = [n for n in passes if isinstance(n, ast.Name) and n.id in over]
        return called_later(loop.body, {id(n) for n in uses})

    def _is_later(self, body: list[ast.stmt]) -> bool:
        """Whether a layer that statements take by its number is called later."""
        nodes = (n for part in body for n in walk(part))
        taken = (n for n in nodes if isinstance(n, ast.Subscript))
        uses = {id(n) for n in taken if self._field(n.value) in self.fields}
        return called_later(body, uses)

    def _over(self, loop: ast.For, parts: bool = False) -> dict[str, str]:
        """The variables of a loop that are layers, with their fields; with `parts` also of parts of these."""
        pairs = ((name, self._part(iterated)) for name, iterated in looped(loop))
        return {name: p[0] for name, p in pairs if p and (parts or not p[1])}

    def _placed(self, loop: ast.For) -> list[tuple[ast.AST, str]]:
        """A loop over layers as one over their numbers; nothing where it binds them, or hands inputs on."""
        later = self._hands_on(loop)
        over = self._over(loop, parts=later)
        passes = [n for part in loop.body for n in walk(part)]
        named = [n for n in passes if isinstance(n, ast.Name) and n.id in over]
        inputs = any(isinstance(n, ast.keyword) and n.arg is None for n in passes)
        if inputs or any(isinstance(n.ctx, ast.Store) for n in named):
            return []
        found = [(i, p) for _, i in looped(loop) if (p := self._part(i))]
        return [
            *(
                (i, f"range(len(self.{field})){cut}")
                for i, (field, cut) in found
                if later or not cut
            ),
            *((n, self._as_value(n, f"self.{over[n.id]}[{n.id}]")) for n in named),
        ]

    def _left(self, statement: ast.Assign) -> str:
        """What is left of a statement that gives names to layers: a check of their number."""
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Attribute()):
                layers, count = unparsed(statement.value), len(targets)
                if not any(isinstance(t, ast.Starred) for t in targets):
                    said = f"{layers} has to have {count} layers"
                    return f"if len({layers}) != {count}: raise ValueError({said!r})"
        return "pass"

    def _aliases(self, node: ast.Assign | ast.NamedExpr) -> dict[str, str]:
        """The names that are given to layers, with what each is."""
        match node:
            case ast.NamedExpr(target=target, value=value) if self.fields:
                return self._alias(target, value)
            case ast.Assign(
                targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)
            ) if len(targets) == len(values):
                found = [
                    self._alias(*pair) for pair in zip(targets, values, strict=True)
                ]
                return {k: v for f in found for k, v in f.items()} if all(found) else {}
            case ast.Assign(targets=[target], value=value):
                return self._alias(target, value)
        return {}

    def _alias(self, target: ast.expr, value: ast.expr) -> dict[str, str]:
        match value:
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                value = inner if self_attribute(inner) in self.several else value
        match target:
            case ast.Name(id=name):
                owner = value
                if isinstance(value, ast.Subscript) and _is_fixed(value.slice):
                    owner = value.value
                known = self.fields if owner is value else self.several
                if self_attribute(owner) in known:
                    return {name: unparsed(value)}
            case ast.Tuple(elts=targets) if self_attribute(value) in self.several:
                # Without a star their number counts, too, which is checked.
                starred = any(isinstance(t, ast.Starred) for t in targets)
                if starred or self_attribute(value) in self.fields:
                    return _unpacked(targets, unparsed(value))
        return {}

    def _field(self, node: ast.expr) -> str | None:
        """The field of several layers that an expression is."""
        field = self_attribute(node)
        if isinstance(node, ast.Name):
            field = self.aliases.get(node.id, "").removeprefix("self.")
        return field if field in self.several else None

    def _part(self, node: ast.expr) -> tuple[str, str] | None:
        """The field of several layers that an expression is, or is a part of, and the text of that part."""
        text = self.aliases.get(node.id) if isinstance(node, ast.Name) else None
        node = ast.parse(text, mode="eval").body if text else node
        match node:
            case ast.Subscript(value=owner, slice=ast.Slice() as cut):
                field = self._field(owner)
                return (field, f"[{unparsed(cut)}]") if field else None
        field = self._field(node)
        return (field, "") if field else None

    def _counted(
        self, target: ast.expr, iterated: ast.expr, passes: list[ast.AST]
    ) -> list[tuple[ast.AST, str]]:
        """What a loop over the numbers of layers becomes; nothing: it is no such loop."""
        match target, iterated:
            case (
                ast.Name(id=index),
                ast.Call(
                    func=ast.Name(id="range"),
                    args=[ast.Call(func=ast.Name(id="len"), args=[counted])],
                ),
            ):
                pass
            case _:
                return []
        field = self._field(counted)
        taken = [
            n
            for n in passes
            if isinstance(n, ast.Subscript)
            and self._field(n.value) == field
            and isinstance(n.slice, ast.Name)
            and n.slice.id == index
        ]
        bound = any(
            isinstance(n, ast.Name) and n.id == index and isinstance(n.ctx, ast.Store)
            for n in passes
        )
        if field is None or not taken or bound:
            return []
        variable, layers = self._fresh(field), f"self.{field}"
        indices = {id(n.slice) for n in taken}
        uses = (n for n in self.names if n.id == index and n is not target)
        if any(id(n) not in indices for n in uses):
            header = f"{index}, {variable}", f"enumerate({layers})"
        else:
            header = variable, layers
        return [
            (target, header[0]),
            (iterated, header[1]),
            *((n, variable) for n in taken),
        ]

    def _fresh(self, field: str) -> str:
        name = field.removesuffix("s") if field.endswith("s") else f"{field}_layer"
        taken = {n.id for n in self.names} | set(self.bound)
        while name in taken:
            name = f"{name}_"
        return name


def _ends(loop: ast.For) -> bool:
    return any(isinstance(n, _ENDS) for part in loop.body for n in walk(part))


def _is_fixed(index: ast.expr) -> bool:
    """Whether an index is the same wherever it stands: it has no variables."""
    return not any(isinstance(n, ast.Name) for n in ast.walk(index))


def _is_slice(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Slice)


def _is_unpacked(statement: ast.AST) -> bool:
    """Whether it is `first, *rest = self.layers`."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Attribute()):
            return any(isinstance(t, ast.Starred) for t in targets)
    return False


def _unpacked(targets: list[ast.expr], layers: str) -> dict[str, str]:
    """What each name of `first, *rest = self.layers` is."""
    found, count = {}, len(targets)
    starred = next(
        (i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), count
    )
    for i, target in enumerate(targets):
        name, end = target, i + 1 - count
        text = f"{layers}[{i if i < starred else i - count}]"
        if isinstance(target, ast.Starred):
            name, text = target.value, f"{layers}[{i or ''}:{end or ''}]"
        if not isinstance(name, ast.Name):
            return {}
        found[name.id] = text
    return found


def _change(node: ast.AST, text: str) -> Change:
    start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end = getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)
    return start, end, text
