"""Arrays that einops packs into one along an axis, and unpacks again, as arrays that are joined and sliced.

x, shapes = pack([cls, x], "b * d")        x_0 = cls.reshape(cls.shape[0], -1, cls.shape[-1])
x = self.blocks(x)                         ...
cls, x = unpack(x, shapes, "b * d")        becomes x = torch.cat([x_0, x_1], dim=1) and slices of it
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_packs(origin: Origin) -> None:
    """Write them so in a file of PyTorch, in place, where one function packs and unpacks."""
    torch = origin.name_of("torch")
    if not torch or "einops.pack" not in origin.imports.values():
        return
    calls = _Helpers(origin)
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef) and node.name not in calls.found:
            calls.visit(node)
            _Packs(origin, torch, node).write()
    located(origin.tree)


class _Helpers(NodeTransformer):
    """Functions that only pack or unpack, written out where they are called."""

    def __init__(self, origin: Origin):
        self.found: dict[str, tuple[list[str], ast.expr]] = {}
        for title, function in origin.functions.items():
            match without_docstring(function.body):
                case [ast.Return(value=ast.expr() as value)] if any(
                    origin.qualified(p) in ("einops.pack", "einops.unpack")
                    for p in walk(value)
                ):
                    places = [a.arg for a in function.args.args]
                    self.found[title] = places, value

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        places, value = self.found.get(title, ([], node))
        if value is node or len(node.args) != len(places) or node.keywords:
            return node
        made = replaced(value, dict(zip(places, node.args, strict=True)))
        for part in walk(made):
            ast.copy_location(part, node)
        return made


@dataclass(frozen=True)
class _Pattern:
    """`"b * d"`: how many axes stand before and after those that are packed."""

    before: int
    after: int

    @classmethod
    def read(cls, node: ast.expr) -> _Pattern | None:
        said = literal(node)
        parts = said.split() if isinstance(said, str) else []
        if parts.count("*") != 1 or any("(" in p for p in parts):
            return None
        at = parts.index("*")
        return cls(at, len(parts) - at - 1)

    def around(self, x: str, inner: str) -> str:
        """An array with other axes between those that stay."""
        first = [f"{x}.shape[{i}]" for i in range(self.before)]
        last = [f"{x}.shape[{i - self.after}]" for i in range(self.after)]
        return f"{x}.reshape({', '.join([*first, inner, *last])})"

    def inner(self, x: str) -> str:
        """The axes that are packed."""
        return f"{x}.shape[{self.before}:{-self.after if self.after else ''}]"

    def slice(self, x: str, first: str, last: str) -> str:
        return f"{x}[{':, ' * self.before}{first}:{last}]"


class _Packs:
    """One function."""

    def __init__(self, origin: Origin, torch: str, function: ast.FunctionDef):
        self.origin, self.torch, self.function = origin, torch, function
        self.taken = names(function) | {a.arg for a in function.args.args}
        self.packed: dict[str, list[str]] = {}
        """The names of what is packed, by the name of their shapes."""
        self.unsure: set[str] = set()

    def write(self) -> None:
        bound = [
            t.id
            for p in walk(self.function)
            if isinstance(p, ast.Assign)
            for one in p.targets
            for t in walk(one)
            if isinstance(t, ast.Name)
        ]
        self.unsure = {t for t in bound if bound.count(t) > 1}
        self._block(self.function)

    def _block(self, node: ast.AST) -> None:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if not isinstance(body, list):
                continue
            made: list[ast.stmt] = []
            for part in body:
                new = self._statement(part) if isinstance(part, ast.Assign) else None
                if new is None and isinstance(part, ast.stmt):
                    if not isinstance(part, ast.FunctionDef):
                        self._block(part)
                    new = [_Firsts(self).visit(part)]
                made += [ast.copy_location(s, part) for s in new or [part]]
            setattr(node, field, made)

    def _statement(self, node: ast.Assign) -> list[ast.stmt] | None:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=x), ast.Name(id=shapes)])],
                value=ast.Call(
                    func=func, args=[ast.List() | ast.Tuple() as given, told]
                ),
            ) if self._is(func, "pack"):
                pattern = _Pattern.read(told)
                if pattern is None or shapes in self.unsure:
                    return None
                return self._pack(x, shapes, given.elts, pattern)
            case ast.Assign(
                targets=[ast.Tuple() | ast.List() as targets],
                value=ast.Call(func=func, args=[y, ast.Name(id=shapes), told]),
            ) if self._is(func, "unpack"):
                pattern, parts = _Pattern.read(told), self.packed.get(shapes, [])
                if pattern is None or len(parts) != len(targets.elts):
                    return None
                return self._unpack(targets.elts, y, parts, pattern)
        return None

    def _is(self, func: ast.expr, title: str) -> bool:
        return self.origin.qualified(func) == f"einops.{title}"

    def _pack(
        self, x: str, shapes: str, given: list[ast.expr], pattern: _Pattern
    ) -> list[ast.stmt] | None:
        if any(isinstance(e, ast.Starred) for e in given) or not given:
            return None
        made: list[str] = []
        parts: list[str] = []
        for one in given:
            source = ast.unparse(one)
            if not isinstance(one, ast.Name):
                local = self._free(f"{x}_part")
                made.append(f"{local} = {source}")
                source = local
            part = self._free(f"{x}_packed")
            parts.append(part)
            made.append(f"{part}_axes = {pattern.inner(source)}")
            made.append(f"{part} = {pattern.around(source, '-1')}")
        joined = f"{self.torch}.cat([{', '.join(parts)}], dim={pattern.before})"
        made.append(f"{x} = {parts[0] if len(parts) == 1 else joined}")
        self.packed[shapes] = [f"{p}|{pattern.before}" for p in parts]
        return ast.parse("\n".join(made)).body

    def _unpack(
        self,
        targets: list[ast.expr],
        y: ast.expr,
        parts: list[str],
        pattern: _Pattern,
    ) -> list[ast.stmt]:
        made: list[str] = []
        source = ast.unparse(y)
        if not isinstance(y, ast.Name) or any(is_name(t, y.id) for t in targets):
            source = self._free("unpacked")
            made.append(f"{source} = {ast.unparse(y)}")
        for at, target in enumerate(targets):
            if is_name(target, "_"):
                continue
            title = ast.unparse(target)
            made.append(f"{title} = {self._part(source, parts, at, pattern)}")
        return ast.parse("\n".join(made)).body

    def _part(self, y: str, parts: list[str], at: int, pattern: _Pattern) -> str:
        """One of the arrays that were packed, of an array of the same axes."""
        sizes = [f"{p}.shape[{axis}]" for p, axis in (p.split("|") for p in parts)]
        first, last = " + ".join(sizes[:at]), " + ".join(sizes[: at + 1])
        whole = len(parts) == 1
        cut = y if whole else f"({pattern.slice(y, first, last)})"
        if at == len(parts) - 1 and not whole:
            cut = f"({pattern.slice(y, first, '')})"
        title = parts[at].partition("|")[0]
        around = pattern.around(y, f"*{title}_axes")
        return f"{cut}{around.removeprefix(y)}"

    def first_of(self, node: ast.Subscript) -> ast.expr | None:
        """`unpack(y, shapes, "b * d")[0]`."""
        match node:
            case ast.Subscript(
                value=ast.Call(func=func, args=[y, ast.Name(id=shapes), told]), slice=at
            ) if self._is(func, "unpack"):
                pattern, parts = _Pattern.read(told), self.packed.get(shapes, [])
                if pattern and len(parts) == 1 and literal(at) == 0:
                    part = self._part("unpacked_", parts, 0, pattern)
                    if isinstance(y, ast.Name):
                        return expression(part, unpacked_=cloned(y))
        return None

    def _free(self, title: str) -> str:
        count, found = 0, title
        while found in self.taken:
            count += 1
            found = f"{title}_{count}"
        self.taken.add(found)
        return found


class _Firsts(NodeTransformer):
    def __init__(self, packs: _Packs):
        self.packs = packs

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        made = self.packs.first_of(node)
        return ast.copy_location(made, node) if made is not None else node
