"""`setup` becomes the body of `init`: each declaration creates what it declares, with a key of its own."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Declaration, Kind, MethodRole, Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.hoist import arguments_text, keyword_text
from mlax_scaffold.rewrite.nodes import (
    Renamer,
    code,
    expression,
    fresh,
    is_loose,
    missing_comments,
    operand,
    self_attribute,
    statement,
    with_comments,
)
from mlax_scaffold.rewrite.optimizer import beside

_KEYED = (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER)


def keyed(context: Context) -> list[Declaration]:
    """The declarations that have a key, in order."""
    return [d for d in context.definition.declarations if d.role in _KEYED]


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    function = cst.ensure_type(function.visit(_Setup(context)), cst.FunctionDef)
    if context.method.role is MethodRole.SETUP_TREE:
        trees = Renamer({"params": "trainables"})
        function = cst.ensure_type(function.visit(trees), cst.FunctionDef)
    return function


class _Setup(cst.CSTTransformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        names = [d.name for d in keyed(context)]
        self.keys = {
            name: "key" if len(names) == 1 else f"keys[{i}]"
            for i, name in enumerate(names)
        }

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.RemovalSentinel:
        match original_node.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=target)])]:
                pass
            case [cst.AnnAssign(target=target)]:
                pass
            case _:
                return updated_node
        name = self_attribute(target)
        if name is None:
            return updated_node
        declaration = self.context.declarations[name]
        assign = updated_node.body[0]
        assert isinstance(assign, cst.Assign | cst.AnnAssign)
        assert assign.value is not None
        text = self._text(declaration, assign.value)
        trailing = updated_node.trailing_whitespace
        if _is_doc(trailing.comment):
            trailing = cst.TrailingWhitespace()
        new = statement(text).with_changes(
            leading_lines=[
                line for line in updated_node.leading_lines if not _is_doc(line.comment)
            ],
            trailing_whitespace=trailing,
        )
        lost = missing_comments(updated_node, [new])
        return with_comments(new, [c for c in lost if not c.startswith("#:")])

    def _text(self, declaration: Declaration, value: cst.BaseExpression) -> str:
        name = declaration.name
        if self.context.definition.kind is Kind.OPTIMIZER:
            return f"{name} = {self._kept(declaration, value)}"
        if declaration.role is Role.DERIVED:
            return f"{name} = {code(value)}"
        if declaration.several:
            return self._several(declaration, cst.ensure_type(value, cst.ListComp))
        condition = ""
        if declaration.optional:
            assert isinstance(value, cst.IfExp)
            condition = f" if {operand(value.test)} else "
            value = value.body
        call = cst.ensure_type(value, cst.Call)
        if declaration.role is Role.SUB_LAYER:
            return self._sub_layer(declaration, call, condition)
        given = {a.keyword.value: code(a.value) for a in call.args if a.keyword}
        first, *rest = [a.value for a in call.args if not a.keyword]
        initializer, shape, *dtype = map(code, (first, *rest))
        if is_loose(first):
            initializer = f"({initializer})"
        if "dtype" in given:
            dtype.append(given["dtype"])
        if declaration.role is Role.TRAINABLE:
            argument = f"{name}_initializer"
            depends = self.context.definition.depends(declaration)
            initializer = f"{argument} or {initializer}" if depends else argument
        chosen = dtype[0] if dtype and dtype[0] != "None" else "dtype"
        if declaration.dtype and self._may_be_none(declaration.dtype):
            chosen = f"{chosen} or dtype"
        if "at_least" in given:
            chosen = f"arrays.at_least(dtype, {given['at_least']})"
        made = f"arrays.create({initializer}, {self.keys[name]}, {shape}, {chosen})"
        return f"{name} = {made}{condition and condition + 'None'}"

    def _may_be_none(self, dtype: str) -> bool:
        """Whether a dtype is a hyperparameter without which it is that of the weights."""
        fields = self.context.definition.hyperparameters
        return any(h.type.optional and dtype == f"self.{h.name}" for h in fields)

    def _kept(self, declaration: Declaration, value: cst.BaseExpression) -> str:
        """What an optimizer keeps for a weight, or for all."""
        condition = ""
        if declaration.optional:
            assert isinstance(value, cst.IfExp)
            condition = f" if {operand(value.test)} else None"
            value = value.body
        arguments = cst.ensure_type(value, cst.Call).args
        first, *rest = [code(a.value) for a in arguments]
        if declaration.value:
            chosen = rest[0] if rest else "None"
            return f"placement.copied({first}, {chosen}){condition}"
        shape, *dtype = rest
        chosen = dtype[0] if dtype else "None"
        if declaration.role is Role.STATE:
            given = f"{first}, {shape}, {chosen}, {beside(self.context.definition)}"
            return f"placement.create_state({given}){condition}"
        return f"placement.create_moment({first}, {shape}, {chosen}, param){condition}"

    def _sub_layer(
        self, declaration: Declaration, call: cst.Call, condition: str
    ) -> str:
        made = self._made(declaration, call, self.keys[declaration.name])
        absent = condition and f"{condition}(None, None, None)"
        return f"{self._targets(declaration)} = {made}{absent}"

    def _several(self, declaration: Declaration, value: cst.ListComp) -> str:
        """A list: every item has a key of its own, split off that of the declaration."""
        call = cst.ensure_type(value.elt, cst.Call)
        target, items = code(value.for_in.target), code(value.for_in.iter)
        if self.context.traits[declaration.name].takes_key:
            own = fresh("own_key", set(self.context.taken))
            bare = isinstance(value.for_in.target, cst.Tuple) and target[0] != "("
            target = f"{own}, {f'({target})' if bare else target}"
            items = f"arrays.keyed({self.keys[declaration.name]}, {items})"
        else:
            own = ""
        made = self._made(declaration, call, own)
        layers = f"arrays.unzip({made} for {target} in {items})"
        return f"{self._targets(declaration)} = {layers}"

    def _made(self, declaration: Declaration, call: cst.Call, key: str) -> str:
        assert declaration.reference is not None
        positional, keyword = arguments_text(call.args)
        given = [*positional, *(keyword_text(k, v) for k, v in keyword)]
        if self.context.traits[declaration.name].takes_key:
            given = [key, *given, "dtype=dtype"]
        return f"{declaration.reference.name}.init({', '.join(given)})"

    def _targets(self, declaration: Declaration) -> str:
        name, traits = declaration.name, self.context.traits[declaration.name]
        weights = f"{name}_weights" if traits.trainable else "_"
        state = f"{name}_state" if traits.stateful else "_"
        return f"{weights}, {state}, {name}_hyperparams"

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name is None:
            owner = self_attribute(original_node.value)
            state = original_node.attr.value == "state"
            if state and owner in self.context.sub_optimizers:
                return expression(f"{owner}_state")
            return updated_node
        whole = self.context.method.role is MethodRole.SETUP_TREE
        if whole and name in self.context.fields("Mask"):
            return expression(f"trees.selected({name}, trainables)")
        method = self.context.definition.method(name)
        return expression(name if method is None else f"hyperparams.{name}")


def _is_doc(comment: cst.Comment | None) -> bool:
    """Whether a comment documents a declaration: it goes to the docstring of a field."""
    return comment is not None and comment.value.startswith("#:")
