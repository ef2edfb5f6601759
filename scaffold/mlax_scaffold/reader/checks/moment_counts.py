"""Finds moments that count in a floating dtype: in bfloat16 there is no number after 256 that is one more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.counters import one_more
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute

_INTEGERS = ("int", "uint", "bool")
"""How the names of dtypes begin that count exactly."""


def check_moment_counts(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `self.count = jnp.where(moved, self.count + 1, self.count)` in `update` of an optimizer.

    Moments arrive there in the dtype of the leaf, whatever floating one they are kept in.
    """
    owner = class_of(source.tree, method)
    if method.name != "update" or owner is None:
        return
    found: dict[str, list[tuple[ast.expr, ast.expr]]] = {}
    for statement in walk(method):
        match statement:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                pass
            case ast.AugAssign(target=ast.Attribute() as target, value=by):
                value = ast.BinOp(target, statement.op, by)
            case _:
                continue
        found.setdefault(self_attribute(target) or "", []).append((target, value))
    stored = Counter(
        self_attribute(node)
        for node in walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    for name, values in found.items():
        target, _ = values[0]
        declared = _declared(owner, name) if attributes.get(name) == "moment" else None
        raised = [[*_raised_by(value, name, method)] for _, value in values]
        by = [number for numbers in raised for number in numbers]
        # What is set to something else, too, is no count.
        if declared is None or not all(raised) or stored[name] > len(values):
            continue
        given = [*declared.args[2:3]]
        given += [k.value for k in declared.keywords if k.arg == "dtype"]
        if any(_is_exact(dtype) for dtype in given):
            continue
        jnp = of_jax(source, "jnp")
        dtype = f"{jnp.bound}.int32"
        end = source.end(declared)
        last = source.end([*declared.args, *(k.value for k in declared.keywords)][-1])
        edits = [source.replace(last, end, f", dtype={dtype})")]
        edits = [source.edit(given[0], dtype)] if given else edits
        # A floating number would make it floating again.
        edits += [source.edit(n, "1") for n in by if source.text_of(n) != "1"]
        source.report(
            target,
            f"`self.{name}` counts in the dtype of the weight: in bfloat16 no further than 256",
            f"Declare it as integers: `self.{name} = moment(zeros, shape, {dtype})`.",
            fix=Fix(tuple(edits), (jnp,)),
        )


def _declared(owner: ast.ClassDef, name: str) -> ast.Call | None:
    """The call of `moment` that `setup` declares it by, with its shape."""
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "setup":
            continue
        for statement in method.body:
            match statement:
                case ast.Assign(
                    targets=[target],
                    value=ast.Call(func=function, args=[_, _, *_]) as call,
                ) if self_attribute(target) == name:
                    return call if dotted(function) else None
    return None


def _is_exact(dtype: ast.expr) -> bool:
    named = dtype.value if isinstance(dtype, ast.Constant) else dotted(dtype)
    return str(named).rpartition(".")[2].startswith(_INTEGERS)


def _raised_by(
    node: ast.expr, name: str, method: ast.FunctionDef
) -> Iterator[ast.expr]:
    """The number in `self.name + 1`, also where a condition holds, or from 0 after so many."""
    match node:
        case ast.BinOp(op=ast.Add()):
            if (found := one_more(node)) and _is_count(found[0], name, method):
                yield found[1]
        case ast.BinOp(left=left, op=ast.Mod()):
            yield from _raised_by(left, name, method)
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            yield from _raised_by(one, name, method)
            yield from _raised_by(other, name, method)
        case ast.Name(id=local):
            for value in only_value(local, method):
                yield from _raised_by(value, name, method)


def _is_count(node: ast.expr, name: str, method: ast.FunctionDef) -> bool:
    match node:
        case ast.Name(id=local):
            return any(_is_count(v, name, method) for v in only_value(local, method))
    return self_attribute(node) == name
