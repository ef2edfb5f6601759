"""What constructors and functions of PyTorch take to hand it on, `*args, **kwargs`, as what the file gives.

def conv(n, m, size, **kwargs):                     def conv(n, m, size, *, padding=0):
    return nn.Conv1d(n, m, size, **kwargs)  becomes     return nn.Conv1d(n, m, size, padding=padding)

conv(8, 8, 3, padding=1)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.rows import default_in
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_spread_arguments(origin: Origin, thing: str, notes: Notes) -> None:
    """Write such constructors and functions, and what calls them, in place."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        calls = _calls(origin, node.name)
        if not _is_spread(start) or calls is None:
            continue
        if not calls and not _to_base(origin, node, start):
            # What a layer takes may be given: another pass makes fields of it.
            continue
        places = [a.arg for a in start.args.args[1:]]
        known = {*places, *(a.arg for a in start.args.kwonlyargs)}
        if all(_gives(c, len(places), known) for c in calls):
            if node.name == thing:
                notes.remark(
                    start,
                    f"{_spread(start)} of {node.name} is left out",
                    "add what it passes on as fields",
                )
            _hand_on(start, {})
    for function in origin.functions.values():
        calls = _calls(origin, function.name)
        if _is_spread(function) and calls:
            more = _given(origin, function, calls)
            if more is not None:
                _hand_on(function, more)
    located(origin.tree)


def _spread(function: ast.FunctionDef) -> str:
    stars = ("*", function.args.vararg), ("**", function.args.kwarg)
    return " and ".join(f"`{s}{a.arg}`" for s, a in stars if a is not None)


def _is_spread(function: ast.FunctionDef) -> bool:
    """Whether a function takes anything, and does nothing with it but hand it on to one call."""
    given = [a.arg for a in (function.args.vararg, function.args.kwarg) if a]
    read = [p.id for p in walk(function) if isinstance(p, ast.Name) and p.id in given]
    return bool(given) and all(
        read.count(title) == sum(_takes(c, title) for c in _inner(function))
        for title in given
    )


def _inner(function: ast.FunctionDef) -> list[ast.Call]:
    return [p for p in walk(function) if isinstance(p, ast.Call)]


def _takes(call: ast.Call, title: str) -> bool:
    """Whether a call is handed all that another one is given."""
    return any(
        isinstance(a, ast.Starred) and is_name(a.value, title) for a in call.args
    ) or any(k.arg is None and is_name(k.value, title) for k in call.keywords)


def _to_base(origin: Origin, node: ast.ClassDef, start: ast.FunctionDef) -> bool:
    """Whether a constructor hands all on to that of its base alone, which is no layer of PyTorch."""
    bases = [origin.qualified(b) for b in node.bases]
    if any(b.startswith("torch.") and b != "torch.nn.Module" for b in bases):
        return False
    titles = [a.arg for a in (start.args.vararg, start.args.kwarg) if a is not None]
    return all(
        ast.unparse(call.func).startswith("super(")
        for call in _inner(start)
        if any(_takes(call, title) for title in titles)
    )


def _calls(origin: Origin, title: str) -> list[ast.Call] | None:
    """What calls something of the file; None where it is read in another way, too."""
    parts = [*walk(origin.tree)]
    calls = [p for p in parts if isinstance(p, ast.Call) and is_name(p.func, title)]
    own = [
        p
        for p in parts
        if isinstance(p, ast.Call)
        and is_name(p.func, "super")
        and p.args
        and is_name(p.args[0], title)
    ]
    read = sum(is_name(p, title) for p in parts)
    return calls if read == len(calls) + len(own) else None


def _gives(call: ast.Call, places: int, known: set[str]) -> bool:
    """Whether a call gives what parameters with names take, and nothing else."""
    return (
        len(call.args) <= places
        and not any(isinstance(a, ast.Starred) for a in call.args)
        and all(k.arg in known for k in call.keywords)
    )


def _given(
    origin: Origin, function: ast.FunctionDef, calls: list[ast.Call]
) -> dict[str, ast.expr | None] | None:
    """The further keywords of calls, with what each is where it is not given; None where that is not told."""
    places = [a.arg for a in function.args.args]
    known = {*places, *(a.arg for a in function.args.kwonlyargs)}
    named = {str(k.arg) for c in calls for k in c.keywords} | known
    if not all(_gives(c, len(places), named) for c in calls):
        return None
    title = function.args.kwarg.arg if function.args.kwarg else ""
    uses = [c for c in _inner(function) if _takes(c, title)]
    found: dict[str, ast.expr | None] = {}
    for more in sorted(named - known):
        found[more] = None
        if not all(more in [k.arg for k in c.keywords] for c in calls):
            row = LAYERS.get(origin.qualified(uses[0].func)) if uses else None
            default = default_in(row, more) if row is not None else None
            if default is None:
                return None
            found[more] = cloned(default)
    return found if len(uses) == 1 or not found else None


def _hand_on(function: ast.FunctionDef, more: dict[str, ast.expr | None]) -> None:
    """Write a function with keywords in the place of any."""
    given = function.args
    titles = [a.arg for a in (given.vararg, given.kwarg) if a is not None]
    given.vararg = given.kwarg = None
    for title, default in more.items():
        given.kwonlyargs.append(ast.arg(title))
        given.kw_defaults.append(default)
    for call in _inner(function):
        if not any(_takes(call, title) for title in titles):
            continue
        call.args = [
            a
            for a in call.args
            if not (isinstance(a, ast.Starred) and getattr(a.value, "id", "") in titles)
        ]
        call.keywords = [
            k
            for k in call.keywords
            if k.arg is not None or getattr(k.value, "id", "") not in titles
        ] + [ast.keyword(t, ast.Name(t, ast.Load())) for t in more]
