"""Lists, dictionaries and branches in `setup`: eagerly, as generated code, and against plain JAX."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differential import (
    as_dict,
    assert_runs_alike,
    assert_same,
    created,
    examples_of,
    rows,
)
from rewrite_examples import Examples

LAYERS = {
    "dictionaries": """
        def setup(self):
            self.scales = {"first": Plain(3), "second": Plain(3)}
            self.table = {f"n{i}": Counter() for i in range(2)}

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.scales["first"](x) + self.scales["second"].scale
            for name, counter in self.table.items():
                x = counter(x) * len(name)
            for scale in self.scales.values():
                x = scale(x)
            return x
        """,
    "shapes_of_the_weights_of_a_layer": """
        def setup(self):
            self.inner = Plain(3)
            self.size = self.inner.scale.shape[0]
            self.gain = trainable(normal(1.0), self.inner.scale.shape)
            self.bias = trainable(normal(1.0), (1, self.inner.scale.shape[-1]))

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self.inner(x) * self.gain * self.size + self.bias
        """,
    "one_layer_or_several": """
        deep: bool = False  #: whether it is one

        def setup(self):
            if self.deep:
                self.block = Plain(3)
            else:
                self.block = [Plain(3) for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            for t in range(2):
                block = self.block if self.deep else self.block[t]
                x = block(x) + t
            return x + (self.block(x) if self.deep else self.block[1](x))
        """,
    "targets_in_targets": """
        def setup(self):
            self.blocks = [
                [Counter(), [Plain(3), (Noise(), trainable(normal(1.0), (3,)))]]
                for _ in range(2)
            ]
            self.rows = [(Plain(3), trainable(normal(1.0), (2, 3))) for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            for counter, (scale, (noise, gain)) in self.blocks:
                x = noise(scale(counter(x))) * gain
            for i, (counter, (scale, (_, gain))) in enumerate(self.blocks):
                x = scale(counter(x)) + i * gain
            counter, (scale, (noise, gain)) = self.blocks[1]
            x = noise(scale(counter(x))) + gain
            [(first, rows), (last, _)] = self.rows
            one, other = [
                last(scale(first(x))) * gain * rows[0]
                for _, (scale, (_, gain)) in reversed(self.blocks)
            ]
            return one - other
        """,
    "kinds_of_layers": """
        deep: bool = False  #: which of two it is

        def setup(self):
            if self.deep:
                self.either = Plain(3)
            else:
                self.either = Counter()
            self.one = Plain(3)
            self.maybe = Plain(3) if self.deep else None
            self.parts = [Plain(3), Counter(), None]

        def _scaled(self, layer, x):
            return layer(x) * (2.0 if isinstance(layer, (Plain, Noise)) else 3.0)

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.either(x)
            if isinstance(self.either, Counter):
                x = x + 1.0
            x = x * 5.0 if isinstance(self.one, Plain) else x
            x = x * 7.0 if isinstance(self.maybe, Plain) else self.one(x)
            for layer in self.parts:
                if isinstance(layer, Counter):
                    x = layer(x) + 11.0
                elif layer is not None:
                    x = layer(x) * 13.0
            return self._scaled(self.parts[0], x) + self._scaled(self.parts[1], x)
        """,
    "filled": """
        def setup(self):
            self.scales = {}
            self.table = {}
            for i, name in enumerate(("first", "second")):
                self.scales[name] = Plain(3)
                self.table[f"n{i}"] = Counter()

        def forward(self, x: Float["..."]) -> Float["..."]:
            for name, counter in self.table.items():
                x = counter(x) * len(name)
            for scale in self.scales.values():
                x = scale(x)
            for name, scale in self.scales.items():
                x = scale(x) * len(name)
                for name, scale in self.scales.items():
                    x = scale(x) * len(name)
            for name, counter in self.table.items():
                name = name[1:]
                x = counter(x) * len(name)
            for factor in [len(name) * c.scale[0] for name, c in self.scales.items()]:
                x = x * factor
            for factor in [scale.scale[0] for _, scale in self.scales.items()]:
                x = x + factor
            return x
        """,
    "nested": """
        def setup(self):
            self.blocks = []
            for i in range(3):
                block = {"scale": Plain(3), "noise": Noise()}
                if i:
                    block["counter"] = Counter()
                self.blocks.append(block)
            self.pairs = [(Plain(3), Counter()) for _ in range(2)]

        def _half(self, counter, x):
            return counter(x) * 0.5

        def forward(self, x: Float["..."]) -> Float["..."]:
            for block in self.blocks[::-1]:
                x = block["noise"](block["scale"](x))
                if "counter" in block:
                    x = block["counter"](x)
            for scale, counter in self.pairs:
                x = self._half(counter, scale(x))
            last = self.pairs[-1][0]
            halves = [self._half(pair[1], x) for pair in self.pairs]
            return last(x) + halves[0] * halves[1]
        """,
    "arrays": """
        def setup(self):
            self.kernels = [trainable(normal(1.0), (3,)) for _ in range(2)]
            self.gains = {"a": trainable(ones, (3,)), "b": trainable(normal(1.0), ())}
            self.stats = {"steps": state(zeros, ()), "last": state(ones, (3,))}
            self.parts = {"plain": Plain(3), "scale": trainable(normal(1.0), (3,)), "n": state(zeros, ())}

        def forward(self, x: Float["..."]) -> Float["..."]:
            for kernel, gain in zip(self.kernels, self.gains.values()):
                x = x * kernel + gain
            self.stats["steps"] += 1.0
            self.stats["last"] = self.stats["last"] * 0.5 + mean(x)
            self.parts["n"] = self.parts["n"] + self.stats["steps"]
            return self.parts["plain"](x) * self.parts["scale"] + self.stats["last"] * self.parts["n"]
        """,
    "kinds": """
        which: Literal["plain", "counter", "none"] = "counter"  #: of the layer

        def setup(self):
            if self.which == "plain":
                self.chosen = Plain(3)
            elif self.which == "counter":
                self.chosen = Counter()
            else:
                self.chosen = None
            self.layers = [Plain(3), jax.nn.relu, Noise(), Counter()]
            self.either = Plain(3) if self.which == "none" else Noise()
            if self.which != "none":
                self.bias = trainable(normal(1.0), (3,))
            if self.which == "plain":
                self.kernel = trainable(normal(1.0), (3,))
            else:
                self.kernel = trainable(ones, ())
            if self.which == "counter":
                self.row = [Plain(3), Plain(3)]
            if self.which != "none":
                self.counters = [Counter() for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.layers:
                x = layer(x)
            if self.which == "counter":
                for layer in self.row:
                    x = layer(x)
            if self.counters is not None:
                for i, layer in enumerate(self.counters):
                    x = layer(x) * (i + 1)
            if self.chosen is not None:
                x = self.chosen(x)
            if self.bias is not None:
                x = x + self.bias
            return self.either(x) * self.kernel
        """,
    "other_names": """
        def setup(self):
            self.encoder = Counter()
            self.decoder = self.encoder
            self.scales = [Plain(3) for _ in range(2)]
            self.others = [Plain(3), Plain(3)]

        @staticmethod
        def _applied(layers, x):
            *rest, last = layers
            for layer in rest:
                x = layer(x)
            return last(x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.decoder(self.encoder(x))
            return self._applied(self.scales, x) * self._applied(self.others, x) + self.scales[0].scale
        """,
    "methods_of_what_is_held": """
        deep: bool = False  #: which of two it is

        def setup(self):
            self.either = Plain(3) if self.deep else Counter()
            self.steps = [Plain(3), Counter(), Noise()]
            self.table = {"a": Plain(3), "b": Counter()}
            self.mixed = [Plain(3), Noise()]
            self.plain = Plain(3)

        def _chosen(self, x):
            return self.either(x)

        def _stepped(self, x):
            for i, step in enumerate(self.steps):
                x = step(x) + i
            return x

        def _looked_up(self, x):
            for layer in self.table.values():
                x = layer(x)
            return x

        def _summed(self, x):
            one, other = [layer(x) for layer in self.mixed]
            return one * other

        def _named(self, x):
            f = self.plain
            return f(x) + jax.checkpoint(self.plain)(x)

        def _features(self):
            return self.plain.features * len(self.steps)

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self._looked_up(self._stepped(self._chosen(x)))
            return self._named(self._summed(x)) * self._features()
        """,
    "layers_that_are_handed_on": """
        deep: bool = False  #: which of two it is

        def setup(self):
            self.blocks = [Plain(3) for _ in range(2)]
            self.counters = [Counter() for _ in range(2)]
            self.mixed = [Plain(3), Noise(), Counter()]
            self.table = {"a": Counter(), "b": Plain(3)}
            self.either = Plain(3) if self.deep else Noise()

        def _remat(self, x):
            for block in self.blocks:
                x = jax.checkpoint(block)(x)
            for counter in self.counters:
                x = jax.checkpoint(lambda v: counter(v) * 0.5)(x)
            return jax.checkpoint(self.either)(x)

        def forward(self, x: Float["..."]) -> Float["..."]:
            for layer in self.mixed:
                x = jax.checkpoint(layer)(x)
            x = jax.vmap(self.blocks[0])(self._remat(x))
            x = lax.switch(1, [self.blocks[1], self.table["a"]], x)
            return lax.cond(x[0, 0] > 0.0, self.table["b"], lambda v: v, x)
        """,
    "layers_that_are_functions_later": """
        def setup(self):
            self.blocks = [Plain(3) for _ in range(2)]

        def forward(self, x: Float["..."]) -> Float["..."]:
            later = [jax.checkpoint(block) for block in self.blocks]
            for block in self.blocks:
                later.append(jax.vmap(block))
            return later[0](x) + later[2](x)
        """,
    "weights_in_dictionaries_that_a_loop_fills": """
        def setup(self):
            self.gates = {}
            for gate in ("update", "reset"):
                self.gates[gate] = {
                    "kernel": trainable(lecun_normal(), (3, 3)),
                    "bias": trainable(zeros, (3,)),
                }

        def _gate(self, name, x):
            gate = self.gates[name]
            return x @ gate["kernel"] + gate["bias"]

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self._gate("update", x) * self._gate("reset", x)
        """,
    "states_in_conditional_expressions": """
        deep: bool = False  #: which of two it is

        def setup(self):
            self.norm = Counter()
            self.other = Counter() if self.deep else None
            self.several = [Counter() for _ in range(2)]

        def _normed(self, x):
            return self.norm(x) if self.deep else self.norm(x * 2.0) * 3.0

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self.norm(x) if self.deep else x
            x = self.other(x) if self.other is not None else x
            y = (
                self._normed(x)  # a state
                if self.deep
                else self.several[0](x) if x.ndim == 2
                else x
            )
            for layer in self.several:
                y = y if self.deep else layer(y)
                y = layer(y) if self.deep else y * 2.0

            def step(carry, row):
                return self.norm(carry + row), carry

            z = lax.scan(step, y[0], y)[1] if self.training else x
            return self.norm(z) if self.deep else z + y
        """,
    "states_through_variables": """
        def setup(self):
            self.books = [{"n": state(zeros, ()), "s": state(ones, (3,))} for _ in range(2)]
            self.table = {"a": {"n": state(zeros, ())}, "b": {"n": state(ones, ())}}
            self.parts = [{"map": Plain(3), "n": state(zeros, ())} for _ in range(2)]
            self.last = {"x": state(zeros, (3,)), "n": state(zeros, ())}
            self.filled = []
            for _ in range(2):
                self.filled.append({"n": state(ones, (3,))})

        def _counted(self, book, x):
            old = book["n"]
            book["n"] = old + x[0, 0]
            return old

        def forward(self, x: Float["..."]) -> Float["..."]:
            for book in self.books:
                before = book["n"]
                book["n"] += 1.0
                book["s"], x = book["s"] * 0.5 + x[0], x * book["n"] + before
            for name, book in self.table.items():
                x = x + self._counted(book, x) * len(name)
            for part in self.parts:
                old = part["n"]
                part["n"] = part["n"] + 2.0
                x = part["map"](x) + old * part["n"]
            last = self.last
            last.update({"n": last["n"] + 1.0}, x=x[0] + last["n"])
            self.last.update(n=self.last["n"] * 2.0)
            for book in self.filled:
                book["n"] = 0.5 * book["n"] + 0.5 * x[0]
            return x + last["n"]
        """,
    "layers_that_may_be_missing": """
        deep: bool = False  #: whether they are there

        def setup(self):
            self.counter = Counter() if self.deep else None
            self.noise = Noise() if self.deep else None
            self.parts = [{"map": Plain(3), "more": Counter() if self.deep else None}]
            self.row = [Plain(3) for _ in range(2 if self.deep else 0)]
            self.bias = trainable(normal(1.0), (3,)) if self.deep else None
            if not self.deep:
                self.gain = trainable(normal(1.0), (3,))

        def _shifted(self, x):
            return x + self.bias if self.bias else x

        def forward(self, x: Float["..."]) -> Float["..."]:
            x = self._shifted(x)
            if self.gain and not self.bias:
                x = x * self.gain
            if self.counter:
                x = self.counter(x)
            x = self.noise(x) if self.noise and self.deep else x
            for part in self.parts:
                x = part["map"](x)
                if part["more"]:
                    x = part["more"](x)
            if not self.counter or not bool(self.row):
                return x
            if self.row:
                x = self.row[-1](x)
            if (counter := self.counter) is not None:
                x = counter(x)
            counted, noise = self.counter, self.noise
            other = self.row[0]
            return noise(counted(other(x)))
        """,
}


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    root = tmp_path_factory.mktemp("containers")
    with examples_of(LAYERS, root, words, example_files) as made:
        yield made


CASES = [
    *((name, {}) for name in LAYERS),
    *(("kinds", {"which": which}) for which in ("plain", "none")),
    *(
        (name, {"deep": True})
        for name in (
            "methods_of_what_is_held",
            "layers_that_are_handed_on",
            "states_in_conditional_expressions",
            "one_layer_or_several",
            "kinds_of_layers",
            "layers_that_may_be_missing",
        )
    ),
]


def test_another_name_leaves_no_statement(examples: Examples):
    module: Any = examples.module("nn", "other_names")
    source = inspect.getsource(module)
    assert "Counter.init(" in source
    assert not re.search(r"(?m)^\s*pass$", source)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("name", "values"), CASES)
def test_layers(name: str, values: Any, training: bool, examples: Examples):
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)(**values)
    made = created(module, **values)
    assert_runs_alike(module, layer, made, rows(), training)


@pytest.mark.parametrize(("name", "values"), CASES)
def test_weights_are_drawn_alike(name: str, values: Any, examples: Examples):
    trainables, state, _ = created(examples.module("nn", name), **values)
    layer = examples.oracle("nn", name)(**values)
    layer.initialize(jax.random.key(3))
    assert_same(as_dict(trainables), layer.trainables)
    assert_same(as_dict(state), layer.non_trainables)


@pytest.mark.parametrize("name", ["nested", "kinds"])
def test_no_key_is_used_twice(name: str, examples: Examples):
    module: Any = examples.module("nn", name)
    with jax.debug_key_reuse(True):
        trainables, state, hyperparams = created(module)
        run = jax.jit(module.fwd, static_argnames=("hyperparams", "inference_mode"))
        run(rows(), trainables, state, hyperparams, False, jax.random.key(1))


def test_members_are_drawn_from_parts_of_one_key(examples: Examples):
    trainables, _, _ = created(examples.module("nn", "arrays"))
    keys = jax.random.split(jax.random.key(3), 4)
    for i, key in enumerate(jax.random.split(keys[0], 2)):
        np.testing.assert_array_equal(
            trainables.kernels[i], jax.random.normal(key, (3,))
        )
    key = jax.random.split(keys[1], 2)[1]
    np.testing.assert_array_equal(trainables.gains["b"], jax.random.normal(key, ()))
    assert trainables.parts["n"] is None
    assert trainables.parts["plain"].scale.shape == (3,)


@pytest.mark.optimized
def test_arrays_are_what_plain_jax_computes(examples: Examples):
    module: Any = examples.module("nn", "arrays")
    weights, state, hyperparams = created(module)
    x = y = jnp.asarray(rows())
    for kernel, gain in zip(weights.kernels, weights.gains.values(), strict=True):
        y = y * kernel + gain
    steps = state.stats["steps"] + 1.0
    last = state.stats["last"] * 0.5 + y.mean()
    count = state.parts["n"] + steps
    expected = y * weights.parts["plain"].scale * weights.parts["scale"] + last * count
    given, new = module.fwd(x, weights, state, hyperparams, True)
    np.testing.assert_allclose(given, expected, rtol=1e-6)
    np.testing.assert_allclose(new.stats["last"], last, rtol=1e-6)
    assert new.parts["n"] == count


def test_a_place_keeps_its_own_state(examples: Examples):
    module: Any = examples.module("nn", "nested")
    weights, state, hyperparams = created(module)
    _, new = module.fwd(rows(), weights, state, hyperparams, True)
    assert [b.get("counter") is not None for b in new.blocks] == [False, True, True]
    assert [b["counter"].count for b in new.blocks[1:]] == [1.0, 1.0]
    assert [pair[1].count for pair in new.pairs] == [2.0, 2.0]


def test_one_layer_under_two_names_has_one_state(examples: Examples):
    module: Any = examples.module("nn", "other_names")
    weights, state, hyperparams = created(module)
    _, new = module.fwd(rows(), weights, state, hyperparams, True)
    assert not hasattr(new, "decoder")
    assert new.encoder.count == 2.0


@pytest.mark.parametrize("which", ["plain", "counter", "none"])
def test_branches_decide_what_is_there(which: str, examples: Examples):
    weights, _, _ = created(examples.module("nn", "kinds"), which=which)
    assert (weights.bias is None) == (which == "none")
    assert weights.kernel.shape == ((3,) if which == "plain" else ())
    assert (weights.chosen is None) == (which != "plain")
    assert (weights.either is None) == (which != "none")


def test_weights_of_another_structure_are_refused(examples: Examples):
    module: Any = examples.module("nn", "arrays")
    weights, state, hyperparams = created(module)
    gains = {"a": weights.gains["a"], "c": weights.gains["b"]}
    with pytest.raises(ValueError, match="'gains/b' is missing"):
        module.fwd(rows(), weights._replace(gains=gains), state, hyperparams)


def test_a_layer_that_is_a_function_later_is_the_one_that_it_was(examples: Examples):
    module: Any = examples.module("nn", "layers_that_are_functions_later")
    weights, state, hyperparams = created(module)
    first, second = weights.blocks
    drawn = weights._replace(
        blocks=(
            first._replace(scale=first.scale * 2.0),
            second._replace(scale=second.scale * 5.0),
        )
    )
    y, _ = module.fwd(rows(), drawn, state, hyperparams)
    np.testing.assert_allclose(y, 4.0 * rows(), rtol=1e-6)


def test_states_that_a_variable_sets_are_new_states(examples: Examples):
    module: Any = examples.module("nn", "states_through_variables")
    weights, state, hyperparams = created(module)
    x, new = module.fwd(rows(), weights, state, hyperparams, True)
    y = np.asarray(rows(), np.float64)
    for book in new.books:
        assert book["n"] == 1.0
        np.testing.assert_allclose(book["s"], 0.5 + y[0], rtol=1e-6)
    first = y[0, 0]
    np.testing.assert_allclose(new.table["a"]["n"], first, rtol=1e-6)
    np.testing.assert_allclose(new.table["b"]["n"], 1.0 + first, rtol=1e-6)
    y = (y + 1.0) * np.asarray(weights.parts[0]["map"].scale)
    y = y * np.asarray(weights.parts[1]["map"].scale)
    assert [part["n"] for part in new.parts] == [2.0, 2.0]
    np.testing.assert_allclose(new.last["x"], y[0], rtol=1e-6)
    assert new.last["n"] == 2.0
    for book in new.filled:
        np.testing.assert_allclose(book["n"], 0.5 + 0.5 * y[0], rtol=1e-6)
    np.testing.assert_allclose(x, y + 2.0, rtol=1e-6)


def test_a_layer_that_is_missing_is_not_called(examples: Examples):
    module: Any = examples.module("nn", "layers_that_may_be_missing")
    weights, state, hyperparams = created(module)
    scale = weights.parts[0]["map"].scale
    given, _ = module.fwd(rows(), weights, state, hyperparams, True)
    np.testing.assert_array_equal(given, rows() * weights.gain * scale)
    weights, state, hyperparams = created(module, deep=True)
    _, new = module.fwd(rows(), weights, state, hyperparams, True)
    assert new.counter.count == 3.0
    assert new.parts[0]["more"].count == 1.0
