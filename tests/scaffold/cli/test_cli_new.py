"""`new-layer`, `new-optimizer` and `new-function`.

What is created is called Probe..., which no layer of the library will be.
"""

import shutil
import subprocess
import sys

import pytest
from cli_projects import SCALE, TWICE, cold, execute

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.project import creation
from mlax_scaffold.project.archetypes import archetype_for, archetypes
from mlax_scaffold.project.copies import copied
from mlax_scaffold.project.processes import PACKAGE
from mlax_scaffold.project.staging import Outcome, Stage, staged
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.keywords import MODULES

FUNCTION = '''\
from mlax_scaffold.spec import Float, function


@function
def {name}(x: Float["*shape"]) -> Float["*shape"]:
    """The input and a half of it."""
    return x + 0.5 * x
'''


@pytest.fixture
def tried(monkeypatch):
    """What was tried out, in the place of doing so."""
    calls = []

    def prove(stage, modules, tests):
        calls.append((modules, tuple(tests)))
        return Outcome(0, "5 passed in 1.00s")

    monkeypatch.setattr(Stage, "prove", prove)
    return calls


def test_a_new_layer_is_tested_documented_and_can_be_undone(empty):
    before = empty.files()
    output = empty.ok("new-layer", "ProbeGate", "--archetype", "dense")
    after = empty.files()
    spec, layer = "specs/nn/probe_gate.py", "mynet/nn/probe_gate.py"
    test = "tests/generated/nn/test_nn_probe_gate.py"
    assert {spec, layer, test, "mynet/__init__.py"} <= set(after)
    assert "Tried out: it imports, and passes its" in output
    assert f"created  {spec}" in output
    assert "mynet.nn.ProbeGate.init(key, " in output
    assert f"pytest {test}" in output
    assert "ProbeGate" in empty.text("mynet/nn/__init__.py")
    empty.ok("check", "--render")
    assert 'Undid "new-layer ProbeGate"' in empty.ok("undo")
    assert empty.files() == before
    assert not (empty.root / "mynet").exists()
    assert not (empty.root / "specs").exists()


@pytest.mark.parametrize("archetype", archetypes())
def test_each_archetype_is_a_valid_spec(empty, tried, archetype):
    empty.ok("new-layer", "ProbeThing", "--archetype", archetype)
    assert tried == [
        (["mynet.nn", "mynet.graph"], ("tests/generated/nn/test_nn_probe_thing.py",))
    ]
    assert "class ProbeThing(Layer)" in empty.text("specs/nn/probe_thing.py")


def test_the_name_suggests_the_archetype():
    assert archetype_for("CrossAttention") == "attention"
    assert archetype_for("ProbeNorm") == "normalization"
    assert archetype_for("DepthwiseConv") == "convolution"
    assert archetype_for("LeakyCell") == "recurrent"
    assert archetype_for("WordDropout") == "random"
    assert archetype_for("SaltNoise") == "random"
    assert archetype_for("ProbeGate") == "dense"
    assert {archetype_for(n) for n in ("ANorm", "ACell", "A")} <= set(archetypes())


@pytest.mark.parametrize(
    ("command", "name"),
    [("new-layer", name) for name in sorted(MODULES)]
    + [("new-optimizer", name) for name in ("ApplyUpdates", "ToOptax", "FromOptax")]
    + [("new-optimizer", "StateShardings"), ("new-function", "apply_updates")],
)
def test_names_of_the_package_are_refused(empty, command, name):
    result = empty.run(command, name)
    assert result.exit_code == 2, result.output
    assert f'"{name}" cannot be the name of a' in result.output
    assert not (empty.root / "specs").exists()


def test_a_name_that_the_reader_refuses_is_wrong_usage(empty, tried, monkeypatch):
    monkeypatch.setattr(creation, "check_name", lambda name, kind: None)
    for command, name in (("new-layer", "Params"), ("new-optimizer", "ToOptax")):
        result = empty.run(command, name)
        assert result.exit_code == 2, result.output
        assert f'"{name}" cannot be the name: ' in result.output
    assert not tried


