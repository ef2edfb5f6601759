"""Constants that are computed by loops, as the numbers and texts that these make."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.arithmetic import Unknown, evaluate
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import Source

_MOST = 200
"""So many items are written down."""
_LARGE = 100_000
"""Functions of `math` are computed of no larger integers."""
_PLAIN = int | float | str | None
_CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "enumerate": lambda *given: tuple(enumerate(*given)),
    "float": float,
    "int": int,
    "len": len,
    "max": max,
    "min": min,
    "range": range,
    "reversed": lambda items: tuple(items)[::-1],
    "round": round,
    "sorted": lambda items: tuple(sorted(items)),
    "sum": sum,
    "tuple": tuple,
    "list": tuple,
    "zip": lambda *given: tuple(zip(*given, strict=False)),
}


def written_down(
    source: Source, value: ast.expr, imports: Mapping[str, Import]
) -> Fix | None:
    """What a comprehension makes, as a tuple, a list or a dictionary; None for what has no known value."""
    if not any(isinstance(n, _LOOPS) for n in ast.walk(value)):
        return None
    try:
        text = _text(_Values(imports).of(value, {}))
    except (Unknown, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    called = isinstance(value, ast.Call) and ast.unparse(value.func)
    if (isinstance(value, ast.ListComp) or called == "list") and text[0] == "(":
        text = f"[{text[1:-1].rstrip(',')}]"
    return Fix((source.edit(value, text),))


_LOOPS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)


class _Values:
    def __init__(self, imports: Mapping[str, Import]):
        self.imports = imports
        self.items = 0

    def of(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
                return tuple(self.of(item, own) for own in self._passes(node, values))
            case ast.DictComp(key=key, value=item):
                passes = self._passes(node, values)
                return {self.of(key, own): self.of(item, own) for own in passes}
            case ast.Call(func=function, args=args, keywords=[]):
                return self._called(function, [self.of(a, values) for a in args])
        node = copy(node)
        for name, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(node, name, ast.Constant(self.of(part, values)))
            elif isinstance(part, list):
                parts = [
                    ast.Constant(self.of(p, values)) if isinstance(p, ast.expr) else p
                    for p in part
                ]
                setattr(node, name, parts)
        return evaluate(node, values)

    def _called(self, function: ast.expr, given: list[Any]) -> Any:
        name = qualified(function, self.imports) or ast.unparse(function)
        if name.startswith("math."):
            if any(isinstance(g, int) and g > _LARGE for g in given):
                raise Unknown
            return getattr(math, name.removeprefix("math."))(*given)
        if name not in _CALLS or (name == "range" and len(range(*given)) > _MOST):
            raise Unknown
        return _CALLS[name](*given)

    def _passes(
        self,
        node: ast.ListComp | ast.GeneratorExp | ast.DictComp,
        values: Mapping[str, Any],
    ) -> Iterator[Mapping[str, Any]]:
        found = [values]
        for generator in node.generators:
            found = [
                own
                for before in found
                for item in self.of(generator.iter, before)
                if (own := self._bound(generator.target, item, before)) is not None
                and all(self.of(test, own) for test in generator.ifs)
            ]
        yield from found

    def _bound(
        self, target: ast.expr, item: Any, values: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        self.items += 1
        if self.items > _MOST:
            raise Unknown
        match target:
            case ast.Name(id=name):
                return {**values, name: item}
            case ast.Tuple(elts=parts) if len(parts) == len(item):
                for part, one in zip(parts, item, strict=True):
                    values = self._bound(part, one, values)
                return values
        raise Unknown


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(k)}: {_text(v)}' for k, v in value.items())}}}"
    if not isinstance(value, _PLAIN) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise Unknown
    plain = isinstance(value, str) and '"' not in repr(value)[1:-1]
    return f'"{repr(value)[1:-1]}"' if plain else repr(value)
