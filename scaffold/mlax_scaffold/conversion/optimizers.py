"""A transformation of optax as an optimizer: what it does to trees, per leaf."""

from __future__ import annotations

import ast
import copy
import os
from dataclasses import dataclass, field

from mlax_scaffold.conversion.calculations import Calculations
from mlax_scaffold.conversion.description import Described, Field, SpecText, Trial
from mlax_scaffold.conversion.notes import Notes
from mlax_scaffold.conversion.optimizer_states import States, init_values
from mlax_scaffold.conversion.origin import Origin, Thing
from mlax_scaffold.conversion.per_leaf import PerLeaf
from mlax_scaffold.conversion.programs import carried
from mlax_scaffold.conversion.roots import with_words
from mlax_scaffold.conversion.tables.optax import transformations
from mlax_scaffold.conversion.translation import Translator
from mlax_scaffold.conversion.trees import (
    docstring,
    expression,
    is_none,
    literal,
    name,
    names,
    replaced,
    statement,
    without_docstring,
)
from mlax_scaffold.conversion.words import word_of
from mlax_scaffold.errors import UsageError

_LEFT_OUT = (
    "mu_dtype",
    "dtype",
    "accumulator_dtype",
    "nu_dtype",
    "momentum_dtype",
    "mask",
)


@dataclass
class Optimizer:
    """The optimizer that is made."""

    origin: Origin
    notes: Notes
    setup: list[ast.stmt] = field(default_factory=list)
    setup_tree: list[ast.stmt] = field(default_factory=list)
    prepare: list[ast.stmt] = field(default_factory=list)
    update: list[ast.stmt] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def free(self, wanted: str) -> str:
        """A name that no state and no scalar has yet."""
        made, count = wanted, 1
        while made in self.taken:
            count += 1
            made = f"{wanted}_{count}"
        self.taken.add(made)
        return made


def optimizer_definition(
    origin: Origin, node: Thing, notes: Notes, name_: str
) -> SpecText:
    """The spec of a function that returns a transformation."""
    if not isinstance(node, ast.FunctionDef):
        raise UsageError(
            f"{origin.path}:{node.lineno}: {node.name} is a class: --from takes a function that "
            "returns an optax.GradientTransformation, or an optax.chain of them"
        )
    translator = Translator(
        origin, "plain", notes, Calculations("grad", keyed=False), {}
    )
    fields, parameters = _fields(translator, node)
    translator.numbers = frozenset(f.name for f in fields)
    made = Optimizer(
        origin, notes, taken={*(f.name for f in fields), "step", "key", "value"}
    )
    current = _stage(made, translator, node, parameters, name("grad"), [])
    made.update.append(ast.Return(current))
    doc = docstring(node) or f"From {node.name} of {os.path.basename(origin.path)}."
    methods = [
        _method("setup", ["param"], made.setup),
        _method("setup_tree", ["params"], made.setup_tree),
        _method("prepare", ["grads", "params"], made.prepare),
        _method("update", ["grad", "param"], with_words(made.update)),
    ]
    described = Described(
        name_,
        "Optimizer",
        doc,
        tuple(sorted(fields, key=lambda f: f.default is not None)),
        (),
        tuple(m for m in methods if m.body),
        trial=_trial(fields, methods),
    )
    _refuse_foreign(made, methods)
    used = {n for m in methods for n in names(m)} - {"grad", "param"}
    beside = carried(origin, notes, used, "plain", [])
    return SpecText((described,), tuple(beside))


def _refuse_foreign(made: Optimizer, methods: list[ast.FunctionDef]) -> None:
    """List what is left of optax where updates are computed."""
    for method in methods:
        for part in ast.walk(method):
            if not isinstance(part, ast.Call):
                continue
            full = made.origin.qualified(part.func)
            if full.startswith("optax."):
                schedule = full.endswith(("_schedule", "_decay", "_schedules"))
                made.notes.refuse(
                    part,
                    f"`{ast.unparse(part.func)}` has no counterpart in an optimizer",
                    "let the learning rate be a parameter, which is a number or a schedule of the "
                    "library"
                    if schedule
                    else "write what it computes with functions of jax.numpy",
                )


_VALUES = {
    "Scheduled": 0.1,
    "Decay": 0.9,
    "Probability": 0.9,
    "NonNegative": 0.1,
    "Positive": 0.5,
    "float": 0.5,
    "Size": 2,
    "Count": 2,
    "int": 2,
    "bool": True,
}
"""What fields are tried with that have no default."""


def _trial(fields: list[Field], methods: list[ast.FunctionDef]) -> Trial | None:
    """What both are run with; None where something is drawn, or a value is not to be told."""
    if any("self.key(" in ast.unparse(m) for m in methods):
        return None
    required = [f for f in fields if f.default is None]
    if any(f.word not in _VALUES for f in required):
        return None
    values = tuple((f.name, _VALUES[f.word]) for f in required)
    return Trial(tuple((f.name, f.name) for f in required), values, ())


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


