"""Calls of einops, written out."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.axis_patterns import (
    Pattern,
    between,
    flattened,
    letters,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    name,
    replaced,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_CALLS = ("einops.rearrange", "einops.reduce", "einops.repeat")
_LAYERS = (".Rearrange", ".Reduce")


def without_einops(origin: Origin) -> None:
    """Write the calls of a file out as reshapes and transposes, in place.

    What a pattern does not tell stays a call, which is listed as one without a counterpart.
    """
    if any(full.startswith("einops") for full in origin.imports.values()):
        _Calls(origin).visit(origin.tree)
        located(origin.tree)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.before: list[ast.stmt] | None = None
        """What is computed before the statement; None where no statement may stand."""
        self.count = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                setattr(node, field, self._statements(body))
        return super().generic_visit(node) if isinstance(node, ast.expr) else node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            saved, self.before = self.before, []
            for field, value in ast.iter_fields(node):
                if isinstance(value, ast.expr):
                    setattr(node, field, self.visit(value))
                elif isinstance(value, list) and field not in ("body", "orelse"):
                    made = [
                        self.visit(v) if isinstance(v, ast.expr) else v for v in value
                    ]
                    setattr(node, field, made)
            before, self.before = self.before, saved
            self.generic_visit(node)
            found += [*before, node]
        return found

    def _inside(self, node: ast.expr) -> ast.expr:
        saved, self.before = self.before, None
        made = super().generic_visit(node)
        self.before = saved
        assert isinstance(made, ast.expr)
        return made

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return self._inside(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._inside(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._inside(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._inside(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        made = super().generic_visit(node)
        assert isinstance(made, ast.Call)
        full = self.origin.qualified(made.func)
        if full.startswith("einops.layers") and full.endswith(_LAYERS):
            return self._layer(made, full.endswith(_LAYERS[1]))
        if full == "einops.einsum" and made.args:
            return _contracted(made)
        if full not in _CALLS or len(made.args) < 2:
            return made
        args = list(made.args)
        reduction = ""
        if full == "einops.reduce":
            given = args[2] if len(args) > 2 else None
            keyword = next((k for k in made.keywords if k.arg == "reduction"), None)
            given = keyword.value if keyword is not None else given
            reduction = str(given.value) if isinstance(given, ast.Constant) else "?"
        x = args[0]
        if not isinstance(x, ast.Name):
            if self.before is None:
                return made
            self.count += 1
            local = ast.Name(f"rearranged_{self.count}", ast.Store())
            if self.count == 1:
                local.id = "rearranged"
            self.before.append(ast.copy_location(ast.Assign([local], x), node))
            x = ast.Name(local.id, ast.Load())
        written = _written(x.id, args[1], made.keywords, reduction)
        if written is None:
            made.args[0] = x
            return made
        return _placed(written, node)

    def _layer(self, node: ast.Call, reduces: bool) -> ast.expr:
        """A layer that rearranges or reduces, as a function."""
        reduction = ""
        if reduces:
            given = [
                *node.args[1:],
                *(k.value for k in node.keywords if k.arg == "reduction"),
            ]
            reduction = str(literal(given[0])) if given else "?"
        written = (
            _written("x", node.args[0], node.keywords, reduction) if node.args else None
        )
        if written is None:
            return node
        given = ast.arguments([], [ast.arg("x")], None, [], [], None, [])
        return _placed(ast.Lambda(given, written), node)


def _written(
    x: str, pattern: ast.expr, keywords: list[ast.keyword], reduction: str = ""
) -> ast.expr | None:
    text = pattern.value if isinstance(pattern, ast.Constant) else None
    if isinstance(text, str) and not reduction and (made := flattened(text, x)):
        return made
    sizes = {str(k.arg): k.value for k in keywords if k.arg != "reduction"}
    read = Pattern.read(text) if isinstance(text, str) else None
    if read is None:
        return between(text, x, sizes, reduction) if isinstance(text, str) else None
    made = read.applied(x, sizes, reduction)
    for part in walk(made) if made is not None else ():
        if is_name(part, x) and not read.after_all:
            # The pattern says how many axes the array has.
            part.rank = len(read.left)  # type: ignore[attr-defined]
    return made


def _contracted(node: ast.Call) -> ast.expr:
    """`einsum(x, y, "b length, length d -> b d")`, with a letter for each axis."""
    text = literal(node.args[-1])
    equation = letters(text) if isinstance(text, str) else None
    if equation is None:
        return node
    func = expression("m.einsum", m=name("@module:jnp"))
    made = ast.Call(func, [ast.Constant(equation), *node.args[:-1]], [])
    return _placed(made, node)


def _placed(made: ast.expr, node: ast.expr) -> ast.expr:
    made = replaced(cloned(made), {})
    for part in walk(made):
        if isinstance(part, ast.expr | ast.arg):
            ast.copy_location(part, node)
    return made
