"""Draws optimizers whose methods read and set moments and states, draw, and call other optimizers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from drawn_statements import Draw, Statements, below, body_of_method

SUB_OPTIMIZERS = {
    "heavy": '''
import jax

from mlax_scaffold.spec import Decay, Optimizer, moment, state, zeros


class Heavy(Optimizer):
    """Noisy steps along a trace, by the number of its calls."""

    decay: Decay = 0.5  #: decay of the trace

    def setup(self, param):
        self.trace = moment(zeros, param.shape)

    def setup_tree(self, params):
        self.calls = state(zeros, ())

    def prepare(self, grads, params):
        self.calls = self.calls + 1.0

    def update(self, grad, param):
        self.trace = self.decay * self.trace + grad
        step = self.trace + 0.1 * jax.random.normal(self.key(), grad.shape, grad.dtype)
        return -0.1 * step * self.calls + 0.01 * param
''',
    "noisy": '''
import jax

from mlax_scaffold.spec import Optimizer


class Noisy(Optimizer):
    """Adds noise to gradients."""

    def update(self, grad, param):
        return grad + 0.1 * jax.random.normal(self.key(), grad.shape, grad.dtype)
''',
}
"""Optimizers that change states, and that draw."""

_HEAD = """
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    Mask,
    Optimizer,
    Scheduled,
    SubOptimizer,
    SubOptimizers,
    mean,
    moment,
    state,
    tree_add,
    tree_dot,
    tree_where,
    zeros,
)
"""

_BY_LEAF = (
    _HEAD
    + '''

class {name}(Optimizer):
    """A drawn optimizer."""

    rate: Scheduled = 0.1  #: step size
    decays: tuple[Decay, ...] = (0.5, 0.9)  #: decays of the traces
    flag: bool = True  #: what branches ask for
    mask: Mask | None = None  #: what branches ask of a weight

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.v = moment(param)
        self.traces = [moment(zeros, param.shape) for _ in self.decays]
        self.parts = {{"a": moment(zeros, param.shape), "b": moment(param)}}
        self.maybe = moment(zeros, param.shape) if self.flag else None

    def setup_tree(self, params):
        self.s = state(zeros, ())
        self.c = state(zeros, ())

    def mixed(self, a, b):
        return self.decays[0] * a + (0.1 if self.flag else 0.2) * b

    def prepare(self, grads, params):
        self.q = 0.1 * tree_dot(grads, params)
        h = 0.1 * tree_dot(grads, self.m)
{prepare}
        self.r = h

    def update(self, grad, param):
        h = grad
{update}
        return -self.rate * h

    def finish(self, updates, params):
        h = 0.1 * tree_dot(updates, self.m) + self.s
{finish}
        self.c = 0.1 * h
'''
)

_BY_STEP = (
    _HEAD
    + '''

class {name}(Optimizer):
    """A drawn optimizer of optimizers."""

    one: SubOptimizer  #: an optimizer
    many: SubOptimizers  #: optimizers
    flag: bool = True  #: what branches ask for

    def setup(self, param):
        self.m = moment(zeros, param.shape)
        self.v = moment(param)

    def setup_tree(self, params):
        self.s = state(zeros, ())
        self.c = state(zeros, ())

    def step(self, grads, params):
        h = grads
{step}
        return h
'''
)

_LEAF = {
    "values": (
        *("{h} * self.q", "jnp.tanh({h})", "{h} - 0.5 * self.m", "{h} + self.s"),
        *("{h} + self.traces[0]", "self.mixed({h}, self.v)", "0.5 * {h} + self.r"),
        *("{h} + self.parts['a'] * param", "{h} * self.step", "-self.rate * {h}"),
        "{h} + sum(self.traces)",
        "{h} + self.maybe if self.flag else {h}",
        "{h} if self.mask else {h} - 0.1 * param",
        "jnp.where(self.step_number % 2 == 0, {h}, self.v)",
        "{h} + 0.1 * jax.random.normal(self.key(), {h}.shape, {h}.dtype)",
        "sum([b * t for b, t in zip(self.decays, self.traces)]) + {h}",
        "(lambda p: p + self.m)({h})",
    ),
    "changes": (
        *("self.m = 0.5 * self.m + {h}", "self.v += 0.1 * {h}", "self.m = {h}"),
        *("self.traces[0] = self.traces[1] + {h}", "self.parts['b'] += {h}"),
        "self.m, self.v = 0.5 * self.v, self.m + {h}",
        "self.traces = [b * t + {h} for b, t in zip(self.decays, self.traces)]",
        "self.maybe = self.maybe + {h} if self.flag else None",
        "self.traces[1] = self.mixed(self.traces[1], {h})",
    ),
    "tests": ("self.flag", "self.mask", "param.ndim == 2", "self.maybe is None"),
    "condition": "mean({h}) > 0",
}
_SCALAR = {
    "values": (
        *("{h} * self.q", "jnp.tanh({h})", "{h} - 0.5 * self.s", "{h} + self.c"),
        *("self.mixed({h}, self.s)", "0.5 * {h} + self.step", "-self.rate * {h}"),
        "{h} + 0.1 * tree_dot(self.m, self.v)",
        "{h} + 0.1 * tree_dot(self.traces[0], self.parts['b'])",
        "{h} + 0.1 * sum([tree_dot(t, params) for t in self.traces])",
        "jnp.where(self.step_number % 2 == 0, {h}, self.s)",
        "(lambda p: p + self.s)({h})",
    ),
    "changes": (
        *("self.s = 0.5 * self.s + {h}", "self.c += 0.1 * {h}", "self.s = {h}"),
        "self.s, self.c = 0.5 * self.c, self.s + {h}",
    ),
    "tests": ("self.flag", "self.maybe is None"),
    "condition": "{h} > 0",
}
_BEFORE = _SCALAR | {
    "changes": (
        *(
            *_SCALAR["changes"],
            "self.m = tree_add(self.m, params, 0.1)",
            "self.q = {h}",
        ),
        "self.m = jax.tree.map(lambda m, v: 0.5 * m + self.s.astype(m.dtype) * v, self.m, self.v)",
        "self.traces = [tree_add(t, self.v, 0.1) for t in self.traces]",
    ),
}
_TREE = {
    "values": (
        "tree_add({h}, self.m, 0.5)",
        "jax.tree.map(lambda a: 0.5 * a + self.s.astype(a.dtype), {h})",
        "jax.tree.map(lambda a, m: a * self.s.astype(a.dtype) + m, {h}, self.m)",
        "tree_where(self.step_number % 2 == 0, {h}, self.v)",
        "tree_add({h}, self.one.state.trace)",
        "self.one.apply({h}, self.one.state, params)[0]",
    ),
    "changes": (
        "self.m = tree_add(self.m, {h}, 0.1)",
        "self.s = 0.5 * self.s + 0.1 * tree_dot({h}, {h})",
        "self.m, self.v = self.v, tree_add(self.m, {h})",
        "self.c += 1.0",
        "self.one.state = self.one.initial_state(params)",
        "{h}, self.one.state = self.one.apply({h}, self.one.state, params)",
        "self.s += 0.1 * self.one.state.calls",
    ),
    "alone": (
        "{h} = tree_add(self.one.state.trace, self.one({h}, params))",
        "{h} = [part({h}, params) for part in self.many][1]",
        "{h} = tree_add({h}, [part({h}, params) for part in self.many][0])",
        "self.v = self.one({h}, params)",
        "{h} = jax.tree.map(lambda a: a + 0.1 * jax.random.normal(self.key(), a.shape, a.dtype), {h})",
        "{h} = self.one({h}, params)",
        "{h} = tree_add(self.one({h}, params), {h})",
        "{h} = tree_add(self.one({h}, params), self.one({h}, params))",
        "{h} = self.one({h}, params) if self.flag else {h}",
        "{h} = {h} if self.flag else self.one({h}, params)",
        "{h} = tree_add({h}, self.m) if self.flag else tree_add({h}, self.one({h}, params))",
    ),
    "tests": ("self.flag",),
    "condition": "tree_dot({h}, {h}) > 1.0",
}


def drawn_by_leaf(name: str, seed: int) -> str:
    """The text of an optimizer with `prepare`, `update` and `finish`."""
    drawing = random.Random(seed)
    blocks = {
        "prepare": _Statements(drawing, _BEFORE).blocks(1),
        "update": _Statements(drawing, _LEAF).blocks(2),
        "finish": _Statements(drawing, _SCALAR).blocks(0),
    }
    return _text(_BY_LEAF, name, blocks)


def drawn_by_step(name: str, seed: int) -> str:
    """The text of an optimizer of optimizers."""
    drawing = _Statements(random.Random(seed), _TREE)
    return _text(_BY_STEP, name, {"step": drawing.blocks(2)})


def _text(template: str, name: str, blocks: dict[str, list[str]]) -> str:
    bodies = {method: body_of_method(lines) for method, lines in blocks.items()}
    return template.format(name=name, **bodies)


class _Statements(Statements):
    def __init__(self, drawing: random.Random, words: dict) -> None:
        super().__init__(drawing)
        self.words = words

    def blocks(self, depth: int) -> list[str]:
        return self.block("h", depth) + self.block("h", depth)

    def kinds(self, h: str) -> tuple[Sequence[Draw], Sequence[Draw]]:
        simple: list[Draw] = [self.assigned, self._bound]
        if h == "h" or self.words is not _LEAF:
            # Functions inside of `update` set nothing.
            simple.append(self._changed)
        if "alone" in self.words:
            simple.append(self._alone)
        nested: list[Draw] = [self._if, self.repeated, self.function]
        nested += [self._chosen, self._cond]
        if self.words is _LEAF:
            nested += [self.iterated]
        if self.words is _LEAF and h == "h":
            nested += [self._over_traces]
        if self.words is _TREE:
            nested += [self._over_many, self._over_places, self.scanned, self._called]
            nested += [self._summed]
        return simple, nested

    def value(self, h: str) -> str:
        return self.random.choice(self.words["values"]).format(h=h)

    def _changed(self, h: str, depth: int) -> list[str]:
        # What `prepare` computes is a number of its own, and no state.
        kinds = [c for c in self.words["changes"] if h == "h" or "self.q =" not in c]
        return [self.random.choice(kinds).format(h=h)]

    def _alone(self, h: str, depth: int) -> list[str]:
        return [self.random.choice(self.words["alone"]).format(h=h)]

    def _bound(self, h: str, depth: int) -> list[str]:
        name = self.local()
        added = f"tree_add({h}, {name}, 0.3)"
        if self.words is not _TREE:
            added = f"{h} + 0.3 * {name}"
        return [f"{name} = {self.value(h)}", f"{h} = {added}"]

    def _test(self) -> str:
        return self.random.choice(self.words["tests"])

    def _if(self, h: str, depth: int) -> list[str]:
        return self.branched(self._test(), h, depth)

    def _over_traces(self, h: str, depth: int) -> list[str]:
        i, b = self.name("i"), self.name("b")
        kept = f"self.traces[{i}] = {b} * self.traces[{i}] + {h}"
        body = [kept, f"{h} = {h} + 0.1 * self.traces[{i}]", *self._changed(h, 0)]
        return [f"for {i}, {b} in enumerate(self.decays):", *below(body)]

    def _over_many(self, h: str, depth: int) -> list[str]:
        part = self.name("part")
        body = [f"{h} = {part}({h}, params)", *self._changed(h, 0)]
        body += self._alone(h, 0)
        return [f"for {part} in self.many:", *below(body)]

    def _over_places(self, h: str, depth: int) -> list[str]:
        i, part = self.name("i"), self.name("part")
        body = [f"{h} = tree_add({part}({h}, params), {h}, {i} + 0.5)"]
        body += self.block(h, min(depth, 0))
        return [f"for {i}, {part} in enumerate(self.many):", *below(body)]

    def _summed(self, h: str, depth: int) -> list[str]:
        f = self.name("f")
        made = [f"def {f}(q):", *below([*self._changed("q", 0), "return q"])]
        return [*made, f"self.s += 0.1 * tree_dot({f}({h}), params)"]

    def _called(self, h: str, depth: int) -> list[str]:
        one = "lambda c: self.one(c, params)"
        test = self.words["condition"].format(h=h)
        other = f"lambda c: {self.value('c')}"
        return [f"{h} = lax.cond({test}, {one}, {other}, {h})"]

    def _cond(self, h: str, depth: int) -> list[str]:
        return self.decided(self.words["condition"].format(h=h), h)

    def _chosen(self, h: str, depth: int) -> list[str]:
        return [f"{h} = {self.value(h)} if {self._test()} else {self.value(h)}"]
