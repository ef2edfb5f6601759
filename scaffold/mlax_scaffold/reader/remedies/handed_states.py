"""Optimizers whose state is handed on, as optax hands it, with moments in its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import fields_of, functions_in
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.begun_states import written_out
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, dotted

_BEGINS = ("init", "setup", "init_state", "initialize")
_MAPS = ("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "tree_map")

_UPDATES = ("updates", "change", "result", "updates_of_the_step")
"""Names for what a step returns, where it is computed before the moments are set."""

_TAKEN = frozenset(
    ("dither", "key", "mask", "scheduled", "step", "step_number", "update", "value")
)
"""What the methods of a step read of self: beside fields and methods, no names of moments."""

Items = Mapping[str, ast.expr]


@dataclass(frozen=True)
class _Handed:
    """The methods of such an optimizer, and what the state consists of."""

    begin: ast.FunctionDef
    update: ast.FunctionDef
    state: ast.arg
    first: Items
    last: Items
    taken_apart: tuple[ast.stmt, ...] = ()
    """Where a step takes the state apart: `m, v = state`."""
    gone: tuple[ast.stmt, ...] = ()
    """What only gives parts of the state at the beginning a name."""


def with_moments(source: Source, node: ast.ClassDef) -> Fix | None:
    """`init` that returns a state, and `update` that takes it and returns another, with moments of the class.

    None for a class of another form, and for one whose state is read in other ways.
    """
    found = _handed(source, node)
    if found is None:
        return None
    taken = _TAKEN | {*fields_of(node), *functions_in(node)}
    free = {name: f"{name}_" if name in taken else name for name in found.first}
    reads = {node: free[name] for node, name in _reads(found)}
    found = replace(
        found,
        first={free[name]: value for name, value in found.first.items()},
        last={free[name]: value for name, value in found.last.items()},
    )
    leafwise = [*map(_of_each_leaf, found.first.values())]
    begun = [
        f"self.{name} = {text or source.text_of(value)}"
        for (name, value), text in zip(found.first.items(), leafwise, strict=True)
    ]
    returned = found.update.body[-1]
    new = _given(returned)
    made = [
        s for s in found.update.body if isinstance(new, ast.Name) and _binds(s, new.id)
    ]
    apart = {n for s in (returned, *made, *found.taken_apart) for n in walk(s)}
    edits = [
        *(removed(source, s) for s in found.gone),
        _lines(source, found.begin.body[-1], begun),
        *(source.edit(n, f"self.{m}") for n, m in reads.items() if n not in apart),
        *(_apart(source, found, s) for s in found.taken_apart),
        *(removed(source, s) for s in made),
        _lines(source, returned, _ending(source, found, reads)),
        _without(source, found.update.args.args, found.state),
    ]
    if any(leafwise) and found.update.name == "update":
        edits.append(_named(source, found.update, "step"))
    edits += _without_class(source, found)
    return Fix(tuple(edits))


def _apart(source: Source, found: _Handed, statement: ast.stmt) -> Edit:
    """`m, v = self.m, self.v` of the names that are bound again; of others the moments are read."""
    again = [
        (name, part)
        for name, part in _parts(found, statement)
        if not _is_bound_once(found.update, name)
    ]
    if not again:
        return removed(source, statement)
    names, parts = zip(*again, strict=True)
    values = ", ".join(f"self.{part}" for part in parts)
    return source.edit(statement, f"{', '.join(names)} = {values}")


def _parts(found: _Handed, statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """The names in `m, v = state`, and which part of the state each stands for."""
    names = _taken_apart(statement, found.state.arg)
    return zip(names, found.first, strict=True)


def _is_bound_once(method: ast.FunctionDef, name: str) -> bool:
    names = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == name]
    given = any(isinstance(n, ast.arg) and n.arg == name for n in walk(method))
    return not given and sum(isinstance(n.ctx, ast.Store) for n in names) == 1


def _without_class(source: Source, found: _Handed) -> Iterator[Edit]:
    """The NamedTuple of the state taken out, where nothing else reads it."""
    made = [
        n.func
        for m in (found.begin, found.update)
        for n in walk(m)
        if isinstance(n, ast.Call)
    ]
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            uses = [n for n in walk(source.tree) if _is(n, node.name)]
            if uses and all(any(source.same(n, m) for m in made) for n in uses):
                yield removed(source, node)


def _ending(source: Source, found: _Handed, reads: Mapping[ast.expr, str]) -> list[str]:
    """The statements that set what a step changes, and return the updates: all of the state before it."""
    returned = found.update.body[-1]
    assert isinstance(returned, ast.Return)
    assert isinstance(returned.value, ast.Tuple)
    result = returned.value.elts[0]
    changed = {n: v for n, v in found.last.items() if reads.get(v) != n}
    texts = [_text(source, value, reads) for value in changed.values()]
    lines = [f"self.{name} = {text}" for name, text in zip(changed, texts, strict=True)]
    if len(lines) > 1 and any(_reads_another(v, n, reads) for n, v in changed.items()):
        targets = ", ".join(f"self.{name}" for name in changed)
        lines = [f"{targets} = {', '.join(texts)}"]
    text = _text(source, result, reads)
    if any(reads.get(n) in changed for n in walk(result) if isinstance(n, ast.expr)):
        taken = {n.id for n in walk(found.update) if isinstance(n, ast.Name)}
        name = next(n for n in _UPDATES if n not in taken)
        return [f"{name} = {text}", *lines, f"return {name}"]
    return [*lines, f"return {text}"]


def _reads_another(value: ast.expr, name: str, reads: Mapping[ast.expr, str]) -> bool:
    """Whether what a moment is set to depends on another one, as it was before the step."""
    return any(reads.get(n, name) != name for n in walk(value))  # type: ignore[arg-type]


def _handed(source: Source, node: ast.ClassDef) -> _Handed | None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    begin = next((methods[n] for n in _BEGINS if n in methods), None)
    update = methods.get("update") or methods.get("step")
    if begin is None or update is None or not begin.body or not update.body:
        return None
    given = update.args.args[2:]
    state = next((a for a in given if "state" in a.arg or a.arg == "s"), None)
    ends = begin.body[-1], update.body[-1]
    returns = [n for m in (begin, update) for n in _own_returns(m)]
    if state is None or {*returns} != {*ends}:
        return None
    apart = [s for s in update.body if _taken_apart(s, state.arg)]
    local = [_taken_apart(s, state.arg) for s in apart]
    named = {**_fields(source), "": local[0] if local else []}
    begun = ends[0].value if isinstance(ends[0], ast.Return) else None
    first = _items(begun, "", named)
    new = _given(ends[1])
    if isinstance(new, ast.Name) and new.id != state.arg:
        values = only_value(new.id, update)
        used = [n for n in walk(update) if isinstance(n, ast.Name) and n.id == new.id]
        new = values[0] if len(values) == 1 and len(used) == 2 else None
    last = _items(new, state.arg, named)
    if not first or last is None or not {*last} <= {*first}:
        return None
    first, gone = written_out(first, begin)
    if any(len(names) != len(first) for names in local):
        return None
    found = _Handed(begin, update, state, first, last, tuple(apart), tuple(gone))
    read = [n for n, _ in _reads(found) if not isinstance(n, ast.Name)]
    whole = [n for n in walk(update) if isinstance(n, ast.Name) and n.id == state.arg]
    spread = sum(_spreads(n, state.arg) for n in walk(update))
    others = spread + len(apart)
    return found if len(whole) == len(read) + others else None


def _own_returns(method: ast.FunctionDef) -> Iterator[ast.Return]:
    """Where a method ends, and no function in it."""
    inner = {
        id(n)
        for function in walk(method)
        if isinstance(function, ast.FunctionDef) and function is not method
        for n in walk(function)
    }
    for node in walk(method):
        if isinstance(node, ast.Return) and id(node) not in inner:
            yield node


def _given(returned: ast.stmt) -> ast.expr | None:
    """The state that a step returns beside the updates."""
    match returned:
        case ast.Return(value=ast.Tuple(elts=[_, new])):
            return new
    return None


def _fields(source: Source) -> dict[str, list[str]]:
    """The names of the fields of each class of the module, in order."""
    return {
        node.name: [s.target.id for s in node.body if isinstance(s, ast.AnnAssign)]  # type: ignore[union-attr]
        for node in source.tree.body
        if isinstance(node, ast.ClassDef)
    }


def _taken_apart(statement: ast.stmt, state: str) -> list[str]:
    """The names in `m, v = state`; none of any other statement."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)) if (
            name == state
        ):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return names if len(names) == len(parts) else []
    return []


