"""What the tables and lists of reference pages say, and how."""

from __future__ import annotations

from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.docs.example import example
from mlax_scaffold.render.docs.sections import page

PROJECT = Project("demo", "specs", "demo", "tests", "docs")


def sections(section: str, text: str) -> dict[str, str]:
    """The sections of the page of a spec, by their titles."""
    file = SpecFile(f"specs/{section}/example.py", section, text)
    library = read_library((file,))
    [definition] = library
    made = page(definition, library, PROJECT, "")
    return {s.title: "\n".join(s.parts) for s in made.sections}


OPTIMIZER = '''
import jax.numpy as jnp

from mlax_scaffold.spec import DType, Optimizer, moment, state, zeros


class Example(Optimizer):
    """A spec of a test."""

    rank: int = 2  #: a rank
    moment_dtype: DType | None = None  #: a dtype

    def is_matrix(self, shape):
        """Whether it is one."""
        return len(shape) == 2

    def setup(self, param):
        kept = self.moment_dtype
        low = low_shape(param.shape, self.rank) if self.is_matrix(param.shape) else (0,)
        self.low = moment(zeros, low, kept)
        self.seen = moment(zeros, (0,) if self.is_matrix(param.shape) else (), jnp.bool_)

    def setup_tree(self, params):
        self.calls = state(zeros, (), jnp.int32)  #: number of calls

    def step(self, grads, params):
        return grads


def low_shape(shape, rank):
    """The shape of the weight with rank in the place of its first axis.

    It is so.
    """
    return rank, *shape[1:]
'''


def test_shapes_are_said_as_the_functions_say_that_compute_them():
    found = sections("optim", OPTIMIZER)["State"]
    said = "the shape of the weight with rank in the place of its first axis"
    assert f"| `low` | `(0,)`, or {said} | `zeros` |" in found
    assert "| `seen` | `(0,)`, or `()` | `zeros` | `jnp.bool_` |" in found


def test_dtypes_are_in_terms_of_hyperparameters():
    found = sections("optim", OPTIMIZER)["State"]
    assert "| `moment_dtype`, or that of the weight |" in found
    assert "kept" not in found


def test_what_a_state_is_has_a_column():
    found = sections("optim", OPTIMIZER)["State"]
    assert "| name | meaning | shape | initializer | dtype |" in found
    assert "| `calls` | Number of calls. | `()` | `zeros` | `jnp.int32` |" in found


LAYER = '''
from mlax_scaffold.spec import Float, Layer, Size, ones, require, trainable, zeros


class Example(Layer):
    """A spec of a test."""

    features: Size  #: a size
    num_heads: Size = 2  #: another

    def setup(self):
        require(self.features % self.num_heads == 0, "num_heads must divide features=4")
        shape = (self.features, self.num_heads)
        self.kernel = trainable(ones, (*shape, shape[1]))
        self.bias = trainable(zeros, shape[1:])

    def forward(self, x: Float["*batch features"]) -> tuple[
        Float["*batch features"], tuple[Float["*batch"], Float["features"]]
    ]:
        return x, (x[..., 0], self.bias)

    def other(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * self.kernel[:, 0, 0]
'''


def test_tuples_are_taken_apart():
    found = sections("nn", LAYER)["Weights"]
    assert "| `kernel` | `(features, num_heads, num_heads)` |" in found
    assert "| `bias` | `(num_heads,)` |" in found
    assert "`features * num_heads * num_heads + num_heads`" in found


def test_one_row_tells_of_functions_that_take_the_same():
    found = sections("nn", LAYER)["Parameters"]
    assert found.count("What `init` returned.") == 1
    assert "| `hyperparams` | `fwd`, `other` |" in found
    assert "needs neither." in found
    assert "| `inference_mode` |" not in found


def test_a_tuple_within_a_tuple_is_one():
    found = sections("nn", LAYER)["Parameters"]
    inner = r"(tuple of floating (\*batch,) and floating (features,))"
    assert rf"y is a tuple of floating (\*batch, features) and {inner}." in found


def test_parameters_keep_their_names_in_requirements():
    found = sections("nn", LAYER)["Requirements"]
    assert found == "- `num_heads` must divide `features=4`."


def test_what_inference_changes_is_what_there_is():
    library = read_library(find_specs(LIBRARY_SPECS, "library"))
    by_name = {d.name: d for d in library}
    said = {
        name: example(by_name[name], library, "mlax")
        for name in ("BatchNorm", "Dropout", "F")
    }
    assert "# At inference the state stays as it is." in said["BatchNorm"]
    assert "# At inference nothing is random." in said["Dropout"]
    assert "# At inference nothing is random." in said["F"]


def test_optimizers_are_tried_with_the_one_that_most_people_take():
    library = read_library(find_specs(LIBRARY_SPECS, "library"))
    sam = next(d for d in library if d.name == "Sam")
    assert "optimizer = optim.Adam.init(" in example(sam, library, "mlax")
