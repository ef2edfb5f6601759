"""The shapes of inputs that docstrings and comments tell: `x: (batch, time, dim)`, `x: b x n x 3`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence

from mlax_scaffold.reader.axes.known import Known

_ONE = r"(?:[A-Za-z_]\w*|\d+|\.\.\.)"
_AXIS = rf"{_ONE}(?:\s*[-+*]\s*{_ONE})*"
_COMPUTED = re.compile(r"[-+*]")
_LISTED = rf"[\[(]\s*(?P<listed>{_AXIS}(?:(?:\s*,\s*{_AXIS})+\s*,?|\s*,))\s*[\])]"
_CROSSED = rf"(?P<crossed>{_AXIS}(?: x {_AXIS})+)(?!\w)"
_NO_AXES = frozenset(
    (
        *("a", "an", "and", "array", "bool", "default", "false", "float", "int"),
        *("is", "jax", "none", "of", "optional", "or", "str", "tensor", "the", "true"),
    )
)
"""Words in brackets that say something else."""


_USUAL = frozenset(
    (
        *("batch", "channels", "dim", "edges", "feat", "features", "frames", "heads"),
        *("height", "length", "nodes", "seq", "time", "width"),
    )
)
"""Words that shapes are written with where nothing stands around them."""


def describe(
    known: Known, name: str, text: str, fields: Collection[str], *, whole: bool = True
) -> None:
    """Note what a text says of the shape of what it calls `name`; `whole`: of its last axis, too."""
    axes, rest = _axes(name, text, fields)
    if axes is None and (bare := _bare(name, text, fields)):
        axes = bare
    if axes is None:
        return
    if kind := re.search(r"\b(bool|int)", rest):
        known.kind = kind[1].capitalize()
    dots = axes.index("...") if "..." in axes else len(axes)
    if dots == len(axes):
        known.has(len(axes))
    for place, axis in enumerate(axes):
        at = place if place < dots else place - len(axes)
        if place == dots or (place == len(axes) - 1 and not whole):
            continue
        parts = _COMPUTED.split(axis)
        if all(part.isdigit() or part in fields for part in parts):
            known.call(at, axis)
        elif len(parts) == 1:
            known.name_axis(at, axis)
            known.described.add(at)


def described_part(known: Known, key: str, text: str, fields: Collection[str]) -> Known:
    """What is under a key of an input that is a dictionary, with what a text says of it."""
    if key not in known.parts:
        known.parts[key] = Known(key)
        describe(known.parts[key], key, text, fields)
    return known.parts[key]


_OTHERS = r"(?:\s*(?:,|\band\b|/|&)\s*(?:and\b\s*)?`*[A-Za-z_]\w*`*)*"
"""Names that the same is said of: `q, k and v: (batch, dim)`."""
_SAID = r"(?:(?:\s*\([^()\n]*\))?\s*(?::|\b(?:of|has|have) shape\b|\bshape\b)|\s*->)"
"""What stands between a name and a shape: `x: `, `x of shape `, `x.shape == `.

