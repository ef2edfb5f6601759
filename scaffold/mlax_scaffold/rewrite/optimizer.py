"""The methods of an optimizer: `update` becomes a function of one leaf, the others statements of `step`."""

from __future__ import annotations

import ast

import libcst as cst

from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.reader.branches import assigns
from mlax_scaffold.reader.source import parsed
from mlax_scaffold.reader.source import self_attribute as read_of_self
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.keys import PREPARE_KEY
from mlax_scaffold.rewrite.nodes import (
    OuterTransformer,
    Renamer,
    augmented,
    code,
    element,
    expression,
    self_attribute,
    with_prelude,
)
from mlax_scaffold.rewrite.presence import compared_with_none
from mlax_scaffold.rewrite.returns import Returns

INPUTS = frozenset(("value", "value_and_gradients", "key", "keys", PREPARE_KEY))
"""Names of the inputs of the generated `step`, and of what is split off them."""

OF_THE_NUMBER = ("step", "step_number", "dither")
"""What follows from the number of steps, which the state holds."""

NEXT = "trees.incremented(state.step)"
"""The number of the step that is taken."""

_TREES = {"grads": "gradients", "params": "trainables"}


def scalars(definition: Definition) -> tuple[str, ...]:
    """The attributes that are one number for all leaves, and a local of `step`, in order."""
    prepare = definition.method("prepare")
    fields = {d.name for d in definition.declared(Role.STATE, Role.MOMENT)}
    assigned = prepare.assigns if prepare else ()
    coefficients = (name for name in assigned if name not in fields)
    return (*definition.holding("scheduled"), *OF_THE_NUMBER, *coefficients)


def counts(definition: Definition) -> bool:
    """Whether the state holds the number of steps."""
    reads = {name for m in definition.methods for name in m.reads}
    return bool(reads & {*OF_THE_NUMBER} or definition.holding("scheduled"))


def beside(definition: Definition) -> str:
    """What the states of `init` lie with: the weights, or else the states of optimizers."""
    if definition.takes_weights:
        return "trainables"
    states = [f"{h.name}_state" for h in definition.structural()]
    return states[0] if len(states) == 1 else f"({', '.join(states)})"


