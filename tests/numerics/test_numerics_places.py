"""Profiles and errors say which layer: the names of layers, and their positions in blocks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import mlax
import mlax.graph as bx

KEY = jax.random.key(0)
WIDTH = 4
X = jnp.ones((2, WIDTH), jnp.float32)


class Model(NamedTuple):
    """Something to call, on one of the surfaces."""

    call: Callable[[Any], Any]


def linear(features: int = WIDTH, inputs: int = WIDTH) -> Any:
    return mlax.nn.Linear.init(KEY, inputs, features)


def pair(initialized: Any) -> Callable[[Any], Any]:
    trainables, state, hyperparams = initialized
    return lambda x: hyperparams.apply(x, trainables, state, True)[0]


def in_pairs(wrong: int) -> Callable[[Any], Any]:
    """A block whose fourth layer takes inputs of another size than it gets."""
    residual = mlax.block.Residual.init(linear(inputs=wrong, features=wrong))
    relu = mlax.nn.F.init(jax.nn.relu)
    return pair(mlax.block.Series.init([linear(), relu, linear(), residual]))


def in_modules(wrong: int) -> Callable[[Any], Any]:
    """The same, of modules."""
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))

    def layer(name: str, size: int | None = None) -> Any:
        return bx.Linear(graph.child(name), WIDTH, in_features=size, rng=rng)

    relu = bx.F(graph.child("relu"), jax.nn.relu)
    residual = bx.Residual(graph.child("residual"), layer("c", wrong))
    series = bx.Series(graph.child("series"), [layer("a"), relu, layer("b"), residual])
    params = rng.seed(bx.Params(), seed=0)
    return lambda x: series(params, x, is_training=False)[0]


def names(jaxpr: Any) -> Iterator[str]:
    """The names that operations are under, in a program and those in it."""
    for equation in jaxpr.eqns:
        yield str(equation.source_info.name_stack)
        for inner in _inner(equation):
            yield from names(inner)


def _inner(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else [value]:
            if hasattr(part, "jaxpr"):
                yield part.jaxpr
            elif hasattr(part, "eqns"):
                yield part


def names_in(function: Callable[..., Any], *arguments: Any) -> set[str]:
    return set(names(jax.make_jaxpr(function)(*arguments).jaxpr))


@pytest.mark.parametrize("make", [in_pairs, in_modules])
def test_operations_are_under_the_names_of_layers(make: Callable[..., Any]):
    found = names_in(make(WIDTH), X)
    assert {"Series/0/Linear", "Series/3/Residual/Linear"} <= found


@pytest.mark.parametrize("make", [in_pairs, in_modules])
def test_an_error_says_where(make: Callable[..., Any]):
    expected = "Series[3] > Residual > Linear: x must have shape (*batch, in_features)"
    with pytest.raises(ValueError, match=re.escape(expected)) as caught:
        make(3)(X)
    assert str(caught.value).startswith("Series[3]")
    with pytest.raises(ValueError, match=re.escape(expected)):
        jax.eval_shape(make(3), X)


def test_every_function_of_a_layer_and_every_step_has_a_name():
    for section in (mlax.nn, mlax.block, mlax.optim):
        for name in section.__all__:
            module = getattr(section, name)
            if not isinstance(module, ModuleType):
                continue
            entries = {
                n: f
                for n in module.__all__
                if inspect.isfunction(f := getattr(module, n)) and n != "init"
            }
            run = entries["fwd" if "fwd" in entries else "step"]
            assert all(hasattr(f, "__wrapped__") for f in entries.values()), name
            assert getattr(module, f"{name}Hyperparams")._function is run


def test_names_within_transformations():
    layers = jax.vmap(lambda key: mlax.nn.Linear.init(key, WIDTH, WIDTH))
    repeat = mlax.block.Repeat.init(layers(jax.random.split(KEY, 3)), 3)
    call = pair(repeat)
    for function in (call, jax.grad(lambda x: jnp.sum(call(x))), jax.vmap(call)):
        arguments = jnp.ones((2, 2, WIDTH), jnp.float32) if function is not call else X
        assert any("Linear" in name for name in names_in(function, arguments))


def test_scopes_are_opened_for_traced_arrays_only(monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    scope = jax.named_scope
    monkeypatch.setattr(
        jax, "named_scope", lambda name: opened.append(name) or scope(name)
    )
    call = in_pairs(WIDTH)
    call(X)
    assert not opened
    jax.eval_shape(call, X)
    assert opened == [
        "Series",
        "0",
        "Linear",
        "1",
        "F",
        "2",
        "Linear",
        "3",
        "Residual",
        "Linear",
    ]


def test_what_says_not_whose_it_is_gets_a_note():
    def refuse(x: Any) -> Any:
        raise KeyError("a key")

    call = pair(mlax.block.Series.init([linear(), mlax.nn.F.init(refuse)]))
    with pytest.raises(KeyError) as caught:
        call(X)
    assert caught.value.args == ("a key",)
    assert caught.value.__notes__ == ["in the layer Series[1] > F"]


def test_an_error_of_a_function_is_within_the_layer():
    def checked(x: Any) -> Any:
        return mlax.functional.softmax(x, axis=7)

    call = pair(mlax.block.Parallel.init([mlax.nn.F.init(checked)]))
    with pytest.raises(ValueError, match=r"^Parallel\[0\] > F > softmax: axis"):
        call((X,))


def test_an_optimizer_of_optimizers_says_which():
    weights = {"w": X}
    adam = mlax.optim.Adam.init({"v": X}, 0.1)
    clip = mlax.optim.Clip.init(weights, 1.0)
    state, hyperparams = mlax.optim.Chain.init([clip, adam])
    with pytest.raises(ValueError, match=r"^Chain\[1\] > Adam: state.mean was made"):
        hyperparams.apply(weights, state, weights)


def test_modules_of_ones_own_have_their_names():
    class Twice(bx.Module):
        def __init__(self, graph: bx.Graph, inner: Any) -> None:
            super().__init__(graph)
            self.inner = inner

        def __call__(self, params: Any, x: Any) -> Any:
            y, params = self.inner(params, x)
            return self.inner(params, y[..., :1])

    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    inner = bx.Linear(graph.child("inner"), WIDTH, rng=rng)
    model = bx.Sequential(graph.child("model"), [Twice(graph.child("twice"), inner)])
    with pytest.raises(ValueError, match=r"^Sequential\[0\] > Twice > Linear: "):
        model(rng.seed(bx.Params(), seed=0), X, is_training=False)
