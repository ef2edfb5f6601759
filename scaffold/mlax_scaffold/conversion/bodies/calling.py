"""Expressions of bodies: calls of layers, and what is known of values."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.bodies.comprehended_layers import (
    listed_layers,
    without_keys,
)
from mlax_scaffold.conversion.bodies.helping import Helping
from mlax_scaffold.conversion.declarations.inner_layers import (
    shape_of_weight,
    weight_of_layer,
)
from mlax_scaffold.conversion.declarations.recurrences import states_given
from mlax_scaffold.conversion.forms.boolean_sums import of_numbers
from mlax_scaffold.conversion.shapes.chosen_sizes import number_of
from mlax_scaffold.conversion.shapes.field_rows import row_of_field
from mlax_scaffold.conversion.shapes.filled_rows import UNTOLD, row_of
from mlax_scaffold.conversion.shapes.helper_dtypes import (
    WHOLE,
    WIDE,
    casts_to,
    float_named,
)
from mlax_scaffold.conversion.shapes.indexed_inputs import pair_indices
from mlax_scaffold.conversion.shapes.places import names_of
from mlax_scaffold.conversion.shapes.slice_lengths import tell_bound
from mlax_scaffold.conversion.shapes.static_arrays import (
    array_of,
    static_shape,
)
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Each,
    Loop,
    Module,
    Number,
    Several,
    Shape,
    Value,
)
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_layer,
    literal,
    name,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import CHAINED
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


class Calling(Helping):
    """Values of expressions."""

    def value(self, node: ast.expr) -> tuple[ast.expr, Value]:
        """The expression with its layers declared, and what is known of its value."""
        match node:
            case ast.Name(id=local) if local in self.variables:
                return self.value(expression(f"self.{self.variables[local]}"))
            case ast.Name(id=local):
                value = self.env.get(local)
                if isinstance(value, Module):
                    return expression(f"self.{value.attribute}"), value
                count = getattr(node, "rank", 0)
                if count and isinstance(value, Array) and value.lead:
                    self.symbols.ranked(value, names_of(count))
                return node, value
            case ast.Constant(value=int() | float()):
                return node, Number(node)
            case ast.Call():
                return self._called(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                sides, (left, right) = self._beside([node.left, node.right])
                node.left, node.right = sides
                if isinstance(left, Number) and isinstance(right, Number):
                    return node, Number(ast.BinOp(left.value, node.op, right.value))
                self._of_one_example(left, right)
                return node, self.arrays.binary(node.op, left, right)
            case ast.UnaryOp():
                node.operand, value = self.value(node.operand)
                if isinstance(value, Number):
                    return node, Number(ast.UnaryOp(node.op, value.value))
                return node, value
            case ast.Tuple() | ast.List():
                made = [self.value(e) for e in node.elts]
                node.elts = [m for m, _ in made]
                return node, Several([v for _, v in made])
            case ast.Subscript():
                local = node.value.id if isinstance(node.value, ast.Name) else ""
                node.value, value = self.value(node.value)
                node.slice, index = self.value(node.slice)
                if value is None and local in self.appended:
                    return node, self.filled_item(local, literal(node.slice))
                pair_indices(self.symbols, value, node.slice, index)
                weight = self._is_weight(node.value)
                named = isinstance(node.slice, ast.Name) and isinstance(value, Array)
                if isinstance(index, Array) and (weight or named):
                    # What chooses rows; those of another input mostly one by one.
                    index.kind = "Int"
                    _ = weight or self.symbols.ranked(index, ("items",))
                return node, self.arrays.item(value, node.slice, index)
            case ast.Slice():
                for side in ("lower", "upper", "step"):
                    if (bound := getattr(node, side)) is not None:
                        bound, value = self.value(bound)
                        setattr(node, side, bound)
                        tell_bound(node, side, value)
                return node, None
            case ast.IfExp():
                node.test, _ = self.value(node.test)
                node.body, value = self.side(node.test, node.body, ast.Eq)
                node.orelse, other = self.side(node.test, node.orelse, ast.NotEq)
                trains = "self.training" in ast.unparse(node.test)
                if (
                    isinstance(value, Number)
                    and isinstance(other, Number)
                    and not trains
                ):
                    test = self.static(node.test)
                    return node, Number(ast.IfExp(test, value.value, other.value))
                if isinstance(value, Several) and isinstance(other, Several):
                    return node, self.either(node.test, value, other)
                if isinstance(value, Array) and isinstance(other, Array):
                    return node, self.either_array(node.test, value, other)
                return node, value if value is not None else other
            case ast.BoolOp(op=ast.Or(), values=[_, _]):
                made = [self.value(v) for v in node.values]
                node.values = [m for m, _ in made]
                numbers = [v.value for _, v in made if isinstance(v, Number)]
                whole = ast.BoolOp(ast.Or(), numbers)
                return node, Number(whole) if len(numbers) == 2 else None
            case ast.Compare():
                node.left, value = self.value(node.left)
                made = [self.value(c) for c in node.comparators]
                node.comparators = [m for m, _ in made]
                for side, other in made:
                    if isinstance(value, Array) and isinstance(other, Array):
                        self._counted_to(node.left, value, side, other)
                        value = self.symbols.together(value, other)
                return node, value if isinstance(value, Array) else None
            case ast.ListComp(elt=elt, generators=[one]) if (
                listed := listed_layers(one, self.builder.attributes)
            )[0]:
                attribute, layer, counter = listed
                # Each is given the same: what one of them takes is known of the input.
                outer, self.env = self.env, dict(self.env)
                numbers = {counter: Number(name(counter))} if counter else {}
                self.env |= {**numbers, layer: Loop(attribute)}
                _, value = self.value(cloned(elt))
                self.env = outer
                each = Each(value, alike=False) if isinstance(value, Array) else None
                return self._inner(node), each
            case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return self._inner(node), self.each_of(node)
            case ast.Starred():
                node.value, value = self.value(node.value)
                return node, value if isinstance(value, Shape) else None
        for child, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(node, child, self.value(part)[0])
            elif isinstance(part, list):
                parts = [
                    self.value(p)[0] if isinstance(p, ast.expr) else p for p in part
                ]
                setattr(node, child, parts)
        return node, None

    def _is_of_vectors(self, layer: str) -> bool:
        """Whether a layer of equinox takes one vector, in a class that maps others over several."""
        vectors = layer in ("@layer:Linear", "@layer:MLP")
        return vectors and self.arrays.examples and not self.arrays.single

    def _of_one(self, result: Value) -> None:
        if isinstance(result, Array) and result.lead and len(result.axes) == 1:
            self.symbols.ranked(result, ("features",))

    def each_of(self, node: ast.expr) -> Value:
        """What a comprehension makes of each array of a list."""
        raise NotImplementedError

    def _in_dtype(
        self, node: ast.Call, array: ast.expr, owner: Array
    ) -> tuple[ast.expr, Value]:
        """`x.astype(jnp.float32)`: what is computed here has the dtype of the input."""
        if owner.kind == "Float":
            return array, owner
        floating = float_named(self.env, self.builder.calculations.first_input)
        if floating is not None:
            node.args = [expression(f"{floating}.dtype")]
        return node, owner.like(owner.axes, "Float")

    def _inner(self, node: ast.expr) -> ast.expr:
        bodies = self
        without_keys(node, self.builder.attributes)

        class Modules(NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                value = bodies.env.get(node.id)
                if isinstance(value, Module):
                    return expression(f"self.{value.attribute}")
                return node

            def visit_Call(self, node: ast.Call) -> ast.expr:
                if isinstance(node.func, ast.Call) and is_layer(node.func):
                    bodies.builder.notes.refuse(
                        node,
                        "a layer is made in each pass of a comprehension",
                        "make the layers in a `for` loop",
                    )
                self.generic_visit(node)
                return node

        return Modules().visit(node)

    def _attribute(self, node: ast.Attribute) -> tuple[ast.expr, Value]:
        attribute = self_attribute(node)
        if attribute is not None:
            known = self.builder.attributes.get(attribute)
            if known is not None and known.kind in ("layer", "layers"):
                return node, Module(attribute)
            if known is not None and known.kind in ("weight", "state") and known.call:
                return node, array_of(known.call.args[1], self.builder.setup)
            if attribute in self.builder.containers:
                return node, self.builder.containers[attribute]
            derived = known and known.kind == "derived"
            if known is not None and known.kind in ("array", "derived"):
                shape = static_shape(self.builder.setup, node)
                if shape is None and (row := row_of(self.builder.setup, node)):
                    shape = [row if row is not UNTOLD else self.symbols.fresh("_")]
                if shape or not derived:
                    return node, Array(shape, False) if shape is not None else None
            if attribute in self.builder.fields or derived:
                return node, Number(number_of(self.builder.setup, node))
            return node, None
        of_layer = weight_of_layer(self.builder, node)
        if of_layer is not None:
            named = of_layer if isinstance(of_layer, ast.Attribute) else node
            return of_layer, shape_of_weight(self.builder, named)
        weight = shape_of_weight(self.builder, node)
        if weight is not None:
            return node, weight
        node.value, value = self.value(node.value)
        if isinstance(value, Array):
            if node.attr == "shape":
                return node, Shape(value)
            if node.attr in ("T", "mT"):
                return node, self.arrays.transposed(value, whole=node.attr == "T")
            if node.attr == "ndim" and not value.lead:
                return node, Number(ast.Constant(len(value.axes)))
        return node, None

    def _called(self, node: ast.Call) -> tuple[ast.expr, Value]:
        func = node.func
        if is_layer(node):
            attribute = self._declare(node, "")
            return expression(f"self.{attribute}"), Module(attribute)
        mapped = self._mapped(func)
        if mapped is not None:
            func = node.func = mapped
        if each := self.of_each(node):
            return each
        if over := self._mapped_own(func):
            return self._applied_over(node, over)
        if isinstance(func, ast.Call) and is_layer(func):
            given = None
            if any(k.arg == CHAINED for k in func.keywords):
                # What stands before it in a sequence is made before it.
                node.args, given = self._arguments(node.args)
            attribute = self._declare(func, "")
            node.func = self._reference(attribute)
            return self._applied(node, attribute, given)
        if isinstance(func, ast.Name):
            if func.id == "len" and (count := self._counted_sequence(node)):
                return count, Number(count)
            known = self.env.get(func.id)
            if isinstance(known, Module | Loop):
                if isinstance(known, Module):
                    node.func = self._reference(known.attribute)
                return self._applied(node, known.attribute)
        match func:
            case ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(attr="at") as place) as part
            ):
                # An array of which a part is set.
                place.value, whole = self.value(place.value)
                part.slice, _ = self.value(part.slice)
                node.args, _ = self._arguments(node.args)
                return node, whole
        attribute = self_attribute(func)
        told = self._of_part(node) or self.weights.called(node, attribute or "")
        if told is not None:
            return told
        declared = self.builder.attributes.get(attribute or "")
        if declared is not None and declared.kind in ("layer", "layers"):
            made, result = self._applied(node, str(attribute))
            if mapped is None and self._is_of_vectors(declared.layer):
                self._of_one(result)
            return made, result
        if isinstance(func, ast.Subscript):
            inner = self_attribute(func.value)
            listed = self.builder.attributes.get(inner or "")
            if listed is not None and listed.call is not None:
                at = literal(func.slice)
                func.slice, _ = self.value(func.slice)
                made, result = self._applied_at(node, str(inner), at)
                return made, result
        recurrent = self.builder.recurrences.get(attribute or "")
        if recurrent:
            node.args = [*node.args[:1], *states_given(node)]
            node.keywords = []
        if ast.unparse(func).endswith(".scan") and len(node.args) > 2:
            self.told_by_cell(node)
        chooses = ast.unparse(func).endswith(".where")
        read = self._beside if chooses else self._arguments
        node.args, given = read(node.args)
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            keyword.value, named[str(keyword.arg)] = self.value(keyword.value)
            mask = named[str(keyword.arg)]
            if keyword.arg == "where" and isinstance(mask, Array):
                mask.kind = "Bool"
        if recurrent is not None:
            return node, recurrent.result(self.symbols, given)
        if isinstance(func, ast.Name) and func.id in self.pointwise:
            return node, given[0] if given else None
        chosen = func.values[0] if isinstance(func, ast.BoolOp) else func
        known = self.builder.fields.get(self_attribute(chosen) or "")
        if known is not None and known.word.startswith("Activation"):
            return node, given[0] if given else None
        method = next((m for m in self.builder.methods if m.name == attribute), None)
        if method is not None and self.depth < 6:
            places = [a.arg for a in method.args.args if a.arg != "self"]
            made = method if method.name not in self.declared else cloned(method)
            self.declared[method.name] = method.name
            return node, self.run(made, dict(zip(places, given, strict=False)) | named)
        joined = self.joined(node)
        if joined is not None:
            return node, joined
        helped = self._helped(node, func, given, named)
        if helped is not None:
            return helped
        numbers = [g.value for g in given if isinstance(g, Number)]
        of_math = ast.unparse(func).rpartition(":")[2].startswith("math.")
        if of_math and len(numbers) == len(given):
            return node, Number(ast.Call(cloned(func), numbers, []))
        last = ast.unparse(func).rpartition(".")[2].rpartition(":")[2]
        if last == "scan" and len(node.args) > 2 and (step := self.step_of(node)):
            return node, self.scanned(step, given[1], given[2])
        match func:
            case ast.Attribute(value=ast.Name(id=local), attr="pop") if (
                isinstance(held := self.env.get(local), Several) and held.items
            ):
                straight = self.loop is None and not self.conditions and not node.args
                self.env[local] = Several(held.items[:-1]) if straight else None
                return node, held.items[-1] if straight else None
            case ast.Attribute(value=ast.Name(id=local), attr="pop") if (
                local in self.appended and not node.args
            ):
                return node, self.popped(local)
        if isinstance(func, ast.Attribute) and attribute is None:
            func.value, owner = self.value(func.value)
            if func.attr == "astype" and owner is None and casts_to(node, WIDE):
                known = self.builder.attributes.get(self_attribute(func.value) or "")
                if known is not None and known.kind == "weight":
                    # One of which nothing tells how large it is has the dtype of the input, too.
                    return func.value, None
            if func.attr == "astype" and isinstance(owner, Array):
                if casts_to(node, WIDE):
                    return self._in_dtype(node, func.value, owner)
                if casts_to(node, WHOLE) and isinstance(func.value, ast.Name):
                    # What is made integers holds such.
                    owner.kind = "Int"
            if isinstance(owner, Array | Shape):
                return node, self.arrays.method(func.attr, owner, node, given)
            if func.attr == "reshape" and all(isinstance(g, Number) for g in given):
                return node, self.arrays.reshaped(Array(), node.args, given)
        if last in ("take_along_axis", "put_along_axis") and len(given) > 1:
            index = given[1]
            if isinstance(index, Array):
                index.of_integers()
                self.arrays.beside(given[0], index, node)
            if last == "put_along_axis":
                return node, given[0]
            return node, self.arrays.chosen_along(given[0], index, node)
        first = self.builder.calculations.first_input
        known = self.env.get(first)
        indices = isinstance(known, Array) and known.kind == "Int"
        node = of_numbers(node, given, first, self.truths, indices=indices)
        fields = self.builder.fields.values()
        several = [f.name for f in fields if f.word in ("Sizes", "tuple[float, ...]")]
        row = row_of_field(node, self.builder.setup, several)
        if row is not None:
            return node, Array([row], False)
        told = self.with_widths(node)
        return node, self.arrays.function(ast.unparse(func), told, given, self)
