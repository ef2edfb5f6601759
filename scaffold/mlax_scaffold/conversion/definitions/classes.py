"""A class of layers as a definition: what it is given, what it declares, and what it computes."""

from __future__ import annotations

import ast
import os
from dataclasses import replace

from mlax_scaffold.conversion.bodies.bodies import Bodies
from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.carried_pairs import (
    pairs_carried,
    tell_pairs,
)
from mlax_scaffold.conversion.declarations.dividing_rates import with_dividing_rates
from mlax_scaffold.conversion.declarations.initializer_defaults import with_initializers
from mlax_scaffold.conversion.declarations.inner_layers import inner_layers
from mlax_scaffold.conversion.declarations.recurrences import pairs_given
from mlax_scaffold.conversion.declarations.weight_dtypes import (
    dtypes_kept,
    of_positions,
    weight_of,
    with_filled_truths,
    with_first_dtype,
)
from mlax_scaffold.conversion.definitions.added_fields import read_of
from mlax_scaffold.conversion.definitions.assumed_axes import (
    NOTHING,
    Assumed,
    with_assumed_axes,
)
from mlax_scaffold.conversion.definitions.cast_inputs import CastInputs
from mlax_scaffold.conversion.definitions.class_fields import static_type
from mlax_scaffold.conversion.definitions.class_methods import (
    computes_nothing,
    is_unread,
    optional,
)
from mlax_scaffold.conversion.definitions.constructor import Constructor
from mlax_scaffold.conversion.definitions.early_locals import with_early_locals
from mlax_scaffold.conversion.definitions.list_lengths import with_list_lengths
from mlax_scaffold.conversion.definitions.needed_inputs import with_needed_inputs
from mlax_scaffold.conversion.definitions.needed_layers import with_needed_layers
from mlax_scaffold.conversion.definitions.preparing import prepare
from mlax_scaffold.conversion.definitions.resolved_sizes import Resolve
from mlax_scaffold.conversion.definitions.started_methods import of_start
from mlax_scaffold.conversion.definitions.told_shapes import told
from mlax_scaffold.conversion.examples.examples import example
from mlax_scaffold.conversion.examples.nested_examples import Fitted
from mlax_scaffold.conversion.examples.trials import (
    drawing,
    trial,
    without_absent_keys,
)
from mlax_scaffold.conversion.forms.counted_inputs import with_counts
from mlax_scaffold.conversion.forms.handed_states import refuse_of_one
from mlax_scaffold.conversion.forms.initial_rules import Rule
from mlax_scaffold.conversion.forms.literal_locals import sizes_of
from mlax_scaffold.conversion.forms.mask_uses import added_inputs
from mlax_scaffold.conversion.forms.scalar_inputs import is_of_one, scalars_given
from mlax_scaffold.conversion.forms.unread_locals import without_unread
from mlax_scaffold.conversion.output.description import Described, Field
from mlax_scaffold.conversion.shapes.annotations import (
    annotated,
    flattened,
    result_type,
    symbols_named,
    with_leading_axes,
)
from mlax_scaffold.conversion.shapes.derived_sizes import (
    derived_values,
    local_values,
)
from mlax_scaffold.conversion.shapes.draws import Draws
from mlax_scaffold.conversion.shapes.examples_of_one import (
    with_axes_of_one,
    with_mapped_axes,
)
from mlax_scaffold.conversion.shapes.guessed_sums import with_guessed_sums
from mlax_scaffold.conversion.shapes.image_sizes import with_image_sizes
from mlax_scaffold.conversion.shapes.indexed_inputs import with_indexed_inputs
from mlax_scaffold.conversion.shapes.joints import settle_ranks
from mlax_scaffold.conversion.shapes.listed_inputs import containers_given
from mlax_scaffold.conversion.shapes.named_sizes import with_values
from mlax_scaffold.conversion.shapes.signatures import Signature
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.taken_apart import taken_apart, with_edges
from mlax_scaffold.conversion.shapes.tried_sizes import with_tried_sizes
from mlax_scaffold.conversion.shapes.values import Array, Several, Value, is_asked_early
from mlax_scaffold.conversion.source.arguments_of import absent_by_default
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    docstring,
    expression,
    literal,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, walk

CALLS = ("__call__", "forward", "call", "apply")
_STATES = ("init_hidden", "initHidden", "init_state", "zero_state", "begin_state")
DATACLASSES = ("flax", "equinox")


