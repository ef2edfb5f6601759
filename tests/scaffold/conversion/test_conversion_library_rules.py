"""Optimizers of optax that the library has as they are."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert


def made(parameters: str, call: str) -> Converted:
    given = f"import optax\n\n\ndef given({parameters}):\n    return optax.{call}\n"
    return convert("given.py", given, "given", "Given", "OPTIMIZER")


@pytest.mark.parametrize(
    ("parameters", "call", "lines"),
    [
        (
            "lr=0.02, wd=0.01",
            "contrib.muon(lr, weight_decay=wd, ns_steps=4)",
            [
                "learning_rate: Scheduled = 0.02",
                "weight_decay: Scheduled = 0.01",
                "ns_steps: Size = 4",
            ],
        ),
        (
            "",
            "contrib.prodigy(betas=(0.9, 0.99), beta3=0.5)",
            ["b1: Decay = 0.9", "b2: Decay = 0.99", "b3: Decay | None = 0.5"],
        ),
        ("lr", "contrib.dadapt_adamw(lr)", ["learning_rate: Scheduled = 1.0"]),
        (
            "lr",
            "sm3(lr, momentum=0.8)",
            ["learning_rate: Scheduled  #:", "momentum: Decay = 0.8"],
        ),
    ],
)
def test_the_spec_is_that_of_the_library_with_the_numbers_as_defaults(
    parameters, call, lines
):
    converted = made(parameters, call)
    assert converted.whole
    assert "class Given(Optimizer):" in converted.text
    for line in lines:
        assert f"    {line}" in converted.text
    assert converted.trial is not None
    told = dict(converted.trial.parameters)
    assert told.get("lr", "learning_rate") == "learning_rate"


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ("lr", "contrib.muon(optax.cosine_decay_schedule(lr, 10))"),
        ("lr=0.1", "contrib.muon(lr, weight_decay_mask=lambda p: p)"),
        ("lr=0.1, other=2", "contrib.muon(lr)"),
        ("lr=0.1", "contrib.prodigy(lr, betas=lr)"),
    ],
)
def test_what_else_it_is_given_is_listed(parameters, call):
    assert not made(parameters, call).whole
