"""Reads the imports of a spec: where the generated module gets each name from."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import did_you_mean
from mlax_scaffold.model.definition import Import, Kind, Reference
from mlax_scaffold.model.import_time import INITIALIZERS, OWN_INITIALIZERS
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.spec.parse_source import Source

BASES = {
    "Layer": Kind.LAYER,
    "Block": Kind.BLOCK,
    "Optimizer": Kind.OPTIMIZER,
    "Schedule": Kind.SCHEDULE,
}
CORE = {
    "all_finite": "trees",
    "cast": "arrays",
    "explicit_padding": "windows",
    "spread": "sums",
    "stored_moments": "arrays",
    "take_rows": "sums",
    "tree_add": "trees",
    "tree_dot": "trees",
    "tree_merge": "trees",
    "tree_prune": "trees",
    "tree_select": "trees",
    "tree_where": "trees",
    "weighted_sum": "sums",
}
"""Words that are functions of the generated package, and the modules they are in."""
DECLARATIONS = ("trainable", "state", "moment", "require", "function", *CORE)
TYPES = ("Float", "Int", "Bool", "Key", "PyTree", "Literal", "PerDim")
_NAMES = {
    "jax": "jax",
    "jnp": "jax.numpy",
    "lax": "jax.lax",
    "math": "math",
    "ArrayLike": "jax.typing.ArrayLike",
    "DTypeLike": "jax.typing.DTypeLike",
    "Callable": "collections.abc.Callable",
    "Sequence": "collections.abc.Sequence",
}
"""Names that generated modules import themselves, and what they mean there."""

_TAKEN = frozenset(
    [
        "Any",
        "CellHyperparams",
        "InitializedLayer",
        "InitializedOptimizer",
        "LayerHyperparams",
        "Literal",
        "NamedTuple",
        "OptimizerHyperparams",
        "Padding",
        "PaddingLike",
        "PrecisionLike",
        "arrays",
        "checks",
        "fwd",
        "init",
        "outlines",
        "self",
        "static",
        "step",
        "trees",
    ]
)
"""Names that generated modules define or import, and that no spec may import."""

_SECTIONS = tuple(kind.section for kind in Kind)
_MODULES = ("jax", "math", "typing", "collections", "functools", "__future__")


def is_taken(name: str) -> bool:
    """Whether a generated module may use a name for something else than its spec."""
    words = (
        *WORDS,
        *TYPES,
        *BASES,
        "trainable",
        "state",
        "moment",
        "require",
        "function",
    )
    return name in _TAKEN or name in _NAMES or name in words


class ImportReader:
    """Collects the imports of one spec. `words` are the strict functions of the library."""

    def __init__(self, source: Source, words: frozenset[str]):
        self.source = source
        self.words = words
        self.imports: dict[str, Import] = {}

    def read(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if self._allowed(node, alias.name):
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._add(node, Import(bound, alias.name))
            return
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self.source.report(node, "a spec imports names, not *")
            elif module == "mlax_scaffold.spec":
                self._word(node, alias)
            elif node.level or (module.split(".")[-2:-1] and self._section(module)):
                self._reference(node, module, alias)
            elif self._allowed(node, module):
                if module in ("typing", "__future__"):
                    continue
                if alias.name.startswith("_"):
                    self.source.report(
                        alias, f"`{alias.name}` of {module} is private", "Leave it out."
                    )
                    continue
                bound = alias.asname or alias.name
                self._add(node, Import(bound, module, alias.name))

    def _section(self, module: str) -> str | None:
        section = module.split(".")[-2] if module.count(".") else ""
        if section not in _SECTIONS or module.startswith(("jax.", "math.")):
            return None
        return section

    def _allowed(self, node: ast.AST, module: str) -> bool:
        if top(module) in _MODULES:
            private = [p for p in module.split(".")[1:] if p.startswith("_")]
            if not private:
                return True
            self.source.report(
                node,
                f"`{module}` is private",
                "Import from what the library documents: it may be gone in the next.",
            )
            return False
        self.source.report(
            node,
            f"a spec cannot import `{module}`",
            "Generated code depends on jax alone: import from jax, math, "
            "mlax_scaffold.spec, or another spec.",
        )
        return False

    def _word(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        name, bound = alias.name, alias.asname or alias.name
        known = (*WORDS, *TYPES, *BASES, *DECLARATIONS, *INITIALIZERS)
        known += OWN_INITIALIZERS
        if name in CORE:
            self._add(node, Import(bound, f"_core.{CORE[name]}", name))
        elif name in self.words:
            reference = Reference("functional", name)
            self._add(node, Import(bound, "functional", name, reference))
        elif name in INITIALIZERS:
            self._add(node, Import(bound, "jax.nn.initializers", name))
        elif name in OWN_INITIALIZERS:
            self._add(node, Import(bound, "initializers", name))
        elif name not in known:
            self.source.report(
                alias,
                f"mlax_scaffold.spec has no word `{name}`",
                did_you_mean(name, (*known, *sorted(self.words))),
            )
        elif alias.asname:
            self.source.report(
                alias, f"`{name}` cannot be renamed", "The reader knows words by name."
            )

    def _reference(self, node: ast.ImportFrom, module: str, alias: ast.alias) -> None:
        section = self._section(module)
        if section is None:
            self.source.report(
                node,
                f"`{module}` names no spec",
                f"Specs live in {', '.join(_SECTIONS)}: "
                "`from mlax_scaffold.specs.nn.linear import Linear`.",
            )
            return
        if alias.asname:
            self.source.report(node, "an imported spec cannot be renamed")
            return
        reference = Reference(section, alias.name)
        file = "" if top(module) == "mlax_scaffold" else module.rpartition(".")[2]
        self._add(node, Import(alias.name, section, alias.name, reference, file))

    def _add(self, node: ast.AST, imported: Import) -> None:
        meaning = ".".join(filter(None, (imported.module, imported.attribute)))
        plain = imported.attribute is None and imported.name == top(imported.module)
        if imported.name in _TAKEN or (
            not plain and _NAMES.get(imported.name, meaning) != meaning
        ):
            self.source.report(
                node,
                f"`{imported.name}` means something else in generated modules",
                "Import it under another name.",
            )
        if imported.name in self.imports and self.imports[imported.name] != imported:
            self.source.report(node, f"`{imported.name}` is imported twice")
        self.imports[imported.name] = imported


def top(module: str) -> str:
    """The first part of a dotted name."""
    return module.partition(".")[0]
