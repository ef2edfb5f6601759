"""What people's own code computes with given weights: nothing that it holds is drawn beside them."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing.originals import BUILT, Original
from mlax_scaffold.testing.settings import Settings, made_of, nested

NNX = """\
import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx


@dataclasses.dataclass
class Config:
    width: int
    scale: float = 1.0


class Features(nnx.Module):
    def __init__(self, width, *, rngs):
        self.table = jax.random.normal(rngs.params(), (2, width))

    def __call__(self, x):
        return x @ self.table


class Thing(nnx.Module):
    def __init__(self, config: Config, *, rngs):
        self.features = Features(config.width, rngs=rngs)
        self.layers = nnx.List([nnx.Linear(config.width, 3, rngs=rngs)])
        self.scale = config.scale

    def __call__(self, x):
        return self.layers[0](self.features(x)) * self.scale
"""
ORIGINAL = Original(
    "thing.py",
    "Thing",
    "nnx",
    parameters={"config.width": "width", "config.scale": "scale"},
    settings={"config": "Config"},
)


def test_plain_arrays_of_nnx_are_weights(tmp_path: Path):
    pytest.importorskip("flax")
    (tmp_path / "thing.py").write_text(NNX)
    thing = ORIGINAL.load(str(tmp_path / "test.py"))
    arguments = ORIGINAL.arguments({"width": 4, "scale": 2.0}, thing)
    assert (arguments["config"].width, arguments["config"].scale) == (4, 2.0)
    x = jnp.ones((5, 2))
    built = BUILT["nnx"](thing, ORIGINAL, arguments, [x])
    assert built.weights["features"]["table"].shape == (2, 4)
    ones = jax.tree.map(jnp.ones_like, built.weights)
    # Each of two inputs meets four weights, and a bias is added; twice that.
    assert jnp.allclose(built.run(ones)(x), 18.0)
    assert built.weights["features"]["table"].shape == (2, 4)
    assert jnp.allclose(built.run(ones)(x), 18.0)


LISTS = """\
class Thing:
    def __init__(self, dim=4, sizes=[8, 4], windows=(3, 3)):
        self.sizes, self.windows = [dim] + sizes, (1, *windows)
"""


def test_lists_by_default_are_given_as_lists(tmp_path: Path):
    (tmp_path / "thing.py").write_text(LISTS)
    names = {n: n for n in ("dim", "sizes", "windows")}
    original = Original("thing.py", "Thing", "plain", parameters=names)
    thing = original.load(str(tmp_path / "test.py"))
    given = {"dim": 2, "sizes": (3, 2), "windows": (5, 5)}
    assert thing(**original.arguments(given, thing)).sizes == [2, 3, 2]
    assert original.arguments(given, thing)["windows"] == (5, 5)


def test_files_that_import_others_beside_them_are_modules_of_their_folders(
    tmp_path: Path,
):
    folder = tmp_path / "src/towed"
    (tmp_path / "src/towed_parts").mkdir(parents=True)
    folder.mkdir()
    (tmp_path / "src/towed_parts/sums.py").write_text(
        "def more(x):\n    return x + 1\n"
    )
    (folder / "halves.py").write_text("def half(x):\n    return x / 2\n")
    (folder / "net.py").write_text(
        "from towed_parts.sums import more\n\nfrom .halves import half\n\n\n"
        "def net(x):\n    return half(more(x))\n"
    )
    original = Original("src/towed/net.py", "net", "numpy")
    assert original.load(str(tmp_path / "tests/test_net.py"))(3) == 2


PAIR = """\
import jax.numpy as jnp


def init(dim):
    return {"w": jnp.ones(dim), "mean": jnp.ones(dim)}, {"mean": jnp.zeros(dim)}


def apply(params, state, x, train=False):
    return (x - state["mean"]) * params["w"] * params["mean"], state
