"""What chains of transformations are given: lists of them, schedules, and masks of weights."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.forms.leaf_functions import (
    as_lambda,
    called,
    straight,
)
from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.rows.tables.optax import TREE_MAPS
from mlax_scaffold.conversion.rows.tables.optax_schedules import scheduled
from mlax_scaffold.conversion.source.free_names import bound_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    marked,
    name,
    replaced,
    same,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_RATES = ("learning_rate", "step_size", "step_size_fn", "weight_decay")
COUNT = "self.step - 1.0"
"""The number of the step, as optax counts them."""


STATELESS = ("stateless", "stateless_with_tree_map")


def stateless_update(function: ast.expr, way: str) -> ast.FunctionDef:
    """The update function of what `optax.stateless` makes of a function of trees, or of leaves."""
    call = "jax.tree.map(f, u, p)" if way.endswith("tree_map") else "f(u, p)"
    made = ast.parse(f"def update(u, state, p):\n    return {call}, state").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = [with_names(part, {"f": function}) for part in made.body]
    return made


def decorated(origin: Origin, node: ast.stmt) -> tuple[str, ast.expr] | None:
    """The transformation that a decorator makes of a function of trees, and its name."""
    match node:
        case ast.FunctionDef(name=title, decorator_list=[maker]):
            if isinstance(maker, ast.Call) and maker.args:
                # partial(optax.inject_hyperparams, static_args=...)
                maker = maker.args[0]
            full = origin.qualified(maker)
            if full.rpartition(".")[2] == "inject_hyperparams":
                return title, name(title)
            if full.startswith("optax.") and full.rpartition(".")[2] in STATELESS:
                return title, ast.Call(maker, [name(title)], [])
    return None


def without_aliases(origin: Origin) -> None:
    """Write functions of libraries that a file has names of its own for, `tmap = jax.tree.map`, in place."""
    found: dict[str, ast.expr] = {}
    for part in origin.tree.body:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Attribute() as value
            ) if origin.qualified(value):
                found[local] = value
    bound = {
        p.id
        for part in origin.tree.body
        if isinstance(part, ast.FunctionDef | ast.ClassDef)
        for p in walk(part)
        if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)
    } | {p.arg for p in walk(origin.tree) if isinstance(p, ast.arg)}
    known = {k: v for k, v in found.items() if k not in bound}
    for part in origin.tree.body if known else ():
        if isinstance(part, ast.FunctionDef):
            part.body = [with_names(s, known) for s in part.body]


def plain(node: ast.expr) -> ast.expr:
    """A transformation without what lets it take further arguments, or has them set later."""
    match node:
        case ast.Call(func=func, args=[inner], keywords=[]):
            if ast.unparse(func).endswith("with_extra_args_support"):
                return inner
    return node


def without_lists(node: ast.FunctionDef) -> None:
    """Write `chain(*parts)` with what the list holds, in place, where the function says all of it."""
    lists = [
        (part, part.targets[0].id)
        for part in node.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.List)
    ]
    for first, local in lists:
        assert isinstance(first.value, ast.List)
        elements = list(first.value.elts)
        kept: list[ast.stmt] = []
        for part in node.body:
            more = [] if part is first else _added(part, local)
            if more is None:
                kept.append(part)
            else:
                elements += more
        reads = [p for part in kept for p in walk(part) if is_name(p, local)]
        given = [
            p
            for part in kept
            for p in walk(part)
            if isinstance(p, ast.Starred) and is_name(p.value, local)
        ]
        if len(reads) == len(given) == 1:
            node.body = [_Filled(local, elements).visit(part) for part in kept]
    located(node)


def _added(node: ast.stmt, local: str) -> list[ast.expr] | None:
    """What a statement adds to a list; None where it does something else."""
    match node:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=place, attr="append"), args=[one])
        ) if is_name(place, local):
            return [one]
        case ast.AugAssign(
            target=ast.Name(id=title), op=ast.Add(), value=ast.List() as more
        ) if title == local:
            return more.elts
        case ast.If(test=test, body=body, orelse=orelse):
            sides = [[_added(part, local) for part in side] for side in (body, orelse)]
            if any(one is None for side in sides for one in side):
                return None
            one, other = ([e for part in side if part for e in part] for side in sides)
            match test:
                # A rate is a number here, that of the step where it follows a schedule.
                case ast.Call(func=ast.Name(id="callable")):
                    return other
                case ast.UnaryOp(
                    op=ast.Not(), operand=ast.Call(func=ast.Name(id="callable"))
                ):
                    return one
            if len(one) == len(other):
                pairs = zip(one, other, strict=True)
                return [ast.IfExp(cloned(test), a, b) for a, b in pairs]
            nothing = expression("optax.identity()")
            made = [ast.IfExp(cloned(test), e, nothing) for e in one]
            return [*made, *(ast.IfExp(cloned(test), nothing, e) for e in other)]
    return None


def with_shared_end(node: ast.IfExp, known: Mapping[str, ast.expr]) -> ast.expr:
    """A chain where there is a further stage under a condition: `chain(clip, tx) if limit else tx`."""
    match node:
        case ast.IfExp(
            body=ast.Call(
                func=ast.Attribute(attr="chain") as chain, args=[*first, last]
            )
        ) if same(replaced(last, known), replaced(node.orelse, known)):
            nothing = expression("optax.identity()")
            parts = [ast.IfExp(cloned(node.test), f, nothing) for f in first]
            return ast.Call(chain, [*parts, last], [])
    return node


class _Filled(NodeTransformer):
    def __init__(self, local: str, elements: list[ast.expr]):
        self.local, self.elements = local, elements

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        made: list[ast.expr] = []
        for argument in node.args:
            starred = isinstance(argument, ast.Starred)
            if starred and is_name(argument.value, self.local):  # type: ignore[attr-defined]
                made += self.elements
            else:
                made.append(argument)
        node.args = made
        return node


def taken_apart(node: ast.stmt, known: dict[str, ast.expr]) -> bool:
    """Whether a tuple is taken apart: `b1, b2 = betas`; its parts are known from then on."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=places)], value=value):
            locals_ = list(targets(node))
            if len(locals_) != len(places):
                return False
            made = replaced(value, known)
            for at, local in enumerate(locals_):
                part = expression("a[i]", a=made, i=ast.Constant(at))
                known[local] = made.elts[at] if isinstance(made, ast.Tuple) else part
            return True
    return False


