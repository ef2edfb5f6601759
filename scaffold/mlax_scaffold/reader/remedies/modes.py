"""What others call the mode, the number of a step, and keys: `self.training`, `self.step`, `self.key()`."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.source import Source

TRAINS = {
    "training": True,
    "train": True,
    "is_training": True,
    "deterministic": False,
    "inference": False,
    "inference_mode": False,
    "eval": False,
}
"""Names by which other libraries tell training from inference, and whether they tell training."""

KEYS = ("key", "prng", "prng_key", "rng", "rng_key", "rngs", "subkey")
"""What keys are usually called, and what gives them in nnx."""

STEPS = (
    *("step_number", "count", "counter", "iteration", "iterations", "iter", "t"),
    *("num_steps", "step_count", "steps_taken"),
)
"""What the number of a step is usually called."""

_OF_SETUP = {
    "key": "Initializers are given keys, and layers theirs: nothing is drawn in setup.",
    "param": "A weight is `self.name = trainable(initializer, shape)` in `setup(self)`.",
    "register_buffer": "What is kept without a gradient is `self.name = state(initializer, shape)` in "
    "`setup(self)`; a constant is a value there.",
    "register_parameter": "A weight is `self.name = trainable(initializer, shape)` in `setup(self)`.",
}
"""What is said of methods by which other libraries make what `setup` declares."""

_WHOLE = (ast.Return, ast.Assign, ast.AnnAssign, ast.keyword, ast.BoolOp)
"""What `not ...` stands in without parentheses."""


def told(name: str) -> str:
    """What is read in the place of such a name, in the words of a hint."""
    return "self.training" if TRAINS[name] else "not self.training"


def mode(source: Source, within: ast.AST, node: ast.expr, name: str) -> Edit:
    """`self.training`, or its negation, in the place of an expression that reads such a name."""
    if TRAINS[name]:
        return source.edit(node, "self.training")
    parents = (p for p in ast.walk(within) if node in ast.iter_child_nodes(p))
    match next(parents, None):
        case ast.UnaryOp(op=ast.Not()) as negation:
            return source.edit(negation, "self.training")
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            return source.edit(node, "not self.training")
        case ast.Call(func=func) if func is not node:
            return source.edit(node, "not self.training")
        case parent if isinstance(parent, _WHOLE):
            return source.edit(node, "not self.training")
    return source.edit(node, "(not self.training)")


def by_another_name(
    source: Source, method: ast.FunctionDef, node: ast.Attribute, known: Collection[str]
) -> tuple[str, Fix | None]:
    """What says the same as an attribute that there is not, and the edit; empty: nothing known."""
    if node.attr in TRAINS and "training" in known:
        edit = mode(source, method, node, node.attr)
        return "`self.training` tells whether the layer is trained.", Fix((edit,))
    if node.attr in _OF_SETUP and (node.attr != "key" or method.name == "setup"):
        return _OF_SETUP[node.attr], None
    if node.attr in STEPS and "step" in known:
        edit = source.edit(node, "self.step")
        return "The number of the step is `self.step`, from 1.", Fix((edit,))
    return "", None
