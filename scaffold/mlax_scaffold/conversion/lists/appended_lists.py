"""Lists of layers of one class that several lines and loops append to, as lists that are joined.

self.convs.append(Conv(3, 8))
for _ in range(n):                   becomes   [Conv(3, 8)] + [Conv(8, 8) for _ in range(n)] + [Conv(8, 4)]
    self.convs.append(Conv(8, 8))
self.convs.append(Conv(8, 4))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_LIST = "torch.nn.ModuleList"


def without_appended_lists(origin: Origin, node: ast.ClassDef) -> None:
    """Write such lists of a class of PyTorch so, in place, where the sizes are the same at the end."""
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if not isinstance(start, ast.FunctionDef):
        return
    for part in list(start.body):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(func=func, args=args)):
                attribute = self_attribute(target)
                empty = not args or (isinstance(args[0], ast.List) and not args[0].elts)
                if attribute and empty and origin.qualified(func) == _LIST:
                    _write(node, start, part, attribute)
    located(node)


def _write(
    node: ast.ClassDef, start: ast.FunctionDef, begun: ast.Assign, attribute: str
) -> None:
    parts: list[ast.expr] = []
    found: list[ast.Call] = []
    places: list[tuple[list[ast.stmt], ast.stmt, int]] = []
    for at, part in enumerate(start.body):
        if isinstance(part, ast.For) and not part.orelse:
            inner = [s for s in part.body if _appended(s, attribute) is not None]
            if not inner:
                continue
            plain = all(_is_append(s) for s in part.body)
            if len(inner) != 1 or not plain:
                return
            call = _appended(inner[0], attribute)
            loop = ast.comprehension(part.target, part.iter, [], 0)
            assert call is not None
            parts.append(ast.ListComp(cloned(call), [cloned(loop)]))
            places.append((part.body, inner[0], at))
            found.append(call)
        elif (call := _appended(part, attribute)) is not None:
            parts.append(ast.List([cloned(call)], ast.Load()))
            places.append((start.body, part, at))
            found.append(call)
    reads = [p for p in walk(start) if self_attribute(p) == attribute]
    same = (
        len({(ast.unparse(c.func), len(c.args), len(c.keywords)) for c in found}) == 1
    )
    if len(found) < 2 or not same or len(reads) != len(found) + 1:
        return
    if not any(isinstance(p, ast.ListComp) for p in parts):
        return
    between = start.body[start.body.index(begun) : places[-1][2] + 1]
    bound = {t for s in between if not isinstance(s, ast.For) for t in targets(s)}
    if any(names(c) & (bound - {"self"}) for c in found):
        return
    if not _read_apart(node, start, attribute):
        return
    joined = parts[0]
    for part in parts[1:]:
        joined = ast.BinOp(joined, ast.Add(), part)
    assert isinstance(begun.value, ast.Call)
    begun.value.args = [joined]
    for body, part, _ in places:
        body.remove(part)
    start.body.remove(begun)
    at = min(places[-1][2] - 1, len(start.body))
    start.body = [s for s in start.body if not (isinstance(s, ast.For) and not s.body)]
    start.body.insert(min(at, len(start.body)), begun)


def _is_append(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "append"
    )


def _appended(node: ast.stmt, attribute: str) -> ast.Call | None:
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=owner, attr="append"),
                args=[ast.Call() as made],
            )
        ) if self_attribute(owner) == attribute:
            return made
    return None


def _read_apart(node: ast.ClassDef, start: ast.FunctionDef, attribute: str) -> bool:
    """Whether methods do more with the list than to go over it."""
    for method in node.body:
        if method is start:
            continue
        loops = [
            p.iter
            for p in walk(method)
            if isinstance(p, ast.For) and self_attribute(p.iter) == attribute
        ]
        reads = [p for p in walk(method) if self_attribute(p) == attribute]
        if len(reads) > len(loops):
            return True
    return False
