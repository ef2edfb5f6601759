"""A pair of functions, `init` and `apply`, as the class that it stands for."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.pair_weights import (
    MadeWeights,
    containers,
    maker_of,
    record_fields,
)
from mlax_scaffold.conversion.definitions.pair_helpers import Helpers
from mlax_scaffold.conversion.definitions.pair_states import handed_states
from mlax_scaffold.conversion.definitions.record_weights import RecordWeights
from mlax_scaffold.conversion.forms.inner_functions import with_inner_functions
from mlax_scaffold.conversion.forms.number_inputs import numbers_of, without
from mlax_scaffold.conversion.forms.stacked_weights import with_listed_weights
from mlax_scaffold.conversion.output.description import Pair
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin, Thing
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    name,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FIRST = ("init", "init_fn", "init_fun", "init_params", "initialize")
_SECOND = ("apply", "apply_fn", "apply_fun", "forward", "__call__")


def pair_of(
    origin: Origin, thing: str
) -> tuple[ast.FunctionDef, ast.FunctionDef] | None:
    """The two functions of a name: `name_init` and `name_apply`, or `init_name` and `apply_name`."""
    for first, second in (
        ("init", "apply"),
        ("init", "forward"),
        ("init_params", "apply"),
    ):
        for made in (
            (f"{thing}_{first}", f"{thing}_{second}"),
            (f"{first}_{thing}", f"{second}_{thing}"),
            (f"init_{thing}_params", f"{second}_{thing}"),
            (f"init_{thing}_params", f"{thing}"),
            (f"init_{thing}", f"{thing}"),
            (f"{first}_{thing}", f"{thing}_{second}"),
        ):
            found = [origin.functions.get(n) for n in made]
            if found[0] is not None and found[1] is not None:
                return found[0], found[1]
    return None


def functions_of_pair(
    origin: Origin, thing: str
) -> tuple[ast.FunctionDef, ast.FunctionDef] | None:
    """The two functions of a file that a name stands for; None where it is something else."""
    node = origin.functions.get(thing)
    found = pair_of(origin, thing)
    if found is not None or node is None or _nested(node):
        return found if node is None or not _nested(node) else None
    maker = maker_of(origin, node)
    return (maker, node) if maker is not None else None


def pair_class(
    origin: Origin, node: Thing | None, thing: str, notes: Notes
) -> tuple[ast.ClassDef, Pair] | None:
    """The class that a pair stands for, and the pair; None where there is none."""
    outer: list[ast.arg] = []
    defaults: list[ast.expr] = []
    if isinstance(node, ast.ClassDef):
        methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        first = next((methods[n] for n in _FIRST if n in methods), None)
        second = next((methods[n] for n in _SECOND if n in methods), None)
    elif isinstance(node, ast.FunctionDef) and _nested(node):
        inner = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        first = next((inner[n] for n in inner if n.startswith("init")), None)
        second = next(
            (inner[n] for n in inner if n.startswith(("apply", "forward"))), None
        )
        outer, defaults = node.args.args, node.args.defaults
    else:
        found = pair_of(origin, thing)
        first, second = found if found else (None, None)
        if found is None and isinstance(node, ast.FunctionDef):
            first, second = maker_of(origin, node), node
    if first is None or second is None:
        return None
    first, second = with_listed_weights(origin, with_inner_functions(first), second)
    return _class(origin, thing, node or first, first, second, outer, defaults, notes)


def _nested(node: ast.FunctionDef) -> bool:
    inner = {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
    return any(n.startswith("init") for n in inner) and any(
        n.startswith(("apply", "forward")) for n in inner
    )


def _class(
    origin: Origin,
    title: str,
    node: ast.AST,
    first: ast.FunctionDef,
    second: ast.FunctionDef,
    outer: list[ast.arg],
    defaults: list[ast.expr],
    notes: Notes,
) -> tuple[ast.ClassDef, Pair]:
    given = [
        a
        for a in (*first.args.args, *first.args.kwonlyargs)
        if a.arg not in ("self", "cls")
    ]
    inner_defaults = [*first.args.defaults, *(d for d in first.args.kw_defaults if d)]
    weights = MadeWeights(origin)
    value = weights.returned(first)
    call = cloned(second)
    handed = handed_states(origin, value, call)
    if handed is not None:
        value, call = handed.weights, handed.call
    known = {a.arg for a in (*given, *outer)}
    numbers = [(a, d) for a, d in numbers_of(call) if a.arg not in known]
    for argument, _ in numbers:
        without(call, argument.arg)
    inputs = [a for a in call.args.args if a.arg not in ("self", "cls")]
    params = inputs[0].arg if inputs else "params"
    records = RecordWeights(origin)
    made = records.parts(_parts(origin, value, _whole(call, params)))
    body: list[ast.stmt] = [*weights.rest]
    if not made:
        notes.refuse(
            first,
            "an init function that returns no dictionary, tuple, list or record of weights",
            'return {"kernel": ..., "bias": ...}',
        )
    for place, part in (*made, *(handed.states if handed is not None else ())):
        target = ast.Attribute(name("self"), place, ast.Store())
        body.append(ast.copy_location(ast.Assign([target], part), first))
    shaped = any(a.arg == "input_shape" for a in given)
    own = [a for a in given if a.arg not in ("input_shape", *KEYS)]
    if shaped:
        own.insert(0, ast.arg("in_features"))
        body = _without_aliases([_Last().visit(s) for s in body])
    arguments = ast.arguments(
        [],
        [ast.arg("self"), *own, *outer],
        None,
        [ast.arg(a.arg) for a, _ in numbers],
        [d for _, d in numbers],
        None,
        [*inner_defaults, *defaults],
    )
    if inner_defaults and len(outer) > len(defaults):
        arguments.args = [ast.arg("self"), *outer, *own]
    constructor = ast.FunctionDef("__init__", arguments, body or [ast.Pass()], [], None)
    static = {a.arg for a in (*own, *outer)}
    rest = [a for a in inputs[1:] if a.arg not in static]
    named = zip(call.args.kwonlyargs, call.args.kw_defaults, strict=True)
    kept_names = [(a, d) for a, d in named if a.arg not in static]
    call.args.kwonlyargs = [a for a, _ in kept_names]
    call.args.kw_defaults = [d for _, d in kept_names]
    call.name = "__call__"
    call.decorator_list = []
    kept = defaults_of(call, rest)
    call.args.args = [ast.arg("self"), *rest]
    call.args.defaults = kept
    static |= {a.arg for a, _ in numbers}
    unpacked: dict[str, ast.expr] = {
        a.arg: expression(f"self.{a.arg}") for a, _ in numbers
    } | {a.arg: expression(f"self.{a.arg}") for a in inputs[1:] if a.arg in static}
    unpacked |= {
        a.arg: expression(f"self.{a.arg}")
        for a in second.args.kwonlyargs
        if a.arg in static
    }
    stored = {*targets(call), *(a.arg for a in inputs)}
    unpacked |= {
        a.arg: expression(f"self.{a.arg}") for a in outer if a.arg not in stored
    }
    called: list[ast.stmt] = []
    order = [place for place, _ in made]
    helpers = Helpers(origin, params, lambda s, p: _Params(p, order).visit(s))
    if order not in (["layers"], ["weights"]):
        call.body = [helpers.visit(part) for part in call.body]
    for part in call.body:
        if isinstance(part, ast.Assign) and is_name(part.value, params):
            target = part.targets[0]
            if isinstance(target, ast.Tuple):
                for one, place in zip(target.elts, order, strict=False):
                    if isinstance(one, ast.Name):
                        unpacked[one.id] = expression(f"self.{place}")
                continue
        called.append(_Params(params, order).visit(part))
    call.body = [_with(records.read(s), unpacked) for s in called]
    doc = (
        ast.get_docstring(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        else None
    )  # type: ignore[arg-type]
    doc = doc or ast.get_docstring(second) or ast.get_docstring(first)
    members: list[ast.stmt] = [constructor, call, *helpers.methods.values()]
    if doc:
        members.insert(0, ast.Expr(ast.Constant(doc)))
    result = ast.ClassDef(title, [], [], members, [])
    ast.copy_location(result, node)
    pair = Pair(
        (first.name, second.name),
        tuple(order),
        tuple(a.arg for a in given if a.arg in KEYS),
    )
    return located(result), pair


def _without_aliases(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements in which other names of the size of the input are that size."""
    parts: dict[str, ast.expr] = {}
    found: list[ast.stmt] = []
    bound = [t for part in body for t in targets(part)]
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if (
                is_name(value, "in_features") and bound.count(local) == 1
            ):
                parts[local] = value
            case _:
                found.append(_with(part, parts))
    return found


