"""What people complain of elsewhere, and that no other test has for its subject."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.render.environment import TemplateFault, Templates

LAYER = "mynet/nn/scale.py"
SPEC = "specs/nn/scale.py"
RENDERED = """
import hashlib, json, sys
from mlax_scaffold.project.workspace import Workspace

made = Workspace.find(sys.argv[1]).generate()
print(json.dumps({o.path: hashlib.sha256(o.text.encode()).hexdigest() for o in made.outputs}))
"""
"""Prints the digest of each file that a project generates."""


TOLD = """
import sys
from collections.abc import Iterable
from mlax_scaffold.errors import SpecError
from mlax_scaffold.project.workspace import Workspace

try:
    Workspace.find(sys.argv[1]).read()
except SpecError as error:
    print(error)
"""
"""Prints the findings of a project."""

SETS = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType,
    Float,
    Layer,
    Positive,
    Probability,
    Size,
    state,
    zeros,
)
from mlax_scaffold.specs.nn.linear import Linear


class Sets(Layer):
    """Several of each kind of thing that the generator gathers in a set."""

    features: Size  #: size of the last axis
    rate: Probability = 0.5  #: of the averages
    scale: Positive = 1.0  #: of the result
    wide: DType | None = None  #: of the averages

    def setup(self):
        self.alpha = state(zeros, ())
        self.beta = state(zeros, ())
        self.gamma = state(zeros, ())
        self.delta = state(zeros, ())
        self.layers = [
            Linear(self.features * one * two, self.features * three * four)
            for one, two, three, four in [(1, 1, 1, 1)]
            if one
        ]

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        alpha, beta, gamma, delta = x.min(), x.max(), x.min(), x.max()
        self.alpha, self.beta, self.gamma, self.delta = alpha, beta, gamma, delta
        first = self.alpha + self.beta + self.gamma + self.delta
        second = self.delta * self.gamma * self.beta * self.alpha
        checks, arrays, hyperparams, trainables = first, second, first, second
        for layer in self.layers:
            x = layer(x)
        low = x.astype(jnp.float16).astype(jnp.bfloat16).astype(jnp.float32)
        return low.astype(x.dtype) + checks + arrays + hyperparams + trainables
'''
"""Several of each kind of thing that the generator has in sets: two may be in order by chance."""

WRONG = {
    "self.alpha + self.beta": "self.alphq + self.unknown",
    "x.max()\n": "x.max() + q + r + s\n",
}
"""What the findings tell several names of."""


@pytest.mark.parametrize("file", ["probe_twice", "another_name"])
def test_creating_twice_inserts_nothing_twice(generated: ProjectFolder, file: str):
    generated.ok("new-function", "probe_twice", "--no-test")
    folder = generated.root / "specs/functional"
    (folder / "probe_twice.py").rename(folder / f"{file}.py")
    generated.ok("generate")
    before = generated.files()
    again = generated.run("new-function", "probe_twice", "--no-test")
    # It is the definition that is found, wherever its spec stands: the file is not asked.
    assert again.exit_code == 2
    said = f'"probe_twice" exists already; edit specs/functional/{file}.py'
    assert said in again.stderr
    assert generated.files() == before
    registry = generated.text("mynet/functional/__init__.py")
    assert registry.count("import probe_twice") == 1


def test_a_file_that_was_edited_heals_and_follows_its_spec_again(
    generated: ProjectFolder,
):
    generated.write(LAYER, generated.text(LAYER) + "# mine\n")
    assert generated.run("check").exit_code == 1
    generated.ok("generate", "--force", "--no-trial")
    generated.ok("check")
    spec = generated.text(SPEC)
    generated.write(SPEC, spec.replace("by element", "of each element"))
    generated.ok("generate", "--no-trial")
    assert "of each element" in generated.text(LAYER)
    generated.ok("check")


def test_no_version_and_no_moment_is_in_what_is_generated(generated: ProjectFolder):
    stamps = re.compile(rb"20\d\d-\d\d-\d\d|mlax-scaffold \d|version \d+\.\d+")
    for path in generated.files():
        if path.startswith(("mynet/", "tests/", "docs/")) and path.endswith(".py"):
            assert not stamps.search((generated.root / path).read_bytes()), path


def said(program: str, root: str, seeds: Iterable[str]) -> list[str]:
    """What a program prints of a project, with each hash seed."""
    path = os.pathsep.join(p for p in sys.path if p)
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", program, root],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds
    ]
    return [run.communicate()[0] for run in runs]


def test_what_is_in_sets_is_in_order_whatever_the_hash_seed(empty: ProjectFolder):
    empty.write("specs/nn/sets.py", SETS)
    first, *others = map(json.loads, said(RENDERED, str(empty.root), "1234"))
    assert "mynet/nn/sets.py" in first
    assert others == [first] * 3


def test_findings_are_the_same_whatever_the_hash_seed(empty: ProjectFolder):
    text = SETS
    for right, wrong in WRONG.items():
        assert right in text
        text = text.replace(right, wrong)
    empty.write("specs/nn/sets.py", text)
    first, *others = said(TOLD, str(empty.root), "1234")
    assert first.count("\n") > 10
    assert others == [first] * 3


def test_another_moment_of_change_is_no_difference(generated: ProjectFolder):
    before = generated.files()
    for path in (LAYER, SPEC):
        os.utime(generated.root / path, (1, 1))
    generated.ok("check")
    generated.ok("generate", "--no-trial")
    assert generated.files() == before


@pytest.mark.parametrize("text", ["{% if %}", "{{ nothing.of_it }}", "{{ 1 + }}"])
def test_a_fault_of_a_template_has_its_file_and_line(tmp_path, text):
    (tmp_path / "page.jinja").write_text(f"first\n{text}\n")
    with pytest.raises(TemplateFault, match=r"page\.jinja:2: \S"):
        Templates(tmp_path).render("page.jinja")
