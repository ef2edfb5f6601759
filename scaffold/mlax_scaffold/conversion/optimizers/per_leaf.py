"""The update function of a transformation, which maps trees, as what happens to one leaf."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.optimizers.chosen_values import with_chosen_values
from mlax_scaffold.conversion.optimizers.flattened_trees import over_trees
from mlax_scaffold.conversion.optimizers.leaf_expressions import LeafExpressions
from mlax_scaffold.conversion.optimizers.optimizer_chains import COUNT
from mlax_scaffold.conversion.optimizers.optimizer_states import fields_of
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    name,
    names,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import walk


class PerLeaf(LeafExpressions):
    """Reads one update function."""

    def run(
        self, function: ast.FunctionDef, current: ast.expr, tree: ast.expr | None = None
    ) -> ast.expr | None:
        """Read it; the update of a leaf.

        Args:
            function: the update function.
            current: what a leaf of the updates is that it is given.
            tree: what all of them are before the leaves are updated; None where they are not there yet.
        """
        function = over_trees(
            with_chosen_values(over_trees(function, self.full)), self.full
        )
        self.used = names(function)
        given = [a.arg for a in function.args.args]
        places = dict(zip(("updates", "state", "params"), given, strict=False))
        updates = places.get("updates", "updates")
        self.leaves[updates] = current
        if tree is not None:
            self.whole.locals[updates] = tree
        self.state = places.get("state", "state")
        if "params" in places:
            self.leaves[places["params"]] = name("param")
            self.whole.given[places["params"]] = "params"
        further = (*function.args.kwonlyargs, *function.args.args[3:])
        read = {n for part in function.body for n in names(part)}
        if "value" in read & {a.arg for a in further}:
            self.scalars["value"] = self.hoisted(expression("self.value"), "loss")
        self.pending: dict[str, dict[str, ast.expr]] = {}
        self.odd: set[str] = set()
        for part in without_docstring(function.body):
            self._statement(part)
        return self.result

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Delete() | ast.Expr() | ast.Assert() | ast.Pass():
                return
            case ast.If(body=body) if any(isinstance(p, ast.Raise) for p in body):
                return
            case ast.FunctionDef():
                self.functions = {**self.functions, node.name: node}
                return
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                self._assign(node, target, value)
                return
            case ast.Assign(targets=[*targets, ast.Name(id=target)], value=value) if (
                all(isinstance(t, ast.Name) for t in targets)
            ):
                self._assign(node, target, value)
                for further in targets:
                    self._assign(node, further.id, name(target))  # type: ignore[attr-defined]
                return
            case ast.Assign(targets=[ast.Tuple() as target], value=value):
                self._unpack(node, target, value)
                return
            case ast.Return(value=ast.Tuple(elts=[updates, state])):
                self._return(node, updates, state)
                return
        self.refused.append(
            (
                node,
                f"`{ast.unparse(node).splitlines()[0]}` in an update function",
                "let each pass compute what is appended for one leaf alone, and write what adds up "
                "over the leaves with optax.tree_utils.tree_sum"
                if isinstance(node, ast.For)
                else "write it with jax.tree.map",
            )
        )

    def _unpack(self, node: ast.stmt, target: ast.Tuple, value: ast.expr) -> None:
        locals_ = [one.id for one in target.elts if isinstance(one, ast.Name)]
        if len(locals_) == len(target.elts):
            if len(locals_) == 2 and self._updated(locals_, value):
                return
            if isinstance(value, ast.Name) and value.id == self.state:
                for place, local in zip(self.states.places, locals_, strict=False):
                    self._bind(local, place)
                return
            if parts := _one_by_one(locals_, value):
                for local, part in zip(locals_, parts, strict=True):
                    self._assign(node, local, part)
                return
            if self.is_key(value):
                self.keys |= {*locals_}
                return
            several = self.several.of(value, self.used)
            if several is not None and len(several.values) == len(locals_):
                for local, step in several.steps:
                    self._assign(node, local, step)
                self._bound_at_once(node, locals_, several.values)
                return
        self.refused.append(
            (node, f"`{ast.unparse(node)}`", "assign each value by itself")
        )

    def _bound_at_once(
        self, node: ast.stmt, locals_: list[str], values: list[ast.expr]
    ) -> None:
        """Bind several names, none of which the values are to read anew."""
        later = {n for v in values[1:] for n in names(v)}
        held = {local: f"new_{local}" for local in locals_[:-1] if local in later}
        for local, value in zip(locals_, values, strict=True):
            self._assign(node, held.get(local, local), value)
        for local, there in held.items():
            self._assign(node, local, name(there))

    def _updated(self, locals_: list[str], value: ast.expr) -> bool:
        """Whether both are what a transformation that this one is given makes of updates."""
        match value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=inner), attr="update"),
                args=[updates, state, *_],
            ) if inner in self.known and self.place(state) in self.states.inner:
                # What it is given is bound, as each of its stages may read it more than once.
                current = self.of(updates, per_leaf=True)
                made = self.nested(self, self.known[inner], current)
                self._leaf(locals_[0], made)
                self.inner[locals_[1]] = str(self.place(state))
                self.whole.locals.pop(locals_[0], None)
                self.whole.given.pop(locals_[0], None)
                return True
        return False

    def _leaf(self, local: str, made: ast.expr) -> None:
        self.leaves[local] = made
        self.scalars.pop(local, None)

    def _bind(self, local: str, place: str) -> None:
        """A local is a part of the state."""
        if place in self.states.keys:
            self.keys.add(local)
            return
        value = self.states.read.get(place, ast.Constant(None))
        if place in self.states.scalars:
            value = self.states.before(place, self.hoisted)
        if place in self.states.written and place not in self.states.scalars:
            self.leaves[local] = value
            self.whole.locals[local] = value
        else:
            self.scalars[local] = value

    def _assign(self, node: ast.stmt, target: str, value: ast.expr) -> None:
        if isinstance(value, ast.Lambda):
            self.known = {**self.known, target: replaced(value, {**self.known})}
            return
        if isinstance(value, ast.Name) and value.id == self.state:
            return
        if self.is_key(value):
            self.keys.add(target)
            return
        if self._structure(value):
            return
        self.keys.discard(target)
        if self._is_state(value):
            values = self._outer(value, self._new_state(value))
            made = {k: self._value(k, v) for k, v in values.items()}
            self.pending[target] = made
            # What it holds is not bound anew behind it.
            self.before |= {n for v in made.values() for n in names(v)}
            return
        leaf = self.is_leaf(value)
        made = self.of(value, per_leaf=leaf)
        if leaf:
            self.whole.bind(target, value)
            local = target
            while local in self.before:
                local = f"{local}_"
            self.update.append(
                ast.copy_location(
                    ast.Assign([ast.Name(local, ast.Store())], made, lineno=0), node
                )
            )
            self.leaves[target] = name(local)
            self.scalars.pop(target, None)
            return
        self.leaves.pop(target, None)
        if not self._first(made) or ast.unparse(made) in ("self.step", COUNT):
            self.scalars[target] = made
            return
        self.scalars[target] = self.hoisted(made, target)
        ast.copy_location(self.prepare[-1], node)

    def _first(self, made: ast.expr) -> bool:
        """Whether a number is to be computed before the updates of the leaves."""
        parts = {ast.unparse(p) for p in walk(made) if isinstance(p, ast.expr)}
        own = {f"self.{self.states.written[p]}" for p in self.states.scalars}
        others = {"self.step", "self.value", "self.key", "grads", "params"}
        return bool(parts & (own | others | {"@word:tree_dot"}))

    def _structure(self, value: ast.expr) -> bool:
        """Whether a value tells how a tree is made, which only keys are split by."""
        match value:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Call(func=func)]):
                return self.full(func).endswith(("tree.leaves", "tree_leaves"))
            case ast.Call(func=func):
                return self.full(func).endswith(("tree.structure", "tree_structure"))
        return False

    def _is_state(self, node: ast.expr) -> bool:
        """Whether a value is a new state."""
        if isinstance(node, ast.IfExp):
            return self._is_state(node.body) and self._is_state(node.orelse)
        if isinstance(node, ast.Dict):
            return {literal(k) for k in node.keys if k} == {*self.states.places}
        if not isinstance(node, ast.Call):
            return False
        title = ast.unparse(node.func)
        if title == f"{self.state}._replace":
            return True
        places = fields_of(self.translator, title) or self.states.places
        given = [k.arg for k in node.keywords]
        looks = title.rpartition(".")[2][:1].isupper() or title == "dict"
        return (
            looks
            and {*places} <= {*self.states.places}
            and {*given} <= {*places}
            and len(node.args) + len(given) == len(places)
        )

    def _return(self, node: ast.Return, updates: ast.expr, state: ast.expr) -> None:
        values = self._returned_state(state)
        self._counted(values)
        made = self.of(updates, per_leaf=True)
        for place, new in self._in_order(values):
            attribute = self.states.written[place]
            read = f"self.{attribute}"
            if ast.unparse(new) == read:
                continue
            target = ast.Attribute(name("self"), attribute, ast.Store())
            assigned = ast.copy_location(ast.Assign([target], new, lineno=0), node)
            if place in self.states.scalars:
                self.prepare.append(assigned)
                continue
            if read in ast.unparse(made):
                # What is returned is of the old state.
                self.update.append(
                    ast.Assign([ast.Name("step", ast.Store())], made, lineno=0)
                )
                made = name("step")
            self.update.append(assigned)
        self.result = made

    def _returned_state(self, state: ast.expr) -> dict[str, ast.expr]:
        if isinstance(state, ast.Name) and state.id in self.pending:
            return self.pending[state.id]
        values = self._outer(state, self._new_state(state))
        if not {*values} <= {*self.states.places}:
            self.refused.append(
                (
                    state,
                    f"the state `{ast.unparse(state)}` that is returned",
                    "return what the first state is made of, with each part by its name",
                )
            )
        return {k: self._value(k, v) for k, v in values.items()}

    def _outer(self, node: ast.AST, values: dict[str, ast.expr]) -> dict[str, ast.expr]:
        """The parts of a new state without those of transformations that it is given."""
        for place in [p for p in values if p in self.states.inner]:
            value = values.pop(place)
            title = value.id if isinstance(value, ast.Name) else ""
            if self.inner.get(title) != place:
                self.refused.append(
                    (
                        node,
                        f"the state `{ast.unparse(value)}` of a transformation that this one is given",
                        "keep what its update function returns, in each step",
                    )
                )
        return values

    def _value(self, place: str, value: ast.expr) -> ast.expr:
        """What becomes of a part of the state."""
        kept = place in self.states.written and place not in self.states.scalars
        return self.of(value, per_leaf=kept)

    def _counted(self, values: dict[str, ast.expr]) -> None:
        """Note the numbers of steps that are no such numbers: each step adds one to those."""
        for place, read in self.states.read.items():
            text = ast.unparse(read)
            if place in self.states.written or not text.startswith("self.step"):
                continue
            new = ast.unparse(values[place]) if place in values else ""
            further = (
                ("self.step",) if text == COUNT else (f"{text} + 1", f"1 + {text}")
            )
            if new not in further:
                self.odd.add(place)

    def _in_order(self, values: dict[str, ast.expr]) -> list[tuple[str, ast.expr]]:
        """The parts that are kept; one that another reads changes behind it."""
        kept = [(p, values[p]) for p in self.states.written if p in values]
        made: list[tuple[str, ast.expr]] = []
        for place, value in kept:
            attribute = self.states.written[place]
            parts = {ast.unparse(n) for n in walk(value) if isinstance(n, ast.expr)}
            scalar = place in self.states.scalars
            before = [p for p, _ in kept if (p in self.states.scalars) == scalar]
            if parts & {f"self.{self.states.written[p]}" for p in before if p != place}:
                new = f"new_{attribute}"
                made.append((place, self._kept(value, new, scalar)))
            else:
                made.append((place, value))
        return made

    def _kept(self, value: ast.expr, wanted: str, scalar: bool) -> ast.expr:
        """What keeps a value until all that is read beside it has been."""
        if scalar:
            return self.hoisted(value, wanted)
        local = self.free(wanted)
        target = ast.Name(local, ast.Store())
        self.update.append(ast.Assign([target], value, lineno=0))
        return name(local)

    def _new_state(self, state: ast.expr) -> dict[str, ast.expr]:
        if isinstance(state, ast.IfExp):
            one, other = (self._new_state(s) for s in (state.body, state.orelse))
            either = {
                k: ast.IfExp(state.test, one[k], v)
                for k, v in other.items()
                if k in one
            }
            return {**other, **one, **either}
        if isinstance(state, ast.Call):
            title = ast.unparse(state.func).rpartition(".")[2]
            if title == "_replace" or not title[:1].isupper():
                return {str(k.arg): k.value for k in state.keywords}
            places = fields_of(self.translator, title) or self.states.places
            found = dict(zip(places, state.args, strict=False))
            return {**found, **{str(k.arg): k.value for k in state.keywords}}
        if isinstance(state, ast.Dict):
            return {
                str(literal(k)): v
                for k, v in zip(state.keys, state.values, strict=True)
                if k is not None
            }
        if isinstance(state, ast.Tuple):
            return dict(zip(self.states.places, state.elts, strict=False))
        if (
            isinstance(state, ast.Name)
            and state.id == self.state
            and state.id not in self.leaves
        ):
            return {}
        return {"": state} if not is_none(state) else {}


def _one_by_one(targets: list[str], value: ast.expr) -> list[ast.expr]:
    """The values, where they may be bound one after the other: none reads a name that is bound before it."""
    parts = value.elts if isinstance(value, ast.Tuple) else []
    if len(parts) != len(targets):
        return []
    read = (names(part) & {*targets[:i]} for i, part in enumerate(parts))
    return [] if any(read) else parts
