"""Weights by path, in tables, in safetensors files and in orbax checkpoints."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax
from mlax import block, nn, optim

safetensors = pytest.importorskip("safetensors.numpy")


class Pair(NamedTuple):
    """A tree of one's own."""

    left: Any
    right: Any


def model() -> tuple[Any, Any, Any]:
    keys = jax.random.split(jax.random.key(0), 3)
    return block.Series.init(
        [
            nn.Linear.init(keys[0], 3, 4, dtype="float32"),
            nn.BatchNorm.init(keys[1], 4, dtype="float32"),
            nn.F.init(jax.nn.relu),
            nn.Linear.init(keys[2], 4, 2, dtype="bfloat16"),
        ]
    )


def tree() -> Any:
    """Every kind of node and every dtype, and names that are hard to write."""
    return {
        "a/b": Pair(jnp.arange(3, dtype="float16"), None),
        "a": {"b": jnp.ones((2, 0), "bfloat16"), "~1": jnp.float64(0.1)},
        "": [jnp.arange(6, dtype="int8").reshape(2, 3).T, (jnp.array(True),)],
        "naïve\n 名": jnp.ones((), "uint32"),
        "none": None,
        "bfloat16": jnp.linspace(-1, 1, 7, dtype="bfloat16"),
        "float32": jnp.float32([jnp.inf, jnp.nan, -0.0]),
    }


def assert_same(actual: Any, expected: Any) -> None:
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (e.dtype, e.shape)
        assert np.asarray(a).tobytes() == np.asarray(e).tobytes()


def test_paths_are_names_and_indices():
    trainables, non_trainables, _ = model()
    assert list(mlax.flatten(trainables)) == [
        "layers/0/kernel",
        "layers/0/bias",
        "layers/1/scale",
        "layers/1/bias",
        "layers/3/kernel",
        "layers/3/bias",
    ]
    assert list(mlax.flatten(non_trainables)) == ["layers/1/mean", "layers/1/var"]
    assert mlax.flatten(trainables)["layers/0/bias"] is trainables.layers[0].bias
    assert mlax.flatten(None) == {}
    assert mlax.flatten(1.0) == {"": 1.0}


def test_no_two_leaves_have_the_same_path():
    named = mlax.flatten(tree())
    assert {"a~1b/left", "a/b", "a/~01", "/0", "/1/0"} < set(named)
    assert len(named) == len(jax.tree.leaves(tree()))

    class Number(int):
        def __hash__(self):
            return 7

        def __eq__(self, other):
            return self is other

    with pytest.raises(ValueError, match="path '1'"):
        mlax.flatten({Number(1): 0.0, Number(1): 0.0})


def test_unflatten_undoes_flatten():
    for given in (tree(), *model()[:2], None, jnp.ones(2)):
        assert_same(mlax.unflatten(mlax.flatten(given), given), given)
    shapes = jax.eval_shape(tree)
    assert_same(mlax.unflatten(mlax.flatten(tree()), shapes), tree())


def test_what_does_not_fit_is_named_all_at_once():
    layer, _, _ = nn.Linear.init(jax.random.key(0), 3, 4, dtype="float32")
    arrays = {
        "kernel": jnp.ones((4, 3), "float32"),
        "Bias": jnp.ones(4),
        "": jnp.ones(4),
    }
    with pytest.raises(ValueError, match="do not fit") as error:
        mlax.unflatten(arrays, layer)
    assert str(error.value).split("\n")[1:] == [
        "  missing: bias",
        "  unexpected: Bias",
        "  unexpected: (the root)",
        "  different: kernel: expected float32[3, 4], got float32[4, 3]",
    ]
    half = {name: w.astype("bfloat16") for name, w in mlax.flatten(layer).items()}
    with pytest.raises(ValueError, match=r"expected float32\[4\], got bfloat16\[4\]"):
        mlax.unflatten(half, layer)
    with pytest.raises(TypeError, match="got LinearTrainables; the tree to fill is"):
        mlax.unflatten(layer, arrays)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="and 90 more"):
        mlax.unflatten({str(i): 0.0 for i in range(100)}, None)


def test_a_summary_is_a_table_with_totals():
    one = jnp.ones(1000, "bfloat16")
    _, _, hyperparams = nn.BatchNorm.init(jax.random.key(0), 1000)
    table = mlax.summary(
        {"scale": one, "bias": one}, Pair(left=one, right=(one, None)), hyperparams
    )
    assert table.split("\n") == [
        "BatchNorm",
        "path            shape    dtype     parameters  bytes",
        "----------------------------------------------------",
        "bias            (1000,)  bfloat16       1,000  2,000",
        "scale           (1000,)  bfloat16       1,000  2,000",
        "trainables                              2,000  4,000",
        "----------------------------------------------------",
        "left            (1000,)  bfloat16       1,000  2,000",
        "right/0         (1000,)  bfloat16       1,000  2,000",
        "non-trainables                          2,000  4,000",
        "----------------------------------------------------",
        "total                                   4,000  8,000",
    ]


