"""Sizes in the text of a spec, as shapes write them; and what names of a class and its module stand for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.source import defaults_of, kind_of_value, self_attribute

_WHOLE = ("int", "Size", "Count")
"""Types of hyperparameters that name sizes."""

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_COMPARED = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
_DEPTH = 5
"""So many values are looked up, one in the other."""


@dataclass
class Scope:
    """A class, or a function, and the module that it stands in."""

    module: ast.Module
    owner: ast.ClassDef | None = None
    locals: dict[str, ast.expr] = field(default_factory=dict)
    """Local values of `setup`."""

    @cached_property
    def fields(self) -> dict[str, ast.expr | None]:
        """The fields of the class, in their order, with their defaults."""
        return fields_of(self.owner) if self.owner else {}

    @cached_property
    def methods(self) -> dict[str, ast.FunctionDef]:
        """The methods of the class, by name."""
        return functions_in(self.owner) if self.owner else {}

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions beside it."""
        return functions_in(self.module)

    def called(self, function: ast.expr) -> ast.FunctionDef | None:
        """The method, or the function beside the definition, that is called."""
        if name := self_attribute(function):
            return self.methods.get(name)
        if isinstance(function, ast.Name):
            return self.functions.get(function.id)
        return None

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes beside it."""
        return {s.name: s for s in self.module.body if isinstance(s, ast.ClassDef)}

    @cached_property
    def declared(self) -> dict[str, ast.expr]:
        """What `setup`, or a constructor, assigns to attributes, the first where there are several."""
        found: dict[str, ast.expr] = {}
        setup = self.methods.get("setup") or self.methods.get("__init__")
        for node in walk(setup) if setup else ():
            if not isinstance(node, ast.Assign):
                continue
            for target, value in chain.from_iterable(
                _pairs(target, node.value) for target in node.targets
            ):
                if name := self_attribute(target):
                    found.setdefault(name, value)
                elif isinstance(target, ast.Name):
                    self.locals.setdefault(target.id, value)
        return found

    @property
    def _is_constructed(self) -> bool:
        """Whether its fields are arguments of a constructor."""
        return "__init__" in self.methods and "setup" not in self.methods

    def weight(self, node: ast.AST) -> tuple[str, ...] | None:
        """The shape of a weight or a state that is declared; None for anything else."""
        value = self.declared.get(self_attribute(node) or "")
        if isinstance(value, ast.IfExp):
            value = value.body
        match value:
            case ast.Call(func=ast.Name(id="trainable" | "state"), args=[_, shape, *_]):
                pass
            case _:
                return None
        if isinstance(shape, ast.Name):
            shape = self.locals.get(shape.id, shape)
        if not isinstance(shape, ast.Tuple):
            return None
        return tuple(self.size(part) for part in shape.elts)

    def size(self, node: ast.expr, depth: int = 0) -> str:
        """The text of a size in a shape, or ""."""
        if depth > _DEPTH:
            return ""
        name = self_attribute(node)
        if name in self.fields:
            return name or ""
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return str(number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                parts = [self.size(part, depth + 1) for part in (left, right)]
                return computed(parts, SIGNS[type(op)])
            case ast.Name(id=local) if local in self.locals:
                return self.size(self.locals[local], depth + 1)
            case ast.Name(id=field) if field in self.fields and self._is_constructed:
                return field
            case ast.Call(func=ast.Name(id="int"), args=[inner]):
                return self.size(inner, depth + 1)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                holds = _holds(test)
                chosen = body if holds else otherwise
                return "" if holds is None else self.size(chosen, depth + 1)
            case ast.Subscript(value=several, slice=ast.Constant(value=int(at))):
                return self._item(several, at, depth)
        if name in self.declared:
            return self.size(self.declared[name], depth + 1)
        return ""

    def _item(self, several: ast.expr, at: int, depth: int) -> str:
        """The size that stands at a place of a field, or of a list of `setup`."""
        if isinstance(several, ast.Name):
            several = self.locals.get(several.id, several)
        match several:
            case ast.List(elts=items) | ast.Tuple(elts=items) if at < len(items):
                return self.size(items[at], depth + 1)
            case ast.BinOp(left=first, op=ast.Add()) if at == 0 and depth <= _DEPTH:
                return self._item(first, at, depth + 1)
        name = self_attribute(several)
        return f"{name}[{at}]" if at == 0 and name in self.fields else ""


def _holds(test: ast.expr) -> bool | None:
    """Whether a condition on numbers holds; None where it is about anything else."""
    match test:
        case ast.Constant(value=bool() | int() as value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            holds = _holds(inner)
            return None if holds is None else not holds
        case ast.Compare(
            left=ast.Constant(value=int(left)),
            ops=[op],
            comparators=[ast.Constant(value=int(right))],
        ) if type(op) in _COMPARED:
            return _COMPARED[type(op)](left, right)
    return None


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned, and its value: each of `self.q, self.k = Linear(...), Linear(...)`."""
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(
            values
        ):
            return [*zip(targets, values, strict=True)]
        case ast.Tuple(elts=targets), ast.ListComp(elt=made) | ast.GeneratorExp(
            elt=made
        ):
            return [(each, made) for each in targets]
    return [(target, value)]