def _items(
    node: ast.expr | None, state: str, named: Mapping[str, Sequence[str]]
) -> Items | None:
    """The parts of a state by name: `dict(m=m)`, `{"m": m}`, `State(m=m)`, `state._replace(m=m)`.

    `named` are the names of what stands in a class or, under "", in a tuple.
    """
    match node:
        case ast.Tuple(elts=values) if len(values) == len(named[""]):
            return dict(zip(named[""], values, strict=True))
        case ast.Call(func=ast.Name(id=made), args=values, keywords=keywords) if (
            values and len(values) <= len(named.get(made, ()))
        ):
            # What is spread out, `State(*parts)`, has no name.
            if any(isinstance(v, ast.Starred) for v in values):
                return None
            by_place = dict(zip(named[made], values, strict=False))
            return by_place | {k.arg or "": k.value for k in keywords}
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="_replace")) if (
            name != state
        ):
            return None
        case ast.Call(args=[], keywords=keywords) if all(k.arg for k in keywords):
            return {k.arg or "": k.value for k in keywords}
        case ast.Dict(keys=keys, values=values):
            found = {}
            for key, value in zip(keys, values, strict=True):
                if key is None and isinstance(value, ast.Name) and value.id == state:
                    continue
                if (
                    not isinstance(key, ast.Constant)
                    or not str(key.value).isidentifier()
                ):
                    return None
                found[str(key.value)] = value
            return found
        case ast.Name(id=name) if state and name == state:
            return {}
    return None


