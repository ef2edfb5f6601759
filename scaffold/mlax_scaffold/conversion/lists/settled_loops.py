"""Loops in loops of linen, and of haiku, that make layers, with what they go over by default, written out.

class Encoder(nn.Module):
    mults: Sequence[int] = (1, 2)

    @nn.compact
    def __call__(self, x):
        for i, mult in enumerate(self.mults):
            for _ in range(2):
                x = Block(8 * mult)(x)
            if i != len(self.mults) - 1:
                x = Downsample()(x)
        return x

makes four blocks and what is between them. This is how a class is read whose loops make more than lists of
layers of one kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.lists.settled_fields import (
    defaults_known,
    fields_of,
    leave_out,
    owners_of,
    settle,
)
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import (
    Known,
    items_of,
    truth,
    unpacked,
)
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    literal,
    names,
    reached,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_FRAMEWORKS = ("flax", "haiku")
_MOST = 12
"""Loops of more passes are not written out."""


def with_settled_loops(
    origin: Origin, thing: str, notes: Notes, *, skips: bool = False
) -> None:
    """Write them out in place, and tell which fields are settled.

    Args:
        origin: the file.
        thing: the class of it that is converted.
        notes: where to tell that.
        skips: whether only those are that join something in some of their passes, `if i == self.skip`, or
            take from a list what loops in loops put there: no list of layers says how wide what comes after
            it is.
    """
    for node in origin.classes.values():
        call = method_of(node, "__call__")
        if framework_of(origin, node) not in _FRAMEWORKS or call is None:
            continue
        joins = _joining(origin, call) if is_layer_class(origin, node) else []
        involved = is_layer_class(origin, node) and _involved(origin, call, skips)
        if not joins and not involved:
            continue
        fields = fields_of(node)
        defaults = defaults_known(origin, node, fields)
        loops = [p for p in walk(call) if isinstance(p, ast.For)]
        counted = {
            part.targets[0].id: part.value
            for part in call.body
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        }
        read = {
            a
            for loop in loops
            if _makes(origin, loop)
            for whole in (loop.iter, *_behind(loop.iter, counted))
            for part in walk(whole)
            if (a := self_attribute(part))
        }
        read |= {a for test in joins for p in walk(test) if (a := self_attribute(p))}
        if _flattened(origin, call, loops):
            # How much windows leave depends on how they are padded, too.
            texts = {f for f, v in defaults.items() if isinstance(literal(v), str)}
            parts = (p for loop in loops for p in walk(loop))
            read |= {a for p in parts if (a := self_attribute(p)) in texts}
        settled = {f: v for f, v in defaults.items() if f in read}
        if not read <= {*settled}:
            continue
        owners = owners_of(origin, node, {fields[a][0] for a in settled})
        writing = _Writing(origin, settled)
        call.body = writing.statements(call.body, {})
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method is not call:
                method.body = [Known({}, settled).visit(p) for p in method.body]
        leave_out(origin, node, settled, fields)
        told = [(node, fields[field][0], value) for field, value in settled.items()]
        for owner, attribute, value in owners:
            told.append((owner, fields_of(owner)[attribute][0], value))
            settle(origin, owner, attribute, value)
        for owner, field, value in told:
            if owner.name == thing:
                what = f"`{field}` is always its default, `{ast.unparse(value)}`"
                notes.remark(owner, what, "write another spec for another one")
    located(origin.tree)


def _behind(node: ast.expr, counted: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """What locals of a method are that an expression reads, directly or not."""
    for local in reached(counted, names(node)):
        yield counted[local]


def _involved(origin: Origin, call: ast.FunctionDef, both: bool) -> bool:
    """Whether loops make layers in loops beside others, or take from lists what others have put there.

    Where both are so, nothing else tells how wide what is taken is.
    """
    loops = [p for p in walk(call) if isinstance(p, ast.For) and _makes(origin, p)]
    nested = any(
        len(loop.body) > 1 and any(isinstance(part, ast.For) for part in loop.body)
        for loop in loops
    )
    pops = any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == "pop"
        for part in walk(call)
    )
    if both:
        return nested and pops
    return bool(loops) and (nested or pops or _flattened(origin, call, loops))


_CONVOLUTIONS = ("flax.linen.Conv", "haiku.Conv1D", "haiku.Conv2D")
_FLATTENS = ("reshape", "ravel", "flatten", "Flatten")


def _flattened(origin: Origin, call: ast.FunctionDef, loops: list[ast.For]) -> bool:
    """Whether what loops make smaller by windows of their own is flattened afterwards."""
    strided = any(
        isinstance(part, ast.Call)
        and origin.qualified(part.func) in _CONVOLUTIONS
        and any(
            k.arg in ("stride", "strides") and names(k.value) & {*targets(loop.target)}
            for k in part.keywords
        )
        for loop in loops
        for part in walk(loop)
    )
    flat = any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in _FLATTENS
        for part in walk(call)
    )
    return strided and flat


def _joining(origin: Origin, call: ast.FunctionDef) -> list[ast.expr]:
    """The conditions on passes under which something is joined to what layers are given."""
    found: list[ast.expr] = []
    for loop in (p for p in walk(call) if isinstance(p, ast.For)):
        counted = {*targets(loop.target)}
        if _makes(origin, loop):
            found += [
                part.test
                for part in loop.body
                if isinstance(part, ast.If)
                and counted & names(part.test)
                and any(_joins(s) for s in (*part.body, *part.orelse))
            ]
    return found


def _joins(node: ast.stmt) -> bool:
    """Whether a statement joins a local and others: `x = jnp.concatenate([x, y], axis=-1)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as call):
            last = ast.unparse(call.func).rpartition(".")[2]
            return last in ("concatenate", "concat", "hstack") and local in names(call)
    return False


def _makes(origin: Origin, node: ast.AST) -> bool:
    """Whether layers are made in it."""
    made = _partial_calls(origin)
    return any(
        isinstance(part, ast.Call)
        and (_is_class(origin, part.func) or getattr(part.func, "id", "") in made)
        for part in walk(node)
    )


def _is_class(origin: Origin, node: ast.expr) -> bool:
    return getattr(node, "id", "") in origin.classes or (
        origin.qualified(node).startswith(("flax.linen.", "haiku."))
        and ast.unparse(node).rpartition(".")[2][:1].isupper()
    )


def _partial_calls(origin: Origin) -> set[str]:
    """The names of partial calls of classes, `dense = partial(nn.Dense, use_bias=False)`."""
    return {
        part.targets[0].id
        for part in walk(origin.tree)
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.Call)
        and origin.qualified(part.value.func) == "functools.partial"
        and part.value.args
        and _is_class(origin, part.value.args[0])
    }


class _Writing:
    def __init__(self, origin: Origin, settled: Mapping[str, ast.expr]):
        self.origin, self.settled = origin, dict(settled)
        self.counts: dict[str, ast.expr] = {}
        """What names count that passes add to, so far."""

    def statements(
        self, body: list[ast.stmt], names: Mapping[str, ast.expr]
    ) -> list[ast.stmt]:
        """Statements with what is known in place, the passes of loops one after the other."""
        return [made for part in body for made in self._statement(part, names)]

    def _statement(
        self, node: ast.stmt, names: Mapping[str, ast.expr]
    ) -> Iterator[ast.stmt]:
        known = Known({**names, **self.counts}, self.settled)
        node = cloned(node)
        if self._counts(node, known):
            return
        if isinstance(node, ast.For):
            passes = self._passes(node, known)
            if passes is not None:
                for bound in passes:
                    for local in bound:
                        self.counts.pop(local, None)
                    yield from self.statements(node.body, {**names, **bound})
                return
        if isinstance(node, ast.If):
            node.test = known.visit(node.test)
            decided = truth(node.test)
            if decided is not None:
                yield from self.statements(node.body if decided else node.orelse, names)
                return
        yield from self._told(node)
        known = Known({**names, **self.counts}, self.settled)
        if isinstance(node, ast.If | ast.For | ast.With):
            if isinstance(node, ast.For):
                node.iter = known.visit(node.iter)
            node.body = self.statements(node.body, names)
            if not isinstance(node, ast.With):
                node.orelse = self.statements(node.orelse, names)
            yield node
            return
        yield known.visit(node)

    def _counts(self, node: ast.stmt, known: Known) -> bool:
        """Whether a statement is one that counts: what it counts to is written where it is read."""
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                value = known.value(value)
            case ast.AugAssign(target=ast.Name(id=local), op=op, value=value) if (
                local in self.counts
            ):
                value = known.value(ast.BinOp(self.counts[local], op, value))
            case _:
                return False
        if type(literal(value)) is not int:
            return False
        self.counts[local] = value
        return True

    def _told(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """What names count before a statement that binds them otherwise: they are not followed then."""
        for part in walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                value = self.counts.pop(part.id, None)
                if value is not None:
                    place = ast.Name(part.id, ast.Store())
                    yield ast.copy_location(ast.Assign([place], value), node)

    def _passes(self, node: ast.For, known: Known) -> list[dict[str, ast.expr]] | None:
        """What the names of a loop that makes layers are in each pass; None where that is not told."""
        ends = any(isinstance(p, ast.Break | ast.Continue) for p in walk(node))
        items = items_of(known.value(node.iter))
        if ends or node.orelse or items is None or len(items) > _MOST:
            return None
        if not _makes(self.origin, node) and not _keeps(node):
            return None
        found: list[dict[str, ast.expr]] = []
        for item in items:
            bound = unpacked(node.target, item)
            if bound is None or any(
                isinstance(literal(v), ast.AST) for v in bound.values()
            ):
                return None
            found.append(bound)
        return found


def _keeps(node: ast.For) -> bool:
    """Whether passes of a loop put something into lists, or take it out."""
    return any(
        isinstance(part, ast.Attribute) and part.attr in ("append", "pop")
        for part in walk(node)
    )