def computed(parts: list[str], sign: str) -> str:
    """The text of a size that is computed of others; empty where one is unknown."""
    if not all(parts):
        return ""
    left, right = (
        f"({part})" if sign != "+" and not part.isidentifier() and not part.isdecimal()
        else part
        for part in parts
    )  # fmt: skip
    both = f"{left}{sign}{right}"
    if left.isdecimal() and right.isdecimal():
        return str(eval_sizes(int(left), sign, int(right)))
    return both


def eval_sizes(left: int, sign: str, right: int) -> int:
    """What two numbers make."""
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    return left // right if right else 0


def functions_in(owner: ast.Module | ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The functions of a module or a class, by name."""
    return {s.name: s for s in owner.body if isinstance(s, ast.FunctionDef)}


def fields_of(owner: ast.ClassDef) -> dict[str, ast.expr | None]:
    """The annotated fields of a class in their order, but for initializers, with their defaults.

    Of a class that has none but those that its constructor sets, the arguments of that, which become fields.
    """
    fields = {
        s.target.id: s.value
        for s in owner.body
        if isinstance(s, ast.AnnAssign)
        and isinstance(s.target, ast.Name)
        and not _initializes(s.annotation)
    }
    constructor = functions_in(owner).get("__init__")
    if constructor is None:
        return fields
    set_there = {self_attribute(n) for n in walk(constructor)}
    own = {name: value for name, value in fields.items() if name not in set_there}
    return own or _parameters(constructor.args)


def hyperparameters(tree: ast.Module, node: ast.AST) -> set[str]:
    """What a definition calls its hyperparameters where a node of it stands."""
    for statement in tree.body:
        if not any(part is node for part in ast.walk(statement)):
            continue
        if isinstance(statement, ast.ClassDef):
            return {f"self.{name}" for name in fields_of(statement)}
        if isinstance(statement, ast.FunctionDef):
            return {a.arg for a in statement.args.kwonlyargs}
    return set()


def _parameters(given: ast.arguments) -> dict[str, ast.expr | None]:
    """Parameters without the first, with their defaults."""
    plain = [*given.posonlyargs, *given.args]
    none: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    rows = zip(plain, [*none, *given.defaults], strict=True)
    keyword = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return {a.arg: default for a, default in [*rows, *keyword][1:]}


def _initializes(annotation: ast.expr) -> bool:
    word = WORDS.get(unparsed(annotation))
    return word is not None and word.initializes


def counts_among(parameters: ast.arguments) -> set[str]:
    """The parameters of a function that are whole numbers, by their types or their defaults."""
    listed = [*parameters.posonlyargs, *parameters.args]
    counts = {
        a.arg
        for a, default in defaults_of(parameters)
        if kind_of_value(default) == "int"
    }
    for a in (*listed, *parameters.kwonlyargs):
        if a.annotation is not None and unparsed(a.annotation) in _WHOLE:
            counts.add(a.arg)
    return counts


def arguments(call: ast.Call, names: Mapping[str, object]) -> dict[str, ast.expr]:
    """The arguments of a call by the names that they have.

    Those by place have names that are not given by name beside them, as `generate --fix` writes them.
    """
    named = {k.arg: k.value for k in call.keywords if k.arg}
    order = [*names]
    if named.keys() & {*order[: len(call.args)]}:
        order = [name for name in order if name not in named]
    return dict(zip(order, call.args, strict=False)) | named
