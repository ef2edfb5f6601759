"""Reads the imports of a spec: where the generated module gets each name from."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable
from dataclasses import replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.arrays import KINDS, OUTPUT
from mlax_scaffold.model.definition import SECTIONS, Import, Kind, Reference
from mlax_scaffold.model.import_time import (
    INITIALIZERS,
    OTHER_NAMES,
    OWN_INITIALIZERS,
    STATIC_MODULES,
)
from mlax_scaffold.model.word import SPEC
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.files import library_text
from mlax_scaffold.reader.homes import home, plugin_words
from mlax_scaffold.reader.read_names import is_read, read_of_module
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.elsewhere import (
    GENERATED,
    HOW,
    from_home,
    module_of_jax,
    under_its_name,
    without,
)
from mlax_scaffold.reader.remedies.foreign import by_hand, without_import
from mlax_scaffold.reader.remedies.meant_words import meant_word, with_meant_word
from mlax_scaffold.reader.remedies.names import of_module
from mlax_scaffold.reader.source import Source
from mlax_scaffold.spelling import did_you_mean

BASES = {
    "Layer": Kind.LAYER,
    "Block": Kind.BLOCK,
    "Optimizer": Kind.OPTIMIZER,
    "Schedule": Kind.SCHEDULE,
}
CORE = {
    "add_at": "sums",
    "all_finite": "trees",
    "at_step": "steps",
    "cast": "arrays",
    "cudnn_attention": "kernels",
    "doublings": "sums",
    "explicit_padding": "windows",
    "from_matrices": "trees",
    "map_chunks": "loops",
    "matrix_shape": "trees",
    "pad_axes": "windows",
    "ratio": "sums",
    "scales_loss": "trees",
    "scan": "loops",
    "spread": "sums",
    "selected": "sums",
    "spread_mean": "sums",
    "steps_since": "steps",
    "stored_moments": "arrays",
    "segment_sum": "sums",
    "take_rows": "sums",
    "to_matrices": "trees",
    "tree_add": "trees",
    "tree_dot": "trees",
    "tree_merge": "trees",
    "tree_prune": "trees",
    "tree_select": "trees",
    "tree_where": "trees",
    "weighted_sum": "sums",
    "widened": "precision",
}
"""Words that are functions of the generated package, and the modules they are in."""
DECLARING = ("trainable", "state", "moment")
"""Words that declare an array, whose calls do not stand in generated code."""
DECLARATIONS = (*DECLARING, "require", "function", *CORE)
TYPES = (*KINDS, "Key", "PyTree", OUTPUT, "Literal", "PerDim")
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
        "containers",
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

_OF_TYPING = ("Any", "Callable", "ClassVar", "Literal", "NamedTuple", "Sequence")
"""Names that generated modules have without being asked, whatever they are imported from."""

_FOREIGN = frozenset(
    [
        *("chex", "equinox", "flax", "haiku", "jaxtyping", "keras", "optax"),
        *("tensorflow", "torch"),
    ]
)
"""Libraries whose layers, optimizers or types a person means to write as a spec."""


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


def spec_words(library: Iterable[str]) -> frozenset[str]:
    """All that can be imported from `mlax_scaffold.spec`; `library` are the strict functions."""
    words = (name for name, word in WORDS.items() if word.module == SPEC)
    return frozenset(
        (*words, *TYPES, *BASES, *DECLARATIONS, *INITIALIZERS, *OWN_INITIALIZERS)
    ) | frozenset(library)


class ImportReader:
    """Collects the imports of one spec.

    `words` are the strict functions of the library; `foreign` says whether a spec may
    import modules of one's own, and of installed packages.
    """

    def __init__(self, source: Source, words: frozenset[str], foreign: bool = False):
        self.source = source
        self.words = words
        self.foreign = foreign
        self.imports: dict[str, Import] = {}

    def read(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if self._allowed(node, alias.name):
                    bound = alias.asname or alias.name.partition(".")[0]
                    self._add(alias, Import(bound, alias.name))
            return
        module = self._module(node)
        for alias in node.names:
            if alias.name == "*":
                self._everything(node, module)
            elif module == SPEC:
                self._word(node, alias)
            elif module in plugin_words().values():
                self._plugin_word(module, alias)
            elif node.level or (module.split(".")[-2:-1] and self._section(module)):
                self._reference(node, module, alias)
            elif self._allowed(node, module):
                if module == "__future__" or (
                    module == "typing" and alias.name in _OF_TYPING
                ):
                    continue
                if alias.name.startswith("_"):
                    self.source.report(
                        alias, f"`{alias.name}` of {module} is private", "Leave it out."
                    )
                    continue
                bound = alias.asname or alias.name
                self._add(alias, Import(bound, module, alias.name))

    def _module(self, node: ast.ImportFrom) -> str:
        """What an import names; a relative one does so from the folder of the spec."""
        folders = self.source.path.split("/")[:-1] if node.level else []
        above = folders[: len(folders) - node.level + 1]
        return ".".join((*above, *filter(None, [node.module])))

    def _everything(self, node: ast.ImportFrom, module: str) -> None:
        """`from module import *`: of the words, those that the spec reads are written."""
        # What the file defines takes the place of a word.
        read = {*read_of_module(self.source.tree)} - of_module(self.source)
        known = spec_words(self.words) - {*dir(builtins)} if module == SPEC else ()
        names = ", ".join(sorted(read.intersection(known)))
        edit = removed(self.source, node)
        if names:
            edit = self.source.edit(node, f"from {module} import {names}")
        self.source.report(
            node,
            "a spec imports names, not *",
            "Write the names that it uses.",
            Fix((edit,)),
        )

    def _section(self, module: str) -> str | None:
        section = module.split(".")[-2] if module.count(".") else ""
        if section not in SECTIONS or module.startswith(("jax.", "math.")):
            return None
        # The folder that the spec itself is in, and no folder of that name elsewhere.
        folder = self.source.path.split("/")[-3:-2]
        return section if module.split(".")[-3:-2] in (folder, ["specs"]) else None

    def _allowed(self, node: ast.Import | ast.ImportFrom, module: str) -> bool:
        name = top(module)
        if name in (GENERATED, "mlax_scaffold") and (
            fix := from_home(self.source, node, node.names)
        ):
            self.source.report(
                node, f"specs are not imported from `{module}`", HOW, fix=fix
            )
            return False
        known = name in STATIC_MODULES or name == "jax"
        other = name not in sys.stdlib_module_names and name not in _FOREIGN
        if known or (self.foreign and other and name != "mlax_scaffold"):
            private = [p for p in module.split(".")[1:] if p.startswith("_")]
            if not known and not is_read(self.source.tree, node):
                self.source.report(
                    node,
                    f"`{module}` is imported, and nothing reads it",
                    "Leave it out: the tests run the spec, and would need it.",
                    fix=Fix((removed(self.source, node),)),
                )
                return False
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
            by_hand(self.source, node)
            or "Import from jax, NumPy, mlax_scaffold.spec, another spec, or "
            f"{', '.join(m for m in STATIC_MODULES if m[0] != '_' and m != 'numpy')}.",
            fix=without_import(self.source, node) or self._from_spec(node),
        )
        return False

    def _plugin_word(self, module: str, alias: ast.alias) -> None:
        known = sorted(n for n, home in plugin_words().items() if home == module)
        if alias.name not in known:
            hint = did_you_mean(alias.name, known) or f"It has {', '.join(known)}."
            self.source.report(alias, f"{module} has no word `{alias.name}`", hint)
        elif alias.asname:
            self._renamed(alias)

    def _renamed(self, alias: ast.alias) -> None:
        self.source.report(
            alias,
            f"`{alias.name}` cannot be renamed",
            "The reader knows words by name.",
            fix=under_its_name(self.source, alias),
        )

    def _word(self, node: ast.ImportFrom, alias: ast.alias) -> None:
        name, bound = alias.name, alias.asname or alias.name
        known = spec_words(())
        if name in CORE:
            self._add(alias, Import(bound, f"_core.{CORE[name]}", name))
        elif name in self.words:
            reference = Reference("functional", name)
            self._add(alias, Import(bound, "functional", name, reference))
        elif name in INITIALIZERS:
            self._add(alias, Import(bound, "jax.nn.initializers", name))
        elif name in OWN_INITIALIZERS:
            own = OTHER_NAMES.get(name, name)
            self._add(alias, Import(bound, "initializers", own))
        elif name not in known:
            allowed = sorted(known | self.words)
            meant = meant_word(name, allowed)
            hint = did_you_mean(meant or name, allowed)
            if name in SECTIONS or home(name):
                hint = HOW
            elif module := module_of_jax(name):
                hint = f"It is a function of jax: `{module}.{name}`."
            self.source.report(
                alias,
                f"mlax_scaffold.spec has no word `{name}`",
                hint,
                fix=self._unused(node, alias)
                or from_home(self.source, node, [alias])
                or with_meant_word(self.source, alias, meant),
            )
        elif alias.asname:
            self._renamed(alias)

    def _from_spec(self, node: ast.Import | ast.ImportFrom) -> Fix | None:
        """Words that are imported from the top of the package."""
        if not isinstance(node, ast.ImportFrom) or node.module != "mlax_scaffold":
            return None
        known = spec_words(self.words)
        others = [alias for alias in node.names if alias.name not in known]
        from_others = from_home(self.source, node, others) if others else Fix(())
        if from_others is None or others == node.names:
            return from_others
        start = self.source.start(node)
        start = (start[0], start[1] + len("from mlax_scaffold"))
        edit = self.source.replace(start, start, ".spec")
        return Fix((edit, *from_others.edits), from_others.imports)

    def _unused(self, node: ast.ImportFrom, alias: ast.alias) -> Fix | None:
        """The import without a name that nothing reads."""
        bound = alias.asname or alias.name
        if bound in read_of_module(self.source.tree):
            return None
        return Fix(tuple(without(self.source, node, [alias])))

    def _reference(self, node: ast.ImportFrom, module: str, alias: ast.alias) -> None:
        section = self._section(module)
        if section is None:
            self.source.report(
                node,
                f"`{'.' * node.level}{node.module or ''}` names no spec",
                f"Specs live in {', '.join(SECTIONS)}: `from specs.nn.linear import "
                "Linear`, or `from .linear import Linear` in their folder.",
            )
            return
        if alias.asname:
            self.source.report(
                node,
                "an imported spec cannot be renamed",
                f"Call it `{alias.name}`.",
                fix=under_its_name(self.source, alias),
            )
            return
        last = module.rpartition(".")[2]
        known = top(module) != "mlax_scaffold" or library_text(section, last)
        if not known and (fix := from_home(self.source, node, [alias])):
            self.source.report(node, f"there is no `{module}`", HOW, fix=fix)
            return
        reference = Reference(section, alias.name)
        file = "" if top(module) == "mlax_scaffold" else last
        pack = "" if node.level else module.rsplit(".", 2)[0]
        self._add(alias, Import(alias.name, section, alias.name, reference, file, pack))

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
        place = self.source.location(node)
        self.imports[imported.name] = replace(imported, location=place)


def top(module: str) -> str:
    """The first part of a dotted name."""
    return module.partition(".")[0]
