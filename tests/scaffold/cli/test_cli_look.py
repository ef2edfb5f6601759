"""`list`, `show` and `test`."""

from collections.abc import Callable, Iterator

import pytest
from cli_projects import SCALE, cold

LINEAR_USER = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class Head(Layer):
    """A linear map."""

    features: Size  #: size of the last axis

    def setup(self):
        self.linear = Linear(self.features, 3)

    def forward(self, x: Float["*batch features"]) -> Float["*batch 3"]:
        return self.linear(x)
'''
HALF = '''\
from mlax_scaffold.spec import Float, Positive, function


@function
def part(
    x: Float["*shape"],
    *,
    of: Positive = 0.5,  #: which part
) -> Float["*shape"]:
    """A part of the input."""
    return of * x
'''


def test_list(generated):
    output = generated.ok("list")
    assert "Layers" in output
    assert "Scale  Product of the last axis and a weight." in output
    assert "2 definitions" in output
    assert "[" not in output


def test_list_without_specs(empty):
    assert "mlax-scaffold new-layer" in empty.ok("list")
    assert empty.json("list") == {"definitions": []}


def test_list_marks_what_is_built_in_and_what_is_not_clean(generated):
    generated.write("specs/nn/head.py", LINEAR_USER)
    entries = {e["name"]: e for e in generated.json("list")["definitions"]}
    assert entries["Scale"]["verdict"] == "clean"
    assert entries["Head"]["verdict"] == "missing"
    assert entries["Linear"]["built_in"]
    assert entries["Linear"]["source"] == "mlax_scaffold/specs/nn/linear.py"
    output = generated.ok("list")
    assert "[built in, missing]" in output


def test_list_of_invalid_specs_is_a_finding(generated):
    generated.write("specs/nn/twice.py", "x = 1\n")
    result = generated.run("list")
    assert result.exit_code == 1
    assert "specs/nn/twice.py:1:1" in result.stdout


def test_show(generated):
    shown = generated.json("show", "Twice")
    assert shown["name"] == "nn.Twice"
    assert shown["signatures"][0].startswith("mynet.nn.Twice.init(key, features")
    assert ["x", 'Float["*batch features"]'] in shown["shapes"]
    assert shown["hyperparameters"][0]["doc"] == "size of the last axis"
    assert [w["name"] for w in shown["weights"]] == ["first/weight", "second/weight"]
    size = int(shown["values"]["features"])
    assert shown["parameters"] == 2 * size
    text = generated.ok("show", "nn.Twice")
    assert f"{2 * size} trainable parameters with features={size}." in text
    assert "first/weight" in text


def test_show_with_given_hyperparameters_and_a_jaxpr(generated):
    arguments = ("--set", "features=7", "--jaxpr", "bfloat16")
    shown = generated.json("show", "Scale", *arguments)
    assert shown["parameters"] == 7
    assert shown["weights"][0]["dtype"] == "bfloat16"
    assert "mul" in shown["jaxpr"]
    assert "bf16[2,7]" in shown["jaxpr"]
    assert "f32" not in shown["jaxpr"]


def test_show_is_of_the_specs_as_they_are_and_writes_nothing(project):
    before = project.files()
    assert project.json("show", "Scale")["parameters"] > 0
    assert project.files() == before


def test_show_a_function(project):
    project.write("specs/functional/part.py", HALF)
    shown = project.json("show", "part", "--jaxpr", "float16", "--set", "of=0.25")
    assert shown["signatures"] == ["mynet.functional.part(x, *, of=0.5)"]
    assert "0.25" in shown["jaxpr"]
    assert "weights" not in shown


SHAPES = '''\
from typing import Literal

from mlax_scaffold.spec import Bool, Float, PyTree, Size, function


@function
def mixed(
    x: Float["batch *spatial channels if channel_last else batch channels *spatial"],
    mask: Bool["..."],
    step: Float[""],
    tree: PyTree,
    *,
    spatial_dims: Size,  #: number of spatial axes
    mode: Literal["one", "two"],  #: what for
    channel_last: bool = False,  #: whether channels are the last axis
) -> Float["..."]:
    """The input, masked."""
    return x * mask.astype(x.dtype) + step
