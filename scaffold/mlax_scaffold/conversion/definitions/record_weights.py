"""Records of weights in what an init function returns, as dictionaries, which specs hold weights in.

layers=LayerParams(wq=..., wo=...)      becomes     layers={"wq": ..., "wo": ...}

def layer(x, p: LayerParams):                       def layer(x, p):
    return x @ p.wq @ p.wo                              return x @ p["wq"] @ p["wo"]
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.pair_weights import record_fields
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute


class RecordWeights(ast.NodeTransformer):
    """Writes calls of records as dictionaries, and notes which they are."""

    def __init__(self, origin: Origin):
        self.origin = origin
        self.found: dict[str, list[str]] = {}
        """The fields of each record."""
        self.places: dict[str, list[str]] = {}
        """The fields of those that are attributes, by the attribute."""

    def parts(self, made: list[tuple[str, ast.expr]]) -> list[tuple[str, ast.expr]]:
        """The weights, with dictionaries in the place of records."""
        found: list[tuple[str, ast.expr]] = []
        for place, part in made:
            title = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
            value = self.visit(part)
            if title in self.found:
                self.places[place] = self.found[title]
            found.append((place, value))
        for function in self.origin.functions.values() if self.found else ():
            self._read(function)
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title = getattr(node.func, "id", "")
        fields = record_fields(self.origin, title)
        given = dict(zip(fields, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        if not fields or {*given} != {*fields}:
            return node
        self.found[title] = fields
        keys: list[ast.expr | None] = [ast.Constant(f) for f in fields]
        return ast.copy_location(ast.Dict(keys, [given[f] for f in fields]), node)

    def _read(self, function: ast.FunctionDef) -> None:
        for argument in (*function.args.args, *function.args.kwonlyargs):
            text = ast.unparse(argument.annotation) if argument.annotation else ""
            fields = self.found.get(text.strip("'"))
            if fields is not None:
                reader = _Fields(argument.arg, {"": fields})
                function.body = [reader.visit(s) for s in function.body]

    def read(self, node: ast.stmt) -> ast.stmt:
        """A statement of the method that reads attributes which are such dictionaries."""
        return _Fields("", self.places).visit(node)


class _Fields(ast.NodeTransformer):
    """Reads fields as items: of a name, or of attributes of the object."""

    def __init__(self, title: str, places: dict[str, list[str]]):
        self.title, self.places = title, places

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        own = is_name(node.value, self.title) if self.title else False
        fields = self.places.get("" if own else self_attribute(node.value) or "-", [])
        if node.attr not in fields:
            return node
        made = ast.Subscript(node.value, ast.Constant(node.attr), node.ctx)
        return ast.copy_location(made, node)
