"""Methods of linen and haiku that make layers, written out where they are called more than once.

def block(self, x):
    x = nn.Dense(self.size)(x)
    return nn.relu(x)                   becomes    x = nn.Dense(self.size)(x)
                                                   y = nn.relu(x)
y = self.block(x)                                  y_2 = nn.Dense(self.size)(y)
return self.block(y)                               return nn.relu(y_2)

Each call makes layers of its own. In haiku calls of a method share them, and nothing is to be done, but for
one that is transparent, or that is given the names of its layers. A method that is called once, and in no
loop, stays the method that it is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from mlax_scaffold.conversion.handed.making_functions import Blocks
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_DEEP = 4
_TRANSPARENT = "transparent"
_PLAIN = ("nn.compact", "compact", "nn.nowrap", "hk.transparent", _TRANSPARENT)
_OFTEN = (
    *(ast.For, ast.While, ast.Lambda, ast.FunctionDef),
    *(ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp),
)
_CALLED = ("__call__", "setup", "__init__")


def without_making_methods(
    origin: Origin, thing: str, layers: Collection[str], notes: Notes
) -> None:
    """Write them out in place; a call that cannot be is listed: its layers would be those of others."""
    used = used_by(origin, thing)
    for title, node in origin.classes.items():
        if title in used and framework_of(origin, node) in ("flax", "haiku"):
            _Class(origin, node, layers, notes).run()


class _Class:
    def __init__(
        self, origin: Origin, node: ast.ClassDef, layers: Collection[str], notes: Notes
    ):
        self.origin, self.node = origin, node
        self.layers, self.notes = layers, notes
        self.flax = framework_of(origin, node) == "flax"

    def _makes_anew(self, method: ast.FunctionDef) -> bool:
        """Whether each call of a method of haiku makes layers that are its own."""
        given = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
        named = {
            n
            for part in walk(method)
            if isinstance(part, ast.Call) and self._makes(part)
            for k in part.keywords
            if k.arg == "name"
            for n in names(k.value)
        }
        told = [ast.unparse(d) for d in method.decorator_list]
        return any(d.endswith(_TRANSPARENT) for d in told) or bool(named & given)

    def run(self) -> None:
        """Write the methods of the class out."""
        for _ in range(_DEEP):
            often = self._often()
            known = {
                f"self.{title}": _function(method)
                for title, method in often.items()
                if _is_followed(method)
            }
            if not known:
                break
            for caller in self._methods():
                calls = {
                    n: cloned(f)
                    for n, f in known.items()
                    if n != f"self.{caller.name}" and not self._is_late(caller, n)
                }
                taken = names(caller) | {a.arg for a in caller.args.args}
                Blocks(calls, taken).visit(caller)
            called = {title for title, _ in self._calls()}
            self.node.body = [
                part
                for part in self.node.body
                if getattr(part, "name", "") not in often
                or getattr(part, "name", "") in called
            ]
        located(self.node)
        left = self._often()
        for title, call in self._calls():
            if title in left:
                self.notes.refuse(
                    call,
                    f"`self.{title}` makes layers of its own in each call",
                    "make it a class, or call it on a line of its own, with one `return` at its end",
                )

    def _methods(self) -> list[ast.FunctionDef]:
        return [m for m in self.node.body if isinstance(m, ast.FunctionDef)]

    def _calls(self) -> Iterator[tuple[str, ast.Call]]:
        """The calls of its own methods."""
        for method in self._methods():
            for part in walk(method):
                title = (
                    self_attribute(part.func) if isinstance(part, ast.Call) else None
                )
                if title is not None and isinstance(part, ast.Call):
                    yield title, part

    def _often(self) -> dict[str, ast.FunctionDef]:
        """The methods that make layers, and that are called more than once, or in a loop."""
        making = {
            m.name: m
            for m in self._methods()
            if m.name not in _CALLED and any(self._makes(p) for p in walk(m))
            if self.flax or self._makes_anew(m)
        }
        calls = [title for title, _ in self._calls()]
        looped = {
            self_attribute(part.func)
            for method in self._methods()
            for loop in walk(method)
            if isinstance(loop, _OFTEN) and loop is not method
            for part in walk(loop)
            if isinstance(part, ast.Call)
        }
        return {
            title: method
            for title, method in making.items()
            if calls.count(title) > 1 or title in looped
        }

    def _makes(self, part: ast.AST) -> bool:
        """Whether this makes a layer."""
        if not isinstance(part, ast.Call):
            return False
        own = getattr(part.func, "id", "") in self.origin.classes
        return own or self.origin.qualified(part.func) in self.layers

    def _is_late(self, caller: ast.FunctionDef, called: str) -> bool:
        """Whether a statement makes another layer before a method, whose lines would be too early."""
        for statement in walk(caller):
            if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
                continue
            calls = [p for p in walk(statement) if isinstance(p, ast.Call)]
            for call in calls:
                if ast.unparse(call.func) != called:
                    continue
                inner = set(walk(call))
                at = call.lineno, call.col_offset
                if any(
                    self._makes(p) and p not in inner and (p.lineno, p.col_offset) <= at
                    for p in calls
                ):
                    return True
        return False


def _function(method: ast.FunctionDef) -> ast.FunctionDef:
    """A method as a function of what it is called with."""
    made = cloned(method)
    made.args.args = made.args.args[1:]
    return made


def _is_followed(method: ast.FunctionDef) -> bool:
    """Whether a method is statements, and one return at their end."""
    returns = [p for p in walk(method) if isinstance(p, ast.Return)]
    inner = any(
        isinstance(p, ast.FunctionDef | ast.Lambda) and p is not method
        for p in walk(method)
    )
    body = without_docstring(method.body)
    return (
        all(ast.unparse(d) in _PLAIN for d in method.decorator_list)
        and not inner
        and len(returns) == 1
        and body[-1] is returns[0]
        and returns[0].value is not None
    )
