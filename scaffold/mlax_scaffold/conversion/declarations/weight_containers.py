"""Weights in dictionaries, lists and tuples, as a constructor makes them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from mlax_scaffold.conversion.declarations.initial import initial
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.shapes.values import Array, Each, Record, Several, Value
from mlax_scaffold.conversion.source.first_passes import (
    of_comprehension,
    with_elements,
)
from mlax_scaffold.conversion.source.trees import (
    literal,
    name,
    names,
    replaced,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned


class Containers:
    """Declares what containers hold, one in another."""

    def __init__(
        self,
        translator: Translator,
        without_keys: Callable[[ast.comprehension], None],
        setup: Iterable[ast.stmt] = (),
    ):
        self.translator, self.without_keys = translator, without_keys
        self.setup = setup
        """The statements before the container."""

    def declared(self, node: ast.expr) -> tuple[ast.expr, Value] | None:
        """A container of weights as setup declares it, and its shapes; None for all else."""
        match node:
            case ast.Dict(keys=keys, values=values) if all(keys) and keys:
                return self._dictionary([k for k in keys if k is not None], values)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                names_ = [ast.Constant(k.arg) for k in keywords]
                return self._dictionary(names_, [k.value for k in keywords])
            case ast.List(elts=elts) | ast.Tuple(elts=elts) if elts:
                inner = [self._element(e) for e in elts]
                found = [i for i in inner if i is not None]
                if len(found) < len(elts):
                    return None
                made = type(node)([m for m, _ in found], ast.Load())
                return made, Several([v for _, v in found])
            case ast.ListComp(generators=[_]):
                return self._comprehension(node)
        return None

    def _dictionary(
        self, keys: Sequence[ast.expr], values: Sequence[ast.expr]
    ) -> tuple[ast.expr, Value] | None:
        inner = [self._element(v) for v in values]
        found = [i for i in inner if i is not None]
        if len(found) < len(values):
            return None
        places = [literal(k) for k in keys]
        made = ast.Dict([cloned(k) for k in keys], [m for m, _ in found])
        return made, Record(dict(zip(places, (v for _, v in found), strict=True)))

    def _comprehension(self, node: ast.ListComp) -> tuple[ast.expr, Value] | None:
        [generator] = cloned(node.generators)
        self.without_keys(generator)
        around = self.translator.around
        hidden = {t for t in targets(generator.target) if t in around.locals}
        saved = {k: around.locals.pop(k) for k in hidden}
        made = self._element(node.elt)
        source = self.translator.expression(generator.iter)
        around.locals.update(saved)
        if made is None:
            return None
        element, value = made
        loop = ast.comprehension(generator.target, source, [], 0)
        before = {
            part.targets[0].id: part.value
            for part in self.setup
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        }
        first = of_comprehension([loop])
        first = {k: with_elements(v, before) for k, v in first.items()}
        begun = _begun(value, first)
        alike = not names(element) & set(targets(generator.target))
        return ast.ListComp(element, [loop]), Each(begun, alike)

    def _element(self, node: ast.expr) -> tuple[ast.expr, Value] | None:
        inner = self.declared(node)
        if inner is not None:
            return inner
        made = initial(self.translator, node)
        if made is None:
            return None
        if isinstance(made.initializer, ast.Lambda):
            # What a list holds is made in the dtype that initializers have of themselves.
            made.initializer.args.defaults = [name("float")]
        call = ast.Call(name("@word:trainable"), [made.initializer, made.shape], [])
        shape = made.shape
        axes = list(shape.elts) if isinstance(shape, ast.Tuple) else None
        return call, None if axes is None else Array(axes, False)


def _begun(value: Value, first: dict[str, ast.expr]) -> Value:
    """A value of a loop as it is in the first pass."""
    match value:
        case Array():
            return Array([replaced(a, first) for a in value.axes], False)
        case Several(items=items):
            return Several([_begun(i, first) for i in items])
        case Record(items=items):
            return Record({k: _begun(v, first) for k, v in items.items()})
    return value
