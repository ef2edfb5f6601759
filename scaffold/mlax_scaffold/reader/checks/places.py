"""Finds calls whose keys and states cannot be threaded where they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.places import STRUCTURAL
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.closures import Closures
from mlax_scaffold.reader.constructs import NONE, Effect, construct, functions_of
from mlax_scaffold.reader.effects import (
    Held,
    closures_of,
    effect_at,
    effects_of,
    held_by,
    methods_of,
    sequence_fields,
    sequences_of,
    threads,
)
from mlax_scaffold.reader.evaluation import (
    COMPREHENSIONS,
    REPEATED,
    alternatives,
    parts,
)
from mlax_scaffold.reader.looping import loop_layers
from mlax_scaffold.reader.remedies.decorators import called_where_used
from mlax_scaffold.reader.remedies.helpers import as_method
from mlax_scaffold.reader.remedies.keeping import chosen_in_dictionary, in_dictionary
from mlax_scaffold.reader.remedies.rests import as_parts
from mlax_scaffold.reader.remedies.unrolling import unrolled
from mlax_scaffold.reader.source import (
    Source,
    indexed_attribute,
    self_attribute,
    source_of,
)

_SEVERAL = (*REPEATED, "a function that is a value")


def check_places(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a layer, a block or an optimizer."""
    if not threads(definition.kind):
        return []
    effects = effects_of(definition, library)
    if not any(effects.values()):
        return []
    source = source_of(definition)
    sequences = sequences_of(definition)
    held = held_by(definition, library)
    for method in methods_of(definition):
        found = closures_of(definition, method, effects, held)
        _Places(
            source, method, effects, sequences, found, held, sequence_fields(definition)
        ).check()
        parents = {c: p for p in walk(method) for c in ast.iter_child_nodes(p)}
        for node, message, hint in found.problems:
            parent = parents.get(node)
            fix = _threaded(source, node, parent, method)
            fix = fix or called_where_used(source, node, parent)
            source.report(node, message, hint, fix=fix)
    return source.diagnostics


def _threaded(
    source: Source, node: ast.AST, parent: ast.AST | None, method: ast.FunctionDef
) -> Fix | None:
    """What has a layer called in a statement where it was a value."""
    return (
        as_method(source, node, parent)
        or in_dictionary(source, node, parent)
        or unrolled(source, node)
        or as_parts(source, node, method)
        or chosen_in_dictionary(source, node, method)
    )


