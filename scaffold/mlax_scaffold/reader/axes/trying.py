"""Shapes that an input may have whose type was guessed, for the trial to choose among: the likeliest first.

What reads an input says of most of its axes what they are, and of others no more than that they are there.
No two inputs share the name of an axis here: what ties them, the trial finds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.reader.axes import known_of
from mlax_scaffold.reader.axes.known import EDGES, NAMES, Known
from mlax_scaffold.reader.remedies.classes import CALLED
from mlax_scaffold.reader.source import Source

_NAMED = ("forward", *CALLED["forward"])
OWN = "__"
"""What stands between the name of an input and that of an axis which no other one has, nor any field."""
_MOST = 5
"""So many axes an input has at most."""
_NEAR = (0, 1, -1, 2)
"""How many axes more or fewer than guessed an input may have, the likeliest first."""


def shapes_to_try(
    before: str, after: str, owner: str, path: str
) -> Mapping[str, list[str]]:
    """The shapes of each input of a definition that has a type in one text, and none in the other.

    Args:
        before: the text of the spec as its author wrote it.
        after: the text with the types that were guessed.
        owner: the name of the class or the function.
        path: the spec.
    """
    try:
        written = _entry(ast.parse(before), owner)
        tree = ast.parse(after)
    except SyntaxError:
        return {}
    method = _entry(tree, owner)
    if written is None or method is None:
        return {}
    bare = {a.arg for a in written.args.args if a.annotation is None}
    guessed = [a for a in method.args.args if a.arg in bare and a.arg != "self"]
    shapes = {a.arg: _shape(a.annotation) for a in guessed}
    for argument in guessed:
        argument.annotation = None
    source = Source(path, ast.unparse(tree))
    read = _entry(source.tree, owner)
    if read is None:
        return {}
    inputs = known_of(source, read)
    return {
        name: [*_candidates(inputs[name], shape)]
        for name, shape in shapes.items()
        if shape is not None and name in inputs
    }


def _entry(tree: ast.Module, owner: str) -> ast.FunctionDef | None:
    """`forward` of a class, whatever it is called there, or the function."""
    for part in tree.body:
        match part:
            case ast.FunctionDef(name=name) if name == owner:
                return part
            case ast.ClassDef(name=name, body=body) if name == owner:
                methods = (s for s in body if isinstance(s, ast.FunctionDef))
                named = (m for m in methods if m.name in _NAMED)
                return next(named, None)
    return None


def _shape(type_: ast.expr | None) -> str | None:
    """The shape in the type of one array, which may be left out."""
    match type_:
        case ast.BinOp(left=array, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _shape(array)
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(text))):
            return text
    return None


def _candidates(known: Known, shape: str) -> Iterator[str]:
    words = shape.split()
    if known.open:
        # Its last axis may be one of those that are set apart.
        yield shape
        if len(words) > 2 and words[-1].startswith("*"):
            yield " ".join([*words[:-2], words[-1], f"{known.name}{OWN}features"])
        return
    named = [w for w in words if not w.startswith(("*", "..."))]
    guessed = len(named) + (len(named) < len(words))
    if shape == "...":
        guessed = 2  # Few inputs are one vector.
    if not known.counted and (len(named) < len(words)):
        *_, last = _words(known, max(guessed, 2))
        if known.axes or known.kind == "Float":
            yield f"*batch {last}"
        if not known.axes:
            yield "*batch"
    for more in (0,) if known.counted else _NEAR:
        if more > 0 and known.exact is not None and known.kind != "Float":
            continue  # What is compared or looked up is seldom more than it is taken for.
        if bool(shape) <= guessed + more <= _MOST:
            yield " ".join(_words(known, guessed + more))


def _words(known: Known, count: int) -> Iterator[str]:
    """So many axes: their sizes where these are known, and names that no other input has."""
    alone = count == 1 and known.exact is None
    usual = ("features",) if alone else NAMES.get(count, ())
    if known.kind != "Float":
        usual = ("batch", "length", *(f"axis_{i}" for i in range(count)))
    for axis in range(count):
        places = axis, axis - count
        size = next(filter(None, map(known.axes.get, places)), None)
        if known.ends_like and axis == count - 1:
            size = size or known.ends_like.last
        edges = [n for n in map(known.names.get, places) if n == EDGES]
        yield size or f"{known.name}{OWN}{[*edges, usual[axis]][0]}"
