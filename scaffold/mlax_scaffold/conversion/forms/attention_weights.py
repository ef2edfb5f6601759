"""The weights of attention of PyTorch, where a method reads them: those of its heads, and their mean.

`return self.attn(x, x, x)` returns the result and the weights, which are locals first, as in
`y, w = self.attn(x, x, x)`. That is `y, w = self.attn(x, x, x, need_weights=True)` and `w = w.mean(dim=-3)`
then, and a call whose weights nothing reads asks for none.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk

_ATTENTION = "torch.nn.MultiheadAttention"


def without_attention_pairs(origin: Origin) -> None:
    """Give the two results of attention a name each where they are one value, in place."""
    _change(origin, lambda method, calls: _Pairs(method, calls).statement)


def with_attention_weights(origin: Origin) -> None:
    """Ask for the weights that are read, in place."""
    _change(origin, lambda method, calls: _Asked(method, calls).statement)


Calls = Callable[[ast.AST], bool]
Written = Callable[[ast.stmt], list[ast.stmt]]


def _change(origin: Origin, write: Callable[[ast.FunctionDef, Calls], Written]) -> None:
    changed = False
    for node in origin.classes.values():
        direct, listed = attention_layers(origin, node)
        if not direct and not listed:
            continue
        changed = True
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                calls = attention_calls(method, direct, listed)
                method.body = _statements(method.body, write(method, calls))
    if changed:
        located(origin.tree)


def _statements(body: list[ast.stmt], write: Written) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for node in body:
        for field in ("body", "orelse"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                setattr(node, field, _statements(inner, write))
        found += write(node)
    return found


def attention_layers(origin: Origin, node: ast.ClassDef) -> tuple[set[str], set[str]]:
    """The attributes that are attention, and those that are lists of it."""
    direct: set[str] = set()
    listed: set[str] = set()
    for title, _, in_list in attention_made(origin, node):
        (listed if in_list else direct).add(title)
    return direct, listed


def attention_made(
    origin: Origin, node: ast.ClassDef
) -> Iterator[tuple[str, ast.Call, bool]]:
    """The attributes of a class that are attention, the call that makes it, and whether in a list."""
    for part in walk(node):
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        title = self_attribute(part.targets[0])
        inner = _made_in_list(origin, part.value)
        call = inner if inner is not None else part.value
        if title is not None and origin.qualified(call.func) == _ATTENTION:
            yield title, call, inner is not None
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            yield from _appended(origin, method)


def _appended(
    origin: Origin, method: ast.FunctionDef
) -> Iterator[tuple[str, ast.Call, bool]]:
    """Attention that a list gets, at once or by a local: `self.layers.append(MultiheadAttention(8, 2))`."""
    named = {
        part.targets[0].id: part.value
        for part in walk(method)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        if isinstance(part.value, ast.Call)
        if origin.qualified(part.value.func) == _ATTENTION
    }
    for part in walk(method):
        match part:
            case ast.Call(func=ast.Attribute(value=place, attr="append"), args=[given]):
                title = self_attribute(place)
                made = named.get(given.id) if isinstance(given, ast.Name) else given
                if (
                    title is not None
                    and isinstance(made, ast.Call)
                    and origin.qualified(made.func) == _ATTENTION
                ):
                    yield title, made, True


def _made_in_list(origin: Origin, call: ast.Call) -> ast.Call | None:
    """What a comprehension makes, which a list of layers holds."""
    if origin.qualified(call.func) != "torch.nn.ModuleList" or len(call.args) != 1:
        return None
    match call.args[0]:
        case (
            ast.ListComp(elt=ast.Call() as made)
            | ast.GeneratorExp(elt=ast.Call() as made)
        ):
            return made
    return None


def attention_calls(
    method: ast.FunctionDef, direct: Collection[str], listed: Collection[str]
) -> Calls:
    """What tells the calls of such layers in a method."""
    passed = {
        title
        for part in walk(method)
        if isinstance(part, ast.For | ast.comprehension)
        for title in _names(part.target, part.iter, listed)
    }

    def calls(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        func = node.func
        if isinstance(func, ast.Subscript):
            return self_attribute(func.value) in listed
        named = isinstance(func, ast.Name) and func.id in passed
        return named or self_attribute(func) in direct

    return calls


def _names(target: ast.expr, source: ast.expr, listed: Collection[str]) -> list[str]:
    """The names that a loop gives to layers of a list."""
    if isinstance(target, ast.Name):
        return [target.id] if self_attribute(source) in listed else []
    match target, source:
        case ast.Tuple(elts=[_, one]), ast.Call(
            func=ast.Name(id="enumerate"), args=[inner]
        ):
            return _names(one, inner, listed)
        case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=given):
            pairs = zip(parts, given, strict=False)
            return [n for p, g in pairs for n in _names(p, g, listed)]
    return []


class _Pairs:
    """Writes statements that take both results of a call as one."""

    def __init__(self, method: ast.FunctionDef, calls: Calls):
        self.method, self.calls = method, calls
        self.numbers = itertools.count(1)

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements in its place."""
        match node:
            case ast.Assign(targets=[ast.Name(id=both)], value=value) if self.calls(
                value
            ) and self._reads_second(both):
                return self._split(node, value)
            case ast.Return(value=value) if value is not None and self.calls(value):
                return self._split(node, value)
            case ast.Assign(
                targets=[ast.Name()],
                value=ast.Subscript(value=value, slice=ast.Constant(value=1)),
            ) if self.calls(value):
                return self._split(node, value)
        return [node]

    def _reads_second(self, both: str) -> bool:
        """Whether a pair is read as a whole, or its second part."""
        firsts = {
            id(p.value)
            for p in walk(self.method)
            if isinstance(p, ast.Subscript) and literal(p.slice) == 0
        }
        return any(p for p in _reads(self.method, both) if id(p) not in firsts)

    def _split(self, node: ast.Assign | ast.Return, call: ast.expr) -> list[ast.stmt]:
        number = next(self.numbers)
        end = "" if number == 1 else f"_{number}"
        titles = [f"attended{end}", f"attention_weights{end}"]
        stored = [ast.Name(t, ast.Store()) for t in titles]
        first = ast.Assign([ast.Tuple([*stored], ast.Store())], call)
        read = expression(", ".join(titles))
        of_one = isinstance(node.value, ast.Subscript)
        node.value = ast.Name(titles[1], ast.Load()) if of_one else read
        return [ast.copy_location(first, node), node]


