"""Layers that equinox and nnx make with stacked weights and scan over, as a list that a loop goes over.

self.blocks = eqx.filter_vmap(lambda k: Block(dim, key=k))(keys)

becomes `self.blocks = [Block(dim, key=k) for k in keys]`, and

dynamic, static = eqx.partition(self.blocks, eqx.is_array)
def step(x, block):
    block = eqx.combine(block, static)               becomes        for block in self.blocks:
    return block(x), None                                               x = block(x)
x, _ = lax.scan(step, x, dynamic)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mlax_scaffold.conversion.forms.mapped_members import with_called_members
from mlax_scaffold.conversion.forms.scan_loops import scan_as_loop
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    as_function,
    expression,
    is_name,
    is_none,
    name,
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_SCAN = "flax.nnx.scan"
_MAPS = ("equinox.filter_vmap", "jax.vmap", "flax.nnx.vmap")
_WRAPS = (
    *("equinox.filter_checkpoint", "jax.checkpoint", "flax.nnx.remat", "flax.nnx.jit"),
    *("equinox.filter_jit", "jax.jit", "jax.remat"),
)


def without_stacked_layers(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("equinox", "nnx"):
            continue
        made = cloned(node)
        methods = [m for m in made.body if isinstance(m, ast.FunctionDef)]
        for method in methods:
            method.body = [as_function(s) or s for s in method.body]
        start = next((m for m in methods if m.name == "__init__"), None)
        stacked = _Making(origin, start).run() if start is not None else set()
        others = [m for m in methods if m is not start]
        for method in others:
            _Scans(origin, stacked).run(method)
            with_called_members(origin, method, stacked)
        if stacked and not any(_left(m, stacked) for m in others):
            node.body = made.body
    located(origin.tree)


def _left(method: ast.FunctionDef, stacked: set[str]) -> bool:
    """Whether a method reads such layers in another way than by a loop over them."""
    loops = {
        id(p.iter) for p in walk(method) if isinstance(p, ast.For | ast.comprehension)
    }
    return any(
        self_attribute(p) in stacked and id(p) not in loops for p in walk(method)
    )


class _Making:
    """A constructor that makes such layers."""

    def __init__(self, origin: Origin, start: ast.FunctionDef):
        self.origin, self.start = origin, start
        self.local = {p.name: p for p in start.body if isinstance(p, ast.FunctionDef)}

    def run(self) -> set[str]:
        """The attributes that are lists then."""
        found: set[str] = set()
        for part in self.start.body:
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call) if (
                    attribute := self_attribute(target)
                ):
                    made = self._listed(call)
                    if made is not None:
                        part.value = ast.copy_location(made, call)
                        found.add(attribute)
        left = {n for s in self.start.body for n in _read(s)}
        self.start.body = [
            s
            for s in self.start.body
            if not (isinstance(s, ast.FunctionDef) and s.name not in left and found)
        ]
        return found

    def _listed(self, call: ast.Call) -> ast.expr | None:
        if len(call.args) != 1 or call.keywords:
            return None
        func, given = call.func, call.args[0]
        if isinstance(func, ast.Call) and self._maps(func.func):
            count = _forks(given)
            one = len(func.args) == 1
            return self._over(func.args[0], given, count) if one else None
        function = self.local.get(getattr(func, "id", ""))
        decorators = function.decorator_list if function is not None else []
        if not any(self._maps(d) for d in decorators):
            return None
        return self._over(func, given, self._splits(decorators) or _forks(given))

    def _over(
        self, maker: ast.expr, keys: ast.expr, count: ast.expr | None = None
    ) -> ast.expr | None:
        """The list of what a function makes of each key, or so many times."""
        given, body = self._returned(maker)
        if body is None or len(given) != 1 or not isinstance(body, ast.Call):
            return None
        target: ast.expr = ast.Name(given[0], ast.Store())
        source = keys
        if count is not None:
            target, source = ast.Name("_", ast.Store()), expression("range(n)", n=count)
        loop = ast.comprehension(target, source, [], 0)
        return ast.ListComp(cloned(body), [loop])

    def _returned(self, maker: ast.expr) -> tuple[list[str], ast.expr | None]:
        if isinstance(maker, ast.Lambda):
            return [a.arg for a in maker.args.args], maker.body
        function = self.local.get(getattr(maker, "id", ""))
        if function is None:
            return [], None
        match without_docstring(function.body):
            case [ast.Return(value=value)]:
                return [a.arg for a in function.args.args], value
        return [], None

    def _maps(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            # `@nnx.vmap(in_axes=0, out_axes=0)`, `partial(nnx.vmap, ...)`
            part = self.origin.qualified(node.func) == "functools.partial"
            return self._maps(node.args[0] if part and node.args else node.func)
        return self.origin.qualified(node) in _MAPS

    def _splits(self, decorators: Iterable[ast.expr]) -> ast.expr | None:
        for decorator in decorators:
            match decorator:
                case ast.Call(func=func, keywords=keywords) if (
                    self.origin.qualified(func) == "flax.nnx.split_rngs"
                ):
                    return next((k.value for k in keywords if k.arg == "splits"), None)
                case ast.Call(keywords=keywords) if self._maps(decorator):
                    for keyword in keywords:
                        if keyword.arg == "axis_size":
                            return keyword.value
        return None


def _forks(node: ast.expr) -> ast.expr | None:
    """How many keys `rngs.fork(split=n)` makes."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="fork"),
            args=[],
            keywords=[ast.keyword(arg="split" | "splits", value=count)],
        ):
            return count
    return None


