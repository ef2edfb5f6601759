"""What the code of a spec refuses, and no requirement tells, is no case of the tests of one's own project."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from handmade_layers import situation as situation_of
from hypothesis import given

from mlax import graph
from mlax.nn import linear as Linear
from mlax_scaffold.testing import layer_claims
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim, examples
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.dtypes import x64
from mlax_scaffold.testing.fitting import hyperparams_of, known
from mlax_scaffold.testing.kinds import layer, schedule
from mlax_scaffold.testing.oracle import Spec, assert_spec_creates, find_spec
from mlax_scaffold.testing.picks import Unfit
from mlax_scaffold.testing.profiles import each_dtype
from mlax_scaffold.testing.schedule import (
    compute_what_the_spec_says,
    take_integers_and_arrays,
)
from mlax_scaffold.testing.strategies import choices, probabilities, sizes

SPEC = find_spec("mlax_scaffold/specs/nn/linear.py", near=__file__)


def contract(*, unsaid: bool, fwd=Linear.fwd, shape="batch width", least=1, result=""):
    """The contract of Linear, as if its input had any shape, and its sizes any number from `least` on."""
    module = SimpleNamespace(init=Linear.init, fwd=fwd)

    @layer("Linear", SPEC, Linear.init, creates=True)
    def cases(pick):
        hyperparameters = {
            "in_features": pick("in_features", choices(*range(least, 3))),
            "out_features": pick("out_features", sizes()),
            "use_bias": True,
            "precision": None,
            "transposed_kernel": False,
            "dot_general": jax.lax.dot_general,
        }
        made = hyperparams_of(module, hyperparameters, unsaid=unsaid)
        shapes = shapes_of(pick, {"x": shape}, known(made), max_size=2)
        return Case.of_layer(
            "Linear",
            module,
            graph.Linear,
            hyperparameters,
            unsaid=unsaid,
            shapes=shapes,
            x=shapes.array("x"),
            y=shapes.expected(result) if result else None,
            keys=2,
        )

    return cases


SAYS = Claim(layer_claims.compute_what_the_spec_says)


def _given(case: Case) -> Mapping[str, Any]:
    assert case.hyperparameters is not None
    return case.hyperparameters


def test_a_shape_that_the_spec_refuses_is_no_case():
    cases = contract(unsaid=True)
    cases.keep(SAYS)
    assert cases.covering
    for situation, _ in cases.covering:
        size = _given(situation.case)["in_features"]
        assert situation.arguments.x.shape[-1:] == (size,)


def test_where_all_is_to_be_said_it_is_an_error():
    with pytest.raises((ValueError, TypeError), match="features"):
        contract(unsaid=False).keep(SAYS)


def test_sizes_that_the_spec_refuses_are_none():
    cases = contract(unsaid=True, shape="*batch in_features", least=-1)
    sizes = {_given(s.case)["in_features"] for s, _ in cases.covering}
    assert sizes == {1, 2}


@pytest.mark.parametrize(("size", "asked"), [(0, 1), ((2, 0), 1), ((2, 1), 0)])
def test_what_has_sizes_below_one_is_made_by_the_spec_first(size, asked, monkeypatch):
    made = []
    monkeypatch.setattr(
        "mlax_scaffold.testing.situation.assert_spec_creates",
        lambda spec, given: made.append(given),
    )
    found, _ = contract(unsaid=True, shape="*batch in_features").covering[0]
    given = {**(found.case.hyperparameters or {}), "sizes": size}
    case = dataclasses.replace(found.case, hyperparameters=given)
    made.clear()
    with contextlib.suppress(Unfit, TypeError):  # Linear has no such field.
        dataclasses.replace(found, case=case).assert_fits()
    assert made == [given] * asked


def test_a_function_is_not_made_of_hyperparameters(tmp_path):
    path = tmp_path / "shifted.py"
    path.write_text(
        "from mlax_scaffold.spec import Float, function\n\n\n@function\n"
        'def shifted(x: Float["n"], *, by: int = -1) -> Float["n"]:\n'
        '    """A spec of a test."""\n    return x + by\n'
    )
    assert_spec_creates(Spec(path, tmp_path), {"by": -1})


@pytest.mark.parametrize("limit", [1, 3])
def test_what_an_optimizer_requires_of_leaves_is_refused_by_its_spec(tmp_path, limit):
    path = tmp_path / "flat.py"
    path.write_text(
        "from mlax_scaffold.spec import Optimizer, Size, require\n\n\n"
        'class Flat(Optimizer):\n    """A spec of a test."""\n\n    limit: Size\n\n'
        "    def setup(self, param):\n"
        '        require(param.ndim <= self.limit, "more axes")\n\n'
        "    def update(self, grad, param):\n        return -grad\n"
    )
    spec, weights = Spec(path, tmp_path), {"w": jnp.zeros((2, 2))}
    assert_spec_creates(spec, {"limit": limit})
    if limit > 1:
        assert_spec_creates(spec, {"limit": limit}, weights)
    else:
        with pytest.raises(Unfit):
            assert_spec_creates(spec, {"limit": limit}, weights)


def test_what_only_the_generated_code_refuses_is_an_error():
    def picky(x, *args, **kwargs):
        if x.ndim == 2:
            raise TypeError("no matrices")
        return Linear.fwd(x, *args, **kwargs)

    with pytest.raises(TypeError, match="no matrices"):
        contract(unsaid=True, fwd=picky, shape="*batch in_features").keep(SAYS)


@pytest.mark.parametrize(
    "message",
    [
        "'LinearHyperparams' object is not callable",
        "sum: x must be a floating array, got bool; cast it first",
    ],
)
def test_what_is_no_matter_of_sizes_is_an_error_whatever_the_spec_does(message):
    def called(x, *args, **kwargs):
        if x.shape[-1:] != args[0].kernel.shape[:1]:  # which the spec refuses
            raise TypeError(message)
        return Linear.fwd(x, *args, **kwargs)

    with pytest.raises(TypeError, match=message[-9:]):
        contract(unsaid=True, fwd=called).keep(SAYS)


def test_what_cannot_be_traced_is_an_error_whatever_the_spec_does():
    def asked(x, *args, **kwargs):
        if x.shape[-1:] != args[0].kernel.shape[:1] and x.sum() > 0:
            raise ValueError
        return Linear.fwd(x, *args, **kwargs)

    with pytest.raises(jax.errors.TracerBoolConversionError):
        contract(unsaid=True, fwd=asked).keep(SAYS)


def test_what_is_refused_in_half_precision_alone_is_an_error():
    def wide(x, *args, **kwargs):
        if x.dtype == jnp.bfloat16:
            raise TypeError("not in half precision")
        return Linear.fwd(x, *args, **kwargs)

    with pytest.raises(TypeError, match="not in half precision"):
        contract(unsaid=True, fwd=wide, shape="*batch in_features").keep(SAYS)


def test_a_number_of_python_is_no_result():
    def summed(x, *args, **kwargs):
        y, state = Linear.fwd(x, *args, **kwargs)
        return (y if x.shape[0] > 1 else 0.0), state

    shape = {"fwd": summed, "shape": "batch in_features"}
    for unsaid, expected in ((True, {2}), (False, {1, 2})):
        cases = contract(unsaid=unsaid, **shape).covering
        assert {(s.case.shapes or {})["x"][0] for s, _ in cases} == expected


def test_what_weights_of_more_axes_stretch_is_no_case():
    def stretched(x, trainables, *args, **kwargs):
        y, state = Linear.fwd(x, trainables, *args, **kwargs)
        return y * jnp.ones((1, 1), y.dtype), state

    given = {"fwd": stretched, "shape": "*batch in_features"}
    given["result"] = "*batch out_features"
    for unsaid, least in ((True, 2), (False, 1)):
        cases = contract(unsaid=unsaid, **given).covering
        assert min(len(s.arguments.x.shape) for s, _ in cases) == least


def test_where_nothing_fits_there_is_nothing_to_claim():
    with pytest.raises(AssertionError, match="no case meets its requirements"):
        contract(unsaid=True, shape="batch 7").keep(SAYS)


def test_what_was_refused_is_not_traced_again():
    traced = []

    def fwd(x, trainables, *others, **inputs):
        given = jax.tree.leaves((x, trainables))
        traced.append(tuple((v.shape, v.dtype.name) for v in given))
        return Linear.fwd(x, trainables, *others, **inputs)

    nothing = contract(unsaid=True, shape="batch 7", fwd=fwd)
    told = []
    for _ in range(2):
        with pytest.raises(AssertionError, match="no case meets its requ") as error:
            _ = nothing.covering
        told.append((len(traced), str(error.value)))
    assert told[0] == told[1]
    assert len(traced) == len(set(traced))


def test_that_nothing_fits_is_said_with_the_reason():
    nothing = contract(unsaid=True, shape="batch 7")

    @each_dtype
    @given(examples(nothing))
    def drawn(example):
        raise NotImplementedError

    for call in (lambda: nothing.keep(SAYS), drawn):
        with pytest.raises(AssertionError, match="no case meets its requ") as error:
            call()
        assert "The simplest one is refused: " in str(error.value)
        assert "give `examples`" in str(error.value)


ROOT = """
from mlax_scaffold.spec import Probability, Schedule