"""


def test_a_pair_is_given_its_state_beside_its_weights(tmp_path: Path):
    (tmp_path / "pair_of.py").write_text(PAIR)
    original = Original(
        "pair_of.py", "apply", "pair", flags=("train",), functions=("init", "apply")
    )
    thing = original.load(str(tmp_path / "test.py"))
    x = jnp.full((2, 3), 5.0)
    built = BUILT["pair"](thing, original, {"dim": 3}, [x])
    assert {*built.weights} == {"w", "mean", "mean_state"}
    weights = built.weights | {
        "mean_state": jnp.full(3, 2.0),
        "mean": jnp.full(3, 4.0),
    }
    # The results leave the state out.
    assert jnp.allclose(built.run(weights)(x), 12.0)


STATES = """\
import equinox as eqx
import jax.numpy as jnp
from equinox.nn import StateIndex


class Thing(eqx.Module):
    mean: StateIndex

    def __init__(self, size):
        self.mean = StateIndex(jnp.zeros(size))

    def __call__(self, x, state):
        assert x.ndim == 1
        return x - state.get(self.mean), state
"""


def test_a_state_of_equinox_without_averages_is_of_one_example(tmp_path: Path):
    pytest.importorskip("equinox")
    (tmp_path / "states.py").write_text(STATES)
    original = Original("states.py", "Thing", "equinox")
    thing = original.load(str(tmp_path / "test.py"))
    x = jnp.full((3,), 5.0)
    built = BUILT["equinox"](thing, original, {"size": 3}, [x])
    moved = jax.tree.map(lambda a: a + 2.0, built.weights)
    assert jnp.allclose(built.run(moved)(x), 3.0)


SIZES = """\
from typing import List


class Thing:
    def __init__(self, dim, sizes, widths: List[int], depths=[1, 2], rates=(1, 2)):
        self.sizes = [dim] + sizes + [dim]
        self.more = sizes + [dim], (dim,) + sizes, sizes + (dim,)
        self.widths = [dim] + widths
        self.depths = [dim] + depths
        self.rates = (dim,) + rates
"""


def test_sizes_are_joined_with_what_the_original_joins_them_with(tmp_path: Path):
    (tmp_path / "thing.py").write_text(SIZES)
    given = ("dim", "sizes", "widths", "depths", "rates")
    original = Original("thing.py", "Thing", "torch", {k: k for k in given})
    near = str(tmp_path / "test.py")
    thing = Original("thing.py", "Thing", "plain", {}).load(near)
    values = {"dim": 1, **dict.fromkeys(given[1:], (3, 4))}
    made = thing(**original.arguments(values, thing))
    assert made.sizes == [1, 3, 4, 1]
    assert made.more == ([3, 4, 1], [1, 3, 4], (3, 4, 1))
    assert made.widths == made.depths == [1, 3, 4]
    assert made.rates == (1, 3, 4)
    # Tuples are trees in layers of jax.
    plain = Original("thing.py", "Thing", "equinox", {k: k for k in given})
    assert type(plain.arguments(values, thing)["sizes"]) is tuple


DRAWING = """\
import flax.linen as nn
import jax


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + jax.random.normal(self.make_rng("noise"), x.shape) * nn.Dense(4)(x)
"""


def test_layers_of_flax_find_a_key_by_any_name(tmp_path: Path):
    pytest.importorskip("flax")
    (tmp_path / "thing.py").write_text(DRAWING)
    original = Original("thing.py", "Thing", "flax")
    thing = original.load(str(tmp_path / "test.py"))
    x = jnp.ones((2, 4))
    built = BUILT["flax"](thing, original, {}, [x])
    assert built.run(built.weights)(x).shape == (2, 4)


def test_settings_with_dots_are_held_by_settings():
    made = nested({"model.head.width": 4, "model.rate": 0.5, "size": 2}, Settings)
    assert made["size"] == 2
    assert made["model"]["head"]["width"] == made["model"].head.width == 4
    assert made["model"].rate == 0.5


class _Config:
    def __init__(self, width: int, vocabulary: int, title: str, rate: float = 0.5):
        self.width, self.vocabulary, self.title = width, vocabulary, title
        self.rows = vocabulary // 2


def test_settings_that_nothing_reads_are_given_something():
    made = made_of(_Config, {"width": 4})
    assert (made.width, made.rows, made.title) == (4, 0, "")
    assert vars(made_of(Settings, {"width": 4})) == {"width": 4}