def _spreads(node: ast.AST, state: str) -> int:
    """How often a state is the rest of another one: in `{**state, "m": m}` and `state._replace(m=m)`."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return sum(k is None and _is(v, state) for k, v in pairs)
        case ast.Call(func=ast.Attribute(value=owner, attr="_replace")):
            return _is(owner, state)
        case ast.Return(value=ast.Tuple(elts=[_, new])):
            return _is(new, state)
    return 0


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _reads(found: _Handed) -> Iterator[tuple[ast.expr, str]]:
    """Where a step reads a part of the state: `state["m"]`, `state.m`."""
    name = found.state.arg
    local = {
        local: part
        for statement in found.taken_apart
        for local, part in _parts(found, statement)
        if _is_bound_once(found.update, local)
    }
    for node in walk(found.update):
        match node:
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(part))) if (
                _is(owner, name) and part in found.first
            ):
                yield node, part
            case ast.Attribute(value=owner, attr=part) if (
                _is(owner, name) and part in found.first
            ):
                yield node, part
            case ast.Name(id=read, ctx=ast.Load()) if read in local:
                yield node, local[read]


def _of_each_leaf(value: ast.expr) -> str:
    """`jax.tree.map(jnp.zeros_like, params)` for one leaf; empty for any other value."""
    match value:
        case ast.Call(func=mapped, args=[function, ast.Name(id=tree)]) if (
            dotted(mapped) in _MAPS
        ):
            pass
        case _:
            return ""
    if isinstance(function, ast.Lambda) and len(function.args.args) == 1:
        leaf = function.args.args[0]
        body = ast.parse(ast.unparse(function.body), mode="eval")
        for node in ast.walk(body):
            if isinstance(node, ast.Name) and node.id == leaf.arg:
                node.id = tree
        return ast.unparse(body)
    made = ast.unparse(function)
    return (
        f"({made})({tree})" if isinstance(function, ast.Lambda) else f"{made}({tree})"
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and _is(statement.targets[0], name)
    )


def _text(source: Source, node: ast.expr, reads: Mapping[ast.expr, str]) -> str:
    """The text of an expression that reads the moments."""
    if not any(n in reads for n in walk(node)):
        return source.text_of(node)
    text = ast.unparse(node)
    for read, name in reads.items():
        if read in walk(node):
            old = re.escape(ast.unparse(read))
            text = re.sub(rf"(?<![\w.]){old}(?!\w)", f"self.{name}", text)
    return text


def _lines(source: Source, statement: ast.stmt, lines: list[str]) -> Edit:
    indent = "\n" + " " * statement.col_offset
    return source.edit(statement, indent.join(lines))


def _without(source: Source, arguments: list[ast.arg], argument: ast.arg) -> Edit:
    before = arguments[arguments.index(argument) - 1]
    return source.replace(source.end(before), source.end(argument), "")


def _named(source: Source, method: ast.FunctionDef, name: str) -> Edit:
    line, column = source.start(method)
    start = line, column + len("def ")
    return source.replace(start, (line, start[1] + len(method.name)), name)
