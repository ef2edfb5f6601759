"""Layers of PyTorch that are told by a text what to do in a call: a method for each.

x = self.revin(x, "norm")                     x, revin_mean = self.revin.forward_norm(x)
x = self.revin(self.net(x), "denorm")         x = self.revin.forward_denorm(self.net(x), revin_mean)

What one of these calls keeps in attributes for another one, `self.mean = x.mean(1)`, it returns, and the
other one is given it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.forms.inlined_methods import with_methods_written_out
from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


@dataclass(frozen=True)
class _Call:
    """A call of such a layer."""

    holder: ast.ClassDef
    method: ast.FunctionDef
    place: str
    """The attribute that holds the layer."""
    node: ast.Call
    text: str


def without_called_texts(origin: Origin, thing: str) -> None:
    """Change such classes of a file, and the calls of their layers, in place."""
    for node in [*origin.classes.values()]:
        forward = method_of(node, "forward")
        if node.name == thing or forward is None:
            continue
        parameter = _text_of(forward)
        if not parameter or framework_of(origin, node) != "torch":
            continue
        calls = _calls(origin, node, forward, parameter)
        if calls:
            _Parted(node, forward, parameter, calls).write()
    located(origin.tree)


def _text_of(forward: ast.FunctionDef) -> str:
    """The parameter that a method compares with texts; "" for none."""
    given = [a.arg for a in forward.args.args[2:]]
    for part in walk(forward):
        match part:
            case ast.Compare(
                left=ast.Name(id=title),
                ops=[ast.Eq() | ast.In()],
                comparators=[other],
            ) if title in given:
                value = literal(other)
                texts = value if isinstance(value, tuple | list) else [value]
                if texts and all(isinstance(t, str) for t in texts):
                    return title
    return ""


def _calls(
    origin: Origin, node: ast.ClassDef, forward: ast.FunctionDef, parameter: str
) -> list[_Call]:
    """All calls of layers of a class; nothing where one of them does not tell its text."""
    place = [a.arg for a in forward.args.args].index(parameter) - 1
    default = defaults_of(forward.args).get(parameter)
    found: list[_Call] = []
    made = 0
    for holder in origin.classes.values():
        parts = {
            attribute
            for p in walk(holder)
            if isinstance(p, ast.Assign)
            and isinstance(p.value, ast.Call)
            and is_name(p.value.func, node.name)
            and (attribute := self_attribute(p.targets[0]))
        }
        made += len(parts)
        for method in holder.body if parts else ():
            for call in walk(method):
                if not isinstance(call, ast.Call):
                    continue
                attribute = self_attribute(call.func)
                if attribute not in parts:
                    continue
                given = [k.value for k in call.keywords if k.arg == parameter]
                given += call.args[place : place + 1]
                text = literal(given[0] if given else default)
                if not isinstance(text, str) or not isinstance(method, ast.FunctionDef):
                    return []
                found.append(_Call(holder, method, str(attribute), call, text))
    inside = {id(p) for p in walk(node)}
    read = [
        p for p in walk(origin.tree) if is_name(p, node.name) and id(p) not in inside
    ]
    return found if len(read) == made else []


class _Parted:
    """A class whose calls are parted by their texts."""

    def __init__(
        self,
        node: ast.ClassDef,
        forward: ast.FunctionDef,
        parameter: str,
        calls: list[_Call],
    ):
        self.node, self.forward, self.parameter = node, forward, parameter
        self.calls = calls
        self.bodies = {c.text: self._body(c.text) for c in calls}
        stored = {t: _attributes(b, ast.Store) for t, b in self.bodies.items()}
        read = {t: _attributes(b, ast.Load) for t, b in self.bodies.items()}
        self.writers = [t for t, s in stored.items() if s]
        others = {a for t, r in read.items() if t not in self.writers for a in r}
        written = {a for t in self.writers for a in stored[t]}
        self.kept = sorted(written & others)
        """What a call keeps for another one."""
        self.local = sorted(written)

    def _body(self, text: str) -> list[ast.stmt]:
        decided = Decided(Known({self.parameter: ast.Constant(text)}, {}))
        body = decided.statements(cloned(self.forward.body))
        changing = {
            m.name
            for m in self.node.body
            if isinstance(m, ast.FunctionDef)
            and m.name not in ("__init__", "forward")
            and _attributes(m.body, ast.Store)
        }
        kept = {
            a
            for m in self.node.body
            if getattr(m, "name", "") in changing
            for a in _attributes(m.body, ast.Store)  # type: ignore[attr-defined]
        }
        touching = {
            m.name
            for m in self.node.body
            if isinstance(m, ast.FunctionDef)
            and m.name not in ("__init__", "forward")
            and _attributes(m.body, ast.Load) & kept
        }
        return with_methods_written_out(self.node, body, changing | touching)

    def write(self) -> None:
        """Write a method for each text, in place, where it is told what the calls keep."""
        if not self._is_told():
            return
        methods = [self._method(text) for text in self.bodies]
        helpers = self._helpers()
        for call in self.calls:
            self._call(call)
        without_arguments(self.forward.args, {self.parameter})
        first = next(iter(self.bodies))
        given = ", ".join(a.arg for a in self.forward.args.args[1:])
        result = f"self.{_title(first)}({given})"
        if first in self.writers and self.kept:
            result += "[0]"
        self.forward.body = [_at(statement(f"return {result}"), self.forward)]
        self.node.body += methods
        while unread := {*helpers} - self._called():
            self.node.body = [m for m in self.node.body if getattr(m, "name", "") not in unread]  # fmt: skip
            helpers = [h for h in helpers if h not in unread]

    def _called(self) -> set[str | None]:
        """The attributes that the methods of the class read."""
        return {
            self_attribute(p)
            for m in self.node.body
            for p in walk(m)
            if self_attribute(p) != getattr(m, "name", "")
        }

    def _helpers(self) -> list[str]:
        """The methods that the call of the class calls, directly or not."""
        found, queue = [], [self.forward]
        while queue:
            for part in walk(queue.pop()):
                title = self_attribute(part) or ""
                method = method_of(self.node, title)
                if method is not None and title not in found:
                    found.append(title)
                    queue.append(method)
        return found

    def _is_told(self) -> bool:
        """Whether one call alone keeps something, and calls that read it come after it in its method."""
        if not self.local:
            return True
        first = [c for c in self.calls if c.text in self.writers]
        begun = {
            a
            for m in self.node.body
            if getattr(m, "name", "") == "__init__"
            for a in _declared(m)
        }
        if len(self.writers) != 1 or begun & {*self.local}:
            return False
        own = self.bodies[self.writers[0]]
        before = [_first_is_stored(own, a) for a in self.local]
        exact = [self._statement(c) for c in first]
        if not all(before) or any(s is None for s in exact):
            return False
        for call in self.calls:
            same_method = [c for c in first if c.method is call.method]
            beside = [c for c in same_method if c.place == call.place]
            if len(beside) != 1 or call.node.lineno < beside[0].node.lineno:
                return False
        return True

    def _statement(self, call: _Call) -> ast.Assign | None:
        """The statement that binds one name to what a call returns."""
        for part in walk(call.method):
            if isinstance(part, ast.Assign) and part.value is call.node:
                return part if isinstance(part.targets[0], ast.Name) else None
        return None

    def _method(self, text: str) -> ast.FunctionDef:
        made = cloned(self.forward)
        made.name, made.returns, made.decorator_list = _title(text), None, []
        without_arguments(made.args, {self.parameter})
        made.body = [_Locals({*self.local}).visit(s) for s in self.bodies[text]]
        if text in self.writers and self.kept:
            made.body = [_Results(self.kept).visit(s) for s in made.body]
            begun = [statement(f"{a} = None") for a in self._conditional(made.body)]
            made.body[:0] = [_at(s, self.forward) for s in begun]
        elif self.kept:
            made.args.args += [ast.arg(a) for a in self.kept]
            made.args.defaults += [ast.Constant(None)] * (
                len(self.kept) if made.args.defaults else 0
            )
        return made

    def _conditional(self, body: list[ast.stmt]) -> list[str]:
        """What is not bound by a statement of the method itself."""
        whole = {
            t.id
            for s in body
            if isinstance(s, ast.Assign)
            for t in s.targets
            if isinstance(t, ast.Name)
        }
        return [a for a in self.kept if a not in whole]

    def _call(self, call: _Call) -> None:
        node = call.node
        place = [a.arg for a in self.forward.args.args].index(self.parameter) - 1
        del node.args[place : place + 1]
        node.keywords = [k for k in node.keywords if k.arg != self.parameter]
        titles = [f"{call.place}_{a}" for a in self.kept]
        if call.text in self.writers and self.kept:
            bound = self._statement(call)
            assert bound is not None
            parts = [*bound.targets, *(ast.Name(t, ast.Store()) for t in titles)]
            bound.targets = [ast.Tuple(parts, ast.Store())]
            if bound not in call.method.body:
                begun = [statement(f"{t} = None") for t in titles]
                call.method.body[:0] = [_at(s, call.method) for s in begun]
        elif self.kept:
            node.keywords += [
                ast.keyword(a, ast.Name(t, ast.Load()))
                for a, t in zip(self.kept, titles, strict=True)
            ]
        node.func = ast.Attribute(node.func, _title(call.text), ast.Load())


def _title(text: str) -> str:
    return f"forward_{re.sub(r'[^0-9A-Za-z_]', '_', text)}"


def _at(node: ast.stmt, place: ast.AST) -> ast.stmt:
    for part in walk(node):
        if isinstance(part, ast.stmt | ast.expr):
            ast.copy_location(part, place)
    return node


def _attributes(body: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    return {
        str(self_attribute(p))
        for s in body
        for p in walk(s)
        if self_attribute(p) is not None and isinstance(p.ctx, context)  # type: ignore[attr-defined]
    }


def _declared(start: ast.stmt) -> set[str]:
    """The attributes that a constructor gives more than None, weights and buffers."""
    found: set[str] = set()
    for part in walk(start):
        match part:
            case ast.Assign(targets=[target], value=value) if (
                literal(value) is not None
            ):
                found.add(self_attribute(target) or "")
            case ast.Call(func=func, args=[ast.Constant(value=str(title)), *_]):
                if self_attribute(func) in ("register_buffer", "register_parameter"):
                    found.add(title)
    return found


def _first_is_stored(body: list[ast.stmt], attribute: str) -> bool:
    """Whether a method sets an attribute before it reads it."""
    places = [p for s in body for p in _in_order(s) if self_attribute(p) == attribute]
    return bool(places) and isinstance(places[0].ctx, ast.Store)  # type: ignore[attr-defined]


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """What a statement is made of, as it is computed: a value before it is bound."""
    parts = [*ast.iter_child_nodes(node)]
    if isinstance(node, ast.Assign):
        parts = [node.value, *node.targets]
    for part in parts:
        yield from _in_order(part)
    yield node


class _Locals(NodeTransformer):
    """Writes attributes as locals."""

    def __init__(self, titles: set[str]):
        self.titles = titles

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        title = self_attribute(node)
        if title not in self.titles:
            return node
        return ast.copy_location(ast.Name(str(title), node.ctx), node)


class _Results(NodeTransformer):
    """Returns what is kept, too."""

    def __init__(self, titles: list[str]):
        self.titles = titles

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        kept = [ast.Name(t, ast.Load()) for t in self.titles]
        node.value = ast.Tuple([node.value or ast.Constant(None), *kept], ast.Load())
        return node
