"""A layer that draws at inference, too: pairs, modules, blocks, tests and page have a key there."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOTS = '''\
import jax

from mlax_scaffold.spec import Float, Layer, Size, dropout, ones, trainable


class Slots(Layer):
    """Slots that begin at random and weigh the inputs."""

    features: Size  #: size of the last axis
    count: Size = 3  #: number of slots

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(
        self, x: Float["*batch length features"]
    ) -> Float["*batch count features"]:
        shape = (*x.shape[:-2], self.count, self.features)
        slots = self.scale * jax.random.normal(self.key(), shape, x.dtype)
        if self.training:
            slots = dropout(slots, self.key(), rate=0.5)
        return (slots @ x.mT) @ x
'''
JITTERED = '''\
import jax

from mlax_scaffold.spec import Block, Float, SubLayer


class Jittered(Block):
    """A layer of an input with noise."""

    layer: SubLayer  #: an initialized layer

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.layer(x + jax.random.normal(self.key(), x.shape, x.dtype))
'''
USED = """
import jax
import jax.numpy as jnp
import pytest

import mynet.graph as bx
from mynet import nn

x = jnp.ones((2, 5, 4))
weights, state, hyperparams = nn.Slots.init(jax.random.key(0), 4)
with pytest.raises(ValueError, match=r"Slots draws random numbers: pass key=jax.random.key"):
    nn.Slots.fwd(x, weights, state, hyperparams, True)
y, _ = nn.Slots.fwd(x, weights, state, hyperparams, True, jax.random.key(1))

graph = bx.Graph("g")
rng = bx.Rng(graph.child("rng"))
slots = bx.Slots(graph.child("slots"), rng=rng)
net = bx.Sequential(graph.child("net"), [slots])
_, params = net(rng.seed(bx.Params(), seed=0), x)
params = params.locked()
for module in (slots, net):
    for call in (module, jax.jit(module, static_argnames="is_training")):
        first, after = call(params, x, is_training=False)
        second, last = call(after, x, is_training=False)
        assert first.shape == y.shape and not jnp.array_equal(first, second)
        assert rng.get_counter(last) == rng.get_counter(params) + 2
        key = jax.random.fold_in(rng.get_seed(params), rng.get_counter(params))
        pair = bx.params_to_pair(slots, params)
        expected, _ = nn.Slots.fwd(x, *pair, slots.hyperparams, True, key)
        assert jnp.allclose(first, expected, atol=1e-6) or module is net

inner = bx.Sequential(graph.child("inner"), [])
jittered = bx.Jittered(graph.child("jittered"), inner, rng=rng)
with pytest.raises(ValueError, match="seed"):
    jittered(bx.Params(), x, is_training=False)
noisy, params = jittered(rng.seed(bx.Params(), seed=0), x, is_training=False)
again, _ = jittered(params, x, is_training=False)
assert noisy.shape == x.shape and not jnp.array_equal(noisy, again)

with pytest.raises(ValueError, match="seed"):
    slots(bx.Params(), x, is_training=False)
"""


@pytest.fixture
def slots(empty):
    empty.write("specs/nn/slots.py", SLOTS)
    empty.write("specs/block/jittered.py", JITTERED)
    empty.ok("generate")
    return empty


def run(project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python, in the folder of the project."""
    return subprocess.run(
        (sys.executable, *arguments),
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_generated_tests_pass(slots):
    tests = "tests/generated/nn/test_nn_slots.py"
    done = run(slots, "-m", "pytest", "-q", "-p", "no:xdist", tests)
    assert done.returncode == 0, done.stdout


def test_modules_have_a_key_of_their_own_at_each_call(slots):
    done = run(slots, "-c", USED)
    assert done.returncode == 0, done.stderr


def test_the_page_and_the_docstring_say_so(slots):
    page = slots.text("docs/reference/nn/slots.md")
    assert "| `key` | `fwd` | PRNG key; needed. |" in page
    assert "inference_mode=True,\n    key=jax.random.key(1)," in page
    assert "nothing is random" not in page
    assert "that of each call.\n" in slots.text("mynet/graph/nn/slots.py")