def rate(
    origin: Origin,
    parameter: str,
    value: ast.expr,
    functions: Mapping[str, ast.FunctionDef],
    known: Mapping[str, ast.expr],
) -> ast.expr | None:
    """What a schedule that is given as a rate is in a step; None where the value is no schedule."""
    if parameter not in _RATES:
        return None
    return _at(origin, value, functions, known, expression(COUNT))


def _at(
    origin: Origin,
    value: ast.expr,
    functions: Mapping[str, ast.FunctionDef],
    known: Mapping[str, ast.expr],
    count: ast.expr,
) -> ast.expr | None:
    """What a schedule is at a step; None where the value is none, or one that is not known."""
    if isinstance(value, ast.Call):
        full = origin.qualified(value.func) or ast.unparse(value.func)
        if full.endswith("join_schedules"):
            return _joined(origin, value, functions, known, count)
        if full.startswith("optax."):
            return scheduled(full.rpartition(".")[2], value, count)
        made = _returned(functions.get(full) or origin.functions.get(full), value)
        return _at(origin, made, functions, known, count) if made is not None else None
    if isinstance(value, ast.Name):
        function = functions.get(value.id) or origin.functions.get(value.id)
        made_of = straight(function) if function is not None else None
        if made_of is None or len(made_of.given) != 1:
            return None
        result = made_of.result
        for local, step in reversed(made_of.steps):
            result = replaced(result, {local: step})
        value = ast.Lambda(
            ast.arguments([], [ast.arg(made_of.given[0])], None, [], [], None, []),
            result,
        )
    if isinstance(value, ast.Lambda) and len(value.args.args) == 1:
        inner = {k: v for k, v in known.items() if k != value.args.args[0].arg}
        made = called(ast.Call(replaced(value, inner), [count], []))
        return _Inner(origin, functions, known).visit(made)
    return None


