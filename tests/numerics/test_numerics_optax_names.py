"""Every public name of optax: what it is called here, or why it is not here."""

from __future__ import annotations

import functools
import types
from typing import Any

import optax
import optax.contrib
import pytest

import mlax

HERE = {
    "add_decayed_weights": "optim.WeightDecay",
    "apply_every": "optim.Accumulate",
    "bias_correction": "functional.bias_correction",
    "conditionally_mask": "optim.Conditionally",
    "conditionally_transform": "optim.Conditionally",
    "convex_kl_divergence": "loss.kl_divergence",
    "cosine_decay_schedule": "schedule.Cosine",
    "differentially_private_aggregate": "optim.DifferentiallyPrivate",
    "dpsgd": "optim.DifferentiallyPrivate",
    "exponential_decay": "schedule.Exponential",
    "incremental_update": "train.MovingAverage",
    "inject_hyperparams": "optim.inject",
    "inject_stateful_hyperparams": "optim.inject",
    "join_schedules": "schedule.Join",
    "keep_params_nonnegative": "optim.KeepNonNegative",
    "measure_with_ema": "optim.Monitor",
    "microbatch": "train.step",
    "multi_transform": "optim.partition",
    "MultiSteps": "optim.Accumulate",
    "normalize_by_update_norm": "optim.Normalize",
    "optimistic_adam_v2": "optim.OptimisticAdam",
    "per_example_global_norm_clip": "optim.ClipExamples",
    "per_example_layer_norm_clip": "optim.ClipExamples",
    "piecewise_interpolate_schedule": "schedule.PiecewiseInterpolated",
    "safe_softmax_cross_entropy": "loss.softmax_cross_entropy",
    "scale_by_backtracking_linesearch": "optim.BacktrackingSearch",
    "scale_by_belief": "optim.AdaBelief",
    "scale_by_distance_over_gradients": "optim.DoG",
    "scale_by_factored_rms": "optim.Adafactor",
    "scale_by_optimistic_gradient": "optim.OptimisticGradientDescent",
    "scale_by_polyak": "optim.PolyakSgd",
    "scale_by_rms": "optim.RMSProp",
    "scale_by_rss": "optim.AdaGrad",
    "scale_by_schedule": "optim.Scale",
    "scale_by_sign": "optim.SignSgd",
    "scale_by_stddev": "optim.RMSProp",
    "scale_by_zoom_linesearch": "optim.ZoomSearch",
    "schedule_free_adamw": "optim.ScheduleFree",
    "schedule_free_eval_params": "optim.ScheduleFree",
    "schedule_free_sgd": "optim.ScheduleFree",
    "selective_transform": "optim.Masked",
    "set_to_zero": "optim.Freeze",
    "skip_not_finite": "optim.Accumulate",
    "trace": "optim.Sgd",
    "warmup_cosine_decay_schedule": "schedule.WarmupCosine",
    "warmup_exponential_decay_schedule": "schedule.WarmupExponential",
}
"""What is called otherwise here."""

_WRITE = "how transformations are written there: here an optimizer is a spec"
_TREES = (
    "arithmetic of trees, not of optimizers: jax.tree.map, and optax's own beside ours"
)
_WITHOUT_CALLERS = "nothing here calls it; optax's works beside ours"
WITHOUT = {
    **dict.fromkeys(
        (
            *("init_empty_state", "stateless", "stateless_with_tree_map"),
            *("with_extra_args_support", "tree_map_params"),
        ),
        _WRITE,
    ),
    **dict.fromkeys(
        (
            *("global_norm", "safe_norm", "safe_root_mean_squares"),
            *("update_infinity_moment", "update_moment", "update_moment_per_elem_norm"),
            *("safe_increment", "safe_int32_increment", "periodic_update"),
        ),
        _TREES,
    ),
    **dict.fromkeys(
        (
            *("matrix_inverse_pth_root", "multi_normal", "nnls", "power_iteration"),
            *("scale_gradient", "ctc_loss_with_forward_probs"),
        ),
        _WITHOUT_CALLERS,
    ),
    "identity": "Chain of nothing",
    "flatten": "moments have the structure of the weights, which sharding asks for",
    "scale_by_param_block_norm": "from_optax; TrustRatio is what LAMB and LARS have of it",
    "scale_by_param_block_rms": "from_optax; Adafactor has it",
    "snapshot": "a state is returned by each step",
    "value_and_grad_from_state": "searches are given the loss, and keep nothing to reuse",
    "hutchinson_estimator_diag_hessian": "Sophia has it built in",
    "mechanize": "from_optax; DoG, Prodigy and DAdaptAdamW learn a rate, too",
    "split_real_and_imaginary": "weights are floating: complex ones are refused",
    "WrappedSchedule": "an optimizer's hyperparameter may be any schedule",
}
"""What is not here, with its reason."""

_OF_TYPES = (
    *("ApplyEvery", "GradientTransformation", "GradientTransformationExtraArgs"),
    *(
        "MaskOrFn",
        "MaskedNode",
        "OptState",
        "Params",
        "LookaheadParams",
        "ScalarOrSchedule",
    ),
    *("Schedule", "ShouldSkipUpdateFunction", "TransformInitFn", "Updates"),
    *("TransformUpdateExtraArgsFn", "TransformUpdateFn", "ZoomLinesearchInfo"),
    *("GaLoreDimensionNumbers", "MuonDimensionNumbers"),
)
"""Types of arguments and states. So is everything that ends with State."""


def names(module: Any) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and not name.endswith("State")
        and name not in _OF_TYPES
    }


def plain(name: str) -> str:
    return name.lower().replace("_", "")


OURS = {
    plain(name): f"{section}.{name}"
    for section in ("optim", "schedule", "loss")
    for name in getattr(mlax, section).__all__
}


def of_the_same_name(name: str) -> str | None:
    """What is here under the name, but for how it is written."""
    own = plain(name)
    forms = (own, own.removesuffix("schedule"), own.removeprefix("scaleby"))
    return next((OURS[form] for form in forms if form in OURS), None)


@pytest.mark.parametrize("module", [optax, optax.contrib], ids=["optax", "contrib"])
def test_every_name_is_here_or_has_a_reason(module):
    told = {name for name in names(module) if not of_the_same_name(name)}
    assert told <= {*HERE, *WITHOUT}, sorted(told - {*HERE, *WITHOUT})


def test_no_name_is_told_twice_or_in_vain():
    every = names(optax) | names(optax.contrib)
    assert not HERE.keys() & WITHOUT.keys()
    assert every >= {*HERE, *WITHOUT}, {*HERE, *WITHOUT} - every
    assert not [name for name in (*HERE, *WITHOUT) if of_the_same_name(name)]


def test_what_is_said_to_be_here_is_here():
    for place in HERE.values():
        assert functools.reduce(getattr, place.split("."), mlax) is not None
