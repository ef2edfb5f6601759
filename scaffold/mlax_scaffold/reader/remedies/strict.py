"""Calls that widen half precision, as calls of the strict words."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.remedies.names import word as import_of
from mlax_scaffold.reader.remedies.other_forms import OTHER_FORMS, other_form
from mlax_scaffold.reader.source import Source, dotted

_REDUCED = {
    "axis": "axis",
    "keepdims": "keepdims",
    "dtype": "accum_dtype",
    "where": "where",
}
_DEVIATION = _REDUCED | {"ddof": "correction", "correction": "correction"}


@dataclass(frozen=True)
class _Form:
    """How a function's arguments are called, and what they are for the word that takes its place."""

    positional: tuple[str, ...]
    keywords: dict[str, str]
    arrays: int = 1
    added: tuple[tuple[str, str], ...] = ()
    """Arguments that are given where they are not, with their values."""
    needed: tuple[str, ...] = ()
    """Arguments without which the function does something else than the word."""


_REDUCTION = _Form(("axis", "dtype"), _REDUCED)
_LOG_SUM = _Form(("axis",), {k: k for k in ("axis", "keepdims", "where")})
_SOFTMAX = _Form(("axis",), {"axis": "axis", "where": "where"})

_FORMS = {
    "sum": _REDUCTION,
    "mean": _REDUCTION,
    "prod": _REDUCTION,
    "std": _Form(("axis", "dtype"), _DEVIATION),
    "var": _Form(("axis", "dtype"), _DEVIATION),
    "average": _Form(("axis",), {"axis": "axis", "keepdims": "keepdims"}),
    "norm": _Form(("ord", "axis", "keepdims"), {**_REDUCED, "ord": "ord"}),
    "logsumexp": _LOG_SUM,
    "logmeanexp": _LOG_SUM,
    "softmax": _SOFTMAX,
    "log_softmax": _SOFTMAX,
    "segment_sum": _Form(
        ("num_segments",),
        {"num_segments": "num_segments"},
        arrays=2,
    ),
    "cumsum": _Form(("axis",), {"axis": "axis"}, needed=("axis",)),
    "log1mexp": _Form((), {}),
    "standardize": _Form(
        ("axis",), {"axis": "axis", "epsilon": "epsilon"}, added=(("axis", "-1"),)
    ),
    "bernoulli": _Form(
        ("p", "shape"),
        {"p": "p", "shape": "shape"},
        added=(("p", "0.5"), ("shape", "()")),
    ),
    "dot_product_attention": _Form(
        (),
        {
            "bias": "bias",
            "mask": "mask",
            "scale": "scale",
            "is_causal": "causal",
        },
        arrays=3,
    ),
}
"""The functions with one strict counterpart, by the last part of their names."""


def strict_call(source: Source, call: ast.Call, word: str) -> Fix | None:
    """The call of the strict word; None where an argument has no counterpart there."""
    made = _in_form(source, call, word)
    if made is None and _last(source, call.func) in OTHER_FORMS:
        return other_form(source, call, word)
    return made


def _in_form(source: Source, call: ast.Call, word: str) -> Fix | None:
    """The same call of the word, with its arguments by name."""
    needed = import_of(source, word)
    function = call.func
    name = _last(source, function)
    if name == "rademacher":
        return _signs(source, call, needed)
    form = _FORMS.get(name)
    method = isinstance(function, ast.Attribute) and not _of_module(source, function)
    if form is None or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    arrays = call.args[: form.arrays - method]
    others = call.args[len(arrays) :]
    given: dict[str, str] = {}
    edits: list[Edit] = []
    if len(others) > len(form.positional) or len(arrays) < form.arrays - method:
        return None
    for position, argument in enumerate(others):
        called = form.keywords.get(form.positional[position])
        if called is None:
            return None
        given[called] = unparsed(argument)
        edits.append(source.insert(argument, f"{called}="))
    for keyword in call.keywords:
        called = form.keywords.get(keyword.arg or "")
        if called is None or called in given:
            return None
        given[called] = unparsed(keyword.value)
        if called != keyword.arg:
            line, column = source.start(keyword)
            end = (line, column + len(keyword.arg or ""))
            edits.append(source.replace((line, column), end, called))
    needs = {*form.needed, *_defaults(function)}
    if "ord" in given or not needs <= set(given):
        return None
    for called, value in form.added:
        if called not in given:
            line, column = source.end(call)
            comma = "" if _trailing_comma(source, call) else ", "
            text = f"{comma}{called}={value}"
            edits.append(source.replace((line, column - 1), (line, column - 1), text))
    if method and isinstance(function, ast.Attribute):
        edits += _from_method(source, call, function, needed.bound)
    else:
        edits.append(source.edit(function, needed.bound))
    return Fix(_joined(edits), (needed,))


