"""Reads bodies in the order in which they run: declares layers where they are called, and follows shapes."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.bodies.asserting import Asserting
from mlax_scaffold.conversion.bodies.choosing import as_branches
from mlax_scaffold.conversion.declarations.declaring import is_initializer
from mlax_scaffold.conversion.declarations.inline_weights import is_variable
from mlax_scaffold.conversion.declarations.parted_inputs import PartedInputs, ends
from mlax_scaffold.conversion.declarations.pointwise_functions import pointwise
from mlax_scaffold.conversion.declarations.reading import Environment
from mlax_scaffold.conversion.forms.boolean_sums import is_truth
from mlax_scaffold.conversion.shapes.chosen_sizes import (
    compares_sizes,
    literal_test,
    one_number,
    says_equal,
)
from mlax_scaffold.conversion.shapes.signatures import Signature
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Filled,
    Module,
    Number,
    Several,
    Shape,
    Value,
    under_one_name,
)
from mlax_scaffold.conversion.source.requirements import plain_text
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    name,
    names,
    negated,
    self_attribute,
    statement,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class Bodies(Asserting):
    """One class's methods."""

    def run(self, method: ast.FunctionDef, inputs: Environment) -> Value:
        """Read a method with these inputs; its body is changed in place. The result."""
        saved, self.env = self.env, dict(inputs)
        outer, self.returned = self.returned, []
        self.depth += 1
        waiting, self.steps = self.steps, {}
        method.body = self.statements(method.body)
        for title in list(self.steps):
            self.stepped(title, [])
        self.steps = waiting
        self.depth -= 1
        found = [r for r in self.returned if r is not None]
        self.env, self.returned = saved, outer
        return self._one_of(found) if found else None

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements in order."""
        found: list[ast.stmt] = []
        for node in body:
            for part in self._uncomprehended(node):
                found += self._statement(part)
        return found

    def _fills(self, node: ast.expr, given: Value = None) -> None:
        """A list of the body that becomes longer has no length that is known."""
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id=local),
                    attr="append" | "extend" | "insert" as attr,
                ),
            ):
                before = self.env.get(local)
                straight = self.loop is None and not self.conditions
                if isinstance(before, Several) and straight and attr == "append":
                    self.env[local] = Several([*before.items, given])
                    return
                self.filled.add(local)
                self.env[local] = None
                known = self.appended.pop(local, None)
                if attr != "append" or given is None:
                    return
                if self.loop is not None:
                    first = before.items if isinstance(before, Several) else None
                    self.appended[local] = Filled(cloned(self.loop), given, first)
                elif known is not None and straight:
                    known.after.append(given)
                    self.appended[local] = known

    def _expression(self, node: ast.Expr) -> list[ast.stmt]:
        """A statement that is a call, such as one that appends to a list."""
        match node.value:
            case (
                ast.Call(
                    func=ast.Attribute(value=ast.Name(), attr="append"), args=[given]
                ) as call
            ):
                call.args[0], value = self.value(given)
                self._fills(call, value)
                return [node]
        node.value, _ = self.value(node.value)
        self._fills(node.value)
        return [node]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[target]):
                return self._assign(node, target)
            case ast.Assign(targets=[*several]):
                node.value, value = self.value(node.value)
                for target in several:
                    self.bind(target, value)
                return [node]
            case ast.Assert():
                text = plain_text(node.msg or node.test, node.test)
                told = self._of_hyperparameters(node.test)
                test = self._asserted(node.test)
                if told is not None:
                    call = ast.Call(name("@word:require"), [told, text], [])
                    required = ast.copy_location(ast.Expr(call), node)
                    self.builder.setup.insert(0, required)
                    return []
                call = ast.Call(name("@word:require"), [test, text], [])
                return [ast.copy_location(ast.Expr(call), node)]
            case ast.AugAssign(target=ast.Attribute() as place) if self_attribute(
                place
            ):
                read = ast.Attribute(place.value, place.attr, ast.Load())
                value = ast.BinOp(read, node.op, node.value)
                assign = ast.Assign([place], value, lineno=node.lineno)
                return self._assign(ast.copy_location(assign, node), place)
            case ast.AugAssign(target=ast.Name(id=local) as place) if (
                local in self.variables
            ):
                value = ast.BinOp(name(local), node.op, node.value)
                assign = ast.Assign([place], value, lineno=node.lineno)
                return self._assign(ast.copy_location(assign, node), place)
            case ast.AugAssign(target=ast.Name(id=local)):
                node.value, value = self.value(node.value)
                before = self.env.get(local)
                made = self.arrays.binary(node.op, before, value)
                if isinstance(before, Number) and isinstance(value, Number):
                    # In a loop each pass gives it another one.
                    size = ast.BinOp(before.value, node.op, value.value)
                    made = Number(folded(size)) if self.loop is None else None
                self.env[local] = made
                return [node]
            case ast.Return(value=ast.expr() as value):
                node.value, made = self.value(value)
                self.returned.append(made)
                if len(self.conditions) == 1:
                    self.under[id(made)] = self.conditions[0]
                return [node]
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="@call:set_state"), args=args)
            ):
                target = ast.Attribute(name("self"), str(literal(args[0])), ast.Store())
                assign = ast.Assign([target], args[1], lineno=node.lineno)
                return self._assign(ast.copy_location(assign, node), target)
            case ast.Expr():
                return self._expression(node)
            case ast.If() if (demanded := self._demanded(node)) is not None:
                return self._statement(ast.copy_location(demanded, node))
            case ast.If():
                return self._if(node)
            case ast.For():
                return self._for(node)
            case ast.FunctionDef():
                self.steps[node.name] = node
                return [node]
            case ast.ClassDef():
                return [node]
            case ast.With():
                node.body = self.statements(node.body)
                return [node]
        for child, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, child, self.value(value)[0])
        return [node]

    def _assign(self, node: ast.Assign, target: ast.expr) -> list[ast.stmt]:
        makes = is_initializer(node.value) or self._makes_initializer(node.value)
        if isinstance(target, ast.Name) and self._chooses_layer(node.value):
            return self._if(as_branches(node, target))
        if isinstance(target, ast.Name) and makes:
            self.makers[target.id] = self.static(node.value)
            return []
        if isinstance(target, ast.Name) and pointwise(node.value):
            self.pointwise.add(target.id)
            return [node]
        if isinstance(target, ast.Name):
            self.pointwise.discard(target.id)
            truth = is_truth(node.value, self.truths)
            (self.truths.add if truth else self.truths.discard)(target.id)
            self.tuples.pop(target.id, None)
            if isinstance(node.value, ast.Tuple):
                self.tuples[target.id] = cloned(node.value)
        if isinstance(target, ast.Name) and self._is_declaration(node.value):
            attribute = self._declare(node.value, target.id)
            self.env[target.id] = Module(attribute)
            return []
        variable = is_variable(node.value) and isinstance(target, ast.Name)
        node.value, value = self.value(node.value)
        state = self_attribute(node.value) if variable else None
        if state is not None:
            self.variables[ast.unparse(target)] = state
            return []
        target = self._place(target)
        node.targets = [target]
        self.bind(target, value)
        self.as_it_begins(target, value)
        if isinstance(value, Module) and isinstance(target, ast.Name):
            return []
        return [node]

    def _place(self, target: ast.expr) -> ast.expr:
        """Where a value goes: into a state, where a local stands for one."""
        if isinstance(target, ast.Tuple):
            return ast.Tuple([self._place(t) for t in target.elts], ast.Store())
        state = self.variables.get(target.id) if isinstance(target, ast.Name) else None
        if state is None:
            return target
        return ast.Attribute(name("self"), state, ast.Store())

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = under_one_name(value)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = self._parts(target, value)
            for one, part in zip(target.elts, parts, strict=True):
                self.bind(one, part)

    def _parts(self, target: ast.Tuple | ast.List, value: Value) -> list[Value]:
        count = len(target.elts)
        starred = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
        if isinstance(value, Shape) and not starred and value.start is None:
            array = value.array
            hints = [
                e.id.lower() if isinstance(e, ast.Name) else "_" for e in target.elts
            ]
            if value.stop is None:
                self.symbols.ranked(array, hints)
            if len(array.axes) >= count and not array.lead:
                return [Number(a) for a in array.axes[:count]]
        if isinstance(value, Shape) and starred == [0] and value.start is None:
            ends = [self.symbols.axis(value.array, -i) for i in range(1, count)]
            told = [Number(e) if e is not None else None for e in reversed(ends)]
            return [None, *told]
        if isinstance(value, Shape) and (value.start, value.stop) == (-count, None):
            # `n, d = x.shape[-2:]`
            last = [self.symbols.axis(value.array, -i) for i in range(count, 0, -1)]
            return [Number(a) if a is not None else None for a in last]
        if isinstance(value, Several) and len(value.items) == count:
            return value.items
        if isinstance(value, Array) and not value.lead and not starred:
            # Its elements along the first axis.
            first = literal(self.symbols.find(value.axes[0])) if value.axes else None
            if first == count:
                rest = value.axes[1:]
                return [Array([*rest], False, value.kind) for _ in range(count)]
        if isinstance(value, Number) and self_attribute(value.value) is not None:
            # `height, width = self.resolution`
            places = map(ast.Constant, range(count))
            return [Number(expression("a[i]", a=value.value, i=i)) for i in places]
        match value:
            case Shape(array=array, start=None, stop=stop) if stop == count:
                array.first = 0 if starred else count
        if (
            isinstance(value, Shape)
            and value.start is not None
            and not value.array.lead
        ):
            axes = value.array.axes[value.start : value.stop]
            if len(axes) == count:
                return [Number(a) for a in axes]
        return [None] * count

    def _if(self, node: ast.If) -> list[ast.stmt]:
        told = literal_test(node.test, self.builder.setup)
        if told is not None:
            return self.statements(node.body if told else node.orelse)
        if self._for_ranks(node):
            return [node]
        before = dict(self.env)
        condition = self._condition(node.test)
        in_setup = condition or self._told_in_setup(node.test)
        alike = says_equal(condition) or (
            says_equal(node.test) and ".shape" in ast.unparse(node.test)
        )
        known = len(self.symbols.assumed)
        self.symbols.assumed += self._assumed_alike(node.test)
        node.test, _ = self.value(node.test)
        parted, start = None, len(self.returned)
        exclusive = ends(node.body) and ends(node.orelse)
        if exclusive and condition is not None and not compares_sizes(condition):
            parted = PartedInputs(before, node, condition)
            self.env |= parted.first
        self.conditions.append(condition or ast.Constant(None))
        makers = dict(self.makers)
        node.body = self.statements(node.body) or [ast.Pass()]
        del self.symbols.assumed[known:]
        self.conditions.pop()
        first, self.env = self.env, dict(before)
        chosen, self.makers = self.makers, dict(makers)
        middle = len(self.returned)
        if parted is not None:
            self.env |= parted.second
        self.conditions.append(negated(condition) if condition else ast.Constant(None))
        node.orelse = self.statements(node.orelse)
        self.conditions.pop()
        self._choose_makers(node, condition, chosen)
        if parted is not None:
            made = self.returned[start:middle], self.returned[middle:]
            self.returned[start:] = parted.settled(self.symbols, *made)
        self._given_alike(node.test, first)
        returns = bool(node.body) and isinstance(node.body[-1], ast.Return | ast.Raise)
        for local, value in first.items():
            other = self.env.get(local)
            if not returns and isinstance(value, Number) and isinstance(other, Number):
                if not ends(node.orelse):
                    other = one_number(in_setup, value, other)
                    self.env[local] = other
                else:
                    self.env[local] = value
            elif not returns and isinstance(value or other, Number):
                # What a branch leaves open is not told.
                self.env[local] = None if local in self.env else value
            elif value is None and isinstance(before.get(local), Array) and not returns:
                # It is not told, but for an input that is not given.
                absent = ast.unparse(node.test) == f"{local} is None"
                self.env[local] = before[local] if absent else None
            elif alike and other is not before.get(local):
                # Where the sizes are the same it has these, too.
                continue
            elif value is not None and not returns:
                self.env[local] = self._after_branches(condition, value, other)
        return [node]

    def _told_in_setup(self, test: ast.expr) -> ast.expr | None:
        """A condition on what a loop goes over, as it is to stand in setup; None for others."""
        made = self.static(cloned(test))
        bound = set(targets(self.loop.target)) if self.loop is not None else set()
        free = {n for n in names(made) - {"self"} if not n.startswith("@")}
        read = {self_attribute(part) for part in walk(made)} - {None}
        known = free <= bound and read <= {*self.builder.fields}
        calls = any(isinstance(part, ast.Call) for part in walk(made))
        return made if known and not calls else None


__all__ = ["Bodies", "Signature", "statement"]
