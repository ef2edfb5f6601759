"""A key among the inputs: `fwd` is given one, and a layer draws it, `self.key()`; functions take a `Key`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.calls import matched, parameters
from mlax_scaffold.reader.looping import items_of_attributes
from mlax_scaffold.reader.remedies.bodies import removed, without_argument
from mlax_scaffold.reader.remedies.modes import KEYS, mode
from mlax_scaffold.reader.remedies.number_inputs import without_parameter
from mlax_scaffold.reader.remedies.types import annotated, needed
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    compares_with_none,
    dotted,
    indexed_attribute,
    self_attribute,
)

_REPEATED = (
    *(ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ListComp),
    *(ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_MODULES = ("jax.random", "random", "jr", "jrandom")


def draws(function: ast.FunctionDef, name: str) -> bool:
    """Whether a parameter is a key: functions of `jax.random` are given it, or it is named as keys are."""
    for node in walk(function):
        match node:
            case ast.Call(
                func=ast.Attribute(value=module), args=[ast.Name(id=key), *_]
            ) if key == name and dotted(module) in _MODULES:
                return True
    return name in KEYS


def as_input(
    source: Source,
    function: ast.FunctionDef,
    argument: ast.arg,
    default: ast.expr | None,
) -> Fix | None:
    """A parameter of the type Key: without a default, where nothing asks whether it is None."""
    parents = {c: p for p in walk(function) for c in ast.iter_child_nodes(p)}
    read = [n for n in walk(function) if isinstance(n, ast.Name)]
    asked = any(n.id == argument.arg and compares_with_none(parents[n]) for n in read)
    if asked or default is None or default not in function.args.defaults[:1]:
        return annotated(source, argument, default, "Key")
    text = f"{argument.arg}: Key"
    edit = source.replace(source.start(argument), source.end(default), text)
    return Fix((edit,), needed("Key"))


def as_drawn(source: Source, method: ast.FunctionDef, argument: ast.arg) -> Fix | None:
    """A method that draws its key, in the place of a parameter that it is given as.

    Whether there is one says whether the layer is trained: that is when one has to be given.
    A key that is read at several places is drawn before the first, once.
    """
    name = argument.arg
    owner = class_of(source.tree, method)
    gone = without_parameter(source, method, argument)
    has_self = [a.arg for a in method.args.args[:1]] == ["self"]
    if owner is None or gone is None or not has_self or not draws(method, name):
        return None
    parents = {c: p for p in walk(method) for c in ast.iter_child_nodes(p)}
    names = [n for n in walk(method) if isinstance(n, ast.Name)]
    asked = [n for n in names if n.id == name and compares_with_none(parents[n])]
    if name in _inner(method):
        return None
    edits = [*gone.edits, *(_trained(source, method, parents[n]) for n in asked)]
    items = items_of_attributes(method)
    left = [
        n for n in names if n not in asked and not _is_handed(n, parents, owner, items)
    ]
    for node in [n for n in left if n.id == name]:
        if inner := _of_method(source, owner, node, parents):
            edits += inner.edits
            left.remove(node)
    if (unread := _unread(source, method, left, name)) is not None:
        return Fix((*edits, *unread))
    read = [n for n in left if n.id == name]
    above = list(_above(read[0], parents, method))
    loads = [n for n in read if isinstance(n.ctx, ast.Load)]
    repeated = any(isinstance(p, _REPEATED) for p in above)
    if len(read) == len(loads) == 1 and not repeated:
        return Fix((*edits, source.edit(read[0], "self.key()")))
    line, column = source.start(_first(source, method.body, read))
    indent = source.lines[line - 1][: column - 1]
    if indent.strip():
        return None
    drawn = source.replace((line, 1), (line, 1), f"{indent}{name} = self.key()\n")
    return Fix((*edits, drawn))


def as_initialized(
    source: Source, setup: ast.FunctionDef, argument: ast.arg
) -> Fix | None:
    """`setup` without a key that nothing reads but what weights are drawn with, and what splits it.

    Initializers are given keys, as layers are.
    """
    name = argument.arg
    gone = without_parameter(source, setup, argument)
    if gone is None or name in _inner(setup):
        return None
    drawing = {
        part
        for node in walk(setup)
        if isinstance(node, ast.Call) and _draws_numbers(node)
        for part in walk(node.args[0])
    }
    handed = [
        (call, keyword)
        for call in walk(setup)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("key", "rngs")
    ]
    drawing |= {part for _, keyword in handed for part in walk(keyword)}
    left = [n for n in walk(setup) if isinstance(n, ast.Name) and n not in drawing]
    unread = _unread(source, setup, left, name)
    if unread is None:
        return None
    edits = [e for c, k in handed for e in without_argument(source, c, k).edits]
    return Fix((*gone.edits, *unread, *edits))


def _draws_numbers(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(value=module, attr=attr), args=[_, *_]):
            return dotted(module) in _MODULES and attr not in ("split", "fold_in")
    return False


def _of_method(
    source: Source,
    owner: ast.ClassDef,
    node: ast.Name,
    parents: Mapping[ast.AST, ast.AST],
) -> Fix | None:
    """A key that the one call of a method hands on, as one that the method draws."""
    above = parents[node]
    call = parents[above] if isinstance(above, ast.keyword) else above
    if not isinstance(call, ast.Call) or node is call.func:
        return None
    calls = [n for n in walk(owner) if isinstance(n, ast.Call)]
    same = [c for c in calls if source.same(c.func, call.func)]
    methods = {m.name: m for m in owner.body if isinstance(m, ast.FunctionDef)}
    method = methods.get(self_attribute(call.func) or "")
    if method is None or len(same) != 1:
        return None
    taken = list(parameters(method))
    given = next((a for a, value in matched(taken, call) if value is node), None)
    inner = given and as_drawn(source, method, given)
    argument = above if isinstance(above, ast.keyword) else node
    gone = without_argument(source, call, argument)
    return Fix((*gone.edits, *inner.edits)) if inner else None


def _unread(
    source: Source, method: ast.FunctionDef, left: Sequence[ast.Name], name: str
) -> list[Edit] | None:
    """The method without the statements that split a key, where nothing else than layers is handed them.

    Layers are given keys without being handed any. None where something else is drawn.
    """
    keys = {name}
    counts: dict[str, ast.expr] = {}
    edits: list[Edit] = []
    gone: set[ast.AST] = set()
    for node in walk(method):
        match node:
            case ast.Assign(targets=[target], value=value) if _of_key(value, keys):
                edits.append(removed(source, node))
                parts = [node]
                if isinstance(target, ast.Name):
                    counts |= _counts(target.id, value)
            case (
                ast.For(
                    target=ast.Tuple(elts=targets) as target,
                    iter=ast.Call(func=ast.Name(id="zip"), args=items) as call,
                )
                | ast.comprehension(
                    target=ast.Tuple(elts=targets) as target,
                    iter=ast.Call(func=ast.Name(id="zip"), args=items) as call,
                )
            ) if len(targets) == len(items):
                both = list(zip(targets, items, strict=True))
                parts = [n for pair in both if _of_key(pair[1], keys) for n in pair]
                kept = [pair for pair in both if pair[0] not in parts]
                if not parts or not kept:
                    continue
                texts = [
                    ", ".join(map(source.text_of, p)) for p in zip(*kept, strict=True)
                ]
                edits.append(source.edit(target, texts[0]))
                edits.append(
                    source.edit(call, f"zip({texts[1]})" if kept[1:] else texts[1])
                )
            case (
                ast.For(target=ast.Name() as target, iter=value)
                | ast.comprehension(target=ast.Name() as target, iter=value)
            ) if _of_key(value, keys):
                count = _count(value, counts)
                if count is None:
                    return None
                edits.append(source.edit(target, "_"))
                edits.append(source.edit(value, f"range({unparsed(count)})"))
                parts = [target, value]
            case _:
                continue
        inner = [n for part in parts for n in walk(part) if isinstance(n, ast.Name)]
        keys |= {n.id for n in inner if isinstance(n.ctx, ast.Store)}
        gone |= {*inner}
    return edits if all(n in gone for n in left if n.id in keys) else None


def _of_key(value: ast.expr, keys: Collection[str]) -> bool:
    """Whether it is a key, several of them, some of these, or what such a one is split into."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=module, attr="split"), args=[ast.Name(id=key), *_]
        ):
            return dotted(module) in _MODULES and key in keys
        case ast.Subscript(value=ast.Name(id=key)) | ast.Name(id=key):
            return key in keys
    return False


