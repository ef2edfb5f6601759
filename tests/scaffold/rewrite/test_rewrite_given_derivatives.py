"""Derivatives, and `jax.vmap`, of layers that a block is given, and of what changes states of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from differential import assert_runs_alike, created, examples_of, rows
from rewrite_examples import Examples

LAYER = "layer: SubLayer  #: of which a derivative is taken\n"
BODIES = {
    "gradient": """
        def forward(self, x: Float["..."]) -> Float["..."]:
            def energy(x):
                return jnp.max(self.layer(x) ** 2)

            return -jax.grad(energy)(x)
        """,
    "twice": """
        def energy(self, x):
            return jnp.max(self.layer(x) ** 2)

        def forward(self, x: PyTree) -> PyTree:
            slope = jax.grad(lambda x: jnp.max(jax.grad(self.energy)(x)))
            return slope(x), jax.value_and_grad(self.energy)(x)
        """,
    "beside": """
        def forward(self, x: PyTree) -> PyTree:
            def energy(x, scale):
                y = self.layer(x)
                return jnp.max(scale * y ** 2), {"y": y}

            scale = jnp.asarray(2.0, x.dtype)
            both = jax.value_and_grad(energy, argnums=(0, 1), has_aux=True)(x, scale)
            return both, jax.grad(energy, 1, True)(x, scale)
        """,
    "directions": """
        def forward(self, x: PyTree) -> PyTree:
            y, tangent = jax.jvp(self.layer, (x,), (jnp.ones_like(x),))
            z, pull, aux = jax.vjp(lambda x: (self.layer(x), x), x, has_aux=True)
            w, push = jax.linearize(self.layer, x)
            return y, tangent, pull(z), aux, push(w)
        """,
    "jacobian": """
        def forward(self, x: PyTree) -> PyTree:
            each = jax.jacrev(lambda row: self.layer(row[None])[0])(x[0])
            return each, jax.hessian(lambda row: jnp.max(self.layer(row[None])))(x[0])
        """,
    "declared": """
        def setup(self):
            self.counter = Counter()
            self.calls = state(zeros, ())

        def energy(self, x):
            self.calls = self.calls + 1
            return jnp.max(self.counter(x) ** 2) * self.calls

        def forward(self, x: Float["..."]) -> Float["..."]:
            return jax.grad(self.energy)(x) + self.calls
        """,
}
MAPPED = """
        def energy(self, x):
            return jnp.max(self.layer(x) ** 2)

        def forward(self, x: PyTree) -> PyTree:
            rows = jax.vmap(jax.grad(self.energy))(x)
            return rows, jax.vmap(self.layer)(x), self.layer(x)
        """
GIVEN = ("plain", "noise", "counter")


@pytest.fixture(scope="module")
def examples(
    tmp_path_factory: pytest.TempPathFactory, words, example_files
) -> Iterator[Examples]:
    bodies = {n: f"\n        {LAYER}{body}" for n, body in BODIES.items()}
    bodies["mapped"] = f"\n        {LAYER}{MAPPED}"
    root = tmp_path_factory.mktemp("given")
    with examples_of(bodies, root, words, example_files, "Block") as made:
        yield made


def given_layer(name: str, examples: Examples) -> Any:
    module = examples.module("nn", name)
    return created(module, **({"features": 3} if name == "plain" else {}))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", BODIES)
def test_derivatives_of_a_given_layer(
    name: str, given: str, training: bool, examples: Examples
):
    module: Any = examples.module("block", name)
    layer = given_layer(given, examples)
    block = examples.oracle("block", name)(layer=layer)
    made = created(module, layer=layer)
    assert_runs_alike(module, block, made, rows(), training)


def test_states_are_those_after_all_calls(examples: Examples):
    module: Any = examples.module("block", "twice")
    layer = given_layer("counter", examples)
    trainables, state, hyperparams = module.init(layer=layer)
    _, after = module.fwd(rows(), trainables, state, hyperparams)
    _, once = examples.module("nn", "counter").fwd(rows(), *layer)
    calls = np.subtract(after.layer.count, state.layer.count)
    assert calls == 2 * np.subtract(once.count, layer[1].count)


@pytest.mark.parametrize(
    ("given", "training"),
    [("plain", True), ("noise", True), ("plain", False)],
)
def test_a_given_layer_is_mapped(given: str, training: bool, examples: Examples):
    module: Any = examples.module("block", "mapped")
    layer = given_layer(given, examples)
    block = examples.oracle("block", "mapped")(layer=layer)
    made = created(module, layer=layer)
    assert_runs_alike(module, block, made, rows(), training)


def test_a_state_cannot_change_under_vmap(examples: Examples):
    module: Any = examples.module("block", "mapped")
    layer = given_layer("counter", examples)
    block = examples.oracle("block", "mapped")(layer=layer)
    made = created(module, layer=layer)
    with pytest.raises(ValueError, match="a layer changes its state"):
        module.fwd(rows(), *made)
    with pytest.raises(ValueError, match="a layer changes its state"):
        block(rows(), training=True)
