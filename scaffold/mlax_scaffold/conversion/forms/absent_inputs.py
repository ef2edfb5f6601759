"""Inputs of JAX's classes that may be None, as optional ones, though their calls have to say so.

def __call__(self, x, mask: Optional[Array]): ...        def __call__(self, x, mask: Array | None = None): ...

Also those that a call hands on what it need not be given itself: `self.attention(x, mask)`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.held_layers import calls_of, given_at
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import located, walk

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku")


def with_absent_inputs(origin: Origin, thing: str) -> None:
    """Write them so in place."""
    used = {*used_by(origin, thing), thing}
    nodes = [c for t, c in origin.classes.items() if t in used]
    nodes = [n for n in nodes if framework_of(origin, n) in _FRAMEWORKS]
    for _ in nodes:
        changed = False
        for node in nodes:
            call = method_of(node, "__call__")
            # The last ones only: what stands before another input is always given.
            for argument in _required(call)[::-1] if call is not None else ():
                assert call is not None
                if argument.arg in KEYS or not (
                    _may_be_none(argument)
                    or _is_handed_none(origin, node, call, argument.arg, used)
                ):
                    break
                call.args.defaults.insert(0, ast.Constant(None))
                changed = True
        if not changed:
            break
    located(origin.tree)


def _required(call: ast.FunctionDef) -> list[ast.arg]:
    given = call.args.args
    return given[1 : len(given) - len(call.args.defaults)]


def _may_be_none(argument: ast.arg) -> bool:
    """Whether the type of an input says that it may be None."""
    if argument.annotation is None:
        return False
    text = ast.unparse(argument.annotation).strip("'\"").replace(" ", "")
    return text.replace("typing.", "").startswith("Optional[") or "|None" in text


def _is_handed_none(
    origin: Origin,
    node: ast.ClassDef,
    call: ast.FunctionDef,
    parameter: str,
    used: set[str],
) -> bool:
    """Whether some call gives it None, or what may be None."""
    for method, part in calls_of(origin, node.name, used):
        value = given_at(part, call, parameter)
        if value is None:
            continue
        absent = _absent(method)
        if is_none(value) or getattr(value, "id", "") in absent:
            return True
    return False


def _absent(method: ast.FunctionDef) -> set[str]:
    """The parameters that are None by default, and nothing else anywhere."""
    found = {n for n, d in defaults_of(method.args).items() if is_none(d)}
    stored = {
        p.id
        for p in walk(method)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
    }
    return found - stored