def _counts(name: str, value: ast.expr) -> dict[str, ast.expr]:
    """How many keys a local holds that a key is split into."""
    match value:
        case ast.Call(func=ast.Attribute(attr="split"), args=[_, number]):
            return {name: number}
        case ast.Call(func=ast.Attribute(attr="split"), args=[_], keywords=[]):
            return {name: ast.Constant(2)}
    return {}


def _count(value: ast.expr, counts: Mapping[str, ast.expr]) -> ast.expr | None:
    """How many keys an expression gives, `n` for `keys[:-1]` of n + 1; None where nothing says it."""
    match value:
        case ast.Name(id=name):
            return counts.get(name)
        case ast.Call():
            return _counts("", value).get("")
        case ast.Subscript(
            value=ast.Name(id=name),
            slice=ast.Slice(lower=lower, upper=upper, step=None),
        ) if name in counts:
            try:
                first = 0 if lower is None else int(ast.literal_eval(lower))
                last = 0 if upper is None else int(ast.literal_eval(upper))
            except ValueError:
                return None
            return _less(counts[name], first - last) if first >= 0 >= last else None
    return None


def _less(number: ast.expr, less: int) -> ast.expr:
    match number:
        case ast.Constant(value=int(count)):
            return ast.Constant(count - less)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int(more))):
            rest = more - less
        case _:
            left, rest = number, -less
    if not rest:
        return left
    operation = ast.Add() if rest > 0 else ast.Sub()
    return ast.BinOp(left, operation, ast.Constant(abs(rest)))