def _defaults(function: ast.expr) -> tuple[str, ...]:
    """The arguments that a function has by default, and the word has not."""
    owner, _, name = (dotted(function) or "").rpartition(".")
    if name.endswith("softmax") and owner.endswith("special"):
        return ("axis",)  # None: all axes
    return ()


def _signs(source: Source, call: ast.Call, needed: Needed) -> Fix | None:
    """`rademacher(key, shape, dtype)` by the strict `bernoulli`: integers where no dtype is given."""
    names = ("key", "shape", "dtype")
    given = dict(zip(names, call.args, strict=False))
    given |= {k.arg or "": k.value for k in call.keywords}
    if len(call.args) > len(names) or "key" not in given or not {*given} <= {*names}:
        return None
    texts = {name: source.text_of(value) for name, value in given.items()}
    numpy = of_jax(source, "jnp")
    drawn = f"{needed.bound}({texts['key']}, p=0.5, shape={texts.get('shape', '()')})"
    text = f"{numpy.bound}.where({drawn}, 1, -1)"
    if "dtype" in texts:
        text += f".astype({texts['dtype']})"
    return Fix((source.edit(call, text),), (needed, numpy))


def _joined(edits: list[Edit]) -> tuple[Edit, ...]:
    """The edits, with those that insert at one place as one."""
    found: dict[tuple[int, int, int, int], Edit] = {}
    for edit in edits:
        place = (edit.line, edit.column, edit.end_line, edit.end_column)
        text = found[place].text + edit.text if place in found else edit.text
        found[place] = Edit(*place, text)
    return tuple(found.values())


def _from_method(
    source: Source, call: ast.Call, function: ast.Attribute, word: str
) -> list[Edit]:
    """`(a + b).sum(axis=0)` as `sum(a + b, axis=0)`."""
    owner = function.value
    keeps = isinstance(owner, ast.Tuple | ast.GeneratorExp | ast.NamedExpr)
    start = source.start(call)
    after = source.end(function)
    rest = source.between(after, source.end(call))
    opened = rest.index("(") + 1
    line = after[0] + rest[:opened].count("\n")
    column = after[1] + opened if line == after[0] else opened
    separator = ", " if call.args or call.keywords else ""
    if keeps:
        dot = _dot(source, source.end(owner), after)
        return [
            source.replace(start, start, f"{word}("),
            source.replace(dot, (line, column), separator),
        ]
    gap = source.between(source.end(owner), after)
    if "#" in gap:  # a comment between the two stays
        dot = gap.rindex(".")
        separator = separator.rstrip() + gap[:dot].replace(")", "", 1)
    return [
        source.replace(start, source.start(owner), f"{word}("),
        source.replace(source.end(owner), (line, column), separator),
    ]


def _dot(source: Source, start: tuple[int, int], end: tuple[int, int]):
    text = source.between(start, end)
    before = text[: text.rindex(".")]
    lines = before.count("\n")
    column = len(before) - before.rfind("\n") if lines else start[1] + len(before)
    return start[0] + lines, column


def _trailing_comma(source: Source, call: ast.Call) -> bool:
    return source.text_of(call)[:-1].rstrip().endswith((",", "("))


def _last(source: Source, function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and isinstance(function, ast.Name):
            for alias in node.names:
                if (alias.asname or alias.name) == function.id:
                    return alias.name
    return ""


def _of_module(source: Source, function: ast.Attribute) -> bool:
    """Whether a function is one of an imported module, and no method."""
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    return any(
        (alias.asname or alias.name.partition(".")[0]) == root.id
        for node in source.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )
