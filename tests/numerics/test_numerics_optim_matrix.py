"""Optimizers that treat matrices as such, against optax."""

import jax
import optax
import optax.contrib
import pytest
from numerics_optimizers import (
    SHAPES,
    Row,
    assert_parity,
    cases,
    falling,
    label,
    matrices,
)

RATE = {"learning_rate": 0.1}
STANDARD = (3.4445, -4.775, 2.0315)
EACH = (4.0848, -6.8946, 2.927, 3.9505, -6.3029, 2.6377, 3.7418, -5.5913, 2.3037)


AXES = {"matrix": "cr", "wide": "rc", "cube": "crb", "grid": "rccr", "zero": ""}
"""What the axes of weights are: rows, columns, or a batch."""


def axes_of(path, weight):
    """The axes of each weight, by its name."""
    return AXES.get(path, "")


def parts(text, letters):
    """The axes that have each of some letters."""
    return [
        tuple(axis for axis, own in enumerate(text) if own == letter)
        for letter in letters
    ]


def whole_axes_of(path, weight):
    """The same where there is no batch of matrices."""
    return "crr" if path == "cube" else axes_of(path, weight)


def muon(
    coefficients=STANDARD,
    more_axes="adam",
    decomposition_dtype=None,
    axes=None,
    **given,
):
    """optax.contrib.muon; of weights with more axes it wants to know rows and columns."""
    if len(coefficients) > 3:
        steps = zip(*(iter(coefficients),) * 3, strict=True)
        given["ns_coeffs"] = tuple(steps)
    else:
        given["ns_coeffs"] = coefficients
    numbers = {
        "batch": ((1,), (2,)),
        "first": ((1, 2), (0,)),
        "last": ((0, 1), (2,)),
    }

    def numbers_of(weights):
        def of(weight):
            if weight.ndim == 2:
                return optax.contrib.MuonDimensionNumbers()
            if weight.ndim == 3 and more_axes in numbers:
                return optax.contrib.MuonDimensionNumbers(*numbers[more_axes])
            return None

        if axes is None:
            return jax.tree.map(of, weights)
        return {
            name: optax.contrib.MuonDimensionNumbers(*parts(axes(name, weight), "rc"))
            if axes(name, weight)
            else None
            for name, weight in weights.items()
        }

    return optax.contrib.muon(muon_weight_dimension_numbers=numbers_of, **given)


def galore(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, axes=None, **given):
    """optax.contrib.galore over Adam."""
    if axes is not None:
        given["weight_dimension_numbers"] = lambda weights: {
            name: optax.contrib.GaLoreDimensionNumbers(*parts(axes(name, weight), "rc"))
            if axes(name, weight)
            else None
            for name, weight in weights.items()
        }
    inner = optax.scale_by_adam(b1, b2, eps, eps_root)
    return optax.contrib.galore(base_optimizer=inner, **given)


ROWS = (
    Row(
        "muon",
        muon,
        (
            {"learning_rate": falling, "adaptive": True, "more_axes": "first"},
            RATE
            | {"beta": 0.5, "ns_steps": 2, "epsilon": 1e-3, "weight_decay": falling}
            | {"mask": matrices, "adam_weight_decay": 0.1, "more_axes": "last"}
            | {"preconditioning": "aol", "nesterov": False},
            RATE
            | {"adam_b1": 0.5, "adam_b2": 0.9, "adam_epsilon_root": 1e-2}
            | {"adam_learning_rate": falling, "more_axes": "batch"}
            | {"preconditioning": "schatten", "consistent_rms": 0.2},
            RATE
            | {"preconditioning": "spectral", "coefficients": EACH}
            | {"decomposition_dtype": "float64"},
        ),
        {"mask": "weight_decay_mask", "adam_epsilon_root": "adam_eps_root"},
        shapes=SHAPES | {"wide": (3, 6), "cube": (3, 2, 4)},
    ),
    Row(
        "muon",
        muon,
        (RATE | {"axes": axes_of, "weight_decay": 0.1, "more_axes": "batch"},),
        shapes=SHAPES | {"wide": (3, 6), "cube": (3, 2, 4), "grid": (2, 3, 2, 2)},
    ),
    Row(
        "galore",
        galore,
        (
            {"learning_rate": falling, "rank": 2, "update_proj_gap": 7},
            RATE
            | {"rank": 3, "scale": 0.5, "weight_decay": 0.1, "mask": matrices}
            | {"b1": 0.5, "b2": 0.9, "epsilon": 1e-2, "epsilon_root": 1e-2},
        ),
        shapes=SHAPES | {"wide": (3, 6), "square": (4, 4)},
    ),
    Row(
        "galore",
        galore,
        (RATE | {"rank": 2, "update_proj_gap": 7, "axes": whole_axes_of},),
        shapes=SHAPES | {"wide": (3, 6), "cube": (3, 2, 4), "grid": (2, 3, 2, 2)},
    ),
)


@pytest.mark.parametrize(("row", "setting"), cases(*ROWS), ids=label)
def test_steps_are_those_of_optax(row, setting):
    assert_parity(row, setting)
