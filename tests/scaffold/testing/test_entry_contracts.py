"""Entry points of a layer beside `fwd` keep contracts of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import jax.numpy as jnp
import pytest

from mlax import graph
from mlax.nn import embed as Embed
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import claims
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.fitting import hyperparams_of, known
from mlax_scaffold.testing.kinds import entry, layer
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.programs import shown
from mlax_scaffold.testing.strategies import sizes

SPEC = find_spec("mlax_scaffold/specs/nn/embed.py", near=__file__)


def attending(attend=Embed.attend, embed=graph.Embed):
    """The contract of `attend` of Embed, with another function or module."""
    module = SimpleNamespace(init=Embed.init, fwd=Embed.fwd, attend=attend)

    @layer("Embed", SPEC, Embed.init)
    def whole(pick):
        shapes = shapes_of(pick, {"x": "*batch"}, {"entries": 2, "features": 3})
        return Case.of_layer(
            "Embed",
            module,
            embed,
            {"entries": 2, "features": 3},
            shapes=shapes,
            x=shapes.array("x", jnp.int32),
            y=shapes.expected("*batch features"),
            ranges={"x": (0, 2)},
        )

    @entry("attend", whole)
    def cases(pick):
        hyperparameters = {"entries": pick("entries", sizes()), "features": 3}
        given = known(hyperparams_of(module, hyperparameters))
        shapes = shapes_of(pick, {"x": "*batch features"}, given)
        return Case.of_layer(
            "Embed",
            module,
            embed,
            hyperparameters | {"precision": None},
            entry="attend",
            shapes=shapes,
            x=shapes.array("x"),
            y=shapes.expected("*batch entries"),
        )

    return cases


def test_it_holds_and_tells_which_it_is_of():
    contract = attending()
    for claim in claims(contract):
        claim.values[0]()
    [*ids] = (claim.id for claim in claims(contract, attending()))
    assert {"keep_the_dtype", "Embed.attend: keep_the_dtype"} <= {*ids}


def test_faults_are_told_at_its_line():
    def doubled(x, *args, **kwargs):
        return Embed.attend(x + x, *args, **kwargs)

    def wide(x, *args, **kwargs):
        y, state = Embed.attend(x.astype(jnp.float32), *args, **kwargs)
        return y, state

    def eager(x, *args, inference_mode=True, **kwargs):
        return Embed.attend(x, *args, inference_mode=inference_mode, **kwargs)

    class Other(graph.Embed):
        def attend(self, params, x, *, is_training=True):
            y, params = super().attend(params, x, is_training=is_training)
            return y + 1, params

    changes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("compute what the spec says", {"attend": doubled}),
        ("keep the dtype", {"attend": wide}),
        ("have the defaults of the spec", {"attend": eager}),
        ("have a module that equals the layer", {"embed": Other}),
    )
    for name, changed in changes:
        kept = {c.id: c.values[0] for c in claims(attending(**changed))}
        with pytest.raises(AssertionError) as error:
            kept[name.replace(" ", "_")]()
        line = SPEC.path.read_text().split("    def attend")[0].count("\n") + 1
        told = f"{shown(SPEC.path)}:{line}: Embed.attend is claimed to {name}"
        assert told in str(error.value)


class Learning:
    """A module that learns a size which an input of `attend` may not have."""

    inferred: ClassVar = {"features": "features"}

    def __init__(self, node, entries, precision=None, *, features=None, rng=None):
        self.given = features


@pytest.mark.parametrize(("axes", "given"), [("*batch", 3), ("*batch features", None)])
def test_a_module_is_told_the_sizes_that_no_input_tells(axes: str, given: int | None):
    picked: Any = lambda name, domain: 1  # noqa: E731
    shapes = shapes_of(picked, {"x": axes}, {"entries": 2, "features": 3})
    hyperparameters = {"entries": 2, "features": 3, "precision": None}
    settings = {"shapes": shapes, "x": shapes.array("x")}
    case = Case.of_layer(
        "Embed", Embed, Learning, hyperparameters, entry="attend", **settings
    )
    assert case.module is not None
    node = graph.Graph("model")
    module = case.module(node.child("module"), graph.Rng(node.child("rng")))
    assert module.given == given
