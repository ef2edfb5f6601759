"""Layers that a constructor declares: single ones, choices between two, and sequences."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.declarations.recurrences import RECURRENT, recurrence
from mlax_scaffold.conversion.rows.tables import LAYERS
from mlax_scaffold.conversion.source.trees import (
    both,
    constant,
    expression,
    is_layer,
    is_none,
    name,
    names,
    negated,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.vocabulary import SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned

_LAMBDAS = ("equinox.nn.Lambda", "flax.nnx.Fn")


class Modules:
    """Declares layers."""

    def __init__(self, builder: Builder):
        self.builder = builder
        self.translator = builder.translator
        self.constructors = frozenset(LAYERS) | RECURRENT
        self.named: dict[str, ast.expr] = {}
        """Locals that stand for a layer."""
        self.shared: set[str] = set()
        """Attributes that are layers, and that others may refer to."""

    def qualified(self, node: ast.expr) -> str:
        """The full name of what a call calls."""
        func = node.func if isinstance(node, ast.Call) else node
        return self.translator.origin.qualified(func)

    def is_constructor(self, node: ast.expr) -> bool:
        """Whether a call makes a layer, or an activation that is one elsewhere."""
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name):
            if node.func.id in self.builder.own:
                return True
            maker = self.translator.around.makers.get(node.func.id)
            if maker is not None:
                return True
        return self.qualified(node) in self.constructors

    def is_module(self, node: ast.expr) -> bool:
        """Whether a value is a layer, or a sequence of them."""
        if isinstance(node, ast.Name):
            return node.id in self.named
        if self_attribute(node) in self.shared:
            return True
        if isinstance(node, ast.IfExp):
            return self.is_module(node.body) or self.is_module(node.orelse)
        if not isinstance(node, ast.Call):
            return False
        full = self.qualified(node)
        if full in SEQUENTIAL or full in _LAMBDAS:
            return True
        if full in ("jax.checkpoint", "flax.linen.remat", "flax.nnx.remat"):
            return bool(node.args) and self.is_module(node.args[0])
        return self.is_constructor(node)

    def declared(
        self, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether a value is a layer, and is declared under the name."""
        if isinstance(value, ast.Name) and value.id in self.named:
            value = self.named[value.id]
        if not self.is_module(value):
            return False
        if referred := self_attribute(value):
            self._referred(attribute, referred, value, condition)
            return True
        if isinstance(value, ast.IfExp):
            test = self.translator.expression(value.test)
            self.choice(attribute, test, value.body, value.orelse, condition)
            return True
        assert isinstance(value, ast.Call)
        full = self.qualified(value)
        if full in RECURRENT:
            recurrence(self.builder, full, attribute, value)
            return True
        if full in SEQUENTIAL:
            elements = self.elements(value)
            if elements is None:
                return False
            self.sequence(attribute, elements, condition)
            return True
        made = self.made(value)
        if isinstance(made, ast.Call) and is_layer(made):
            place = attribute
            if attribute in self.builder.fields:
                place = self.builder.free(f"{attribute}_layer")
                self.translator.around.attributes[attribute] = expression(
                    f"self.{place}"
                )
            if attribute in self.builder.attributes:
                # The other branch of a condition declared it, too.
                self._other(attribute, made, condition)
                return True
            self.builder.declare(place, made, condition)
            return True
        self.translator.around.attributes[attribute] = made
        return True

    def function(self, value: ast.expr) -> ast.expr | None:
        """The function that a layer without weights is: `nn.Tanh()`; None for all else."""
        if not isinstance(value, ast.Call) or not self.is_module(value):
            return None
        if self.qualified(value) in (*SEQUENTIAL, *RECURRENT):
            return None
        made = self.made(value)
        layer = isinstance(made, ast.Call) and is_layer(made)
        return None if layer or self_attribute(made) else made

    def _referred(
        self, attribute: str, to: str, value: ast.expr, condition: ast.expr | None
    ) -> None:
        """Give a layer another name."""
        if condition is not None:
            self.builder.notes.refuse(
                value,
                f"`self.{attribute}` is `self.{to}` under a condition",
                "write the condition where it is called",
            )
        known = self.translator.around.attributes
        known[attribute] = cloned(known.get(to, expression(f"self.{to}")))

    def _other(
        self, attribute: str, made: ast.Call, condition: ast.expr | None
    ) -> None:
        first = self.builder.attributes[attribute]
        if first.kind != "layer" or first.condition is None or condition is None:
            self.builder.notes.refuse(
                self.builder.node,
                f"`self.{attribute}` is declared twice",
                "declare each layer under a name of its own",
            )
            return
        place = self.builder.free(f"other_{attribute}")
        self.builder.declare(place, made, condition)
        body = [
            statement(
                f"if self.{attribute} is not None:\n    return self.{attribute}(x)"
            ),
            statement(f"return self.{place}(x)"),
        ]
        self.method(attribute, body)

    def made(self, value: ast.expr) -> ast.expr:
        """The layer, or the function, that an expression makes here."""
        if isinstance(value, ast.Name) and value.id in self.named:
            value = self.named[value.id]
        if isinstance(value, ast.Call):
            full = self.qualified(value)
            if full in _LAMBDAS:
                return self.translator.expression(value.args[0])
            if full in ("jax.checkpoint", "flax.linen.remat", "flax.nnx.remat"):
                return self.made(value.args[0])
        made = self.translator.expression(value)
        layer = isinstance(made, ast.Call) and is_layer(made)
        return made if layer else self.builder.without_locals(made)

    def elements(self, call: ast.Call) -> list[ast.expr] | None:
        """What a sequence is made of; None where it is not listed."""
        given = call.args
        if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple):
            given = given[0].elts
        elif (
            len(given) == 1
            and isinstance(given[0], ast.Call)
            and self.qualified(given[0]).endswith("OrderedDict")
            and isinstance(given[0].args[0], ast.List)
        ):
            pairs = given[0].args[0].elts
            given = [p.elts[1] for p in pairs if isinstance(p, ast.Tuple)]
        if any(isinstance(e, ast.Starred) for e in given):
            return None
        return list(given)

    def sequence(
        self, attribute: str, elements: list[ast.expr], condition: ast.expr | None
    ) -> None:
        """Declare layers that are called one after the other, and the method that does so."""
        before = self._before(attribute)
        calls = self.calls(attribute, elements, condition)
        self.translator.around.items[attribute] = calls
        body = chained(calls)
        if condition is not None:
            first = next((c for c in calls if self_attribute(c)), None)
            known = self_attribute(first) if first is not None else None
            if known:
                self.translator.around.attributes[attribute] = expression(
                    f"self._{attribute}"
                )
                test = expression(f"self.{known} is not None")
                self.translator.around.held[f"_{attribute}"] = cloned(test)
                self.method(attribute, [ast.If(test, body, []), *before])
                return
        self.method(attribute, body)

    def _before(self, attribute: str) -> list[ast.stmt]:
        """What is called already, where the condition of a later one does not hold."""
        for method in self.builder.methods:
            if method.name == f"_{attribute}":
                return cloned(method.body)
        known = self.builder.attributes.get(attribute)
        if known is not None and known.kind == "layer":
            return [statement(f"return self.{attribute}(x)")]
        return [statement("return x")]

    def calls(
        self,
        attribute: str,
        elements: list[ast.expr],
        condition: ast.expr | None,
        first: int = 0,
    ) -> list[ast.expr]:
        """What is called for each element: `self.name_0`, or a function."""
        found: list[ast.expr] = []
        for i, given in enumerate(elements, first):
            local = given.id if isinstance(given, ast.Name) else ""
            element = self.named.get(local, given)
            if isinstance(element, ast.Call) and self.qualified(element) in SEQUENTIAL:
                inner = self.elements(element)
                if inner is not None:
                    found += self.calls(f"{attribute}_{i}", inner, condition)
                    continue
            if isinstance(element, ast.IfExp) and (
                self.is_module(element.body) or self.is_module(element.orelse)
            ):
                found.append(self._chosen(f"{attribute}_{i}", element, condition))
                continue
            made = self.made(element)
            if isinstance(made, ast.Call) and is_layer(made):
                if ast.unparse(made.func) == "@layer:Identity":
                    continue
                place = self.builder.free(f"{attribute}_{i}")
                self.builder.declare(place, made, condition)
                found.append(expression(f"self.{place}"))
            elif not is_none(made):
                found.append(made)
        return found

    def _chosen(
        self, attribute: str, element: ast.IfExp, standing: ast.expr | None
    ) -> ast.expr:
        """What is called where a condition chooses between two layers of a sequence."""
        made = [self.made(side) for side in (element.body, element.orelse)]
        test = self.translator.expression(element.test)
        if not any(isinstance(m, ast.Call) and is_layer(m) for m in made):
            return ast.IfExp(test, *made)
        self.choice(attribute, test, element.body, element.orelse, standing)
        return expression(f"self._{attribute}")

    def choice(
        self,
        attribute: str,
        test: ast.expr,
        first: ast.expr,
        second: ast.expr,
        standing: ast.expr | None = None,
    ) -> None:
        """One of two layers, by a condition on hyperparameters; where another one stands, if any."""
        sides: list[tuple[list[ast.expr], tuple[str, ...], str | None]] = []
        for value, chosen, suffix in (
            (first, test, ""),
            (second, negated(test), "_otherwise"),
        ):
            elements = [value]
            if isinstance(value, ast.Call) and self.qualified(value) in SEQUENTIAL:
                elements = self.elements(value) or []
            condition = both(standing, chosen)
            before = set(self.builder.attributes)
            calls = self.calls(f"{attribute}{suffix}", elements, condition)
            # What is made for this choice is there where the condition holds.
            made = set(self.builder.attributes) - before
            places = (self_attribute(c) for c in calls)
            known = next((p for p in places if p in made), None)
            sides.append((calls, self._inputs(calls), known))
        (one, given, there), (other, others, otherwise) = sides
        inputs = max(given, others, key=len)
        guard = expression(f"self.{there} is not None") if there else test
        body: list[ast.stmt] = [
            ast.If(cloned(guard), chained(one, inputs[: len(given)]), [])
        ]
        rest = chained(other, inputs[: len(others)])
        if otherwise:
            guard = expression(f"self.{otherwise} is not None")
            body += [ast.If(guard, rest, []), statement(f"return {inputs[0]}")]
        else:
            body += rest
        self.method(attribute, body, *inputs)
        held = both(standing, self._held(test, first, second))
        if held is not None and names(held) <= {"self"}:
            self.translator.around.held[f"_{attribute}"] = held

    def _held(
        self, test: ast.expr, first: ast.expr, second: ast.expr
    ) -> ast.expr | None:
        """Where one of them is no layer, but None: the condition under which there is one."""
        if is_none(second):
            return test
        if is_none(first):
            return negated(test)
        if not isinstance(second, ast.IfExp):
            return None
        inner = self.translator.expression(second.test)
        held = self._held(inner, second.body, second.orelse)
        return held and ast.BoolOp(ast.Or(), [cloned(test), held])

    def _inputs(self, calls: list[ast.expr]) -> tuple[str, ...]:
        """The inputs of what is called, where it is a method, or one class of the file."""
        title = self_attribute(calls[0]) if len(calls) == 1 else None
        method = next((m for m in self.builder.methods if m.name == title), None)
        if method is not None:
            return tuple(a.arg for a in method.args.args[1:])
        known = self.builder.attributes.get(title or "")
        if known is not None and known.layer.startswith("@own:"):
            own = self.builder.own[known.layer.removeprefix("@own:")]
            kept = tuple(i for i in own.inputs if not own.dropped.get(i))
            return kept or ("x",)
        return ("x",)

    def branched(self, node: ast.If, test: ast.expr) -> bool:
        """Whether a condition chooses between a layer and another one, under one name."""
        if len(node.body) != 1 or len(node.orelse) != 1:
            return False
        first, second = node.body[0], node.orelse[0]
        if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
            return False
        attribute = self_attribute(first.targets[0])
        if attribute is None or attribute != self_attribute(second.targets[0]):
            return False
        modules = [self.is_module(v) for v in (first.value, second.value)]
        if not any(modules) or is_none(first.value) or is_none(second.value):
            return False
        self.choice(attribute, test, first.value, second.value)
        return True

    def method(self, attribute: str, body: list[ast.stmt], *inputs: str) -> None:
        method = method_of(f"_{attribute}", body, *inputs)
        self.builder.methods = [
            m for m in self.builder.methods if m.name != method.name
        ]
        self.builder.methods.append(method)
        self.builder.attributes.setdefault(attribute, Attribute("sequence"))
        self.translator.around.attributes[attribute] = expression(f"self._{attribute}")


