"""`--from`: specs of code that people have."""

import ast
import json

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.conversion import Converted
from mlax_scaffold.conversion.output.description import Trial
from mlax_scaffold.model.definition import Kind
from mlax_scaffold.project import converting, creation
from mlax_scaffold.project.staging import Outcome, Stage

TORCH = '''\
import torch
import torch.nn as nn


class Gate(nn.Module):
    """x * sigmoid(x W)."""

    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        # Between zero and one.
        return x * torch.sigmoid(self.linear(x))


class Sparse(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.sparse.mm(self.linear(x), x)


raise SystemExit("this file is read, and never run")
'''
GATE = '''\
import jax

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class ProbeGate(Layer):
    """x * sigmoid(x W)."""

    dim: Size

    def setup(self):
        self.linear = Linear(self.dim, self.dim, use_bias=False)

    def forward(self, x: Float["*batch dim"]) -> Float["*batch dim"]:
        # Between zero and one.
        return x * jax.nn.sigmoid(self.linear(x))
'''


@pytest.fixture
def model(empty: ProjectFolder) -> ProjectFolder:
    empty.write("model.py", TORCH)
    return empty


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried out, which takes a process of its own."""
    passed = Outcome(0, "5 passed in 1.00s")
    monkeypatch.setattr(Stage, "prove", lambda *arguments: passed)


def test_a_dry_run_prints_the_spec_and_writes_nothing(model):
    before = model.files()
    shown = model.ok("new-layer", "ProbeGate", "--from", "model.py:Gate", "--dry-run")
    assert shown == GATE
    assert model.files() == before


def test_a_dry_run_tells_what_generate_would_refuse(model):
    body = """\
import torch.nn as nn


