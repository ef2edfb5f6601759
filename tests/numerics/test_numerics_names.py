"""What a weight is called: the same in masks, tables, files and errors, on both surfaces."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import safetensors.numpy

import mlax
import mlax.graph as bx
from mlax import block, nn, optim


def _blocks() -> Any:
    keys = jax.random.split(jax.random.key(0), 3)
    inner = block.Series.init([nn.Linear.init(keys[0], 3, 2), nn.F.init(jax.nn.relu)])
    return block.Series.init([inner, nn.LayerNorm.init(keys[1], 2)])[0]


def _modules() -> Any:
    graph = bx.Graph("g")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("l"), output_size=2, rng=rng)
    norm = bx.LayerNorm(graph.child("in/out ~ mean"), rng=rng)
    net = bx.Sequential(graph.child("net"), [linear, norm])
    _, params = net(rng.seed(bx.Params(), seed=0), jnp.ones((4, 3)))
    return params.locked().split()[0]


VECTOR = jnp.ones(2)
TREES = {
    "blocks": _blocks(),
    "modules": _modules(),
    "odd_keys": {"a/b": VECTOR, "a": {"b": VECTOR}, "~1": VECTOR, "x y": [VECTOR]},
    "indices": [VECTOR, (VECTOR, {3: VECTOR, 10: VECTOR})],
    "tuples": {("g", "l", "kernel"): VECTOR, ("g", "l/m"): VECTOR},
    "leaf": VECTOR,
}
EXPECTED = {
    "blocks": [
        *("layers/0/layers/0/kernel", "layers/0/layers/0/bias"),
        *("layers/1/scale", "layers/1/bias"),
    ],
    "modules": [
        *("g/l/kernel", "g/l/bias"),
        *("g/in~1out ~0 mean/scale", "g/in~1out ~0 mean/bias"),
    ],
    "odd_keys": ["a/b", "a~1b", "x y/0", "~01"],
    "indices": ["0", "1/0", "1/1/3", "1/1/10"],
    "tuples": ["g/l/kernel", "g/l~1m"],
    "leaf": [""],
}
MASKED = [
    (name, field)
    for name in optim.__all__
    for field in inspect.signature(
        getattr(getattr(optim, name), "init", lambda: None)
    ).parameters
    if field in ("mask", "matrices")
]
each_tree = pytest.mark.parametrize("tree", TREES)


def _required(init: Any, weights: Any) -> dict[str, Any]:
    """What has no default, beside the weights and the mask."""
    given = {
        "learning_rate": 0.1,
        "optimizer": optim.Sgd.init(weights, 0.1),
        "projection": jax.nn.relu,
        "weight_decay": 0.1,
    }
    parameters = inspect.signature(init).parameters.values()
    needed = {p.name for p in parameters if p.default is p.empty}
    return {name: value for name, value in given.items() if name in needed}


@each_tree
def test_names_of_a_tree(tree):
    assert sorted(mlax.flatten(TREES[tree])) == sorted(EXPECTED[tree])


@each_tree
@pytest.mark.parametrize(("name", "field"), MASKED)
def test_masks_see_the_names(tree, name, field):
    seen: list[str] = []

    def mask(path: str, weight: Any) -> bool:
        seen.append(path)
        return True

    weights = TREES[tree]
    init = getattr(optim, name).init
    given = {field: mask} | _required(init, weights)

    def run(weights: Any) -> Any:
        state, hyperparams = init(weights, **given)
        return hyperparams.apply(
            weights,
            state,
            weights,
            value=jnp.float32(1.0),
            value_and_gradients=lambda weights: (jnp.float32(1.0), weights),
            key=jax.random.key(0),
        )

    jax.eval_shape(run, weights)
    assert set(seen) == set(EXPECTED[tree])


@each_tree
def test_tables_files_and_their_errors(tree, tmp_path):
    weights, names = TREES[tree], EXPECTED[tree]
    shown = [line.split("  ")[0] for line in mlax.summary(weights).splitlines()]
    assert [line for line in shown if line in names] == [n for n in names if n]
    mlax.save_safetensors(tmp_path / "weights", weights)
    assert set(safetensors.numpy.load_file(tmp_path / "weights")) == set(names)
    with pytest.raises(ValueError, match="do not fit") as raised:
        mlax.unflatten({}, weights)
    for name in names:
        assert f"missing: {name or '(the root)'}\n" in f"{raised.value}\n"


@each_tree
def test_errors_of_optimizers(tree):
    weights, leaves = TREES[tree], mlax.flatten(TREES[tree])
    last = list(leaves)[-1]
    place = last or "the root"

    def but_for_the_last(change: Any) -> Any:
        return mlax.unflatten({**leaves, last: change}, _like(weights, change))

    integers = but_for_the_last(jnp.arange(2))
    with pytest.raises(TypeError, match="must be floating") as raised:
        optim.Adam.init(integers, 0.1)
    assert f"the weight {place} must" in str(raised.value)
    state, hyperparams = optim.Adam.init(weights, 0.1)
    wrong = but_for_the_last(jnp.ones((5, 5)))
    with pytest.raises(ValueError, match="must have the weight's shape") as raised:
        hyperparams.apply(wrong, state, weights)
    assert f"the gradient at {place} must" in str(raised.value)


def _like(tree: Any, change: Any) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, [*leaves[:-1], change])


def test_a_state_of_other_weights_is_named():
    state, hyperparams = optim.Adam.init({"a/b": VECTOR, "c": VECTOR}, 0.1)
    weights = {"c": VECTOR}
    with pytest.raises(ValueError, match="they differ at a~1b;"):
        hyperparams.apply(weights, state, weights)


@pytest.mark.parametrize(("name", "field"), MASKED)
def test_a_mask_that_selects_nothing_says_so(name, field):
    weights = TREES["modules"]
    init = getattr(optim, name).init
    given = {field: lambda path, weight: path.endswith("Kernel")}
    given |= _required(init, weights)
    text = f"{name}: {field} selects no weight; their names are g/l/kernel, g/l/bias"
    if name in ("Freeze", "Masked"):
        with pytest.raises(ValueError, match=text):
            init(weights, **given)
        return
    with pytest.warns(UserWarning, match=text) as record:
        init(weights, **given)
    assert record[0].filename == __file__


def test_names_are_shown_up_to_a_number():
    weights = {f"w{i:02}": VECTOR for i in range(14)}
    with pytest.raises(ValueError, match=r"w09 and 4 more$"):
        optim.Freeze.init(weights, lambda path, weight: False)


def test_a_name_gives_the_keys_back():
    keys = ["a", "a/b", "~", "~1", "~01/", "/~0", "//"]
    [name] = mlax.flatten({tuple(keys): VECTOR})
    parts = name.split("/")
    assert [p.replace("~1", "/").replace("~0", "~") for p in parts] == keys


def test_frozen_modules_stay_and_masked_ones_descend():
    weights = TREES["modules"]

    def of_linear(path: str, weight: Any) -> bool:
        return path.startswith("g/l/")

    def stepped(optimizer: Any) -> dict[str, jax.Array]:
        state, hyperparams = optimizer
        ones = jax.tree.map(jnp.ones_like, weights)
        return mlax.flatten(hyperparams.apply(ones, state, weights)[0])

    sgd = optim.Sgd.init(weights, 0.5)
    frozen = stepped(optim.Chain.init([sgd, optim.Freeze.init(weights, of_linear)]))
    masked = stepped(optim.Masked.init(weights, sgd, of_linear))
    decayed = stepped(optim.AdamW.init(weights, 0.1, weight_decay=0.5, mask=of_linear))
    for name, leaf in mlax.flatten(weights).items():
        linear = of_linear(name, leaf)
        assert bool((frozen[name] == (0.0 if linear else -0.5)).all()), name
        assert bool((masked[name] == (-0.5 if linear else 1.0)).all()), name
        decay = 0.05 * leaf if linear else 0.0
        assert jnp.allclose(decayed[name], -0.1 - decay, atol=1e-6), name
