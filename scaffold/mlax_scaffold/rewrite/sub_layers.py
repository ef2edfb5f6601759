"""`self.query(x)` becomes a call of the sub-layer's `fwd`, in a statement that threads its state.

A call of another method of the class, `self.encode(x)`, becomes a call of that function likewise.
"""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from mlax_scaffold.model.definition import MethodRole
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.rewrite.chains import Chain, attribute_at, called_member, traits_at
from mlax_scaffold.rewrite.closures import STATE, takes, value_text
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import (
    Hoister,
    arguments_text,
    arranged,
    handed_text,
    keyword_text,
    layer_call,
    packed,
)
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
    with_prelude,
)
from mlax_scaffold.rewrite.order import read_before, with_plain_sums
from mlax_scaffold.rewrite.repeats import cast_once, casts_all, dtype_of, used_again
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    called = context.sub_layers or context.containers or context.several
    if not called and not context.needs and not context.marks:
        return function
    function = cst.ensure_type(function.visit(_Values(context)), cst.FunctionDef)
    function = cst.ensure_type(function.visit(_Pure(context)), cst.FunctionDef)
    function = with_plain_sums(function, context)
    taken = local_names(function) | context.taken
    # Each state is written back at once, so that its name can serve again.
    states: dict[str, str] = {}

    def wanted(call: cst.Call) -> str | None:
        if takes(call, STATE):
            return "result"
        name = self_attribute(call.func)
        if name is not None and name in context.needs:
            return name.lstrip("_")
        if name in context.sub_layers:
            return name
        member = called_member(call, context)
        return None if member is None else f"{member.name}_output"

    def emit(call: cst.Call, target: str) -> list[str]:
        if takes(call, STATE):
            text = code(call).replace(STATE, "non_trainables")
            return [f"{target}, non_trainables = {text}"]
        name = self_attribute(call.func) or ""
        if member := called_member(call, context):
            return _member_call(context, member, call, target, taken)
        if name in context.needs:
            return [f"{target}, non_trainables = {_own_call(context, name, call)}"]
        if name not in states:
            states[name] = fresh(f"{name}_state", taken)
        return _threaded_call(context, name, call, target, states[name])

    def inline(call: cst.Call) -> str:
        if member := called_member(call, context):
            [text] = _member_call(context, member, call, "_", taken)
            return f"{text.removeprefix('_, _ = ')}[0]"
        [text] = _threaded_call(
            context, self_attribute(call.func) or "", call, "_", "_"
        )
        return f"{text.removeprefix('_, _ = ')}[0]"

    result = "result" if "y" in context.globals else "y"
    reads = read_before(function, context)
    hoister = Hoister(wanted, emit, taken, inline, result, reads)
    function = cst.ensure_type(function.visit(hoister), cst.FunctionDef)
    whole = casts_all(context)
    again = [*context.sub_layers] if whole else used_again(context)
    raw = _RawLayers(context, again)
    function = cst.ensure_type(function.visit(raw), cst.FunctionDef)
    if not whole:
        return with_prelude(function, cast_once(context, again))
    cast = f"trainables = arrays.cast(trainables, {dtype_of(context)})"
    return with_prelude(function, [cast])


def _member_call(
    context: Context, member: Chain, call: cst.Call, target: str, taken: set[str]
) -> list[str]:
    """`self.layers[i](x)`: the call of what stands at that place."""
    reference, traits = traits_at(member, context)
    known = traits if reference is not None else None
    made = layer_call(call, known)
    key = made.key
    name, place = member.name, member.text
    trees = context.traits[name]
    given = [
        packed(made.positional),
        f"trainables.{name}{place}" if trees.trainable else "None",
        f"non_trainables.{name}{place}" if traits.stateful else "None",
    ]
    if reference is not None:
        given.append(f"hyperparams.{name}{place}")
        called = f"{reference.name}.{made.function}"
        if not traits.trainable:
            given[1] = "None"
    else:
        given.insert(0, f"hyperparams.{name}{place}")
        called = "containers.apply"
    if traits.training or reference is None:
        given.append("inference_mode")
    if key is not None:
        by_place = traits.training or reference is None
        given.append(key if by_place else f"key={key}")
    given += [keyword_text(k, text) for k, text in made.keyword]
    text = f"{called}({', '.join(given)})"
    if not traits.stateful:
        return [f"{target}, _ = {text}"]
    state = fresh(f"{name}_state", taken)
    tree = f"non_trainables.{name}"
    new = f"containers.replaced({tree}, {member.path}, {state})" if place else state
    return [
        f"{target}, {state} = {text}",
        f"non_trainables = non_trainables._replace({name}={new})",
    ]


class _Values(Transformer):
    """Methods and sub-layers as values, as in `jax.vmap(self.score)`: functions that call them."""

    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        self.called: set[cst.CSTNode] = set()

    def visit_Call(self, node: cst.Call) -> None:
        self.called.add(node.func)
        if code(node.func) == "isinstance":
            self.called |= {argument.value for argument in node.args}

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self.called.add(node.value)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self.called.add(node.left)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node) or ""
        if original_node in self.called:
            return updated_node
        if name in self.context.dynamic:
            return updated_node
        text = value_text(self.context, name)
        return expression(text) if text else updated_node


