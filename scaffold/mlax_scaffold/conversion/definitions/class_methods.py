"""Methods of a class as methods of its definition: without keys and flags, under names of their own."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.weight_dtypes import weight_of
from mlax_scaffold.conversion.definitions.added_fields import AddedFields
from mlax_scaffold.conversion.definitions.own_calls import Taken, without_left_out
from mlax_scaffold.conversion.forms.decorators import refuse_decorators
from mlax_scaffold.conversion.forms.parts_methods import called_of_parts
from mlax_scaffold.conversion.forms.users_methods import is_for_users
from mlax_scaffold.conversion.lists.key_loops import holds_keys
from mlax_scaffold.conversion.source.counting import counts, indexes
from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    constant,
    docstring,
    expression,
    is_name,
    is_none,
    name,
    replaced,
    self_attribute,
    targets,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, flags
from mlax_scaffold.conversion.source.walking import cloned, walk

_SKIPPED = frozenset(
    (
        *(
            "__init__",
            "setup",
            "reset_parameters",
            "_init_weights",
            "init_weights",
            "extra_repr",
        ),
        *(
            "__repr__",
            "__hash__",
            "__eq__",
            "_reset_parameters",
            "configure_optimizers",
        ),
        *(
            "training_step",
            "validation_step",
            "init_cache",
            "_initialize_weights",
            "initialize",
        ),
        *("initialize_carry", "to", "cuda", "cpu", "half"),
    )
)


class ClassMethods(AddedFields):
    """Writes them."""

    methods: dict[str, ast.FunctionDef]
    node: ast.ClassDef
    call: ast.FunctionDef | None

    def _helpers(self, call: ast.FunctionDef) -> list[ast.FunctionDef]:
        found: list[ast.FunctionDef] = []
        left: set[str] = set()
        around = self.builder.translator.around
        entries = called_of_parts(self.builder.origin, self.node)
        for function in self.methods.values():
            if function is call or function.name in {*_SKIPPED, *self.builder.consumed}:
                continue
            decorators = [ast.unparse(d) for d in function.decorator_list]
            if "property" in decorators or any("classmethod" in d for d in decorators):
                if "property" in decorators:
                    before = len(self.builder.notes.found)
                    made = self._method(function, function.name, [])
                    if self._is_left_out(function, made, before):
                        continue
                    made.decorator_list = [expression("property")]
                    found.append(made)
                continue
            if function.name.startswith("__"):
                continue
            title = _titled(function, entries)
            around.attributes[function.name] = expression(f"self.{title}")
        for function in self.methods.values():
            decorators = [ast.unparse(d) for d in function.decorator_list]
            if (
                function is call
                or function.name in {*_SKIPPED, *self.builder.consumed}
                or function.name.startswith("__")
                or "property" in decorators
                or any("classmethod" in d for d in decorators)
            ):
                continue
            title = _titled(function, entries)
            before = len(self.builder.notes.found)
            made = self._method(function, title, self._inputs(function))
            if self._is_left_out(function, made, before):
                left.add(title)
                continue
            if "staticmethod" in decorators:
                made.decorator_list = [expression("staticmethod")]
                made.args.args = made.args.args[1:]
            if title in entries:
                # Who calls a part gives it anything.
                for argument in made.args.args[1:]:
                    argument.annotation = argument.annotation or name("@word:PyTree")
                made.returns = name("@word:PyTree")
            found.append(made)
        found = self._without_callers(found, left)
        self._name_in_setup(found)
        return found

    def _name_in_setup(self, found: list[ast.FunctionDef]) -> None:
        """Call the methods that a constructor reads by the names that they have here."""
        titles = {m.name.removeprefix("_"): m.name for m in found}
        titles = {k: v for k, v in titles.items() if k in self.methods}
        for statement in self.builder.setup:
            for part in walk(statement):
                if isinstance(part, ast.Attribute) and self_attribute(part) in titles:
                    part.attr = titles[part.attr]

    def _without_callers(
        self, found: list[ast.FunctionDef], left: set[str]
    ) -> list[ast.FunctionDef]:
        """The methods, without those that nothing of the file calls and that call one which is left out."""
        titles = uncalled(self.builder.origin, self.node) if left else set()
        alone = {t for n in titles for t in (n, f"_{n}")}
        for method in found if left else ():
            called = {self_attribute(p) for p in walk(method)} & left
            if called and method.name in alone:
                self._remark_left_out(method, method.name.removeprefix("_"))
                kept = [m for m in found if m is not method]
                return self._without_callers(kept, left | {method.name})
        return found

    def _is_left_out(
        self, function: ast.FunctionDef, made: ast.FunctionDef, before: int
    ) -> bool:
        """Whether a method that nothing of the file calls has no counterpart, which is told."""
        notes = self.builder.notes
        refused = any(note.blocks for note in notes.found[before:]) or any(
            is_for_users(self.builder.origin, part) for part in walk(function)
        )
        alone = uncalled(self.builder.origin, self.node) if refused else set()
        if function.name not in alone and not self._begins(function, made):
            return False
        del notes.found[before:]
        self._remark_left_out(function, function.name)
        return True

    def _begins(self, function: ast.FunctionDef, made: ast.FunctionDef) -> bool:
        """Whether a method has no counterpart, and nothing but what fills weights calls it."""
        full = map(self.builder.origin.qualified, walk(made))
        if not any(f.startswith("torch.") for f in full):
            return False
        title = function.name
        begun = {*_SKIPPED, *self.builder.consumed, title}
        parts = [m for m in self.methods.values() if m.name not in begun]
        inside = any(self_attribute(p) == title for m in parts for p in walk(m))
        outside = any(
            isinstance(p, ast.Attribute) and p.attr == title and not self_attribute(p)
            for p in walk(self.builder.origin.tree)
        )
        return not inside and not outside

    def _remark_left_out(self, function: ast.FunctionDef, title: str) -> None:
        self.builder.notes.remark(
            function,
            f"`{title}` is left out: nothing of the file calls it",
            "write it where it is called",
        )

    def _taken(self) -> dict[str, Taken]:
        """What the methods take, by the names that they have here."""
        found: dict[str, Taken] = {}
        around = self.builder.translator.around
        for function in self.methods.values():
            known = around.attributes.get(function.name)
            title = self_attribute(known) if known is not None else None
            title = "forward" if function is self.call else title
            if title is None:
                continue
            given = function.args.args[:]
            if "staticmethod" not in map(ast.unparse, function.decorator_list):
                given = given[1:]
            named = (*given, *function.args.kwonlyargs)
            left_out = {
                a.arg
                for a in named
                if self._said_otherwise(function, a) or self._unread(function, a.arg)
            }
            places = tuple(a.arg for a in given)
            found[title] = Taken(places, frozenset(left_out))
        return found

    def _method(
        self, function: ast.FunctionDef, title: str, inputs: list[ast.arg]
    ) -> ast.FunctionDef:
        translator = self.builder.translator
        around = translator.around
        refuse_decorators(self.builder.origin, self.builder.notes, function)
        given = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        kept = {a.arg for a in inputs}
        saved = around.locals, set(around.keys)
        calculations = self.builder.calculations
        first = calculations.first_input
        attributes = around.attributes
        own_weight = weight_of(self.builder.attributes, {})
        mine = first in {a.arg for a in inputs} and not (
            own_weight and indexes(function, first)
        )
        if (inputs or own_weight) and not mine:
            arrays = [
                a.arg
                for a in inputs
                if not counts(function, a.arg) and not indexes(function, a.arg)
            ]
            calculations.first_input = (*arrays, own_weight or inputs[0].arg)[0]
            # Arrays have the dtype of what this method is given.
            own = {first: expression(calculations.first_input)}
            around.attributes = {k: replaced(v, own) for k, v in attributes.items()}
        around.locals = {**flags([g for g in given if g not in kept])}
        around.keys = self._keys_of(function, given)
        for key in around.keys - kept:
            around.locals[key] = expression("self.key()")
        cleaned = [s for s in map(self._cleaned, without_docstring(function.body)) if s]
        body = translator.statements(cleaned)
        without_left_out(body, self._taken(), self.builder.notes)
        around.locals, around.keys = saved
        around.attributes = attributes
        calculations.first_input = first
        positional = [a for a in function.args.args if a.arg in kept]
        keyword_only = [a for a in function.args.kwonlyargs if a.arg in kept]
        defaults = _kept_defaults(function, kept)
        if title == "forward" and not positional:
            # The first input of a layer has a place, also where all are given by their names.
            needed = [a for a in keyword_only if a.arg not in defaults]
            positional = needed or keyword_only[:1]
            keyword_only = [a for a in keyword_only if a not in positional]
        arguments = ast.arguments(
            [],
            [ast.arg("self"), *(ast.arg(a.arg) for a in positional)],
            None,
            [ast.arg(a.arg) for a in keyword_only],
            [defaults.get(a.arg) for a in keyword_only],
            None,
            [defaults[a.arg] for a in positional if a.arg in defaults],
        )
        made = ast.FunctionDef(title, arguments, body, [], None, lineno=function.lineno)
        text = docstring(function)
        if text and title != "forward":
            made.body = [ast.Expr(constant(text)), *made.body]
        return made

    def _keys_of(self, function: ast.FunctionDef, given: list[str]) -> set[str]:
        """The names that hold keys in a method: none that it gives to something else."""
        if self.builder.framework == "torch":
            return set()
        known = {*self.builder.translator.around.keys, *(g for g in given if g in KEYS)}
        return known - (_rebound(self.builder.origin, function) - set(given))

    def _cleaned(self, node: ast.stmt) -> ast.stmt | None:
        """A statement; None where it is about keys and flags alone."""
        around = self.builder.translator.around
        if isinstance(node, ast.For | ast.If):
            for body in (node.body, node.orelse):
                body[:] = [s for s in body if not self._chooses_keys(s)]
            node.body = node.body or [ast.Pass()]
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            text = ast.unparse(node.value)
            target = node.targets[0]
            bound = [n.id for n in walk(target) if isinstance(n, ast.Name)]
            if holds_keys(self.builder.origin, node.value):
                around.keys |= set(bound)
                for local in bound:
                    around.locals[local] = expression("self.key()")
                return None
            if "merge_param(" in text:
                for local in bound:
                    around.locals.update(flags([local]))
                return None
            if text.endswith(".device") and isinstance(target, ast.Name):
                return None
            if isinstance(target, ast.Name):
                return self._of_mode(node, target.id)
        return node

    def _chooses_keys(self, node: ast.stmt) -> bool:
        """Whether a statement splits a key where one is given, and names nothing where none is."""
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.IfExp):
            return False
        chosen = holds_keys(self.builder.origin, node.value)
        return chosen and self._cleaned(node) is None

    def _of_mode(self, node: ast.Assign, local: str) -> ast.stmt | None:
        """A statement; None where it names the mode, which is then written where the name stands."""
        around = self.builder.translator.around
        value = node.value
        plain = isinstance(value, ast.Name | ast.Attribute | ast.UnaryOp | ast.Compare)
        made = self.builder.translator.expression(value) if plain else value
        if ast.unparse(made) in ("self.training", "not self.training"):
            around.locals[local] = made
            return None
        if local in around.locals and flags([local]):
            self.builder.notes.refuse(
                node,
                f"`{ast.unparse(node)}` makes another mode for what comes after it",
                "a layer is in the mode of the whole call here: write `self.training` where it matters",
            )
        return node


def _rebound(origin: Origin, function: ast.FunctionDef) -> set[str]:
    """Names that a function assigns what is no key."""
    return {
        bound
        for part in walk(function)
        if isinstance(part, ast.Assign) and not holds_keys(origin, part.value)
        if "rng" not in ast.unparse(part.value)
        for bound in targets(part)
    }


def _kept_defaults(function: ast.FunctionDef, kept: set[str]) -> dict[str, ast.expr]:
    places = [a.arg for a in function.args.args]
    found = dict(
        zip(
            places[len(places) - len(function.args.defaults) :],
            function.args.defaults,
            strict=True,
        )
    )
    for argument, default in zip(
        function.args.kwonlyargs, function.args.kw_defaults, strict=True
    ):
        if default is not None:
            found[argument.arg] = default
    return {k: cloned(v) for k, v in found.items() if k in kept}


def optional(function: ast.FunctionDef, argument: str) -> bool:
    """Whether an argument may be None: by default, or as it is asked whether it is."""
    default = _kept_defaults(function, {argument}).get(argument)
    return is_none(default) or (default is None and _is_asked(function, argument))


def _is_asked(function: ast.FunctionDef, argument: str) -> bool:
    return any(
        isinstance(part, ast.Compare)
        and is_name(part.left, argument)
        and is_none(part.comparators[0])
        for part in walk(function)
    )


def is_unread(function: ast.FunctionDef, argument: str) -> bool:
    """Whether a method does no more with an argument than to ask whether it is None."""
    asked = {
        id(part.left)
        for part in walk(function)
        if isinstance(part, ast.Compare) and is_none(part.comparators[0])
    }
    return not any(
        isinstance(part, ast.Name) and part.id == argument and id(part) not in asked
        for part in walk(function)
    )


def computes_nothing(method: ast.FunctionDef) -> bool:
    """Whether a method is left to the classes that are built on its own."""
    for part in without_docstring(method.body):
        match part:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Raise(exc=raised):
                # What a method raises after this is never reached.
                return "NotImplementedError" in ast.unparse(raised or part)
        return False
    return True


def _titled(function: ast.FunctionDef, entries: set[str]) -> str:
    """What a method is called: those that are called of a part have their names."""
    private = function.name.startswith("_") or function.name in entries
    return function.name if private else f"_{function.name}"