@dataclass
class _Places:
    source: Source
    method: ast.FunctionDef
    effects: Mapping[str, Effect]
    sequences: set[str]
    closures: Closures
    held: Held
    """What each layer in a container is."""
    structural: set[str]
    """The fields among the sequences."""
    variables: dict[str, str] = field(default_factory=dict)
    """Those of loops over layers, with their fields."""
    depths: dict[str, int] = field(default_factory=dict)
    """In how many functions each of these loops stands."""
    depth: int = 0
    used: set[ast.expr] = field(default_factory=set)
    """What is called, compared, or whose attribute is read: no values."""

    def check(self) -> None:
        for statement in self.method.body:
            self._visit(statement, "")

    def _visit(self, node: ast.AST, context: str) -> None:
        if isinstance(node, ast.Subscript):
            self.used.add(node.value)
        match node:
            case ast.Call(func=called):
                self.used.add(called)
                if unparsed(called) in STRUCTURAL:
                    self.used.update(node.args)
                self._call(node, called, context)
                for function in functions_of(node, construct(node)):
                    name = function.id if isinstance(function, ast.Name) else ""
                    if self.variables.get(name) in self.structural:
                        self._call(function, function, _of_value(context))
            case ast.Attribute(value=ast.Attribute() | ast.Subscript() as owner):
                self.used.add(owner)
            case ast.Compare(left=left, comparators=others):
                self.used |= {left, *others}
            case ast.Attribute() if (
                node not in self.used
                and id(node) not in self.closures.functions
                and isinstance(node.ctx, ast.Load)
                and self_attribute(node) not in self.structural
            ):
                self._call(node, node, _of_value(context))
            case ast.Subscript(ctx=ast.Load()) if (
                node not in self.used
                and id(node) not in self.closures.functions
                and indexed_attribute(node) in self.held
            ):
                self._call(node, node, _of_value(context))
            case ast.For() | ast.comprehension():
                self.used.add(node.iter)
                what = dict.fromkeys(self.sequences, "layers")
                for name, iterated in _loop_fields(node, what):
                    self.variables[name] = iterated
                    self.depths[name] = self.depth
            case ast.If(orelse=[ast.If() as other]) if (
                other.col_offset == node.col_offset
            ):
                self._visit(node.test, context)
                for statement in node.body:
                    self._visit(statement, context)
                self._visit(other.test, context or "the test of an elif")
                for statement in (*other.body, *other.orelse):
                    self._visit(statement, context)
                return
            case (
                ast.Assign(value=ast.IfExp() as chosen)
                | ast.AugAssign(value=ast.IfExp() as chosen)
                | ast.AnnAssign(value=ast.IfExp() as chosen)
                | ast.Return(value=ast.IfExp() as chosen)
            ) if not isinstance(node, ast.Return) or not self.depth:
                self._branches(chosen)
                return
            case ast.While(test=test):
                self._visit(test, context or "the test of a while loop")
                for statement in (*node.body, *node.orelse):
                    self._visit(statement, context)
                return
        if isinstance(node, ast.stmt | ast.Lambda):
            children = ast.iter_child_nodes(node)
            self._beside(*(c for c in children if not isinstance(c, ast.stmt)))
        threaded = id(node) in self.closures.functions
        children = [*parts(node, context)]
        if threaded:
            # It is given keys and states of its own.
            children = [(child, "") for child, _ in children]
        if isinstance(node, COMPREHENSIONS):
            # What loops over layers is known before what they are called with.
            children.sort(key=lambda c: not isinstance(c[0], ast.comprehension))
        self.depth += threaded
        for child, inner in children:
            self._visit(child, inner)
        self.depth -= threaded

    def _branches(self, chosen: ast.IfExp) -> None:
        """What a statement chooses, which branches do that are statements."""
        for part in alternatives(chosen):
            self._beside(part)
            self._visit(part, "")

    def _evaluated(self, node: ast.AST) -> Iterator[ast.AST]:
        """A part of a statement, and all in it but functions that have statements of their own."""
        if id(node) in self.closures.functions:
            return
        yield node
        for child in ast.iter_child_nodes(node):
            yield from self._evaluated(child)

    def _beside(self, *parts: ast.AST) -> None:
        """A comprehension that changes states is evaluated before what stands beside it."""
        header = [node for part in parts for node in self._evaluated(part)]
        inside: set[int] = set()
        made = []
        for part in header:
            if isinstance(part, COMPREHENSIONS) and id(part) not in inside:
                inside |= set(map(id, walk(part)))
                made += [part for n in walk(part) if self._changes(n)][:1]
        beside = [n for n in header if id(n) not in inside and self._changes(n)]
        if made and (beside or len(made) > 1):
            self.source.report(
                made[-1],
                "a comprehension that changes states stands beside other calls that do",
                "Bind it to a name in a statement before this one.",
            )

    def _changes(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if (run := self.closures.calls.get(id(node))) is not None:
            return run.runs and run.effect.changes
        name = self_attribute(node.func) or indexed_attribute(node.func)
        whole = self.effects.get(name or "", NONE)
        return effect_at(self.held, node.func, whole).changes

    def _call(self, node: ast.expr, called: ast.expr, context: str) -> None:
        name = self_attribute(called) or ""
        run = self.closures.calls.get(id(node))
        if run is not None:
            if run.runs:
                self._effect(node, called, run.effect, context)
            return
        if isinstance(called, ast.Subscript):
            name = indexed_attribute(called) or ""
        if isinstance(called, ast.Name):
            name = self.variables.get(called.id, "")
            if name and self.depth > self.depths[called.id]:
                # Its states are a list beside those that the function is given.
                context = context or REPEATED[0]
                if not self.effects[name].changes:
                    return
        effect = effect_at(self.held, called, self.effects.get(name, NONE))
        if effect and not (name in ("key", "keys") and context not in REPEATED):
            self._effect(node, called, effect, context)

    def _effect(
        self, node: ast.expr, called: ast.expr, effect: Effect, context: str
    ) -> None:
        if not context:
            return
        if context not in _SEVERAL and not effect.changes:
            return
        what = [
            *(["changes state"] if effect.changes else []),
            *(["draws keys"] if effect.draws else []),
        ]
        parent = self._parent(node)
        self.source.report(
            node,
            f"`{unparsed(called)}` {' and '.join(what)}, and cannot be called in {context}",
            "Its state and keys must be threaded in order: call it in a "
            "statement of its own and use the result.",
            fix=_threaded(self.source, node, parent, self.method),
        )

    def _parent(self, node: ast.AST) -> ast.AST | None:
        """What a part of the method stands in."""
        around = (p for p in walk(self.method) if node in ast.iter_child_nodes(p))
        return next(around, None)


def _of_value(context: str) -> str:
    """Where a layer is a function that is a value: what calls it gives it no key, wherever it stands."""
    return context if context in _SEVERAL else _SEVERAL[-1]


def _loop_fields(
    node: ast.For | ast.comprehension, attributes: dict[str, str]
) -> Iterator[tuple[str, str]]:
    names = [name for name, _ in loop_layers(node, attributes)]
    for part in walk(node.iter):
        attribute = self_attribute(part)
        if attribute in attributes and names:
            yield names.pop(0), attribute or ""