class _Pure(Transformer):
    """Calls of methods of the class that change no state: expressions."""

    def __init__(self, context: Context):
        super().__init__()
        self.context = context

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        name = self_attribute(updated_node.func) or ""
        needs = self.context.needs.get(name)
        apart = needs is not None and needs.apart and dtype_of(self.context)
        if needs is None or (needs.changes and not apart):
            return updated_node
        return expression(_own_call(self.context, name, updated_node))


def _own_call(context: Context, name: str, call: cst.Call) -> str:
    """A call of another method of the class: a function that is given what it uses."""
    needs = context.needs[name]
    method = context.definition.method(name)
    assert method is not None
    positional, keyword = arguments_text(call.args)
    key = "None"
    if needs.draws:
        _, key = keyword.pop()
    if method.role is MethodRole.OWN:
        # Parameters make way for the names of generated code.
        keyword = [(f"{k}_" if k in RESERVED else k, text) for k, text in keyword]
    else:
        names, others = (
            [i.name for i in g] for g in (method.positional, method.keyword)
        )
        positional, keyword = arranged(names, others, positional, keyword)
    inputs = [keyword_text(k, text) for k, text in keyword]
    if method.role is MethodRole.ENTRY:
        dtype = dtype_of(context) if needs.apart else None
        trees = [
            tree if dtype is None else f"arrays.cast({tree}, {dtype})"
            for tree in ("trainables", "non_trainables")
        ]
        given = [
            packed(positional),
            trees[0] if needs.trainables else "None",
            trees[1] if needs.non_trainables else "None",
            "hyperparams",
            *(["inference_mode"] if needs.training else []),
            *([key if needs.training else f"key={key}"] if needs.draws else []),
        ]
        called = (
            f"{'fwd' if name == 'forward' else name}({', '.join([*given, *inputs])})"
        )
        return called if needs.changes and dtype is None else f"{called}[0]"
    taken = {
        "trainables": needs.trainables,
        "non_trainables": needs.non_trainables,
        "hyperparams": needs.hyperparams,
        "inference_mode": needs.training,
        key: needs.draws,
        context.compute_dtype or "None": needs.dtype,
    }
    given = [f"self.{name}" for name in (*needs.weights, *needs.states)]
    given += [text for text, wanted in taken.items() if wanted]
    return f"{name}({', '.join([*given, *positional, *inputs])})"


def _threaded_call(
    context: Context, name: str, call: cst.Call, target: str, state: str
) -> list[str]:
    traits = context.traits.get(name)
    made = layer_call(call, traits)
    key = made.key
    inputs = [keyword_text(k, text) for k, text in made.keyword]
    if traits is None:
        layer = f"hyperparams.{name}"
        inputs = [text for text in inputs if text.startswith("**")]
        inputs += filter(
            None, [handed_text(context.definition.name, layer, made.keyword)]
        )
        given = [
            packed(made.positional),
            f"trainables.{name}",
            f"non_trainables.{name}",
            "inference_mode",
            key or "None",
            *inputs,
        ]
        called, stateful = f"{layer}.apply", True
    else:
        reference = context.declarations[name].reference
        assert reference is not None
        given = [
            packed(made.positional),
            f"trainables.{name}" if traits.trainable else "None",
            f"non_trainables.{name}" if traits.stateful else "None",
            f"hyperparams.{name}",
        ]
        if traits.training:
            given.append("inference_mode")
        if key is not None:
            given.append(key if traits.training else f"key={key}")
        given += inputs
        called, stateful = f"{reference.name}.{made.function}", traits.stateful
    if not stateful:
        return [f"{target}, _ = {called}({', '.join(given)})"]
    return [
        f"{target}, {state} = {called}({', '.join(given)})",
        f"non_trainables = non_trainables._replace({name}={state})",
    ]


class _RawLayers(Transformer):
    """`self.layer.apply(...)`, `self.layer.trainables` and `self.layer.non_trainables` of a block."""

    def __init__(self, context: Context, cast: Collection[str]):
        super().__init__()
        self.context = context
        self.cast = cast
        """Sub-layers whose weights are in the compute dtype already."""

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        match updated_node.func:
            case cst.Attribute(value=owner, attr=cst.Name("apply")) if (
                self_attribute(owner) in self.context.dynamic
            ):
                arguments = list(updated_node.args)
                mode = cst.Arg(expression("inference_mode"))
                return updated_node.with_changes(
                    args=[*arguments[:3], mode, *arguments[3:]]
                )
        return updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(updated_node.value)
        tree = updated_node.attr.value
        if name in self.context.dynamic and tree in ("trainables", "non_trainables"):
            return expression(f"{tree}.{name}")
        chain, read = attribute_at(original_node) or (None, "")
        if chain is None or chain.indices or chain.name not in self.context.sub_layers:
            return updated_node
        known = chain.name in self.context.traits
        return (known and self._array(chain.name, read)) or updated_node

    def _array(self, layer: str, name: str) -> cst.BaseExpression | None:
        """A weight or a state of a sub-layer, in the compute dtype of this one."""
        traits, dtype = self.context.traits[layer], self.context.compute_dtype
        tree = "trainables" if name in traits.weights else "non_trainables"
        if name not in traits.weights | traits.states:
            return None
        array = f"{tree}.{layer}.{name}"
        cast = tree == "trainables" and layer in self.cast
        if cast or dtype is None:
            return expression(array)
        return expression(f"arrays.cast({array}, {dtype})")
