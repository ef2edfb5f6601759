"""`generate --fix` types inputs that have no type by what the code takes, and asks for no more."""

from __future__ import annotations

import re

import pytest
from cli_projects import ProjectFolder

SPEC = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, segment_sum, softmax, trainable


class {name}(Layer):
    """A spec of a test."""

    width: Size
    other: Size

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.width, self.other))
        self.square = trainable(lecun_normal(), (self.other + self.width, self.other))

    def forward(self, {inputs}):
        {body}
'''
FUNCTION = '''\
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import function


@function
def {name}({inputs}):
    """A spec of a test."""
    {body}
'''
BODIES = {
    # The inputs, the body, and the shape of each input.
    "pooled": (
        "points, query",
        "pooled = (points @ self.kernel).max(axis=1)\n"
        "        return jnp.concatenate([pooled, query], axis=-1) @ self.square",
        {"points": "batch length width", "query": "batch width"},
    ),
    "scaled_channels": (
        "x, c",
        "return x * (c @ self.kernel)[:, :, None, None] @ jnp.ones((3, 3), x.dtype)",
        {"x": "batch other length 3", "c": "batch width"},
    ),
    "edges": (
        "nodes, senders, receivers, weights",
        "messages = (nodes @ self.kernel)[senders] * weights[:, None]\n"
        "        return segment_sum(messages, receivers, num_segments=nodes.shape[0])",
        {
            "nodes": "batch width",
            "senders": "edges",
            "receivers": "edges",
            "weights": "edges",
        },
    ),
    "conditioned": (
        "x, label=None, t=None",
        "h = x @ self.kernel\n"
        "        h = h if label is None else h + self.square[label]\n"
        "        return h if t is None else h * t[:, None]",
        {"x": "batch width", "label": "batch", "t": "batch"},
    ),
    "attending": (
        "x, context=None",
        "k = x @ self.kernel if context is None else context @ self.square\n"
        '        w = softmax(jnp.einsum("bqd,bkd->bqk", x @ self.kernel, k))\n'
        '        return jnp.einsum("bqk,bkd->bqd", w, k)',
        {
            "x": "batch length width",
            "context": "batch context_length other+width",
        },
    ),
    "apart": (
        "x, y, z",
        "return x @ self.kernel, y @ self.square + z @ self.kernel",
        {"x": "*x_batch width", "y": "*batch other+width", "z": "*batch width"},
    ),
    "modulated": (
        "x, c",
        "h = c @ self.kernel\n"
        "        h = h.reshape(h.shape[:1] + (1,) * (x.ndim - 2) + h.shape[1:])\n"
        "        return x * h",
        {"x": "batch *rest other", "c": "batch width"},
    ),
}


FUNCTIONS = {
    # The parameters, the body, and the shape of each input.
    "ordinal": (
        "logits, levels, importance=None",
        "targets = (levels[:, None] > jnp.arange(logits.shape[1])[None, :]).astype(logits.dtype)\n"
        "    term = jax.nn.log_sigmoid(logits) * targets\n"
        "    return term if importance is None else term * importance",
        {
            "logits": "batch features",
            "levels": "batch",
            "importance": "batch features",
        },
    ),
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The texts of the specs, once they are mended, in one."""
    root = tmp_path_factory.mktemp("untyped")
    project = ProjectFolder(root)
    for stem, (inputs, body, _) in BODIES.items():
        name = "".join(part.title() for part in stem.split("_"))
        text = SPEC.format(name=name, inputs=inputs, body=body)
        project.write(f"specs/nn/{stem}.py", text)
    for stem, (inputs, body, _) in FUNCTIONS.items():
        text = FUNCTION.format(name=stem, inputs=inputs, body=body)
        project.write(f"specs/functional/{stem}.py", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        project.ok("init", "mynet")
        result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    sections = {"nn": BODIES, "functional": FUNCTIONS}
    paths = [f"specs/{s}/{stem}.py" for s, stems in sections.items() for stem in stems]
    return "\n".join(map(project.text, paths))


@pytest.mark.parametrize("stem", BODIES)
def test_inputs_have_the_shapes_that_the_code_takes(stem: str, typed: str):
    name = "".join(part.title() for part in stem.split("_"))
    own = typed.partition(f"class {name}(")[2].partition("def forward")[2]
    found = dict(re.findall(r'(\w+): \w+\["([^"]*)"\]', own.partition("return")[0]))
    assert {n: found[n] for n in BODIES[stem][2]} == BODIES[stem][2]


@pytest.mark.parametrize("stem", FUNCTIONS)
def test_inputs_of_functions_have_the_shapes_that_their_code_takes(
    stem: str, typed: str
):
    own = typed.partition(f"def {stem}(")[2].partition("return")[0]
    found = dict(re.findall(r'(\w+): \w+\["([^"]*)"\]', own))
    assert found == FUNCTIONS[stem][2]
