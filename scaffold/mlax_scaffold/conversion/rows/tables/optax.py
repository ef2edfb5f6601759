"""Transformations of optax that chains are made of: what each computes."""

from __future__ import annotations

import ast
from functools import cache

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.optax_adaptive import ADAPTIVE
from mlax_scaffold.conversion.rows.tables.optax_aliases import ALIASES
from mlax_scaffold.conversion.rows.tables.optax_transformations import TRANSFORMATIONS
from mlax_scaffold.conversion.source.walking import walk


@cache
def transformations() -> dict[str, ast.FunctionDef]:
    """The transformations by name."""
    found = {}
    for node in ast.parse(TRANSFORMATIONS + ADAPTIVE + ALIASES).body:
        assert isinstance(node, ast.FunctionDef)
        # They stand in no file of the person's, and have no comments there.
        for part in walk(node):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = 0  # type: ignore[attr-defined]
            if isinstance(part, ast.Name) and part.id.startswith("word_"):
                part.id = "@word:" + part.id.removeprefix("word_")
        found[node.name] = node
    return found


TREE_MAPS = frozenset(
    (
        *(
            "jax.tree.map",
            "jax.tree_map",
            "jax.tree_util.tree_map",
            "jax.tree_multimap",
        ),
        *("optax.tree_utils.tree_map", "optax.tree.map", "chex.tree_map"),
    )
)
INCREMENTS = frozenset(
    (
        *("optax.safe_int32_increment", "optax.safe_increment"),
        *("optax.numerics.safe_int32_increment", "optax.numerics.safe_increment"),
    )
)
_OF_ALL = ("vdot", "sum", "norm", "l2_norm", "global_norm", "max", "min")
_REDUCTIONS = ("reduce", "leaves", "all")
_LEAVES = {
    "update_moment": Row(
        "(updates, moments, decay, order)",
        "(1 - decay) * updates**order + decay * moments",
    ),
    "update_moment_per_elem_norm": Row(
        "(updates, moments, decay, order)",
        "(1 - decay) * updates**order + decay * moments",
    ),
    "update_infinity_moment": Row(
        "(updates, moments, decay, eps)",
        "jnp.maximum(jnp.abs(updates) + eps, decay * moments)",
    ),
    "bias_correction": Row("(moment, decay, count)", "moment / (1 - decay**count)"),
    "scalar_mul": Row("(scalar, tree)", "scalar * tree"),
    "scale": Row("(scalar, tree)", "scalar * tree"),
    "add": Row("(tree_x, tree_y)", "tree_x + tree_y"),
    "sub": Row("(tree_x, tree_y)", "tree_x - tree_y"),
    "mul": Row("(tree_x, tree_y)", "tree_x * tree_y"),
    "div": Row("(tree_x, tree_y)", "tree_x / tree_y"),
    "where": Row("(condition, tree_x, tree_y)", "jnp.where(condition, tree_x, tree_y)"),
    "clip": Row("(tree, min_value, max_value)", "jnp.clip(tree, min_value, max_value)"),
    "zeros_like": Row("(tree, dtype=None)", "jnp.zeros_like(tree)"),
    "ones_like": Row("(tree, dtype=None)", "jnp.ones_like(tree)"),
    "full_like": Row(
        "(tree, fill_value, dtype=None)", "jnp.full_like(tree, fill_value)"
    ),
    "add_scalar_mul": Row("(tree_x, scalar, tree_y)", "tree_x + scalar * tree_y"),
    "add_scale": Row("(tree_x, scalar, tree_y)", "tree_x + scalar * tree_y"),
    "apply_updates": Row("(params, updates)", "params + updates"),
    "incremental_update": Row(
        "(new_tensors, old_tensors, step_size)",
        "step_size * new_tensors + (1 - step_size) * old_tensors",
    ),
    "real": Row("(tree)", "jnp.real(tree)"),
    "conj": Row("(tree)", "jnp.conj(tree)"),
    "cast": Row("(tree, dtype)", "tree"),
    "cast_like": Row("(tree, other_tree)", "tree"),
    "abs_sq": Row("(x)", "x * x"),
    "safe_norm": Row(
        "(x, min_norm, ord=None, axis=None, keepdims=False)",
        "jnp.maximum(word.l2_norm(x), min_norm)",
    ),
    "safe_root_mean_squares": Row(
        "(x, min_rms)", "jnp.maximum(jnp.sqrt(word.mean(x * x)), min_rms)"
    ),
}
"""What functions of trees, and of arrays, compute per leaf."""


def of_leaf(full: str) -> Row | None:
    """What a function of optax over trees, `optax.tree_utils.tree_add`, computes per leaf."""
    module, _, last = full.rpartition(".")
    known = module.partition(".")[0] == "optax"
    return _LEAVES.get(last.removeprefix("tree_")) if known else None


def of_all(full: str) -> bool:
    """Whether a function makes of trees what is the same for all leaves."""
    module, _, last = full.rpartition(".")
    last = last.removeprefix("tree_")
    if module.partition(".")[0] == "optax":
        return last in _OF_ALL
    return last in _REDUCTIONS and module in ("jax", "jax.tree", "jax.tree_util")
