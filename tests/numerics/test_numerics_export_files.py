"""Functions over the types of the library go into files of `jax.export`, and come back."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export

import mlax
import mlax.graph as bx
from mlax import block, metric, nn, optim, train
from mlax._core import exports

KEY = jax.random.key(0)
X = jnp.ones((2, 3))
LAYER = nn.Linear.init(KEY, 3, 4)

mlax.register_for_export()


def modules_of_the_package() -> list[Any]:
    return [m for name, m in sys.modules.items() if name.startswith("mlax.")]


def is_registered(cls: type) -> bool:
    try:
        export.register_pytree_node_serialization(
            cls,
            serialized_name=f"another name of {cls}",
            serialize_auxdata=bytes,
            deserialize_auxdata=bytes,
            from_children=lambda aux_data, children: None,
        )
    except ValueError as error:
        return "Duplicate serialization registration" in str(error)
    return False


def tree_types() -> dict[str, type]:
    """What `init`, `fwd`, `step` and modules take and return, found by names and by bases."""
    found = {
        f"{module.__name__}.{name}": value
        for module in modules_of_the_package()
        for name, value in vars(module).items()
        if isinstance(value, type)
        and name.endswith(("Trainables", "NonTrainables", "State", "Hyperparams"))
        and not getattr(value, "_is_protocol", False)
    }
    return found | {
        "Params": bx.Params,
        "Param": bx.Param,
        "Cosine": type(mlax.schedule.Cosine(0.1, 10)),
        "Count": metric.Count,
        "EarlyStopping": train.EarlyStopping,
        "MovingAverage": train.MovingAverage,
    }


def test_every_type_of_trees_is_registered():
    types = tree_types()
    assert len(types) > 200
    assert [name for name, cls in types.items() if not is_registered(cls)] == []


def test_it_may_be_called_again():
    before = set(exports._REGISTERED)
    mlax.register_for_export()
    assert before == exports._REGISTERED


def of_a_module() -> tuple[Any, tuple[Any, ...]]:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    _, params = linear(rng.seed(bx.Params(), seed=0), X)
    trainables, others = params.locked().split()
    return (
        lambda t, x: (linear(t.merge(others), x, is_training=False)[0], t),
        (trainables, X),
    )


def of_an_optimizer() -> tuple[Any, tuple[Any, ...]]:
    weights = LAYER[0]
    state, hyperparams = optim.Adam.init(weights, 0.1)
    return optim.Adam.step, (weights, state, weights, hyperparams)


def of_a_block() -> tuple[Any, tuple[Any, ...]]:
    series = block.Series.init(
        [LAYER, nn.F.init(jax.nn.relu), nn.BatchNorm.init(KEY, 4)]
    )
    return block.Series.fwd, (X, *series)


FUNCTIONS = {
    "layer": lambda: (nn.Linear.fwd, (X, *LAYER)),
    "block": of_a_block,
    "optimizer": of_an_optimizer,
    "module": of_a_module,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_come_back(name: str):
    pytest.importorskip("flatbuffers")  # What jax writes such files with.
    function, arguments = FUNCTIONS[name]()
    compiled = jax.jit(function)
    data = export.export(compiled)(*arguments).serialize()
    result = export.deserialize(data).call(*arguments)
    expected = compiled(*arguments)
    assert jax.tree.structure(result) == jax.tree.structure(expected)
    same = jax.tree.map(lambda a, b: bool((a == b).all()), result, expected)
    assert jax.tree.all(same)
