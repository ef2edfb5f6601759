"""Tensors of PyTorch that are changed in place, as names that are bound anew: `nn.ReLU(inplace=True)`.

out = self.relu(x)                                   x = self.relu(x)
return self.conv(out) + x             becomes        out = x
                                                     return self.conv(out) + x

Only where another name, or the name itself, is read again; what holds a changed tensor otherwise (a list, a
part of it) and is read again is told with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.changes.changing_calls import (
    AGAIN,
    Change,
    Changing,
    Plain,
    again_after,
    is_changing,
    rebinds,
    set_part,
)
from mlax_scaffold.conversion.changes.evaluation_order import (
    earlier,
    elsewhere_read,
    is_reached,
    put,
    walked,
)
from mlax_scaffold.conversion.changes.liveness import Liveness, reads
from mlax_scaffold.conversion.changes.storages import Storages
from mlax_scaffold.conversion.forms.initial_rules import called
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_TODO = "write `x = torch.relu(x)` where the change is meant, `inplace=False` where it is not"
_STARTS = ("__init__", "reset_parameters", "extra_repr")


def without_in_place(origin: Origin, thing: str, notes: Notes) -> None:
    """Change what a class or a function of a file of PyTorch, or of NumPy alone, is made of."""
    libraries = {full.partition(".")[0] for full in origin.imports.values()}
    if "torch" not in libraries and ("numpy" not in libraries or "jax" in libraries):
        # Arrays of jax are never changed.
        return
    used = used_by(origin, thing)
    others: dict[str, dict[int, str]] = {}
    todo: list[tuple[ast.FunctionDef, ast.ClassDef | None]] = [
        (f, None) for f in origin.functions.values() if f.name in used
    ]
    for node in origin.classes.values():
        if node.name in used and framework_of(origin, node) in ("torch", "plain"):
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            # What `forward` calls is read before it.
            methods.sort(key=lambda m: m.name == "forward")
            todo += [(m, node) for m in methods if not _starts(m)]
    for function, owner in todo:
        changing = Changing(origin, owner, others)
        made = _InPlace(changing, notes, function)
        made.run()
        if made.changed:
            title = function.name
            if owner is not None and title == "forward":
                title = owner.name
            others[title] = made.changed


def _numbers(changing: Changing, function: ast.FunctionDef) -> frozenset[str]:
    """The arguments of a function that are numbers, or settings of a layer, in all of its calls."""
    given = [a.arg for a in function.args.args if a.arg != "self"]
    told: dict[str, list[bool]] = {}
    for call in walk(changing.origin.tree):
        if not isinstance(call, ast.Call):
            continue
        if called(call.func) != function.name:
            continue
        pairs = [*zip(given, call.args, strict=False)]
        pairs += [(str(k.arg), k.value) for k in call.keywords]
        for argument, value in pairs:
            setting = self_attribute(value) not in (None, *changing.stored)
            number = isinstance(value, ast.Constant) or setting
            told.setdefault(argument, []).append(number)
    return frozenset(a for a, found in told.items() if all(found))


def _starts(method: ast.FunctionDef) -> bool:
    return method.name in _STARTS or "init" in method.name


class _InPlace:
    """One function."""

    def __init__(self, changing: Changing, notes: Notes, function: ast.FunctionDef):
        self.changing, self.notes, self.function = changing, notes, function
        given = [a.arg for a in function.args.args if a.arg != "self"]
        self.given = given
        self.plain = Plain(changing.origin)
        numbers = _numbers(changing, function)
        self.storages = Storages(changing.origin, function, self._returned, numbers)
        self.changed: dict[int, str] = {}
        """What happens to the function's own arguments, by their place."""
        self.read: set[str] = set()
        """The tensors whose numbers were read."""
        self.modules: dict[str, str] = {}

    def _returned(self, call: ast.Call) -> ast.expr | None:
        made = self.changing.of_call(call, self.modules)
        return made[0] if made is not None and made[1].result else None

    def run(self) -> None:
        """Rewrite the body."""
        for call in walk(self.function):
            self._past_gradient(call)
        found = any(
            isinstance(p, ast.AugAssign)
            or (isinstance(p, ast.stmt) and set_part(p))
            or (
                isinstance(p, ast.Call)
                and self.changing.of_call(p, self._looped()) is not None
            )
            for p in walk(self.function)
        )
        if found:
            self.modules = self._looped()
            self.live = Liveness(self.function.body)
            self.function.body = self._block(self.function.body)
            located(self.function)

    def _past_gradient(self, node: ast.AST) -> None:
        """`x.data.masked_fill_(...)` changes the numbers of x, and `x.masked_fill_(...)` does so, too."""
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name() as inner, attr="data"),
                    attr=title,
                )
            ) if is_changing(title):
                node.func.value = inner  # type: ignore[attr-defined]
                self.notes.remark(
                    node,
                    f"`{ast.unparse(node)}` changes numbers past their gradient",
                    "here the gradient follows it",
                )

    def _looped(self) -> dict[str, str]:
        """The names of loops over lists of layers."""
        found: dict[str, str] = {}
        for part in walk(self.function):
            if isinstance(part, ast.For):
                for place, target in walked(part.target, part.iter):
                    attribute = self_attribute(place)
                    if attribute and isinstance(target, ast.Name):
                        found[target.id] = attribute
        return found

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for node in body:
            found += self._statement(node)
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If():
                before = self._tested(node, node.test)
                start = self.storages.copy()
                node.body = self._block(node.body)
                first, self.storages = self.storages, start
                node.orelse = self._block(node.orelse)
                self.storages = self.storages.joined(first)
                return [*before, node]
            case ast.For() | ast.While():
                test = node.iter if isinstance(node, ast.For) else node.test
                before = self._tested(node, test)
                # What a pass leaves behind is what the next one begins with.
                for _ in range(2):
                    self.storages.passed(node)
                node.body = self._block(node.body)
                node.orelse = self._block(node.orelse)
                return [*before, node]
            case ast.With():
                node.body = self._block(node.body)
                return [node]
            case ast.FunctionDef() | ast.ClassDef():
                return [node]
        made = self._simple(node)
        for part in made:
            self._reads(part)
            self.storages.bind(part)
        return made

    def _reads(self, node: ast.stmt | ast.expr) -> None:
        """Keep in mind what a statement computes with."""
        if not isinstance(node, ast.stmt) or not self.storages.only_names(node):
            self.read |= self.storages.all_of(reads(node))

    def _tested(self, node: ast.stmt, test: ast.expr) -> list[ast.stmt]:
        """What stands before a condition that changes a tensor."""
        for call, (given, _) in self._calls(test):
            if self._held(given, self.live.after(node) | reads(node)):
                self._refuse(call)
        return []

    def _calls(
        self, node: ast.AST | None
    ) -> list[tuple[ast.Call, tuple[ast.expr, Change]]]:
        """The calls that change something, in the order in which they are run."""
        found: list[tuple[ast.Call, tuple[ast.expr, Change]]] = []
        for child in ast.iter_child_nodes(node) if node is not None else ():
            found += self._calls(child)
        if isinstance(node, ast.Call):
            made = self.changing.of_call(node, self.modules)
            if made is not None:
                found.append((node, made))
        return found

    def _simple(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Expr) and (made := self._of_buffer(node.value)):
            return [made]
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        for call, _ in self._calls(node):
            # What it changes has a name by now, perhaps.
            made = self.changing.of_call(call, self.modules)
            assert made is not None
            given, change = made
            if change.result and rebinds(node, call, given):
                self._note_change(ast.unparse(given), change)
                after += self._others(call, ast.unparse(given), self.live.after(node))
            else:
                before += self._changes(node, call, given, change)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            after += self._augmented(node, node.target.id)
        if (local := set_part(node)) and not self.storages.is_listed(local):
            after += self._augmented(node, local)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and before:
            return [*before, *after]
        return [*before, self._plain(node), *after]

    def _of_buffer(self, value: ast.expr) -> ast.stmt | None:
        """A buffer that is changed, `self.mean.mul_(0.9).add_(x)`, as what it is set to."""
        inner, chain = value, False
        while (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and is_changing(inner.func.attr)
        ):
            inner, chain = inner.func.value, True
        if isinstance(inner, ast.Attribute) and inner.attr == "data":
            inner = inner.value
        if not chain or self_attribute(inner) is None:
            return None
        target = cloned(inner)
        target.ctx = ast.Store()  # type: ignore[attr-defined]
        made = ast.Assign([target], value)
        return located(ast.copy_location(self._plain(made), value))

    def _augmented(self, node: ast.stmt, local: str) -> list[ast.stmt]:
        """`x += y` changes every name of the tensor."""
        if self.storages.is_number(local):
            return []
        if self.storages.is_listed(local) and isinstance(node, ast.AugAssign):
            # A list that becomes longer: the tensors in it stay as they are.
            return self._of_list(node, local)
        if self.storages.of_self(local, self.changing.stored):
            self._refuse(node)
            return []
        self._note_change(local, Change(True))
        return self._others(node, local, self.live.after(node))

    def _of_list(self, node: ast.stmt, local: str) -> list[ast.stmt]:
        """The other names of a list that became longer."""
        others = [o for o in self.live.after(node) if self.storages.same(local, o)]
        return [
            ast.copy_location(ast.Assign([ast.Name(o, ast.Store())], name(local)), node)
            for o in sorted({*others} - {local})
        ]

    def _held(self, given: ast.expr, live: Iterable[str]) -> set[str]:
        """The names that are read again and hold what is changed."""
        return {n for n in live if self.storages.overlap(given, n)}

    def _others(self, node: ast.AST, local: str, live: Iterable[str]) -> list[ast.stmt]:
        """The other names of a tensor that was changed, bound to it again."""
        made: list[ast.stmt] = []
        for other in sorted(self._held(name(local), set(live) - {local})):
            if not self.storages.same(local, other):
                self._refuse(node)
                continue
            assign = ast.Assign([ast.Name(other, ast.Store())], name(local))
            made.append(ast.copy_location(assign, node))
        return made

    def _changes(
        self, node: ast.stmt, call: ast.Call, given: ast.expr, change: Change
    ) -> list[ast.stmt]:
        """What stands before the statement of a call that changes a tensor."""
        live = set(self.live.after(node))
        if isinstance(node, ast.Assign):
            live -= set(targets(node))
        elsewhere = elsewhere_read(node, call)
        held = self._held(given, live | elsewhere)
        for part in earlier(node, call):
            if not isinstance(part, ast.Name):
                self._reads(part)
        if isinstance(given, ast.Name):
            self._note_change(given.id, change)
            if self.storages.of_self(given.id, self.changing.stored):
                self._refuse(call)
        if not held and not (isinstance(node, ast.Expr) and node.value is call):
            return []
        if not isinstance(given, ast.Name) or not is_reached(node, call):
            if held:
                self._refuse(call)
            return []
        local = given.id
        after = again_after(change.kind) if not change.result else ""
        told = change.sure and (change.result or change.kind in AGAIN or after)
        if not told:
            if held:
                self._refuse(call)
            return []
        before = self._first(node, call, local)
        if change.result:
            value: ast.expr = cloned(call)
            put(node, call, ast.Name(local, ast.Load()))
        elif not held:
            return []
        elif after:
            # It is called with what the tensor is before that.
            title = self._free("result")
            before += [ast.Assign([ast.Name(title, ast.Store())], cloned(call))]
            put(node, call, ast.Name(title, ast.Load()))
            value = expression(after.format(local))
        else:
            value = expression(AGAIN[change.kind].format(local))
        assign = ast.Assign([ast.Name(local, ast.Store())], self._plain(value))
        for part in (*before, assign):
            located(ast.copy_location(part, call))
        return [*before, assign, *self._others(call, local, live | elsewhere)]

    def _first(self, node: ast.stmt, call: ast.Call, local: str) -> list[ast.stmt]:
        """What is computed of the tensor before it is changed, under names of its own."""
        made: list[ast.stmt] = []
        known = names(self.function)
        for part in earlier(node, call):
            if isinstance(part, ast.Name | ast.Constant | ast.Attribute):
                continue
            if not self._held(name(local), reads(part)):
                continue
            title = self._free("before", known)
            known.add(title)
            assign = ast.Assign([ast.Name(title, ast.Store())], self._plain(part))
            made.append(located(ast.copy_location(assign, part)))
            put(node, part, ast.Name(title, ast.Load()))
        return made

    def _free(self, title: str, known: Iterable[str] = ()) -> str:
        """A name that the function does not have."""
        while title in {*known, *names(self.function)}:
            title += "_"
        return title

    def _note_change(self, local: str, change: Change) -> None:
        """Tell callers that an argument is changed, and into what."""
        for place, given in enumerate(self.given):
            if not self.storages.holds(local, f"@{given}"):
                continue
            exact = self.storages.is_exactly(local, f"@{given}")
            early = f"@{given}" not in self.read
            first = place not in self.changed and exact and early
            self.changed[place] = change.kind if first else "other"

    def _plain(self, node):
        return located(self.plain.visit(node))

    def _refuse(self, node: ast.AST) -> None:
        text = ast.unparse(node)
        self.notes.refuse(
            node, f"`{text}` changes a tensor in place that is read again", _TODO
        )
