"""The words of which specs are made.

At run time the words build the eager side of the language: a spec is an importable
module, and its class runs as the stateful object that it looks like. That is the
oracle of the generated code's tests. Generating code reads the text of a spec and needs
none of this: everything that imports jax is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Literal as Literal

from mlax_scaffold.model.arrays import KINDS, OUTPUT
from mlax_scaffold.model.words import WORDS

_HOMES = {
    **dict.fromkeys((*KINDS, "Key", "PerDim", "PyTree", OUTPUT), "words"),
    "Block": "block",
    "Layer": "layer",
    "Optimizer": "optimizer",
    "Schedule": "schedule",
    "add_at": "arrays",
    "all_finite": "trees",
    "at_step": "steps",
    "cast": "arrays",
    "constant": "initializers",
    "cudnn_attention": "arrays",
    "doublings": "arrays",
    "explicit_padding": "arrays",
    "from_matrices": "trees",
    "function": "functions",
    "glorot_normal": "initializers",
    "glorot_uniform": "initializers",
    "he_normal": "initializers",
    "he_uniform": "initializers",
    "kaiming_normal": "initializers",
    "kaiming_uniform": "initializers",
    "lecun_normal": "initializers",
    "lecun_uniform": "initializers",
    "load": "loading",
    "map_chunks": "loops",
    "matrix_shape": "trees",
    "moment": "declarations",
    "normal": "initializers",
    "ones": "initializers",
    "orthogonal": "initializers",
    "pad_axes": "arrays",
    "ring_phases": "initializers",
    "ring_radii": "initializers",
    "ratio": "arrays",
    "require": "declarations",
    "scales_loss": "trees",
    "scan": "loops",
    "spread": "arrays",
    "selected": "arrays",
    "spread_mean": "arrays",
    "steps_since": "steps",
    "stored_moments": "arrays",
    "segment_sum": "arrays",
    "take_rows": "arrays",
    "state": "declarations",
    "to_matrices": "trees",
    "trainable": "declarations",
    "tree_add": "trees",
    "tree_dot": "trees",
    "tree_merge": "trees",
    "tree_prune": "trees",
    "tree_select": "trees",
    "tree_where": "trees",
    "truncated_normal": "initializers",
    "uniform": "initializers",
    "variance_scaling": "initializers",
    "weighted_sum": "arrays",
    "widened": "arrays",
    "delta_orthogonal": "initializers",
    "per_gate": "initializers",
    "xavier_normal": "initializers",
    "xavier_uniform": "initializers",
    "zeros": "initializers",
}

# Every function spec of the library is a word; each has the name of its module.
_FUNCTIONS = Path(__file__).parent.parent / "specs" / "functional"


def __getattr__(name: str) -> Any:
    if name in WORDS:
        module = f"{__name__}.words"
    elif name in _HOMES:
        module = f"{__name__}.{_HOMES[name]}"
    elif name.isidentifier() and (_FUNCTIONS / f"{name}.py").is_file():
        module = f"mlax_scaffold.specs.functional.{name}"
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(
        {*globals(), *WORDS, *_HOMES, *(f.stem for f in _FUNCTIONS.glob("*.py"))}
    )


if TYPE_CHECKING:
    from mlax_scaffold.spec.arrays import add_at as add_at
    from mlax_scaffold.spec.arrays import cast as cast
    from mlax_scaffold.spec.arrays import cudnn_attention as cudnn_attention
    from mlax_scaffold.spec.arrays import doublings as doublings
    from mlax_scaffold.spec.arrays import explicit_padding as explicit_padding
    from mlax_scaffold.spec.arrays import pad_axes as pad_axes
    from mlax_scaffold.spec.arrays import ratio as ratio
    from mlax_scaffold.spec.arrays import segment_sum as segment_sum
    from mlax_scaffold.spec.arrays import selected as selected
    from mlax_scaffold.spec.arrays import spread as spread
    from mlax_scaffold.spec.arrays import spread_mean as spread_mean
    from mlax_scaffold.spec.arrays import stored_moments as stored_moments
    from mlax_scaffold.spec.arrays import take_rows as take_rows
    from mlax_scaffold.spec.arrays import weighted_sum as weighted_sum
    from mlax_scaffold.spec.arrays import widened as widened
    from mlax_scaffold.spec.block import Block as Block
    from mlax_scaffold.spec.declarations import moment as moment
    from mlax_scaffold.spec.declarations import require as require
    from mlax_scaffold.spec.declarations import state as state
    from mlax_scaffold.spec.declarations import trainable as trainable
    from mlax_scaffold.spec.functions import function as function
    from mlax_scaffold.spec.initializers import constant as constant
    from mlax_scaffold.spec.initializers import delta_orthogonal as delta_orthogonal
    from mlax_scaffold.spec.initializers import glorot_normal as glorot_normal
    from mlax_scaffold.spec.initializers import glorot_uniform as glorot_uniform
    from mlax_scaffold.spec.initializers import he_normal as he_normal
    from mlax_scaffold.spec.initializers import he_uniform as he_uniform
    from mlax_scaffold.spec.initializers import kaiming_normal as kaiming_normal
    from mlax_scaffold.spec.initializers import kaiming_uniform as kaiming_uniform
    from mlax_scaffold.spec.initializers import lecun_normal as lecun_normal
    from mlax_scaffold.spec.initializers import lecun_uniform as lecun_uniform
    from mlax_scaffold.spec.initializers import normal as normal
    from mlax_scaffold.spec.initializers import ones as ones
    from mlax_scaffold.spec.initializers import orthogonal as orthogonal
    from mlax_scaffold.spec.initializers import per_gate as per_gate
    from mlax_scaffold.spec.initializers import ring_phases as ring_phases
    from mlax_scaffold.spec.initializers import ring_radii as ring_radii
    from mlax_scaffold.spec.initializers import truncated_normal as truncated_normal
    from mlax_scaffold.spec.initializers import uniform as uniform
    from mlax_scaffold.spec.initializers import variance_scaling as variance_scaling
    from mlax_scaffold.spec.initializers import xavier_normal as xavier_normal
    from mlax_scaffold.spec.initializers import xavier_uniform as xavier_uniform
    from mlax_scaffold.spec.initializers import zeros as zeros
    from mlax_scaffold.spec.layer import Layer as Layer
    from mlax_scaffold.spec.loading import load as load
    from mlax_scaffold.spec.loops import map_chunks as map_chunks
    from mlax_scaffold.spec.loops import scan as scan
    from mlax_scaffold.spec.optimizer import Optimizer as Optimizer
    from mlax_scaffold.spec.schedule import Schedule as Schedule
    from mlax_scaffold.spec.steps import at_step as at_step
    from mlax_scaffold.spec.steps import steps_since as steps_since
    from mlax_scaffold.spec.trees import all_finite as all_finite
    from mlax_scaffold.spec.trees import from_matrices as from_matrices
    from mlax_scaffold.spec.trees import matrix_shape as matrix_shape
    from mlax_scaffold.spec.trees import scales_loss as scales_loss
    from mlax_scaffold.spec.trees import to_matrices as to_matrices
    from mlax_scaffold.spec.trees import tree_add as tree_add
    from mlax_scaffold.spec.trees import tree_dot as tree_dot
    from mlax_scaffold.spec.trees import tree_merge as tree_merge
    from mlax_scaffold.spec.trees import tree_prune as tree_prune
    from mlax_scaffold.spec.trees import tree_select as tree_select
    from mlax_scaffold.spec.trees import tree_where as tree_where
    from mlax_scaffold.spec.typing import Activation as Activation
    from mlax_scaffold.spec.typing import Axis as Axis
    from mlax_scaffold.spec.typing import AxisName as AxisName
    from mlax_scaffold.spec.typing import Bool as Bool
    from mlax_scaffold.spec.typing import Boundaries as Boundaries
    from mlax_scaffold.spec.typing import Cell as Cell
    from mlax_scaffold.spec.typing import Complex as Complex
    from mlax_scaffold.spec.typing import Count as Count
    from mlax_scaffold.spec.typing import Decay as Decay
    from mlax_scaffold.spec.typing import DType as DType
    from mlax_scaffold.spec.typing import Extended as Extended
    from mlax_scaffold.spec.typing import Float as Float
    from mlax_scaffold.spec.typing import Fraction as Fraction
    from mlax_scaffold.spec.typing import Function as Function
    from mlax_scaffold.spec.typing import Initializer as Initializer
    from mlax_scaffold.spec.typing import Int as Int
    from mlax_scaffold.spec.typing import Key as Key
    from mlax_scaffold.spec.typing import LayerOutput as LayerOutput
    from mlax_scaffold.spec.typing import Mask as Mask
    from mlax_scaffold.spec.typing import MatrixAxes as MatrixAxes
    from mlax_scaffold.spec.typing import NewShape as NewShape
    from mlax_scaffold.spec.typing import NonNegative as NonNegative
    from mlax_scaffold.spec.typing import Padding as Padding
    from mlax_scaffold.spec.typing import PerDim as PerDim
    from mlax_scaffold.spec.typing import Policy as Policy
    from mlax_scaffold.spec.typing import Positive as Positive
    from mlax_scaffold.spec.typing import Precision as Precision
    from mlax_scaffold.spec.typing import Probability as Probability
    from mlax_scaffold.spec.typing import PyTree as PyTree
    from mlax_scaffold.spec.typing import Real as Real
    from mlax_scaffold.spec.typing import Scheduled as Scheduled
    from mlax_scaffold.spec.typing import Shape as Shape
    from mlax_scaffold.spec.typing import Size as Size
    from mlax_scaffold.spec.typing import Sizes as Sizes
    from mlax_scaffold.spec.typing import Stacked as Stacked
    from mlax_scaffold.spec.typing import SubLayer as SubLayer
    from mlax_scaffold.spec.typing import SubLayers as SubLayers
    from mlax_scaffold.spec.typing import SubOptimizer as SubOptimizer
    from mlax_scaffold.spec.typing import SubOptimizers as SubOptimizers
    from mlax_scaffold.spec.typing import SubSchedule as SubSchedule
    from mlax_scaffold.specs.functional.adaptive_pool import (
        adaptive_pool as adaptive_pool,
    )
    from mlax_scaffold.specs.functional.apply_attention_mask import (
        apply_attention_mask as apply_attention_mask,
    )
    from mlax_scaffold.specs.functional.apply_attention_weights import (
        apply_attention_weights as apply_attention_weights,
    )
    from mlax_scaffold.specs.functional.attention_weights import (
        attention_weights as attention_weights,
    )
    from mlax_scaffold.specs.functional.attention_window import (
        attention_window as attention_window,
    )
    from mlax_scaffold.specs.functional.avg_pool import avg_pool as avg_pool
    from mlax_scaffold.specs.functional.bernoulli import bernoulli as bernoulli
    from mlax_scaffold.specs.functional.bias_correction import (
        bias_correction as bias_correction,
    )
    from mlax_scaffold.specs.functional.cap_softly import cap_softly as cap_softly
    from mlax_scaffold.specs.functional.categorical import categorical as categorical
    from mlax_scaffold.specs.functional.chunked_attention import (
        chunked_attention as chunked_attention,
    )
    from mlax_scaffold.specs.functional.combine_masks import (
        combine_masks as combine_masks,
    )
    from mlax_scaffold.specs.functional.conv import conv as conv
    from mlax_scaffold.specs.functional.cumsum import cumsum as cumsum
    from mlax_scaffold.specs.functional.deviations import deviations as deviations
    from mlax_scaffold.specs.functional.dithered_sum import (
        dithered_sum as dithered_sum,
    )
    from mlax_scaffold.specs.functional.divide_by_root import (
        divide_by_root as divide_by_root,
    )
    from mlax_scaffold.specs.functional.divide_by_scaled_root import (
        divide_by_scaled_root as divide_by_scaled_root,
    )
    from mlax_scaffold.specs.functional.dot_product_attention import (
        dot_product_attention as dot_product_attention,
    )
    from mlax_scaffold.specs.functional.dot_product_attention_logits import (
        dot_product_attention_logits as dot_product_attention_logits,
    )
    from mlax_scaffold.specs.functional.double_sum import double_sum as double_sum
    from mlax_scaffold.specs.functional.dropout import dropout as dropout
    from mlax_scaffold.specs.functional.ema import ema as ema
    from mlax_scaffold.specs.functional.fused_attention import (
        fused_attention as fused_attention,
    )
    from mlax_scaffold.specs.functional.gelu import gelu as gelu
    from mlax_scaffold.specs.functional.group_norm import group_norm as group_norm
    from mlax_scaffold.specs.functional.identity import identity as identity
    from mlax_scaffold.specs.functional.in_top_k import in_top_k as in_top_k
    from mlax_scaffold.specs.functional.instance_norm import (
        instance_norm as instance_norm,
    )
    from mlax_scaffold.specs.functional.l2_norm import l2_norm as l2_norm
    from mlax_scaffold.specs.functional.l2_normalize import l2_normalize as l2_normalize
    from mlax_scaffold.specs.functional.layer_norm import layer_norm as layer_norm
    from mlax_scaffold.specs.functional.log1mexp import log1mexp as log1mexp
    from mlax_scaffold.specs.functional.log_softmax import log_softmax as log_softmax
    from mlax_scaffold.specs.functional.logmeanexp import logmeanexp as logmeanexp
    from mlax_scaffold.specs.functional.logsumexp import logsumexp as logsumexp
    from mlax_scaffold.specs.functional.make_attention_mask import (
        make_attention_mask as make_attention_mask,
    )
    from mlax_scaffold.specs.functional.make_causal_mask import (
        make_causal_mask as make_causal_mask,
    )
    from mlax_scaffold.specs.functional.make_segment_mask import (
        make_segment_mask as make_segment_mask,
    )
    from mlax_scaffold.specs.functional.max import max as max
    from mlax_scaffold.specs.functional.max_pool import max_pool as max_pool
    from mlax_scaffold.specs.functional.mean import mean as mean
    from mlax_scaffold.specs.functional.min_p_logits import min_p_logits as min_p_logits
    from mlax_scaffold.specs.functional.min_pool import min_pool as min_pool
    from mlax_scaffold.specs.functional.moments import moments as moments
    from mlax_scaffold.specs.functional.normalize import normalize as normalize
    from mlax_scaffold.specs.functional.pair_counts import pair_counts as pair_counts
    from mlax_scaffold.specs.functional.pool import pool as pool
    from mlax_scaffold.specs.functional.prod import prod as prod
    from mlax_scaffold.specs.functional.range_scale import range_scale as range_scale
    from mlax_scaffold.specs.functional.rectification import (
        rectification as rectification,
    )
    from mlax_scaffold.specs.functional.reduce_windows import (
        reduce_windows as reduce_windows,
    )
    from mlax_scaffold.specs.functional.repetition_penalty import (
        repetition_penalty as repetition_penalty,
    )
    from mlax_scaffold.specs.functional.reset_carry import reset_carry as reset_carry
    from mlax_scaffold.specs.functional.rms import rms as rms
    from mlax_scaffold.specs.functional.rms_norm import rms_norm as rms_norm
    from mlax_scaffold.specs.functional.rotary_embedding import (
        rotary_embedding as rotary_embedding,
    )
    from mlax_scaffold.specs.functional.running_sum import running_sum as running_sum
    from mlax_scaffold.specs.functional.saturate import saturate as saturate
    from mlax_scaffold.specs.functional.scale_by_trust_ratio import (
        scale_by_trust_ratio as scale_by_trust_ratio,
    )
    from mlax_scaffold.specs.functional.scaled_scores import (
        scaled_scores as scaled_scores,
    )
    from mlax_scaffold.specs.functional.sinusoids import sinusoids as sinusoids
    from mlax_scaffold.specs.functional.softmax import softmax as softmax
    from mlax_scaffold.specs.functional.standardize import standardize as standardize
    from mlax_scaffold.specs.functional.std import std as std
    from mlax_scaffold.specs.functional.sum import sum as sum
    from mlax_scaffold.specs.functional.sum_pool import sum_pool as sum_pool
    from mlax_scaffold.specs.functional.top_k_logits import top_k_logits as top_k_logits
    from mlax_scaffold.specs.functional.top_p_logits import top_p_logits as top_p_logits
    from mlax_scaffold.specs.functional.two_sum import two_sum as two_sum
    from mlax_scaffold.specs.functional.unbiasing import unbiasing as unbiasing
    from mlax_scaffold.specs.functional.var import var as var
    from mlax_scaffold.specs.functional.z_norm import z_norm as z_norm
