"""The statements of a constructor, run with what is known of names and attributes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from mlax_scaffold.conversion.lists.flattened_classes import START
from mlax_scaffold.conversion.lists.longer_lists import LONGER
from mlax_scaffold.conversion.lists.popped_elements import without_pops
from mlax_scaffold.conversion.lists.run_calls import (
    Continued,
    Returned,
    UnknownError,
)
from mlax_scaffold.conversion.lists.run_flow import RunFlow, attribute_set
from mlax_scaffold.conversion.lists.run_leftovers import (
    finished,
    is_made,
    is_plain_function,
    shared_lists,
    without_titles,
)
from mlax_scaffold.conversion.source.arguments_of import (
    given_to,
    method_of,
    stored_names,
)
from mlax_scaffold.conversion.source.known_values import (
    Known,
    items_of,
    truth,
    unpacked,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned, walk


class Run(RunFlow):
    """One run of a constructor."""

    def __init__(
        self,
        origin: Origin,
        node: ast.ClassDef,
        start: ast.FunctionDef,
        fixed: Mapping[str, ast.expr],
        available: Collection[str],
    ):
        self.origin, self.start, self.title = origin, start, node.name
        self.available = set(available) - set(fixed)
        given = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
        self.open = set(given) - set(fixed)
        held = {k: v for k, v in fixed.items() if is_made(origin, v)}
        self.made = cloned(held)
        """Parameters that are layers which a function of the file makes."""
        values = {k: cloned(v) for k, v in fixed.items() if k not in held}
        self.shared = shared_lists(node)
        """Lists that the class itself holds, for all its objects."""
        self.known = Known(
            values, {**self.shared}, self.called, self.is_object, self.read_of
        )
        constants = {
            n: a.value for n, a in origin.assigned.items() if a.value is not None
        }
        self.constants = {
            n: v
            for n, v in constants.items()
            if isinstance(v, ast.List | ast.Tuple | ast.Dict)
        }
        self.known.names.update(
            {n: v for n, v in self.constants.items() if n not in given}
        )
        self.methods = {
            m.name: m
            for m in node.body
            if isinstance(m, ast.FunctionDef) and m is not start
        }
        self.out: list[ast.stmt] = []
        self.lists: dict[str, ast.List] = {}
        """What lists of layers hold, by attribute."""
        self.placed: dict[str, ast.stmt] = {}
        """Where attributes are set that are plain lists."""
        self.replaced: set[int] = set()
        self.consumed: set[str] = set()
        """Methods that were run."""
        self.left: list[ast.stmt] = []
        """What fills weights of parts in a way of their own."""
        self.structural = False
        self.fresh: dict[str, ast.Assign] = {}
        self.inner: dict[str, ast.FunctionDef] = {}
        """Functions that the constructor has for itself."""
        self.computed_of: dict[str, set[str]] = {}
        """What locals that are left open depend on."""
        self.inside = self.unrolled = 0

    # What comes of it.

    def settled(self) -> Mapping[str, ast.expr]:
        """What attributes are, where that is a literal."""
        return {
            k: v
            for k, v in self.known.attributes.items()
            if not isinstance(literal(v), ast.AST)
        }

    def body(self, read: Collection[str]) -> list[ast.stmt]:
        """The statements that are left, and the attributes that methods read."""
        kept: list[ast.stmt] = []
        for title, value in self.known.attributes.items():
            if value is self.shared.get(title):
                continue
            if title in read and title not in self.placed:
                kept.append(attribute_set(title, value))
        gone = {
            id(s)
            for t, s in self.placed.items()
            if t not in read and all(map(self.is_plain, self.lists[t].elts))
        }
        made = [s for s in self.out if id(s) not in gone | self.replaced]
        heads = [s for s in made[:2] if isinstance(s, ast.Expr)]
        made = [*heads, *kept, *made[len(heads) :]]
        return finished(made, set(self.fresh))

    # Statements.

    def all(self) -> None:
        """Run the constructor."""
        for part in self.start.body:
            try:
                self._statement(part)
            except Returned:
                # The constructor ends here.
                return
            while self.made:
                # After that of the base, which comes first.
                title, value = self.made.popitem()
                target = ast.Name(title, ast.Store())
                made = ast.copy_location(ast.Assign([target], value), part)
                self._assign(made, target, value)

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Run statements one after the other."""
        for part in body:
            self._statement(part)

    def _statement(self, node: ast.stmt) -> None:
        node = without_pops(node, self.list_of)
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(node, target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._grow(node, target, op, value)
            case ast.If():
                self.branch(node)
            case ast.For():
                self.loop(node)
            case ast.Expr(value=ast.Call() as call):
                self._call(node, call)
            case ast.Return(value=value):
                raise Returned(self.known.value(value) if value else ast.Constant(None))
            case ast.Continue():
                raise Continued
            case ast.Break() | ast.While() | ast.Try():
                raise UnknownError
            case ast.Assert(test=test):
                if truth(self.known.value(test)) is not True:
                    self.leave(node)
            case ast.With(items=[ast.withitem(ast.Call(func=func))], body=body) if (
                self.origin.qualified(func) == "torch.no_grad"
            ):
                self.statements(body)
            case ast.FunctionDef(name=title):
                if is_plain_function(node):
                    self.inner[title] = node
                self.out.append(cloned(node))
            case ast.Pass() | ast.Import() | ast.ImportFrom():
                self.out.append(cloned(node))
            case _:
                self.leave(node)

    def leave(self, node: ast.stmt) -> None:
        """Leave a statement as it is, with what is known written in it."""
        made = cloned(node)
        bound = set(stored_names(made))
        saved = self.known.names
        self.known.names = {k: v for k, v in saved.items() if k not in bound}
        self.out.append(self.known.visit(made))
        self.known.names = saved
        reads = names(made)
        for title in bound:
            self.known.names.pop(title, None)
            self.computed_of[title] = reads | self.behind(reads)

    def _assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> None:
        made = self.known.value(value)
        attribute = self_attribute(target)
        if isinstance(target, ast.Name):
            held = self.held(made)
            if held is not None:
                made = held
            elif not self.is_plain(made):
                local = self.named(target.id)
                stored = ast.Assign([ast.Name(local, ast.Store())], made)
                self.out.append(ast.copy_location(stored, node))
                self.fresh[local] = stored
                made = ast.Name(local, ast.Load())
            self.known.names[target.id] = made
            return
        if attribute is not None:
            self._set_attribute(node, attribute, made)
            return
        if isinstance(target, ast.Subscript) and self.item_set(target, made):
            return
        pairs = unpacked(target, made)
        if pairs is not None and self.is_plain(made):
            self.known.names.update(pairs)
            return
        if isinstance(target, ast.Tuple) and all(
            self_attribute(t) for t in target.elts
        ):
            items = items_of(made)
            if items is not None and len(items) == len(target.elts):
                for one, item in zip(target.elts, items, strict=True):
                    self._set_attribute(node, str(self_attribute(one)), item)
                return
        self.leave(node)

    def _set_attribute(self, node: ast.stmt, title: str, made: ast.expr) -> None:
        if title in self.placed:
            self.replaced.add(id(self.placed.pop(title)))
        self.lists.pop(title, None)
        self.known.attributes.pop(title, None)
        held = self.held(made)
        if held is not None:
            self.lists[title] = held
        elif self.is_plain(made):
            # Written where methods read it.
            self.known.attributes[title] = made
            return
        stored = ast.copy_location(attribute_set(title, made), node)
        self.out.append(stored)
        if isinstance(made, ast.List):
            self.known.attributes[title] = made
            self.placed[title] = stored

    def _grow(
        self, node: ast.AugAssign, target: ast.expr, op: ast.operator, value: ast.expr
    ) -> None:
        held = self.list_of(target)
        made = self.known.value(value)
        items = items_of(made)
        if isinstance(made, ast.ListComp):
            items = [ast.Starred(made, ast.Load())]
        if held is not None and items is not None:
            held.elts += self.elements(items)
            return
        if isinstance(target, ast.Subscript):
            read = ast.Subscript(target.value, target.slice, ast.Load())
            if self.item_set(target, self.known.value(ast.BinOp(read, op, value))):
                return
        title = target.id if isinstance(target, ast.Name) else None
        if title in self.known.names or title in self.open:
            read = ast.Name(str(title), ast.Load())
            made = self.known.value(ast.BinOp(read, op, value))
            if self.is_plain(made):
                self.known.names[str(title)] = made
                return
        attribute = self_attribute(target)
        if attribute in self.known.attributes and attribute not in self.lists:
            read = expression(f"self.{attribute}")
            self.known.attributes[str(attribute)] = self.known.value(
                ast.BinOp(read, op, value)
            )
            return
        self.leave(node)

    def elements(self, given: Sequence[ast.expr]) -> list[ast.expr]:
        self.structural = True
        return [*given]

    def _call(self, node: ast.Expr, call: ast.Call) -> None:
        match call.func:
            case ast.Attribute(value=owner, attr="reverse") if self._turned(owner):
                return
            case ast.Attribute(value=owner, attr=attr) if attr in LONGER:
                given = [*call.args, *(k.value for k in call.keywords)]
                args = [self.known.value(a) for a in given]
                if attr == "add_module" and self._add(node, owner, args):
                    return
                held = self.list_of(owner)
                if held is not None and attr == "append" and len(args) == 1:
                    held.elts += self.elements(args)
                    return
                if held is not None and attr == "extend" and len(args) == 1:
                    items = items_of(args[0])
                    if items is not None:
                        held.elts += self.elements(items)
                        return
                if held is not None and attr == "insert" and literal(args[0]) == 0:
                    held.elts[:0] = self.elements(args[1:])
                    return
                if held is not None:
                    raise UnknownError
        match call:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, title, value]):
                said = literal(self.known.value(title))
                named = isinstance(said, str) and said.isidentifier()
                if is_name(owner, "self") and named:
                    self.structural = True
                    self._set_attribute(node, str(said), self.known.value(value))
                    return
        match call.func:
            case ast.Attribute(value=owner, attr="apply") if self_attribute(owner):
                self.left.append(node)
                return
        method = self.methods.get(self_attribute(call.func) or "")
        if method is not None and (self.makes(method) or method.name.startswith(START)):
            self.consumed.add(method.name)
            self.body_of(method, self._arguments(call))
            return
        title = getattr(call.func, "id", "")
        inner = self.inner.get(title) or self.origin.functions.get(title)
        if inner is not None and self.makes(inner):
            self.body_of(inner, self._arguments(call))
            return
        self.leave(node)

    def number_of(
        self, owner: ast.ClassDef, call: ast.Call, attribute: str
    ) -> ast.expr | None:
        start = method_of(owner, "__init__")
        given = given_to(start, call) if start is not None else None
        if start is None or given is None:
            return None
        part = Run(self.origin, owner, start, given, given)
        try:
            part.all()
        except UnknownError:
            return None
        value = part.known.attributes.get(attribute)
        plain = value is not None and part.is_plain(value)
        known = names(call) | {*self.constants}
        if not plain or value is None or not names(value) <= known:
            return None
        return None if any(self_attribute(p) for p in walk(value)) else value

    def _turned(self, owner: ast.expr) -> bool:
        """Whether a list that is a name, and holds no layers, is turned around."""
        title = owner.id if isinstance(owner, ast.Name) else ""
        value = self.known.names.get(title)
        items = items_of(value) if value is not None else None
        if items is None or not self.is_plain(ast.List(items, ast.Load())):
            return False
        self.known.names[title] = ast.List(items[::-1], ast.Load())
        return True

    def _arguments(self, call: ast.Call) -> ast.Call:
        """A call with what is known of its arguments; lists are those that it may make longer."""
        args = [self.list_of(a) or self.known.value(a) for a in call.args]
        keywords = [
            ast.keyword(k.arg, self.list_of(k.value) or self.known.value(k.value))
            for k in call.keywords
        ]
        return ast.copy_location(ast.Call(call.func, args, keywords), call)

    def _add(self, node: ast.Expr, owner: ast.expr, args: list[ast.expr]) -> bool:
        """Whether `add_module` gives a layer to an object, or to a sequence."""
        title = literal(args[0]) if len(args) == 2 else None
        if not isinstance(title, str):
            return False
        if is_name(owner, "self"):
            self.structural = True
            self._set_attribute(node, title.replace(".", "_"), args[1])
            return True
        value = self.known.names.get(owner.id) if isinstance(owner, ast.Name) else None
        stored = self.fresh.get(value.id) if isinstance(value, ast.Name) else None
        made = stored.value if stored is not None else None
        made = made or self.set_to(self_attribute(owner) or "")
        if (
            isinstance(made, ast.Call)
            and self.origin.qualified(made.func) in SEQUENTIAL
        ):
            made.args = [*without_titles(made.args), *self.elements(args[1:])]
            return True
        return False
