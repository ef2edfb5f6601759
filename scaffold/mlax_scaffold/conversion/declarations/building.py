"""A class on its way into a spec: hyperparameters, declarations and methods as they are found."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Protocol

from mlax_scaffold.conversion.declarations.initial_axes import with_axes
from mlax_scaffold.conversion.declarations.inline_weights import typed
from mlax_scaffold.conversion.forms.initial_rules import Rule
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.rows.array_leaves import draws
from mlax_scaffold.conversion.rows.calculations import Calculations
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.shapes.helper_dtypes import HelperCalls
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Value
from mlax_scaffold.conversion.source.first_passes import of_comprehension
from mlax_scaffold.conversion.source.free_names import free_names
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    is_none,
    name,
    names,
    negated,
    replaced,
    same,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.vocabulary import CHAINED, TAKEN
from mlax_scaffold.conversion.source.walking import cloned


class Recurrent(Protocol):
    """What runs a cell over time."""

    def result(self, symbols: Symbols, given: list[Value]) -> Value:
        """What is known of the result of a call."""
        ...


@dataclass
class Attribute:
    """What an attribute of self is."""

    kind: str
    """"layer", "layers", "weight", "state", "array", "sequence", "derived", "container" or
    "method"."""
    layer: str = ""
    """The name of the layer's class, with its mark."""
    call: ast.Call | None = None
    condition: ast.expr | None = None
    elements: list[ast.expr] = field(default_factory=list)
    repeated: tuple[ast.expr, ast.expr] | None = None
    """The layer that a list holds at all of its places, and what a loop over these goes over."""
    first: dict[str, ast.expr] = field(default_factory=dict)
    """What the locals of a loop that declares them are in its first pass."""


