"""Methods that a constructor runs, which no call of a layer does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


def of_start(methods: Mapping[str, ast.FunctionDef]) -> set[str]:
    """The methods that a constructor runs, and that nothing calls afterwards."""
    found: set[str] = set()
    queue = [methods["__init__"]] if "__init__" in methods else []
    while queue:
        for part in _run(queue.pop().body):
            call = part.value if isinstance(part, ast.Expr) else None
            if not isinstance(call, ast.Call) or call.args:
                continue
            title = self_attribute(call.func)
            if title in methods and title not in found:
                assert title is not None
                found.add(title)
                queue.append(methods[title])
    used = {
        self_attribute(part)
        for name, method in methods.items()
        if name != "__init__" and name not in found
        for part in walk(method)
    }
    return found - {title for title in used if title}


def _run(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, those under conditions, too: `if tie: self.tie_weights()`."""
    for part in body:
        yield part
        if isinstance(part, ast.If):
            yield from _run(part.body)
            yield from _run(part.orelse)
