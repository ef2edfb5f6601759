"""Names of a file of linen for what a transformation makes of a class.

Again = nn.remat(Block)                                     is `Block`
Batched = nn.vmap(Block, variable_axes={"params": None})    a class that maps the call of `Block`
Several = nn.vmap(Block, variable_axes={"params": 0})       is written where classes call it
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    marked,
    name,
    names,
    statement,
    with_names,
)
from mlax_scaffold.conversion.source.vocabulary import flags
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_AGAIN = ("remat", "checkpoint", "jit")
_CALLS = "__call__"
_EXAMPLES = ("example", "one", "one_example")


def with_named_transforms(origin: Origin, thing: str) -> None:
    """Write the names of a file of linen so, in place."""
    if not origin.uses("flax"):
        return
    for title in list(origin.assigned):
        # What the lines before it made of other names is written by now.
        assigned = origin.assigned[title]
        found = _Transformed.of(origin, title, assigned.value)
        made = found.written(alone=title == thing) if found is not None else None
        if found is None or (made is None and title == thing):
            continue
        body = origin.tree.body
        if made is None or made is found.layer:
            known = {title: found.call if made is None else name(made.name)}
            body[:] = [with_names(p, known) for p in body if p is not assigned]
        else:
            body[body.index(assigned)] = _located(made, assigned)
        origin.forget("classes", "functions", "assigned")
        located(origin.tree)


@dataclass(frozen=True)
class _Transformed:
    """What a name stands for."""

    title: str
    call: ast.Call
    how: str
    layer: ast.ClassDef

    @staticmethod
    def of(origin: Origin, title: str, value: ast.expr | None) -> _Transformed | None:
        """The transformation of a class of the file; None of anything else."""
        match value:
            case ast.Call(func=func, args=[ast.Name(id=given)]) as call:
                owner, _, how = origin.qualified(func).rpartition(".")
            case _:
                return None
        layer = origin.classes.get(given)
        if layer is None or owner != "flax.linen" or not is_layer_class(origin, layer):
            return None
        if how not in (*_AGAIN, "vmap", "scan"):
            return None
        return _Transformed(title, call, how, layer)

    def written(self, *, alone: bool) -> ast.ClassDef | None:
        """The class that stands for it; None where the transformation is to be written where it is called.

        Args:
            alone: whether it is what is converted, so that nothing else calls it.
        """
        if self.how in _AGAIN:
            return self._copied() if alone else self.layer
        given = {str(k.arg): k.value for k in self.call.keywords}
        weights = literal(given.get("variable_axes"))
        if not isinstance(weights, dict):
            return None
        if self.how == "vmap" and weights.get("params", 0) is None:
            return self._mapped(given)
        return None

    def _copied(self) -> ast.ClassDef:
        made = cloned(self.layer)
        made.name = self.title
        return made

    def _mapped(self, given: Mapping[str, ast.expr]) -> ast.ClassDef | None:
        """The class that has the layer of one example, and maps it."""
        made = self._copied()
        one = next((m for m in made.body if getattr(m, "name", "") == _CALLS), None)
        if not isinstance(one, ast.FunctionDef):
            return None
        if one.args.vararg or one.args.kwarg or one.args.posonlyargs:
            return None
        places = [a.arg for a in one.args.args[1:]]
        told = literal(given.get("in_axes", ast.Constant(0)))
        axes = told if isinstance(told, tuple) else (told,) * len(places)
        if len(axes) > len(places) or any(
            a is not None and type(a) is not int for a in axes
        ):
            return None
        mapped = {p: a for p, a in zip(places, axes, strict=False) if a is not None}
        if not mapped:
            return None
        call = cloned(one)
        given_by_name = [a.arg for a in one.args.kwonlyargs]
        modes = set(flags([*places, *given_by_name])) - set(mapped)
        # `self.training` stands for these wherever it is asked for.
        passed = [p for p in places if p not in modes]
        named = [f"{p}={p}" for p in given_by_name if p not in modes]
        parts = ", ".join([*passed, *named])
        fields = ", ".join(f"{f}=self.{f}" for f in _fields(made))
        example = f"self.{next(t for t in _EXAMPLES if t not in names(made))}"
        made.body = [p for p in made.body if not isinstance(p, ast.FunctionDef)]
        text = f"def setup(self):\n    {example} = {self.layer.name}({fields})"
        made.body += [statement(text), call]
        function = expression(example)
        if list(mapped) != passed or named:
            function = expression(f"lambda {', '.join(mapped)}: {example}({parts})")
        run = marked("jax.vmap(f)", f=function)
        assert isinstance(run, ast.Call)
        if any(mapped.values()):
            places_of = expression(str(tuple(mapped.values())))
            run.keywords.append(ast.keyword("in_axes", places_of))
        made_axes = given.get("out_axes")
        if made_axes is not None and literal(made_axes) != 0:
            run.keywords.append(ast.keyword("out_axes", made_axes))
        call.body = [ast.Return(ast.Call(run, [name(p) for p in mapped], []))]
        return made


def _fields(node: ast.ClassDef) -> list[str]:
    return [
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]


def _located(node: ast.ClassDef, place: ast.AST) -> ast.ClassDef:
    """A class with lines of its own where it has none."""
    for part in walk(node):
        if isinstance(part, ast.stmt | ast.expr) and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node
