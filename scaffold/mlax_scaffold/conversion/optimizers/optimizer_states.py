"""What the state of a transformation begins as: moments, numbers of steps, scalars."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from mlax_scaffold.conversion.rows.tables.optax import TREE_MAPS, ZEROS
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    name,
    replaced,
    same,
    without_docstring,
)

_STEP = expression("self.step - 1.0")


@dataclass
class States:
    """The parts of a state, by the name or the place that they have in the original."""

    places: list[str] = field(default_factory=list)
    read: dict[str, ast.expr] = field(default_factory=dict)
    """What stands for each of them."""
    written: dict[str, str] = field(default_factory=dict)
    """The attribute of each one that is kept; a number of steps is not."""
    setup: list[ast.stmt] = field(default_factory=list)
    setup_tree: list[ast.stmt] = field(default_factory=list)

    def add(
        self,
        translator: Translator,
        free: Callable[[str], str],
        place: str,
        value: ast.expr,
        title: str,
    ) -> str | None:
        """One part of the state; None where it is not clear what it is."""
        self.places.append(place)
        kind = _kind(translator, value)
        if kind is None:
            return None
        if kind == "count":
            self.read[place] = _STEP
            return place
        if kind == "none":
            self.read[place] = ast.Constant(None)
            return place
        attribute = free(place if place.isidentifier() else title)
        self.read[place] = expression(f"self.{attribute}")
        self.written[place] = attribute
        target = ast.Attribute(name("self"), attribute, ast.Store())
        if kind == "scalar":
            call = expression("s(z, ())", s=name("@word:state"), z=name("@word:zeros"))
            self.setup_tree.append(ast.Assign([target], call, lineno=0))
            return attribute
        self.setup.append(ast.Assign([target], kind, lineno=0))  # type: ignore[arg-type]
        return attribute


def init_values(
    translator: Translator, init: ast.FunctionDef
) -> list[tuple[str, ast.expr, ast.AST]]:
    """The parts of the state that an init function returns, with their names."""
    locals_: dict[str, ast.expr] = {}
    for part in without_docstring(init.body):
        if isinstance(part, ast.FunctionDef) and (made := _as_lambda(part)):
            locals_[part.name] = made
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            locals_[part.targets[0].id] = replaced(part.value, locals_)
        if isinstance(part, ast.Return) and part.value is not None:
            value = part.value
            if isinstance(value, ast.Name) and value.id in locals_:
                value = locals_[value.id]
            return [
                (place, replaced(v, locals_), part)
                for place, v in _parts(translator, value)
            ]
    return []


def _parts(translator: Translator, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(value, ast.Call):
        title = ast.unparse(value.func).rpartition(".")[2]
        if title in ("EmptyState", "ScaleState"):
            return []
        fields = fields_of(translator, title)
        looks = title[:1].isupper()
        if fields or looks:
            places = fields or [str(i) for i in range(len(value.args))]
            found = list(zip(places, value.args, strict=False))
            return [*found, *((str(k.arg), k.value) for k in value.keywords)]
        if title == "dict":
            return [(str(k.arg), k.value) for k in value.keywords]
    if isinstance(value, ast.Dict):
        return [
            (str(literal(k)), v)
            for k, v in zip(value.keys, value.values, strict=True)
            if k is not None
        ]
    if isinstance(value, ast.Tuple):
        return [(str(i), v) for i, v in enumerate(value.elts)]
    if isinstance(value, ast.Constant) and value.value is None:
        return []
    return [("", value)]


def fields_of(translator: Translator, title: str) -> list[str]:
    """The fields of a NamedTuple of the file."""
    node = translator.origin.classes.get(title)
    if node is None:
        return []
    return [
        p.target.id
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]


def _kind(translator: Translator, value: ast.expr) -> ast.expr | str | None:
    """The declaration of a moment, "count", "scalar", "none", or None."""
    if isinstance(value, ast.Constant):
        if value.value is None:
            return "none"
        return "count" if value.value == 0 else None
    zeros = "m(z, param.shape)"
    marks: dict[str, ast.expr] = {"m": name("@word:moment"), "z": name("@word:zeros")}
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Lambda):
        # A function without parameters that makes the same for several moments.
        return _kind(translator, value.func.body) if not value.args else None
    if isinstance(value, ast.Name) and value.id in ("params", "p"):
        return expression("m(param)", **marks)
    if not isinstance(value, ast.Call):
        return None
    full = translator.origin.qualified(value.func) or ast.unparse(value.func)
    if full in ZEROS or full == "tree_zeros_like":
        return expression(zeros, **marks)
    if full in TREE_MAPS or full == "tree_map":
        return _mapped(translator, value.args[0], marks)
    if full.endswith((".zeros", ".asarray", ".array", ".int32")):
        text = ast.unparse(value)
        if "int" in text:
            return "count"
        return "scalar"
    return None


def _mapped(
    translator: Translator, function: ast.expr, marks: dict[str, ast.expr]
) -> ast.expr | None:
    if isinstance(function, ast.Name):
        own = translator.origin.functions.get(function.id)
        function = (_as_lambda(own) if own is not None else None) or function
    given = function.args.args if isinstance(function, ast.Lambda) else []
    if isinstance(function, ast.Lambda) and len(given) == 1:
        param = {given[0].arg: name("param")}
        return _made(translator, replaced(function.body, param), marks)
    if isinstance(function, ast.Lambda):
        return None
    full = translator.origin.qualified(function) or ast.unparse(function)
    last = full.rpartition(".")[2]
    if last in ("zeros_like", "ones_like", "copy", "array", "asarray"):
        return _made(translator, ast.Call(function, [name("param")], []), marks)
    return None


def _as_lambda(function: ast.FunctionDef) -> ast.Lambda | None:
    """A function that only returns something."""
    body = without_docstring(function.body)
    last = body[0] if len(body) == 1 else None
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    return ast.Lambda(function.args, last.value)


def _made(
    translator: Translator, body: ast.expr, marks: dict[str, ast.expr]
) -> ast.expr | None:
    """The moment that is made of a weight, which is called `param`."""
    if is_name(body, "param"):
        return expression("m(param)", **marks)
    if isinstance(body, ast.IfExp):
        return _chosen(translator, body, marks)
    if not isinstance(body, ast.Call) or not body.args:
        return None
    full = translator.origin.qualified(body.func) or ast.unparse(body.func)
    last, first = full.rpartition(".")[2], body.args[0]
    shape = expression("param.shape") if last.endswith("_like") else first
    alike = last in ("copy", "array", "asarray") or last.endswith("_like")
    if alike and not is_name(first, "param"):
        return None
    if last in ("copy", "array", "asarray"):
        return expression("m(param)", **marks)
    words = {"zeros": "zeros", "ones": "ones"}
    kind = last.removesuffix("_like")
    if kind in words:
        begun: ast.expr = name(f"@word:{words[kind]}")
    elif kind == "full" and len(body.args) > 1:
        value = translator.expression(body.args[1])
        begun = expression("c(v)", c=name("@word:constant"), v=value)
    else:
        return None
    return expression("m(z, s)", m=marks["m"], z=begun, s=translator.expression(shape))


def _chosen(
    translator: Translator, body: ast.IfExp, marks: dict[str, ast.expr]
) -> ast.expr | None:
    """A moment whose shape depends on the weight."""
    sides = [_made(translator, side, marks) for side in (body.body, body.orelse)]
    match sides:
        case [
            ast.Call(args=[first, shape]),
            ast.Call(args=[second, other]),
        ] if same(first, second):
            test = translator.expression(body.test)
            chosen = ast.IfExp(test, shape, other)
            return expression("m(z, s)", m=marks["m"], z=first, s=chosen)
    return None
