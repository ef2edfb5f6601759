"""What is found when what changed is traced, said at its place in the spec."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.reader.remedies.applying import edited
from mlax_scaffold.reader.remedies.named_order import in_named_order
from mlax_scaffold.reader.source import Source

HEAD = '''\
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, sum, trainable
from mlax_scaffold.specs.nn.linear import Linear


def scaled(x, factor):
    return x * factor


def shares(numbers):
    return numbers / sum(numbers)


def shares_from(place, numbers):
    return shares(numbers)[place:]


class {name}(Layer):
    """A spec of a test."""

    features: Size

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.features, self.features))
        self.window = np.poly1d([0.5, 0.5]).coeffs
        self.inner = Linear(self.features, self.features)

    def forward(self, x: Float["batch features"]) -> Float["batch features"]:
{body}
'''

FAULTS: dict[str, tuple[str, str, str, str | None]] = {
    # The body of forward; then what the place holds, what is said, and what the edit writes.
    "Misspelt": ("return jnp.tahn(x)", "jnp.tahn", "jax.numpy has no `tahn`", "tanh"),
    "MisspeltInADeadBranch": (
        "if self.features > 10**6:\n    return jnp.sqare(x)\nreturn x",
        "jnp.sqare",
        "jax.numpy has no `sqare`",
        "square",
    ),
    "OfAnotherModule": (
        "return jnp.softmax(x)",
        "jnp.softmax",
        "jax.numpy has no `softmax`",
        "jax.nn.softmax",
    ),
    # That of jax.lax has its arguments in another order.
    "OfPyTorch": (
        "return jnp.clamp(x, 0, 1)",
        "jnp.clamp",
        "jax.numpy has no `clamp`",
        "jnp.clip",
    ),
    "LikeAnother": (
        "return jnp.sqr(x)",
        "jnp.sqr",
        "jax.numpy has no `sqr`",
        None,
    ),
    "Drawn": (
        "return jnp.normal(x)",
        "jnp.normal",
        "jax.numpy has no `normal`",
        None,
    ),
    "OfALibrary": ("return jax.nn.mish(x, beta=1.0)", "jax.nn.mish", "", None),
    "WrongArguments": (
        "y = x @ self.kernel\nreturn scaled(y)",
        "scaled(y)",
        "scaled() missing 1 required positional argument: 'factor'",
        None,
    ),
    "WrongKeyword": (
        "return jnp.clip(x, low=0.0)",
        "jnp.clip(x, low=0.0)",
        "takes no `low`",
        None,
    ),
    "Branch": (
        "y = x @ self.kernel\nif y.max() > 0:\n    y = y + 1\nreturn y",
        "y.max() > 0",
        "this asks whether a traced value is true",
        "y = jnp.where(y.max() > 0, y + 1, y)",
    ),
    "WholeBranch": (
        "return x if x > 0 else -x",
        "x > 0",
        "this asks whether a traced value is true",
        "jnp.where(x > 0, x, -x)",
    ),
    "NamedBranch": (
        "big = x > 0\ny = x if big else -x\nreturn y",
        "big else -x",
        "this asks whether a traced value is true",
        "jnp.where(big, x, -x)",
    ),
    "Loop": (
        "y = x\nwhile y.max() > 0:\n    y = y - 1\nreturn y",
        "y.max() > 0",
        "this asks whether a traced value is true",
        None,
    ),
    "Largest": (
        "return min(max(x, 0.0), 6.0)",
        "max(x, 0.0)",
        "this asks whether a traced value is true",
        "jnp.maximum(x, 0.0)",
    ),
    "InPlace": (
        "y = x @ self.kernel\ny[0] = 1.0\nreturn y",
        "y[0]",
        "arrays of jax cannot be assigned to in place",
        "y = y.at",
    ),
    "Number": (
        "return x * float(x[0, 0])",
        "float(x[0, 0])",
        "this needs the number in a traced value",
        None,
    ),
    "OfMath": (
        "return x * math.cos(x[0, 0])",
        "math.cos(x[0, 0])",
        "this needs the number in a traced value",
        "jnp.cos",
    ),
    "Count": (
        "y = x\nfor _ in range(x[0, 0].astype(int)):\n    y = y + 1\nreturn y",
        "range(x[0, 0].astype(int))",
        "this needs the number in a traced value",
        None,
    ),
    "Mask": (
        "y = x[x > 0]\nreturn x + y.max()",
        "x[x > 0]",
        "a mask chooses elements",
        None,
    ),
    "Method": ("return x.unsqueeze(0)[0]", "x.unsqueeze", "an array has no", None),
    "NoArray": (
        "pair = (x, x)\nreturn x * pair.ndim",
        "pair.ndim",
        "a tuple has no `ndim`",
        None,
    ),
    "OfALayer": (
        "return self.inner(x) + self.inner.gain",
        "self.inner.gain",
        "Linear has no `gain`",
        None,
    ),
    "Shapes": (
        "y = x @ self.kernel[1:]\nreturn y",
        "x @ self.kernel[1:]",
        "the shapes do not fit",
        None,
    ),
    "Unassigned": (
        "if self.features > 10**6:\n    y = x\nreturn y",
        "y",
        "`y` is read before anything is assigned to it",
        None,
    ),
    "Integers": (
        "y = jnp.argsort(x)\nreturn x * sum(y)",
        "sum(y)",
        "a strict function is given int32, and takes floating numbers",
        "jnp.asarray(y, int)",
    ),
    "OfSeveralDtypes": (
        "y = jnp.tile(self.window, (3, 1))\n"
        'z = lax.conv_general_dilated(x[None, None], y[None, None], (1, 1), "SAME")\n'
        "return z[0, 0]",
        "lax.conv_general_dilated(",
        "the arguments have several dtypes: ",
        "jnp.asarray(self.window, x.dtype)",
    ),
    "HalfPrecision": (
        "return x * jax.scipy.stats.norm.cdf(x)",
        "jax.scipy.stats.norm.cdf",
        "this has no half precision",
        "widened(jax.scipy.stats.norm.cdf)",
    ),
    "IntegersOfAnArgument": (
        "y = jnp.argsort(x)\nreturn x * shares_from(0, 1 + y)",
        "sum(numbers)",
        "a strict function is given int32, and takes floating numbers",
        "jnp.asarray(1 + y, x.dtype)",
    ),
}


def written(name: str) -> str:
    body = FAULTS[name][0].replace("\n", "\n        ")
    return HEAD.format(name=name, body=f"        {body}")


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What one trial finds in all of them, by what they are called."""
    folder = ProjectFolder(tmp_path_factory.mktemp("tracing"))
    folder.write("pyproject.toml", '[tool.mlax-scaffold]\npackage = "mynet"\n')
    for name in FAULTS:
        folder.write(f"specs/nn/{name.lower()}.py", written(name))
    before = folder.files()
    given = ("--project", str(folder.root), "--format", "json")
    result = folder.run("generate", *given, trial=True)
    assert result.exit_code == 1, result.output
    assert folder.files() == before
    found = json.loads(result.stdout)["errors"]
    return {error["path"].split("/")[-1].removesuffix(".py"): error for error in found}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_said_at_its_place(name: str, errors: dict[str, dict[str, Any]]):
    _, place, message, edit = FAULTS[name]
    error = errors[name.lower()]
    line = written(name).split("\n")[error["line"] - 1]
    assert line[error["column"] - 1 :].startswith(place), error
    assert message in error["message"]
    texts = [e["text"] for e in error["fix"]["edits"]] if error["fix"] else [None]
    assert texts[0] == edit


