"""Reads the class of a spec: its fields, its methods, and what each attribute of self is."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import (
    Declaration,
    Example,
    Hyperparameter,
    Import,
    Kind,
    Method,
    MethodRole,
    Role,
)
from mlax_scaffold.model.expressions import Origin
from mlax_scaffold.model.reserved import OF_OPTIMIZERS, OF_STEPS, RESERVED
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.body import BodyChecker
from mlax_scaffold.reader.checks.defaults import check_scope
from mlax_scaffold.reader.checks.definition_names import check_definition_name
from mlax_scaffold.reader.checks.helpers import check_constant
from mlax_scaffold.reader.checks.keys import check_keys
from mlax_scaffold.reader.checks.method_names import check_method_names
from mlax_scaffold.reader.checks.names import (
    OF_HYPERPARAMS,
    check_locals,
    check_returns_nothing,
)
from mlax_scaffold.reader.checks.parameters import check_parameters
from mlax_scaffold.reader.checks.parts_of_steps import check_parts_of_steps
from mlax_scaffold.reader.checks.properties import check_property, static_attributes
from mlax_scaffold.reader.checks.step_indices import check_periods, counts_steps
from mlax_scaffold.reader.checks.uses import UseChecker
from mlax_scaffold.reader.examples import read_examples
from mlax_scaffold.reader.fields import check_fields, read_hyperparameter
from mlax_scaffold.reader.helpers import types_of
from mlax_scaffold.reader.imports import BASES
from mlax_scaffold.reader.keywords import KEYWORDS, read_keywords
from mlax_scaffold.reader.kinds import (
    ASSIGNABLE,
    DECLARE,
    EXAMPLES,
    FREE,
    OPTIONAL,
    REQUIRED,
    ROLES,
    SIGNATURES,
    SPECIAL,
    THREADING,
    UNKNOWN,
)
from mlax_scaffold.reader.methods import names_of, read_method
from mlax_scaffold.reader.remedies.classes import typed, undecorated
from mlax_scaffold.reader.remedies.constructors import as_setup
from mlax_scaffold.reader.remedies.first_methods import as_entry
from mlax_scaffold.reader.remedies.foreign import with_base
from mlax_scaffold.reader.remedies.names import attribute_named
from mlax_scaffold.reader.remedies.taken_names import beside_field, default_of_weight
from mlax_scaffold.reader.requirements import requirements_of
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.roles import (
    attempted,
    attribute_of,
    given_layers,
    role_of,
    roles_of,
)
from mlax_scaffold.reader.setup import SetupReader
from mlax_scaffold.reader.source import Source, self_attribute
from mlax_scaffold.spelling import did_you_mean, misspelt

_CALLED = {MethodRole.ENTRY: "entry", MethodRole.OWN: "own"}
"""What the attributes are that are methods, but for those of the hyperparameters."""


@dataclass
class ClassReader:
    """Reads one class. `imports` are the names that the spec imports."""

    source: Source
    imports: dict[str, Import]
    roles: dict[str, MethodRole] = field(default_factory=dict)
    """What becomes of the methods of a layer."""
    told: frozenset[str] = frozenset()
    """What methods of an optimizer read that only a step has: a finding of its own."""
    unread: list[str] = field(default_factory=list)
    """The fields whose type is no word."""

    def read(self, node: ast.ClassDef) -> tuple[Kind, dict[str, Any]] | None:
        """The kind of the definition, and the parts of it that its class holds."""
        bases = [unparsed(base) for base in node.bases]
        others = [k for k in node.keywords if k.arg not in KEYWORDS]
        if len(bases) != 1 or bases[0] not in BASES or others:
            given = ", ".join([*bases, *(f"{k.arg}=..." for k in others)])
            close = "" if given in BASES else did_you_mean(given, tuple(BASES))
            self.source.report(
                node.bases[0] if node.bases else node,
                f"{node.name} is a class of ({given})",
                f"{close} A spec's class has one base: {', '.join(BASES)}.".strip(),
                fix=with_base(self.source, node),
            )
            return None
        for decorator in node.decorator_list:
            self.source.report(
                decorator,
                "a spec's class has no decorators",
                fix=undecorated(self.source, decorator),
            )
        kind = BASES[bases[0]]
        check_definition_name(self.source, node, kind)
        hyperparameters: list[Hyperparameter] = []
        methods: list[ast.FunctionDef] = []
        constants: list[tuple[str, ast.expr]] = []
        examples: ast.expr | None = None
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    read = read_hyperparameter(
                        self.source,
                        statement,
                        name,
                        statement.annotation,
                        statement.value,
                        kind,
                        self.imports,
                    )
                    if read is None:
                        self.unread.append(name)
                    else:
                        hyperparameters.append(read)
                case ast.FunctionDef(name="__init__" | "__post_init__" as name):
                    self.source.report(
                        statement,
                        f"`{name}` follows from the fields of the class",
                        "Write each argument as an annotated field, `features: Size`, and "
                        "declare weights and layers in `setup(self)`.",
                        fix=as_setup(self.source, node, statement),
                    )
                case ast.FunctionDef():
                    methods.append(statement)
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Assign(targets=[ast.Name(id="examples")], value=value) if (
                    kind is not Kind.SCHEDULE
                ):
                    examples = value
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                    name.isupper() and name[0] != "_"
                ):
                    check_constant(self.source, name, value, None, self.imports)
                    constants.append((name, value))
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.source.report(
                        statement,
                        f"the field `{name}` has no annotation",
                        f"Write `{name}: Size = ...`, for example.",
                        fix=typed(self.source, statement),
                    )
                case _:
                    self.source.report(
                        statement,
                        "a spec's class holds annotated fields and methods",
                        fix=typed(self.source, statement),
                    )
        check_fields(self.source, hyperparameters)
        check_scope(self.source, node, self.imports)
        names = read_keywords(self.source, node, kind, hyperparameters)
        methods = check_method_names(self.source, kind, methods, hyperparameters)
        scope = Scope(self.source, self.imports, _fields_of(hyperparameters))
        setup = SetupReader(scope)
        for method in methods:
            if method.name in ROLES.get(kind, {}):
                setup.read(method, ROLES[kind][method.name])
        attributes = self._attributes(
            kind, hyperparameters, setup.declarations, methods
        )
        # What is wrong with a declaration is one finding, not one for each of its uses.
        attributes = attempted(node) | attributes
        attributes |= dict.fromkeys(dict(constants), "hyperparameter")
        scope = Scope(self.source, self.imports, attributes)
        if kind is Kind.OPTIMIZER:
            own = [m for m in methods if m.name not in SPECIAL[kind]]
            self.told = check_parts_of_steps(self.source, own, attributes)
        read_methods = [
            self._method(kind, m, attributes, setup.declarations) for m in methods
        ]
        if not any(m.name in REQUIRED[kind] for m in methods):
            wanted = " or ".join(REQUIRED[kind])
            others = [m.name for m in methods if m.name not in SPECIAL[kind]]
            close = misspelt(REQUIRED[kind][0], others)
            hint = f"Rename {close}." if close else f"Write one: {EXAMPLES[kind]}."
            self.source.report(
                node,
                f"{node.name} has no method {wanted}",
                hint,
                fix=as_entry(self.source, methods, REQUIRED[kind][0], close),
            )
        requirements = list(setup.requirements)
        for method in methods:
            if method.name not in ROLES.get(kind, {}):
                requirements += requirements_of(_inside(scope, method), method)
        return kind, {
            "hyperparameters": tuple(h for h in hyperparameters if not _makes(h)),
            "initializers": tuple(filter(_makes, hyperparameters)),
            "declarations": tuple(setup.declarations),
            "bindings": setup.bindings,
            "constants": tuple((n, scope.expression(v)) for n, v in constants),
            "requirements": tuple(requirements),
            "methods": tuple(read_methods),
            "examples": self._examples(examples, hyperparameters, read_methods),
            **({"keeps_weights": True} if setup.copies_weights else {}),
            **names,
        }

    def _examples(
        self,
        value: ast.expr | None,
        hyperparameters: list[Hyperparameter],
        methods: list[Method],
    ) -> tuple[Example, ...]:
        if value is None:
            return ()
        names = [h.name for h in hyperparameters if not _makes(h)]
        inputs = [i for m in methods if m.name == "forward" for i in m.inputs]
        scope = Scope(self.source, self.imports)
        return read_examples(scope, value, names, inputs)

    def _taken(self, name: str, line: int, fix: Fix | None = None) -> None:
        told = f"self.{name} is already something else"
        self.source.report(line, told, "Choose another name.", fix=fix)

    def _public(
        self, name: str, kind: Kind, methods: list[ast.FunctionDef]
    ) -> Fix | None:
        """A declaration by a name that is not private, where that is free."""
        new = name.lstrip("_")
        taken = {m.name for m in methods} | set(SPECIAL[kind]) | RESERVED
        names = (new, f"{new}_") if new.isidentifier() else ()
        free = (n for n in names if n not in taken | OF_HYPERPARAMS)
        fixes = (attribute_named(self.source, name, n) for n in free)
        return next(filter(None, fixes), None)

    def _attributes(
        self,
        kind: Kind,
        hyperparameters: list[Hyperparameter],
        declarations: list[Declaration],
        methods: list[ast.FunctionDef],
    ) -> dict[str, str]:
        """What each attribute of self is."""
        attributes = _fields_of(hyperparameters)
        for declaration in declarations:
            name = declaration.name
            assert declaration.location is not None
            if name in attributes:
                fix = beside_field(self.source, methods, declaration)
                self._taken(name, declaration.location.line, fix)
            elif name in RESERVED | OF_HYPERPARAMS:
                fix = attribute_named(self.source, name, f"{name}_")
                self._taken(name, declaration.location.line, fix)
            elif name.startswith("_"):
                self.source.report(
                    declaration.location.line,
                    f"self.{name} is private, which no field of a tree can be",
                    "Remove the `_`.",
                    fix=self._public(name, kind, methods),
                )
            if f"{name}_initializer" in attributes and (
                declaration.role is Role.TRAINABLE
            ):
                self.source.report(
                    declaration.location.line,
                    f"{name}_initializer is a field and the initializer of self.{name}",
                    "Choose another name for one of the two.",
                    fix=default_of_weight(self.source, methods, name),
                )
            attributes[declaration.name] = attribute_of(declaration)
        special, layer = SPECIAL[kind], kind.is_layer
        if layer:
            words = ("training", "key", "keys", "stored")
            # What is declared by such a name is one finding, not one for each of its uses.
            attributes |= {word: word for word in words if word not in attributes}
            self.roles = roles_of(methods, special, attributes)
        for method in methods:
            if method.name not in special or (layer and method.name == "forward"):
                role = self.roles.get(method.name) or role_of(method, special)
                attributes[method.name] = _CALLED.get(role, "method")
        if kind is Kind.OPTIMIZER:
            for made in (*hyperparameters, *declarations):
                if made.name in OF_STEPS and made.location is not None:
                    fix = None
                    if made in declarations:
                        new = f"{made.name}_"
                        fix = attribute_named(self.source, made.name, new)
                    self._taken(made.name, made.location.line, fix)
            attributes |= {name: name for name in OF_STEPS}
            for method in (m for m in methods if m.name == "prepare"):
                for n in walk(method):
                    if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store):
                        attributes.setdefault(self_attribute(n) or "", "coefficient")
            attributes.pop("", None)
        return attributes

    def _method(
        self,
        kind: Kind,
        node: ast.FunctionDef,
        attributes: dict[str, str],
        declarations: list[Declaration],
    ) -> Method:
        role = self.roles.get(node.name) or role_of(node, SPECIAL[kind])
        expected = SIGNATURES.get(role, {}).get(kind)
        if expected:
            check_parameters(self.source, node, expected, OPTIONAL.get(role, ()))
        held = (Role.STATE, Role.MOMENT)
        assignable = {d.name for d in declarations if d.role in held}
        known = attributes
        if role in (MethodRole.SETUP, MethodRole.SETUP_TREE):
            usable = ["hyperparameter", "initializer", "scheduled", "derived"]
            if kind is Kind.OPTIMIZER:
                usable += ["mask"]
            # The hyperparameters, whose methods they are, hold those of optimizers that are made.
            makes = any(d.role is Role.OPTIMIZER for d in declarations)
            late = makes and role is MethodRole.SETUP_TREE
            if kind in (Kind.OPTIMIZER, Kind.SCHEDULE) and not late:
                usable += ["method"]
            if role is MethodRole.SETUP_TREE:
                usable.append("optimizer")
            held = {d.name for d in declarations if d.members}
            known = {n: w for n, w in attributes.items() if w in usable or n in held}
            # Of the layers that a block is given, their hyperparameters are there.
            known |= given_layers(attributes, declarations)
            assignable = {d.name for d in declarations}
        elif role in (MethodRole.HYPER, MethodRole.PROPERTY):
            known = static_attributes(attributes) | dict.fromkeys(self.told, "method")
            if kind.is_layer and role is MethodRole.PROPERTY:
                known = check_property(self.source, node, attributes, known)
        elif role in (MethodRole.ENTRY, MethodRole.OWN):
            known = {n: what for n, what in attributes.items() if what != "initializer"}
        elif role in ASSIGNABLE:
            counted = {"step_number"} if counts_steps(node) else set()
            absent = {*UNKNOWN[role]} - counted
            known = {n: what for n, what in attributes.items() if what not in absent}
            allowed = ASSIGNABLE[role]
            assignable = {n for n, what in attributes.items() if what in allowed}
            if role in (MethodRole.PREPARE, MethodRole.FINISH):
                check_returns_nothing(self.source, node)
            if role is MethodRole.UPDATE:
                check_periods(self.source, node)
        # A field of no word is one finding, not one for each of its uses.
        known = {n: attributes[n] for n in self.unread} | known
        reserved = RESERVED | (OF_OPTIMIZERS if kind is Kind.OPTIMIZER else set())
        reserved -= {"updates"} if role is MethodRole.STEP else set()
        BodyChecker(
            self.source,
            node,
            known,
            assignable=frozenset(assignable),
            any_assignment=role in FREE,
            imports=self.imports,
            declare=DECLARE[kind],
            reserved=reserved,
            renamed=kind is not Kind.SCHEDULE,
            threads="keys" in known or role in THREADING,
        ).check()
        # A schedule stays the object that it is.
        containers = {d.name: d.members for d in declarations if d.members}
        rows = [d.name for d in declarations if d.several]
        is_object = kind is Kind.SCHEDULE
        UseChecker(self.source, node, known, is_object, containers, rows).check()
        check_keys(self.source, node, known)
        check_locals(self.source, node, role, attributes, declarations)
        passes = kind is Kind.BLOCK and node.name == "forward"
        method = read_method(self.source, node, role, attributes, self.imports, passes)
        if role is MethodRole.OWN:
            return replace(method, types=tuple(types_of(self.source, node)))
        return method


def _makes(h: Hyperparameter) -> bool:
    """Whether a field holds an initializer: it is no part of `hyperparams`."""
    return h.type.word.initializes


def _fields_of(hyperparameters: list[Hyperparameter]) -> dict[str, str]:
    """What the attributes are that fields make."""
    return {h.name: h.type.word.attribute for h in hyperparameters}


def _inside(scope: Scope, method: ast.FunctionDef) -> Scope:
    """The scope of the body of a method."""
    _, bound = names_of(method)
    inputs = [a.arg for a in walk(method.args) if isinstance(a, ast.arg)]
    return scope.within(Origin.LOCAL, bound).within(Origin.INPUT, inputs)
