"""Functions of the file that bodies call, which stand beside the spec."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.bodies.applying import Applying, axes_mapped
from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.shapes.helper_dtypes import (
    float_named,
    is_given_arrays,
    makes_floats,
    with_dtype,
)
from mlax_scaffold.conversion.shapes.repeated_sizes import passes
from mlax_scaffold.conversion.shapes.values import (
    Array,
    Each,
    Loop,
    Module,
    Number,
    Several,
    Value,
)
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    literal,
    marked,
    name,
    names,
    reached,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class Helping(Applying):
    """Reads them."""

    def _helped(
        self,
        node: ast.Call,
        func: ast.expr,
        given: list[Value],
        named: dict[str, Value],
    ) -> tuple[ast.expr, Value] | None:
        """The call of such a function, or of what one returns; None where it is none."""
        first = self.builder.calculations.first_input
        maker = self._helper(func.func) if isinstance(func, ast.Call) else None
        floating = float_named(self.env, first) if maker is not None else None
        if floating is not None and not is_given_arrays(given, node):
            # What it makes of numbers alone.
            parts: dict[str, ast.expr] = {"a": node, "x": name(floating)}
            return marked("jnp.asarray(a, x.dtype)", **parts), None
        helper = self._helper(func)
        if helper is None:
            return None
        if self._is_table(node):
            return self._table(node), None
        places = [a.arg for a in helper.args.args]
        made = makes_floats(helper) and not is_given_arrays(given, node)
        made = made and self.depth == 1
        array = float_named(self.env, first) if made else None
        bound = _by_default(helper) | dict(zip(places, given, strict=False)) | named
        for place, one in bound.items():
            if isinstance(one, Array):
                self.builder.helpers.arrays.append((helper.name, place, one))
        value = self.run(helper, bound)
        if array is not None:
            self.builder.helpers.dtyped.add(helper.name)
            node = with_dtype(node, array)
        return node, value

    def _is_table(self, node: ast.Call) -> bool:
        """Whether a function of the file computes an array by NumPy, of hyperparameters alone."""
        builder = self.builder
        known: Mapping[str, ast.AST] = builder.origin.functions
        bodies = [
            statement
            for title in reached(known, names(node.func))
            for statement in builder.origin.functions[title].body
        ]
        used = {builder.origin.qualified(p) for s in bodies for p in walk(s)} - {""}
        given = [*node.args, *(k.value for k in node.keywords)]
        parts = [p for g in given for p in walk(g)]
        return (
            builder.framework in ("flax", "haiku")
            and any(u.startswith("numpy.") for u in used)
            and all(u.partition(".")[0] in ("numpy", "math") for u in used)
            and not any(isinstance(p, ast.Call) for p in parts)
            and {p.id for p in parts if isinstance(p, ast.Name)} <= {"self"}
            and all(
                p.attr in builder.fields for p in parts if isinstance(p, ast.Attribute)
            )
        )

    def _table(self, node: ast.Call) -> ast.expr:
        """Such an array, which setup keeps."""
        title = getattr(node.func, "id", "table").removeprefix("get_").strip("_")
        place = self.builder.free(title)
        self.builder.derive(place, node, "array")
        return marked("jnp.asarray(a)", a=expression(f"self.{place}"))

    def _helper(self, func: ast.expr) -> ast.FunctionDef | None:
        """A function of the file, as it stands beside the spec."""
        builder = self.builder
        title = getattr(func, "id", "")
        known = builder.origin.functions
        assigned = builder.origin.assigned.get(title)
        if title not in known and assigned is not None:
            # `binarize = apply_binarize`
            title = getattr(assigned.value, "id", "")
        found = known.get(title)
        if found is None or self.depth >= 6:
            return None
        translator = Translator(
            builder.origin, builder.framework, Notes(), Calculations(keyed=False), {}
        )
        [made] = translator.statements([cloned(found)])
        return made if isinstance(made, ast.FunctionDef) else None

    def _mapped(self, func: ast.expr) -> ast.expr | None:
        """The layer that jax.vmap maps, which takes a batch itself."""
        if not isinstance(func, ast.Call) or len(func.args) != 1 or func.keywords:
            return None
        if not ast.unparse(func.func).endswith("vmap"):
            return None
        inner = func.args[0]
        if isinstance(inner, ast.Call):
            return self._mapped(inner)
        attribute = self_attribute(inner)
        known = self.builder.attributes.get(attribute or "")
        value = self.env.get(inner.id) if isinstance(inner, ast.Name) else None
        if isinstance(value, Loop | Module):
            known = self.builder.attributes.get(value.attribute)
        pointwise = (
            "Linear",
            "LayerNorm",
            "RMSNorm",
            "Embed",
            "Dropout",
            "MLP",
            "Identity",
        )
        # A class of the file may have such a name, too.
        if known is not None and known.layer in {f"@layer:{p}" for p in pointwise}:
            return inner
        return None

    def _is_weight(self, node: ast.expr) -> bool:
        known = self.builder.attributes.get(self_attribute(node) or "")
        return known is not None and known.kind == "weight"

    def _counted_to(
        self, left: ast.expr, value: Array, right: ast.expr, other: Array
    ) -> None:
        """What places of one example are compared with is one number: `jnp.arange(n) < length`."""
        if self.builder.framework != "equinox":
            return
        for places, axes, bound in ((left, value, other), (right, other, value)):
            func = places.func if isinstance(places, ast.Call) else places
            counts = ast.unparse(func).endswith("jnp.arange")
            if counts and len(axes.axes) == 1 and bound.lead and not bound.axes:
                self.symbols.ranked(bound, [])
                bound.of_integers()

    def _of_one_example(self, left: Value, right: Value) -> None:
        """What is broadcast to a new first axis, `query[None, :] + keys`, has no others in equinox."""
        if self.builder.framework != "equinox":
            return
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Array) and isinstance(other, Array) and other.lead:
                count = len(one.axes)
                begins = not one.lead and count > 1 and literal(one.axes[0]) == 1
                if begins and 0 < len(other.axes) < count:
                    self.symbols.ranked(other, ["_"] * count)

    def of_each(self, node: ast.Call) -> tuple[ast.expr, Value] | None:
        """What `jax.vmap` of a function of one element makes of all; None of another call."""
        match node:
            case ast.Call(
                func=ast.Call(
                    func=mapped, args=[ast.Lambda(args=given, body=body)], keywords=[]
                ),
                keywords=[],
            ) if ast.unparse(mapped).endswith(".vmap"):
                places = [a.arg for a in given.args]
            case _:
                return None
        if len(places) != len(node.args) or self.builder.framework == "equinox":
            return None
        called = [p.func for p in walk(body) if isinstance(p, ast.Call)]
        if any(not ast.unparse(f).startswith("@module:") for f in called):
            # Layers and functions of the file are read where they are called.
            return None
        node.args, whole = self._arguments(node.args)
        items, vectors = [*map(self._element, whole)], self.arrays.vectors
        outer = self.env
        self.env = {**outer, **dict(zip(places, items, strict=True))}
        # What a matrix is multiplied with there is one vector.
        self.arrays.vectors = True
        _, result = self.value(cloned(body))
        self.env, self.arrays.vectors = outer, vectors
        first = self.symbols.fresh("batch")
        for one, item in zip(whole, items, strict=True):
            self._told(one, item, first)
        return node, self._series(Several([*whole]), result, first)

    def _mapped_own(self, func: ast.expr) -> str:
        """The layer of a class of the file that is mapped over the first axis of all that it is given."""
        if not isinstance(func, ast.Call) or len(func.args) != 1:
            return ""
        if ast.unparse(func.func).rpartition(".")[2] not in ("vmap", "filter_vmap"):
            return ""
        if func.keywords and axes_mapped(func) is None:
            return ""
        attribute = self_attribute(func.args[0]) or ""
        known = self.builder.attributes.get(attribute)
        own = known is not None and known.layer.startswith("@own:")
        return attribute if own else ""

    def with_widths(self, node: ast.Call) -> ast.Call:
        """A call that pads an array, with the widths by their place, as a local or a keyword tells them."""
        named = [k for k in node.keywords if k.arg == "pad_width"]
        if not ast.unparse(node.func).endswith(".pad") or not node.args:
            return node
        width = node.args[1] if len(node.args) > 1 else None
        width = named[0].value if named else width
        if isinstance(width, ast.Name):
            width = self.tuples.get(width.id, width)
        rest = [k for k in node.keywords if k.arg != "pad_width"]
        args = [node.args[0], *([] if width is None else [width])]
        return ast.copy_location(ast.Call(node.func, args, rest), node)

    def _count_told(self, count: ast.expr | None) -> ast.expr | None:
        """How many passes a loop has, where locals stand for sizes: `range(length)`."""
        if count is None:
            return None
        known = {k: v.value for k, v in self.env.items() if isinstance(v, Number)}
        made = replaced(count, known)
        return None if names(made) & self.env.keys() else made

    def joined(self, node: ast.Call) -> Value:
        """What joins the arrays of a list that a loop has filled, along an axis; None for all else."""
        last = ast.unparse(node.func).rpartition(".")[2]
        if last not in ("concatenate", "stack") or not node.args:
            return None
        [first, *rest] = node.args
        local = first.id if isinstance(first, ast.Name) else ""
        filled = self.appended.get(local)
        if filled is None or filled.before is None:
            return None
        loop, value = filled.loop, filled.value
        count = self._count_told(passes(loop))
        places = [k.value for k in node.keywords if k.arg == "axis"] + rest
        at = literal(places[0]) if places else 0
        if not isinstance(value, Array) or count is None or not isinstance(at, int):
            return None
        if self._depends(value, loop):
            return None
        beside = [*filled.before, *filled.after]
        axes = list(value.axes)
        if last == "stack":
            if value.lead:
                return None
            total = expression("n + b", n=count, b=ast.Constant(len(beside)))
            axes.insert(at if at >= 0 else len(axes) + 1 + at, folded(total))
            return value.like(axes)
        if not -len(axes) <= at < (0 if value.lead else len(axes)):
            return None
        sizes = [
            self.symbols.axis(b, at) if isinstance(b, Array) else None for b in beside
        ]
        axes[at] = folded(expression("n * a", n=count, a=axes[at]))
        for size in sizes:
            if size is None:
                return None
            axes[at] = folded(expression("a + b", a=axes[at], b=size))
        return value.like(axes)

    def filled_item(self, local: str, place: object) -> Value:
        """What stands at a place of a list that a loop has filled."""
        filled = self.appended.get(local)
        if filled is None or not isinstance(filled.value, Array):
            return None
        if filled.before and isinstance(place, int) and 0 <= place < len(filled.before):
            return filled.before[place]
        if filled.before or filled.after:
            return None
        alike = not self._depends(filled.value, filled.loop)
        return Each(filled.value, alike=alike).other

    def _depends(self, value: Array, loop: ast.For) -> bool:
        """Whether the sizes of what a loop makes differ from pass to pass."""
        bound = {*targets(loop.target)}
        return any(names(self.symbols.find(axis)) & bound for axis in value.axes)


def _by_default(function: ast.FunctionDef) -> dict[str, Value]:
    """The sizes that a function takes where it is given no others."""
    defaults = defaults_of(function.args).items()
    return {p: Number(d) for p, d in defaults if type(literal(d)) is int}
