"""`for layer in self.layers` becomes a loop that threads each layer's state.

The same for optimizers: `for transformation in self.transformations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.model.library import Traits
from mlax_scaffold.rewrite.chains import called_given
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import (
    Hoister,
    arguments_text,
    handed_text,
    keyword_text,
    layer_call,
    packed,
)
from mlax_scaffold.rewrite.looping import backwards, looped, sliced, unkeyed
from mlax_scaffold.rewrite.nodes import (
    bound_names,
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
    statement,
)
from mlax_scaffold.rewrite.traversal import Transformer, parts


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.sequences:
        return function
    taken = local_names(function) | context.taken
    function = cst.ensure_type(function.visit(_Loops(context, taken)), cst.FunctionDef)
    return _indexed(function, context, taken)


def _indexed(
    function: cst.FunctionDef, context: Context, taken: set[str]
) -> cst.FunctionDef:
    """`self.layers[0](x)`, of layers that a block is given."""
    owner = context.definition.name

    def wanted(call: cst.Call) -> str | None:
        chain = called_given(call, context)
        return None if chain is None else f"{chain.name}_output"

    def emit(call: cst.Call, target: str) -> list[str]:
        chain = called_given(call, context)
        assert chain is not None
        index, name = code(chain.indices[0]), chain.name
        states = fresh(f"{name}_states", taken)
        layer, called = f"self.{name}[{index}]", "scopes.apply_at"
        thread = _Layers(name, layer, index, states, called, None, owner)
        return thread.stored([thread.call(call, target)])

    hoister = Hoister(wanted, emit, taken)
    return cst.ensure_type(function.visit(hoister), cst.FunctionDef)


class _Loops(Transformer):
    def __init__(self, context: Context, taken: set[str]):
        super().__init__()
        self.context = context
        self.taken = taken

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        bare, key, of_pass = unkeyed(updated_node)
        fields = [(f, v) for v, f in looped(bare) if f in self.context.sequences]
        if not fields:
            return updated_node
        updated_node, part = bare, sliced(bare)
        index, own = _own_index(bare), True
        if part:
            several = len(fields) > 1
            indices = {
                v: fresh(f"{v}_index" if several else "i", self.taken)
                for _, v in fields
            }
            updated_node = _numbered(bare, fields, indices, key, of_pass)
        else:
            if not index or index in bound_names(bare.body):
                index, own = fresh("i", self.taken), False
            turned = backwards(bare)
            indices = {v: f"-1 - {index}" if v in turned else index for _, v in fields}
        states: dict[str, str] = {}
        for field, v in fields:
            name = "states" if len(dict(fields)) == 1 else f"{v}_states"
            states[field] = states.get(field) or fresh(name, self.taken)
        loop = [self._layer(f, v, indices[v], states[f]) for f, v in fields]
        threads = {thread.variable: thread for thread in loop}

        def thread_of(call: cst.Call) -> _Thread | None:
            """Of the layer of a pass, or of another one of the same field."""
            chain = called_given(call, self.context)
            if chain is not None and chain.name in states:
                index = code(chain.indices[0])
                layer = f"self.{chain.name}[{index}]"
                return self._layer(chain.name, layer, index, states[chain.name])
            return threads.get(code(call.func))

        def wanted(call: cst.Call) -> str | None:
            thread = thread_of(call)
            if thread is None:
                return None
            own = thread.variable in threads
            return f"{thread.variable if own else thread.field}_output"

        def emit(call: cst.Call, target: str) -> list[str]:
            thread = thread_of(call)
            assert thread is not None
            line = thread.call(call, target)
            return thread.stored([line]) if apart else [line]

        def inline(call: cst.Call) -> str:
            text = threads[code(call.func)].call(call, "_")
            return f"{text.removeprefix('_, _ = ')}[0]"

        once = {thread.field: thread for thread in loop}.values()
        # A method that the loop calls may use the same layers.
        apart = self._calls_methods(updated_node.body)
        before = [line for thread in once for line in thread.before if not apart]
        body = updated_node.body
        if key and not part:
            keys = fresh(f"{of_pass}s", self.taken)
            count = f"len(self.{self._counted(fields)})"
            before.append(f"{keys} = arrays.split_keys({key}, {count})")
            replaced = _Replaced(of_pass, f"{keys}[{index}]")
            body = cst.ensure_type(body.visit(replaced), cst.IndentedBlock)
        body = body.visit(Hoister(wanted, emit, self.taken, inline))
        if self._optimizes:
            own_states = _States({t.variable: f"{t.states}[{t.index}]" for t in loop})
            body = cst.ensure_type(body, cst.IndentedBlock).visit(own_states)
        target, iterated = updated_node.target, updated_node.iter
        if not (own or part) and (key or any(thread.indexed for thread in loop)):
            target = _enumerated_target(index, target)
            iterated = expression(f"enumerate({code(iterated)})")
        after = ", ".join(t.after for t in once if t.after and not apart)
        tree = "state" if self._optimizes else "non_trainables"
        statements: list[cst.BaseStatement] = [
            *map(statement, before),
            updated_node.with_changes(
                target=target, iter=iterated, body=body, leading_lines=[]
            ),
        ]
        if after:
            statements.append(statement(f"{tree} = {tree}._replace({after})"))
        first = statements[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([first, *statements[1:]])

    def _calls_methods(self, body: cst.BaseSuite) -> bool:
        """Whether a loop calls methods of the class that change states."""
        if self._optimizes:
            return False
        changing = {n for n, needs in self.context.needs.items() if needs.changes}
        calls = (n for n in parts(body) if isinstance(n, cst.Call))
        return any(self_attribute(call.func) in changing for call in calls)

    @property
    def _optimizes(self) -> bool:
        return self.context.definition.kind is Kind.OPTIMIZER

    def _counted(self, fields: Sequence[tuple[str, str]]) -> str:
        """The field whose layers are counted: the first one that draws."""
        drawing = [f for f, _ in fields if self.context.draws(f)]
        return (*drawing, *(f for f, _ in fields))[0]

    def _layer(self, field: str, variable: str, index: str, states: str) -> _Thread:
        """What a loop does for one of the fields that it runs over."""
        if self._optimizes:
            return _Optimizers(field, variable, index, states)
        declared = self.context.several
        traits = self.context.traits[field] if field in declared else None
        called = "scopes.apply_at"
        if traits is not None:
            reference = self.context.declarations[field].reference
            assert reference is not None
            called = f"{reference.name}.fwd"
        owner = self.context.definition.name
        return _Layers(field, variable, index, states, called, traits, owner)


class _States(Transformer):
    """`transformation.state`, of the variable of a loop: the state of this turn."""

    def __init__(self, states: dict[str, str]):
        super().__init__()
        self.states = states

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        match updated_node:
            case cst.Attribute(value=cst.Name(value=name), attr=cst.Name("state")):
                if name in self.states:
                    return expression(self.states[name])
        return updated_node


@dataclass(frozen=True)
class _Thread:
    """How the states of one field go through a loop: what stands before and after, and each call."""

    field: str
    variable: str
    index: str
    states: str

    @property
    def indexed(self) -> bool:
        """Whether a call needs to know which turn it is."""
        return True

    @property
    def before(self) -> list[str]:
        return [f"{self.states} = list(state.{self.field})"]

    @property
    def after(self) -> str:
        """The argument of `_replace` that stores the states."""
        return f"{self.field}=tuple({self.states})"

    def stored(self, calls: list[str]) -> list[str]:
        """Calls that begin with the states as they are, and leave them as they become."""
        if not self.after:
            return calls
        after = f"non_trainables = non_trainables._replace({self.after})"
        return [*self.before, *calls, after]

    def call(self, call: cst.Call, target: str) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class _Optimizers(_Thread):
    """Initialized optimizers."""

    def call(self, call: cst.Call, target: str) -> str:
        (gradients, *rest), [(_, key)] = arguments_text(call.args)
        state = f"{self.states}[{self.index}]"
        inputs = inputs_of_step(key)
        given = ", ".join([gradients, state, *rest, *inputs])
        place = f"{self.index}, {self.variable}"
        return f"{target}, {state} = scopes.apply_at({place}, {given})"


@dataclass(frozen=True)
class _Layers(_Thread):
    """Layers: initialized ones, of which nothing is known, or a declared list of them."""

    called: str
    traits: Traits | None
    owner: str

    @property
    def indexed(self) -> bool:
        t = self.traits
        return t is None or t.trainable or t.stateful

    @property
    def before(self) -> list[str]:
        lines = []
        if self.traits is None:
            trees, count = f"non_trainables.{self.field}", f"len(self.{self.field})"
            lines.append(f"{self.states} = arrays.each({trees}, {count})")
        elif self.traits.stateful:
            lines.append(f"{self.states} = list(non_trainables.{self.field})")
        return lines

    @property
    def after(self) -> str:
        if self.traits is None:
            return f"{self.field}=arrays.together({self.states})"
        return super().after if self.traits.stateful else ""

    def call(self, call: cst.Call, target: str) -> str:
        made = layer_call(call, self.traits)
        positional, keyword, key = made.positional, made.keyword, made.key
        t, turn = self.traits, f"[{self.index}]"
        stateful = t is None or t.stateful
        state = f"{self.states}{turn}" if stateful else "None"
        weights = f"trainables.{self.field}{turn}"
        given = [self.index, self.variable] if t is None else []
        given.append(packed(positional))
        given.append(weights if t is None or t.trainable else "None")
        given.append(state)
        if t is not None:
            given.append(self.variable)
        if t is None or t.training:
            given.append("inference_mode")
        if key is not None:
            named = "" if t is None or t.training else "key="
            given.append(f"{named}{key}")
        for name, text in keyword:
            if name == "**":
                given.append(f"**arrays.taken({self.variable}, {text})")
            elif t is not None:
                given.append(keyword_text(name, text))
        if t is None and (handed := handed_text(self.owner, self.variable, keyword)):
            given.append(handed)
        new = state if stateful else "_"
        return f"{target}, {new} = {self.called}({', '.join(given)})"


def _own_index(loop: cst.For) -> str:
    """The variable of a loop that already counts its passes from zero; empty where there is none."""
    match loop:
        case cst.For(
            target=cst.Tuple(elements=[cst.Element(value=cst.Name(value=name)), _]),
            iter=cst.Call(func=cst.Name("enumerate"), args=[_]),
        ):
            return name
    return ""


def _numbered(
    loop: cst.For,
    fields: Sequence[tuple[str, str]],
    indices: dict[str, str],
    key: str,
    of_pass: str,
) -> cst.For:
    """A loop over parts of some fields, each layer with its number among all of its field.

    Its key, where it has one, is split among its passes.
    """
    target: Any = loop.target
    iterated: Any = loop.iter
    for _, variable in fields:
        pair = f"({indices[variable]}, {variable})"
        target = target.visit(_Replaced(variable, pair))
    for field in dict(fields):
        iterated = iterated.visit(_Enumerated(field))
    made, over = code(target), code(iterated)
    if key:
        made, over = f"{of_pass}, {made}", f"arrays.keyed({key}, {over})"
    elif isinstance(loop.target, cst.Name):
        made = made.removeprefix("(").removesuffix(")")
    whole: Any = expression(made)
    return loop.with_changes(target=whole, iter=expression(over))


class _Enumerated(Transformer):
    """`self.layers` becomes a list of its layers with their numbers."""

    def __init__(self, field: str):
        super().__init__()
        self.field = field

    def visit_Call(self, node: cst.Call) -> bool:
        # Their number stays what it is.
        return code(node.func) != "len"

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(updated_node) != self.field:
            return updated_node
        return expression(f"list(enumerate(self.{self.field}))")


class _Replaced(Transformer):
    """A name becomes an expression."""

    def __init__(self, name: str, text: str):
        super().__init__()
        self.name = name
        self.text = text

    def leave_Name(
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        return (
            expression(self.text) if updated_node.value == self.name else updated_node
        )


def inputs_of_step(key: str, **others: str) -> tuple[str, ...]:
    """The keyword arguments that an optimizer hands to another one: its own, or others."""
    given = {"value": "value", "value_and_gradients": "value_and_gradients", "key": key}
    return tuple(f"{name}={text}" for name, text in (given | others).items())


def _enumerated_target(index: str, target: cst.BaseAssignTargetExpression):
    inner = code(target)
    if isinstance(target, cst.Tuple) and not target.lpar:
        inner = f"({inner})"
    return expression(f"{index}, {inner}")
