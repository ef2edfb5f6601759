"""`generate --impact`: what a change means to who uses what is generated."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.errors import UsageError
from mlax_scaffold.project.hunks import groups
from mlax_scaffold.project.public import signature_changes
from mlax_scaffold.testing._same import Numbering
from mlax_scaffold.testing.impact import difference, trace


def git(*arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *name, *arguments], check=True, capture_output=True)


def test_what_breaks_calls_checkpoints_and_numbers(generated: ProjectFolder):
    """In the files as they are, and since a revision once it is generated."""
    git("init", "-q", ".")
    git("add", "-A")
    git("commit", "-qm", "one")
    nothing = generated.json("generate", "--impact")
    assert nothing["changes"] == nothing["behaviours"] == nothing["signatures"] == []
    assert nothing["compared"] == 0
    spec = generated.text("specs/nn/scale.py")
    spec = spec.replace("(self.features,)", "(self.features, 1)")
    spec = spec.replace("x * self.weight ", "x * self.weight[:, 0] ")
    spec = spec.replace(
        "    features: Size", "    shift: float  #: unused\n    features: Size"
    )
    generated.write("specs/nn/scale.py", spec)
    twice = generated.text("specs/nn/twice.py").replace("Scale(self", "Scale(1.0, self")
    generated.write("specs/nn/twice.py", twice)
    before = generated.files()
    shown = generated.ok("generate", "--impact")
    assert generated.files() == before
    init = "(key: jax.Array, shift: float, features: int, "
    assert "  mynet.nn.scale.init\n    - (key: jax.Array, features: int, " in shown
    assert f"    + {init}" in shown
    assert "breaks calls: parameter was added as required: shift" in shown
    assert "nn.Scale: trainables/weight is float32[4, 1], was float32[4]" in shown
    assert "nn.Twice: trainables/first/weight is float32[4, 1]" in shown
    assert (
        "\nCalls break: mynet.graph.nn.scale.Scale.__init__, mynet.nn.scale.init\n"
        in shown
    )
    assert "\nCheckpoints do not fit: nn.Scale, nn.Twice\n" in shown
    assert "\nSeeds give the same weights.\nKeys are drawn from as before.\n" in shown
    assert "Compared: 2 definitions that the change can reach.\n" in shown
    assert "Not compared" not in shown
    generated.ok("generate", "--quiet")
    assert generated.json("generate", "--impact")["changes"] == []
    since = generated.json("generate", "--impact", "--since", "HEAD")
    assert since["since"] == "HEAD"
    found = {b["reference"]: b for b in since["behaviours"]}
    weight = {"trainables/weight": ["float32[4]", "float32[4, 1]"]}
    assert found["nn.Scale"]["leaves"] == weight
    assert "mynet/nn/scale.py" in since["updated"]
    assert any(len(change["files"]) > 1 for change in since["changes"])


def test_wrong_revisions(empty: ProjectFolder):
    for arguments, said in (
        (
            ("--impact", "--since", "nothing"),
            '"nothing" is no revision that holds what',
        ),
        (("--since", "HEAD"), "--since goes with --impact"),
    ):
        result = empty.run("generate", *arguments)
        assert result.exit_code == 2
        assert said in result.stderr


def test_griffe_is_an_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "griffe", None)
    with pytest.raises(UsageError, match=r"pip install \"mlax-scaffold\[impact\]\""):
        signature_changes({}, {})


BODY = """\
import jax, jax.numpy as jnp

class Noise:
    @staticmethod
    def init(key, size):
        return jax.random.normal(key, (size,)), None, size
    @staticmethod
    def fwd(x, trainables, non_trainables, hyperparams, key=None):
        kept = jax.random.bernoulli(key, 0.5, x.shape)
        return jnp.where(kept, x * trainables, 0.0), non_trainables
"""
EXAMPLE = """\
import jax
import jax.numpy as jnp
from own import nn

