"""What the authors of plugins import: `word` from here, kinds of output from `mlax_scaffold.plugin.outputs`.

A plugin is a package that an entry point of the group `mlax_scaffold.plugins` names. docs/plugins.md says
what may stand in it.
"""

from __future__ import annotations

from typing import Any

from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.word import Word as Row
from mlax_scaffold.spec.words import Word

__all__ = ["word"]


def word(
    name: str,
    *,
    takes: str,
    check: str,
    types: str,
    strategy: str,
    example: str,
    invalid: tuple[str, ...],
    spellings: tuple[str, ...] = (),
    **abilities: Any,
) -> Word:
    """A word for the hyperparameters of specs: an attribute of its name in the `words` of a plugin.

    Args:
        name: the word.
        takes: what a value may be, as messages and pages say it.
        check: the function that makes a value canonical, or raises a ValueError: one of
            `mlax_scaffold`'s, such as "count", or the dotted name of one in the `checks` of the plugin.
            It is called `check("Owner", name=value)`.
        types: type of the argument of `init`; after an arrow that of the field of `hyperparams`.
        strategy: the expression of the values that tests try: of `mlax_scaffold.testing.strategies`,
            such as "counts()", or of the `strategies` of the plugin by its dotted name.
        example: expression of a value.
        invalid: expressions of values that it does not take.
        spellings: names of types that people write and mean it; `generate --fix` puts it in their place.
        abilities: what else `mlax_scaffold.model.word.Word` knows of a word, such as `measured`, `names`
            and `per_dim`.
    """
    row = Row(
        name,
        takes,
        check,
        types,
        strategy,
        example,
        invalid,
        spellings=spellings,
        **abilities,
    )
    return Word(HyperType(row))