def with_called_schedules(
    origin: Origin,
    update: ast.FunctionDef,
    functions: Mapping[str, ast.FunctionDef],
    known: Mapping[str, ast.expr],
) -> ast.FunctionDef:
    """A function of an update with what schedules are in the steps that it calls them with."""
    bound = bound_by(update.body) | {a.arg for a in update.args.args}
    held = {k: v for k, v in known.items() if k not in bound}

    class Named(NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            schedule = held.get(getattr(node.func, "id", ""))
            if schedule is not None and len(node.args) == 1:
                made = _at(origin, schedule, functions, held, node.args[0])
                return node if made is None else ast.copy_location(made, node)
            return node

    made = Named().visit(cloned(update))
    return located(made)


class _Inner(NodeTransformer):
    """Schedules that are called within another one, `-schedule(count)`."""

    def __init__(
        self,
        origin: Origin,
        functions: Mapping[str, ast.FunctionDef],
        known: Mapping[str, ast.expr],
    ):
        self.given = origin, functions, known

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        origin, functions, known = self.given
        if not isinstance(node.func, ast.Call) or len(node.args) != 1:
            return node
        return _at(origin, node.func, functions, known, node.args[0]) or node


def _returned(function: ast.FunctionDef | None, call: ast.Call) -> ast.expr | None:
    """The schedule that a function of the file makes where it is called."""
    made = as_lambda(function) if function is not None else None
    if function is None or made is None:
        return None
    try:
        given = bind(function.args, call)
    except MisfitError:
        return None
    return replaced(
        made.body, {k: v for k, v in given.items() if isinstance(v, ast.expr)}
    )


def _joined(
    origin: Origin,
    call: ast.Call,
    functions: Mapping[str, ast.FunctionDef],
    known: Mapping[str, ast.expr],
    count: ast.expr,
) -> ast.expr | None:
    """Schedules one after another, each of which counts from where it begins."""
    given = dict(zip(("schedules", "boundaries"), call.args, strict=False))
    given |= {str(k.arg): k.value for k in call.keywords}
    parts = [getattr(given.get(k), "elts", []) for k in ("schedules", "boundaries")]
    if len(parts[0]) != len(parts[1]) + 1 or not parts[0]:
        return None
    made = _at(origin, parts[0][0], functions, known, count)
    for one, start in zip(parts[0][1:], parts[1], strict=True):
        later = expression("(c) - (s)", c=count, s=start)
        value = _at(origin, one, functions, known, later)
        if made is None or value is None:
            return None
        parts_ = {"c": count, "s": start, "a": made, "b": value}
        made = marked("jnp.where(c < s, a, b)", **parts_)
    return made


def chosen_weights(
    origin: Origin, mask: ast.expr, functions: Mapping[str, ast.FunctionDef]
) -> ast.expr | None:
    """The condition on a weight, `param`, that a mask is; None where it is another one."""
    found = mapped_leaf(origin, mask, functions)
    if found is None or len(found[1].args.args) != 1:
        return None
    leaf = found[1]
    return replaced(leaf.body, {leaf.args.args[0].arg: name("param")})


def mapped_leaf(
    origin: Origin, mapping: ast.expr, functions: Mapping[str, ast.FunctionDef]
) -> tuple[ast.expr, ast.Lambda] | None:
    """What maps a lambda over all weights, in a function of them or a lambda, and that lambda."""
    if isinstance(mapping, ast.Name):
        function = functions.get(mapping.id) or origin.functions.get(mapping.id)
        made = straight(function) if function is not None else None
        if made is None or made.steps or len(made.given) != 1:
            return None
        given, body = made.given[0], made.result
    elif isinstance(mapping, ast.Lambda) and len(mapping.args.args) == 1:
        given, body = mapping.args.args[0].arg, mapping.body
    else:
        return None
    match body:
        case ast.Call(func=func, args=[ast.Lambda() as leaf, tree]):
            if origin.qualified(func) in TREE_MAPS and is_name(tree, given):
                return func, leaf
    return None


def is_left_out(parameter: str, value: ast.expr) -> bool:
    """Whether an argument that nothing is made of here changes nothing."""
    named = parameter.endswith("dtype") or parameter in ("name", "initial_count")
    return named or is_none(value)


def function_of(
    node: ast.expr, functions: dict[str, ast.FunctionDef]
) -> ast.FunctionDef | None:
    """A function of a pair, by its name or as it stands there."""
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.Return(node.body)]
        made = ast.FunctionDef("init", node.args, body, [], None)
        return ast.copy_location(made, node)
    return functions.get(ast.unparse(node))


def is_given(node: ast.expr, known: dict[str, ast.expr]) -> bool:
    """Whether a state is that of a transformation that is given, `inner.init(params)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=local), attr="init")):
            return local in known
    return False
