"""What a trial found of a definition is kept for later trials of one command, while all of it is the same."""

from __future__ import annotations

import json

import pytest
from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.errors import SpecError
from mlax_scaffold.project import trial as trials
from mlax_scaffold.project.settings import find_project
from mlax_scaffold.project.staging import Outcome, Stage
from mlax_scaffold.project.trial import try_out
from mlax_scaffold.project.tried import Tried
from mlax_scaffold.project.workspace import Workspace

FILE = "specs/nn/several.py"
SEVERAL = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer

FACTOR = 2


def grown(x):
    return x * FACTOR


class Grown(Layer):
    """A factor."""

    def forward(self, x: Float["batch d"]) -> Float["batch d"]:
        return grown(x)


class Inner(Layer):
    """A sine."""

    def forward(self, x: Float["batch d"]) -> Float["batch d"]:
        return jnp.sin(x)


class Outer(Layer):
    """The sine of a sine."""

    def setup(self):
        self.inner = Inner()

    def forward(self, x: Float["batch d"]) -> Float["batch d"]:
        return jnp.sin(self.inner(x))
'''


@pytest.fixture
def several(empty: ProjectFolder) -> ProjectFolder:
    """A project with a spec of three definitions, of which one uses another."""
    empty.write(FILE, SEVERAL)
    return empty


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The definitions of the project that each trial traces; it finds something of each."""
    found: list[set[str]] = []

    def run(self: Stage, program: str, argument: object, *rest: object) -> Outcome:
        _, given, result = argument  # type: ignore[misc]
        with open(given) as file:
            task = json.load(file)["traced"]
        new = {t["definition"] for t in task if t["known"] is None}
        found.append({n.rpartition(":")[2] for n in new if n.startswith("specs/")})
        told = {"module": "", "kinds": ["ValueError"], "message": "", "frames": []}
        with open(result, "w") as file:
            every = [{**told, **t} for t in task if t["definition"] in new]
            json.dump({"found": every, "left": []}, file)
        return Outcome(0, "")

    monkeypatch.setattr(Stage, "run", run)
    return found


def trial(project: ProjectFolder, tried: Tried) -> None:
    workspace = Workspace(*find_project(str(project.root)))
    made = workspace.generate()
    try_out(workspace, made, workspace.plan(made), tried)


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("", "", set()),
        ("A sine.", "A changed sine.", {"Inner", "Outer"}),
        ("jnp.sin(x)", "jnp.cos(x)", {"Inner", "Outer"}),
        ("jnp.sin(self.inner(x))", "self.inner(x)", {"Outer"}),
        ('x: Float["batch d"]', 'x: Float["a d"]', {"Grown", "Inner", "Outer"}),
        ("FACTOR = 2", "FACTOR = 3", {"Grown"}),
        ("FACTOR = 2", "# a number\nFACTOR = 2", {"Grown"}),
        # What it says is the same where it only moves.
        ("class Grown", "\n\n\nclass Grown", set()),
    ],
)
def test_what_changes_is_traced_anew(several, traced, old, new, again):
    tried = Tried()
    trial(several, tried)
    several.write(FILE, SEVERAL.replace(old, new) if old else SEVERAL)
    trial(several, tried)
    assert traced == [{"Grown", "Inner", "Outer"}, again]


def test_what_another_file_says_counts(project: ProjectFolder, traced):
    tried = Tried()
    trial(project, tried)
    project.write("specs/nn/scale.py", SCALE.replace("x * self", "x + self"))
    trial(project, tried)
    trial(project, Tried())
    assert traced == [{"Scale", "Twice"}] * 3


def test_nothing_is_kept_where_a_module_does_not_import():
    tried = Tried()
    given = [{"definition": "One", "key": "1"}, {"definition": "Two", "key": "2"}]
    tried.keep(given, [{"module": "mynet.nn.one", "definition": "One"}])
    assert tried.known("1") is None
    tried.keep(given, [{"name": [1, 2], "definition": "One"}])
    assert (tried.known("1"), tried.known("2")) == (None, [])


OUTER_FIRST = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear

from specs.nn.inner import Inner


class Outer(Layer):
    """What is inside, and a map."""

    features: Size

    def setup(self):
        self.inner = Inner(self.features)
        self.map = Linear(self.features, self.features)

    def forward(self, x: Float["batch features"]) -> Float["batch features"]:
        return self.map(self.inner(x))
'''
INNER = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class Inner(Layer):
    """A map that takes a feature more than there are."""

    features: Size

    def setup(self):
        self.map = Linear(self.features + 1, self.features)

    def forward(self, x: Float["batch features"]) -> Float["batch features"]:
        return self.map(x)
