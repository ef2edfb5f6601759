"""What generated tests import."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.word import bound
from mlax_scaffold.model.words import WORDS

_ALIASES = {"jax": "", "jax.numpy": "jnp", "pytest": ""}
"""Modules that they import whole, and what they call them."""

_FROM: dict[str, tuple[str, ...]] = {
    "typing": ("Any",),
    "hypothesis": ("given",),
    "mlax_scaffold.testing": ("toys",),
    "mlax_scaffold.testing._functions": ("abstract_key",),
    "mlax_scaffold.testing.case": ("Case",),
    "mlax_scaffold.testing.contract": ("claims", "examples"),
    "mlax_scaffold.testing.dims": ("shapes_of",),
    "mlax_scaffold.testing.fitting": (
        "declared",
        "exact",
        "hyperparams_of",
        "known",
        "smallest",
    ),
    "mlax_scaffold.testing.kinds": (
        "entry",
        "function",
        "layer",
        "optimizer",
        "schedule",
    ),
    "mlax_scaffold.testing.optimizer": ("OptimizerCase",),
    "mlax_scaffold.testing.oracle": ("find_spec",),
    "mlax_scaffold.testing.picks": ("Pick",),
    "mlax_scaffold.testing.profiles": ("each_dtype",),
}
"""Modules, and what generated tests may use of them."""
_STRATEGIES = sorted(
    {
        word.strategy.partition("(")[0]
        for word in WORDS.values()
        if word.strategy and not word.strategy_module
    }
    | {
        "choices",
        "divisors",
        "multiples",
        "nothing",
        "open_fractions",
        "optional",
        "per_dim",
        "rows",
        "sequences",
    }
)
_FROM["mlax_scaffold.testing.strategies"] = tuple(_STRATEGIES)

IMPORTS = "\n".join(
    [
        *(f"import {m}{alias and f' as {alias}'}" for m, alias in _ALIASES.items()),
        *(f"from {m} import {', '.join(names)}" for m, names in _FROM.items()),
    ]
)
"""Everything that every generated test may use."""


def drawn_by(definition: Definition) -> list[str]:
    """The modules of plugins that draw the values of its hyperparameters."""
    words = {h.type.word for h in definition.hyperparameters}
    return sorted({word.strategy_module for word in words} - {""})


def imports_of(definition: Definition) -> str:
    """What the tests of a definition may use; the linter drops the rest."""
    modules = drawn_by(definition)
    return "\n".join([IMPORTS, *(f"import {m} as {bound(m)}" for m in modules)])


IMPORTED = frozenset(
    [
        *(alias or module for module, alias in _ALIASES.items()),
        *(name.rpartition(" ")[2] for names in _FROM.values() for name in names),
    ]
)
"""The names that these bind."""
