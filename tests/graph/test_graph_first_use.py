"""What somebody new to modules meets: mistakes and their messages, imports, what is shown."""

from __future__ import annotations

import html
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_programs import run
from jax.nn.initializers import normal, zeros

import mlax.graph as bx

X = jnp.ones((2, 3))


class Loose(bx.Module):
    """A module with a weight that is drawn, and mistakes by flag."""

    def __init__(self, graph, rng=None, *, forgets=False, size=(3,)):
        super().__init__(graph)
        self.rng, self.forgets, self.size = rng, forgets, size

    def __call__(self, params, x):
        weight, params = self.get_param(params, "w", self.size, normal(), rng=self.rng)
        return x * weight if self.forgets else (x * weight, params)


def start() -> tuple[bx.Graph, bx.Rng, bx.Params]:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    return graph, rng, rng.seed(bx.Params(), seed=0)


def every_kind(graph: bx.Graph, rng: bx.Rng) -> list[bx.Module]:
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    return [
        linear,
        Loose(graph.child("own"), rng),
        bx.Residual(graph.child("residual"), linear),
        bx.Sequential(graph.child("sequential"), [linear]),
    ]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("given", [{}, X, None], ids=["dict", "array", "None"])
def test_params_come_first(kind, given):
    graph, rng, _ = start()
    with pytest.raises(TypeError, match=r"must be Params, as in\s+y, params ="):
        every_kind(graph, rng)[kind](given, X)


def test_a_generator_needs_params():
    _, rng, _ = start()
    for wrong in (rng, lambda p: rng.seed(p, seed=0), rng.get_seed):
        with pytest.raises(TypeError, match="Rng: the first argument must be Params"):
            wrong({})  # type: ignore[arg-type]
    linear = bx.LSTM(bx.Graph("a").child("b"), hidden_size=2, rng=rng)
    with pytest.raises(TypeError, match="LSTM: the first argument must be Params"):
        linear.apply({}, jnp.ones((1, 2, 3)))  # type: ignore[arg-type]


def test_messages_say_what_to_write():
    graph, rng, params = start()
    own = Loose(graph.child("own"))
    with pytest.raises(
        ValueError, match=r"\('model', 'own', 'w'\) failed without a key"
    ):
        own(params, X)
    forgets = Loose(graph.child("forgets"), rng, forgets=True)
    with pytest.raises(TypeError, match=r"must return \(y, params\), got Array"):
        bx.Sequential(graph.child("all"), [forgets])(params, X)
    with pytest.raises(TypeError, match="layers must be a sequence"):
        bx.Sequential(graph.child("one"), own)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rng must be an Rng, got PRNGKeyArray"):
        bx.MLP(graph.child("mlp"), 2, [3], rng=jax.random.key(0))  # type: ignore[arg-type]
    linear = bx.Linear(graph.child("linear"), 3, rng=rng)
    linear(params, X)
    with pytest.raises(KeyError, match="the first call of the module returns params"):
        bx.params_to_pair(linear, params)
    with pytest.raises(TypeError, match="a mapping of paths"):
        bx.Params([1])  # type: ignore[arg-type]
    wider = Loose(graph.child("wider"), rng)
    _, params = wider(params, X)
    wider.size = (4,)
    with pytest.raises(ValueError, match=r"must have shape \(4,\), got \(3,\)"):
        wider(params, jnp.ones((2, 4)))


def test_a_key_error_says_where_one_is():
    graph, rng, params = start()
    _, params = bx.Linear(graph.child("linear"), 3, rng=rng)(params, X)
    for path, hint in {
        ("model", "linear"): "it is a node, with 'kernel', 'bias'",
        ("model", "linear", "kernal"): r"did you mean \('model', 'linear', 'kernel'\)",
        "model/linear": "a path is a tuple of names",
    }.items():
        with pytest.raises(KeyError, match=hint):
            params[path]  # type: ignore[index]
    late = bx.Linear(graph.child("late"), 3, rng=rng)
    with pytest.raises(bx.LockedError) as error:
        late(params.locked(), X)
    assert "the new parameters ('model', 'late', 'kernel'), " in str(error.value)
    assert "did you mean" not in str(error.value)


def test_initializers_get_a_dtype_and_a_key_of_their_own():
    graph, rng, params = start()
    owner = Loose(graph.child("own"), rng)
    facts = {"dtype": "float16", "rng": rng, "metadata": {"tag": 1}, "trainable": False}
    first, params = owner.get_param(params, "a", (8,), normal(), **facts)
    second, params = owner.get_param(params, "b", (8,), normal(), **facts)
    assert first.dtype == second.dtype == jnp.float16
    assert (first != second).any()
    param = params["model", "own", "a"]
    assert (param.trainable, param.metadata) == (False, {"tag": 1})
    params = owner.set_param(params, "a", second, trainable=True, metadata={"tag": 2})
    param = params["model", "own", "a"]
    assert (param.trainable, param.metadata) == (False, {"tag": 1})
    np.testing.assert_array_equal(param.value, second)