class _Asked:
    """Writes calls that ask for weights, and what makes one of those of all heads."""

    def __init__(self, method: ast.FunctionDef, calls: Calls):
        self.method, self.calls = method, calls

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements in its place."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, ast.Name(id=weights)])], value=value
            ) if self.calls(value):
                read = any(_reads(self.method, weights))
                return self._asked(node, value, weights if read else "")
        for part in walk(node):
            if self.calls(part) and not isinstance(node, ast.For | ast.If | ast.With):
                _without(part, "need_weights")
        return [node]

    def _asked(self, node: ast.stmt, call: ast.expr, weights: str) -> list[ast.stmt]:
        flag = _without(call, "need_weights")
        average = _without(call, "average_attn_weights")
        if not weights or (flag is not None and literal(flag) is False):
            return [node]
        assert isinstance(call, ast.Call)
        call.keywords.append(ast.keyword("need_weights", ast.Constant(True)))
        each = average is not None and literal(average) is False
        text = "w" if each else "w.mean(dim=-3)"
        parts: dict[str, ast.expr] = {"w": ast.Name(weights, ast.Load())}
        if flag is not None and literal(flag) is not True:
            text, parts["flag"] = f"{text} if flag else None", flag
        if text == "w":
            return [node]
        made = ast.Assign([ast.Name(weights, ast.Store())], expression(text, **parts))
        return [node, ast.copy_location(made, node)]


def _reads(method: ast.FunctionDef, title: str) -> Iterator[ast.Name]:
    for part in walk(method):
        if is_name(part, title) and isinstance(part.ctx, ast.Load):  # type: ignore[attr-defined]
            yield part  # type: ignore[misc]


def _without(node: ast.AST, title: str) -> ast.expr | None:
    """Take a keyword out of a call, and tell what it was."""
    assert isinstance(node, ast.Call)
    given = next((k.value for k in node.keywords if k.arg == title), None)
    node.keywords = [k for k in node.keywords if k.arg != title]
    return given