def test_edits_are_made_and_tried_again(project: ProjectFolder):
    body = "        y = jnp.tahn(x)\n        y[0] += 1.0  # the first\n        return y"
    project.write("specs/nn/mended.py", HEAD.format(name="Mended", body=body))
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    text = project.text("specs/nn/mended.py")
    assert "        y = jnp.tanh(x)\n" in text
    assert "        y = y.at[0].add(1.0)  # the first\n" in text
    assert "y.at[0].add(1.0)" in project.text("mynet/nn/mended.py")


def test_what_is_mended_is_written_though_others_are_left(project: ProjectFolder):
    for name, call in (("Mended", "tahn"), ("Left", "sqr")):
        text = HEAD.format(name=name, body=f"        return jnp.{call}(x)")
        project.write(f"specs/nn/{name.lower()}.py", text)
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 1
    assert "Mended, and not yet generated from: specs/nn/mended.py." in result.output
    assert "jnp.tanh(x)" in project.text("specs/nn/mended.py")
    assert "jnp.sqr(x)" in project.text("specs/nn/left.py")


SCHEDULE = '''\
from mlax_scaffold.spec import Positive, Schedule, Size


class Phases(Schedule):
    """A spec of a test."""

    peak: Positive
    warmup: Size

    def value(self, step):
        if step < self.warmup:
            return self.peak * step / self.warmup
        t = (step - self.warmup) / self.warmup
        return max(self.peak * 0.5**t, 0.01)
'''


def test_branches_of_a_schedule_become_choices(project: ProjectFolder):
    """One trial after the other: what the first edit brings to light, the next one mends."""
    project.write("specs/schedule/phases.py", SCHEDULE)
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    text = project.text("specs/schedule/phases.py")
    assert "        if " not in text
    assert "step < self.warmup," in text
    assert "jnp.maximum(self.peak * 0.5**t, 0.01)" in text


BESIDE = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, trainable


class Masked(Layer):
    """A linear map with a mask."""

    features: Size

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.features, self.features))

    def forward(
        self, x: Float["*batch features"], mask: Float["features features"]
    ) -> Float["*batch features"]:
        return x @ (self.kernel * mask)


class Ordered(Layer):
    """Each feature of those before it."""

    features: Size

    def setup(self):
        self.masked = Masked(self.features)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        at = jnp.arange(self.features)
        return self.masked(x, at[:, None] < at)
'''


def test_what_a_class_beside_it_is_given_is_cast_in_its_place(project: ProjectFolder):
    project.write("specs/nn/ordered.py", BESIDE)
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    text = project.text("specs/nn/ordered.py")
    assert "self.masked(x, jnp.asarray(at[:, None] < at, x.dtype))" in text


KINDS = '''\
import math

from mlax_scaffold.spec import Count, Literal, Positive, Schedule


class Falling(Schedule):
    """A spec of a test."""

    peak: Positive
    warmup: Count = 0
    kind: Literal["constant", "cosine"] = "constant"

    def value(self, step):
        rate = self.peak
        if self.kind == "cosine":
            rate = rate * math.cos(step)
        if self.warmup > 0 and step < self.warmup:
            rate = self.peak * step / self.warmup
        return rate + 0 * step
'''


def test_branches_that_the_defaults_do_not_take_are_traced(project: ProjectFolder):
    project.write("specs/schedule/falling.py", KINDS)
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    text = project.text("specs/schedule/falling.py")
    assert "jnp.cos(step)" in text
    assert "(step < self.warmup)" in text


ONE_STEP = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Boundaries, Positive, Schedule


class Drops(Schedule):
    """A spec of a test."""

    peak: Positive
    edges: Boundaries = (2, 5)

    def value(self, step):
        drops = jnp.sum(step >= jnp.array(self.edges))  # so far
        return self.peak * 0.5**drops.astype(step.dtype)
'''


def test_a_schedule_of_one_step_becomes_one_of_several(project: ProjectFolder):
    project.write("specs/schedule/drops.py", ONE_STEP)
    result = project.run("generate", trial=True)
    assert "Drops takes one step, and no array of them" in result.output
    assert result.exit_code == 1
    result = project.run("generate", "--fix", trial=True)
    assert result.exit_code == 0, result.output
    head, _, body = ONE_STEP.partition("    def value(self, step):\n")
    assert project.text("specs/schedule/drops.py") == (
        f"{head}    def value(self, step):\n"
        "        return jnp.vectorize(self.at_step)(step)\n\n"
        f"    def at_step(self, step):\n{body}"
    )


