"""`for layer in self.layers` becomes a loop that threads each layer's state.

The same for optimizers: `for transformation in self.transformations`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import libcst as cst

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.rewrite.chains import called_given
from mlax_scaffold.rewrite.closures import STATE, takes
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import Hoister
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
from mlax_scaffold.rewrite.threads import LayerThread, OptimizerThread, Thread
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
        thread = LayerThread(name, layer, index, states, called, None, owner)
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

        def thread_of(call: cst.Call) -> Thread | None:
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
        apart = self._uses_again(original_node.body, {field for field, _ in fields})
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
            held = {t: f"state.{t.field}" if apart else t.states for t in loop}
            own_states = _States({t.variable: f"{held[t]}[{t.index}]" for t in loop})
            body = cst.ensure_type(body, cst.IndentedBlock).visit(own_states)
        target, iterated = updated_node.target, updated_node.iter
        if not (own or part) and (key or any(thread.indexed for thread in loop)):
            target = _enumerated_target(index, target)
            iterated = expression(f"enumerate({code(iterated)})")
        after = ", ".join(t.after for t in once if t.after and not apart)
        statements: list[cst.BaseStatement] = [
            *map(statement, before),
            updated_node.with_changes(
                target=target, iter=iterated, body=body, leading_lines=[]
            ),
        ]
        if after:
            tree = self.context.states
            statements.append(statement(f"{tree} = {tree}._replace({after})"))
        first = statements[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([first, *statements[1:]])

    def _uses_again(self, body: cst.BaseSuite, fields: Collection[str]) -> bool:
        """Whether a loop calls what may use the same layers: methods, functions, and loops in it."""
        changing = {n for n, needs in self.context.needs.items() if needs.changes}
        for node in parts(body):
            if isinstance(node, cst.Call) and (
                self_attribute(node.func) in changing or takes(node, STATE)
            ):
                return True
            if isinstance(node, cst.For | cst.CompFor) and any(
                field in fields for _, field in looped(unkeyed(node)[0])
            ):
                return True
        return False

    @property
    def _optimizes(self) -> bool:
        return self.context.definition.kind is Kind.OPTIMIZER

    def _counted(self, fields: Sequence[tuple[str, str]]) -> str:
        """The field whose layers are counted: the first one that draws."""
        drawing = [f for f, _ in fields if self.context.draws(f)]
        return (*drawing, *(f for f, _ in fields))[0]

    def _layer(self, field: str, variable: str, index: str, states: str) -> Thread:
        """What a loop does for one of the fields that it runs over."""
        if self._optimizes:
            return OptimizerThread(field, variable, index, states)
        declared = self.context.several
        traits = self.context.traits[field] if field in declared else None
        called = "scopes.apply_at"
        if traits is not None:
            reference = self.context.declarations[field].reference
            assert reference is not None
            called = f"{reference.name}.fwd"
        owner = self.context.definition.name
        return LayerThread(field, variable, index, states, called, traits, owner)


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


def _enumerated_target(index: str, target: cst.BaseAssignTargetExpression):
    inner = code(target)
    if isinstance(target, cst.Tuple) and not target.lpar:
        inner = f"({inner})"
    return expression(f"{index}, {inner}")
