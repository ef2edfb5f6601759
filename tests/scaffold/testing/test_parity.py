"""The comparison with the code that was converted."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax.nn import BatchNorm, Linear
from mlax_scaffold.testing.originals import Original
from mlax_scaffold.testing.parity import assert_parity
from mlax_scaffold.testing.tensors import settle_norm, tensors

CODE = """
class Twice:
    def __call__(self, x):
        return {factor} * x


class Handed:
    def __init__(self, width, layer):
        self.width = width

    def __call__(self, x):
        return x
"""


class Double:
    """A layer without weights."""

    @staticmethod
    def init(**_):
        return (), (), None

    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False):
        return 2 * x, non_trainables


def assert_holds(compared: Callable[[], None], same: bool) -> None:
    """Raise AssertionError unless what is the same, and only that, is told to be so."""
    told = contextlib.nullcontext() if same else pytest.raises(AssertionError)
    with told:
        compared()


def compare(
    folder: Path, thing: str, hyperparameters: dict[str, int], factor: float = 2
) -> None:
    (folder / "code.py").write_text(CODE.format(factor=factor))
    given = {name: name for name in hyperparameters}
    original = Original("code.py", thing, "plain", parameters=given)
    assert_parity(
        Double,
        original,
        hyperparameters=hyperparameters,
        inputs={"x": (2, 3)},
        near=str(folder / "test.py"),
    )


class Sum(Double):
    """What it is given is a tuple."""

    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False):
        (first, index), second = x
        return first[index] + second, non_trainables


def test_a_tuple_of_arrays_is_drawn_and_given_as_one(tmp_path: Path):
    (tmp_path / "code.py").write_text("""
class Sum:
    def __call__(self, x):
        (first, index), second = x
        return first[index] + second
""")
    assert_parity(
        Sum,
        Original("code.py", "Sum", "plain"),
        hyperparameters={},
        inputs={"x": (((2, 3), (4,)), (4, 3))},
        integers=("x[0][1]",),
        near=str(tmp_path / "test.py"),
    )


def test_a_plain_object_is_compared_in_inference(tmp_path: Path):
    (tmp_path / "code.py").write_text("""
class Part:
    def __init__(self):
        self.training = True

    def __call__(self, x):
        return 3 * x if self.training else 2 * x


class Whole:
    def __init__(self):
        self.parts = {"only": [Part()]}
        self.inference = False

    def __call__(self, x):
        return self.parts["only"][0](x) if self.inference else x
""")
    assert_parity(
        Double,
        Original("code.py", "Whole", "plain"),
        hyperparameters={},
        inputs={"x": (2, 3)},
        near=str(tmp_path / "test.py"),
    )


def test_what_has_no_weights_is_compared(tmp_path: Path):
    compare(tmp_path, "Twice", {})
    with pytest.raises(AssertionError, match="Not equal"):
        compare(tmp_path, "Twice", {}, factor=2.5)


@pytest.mark.parametrize(
    ("hyperparameters", "said"),
    [
        ({"width": 3}, "also takes layer: compare it where it is made with these"),
        ({"wide": 3}, "also takes width, layer and does not take wide: compare"),
    ],
)
def test_what_is_handed_layers_is_compared_where_it_is_made(
    tmp_path: Path, hyperparameters: dict[str, int], said: str
):
    with pytest.raises(pytest.skip.Exception, match=f"Handed of code.py {said}"):
        compare(tmp_path, "Handed", hyperparameters)


def test_norms_of_weights_are_those_of_their_numbers():
    """PyTorch divides by u W v in inference, whatever the vectors are."""
    random = np.random.default_rng(0)
    weights = {
        "a.weight_orig": random.normal(size=(4, 2, 3)),
        "a.weight_u": random.normal(size=4),
        "a.weight_v": random.normal(size=6),
    }
    settle_norm(weights, "a.weight")
    matrix = weights["a.weight_orig"].reshape(4, 6)
    norm = weights["a.weight_u"] @ matrix @ weights["a.weight_v"]
    np.testing.assert_allclose(norm, jnp.linalg.norm(matrix, 2), rtol=1e-5)


class Ring:
    """A layer that keeps no table: it computes one."""

    @staticmethod
    def init(key, width):
        return Linear.init(key, width, width, use_bias=False)

    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False):
        y, _ = Linear.fwd(x, trainables, non_trainables, hyperparams)
        return y * jnp.arange(1.0, y.shape[-1] + 1), non_trainables


@pytest.mark.parametrize(("bias", "same"), [("", True), (" + self.bias", False)])
def test_a_table_that_a_layer_computes_is_no_weight(
    tmp_path: Path, bias: str, same: bool
):
    """What is all of one number, as a bias that was lost, is moved all the same."""
    (tmp_path / "code.py").write_text(f"""
import equinox as eqx
import jax
import jax.numpy as jnp


