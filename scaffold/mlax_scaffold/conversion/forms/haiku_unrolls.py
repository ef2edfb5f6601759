"""Cores of haiku that are run over time, as scans; `hk.BatchApply` of what maps the last axis alone."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CORES = ("haiku.LSTM", "haiku.GRU")
_RESETTING = "haiku.ResetCore"
_UNROLLS = ("haiku.dynamic_unroll", "haiku.static_unroll")
_OF_LAST = ("haiku.Linear", "haiku.nets.MLP", "haiku.LayerNorm")
_OF_EACH = ("jax.nn", "jax.numpy.tanh", "jax.numpy.sin", "jax.numpy.maximum")
_OF_AXES = ("softmax", "log_softmax", "standardize", "glu", "logsumexp", "one_hot")
_PLACES = ("core", "input_sequence", "initial_state", "time_major")
_SCAN = """
def step_{n}(carry, x):
    y, carry = core_{n}(x, carry)
    return carry, y
"""
_RESET = """
def step_{n}(carry, x):
    x, anew = x
    carry = {carry}
    y, carry = core_{n}(x, carry)
    return carry, y
"""
_ANEW = "{jnp}.where(anew[..., None], {jnp}.zeros_like({s}), {s})"
"""Where an episode begins, a state is zero, as that which the core begins with."""


def without_unrolls(origin: Origin) -> None:
    """Write them so, in place, in methods and in functions that make their layers."""
    if not any(full.startswith("haiku") for full in origin.imports.values()):
        return
    called: dict[str, str] = {}
    for full, usual in (("jax", "jax"), ("jax.numpy", "jnp")):
        called[full] = origin.name_of(full) or usual
    count = 0
    for node in origin.classes.values():
        resetting = _without_resets(origin, node)
        held = {
            f"self.{attribute}": part.value
            for part in walk(node)
            if isinstance(part, ast.Assign)
            if (attribute := self_attribute(part.targets[0]))
        }
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                _tell_resets(origin, method, resetting)
                made = _Unrolls(origin, called, held, count, resetting)
                method.body = made.statements(method.body)
                count = made.count
    for function in origin.functions.values():
        made = _Unrolls(origin, called, {}, count)
        function.body = made.statements(function.body)
        count = made.count
    if not count:
        return
    for full, usual in called.items():
        if usual not in origin.imports:
            line = f"import {full}" if full == usual else f"import {full} as {usual}"
            origin.tree.body[:0] = ast.parse(line).body
    origin.forget("imports")
    located(origin.tree)


def _without_resets(origin: Origin, node: ast.ClassDef) -> set[str]:
    """The attributes that are cores which begin anew, `hk.ResetCore(core)`, which the core replaces."""
    found: set[str] = set()
    for part in walk(node):
        match part:
            case ast.Assign(targets=[target], value=ast.Call(args=[core]) as call):
                attribute = self_attribute(target)
                inner = isinstance(core, ast.Call) and origin.qualified(core.func)
                if attribute is None or inner not in _CORES:
                    continue
                if origin.qualified(call.func) == _RESETTING:
                    part.value = core
                    found.add(f"self.{attribute}")
    return found


def _tell_resets(
    origin: Origin, method: ast.FunctionDef, resetting: Collection[str]
) -> None:
    """Type the inputs of a method that tell such cores where they begin anew: they are true or false."""
    for call in walk(method):
        match call:
            case ast.Call(func=func, args=[core, ast.Tuple(elts=[_, told]), *_]):
                if origin.qualified(func) not in _UNROLLS:
                    continue
                for given in method.args.args:
                    if ast.unparse(core) in resetting and given.arg == ast.unparse(
                        told
                    ):
                        given.annotation = ast.copy_location(
                            ast.Name("Bool", ast.Load()), given
                        )


def maps_last(origin: Origin, node: ast.ClassDef) -> bool:
    """Whether a class maps the last axis alone, whatever axes there are before it."""
    call = next(
        (
            f
            for f in node.body
            if isinstance(f, ast.FunctionDef) and f.name == "__call__"
        ),
        None,
    )
    if call is None:
        return False
    held = {
        self_attribute(part.targets[0]): origin.qualified(part.value.func)
        for part in walk(node)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
    }
    for part in walk(call):
        match part:
            case (
                ast.Attribute(attr="shape" | "ndim" | "T")
                | ast.Subscript(value=ast.Name())
            ):
                return False
            case ast.Call(func=ast.Call()):
                continue
            case ast.Call(func=func):
                full = origin.qualified(func) or held.get(self_attribute(func)) or ""
                last = full.rpartition(".")[2]
                of_each = full.startswith(_OF_EACH) and last not in _OF_AXES
                initial = full.startswith("haiku.initializers")
                if not (of_each or initial or full in _OF_LAST):
                    return False
                axis = [k.value for k in part.keywords if k.arg == "axis"]
                if any(ast.unparse(a) not in ("-1", "(-1,)", "[-1]") for a in axis):
                    return False
    return True


class _Unrolls(NodeTransformer):
    def __init__(
        self,
        origin: Origin,
        called: dict[str, str],
        held: dict[str, ast.expr],
        count: int,
        resetting: Collection[str] = (),
    ):
        self.origin, self.called, self.count = origin, called, count
        self.resetting = resetting
        """The attributes whose cores are told by a second input where they begin anew."""
        self.known = dict(held)
        """What attributes and locals were assigned."""
        self.sources: dict[str, str] = {}
        """The sequences that states are for, by the locals that hold these."""

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, with a function for each step before what runs it."""
        self._find(body)
        found: list[ast.stmt] = []
        for node in body:
            match node:
                case ast.If() | ast.For() | ast.With():
                    node.body = self.statements(node.body)
                    if not isinstance(node, ast.With):
                        node.orelse = self.statements(node.orelse)
                    found.append(node)
                    continue
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    self.known[local] = value
            run = self._run(node)
            for part in run or [node]:
                found.append(located(self.visit(part)))
        return found

    def _find(self, body: list[ast.stmt]) -> None:
        """Note down which sequence a state is for, where that was bound before it."""
        places: dict[str, int] = {}
        for at, part in enumerate(body):
            for local in targets(part):
                places.setdefault(local, at)
            match part:
                case ast.Assign(
                    value=ast.Call(
                        args=[_, ast.Name(id=xs), ast.Name(id=state), *_]
                    ) as call
                ):
                    before = places.get(xs, -1) < places.get(state, -1)
                    if before and self.origin.qualified(call.func) in _UNROLLS:
                        self.sources[state] = xs

    def _core(self, node: ast.expr) -> ast.Call | None:
        """The call that makes a core, by its name or itself."""
        place = ast.unparse(node)
        made = node if isinstance(node, ast.Call) else self.known.get(place)
        if isinstance(made, ast.Call) and self.origin.qualified(made.func) in _CORES:
            return made
        return None

    def _run(self, node: ast.stmt) -> list[ast.stmt] | None:
        """What runs a core over a sequence, in the place of a statement that does."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ys, last])],
                value=ast.Call(func=func, args=[*args]) as call,
            ) if self.origin.qualified(func) in _UNROLLS:
                pass
            case _:
                return None
        given = dict(
            zip(
                ("core", "input_sequence", "initial_state", "time_major"),
                args,
                strict=False,
            )
        )
        given |= {str(k.arg): k.value for k in call.keywords}
        core = given.get("core")
        if core is None or self._core(core) is None or len(given) < 3:
            return None
        rest = {k: literal(v) for k, v in given.items()}
        if {*given} - {*_PLACES, "reverse", "return_all_states", "unroll"}:
            return None
        if rest.get("return_all_states", False) is not False:
            return None
        number, self.count = self.count, self.count + 1
        title = (
            ast.unparse(core) if not isinstance(core, ast.Call) else f"core_{number}"
        )
        made: list[ast.stmt] = []
        if isinstance(core, ast.Call):
            made.append(ast.Assign([ast.Name(title, ast.Store())], core))
        text = self._step(number, core).replace(f"core_{number}", title)
        made += ast.parse(text).body
        first = rest.get("time_major", True) is not False
        if not first and title in self.resetting:
            return None
        turn = "x" if first else f"{self.called['jax.numpy']}.swapaxes(x, 0, 1)"
        steps = expression(turn, x=given["input_sequence"])
        reverse = given.get("reverse", ast.Constant(False))
        run = expression(
            f"{self.called['jax']}.lax.scan(step_{number}, s, x, reverse=r)",
            s=given["initial_state"],
            x=steps,
            r=reverse,
        )
        made.append(ast.Assign([ast.Tuple([last, ys], ast.Store())], run))
        if not first and isinstance(ys, ast.Name):
            value = expression(turn, x=ast.Name(ys.id, ast.Load()))
            made.append(ast.Assign([ast.Name(ys.id, ast.Store())], value))
        for part in made:
            for inner in walk(part):
                if isinstance(inner, ast.expr | ast.stmt | ast.arg):
                    ast.copy_location(inner, node)
        return made

    def _step(self, number: int, core: ast.expr) -> str:
        """The function of one step."""
        if ast.unparse(core) not in self.resetting:
            return _SCAN.format(n=number)
        made = self._core(core)
        pair = made is not None and self.origin.qualified(made.func) == "haiku.LSTM"
        parts = ("carry[0]", "carry[1]") if pair else ("carry",)
        anew = [_ANEW.format(jnp=self.called["jax.numpy"], s=part) for part in parts]
        carry = f"({', '.join(anew)})" if pair else anew[0]
        return _RESET.format(n=number, carry=carry)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        local = node.targets[0]
        state = local.id if isinstance(local, ast.Name) else ""
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=core, attr="initial_state"), args=[batch]
            ):
                made = self._core(core)
                if made is not None:
                    node.value = self._zeros(
                        made, batch, self.sources.get(state, ""), node
                    )
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=core, attr="initial_state"), args=[batch]
            ):
                made = self._core(core)
                if made is not None:
                    return self._zeros(made, batch, "", node)
            case ast.Call(func=ast.Call(func=applied, args=[layer, *_]), args=[x]):
                whole = self.origin.qualified(applied) == "haiku.BatchApply"
                if whole and self._maps_last(layer):
                    return ast.copy_location(ast.Call(layer, [x], []), node)
        return node

    def _maps_last(self, layer: ast.expr) -> bool:
        made = (
            layer if isinstance(layer, ast.Call) else self.known.get(ast.unparse(layer))
        )
        if not isinstance(made, ast.Call):
            return False
        own = isinstance(made.func, ast.Name) and self.origin.classes.get(made.func.id)
        if own:
            return maps_last(self.origin, own)
        return self.origin.qualified(made.func) in _OF_LAST

    def _zeros(self, core: ast.Call, batch: ast.expr, xs: str, at: ast.AST) -> ast.expr:
        """The state that a core begins with."""
        size = core.args[0] if core.args else core.keywords[0].value
        dtype = f", {xs}.dtype" if xs else ""
        zeros = f"{self.called['jax.numpy']}.zeros((b, n){dtype})"
        pair = self.origin.qualified(core.func) == "haiku.LSTM"
        made = expression(f"({zeros}, {zeros})" if pair else zeros, b=batch, n=size)
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, at)
        return made
