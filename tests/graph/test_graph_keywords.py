"""What Sequential and blocks hand to modules by name: all that a call can take."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Sequence

import jax.numpy as jnp
import pytest
from graph_models import start

import mlax.graph as bx

X = jnp.ones((2, 3))


class Module(bx.Module):
    """A module that keeps what it was given."""

    def __init__(self, graph):
        super().__init__(graph)
        self.seen: dict[str, object] = {}

    def keep(self, **given):
        self.seen = given


class Any(Module):
    def __call__(self, params, x, **kw):
        self.keep(**kw)
        return x, params


class Plain(Module):
    def __call__(self, params, x, is_training=True, scale=None, *, mask=None):
        self.keep(is_training=is_training, scale=scale, mask=mask)
        return x, params


class PositionalOnly(Module):
    def __call__(self, params, x, bias=None, /, mask=None):
        self.keep(bias=bias, mask=mask)
        return x, params


class Bare(Module):
    def __call__(self, params, x):
        return x, params


class Star(Module):
    def __call__(self, params, *xs, scale=None):
        self.keep(scale=scale)
        return xs[0], params


def traced(call):
    @functools.wraps(call)
    def wrapped(*args, **kw):
        return call(*args, **kw)

    return wrapped


class Wrapped(Module):
    @traced
    def __call__(self, params, x, is_training=True, scale=None):
        self.keep(is_training=is_training, scale=scale)
        return x, params


def containers(graph: bx.Graph, layers: Sequence[bx.Module]) -> list[t.Any]:
    """Modules around others, and around modules around others."""
    both = bx.Series(graph.child("both"), layers)
    return [
        bx.Sequential(graph.child("sequential"), layers),
        both,
        bx.Residual(graph.child("residual"), both),
        bx.Sequential(graph.child("around"), [both]),
        bx.Remat(
            graph.child("remat"),
            bx.Sequential(graph.child("within"), [jnp.negative, both]),
        ),
    ]


GIVEN = {"scale": 2.0, "mask": 3.0}


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("is_training", [False, True])
def test_modules_get_what_they_can_take(number, is_training):
    graph, _, params = start()
    kinds = (Any, Plain, PositionalOnly, Bare, Star, Wrapped)
    modules = {kind: kind(graph.child(kind.__name__)) for kind in kinds}
    model = containers(graph, list(modules.values()))[number]
    model(params, X, is_training=is_training, **GIVEN)
    flag = {"is_training": is_training}
    expected = {
        Any: {*GIVEN, *flag},
        Plain: {*GIVEN, *flag},
        PositionalOnly: {"bias", "mask"},
        Bare: set(),
        Star: {"scale"},
        Wrapped: {"scale", *flag},
    }
    for kind, module in modules.items():
        assert set(module.seen) == expected[kind], kind
        assert module.seen.get("is_training", is_training) is is_training, kind
        for name in expected[kind] & set(GIVEN):
            assert module.seen[name] == GIVEN[name], (kind, name)


@pytest.mark.parametrize("number", range(5))
def test_what_no_module_takes_is_refused(number):
    graph, _, params = start()
    layers = [kind(graph.child(kind.__name__)) for kind in (Plain, Bare)]
    model = containers(graph, layers)[number]
    with pytest.raises(TypeError, match="no layer takes the keyword input 'bias'"):
        model(params, X, is_training=False, bias=1.0)


def test_a_module_that_takes_anything_gets_anything():
    graph, _, params = start()
    anything = Any(graph.child("any"))
    for model in containers(graph, [anything, Bare(graph.child("bare"))]):
        model(params, X, is_training=False, bias=1.0)
        assert anything.seen == {"bias": 1.0, "is_training": False}