def defaults_of(function: ast.FunctionDef, kept: list[ast.arg]) -> list[ast.expr]:
    """The defaults that parameters keep where others are gone."""
    late = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    pairs = zip(late, function.args.defaults, strict=True)
    known = {argument.arg: default for argument, default in pairs}
    return [known[a.arg] for a in kept if a.arg in known]


def _with(node: ast.stmt, parts: dict[str, ast.expr]) -> ast.stmt:
    class Names(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            loaded = isinstance(node.ctx, ast.Load)
            return cloned(parts[node.id]) if loaded and node.id in parts else node

    return Names().visit(node)


class _Last(NodeTransformer):
    """The last size of the shape that an init function is given."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_name(node.value, "input_shape") and literal(node.slice) == -1:
            return name("in_features")
        self.generic_visit(node)
        return node


def _parts(
    origin: Origin, value: ast.expr | None, whole: bool
) -> list[tuple[str, ast.expr]]:
    """The weights that an init function returns, by the attributes that they become."""
    if isinstance(value, ast.Tuple) and len(value.elts) == 2:
        last = value.elts[1]
        if isinstance(last, ast.Dict | ast.Tuple) or _looks_like_params(last):
            value = last  # stax returns the shape of the output first
    if isinstance(value, ast.Call):
        title = ast.unparse(value.func).rpartition(".")[2]
        if title == "dict" or title[:1].isupper():
            places = zip(record_fields(origin, title), value.args, strict=False)
            return [*places, *((str(k.arg), k.value) for k in value.keywords)]
    if isinstance(value, ast.List | ast.ListComp):
        return [("layers", value)]
    if isinstance(value, ast.Dict) and whole and containers(value):
        return [("weights", value)]
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return [(str(literal(k)), v) for k, v in pairs if k is not None]
    if isinstance(value, ast.Tuple):
        return [
            (e.id if isinstance(e, ast.Name) else f"weight_{i}", e)
            for i, e in enumerate(value.elts)
        ]
    return []


def _whole(call: ast.FunctionDef, params: str) -> bool:
    """Whether a body uses the weights together, and not only by their names."""
    taken = {
        id(part.value)
        for part in walk(call)
        if isinstance(part, ast.Subscript | ast.Attribute)
    }
    return any(
        is_name(part, params) and id(part) not in taken
        for statement in call.body
        for part in walk(statement)
    )


def _looks_like_params(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "dict"


class _Params(NodeTransformer):
    """`params["w"]` and `params.w` as `self.w`; `params` as the container that holds all."""

    def __init__(self, params: str, order: list[str]):
        self.params, self.order = params, order

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.params and self.order in (["layers"], ["weights"]):
            return ast.copy_location(expression(f"self.{self.order[0]}"), node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_name(node.value, self.params) and self.order not in (
            ["layers"],
            ["weights"],
        ):
            at = literal(node.slice)
            if isinstance(at, str):
                return ast.copy_location(expression(f"self.{at}"), node)
            if isinstance(at, int) and at < len(self.order):
                return ast.copy_location(expression(f"self.{self.order[at]}"), node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_name(node.value, self.params):
            return ast.copy_location(expression(f"self.{node.attr}"), node)
        self.generic_visit(node)
        return node
