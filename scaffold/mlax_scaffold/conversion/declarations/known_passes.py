"""Loops over what is known, in functions that make weights: their passes, one after the other.

for key, gate in zip(keys, ("r", "z")):        becomes        p["w_r"] = normal(key, (n, m))
    p[f"w_{gate}"] = normal(key, (n, m))                      p["w_z"] = normal(key, (n, m))
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.lists.key_loops import holds_keys
from mlax_scaffold.conversion.source.known_values import Known, items_of, unpacked
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, replaced
from mlax_scaffold.conversion.source.walking import cloned, walk

_MOST = 16
"""Loops of more passes are not written out."""


@dataclass(frozen=True)
class KnownPasses:
    """Writes them out."""

    origin: Origin
    known: Mapping[str, ast.expr]
    """What locals hold."""
    keys: Collection[str]
    """Locals that hold keys, which stay what they are called."""

    def of_loop(self, node: ast.For) -> list[ast.stmt] | None:
        """The statements of all passes; None where it is not known what the loop goes over."""
        ends = (ast.Break, ast.Continue)
        if node.orelse or any(isinstance(part, ends) for part in walk(node)):
            return None
        found = self._bound(node.target, node.iter)
        if not found or len(found) > _MOST:
            return None
        return [
            Known(dict(parts), {}).visit(cloned(part))
            for parts in found
            for part in node.body
        ]

    def of_entries(self, node: ast.DictComp) -> ast.expr:
        """`{gate: normal(key, (n, m)) for gate in ("r", "z")}` as a dictionary of these."""
        [first, *more] = node.generators
        plain = not more and not first.ifs
        found = self._bound(first.target, first.iter) if plain else None
        if not found or len(found) > _MOST:
            return node
        made = [Known(dict(parts), {}) for parts in found]
        keys: list[ast.expr | None] = [m.value(node.key) for m in made]
        values = [m.value(node.value) for m in made]
        return ast.copy_location(ast.Dict(keys, values), node)

    def _bound(
        self, target: ast.expr, source: ast.expr
    ) -> list[dict[str, ast.expr]] | None:
        """What names of a target are in each pass; None where that is not to be told."""
        match source, target:
            case (
                ast.Call(func=ast.Name(id="zip"), args=args),
                ast.Tuple(elts=places),
            ) if len(args) == len(places):
                pairs = zip(places, args, strict=True)
                parts = [
                    self._bound(*pair) for pair in pairs if not self._keys(pair[1])
                ]
                if not parts or None in parts:
                    return None
                rows = zip(*(part for part in parts if part is not None), strict=False)
                return [{n: v for part in row for n, v in part.items()} for row in rows]
        known = replaced(cloned(source), dict(self.known))
        items = items_of(Known({}, {}).value(known))
        found = [unpacked(target, item) for item in items or ()]
        return None if None in found else [part for part in found if part is not None]

    def _keys(self, node: ast.expr) -> bool:
        return holds_keys(self.origin, node) or any(is_name(node, k) for k in self.keys)
