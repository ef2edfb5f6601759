"""Shardings from metadata, and how parameters are shown."""

from __future__ import annotations

import builtins
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
from graph_programs import run
from jax.sharding import PartitionSpec as P

import mlax.graph as bx

SHARDED = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import PartitionSpec as P
    import mlax.graph as bx

    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    metadata = {"kernel": {"sharding": P(None, "model")}, "bias": {"sharding": P("model")}}
    linear = bx.Linear(graph.child("linear"), 8, metadata=metadata, rng=rng)
    mesh = jax.make_mesh((4,), ("model",))

    def init():
        params = rng.seed(bx.Params(), seed=42)
        _, params = linear(params, jnp.ones((1, 3)))
        return params.locked()

    abstract = jax.eval_shape(init)
    params = jax.jit(init, out_shardings=bx.shardings(abstract, mesh))()
    kernel = params[linear.param_path("kernel")].value
    assert kernel.sharding.spec == P(None, "model"), kernel.sharding
    assert kernel.addressable_shards[0].data.shape == (3, 2)
    np.testing.assert_allclose(kernel, init()[linear.param_path("kernel")].value, rtol=1e-6)

    local = bx.Graph("model")
    rng = bx.Rng(local.child("rng"))
    part = bx.Linear(local.child("linear"), 2, rng=rng)
    x = jnp.ones((5, 3))
    specs = bx.partition_specs(params)
    mapped = jax.shard_map(
        lambda params, x: part(params, x)[0],
        mesh=mesh, in_specs=(specs, P()), out_specs=P(None, "model"),
    )
    np.testing.assert_allclose(jax.jit(mapped)(params, x), linear(params, x)[0], rtol=1e-5)
"""


def test_each_device_creates_its_part_and_computes_with_it():
    run(textwrap.dedent(SHARDED), devices=4)


def made(metadata=None) -> tuple[bx.Graph, bx.Params]:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 4, metadata=metadata, rng=rng)
    params = rng.seed(bx.Params(), seed=0)
    return graph, linear(params, jnp.ones((1, 3)))[1]


def test_what_has_no_sharding_is_replicated():
    _, params = made({"kernel": {"sharding": P("model")}})
    specs = bx.partition_specs(params)
    assert specs["model", "linear", "kernel"].value == P("model")
    assert specs["model", "linear", "bias"].value == P()
    with pytest.raises(ValueError, match="more axes than"):
        bx.partition_specs(made({"bias": {"sharding": P("a", "b")}})[1])
    with pytest.raises(TypeError, match="must be a PartitionSpec"):
        bx.partition_specs(made({"bias": {"sharding": "model"}})[1])


SHOWN = """\
model
├─ rng         Rng
│  ├─ seed     key<fry>[]     1   not trainable
│  └─ counter  uint32[]       1   not trainable
└─ linear      Linear
   ├─ kernel   float32[3, 4]  12
   └─ bias     float32[4]     4
4 parameters of 18 elements, 16 of them trainable; unlocked
"""


def test_parameters_are_shown_as_a_tree(capsys):
    graph, params = made()
    bx.display(graph, params)
    assert capsys.readouterr().out == SHOWN
    below = bx.summary(graph.children["linear"], params.locked())
    assert below.startswith("linear")
    assert below.endswith("2 parameters of 16 elements, 16 of them trainable; locked")
    assert "0 parameters" in bx.summary(bx.Graph("other"), params)


def test_a_name_may_be_a_parameter_and_a_node():
    graph = bx.Graph("a")
    params = bx.Params({("a", "b"): jnp.ones(1), ("a", "b", "c"): jnp.ones(2)})
    assert "2 parameters of 3 elements" in bx.summary(graph, params)


class Shell:
    """What IPython gives in a notebook."""

    config = ("IPKernelApp",)


def test_a_notebook_shows_them_through_treescope(monkeypatch):
    graph, params = made()
    shell = type(sys)("IPython")
    shell.get_ipython = Shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    shown = []
    scope = type(sys)("treescope")
    scope.display = shown.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "treescope", scope)
    bx.display(graph, params)
    assert list(shown[0]) == ["rng", "linear"]
    find = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "treescope":
            raise ImportError(name)
        return find(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install treescope"):
        bx.display(graph, params)


def test_params_are_saved_and_restored(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    trainable, _ = made()[1].locked().split()
    with checkpoint.StandardCheckpointer() as saver:
        saver.save(tmp_path / "saved", trainable)
        saver.wait_until_finished()
        abstract = jax.tree.map(checkpoint.utils.to_shape_dtype_struct, trainable)
        restored = saver.restore(tmp_path / "saved", abstract)
    assert jax.tree.structure(restored) == jax.tree.structure(trainable)
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), restored, trainable))
