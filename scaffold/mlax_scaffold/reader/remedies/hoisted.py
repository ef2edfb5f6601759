"""What a method makes where it uses it, as declarations of `setup`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.conditions import contrary
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.input_sizes import InputSizes
from mlax_scaffold.reader.source import Source, class_of, self_attribute

_Loop = ast.For | ast.comprehension
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
_ELSEWHERE = (ast.While, ast.FunctionDef, ast.Lambda, ast.SetComp, ast.DictComp)


def hoisted(
    source: Source,
    method: ast.FunctionDef,
    calls: Sequence[ast.Call],
    attributes: Mapping[str, str],
) -> Fix | None:
    """The calls in `setup`, under the names that they have here, or those of what they make.

    What a condition of hyperparameters makes is None otherwise; what a loop makes, a list. None where
    one is made in a function or a while loop, reads what only this method has, or would be shared by
    the calls of the method, each of which makes its own.
    """
    owner = class_of(source.tree, method)
    if owner is None or not method.args.args or is_called_again(owner, method):
        return None
    return _Hoisting(source, owner, method, attributes).fix(calls)


class _Hoisting:
    def __init__(
        self,
        source: Source,
        owner: ast.ClassDef,
        method: ast.FunctionDef,
        attributes: Mapping[str, str],
    ):
        self.source, self.owner, self.method = source, owner, method
        self.parents = {c: p for p in walk(method) for c in ast.iter_child_nodes(p)}
        self.sizes = InputSizes(method, attributes, Scope(source.tree, owner))
        self.names = [n for n in walk(method) if isinstance(n, ast.Name)]
        self.taken = {*attributes, *(m.name for m in _methods(owner))}
        self.edits: list[Edit] = []
        self.lines: list[str] = []
        self.hoisted: set[ast.AST] = set()
        self.items: set[str] = set()
        self.looped: dict[_Loop, list[tuple[str, str]]] = {}
        """The lists that loops without an index go through."""

    def fix(self, calls: Sequence[ast.Call]) -> Fix | None:
        inner = {n for call in calls for n in walk(call) if n is not call}
        outer = [call for call in calls if call not in inner]
        for call in sorted(outer, key=lambda c: (c.lineno, c.col_offset)):
            if not self._hoist(call):
                return None
        self._loops()
        self._unread()
        return Fix((self._declared(), *self.edits))

    def _hoist(self, call: ast.Call) -> bool:
        above = list(self._above(call))
        loops = [n for n in above if isinstance(n, ast.For)]
        loops += [n for n in above if isinstance(n, _COMPREHENSIONS)]
        if len(loops) > 1 or any(isinstance(n, _ELSEWHERE) for n in above):
            return False
        if not loops:
            return self._once(call)
        loop = _loop_of(loops[0])
        within = above[: above.index(loops[0])]
        tests = [n.test for n in within if isinstance(n, ast.If | ast.IfExp)]
        if loop is None or any(_names(t) & _names(loop.target) for t in tests):
            return False
        if tests and _index(loop) in ("", "_"):
            return False  # A list that may have no items is gone through by an index alone.
        return self._in_loop(call, loop)

    def _once(self, call: ast.Call) -> bool:
        made = self._outside(call)
        if made is None:
            return False
        self.hoisted |= {*walk(call)}
        conditions = list(self._conditions(call))
        name = self._local(call)
        if name is None or name in self.taken:
            name = self._free(_stem(call))
            self.edits.append(self.source.edit(call, f"self.{name}"))
        else:
            self._replace_local(call, name, f"self.{name}")
        otherwise = f" if {' and '.join(conditions)} else None" if conditions else ""
        self._add(name, f"{made}{otherwise}")
        return True

    def _in_loop(self, call: ast.Call, loop: _Loop) -> bool:
        targets = _names(loop.target)
        iterated = self.sizes.computed(loop.iter)
        made = self._outside(call, targets)
        if iterated is None or made is None:
            return False
        target = unparsed(loop.target)
        if not targets & _names(call):
            target, iterated = "_", _counted(iterated)
        several = f"[{made} for {target} in {unparsed(iterated)}]"
        if conditions := list(self._conditions(call)):
            several += f" if {' and '.join(conditions)} else []"
        self.hoisted |= {*walk(call)}
        local = self._local(call)
        stem = local or _stem(call)
        name = self._free(stem if stem.endswith("s") else f"{stem}s")
        self._add(name, several)
        index = _index(loop)
        if index and index != "_":
            item = f"self.{name}[{index}]"
        else:
            item = local or self._free(_stem(call), of_self=False)
            self.items.add(item)
            self.looped.setdefault(loop, []).append((item, name))
        if local is None:
            self.edits.append(self.source.edit(call, item))
        else:
            self._replace_local(call, local, item)
        return True

    def _loops(self) -> None:
        """The loops without an index, over the lists beside what they went through."""
        for loop, pairs in self.looped.items():
            items, lists = zip(*pairs, strict=True)
            targets, iterated = list(items), [f"self.{name}" for name in lists]
            if self._goes_on(loop):
                targets.append(self.source.text_of(loop.target))
                iterated.append(self.source.text_of(loop.iter))
            whole = iterated[0] if len(lists) == len(iterated) == 1 else ""
            header = whole or f"zip({', '.join(iterated)}, strict=True)"
            start, end = self.source.start(loop.target), self.source.end(loop.iter)
            text = f"{', '.join(targets)} in {header}"
            self.edits.append(self.source.replace(start, end, text))

    def _unread(self) -> None:
        """Takes out locals that only what is hoisted now reads."""
        for statement in reversed(self.method.body):
            hoisted = {n.id for n in self.hoisted if isinstance(n, ast.Name)}
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in hoisted - {
                    n.id for n in self._left()
                } and self.sizes.known(name):
                    self.edits.append(removed(self.source, statement))
                    self.hoisted |= {*walk(statement)}

    def _goes_on(self, loop: _Loop) -> bool:
        """Whether something else reads what a loop without an index goes through."""
        whole = loop if isinstance(loop, ast.For) else self.parents[loop]
        targets = _names(loop.target)
        stored = [n.id for n in self.names if _is_stored(n)]
        again = {n for n in targets if stored.count(n) > 1}
        inside = {*walk(whole)}
        return any(
            n.id in targets and (n in inside or n.id not in again) for n in self._left()
        )

    def _left(self) -> Iterator[ast.Name]:
        """The names that are read outside of what is hoisted."""
        for node in self.names:
            if node not in self.hoisted and not _is_stored(node):
                yield node

    def _outside(self, call: ast.Call, besides: Collection[str] = ()) -> str | None:
        """The text of a call in `setup`, as it stands here where that is the same."""
        found = self.sizes.outside(call, besides)
        if found is None:
            return None
        text = unparsed(found)
        return self.source.text_of(call) if text == unparsed(call) else text

    def _conditions(self, node: ast.AST) -> Iterator[str]:
        """What has to hold of hyperparameters where something is made, the outermost first."""
        found: list[str] = []
        child = node
        for node in self._above(child):
            if isinstance(node, ast.If | ast.IfExp) and child is not node.test:
                body = node.body if isinstance(node.body, list) else [node.body]
                test = node.test if child in body else contrary(node.test)
                parts = (
                    test.values
                    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
                    else [test]
                )
                texts = [self._condition(part) for part in parts]
                found = [t for t in texts if t] + found
            child = node
        yield from found

    def _condition(self, node: ast.expr) -> str:
        found = self.sizes.computed(node)
        text = "" if found is None else unparsed(found)
        return f"({text})" if isinstance(found, ast.BoolOp | ast.IfExp) else text

    def _local(self, call: ast.Call) -> str | None:
        """The local that a statement binds it to, which nothing else binds."""
        match self.parents[call]:
            case ast.Assign(targets=[ast.Name(id=name)]):
                stored = [n for n in self.names if n.id == name and _is_stored(n)]
                return name if len(stored) == 1 else None
        return None

    def _replace_local(self, call: ast.Call, name: str, text: str) -> None:
        statement = self.parents[call]
        assert isinstance(statement, ast.Assign)
        self.edits.append(removed(self.source, statement))
        if text != name:
            reads = [n for n in self.names if n.id == name and not _is_stored(n)]
            self.edits += [self.source.edit(n, text) for n in reads]

    def _add(self, name: str, text: str) -> None:
        self.taken.add(name)
        self.lines.append(f"self.{name} = {text}")

    def _free(self, base: str, *, of_self: bool = True) -> str:
        taken = self.taken if of_self else self.items | _names(self.method)
        name, number = base, 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        return name

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (node := self.parents[node]) is not self.method:
            yield node

    def _declared(self) -> Edit:
        """The statements at the end of `setup`, or in one that stands before the method."""
        indent = " " * self.method.col_offset
        body = f"\n{indent}    ".join(self.lines)
        setup = next((m for m in _methods(self.owner) if m.name == "setup"), None)
        if setup is None:
            text = f"def setup(self):\n{indent}    {body}\n\n{indent}"
            return self.source.insert(self.method, text)
        end = self.source.end(setup.body[-1])
        return self.source.replace(end, end, f"\n{indent}    {body}")


def is_called_again(owner: ast.ClassDef, method: ast.FunctionDef) -> bool:
    """Whether a method is called at several places, or in a loop."""
    read = [n for n in walk(owner) if self_attribute(n) == method.name]
    repeated = (*_COMPREHENSIONS, *_ELSEWHERE, ast.For)
    around = [n for n in walk(owner) if isinstance(n, repeated) and n not in owner.body]
    return len(read) > 1 or any(n in walk(loop) for n in read for loop in around)


def _loop_of(node: ast.AST) -> _Loop | None:
    match node:
        case ast.For(orelse=[]):
            return node
        case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]) if (
            not one.ifs
        ):
            return one
    return None


def _counted(iterated: ast.expr) -> ast.expr:
    """What has as many items as `enumerate(...)` of it."""
    match iterated:
        case ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            return items
    return iterated


def _index(loop: _Loop) -> str:
    """The local that counts the passes of a loop from 0; empty: there is none."""
    match loop.target, loop.iter:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=[_]):
            return name
        case (
            ast.Tuple(elts=[ast.Name(id=name), *_]),
            ast.Call(func=ast.Name(id="enumerate"), args=[_]),
        ):
            return name
    return ""


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _stem(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    word = {"trainable": "weight", "state": "kept"}.get(call.func.id, call.func.id)
    return module_name(word)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _methods(owner: ast.AST) -> list[ast.FunctionDef]:
    body = getattr(owner, "body", [])
    return [m for m in body if isinstance(m, ast.FunctionDef)]
