"""Draws layers whose methods read and change states, draw, and call layers, in nested statements."""

from __future__ import annotations

import random
from collections.abc import Sequence

from drawn_statements import Draw, Statements, below, body_of_method

SUB_LAYERS = {
    "tick": '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, ones, state, trainable, zeros


class Tick(Layer):
    """Adds the number of its calls, and what it got last in training."""

    width: Size  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.width,))
        self.count = state(zeros, ())
        self.last = state(zeros, (self.width,))

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        y = x * self.scale + self.count + 0.1 * self.last
        self.count = self.count + 1.0
        if self.training:
            self.last = 0.5 * self.last + jnp.tanh(x[0])
        return y
''',
    "noise": '''
import jax

from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Noise(Layer):
    """Adds scaled noise in training."""

    width: Size  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.width,))

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        if not self.training:
            return x
        return x + self.scale * jax.random.normal(self.key(), x.shape, x.dtype)
''',
}
"""Layers that change states, and that draw."""

_CLASS = '''
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, Size, mean, ones, state, trainable, zeros
from specs.nn.noise import Noise
from specs.nn.tick import Tick


class {name}(Layer):
    """A drawn layer."""

    width: Size = 3  #: size of the last axis
    depth: Size = 2  #: number of layers in lists
    flag: bool = True  #: what branches ask for

    def setup(self):
        self.w = trainable(ones, (self.width,))
        self.s = state(zeros, ())
        self.m = state(zeros, (self.width,))
        self.tick = Tick(self.width)
        self.noise = Noise(self.width)
        self.ticks = [Tick(self.width) for _ in range(self.depth)]
        self.noises = [Noise(self.width) for _ in range(self.depth)]
        self.parts = {{"a": Tick(self.width), "b": Noise(self.width)}}
        self.counts = [state(zeros, ()) for _ in range(self.depth)]
        self.books = [{{"n": state(zeros, ()), "t": state(zeros, ())}} for _ in range(self.depth)]
        self.mixed = [[Tick(self.width), state(zeros, ())] for _ in range(self.depth)]
        self.more = Tick(self.width) if self.flag else None

    def noted(self, book, h):
        before = book["n"]
        book["n"] = 0.5 * before + mean(h)
        return h + 0.1 * before

    def bump(self):
        self.s = 0.5 * self.s + 1.0

    def total(self):
        return self.s + mean(self.m) + self.counts[1]

    def drawn(self, h):
        return h + 0.1 * jax.random.normal(self.key(), h.shape, h.dtype)

    def helper(self, h):
{helper}
        return h

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        h = x
{forward}
        return h
