"""Values of hyperparameters, and shapes of inputs, that fit each other: what tests are drawn from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from mlax_scaffold.conversion.declarations.parted_inputs import case_of, settings_of
from mlax_scaffold.conversion.examples.computing import computed, default_of, is_there
from mlax_scaffold.conversion.examples.few_heads import few_heads
from mlax_scaffold.conversion.examples.field_values import COUNTS, small_value
from mlax_scaffold.conversion.examples.patch_counts import with_patch_counts
from mlax_scaffold.conversion.examples.required_multiples import multiples
from mlax_scaffold.conversion.examples.single_axes import with_single_axes
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Each, Several, Value
from mlax_scaffold.conversion.source.trees import is_none, literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_FUNCTIONS = (
    *("Activation", "Initializer", "Function", "DotGeneral", "ConvGeneralDilated"),
)
_DEMANDING = (
    *("//", "%", "reshape", "split", "MultiHeadAttention", "GroupNorm", "Conv", "Pool"),
    *(
        "einsum",
        "swapaxes",
        "transpose",
        "concatenate",
        "Flatten",
        "top_k",
        "stack",
        "matmul",
    ),
    *(
        "conv_general_dilated",
        "@word:require",
        "Embed",
        " for ",
        "@own:",
        "[:",
        "np.",
        "take",
        "Cell",
        "tile",
    ),
)


def example(
    symbols: Symbols,
    fields: Iterable[Field],
    env: Mapping[str, Value],
    setup: Iterable[ast.stmt],
    methods: Iterable[ast.FunctionDef],
) -> tuple[tuple[str, object], ...]:
    """One example; nothing where values may be drawn one by one."""
    fields = list(fields)
    arrays = {k: v for k, v in env.items() if isinstance(v, Array)}
    if not _demands(symbols, arrays, setup, methods):
        return ()
    # Sizes of the arrays of a tuple are drawn by their names.
    found = fitting(symbols, fields, env, setup, methods)
    return tuple((k, v) for k, v in found if not isinstance(env.get(k), Several | Each))


def fitting(
    symbols: Symbols,
    fields: Iterable[Field],
    env: Mapping[str, Value],
    setup: Iterable[ast.stmt],
    methods: Iterable[ast.FunctionDef],
    given: Mapping[str, object] | None = None,
) -> tuple[tuple[str, object], ...]:
    """Values of fields, and shapes of inputs, that fit each other; nothing where none are known.

    Fields that are given have these values.
    """
    fields, setup, methods = list(fields), list(setup), list(methods)
    text = _text(setup, methods)
    arrays = {k: v for k, v in env.items() if isinstance(v, Array)}
    values: dict[str, object] = {}
    for field in fields:
        value = (given or {}).get(field.name, small_value(field, text))
        if value is None and re.search(rf"\bint\([^)]*\bself\.{field.name}\b", text):
            # A share of a size, which is to be one at least.
            value = default_of(field.default)
        if value is None and field.default is None and "None" not in field.word:
            if field.word not in _FUNCTIONS:
                return ()
            continue
        unread = field.default is not None and not re.search(
            rf"\bself\.{field.name}\b", text
        )
        if value is not None and (not unread or field.name in (given or {})):
            values[field.name] = value
    _divide(values, given or {})
    values |= few_heads(values, fields, given or {})
    values |= multiples(values, setup, given or {})
    values |= _large_enough(values, setup)
    known = _with_derived(values, setup)
    defaults = {f.name: default_of(f.default) for f in fields if f.default is not None}
    side = _side(
        symbols, known, grows="ConvTranspose(" in text and not _SHRINKS.search(text)
    )
    shapes: dict[str, object] = {}
    chosen: dict[str, int] = {}
    optional = {n for m in methods for n in optional_inputs(m)}
    for name, array in arrays.items():
        if name in optional and array.lead and not array.axes and not array.against:
            # Nothing says what fits.
            continue
        case = case_of(array, defaults | known)
        asked = {a: defaults[a] for a in _asked(symbols, case) if a in defaults}
        values = {**asked, **values}
        known = {**asked, **known}
        shape = _shape(symbols, case, known, side, chosen)
        if shape is None and name in optional:
            # It is of a size that is None by default, as it is itself.
            continue
        if shape is None:
            return ()
        shapes[name] = shape
        # An example of one case is none of the others.
        values |= {k: defaults.get(k) for k in settings_of(array) if k not in values}
    for name, several in env.items():
        if isinstance(several, Several | Each) and name not in optional:
            nested = _nested(symbols, several, known, side, chosen)
            if nested is not None:
                shapes[name] = nested
    values = with_patch_counts(values, shapes, given or {})
    return (*values.items(), *with_single_axes(shapes, methods).items())


def _nested(
    symbols: Symbols,
    value: Value,
    known: Mapping[str, object],
    side: int,
    chosen: dict[str, int],
) -> tuple[object, ...] | None:
    """The shapes of the arrays of a tuple; None where one is not known."""
    if isinstance(value, Array):
        return _shape(symbols, case_of(value, known), known, side, chosen)
    if isinstance(value, Each):
        first = _nested(symbols, value.first, known, side, chosen)
        other = first if value.alike else _larger(symbols, value.first, first)
        return (first, other) if first is not None else None
    items = value.items if isinstance(value, Several) else []
    made = [_nested(symbols, i, known, side, chosen) for i in items]
    return tuple(made) if made and None not in made else None


def _larger(
    symbols: Symbols, value: Value, shape: tuple[object, ...] | None
) -> tuple[object, ...] | None:
    """The shape of another array of a list: as large, but for sizes behind the first that nothing tells."""
    if not isinstance(value, Array) or shape is None or value.lead:
        return shape
    axes = map(symbols.find, value.axes)
    return tuple(
        2 * n if place and is_symbol(axis) and isinstance(n, int) else n
        for place, (axis, n) in enumerate(zip(axes, shape, strict=True))
    )


def _asked(symbols: Symbols, array: Array) -> set[str]:
    """The fields that conditions in the axes ask for."""
    return {
        part.attr
        for axis in array.axes
        for choice in walk(symbols.find(axis))
        if isinstance(choice, ast.IfExp)
        for part in walk(choice.test)
        if isinstance(part, ast.Attribute)
    }


def _large_enough(
    values: Mapping[str, object], setup: Iterable[ast.stmt]
) -> dict[str, object]:
    """Heights and widths that leave something of an image for each layer of setup."""
    sides = [name for name in ("height", "width") if name in values]
    sizes = [
        part
        for statement in setup
        for part in walk(statement)
        if isinstance(part, ast.BinOp)
        if any(self_attribute(inner) in sides for inner in walk(part))
    ]
    for side in _SIDES if sizes else ():
        chosen: dict[str, object] = dict.fromkeys(sides, side)
        found = [computed(size, {**values, **chosen}) for size in sizes]
        if all(isinstance(size, int) and size > 0 for size in found):
            return chosen
    return {}


def _with_derived(
    values: Mapping[str, object], setup: Iterable[ast.stmt]
) -> dict[str, object]:
    """Values of fields, with those that setup computes of them alone."""
    known = dict(values)
    for part in setup:
        if isinstance(part, ast.Assign):
            attribute = self_attribute(part.targets[0])
            value = computed(part.value, known)
            if attribute is not None and isinstance(value, int):
                known.setdefault(attribute, value)
    return known


def optional_inputs(method: ast.FunctionDef) -> list[str]:
    """The inputs of `forward` that are None by default."""
    if method.name != "forward":
        return []
    given, defaults = method.args.args, method.args.defaults
    late = zip(given[len(given) - len(defaults) :], defaults, strict=True)
    named = zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)
    return [a.arg for a, default in (*late, *named) if is_none(default)]


def _divide(values: dict[str, object], given: Mapping[str, object]) -> None:
    """Take sizes of images that windows, or patches, divide."""
    parts = [v for k, v in values.items() if re.match(r"(window|patch)_?size", k)]
    part = parts[0] if len(parts) == 1 else None
    part = part[0] if isinstance(part, tuple) and part else part
    if not isinstance(part, int) or part < 1:
        return
    for name, value in values.items():
        if name in given or not re.search(r"resolution|(img|image|input)_?size", name):
            continue
        sizes = value if isinstance(value, tuple) else (value,)
        if all(isinstance(s, int) and s % part for s in sizes):
            fitting = part * max(1, 8 // part)
            several = isinstance(value, tuple)
            values[name] = (fitting,) * len(sizes) if several else fitting


def _demands(
    symbols: Symbols,
    arrays: Mapping[str, Array],
    setup: Iterable[ast.stmt],
    methods: Iterable[ast.FunctionDef],
) -> bool:
    """Whether values that are drawn one by one would hardly fit each other."""
    text = _text(setup, methods)
    literal_axes = any(
        isinstance(literal(symbols.find(a)), int)
        for v in arrays.values()
        for a in v.axes
    )
    return literal_axes or any(d in text for d in _DEMANDING) or len(arrays) != 1


def _text(setup: Iterable[ast.stmt], methods: Iterable[ast.FunctionDef]) -> str:
    lines = [ast.unparse(s) for s in setup]
    return "\n".join([*lines, *(ast.unparse(s) for m in methods for s in m.body)])


def _shape(
    symbols: Symbols,
    array: Array,
    values: Mapping[str, object],
    side: int,
    chosen: dict[str, int],
) -> tuple[int, ...] | None:
    """A shape; sizes that are free are chosen once for all inputs."""
    against = array.against
    if array.lead and not array.axes and against is not None and against.axes:
        return _shape(symbols, against, values, side, chosen)
    if array.whole:
        whole = values.get(array.whole)
        return (2, *whole) if isinstance(whole, tuple) else None
    sizes: list[int] = []
    if array.lead:
        sizes.append(2)
        bare = array.prefix.bare - 1 if not array.axes else 0
        sizes += [4] * max(0, bare, array.asked_for - len(array.axes) - 1)
    if array.flat is not None:
        size = computed(symbols.find(array.flat), values)
        if not isinstance(size, int):
            return None
        sizes.append(size)
    spatial = {"height": side, "width": side, "depth": side, "time": 5}
    for axis in array.axes:
        known = symbols.find(axis)
        if isinstance(known, ast.Name) and is_symbol(known):
            hint = symbols.hints.get(known.id, "")
            few = not sizes or COUNTS.search(hint)
            free = spatial.get(hint, 2 if few else 4)
            sizes.append(chosen.setdefault(known.id, free))
            continue
        for part in walk(known):
            if isinstance(part, ast.Name) and is_symbol(part):
                chosen.setdefault(part.id, 4)
        size = computed(known, {**values, **chosen})
        if not isinstance(size, int) or size < 1:
            return None
        sizes.append(size)
    return tuple(sizes)


_SIDES = (
    *(8, 16, 28, 32, *range(4, 48), 64, 96, 128, 224, 227, 256),
    *range(48, 300),
)
"""Heights and widths of images, in the order in which they are tried."""


_SHRINKS = re.compile(r"\bConv\(|Pool|@own:|\[\w+\]\(")
"""What may need a larger image, as convolutions that are not transposed do."""


def _side(symbols: Symbols, values: Mapping[str, object], *, grows: bool) -> int:
    """A height that makes the sizes that have to be the same the same: those before `Linear`.

    What makes images larger and larger begins with small ones.
    """
    demands = [
        (symbols.find(left), symbols.find(right)) for left, right in symbols.demands
    ]
    spatial = {"height", "width", "depth", "time"}
    told = [
        pair
        for pair in demands
        if spatial
        & {
            symbols.hints.get(part.id, "")
            for side in pair
            for part in walk(side)
            if isinstance(part, ast.Name)
        }
    ]
    # Each of several sizes may be that of a stage, which has half the height of the one before.
    stages = max((len(v) for v in values.values() if isinstance(v, tuple)), default=0)
    smallest = 2 ** min(stages, 5)
    for side in (2,) * grows + tuple(s for s in _SIDES if s >= smallest):
        known = {**values, **dict.fromkeys(symbols.hints, side)}
        if all(computed(a, known) == computed(b, known) for a, b in told) and all(
            is_there(size, known) for pair in told for size in pair
        ):
            return side
    return max(_SIDES[0], smallest)
