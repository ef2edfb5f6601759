"""Faults are found in syntax trees, chosen by a seed, and planted into code that was imported."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from types import ModuleType

import pytest
from tests.benchmarks.faults.__main__ import choose, report
from tests.benchmarks.faults.mutations import faults, planted
from tests.benchmarks.faults.planting import NotPlanted, items, plant

SOURCE = '''"""A module."""

import jax.numpy as jnp


def fwd(x, hyperparams, keys, non_trainables):
    """Says 1 + 1."""
    if x.ndim < 2 or x.shape[-1] != 3:
        raise ValueError("expected 1 + 1")
    y = (x + 1).astype(x.dtype) * hyperparams.scale
    y = dropout(y, keys[1], axis=-1)
    return y, non_trainables._replace(mean=jnp.asarray(y, jnp.float32))


class Hyperparams:
    """Hyperparameters."""

    def apply(self, x):
        return x + 1

    def first(self, x):
        return x - 1
'''


def found():
    return [(fault.kind, fault.before, fault.after) for fault in faults("m", SOURCE)]


def test_faults_of_every_kind():
    assert {kind for kind, *_ in found()} == {
        *("operator", "operand", "sign", "cast", "constant", "condition"),
        *("key", "state", "dtype", "axis"),
    }
    assert ("operator", "x + 1", "x - 1") in found()
    assert ("condition", "x.ndim < 2", "x.ndim <= 2") in found()
    assert ("cast", "(x + 1).astype(x.dtype)", "x + 1") in found()
    assert ("key", "keys[1]", "keys[0]") in found()
    assert (
        "axis",
        "axis=-1",
        "axis=0",
    ) not in found()  # a negative number is no constant


def test_what_an_error_says_is_not_changed():
    assert not any("expected" in before for _, before, _ in found())
    assert not any("Says" in before for _, before, _ in found())
    assert {f.function for f in faults("m", SOURCE)} == {"fwd", "first"}


def test_each_fault_changes_one_place():
    whole = ast.dump(ast.parse(SOURCE))
    every = list(faults("m", SOURCE))
    changed = [ast.dump(planted(SOURCE, fault.index)) for fault in every]
    assert whole not in changed
    for fault in every:
        text = ast.unparse(planted(SOURCE, fault.index))
        assert ast.parse(text)
    with pytest.raises(IndexError):
        planted(SOURCE, len(every))


def test_a_fault_is_planted_into_what_was_imported():
    source = "def f(x):\n    return x + 1\n\n\nclass C:\n    def g(self, x):\n        return x - 1\n"
    module = ModuleType("planted_module")
    exec(compile(source, "m", "exec"), vars(module))
    function, instance = module.f, module.C()
    for fault in faults("m", source):
        if fault.kind == "operator":
            plant(module, planted(source, fault.index))
            assert (function(2), instance.g(2)) == (
                (1, 1) if fault.function == "f" else (3, 3)
            )


DECORATED = """
import functools

def scoped(function):
    @functools.wraps(function)
    def run(*args):
        return function(*args)
    return run

@scoped
def f(x, scale=2):
    return x + scale

class C:
    @functools.cached_property
    def g(self):
        return 3 - 1

    @property
    def h(self):
        return 3 * 1

    @staticmethod
    def k():
        return 6 - 1
"""


def decorated():
    module = ModuleType("decorated_module")
    exec(compile(DECORATED, module.__name__, "exec"), vars(module))
    return module


def test_a_fault_is_planted_below_decorators():
    before = {"f": 3, "g": 2, "h": 3, "k": 5}
    after = {"f": -1, "g": 4, "h": 3.0, "k": 7}
    planted_ones = set()
    for fault in faults("m", DECORATED):
        if fault.kind == "operator":
            module = decorated()
            plant(module, planted(DECORATED, fault.index))
            c = module.C()
            results = {"f": module.f(1), "g": c.g, "h": c.h, "k": c.k()}
            assert results == {**before, fault.function: after[fault.function]}
            planted_ones.add(fault.function)
    assert planted_ones == set(before)


def test_a_fault_that_cannot_be_planted_is_not_taken_for_one_that_was_caught():
    module = decorated()
    vars(module)["f"] = functools.partial(int, "1")
    with pytest.raises(NotPlanted, match="decorated_module: f is"):
        plant(module, planted(DECORATED, 0))


def test_a_default_is_planted_below_decorators():
    module = decorated()
    [fault] = [f for f in faults("m", DECORATED, "other") if f.kind == "default"]
    plant(module, planted(DECORATED, fault.index, "other"))
    assert module.f(1) == 4


OTHER = """
def fwd(x, keys, non_trainables, training=False):
    h = lax.stop_gradient(power(x, 2))
    if training:
        h = jnp.maximum(h, bernoulli(keys[0]))
    else:
        h = h - x
    for i in range(3):
        h = h if i < 2 else jnp.sum(h, axis=-1)
    return h, non_trainables._replace(mean=h.mean())
"""


def test_other_operators():
    found = {(f.kind, f.before, f.after) for f in faults("m", OTHER, "other")}
    assert {
        ("default", "False", "True"),
        ("swap", "power(x, 2)", "power(2, x)"),
        ("swap", "h - x", "x - h"),
        ("statement", "h = h - x", "pass"),
        ("branch", "h if i < 2 else jnp.sum(h, axis=-1)", "h"),
        ("gradient", "lax.stop_gradient(power(x, 2))", "power(x, 2)"),
        ("reuse", "keys[0]", "keys[1]"),
        ("stale", "mean=h.mean()", "mean=non_trainables.mean"),
        ("number", "2", "1"),
        ("direction", "i < 2", "i > 2"),
        ("loop", "range(3)", "range(3 - 1)"),
        ("axis", "axis=-1", "axis=0"),
        ("name", "x", "h"),
    } <= found
    function = (
        "jnp.maximum(h, bernoulli(keys[0]))",
        "jnp.minimum(h, bernoulli(keys[0]))",
    )
    assert ("function", *function) in found
    assert not {f.kind for f in faults("m", OTHER)} & {"default", "swap", "name"}


def test_kinds_are_chosen_alike_and_by_the_seed():
    every = [
        (item, fault)
        for item in list(items())[::20]
        for fault in faults(item.name, item.source)
    ]
    chosen = choose(every, 60, seed=1)
    there = Counter(fault.kind for _, fault in every)
    kinds = Counter(fault.kind for _, fault in chosen)
    assert len(chosen) == 60
    most = max(kinds.values())
    assert all(kinds[kind] in (most, most - 1, there[kind]) for kind in there)
    assert chosen == choose(every, 60, seed=1) != choose(every, 60, seed=2)


def result(verdict, kind="sign", item="nn/linear", reason=""):
    return {
        "fault": f"{item} {kind}",
        "item": item,
        "kind": kind,
        "verdict": verdict,
        "reason": reason,
    }


def test_what_is_enough(capsys: pytest.CaptureFixture[str]):
    caught = [result("caught")] * 97
    assert report([*caught, *[result("survived")] * 3])
    assert not report([*caught, *[result("survived")] * 4])
    assert not report([*caught, *[result("too slow")] * 4])
    assert not report([*caught, result("survived", kind="key")])
    assert not report([*caught, result("survived", item="nn/bias")])
    assert report([*caught, result("survived", reason="the same")])
    assert "below 80%: nn/bias" in capsys.readouterr().out
