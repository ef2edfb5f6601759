"""A transformation of optax as an optimizer: what it does to trees, per leaf."""

from __future__ import annotations

import ast
import os

from mlax_scaffold.conversion.definitions.programs import carried
from mlax_scaffold.conversion.forms.leaf_functions import Decided
from mlax_scaffold.conversion.forms.straightened import straighten
from mlax_scaffold.conversion.optimizers.grouped import as_chain
from mlax_scaffold.conversion.optimizers.leaf_expressions import LeafExpressions
from mlax_scaffold.conversion.optimizers.library_rules import way_of_library
from mlax_scaffold.conversion.optimizers.optimizer_chains import (
    STATELESS,
    chosen_weights,
    decorated,
    function_of,
    is_given,
    is_left_out,
    plain,
    rate,
    stateless_update,
    taken_apart,
    with_called_schedules,
    with_shared_end,
    without_aliases,
    without_lists,
)
from mlax_scaffold.conversion.optimizers.optimizer_fields import (
    Optimizer,
    hyperparameters,
    refuse_foreign,
    trial,
    where_given,
    with_choices,
    with_parts,
    without_seeds,
)
from mlax_scaffold.conversion.optimizers.optimizer_states import States, init_values
from mlax_scaffold.conversion.optimizers.per_leaf import PerLeaf
from mlax_scaffold.conversion.optimizers.prepared import settled
from mlax_scaffold.conversion.optimizers.roots import with_words
from mlax_scaffold.conversion.optimizers.whole_trees import whole_tree
from mlax_scaffold.conversion.output.description import (
    Described,
    HelperDtypes,
    SpecText,
)
from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.tables.optax import transformations
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin, Thing
from mlax_scaffold.conversion.source.trees import (
    docstring,
    expression,
    is_none,
    literal,
    name,
    names,
    replaced,
    self_attribute,
    visited,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, walk
from mlax_scaffold.errors import UsageError


def optimizer_definition(
    origin: Origin, node: Thing, notes: Notes, name_: str
) -> SpecText:
    """The spec of a function that returns a transformation."""
    if not isinstance(node, ast.FunctionDef):
        raise UsageError(
            f"{origin.path}:{node.lineno}: {node.name} is a class: --from takes a function that "
            "returns an optax.GradientTransformation, or an optax.chain of them"
        )
    without_aliases(origin)
    translator = Translator(
        origin, "plain", notes, Calculations("grad", keyed=False), {}
    )
    node = with_parts(node)
    fields, parameters = hyperparameters(translator, node)
    translator.numbers = frozenset(f.name for f in fields)
    made = Optimizer(
        origin,
        notes,
        taken={*(f.name for f in fields), "step", "key", "value"},
        required=frozenset(f.name for f in fields if "None" not in f.word),
    )
    current = _stage(made, translator, node, parameters, name("grad"), [])
    made.update.append(ast.Return(current))
    declared = ast.Module([*made.setup, *made.setup_tree], [])
    kept = {self_attribute(p) or "" for p in walk(declared)} - {""}
    made.prepare, made.update = settled(made.prepare, made.update, kept)
    doc = docstring(node) or f"From {node.name} of {os.path.basename(origin.path)}."
    methods = [
        _method("setup", ["param"], made.setup),
        _method("setup_tree", ["params"], made.setup_tree),
        _method(
            "prepare",
            ["grads", "params"],
            where_given(with_choices(with_words(made.prepare), fields), fields),
        ),
        _method(
            "update",
            ["grad", "param"],
            with_choices(with_words(made.update), fields),
        ),
    ]
    fields = without_seeds(fields, methods)
    described = Described(
        name_,
        "Optimizer",
        doc,
        tuple(sorted(fields, key=lambda f: f.default is not None)),
        (),
        tuple(m for m in methods if m.body),
        trial=trial(fields, methods),
    )
    refuse_foreign(made, methods)
    used = {n for m in methods for n in names(m)} - {"grad", "param"}
    beside = carried(origin, notes, used, "plain", HelperDtypes())
    return SpecText((described,), tuple(beside))


def _method(title: str, inputs: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    given = [ast.arg(i) for i in ("self", *inputs)]
    return ast.FunctionDef(
        title,
        ast.arguments([], given, None, [], [], None, []),
        body,
        [],
        None,
        lineno=0,
    )


def _stage(
    made: Optimizer,
    translator: Translator,
    node: ast.FunctionDef,
    parameters: dict[str, ast.expr],
    current: ast.expr,
    path: list[str],
) -> ast.expr:
    """Add what a transformation does to the gradient; the update that comes of it."""
    node = cloned(node)
    without_lists(node)
    straighten(node)
    functions = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    known = dict(parameters)
    result: ast.expr | None = None
    for part in without_docstring(node.body):
        if isinstance(part, ast.Return):
            result = part.value
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            known[part.targets[0].id] = plain(replaced(part.value, known))
        elif taken_apart(part, known):
            continue
        elif isinstance(part, ast.ClassDef):
            translator.origin.lift(part)
        elif (made_of := decorated(translator.origin, part)) is not None:
            known[made_of[0]] = made_of[1]
        elif isinstance(part, ast.FunctionDef | ast.Expr | ast.If):
            if isinstance(part, ast.If) and any(
                isinstance(p, ast.Raise) for p in part.body
            ):
                continue
            if isinstance(part, ast.If):
                made.notes.refuse(
                    part,
                    "a transformation that depends on a condition",
                    "write the condition inside of the update",
                )
        else:
            made.notes.refuse(
                part, f"`{ast.unparse(part)}`", "write it inside of the update"
            )
    return _result(made, translator, node, result, known, functions, current, path)


def _result(
    made: Optimizer,
    translator: Translator,
    node: ast.FunctionDef,
    result: ast.expr | None,
    known: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
    current: ast.expr,
    path: list[str],
) -> ast.expr:
    if isinstance(result, ast.Name) and result.id in known:
        result = known[result.id]
    result = plain(result) if result is not None else None
    if isinstance(result, ast.IfExp):
        result = with_shared_end(result, known)
    if isinstance(result, ast.IfExp):
        given = (made, translator, node)
        test = visited(Decided(), made.decided(replaced(result.test, known)))
        sides = [
            _result(*given, side, known, functions, current, path)
            for side in (result.body, result.orelse)
            if literal(test) is not (side is result.orelse)
            or not isinstance(test, ast.Constant)
        ]
        if len(sides) == 1:
            return sides[0]
        return made.bound(ast.IfExp(translator.expression(test), *sides))
    if not isinstance(result, ast.Call):
        made.notes.refuse(
            node,
            f"{node.name} returns no optax.GradientTransformation",
            "return one, of an init and an update function",
        )
        return current
    if isinstance(result.func, ast.Call) and "inject" in ast.unparse(result.func.func):
        # What is injected may be changed between steps there.
        result = ast.Call(result.func.args[0], result.args, result.keywords)
    result = as_chain(translator.origin, result, known, functions)
    full = translator.origin.qualified(result.func) or ast.unparse(result.func)
    last = ast.unparse(result.func).rpartition(".")[2]
    if last.startswith("GradientTransformation"):
        keywords = {k.arg: k.value for k in result.keywords}
        pair = [*result.args, *(keywords.get(k) for k in ("init", "update"))]
        chosen = [function_of(p, functions) for p in pair if p is not None]
        if len(chosen) == 2 and chosen[0] and chosen[1]:
            return _pair(
                made, translator, chosen[0], chosen[1], known, functions, current
            )
        if len(chosen) == 2 and chosen[1] and "init_empty_state" in ast.unparse(result):
            return _pair(made, translator, None, chosen[1], known, functions, current)
    if last in ("chain", "named_chain") and full.startswith(("optax", "chain")):
        for element in result.args:
            inner = element.elts[1] if isinstance(element, ast.Tuple) else element
            current = _result(
                made,
                translator,
                node,
                inner,
                known,
                functions,
                current,
                [*path, "chain"],
            )
        return current
    if full.startswith("optax.") and last in STATELESS and len(result.args) == 1:
        update = stateless_update(result.args[0], last)
        return _pair(made, translator, None, update, known, functions, current)
    if full == "optax.masked" and len(result.args) == 2:
        mask = replaced(result.args[1], known)
        if literal(mask) is True:
            inner = replaced(result.args[0], known)
            return _result(
                made, translator, node, inner, known, functions, current, path
            )
        chosen_ = chosen_weights(translator.origin, mask, functions)
        if chosen_ is not None:
            given = (made, translator, node, result.args[0], known, functions)
            inner = _result(*given, current, [*path, "masked"])
            test = translator.expression(chosen_)
            return made.bound(ast.IfExp(test, inner, cloned(current)))
    local = functions.get(result.func.id) if isinstance(result.func, ast.Name) else None
    own = local or translator.origin.functions.get(last)
    other = own or (transformations().get(last) if full.startswith("optax.") else None)
    if other is None or len(path) > 20:
        what = f"`{ast.unparse(result.func)}` is not known as a transformation"
        made.notes.refuse(result, what, way_of_library(full))
        return current
    given = dict(zip([a.arg for a in other.args.args], result.args, strict=False))
    given |= {str(k.arg): k.value for k in result.keywords if k.arg}
    for spread in (k for k in result.keywords if k.arg is None):
        made.notes.remark(
            result,
            f"`**{ast.unparse(spread.value)}` of `{ast.unparse(result.func)}` is left out",
            "add what it passes on as parameters",
        )
    count = len(other.args.args) - len(other.args.defaults)
    for argument, default in zip(
        other.args.args[count:], other.args.defaults, strict=True
    ):
        given.setdefault(argument.arg, default)
    for argument, default in zip(
        other.args.kwonlyargs, other.args.kw_defaults, strict=True
    ):
        if default is not None:
            given.setdefault(argument.arg, default)
    bound = _arguments(made, translator, result, other, given, known, functions)
    around = known if local is not None else {}
    return _stage(made, translator, other, {**around, **bound}, current, [*path, last])


def _arguments(
    made: Optimizer,
    translator: Translator,
    call: ast.Call,
    other: ast.FunctionDef,
    given: dict[str, ast.expr],
    known: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
) -> dict[str, ast.expr]:
    """The arguments of a transformation, in which schedules and masks are what they are in a step."""
    parameters = {a.arg for a in (*other.args.args, *other.args.kwonlyargs)}
    bound: dict[str, ast.expr] = {}
    for parameter, value in given.items():
        whole = replaced(value, known)
        bound[parameter] = whole
        if parameter not in parameters and not is_left_out(parameter, whole):
            made.notes.refuse(
                call,
                f"`{parameter}={ast.unparse(value)}` of `{ast.unparse(call.func)}` has no counterpart",
                "write the transformation out, or leave the argument out",
            )
        if parameter == "mask" and is_none(whole):
            bound[parameter] = ast.Constant(True)
        elif parameter == "mask" and not isinstance(whole, ast.Constant | ast.Compare):
            chosen = chosen_weights(translator.origin, whole, functions)
            bound[parameter] = chosen or ast.Constant(True)
            if chosen is None:
                made.notes.refuse(
                    call,
                    f"the mask `{ast.unparse(whole)}` is not told by each weight alone",
                    "give a function of the shape of a weight, mapped over all, or mask a chain",
                )
        rated = rate(translator.origin, parameter, whole, functions, known)
        if rated is not None:
            attribute = made.free("rate")
            target = ast.Attribute(name("self"), attribute, ast.Store())
            current = translator.expression(replaced(rated, known))
            made.prepare.append(ast.Assign([target], current, lineno=0))
            bound[parameter] = expression(f"self.{attribute}")
    return bound


def _pair(
    made: Optimizer,
    translator: Translator,
    init: ast.FunctionDef | None,
    update: ast.FunctionDef,
    known: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
    current: ast.expr,
) -> ast.expr:
    """A pair of functions: states are moments, numbers of all leaves, or the number of the step."""
    update = with_called_schedules(translator.origin, update, functions, known)
    given = [a.arg for a in update.args.args]
    title = given[1] if len(given) > 1 and "state" not in given[1] else "trace"
    begun = init_values(translator, init) if init is not None else []
    taken, odd = set(made.taken), set[str]()
    before_it = made.lists()
    while True:
        made.taken, states = {*taken}, States()
        made.setup, made.setup_tree, made.prepare, made.update = map(list, before_it)
        for place, given_value, line in begun:
            if is_given(given_value, known):
                states.places.append(place)
                states.inner.add(place)
                continue
            value = replaced(given_value, known)
            free, counts = made.free, place not in odd
            if not states.add(translator, free, place, value, title, counts):
                made.notes.refuse(
                    line,
                    f"the state `{place}` begins as `{ast.unparse(value)}`",
                    "declare it in setup: `self.name = moment(initializer, param.shape)`",
                )
        before = made.bound_in_update()

        def nested(of: LeafExpressions, given: ast.expr, current: ast.expr) -> ast.expr:
            made.prepare += of.prepare
            made.update += of.update
            of.prepare, of.update = [], []
            args = (made, translator, update, given, known, functions)
            begun = current if isinstance(current, ast.Name) else made.bound(current)
            stepped = _result(*args, begun, [])
            of.before |= made.bound_in_update()
            return stepped

        leaf = PerLeaf(translator, states, known, functions, made.free, before, nested)
        tree = whole_tree(current, made.setup, made.update)
        updated = leaf.run(update, current, tree)
        if leaf.odd <= odd:
            break
        # It counts something else than steps, and is a state of its own.
        odd |= leaf.odd
    made.setup += states.setup
    made.setup_tree += states.setup_tree
    made.prepare += leaf.prepare
    made.update += leaf.update
    for note in leaf.refused:
        made.notes.refuse(*note)
    return updated if updated is not None else current