class _Scans:
    """A method that scans over such layers."""

    def __init__(self, origin: Origin, stacked: set[str]):
        self.origin, self.stacked = origin, stacked

    def run(self, method: ast.FunctionDef) -> None:
        self.parted: dict[str, tuple[ast.expr, str]] = {}
        """What is scanned over: the layers, and what holds the rest of them."""
        self.steps: dict[str, ast.FunctionDef] = {}
        body: list[ast.stmt] = []
        before = [made for part in method.body for made in self._apart(part)]
        for part in before:
            if self._is_parted(part):
                continue
            if isinstance(part, ast.FunctionDef):
                self.steps[part.name] = part
            made = self._loop(part)
            body += [part] if made is None else made
        read = {n for s in body for n in _read(s)}
        kept = [s for s in body if not isinstance(s, ast.FunctionDef) or s.name in read]
        if not {n for s in kept for n in names(s)} & self.parted.keys():
            method.body = kept

    def _apart(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement, with a scan that something else is called with before it."""
        if isinstance(node, ast.FunctionDef):
            self.steps[node.name] = node
        value = node.value if isinstance(node, ast.Assign | ast.Return) else None
        for call in walk(value) if value is not None else ():
            if call is value or not isinstance(call, ast.Call) or len(call.args) != 2:
                continue
            if self._carry_at(getattr(call.func, "id", "")) is None:
                continue
            held = cloned(call)
            title = f"scanned_{len(self.steps)}"
            scanned = ast.Assign([ast.Name(title, ast.Store())], held)
            call.__class__, call.__dict__ = ast.Name, {}  # type: ignore[assignment]
            call.id, call.ctx = title, ast.Load()  # type: ignore[attr-defined]
            ast.copy_location(call, node)
            return [ast.copy_location(scanned, node), node]
        return [node]

    def _carry_at(self, title: str) -> int | None:
        """The place of the carry among what a function is given that `nnx.scan` makes scan."""
        function = self.steps.get(title)
        for decorator in function.decorator_list if function is not None else []:
            told = re.search(r"in_axes=\(([^()]*)\)", ast.unparse(decorator))
            parts = told[1].split(", ") if told is not None else []
            if "nnx.scan" in ast.unparse(decorator) and len(parts) == 2:
                carries = [part.endswith("Carry") for part in parts]
                if carries.count(True) == 1 and "0" in parts:
                    return carries.index(True)
        return None

    def _is_parted(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=dynamic), ast.Name(id=static)])],
                value=ast.Call(func=func, args=[layers, _]),
            ) if self.origin.qualified(func) == "equinox.partition":
                if self_attribute(layers) in self.stacked:
                    self.parted[dynamic] = layers, static
                    return True
        return False

    def _loop(self, node: ast.stmt) -> list[ast.stmt] | None:
        """The loop that a scan becomes, and what keeps its result."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name() as target, ast.Name()])],
                value=ast.Call(func=func, args=[step, first, over], keywords=[]),
            ) if self.origin.qualified(func) == "jax.lax.scan":
                return self._of_scan(node, target, step, first, over)
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name() as target, ast.Name()])],
                value=ast.Call(func=step, args=[first, over], keywords=[]),
            ) if self._scans_first(step):
                return self._of_scan(node, target, step, first, over)
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call):
                return self._of_nnx(node, target, call)
            case ast.Return(
                value=ast.Call(
                    args=[ast.Name(id=local), *_] | [*_, ast.Name(id=local)]
                ) as call
            ):
                target = ast.Name(local, ast.Store())
                made = self._of_nnx(node, target, call)
                end = ast.Return(name(local))
                return made and [*made, ast.copy_location(end, node)]
        return None

    def _of_scan(
        self,
        node: ast.stmt,
        target: ast.Name,
        step: ast.expr,
        first: ast.expr,
        over: ast.expr,
    ) -> list[ast.stmt] | None:
        function = self.steps.get(self._unwrapped(step))
        parts = over.elts if isinstance(over, ast.Tuple) else [over]
        known = [self._over(p) for p in parts]
        if function is None or known[0] is None or len(function.args.args) != 2:
            return None
        layers, static = known[0]
        carry, element = (a.arg for a in function.args.args)
        body = cloned(without_docstring(function.body))
        layer, rest = element, []
        for part in body:
            match part:
                case ast.Assign(
                    targets=[ast.Tuple(elts=[ast.Name(id=one), *_])], value=value
                ) if is_name(value, element):
                    element = one
                case ast.Assign(
                    targets=[ast.Name(id=local)], value=ast.Call(func=func, args=args)
                ) if self.origin.qualified(func) == "equinox.combine" and any(
                    is_name(a, static) for a in args
                ):
                    layer = local
                case _:
                    rest.append(part)
        match rest:
            case [*inner, ast.Return(value=ast.Tuple(elts=[after, end]))] if is_none(
                end
            ):
                return scan_as_loop(
                    node, target, carry, layer, layers, first, inner, after
                )
        return None

    def _over(self, node: ast.expr) -> tuple[ast.expr, str] | None:
        """The layers that are scanned over, and what holds the rest of them, if anything does."""
        if self_attribute(node) in self.stacked:
            return node, ""
        return self.parted.get(getattr(node, "id", ""))

    def _scans_first(self, step: ast.expr) -> bool:
        """Whether `nnx.scan` makes a function scan over its second argument, as it does by default."""
        function = self.steps.get(getattr(step, "id", ""))
        for decorator in function.decorator_list if function is not None else []:
            call = decorator if isinstance(decorator, ast.Call) else None
            if self.origin.qualified(call.func if call else decorator) != _SCAN:
                continue
            told = {k.arg: ast.unparse(k.value) for k in call.keywords} if call else {}
            axes = [told.pop(t, "(nnx.Carry, 0)") for t in ("in_axes", "out_axes")]
            return not told and all(a.endswith("Carry, 0)") for a in axes)
        return False

    def _of_nnx(
        self, node: ast.stmt, target: ast.Name, call: ast.Call
    ) -> list[ast.stmt] | None:
        """`x = forward(x, self.blocks)`, of a function that `@nnx.scan` makes scan."""
        function = self.steps.get(getattr(call.func, "id", ""))
        if function is None or len(call.args) != 2 or call.keywords:
            return None
        at = self._carry_at(function.name)
        if at is None:
            return None
        first, layers = call.args[at], call.args[1 - at]
        if self_attribute(layers) not in self.stacked:
            return None
        places = [a.arg for a in function.args.args]
        carry, layer = places[at], places[1 - at]
        match cloned(without_docstring(function.body)):
            case [*inner, ast.Return(value=ast.expr() as after)]:
                if isinstance(after, ast.Tuple):
                    return None
                return scan_as_loop(
                    node, target, carry, layer, layers, first, inner, after
                )
        return None

    def _unwrapped(self, node: ast.expr) -> str:
        """The function that a step is, which may be computed again for its gradient."""
        if isinstance(node, ast.Call) and self.origin.qualified(node.func) in _WRAPS:
            return self._unwrapped(node.args[0])
        return getattr(node, "id", "")


def _read(node: ast.stmt) -> set[str]:
    """The names that a statement reads."""
    return {
        p.id
        for p in walk(node)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
    }