def chained(calls: list[ast.expr], inputs: tuple[str, ...] = ("x",)) -> list[ast.stmt]:
    """Statements that call one after the other, and return the result; a single one with all inputs."""
    start, *others = inputs
    if others:
        return [ast.Return(ast.Call(cloned(calls[0]), [*map(name, inputs)], []))]
    body: list[ast.stmt] = []
    for i, call in enumerate(calls):
        applied = applied_to(call, name(start))
        if i == len(calls) - 1:
            body.append(ast.Return(applied))
        else:
            body.append(ast.Assign([ast.Name(start, ast.Store())], applied, lineno=0))
    return body or [statement(f"return {start}")]


def applied_to(call: ast.expr, argument: ast.expr) -> ast.expr:
    """A function of one argument, called."""
    if isinstance(call, ast.IfExp):
        made = applied_to(call.body, argument), applied_to(call.orelse, argument)
        return ast.IfExp(cloned(call.test), *made)
    if isinstance(call, ast.Lambda) and len(call.args.args) == 1:
        from mlax_scaffold.conversion.source.trees import replaced

        return replaced(call.body, {call.args.args[0].arg: argument})
    return ast.Call(cloned(call), [argument], [])


def method_of(title: str, body: list[ast.stmt], *inputs: str) -> ast.FunctionDef:
    """A method of one input, or of several, of which those after the first may be left out."""
    given = [ast.arg("self"), *(ast.arg(i) for i in inputs or ("x",))]
    defaults: list[ast.expr] = [constant(None) for _ in given[2:]]
    parameters = ast.arguments([], given, None, [], [], None, defaults)
    return ast.FunctionDef(title, parameters, body, [], None, lineno=0)
