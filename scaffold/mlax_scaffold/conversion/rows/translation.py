"""Expressions of other libraries as what they are called here, by the tables."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.tables import FUNCTIONS, INITIALIZERS, LAYERS
from mlax_scaffold.conversion.rows.tables.activations import VALUES
from mlax_scaffold.conversion.rows.tables.initializers import (
    VALUES as INITIALIZER_VALUES,
)
from mlax_scaffold.conversion.rows.translated_calls import (
    TranslatedCalls,
    with_argument,
)
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    ARRAY,
    expression,
    is_name,
    is_none,
    literal,
    marked,
    name,
    negated,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import (
    FOREIGN,
    HAIKU,
    PADDINGS,
    SCALARS,
    SEQUENTIAL,
    SHAPED,
    TORCH_VALUES,
    Surroundings,
    dotted_name,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class Translator(TranslatedCalls):
    """Writes expressions in the terms of specs; what has none is noted."""

    def __init__(
        self,
        origin: Origin,
        framework: str,
        notes: Notes,
        calculations: Calculations,
        own: Mapping[str, Interface],
    ):
        self.origin, self.framework, self.notes = origin, framework, notes
        self.calculations, self.own = calculations, own
        self.around = Surroundings()

    def expression(self, node: ast.expr) -> ast.expr:
        """The expression, translated; the one that is given stays."""
        return self.visit(cloned(node))

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, translated."""
        found: list[ast.stmt] = []
        for node in body:
            made = self.visit(cloned(node))
            found += made if isinstance(made, list) else [made] if made else []
        return found

    # Names.

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            if node.id in self.around.locals:
                return cloned(self.around.locals[node.id])
            made = self._value(node)
            if made is not None:
                return made
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        made = self._value(node)
        if made is not None:
            return made
        attribute = self_attribute(node)
        known = self.around.attributes.get(attribute or "")
        # What is set again in a call is no constant; the reader tells what it can be.
        read = isinstance(node.ctx, ast.Load) or isinstance(known, ast.Attribute)
        if known is not None and read:
            return cloned(known)
        self.generic_visit(node)
        if (
            node.attr in ("value", "data")
            and self.framework
            in (
                "nnx",
                "torch",
                "flax",
            )
            and (self_attribute(node.value) or node.attr == "value")
        ):
            return node.value
        if node.attr == "mT":
            return expression(
                "jnp.swapaxes(x, -1, -2)", jnp=name("@module:jnp"), x=node.value
            )
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # The value of a variable of nnx.
        whole = isinstance(node.slice, ast.Constant) and node.slice.value is ...
        if whole and self.framework == "nnx" and self_attribute(node.value):
            return self.visit(node.value)
        owner, at = self_attribute(node.value), literal(node.slice)
        if owner in self.around.items and isinstance(at, int):
            items = self.around.items[owner]
            if -len(items) <= at < len(items):
                return cloned(items[at])
        if owner in self.around.items and isinstance(node.slice, ast.Slice):
            return node
        self.generic_visit(node)
        if isinstance(node.value, ast.Tuple) and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            if isinstance(index, int) and -len(node.value.elts) <= index < len(
                node.value.elts
            ):
                return node.value.elts[index]
        return node

    def _value(self, node: ast.expr) -> ast.expr | None:
        """A name of a library that is no call."""
        full = self.origin.qualified(node)
        if not full:
            return None
        if full in INITIALIZER_VALUES and "initializers" in full:
            return name(f"@word:{INITIALIZER_VALUES[full]}")
        if full in PADDINGS:
            return ast.Constant(PADDINGS[full])
        if full in TORCH_VALUES:
            text = TORCH_VALUES[full]
            if ":" not in text:
                return name(text)
            module, _, rest = text.partition(".")
            return ast.Attribute(name(module), rest, ast.Load())
        if full == "torch.nn.functional.gelu":
            # That of jax.nn is the approximation.
            return marked("lambda x: word_gelu(x, approximate=False)")
        owner, _, last = full.rpartition(".")
        if owner.startswith(FOREIGN) and last in VALUES:
            text = VALUES[last]
            if text.startswith("word."):
                return name("@word:" + text[5:])
            module, _, rest = text.partition(".")
            return dotted_name(f"@module:{module}", rest)
        if (
            full.startswith("numpy.")
            and full.count(".") == 1
            and not self.around.static
        ):
            # What is computed of inputs is computed by jax.
            return ast.Attribute(name("@module:jnp"), last, ast.Load())
        strict = {"jax.nn.softmax": "softmax", "jax.nn.log_softmax": "log_softmax"}
        if full in strict:
            return name(f"@word:{strict[full]}")
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        value = node.value
        full = self.origin.qualified(value.func) if isinstance(value, ast.Call) else ""
        if full == "functools.partial" and isinstance(node.targets[0], ast.Name):
            assert isinstance(value, ast.Call)
            inner = value.args[0]
            known = isinstance(inner, ast.Name) and inner.id in self.own
            if known or self.origin.qualified(inner) in LAYERS:
                maker = ast.Call(inner, value.args[1:], value.keywords)
                self.around.makers[node.targets[0].id] = maker
                return None
        if (
            isinstance(node.targets[0], ast.Name)
            and isinstance(value, ast.Call)
            and (
                self.origin.qualified(value.func) in SEQUENTIAL
                and not self.around.static
            )
        ):
            made = self.visit(value)
            if isinstance(made, ast.Lambda):
                self.around.locals[node.targets[0].id] = made
                return None
        if (
            isinstance(node.targets[0], ast.Name)
            and self.origin.qualified(value) in LAYERS
        ):
            self.around.makers[node.targets[0].id] = ast.Call(value, [], [])
            return None
        self.generic_visit(node)
        return node

    # Calls.

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if is_name(node.func, "hasattr") and len(node.args) == 2:
            there = self._has(node)
            if there is not None:
                return there
        if is_name(node.func, "getattr") and len(node.args) == 3:
            known = self._attribute_or(node)
            if known is not None:
                return known
        if is_name(node.func, "float") and len(node.args) == 1:
            made = self._infinity(node.args[0])
            if made is not None:
                return made
        if isinstance(node.func, ast.Name) and node.func.id in self.around.makers:
            node = with_argument(self.around.makers[node.func.id], node)
        elif isinstance(node.func, ast.Attribute):
            maker = self.around.makers.get(ast.unparse(node.func))
            node = node if maker is None else with_argument(maker, node)
        if isinstance(node.func, ast.Name) and node.func.id in self.own:
            return self._own(node, self.own[node.func.id])
        node = self._uncast(node)
        full = self.origin.qualified(node.func)
        if full in HAIKU:
            return self._generic(node, name(f"@call:{full.rpartition('.')[2]}"))
        if full in ("functools.partial",) and node.args:
            return self._partial(node)
        scalars = SCALARS if self.around.static else {**SCALARS, **SHAPED}
        if full in scalars and len(node.args) == 1 and self._is_number(node.args[0]):
            call = ast.Call(dotted_name("@module:math", scalars[full]), node.args, [])
            self.generic_visit(call)
            return call
        if full in _SAME_AGAIN:
            return self.visit(node.args[0])
        if full.startswith("numpy.") and not self.around.static:
            full = f"jax.{full}"
        if full in _FILLED and not self.around.static:
            self._with_dtype(node, _FILLED[full])
        if full in _COUNTED and not self.around.static and _floating(node):
            node.keywords = [k for k in node.keywords if k.arg != "dtype"]
            row = FUNCTIONS.get(full)
            func = self.visit(node.func)
            counted = self._filled(node, row) if row else self._generic(node, func)
            if isinstance(counted, ast.Call):
                self._with_dtype(counted, len(counted.args))
            return counted
        row = LAYERS.get(full) or INITIALIZERS.get(full) or FUNCTIONS.get(full)
        if row is not None:
            return self._filled(node, row)
        if (
            full.startswith(FOREIGN)
            and full not in SEQUENTIAL
            and not full.startswith("optax")
        ):
            self.notes.refuse(
                node,
                f"`{ast.unparse(node.func)}` has no counterpart",
                _advice(full),
            )
            self.generic_visit(node)
            return node
        if isinstance(node.func, ast.Attribute) and not full:
            made = self._method(node, node.func)
            if made is not None:
                return made
        if full in SEQUENTIAL and not node.args and not node.keywords:
            return expression("lambda x: x")
        if full in SEQUENTIAL and not self.around.static:
            inlined = self._sequence(node)
            if inlined is not None:
                return inlined
        inlined = self._inlined(node)
        if inlined is not None:
            return inlined
        func = self.visit(node.func)
        if isinstance(func, ast.Lambda):
            return self._reduced(func, node)
        return self._generic(node, func)

    def _with_dtype(self, node: ast.Call, places: int) -> None:
        """An array that is made in a body has the dtype of the input where it names none."""
        if not self.calculations.first_input:
            return
        if len(node.args) <= places and not any(
            k.arg == "dtype" for k in node.keywords
        ):
            dtype = expression(f"{self.calculations.first_input}.dtype")
            node.keywords.append(ast.keyword("dtype", dtype))

    def _generic(self, node: ast.Call, func: ast.expr) -> ast.expr:
        node.func = func
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return node

    def _has(self, node: ast.Call) -> ast.expr | None:
        """Whether a module of a library has a function, of those that are known here: it has, by now."""
        module, attribute = self.origin.qualified(node.args[0]), literal(node.args[1])
        known = (
            f"{module}.{attribute}" in FUNCTIONS or f"{module}.{attribute}" in LAYERS
        )
        return ast.copy_location(ast.Constant(True), node) if module and known else None

    def _attribute_or(self, node: ast.Call) -> ast.expr | None:
        """`getattr(self, "norm", None)`: what is declared under a condition is None where that fails."""
        owner, attribute, other = node.args
        title = literal(attribute)
        if not is_name(owner, "self") or not isinstance(title, str):
            return None
        if title not in self.declared:
            return self.visit(other)
        return self.visit(expression(f"self.{title}")) if is_none(other) else None

    declared: frozenset[str] = frozenset()
    """The attributes that a class sets."""

    def _infinity(self, node: ast.expr) -> ast.expr | None:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and text.lstrip("-+").lower() in ("inf", "infinity"):
            inf = dotted_name("@module:jnp", "inf")
            return ast.UnaryOp(ast.USub(), inf) if text.startswith("-") else inf
        return None

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression is a number of Python."""
        if isinstance(node, ast.Constant):
            return True
        if self.around.static:
            return not any(self._makes_array(p) for p in walk(node))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            return node.value.attr == "shape"
        if isinstance(node, ast.BinOp):
            whole = isinstance(node.op, ast.FloorDiv)
            return self._is_number(node.left) and (whole or self._is_number(node.right))
        attribute = self_attribute(node)
        if attribute is not None:
            return attribute in self.numbers
        return isinstance(node, ast.Name) and node.id in self.numbers

    def _makes_array(self, node: ast.AST) -> bool:
        """Whether an expression calls a function of a library that makes an array."""
        full = self.origin.qualified(node.func) if isinstance(node, ast.Call) else ""
        array = full.startswith(_ARRAYS) and full not in SCALARS
        return array or is_name(node, ARRAY)

    numbers: frozenset[str] = frozenset()
    """Names of hyperparameters, and of attributes that are computed of them."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        known = self.around.held.get(self_attribute(node.left) or "")
        if ast.unparse(node.left) == "self.key()":  # which is there in training
            known = expression("self.training")
        if known is not None and is_none(node.comparators[0]):
            # A sequence is a method here, which is there in any case.
            there = cloned(known)
            return there if isinstance(node.ops[0], ast.IsNot) else negated(there)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return negated(node.operand)
        return node


_ARRAYS = ("jax.", "numpy.", "torch.")
_SAME_AGAIN = tuple(
    f"{m}.{n}" for m in ("jax", "flax.linen") for n in ("remat", "checkpoint")
)
_COUNTED = ("jax.numpy.arange", "jax.numpy.linspace", "torch.arange", "torch.linspace")
"""What counts, in the dtype that it is told."""


def _floating(node: ast.Call) -> bool:
    """Whether a call names a dtype of numbers that are not whole."""
    return any(
        k.arg == "dtype" and "float" in ast.unparse(k.value) for k in node.keywords
    )


_FILLED = {
    "jax.numpy.zeros": 1,
    "jax.numpy.ones": 1,
    "jax.numpy.full": 2,
    "jax.numpy.eye": 3,
    "jax.numpy.identity": 1,
}
"""What makes an array, and how many arguments it takes before the dtype."""


def _advice(full: str) -> str:
    if full in ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"):
        return "write the cell (nn.LSTMCell, nn.GRUCell) and loop over time, or use Recurrent of block"
    if full.startswith("torch"):
        return "write it with functions of jax.numpy and jax.lax"
    return "write it with a layer of the library, or with functions of jax"
