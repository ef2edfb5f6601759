"""Faults that change nothing, with the reason: no test can catch them."""

from __future__ import annotations

from tests.benchmarks.faults.mutations import Fault

_CAST_ANYWAY = (
    "the number of steps has the dtype of the step, or it is an integer, and then the step has the "
    "default float dtype, in which integers are divided"
)

_NOT_UPDATED = "what the update of a leaf returns is what it was given"

_FAN_IN = "the fan-in is the product of all axes but that of the outputs, whichever is the input's"

EQUIVALENT: tuple[tuple[str, str, str], ...] = (
    (
        "functional/deviations",
        "16",
        "no floating dtype has 17 bits, or 17 for its largest exponent",
    ),
    ("schedule/exponential", "begun.astype(step.dtype)", _CAST_ANYWAY),
    (
        "schedule/polynomial",
        "steps_since(step_number, self.transition_begin).astype(step.dtype)",
        _CAST_ANYWAY,
    ),
    ("schedule/warmup_cosine", "since.astype(step.dtype)", _CAST_ANYWAY),
    ("schedule/piecewise_interpolated", "since.astype(step.dtype)", _CAST_ANYWAY),
    (
        "nn/linear_general",
        "range(batch, last)",
        "the fan-in is what neither the outputs nor the batch have, however many axes it is of",
    ),
    ("nn/conv", "-1 if channel_last else 1", _FAN_IN),
    (
        "nn/linear",
        "1",
        "an input with one axis in front is the same matrix after reshaping",
    ),
    (
        "nn/multi_head_attention",
        "keys[7]",
        "an initializer of zeros does not use its key",
    ),
    ("loss/binary_dice_loss", "0", "the axis that is taken away has one element"),
    ("optim/do_g", "first=first", _NOT_UPDATED),
    ("optim/mad_grad", "first=first", _NOT_UPDATED),
    ("optim/momo", "mean=mean", _NOT_UPDATED),
    ("optim/momo_adam", "mean=mean", _NOT_UPDATED),
    (
        "schedule/cosine_one_cycle",
        "step = arrays.floating(step)",
        "the schedule that it is made of does it, too",
    ),
    (
        "optim/clip_by_block_rms",
        "if grad.size == 0:\n    return (grad,)",
        "the root mean square of nothing is 0",
    ),
    (
        "optim/accumulate",
        "calls.astype(state.loss.dtype)",
        "a quotient of a floating number and an integer has the dtype of the number",
    ),
    (
        "optim/reduce_on_plateau",
        "losses.astype(state.mean.dtype)",
        "a quotient of a floating number and an integer has the dtype of the number",
    ),
    ("nn/rotary_embedding", "size % 2", "minus nothing is nothing"),
    (
        "optim/apply_if_finite",
        "ApplyIfFiniteState(errors=errors, total=total, optimizer=optimizer_state)",
        "both counts begin as the same integer zero",
    ),
)
"""Item, the changed expression, and why the other one does the same."""


def reason(fault: Fault) -> str:
    """Why a fault changes nothing; empty where it does."""
    for item, before, why in EQUIVALENT:
        if (item, before) == (fault.path, fault.before):
            return why
    return ""
