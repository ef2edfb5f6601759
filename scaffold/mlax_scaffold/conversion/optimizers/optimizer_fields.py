"""An optimizer on its way into a spec, and its hyperparameters."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from mlax_scaffold.conversion.declarations.words import word_of
from mlax_scaffold.conversion.output.description import Field, Trial
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    name,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

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

    required: frozenset[str] = frozenset()
    """Hyperparameters that are never None."""

    def lists(self) -> tuple[list[ast.stmt], ...]:
        """What it consists of so far."""
        parts = self.setup, self.setup_tree, self.prepare, self.update
        return tuple(map(list, parts))

    def bound_in_update(self) -> set[str]:
        """The locals of the update so far."""
        return {t for part in self.update for t in targets(part)}

    def bound(self, value: ast.expr) -> ast.expr:
        """A local of the update that holds a value."""
        local = "update"
        while local in self.bound_in_update():
            local = f"{local}_"
        self.update.append(ast.Assign([ast.Name(local, ast.Store())], value, lineno=0))
        return name(local)

    def decided(self, test: ast.expr) -> ast.expr:
        """A condition in which hyperparameters that are never None are some number."""
        match test:
            case ast.Compare(ops=[ast.Is() | ast.IsNot()], left=left):
                if self_attribute(left) in self.required:
                    test = cloned(test)
                    test.left = ast.Constant(1.0)
        return test

    def free(self, wanted: str) -> str:
        """A name that no state and no scalar has yet."""
        made, count = wanted, 1
        while made in self.taken:
            count += 1
            made = f"{wanted}_{count}"
        self.taken.add(made)
        return made


def refuse_foreign(made: Optimizer, methods: list[ast.FunctionDef]) -> None:
    """List what is left of optax where updates are computed."""
    for method in methods:
        for part in walk(method):
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


_RATES = ("learning_rate", "lr", "step_size", "weight_decay", "learning_rate_fn")
"""Parameters that may be schedules."""


def hyperparameters(
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
        left_out = given in _LEFT_OUT or given.endswith("_mask")
        if left_out and (default is None or is_none(default)):
            parameters[given] = ast.Constant(None)
            continue
        if left_out and isinstance(default, ast.Lambda | ast.Name | ast.Attribute):
            # Which weights a mask chooses is told while the spec is written.
            translator.notes.remark(
                argument,
                f"the optimizer is the one for the mask that `{given}` is by default",
                "convert it with another default for another one",
            )
            parameters[given] = default
            continue
        text = isinstance(default, ast.Constant) and isinstance(default.value, str)
        if text or _is_no_function(argument, default):
            assert default is not None
            translator.notes.remark(
                argument,
                f"the optimizer is the one for `{given}={ast.unparse(default)}`",
                "convert it with another default for another one",
            )
            parameters[given] = default
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


def _is_no_function(argument: ast.arg, default: ast.expr | None) -> bool:
    """Whether a parameter is a function that is left out: `schedule: Optional[optax.Schedule] = None`."""
    typed = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    told = any(t in typed for t in ("Schedule", "Callable"))
    return told and argument.arg not in _RATES and is_none(default)


def _word(given: str, annotation: ast.expr | None, value: ast.expr | None) -> str:
    if given in _RATES:
        return "Scheduled"
    maybe = " | None" if is_none(value) else ""
    number = literal(value)
    begun = number if isinstance(number, int | float) else 0.5
    if 0.0 <= begun < 1.0 and given in (
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
    if begun >= 0.0 and given.startswith(("eps", "weight_decay")):
        return f"NonNegative{maybe}"
    if begun > 0.0 and given.startswith("max_"):
        return f"Positive{maybe}"
    word = word_of(given, annotation, value)
    return f"float{maybe}" if word.startswith("Size") and annotation is None else word


def with_parts(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function with a parameter for each number of a tuple that it takes apart: `b1, b2 = betas`."""
    made = cloned(node)
    given = made.args
    late = len(given.args) - len(given.defaults)
    for argument, default in reversed(
        [*zip(given.args[late:], given.defaults, strict=True)]
    ):
        numbers, titles = _taken_apart(made, argument.arg, default)
        if not titles:
            continue
        at = given.args.index(argument)
        given.defaults[at - late : at - late + 1] = numbers
        given.args[at : at + 1] = [ast.arg(t) for t in titles]
        made = _InParts(argument.arg, titles).visit(made)
    given = made.args
    for argument, default in [*zip(given.kwonlyargs, given.kw_defaults, strict=True)]:
        numbers, titles = _taken_apart(made, argument.arg, default)
        if not titles:
            continue
        at = given.kwonlyargs.index(argument)
        given.kw_defaults[at : at + 1] = numbers
        given.kwonlyargs[at : at + 1] = [ast.arg(t) for t in titles]
        made = _InParts(argument.arg, titles).visit(made)
    return located(made)


