"""A broken claim is told with the spec's line and the smallest case, and programs are the same or are not."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from mlax import graph
from mlax.nn import dropout as Dropout
from mlax.nn import linear as Linear
from mlax_scaffold.testing import key_claims, layer_claims, layer_refusals
from mlax_scaffold.testing.alike import SizesAlike, alike
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim, Contract, claims, examples
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.domains import Undefined
from mlax_scaffold.testing.fitting import hyperparams_of, known
from mlax_scaffold.testing.kinds import layer
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.picks import Unfit
from mlax_scaffold.testing.programs import (
    Program,
    assert_same_programs,
    assert_same_rules,
    shown,
)
from mlax_scaffold.testing.strategies import (
    booleans,
    choices,
    size_sequences,
    sizes,
)
from mlax_scaffold.testing.tried import Tried

SPEC = find_spec("mlax_scaffold/specs/nn/linear.py", near=__file__)


def contract(fwd=Linear.fwd, init=Linear.init, requirements=()):
    """The contract of Linear, with another `fwd` or `init`, and what these may refuse."""
    module = SimpleNamespace(init=init, fwd=fwd)

    @layer("Linear", SPEC, init, creates=True)
    def cases(pick):
        hyperparameters = {
            "in_features": pick("in_features", sizes()),
            "out_features": pick("out_features", sizes()),
            "use_bias": pick("use_bias", booleans()),
            "precision": None,
            "transposed_kernel": False,
            "dot_general": jax.lax.dot_general,
        }
        shapes = shapes_of(
            pick,
            {"x": "*batch in_features"},
            known(hyperparams_of(module, hyperparameters, requirements)),
        )
        return Case.of_layer(
            "Linear",
            module,
            graph.Linear,
            hyperparameters,
            requirements=requirements,
            shapes=shapes,
            x=shapes.array("x"),
            y=shapes.expected("*batch out_features"),
            keys=2,
        )

    return cases


def broken(claim, **changed):
    with pytest.raises(AssertionError) as error:
        contract(**changed).keep(Claim(claim))
    return str(error.value)


def forgets_the_bias(x, trainables, *args, **kwargs):
    y, state = Linear.fwd(x, trainables, *args, **kwargs)
    return (
        y if trainables.bias is None else y - trainables.bias.astype(y.dtype)
    ), state


def test_it_says_the_line_and_the_smallest_case():
    told = broken(layer_claims.compute_what_the_spec_says, fwd=forgets_the_bias)
    line = SPEC.path.read_text().split("class Linear")[0].count("\n") + 1
    assert (
        f"{shown(SPEC.path)}:{line}: Linear is claimed to compute what the spec says"
        in told
    )
    case, rest = told.split("The smallest case is that of ")[1].split("; all else is ")
    assert "use_bias=True" in case
    assert "features=" not in case
    # What has nothing to do with it is told, too: who reads it can make the case.
    assert rest.startswith("the simplest: in_features=1, out_features=1, ")


def test_it_is_told_without_the_way_to_it():
    filtering = jax.config.jax_traceback_filtering  # pyright: ignore
    [kept] = claims(contract(fwd=forgets_the_bias))[0].values
    with pytest.raises(AssertionError, match="y is computed in another way") as error:
        kept()
    assert jax.config.jax_traceback_filtering == filtering  # pyright: ignore
    assert error.value.__suppress_context__
    shown = [entry.name for entry in error.traceback.filter(error)]
    assert shown == ["test_it_is_told_without_the_way_to_it"]


def test_it_says_where_programs_part():
    def negative(x, *args, **kwargs):
        return Linear.fwd(-x, *args, **kwargs)

    told = broken(layer_claims.compute_what_the_spec_says, fwd=negative)
    assert f"First differs `dot_general` of {shown(SPEC.path)}:" in told


def test_init_makes_what_the_spec_makes():
    @functools.wraps(Linear.init)
    def other(key, *args, **kwargs):
        return Linear.init(jax.random.fold_in(key, 1), *args, **kwargs)

    @functools.wraps(Linear.init)
    def swapped(*args, kernel_initializer=None, bias_initializer=None, **kwargs):
        given = {
            "kernel_initializer": bias_initializer,
            "bias_initializer": kernel_initializer,
        }
        return Linear.init(*args, **kwargs, **{n: v for n, v in given.items() if v})

    claim = layer_claims.create_what_the_spec_declares
    assert "init, weights and state" in broken(claim, init=other)
    contract(init=swapped).keep(Claim(claim))
    claim = layer_claims.take_an_initializer_for_each_weight
    assert "init, weights and state" in broken(claim, init=swapped)


def test_inputs_that_do_not_fit_are_refused():
    def any_rank(x, *args, **kwargs):
        return Linear.fwd(x.reshape(-1, x.shape[-1]), *args, **kwargs)

    def any_kind(x, *args, **kwargs):
        return Linear.fwd(x.astype(jnp.float32), *args, **kwargs)

    def silent(x, trainables, *args, **kwargs):
        return x @ trainables.kernel.astype(x.dtype), None

    assert "Linear fails with x of ()" in broken(
        layer_refusals.refuse_other_shapes, fwd=any_rank
    )
    assert "Linear takes x of int32" in broken(
        layer_refusals.refuse_other_kinds, fwd=any_kind
    )

    def of_another(x, *args, **kwargs):
        try:
            return Linear.fwd(x, *args, **kwargs)
        except ValueError as error:
            raise ValueError(f"Linear > {error}") from error

    for call in (silent, of_another):
        assert "which does not say that it is an input of its own" in broken(
            layer_refusals.refuse_other_shapes, fwd=call
        )


def test_what_is_refused_is_refused_by_the_spec():
    def odd(x, *args, **kwargs):
        if x.shape[-1] % 2:
            raise ValueError("Linear: the width must be even")
        return Linear.fwd(x, *args, **kwargs)

    @functools.wraps(Linear.init)
    def narrow(key, in_features, out_features, **kwargs):
        if out_features > 1:
            raise ValueError("Linear: the width must be even")
        return Linear.init(key, in_features, out_features, **kwargs)

    for changed, told in (
        ({"fwd": odd}, "the spec takes what is refused: Linear: the width must be"),
        ({"init": narrow}, "the spec takes in_features="),
    ):
        refusing = contract(requirements=("the width must be even",), **changed)
        with pytest.raises(AssertionError, match=told):
            _ = refusing.covering


def test_weights_that_are_refused_are_those_of_the_spec():
    @functools.wraps(Linear.init)
    def wide(key, in_features, out_features, **kwargs):
        weights, state, hyperparams = Linear.init(
            key, in_features + 1, out_features, **kwargs
        )
        return weights, state, dataclasses.replace(hyperparams, in_features=in_features)

    def fits(x, trainables, *args, **kwargs):
        if trainables.kernel.shape[0] != x.shape[-1]:
            raise ValueError("Linear: the width must be that of the kernel")
        return Linear.fwd(x, trainables, *args, **kwargs)

    requirements = ("the width must be that of the kernel",)
    refusing = contract(fwd=fits, init=wide, requirements=requirements)
    with pytest.raises(AssertionError, match=r"init, weights and state.*kernel is"):
        _ = refusing.covering


def test_a_key_is_asked_for_where_the_spec_does():
    def cases(fwd):
        module = SimpleNamespace(init=Dropout.init, fwd=fwd)
        spec = find_spec("mlax_scaffold/specs/nn/dropout.py", near=__file__)

        @layer("Dropout", spec, Dropout.init)
        def cases(pick):
            rate = pick("rate", choices(0.0, 0.5))
            given = {"rate": rate, "broadcast_axis": ()}
            shapes = shapes_of(pick, {"x": "*shape"}, {})
            return Case.of_layer(
                *("Dropout", module, graph.Dropout, given),
                x=shapes.array("x"),
                draws_keys=True,
                trains=True,
            )

        return cases

    def always(x, *args, key=None, **kwargs):
        if not kwargs["inference_mode"] and key is None:
            raise ValueError("Dropout needs a key")
        return Dropout.fwd(x, *args, key=key, **kwargs)

    def never(x, *args, key=None, **kwargs):
        return Dropout.fwd(
            x, *args, key=key if key is not None else jax.random.key(0), **kwargs
        )

    claim = Claim(key_claims.ask_for_a_key_where_the_spec_does)
    cases(Dropout.fwd).keep(claim)
    with pytest.raises(AssertionError, match="which the spec does not need"):
        cases(always).keep(claim)
    with pytest.raises(AssertionError, match="the spec asks for a key, and fwd does"):
        cases(never).keep(claim)


def test_it_is_compiled_and_mapped():
    calls = []

    def counts(x, *args, **kwargs):
        calls.append(x)
        y, state = Linear.fwd(x, *args, **kwargs)
        return y + len(calls), state

    def unmapped(x, *args, **kwargs):
        y, state = Linear.fwd(x, *args, **kwargs)
        struct = jax.ShapeDtypeStruct(y.shape, y.dtype)
        return jax.pure_callback(lambda y: y, struct, y), state

    claim = layer_claims.compute_the_same_compiled_and_mapped
    contract().keep(Claim(claim))
    assert "compiled: y is computed in another way" in broken(claim, fwd=counts)
    with pytest.raises(NotImplementedError, match="vmap"):
        claim(contract(fwd=unmapped).covering[0][0])


def test_claims_and_examples_are_of_a_contract():
    names = [parameter.id for parameter in claims(contract())]
    assert names[:2] == ["compute_what_the_spec_says", "keep_the_dtype"]
    assert len(set(names)) == len(names)
    assert examples(contract()) is not None


def test_the_cases_of_one_definition_are_kept():
    first, second = contract(), contract()
    of_another = find_spec("mlax_scaffold/specs/nn/dropout.py", near=__file__)
    other = dataclasses.replace(contract(), spec=of_another)
    cases = first.covering
    assert first.covering is cases
    assert second.covering
    assert first.covering is cases
    assert other.covering
    assert "covering" not in {*vars(first), *vars(second)}
    assert [picked for _, picked in first.covering] == [picked for _, picked in cases]


X = jax.ShapeDtypeStruct((3,), jnp.float32)


def same(first, second):
    assert_same_programs(
        Program.of(first, X),
        Program.of(second, X),
        lambda: [jnp.asarray([1.0, -2.0, 3.0])],
        jnp.float32,
        what="it",
    )


def test_programs_that_are_the_same():
    same(lambda x: x[0:3] + 1, lambda x: 1 + jax.lax.optimization_barrier(x))
    same(lambda x: x * 2 + jnp.sin(x), lambda x: jnp.sin(x) + 2 * x)


def test_programs_that_give_the_same_in_another_way_are_not():
    with pytest.raises(AssertionError, match="computed in another way") as error:
        same(lambda x: jnp.sum(x * x), lambda x: jnp.dot(x, x))
    assert "First differs `mul` of" in str(error.value)
    assert "In its place stands `dot_general` of" in str(error.value)


def called_back(x):
    return jax.pure_callback(lambda x: x, X, x, vmap_method="sequential")


def test_values_decide_where_a_program_calls_python():
    same(called_back, lambda x: called_back(called_back(x)))
    # Large values show it.
    with pytest.raises(AssertionError, match="it differs at"):
        same(called_back, lambda x: jnp.minimum(called_back(x), 100.0))


def test_gradients_of_a_program():
    program = Program.of(lambda x, y: (x * y, y), X, X)
    gradient = program.gradient([0], 1)
    assert [v.shape for v in jax.tree.leaves(gradient.out)] == [(3,)] * 3


def with_rule(rule, nested=False):
    @jax.custom_jvp
    def sine(x):
        return jnp.sin(x)

    sine.defjvp(rule)

    def run(x):
        if nested:
            return jax.lax.scan(lambda c, y: (c + sine(y), c), 0.0, x)
        return sine(2 * x)

    return Program.of(run, X)


@pytest.mark.parametrize("nested", [False, True])
def test_derivatives_of_their_own_are_compared(nested):
    def cosine(primals, tangents):
        return jnp.sin(primals[0]), jnp.cos(primals[0]) * tangents[0]

    def another(primals, tangents):
        return jnp.sin(primals[0]), 2 * jnp.cos(primals[0]) * tangents[0]

    def with_another_result(primals, tangents):
        return jnp.cos(primals[0]), jnp.cos(primals[0]) * tangents[0]

    expected = with_rule(cosine, nested)
    assert_same_rules(expected, with_rule(cosine, nested), what="it")
    for rule in another, with_another_result:
        other = with_rule(rule, nested)
        assert_same_programs(expected, other, list, jnp.float32, what="it")
        with pytest.raises(AssertionError, match="derivative is computed in another"):
            assert_same_rules(expected, other, what="it")


def test_a_case_in_which_a_spec_is_not_defined_is_none():
    tried = []

    def check(situation):
        tried.append(situation)
        if len(tried) < 3:
            raise Undefined("it is not finite")

    contract().keep(Claim(check, among="one"))
    assert len(tried) == 3


def test_a_spec_is_defined_in_some_case():
    def check(situation):
        raise Undefined("it is not finite")

    with pytest.raises(AssertionError, match="it is not finite"):
        contract().keep(Claim(check, among="every option"))


def in_order(pick, other="heads", require=False):
    """A case of a layer in which `features` has to be as large as something else."""
    features, heads = pick("features", sizes()), pick(other, sizes())
    pick("bias", booleans())
    if features != heads:
        name = "Linear" if require else "Linear > Norm"
        raise Unfit from ValueError(f"{name}: x must have {heads} channels")
    return features


def covered(make):
    found = Contract("Linear", SPEC, make, (), Claim(lambda situation: None))
    return found.covering


class Sequences(NamedTuple):
    """What a layer has whose sequences have to be of a certain length each."""

    defaults: Mapping[str, Any]


class SequencesSpec(NamedTuple):
    path: Path
    defaults: Mapping[str, Any]

    def load(self) -> Any:
        return SimpleNamespace(_fields_=Sequences(self.defaults))


@pytest.mark.parametrize("heads", [1, 5])
def test_defaults_are_held_where_no_other_sequences_fit(heads):
    def make(pick):
        found = pick("ranks", size_sequences()), pick("heads", sizes())
        if len(found[0]) != 3 or (heads == 5 and found[1] != heads):
            raise Unfit from ValueError("one rank per mode")
        return found

    spec: Any = SequencesSpec(SPEC.path, {"ranks": (2, 3, 4), "heads": heads})
    contract = Contract("Linear", spec, make, (), Claim(lambda situation: None))
    found = [situation for situation, _ in contract.covering]
    assert {ranks for ranks, _ in found} == {(2, 3, 4)}
    assert (len({heads for _, heads in found}) > 1) == (heads == 1)
    entry = Contract("Linear.entry", spec, make, (), contract.property, contract)
    assert [situation for situation, _ in entry.covering] == found


def test_sizes_that_are_never_unlike_are_warned_of():
    with pytest.warns(SizesAlike) as caught:
        assert covered(in_order)
    [warning] = caught
    said = str(warning.message)
    assert f"{shown(SPEC.path)}:" in said
    assert "Linear takes `features` and `heads` only where they are the same" in said
    assert "else: Linear > Norm: x must have" in said
    assert '`require(features == heads, "...")`' in said


def test_sizes_that_are_meant_to_be_alike_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert covered(functools.partial(in_order, require=True))
        assert covered(functools.partial(in_order, other="features"))
        assert covered(lambda pick: (pick("features", sizes()), pick("heads", sizes())))


def test_unlike_sizes_that_no_case_happens_to_have_are_not_warned_of():
    def seldom(pick):
        pair = pick("features", sizes()), pick("heads", sizes())
        if pair[0] % pair[1]:
            raise Unfit from ValueError("Linear > Norm: heads must divide features")
        return pair

    cases = [{"features": n, "heads": n} for n in (1, 2, 3, 7)]
    assert not [*alike(seldom, cases, "Linear")]


def masked(pick, *, like="batch"):
    """An array of two axes times a mask of one, which is that of its last axis."""
    several = choices(1, 2, 3)
    sizes_of = {n: pick(f"size of {n}", several) for n in ("batch", "width")}
    if pick("mask is given", booleans()):
        try:
            jnp.broadcast_shapes(tuple(sizes_of.values()), (sizes_of[like],))
        except ValueError as error:
            raise Unfit from error
    return sizes_of


def test_axes_that_are_alike_where_an_input_is_given_are_warned_of():
    with pytest.warns(SizesAlike) as caught:
        assert covered(masked)
    said = str(caught[0].message)
    assert (
        "takes `batch` and `width` only where they are the same, if mask is given"
        in said
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert covered(functools.partial(masked, like="width"))


def optional(pick, *, mode="full", requires=False):
    """A layer one of whose modes fails, and that refuses its mask."""
    size = pick("size", sizes())
    if pick("mode", choices("none", "full", "half")) == mode:
        try:
            if requires:
                raise ValueError("Linear: no half modes")
            jnp.reshape(jnp.zeros(size), (8, 9))
        except (TypeError, ValueError) as error:
            raise Unfit from error
    if pick("mask is given", booleans()) and mode == "":
        raise Unfit from ValueError("mask must have shape (batch,)")
    return size


def test_an_option_that_no_case_takes_is_told():
    with pytest.raises(AssertionError, match="no case is taken in which mode='full'"):
        covered(optional)
    # What it refuses itself is meant; other values are taken.
    assert covered(functools.partial(optional, requires=True))
    assert covered(functools.partial(optional, mode="other"))


def test_an_input_that_no_case_takes_is_told():
    with pytest.warns(SizesAlike, match="no case is taken in which mask is given"):
        assert covered(functools.partial(optional, mode=""))


def test_an_option_that_a_case_has_by_chance_alone_is_looked_for():
    def make(pick):
        size, deep = pick("size", sizes()), pick("deep", booleans())
        if deep and size != 7:
            raise Unfit from ValueError("Linear: deep must have seven")
        return size, deep

    assert {deep for (_, deep), _ in covered(make)} == {True, False}


def test_a_definition_with_an_option_that_fails_is_not_refused_always():
    def make(pick):
        if pick("size", sizes()) == 1:
            raise Unfit from ValueError("Linear: size must be larger")
        return optional(pick)

    contract = Contract("Linear", SPEC, make, (), Claim(lambda situation: None))
    with pytest.raises(AssertionError, match="mode='full'"):
        assert contract.covering
    assert Tried("").refused(contract) is None