class Ring(eqx.Module):
    table: jax.Array
    linear: eqx.nn.Linear
    bias: jax.Array

    def __init__(self, width, *, key):
        self.table = jnp.arange(1.0, width + 1)
        self.linear = eqx.nn.Linear(width, width, use_bias=False, key=key)
        self.bias = jnp.zeros(width)

    def __call__(self, x):
        return self.linear(x) * self.table{bias}
""")
    original = Original("code.py", "Ring", "equinox", parameters={"width": "width"})
    compared = lambda: assert_parity(  # noqa: E731
        Ring,
        original,
        hyperparameters={"width": 3},
        inputs={"x": (2, 3)},
        mapped=1,
        near=str(tmp_path / "test.py"),
    )
    if same:
        compared()
    else:
        with pytest.raises(AssertionError, match="Not equal"):
            compared()


def test_what_takes_probabilities_alone_is_given_some(tmp_path: Path):
    (tmp_path / "code.py").write_text(
        "class Loss:\n"
        "    def __call__(self, x):\n"
        "        if not ((x >= 0) & (x <= 1)).all():\n"
        "            raise RuntimeError('all elements of input should be between 0 and 1')\n"
        "        return {factor} * x\n"
    )
    for factor, fails in ((2, False), (3, True)):
        text = (tmp_path / "code.py").read_text().replace("{factor}", str(factor))
        (tmp_path / f"code{factor}.py").write_text(text)

        def compared(path: str = f"code{factor}.py") -> None:
            assert_parity(
                Double,
                Original(path, "Loss", "plain"),
                hyperparameters={},
                inputs={"x": (2, 3)},
                near=str(tmp_path / "test.py"),
            )

        assert_holds(compared, not fails)


NORMED = """
import equinox as eqx