def _taken_apart(
    node: ast.FunctionDef, given: str, default: ast.expr | None
) -> tuple[list[ast.expr], list[str]]:
    """The numbers that a parameter is by default, and their names; none where it is no such tuple."""
    numbers = default.elts if isinstance(default, ast.Tuple) else []
    if not all(isinstance(literal(e), float | int) for e in numbers):
        return [], []
    return numbers, (_parts(node, given, len(numbers)) or [])


def _parts(node: ast.FunctionDef, given: str, count: int) -> list[str] | None:
    """What the numbers of a tuple are called; None where it is used as a whole."""
    reads = [p for p in walk(node) if is_name(p, given)]
    titles = [f"{given}_{i + 1}" for i in range(count)]
    known = 0
    for part in walk(node):
        match part:
            case ast.Assign(targets=[ast.Tuple() as places], value=value) if is_name(
                value, given
            ):
                bound = list(targets(places))
                if len(bound) != count:
                    return None
                titles, known = bound, known + 1
            case ast.Subscript(value=value, slice=ast.Constant(value=int())) if is_name(
                value, given
            ):
                known += 1
    return titles if reads and known == len(reads) else None


class _InParts(NodeTransformer):
    def __init__(self, given: str, titles: list[str]):
        self.given, self.titles = given, titles

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        if is_name(node.value, self.given):
            return None
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_name(node.value, self.given):
            return ast.copy_location(name(self.titles[literal(node.slice)]), node)  # type: ignore[index]
        self.generic_visit(node)
        return node


_STATIC = ("bool", "str", "Size", "Sizes", "Count", "int", "Literal")


class _Traced(NodeTransformer):
    """Writes conditions on numbers that are traced as choices of jax."""

    def __init__(self, fields: list[Field]):
        static = (f.name for f in fields if f.word.startswith(_STATIC))
        self.traced = {f.name for f in fields} - {*static}

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if not self._reads(node.test):
            return node
        where = ast.Attribute(name("@module:jnp"), "where", ast.Load())
        return ast.Call(where, [node.test, node.body, node.orelse], [])

    def _reads(self, test: ast.AST) -> bool:
        """Whether a condition reads a traced number, and not only whether it is there."""
        match test:
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return False
        attribute = self_attribute(test)
        if attribute is not None:
            return attribute in (*self.traced, "step")
        return any(map(self._reads, ast.iter_child_nodes(test)))


def with_choices(body: list[ast.stmt], fields: list[Field]) -> list[ast.stmt]:
    """Statements in which what depends on a traced number is chosen by `jnp.where`."""
    return [_Traced(fields).visit(part) for part in body]


def where_given(body: list[ast.stmt], fields: list[Field]) -> list[ast.stmt]:
    """Statements that compute nothing of a hyperparameter that is None, but 1.0."""
    absent = {f.name for f in fields if f.word.endswith("| None")}
    for part in body:
        if not isinstance(part, ast.Assign) or isinstance(part.value, ast.IfExp):
            continue
        read = {self_attribute(p) for p in walk(part.value)} & absent
        for title in sorted(map(str, read)):
            there = expression("a is not None", a=expression(f"self.{title}"))
            part.value = ast.IfExp(there, part.value, ast.Constant(1.0))
    return body


def without_seeds(fields: list[Field], methods: list[ast.FunctionDef]) -> list[Field]:
    """Those that are no seeds, which steps of the library have no use for: they are given a key."""
    read = {self_attribute(p) for m in methods for p in walk(m)}
    seeds = ("seed", "key", "rng", "rng_key", "prng_key")
    return [f for f in fields if f.name in read or f.name not in seeds]


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


def trial(fields: list[Field], methods: list[ast.FunctionDef]) -> Trial | None:
    """What both are run with; None where something is drawn, or a value is not to be told."""
    if any("self.key(" in ast.unparse(m) for m in methods):
        return None
    required = [f for f in fields if f.default is None]
    if any(f.word not in _VALUES for f in required):
        return None
    values = tuple((f.name, _VALUES[f.word]) for f in required)
    return Trial(tuple((f.name, f.name) for f in required), values, ())