def _fields(
    translator: Translator, node: ast.FunctionDef
) -> tuple[list[Field], dict[str, ast.expr]]:
    fields: list[Field] = []
    parameters: dict[str, ast.expr] = {}
    args = [*node.args.args, *node.args.kwonlyargs]
    positional: list[ast.expr | None] = [None] * (
        len(node.args.args) - len(node.args.defaults)
    )
    defaults = [*positional, *node.args.defaults, *node.args.kw_defaults]
    for argument, default in zip(args, defaults, strict=True):
        given = argument.arg
        if given in _LEFT_OUT and (default is None or is_none(default)):
            parameters[given] = ast.Constant(None)
            continue
        value = translator.expression(default) if default is not None else None
        number = literal(value)
        if type(number) is int:
            value = (
                ast.Constant(float(number))
                if "int" not in ast.unparse(argument.annotation or ast.Constant(""))
                else value
            )
        fields.append(Field(given, _word(given, argument.annotation, value), value))
        parameters[given] = expression(f"self.{given}")
    return fields, parameters


def _word(given: str, annotation: ast.expr | None, value: ast.expr | None) -> str:
    if given in (
        "learning_rate",
        "lr",
        "step_size",
        "weight_decay",
        "learning_rate_fn",
    ):
        return "Scheduled"
    maybe = " | None" if is_none(value) else ""
    if given in (
        "b1",
        "b2",
        "b3",
        "beta1",
        "beta2",
        "decay",
        "momentum",
        "beta",
        "rho",
    ):
        return f"Decay{maybe}"
    if given.startswith(("eps", "weight_decay")):
        return f"NonNegative{maybe}"
    if given.startswith("max_"):
        return f"Positive{maybe}"
    word = word_of(given, annotation, value)
    return f"float{maybe}" if word.startswith("Size") and annotation is None else word


def _stage(
    made: Optimizer,
    translator: Translator,
    node: ast.FunctionDef,
    parameters: dict[str, ast.expr],
    current: ast.expr,
    path: list[str],
) -> ast.expr:
    """Add what a transformation does to the gradient; the update that comes of it."""
    functions = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    known = dict(parameters)
    result: ast.expr | None = None
    for part in without_docstring(node.body):
        if isinstance(part, ast.Return):
            result = part.value
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            known[part.targets[0].id] = replaced(part.value, known)
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
    if not isinstance(result, ast.Call):
        made.notes.refuse(
            node,
            f"{node.name} returns no optax.GradientTransformation",
            "return one, of an init and an update function",
        )
        return current
    full = translator.origin.qualified(result.func)
    last = ast.unparse(result.func).rpartition(".")[2]
    if last.startswith("GradientTransformation"):
        keywords = {k.arg: k.value for k in result.keywords}
        pair = [*result.args, *(keywords.get(k) for k in ("init", "update"))]
        chosen = [functions.get(ast.unparse(p)) for p in pair if p is not None]
        if len(chosen) == 2 and chosen[0] and chosen[1]:
            return _pair(
                made, translator, chosen[0], chosen[1], known, functions, current
            )
        if len(chosen) == 2 and chosen[1] and "init_empty_state" in ast.unparse(result):
            return _pair(made, translator, None, chosen[1], known, functions, current)
    if last in ("chain", "named_chain") and (full.startswith("optax") or not full):
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
    own = translator.origin.functions.get(last)
    other = own or (transformations().get(last) if full.startswith("optax.") else None)
    if other is None or len(path) > 20:
        made.notes.refuse(
            result,
            f"`{ast.unparse(result.func)}` is not known as a transformation",
            "put it into a Chain with the optimizer of the library that does the same",
        )
        return current
    given = dict(zip([a.arg for a in other.args.args], result.args, strict=False))
    given |= {str(k.arg): k.value for k in result.keywords}
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
    bound = {k: replaced(v, known) for k, v in given.items()}
    return _stage(made, translator, other, bound, current, [*path, last])


def _pair(
    made: Optimizer,
    translator: Translator,
    init: ast.FunctionDef | None,
    update: ast.FunctionDef,
    known: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
    current: ast.expr,
) -> ast.expr:
    """A pair of functions: states are moments, or the number of the step."""
    states = States()
    given = [a.arg for a in update.args.args]
    title = given[1] if len(given) > 1 and "state" not in given[1] else "trace"
    if init is not None:
        for place, given_value, line in init_values(translator, init):
            value = replaced(given_value, known)
            made_ = states.add(translator, made.free, place, value, title)
            if made_ is None:
                made.notes.refuse(
                    line,
                    f"the state `{place}` begins as `{ast.unparse(value)}`",
                    "declare it in setup: `self.name = moment(initializer, param.shape)`",
                )
        made.setup += states.setup
        made.setup_tree += states.setup_tree
    leaf = PerLeaf(translator, states, known, functions, made.free)
    updated = leaf.run(update, current)
    made.prepare += leaf.prepare
    made.update += leaf.update
    for note in leaf.refused:
        made.notes.refuse(*note)
    return updated if updated is not None else current


__all__ = ["copy", "optimizer_definition", "statement"]
