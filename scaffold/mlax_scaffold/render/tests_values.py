"""Which values the cases of generated tests are drawn from, and which shapes they fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlax_scaffold.model.definition import Definition, Hyperparameter, Method
from mlax_scaffold.model.shapes import Conditional, Named


def dividing(definition: Definition, h: Hyperparameter) -> str | None:
    """A strategy of sizes that a requirement wants to divide, or to be divided by, others.

    Most sizes that are drawn regardless of one another do not divide.
    """
    names = [other.name for other in definition.hyperparameters]
    if h.type.strategy != "sizes()":
        return None
    before = names[: names.index(h.name)]
    pattern = re.compile(r"(\w+) % (\w+) == 0")
    pairs = [
        match.groups()
        for r in definition.requirements
        if (match := pattern.fullmatch(r.condition.replace("self.", "")))
    ]
    multiples = [n for n, divisor in pairs if divisor == h.name and n in before]
    divisors = [divisor for n, divisor in pairs if n == h.name and divisor in before]
    if multiples:
        return f"divisors({', '.join(multiples)})"
    return f"multiples({', '.join(divisors)})" if divisors else None


def per_dim_axes(definition: Definition, method: Method) -> Iterator[str]:
    """Hyperparameters that are the sizes of axes, and may be one size for all."""
    text = " ".join(str(i.type) for i in method.inputs) + str(method.returns)
    for h in definition.hyperparameters:
        if h.type.per_dim and re.search(rf"\*{h.name}\b", text):
            yield h.name


def fixed_axis(definition: Definition, method: Method) -> tuple[str, str] | None:
    """A name of an axis of x whose size a hyperparameter fixes, and the shape of x."""
    if len(method.positional) != 1:
        return None
    shape = method.positional[0].type.shape
    if shape is None:
        return None
    sizes = {h.name for h in definition.hyperparameters if h.type.word.name == "Size"}
    parts = (
        (shape.if_true, shape.if_false) if isinstance(shape, Conditional) else (shape,)
    )
    fixed = [
        {d.name for d in part.dims if isinstance(d, Named) and not d.broadcast}
        for part in parts
    ]
    names = [n for n in shape.names() if n in sizes.intersection(*fixed)]
    return (names[0], str(shape)) if names else None
