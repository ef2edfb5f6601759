"""Reads the class of a spec: its fields, its methods, and what each attribute of self is."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import did_you_mean
from mlax_scaffold.model.definition import (
    Declaration,
    Hyperparameter,
    Import,
    Kind,
    Method,
    MethodRole,
    Role,
)
from mlax_scaffold.spec.check_body import RESERVED, BodyChecker
from mlax_scaffold.spec.check_names import OF_OPTIMIZERS, check_locals, check_prepare
from mlax_scaffold.spec.check_uses import UseChecker
from mlax_scaffold.spec.parse_fields import check_fields, read_hyperparameter
from mlax_scaffold.spec.parse_imports import BASES
from mlax_scaffold.spec.parse_method import (
    ENTRY_SIGNATURE,
    check_summary,
    read_method,
    role_of,
)
from mlax_scaffold.spec.parse_setup import SetupReader, requirements_of
from mlax_scaffold.spec.parse_source import Source, self_attribute

_SPECIAL = {
    Kind.LAYER: {"setup": MethodRole.SETUP, "forward": MethodRole.ENTRY},
    Kind.BLOCK: {"forward": MethodRole.ENTRY},
    Kind.OPTIMIZER: {
        "setup": MethodRole.SETUP,
        "update": MethodRole.UPDATE,
        "prepare": MethodRole.PREPARE,
        "step": MethodRole.STEP,
    },
    Kind.SCHEDULE: {"setup": MethodRole.SETUP, "value": MethodRole.VALUE},
}
_SIGNATURES = {
    MethodRole.SETUP: {
        Kind.LAYER: ("self",),
        Kind.OPTIMIZER: ("self", "param"),
        Kind.SCHEDULE: ("self",),
    },
    MethodRole.UPDATE: {Kind.OPTIMIZER: ("self", "grad", "param")},
    MethodRole.PREPARE: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.STEP: {Kind.OPTIMIZER: ("self", "grads", "params")},
    MethodRole.VALUE: {Kind.SCHEDULE: ("self", "step")},
}
_REQUIRED = {
    Kind.LAYER: ("forward",),
    Kind.BLOCK: ("forward",),
    Kind.OPTIMIZER: ("update", "step"),
    Kind.SCHEDULE: ("value",),
}
_EXAMPLES = {
    Kind.LAYER: f"`{ENTRY_SIGNATURE}`",
    Kind.BLOCK: "`def forward(self, x: PyTree) -> PyTree`",
    Kind.OPTIMIZER: "`def update(self, grad, param)`",
    Kind.SCHEDULE: "`def value(self, step)`",
}
_ROLES = {
    Kind.LAYER: (Role.TRAINABLE, Role.STATE, Role.SUB_LAYER, Role.DERIVED),
    Kind.OPTIMIZER: (Role.MOMENT,),
    Kind.SCHEDULE: (),
}
_ATTRIBUTES = {
    "Cell": "layer",
    "Scheduled": "scheduled",
    "Stacked": "layer",
    "SubLayer": "layer",
    "SubLayers": "layers",
    "SubOptimizers": "optimizers",
}
"""What the attribute is that a word makes; a plain hyperparameter where it is not here."""

_DECLARE = {
    Kind.LAYER: "state(zeros, shape)",
    Kind.BLOCK: "",
    Kind.OPTIMIZER: "moment(zeros, param.shape)",
    Kind.SCHEDULE: "",
}
"""How `setup` declares what a method may assign to."""

_A = {Kind.OPTIMIZER: "an optimizer", Kind.SCHEDULE: "a schedule"}
_STATIC = {
    "derived": "derived",
    "hyperparameter": "hyperparameter",
    "layer": "static layer",
    "layers": "layers",
    "method": "method",
    "sub-layer": "static layer",
}
"""What a method of the hyperparameters may use, and what it is there."""


@dataclass
class ClassReader:
    """Reads one class. `imports` are the names that the spec imports."""

    source: Source
    imports: dict[str, Import]

    def read(self, node: ast.ClassDef) -> tuple[Kind, dict[str, Any]] | None:
        """The kind of the definition, and the parts of it that its class holds."""
        bases = [ast.unparse(base) for base in node.bases]
        if len(bases) != 1 or bases[0] not in BASES or node.keywords:
            given = ", ".join([*bases, *(f"{k.arg}=..." for k in node.keywords)])
            close = "" if given in BASES else did_you_mean(given, tuple(BASES))
            self.source.report(
                node.bases[0] if node.bases else node,
                f"{node.name} is a class of ({given})",
                f"{close} A spec's class has one base: {', '.join(BASES)}.".strip(),
            )
            return None
        for decorator in node.decorator_list:
            self.source.report(decorator, "a spec's class has no decorators")
        kind = BASES[bases[0]]
        hyperparameters: list[Hyperparameter] = []
        methods: list[ast.FunctionDef] = []
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
                    if read is not None:
                        hyperparameters.append(read)
                case ast.FunctionDef():
                    methods.append(statement)
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Assign(targets=[ast.Name(id=name)]):
                    self.source.report(
                        statement,
                        f"the field `{name}` has no annotation",
                        f"Write `{name}: Size = ...`, for example.",
                    )
                case _:
                    self.source.report(
                        statement, "a spec's class holds annotated fields and methods"
                    )
        check_fields(self.source, hyperparameters)
        self._check_methods(kind, methods, hyperparameters)
        setup = SetupReader(self.source, self.imports, _ROLES.get(kind, ()))
        for method in methods:
            if method.name == "setup" and kind in _ROLES:
                setup.read(method)
        attributes = self._attributes(
            kind, hyperparameters, setup.declarations, methods
        )
        # What is wrong with a declaration is one finding, not one for each of its uses.
        attributes = _fields(node) | _attempted(node) | attributes
        read_methods = [
            self._method(kind, m, attributes, setup.declarations) for m in methods
        ]
        if not any(m.name in _REQUIRED[kind] for m in methods):
            wanted = " or ".join(_REQUIRED[kind])
            others = [m.name for m in methods if m.name not in _SPECIAL[kind]]
            close = difflib.get_close_matches(_REQUIRED[kind][0], others, n=1)
            hint = f"Rename {close[0]}." if close else f"Write one: {_EXAMPLES[kind]}."
            self.source.report(node, f"{node.name} has no method {wanted}", hint)
        requirements = list(setup.requirements)
        for method in methods:
            if method.name != "setup":
                requirements += requirements_of(self.source, method)
        return kind, {
            "hyperparameters": tuple(hyperparameters),
            "declarations": tuple(setup.declarations),
            "requirements": tuple(requirements),
            "methods": tuple(read_methods),
        }

    def _check_methods(
        self,
        kind: Kind,
        methods: list[ast.FunctionDef],
        hyperparameters: list[Hyperparameter],
    ) -> None:
        seen = {h.name for h in hyperparameters}
        for method in methods:
            special = method.name in _SPECIAL[kind]
            if method.name in seen:
                self.source.report(method, f"`{method.name}` is declared twice")
            elif not special and method.name in RESERVED | {"apply"}:
                self.source.report(
                    method,
                    f"`{method.name}` is a name of the generated module",
                    "Choose another name.",
                )
            elif not special and kind in (Kind.OPTIMIZER, Kind.SCHEDULE):
                allowed = ", ".join(_SPECIAL[kind])
                self.source.report(
                    method,
                    f"{_A[kind]} has no method {method.name}",
                    did_you_mean(method.name, tuple(_SPECIAL[kind]))
                    or f"Its methods are {allowed}.",
                )
            seen.add(method.name)

    def _attributes(
        self,
        kind: Kind,
        hyperparameters: list[Hyperparameter],
        declarations: list[Declaration],
        methods: list[ast.FunctionDef],
    ) -> dict[str, str]:
        """What each attribute of self is."""
        attributes = {
            h.name: _ATTRIBUTES.get(h.type.word.name, "hyperparameter")
            for h in hyperparameters
        }
        for declaration in declarations:
            name = declaration.name
            assert declaration.location is not None
            if name in attributes or name in RESERVED or name == "apply":
                self.source.report(
                    declaration.location.line,
                    f"self.{name} is already something else",
                    "Choose another name.",
                )
            elif name.startswith("_"):
                self.source.report(
                    declaration.location.line,
                    f"self.{name} is private, which no field of a tree can be",
                    "Remove the `_`.",
                )
            attributes[declaration.name] = (
                "layers" if declaration.several else declaration.role.value
            )
        special = _SPECIAL[kind]
        for method in methods:
            if method.name not in special:
                entry = role_of(method, special) is MethodRole.ENTRY
                attributes[method.name] = "entry" if entry else "method"
        if kind in (Kind.LAYER, Kind.BLOCK):
            attributes |= {"training": "training", "key": "key", "stored": "stored"}
        if kind is Kind.BLOCK:
            attributes["keys"] = "keys"
        if kind is Kind.OPTIMIZER:
            attributes["step"] = "step"
            for method in methods:
                if method.name == "prepare":
                    for n in ast.walk(method):
                        name = self_attribute(n)
                        if name and isinstance(getattr(n, "ctx", None), ast.Store):
                            attributes.setdefault(name, "coefficient")
        return attributes

    def _method(
        self,
        kind: Kind,
        node: ast.FunctionDef,
        attributes: dict[str, str],
        declarations: list[Declaration],
    ) -> Method:
        role = role_of(node, _SPECIAL[kind])
        expected = _SIGNATURES.get(role, {}).get(kind)
        given = tuple(a.arg for a in node.args.args)
        if expected and given != expected:
            self.source.report(
                node,
                f"{node.name} takes ({', '.join(given)})",
                f"Write `def {node.name}({', '.join(expected)})`.",
            )
        if role is MethodRole.HYPER and node.name.startswith("_"):
            self.source.report(node, "a spec's methods are public", "Remove the `_`.")
        assignable = {
            d.name for d in declarations if d.role in (Role.STATE, Role.MOMENT)
        }
        known = attributes
        if role is MethodRole.SETUP:
            known = {
                name: what
                for name, what in attributes.items()
                if what in ("hyperparameter", "scheduled", "derived")
            }
            assignable = {d.name for d in declarations}
        elif role in (MethodRole.HYPER, MethodRole.PROPERTY):
            known = {
                name: _STATIC[what]
                for name, what in attributes.items()
                if what in _STATIC
            }
        elif role is MethodRole.PREPARE:
            known = {n: what for n, what in attributes.items() if what != "moment"}
            assignable = {n for n, what in attributes.items() if what == "coefficient"}
            check_prepare(self.source, node)
        BodyChecker(
            self.source,
            node,
            known,
            assignable=frozenset(assignable),
            any_assignment=role in (MethodRole.PREPARE, MethodRole.SETUP),
            imports=self.imports,
            declare=_DECLARE[kind],
            reserved=RESERVED | OF_OPTIMIZERS if kind is Kind.OPTIMIZER else RESERVED,
        ).check()
        UseChecker(self.source, node, known).check()
        check_locals(self.source, node, role, attributes, declarations)
        if role is not MethodRole.SETUP:
            check_summary(self.source, node)
        return read_method(self.source, node, role, attributes)


def _fields(node: ast.ClassDef) -> dict[str, str]:
    """The annotated fields, those with a faulty annotation too."""
    return {
        statement.target.id: "hyperparameter"
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
    }


def _attempted(node: ast.ClassDef) -> dict[str, str]:
    """The attributes that a class means to declare, whether or not it does so correctly."""
    names: list[str | None] = []
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.FunctionDef(name="setup"):
                stored = [
                    n for n in ast.walk(statement) if isinstance(n, ast.Attribute)
                ]
                names += [
                    self_attribute(n) for n in stored if isinstance(n.ctx, ast.Store)
                ]
    return dict.fromkeys(filter(None, names), "unknown")