'''


def test_show_makes_examples_of_each_type(project):
    project.write("specs/functional/mixed.py", SHAPES)
    shown = project.json("show", "mixed", "--jaxpr", "float64")
    assert "f64[8,8,8,8]" in shown["jaxpr"]
    assert "bool[]" in shown["jaxpr"]
    assert "f64[]" in shown["jaxpr"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Scael"], 'did you mean "Scale"?'),
        (["scale"], 'did you mean "Scale"?'),
        (["Linear"], "no spec of this project is built on it"),
        (["Qqqqqq"], "mlax-scaffold list"),
        (["Scale", "--set", "feature=1"], 'did you mean "features"?'),
        (["Scale", "--set", "features"], "no KEY=VALUE"),
        (["Scale", "--set", "features=-1"], "an integer of at least 1"),
        (["Scale", "--jaxpr", "int8"], "int8"),
    ],
)
def test_show_of_what_is_not_there(project, arguments, message):
    result = project.run("show", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_show_where_the_examples_do_not_fit(project):
    text = SCALE.replace("Size, ones", "Size, ones, require").replace(
        "        self.weight",
        '        require(self.features > 1000, "features must be above 1000")\n'
        "        self.weight",
    )
    project.write("specs/nn/scale.py", text)
    output = project.ok("show", "Scale")
    assert "features must be above 1000" in output
    assert "--set" in output
    assert project.json("show", "Scale", "--set", "features=1001")["parameters"] == 1001


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """What tests have printed, which a warm process would print elsewhere."""
    with cold():
        yield lambda: capfd.readouterr().out


@pytest.mark.parametrize(
    ("body", "status"),
    [("assert True", 0), ("assert False", 1), ("import no_such_module", 1)],
)
def test_test_passes_on_how_pytest_ends(generated, printed, body, status):
    path = "tests/generated/nn/test_nn_scale.py"
    text = f"import mynet.nn\ndef test():\n    {body}\n"
    generated.write(path, text)
    result = generated.run("test", "Scale")
    assert result.exit_code == status
    output = printed()
    assert ("1 passed" if status == 0 else "1 failed") in output


def test_test_of_a_file_that_cannot_be_read_is_a_finding(generated, printed):
    generated.write("tests/generated/nn/test_nn_scale.py", "def (\n")
    assert generated.run("test", "Scale").exit_code == 1
    assert "SyntaxError" in printed()


def test_no_tests_are_no_success(generated, printed):
    generated.write("tests/generated/nn/test_nn_scale.py", "")
    result = generated.run("test", "Scale")
    assert result.exit_code == 3
    assert "pytest ended with status 5" in result.stderr
    assert "no tests ran" in printed()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["Scael"], 'did you mean "Scale"?'),
        (["Scale"], "run `mlax-scaffold generate`"),
        ([], "run `mlax-scaffold generate`"),
    ],
)
def test_test_of_what_is_not_there(project, names, message):
    result = project.run("test", *names)
    assert result.exit_code == 2
    assert message in result.stderr


def test_test_without_pytest(generated, monkeypatch):
    monkeypatch.setattr(
        "mlax_scaffold.project.running.missing_packages", lambda: ["Hypothesis"]
    )
    result = generated.run("test")
    assert result.exit_code == 2
    assert 'pip install "mlax-scaffold[test]"' in result.stderr


def test_what_is_not_of_the_package_is_told(generated):
    """And how it comes to be, or what was meant."""
    said = generated.run("show", "Linear").stderr
    assert "no spec of this project is built on it" in said
    assert "from mlax_scaffold.specs.nn.linear import Linear" in said
    assert 'did you mean "Linear"?' in generated.run("show", "Linaer").stderr
    assert "`mlax-scaffold list`" in generated.run("show", "Xyzzy").stderr
