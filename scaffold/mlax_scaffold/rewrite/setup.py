"""`setup` becomes the body of `init`: each declaration creates what it declares, with a key of its own."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Declaration, Kind, MethodRole, Role
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.rewrite import members
from mlax_scaffold.rewrite.chains import attribute_at
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.frozen import read_later
from mlax_scaffold.rewrite.hoist import arguments_text, keyword_text
from mlax_scaffold.rewrite.looping import generators
from mlax_scaffold.rewrite.members import keys_of
from mlax_scaffold.rewrite.nodes import (
    Renamer,
    code,
    expression,
    fresh,
    is_loose,
    local_names,
    missing_comments,
    operand,
    self_attribute,
    statement,
    with_comments,
    with_prelude,
)
from mlax_scaffold.rewrite.optimizer import beside
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    function = members.rewrite(function, context)
    setup = _Setup(context, read_later(function, context))
    before = [
        f"{setup._targets(d)} = {setup._nothing(d)}"
        for d in context.definition.declarations
        if d.absent
    ]
    function = cst.ensure_type(function.visit(setup), cst.FunctionDef)
    function = with_prelude(function, before)
    if context.method.role is MethodRole.SETUP_TREE:
        trees = Renamer({"params": "trainables"})
        function = cst.ensure_type(function.visit(trees), cst.FunctionDef)
    return function


class _Setup(Transformer):
    def __init__(self, context: Context, read_later: frozenset[str]):
        super().__init__()
        self.context = context
        self.read_later = read_later
        self.keys = keys_of(context)

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> (
        cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel
    ):
        match original_node.body:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=target)],
                    value=cst.Name(value=same),
                )
            ] if self_attribute(target) == same:
                # Such a local is that attribute: `locals` has renamed all others.
                return cst.RemoveFromParent()
            case [cst.Assign(targets=[cst.AssignTarget(target=target)])]:
                pass
            case [cst.AnnAssign(target=target)]:
                pass
            case _:
                return updated_node
        name = self_attribute(target)
        if name is None or name not in self.context.declarations:
            return updated_node
        declaration = self.context.declarations[name]
        if declaration.members:
            return updated_node
        assign = updated_node.body[0]
        assert isinstance(assign, cst.Assign | cst.AnnAssign)
        assert assign.value is not None
        text = self._text(declaration, assign.value)
        trailing = updated_node.trailing_whitespace
        if _is_doc(trailing.comment):
            trailing = cst.TrailingWhitespace()
        before = self._keys_of(declaration, assign.value)
        new = statement(text).with_changes(
            leading_lines=[
                line for line in updated_node.leading_lines if not _is_doc(line.comment)
            ],
            trailing_whitespace=trailing,
        )
        lost = missing_comments(updated_node, [new])
        new = with_comments(new, [c for c in lost if not c.startswith("#:")])
        return cst.FlattenSentinel([*map(statement, before), new]) if before else new

    def _text(self, declaration: Declaration, value: cst.BaseExpression) -> str:
        name = declaration.name
        if declaration.role is Role.OPTIMIZER:
            return f"{name}_state, {name}_hyperparams = {code(value)}"
        if self.context.definition.kind is Kind.OPTIMIZER:
            return f"{name} = {self._kept(declaration, value)}"
        if declaration.role is Role.DERIVED:
            text = code(value)
            if name in self.read_later:
                text = f"arrays.frozen({text})"
            return f"{name} = {text}"
        if code(value) == "None":
            return f"{self._targets(declaration)} = {self._nothing(declaration)}"
        if declaration.several:
            if isinstance(value, cst.List):
                return self._listed(declaration, value)
            return self._several(declaration, cst.ensure_type(value, cst.ListComp))
        condition = ""
        if isinstance(value, cst.IfExp):
            test, made = value.test, value.body
            condition = f" if {operand(test)} else "
            if code(made) == "None":
                made = value.orelse
                condition = f" if not ({code(test)}) else "
            value = made
        call = cst.ensure_type(value, cst.Call)
        if declaration.role is Role.SUB_LAYER:
            return self._sub_layer(declaration, call, condition)
        given = {a.keyword.value: code(a.value) for a in call.args if a.keyword}
        first, *rest = [a.value for a in call.args if not a.keyword]
        first = with_default(first)
        initializer, shape, *dtype = map(code, (first, *rest))
        if is_loose(first):
            initializer = f"({initializer})"
        if "dtype" in given:
            dtype.append(given["dtype"])
        if declaration.role is Role.TRAINABLE:
            argument = f"{name}_initializer"
            depends = self.context.definition.depends(declaration)
            depends = depends or declaration.branches > 1
            initializer = f"{argument} or {initializer}" if depends else argument
        chosen = dtype[0] if dtype and dtype[0] != "None" else "dtype"
        if declaration.dtype and self._may_be_none(declaration.dtype):
            chosen = f"{chosen} or dtype"
        if declaration.is_complex:
            chosen = "arrays.complex_dtype(dtype)"
        if "at_least" in given:
            chosen = f"arrays.at_least(dtype, {given['at_least']})"
        made = f"arrays.create({initializer}, {self.keys[name]}, {shape}, {chosen})"
        return f"{name} = {made}{condition and condition + 'None'}"

    def _may_be_none(self, dtype: Expression) -> bool:
        """Whether a dtype is a hyperparameter without which it is that of the weights."""
        fields = self.context.definition.hyperparameters
        return any(h.type.optional and dtype.attribute == h.name for h in fields)

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
            return f"{members.created_moment(first, None, *rest)}{condition}"
        shape, *dtype = rest
        if declaration.role is Role.STATE:
            chosen = dtype[0] if dtype else "None"
            given = f"{first}, {shape}, {chosen}, {beside(self.context.definition)}"
            return f"placement.create_state({given}){condition}"
        return f"{members.created_moment(first, shape, *dtype)}{condition}"

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
        bare = isinstance(value.for_in.target, cst.Tuple) and target[0] != "("
        if value.for_in.ifs or value.for_in.inner_for_in:
            # What several `for`s run over is known before keys are split.
            used = local_names(call)
            levels = generators(value)
            names = [n for x in levels for n in sorted(local_names(x.target) & used)]
            target = (
                f"({', '.join(names)},)" if len(names) > 1 else "".join(names) or "_"
            )
            passes = cst.Module([]).code_for_node(value.for_in).strip()
            items, bare = f"[{target if names else 'None'} {passes}]", False
        if self.context.traits[declaration.name].keyed:
            own = fresh("own_key", set(self.context.taken))
            target = f"{own}, {f'({target})' if bare else target}"
            items = f"arrays.keyed({self.keys[declaration.name]}, {items})"
        else:
            own = ""
        made = self._made(declaration, call, own)
        layers = f"arrays.unzip({made} for {target} in {items})"
        return f"{self._targets(declaration)} = {layers}"

    def _listed(self, declaration: Declaration, value: cst.List) -> str:
        """A list that is written down: every item has a key of its own likewise."""
        name = declaration.name
        calls = [cst.ensure_type(e.value, cst.Call) for e in value.elements]
        made = [
            self._made(declaration, call, f"{name}_keys[{i}]")
            for i, call in enumerate(calls)
        ]
        layers = f"{self._targets(declaration)} = arrays.unzip([{', '.join(made)}])"
        return layers

    def _keys_of(
        self, declaration: Declaration, value: cst.BaseExpression
    ) -> list[str]:
        """The statement before a list that is written down, which splits its keys."""
        name = declaration.name
        if not (declaration.several and isinstance(value, cst.List)):
            return []
        if not self.context.traits[name].keyed:
            return []
        split = f"arrays.declared_keys({self.keys[name]}, {len(value.elements)})"
        return [f"{name}_keys = {split}"]

    def _made(self, declaration: Declaration, call: cst.Call, key: str) -> str:
        assert declaration.reference is not None
        positional, keyword = arguments_text(call.args)
        given = [*positional, *(keyword_text(k, v) for k, v in keyword)]
        if self.context.traits[declaration.name].keyed:
            given = [key, *given, "dtype=dtype"]
        return f"{declaration.reference.name}.init({', '.join(given)})"

    def _nothing(self, declaration: Declaration) -> str:
        """What stands where a declaration is not made."""
        sub_layer = declaration.role is Role.SUB_LAYER
        return "None, None, None" if sub_layer else "None"

    def _targets(self, declaration: Declaration) -> str:
        if declaration.role is not Role.SUB_LAYER:
            return declaration.name
        name, traits = declaration.name, self.context.traits[declaration.name]
        weights = f"{name}_weights" if traits.trainable else "_"
        state = f"{name}_state" if traits.stateful else "_"
        return f"{weights}, {state}, {name}_hyperparams"

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        name = code(updated_node.func)
        if self._begins_anew(original_node.func):
            # Made of arrays of other shapes, perhaps, which lie anywhere.
            return expression(f"placement.adopted({code(updated_node)}, trainables)")
        if name not in self.context.optimizers:
            return updated_node
        weights = [cst.Arg(cst.Name("params"))] * self.context.optimizers[name]
        init = expression(f"{name}.init")
        return updated_node.with_changes(func=init, args=[*weights, *updated_node.args])

    def _begins_anew(self, function: cst.BaseExpression) -> bool:
        """Whether a call makes the first state of an optimizer that is given."""
        if not isinstance(function, cst.Attribute):
            return False
        owner = self_attribute(function.value)
        begins = function.attr.value == "initial_state"
        return begins and owner in self.context.sub_optimizers

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(original_node)
        if name is None:
            owner = self_attribute(original_node.value)
            state = original_node.attr.value == "state"
            if state and owner in self.context.sub_optimizers:
                return expression(f"{owner}_state")
            return self._shape(original_node) or updated_node
        whole = self.context.method.role is MethodRole.SETUP_TREE
        if whole and name in self.context.fields("mask"):
            of_each = self.context.definition.word(name).of_each
            return expression(f"trees.{of_each}({name}, trainables)")
        if name in dict(self.context.definition.constants):
            return expression(f"{self.context.definition.name}Hyperparams.{name}")
        if name in self.context.fields("layer") | self.context.fields("layers"):
            return expression(f"{name}_hyperparams")
        if self._is_layer(name) or name in self.context.fields("optimizer"):
            return expression(f"{name}_hyperparams")
        method = self.context.definition.method(name)
        return expression(name if method is None else f"hyperparams.{name}")

    def _shape(self, node: cst.Attribute) -> cst.BaseExpression | None:
        """`self.layer.kernel.shape`, which is there as soon as the layer is made."""
        owner = node.value
        if node.attr.value != "shape" or self_attribute(owner) is not None:
            return None
        chain, name = attribute_at(owner) or (None, "")
        if chain is None or chain.indices or not self._is_layer(chain.name):
            return None
        traits = self.context.traits[chain.name]
        for kind, names in (("weights", traits.weights), ("state", traits.states)):
            if name in names:
                return expression(f"{chain.name}_{kind}.{name}.shape")
        return None

    def _is_layer(self, name: str) -> bool:
        """Whether it is a layer of a declaration of its own, whose hyperparameters are read."""
        declared = self.context.declarations.get(name)
        return (
            declared is not None
            and declared.role is Role.SUB_LAYER
            and not (declared.members or declared.several)
        )


def with_default(initializer: cst.BaseExpression) -> cst.BaseExpression:
    """An initializer whose dtype may be left out: it is called with one only where one is asked for."""
    if not isinstance(initializer, cst.Lambda):
        return initializer
    params = initializer.params
    *others, dtype = params.params
    if dtype.default is None:
        dtype = dtype.with_changes(
            default=cst.Name("float"), equal=cst.MaybeSentinel.DEFAULT
        )
    return initializer.with_changes(params=params.with_changes(params=[*others, dtype]))


def _is_doc(comment: cst.Comment | None) -> bool:
    """Whether a comment documents a declaration: it goes to the docstring of a field."""
    return comment is not None and comment.value.startswith("#:")
