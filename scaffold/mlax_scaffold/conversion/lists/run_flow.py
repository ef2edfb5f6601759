"""Branches and loops of a constructor that is run."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.conversion.lists.longer_lists import (
    grown_in,
    is_longer,
    longer,
    title_of,
)
from mlax_scaffold.conversion.lists.run_calls import (
    Continued,
    RunCalls,
    UnknownError,
)
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.known_values import items_of, truth, unpacked
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import cloned, walk


class RunFlow(RunCalls):
    """Runs them."""

    unrolled: int
    placed: dict[str, ast.stmt]
    fresh: dict[str, ast.Assign]
    undecided: int = 0
    """How many branches are run of which it is not known whether they are taken."""

    def leave(self, node: ast.stmt) -> None:
        """Leave a statement as it is, with what is known written in it."""
        raise NotImplementedError

    def elements(self, given: Sequence[ast.expr]) -> list[ast.expr]:
        """What a list is made longer by."""
        raise NotImplementedError

    def branch(self, node: ast.If) -> None:
        """Run the branch that is taken, or leave the statement where that is not known."""
        test = self.known.value(node.test)
        decided = True if self.is_object(test) else truth(test)
        if decided is not None:
            self.statements(node.body if decided else node.orelse)
            return
        match node:
            case ast.If(
                body=[ast.Assign(targets=[ast.Name(id=title)], value=one)], orelse=[]
            ) if title in self.known.names or title in self.open:
                if self.is_object(self.known.value(one)):
                    # Which class makes the layers.
                    self.need(test)
                other = self.known.value(ast.Name(title, ast.Load()))
                made = ast.IfExp(test, self.known.value(one), other)
                if self.is_plain(made):
                    self.known.names[title] = made
                    return
        ends = (ast.Return, ast.Continue, ast.Break)
        if any(isinstance(part, ends) for part in walk(node)):
            self.need(test)
            raise UnknownError
        if self.is_structural(node):
            self.need(test)
            self._open(node)
            return
        saved = self.out, self.known.names
        sides: list[list[ast.stmt]] = []
        told: list[dict[str, ast.expr]] = []
        before = dict(self.known.attributes)
        self.undecided += 1
        for body in (node.body, node.orelse):
            self.out, self.known.names = [], dict(saved[1])
            self.known.attributes = dict(before)
            self.statements(body)
            sides.append(self.out)
            told.append({**self.known.attributes})
        self.undecided -= 1
        self.out, self.known.names = saved
        self.known.attributes = before
        for title in sorted({*told[0], *told[1]}):
            one, other = (known.get(title) for known in told)
            if one is before.get(title) and other is before.get(title):
                continue
            if one is not None and other is not None and title not in self.lists:
                # From here on it is what the condition says.
                before[title] = ast.copy_location(ast.IfExp(test, one, other), node)
                continue
            before.pop(title, None)
            for side, value in zip(sides, (one, other), strict=True):
                if value is not None:
                    side.append(attribute_set(title, value))
        if sides[0] or sides[1]:
            made = ast.If(test, sides[0] or [ast.Pass()], sides[1])
            self.out.append(ast.copy_location(made, node))

    def item_set(self, target: ast.Subscript, made: ast.expr) -> bool:
        """Whether an element of a list that is known is set, which nothing else holds."""
        attribute = self_attribute(target.value)
        title = attribute or getattr(target.value, "id", "")
        holders = self.known.names if attribute is None else self.known.attributes
        value = holders.get(title)
        if value is None or getattr(value, "id", "") in self.fresh:
            # An array that is computed in the constructor is changed where it is.
            return False
        if attribute is None and isinstance(value, ast.Call) and not self.undecided:
            return self._computed(target, title, value)
        at, items = literal(self.known.value(target.slice)), items_of(value)
        known = items is not None and self.is_plain(value) and self.is_plain(made)
        if not known or items is None or type(at) is not int:
            raise UnknownError
        text = ast.dump(value)
        all_ = self.known.names, self.known.attributes
        held = [(h, n, v) for h in all_ for n, v in h.items()]
        others = [
            v for h, n, v in held if (h is not holders or n != title) and ast.dump(v) == text
        ]  # fmt: skip
        if others or not -len(items) <= at < len(items):
            # Another name of the same list would have the new element, too.
            raise UnknownError
        changed = [*items]
        changed[at] = made
        if isinstance(value, ast.List) and value is self.lists.get(attribute or ""):
            value.elts = changed
        else:
            holders[title] = ast.List(changed, ast.Load())
        return True

    def _computed(self, target: ast.Subscript, title: str, value: ast.Call) -> bool:
        """False, where an array that was written where it is read is a local from here on."""
        text = ast.dump(value)
        all_ = (*self.known.names.items(), *self.known.attributes.items())
        if [ast.dump(v) for _, v in all_].count(text) > 1:
            # Another name of the same array would have the new numbers, too.
            raise UnknownError
        local = self.named(title)
        stored = ast.Assign([ast.Name(local, ast.Store())], value)
        self.out.append(ast.copy_location(stored, target))
        self.fresh[local] = stored
        self.known.names[title] = ast.Name(local, ast.Load())
        return False

    def loop(self, node: ast.For) -> None:
        """Run the passes of a loop, or leave it where they are not known."""
        source = self.known.value(node.iter)
        items = items_of(source)
        if items is not None and not any(isinstance(i, ast.Starred) for i in items):
            self.structural = self.structural or self.is_structural(node)
            if longer(node.body) & {*stored_names(ast.Expr(node.target))}:
                # What is made longer is what the items are other names of.
                raise UnknownError
            self.unrolled += 1
            for item in items:
                pairs = unpacked(node.target, item)
                if pairs is None:
                    raise UnknownError
                self.known.names.update(pairs)
                try:
                    self.statements(node.body)
                except Continued:
                    continue
            self.unrolled -= 1
            return
        if not self.is_structural(node):
            self.leave(node)
            return
        if not self.unrolled and _is_simple(source) and self._repeated(node, source):
            return
        self.need(source)
        if not self._repeated(node, source):
            self._open(node)

    def _open(self, node: ast.stmt) -> None:
        """Leave a statement that is not to be told, and what it changes as it is from here on."""
        if self.inside:
            # Its locals are others than the constructor's.
            raise UnknownError
        for part in walk(node):
            grown = part.func.value if is_longer(part) else None  # type: ignore[attr-defined]
            stored = isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            title = getattr(grown or part, "id", "") if grown or stored else ""
            attribute = self_attribute(grown) or "" if grown is not None else ""
            self.lists.pop(attribute, None)
            before = self.known.attributes.pop(attribute, None)
            if before is not None and attribute not in self.placed:
                made = attribute_set(attribute, before)
                self.out.append(ast.copy_location(made, node))
            value = self.known.names.pop(title, None)
            if value is not None and not is_name(value, title):
                local = ast.Assign([ast.Name(title, ast.Store())], value)
                self.out.append(ast.copy_location(local, node))
        self.leave(node)

    def _repeated(self, node: ast.For, source: ast.expr) -> bool:
        """Whether each pass appends one layer to a list, which is a comprehension then."""
        bound = {n.id for n in walk(node.target) if isinstance(n, ast.Name)}
        read = {id(p) for p in walk(node) if title_of(p) in longer(node.body)}
        grown = {id(owner) for owner in grown_in(node)}
        if read - grown:
            # What a pass appends is made of what those before it appended.
            return False
        saved = dict(self.known.names)
        for title in bound:
            self.known.names.pop(title, None)
        found: list[tuple[ast.List, ast.expr]] = []
        for part in node.body:
            match part:
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=owner, attr="append"), args=[given]
                    )
                ) if (held := self.list_of(owner)) is not None:
                    found.append((held, self.known.value(given)))
                case ast.AugAssign(
                    target=owner, op=ast.Add(), value=ast.List(elts=[given])
                ) if (held := self.list_of(owner)) is not None:
                    found.append((held, self.known.value(given)))
                case ast.For():
                    inside = [p.func.value for p in walk(part) if is_longer(p)]  # type: ignore[attr-defined]
                    inside += [
                        p.target for p in walk(part) if isinstance(p, ast.AugAssign)
                    ]
                    if any(getattr(p, "id", "") in {"", *saved} for p in inside):
                        # It makes a list longer that is not of this pass.
                        break
                    if not self._repeated(part, self.known.value(part.iter)):
                        break
                case ast.Assign(targets=[ast.Name(id=title)], value=value):
                    made = self.known.value(value)
                    held = self.held(made)
                    if title in {*saved, *self.open} or not (
                        held is not None or self.is_plain(made)
                    ):
                        break
                    self.known.names[title] = made if held is None else held
                case _:
                    break
        else:
            self.known.names = saved
            held = [id(h) for h, _ in found]
            if not found or len(set(held)) != len(held):
                return False
            for one, given in found:
                generator = ast.comprehension(
                    cloned(node.target), cloned(source), [], 0
                )
                made = ast.ListComp(given, [generator])
                one.elts += self.elements([ast.Starred(made, ast.Load())])
            return True
        self.known.names = saved
        return False


def _is_simple(node: ast.expr) -> bool:
    """Whether what a loop goes over is a number of passes, or a parameter."""
    calls = [p for p in walk(node) if isinstance(p, ast.Call)]
    known = ("range", "enumerate", "zip", "len")
    parts = (
        ast.Call | ast.Name | ast.Attribute | ast.BinOp | ast.Constant | ast.operator
    )
    parts |= ast.Subscript | ast.Slice | ast.UnaryOp | ast.unaryop | ast.expr_context
    return all(getattr(c.func, "id", "") in known for c in calls) and all(
        isinstance(p, parts) for p in walk(node)
    )


def attribute_set(title: str, value: ast.expr) -> ast.Assign:
    """The statement that sets an attribute."""
    target = ast.Attribute(ast.Name("self", ast.Load()), title, ast.Store())
    return ast.Assign([target], value, lineno=getattr(value, "lineno", 1))
