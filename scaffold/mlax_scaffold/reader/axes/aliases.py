"""What names stand for inputs, and for what is computed of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.reader.axes.known import Known


@dataclass(frozen=True)
class Alias:
    """A name that stands for an input, or for what is computed of it with the same first axes."""

    known: Known
    whole: bool = True
    """Whether the last axis is that of the input, too."""
    extra: int = 0
    """So many axes are added at the end."""
    last: str = ""
    """The size of a last axis that is another one, where a layer tells it."""

    def ended(self, more: int) -> Alias:
        """What has an axis more at the end, or none of the last one: `more` is 1, or -1."""
        return Alias(self.known, self.whole and more > 0, self.extra + more)


Names = dict[str, Alias]


def other_end(
    alias: Alias | None, extra: int | None = None, last: str = ""
) -> Alias | None:
    """What has the first axes of an input, and another last one."""
    if alias is None:
        return None
    return Alias(alias.known, False, alias.extra if extra is None else extra, last)


def given_or_made(statement: ast.stmt, names: Names) -> Names:
    """What a name stands for that a branch binds where it is None: the input that it else is."""
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(None)]
            )
        ) if name in names:
            return {name: names[name]}
    return {}
