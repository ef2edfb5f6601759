"""Values that a constructor computes: setup sets each once, whatever conditions and later lines say."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.definitions.ruled_layers import RuledLayers
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    is_none,
    names,
    negated,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, walk

_NONE = ast.Constant(None)


class DerivedValues(RuledLayers):
    """Declares them."""

    def _same(
        self, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether an attribute is a parameter, or a local, under another name."""
        around = self.translator.around
        if not isinstance(value, ast.Name):
            return False
        own = around.locals.get(value.id)
        left_out = self.builder.renamed.get(value.id) == ""
        if not left_out and (own is None or names(own) - {"self"}):
            return False
        made = cloned(value if own is None else own)
        if condition is not None and not left_out:
            self._derived(attribute, made, condition)
        else:
            around.attributes[attribute] = made
        return True

    def _none(self, node: ast.AST, attribute: str, condition: ast.expr | None) -> None:
        """Read that an attribute is None, where the condition holds."""
        builder, around = self.builder, self.translator.around
        known = builder.attributes.get(attribute)
        if condition is None or (known is None and self._standing(attribute) is None):
            around.attributes.setdefault(attribute, ast.Constant(None))
            if attribute in builder.attributes:
                around.attributes.pop(attribute)
            return
        if (
            known is not None
            and known.kind == "array"
            and self._not_where(attribute, condition)
        ):
            return
        if known is None or known.kind in ("derived", "array"):
            self._derived(attribute, ast.Constant(None), condition)
            return
        other = known.condition
        if other is None or not _excludes(other, condition):
            builder.notes.refuse(
                node,
                f"`self.{attribute}` is None under a condition, and something else before",
                "declare it under the condition that says that it is there",
            )

    def _not_where(self, attribute: str, condition: ast.expr) -> bool:
        """Whether an array is declared as None where a condition holds, and read as None there."""
        around = self.translator.around
        read = around.attributes.get(attribute)
        for part in self.builder.setup:
            if not isinstance(part, ast.Assign) or read is None:
                continue
            if self_attribute(part.targets[0]) == attribute:
                test = cloned(condition)
                part.value = ast.IfExp(test, ast.Constant(None), part.value)
                around.attributes[attribute] = expression(
                    f"None if self.{attribute} is None else a", a=read
                )
                return True
        return False

    def _derived(
        self, attribute: str, made: ast.expr, condition: ast.expr | None
    ) -> None:
        """Declare what a condition makes of an attribute; elsewhere it stays what it is."""
        builder, around = self.builder, self.translator.around
        before = self._standing(attribute)
        if condition is None:
            if _is_function(made) or self._is_initializer(made):
                around.attributes[attribute] = made
                return
        elif before is None:
            made = ast.IfExp(cloned(condition), made, ast.Constant(None))
        elif isinstance(before, ast.IfExp) and _filled(before, made, condition):
            return
        elif not self._filled_in_setup(before, made, condition):
            made = ast.IfExp(cloned(condition), made, cloned(before))
        else:
            return
        if isinstance(made, ast.IfExp) and _is_function(made.body):
            around.attributes[attribute] = made
            return
        place = attribute
        if attribute in builder.fields:
            # Another value than the argument of that name.
            place = builder.free(f"used_{attribute}")
        elif attribute in builder.attributes:
            # What has read it so far read another value.
            place = builder.free(attribute)
        around.attributes.pop(attribute, None)
        if place != attribute:
            around.attributes[attribute] = expression(f"self.{place}")
        builder.derive(place, made)
        self.translator.numbers = frozenset({*self.translator.numbers, place})

    def _standing(self, attribute: str) -> ast.expr | None:
        """What an attribute is by now; None where nothing is known of it."""
        builder = self.builder
        known = self.translator.around.attributes.get(attribute)
        if known is not None:
            return None if is_none(known) else known
        declared = builder.attributes.get(attribute)
        derived = declared is not None and declared.kind in ("derived", "array")
        if derived or attribute in builder.fields:
            return expression(f"self.{attribute}")
        return None

    def _filled_in_setup(
        self, before: ast.expr, made: ast.expr, condition: ast.expr
    ) -> bool:
        """Whether a statement of setup, which leaves the case open, takes another value for it."""
        place = self_attribute(before)
        setup = self.builder.setup
        for at, part in enumerate(setup):
            if (
                place is not None
                and isinstance(part, ast.Assign)
                and self_attribute(part.targets[0]) == place
                and isinstance(part.value, ast.IfExp)
            ):
                later = {n for s in setup[at:] for n in _bound(s)}
                return not later & _read(made) and _filled(part.value, made, condition)
        return False


def _filled(chain: ast.IfExp, made: ast.expr, condition: ast.expr) -> bool:
    """Whether `a if c else None` takes another value for its `None`, which is for none of its cases."""
    left: ast.expr | None = condition
    while True:
        parts = _parts(left)
        rest = [p for p in parts if not same(p, negated(chain.test))]
        if len(rest) == len(parts):
            return False
        left = None
        for part in rest:
            left = both(left, part)
        if isinstance(chain.orelse, ast.IfExp):
            chain = chain.orelse
            continue
        if not is_none(chain.orelse):
            return False
        chain.orelse = made if left is None else ast.IfExp(left, made, _NONE)
        return True


def _excludes(one: ast.expr, other: ast.expr) -> bool:
    """Whether two conditions never hold together, by a part of one that is denied in the other."""
    return any(
        same(p, negated(q)) or same(negated(p), q)
        for p in (*_parts(one), one)
        for q in _parts(other)
    )


def _parts(condition: ast.expr | None) -> list[ast.expr]:
    if condition is None:
        return []
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        return condition.values
    return [condition]


def _bound(node: ast.stmt) -> set[str]:
    """The locals, and attributes of self, that a statement sets."""
    return {
        self_attribute(part) or getattr(part, "id", "")
        for part in walk(node)
        if isinstance(getattr(part, "ctx", None), ast.Store)
    }


def _read(node: ast.expr) -> set[str]:
    return names(node) | {self_attribute(part) or "" for part in walk(node)} - {""}


def _is_function(node: ast.expr) -> bool:
    """Whether a value is an activation, which is written where it is called."""
    if isinstance(node, ast.Lambda):
        return True
    text = ast.unparse(node)
    return text.startswith(
        ("@module:jax.nn.", "@module:jnp.tanh", "@word:gelu", "jax.nn.")
    )