Behind an arrow that follows brackets, `x (n, 3) -> (m, k)`, it is that of a result.
"""


def _axes(
    name: str, text: str, fields: Collection[str]
) -> tuple[Sequence[str] | None, str]:
    """The axes of the first shape that stands behind a name, on its line; and what is said around it."""
    before = rf"(?<![\w.]){re.escape(name)}`*(?:{_OTHERS}{_SAID}|\.shape\s*==?|(?:\.shape)? (?=[\[(]))"
    behind = r"(?P<behind>[^\n,;:.]*)"
    shape = re.compile(rf"{before}(?P<between>[^\n]*?)(?:{_LISTED}|{_CROSSED}){behind}")
    at = 0
    while found := shape.search(text, at):
        at = found.start() + 1
        # What is said of another name behind this one, or of the result, is not said of this one.
        if re.search(r"[:;=]|\breturn", found["between"]):
            continue
        if axes := _named(found["listed"] or found["crossed"], fields):
            return axes, f"{found['between']} {found['behind']}"
    return None, ""


def _named(text: str, fields: Collection[str]) -> list[str]:
    """The axes of a list of them; none where it lists anything else, or cites a year."""
    axes = ["".join(a.split()) for a in re.findall(_AXIS, text.replace(" x ", ","))]
    named = [a if a in fields or _COMPUTED.search(a) else a.lower() for a in axes]
    plain = [a for a in named if a != "..." and not _COMPUTED.search(a)]
    plain = [a for a in plain if not a.isdigit()]
    cited = any(re.fullmatch("(?:19|20)[0-9]{2}", a) for a in named)
    other = cited or _NO_AXES.intersection(plain) or named.count("...") > 1
    return [] if other else named


def _bare(name: str, text: str, fields: Collection[str]) -> list[str]:
    """The axes of a comment without brackets: `x: b t dim, mask: b t`, `x: batch, time, dim`."""
    for found in re.finditer(
        rf"(?:^|,)[ #]*{re.escape(name)} *: *([\w ,]+?) *(?=$|, *\w+ *:)", text, re.M
    ):
        if axes := _words(found[1], fields):
            return axes
    return []


def _words(text: str, fields: Collection[str]) -> list[str]:
    """The axes that a text names and nothing else; none where it says anything else."""
    axes = re.split(r"[ ,]+", text.strip())
    known = [len(a) == 1 or a.isdigit() or a in fields or a in _USUAL for a in axes]
    return axes if len(axes) > 1 and all(known) else []


def text_above(
    lines: Sequence[str], method: ast.FunctionDef, fields: Collection[str] = ()
) -> str:
    """The comments above a method, its docstring, and the comments of its head."""
    head = [*comments_above(lines, method), *_head(lines, method)]
    own = [*_beside(lines, method), *_alone(head, method, fields)]
    return "\n".join([*own, *head, ast.get_docstring(method) or ""])


def comments_above(lines: Sequence[str], method: ast.FunctionDef) -> Sequence[str]:
    """The comments that stand above a method."""
    first = start = _first(method)
    while start and lines[start - 1].strip().startswith("#"):
        start -= 1
    return lines[start:first]


def _head(lines: Sequence[str], method: ast.FunctionDef) -> Sequence[str]:
    return lines[_first(method) : method.body[0].lineno]


def _first(method: ast.FunctionDef) -> int:
    """The place of a method's first line, from 0."""
    return min([method.lineno, *(d.lineno for d in method.decorator_list)]) - 1


def _alone(
    head: Sequence[str], method: ast.FunctionDef, fields: Collection[str]
) -> list[str]:
    """A comment that is a shape alone, `# b h w c` or `# (b, t, c)`, of the one input that a method has."""
    inputs = [a.arg for a in method.args.args if a.arg != "self"]
    comments = [line.partition("#")[2] for line in head if line.strip()[:1] == "#"]
    if len(inputs) != 1:
        return []
    return [
        f"{inputs[0]}: {comment}"
        for comment in map(str.strip, comments)
        if _words(comment, fields) or re.fullmatch(_LISTED, comment)
    ]


def _beside(lines: Sequence[str], method: ast.FunctionDef) -> list[str]:
    """Comments that are a shape alone, beside the one input without a type of their line: `x,  # (b, t)`."""
    args = method.args
    inputs = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    free = [a for a in inputs if a.annotation is None and a.arg != "self"]
    found = []
    for arg in free:
        code, _, comment = lines[arg.lineno - 1].partition("#")
        alone = [a.lineno for a in free].count(arg.lineno) == 1
        if (
            alone
            and not re.search(r"[\"']", code)
            and comment.strip()[:1] in tuple("[(")
        ):
            found.append(f"{arg.arg}: {comment.strip()}")
    return found