class Counting(bx.Module):
    """A module of one's own with state: how often it was called, and the last input."""

    def __init__(self, graph, keys):
        super().__init__(graph)
        self.keys = keys

    def __call__(self, params, x, is_training=False):
        count, params = self.get_param(params, "count", (), zeros, trainable=False)
        params = self.set_param(params, "count", count + 1)
        weight, params = self.get_param(params, "w", (3,), normal(), rng=self.keys())
        last, params = self.get_param(params, "last", x.shape, zeros, trainable=False)
        return x * weight + last, self.set_param(params, "last", x)


def test_a_block_creates_state_as_its_module_alone_does():
    graph, rng, params = start()
    own = Counting(graph.child("own"), lambda: rng)
    inner = bx.Series(graph.child("inner"), [own])
    block = bx.Residual(graph.child("block"), inner)
    repeated = Counting(graph.child("each"), lambda: rng)
    stack = bx.Repeat(graph.child("stack"), repeated, 2)
    y, after = block(params, X, is_training=True)
    alone, expected = own(params, X, is_training=True)
    np.testing.assert_array_equal(y, X + alone)
    for path in expected:
        assert (after[path].value == expected[path].value).all(), path
    assert after["model", "own", "count"].value == 1
    assert after.changing_only is None
    _, after = stack(after, X)
    np.testing.assert_array_equal(after["model", "each", "count"].value, [1, 1])
    weights = [after["model", name, "w"].value for name in ("own", "each")]
    assert not (weights[0] == weights[1]).any(), "the generator went on"
    assert not (weights[1][0] == weights[1][1]).any()
    assert rng.get_counter(after) == 3


def test_a_notebook_gets_a_tree_of_names_and_values(monkeypatch, capsys):
    treescope = pytest.importorskip("treescope")
    graph, rng, params = start()
    _, params = bx.Linear(graph.child("li<near"), 4, rng=rng)(params, X)
    shown = []
    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    shell = SimpleNamespace(get_ipython=lambda: kernel)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(treescope, "display", shown.append)
    bx.display(graph, params)
    assert capsys.readouterr().out == ""
    [tree] = shown
    text = treescope.render_to_text(tree)
    page = html.unescape(treescope.render_to_html(tree, compressed=False))
    for name in ("rng", "seed", "counter", "li<near", "kernel", "bias", "trainable"):
        assert name in text
        assert name in page
    assert "float32(3, 4)" in text
    kernel.config = {}  # IPython in a terminal.
    bx.display(graph, params)
    assert "float32[3, 4]" in capsys.readouterr().out


def test_a_summary_is_of_one_node():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    _, params = linear(params, X)
    _, params = bx.Linear(graph.child("other"), 5, rng=rng)(params, X)
    assert bx.summary(linear.graph, params).endswith(
        "2 parameters of 16 elements, 16 of them trainable; unlocked"
    )
    both = bx.Params({("a", "b"): jnp.ones(2), ("a", "b", "c"): jnp.ones(3)})
    swapped = bx.Params({path: both[path] for path in reversed(list(both))})
    for params in (both, swapped):
        shown = bx.summary(bx.Graph("a"), params)
        assert shown.count("float32[2]") == shown.count("float32[3]") == 1
    with pytest.raises(TypeError, match=r"such as module\.graph, got Linear"):
        bx.display(linear, params)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="second argument must be Params, got Graph"):
        bx.summary(graph, graph)  # type: ignore[arg-type]


def test_scans_take_a_length():
    def step(carry, _):
        return carry + 1, carry

    for scan in (bx.static_scan, bx.dynamic_scan):
        last, ys = scan(step, jnp.zeros(()), None, length=3)
        assert last == 3
        np.testing.assert_array_equal(ys, [0, 1, 2])
        _, ys = scan(step, jnp.zeros(()), None, length=3, reverse=True)
        np.testing.assert_array_equal(ys, [2, 1, 0])
    with pytest.raises(ValueError, match="one length"):
        bx.static_scan(step, 0.0, jnp.ones(2), length=3)


def test_state_of_a_cell_comes_out_of_a_sequence():
    graph, rng, params = start()
    lstm = bx.LSTM(graph.child("lstm"), hidden_size=2, rng=rng)
    model = bx.Series(
        graph.child("all"),
        [
            bx.Recurrent(graph.child("recurrent"), lstm),
            bx.Dropout(graph.child("d"), 0.5),
        ],
        rng=rng,
    )
    params = model(params, jnp.ones((1, 4, 3)))[1].locked()
    y, after = model(params, jnp.ones((1, 4, 3)), is_training=True)
    z, later = model(after, jnp.ones((1, 4, 3)), is_training=True)
    assert (y != z).any()
    assert rng.get_counter(later) == rng.get_counter(params) + 2


def test_it_imports_jax_and_itself_only():
    program = """
import sys
import jax, jax.numpy, jax.experimental.checkify
before = {name.partition(".")[0] for name in sys.modules}
import mlax.graph
after = {name.partition(".")[0] for name in sys.modules}
print(sorted(after - before - set(sys.stdlib_module_names)))
"""
    assert run(program, devices=1).strip() == "['mlax']"


def test_everything_public_says_what_it_is():
    for name in bx.__all__:
        public = getattr(bx, name)
        assert (public.__doc__ or "").strip(), name
        for method, value in vars(public).items() if isinstance(public, type) else ():
            if not method.startswith("_") and callable(value):
                assert (value.__doc__ or "").strip(), f"{name}.{method}"
