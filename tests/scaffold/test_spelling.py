"""Which names are slips for others: what an edit may write without asking."""

from __future__ import annotations

import pytest

from mlax_scaffold.spelling import misspelt

SLIPS = {
    ("tahn", "tanh"): "tanh",
    ("hard_sigmoind", "hard_sigmoid", "sigmoid"): "hard_sigmoid",
    ("featurs", "features", "in_features"): "features",
    ("heads", "num_heads", "head_dim"): "num_heads",
    ("n_heads", "num_heads"): "num_heads",
    ("eps", "epsilon"): "epsilon",
    ("kernel_init", "kernel_initializer", "bias_initializer"): "kernel_initializer",
    ("transpose_", "transpose"): "transpose",
    ("Siz", "Size", "Sizes"): "Size",
}

OTHERS = [
    ("non_trainable", "trainable"),
    ("stop_gradient", "gradient"),
    ("NonPositive", "Positive"),
    ("use_scale", "use_bias"),
    ("in_features", "out_features"),
    ("kernel_init", "bias_init"),
    ("beta1", "beta2"),
    ("rot", "rot90"),
    ("sub", "sum"),
    ("relu", "real"),
    ("Sizs", "Size", "Sizes"),
]


@pytest.mark.parametrize("names", SLIPS, ids="-".join)
def test_a_slip_is_found(names: tuple[str, ...]):
    word, *allowed = names
    assert misspelt(word, allowed) == SLIPS[names]


@pytest.mark.parametrize("names", OTHERS, ids="-".join)
def test_what_means_something_else_is_none(names: tuple[str, ...]):
    word, *allowed = names
    assert misspelt(word, allowed) == ""
