"""What a trial finds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Frame:
    """A line of the package in a traceback."""

    path: str
    line: int
    span: tuple[int, int, int] | None
    """The column of the expression, and the line and the column where it ends."""


@dataclass(frozen=True)
class Missing:
    """An attribute that a module does not have: its place in the spec, in bytes."""

    line: int
    column: int
    end_line: int
    end_column: int
    name: str
    owner: str
    close: str
    """One that it has, and that is almost spelt so; "": there is none."""
    home: str
    """The module that has one of the name; "": there is none."""


@dataclass(frozen=True)
class Failure:
    """What a trial found."""

    module: str = ""
    """The module that does not import; "": it is what was raised when it was traced."""
    source: str = ""
    """The spec whose definition was traced."""
    kinds: tuple[str, ...] = ()
    """The names of the exception's classes, its own first."""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    """Lines of the package, from the outside."""
    name: Missing | None = None
    always: bool = False
    """Whether it is raised in every case that the generated tests would pick."""
    default: bool = False
    """Whether it is so for the defaults, whatever else is given, and not for others."""
    axes: Mapping[str, str] = field(default_factory=dict)
    """What axes have to be that the types of the spec leave open, as shapes say it."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Shapes that are taken of inputs of which their types say nothing, by name."""
    definition: str = ""
    """Which one of its spec was traced."""
    fits: Mapping[str, str] = field(default_factory=dict)
    """Values and shapes that are taken with the defaults, where those of the example are not."""
    others: tuple[str, ...] = ()
    """What else cases of other sizes are refused with."""
    wide: int | None = None
    """Which operand of the expression has another dtype than the input, where that is what was found."""
    option: str = ""
    """The option it is raised with, where it is not with what the example has."""
    meets: bool = False
    """Whether the other operand has that of the input."""

    @property
    def error(self) -> str:
        """The exception as Python shows it."""
        return f"{self.kinds[0]}: {self.message}"

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Failure:
        """From what the program wrote."""
        if "name" in given:
            return cls(source=given["source"], name=Missing(*given["name"]))
        frames = tuple(
            Frame(path.replace(os.sep, "/"), line, span and tuple(span))
            for path, line, span in given["frames"]
        )
        kinds = tuple(given["kinds"])
        told = given["module"], given["source"], kinds, given["message"], frames
        said = (
            *("always", "axes", "default", "definition", "fits", "meets", "option"),
            *("types", "wide"),
        )
        others = tuple(given.get("others", ()))
        known = {name: given[name] for name in said if name in given}
        return cls(*told, others=others, **known)