class Wrong(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = nn.Linear(dim, 4)
        self.second = nn.Linear(5, dim)

    def forward(self, x):
        return self.first(x) + self.second.weight
"""
    model.write("wrong.py", body)
    done = model.run("new-layer", "ProbeWrong", "--from", "wrong.py:Wrong", "--dry-run")
    assert done.exit_code == 1
    assert "return self.first(x) + self.second.kernel.T" in done.stdout
    assert ast.parse(done.stdout), "what is printed is to be saved as it is"
    assert "becomes a spec that is not valid as it is:\nwrong.py:11: " in done.stderr
    assert not model.run("check").exit_code


EMBEDDING = """\
import math

import torch
import torch.nn as nn


class Embedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        scale = math.log(10000) / (half - 1)
        scale = torch.exp(torch.arange(half) * -scale)
        return time[:, None] * scale[None, :]
"""


def test_what_tracing_finds_in_a_spec_of_code_is_mended(model):
    model.write("times.py", EMBEDDING)
    source = ("--from", "times.py:Embedding")
    assert "-scale)" in model.ok("new-layer", "ProbeTimes", *source, "--dry-run")
    model.ok("new-layer", "ProbeTimes", *source)
    spec = (model.root / "specs/nn/probe_times.py").read_text()
    assert "jnp.asarray(jnp.arange(half), time.dtype) * -scale" in spec


def test_sizes_that_never_fit_are_told_where_the_original_calls_the_layer(
    model, monkeypatch
):
    body = """\
import torch.nn as nn


class Wrong(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = nn.Linear(dim, 4)
        self.second = nn.Linear(5, dim)

    def forward(self, x):
        y = self.first(x)
        return self.second(y)
"""
    # What cannot be traced is told without its tests, which take longer.
    monkeypatch.setattr(Stage, "prove", lambda *arguments: pytest.fail("they are run"))
    model.write("wrong.py", body)
    before = model.files()
    done = model.run("new-layer", "ProbeWrong", "--from", "wrong.py:Wrong")
    assert done.exit_code == 1
    said = "wrong.py:12: the shapes do not fit: ProbeWrong > Linear: x must have shape"
    assert said in done.output
    assert "(*batch, in_features) with in_features=5" in done.output
    assert "`require` says what hyperparameters have to be" in done.output
    assert "failed" not in done.output
    assert model.files() == before


FLAT = """\
import torch.nn as nn


class Flat(nn.Module):
    def __init__(self, in_channels=3, sizes=None):
        super().__init__()
        layers = []
        if sizes is None:
            sizes = [4, 6]
        for size in sizes:
            layers.append(
                nn.Sequential(nn.Conv2d(in_channels, size, 3, 2, 1), nn.ReLU())
            )
            in_channels = size
        self.encoder = nn.Sequential(*layers)
        self.head = nn.Linear(sizes[-1] * 9, 2)

    def forward(self, x):
        return self.head(self.encoder(x).flatten(1))
"""


def test_constructors_are_run_where_what_they_became_does_not_fit(model):
    """The image has to be of the size that the last layer is made for."""
    model.write("flat.py", FLAT)
    source = ("--from", "flat.py:Flat", "--dry-run")
    shown = model.ok("new-layer", "ProbeFlat", *source)
    assert "'x': (2, 3, 9, 9)" in shown.replace('"', "'")
    assert "`sizes` of Flat is always `None`" in shown


def test_what_the_original_can_be_compared_with_is_looked_for(model, monkeypatch):
    """Constructors are run further where that tells what both can be run with."""
    trial = Trial((), (), (("x", (2, 3)),), (), ())

    def convert(path, text, thing, name, kind, taken, run=0, axes=0):
        return Converted(f"RUN = {run}\n", "torch", (), trial if run > 1 else None)

    monkeypatch.setattr(converting, "convert", convert)
    source = converting.Source(str(model.root / "model.py"), "Gate")
    made = converting.converted(source, "Gate", Kind.LAYER)
    assert (made.text, made.trial) == ("RUN = 2\n", trial)
    assert converting.converted(source, "gate", Kind.FUNCTION).text == "RUN = 0\n"


def test_failing_tests_are_shown_with_the_lines_of_the_original(model, monkeypatch):
    failed = Outcome(1, "E  it differs\nspecs/nn/probe_gate.py:17: AssertionError")
    monkeypatch.setattr(Stage, "prove", lambda *arguments: failed)
    monkeypatch.setattr(creation, "try_out", lambda *arguments: None)
    done = model.run("new-layer", "ProbeGate", "--from", "model.py:Gate")
    assert done.exit_code == 1
    place = "specs/nn/probe_gate.py:17 comes from model.py:14: "
    assert place + "`return x * torch.sigmoid(self.linear(x))`" in done.output
    assert "ProbeGate was not created: it fails its own tests." in done.output


@pytest.mark.usefixtures("tried")
def test_a_layer_is_created_of_the_spec_and_can_be_undone(model):
    before = model.files()
    output = model.ok("new-layer", "ProbeGate", "--from", "model.py:Gate")
    assert "The spec is that of Gate in model.py." in output
    assert model.text("specs/nn/probe_gate.py") == GATE
    assert "class ProbeGateTrainables" in model.text("mynet/nn/probe_gate.py")
    model.ok("undo")
    assert model.files() == before


def test_what_has_no_counterpart_is_listed_with_its_line(model):
    before = model.files()
    done = model.run("new-layer", "ProbeSparse", "--from", "model.py:Sparse")
    assert done.exit_code == 1
    assert (
        "  model.py:23: `torch.sparse.mm` has no counterpart: write it" in done.output
    )
    assert model.files() == before


def test_notes_are_data_as_json(model):
    done = model.run(
        *("new-layer", "ProbeSparse", "--from", "model.py:Sparse"),
        *("--dry-run", "--format", "json"),
    )
    assert done.exit_code == 1
    shown, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert shown["framework"] == "torch"
    assert [note["line"] for note in shown["notes"]] == [23]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "model.py",
            "names nothing to convert: expected the path of a file and a name",
        ),
        ("absent.py:Gate", "absent.py is no file"),
        ("model.py:Gates", 'did you mean "Gate"?'),
        ("broken.py:Gate", "broken.py:1: this is not Python"),
    ],
)
def test_what_cannot_be_found_is_said(model, source, said):
    model.write("broken.py", "class Gate(:\n")
    done = model.run("new-layer", "ProbeGate", "--from", source)
    assert done.exit_code == 2
    assert said in done.output


def test_a_spec_starts_from_one_thing(model):
    done = model.run(
        *("new-layer", "ProbeGate", "--from", "model.py:Gate", "--like", "Linear")
    )
    assert done.exit_code == 2
    assert "--from and --like exclude each other" in done.output
