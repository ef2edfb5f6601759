"""Parameters as a tree of text, and through treescope in a notebook."""

from __future__ import annotations

import html
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import pytest
from graph_models import start

import mlax.graph as bx

SHOWN = """\
model
├─ rng         Rng
│  ├─ seed     key<fry>[]     1   not trainable
│  └─ counter  uint32[]       1   not trainable
└─ li<near     Linear
   ├─ kernel   float32[3, 4]  12
   └─ bias     float32[4]     4
4 parameters of 18 elements, 16 of them trainable; unlocked
"""


def made() -> tuple[bx.Graph, bx.Linear, bx.Params]:
    graph, rng, params = start()
    linear = bx.Linear(graph.child("li<near"), 4, rng=rng)
    return graph, linear, linear(params, jnp.ones((1, 3)))[1]


def test_parameters_are_shown_as_a_tree(capsys):
    graph, linear, params = made()
    bx.display(graph, params)
    assert capsys.readouterr().out == SHOWN
    below = bx.summary(linear.graph, params.locked())
    assert below.startswith("li<near")
    assert below.endswith("2 parameters of 16 elements, 16 of them trainable; locked")
    assert "0 parameters" in bx.summary(bx.Graph("other"), params)


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_may_be_a_parameter_and_a_node(order):
    entries = {("a", "b"): jnp.ones(2), ("a", "b", "c"): jnp.ones(3)}
    params = bx.Params({path: entries[path] for path in list(entries)[::order]})
    shown = bx.summary(bx.Graph("a"), params)
    assert shown.count("float32[2]") == shown.count("float32[3]") == 1
    assert "2 parameters of 5 elements" in shown


def test_a_notebook_gets_a_tree_of_names_and_values(monkeypatch, capsys):
    treescope = pytest.importorskip("treescope")
    graph, _, params = made()
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
    assert capsys.readouterr().out == SHOWN


def test_a_notebook_without_treescope_is_told_what_to_install(monkeypatch):
    graph, _, params = made()
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(config=["IPKernelApp"]))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "treescope", None)
    with pytest.raises(ImportError, match="pip install treescope"):
        bx.display(graph, params)


def test_only_a_node_and_params_are_shown():
    graph, linear, params = made()
    with pytest.raises(TypeError, match=r"such as module\.graph, got Linear"):
        bx.display(linear, params)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="second argument must be Params, got Graph"):
        bx.summary(graph, graph)  # type: ignore[arg-type]


class Net(bx.Module):
    """A module of one's own, with others in attributes."""

    def __init__(self, graph, rng, width=8):
        super().__init__(graph)
        self.width, self.rate, self.rng = width, 0.5, rng
        self.layers = [bx.Linear(graph.child("up"), width, use_bias=False, rng=rng)]


def test_a_module_shows_its_path_and_what_is_no_default():
    graph, rng, _ = start()
    net = Net(graph.child("net"), rng)
    assert repr(net) == "Net('model/net', rate=0.5)"
    [up] = net.layers
    assert repr(up) == "Linear('model/net/up', output_size=8, use_bias=False)"
    assert repr(rng) == "Rng('model/rng')"
    assert repr(graph) == "Graph('model')"