@dataclass
class Builder:
    """The class that is made."""

    origin: Origin
    node: ast.ClassDef | ast.FunctionDef
    framework: str
    notes: Notes
    own: dict[str, Interface]
    name: str = ""
    fields: dict[str, Field] = field(default_factory=dict)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    setup: list[ast.stmt] = field(default_factory=list)
    methods: list[ast.FunctionDef] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    helpers: HelperCalls = field(default_factory=HelperCalls)
    """Calls of functions of the file."""
    calculations: Calculations = field(default_factory=Calculations)
    containers: dict[str, Value] = field(default_factory=dict)
    """Containers of weights, by the attribute that each is."""
    recurrences: dict[str, Recurrent] = field(default_factory=dict)
    """Networks over time, by the method that runs each."""
    fixed: dict[str, str] = field(default_factory=dict)
    """Parameters for a class of layers, and the one that each always is: its default."""
    rules: tuple[Rule, ...] = ()
    """What classes that this one is a part of fill its weights with, the inner ones first."""
    written: set[str] = field(default_factory=set)
    """Locals of the constructor that are written out in initializers."""
    consumed: set[str] = field(default_factory=set)
    """Methods that make layers, which setup does now."""

    kept: dict[str, str] = field(default_factory=dict)
    """The attributes that locals of the constructor are kept under, where functions read them later."""
    begun_as: dict[str, ast.expr] = field(default_factory=dict)
    """What weights and states of a constructor are set to."""

    def __post_init__(self):
        self.name = self.name or self.node.name
        self.translator = Translator(
            self.origin, self.framework, self.notes, self.calculations, self.own
        )

    def of_own_function(self, title: str) -> ast.expr | None:
        """The function that a field of None stands for, where its default has no name elsewhere.

        None for a field with another default, which stays as it is.
        """
        known = self.fields[title]
        given = known.default
        own = getattr(given, "id", "") in self.origin.functions
        if known.word != "Activation" or not (isinstance(given, ast.Lambda) or own):
            return None
        assert given is not None
        self.fields[title] = replace(
            known, word="Activation | None", default=ast.Constant(None)
        )
        return expression(f"self.{title} or f", f=given)

    def mark_of(self, attribute: str) -> str:
        """What makes a layer that an attribute always is, with its mark; "" for anything else."""
        known = self.attributes.get(attribute)
        return known.layer if known is not None and known.kind == "layer" else ""

    def free(self, wanted: str) -> str:
        """A name of an attribute that nothing has yet."""
        wanted = re.sub(r"\W", "_", wanted).strip("_") or "layer"
        if wanted[0].isdigit():
            wanted = f"layer_{wanted}"
        if iskeyword(wanted):
            # `name="global"`
            wanted += "_layer"
        taken = {*self.fields, *self.attributes, *TAKEN}
        made, number = wanted, 1
        while made in taken:
            number += 1
            made = f"{wanted}_{number}"
        return made

    def declare(
        self, attribute: str, call: ast.Call, condition: ast.expr | None = None
    ) -> str:
        """Declare a layer; its mark is the function of the call."""
        assert isinstance(call.func, ast.Name)
        call.keywords = self.keywords_of(call)
        if call.func.id == "@layer:Dropout" and call.args and condition is None:
            call.args[0] = self._rate(call.args[0])
        self.attributes[attribute] = Attribute("layer", call.func.id, call, condition)
        self._write(attribute, call, condition)
        return attribute

    def _rate(self, rate: ast.expr) -> ast.expr:
        """A rate that is zero where it is None: nothing drops there, and the layer is made all the same."""
        known = self.fields.get(self_attribute(rate) or "")
        if known is None or not known.word.endswith("| None"):
            return rate
        return expression("0.0 if r is None else r", r=rate)

    def declare_list(
        self,
        attribute: str,
        call: ast.Call,
        generators: list[ast.comprehension],
        condition: ast.expr | None = None,
    ) -> str:
        """Declare a list of layers of one kind."""
        assert isinstance(call.func, ast.Name)
        call.keywords = self.keywords_of(call)
        known = Attribute("layers", call.func.id, call, condition)
        known.first = self.first_of(generators)
        self.attributes[attribute] = known
        self._write(attribute, ast.ListComp(call, generators), condition)
        return attribute

    def first_of(self, generators: list[ast.comprehension]) -> dict[str, ast.expr]:
        """What the locals of a list are in its first pass."""
        if self.framework in ("flax", "haiku"):
            # Layers of these have the sizes of what they are called with.
            return {}
        return of_comprehension(generators, self.setup)

    def declare_weight(
        self,
        attribute: str,
        initializer: ast.expr,
        shape: ast.expr,
        *,
        state: bool = False,
        dtype: ast.expr | None = None,
        condition: ast.expr | None = None,
    ) -> None:
        """Declare a weight, or a state."""
        word = "@word:state" if state else "@word:trainable"
        call = ast.Call(name(word), [initializer, self._whole(shape)], [])
        if dtype is not None:
            call.args.append(dtype)
        if condition is not None:
            if names(condition) - {"self"}:
                # What is local to setup means nothing where the weight is read.
                there = expression(f"self.{attribute} is not None")
                self.calculations.optional[attribute] = there
            else:
                self.calculations.optional[attribute] = condition
        kind = "state" if state else "weight"
        if condition is not None and self._otherwise(attribute, call, condition):
            there = expression(f"self.{attribute} is not None")
            self.calculations.optional[attribute] = there
            return
        self.attributes[attribute] = Attribute(kind, call=call, condition=condition)
        self._write(attribute, call, condition)

    def _whole(self, shape: ast.expr) -> ast.expr:
        """A field of sizes as the shape that it is, and no axis of one."""
        match shape:
            case ast.Tuple(elts=[ast.Attribute() as only]):
                known = self.fields.get(self_attribute(only) or "")
                if known is not None and known.word.startswith(("Shape", "Sizes")):
                    return only
        return shape

    def _otherwise(self, attribute: str, call: ast.expr, condition: ast.expr) -> bool:
        """Whether a weight is declared where the condition of another one of its name fails."""
        known = self.attributes.get(attribute)
        if known is None or known.kind != "weight" or known.condition is None:
            return False
        conjoined = isinstance(condition, ast.BoolOp) and isinstance(
            condition.op, ast.And
        )
        parts = (
            condition.values
            if isinstance(condition, ast.BoolOp) and conjoined
            else [condition]
        )
        for part in self.setup:
            if not isinstance(part, ast.Assign) or not isinstance(
                part.value, ast.IfExp
            ):
                continue
            if self_attribute(part.targets[0]) != attribute:
                continue
            rest = [p for p in parts if not same(p, negated(part.value.test))]
            if len(rest) == len(parts) or not is_none(part.value.orelse):
                return False
            test: ast.expr | None = None
            for one in rest:
                test = both(test, one)
            merged = _of_either_shape(part.value.test, part.value.body, call)
            if test is None and merged is not None:
                part.value = merged
            elif test is None:
                part.value.orelse = call
            else:
                part.value.orelse = ast.IfExp(test, call, ast.Constant(None))
            return True
        return False

    def begun_like(self, node: ast.AST, attribute: str, value: ast.expr) -> ast.expr:
        """What an attribute is set to; where that is another weight, what that begins as."""
        begun = self.begun_as.get(self_attribute(value) or "")
        if begun is None:
            return value
        if draws(self.origin, begun):
            self.notes.remark(
                node,
                f"`self.{attribute}` is drawn by itself, and does not begin as the other one does",
                "set it before the first step where the two have to be the same",
            )
        return cloned(begun)

    def derive(self, attribute: str, value: ast.expr, kind: str = "derived") -> None:
        """Declare a value that is computed of hyperparameters."""
        self.attributes[attribute] = Attribute(kind)
        self.setup.append(statement(f"self.{attribute} = v", v=value))

    def without_locals(self, value: ast.expr) -> ast.expr:
        """A function that is called later, which reads what setup has given names to as attributes."""
        bound = {
            part.targets[0].id
            for part in self.setup
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        }
        read = sorted(free_names(value) & bound)
        for local in read:
            if local not in self.kept:
                self.kept[local] = self.free(local)
                self.derive(self.kept[local], name(local))
        return replaced(value, {n: expression(f"self.{self.kept[n]}") for n in read})

    def _write(
        self, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> None:
        if condition is not None:
            value = ast.IfExp(cloned(condition), value, ast.Constant(None))
        target = ast.Attribute(name("self"), attribute, ast.Store())
        self.setup.append(ast.Assign([target], value, lineno=self.node.lineno))

    def give_initializer(
        self, attribute: str, weight: str, initializer: ast.expr
    ) -> bool:
        """Give a declared weight, or the weight of a declared layer, another initializer."""
        known = self.attributes.get(attribute)
        if known is None or known.call is None:
            return False
        if not weight:
            if known.kind not in ("weight", "state"):
                return False
            known.call.args[0] = with_axes(initializer, "", None, self.framework)
        else:
            if not known.layer.startswith("@layer:"):
                return False
            keyword, initializer = f"{weight}_initializer", typed(initializer)
            if isinstance(initializer, ast.Lambda):
                # A layer names the dtype of its weights where it is told one.
                initializer.args.defaults = [ast.Constant(None)]
            if weight in ("kernel", "embedding"):
                layer = known.layer.removeprefix("@layer:")
                initializer = with_axes(initializer, layer, known.call, self.framework)
            kept = [k for k in known.call.keywords if k.arg != keyword]
            known.call.keywords = [*kept, ast.keyword(keyword, initializer)]
        return True

    def keywords_of(self, call: ast.Call) -> list[ast.keyword]:
        """The keywords of a declaration; initializers take a key, too."""
        kept = [k for k in call.keywords if k.arg not in ("@name", CHAINED)]
        for keyword in kept:
            if str(keyword.arg).endswith("_initializer"):
                keyword.value = typed(keyword.value)
            if keyword.arg == "kernel_initializer":
                keyword.value = with_axes(
                    keyword.value, _layer_of(call), call, self.framework
                )
        return kept


def _layer_of(call: ast.Call) -> str:
    """The name of the layer of the library that a call declares; "" for another."""
    marked = call.func.id if isinstance(call.func, ast.Name) else ""
    return marked.removeprefix("@layer:") if marked.startswith("@layer:") else ""


def _of_either_shape(
    test: ast.expr, body: ast.expr, orelse: ast.expr
) -> ast.expr | None:
    """One weight with the sizes of either branch, where both begin alike with as many axes."""
    match body, orelse:
        case (
            ast.Call(func=word, args=[first, ast.Tuple(elts=ones)]),
            ast.Call(func=other, args=[second, ast.Tuple(elts=others)]),
        ) if same(word, other) and same(first, second) and len(ones) == len(others):
            sizes: list[ast.expr] = [
                a if same(a, b) else ast.IfExp(cloned(test), a, b)
                for a, b in zip(ones, others, strict=True)
            ]
            return ast.Call(word, [first, ast.Tuple(sizes, ast.Load())], [])
    return None