'''


def test_what_fails_inside_of_another_definition_is_left(empty: ProjectFolder):
    empty.write("specs/nn/a_outer.py", OUTER_FIRST)
    empty.write("specs/nn/inner.py", INNER)
    tried = Tried()
    with pytest.raises(SpecError) as error:
        trial(empty, tried)
    [found] = error.value.diagnostics
    assert found.location.path == "specs/nn/inner.py"
    # That it was left is not that nothing was found. What is installed is not traced.
    assert [told[0]["definition"] for told in tried.found.values()] == [
        "specs/nn/inner.py:Inner"
    ]
    empty.write("specs/nn/inner.py", INNER.replace("features + 1", "features"))
    trial(empty, tried)
    assert len(tried.found) == 3


def test_the_time_of_a_search_is_limited(empty: ProjectFolder, monkeypatch):
    """No processor time at all: the example is refused, and no case is looked for."""
    limited = trials.PROGRAM.replace("Tried(root)", "Tried(root, 0.0)")
    assert limited != trials.PROGRAM
    monkeypatch.setattr(trials, "PROGRAM", limited)
    empty.write("specs/nn/inner.py", INNER)
    with pytest.raises(SpecError) as error:
        trial(empty, Tried())
    assert "must have shape" in error.value.diagnostics[0].message


TURNED = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.lstm_cell import LSTMCell


class Turned(Layer):
    """A cell that is given what it carries in the place of its input."""

    dim: Size

    def setup(self):
        self.cell = LSTMCell(self.dim, self.dim)

    def forward(
        self,
        z: Float["batch dim"],
        s: tuple[Float["batch dim"], Float["batch dim"]] | None = None,
    ):
        if s is None:
            s = jnp.zeros_like(z), jnp.zeros_like(z)
        y, s = self.cell(s, z)
        return y
'''


def test_what_is_always_refused_is_told_however_the_spec_itself_fails(
    empty: ProjectFolder,
):
    """Run as it is, it asks a tuple for `dot`, which is no refusal of an input."""
    empty.write("specs/nn/turned.py", TURNED)
    with pytest.raises(SpecError) as error:
        trial(empty, Tried())
    [found] = error.value.diagnostics
    assert "inputs must be a floating array, got a tuple of 2" in found.message
    assert TURNED.split("\n")[found.location.line - 1].endswith("self.cell(s, z)")


EVE = '''\
from mlax_scaffold.spec import Optimizer, Scheduled, moment, zeros


class Eve(Optimizer):
    """Takes the tree of its moments for a number."""

    learning_rate: Scheduled

    def setup(self, param):
        self.before = moment(zeros, param.shape)

    def prepare(self, grads, params):
        self.ratio = self.value - self.before

    def update(self, grad, param):
        self.before = grad
        return -self.learning_rate * self.ratio * grad
'''


def test_what_fails_where_an_input_of_a_step_is_read_is_told(empty: ProjectFolder):
    """That an input is there is asked in the same line, and that is not what fails."""
    empty.write("specs/optim/eve.py", EVE)
    with pytest.raises(SpecError) as error:
        trial(empty, Tried())
    [found] = error.value.diagnostics
    assert "unsupported operand type(s) for -" in found.message
    assert EVE.split("\n")[found.location.line - 1].endswith("self.value - self.before")


SWAPPED = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.lstm_cell import LSTMCell


class Last(Layer):
    """The last output of a cell."""

    features: Size

    def setup(self):
        self.cell = LSTMCell(self.features, self.features)
        self.out = Linear(self.features, self.features)

    def forward(self, x: Float["batch time features"]) -> Float["batch features"]:
        pair = self.cell.initial_carry(x[:, 0].shape, x.dtype)
        for t in range(x.shape[1]):
            new, y = self.cell(x[:, t], pair)
            pair = new
        return self.out(y)
'''


def test_what_fails_with_one_step_and_with_several_is_told(empty: ProjectFolder):
    """One step gives a pair to the layer behind the cell, and two give an array as the carry."""
    empty.write("specs/nn/last.py", SWAPPED)
    with pytest.raises(SpecError) as error:
        trial(empty, Tried())
    [found] = error.value.diagnostics
    assert "carry must be a tuple of 2, got an array" in found.message
    assert "self.cell(x" in SWAPPED.split("\n")[found.location.line - 1]