class ClassReader(CastInputs):
    """Converts one class."""

    def __init__(
        self,
        origin: Origin,
        node: ast.ClassDef,
        framework: str,
        notes: Notes,
        own: dict[str, Interface],
        results: dict[str, Signature],
        title: str,
        rules: tuple[Rule, ...] = (),
        assumed: Assumed = NOTHING,
    ):
        prepare(origin, node, notes)
        self.node, self.framework, self.notes = node, framework, notes
        self.builder = Builder(origin, node, framework, notes, own, title)
        self.builder.rules = rules
        self.title, self.assumed = title, assumed
        self.builder.translator.declared = frozenset(
            self_attribute(part) or ""
            for part in walk(node)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        )
        self.symbols = Symbols(
            {k: literal(v.value) for k, v in origin.assigned.items()}
        )
        start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), 0)
        if isinstance(start, ast.FunctionDef):
            self.symbols.constants |= sizes_of(start)
        self.fitted: Fitted | None = None
        """How its example is made, once it is read."""
        self.results = results
        self.methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        if not any(self_attribute(p) == "initial_state" for p in walk(node)):
            # Who calls a cell gives it the state that it begins with.
            self.builder.consumed.add("initial_state")
        self._leave_states()
        self.builder.consumed |= of_start(self.methods)
        self.call = next((self.methods[c] for c in CALLS if c in self.methods), None)

    def _leave_states(self) -> None:
        """Leave out methods that make the states that a caller begins with, which nothing calls."""
        read = {self_attribute(part) for part in walk(self.node)}
        for title in _STATES:
            if title in self.methods and title not in read:
                self.builder.consumed.add(title)
                self.notes.remark(
                    self.methods[title],
                    f"`{title}` is left out: nothing of the class calls it",
                    "make the states that a call begins with where it is called",
                )

    def read(self) -> tuple[Described, Interface] | None:
        """The definition, and how others build on it."""
        if self.call is None:
            self.notes.refuse(
                self.node,
                f"{self.node.name} has no method {' or '.join(CALLS[:2])}",
                "give it one, which takes arrays and returns them",
            )
            return None
        builder, call = self.builder, self.call
        if computes_nothing(call):
            self.notes.refuse(
                call,
                f"the call of {self.node.name} computes nothing",
                "convert a class that is built on it, and defines the call",
            )
            return None
        with_counts(call)
        inputs = self._inputs(call)
        builder.calculations.first_input = inputs[0].arg if inputs else "x"
        builder.calculations.absent = absent_by_default(self.node)
        for given in filter(static_type, inputs):
            self.notes.refuse(
                given,
                f"`{given.arg}` is a number of Python, and what a layer is given is arrays",
                "compute it of the shape of an input, or take it as a hyperparameter",
            )
        constructor = Constructor(builder)
        self._flags()
        decorated = "dataclass" in " ".join(map(ast.unparse, self.node.decorator_list))
        fields = decorated or self.framework in (*DATACLASSES, "plain")
        if fields and "__init__" not in self.methods:
            self._dataclass(constructor)
        start = self.methods.get("__init__") or self.methods.get("setup")
        if start is not None and start.name == "setup":
            builder.translator.around.static = True
            constructor.lists.prepare(start.body)
            for part in without_docstring(start.body):
                constructor.statement(part, None)
            constructor.lists.complete()
            builder.translator.around.static = False
        elif start is not None:
            constructor.read(start)
            for kept in dtypes_kept(start):
                given = expression(f"{builder.calculations.first_input}.dtype")
                builder.translator.around.attributes[kept] = given
        helpers = self._helpers(call)
        forward = self._method(call, "forward", inputs)
        with_first_dtype(forward, builder.calculations.first_input)
        builder.methods += helpers
        bodies = Bodies(builder, self.symbols, self.results)
        sizes = [f.name for f in builder.fields.values() if f.word == "Size"]
        self.symbols.numbers = {*sizes}
        arrays = (a for a in inputs if not static_type(a))
        env: dict[str, Value] = {**told(self.symbols, arrays, sizes, call.body)}
        carried = pairs_carried(
            forward,
            builder.attributes,
            carry_first=self.framework in ("flax", "nnx"),
            own={f"@own:{n}": s.tuples() for n, s in self.results.items() if s},
        )
        if self.framework == "haiku" and carried:
            tell_pairs(self.notes, call)
        carried |= pairs_given(builder.recurrences, forward)
        env = with_edges(self.symbols, env)
        env |= {k: v for k, v in (taken_apart(forward) | carried).items() if k in env}
        of_torch = self.framework == "torch"
        env |= containers_given(forward, inputs, of_torch)
        if self.framework == "equinox":
            open_ = {n for n, v in env.items() if isinstance(v, Array) and v.lead}
            env |= {s: Array([], False) for s in scalars_given(forward) & open_}
        with_assumed_axes(self.symbols, self.assumed, self.title, env, sizes)
        with_indexed_inputs(self.symbols, forward, builder.node, env)
        for value in [env[given] for given in added_inputs(forward) & env.keys()]:
            if isinstance(value, Array) and value.kind == "Bool":
                value.kind = "Float"
        for given in of_positions(forward, self.builder.attributes):
            value = env.get(given)
            if isinstance(value, Array) and value.kind == "Int":
                self.symbols.ranked(value, ("batch", "positions"))
        again, declared = cloned(forward), len(builder.attributes)
        result = bodies.run(forward, env)
        if self.framework == "equinox" and not bodies.arrays.single:
            with_mapped_axes(self.symbols, env)
        if len(builder.attributes) == declared and is_asked_early(env.values()):
            # How many axes an input has may be said after the line that asks for one.
            known = list(builder.notes.found)
            result = Bodies(builder, self.symbols, self.results).run(again, env)
            builder.notes.found[:] = known
            forward = again

        maps = not bodies.arrays.single
        pairs = {k for k, value in env.items() if isinstance(value, Several)}
        if self.framework == "equinox" and is_of_one(
            forward, env.keys(), maps=maps, tuples=pairs
        ):
            refuse_of_one(builder.origin, call, self.notes)
            with_axes_of_one(self.symbols, flattened(env.values()))
        with_filled_truths(forward, env)
        self._cast_to_weight(forward, env)
        with_guessed_sums(self.symbols, env)
        if (tried := builder.origin.tried.get(builder.node.name)) is not None:
            with_tried_sizes(self.symbols, env, tried)
        for value in env.values():
            if isinstance(value, Array):
                with_image_sizes(self.symbols, value, builder.fields, self.framework)
                self.symbols.settled(value)
        settle_ranks(self.symbols)
        if self.framework == "equinox":
            self.symbols.settle_examples()
        return self._described(call, forward, inputs, env, result)

    def _described(
        self,
        call: ast.FunctionDef,
        forward: ast.FunctionDef,
        inputs: list[ast.arg],
        env: dict[str, Value],
        result: Value,
    ) -> tuple[Described, Interface]:
        builder = self.builder
        added = self._added(env)
        resolve = Resolve(self.symbols)
        resolved = [resolve.visit(s) for s in builder.setup]
        setup = with_early_locals(without_unread(resolved, builder.written))
        setup = with_list_lengths(setup)
        for method in (forward, *builder.methods):
            method.body = [resolve.visit(s) for s in method.body]
        draws = Draws(self.notes, builder.origin)
        draws.forward(forward, builder.methods)
        self._own_initializers()
        methods = (forward, *builder.methods)
        fields = with_dividing_rates(self._ordered(added), setup, methods, builder.own)
        named = {f.name for f in fields}
        with_values(self.symbols, local_values(setup, named), env.values())
        texts = symbols_named(self.symbols, env, named)
        for argument in (*forward.args.args[1:], *forward.args.kwonlyargs):
            original = next(a for a in inputs if a.arg == argument.arg)
            argument.annotation = annotated(
                self.symbols,
                original,
                env.get(argument.arg),
                texts,
                named,
                optional(call, argument.arg),
                env,
                unread=is_unread(forward, argument.arg),
            )
        with_needed_inputs(forward, setup, {f.name for f in added}, self.notes)
        with_needed_layers(forward, setup)
        returned = result_type(self.symbols, result, env, texts, named)
        forward.returns = with_leading_axes(forward, returned, named)
        added, fields = read_of(added, fields, (*setup, *methods))
        told_by = f"From {self.node.name} of {os.path.basename(builder.origin.path)}."
        doc = docstring(self.node) or told_by
        given = example(self.symbols, fields, env, setup, methods)
        taken = (*call.args.args, *call.args.kwonlyargs)
        drops = {a.arg: "flag" for a in taken if a.arg != "self" and a not in inputs}
        tried = trial(
            self.symbols,
            fields,
            env,
            setup,
            methods,
            builder.renamed or {f: f for f in builder.fields},
            without_absent_keys(drops, call, builder.origin.text),
            # What is mapped inside is not for one example.
            single=self.framework == "equinox" and "vmap" not in ast.unparse(self.node),
        )
        if tried is not None and self.framework == "plain":
            tried = replace(tried, keys=drawing(self.methods.get("__init__")))
        described = Described(
            builder.name,
            "Layer",
            doc,
            tuple(fields),
            tuple(setup),
            (*builder.methods, forward),
            _constants(self.node),
            given,
            trial=tried,
            keyless=frozenset(draws.given),
            helpers=builder.helpers.told(),
        )
        parameters = [a.arg for a in taken if a.arg != "self"]
        interface = Interface(
            builder.name,
            [f.name for f in fields],
            dict(builder.renamed),
            [f.name for f in added],
            drops,
            parameters,
            builder.fixed,
            decays=frozenset(f.name for f in fields if f.word == "Decay"),
            weight=weight_of(builder.attributes, builder.own),
            layers=inner_layers(builder, fields),
        )
        self.fitted = Fitted(builder, self.symbols, tuple(fields), env)
        self.results[builder.name] = Signature(
            self.symbols,
            [env.get(a.arg) for a in inputs],
            result,
            {f.name: f.default for f in fields},
            derived_values(setup, named),
            local_values(setup, named),
        )
        return described, interface

    def _ordered(self, added: list[Field]) -> list[Field]:
        fields = [*added, *self.builder.fields.values()]
        fields = [with_initializers(self.builder, f) for f in fields]
        required = [f for f in fields if f.default is None]
        return [*required, *(f for f in fields if f.default is not None)]


def _constants(node: ast.ClassDef) -> tuple[ast.stmt, ...]:
    return tuple(
        part
        for part in node.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and part.targets[0].id.isupper()
    )