def test_the_choice_is_told(empty, tried):
    output = empty.ok("new-layer", "ProbeNorm")
    assert 'archetype "normalization", chosen by the name' in output


def test_a_new_optimizer_and_a_new_function(empty, tried):
    empty.ok("new-optimizer", "ProbeSlow")
    empty.ok("new-function", "probe_tanh")
    assert [module for module, _ in tried] == [["mynet.optim"], ["mynet.functional"]]
    assert "class ProbeSlow(Optimizer)" in empty.text("specs/optim/probe_slow.py")
    assert "def probe_tanh(" in empty.text("specs/functional/probe_tanh.py")
    assert empty.ok("check")


def test_like_copies_an_own_spec_under_another_name(project, tried):
    project.ok("new-layer", "ProbeThrice", "--like", "Twice")
    assert project.text("specs/nn/probe_thrice.py") == TWICE.replace(
        "Twice", "ProbeThrice"
    )


def test_like_copies_a_built_in_spec(empty, tried):
    empty.ok("new-layer", "ProbeDense", "--like", "Linear")
    text = empty.text("specs/nn/probe_dense.py")
    assert "class ProbeDense(Layer)" in text
    assert "#: size of the last axis of the input" in text


def test_like_a_loss_stays_among_losses(empty, tried):
    empty.ok("new-function", "probe_error", "--like", "squared_error")
    assert "def probe_error(" in empty.text("specs/loss/probe_error.py")
    assert tried == [
        (["mynet.loss"], ("tests/generated/loss/test_loss_probe_error.py",))
    ]
    assert "Losses\n  probe_error" in empty.ok("list")


def test_like_renames_names_alone():
    text = FUNCTION.format(name="half") + "    # half(half=half) of x.half\n"
    text += "    return half(x.half, half=half)\n"
    renamed = copied(text, "half", "other")
    assert "def other(" in renamed
    assert "a half of it" in renamed
    assert "# half(half=half) of x.half" in renamed
    assert "return other(x.half, half=other)" in renamed


def test_like_one_of_several_definitions_leaves_the_others_out():
    text = (LIBRARY_SPECS / "nn" / "vector_quantizer.py").read_text("utf-8")
    first = copied(text, "VectorQuantizer", "Mine")
    second = copied(text, "VectorQuantizerEMA", "Mine")
    for made in (first, second):
        assert "class Mine(Layer, surrogate_gradient=True):" in made
        assert "class VectorQuantizer" not in made
        assert "def nearest(" in made
        assert "def used(" in made
        assert "class Quantized(" in made
    assert "    segment_sum,\n" not in first
    assert "    segment_sum,\n" in second
    assert "    trainable,\n" in first
    assert "    trainable,\n" not in second


def test_like_keeps_what_a_definition_says_of_itself_but_not_of_its_module_class():
    text = (LIBRARY_SPECS / "nn" / "linear.py").read_text("utf-8")
    assert "class Mine(Layer):" in copied(text, "Linear", "Mine")
    both = 'class A(Layer, module="B", surrogate_gradient=True): pass\n'
    assert "class C(Layer, surrogate_gradient=True):" in copied(both, "A", "C")
    other = 'class A(Layer, surrogate_gradient=True, module="B"): pass\n'
    assert "class C(Layer, surrogate_gradient=True):" in copied(other, "A", "C")


def test_like_what_is_not_there(project):
    result = project.run("new-layer", "ProbeThrice", "--like", "Twise")
    assert result.exit_code == 2
    assert 'did you mean "Twice"?' in result.stderr


