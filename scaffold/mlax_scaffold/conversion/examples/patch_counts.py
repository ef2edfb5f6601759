"""Numbers of patches that an image is cut into."""

from __future__ import annotations

import re
from collections.abc import Mapping


def _is_image(shape: tuple[object, ...]) -> bool:
    """Whether a shape is that of images, or of one of as many rows as columns."""
    return len(shape) == 4 or (len(shape) == 3 and len({*shape}) == 2)


def with_patch_counts(
    values: dict[str, object], shapes: Mapping[str, object], given: Mapping[str, object]
) -> dict[str, object]:
    """Values of fields in which a number of patches is that of the only image.

    Args:
        values: the values of all fields that have one.
        shapes: the shapes of the inputs.
        given: fields whose values are given.
    """
    counts = [
        k for k in values if re.fullmatch(r"(num|n)_?patch(es)?", k) and k not in given
    ]
    sizes = [v for k, v in values.items() if re.fullmatch(r"patch(_?size)?", k)]
    images = [s for s in shapes.values() if isinstance(s, tuple) and _is_image(s)]
    if len(counts) != 1 or len(sizes) != 1 or len(images) != 1:
        return values
    [size], [image] = sizes, images
    sides = size if isinstance(size, tuple) and len(size) == 2 else (size, size)
    # The axis that is as long as no other one holds the channels: the first or the last one.
    *_, first, second, third = image
    axes = (second, third) if second == third != first else (first, second)
    if not all(type(s) is int and s > 0 for s in (*sides, *axes)):
        return values
    number = (axes[0] // sides[0]) * (axes[1] // sides[1])
    return {**values, counts[0]: number} if number else values
