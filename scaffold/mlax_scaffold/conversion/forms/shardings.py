"""How arrays are laid out over devices: annotations that change no number, and are left out.

nn.with_partitioning(init, ("in", "out"))           as   init
nn.with_logical_constraint(x, ("batch", "embed"))   as   x
nnx.Linear(4, 8, kernel_metadata=..., rngs=rngs)    as   nnx.Linear(4, 8, rngs=rngs)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, is_none
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_FIRST = frozenset(
    (
        *("flax.linen.with_partitioning", "flax.linen.with_logical_partitioning"),
        *("flax.linen.spmd.with_logical_partitioning", "flax.nnx.with_partitioning"),
        *("flax.linen.with_logical_constraint", "jax.lax.with_sharding_constraint"),
        *("flax.linen.spmd.with_logical_constraint", "jax.reshard"),
        *("flax.linen.partitioning.with_sharding_constraint", "jax.sharding.reshard"),
        *("jax.experimental.pjit.with_sharding_constraint", "equinox.filter_shard"),
        "flax.nnx.with_sharding_constraint",
    )
)
"""Functions that give back what they are given first."""

_ARGUMENTS = frozenset(
    (
        *("kernel_metadata", "bias_metadata", "scale_metadata", "embedding_metadata"),
        *("out_kernel_metadata", "out_bias_metadata", "query_ln_scale_metadata"),
        *("out_sharding", "out_shardings", "sharding", "sharding_names", "mesh"),
        *("eager_sharding", "sharding_rules"),
    )
)
"""Arguments of layers, weights and functions of flax and jax that say nothing else."""

_LIBRARIES = ("flax.", "jax.")


def without_shardings(origin: Origin, thing: str, notes: Notes) -> None:
    """Leave them out, in place, and say so once, of what is converted."""
    if not origin.uses("flax") and not origin.uses("jax"):
        return
    used = used_by(origin, thing)
    first: ast.AST | None = None
    for node in (*origin.classes.values(), *origin.functions.values()):
        pass_ = _Shardings(origin)
        pass_.visit(node)
        if pass_.found is not None and node.name in used:
            first = first or pass_.found
    if first is not None:
        notes.remark(
            first,
            "how arrays are laid out over devices is left out",
            "lay out weights and inputs where the layer runs on several devices",
        )


class _Shardings(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.found: ast.AST | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A constructor that is given such an argument hands it on, and nothing else."""
        made = [self.visit(s) for s in node.body]
        kept = [s for s in made if not isinstance(s, ast.Pass)]
        node.body = kept or [ast.copy_location(ast.Pass(), node)]
        if node.name != "__init__":
            return node
        given = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        for title in (t for t in given if t in _ARGUMENTS):
            rest = [s for s in node.body if not _binds(s, title)]
            absent = is_none(defaults_of(node.args).get(title))
            if absent and not any(is_name(p, title) for s in rest for p in walk(s)):
                without_arguments(node.args, {title})
                node.body = rest or [ast.copy_location(ast.Pass(), node)]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        if full in _FIRST and (node.args or node.keywords):
            self.found = self.found or node
            return node.args[0] if node.args else node.keywords[0].value
        kept = [k for k in node.keywords if not self._is_layout(k, full)]
        if len(kept) < len(node.keywords):
            self.found = self.found or node
            node.keywords = kept
            if full == "functools.partial" and len(node.args) == 1 and not kept:
                return node.args[0]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        again = isinstance(target, ast.Name) and is_name(node.value, target.id)
        plain = again and len(node.targets) == 1
        return ast.copy_location(ast.Pass(), node) if plain else node

    def _is_layout(self, given: ast.keyword, full: str) -> bool:
        """Whether an argument says that alone; what layers are called with may be one, too."""
        if given.arg is None:
            title = ast.unparse(given.value).rpartition(".")[2]
            return title in _ARGUMENTS and full.startswith(_LIBRARIES)
        part = full == "functools.partial" or not full
        known = full.startswith(_LIBRARIES) or (part and given.arg == "out_sharding")
        return given.arg in _ARGUMENTS and known


def _binds(node: ast.stmt, title: str) -> bool:
    """Whether a statement gives a local another value, as `layout = layout or {}` does."""
    return isinstance(node, ast.Assign) and is_name(node.targets[0], title)