class Root(Schedule):
    share: Probability

    def value(self, step):
        return step * self.share**-0.5
"""


@dataclass(frozen=True)
class Root:
    """What would be generated, or computes something else where `wrong_from` is reached."""

    share: float
    wrong_from: float = 2.0

    def __call__(self, step):
        factor = 3.0 if self.share >= self.wrong_from else self.share**-0.5
        return jnp.asarray(step, jnp.result_type(step, 0.0)) * factor


def roots(folder: Path, *, unsaid: bool, wrong_from: float = 2.0):
    """The contract of Root, whose spec has no value where the share is 0."""
    path = folder / "root.py"
    path.write_text(ROOT, encoding="utf-8")

    @schedule("Root", Spec(path, folder), unsaid=unsaid)
    def cases(pick):
        return Root(pick("share", probabilities()), wrong_from)

    return cases


FOLLOWS = Claim(compute_what_the_spec_says)


def test_numbers_that_a_schedule_has_no_value_for_are_none(tmp_path):
    cases = roots(tmp_path, unsaid=True)
    cases.keep(FOLLOWS)
    shares = {s.schedule.share for s, _ in cases.covering}
    assert 0.0 not in shares
    assert 1.0 in shares
    with pytest.raises(AssertionError, match="cannot be raised to a negative power"):
        roots(tmp_path, unsaid=False).keep(FOLLOWS)


def test_numbers_that_do_not_fit_in_32_bits_are_none(tmp_path):
    text = ROOT.replace("Probability", "Size").replace(
        "step * self.share**-0.5", "step * jnp.asarray(self.share)"
    )
    path = tmp_path / "large.py"
    path.write_text(f"import jax.numpy as jnp\n{text}", encoding="utf-8")

    @dataclass(frozen=True)
    class Large:
        share: int

        def __call__(self, step):
            return jnp.asarray(step, float) * jnp.asarray(self.share)

    @schedule("Root", Spec(path, tmp_path), unsaid=True)
    def cases(pick):
        return Large(pick("share", choices(3, 2**40)))

    cases.keep(Claim(take_integers_and_arrays))
    assert {s.schedule.share for s, _ in cases.covering} == {3}


@pytest.mark.parametrize("wide", [False, True])
def test_integers_are_taken_in_the_default_dtype_that_jax_has(tmp_path, wide):
    with x64() if wide else contextlib.nullcontext():
        roots(tmp_path, unsaid=True).keep(Claim(take_integers_and_arrays))


def test_a_probability_at_its_end_leads_to_the_word_without_it(tmp_path):
    with pytest.raises(AssertionError) as error:
        roots(tmp_path, unsaid=True, wrong_from=1.0).keep(FOLLOWS)
    assert str(error.value).endswith(
        "`share` may be 1: it is a number from 0 to 1. If it has to be below 1, its word is Decay: "
        "`share: Decay`."
    )
    with pytest.raises(AssertionError, match="`share: Fraction`"):
        roots(tmp_path, unsaid=False).keep(FOLLOWS)
    with pytest.raises(AssertionError) as error:
        roots(tmp_path, unsaid=True, wrong_from=0.1).keep(FOLLOWS)
    assert "Decay" not in str(error.value)


def halved(x):
    """A loop of a number of passes that values decide."""
    return jax.lax.while_loop(lambda y: jnp.max(y) > 1.0, lambda y: y / 2.0, x)


def test_a_gradient_that_jax_does_not_have_is_none():
    x = jax.ShapeDtypeStruct((3,), jnp.float32)
    case = Case.of_function(halved, (x,), {})
    assert situation_of(dataclasses.replace(case, unsaid=True)).gradient is None
    with pytest.raises(ValueError, match="Reverse-mode differentiation"):
        _ = situation_of(case).gradient


@pytest.mark.parametrize("unsaid", [True, False])
def test_an_input_that_leaves_nothing_is_no_case(unsaid: bool):
    def halved(x, trainables, non_trainables, hyperparams, *others, **inputs):
        return x[: x.shape[0] // 2], non_trainables

    def made(length: int) -> Case:
        x = jax.ShapeDtypeStruct((length,), jnp.float32)
        init = lambda key, dtype: (None, None, None)  # noqa: E731
        return Case("Halved", init, halved, x=x, y=(1,), unsaid=unsaid)

    situation_of(made(2)).assert_fits()
    with pytest.raises(Unfit) if unsaid else contextlib.nullcontext():
        situation_of(made(1)).assert_fits()
