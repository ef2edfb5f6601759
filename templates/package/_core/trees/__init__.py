"""What every optimizer is built with: functions over trees of weights."""

from ._arithmetic import all_finite, tree_add, tree_dot, tree_where
from ._checks import check_gradients, check_state, check_weights, required
from ._held import Held
from ._labels import Labels, axes_of_matrices, labels_of_tree, matrix_axes
from ._leaves import (
    apply_updates,
    dither,
    incremented,
    map_leaves,
    of_any,
    scalar,
    scheduled,
    stored,
    unzip,
)
from ._masks import mask, selected, tree_merge, tree_prune, tree_select
from ._matrices import from_matrices, matrix_shape, to_matrices
from ._scales import loss_scales, scales_loss

__all__ = [
    "Held",
    "Labels",
    "all_finite",
    "apply_updates",
    "axes_of_matrices",
    "check_gradients",
    "check_state",
    "check_weights",
    "dither",
    "from_matrices",
    "incremented",
    "labels_of_tree",
    "loss_scales",
    "map_leaves",
    "mask",
    "matrix_axes",
    "matrix_shape",
    "of_any",
    "required",
    "scalar",
    "scales_loss",
    "scheduled",
    "selected",
    "stored",
    "to_matrices",
    "tree_add",
    "tree_dot",
    "tree_merge",
    "tree_prune",
    "tree_select",
    "tree_where",
    "unzip",
]
