"""Arguments of layers whose names tell that they stand in another order than the fields."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source, dotted


def in_named_order(
    source: Source, owner: str, layer: str, fields: Sequence[str]
) -> Iterator[tuple[ast.Call, Fix]]:
    """The calls by which a class makes a layer, `GroupNorm(self.channels, self.groups)`, with names.

    Only those where an argument has the name of the field at another place.
    """
    for part in source.tree.body:
        if not isinstance(part, ast.ClassDef) or part.name != owner:
            continue
        for call in walk(part):
            if isinstance(call, ast.Call) and dotted(call.func) == layer:
                names = _meant(call, fields)
                if names is not None:
                    starts = [
                        (source.start(a), n)
                        for a, n in zip(call.args, names, strict=True)
                    ]
                    edits = [source.replace(at, at, f"{n}=") for at, n in starts]
                    yield call, Fix(tuple(edits))


def _meant(call: ast.Call, fields: Sequence[str]) -> list[str] | None:
    """The fields that the arguments are meant for; None where it is those at their places."""
    given = call.args
    written = not any(isinstance(a, ast.Starred) for a in given)
    if not written or not 2 <= len(given) <= len(fields):
        return None
    places = [*fields[: len(given)]]
    found = [_field(argument, places) for argument in given]
    claimed = [name for name in found if name]
    if len(set(claimed)) < len(claimed):
        return None
    left = iter([f for f in places if f not in claimed])
    meant = [name or next(left) for name in found]
    return meant if meant != places else None


def _field(argument: ast.expr, fields: Sequence[str]) -> str | None:
    """The one field of that name, or whose name says more or less: `num_heads` is `heads`."""
    name = (dotted(argument) or "").rpartition(".")[2]
    if name in fields:
        return name
    like = [f for f in fields if f.endswith(f"_{name}") or name.endswith(f"_{f}")]
    return like[0] if name and len(like) == 1 else None
