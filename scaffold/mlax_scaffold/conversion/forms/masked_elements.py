"""Elements that a mask chooses, as all elements of which those of the mask are taken.

mask = x > bound                     becomes    x[:] = torch.where(mask, x * (self.t + x), x)
hard = x[mask]
x[mask] = hard * (self.t + hard)

How many a mask chooses no shape tells. What each becomes is computed of it alone, by arithmetic.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_EACH = (
    *("exp", "log", "sqrt", "rsqrt", "pow", "abs", "clamp", "clamp_min", "clamp_max"),
    *("sigmoid", "tanh", "sin", "cos", "relu", "square", "log1p", "expm1"),
)
"""Functions and methods of PyTorch that compute each element of itself."""


def without_masked_elements(origin: Origin) -> None:
    """Write them so, in place."""
    torch = origin.name_of("torch")
    if not torch:
        return
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            _function(origin, torch, node)
    located(origin.tree)


def _function(origin: Origin, torch: str, node: ast.FunctionDef) -> None:
    for at, part in enumerate(node.body):
        match part:
            case ast.Assign(
                targets=[
                    ast.Subscript(
                        value=ast.Name(id=whole), slice=ast.Name(id=mask)
                    ) as place
                ],
                value=value,
            ) if _is_mask_of(node, mask, whole):
                pass
            case _:
                continue
        chosen = {n: y for n, y in _chosen(node.body[:at], mask) if n in names(value)}
        alone = all(_reads(node, local) == _reads(value, local) for local in chosen)
        made = _whole(replaced(value, chosen), mask)
        if not alone or made is None or not _is_of_each(origin, made, whole):
            continue
        text = "torch.where(m, v, x)"
        parts = {"torch": torch, "m": mask, "x": whole}
        given = {k: ast.Name(v, ast.Load()) for k, v in parts.items()}
        part.value = expression(text, v=made, **given)
        place.slice = ast.Slice()
        gone = [p for p in node.body[:at] if {*targets(p)} & chosen.keys()]
        node.body = [p for p in node.body if p not in gone]
        _function(origin, torch, node)
        return


def _is_mask_of(node: ast.FunctionDef, mask: str, whole: str) -> bool:
    """Whether a name is bound once, to a comparison of all elements of an array."""
    bound = [p for p in walk(node) if isinstance(p, ast.Assign) and mask in targets(p)]
    return (
        len(bound) == 1
        and isinstance(bound[0].value, ast.Compare)
        and any(
            is_name(side, whole)
            for side in (bound[0].value.left, *bound[0].value.comparators)
        )
    )


def _chosen(before: list[ast.stmt], mask: str) -> Iterator[tuple[str, ast.expr]]:
    """Names of what the mask chooses of arrays that nothing binds anew behind them."""
    for at, part in enumerate(before):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.Subscript(value=ast.Name(id=whole), slice=ast.Name(id=by)),
            ) if by == mask:
                later = {t for p in before[at + 1 :] for t in targets(p)}
                changed = any(
                    isinstance(p, ast.Subscript)
                    and isinstance(p.ctx, ast.Store)
                    and is_name(p.value, whole)
                    for s in before[at + 1 :]
                    for p in walk(s)
                )
                if not {local, whole} & later and not changed:
                    yield local, part.value


def _reads(node: ast.AST, local: str) -> int:
    return sum(is_name(p, local) and isinstance(p.ctx, ast.Load) for p in walk(node))  # type: ignore[attr-defined]


def _whole(value: ast.expr, mask: str) -> ast.expr | None:
    """A value with whole arrays for what the mask chooses of them; None where it chooses nothing."""
    made = cloned(value)
    found = False
    for part in walk(made):
        for field, inner in ast.iter_fields(part):
            one = isinstance(inner, ast.Subscript) and is_name(inner.slice, mask)
            if one:
                setattr(part, field, inner.value)
                found = True
            if isinstance(inner, list):
                for at, item in enumerate(inner):
                    if isinstance(item, ast.Subscript) and is_name(item.slice, mask):
                        inner[at] = item.value
                        found = True
    return made if found else None


def _is_of_each(origin: Origin, node: ast.expr, whole: str) -> bool:
    """Whether a value is computed of each element of an array, and of numbers of the object."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_of_each(origin, left, whole) and _is_of_each(
                origin, right, whole
            )
        case ast.UnaryOp(operand=operand):
            return _is_of_each(origin, operand, whole)
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name(id=read):
            return read == whole
        case ast.Attribute():
            return self_attribute(node) is not None
        case ast.Call(
            func=ast.Attribute(value=inner, attr=attr), args=args, keywords=[]
        ):
            if attr not in _EACH:
                return False
            of_torch = origin.qualified(node.func) == f"torch.{attr}"
            given = args if of_torch else [inner, *args]
            return all(_is_of_each(origin, a, whole) for a in given)
    return False