def _is_handed(
    name: ast.Name,
    parents: Mapping[ast.AST, ast.AST],
    owner: ast.ClassDef,
    items: Collection[str],
) -> bool:
    """Whether it is handed on as the key of a layer, `self.drop(x, key=key)`: layers are given keys."""
    methods = {m.name for m in owner.body if isinstance(m, ast.FunctionDef)}
    keyword = parents[name]
    if not isinstance(keyword, ast.keyword) or keyword.arg != "key":
        return False
    match parents[keyword]:
        case ast.Call(func=function):
            called = indexed_attribute(function) or self_attribute(function)
            if isinstance(function, ast.Name):
                return function.id in items
            return called is not None and called not in methods
    return False


def _trained(source: Source, method: ast.FunctionDef, test: ast.AST) -> Edit:
    assert isinstance(test, ast.Compare)
    there = isinstance(test.ops[0], ast.IsNot | ast.NotEq)
    return mode(source, method, test, "train" if there else "deterministic")


def _inner(method: ast.FunctionDef) -> set[str]:
    """The parameters of functions inside of a method."""
    own = {*walk(method.args)}
    return {n.arg for n in walk(method) if isinstance(n, ast.arg) and n not in own}


def _above(
    node: ast.AST, parents: dict[ast.AST, ast.AST], method: ast.FunctionDef
) -> Iterator[ast.AST]:
    while (node := parents[node]) is not method:
        yield node


def _first(
    source: Source, body: Sequence[ast.stmt], read: Sequence[ast.Name]
) -> ast.stmt:
    """The first statement of the innermost block that all of the names are read in, outside of loops."""
    reading = [s for s in body if any(n in read for n in walk(s))]
    first = reading[0]
    if len(reading) == 1 and isinstance(first, ast.If):
        for block in (first.body, first.orelse):
            held = {n for s in block for n in walk(s)}
            chained = block and source.text_of(block[0]).startswith("elif")
            if not chained and all(n in held for n in read):
                return _first(source, block, read)
    return first