class Normed(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __init__(self, channels):
        self.norm = eqx.nn.BatchNorm(channels, "batch", mode="{mode}")

    def __call__(self, state, x):
        y, state = self.norm(x, state)
        return {factor} * y, state
"""


@pytest.mark.parametrize("mode", ["ema", "batch"])
@pytest.mark.parametrize("factor", [1, 2])
def test_a_module_of_equinox_is_handed_its_state(tmp_path, mode, factor):
    (tmp_path / "code.py").write_text(NORMED.format(mode=mode, factor=factor))
    original = Original("code.py", "Normed", "equinox", {"channels": "channels"})

    def compared() -> None:
        assert_parity(
            BatchNorm,
            original,
            hyperparameters={"channels": 3},
            inputs={"x": (4, 3)},
            near=str(tmp_path / "test.py"),
        )

    assert_holds(compared, factor == 1)


KEPT = """
from flax import nnx
import jax
import jax.numpy as jnp


class Table(nnx.Variable):
    pass


class Kept(nnx.Module):
    def __init__(self, dim, *, rngs):
        self.table = Table(jax.random.normal(rngs.params(), (dim,)))

    def __call__(self, x):
        return {factor} * x + self.table.value
"""


class Held:
    """A layer with a state."""

    @staticmethod
    def init(key, dim):
        return None, {"table": jnp.zeros(dim)}, None

    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False):
        return x + non_trainables["table"], non_trainables


@pytest.mark.parametrize("factor", [1, 2])
def test_variables_of_classes_of_its_own_are_handed_over(tmp_path, factor):
    (tmp_path / "code.py").write_text(KEPT.format(factor=factor))
    original = Original("code.py", "Kept", "nnx", {"dim": "dim"})
    given = {"hyperparameters": {"dim": 3}, "inputs": {"x": (2, 3)}}
    near = str(tmp_path / "test.py")
    compared = functools.partial(assert_parity, Held, original, near=near, **given)
    assert_holds(compared, factor == 1)


HANDED = """
import jax


class Scaled:
    def __init__(self, dim):
        self.dim = dim

    def init(self, key):
        return {{"scale": jax.random.normal(key, (self.dim,))}}

    def __call__(self, params, x):
        return {factor} * x * params["scale"]
"""


class Times:
    """A layer with one weight."""

    @staticmethod
    def init(key, dim):
        return {"scale": jnp.ones(dim)}, None, None

    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False):
        return x * trainables["scale"], non_trainables


@pytest.mark.parametrize("factor", [1, 2])
def test_an_object_is_handed_its_weights(tmp_path, factor):
    (tmp_path / "code.py").write_text(HANDED.format(factor=factor))
    original = Original(
        "code.py",
        "Scaled",
        "pair",
        {"dim": "dim"},
        keys={"key": "key"},
        functions=("init", "__call__"),
        names=("scale",),
    )
    given = {"hyperparameters": {"dim": 3}, "inputs": {"x": (2, 3)}}
    near = str(tmp_path / "test.py")
    compared = functools.partial(assert_parity, Times, original, near=near, **given)
    assert_holds(compared, factor == 1)


PADS = """
import jax.numpy as jnp


class Pads:
    def __call__(self, x):
        return jnp.where(x > 0, 2 * x, 7)
"""


@dataclass
class Result:
    hidden: np.ndarray
    bias: np.ndarray | None = None


def test_what_a_dataclass_holds_is_compared_field_by_field(
    monkeypatch: pytest.MonkeyPatch,
):
    """PyTorch need not be there: NumPy stands for it."""
    numpy = SimpleNamespace(no_grad=contextlib.nullcontext, from_numpy=lambda a: a)
    monkeypatch.setitem(sys.modules, "torch", numpy)  # type: ignore[arg-type]
    x = np.ones(2)
    returned = {"both": (Result(x, 2 * x), [x]), "one": Result(x)}
    made = tensors(lambda _: returned)(x)
    assert [a.sum() for a in jax.tree.leaves(made)] == [2, 4, 2, 2]


@pytest.mark.parametrize("unpadded", [("x",), ()])
def test_indices_that_would_pad_are_drawn_without_zeros(tmp_path, unpadded):
    (tmp_path / "code.py").write_text(PADS)

    def compared() -> None:
        assert_parity(
            Double,
            Original("code.py", "Pads", "plain"),
            hyperparameters={},
            inputs={"x": (4, 5)},
            integers=("x",),
            unpadded=unpadded,
            near=str(tmp_path / "test.py"),
        )

    assert_holds(compared, bool(unpadded))


@pytest.mark.parametrize("unpadded", [("paddings",), ()])
def test_paddings_are_drawn_as_none(tmp_path, unpadded):
    text = PADS.replace("self, x", "self, paddings").replace("x > 0", "paddings < 1")
    (tmp_path / "code.py").write_text(text.replace("2 * x", "2 * paddings"))

    def compared() -> None:
        assert_parity(
            Double,
            Original("code.py", "Pads", "plain"),
            hyperparameters={},
            inputs={"paddings": (4, 50)},
            unpadded=unpadded,
            near=str(tmp_path / "test.py"),
        )

    assert_holds(compared, bool(unpadded))


MASKED = """
class Masked:
    def __call__(self, x, bias=None, mask=None):
        if mask is not None:
            assert mask.shape[-1] == x.shape[-1]
            x = jnp.where(mask, x, 0.0)
        return x if bias is None else x + bias
"""


class Masked(Double):
    """Has two inputs that may be left out."""

    @staticmethod
    def fwd(
        x,
        trainables,
        non_trainables,
        hyperparams,
        inference_mode=False,
        bias=None,
        mask=None,
    ):
        x = x if mask is None else jnp.where(mask, x, 0.0)
        return x if bias is None else x + bias, ()


class Unmasked(Masked):
    """Takes no notice of one of them."""

    @staticmethod
    def fwd(
        x,
        trainables,
        non_trainables,
        hyperparams,
        inference_mode=False,
        bias=None,
        mask=None,
    ):
        return Masked.fwd(x, trainables, non_trainables, hyperparams, bias=bias)


def compare_given(
    folder: Path,
    layer: type,
    given: str,
    side: int = 3,
    mapped: int = 0,
    code: str = MASKED,
):
    (folder / "code.py").write_text("import jax.numpy as jnp\n" + code)
    assert_parity(
        layer,
        Original("code.py", "Masked", "plain"),
        hyperparameters={},
        inputs={"x": (2, 3)},
        booleans=("mask",),
        optional={"bias": (2, 3), "mask": (2, side)},
        given=given,
        mapped=mapped,
        near=str(folder / "test.py"),
    )


@pytest.mark.parametrize("given", ["", "bias", "mask"])
def test_what_may_be_left_out_is_given_to_both(tmp_path: Path, given: str):
    compare_given(tmp_path, Masked, given)
    compare_given(tmp_path, Masked, given, mapped=1)
    assert_holds(lambda: compare_given(tmp_path, Unmasked, given), given != "mask")


def test_what_the_original_refuses_of_it_is_told(tmp_path: Path):
    with pytest.raises(AssertionError, match="Masked refuses mask as the definition"):
        compare_given(tmp_path, Masked, "mask", side=2)


def test_what_the_original_takes_beside_others_alone_is_not_compared(tmp_path: Path):
    line = "if mask is not None:"
    code = MASKED.replace(line, f"{line}\n            bias = bias + 0")
    with pytest.raises(pytest.skip.Exception, match="takes mask beside others alone"):
        compare_given(tmp_path, Masked, "mask", code=code)


SPARED = """
class Masked:
    def __call__(self, x, bias=None, mask=None):
        assert mask is None or (mask.any(-1).all() and not mask.all(-1).any())
        x = x if mask is None else jnp.where(mask, x, 0.0)
        return x if bias is None else x + bias
"""


def test_rows_of_masks_hold_both_as_masks_of_either_kind_need_it(tmp_path: Path):
    compare_given(tmp_path, Masked, "mask", code=SPARED)
