"""Layers of flax that `nn.vmap` makes several of, each with weights of its own, as a loop over them.

critics = nn.vmap(Critic, variable_axes={"params": 0}, in_axes=None, axis_size=2)
q = critics(width)(x)

becomes

members = []
for member in range(2):
    members.append(Critic(width)(x))
q = jnp.stack(members, axis=0)

and `x, _ = nn.scan(Block, variable_axes={"params": 0}, length=depth)(width)(x, None)` a loop that calls
one after another. Those that `setup` makes are a list: `self.critics = [Critic(width) for _ in range(2)]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    marked,
    name,
    self_attribute,
    statement,
    with_names,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_VMAPS = ("flax.linen.vmap", "flax.linen.transforms.vmap")
_SCANS = ("flax.linen.scan", "flax.linen.transforms.scan")
_WRAPS = tuple(f"flax.linen.{w}" for w in ("remat", "checkpoint", "jit"))
_KNOWN = {"variable_axes", "split_rngs", "in_axes", "out_axes", "axis_size"}


@dataclass(frozen=True)
class _Several:
    """What `nn.vmap` is told of layers with weights of their own."""

    layer: ast.expr
    given: tuple[object, ...] | int | None
    """The axis of each input, or of all, that is gone through; None: each is given all of them whole."""
    made: int
    count: ast.expr
    scans: bool = False
    """Whether each is given what the one before it returns first."""


@dataclass(frozen=True)
class _Run:
    """What a call of such layers runs."""

    several: _Several
    layer: ast.expr
    """One of them."""
    members: ast.expr | None = None
    """The list of them, which `layer` goes through, where they are made elsewhere."""

    def loop(self, count: str, body: list[ast.stmt], *, numbered: bool) -> ast.For:
        """The loop over them, with the name of their number."""
        if self.members is None:
            iterated, target = expression("range(n)", n=self.several.count), count
        elif numbered:
            iterated = expression("enumerate(m)", m=self.members)
            target = f"{count}, {ast.unparse(self.layer)}"
        else:
            iterated, target = self.members, ast.unparse(self.layer)
        loop = statement(f"for {target} in x:\n    pass", x=iterated)
        assert isinstance(loop, ast.For)
        loop.body = body
        return loop


def without_mapped_layers(origin: Origin) -> None:
    """Write them so in methods that make their layers, in place."""
    if not origin.uses("flax"):
        return
    for node in origin.classes.values():
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        kept: dict[str, _Several] = {}
        for method in methods:
            if method.name == "setup":
                kept |= _Layers(origin).kept(method)
        for method in methods:
            if method.name == "__call__" or (kept and method.name != "setup"):
                _Layers(origin, kept).method(method)
    located(origin.tree)


def _scanned(origin: Origin, call: ast.expr) -> _Several | None:
    """What `nn.scan` is told of layers with weights of their own, given the same beside the carry."""
    if not isinstance(call, ast.Call) or origin.qualified(call.func) not in _SCANS:
        return None
    given = {str(k.arg): k.value for k in call.keywords}
    weights, count = literal(given.get("variable_axes")), given.get("length")
    own = isinstance(weights, dict) and weights.get("params") == 0
    broadcast = given.get("in_axes")
    parts = getattr(broadcast, "elts", [broadcast] if broadcast is not None else [])
    if any(not ast.unparse(p).endswith("broadcast") for p in parts):
        return None
    if len(call.args) != 1 or not own or count is None:
        return None
    return _Several(call.args[0], None, 0, count, scans=True)


def _several(origin: Origin, call: ast.expr) -> _Several | None:
    if not isinstance(call, ast.Call) or origin.qualified(call.func) not in _VMAPS:
        return None
    given = {str(k.arg): k.value for k in call.keywords}
    axes = literal(given.get("in_axes", ast.Constant(0)))
    made = literal(given.get("out_axes", ast.Constant(0)))
    weights = literal(given.get("variable_axes"))
    count = given.get("axis_size")
    own = isinstance(weights, dict) and weights.get("params") == 0
    if len(call.args) != 1 or not own or count is None or not set(given) <= _KNOWN:
        return None
    each = axes if isinstance(axes, tuple) else (axes,)
    if not isinstance(made, int) or any(a not in (None, 0) for a in each):
        return None
    assert axes is None or isinstance(axes, tuple | int)
    return _Several(call.args[0], axes, made, count)


class _Layers:
    def __init__(
        self, origin: Origin, attributes: Mapping[str, _Several] | None = None
    ):
        self.origin, self.count = origin, 0
        self.attributes = attributes or {}
        """Lists of such layers that the object has."""
        self.known: dict[str, _Several] = {}
        """Locals that are such classes, or such layers."""
        self.layers: dict[str, ast.Call] = {}
        """Locals that are such layers: what makes one of them."""
        self.wrapped: dict[str, ast.expr] = {}
        """Locals that are classes which compute again what they need."""
        self.read: set[str] = set()
        """The names that the method reads."""

    def method(self, method: ast.FunctionDef) -> None:
        """Change its statements in place."""
        self.read = {
            p.id
            for p in walk(method)
            if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
        }
        method.body = [made for s in method.body for made in self._statement(s)]

    def kept(self, setup: ast.FunctionDef) -> dict[str, _Several]:
        """The lists of layers that it gives the object, which are made such lists, in place."""
        found: dict[str, _Several] = {}
        left: list[ast.stmt] = []
        for node in setup.body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=local)], value=ast.Call() as call
                ) if made := self._told(call):
                    self.known[local] = made
                    continue
                case ast.Assign(
                    targets=[ast.Attribute() as target], value=ast.Call() as call
                ) if (title := self_attribute(target)) and (made := self._maker(call)):
                    found[title] = made
                    named = [k for k in call.keywords if k.arg != "name"]
                    one = ast.Call(made.layer, call.args, named)
                    node.value = expression(
                        "[x for _ in range(n)]", x=one, n=made.count
                    )
            left.append(node)
        if found:
            setup.body = left
        return found

    def _statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as call):
                if self.origin.qualified(call.func) in _WRAPS and call.args:
                    self.wrapped[local] = call.args[0]
                    return
                made = self._told(call)
                if made is not None:
                    self.known[local] = made
                    return
                made = self._maker(call)
                if made is not None:
                    self.known[local] = made
                    self.layers[local] = ast.Call(made.layer, call.args, call.keywords)
                    return
            case ast.If() | ast.For() | ast.With():
                for block in ("body", "orelse"):
                    inner = getattr(node, block, [])
                    made_ = [m for s in inner for m in self._statement(s)]
                    if inner:
                        setattr(node, block, made_ or [ast.Pass()])
                yield node
                return
        loop = self._one_after_another(node)
        if loop is not None:
            yield from loop
            return
        for call in [c for c in walk(node) if isinstance(c, ast.Call)]:
            yield from self._called(call)
        yield with_names(node, self.wrapped)

    def _told(self, call: ast.expr) -> _Several | None:
        return _several(self.origin, call) or _scanned(self.origin, call)

    def _layer(self, call: ast.Call) -> _Run | None:
        """The layers that a call runs, and what makes one of them."""
        func = call.func
        if (title := self_attribute(func)) and title in self.attributes:
            one = name(f"one_of_{title}")
            return _Run(self.attributes[title], one, cloned(func))
        if isinstance(func, ast.Name) and func.id in self.layers:
            several, layer = self.known[func.id], self.layers[func.id]
        elif isinstance(func, ast.Call) and (known := self._maker(func)) is not None:
            several, layer = known, ast.Call(known.layer, func.args, func.keywords)
        else:
            return None
        layer = cloned(layer)
        if isinstance(layer.func, ast.Call):
            layer.func = layer.func.args[0]
        layer.func = self.wrapped.get(getattr(layer.func, "id", ""), layer.func)
        return _Run(several, layer)

    def _one_after_another(self, node: ast.stmt) -> list[ast.stmt] | None:
        """The loop over layers of which each is given what the one before it returns."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=carry), ast.Name(id=beside)])],
                value=ast.Call(args=[first, *rest]) as call,
            ):
                found = self._layer(call)
            case _:
                return None
        if found is None or not found.several.scans:
            return None
        one = ast.Call(found.layer, [name(carry), *rest], call.keywords)
        body = [statement(f"{carry}, {beside} = y", y=one)]
        loop = found.loop("_", body, numbered=False)
        made: list[ast.stmt] = (
            [] if is_name(first, carry) else [statement(f"{carry} = x", x=first)]
        )
        if beside in self.read:
            # What is returned beside the carry is stacked.
            steps = f"{beside}_steps"
            made.append(statement(f"{steps} = []"))
            body.append(ast.Expr(expression(f"{steps}.append({beside})")))
            stacked = marked(
                "jax.tree.map(lambda *parts: jnp.stack(parts), *s)", s=name(steps)
            )
            last = ast.Assign([ast.Name(beside, ast.Store())], stacked)
            return [ast.copy_location(s, node) for s in (*made, loop, last)]
        body[0] = statement(f"{carry}, _ = y", y=one)
        return [ast.copy_location(s, node) for s in (*made, loop)]

    def _maker(self, call: ast.Call) -> _Several | None:
        if isinstance(call.func, ast.Name) and call.func.id not in self.layers:
            return self.known.get(call.func.id)
        return self._told(call.func)

    def _called(self, call: ast.Call) -> Iterator[ast.stmt]:
        """The loop over the layers of a call, which becomes the array of their results."""
        found = self._layer(call)
        if found is None or found.several.scans:
            return
        several = found.several
        members, member = f"members_{self.count}", f"member_{self.count}"
        self.count += 1
        places = several.given
        if not isinstance(places, tuple):
            places = (places,) * len(call.args)
        given = [
            expression("x[i]", x=a, i=name(member)) if at == 0 else a
            for a, at in zip(call.args, places, strict=False)
        ]
        one = ast.Call(cloned(found.layer), given, call.keywords)
        added = expression(f"{members}.append(y)", y=one)
        yield ast.copy_location(statement(f"{members} = []"), call)
        loop = found.loop(member, [ast.Expr(added)], numbered=0 in places)
        yield ast.copy_location(loop, call)
        made = marked("jnp.stack(m)", m=name(members))
        assert isinstance(made, ast.Call)
        call.func, call.args = made.func, made.args
        call.keywords = [ast.keyword("axis", ast.Constant(several.made))]