def test_a_summary_needs_no_weights():
    def init(key):
        return nn.Linear.init(key, 30_000, 30_000, dtype="float32")

    trainables, non_trainables, _ = jax.eval_shape(init, jax.random.key(0))
    lines = mlax.summary(trainables, non_trainables).split("\n")
    assert lines[-1].split() == ["total", "900,030,000", "3,600,120,000"]
    assert len({len(line) for line in lines}) == 1
    state, _ = optim.Adam.init({"a": jnp.ones((2, 3), "float16")}, 1e-3)
    table = mlax.summary(state)
    assert [row.split()[0] for row in table.split("\n")[2:]] == [
        "step",
        "mean/a",
        "square/a",
        "-" * len(table.split("\n")[0]),
        "total",
    ]
    assert mlax.summary(None).endswith(" 0      0")
    assert "key<fry>" in mlax.summary(jax.random.key(0))


def test_safetensors_keep_everything(tmp_path):
    file = tmp_path / "weights.safetensors"
    mlax.save_safetensors(file, tree(), metadata={"made by": "a test"})
    assert_same(mlax.load_safetensors(file, jax.eval_shape(tree)), tree())
    assert_same(mlax.load_safetensors(str(file)), mlax.flatten(tree()))
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_safetensors_are_those_of_other_libraries(tmp_path):
    trainables, _, _ = model()
    mlax.save_safetensors(tmp_path / "ours", trainables)
    theirs = safetensors.load_file(tmp_path / "ours")
    for name, array in mlax.flatten(trainables).items():
        assert theirs[name].tobytes() == np.asarray(array).tobytes()
    renamed = {f"model.{name.replace('/', '.')}": a for name, a in theirs.items()}
    safetensors.save_file(renamed, tmp_path / "theirs")
    loaded = mlax.load_safetensors(tmp_path / "theirs")
    arrays = {n.removeprefix("model.").replace(".", "/"): a for n, a in loaded.items()}
    assert_same(mlax.unflatten(arrays, trainables), trainables)


def test_arrays_are_read_to_where_those_of_the_tree_lie(tmp_path):
    file = tmp_path / "weights"
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("model",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("model"))
    placed = jax.device_put({"w": jnp.ones((4, 2), "float32")}, sharding)
    mlax.save_safetensors(file, placed)
    assert mlax.load_safetensors(file, placed)["w"].sharding == sharding
    shape = {"w": jax.ShapeDtypeStruct((4, 2), "float32", sharding=sharding)}
    assert mlax.load_safetensors(file, shape)["w"].sharding == sharding


def test_errors_of_files(tmp_path, monkeypatch):
    file = tmp_path / "weights"
    with pytest.raises(TypeError, match="without an array"):
        mlax.save_safetensors(file, jax.eval_shape(tree))
    with pytest.raises(ValueError, match="reserves"):
        mlax.save_safetensors(file, {"__metadata__": jnp.ones(3)})
    with pytest.raises(TypeError, match=r"a must be an array, got 'text'"):
        mlax.save_safetensors(file, {"a": "text"})
    with pytest.raises(TypeError, match="a traced one is saved after"):
        jax.jit(lambda x: mlax.save_safetensors(file, x))(jnp.ones(3))
    with pytest.raises(FileNotFoundError, match=r"folder .* is not there; create it"):
        mlax.save_safetensors(file / "weights", jnp.ones(3))
    assert not list(tmp_path.iterdir())
    with pytest.raises(IsADirectoryError, match="is a folder"):
        mlax.load_safetensors(tmp_path)
    file.write_text("no header")
    with pytest.raises(ValueError, match="weights' is no safetensors file"):
        mlax.load_safetensors(file)
    mlax.save_safetensors(file, jnp.ones(2, "float8_e5m2"))
    with pytest.raises(ValueError, match=r"of a dtype that NumPy has not.*float8_e5m2"):
        mlax.load_safetensors(file)
    mlax.save_safetensors(file, {"wide": jnp.ones(2, "float64")})
    with pytest.raises(ValueError, match="missing: narrow"):
        mlax.load_safetensors(file, {"narrow": jnp.ones(2)})
    with (
        jax.enable_x64(False),
        pytest.raises(ValueError, match=r"wide is float64.*64-bit mode"),
    ):
        mlax.load_safetensors(file)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModuleNotFoundError, match="pip install safetensors"):
        mlax.load_safetensors(file)


def test_orbax_takes_the_trees_as_they_are(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    trainables, non_trainables, _ = model()
    state, _ = optim.Adam.init(trainables, 1e-3)
    saved = {"model": (trainables, non_trainables), "optimizer": state}
    with checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "step", saved)
        checkpointer.wait_until_finished()
        target = jax.tree.map(jnp.zeros_like, saved)
        restored = checkpointer.restore(tmp_path / "step", target)
    assert_same(restored, saved)
