"""Functions and activations that constructors of PyTorch are always handed: `Block(conv, width, act)`.

def default_conv(a, b, size): return nn.Conv2d(a, b, size, padding=size // 2)

class Block(nn.Module):                                class Block(nn.Module):
    def __init__(self, conv, width):       becomes         def __init__(self, width):
        self.body = conv(width, width, 3)                      self.body = default_conv(width, width, 3)

What is converted has its default in the place of such a parameter, which is told.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, replaced
from mlax_scaffold.conversion.source.walking import located, walk

_DEPTH = 4
"""Classes that hand a function on to one another."""


def without_always_functions(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them where they are used, in place."""
    if not origin.uses("torch"):
        return
    for _ in range(_DEPTH):
        calls, changed = _calls(origin), False
        for node in origin.classes.values():
            start = method_of(node, "__init__")
            if framework_of(origin, node) != "torch" or start is None:
                continue
            if _activations(origin, start):
                calls, changed = _calls(origin), True
            for given in list(start.args.args[1:]):
                called = calls.get(node.name, [])
                if _written(origin, node, start, given, called, thing, notes):
                    calls, changed = _calls(origin), True
        if not changed:
            break
    located(origin.tree)


def _calls(origin: Origin) -> dict[str, list[ast.Call]]:
    """The calls of each class of the file."""
    found: dict[str, list[ast.Call]] = {}
    for part in walk(origin.tree):
        title = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
        if title in origin.classes:
            found.setdefault(title, []).append(part)  # type: ignore[arg-type]
    return found


def _is_function(origin: Origin, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Name) and value.id in origin.functions


def _is_activation(origin: Origin, value: ast.expr | None) -> bool:
    """Whether a layer without weights is made, of literals alone: `nn.ReLU(True)`."""
    if not isinstance(value, ast.Call):
        return False
    full = origin.qualified(value.func)
    plain = [*value.args, *(k.value for k in value.keywords)]
    return full in _ACTIVATIONS and all(isinstance(a, ast.Constant) for a in plain)


_ACTIVATIONS = frozenset(
    f"torch.nn.{n}"
    for n in (
        *("ReLU", "ReLU6", "LeakyReLU", "ELU", "GELU", "SiLU", "Mish", "Tanh"),
        *("Sigmoid", "Softplus", "SELU", "CELU", "Hardswish", "Identity"),
    )
)


def _activations(origin: Origin, start: ast.FunctionDef) -> bool:
    """Write a local that is such a layer where it is handed on; whether there is one."""
    before = len(start.body)
    for part in list(start.body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                bound = [
                    n
                    for n in walk(start)
                    if is_name(n, local) and isinstance(n.ctx, ast.Store)  # type: ignore[attr-defined]
                ]
                if len(bound) == 1 and _is_activation(origin, value):
                    start.body.remove(part)
                    _put(start, local, value)
    return len(start.body) < before


def _put(start: ast.FunctionDef, local: str, value: ast.expr) -> None:
    start.body = [replaced(part, {local: value}) for part in start.body]  # type: ignore[type-var]


def _written(
    origin: Origin,
    node: ast.ClassDef,
    start: ast.FunctionDef,
    given: ast.arg,
    called: list[ast.Call],
    thing: str,
    notes: Notes,
) -> bool:
    """Write one parameter as what it always is; whether it is written so."""
    place = start.args.args.index(given)
    late = place - (len(start.args.args) - len(start.args.defaults))
    default = start.args.defaults[late] if late >= 0 else None
    inherited = [
        c
        for c in origin.classes.values()
        if any(is_name(base, node.name) for base in c.bases)
    ]
    stored = {
        n.id
        for n in walk(start)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    if inherited or given.arg in stored:
        return False
    values: list[ast.expr | None] = []
    for call in called:
        if any(isinstance(a, ast.Starred) for a in call.args):
            return False
        if any(k.arg is None for k in call.keywords):
            return False
        values.append(_given(call, given.arg, place - 1, default))
    if node.name == thing:
        values.append(default)
    first = values[0] if values else None
    if first is None or len({ast.unparse(v) if v else "" for v in values}) != 1:
        return False
    function = _is_function(origin, first)
    if not function and not (_is_activation(origin, first) and called):
        return False
    if function and not _makes(origin, start, given.arg):
        return False
    for call in called:
        call.keywords = [k for k in call.keywords if k.arg != given.arg]
        del call.args[place - 1 : place]
    start.args.args.remove(given)
    if late >= 0:
        del start.args.defaults[late]
    _put(start, given.arg, first)
    if node.name == thing:
        notes.remark(
            given,
            f"`{given.arg}` is always its default, `{ast.unparse(first)}`",
            "write another spec for another one: it decides which layers there are",
        )
    return True


def _given(
    call: ast.Call, title: str, place: int, default: ast.expr | None
) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == title:
            return keyword.value
    return call.args[place] if place < len(call.args) else default


def _makes(origin: Origin, start: ast.FunctionDef, title: str) -> bool:
    """Whether all that is done with a parameter is to call it, or to hand it on to a class of the file."""
    handed = {
        id(a)
        for p in walk(start)
        if isinstance(p, ast.Call)
        and isinstance(p.func, ast.Name)
        and p.func.id in origin.classes
        for a in (*p.args, *(k.value for k in p.keywords))
    }
    handed |= {
        id(p.func)
        for p in walk(start)
        if isinstance(p, ast.Call) and is_name(p.func, title)
    }
    uses = [p for part in start.body for p in walk(part) if is_name(p, title)]
    return bool(uses) and all(id(p) in handed for p in uses)
