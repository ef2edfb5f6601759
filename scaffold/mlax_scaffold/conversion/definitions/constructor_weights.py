"""Weights, states and buffers that a constructor makes."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.changes.changed_buffers import (
    changed_in,
    is_deep,
    rooted,
)
from mlax_scaffold.conversion.declarations.counted_numbers import counted
from mlax_scaffold.conversion.declarations.initial import (
    Initial,
    initial,
    is_complex,
)
from mlax_scaffold.conversion.declarations.initial_functions import drawn_by
from mlax_scaffold.conversion.declarations.inline_weights import (
    begun_variable,
    is_variable,
    typed,
)
from mlax_scaffold.conversion.declarations.lists import Lists
from mlax_scaffold.conversion.declarations.parameters import (
    Parameters,
)
from mlax_scaffold.conversion.declarations.weight_containers import Containers
from mlax_scaffold.conversion.definitions.buffer_dtypes import is_counted_or_true
from mlax_scaffold.conversion.definitions.trained_arrays import (
    counts,
    is_detached,
    is_floating,
    is_static,
    makes_array,
)
from mlax_scaffold.conversion.definitions.waiting_buffers import waits_for_numbers
from mlax_scaffold.conversion.forms.parameter_lists import LISTS, weights_of
from mlax_scaffold.conversion.rows.array_leaves import draws
from mlax_scaffold.conversion.shapes.static_arrays import numpy_of, static_shape
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    marked,
    name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import walk


class DeclaredWeights(Parameters):
    """Declares them."""

    assigned: set[str]
    lists: Lists

    def _contained(self) -> Containers:
        return Containers(self.translator, self.lists.without_keys, self.builder.setup)

    def _is_tensor(self, made: ast.expr) -> bool:
        """Whether an attribute is computed by functions that make arrays, as a buffer of PyTorch is."""
        if self.builder.framework == "equinox":
            setup = self.builder.setup
            return bool(static_shape(setup, made)) and is_floating(made, setup)
        if self.builder.framework != "torch" or isinstance(made, ast.Lambda):
            return False
        called = [p.func for p in walk(made) if isinstance(p, ast.Call)]
        return isinstance(made, ast.BinOp) and any(
            ast.unparse(func).startswith("@module:jnp.") for func in called
        )

    def _buffer(self, node: ast.AST, place: str, value: ast.expr) -> None:
        """A tensor that is not trained: an array of NumPy, or a state where it changes."""
        builder = self.builder
        if is_none(value):
            self.translator.around.attributes[place] = ast.Constant(None)
            return
        filled = waits_for_numbers(self.translator.origin, builder.node, node)
        if place in self.assigned or draws(self.translator.origin, value) or filled:
            made = initial(self.translator, value)
            if made is None:
                builder.notes.refuse(
                    node,
                    f"the shape of the buffer `{place}` is not to be told",
                    f"declare `self.{place} = state(initializer, shape)`",
                )
                return
            given = made.initializer, made.shape
            builder.declare_weight(place, *given, state=True, dtype=made.dtype)
            return
        static = numpy_of(self.translator.expression(value))
        self._without_weights(node, static)
        builder.derive(place, static, "array")
        dtype = f", {builder.calculations.first_input}.dtype"
        kept = _is_index(builder.node, place) or is_counted_or_true(value)
        made = f"jnp.asarray(self.{place}{'' if kept else dtype})"
        if isinstance(value, ast.Name) and self._may_be_none(value.id):
            made = f"None if self.{place} is None else {made}"
        self.translator.around.attributes[place] = expression(
            made, jnp=name("@module:jnp")
        )

    def _without_weights(self, node: ast.AST, made: ast.AST) -> None:
        """Note an array of setup that is computed of weights, which have no numbers there."""
        shapes = {
            id(part.value)
            for part in walk(made)
            if isinstance(part, ast.Attribute) and part.attr in ("shape", "ndim")
        }
        for part in walk(made):
            known = self.builder.attributes.get(self_attribute(part) or "")
            weight = known is not None and known.kind in ("weight", "state")
            deep = is_deep(part) and part.attr in ("weight", "bias", "kernel")  # type: ignore[attr-defined]
            if (weight or deep) and id(part) not in shapes:
                self.builder.notes.refuse(
                    node,
                    f"`{ast.unparse(node)}` is computed of the numbers of a weight",
                    "compute it in the method that reads it, or declare it with `state`",
                )
                return

    def _part_changed(self, node: ast.stmt) -> bool:
        """Whether a statement sets some numbers of a weight, which is told."""
        places = list(node.targets) if isinstance(node, ast.Assign) else []
        places += [node.target] if isinstance(node, ast.AugAssign) else []
        for target in places:
            root = rooted(target)
            known = self.builder.attributes.get(self_attribute(root) or "")
            weight = known is not None and known.kind in ("weight", "state")
            if root is target and not isinstance(node, ast.AugAssign):
                continue
            if weight or is_deep(root):
                self._left_out(node)
                return True
        return False

    def _left_out(self, node: ast.AST) -> None:
        """Tell of numbers that a weight begins with elsewhere, and does not here."""
        self.builder.notes.remark(
            node,
            f"`{ast.unparse(node)}` is left out: the weight begins with other numbers",
            "give the weight an initializer that makes these numbers",
        )

    def _begins_otherwise(self, call: ast.Call) -> bool:
        """Whether a call does nothing but change the numbers that weights begin with, which is told."""
        func, builder = call.func, self.builder
        if isinstance(func, ast.Attribute) and func.attr == "reset_parameters":
            # A part begins so anyway.
            return not is_name(func.value, "self")
        copies = isinstance(func, ast.Attribute) and func.attr == "load_state_dict"
        if copies and ".state_dict()" in "".join(map(ast.unparse, call.args)):
            builder.notes.remark(
                call,
                f"`{ast.unparse(call)}` is left out: these weights begin with numbers of their own",
                "copy the weights of the other part after `init`",
            )
            return True
        of_self = bool(call.args) and is_name(call.args[0], "self")
        known = getattr(func, "id", "") in builder.origin.functions
        quiet = ("apply", "post_init", "save_hyperparameters")
        if self_attribute(func) in quiet or (of_self and known):
            builder.notes.remark(
                call,
                f"`{ast.unparse(call)}` is left out",
                "weights begin as their declarations say: give them initializers there",
            )
            return True
        return False

    def _is_weight(self, value: ast.expr) -> bool:
        """Whether an expression makes a weight of its own: `nn.Parameter(...)`, of no other layer's."""
        made = isinstance(value, ast.Call) and self.builder.origin.qualified(value.func)
        return bool(made) and str(made).endswith(".Parameter")

    def _fills_weight(self, call: ast.Call) -> bool:
        """Whether a call does nothing but fill a weight, `self.fc.bias.data.copy_(...)`, which is told."""
        full = self.builder.origin.qualified(call.func)
        if full.startswith("torch.nn.init.") and call.args and is_deep(call.args[0]):
            self._left_out(call)
            return True
        found = changed_in(call)
        if not found or not isinstance(call.func, ast.Attribute):
            return False
        inner: ast.AST = call.func.value
        if isinstance(inner, ast.Call):
            return False
        root = rooted(inner)
        known = self.builder.attributes.get(self_attribute(root) or "")
        weight = known is not None and known.kind in ("weight", "state")
        if found != [root] or not (weight or is_deep(root)):
            return False
        self._left_out(call)
        return True

    def _may_be_none(self, local: str) -> bool:
        """Whether a local of the constructor is None in one of its branches."""
        return any(
            isinstance(part, ast.Assign)
            and is_none(part.value)
            and any(is_name(t, local) for t in part.targets)
            for node in self.builder.setup
            for part in walk(node)
        )

    def _weight(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        builder = self.builder
        full = (
            self.translator.origin.qualified(value.func)
            if isinstance(value, ast.Call)
            else ""
        )
        wrapped = full in _PARAMETERS or full in _VARIABLES
        state = full in _VARIABLES
        inner = value
        if builder.framework == "flax" and is_variable(value):
            assert isinstance(value, ast.Call)
            wrapped = state = True
            inner = begun_variable(value)
        elif wrapped and isinstance(value, ast.Call):
            keywords = {k.arg: k.value for k in value.keywords}
            inner = value.args[0] if value.args else keywords.get("data", value)
            trained = keywords.get("requires_grad")
            if full in _TRAINED and len(value.args) > 1:
                trained = value.args[1]
            if trained is not None and not isinstance(literal(trained), bool):
                builder.notes.refuse(
                    node,
                    f"whether `{attribute}` is trained depends on `{ast.unparse(trained)}`",
                    "write one spec with `trainable`, and another with `state`",
                )
            state = state or (trained is not None and literal(trained) is False)
        elif self._param(node, attribute, value, condition):
            return True
        elif full in LISTS:
            wrapped = False
        elif builder.framework in ("torch", "nnx", "flax", "haiku") or (
            builder.framework == "equinox" and is_static(builder.node, attribute)
        ):
            drawn = draws(self.translator.origin, value)
            if not drawn and not self._is_changed_number(attribute, value):
                return False
            wrapped = state = drawn
        listed = isinstance(value, ast.Call) and weights_of(builder.origin, value)
        held = None if wrapped else self._contained().declared(listed or inner)
        if held is not None and condition is None:
            declaration, builder.containers[attribute] = held
            builder.derive(attribute, declaration, "container")
            return True
        made = initial(self.translator, inner)
        if made is None and attribute in self.assigned:
            made = self._counted(inner)
        trained = wrapped or self._is_trained(attribute, inner)
        if made is None and trained and condition is None:
            made = self._of_values(attribute, inner)
        if made is None:
            if wrapped:
                builder.notes.refuse(
                    node,
                    f"`{ast.unparse(value)}` is a weight whose initializer is not to be told",
                    f"write `self.{attribute} = trainable(initializer, shape)`",
                )
            return wrapped
        if builder.framework == "equinox" and not wrapped:
            whole = counts(inner) and not is_floating(inner, builder.setup)
            whole = whole or made.dtype is not None
            if whole and attribute not in self.assigned:
                # Whole numbers and truths are trained nowhere.
                return False
            state = is_detached(builder.origin, builder.node, attribute)
        if not wrapped and attribute in self.assigned:
            state = True
        dtype = made.dtype if state or is_complex(made.dtype) else None
        builder.declare_weight(
            attribute,
            made.initializer,
            made.shape,
            state=state,
            condition=condition,
            dtype=dtype,
        )
        return True

    def _is_trained(self, attribute: str, value: ast.expr) -> bool:
        """Whether an array that is wrapped in nothing is a weight: it is in equinox."""
        builder = self.builder
        return (
            builder.framework == "equinox"
            and not is_static(builder.node, attribute)
            and is_floating(value, builder.setup)
            and any(makes_array(builder.origin, part) for part in walk(value))
        )

    def _varies(self, attribute: str, value: ast.expr) -> bool:
        """Whether calls change an attribute of a class that no library keeps states for."""
        plain = self.builder.framework == "plain" and attribute in self.assigned
        return plain or self._is_changed_number(attribute, value)

    def _is_changed_number(self, attribute: str, value: ast.expr) -> bool:
        """Whether calls of a module of PyTorch change an attribute that begins as a number."""
        return (
            self.builder.framework == "torch"
            and attribute in self.assigned
            and (isinstance(value, ast.Name) or not isinstance(literal(value), ast.AST))
            and self._counted(value) is not None
        )

    def _counted(self, value: ast.expr) -> Initial | None:
        """What a number begins as that calls change: `self.count = 0`."""
        return counted(self.translator.expression(value), self.builder.fields)

    def _of_values(self, attribute: str, value: ast.expr) -> Initial | None:
        """What begins as an array that setup computes of hyperparameters, as NumPy does."""
        builder, before = self.builder, len(self.builder.notes.found)
        if draws(self.translator.origin, value) or drawn_by(self.translator, value):
            return None
        computed = numpy_of(self.translator.expression(value))
        for part in walk(computed):
            if is_name(part, "@module:math"):
                # PyTorch has these functions of arrays alone.
                part.id = "@module:np"  # type: ignore[attr-defined]
        if any(note.blocks for note in builder.notes.found[before:]):
            return None
        local = computed.id if isinstance(computed, ast.Name) else ""
        if not any(local in targets(part) for part in builder.setup):
            local = builder.free(f"initial_{attribute}")
            stored = ast.Assign([ast.Name(local, ast.Store())], computed, lineno=0)
            builder.setup.append(stored)
        given = [ast.arg("key"), ast.arg("shape"), ast.arg("dtype")]
        parameters = ast.arguments([], given, None, [], [], None, [])
        filled = marked("jnp.asarray(v, dtype)", v=ast.Name(local, ast.Load()))
        shape = expression(f"{local}.shape")
        return Initial(ast.Lambda(parameters, filled), shape)

    def _param(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether a value is `self.param(name, initializer, shape)` of linen, in `setup`."""
        if not isinstance(value, ast.Call) or self.builder.framework != "flax":
            return False
        if self_attribute(value.func) != "param" or len(value.args) < 2:
            return False
        made = self._of_lambda(attribute, value) if condition is None else None
        if made is not None:
            self.builder.declare_weight(attribute, made.initializer, made.shape)
            return True
        shape = value.args[2] if len(value.args) > 2 else ast.Tuple([], ast.Load())
        given, shape = map(self.translator.expression, (value.args[1], shape))
        if not isinstance(shape, ast.Tuple) and isinstance(literal(shape), int):
            shape = ast.Tuple([shape], ast.Load())
        self.builder.declare_weight(attribute, typed(given), shape, condition=condition)
        return True

    def _of_lambda(self, attribute: str, call: ast.Call) -> Initial | None:
        """What `self.param(name, lambda key: values)` begins as, where nothing is drawn."""
        match call.args:
            case [_, ast.Lambda(args=ast.arguments(args=[key]), body=body)]:
                if key.arg not in names(body):
                    made = initial(self.translator, body)
                    for part in self.builder.setup if made is None else ():
                        if isinstance(part, ast.Assign) and {*targets(part)} & names(
                            body
                        ):
                            part.value = numpy_of(part.value)
                    return made or self._of_values(attribute, body)
        return None


_TRAINED = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
"""Weights that may be told not to be trained, in the second place."""

_PARAMETERS = ("torch.nn.Parameter", "flax.nnx.Param", "torch.nn.parameter.Parameter")


_VARIABLES = (
    *(
        "flax.nnx.Variable",
        "flax.nnx.BatchStat",
        "flax.nnx.Cache",
        "flax.nnx.Intermediate",
    ),
    *("equinox.nn.StateIndex", "torch.nn.Buffer"),
)


def _is_index(node: ast.AST, attribute: str) -> bool:
    """Whether an attribute is an index of something."""
    return any(
        self_attribute(inner) == attribute
        for part in walk(node)
        if isinstance(part, ast.Subscript)
        for inner in walk(part.slice)
        if isinstance(inner, ast.Attribute)
    )
