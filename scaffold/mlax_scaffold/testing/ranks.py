"""Shapes to try for inputs whose types say nothing of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_OPEN = re.compile(r"""["'](?P<name>\w+)["']: (?:''|"")""")
"""An input of any shape, which tests give none first."""
_SHAPES = (
    "*batch {0}_features",
    "batch {0}_length {0}_features",
    "batch {0}_height {0}_width {0}_channels",
)


def candidates(text: str) -> Iterator[tuple[Mapping[str, str], str]]:
    """Shapes by the names of the inputs that have any, and the text of tests that says so.

    Args:
        text: the text of generated tests.
    """
    names = list(dict.fromkeys(_OPEN.findall(text)))
    for shape in _SHAPES if names else ():
        shapes = {name: shape.format(name) for name in names}
        yield (
            shapes,
            _OPEN.sub(lambda f, s=shapes: f'"{f["name"]}": "{s[f["name"]]}"', text),
        )


def with_sizes(shapes: Mapping[str, str], sizes: Mapping[str, str]) -> dict[str, str]:
    """The shapes with what some axes were found to be."""
    return {
        name: " ".join(sizes.get(word, word) for word in shape.split())
        for name, shape in shapes.items()
    }