def test_a_call_that_fits_no_signature_is_told_whatever_the_inputs(
    project: ProjectFolder,
):
    project.write(
        "specs/nn/wrong.py",
        "from mlax_scaffold.spec import Float, Layer, Size\n"
        "from mlax_scaffold.specs.nn.linear import Linear\n\n\n"
        "class Wrong(Layer):\n"
        '    """A spec of a test."""\n\n'
        "    features: Size\n\n"
        "    def setup(self):\n"
        "        self.dense = Linear(self.features, self.features, with_bias=False)\n\n"
        '    def forward(self, x: Float["..."]) -> Float["..."]:\n'
        "        return self.dense(x)\n",
    )
    result = project.run("generate", trial=True)
    assert result.exit_code == 1, result.output
    assert "specs/nn/wrong.py:11:59: Linear takes no `with_bias`" in result.output


def refused(
    project: ProjectFolder, name: str, text: str, section: str = "nn"
) -> dict[str, Any]:
    """What the trial finds in a spec."""
    project.write(f"specs/{section}/{name}.py", text)
    result = project.run("generate", "--format", "json", trial=True)
    assert result.exit_code == 1, result.output
    [error] = json.loads(result.stdout)["errors"]
    return error


OWN_INITIALIZER = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, trainable


def halves({parameters}):
    return jnp.full(shape, 0.5, dtype)