def tree(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """Statements of `step` over the whole trees: those of `prepare` and `finish`.

    A number that one branch alone sets is None in the other one.
    """
    made = cst.ensure_type(function.visit(_Tree(context)), cst.FunctionDef)
    [node] = parsed(code(function)).body
    body = node.body if isinstance(node, ast.FunctionDef) else []
    # Of what a loop sets, its passes say whether it is set.
    loops = [n for n in ast.walk(node) if isinstance(n, ast.For | ast.While)]
    known = {_stored(part) for loop in loops for part in ast.walk(loop)}
    known |= {name for name in context.method.assigns if assigns(body, name)}
    numbers = [n for n in context.method.assigns if n in scalars(context.definition)]
    unset = [name for name in numbers if name not in known]
    return with_prelude(made, [f"{name} = None" for name in unset])


def step(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The body of `step`, which returns the updates and the new state."""
    function = tree(function, context)
    state = f"state._replace(step={NEXT})" if counts(context.definition) else "state"
    return cst.ensure_type(function.visit(Returns(state)), cst.FunctionDef)


class _Tree(Renamer):
    """Methods over whole trees: moments and states are fields of the state."""

    def __init__(self, context: Context):
        super().__init__(_TREES)
        self.owner = context.definition.name
        self.fields = context.declared(Role.STATE, Role.MOMENT)
        # What is kept for a weight in another shape is no part of where the weight lies.
        self.others = frozenset(
            d.name
            for d in context.definition.declared(Role.MOMENT)
            if d.shape and d.shape.plain != "param.shape" and not d.members
        )
        self.scalars = scalars(context.definition)
        self.masks = {
            name: context.definition.word(name).of_each
            for name in context.fields("mask")
        }

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        return updated_node if name is None else expression(self._read(name))

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        name = compared_with_none(original_node)
        if name not in INPUTS:
            return updated_node
        return updated_node.with_changes(left=cst.Name(name))

    def _read(self, name: str) -> str:
        if name in self.fields:
            return f"state.{name}"
        if name in self.scalars:
            return name
        if name == "value":
            return f"trees.scalar(trees.required({self.owner!r}, value=value))"
        if name in INPUTS:
            return f"trees.required({self.owner!r}, {name}={name})"
        if name in self.masks:
            return f"trees.{self.masks[name]}(hyperparams.{name}, trainables)"
        return f"hyperparams.{name}"

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        name = self_attribute(original_node.targets[0].target)
        if name is None:
            return updated_node
        return self._assigned(name, code(updated_node.value))

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.AnnAssign | cst.Assign:
        name = self_attribute(original_node.target)
        if name is None or updated_node.value is None:
            return updated_node
        return self._assigned(name, code(updated_node.value))

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.AugAssign | cst.Assign:
        name = self_attribute(original_node.target)
        if name is None:
            return updated_node
        return self._assigned(name, augmented(self._read(name), updated_node))

    def _assigned(self, name: str, value: str) -> cst.Assign:
        if name in self.fields:
            beside = ", trainables" if name in self.others else ""
            stored = f"trees.stored({value}, state.{name}{beside})"
            target, value = "state", f"state._replace({name}={stored})"
        else:
            target, value = name, _scalar(expression(value))
        return cst.Assign([cst.AssignTarget(cst.Name(target))], expression(value))


def _stored(node: ast.AST) -> str | None:
    """The attribute of self that is set."""
    is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return read_of_self(node) if is_set else None


def _scalar(value: cst.BaseExpression) -> str:
    """A number of all leaves, which may be None."""
    match value:
        case cst.Name("None"):
            return "None"
        case cst.IfExp(test=test, body=body, orelse=other) if "None" in (
            code(body),
            code(other),
        ):
            return f"{_scalar(body)} if {code(test)} else {_scalar(other)}"
    return f"trees.scalar({code(value)})"


def update(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """The body of the function of one leaf: it returns the update and the new moments."""
    return cst.ensure_type(function.visit(_Update(context)), cst.FunctionDef)


class _Update(OuterTransformer):
    def __init__(self, context: Context):
        super().__init__()
        self.moments = [d.name for d in context.definition.declared(Role.MOMENT)]
        states = context.definition.declared(Role.STATE)
        self.states = {d.name: d.dtype for d in states}
        # What arrives as an argument, in the dtype of the leaf.
        self.given = {*self.moments, *scalars(context.definition)}
        self.given |= context.fields("mask")

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name is None:
            return updated_node
        if name in self.given:
            return expression(name)
        if name in self.states and self.states[name] is None:
            return expression(f"state.{name}.astype(grad.dtype)")
        if name in self.states:
            # One with a dtype of its own may be an integer or a boolean, and stays so.
            return expression(f"arrays.cast(state.{name}, grad.dtype)")
        return expression(f"hyperparams.{name}")

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        """A function that sets moments sets locals of the one that it is in."""
        nested = self.nested
        made = super().leave_FunctionDef(original_node, updated_node)
        stored = {_stored(n) for n in ast.walk(parsed(code(original_node)))}
        names = [name for name in self.moments if nested and name in stored]
        return with_prelude(made, [f"nonlocal {', '.join(names)}"] if names else [])

    def leave_Return(
        self, original_node: cst.Return, updated_node: cst.Return
    ) -> cst.Return:
        if self.nested:
            return updated_node
        assert updated_node.value is not None
        text = element(updated_node.value)
        result = ", ".join([text, *self.moments])
        if not self.moments:
            result = f"({text},)"
        return updated_node.with_changes(value=expression(result))
