"""Which values the cases of generated tests are drawn from, and which shapes they fit."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Sequence

from mlax_scaffold.model.definition import Definition, Hyperparameter, Method
from mlax_scaffold.model.expressions import Expression, named
from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.shapes import Named, Variadic
from mlax_scaffold.render.tests.names import local


def dividing(definition: Definition, h: Hyperparameter) -> str | None:
    """A strategy of sizes that a requirement wants to divide, or to be divided by, others.

    Most sizes that are drawn regardless of one another do not divide.
    """
    names = [other.name for other in definition.hyperparameters]
    if h.type.strategy != "sizes()":
        return None
    before = names[: names.index(h.name)]
    pairs = [pair for r in definition.requirements if (pair := _divided(r.condition))]
    multiples = [n for n, divisor in pairs if divisor == h.name and n in before]
    divisors = [divisor for n, divisor in pairs if n == h.name and divisor in before]
    if multiples:
        return f"divisors({', '.join(map(local, multiples))})"
    return f"multiples({', '.join(map(local, divisors))})" if divisors else None


def kept_sizes(definition: Definition, method: Method) -> dict[str, str]:
    """The sizes that are those of others, by name, since the layers that tests give to a block keep shapes.

    They are the names of an axis of the result, and of the axis of the input in its place.
    """
    result = method.returns
    if not definition.structural() or result is None or not definition.kind.is_layer:
        return {}
    fields = [h.name for h in definition.hyperparameters]
    found: dict[str, str] = {}
    inputs = method.positional[:1]
    shapes = [(a, b) for i in inputs for a in i.type.shapes for b in result.shapes]
    for given, returned in shapes:
        for pair in zip(reversed(given.dims), reversed(returned.dims), strict=False):
            names = [dim.name for dim in pair if isinstance(dim, Named)]
            if len(set(names)) == 2 and set(names) <= set(fields):
                first, second = sorted(names, key=fields.index)
                found[second] = first
    return found


def like_default(definition: Definition, h: Hyperparameter) -> str | None:
    """A strategy of a number, a `str` or a sequence that says no more of itself than a default does.

    A text is the default, or one that the code compares it with.

    One that the code takes apart, `b1, b2 = self.betas` or `self.betas[2]`, has as many as it reads.
    """
    counts = [
        n for m in definition.methods for name, n in m.taken_apart if name == h.name
    ]
    try:
        value = None if h.default is None else ast.literal_eval(h.default.tree)
    except ValueError:
        value = None
    strategy = h.type.strategy
    if h.type.word.parts:
        return _rows_like(h.type, value)
    if strategy == _NUMBERS and isinstance(value, tuple | list) and value:
        strategy = f"sequences({_like_all(value)})"
    if strategy == "sequences(integers())":
        strategy = f"sequences({_integers_like(value)})"
    if strategy == "size_sequences()" and max(counts, default=0) > 2:
        strategy = "sequences(sizes(max=4))"
    if counts and strategy.startswith("sequences("):
        return f"{strategy[:-1]}, min_size={max(counts)}, max_size={max(counts)})"
    texts = h.type.word.opaque and not h.type.choices
    if strategy.startswith("sequences(") and _is_several(value) and not texts:
        return f"{strategy[:-1]}, min_size=2)"
    if strategy != h.type.strategy:
        return strategy
    if texts:
        compared = dict(definition.texts).get(h.name, ())
        if h.type.sequence:
            return _several_texts(compared, value, h.type.optional)
        return _texts(compared, value, h.type.optional)
    match h.type.strategy:
        case "finite_floats()":
            return _like(value)
        case "optional(finite_floats())":
            return f"optional({_like(value)})"
        case "integers()" if value is None or _is_positive(value):
            return "sizes(max=4)"
        case "optional(integers())" if value is None or _is_positive(value):
            return "optional(sizes(max=4))"
        case "integers()" | "optional(integers())" if _is_axis(definition, h.name):
            return h.type.strategy.replace("integers", "counts")
        case "size_sequences()" if h.default is None or value:
            return f"size_sequences(min_size={2 if _is_several(value) else 1})"
    return None


def _is_axis(definition: Definition, name: str) -> bool:
    """Whether an axis of an input is called after a hyperparameter: it has no negative size."""
    inputs = (i for method in definition.methods for i in method.inputs)
    return any(name in shape.names() for i in inputs for shape in i.type.shapes)


def _integers_like(value: object) -> str:
    """Integers like those of a default: positive ones where it has no others, or there is none."""
    items = value if isinstance(value, tuple | list) else ()
    return "sizes(max=4)" if all(map(_is_positive, items)) else "integers()"


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _is_several(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) > 1


def _texts(compared: Iterable[str], default: object, optional: bool) -> str | None:
    """A choice of texts, the default first; None where nothing is known of them."""
    texts = [default] if isinstance(default, str) else []
    texts += [text for text in compared if text not in texts]
    if not texts:
        return None
    shown = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    return f"optional(choices({shown}))" if optional else f"choices({shown})"


def _several_texts(
    compared: Iterable[str], default: object, optional: bool
) -> str | None:
    """Tuples of texts that mean something, or the default alone; None where nothing is known of them."""
    given = default if isinstance(default, tuple | list) else ()
    texts = [text for text in given if isinstance(text, str)]
    known = list(dict.fromkeys([*texts, *compared]))
    shown = ", ".join(json.dumps(text, ensure_ascii=False) for text in known)
    if not known:
        return None
    least = ", min_size=2" if _is_several(default) else ""
    found = f"sequences(choices({shown}){least})"
    if texts and not compared:
        found = f"choices(({shown},))"
    return f"optional({found})" if optional else found


def _like(value: object) -> str:
    match value:
        case int() | float() if value < 0:
            return "finite_floats(max=-0.0625)"
        case int() | float() if value == 0:
            return "decays()"
        case int() | float() if value < 1:
            return "open_fractions()"
    return "positives()"


def _rows_like(kind: HyperType, value: object) -> str | None:
    """Tuples of numbers like those that stand at each place of a default."""
    rows = value if kind.sequence else [value]
    width = len(kind.word.parts)
    given = rows if isinstance(rows, list | tuple) else ()
    known = [
        row for row in given if isinstance(row, list | tuple) and len(row) == width
    ]
    columns = zip(*known, strict=True) if known else [()] * width
    strategies = [
        _part_like(part.strategy, values)
        for part, values in zip(kind.word.parts, columns, strict=True)
    ]
    found = f"rows({', '.join(strategies)})"
    if kind.sequence:
        found = f"sequences({found}{', min_size=2' if len(known) > 1 else ''})"
    return f"optional({found})" if kind.optional else found


def _part_like(strategy: str, values: Sequence[object]) -> str:
    if strategy == _FLOATS:
        return _like_all(values) if values else "positives()"
    if strategy == "integers()" and all(map(_is_positive, values)):
        return "sizes(max=4)"
    if strategy == "names()" and values:
        return f"choices({', '.join(dict.fromkeys(map(json.dumps, values)))})"
    return strategy


_NUMBERS = "sequences(finite_floats())"


def _like_all(values: Sequence[object]) -> str:
    """A strategy of numbers that each of some is one of, and no more than that."""
    found = {_like(value) for value in values}
    if found <= {"open_fractions()", "decays()"}:
        return "decays()" if "decays()" in found else "open_fractions()"
    return "positives()" if found <= {"open_fractions()", "positives()"} else _FLOATS


_FLOATS = "finite_floats()"


def _divided(condition: Expression) -> tuple[str, str] | None:
    """The name and the divisor in `name % divisor == 0`."""
    match condition.tree:
        case ast.Compare(
            left=ast.BinOp(left=left, op=ast.Mod(), right=right),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            names = named(left), named(right)
            return (names[0], names[1]) if names[0] and names[1] else None
    return None


def per_dim_axes(definition: Definition, method: Method) -> Iterator[str]:
    """Hyperparameters that are the sizes of axes, and may be one size for all."""
    arrays = (*(i.type for i in method.inputs), method.returns)
    variadic = {
        dim.name
        for array in filter(None, arrays)
        for shape in array.shapes
        for dim in shape.dims
        if isinstance(dim, Variadic)
    }
    for h in definition.hyperparameters:
        if h.type.per_dim and h.name in variadic:
            yield h.name
