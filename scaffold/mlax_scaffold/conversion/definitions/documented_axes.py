"""Axes of inputs that docstrings and comments tell: `x: (batch_size, 3, num_points)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mlax_scaffold.conversion.definitions.assumed_axes import Assumed
from mlax_scaffold.reader.axes.described import comments_above

_GROUP = re.compile(r"[(\[]\s*([\w*/+ ]+(?:,\s*[\w*/+ ]+)*,?)\s*[)\]]")
_BETWEEN = re.compile(r",|\s+[x*]\s+")
"""What stands between axes: `(batch, time)` and `[bs x time]`."""
_CROSS = re.compile(r"\s+x\s+")
_PLAIN = re.compile(r"\s*:\s*(\w+(?:\s+x\s+\w+){1,4})\s*(?:[,;.]|$)")
"""Axes without brackets, `xyz: b x n x 3`."""
_TOKEN = re.compile(r"\w+$")
_FAR = 160
"""How far behind the name of an input its axes are looked for, in characters."""
_BATCH = ("b", "bs", "bsz", "batch_size")
_NAMES = {
    **dict.fromkeys((*_BATCH, "n"), "batch"),
    **dict.fromkeys(("l", "t", "s"), "positions"),
    **dict.fromkeys(("c", "d", "dim"), "features"),
    **{"h": "height", "w": "width"},
}
_NO_AXES = frozenset(
    (
        *("optional", "tensor", "str", "int", "float", "bool", "list", "tuple", "none"),
        *("default", "array", "long", "mask", "logits", "required", "longtensor"),
    )
)
_CALLS = ("forward", "__call__")


def documented_inputs(text: str, thing: str, name: str) -> Assumed:
    """The axes of inputs of the classes of a file, or of a function, by definition and input.

    Args:
        text: the file.
        thing: the class or the function that is converted.
        name: what it is called then.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    lines = text.split("\n")
    for node in ast.parse(text).body:
        methods = [node] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ClassDef):
            parts = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            methods = [m for m in parts if m.name in _CALLS]
        elif not isinstance(node, ast.FunctionDef) or node.name != thing:
            continue
        for method in methods:
            own = "\n".join(
                [
                    *comments_above(lines, method),
                    *lines[method.lineno - 1 : method.end_lineno],
                ]
            )
            texts = [ast.get_docstring(method) or "", *_comments(own)]
            texts += [ast.get_docstring(node) or ""]
            every = (*method.args.args, *method.args.kwonlyargs)
            given = [a.arg for a in every if a.arg != "self"]
            titles: dict[str, str] = {}
            for argument in given:
                others = [g for g in given if g != argument]
                told = (_axes(t, argument, others, titles) for t in texts)
                axes = next(filter(None, told), ())
                if axes:
                    found[name if node.name == thing else node.name, argument] = axes
    return found


def _comments(text: str) -> Iterator[str]:
    """The comments of a method, line by line."""
    for line in text.split("\n"):
        _, mark, comment = line.partition("#")
        if mark:
            yield comment


def _axes(
    text: str, argument: str, others: list[str], titles: dict[str, str]
) -> tuple[str, ...]:
    """The first group of names behind that of an input, before those of other inputs.

    Args:
        text: what tells of inputs.
        argument: the input.
        others: the other inputs.
        titles: what the axes are called by names of this tool: of two that would have one, `C` and `D`, the
            other one keeps its own. It is added to.
    """
    for match in re.finditer(rf"(?<![\w.]){re.escape(argument)}(?![\w.(])", text):
        part = text[match.end() : match.end() + _FAR]
        end = min(
            (
                m.start()
                for o in others
                if (
                    m := re.search(rf"(?m)(?:^|:param)\s*{re.escape(o)}\b\s*[:(]", part)
                )
            ),
            default=len(part),
        )
        for group in _GROUP.finditer(part[:end]):
            tokens = [t.strip() for t in _BETWEEN.split(group[1])]
            # `labels: [batch]`
            direct = part[: group.start()].strip() == ":" and group[0].startswith("[")
            single = len(tokens) == 1 and not direct
            tokens = [t for t in tokens if t]
            words = {w.lower() for t in tokens for w in re.findall(r"[A-Za-z]+", t)}
            if single or len(tokens) > 5 or words & _NO_AXES:
                continue
            return _named(tokens, titles)
        plain = _PLAIN.match(part[:end])
        if plain is not None:
            tokens = _CROSS.split(plain[1])
            return _named(tokens, titles)
    return ()


def _named(tokens: list[str], titles: dict[str, str]) -> tuple[str, ...]:
    """The axes of an input; of two that mean the same, `b` and `n`, the other one has its own name."""
    made: list[str] = []
    for place, token in enumerate(tokens):
        axis = _axis(token, place, titles)
        again = axis in made and not axis.isdecimal() and tokens.count(token) == 1
        made.append(token.lower() if again else axis)
    return tuple(made)


def _axis(token: str, place: int, titles: dict[str, str]) -> str:
    """The name of an axis, or its size in digits; of arithmetic, nothing is taken."""
    if not _TOKEN.match(token):
        return f"axis{place}"
    own = token.lower()
    if own not in _NAMES:
        return token if token.isdecimal() else own
    axis = _NAMES[own]
    known = "batch" if own in _BATCH else own
    return axis if titles.setdefault(axis, known) == known else own