def test_like_and_archetype_exclude_each_other(project):
    arguments = ("--like", "Twice", "--archetype", "dense")
    result = project.run("new-layer", "ProbeThrice", *arguments)
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("new-layer", "gate", 'did you mean "Gate"?'),
        ("new-layer", "my_gate", 'did you mean "MyGate"?'),
        ("new-layer", "../Gate", "not a path"),
        ("new-layer", "a\\b", "not a path"),
        ("new-layer", "Gate.py", "not a path"),
        ("new-layer", "Ge te", 'did you mean "GeTe"?'),
        ("new-layer", "", "upper camel case"),
        ("new-layer", "3D", "upper camel case"),
        ("new-layer", "Größe", "upper camel case"),
        ("new-layer", "True", "keyword"),
        ("new-layer", "Class", '"class" is a keyword'),
        ("new-layer", "class", "upper camel case"),
        ("new-layer", "Layer", "has a meaning"),
        ("new-layer", "Float", "has a meaning"),
        ("new-layer", "Any", "has a meaning"),
        ("new-layer", "Con", "Windows"),
        ("new-layer", "A" * 61, "more than 60"),
        ("new-layer", "Scale", "edit specs/nn/scale.py"),
        ("new-layer", "SCALE", 'too close to "Scale"'),
        ("new-layer", "SCale", 'too close to "Scale"'),
        ("new-layer", "Linear", "comes with mlax-scaffold"),
        ("new-layer", "Series", "comes with mlax-scaffold"),
        ("new-layer", "Batchnorm", 'too close to "BatchNorm"'),
        ("new-optimizer", "adam", 'did you mean "Adam"?'),
        ("new-optimizer", "Adam", "--like Adam"),
        ("new-function", "Softplus", 'did you mean "softplus"?'),
        ("new-function", "lambda", "keyword"),
        ("new-function", "softmax", "exists already"),
        ("new-function", "ones", "has a meaning"),
    ],
)
def test_names_that_will_not_do(project, tried, command, name, message):
    before = project.files()
    result = project.run(command, name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert project.files() == before
    assert tried == []


def test_a_file_in_the_place_of_the_spec_is_not_overwritten(project, tried):
    project.write("mynet/nn/probe_gate.py", "mine = 1\n")
    before = project.files()
    result = project.run("new-layer", "ProbeGate")
    assert result.exit_code == 1
    assert "mynet/nn/probe_gate.py" in result.stdout
    assert "mlax-scaffold check" in result.stdout
    assert project.files() == before


def test_an_invalid_spec_elsewhere_stops_it(project, tried):
    project.write("specs/nn/twice.py", "x = 1\n")
    before = project.files()
    result = project.run("new-layer", "ProbeGate")
    assert result.exit_code == 1
    assert "specs/nn/twice.py:1:1" in result.stdout
    assert project.files() == before


def test_what_does_not_import_is_not_written(project):
    text = SCALE.replace("from mlax", "import jax\nfrom mlax").replace(
        "#: size of the last axis\n",
        "#: size of the last axis\n"
        "    activation: Activation = jax.nn.no_such  #: of the output\n",
    )
    text = text.replace("import Float", "import Activation, Float")
    project.write("specs/nn/scale.py", text)
    before = project.files()
    result = project.run("new-layer", "ProbeOther", "--like", "Scale")
    assert result.exit_code == 1
    assert "no_such" in result.stdout
    assert "does not import" in result.stdout
    assert "Nothing was changed" in result.stdout
    assert project.files() == before


def test_what_fails_its_tests_is_not_written(project):
    # The product with a float32 array breaks the contract of dtypes.
    text = SCALE.replace("from mlax", "import jax.numpy as jnp\nfrom mlax", 1)
    text = text.replace("x * self.weight", "x * self.weight * jnp.float32(2)")
    project.write("specs/nn/scale.py", text)
    before = project.files()
    result = project.run("new-layer", "ProbeOther", "--like", "Scale")
    assert result.exit_code == 1
    assert "fails its own tests" in result.stdout
    assert "float32" in result.stdout
    assert project.files() == before


@pytest.mark.parametrize(("status", "code"), [(1, 1), (2, 1), (3, 3), (5, 3), (-9, 3)])
def test_how_the_trial_ends_decides_the_status(project, monkeypatch, status, code):
    outcome = Outcome(status, "what was printed")
    monkeypatch.setattr(Stage, "prove", lambda *_: outcome)
    before = project.files()
    result = project.run("new-layer", "ProbeGate")
    assert result.exit_code == code
    assert "what was printed" in (result.stdout if code == 1 else result.stderr)
    assert project.files() == before


def test_without_pytest_only_the_import_is_tried(project, tried, monkeypatch):
    monkeypatch.setattr(
        "mlax_scaffold.project.creation.missing_packages", lambda: ["Hypothesis"]
    )
    output = project.ok("new-layer", "ProbeGate")
    assert tried == [(["mynet.nn", "mynet.graph"], ())]
    assert 'pip install "mlax-scaffold[test]"' in output


def test_no_test(project, tried):
    output = project.ok("new-layer", "ProbeGate", "--no-test")
    assert tried == [(["mynet.nn", "mynet.graph"], ())]
    assert "Its tests were not run" in output


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_looking_first_writes_and_tries_nothing(project, tried, option):
    before = project.files()
    output = project.ok("new-layer", "ProbeGate", option)
    assert "specs/nn/probe_gate.py" in output
    assert ("+class ProbeGate(Layer):" in output) == (option == "--diff")
    assert project.files() == before
    assert tried == []


def test_json_and_quiet(project, tried):
    made = project.json("new-layer", "ProbeGate")
    assert made["spec"] == "specs/nn/probe_gate.py"
    assert made["spec"] in made["created"]
    assert made["signatures"][0].startswith("mynet.nn.ProbeGate.init(")
    assert project.ok("new-function", "probe_tanh", "--quiet") == ""


def test_the_library_itself_takes_new_layers(tmp_path, tried, monkeypatch):
    """Where the specs are those that come with the generator, its package comes along."""
    root = tmp_path / "checkout"
    specs = "scaffold/mlax_scaffold/specs"
    shutil.copytree(f"{PACKAGE}/specs", root / specs)
    project = Project(
        "mlax", specs, "generated_layers/mlax", "tests/generated", "docs/r"
    )
    monkeypatch.setattr("mlax_scaffold.project.workspace.LIBRARY_SPECS", root / specs)
    workspace = Workspace(str(root), project)
    assert workspace.is_library
    assert workspace.built_in == ()
    (root / specs / "nn/only_here.py").write_text("PLACE = __file__\n")
    with staged(workspace, Generation(Library({}), {}, ())) as stage, cold():
        program = (
            "import mlax_scaffold.specs.nn.only_here as m, mlax_scaffold.errors as e\n"
            "print(m.PLACE); print(e.__file__)\n"
            "import mlax_scaffold.spec.arrays\n"
            "import os; print(os.environ['JAX_PLATFORMS'])"
        )
        outcome = stage.run(program, None)
    assert outcome.status == 0, outcome.output
    assert outcome.output.splitlines() == [
        f"{specs}/nn/only_here.py",
        "scaffold/mlax_scaffold/errors.py",
        "cpu",
    ]


def test_init_new_layer_pytest(tmp_path):
    """What the first page of the documentation says works, in a fresh folder."""
    folder = tmp_path / "p"
    folder.mkdir()
    for arguments in (
        ["init", "--package", "mynet"],
        ["new-layer", "ProbeGate", "--no-test"],
    ):
        run = execute(arguments, folder)
        assert run.returncode == 0, run.stderr
    path = [p for p in sys.path if p]
    script = (
        f"import sys; sys.path += {path!r}\n"
        "import pytest; sys.exit(pytest.main(['-q', '-k', 'keeps_the_dtype', "
        "'tests/generated/nn/test_nn_probe_gate.py', '-p', 'no:cacheprovider']))"
    )
    tests = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout
    assert " passed" in tests.stdout