'''

_GIVEN = """\
    tick: SubLayer  #: a layer
    noise: SubLayer  #: a layer
    ticks: SubLayers  #: layers
    noises: SubLayers  #: layers
"""

_VALUES = (
    *("{h} * self.w", "jnp.tanh({h})", "{h} - 0.5 * self.m", "{h} + self.s"),
    *("{h} + self.counts[0]", "{h} * self.tick.count", "0.5 * {h} + 1.0"),
    *("self.tick({h})", "self.noise({h})", "self.drawn({h})", "self.ticks[0]({h})"),
    *("self.parts['a']({h})", "self.parts['b']({h})", "self.helper({h})"),
    *("self.s * {h} + self.helper({h})", "self.tick({h}) + self.tick.count * {h}"),
    "self.tick({h}) - self.tick({h})",
    "self.noise(self.tick({h}))",
    "self.tick(self.noise({h}))",
    "0.5 * sum([self.noise({h}) for _ in range(2)])",
    "0.5 * sum([tick({h}) for tick in self.ticks])",
    "(lambda q: self.noise(q))({h})",
    "{h} + 0.1 * jax.random.normal(self.key(), {h}.shape, {h}.dtype)",
)
_CHANGES = (
    *("self.s = 0.5 * self.s + 0.1 * mean({h})", "self.m = 0.5 * self.m + {h}[0]"),
    *("self.counts[1] = self.counts[1] + 1.0", "self.s += 1.0", "self.bump()"),
    *("self.s = 0.1 * self.total()", "self.counts[0] = 0.1 * self.total()"),
    "self.s += 0.1 * mean(self.helper({h}))",
)


def drawn_layer(name: str, seed: int, named: bool = True) -> str:
    """The text of a spec, where layers may be `named` once more."""
    drawing = _Statements(seed, named)
    # The helper does not call itself.
    lines = drawing.block("h", 1)
    helper = [line.replace("self.helper(", "self.tick(") for line in lines]
    forward = drawing.block("h", 3) + drawing.block("h", 2)
    made = {"helper": body_of_method(helper), "forward": body_of_method(forward)}
    return _CLASS.format(name=name, **made)


def drawn_block(name: str, seed: int) -> str:
    """The text of a spec that is given the layers which `drawn_layer` declares."""
    made: list[str] = []
    for line in drawn_layer(name, seed, named=False).split("\n"):
        if line.strip().startswith("width: Size"):
            made += _GIVEN.rstrip().split("\n")
        field = line.strip().partition(" = ")[0].removeprefix("self.")
        if f"    {field}: Sub" not in _GIVEN:
            made.append(line)
    text = "\n".join(map(_of_given, made)).replace("(Layer):", "(Block):")
    return text.replace("Float, Layer,", "Block, Float, SubLayer, SubLayers,")


def _of_given(line: str) -> str:
    """A statement that reads a state of a layer that is given, and does not call it beside."""
    if "self.tick(" in line or "self.helper(" in line:
        return line.replace("self.tick.count", "self.s")
    return line.replace("self.tick.count", "self.tick.non_trainables.count")


class _Statements(Statements):
    count = "self.depth"
    again = "{h} = 0.5 * {f}({h})"

    def __init__(self, seed: int, named: bool) -> None:
        super().__init__(random.Random(seed))
        self.named = named

    def kinds(self, h: str) -> tuple[Sequence[Draw], Sequence[Draw]]:
        simple = (self.assigned, self._summed, self._changed, self._bound, self._kept)
        nested = (
            *(self._if_training, self._if_flag, self.repeated, self._over_layers),
            *(self.function, self.scanned, self.iterated, self._cond, self._chosen),
            *(self._over_pairs, self._over_places, self._over_keys, self._outputs),
            *(self._setting, self._ended, self._iterated, self._while),
            *(self._over_books, self._over_mixed, self._asked, self._unpacked),
            *([self._renamed] if self.named else []),
        )
        return simple, nested

    def value(self, h: str) -> str:
        return self.random.choice(_VALUES).format(h=h)

    def _summed(self, h: str, depth: int) -> list[str]:
        return [f"{h} += {self.value(h)}"]

    def _changed(self, h: str, depth: int) -> list[str]:
        return [self.random.choice(_CHANGES).format(h=h)]

    def _bound(self, h: str, depth: int) -> list[str]:
        name = self.local()
        return [f"{name} = {self.value(h)}", f"{h} = {h} + 0.3 * {name}"]

    def _kept(self, h: str, depth: int) -> list[str]:
        return [f"self.s, {h} = self.s + 1.0, {self.value(h)}"]

    def _if_training(self, h: str, depth: int) -> list[str]:
        return self.branched("self.training", h, depth)

    def _if_flag(self, h: str, depth: int) -> list[str]:
        return self.branched("self.flag", h, depth)

    def _over_layers(self, h: str, depth: int) -> list[str]:
        i, tick = self.name("i"), self.name("tick")
        count = f"self.counts[{i}] = self.counts[{i}] + 1.0"
        body = [f"{h} = {tick}({h}) + {i}", count, *self._changed(h, 0)]
        body += self.assigned(h, 0)
        return [f"for {i}, {tick} in enumerate(self.ticks):", *below(body)]

    def _over_pairs(self, h: str, depth: int) -> list[str]:
        turned = self.random.choice(("self.ticks", "reversed(self.ticks)"))
        tick, noise = self.name("tick"), self.name("noise")
        body = [f"{h} = {noise}({tick}({h}))", *self._changed(h, 0)]
        body += self._summed(h, 0)
        loop = f"for {tick}, {noise} in zip({turned}, self.noises):"
        return [loop, *below(body)]

    def _over_places(self, h: str, depth: int) -> list[str]:
        i = self.name("i")
        body = [f"{h} = self.ticks[{i}]({h}) + self.counts[{i}]", *self._kept(h, 0)]
        return [f"for {i} in range(len(self.ticks)):", *below(body)]

    def _over_keys(self, h: str, depth: int) -> list[str]:
        key = self.name("key")
        drawn = f"0.1 * jax.random.normal({key}, {h}.shape, {h}.dtype)"
        body = [f"{h} = {h} + {drawn}", *self.assigned(h, 0)]
        return [f"for {key} in self.keys(2):", *below(body)]

    def _outputs(self, h: str, depth: int) -> list[str]:
        step, rows = self.name("step"), self.name("rows")
        body = [*self.block("c", depth), "return c + row, self.s * c"]
        called = f"{h}, {rows} = lax.scan({step}, {h}, 0.1 * jnp.stack([{h}, {h}]))"
        made = [f"def {step}(c, row):", *below(body), called]
        return [*made, f"{h} = {h} + 0.1 * {rows}[0] - 0.1 * {rows}[1]"]

    def _setting(self, h: str, depth: int) -> list[str]:
        f = self.name("f")
        body = [*self._changed("q", 0), *self._kept("q", 0), "return q"]
        made = [f"def {f}(q):", *below(body), f"before = self.s + {f}({h})"]
        return [*made, f"{h} = 0.5 * {h} + 0.1 * before * self.s"]

    def _ended(self, h: str, depth: int) -> list[str]:
        f, test = self.name("f"), self.random.choice(("self.flag", "self.training"))
        body = [
            *self.assigned("q", 0),
            f"if {test}:",
            f"    return {self.value('q')}",
        ]
        body += [*self._changed("q", 0), "return q"]
        return [f"def {f}(q):", *below(body), f"{h} = {f}({h})"]

    def _iterated(self, h: str, depth: int) -> list[str]:
        i = self.name("i")
        test, body = "lambda c: c[0] < 2", "(c[0] + 1, self.tick(c[1]))"
        made = f"{i}, {h} = lax.while_loop({test}, lambda c: {body}, (0, {h}))"
        return [made, f"{h} = {h} + {i}"]

    def _while(self, h: str, depth: int) -> list[str]:
        n, body = self.name("n"), self.block(h, depth)
        made = [f"{n} = 0", f"while {n} < self.depth:", f"    {n} += 1", *below(body)]
        how = self.random.choice(("", "", "break", "continue", "else"))
        if how == "else":
            made += ["else:", *below(self.assigned(h, 0))]
        elif how:
            made += below([f"if {n} == 1:", f"    {how}", *self.assigned(h, 0)])
        return made

    def _over_books(self, h: str, depth: int) -> list[str]:
        book, old = self.name("book"), self.name("old")
        changes = (
            *(f'{book}["n"] = 0.5 * {book}["n"] + mean({h})', f'{book}["t"] += 1.0'),
            f'{book}.update(n=mean({h}), t={book}["n"])',
            f"{h} = self.noted({book}, {h})",
            f'{book}["t"], {h} = {book}["n"] + 1.0, {self.value(h)}',
        )
        body = [f'{old} = {book}["n"]', *self.random.sample(changes, 2)]
        body += [*self.assigned(h, 0), f'{h} = {h} + 0.1 * {old} * {book}["t"]']
        i = self.random.choice(("0", "-1"))
        named = [f"{book} = self.books[{i}]", *body]
        looped = [f"for {book} in self.books:", *below(body)]
        return self.random.choice((looped, named))

    def _over_mixed(self, h: str, depth: int) -> list[str]:
        i, pair = self.name("i"), self.name("pair")
        tick, count = self.name("tick"), self.name("count")
        return [
            f"for {i}, {pair} in enumerate(self.mixed):",
            f"    {tick}, {count} = {pair}",
            f"    self.mixed[{i}][1] = {count} + 1.0",
            f"    {h} = {tick}({h}) + 0.1 * {count}",
            *below(self.assigned(h, 0)),
        ]

    def _renamed(self, h: str, depth: int) -> list[str]:
        tick, noise = self.name("tick"), self.name("noise")
        made = [f"{tick}, {noise} = self.tick, self.noise"]
        if self.random.random() < 0.5:
            made = [f"{noise} = self.noise", f"{h} = ({tick} := self.tick)({h})"]
        return [*made, f"{h} = {noise}({h}) + {tick}({h})"]

    def _asked(self, h: str, depth: int) -> list[str]:
        more = self.name("more")
        return self.random.choice(
            (
                ["if self.more:", f"    {h} = self.more({h})", *self.assigned(h, 0)],
                [f"if ({more} := self.more) is not None:", f"    {h} = {more}({h})"],
                [f"{h} = {h} if not self.more else self.more({h})"],
                ["if self.training and self.more:", f"    {h} = self.more({h})"],
            )
        )

    def _cond(self, h: str, depth: int) -> list[str]:
        return self.decided(f"mean({h}) > 0", h)

    def _chosen(self, h: str, depth: int) -> list[str]:
        test = self.random.choice(("self.flag", "self.training"))
        other = f"0.5 * sum([tick({h}) for tick in self.ticks])"
        chosen = self.random.choice((other, self.value(h)))
        how = self.random.choice(("{h} =", "{h} +=", "self.m =", "self.m +="))
        part = "" if how.startswith("{h}") else "[0]"
        one, other = f"({self.value(h)}){part}", f"({chosen}){part}"
        return [f"{how.format(h=h)} {one} if {test} else {other}"]

    def _unpacked(self, h: str, depth: int) -> list[str]:
        one, rest, tick = self.name("one"), self.name("rest"), self.name("tick")
        names = self.random.choice((f"{one}, *{rest}", f"*{rest}, {one}"))
        body = [f"{h} = {tick}({h})", *self.assigned(h, 0)]
        return [
            f"{names} = self.ticks",
            f"for {tick} in {rest}:",
            *below(body),
            f"{h} = {one}({h})",
        ]