key = jax.random.key(0)
trainables, non_trainables, hyperparams = nn.Noise.init(key, 3)
x = jnp.ones((2, 3))
y, _ = nn.Noise.fwd(x, trainables, non_trainables, hyperparams, key=jax.random.key(1))
assert y.shape == (2, 3)
"""


def of(old: str, new: str) -> dict:
    """What is told of the layer when its text changes so."""
    assert old in BODY
    numbering = Numbering()
    sides = []
    for text in (BODY, BODY.replace(old, new)):
        names: dict = {}
        exec(text, names)
        sides.append(
            trace("nn.Noise", EXAMPLE, {"nn": type("nn", (), names)}, numbering)
        )
    return difference(*sides)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("x * trainables", "trainables * 1 * x * (3 - 2)", ["results"]),
        ("return jax", "size = size + 0\n        return jax", []),
        ("kept, x * trainables", "kept, jax.jit(jnp.multiply)(x, trainables)", []),
        ("random.normal(key", "random.uniform(key", ["created"]),
        ("normal(key, (size,))", "normal(key, (size, 1))[:, 0]", ["created"]),
        ("(size,)), None", "(size,), 'bfloat16'), None", ["leaves", "results"]),
        ("bernoulli(key", "bernoulli(jax.random.fold_in(key, 0)", ["draws", "results"]),
        ("key, 0.5", "key, 0.25", ["results"]),
    ],
)
def test_what_is_told_of_a_definition(old: str, new: str, told: list[str]):
    """Seeds by what `init` computes, keys by what a step draws, numbers by its operations."""
    assert sorted(of(old, new)) == told


def test_a_derivative_of_its_own_is_a_number():
    rule = (
        "@jax.custom_jvp\ndef product(x, y):\n    return x * y\n"
        "@product.defjvp\ndef _(xs, ts):\n"
        "    return product(*xs), {} * ts[0] * xs[1] + xs[0] * ts[1]\n"
    )
    numbering = Numbering()
    sides = []
    for factor in ("1.0", "2.0"):
        names: dict = {}
        text = BODY.replace("class Noise", rule.format(factor) + "class Noise")
        exec(text.replace("x * trainables", "product(x, trainables)"), names)
        sides.append(
            trace("nn.Noise", EXAMPLE, {"nn": type("nn", (), names)}, numbering)
        )
    found = difference(*sides)
    assert list(found) == ["results"]
    assert all(name.startswith("derivative") for name in found["results"])


def test_one_change_is_told_once_whatever_the_definition_is_called():
    old = {
        p: f'"""{n}."""\nclass {n}Weights:\n    pass\n\n\nx = 1\n'
        for p, n in NAMES.items()
    }
    new = {p: t.replace("Weights:", "Trainables:") for p, t in old.items()}
    new["b.py"] = new["b.py"].replace("x = 1", "x = 2")
    first, second = groups(old, new, {p: (n,) for p, n in NAMES.items()})
    assert first.files == ("a.py", "b.py", "c.py")
    assert first.lines == 1
    assert first.hunks[0].removed == ("class LinearWeights:",)
    assert second.files == ("b.py",)
    assert (second.hunks[0].line, second.hunks[0].added) == (6, ("x = 2",))
    assert len(groups(old, new, {})) == 4


NAMES = {"a.py": "Linear", "b.py": "Conv", "c.py": "Scale"}


def test_a_method_that_a_base_has_now_is_not_gone():
    old = {"m.nn.a": "class Base: ...\nclass A(Base):\n    def f(self): ...\n"}
    new = {"m.nn.a": "class Base:\n    def f(self): ...\nclass A(Base): ...\n"}
    assert [c.name for c in signature_changes(old, new)] == ["m.nn.a.Base.f"]
    [gone] = signature_changes(new, {"m.nn.a": "class A: ...\n"})
    assert (gone.name, gone.breaks) == ("m.nn.a.Base.f", ("it is gone",))


def test_public_signatures_are_those_that_packages_offer():
    old = {
        "m": "",
        "m.nn": "",
        "m.nn.linear": "def init(key, a: int, *, b=1) -> int: ...\ndef _own(a): ...\n",
        "m._core": "",
        "m._core.trees": "def apply(x): ...\ndef inner(x): ...\n",
        "m.optim": "from m._core.trees import apply\n",
        "m.optim.adam": "from m._core.trees import inner\ndef step(g): ...\n",
    }
    new = {
        **old,
        "m.nn.linear": "def init(key, a: int = 2, *, c) -> int: ...\ndef _own(): ...\n",
        "m._core.trees": "def apply(x, y): ...\ndef inner(x, y): ...\n",
    }
    del new["m.optim.adam"]
    found = {c.name: c for c in signature_changes(old, new)}
    assert sorted(found) == [
        "m._core.trees.apply",
        "m.nn.linear.init",
        "m.optim.adam.step",
    ]
    init = found["m.nn.linear.init"]
    assert init.before == "(key, a: int, *, b = 1) -> int"
    assert init.after == "(key, a: int = 2, *, c) -> int"
    assert "parameter was removed: b" in init.breaks
    assert "parameter was added as required: c" in init.breaks
    assert found["m.optim.adam.step"].breaks == ("it is gone",)