class Halves(Layer):
    """A spec of a test."""

    features: Size

    def setup(self):
        self.scale = trainable(halves, (self.features,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x * self.scale[0]
'''


def test_what_is_refused_whatever_the_inputs_is_told_where_it_is_called(
    project: ProjectFolder,
):
    # The library calls the initializer, and a check of it may ask for inputs that fit.
    text = OWN_INITIALIZER.format(parameters="shape, dtype")
    error = refused(project, "halves", text)
    line = text.split("\n")[error["line"] - 1]
    assert line[error["column"] - 1 :] == "trainable(halves, (self.features,))"
    assert error["message"] == "halves() takes 2 positional arguments but 3 were given"
    project.write(
        "specs/nn/halves.py", OWN_INITIALIZER.format(parameters="_, shape, dtype")
    )
    assert project.run("generate", trial=True).exit_code == 0


SOME_SIZES = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size


class Thirds(Layer):
    """A spec of a test."""

    features: Size

    def forward(self, x: Float["..."]) -> Float["..."]:
        parts = jnp.arange({size}).reshape(3, -1)
        return x * parts.shape[1]
'''


def test_what_some_sizes_do_not_fit_is_taken(project: ProjectFolder):
    text = SOME_SIZES.format(size="self.features")
    project.write("specs/nn/thirds.py", text)
    assert project.run("generate", trial=True).exit_code == 0
    always = text.replace("self.features", "3 * self.features + 1")
    error = refused(project, "thirds", always)
    line = always.split("\n")[error["line"] - 1]
    assert line[error["column"] - 1 :].startswith("jnp.arange(")
    assert "shapes do not fit" in error["message"]


TWO_LAYERS = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Scaled(Layer):
    """A spec of a test."""

    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * self.scale


class Doubled(Layer):
    """Another spec of a test."""

    features: Size

    def setup(self):
        self.inner = Scaled({size})

    def forward(self, x: Float["*batch features"]):
        twice = jnp.concatenate([x, x], axis=-1)
        return self.inner(twice)
'''


def test_a_layer_that_another_one_of_its_file_refuses_is_told(project: ProjectFolder):
    text = TWO_LAYERS.format(size="self.features")
    error = refused(project, "scaled", text)
    line = text.split("\n")[error["line"] - 1]
    assert line[error["column"] - 1 :] == "self.inner(twice)"
    assert "Doubled > Scaled: x must have shape (*batch, features)" in error["message"]
    text = TWO_LAYERS.format(size="2 * self.features")
    project.write("specs/nn/scaled.py", text)
    assert project.run("generate", trial=True).exit_code == 0


INDEXED = '''\
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Schedule, Sizes


class Steps(Schedule):
    """A spec of a test."""

    values: Sizes = (3, 2, 1)

    def value(self, step, step_number):
        table = np.array(self.values)
        chosen = jnp.searchsorted(table, step) % 3
        return step * 0 + table[chosen]
'''


def test_an_array_of_numpy_that_a_traced_number_indexes(project: ProjectFolder):
    project.write("specs/schedule/steps.py", INDEXED)
    assert "NumPy is given a traced value" in project.run("generate", trial=True).output
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/schedule/steps.py")
    assert "jnp.asarray(table)[chosen]" in mended


ENTRY = """\
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Int, Layer, Size


class Codes(Layer):
    \"\"\"A spec of a test.\"\"\"

    levels: Size = 3

    def setup(self):
        self.steps = np.arange(self.levels)

    def decoded(self, codes: Int["..."]) -> Float["..."]:
        return {entry}

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x
"""


def test_other_entry_points_are_traced_too(project: ProjectFolder):
    text = ENTRY.format(entry="np.mod(codes, self.levels) / self.levels")
    project.write("specs/nn/codes.py", text)
    assert "NumPy is given a traced value" in project.run("generate", trial=True).output
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/nn/codes.py")
    assert "return jnp.mod(codes, self.levels) / self.levels" in mended


OPEN_AXES = {
    "A hyperparameter": (
        "self.lin = Linear(self.features, 2 * self.features)\n",
        'x: Float["b t d"], y: Float["b t wide"]) -> Float["b t wide"]:\n'
        "        return self.lin(x) + y",
        {"b t d": "b t features", "b t wide": "b t 2*features"},
    ),
    "The last of any axes": (
        "self.lin = Linear(self.features, self.features)\n",
        'x: Float["batch ..."]) -> Float["batch ..."]:\n        return self.lin(x)',
        {"batch ...": "batch ... features"},
    ),
    "How many there are": (
        "self.half = np.asarray(self.levels) // 2\n",
        'x: Float["*batch d"]) -> Float["*batch d"]:\n        return x * self.half',
        {"*batch d": "*batch len(levels)"},
    ),
    "How many integers there are": (
        "self.half = np.asarray(self.counts) // 2\n",
        'x: Float["*batch d"]) -> Float["*batch d"]:\n        return x * self.half',
        {"*batch d": "*batch len(counts)"},
    ),
}
OPEN = '''\
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Size, Sizes
from mlax_scaffold.specs.nn.linear import Linear


class Opened(Layer):
    """A spec of a test."""

    features: Size
    {several} = (3, 5, 4, 2)

    def setup(self):
        {setup}
    def forward(self, {forward}
'''


def opened(setup: str, forward: str) -> str:
    """The spec, with a field of several sizes, or of several integers where it reads that."""
    counted = "self.counts" in setup
    several = "counts: tuple[int, ...]" if counted else "levels: Sizes"
    return OPEN.format(setup=setup, forward=forward, several=several)


@pytest.mark.parametrize("name", OPEN_AXES)
def test_an_axis_that_the_code_takes_one_size_of(project: ProjectFolder, name: str):
    setup, forward, renamed = OPEN_AXES[name]
    text = opened(setup, forward)
    error = refused(project, "opened", text)
    assert "and its type says any size" in error["message"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    for old, new in renamed.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    assert project.text("specs/nn/opened.py") == text


def test_sizes_are_tried_with_what_the_edits_before_leave(project: ProjectFolder):
    """The spec on the disk does not import: a word is not there, which an edit takes away."""
    setup, forward, _ = OPEN_AXES["How many there are"]
    text = opened(setup, forward)
    wrong = text.replace("import Float,", "import softened, Float,")
    project.write("specs/nn/opened.py", wrong)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = text.replace("*batch d", "*batch len(levels)")
    assert project.text("specs/nn/opened.py") == mended


UNSHAPED = '''\
import jax

from mlax_scaffold.spec import Float, Int, Layer, Size, l2_norm, lecun_normal, trainable


class Unshaped(Layer):
    """A spec of a test."""

    classes: Size
    dim: Size

    def setup(self):
        self.proxies = trainable(lecun_normal(), (self.classes, self.dim))

    def forward(self, x: Float["..."], labels: Int["*batch"]):
        norm = lambda v: v / l2_norm(v, axis=-1, keepdims=True)
        chosen = jax.nn.one_hot(labels, self.classes, dtype=x.dtype)
        return norm(x) @ norm(self.proxies).T * chosen
'''


def test_shapes_are_tried_where_types_say_none(project: ProjectFolder):
    error = refused(project, "unshaped", UNSHAPED)
    assert 'shape is "*batch dim", and its type says any' in error["message"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    text = project.text("specs/nn/unshaped.py")
    assert 'x: Float["*batch dim"], labels: Int["*batch"]' in text


RESIZED = '''\
import jax

from mlax_scaffold.spec import Float, Layer


class Resized(Layer):
    """A spec of a test."""

    def forward(self, x: Float["batch h w channels"]):
        b, h, w, c = x.shape
        return jax.image.resize(x, (b, 2 * h, 2 * w, c), method="bilinear")
'''


def test_images_are_resized_in_wider_numbers(project: ProjectFolder):
    refused(project, "resized", RESIZED)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    text = project.text("specs/nn/resized.py")
    assert "widened(jax.image.resize)(x, (b, 2 * h" in text


WIDE = '''\
import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import Float, Layer, Size


def slopes(n):
    return np.array([2.0**-i for i in range(n)])


class Sloped(Layer):
    """A spec of a test."""

    def met(self, y, z):
        return y * z

    def forward(self, x: Float["*batch n"]) -> Float["*batch n"]:
        n = x.shape[-1]
        table = {table}
        return {result}
'''
WIDENED = {
    "An operand": ("slopes(n)", "x * table", "x * jnp.asarray(table, x.dtype)"),
    "A table": (
        "-jnp.arange(n) * slopes(n)",
        "x + table",
        "-jnp.arange(n) * jnp.asarray(slopes(n), x.dtype)",
    ),
    "Of numbers": (
        "jnp.full((n,), sum(slopes(n).shape) / n)",
        "x * table",
        "jnp.full((n,), sum(slopes(n).shape) / n, dtype=x.dtype)",
    ),
    "Of numbers alone": (
        "jnp.hanning(1)",
        "x * table",
        "table = jnp.asarray(np.hanning(1), x.dtype)",
    ),
    "In one branch": (
        "jnp.full((n,), sum(slopes(n).shape) / n) if n else x",
        "x * table",
        "jnp.full((n,), sum(slopes(n).shape) / n, dtype=x.dtype) if n else x",
    ),
    "In a loop": (
        "n",
        "lax.fori_loop(0, 2, lambda i, y: y * jnp.asarray(slopes(table)), x)",
        "y * jnp.asarray(slopes(table), dtype=x.dtype)",
    ),
    "A local of a call": (
        "jnp.asarray(slopes(n))",
        "jnp.convolve(x.ravel(), table[::-1], mode='same').reshape(x.shape)",
        "table = jnp.asarray(slopes(n), dtype=x.dtype)",
    ),
    "Beside a cast": (
        "slopes(n)",
        "jnp.maximum(x.astype(x.dtype), table)",
        "jnp.maximum(x.astype(x.dtype), jnp.asarray(table, x.dtype))",
    ),
    "In a method": ("slopes(n)", "self.met(x, table)", "y * jnp.asarray(z, y.dtype)"),
}


@pytest.mark.parametrize("name", WIDENED)
def test_what_is_wider_than_half_precision_is_cast(project: ProjectFolder, name: str):
    table, result, mended = WIDENED[name]
    text = WIDE.format(table=table, result=result)
    error = refused(project, "sloped", text)
    told = ("wider than half-precision input", "made in a dtype of its own")
    assert any(text in error["message"] for text in told)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    assert mended in project.text("specs/nn/sloped.py")


LAST = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.conv import Conv


class Last(Layer):
    """A spec of a test."""

    channels: Size

    def setup(self):
        self.conv = Conv(2, self.channels, self.channels, 3{said})

    def forward(self, x: Float["batch h w channels"]) -> Float["batch h w channels"]:
        return self.conv(x)
'''


def test_channels_at_another_place_are_told_and_nothing_is_renamed(
    project: ProjectFolder,
):
    error = refused(project, "last", LAST.format(said=", channel_last=False"))
    assert "takes other axes than" in error["message"]
    assert "must have shape (*batch, in_channels, *spatial)" in error["hint"]
    assert error["fix"] is None


def test_layers_that_are_given_channels_last_have_them_last(project: ProjectFolder):
    error = refused(project, "last", LAST.format(said=', padding="SAME"'))
    told = "`Conv` is given its channels last, and wants them behind the batch"
    assert error["message"] == told
    assert "must have shape (*batch, in_channels, *spatial)" in error["hint"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    written = project.text("specs/nn/last.py")
    assert 'channels, 3, padding="SAME", channel_last=True)' in written
    assert 'Float["batch h w channels"]) -> Float["batch h w channels"]' in written


SQUARE = '''\
import jax
import jax.numpy as jnp
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.batch_norm import BatchNorm


class Square(Layer):
    """A bottleneck with connections inside, which takes images as wide as it has channels, too."""

    inplanes: Size
    planes: Size
    scale: Size = 4
    base_width: int = 26

    def setup(self):
        width = max(1, int(self.planes * self.base_width / 64))
        self.conv1 = Conv(2, self.inplanes, width * self.scale, (1, 1), use_bias=False)
        self.bn1 = BatchNorm(width * self.scale)
        n = 1 if self.scale == 1 else self.scale - 1
        self.convs = [Conv(2, width, width, (3, 3), padding="SAME") for _ in range(n)]
        self.bns = [BatchNorm(width) for _ in range(n)]
        self.conv3 = Conv(2, width * self.scale, self.inplanes, (1, 1), use_bias=False)
        self.bn3 = BatchNorm(self.inplanes)

    def forward(self, x: Float["batch h w inplanes"]) -> Float["batch h w inplanes"]:
        residual = x
        out = jax.nn.relu(self.bn1(self.conv1(x)))
        chunks = jnp.split(out, self.scale, axis=-1)
        outs = []
        for i, (conv, bn) in enumerate(zip(self.convs, self.bns)):
            sp = chunks[i] if i == 0 else sp + chunks[i]
            sp = jax.nn.relu(bn(conv(sp)))
            outs.append(sp)
        if self.scale != 1:
            outs.append(chunks[-1])
        out = self.bn3(self.conv3(jnp.concatenate(outs, axis=-1)))
        return jax.nn.relu(out + residual)
'''


def test_sizes_that_are_equal_by_chance_say_nothing_of_channels(project: ProjectFolder):
    error = refused(project, "square", SQUARE)
    told = "`Conv` is given its channels last, and wants them behind the batch"
    assert error["message"] == told
    edits = [edit["text"] for edit in error["fix"]["edits"]]
    assert edits == [", channel_last=True"] * 6


TIMED = '''\
import jax
import jax.numpy as jnp
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.batch_norm import BatchNorm
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.linear import Linear


class Timed(Layer):
    """A convolution over time of what a layer makes, which no name of an axis tells."""

    dim: Size

    def setup(self):
        inner = 2 * self.dim
        self.inward = Linear(self.dim, inner * 2)
        self.conv = Conv(1, inner, inner, kernel_size=(3,), padding="SAME")
        self.norm = BatchNorm(inner)

    def forward(self, x: Float["batch time dim"]) -> Float["batch time 2*dim"]:
        a, g = jnp.split(self.inward(x), 2, axis=-1)
        return self.norm(self.conv(a * jax.nn.sigmoid(g)))
'''


def test_layers_refuse_what_has_its_channels_last_whatever_their_number(
    project: ProjectFolder,
):
    error = refused(project, "timed", TIMED)
    told = "`Conv` is given its channels last, and wants them behind the batch"
    assert error["message"] == told
    edits = [edit["text"] for edit in error["fix"]["edits"]]
    assert edits == [", channel_last=True"] * 2


GATED = '''\
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, mean
from mlax_scaffold.specs.nn.conv import Conv


class Gated(Layer):
    """A convolution of as many channels as are stacked, where heights of as many rows would fit, too."""

    kernel: Size = 3

    def setup(self):
        self.conv = Conv(2, 2, 1, self.kernel, padding="SAME")

    def forward(self, x: Float["batch height width dim"]):
        stats = jnp.stack([jnp.max(x, axis=-1), mean(x, axis=-1)], axis=-1)
        return x * jax.nn.sigmoid(self.conv(stats))
'''


def test_layers_refuse_what_has_its_channels_last_where_they_are_as_many_always(
    project: ProjectFolder,
):
    error = refused(project, "gated", GATED)
    told = "`Conv` is given its channels last, and wants them behind the batch"
    assert error["message"] == told


PART = '''\
import jax

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.group_norm import GroupNorm


class Part(Layer):
    """A layer that is given its channels last, of an input of any shape."""

    inner: Size
    outer: Size

    def setup(self):
        self.conv = Conv(self.inner, self.outer, (3,))
        self.norm = GroupNorm(1, self.outer)

    def forward(self, x):
        return jax.nn.silu(self.norm(self.conv(x)))


class Parted(Layer):
    """A layer that holds it."""

    channels: Size

    def setup(self):
        self.part = Part(self.channels, 4)

    def forward(self, x: Float["batch length channels"]):
        return self.part(x)
'''


def test_what_follows_from_a_finding_with_an_edit_is_no_obstacle(
    project: ProjectFolder,
):
    project.write("specs/nn/parted.py", PART)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    written = project.text("specs/nn/parted.py")
    made = "Conv(1, self.inner, self.outer, (3,), channel_last=True)"
    assert made in written


NORMS = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.batch_norm import BatchNorm
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.max_pool import MaxPool


class Norms(Layer):
    """A spec of a test."""

    features: Size

    def setup(self):
        half = max(1, self.features // 2)
        self.linear = Linear(self.features, half)
        self.norms = [
            BatchNorm(
                half,
            )
            for _ in range(2)
        ]
        self.pool = MaxPool(1, 2)

    def forward(self, x: Float["batch time features"]):
        x = self.linear(x)
        for norm in self.norms:
            x = norm(x)
        return self.pool(x)
'''


def test_all_layers_of_a_class_have_their_channels_last(project: ProjectFolder):
    refused(project, "norms", NORMS)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    written = project.text("specs/nn/norms.py")
    assert "self.pool = MaxPool(1, 2, channel_last=True)" in written
    assert "                half, channel_last=True,\n" in written


COUNTED = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, state, zeros


class Counted(Layer):
    """A spec of a test."""

    warmup: Size = 50

    def setup(self):
        self.steps = state(zeros, (), jnp.int32)

    def share(self, step):
        return jnp.clip((step - self.warmup) / (self.warmup * 4), 0.0, 1.0)

    def forward(self, x: Float["*batch n"]) -> Float["*batch n"]:
        share = self.share(self.steps)
        self.steps += 1
        return x * share
'''


def test_a_method_that_is_given_integers_alone_gets_the_dtype(project: ProjectFolder):
    refused(project, "counted", COUNTED)
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/nn/counted.py")
    assert "def share(self, step, dtype):" in mended
    assert "/ (jnp.asarray(self.warmup * 4, dtype))" in mended
    assert "self.share(self.steps, x.dtype)" in mended


DECAYING = """\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size


class Decaying(Layer):
    \"\"\"A spec of a test.\"\"\"

    heads: Size = 2

    @property
    def decays(self):
        return 1 - jnp.exp(jnp.linspace(jnp.log(1 / 32), jnp.log(1 / 512), self.heads))

    def forward(self, x: Float["*batch heads"]) -> Float["*batch heads"]:
        return x * self.decays
"""


def test_a_property_that_makes_arrays_makes_them_by_numpy(project: ProjectFolder):
    error = refused(project, "decaying", DECAYING)
    assert "wider than half-precision input" in error["message"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/nn/decaying.py")
    expected = DECAYING.replace("jnp.l", "np.l").replace("jnp.e", "np.e")
    expected = expected.replace(
        "x * self.decays", "x * jnp.asarray(self.decays, x.dtype)"
    )
    assert mended == expected.replace("as jnp\n", "as jnp\nimport numpy as np\n")


def test_what_is_meant_to_be_wide_is_taken(project: ProjectFolder):
    result = "(x.astype(jnp.float32) * table).astype(x.dtype) * float(table[0])"
    text = WIDE.format(table="slopes(n)", result=result)
    project.write("specs/nn/sloped.py", text)
    assert project.run("generate", trial=True).exit_code == 0


MASKED = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Layer, sum


class Masked(Layer):
    """A spec of a test."""

    def forward(self, x: Float["b t"], mask: Bool["b t"]) -> Float["b"]:
        h = jnp.tanh(x).astype(x.dtype)
        m = mask.astype(jnp.float32)
        return sum(h * m, axis=1)
'''


def test_a_result_that_stays_wide_is_cast_where_it_becomes_so(project: ProjectFolder):
    error = refused(project, "masked", MASKED)
    assert error["message"].startswith("`m` is wider than half-precision input")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/nn/masked.py")
    assert mended == MASKED.replace("h * m", "h * jnp.asarray(m, x.dtype)")


CARRIED = '''\
import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Size


class Carried(Layer):
    """A spec of a test."""

    size: Size

    def setup(self):
        self.mask = np.full_like(np.ones(self.size), 0.5)

    def forward(self, x: Float["time size"]) -> Float["time size"]:
        def step(h, row):
            h = h * self.mask + row
            return h, h

        return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]
'''


def test_a_carry_that_becomes_wider_is_cast_where_it_does(project: ProjectFolder):
    error = refused(project, "carried", CARRIED)
    assert error["message"].startswith("`self.mask` is wider than half-precision input")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/nn/carried.py")
    assert mended == CARRIED.replace(
        "h * self.mask", "h * jnp.asarray(self.mask, x.dtype)"
    )


SPIKES = CARRIED.replace(
    "h = h * self.mask + row\n            return h, h",
    "return spike(h + row), h",
).replace(
    "class Carried",
    """@jax.custom_jvp
def spike(v):
    return jnp.where(v > 0, 1.0, 0.0)


@spike.defjvp
def _spike_jvp(primals, tangents):
    return spike(*primals), tangents[0]


class Carried""",
)


def test_a_carry_of_chosen_numbers_gets_a_dtype(project: ProjectFolder):
    error = refused(project, "carried", SPIKES)
    told = "what this carries does not keep its type: bfloat16[4] becomes float32[4]"
    assert error["message"] == told
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    assert ".astype(v.dtype)" in project.text("specs/nn/carried.py")


PROBE = '''\
from mlax_scaffold.spec import Block, Float, Size, SubLayer
from mlax_scaffold.specs.nn.linear import Linear


class Probe(Block):
    """A spec of a test."""

    backbone: SubLayer
    features: Size
    classes: Size

    def setup(self):
        self.head = Linear(self.features, self.classes)

    def forward(self, x: Float["batch ..."]) -> Float["batch classes"]:
        h = self.backbone(x)
        return self.head(h.reshape(h.shape[0], -1))
'''


def test_a_block_whose_layer_changes_a_size_gets_an_example(project: ProjectFolder):
    """Its type stays: layers of the tests keep shapes, and others need not."""
    error = refused(project, "probe", PROBE, "block")
    assert "its code fits inputs of the size `features`" in error["message"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    text = project.text("specs/block/probe.py")
    assert 'Float["batch ..."]' in text
    assert "examples = (" in text


TABLED = '''\
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, function

TABLE = [(4, 2), (8, 4)]


def framed(x, size, hop):
    x = jnp.pad(x, ((0, 0), (size, size)))
    count = 1 + (x.shape[1] - size) // hop
    places = np.arange(size) + hop * np.arange(count)[:, None]
    window = np.zeros(size)
    window[1:] = np.hanning(size - 1)
    return jnp.tanh(x[:, places]) * window


@function
def example(x: Float["b t"]) -> Float[""]:
    """A spec of a test."""
    total = 0.0
    for size, hop in TABLE:
        total += jnp.max(framed(x, size, hop))
    return total
'''


def test_numbers_that_a_loop_over_a_table_gives_have_no_dtype(project: ProjectFolder):
    refused(project, "example", TABLED, section="functional")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/functional/example.py")
    assert "* jnp.asarray(window, dtype)" in mended
    assert "framed(x, size, hop, x.dtype)" in mended


SCATTERED = '''\
from jax import lax

from mlax_scaffold.spec import Float, Layer, Size


class Scattered(Layer):
    """A spec of a test."""

    k: Size

    def forward(self, x: Float["n d"], y: Float["n m"]) -> Float["n d"]:
        _, indices = lax.top_k(y.T, min(self.k, y.shape[0]))
        for rows in indices:
            x = x.at[rows].add(x[rows])
        return x
'''


def test_a_sum_at_indices_that_the_text_does_not_tell(project: ProjectFolder):
    error = refused(project, "scattered", SCATTERED)
    assert error["message"].startswith("`.at[rows].add` adds one after the other")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    assert "x = add_at(x, rows, x[rows])" in project.text("specs/nn/scattered.py")


DIFFERENTIATED = '''\
import jax

from mlax_scaffold.spec import Float, Layer, sum


class Forces(Layer):
    """A spec of a test."""

    def forward(self, x: Float["n"], y: Float["m"]) -> Float["n"]:
        return jax.grad(lambda x: sum((x[:, None] - y) ** 2))(x)
'''


def test_what_a_layer_differentiates_is_taken(project: ProjectFolder):
    project.write("specs/nn/forces.py", DIFFERENTIATED)
    assert project.run("generate", trial=True).exit_code == 0


SINGLE = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear_general import LinearGeneral


class Single(Layer):
    """A spec of a test."""

    features: Size
    heads: Size = 2

    def setup(self):
        self.split = LinearGeneral(self.features, (self.heads, 3))
        self.joined = LinearGeneral(
            in_features=(self.heads, 3), out_features=2 * self.features, axis=(-2, -1)
        )

    def forward(self, x: Float["*batch features"]):
        return self.joined(self.split(x))
'''


def test_one_number_where_a_layer_takes_several_is_a_tuple(project: ProjectFolder):
    error = refused(project, "single", SINGLE)
    assert error["message"] == "`LinearGeneral` is given one number, and takes several"
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    written = project.text("specs/nn/single.py")
    assert "LinearGeneral((self.features,), (self.heads, 3))" in written
    assert "out_features=(2 * self.features,), axis=" in written


SWAPPED = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.multi_head_attention import MultiHeadAttention


class Swapped(Layer):
    """A spec of a test."""

    in_features: Size
    size: Size = 8
    parts: Size = 2

    def setup(self):
        self.inner = Linear(self.in_features, self.size)
        self.attend = MultiHeadAttention(self.parts, self.size)

    def forward(self, x: Float["batch time in_features"]):
        return self.attend(self.inner(x))
'''


def test_what_refuses_the_defaults(project: ProjectFolder):
    error = refused(project, "swapped", SWAPPED)
    told = "this refuses the defaults of Swapped, whatever else is given: MultiHeadAtt"
    assert error["message"].startswith(told)
    line = SWAPPED.split("\n")[error["line"] - 1]
    assert "MultiHeadAttention(self.parts, self.size)" in line


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("self.heads, self.width", "heads=self.heads, features=self.width"),
        ("self.num_heads, 8", "heads=self.num_heads, features=8"),
        ("self.width, self.heads", None),
        ("self.size, self.parts", None),
        ("self.heads, features=self.width", None),
        ("self.parts, self.kv_heads", None),
        ("self.heads, self.features, self.heads", None),
    ],
)
def test_names_tell_the_order_of_arguments(written: str, meant: str | None):
    text = SWAPPED.replace("self.parts, self.size", written)
    source = Source("specs/nn/swapped.py", text)
    fields = ["features", "heads", "kv_heads"]
    calls = in_named_order(source, "Swapped", "MultiHeadAttention", fields)
    mended = [edited(text, fix.edits) for _, fix in calls]
    assert mended == ([text.replace(written, meant)] if meant else [])


def test_what_fits_without_the_defaults_is_taken(project: ProjectFolder):
    text = SWAPPED.replace("self.parts, self.size)", "self.size, self.parts)")
    project.write("specs/nn/swapped.py", text.replace("Size = 8", "Size"))
    assert project.run("generate", trial=True).exit_code == 0


TWO = '''\
import jax

from mlax_scaffold.spec import Float, Layer, Size


class Largest(Layer):
    """The six largest."""

    scale: float = 2.0

    def forward(self, x: Float["batch length"]) -> Float["batch 6"]:
        return self.scale * jax.lax.top_k(x, 6)[0]


class Last(Layer):
    """Another one of the file."""

    width: Size

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        return 2.0 * x
'''


def test_what_takes_longer_axes_gets_an_example(project: ProjectFolder):
    project.write("specs/nn/largest.py", TWO)
    error = refused(project, "largest", TWO)
    assert "the shapes do not fit: k argument to top_k" in error["message"]
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    text = project.text("specs/nn/largest.py")
    first, last = text.split("class Last")
    assert 'examples = ({"x": (' in first
    assert "examples" not in last


SUMMED = TWO.replace(
    "jax.lax.top_k(x, 6)[0]",
    'jax.numpy.einsum("bl,l->bl", x[:, :6], jax.numpy.ones(6, x.dtype))',
)


def test_what_an_einstein_sum_refuses_gets_an_example(project: ProjectFolder):
    project.write("specs/nn/largest.py", SUMMED)
    assert (
        "the shapes do not fit: Size of"
        in refused(project, "largest", SUMMED)["message"]
    )
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    assert 'examples = ({"x": (' in project.text("specs/nn/largest.py")


NOTHING = '''\
import numpy as np

from mlax_scaffold.spec import Float, Layer, Size, sum


class Nothing(Layer):
    """Takes nothing at all, and no sizes of an example fit what it requires."""

    features: Size
    parts: Size = 32

    def setup(self):
        if self.features % self.parts:
            raise ValueError(f"features {self.features} by {self.parts}")
        self.index = sum(np.arange(8).reshape(4, 2), axis=-1)

    def forward(self, x: Float["batch features"]) -> Float["batch features"]:
        return x * self.index[0]
'''


def test_what_has_no_example_is_tried_in_a_case_of_its_tests(project: ProjectFolder):
    project.write("specs/nn/nothing.py", NOTHING)
    error = refused(project, "nothing", NOTHING)
    assert "a strict function is given int" in error["message"]


NAMED = '''\
from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class Named(Layer):
    """Layers in dictionaries by names that are computed."""

    width: Size
    kinds: tuple[str, ...] = ("a", "b")

    def setup(self):
        self.layers = {}
        for i, kind in enumerate(self.kinds):
            layer = {"map": Linear(self.width, self.width)}
            if kind == "a":
                layer["gate"] = Linear(self.width, self.width)
            self.layers[f"{kind}_{i}"] = layer

    def forward(self, x: Float["batch width"]) -> Float["batch width"]:
        for name, layer in self.layers.items():
            x = layer["gate"](x) if name.startswith("a") else layer["map"](x)
        return x
'''


def test_layers_by_names_that_are_computed_are_no_fault(project: ProjectFolder):
    project.write("specs/nn/named.py", NAMED)
    result = project.run("generate", trial=True)
    assert "fault of mlax-scaffold" not in result.output


SEARCHED = '''\
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Optimizer, ones, state


class Searched(Optimizer):
    """A spec of a test."""

    def setup_tree(self, params):
        self.rate = state(ones, ())

    def step(self, grads, params):
        rate = lax.while_loop(lambda r: r > 0.1, lambda r: r / 2, self.rate)
        return jax.tree.map(lambda g: rate * g[...].reshape(g.shape), grads)
'''


def test_a_number_of_a_step_that_widens_updates_is_cast(project: ProjectFolder):
    error = refused(project, "searched", SEARCHED, "optim")
    assert error["message"].startswith("`rate` is wider than half-precision input")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/optim/searched.py")
    assert mended == SEARCHED.replace("rate * g", "jnp.asarray(rate, g.dtype) * g")


TABLED_STEPS = '''\
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Schedule, Size


class Tabled(Schedule):
    """A spec of a test."""

    steps: Size = 3

    def value(self, step):
        table = np.linspace(0, 1, self.steps, dtype=np.float32)
        return step * jnp.searchsorted(table, step)
'''


def test_a_table_that_a_schedule_meets_is_cast(project: ProjectFolder):
    error = refused(project, "tabled", TABLED_STEPS, "schedule")
    assert error["message"].startswith("`table` is wider")
    assert project.run("generate", "--fix", trial=True).exit_code == 0
    mended = project.text("specs/schedule/tabled.py")
    assert "searchsorted(jnp.asarray(table, step.dtype), step)" in mended


GROWING = """\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, lecun_normal, state, trainable, zeros


class Streamed(Layer):
    \"\"\"A spec of a test.\"\"\"

    size: int
    k: int = 3
    batch: int = 1
    streamed: bool = False

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.size, self.size))
        if self.streamed:
            self.last = state(zeros, (self.batch, self.k - 1, self.size))

    def forward(self, x: Float["batch time size"]):
        if self.streamed:
            x = jnp.concatenate([self.last, x], axis=1)
            self.last = x[:, -(self.k - 1) :]
        return x @ self.kernel
"""


def test_a_state_that_grows_is_no_matter_of_dtypes(project: ProjectFolder):
    """Its tests tell that it has another shape after a step, where k is 1."""
    project.write("specs/nn/streamed.py", GROWING)
    told = project.run("generate", trial=True)
    assert told.exit_code == 0, told.output


CHOSEN = '''\
from mlax_scaffold.spec import Float, Layer


class Chosen(Layer):
    """A spec of a test."""

    mode: str = "plain"

    def forward(self, x: Float["batch time"], scale: Float["time"] | None = None):
        y = x if scale is None else {scaled}
        return {rows} if self.mode == "rows" else y
'''


@pytest.mark.parametrize(
    ("rows", "scaled", "where"),
    [
        ("x.reshape(-1, 3, 50)", "x * scale", "mode='rows'"),
        ("x", "x + scale.item()", "scale is given"),
    ],
)
def test_what_fails_with_another_option_alone_is_told(
    project: ProjectFolder, rows: str, scaled: str, where: str
):
    error = refused(project, "chosen", CHOSEN.format(rows=rows, scaled=scaled))
    assert error["message"].endswith(f", where {where}")


def test_an_option_that_takes_some_sizes_is_taken(project: ProjectFolder):
    rows = "x.reshape(x.shape[0] // 3, 3, x.shape[1] // 4, 4)"
    text = CHOSEN.format(rows=rows, scaled="x * scale")
    project.write("specs/nn/chosen.py", text)
    assert project.run("generate", trial=True).exit_code == 0
