"""What the template of module classes places: the other way to use a layer or a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlax_scaffold.model.definition import (
    Definition,
    Hyperparameter,
    Kind,
    MethodRole,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.graph_calls import call_view
from mlax_scaffold.render.graph_sizes import inferred
from mlax_scaffold.render.layer import FunctionView
from mlax_scaffold.render.modules import imports
from mlax_scaffold.render.parameters import (
    Parameter,
    canonical,
    hyperparameter,
    initializer,
    weights,
)
from mlax_scaffold.render.text import docstring, opening, paragraphs, section

_SUPPORT = (
    "from typing import Any, ClassVar",
    "from collections.abc import Iterable, Mapping",
    "from {package}.graph._block import BlockModule, checked_module, checked_modules",
    "from {package}.graph._declarations import Declarations",
    "from {package}.graph._graph import Graph",
    "from {package}.graph._layer import LayerModule",
    "from {package}.graph._module import Module",
    "from {package}.graph._params import Params",
    "from {package}.graph._recurrent import RecurrentModule",
    "from {package}.graph._rng import Rng",
)


@dataclass(frozen=True)
class ModuleView:
    """A generated module class."""

    name: str
    title: str
    doc: str
    base: str
    attributes: tuple[str, ...]
    """Class attributes, one line each."""
    signature: str
    body: str
    init: FunctionView
    sizes: str
    """Body of the method that infers hyperparameters; empty where there are none."""
    calls: tuple[FunctionView, ...]


def module_class_view(
    definition: Definition, library: Library, package: str
) -> ModuleView:
    """The view of the module class of a layer or a block."""
    return _Builder(definition, library, package).view()


def module_class_imports(
    definition: Definition, library: Library, package: str
) -> tuple[str, ...]:
    """Import statements of a module class; the linter drops those that are not used."""
    place = f"{package}.{definition.section}"
    lines = [
        line
        for line in imports(definition, package)
        if not line.startswith((f"from {package}.nn ", f"from {package}.block "))
    ]
    lines += [line.format(package=package) for line in _SUPPORT]
    lines.append(f"from {place} import {definition.module} as pure")
    for d in definition.declared(Role.SUB_LAYER):
        assert d.reference is not None
        sub = library[d.reference]
        lines.append(f"from {package}.graph.{sub.section}.{sub.module} import (")
        lines.append(f"    {sub.module_name},\n)")
    return tuple(dict.fromkeys(lines))


class _Builder:
    def __init__(self, definition: Definition, library: Library, package: str):
        self.definition = definition
        self.library = library
        self.package = package
        self.name = definition.module_name
        self.block = definition.kind is Kind.BLOCK
        self.traits = library.traits(definition.reference)
        self.weighted = self.traits.takes_key and not self.block
        self.inferred = inferred(definition)

    def view(self) -> ModuleView:
        entries = [m for m in self.definition.methods if m.role is MethodRole.ENTRY]
        base = "BlockModule" if self.block else "LayerModule"
        full = f"{self.package}.{self.definition.section}.{self.definition.name}"
        return ModuleView(
            name=self.name,
            title=f"The module class of `{full}`.",
            doc=self._doc(),
            base="RecurrentModule" if self.definition.recurrent else base,
            attributes=tuple(self._attributes()),
            signature=self._signature(),
            body="\n".join(self._body()),
            init=self._init(),
            sizes=self._sizes(),
            calls=tuple(call_view(self.definition, m) for m in entries),
        )

    # The class

    def _doc(self) -> str:
        definition = self.definition
        entries = [(p.name, p.doc) for p in self._parameters()]
        return docstring(
            paragraphs(
                opening(definition.summary, 4),
                definition.description,
                section("Args", entries),
                "Raises:\n    ValueError, TypeError: where an argument is not what it may be.",
            ),
            4,
        )

    def _attributes(self) -> Iterator[str]:
        yield "functions: ClassVar[Any] = pure"
        if self.block:
            words = {h.name: h.type.word.name for h in self.definition.structural()}
            yield f"structural: ClassVar[Mapping[str, str]] = {words!r}"
            if any(m.passes for m in self.definition.methods):
                yield "hands_on: ClassVar[bool] = True"
            return
        declared = [
            (d.name, self._declared(d))
            for d in self.definition.declarations
            if d.role is not Role.DERIVED
        ]
        if declared:
            given = ", ".join(f"{name!r}: {value}" for name, value in declared)
            yield f"declarations: ClassVar[Declarations] = {{{given}}}"
        if self.inferred:
            names = {name: self.definition.alias(name) for name in self.inferred}
            yield f"inferred: ClassVar[Mapping[str, str]] = {names!r}"
        if self.traits.draws:
            yield "draws_keys: ClassVar[bool] = True"

    def _declared(self, d) -> str:
        if d.role is not Role.SUB_LAYER:
            return "None"
        nested = f"{self.library[d.reference].module_name}.declarations"
        return f"[{nested}]" if d.several else nested

    def _parameters(self) -> list[Parameter]:
        """Parameters of the constructor, but for `self`."""
        definition = self.definition
        given = [self._parameter(h) for h in definition.hyperparameters]
        known = [
            p
            for p, h in zip(given, definition.hyperparameters, strict=True)
            if h.name not in self.inferred
        ]
        late = [
            replace(
                p,
                annotation=f"{p.annotation} | None",
                default="None",
                doc=f"{p.doc.rstrip('.')}; None: that of the first input.",
            )
            for p, h in zip(given, definition.hyperparameters, strict=True)
            if h.name in self.inferred
        ]
        required = [p for p in known if p.default is None]
        optional = [p for p in known if p.default is not None]
        graph = Parameter(
            "graph", "Graph", None, "a node of its own, `graph.child(...)`."
        )
        return [graph, *required, *optional, *late, *self._settings()]

    def _parameter(self, h: Hyperparameter) -> Parameter:
        parameter = hyperparameter(h)
        if not h.type.word.structural:
            return replace(parameter, name=self.definition.alias(h.name))
        many = h.type.word.name == "SubLayers"
        doc = (
            h.doc.rstrip(".")
            .replace("an initialized ", "a ")
            .replace("initialized ", "")
        )
        what = "modules" if many else "a module"
        doc = f"{doc} ({what})." if doc else f"{what}."
        if h.type.word.name == "Stacked":
            doc = (
                "a module, whose parameters get a first axis: one entry for each time."
            )
        return Parameter(
            self.definition.alias(h.name),
            "Iterable[Module]" if many else "Module",
            None,
            doc,
        )

    def _settings(self) -> Iterator[Parameter]:
        if self.definition.recurrent:
            doc = "whether `apply` is a Python loop, and not a compiled one."
            yield Parameter("is_static", "bool", "False", doc)
        if self.weighted:
            yield from map(hyperparameter, self.definition.initializers)
            for d in weights(self.definition):
                yield initializer(self.definition, d)
            doc = "dtype of the weights; None: that of their initializers."
            yield Parameter("dtype", "DTypeLike | None", "None", doc)
            doc = (
                "of the parameters, by their names, such as "
                '`{"kernel": {"sharding": P(None, "model")}}`.'
            )
            yield Parameter("metadata", "Mapping[str, Any] | None", "None", doc)
        if self.block:
            doc = "gives the key in training; None: the first one among the modules."
            yield Parameter("rng", "Rng | None", "None", doc)
        elif self.weighted or self.traits.draws:
            uses = [
                *(["the keys of the weights"] if self.weighted else []),
                *(["that of each call in training"] if self.traits.draws else []),
            ]
            doc = f"gives {' and '.join(uses)}."
            yield Parameter("rng", "Rng | None", "None", doc)

    def _signature(self) -> str:
        parameters = self._parameters()
        names = {self.definition.alias(name) for name in self.inferred} | {
            p.name for p in self._settings()
        }
        plain = [p.text for p in parameters if p.name not in names]
        keyword = [p.text for p in parameters if p.name in names]
        return ", ".join(["self", *plain, *(["*", *keyword] if keyword else [])])

    def _body(self) -> Iterator[str]:
        settings = {p.name for p in self._settings()}
        given = [n for n in ("rng", "dtype", "metadata") if n in settings]
        passed = "".join(f", {name}={name}" for name in given)
        yield f"super().__init__(graph{passed})"
        for h in self.definition.hyperparameters:
            yield f"self.{self.definition.alias(h.name)} = {self._canonical(h)}"
        if self.definition.recurrent:
            yield f"self.is_static = checks.boolean({self.name!r}, is_static=is_static)"
        for name in self._initializers():
            yield f"self.{name} = {name}"

    def _initializers(self) -> list[str]:
        """Names of the parameters that are initializers."""
        if not self.weighted:
            return []
        own = [f"{d.name}_initializer" for d in weights(self.definition)]
        return [*(h.name for h in self.definition.initializers), *own]

    def _canonical(self, h: Hyperparameter) -> str:
        alias = self.definition.alias(h.name)
        if h.type.word.structural:
            many = "s" if h.type.word.name == "SubLayers" else ""
            return f"checked_module{many}(self, {alias!r}, {alias})"
        if h.name in self.inferred:
            h = replace(h, type=replace(h.type, optional=True))
        elif "spatial_dims" in self.inferred and (
            h.type.per_dim or h.type.word.name == "Padding"
        ):
            return alias  # checked by `init`, which knows the number of axes
        return canonical(self.name, replace(h, name=alias), alias)

    # Methods

    def _init(self) -> FunctionView:
        given: list[str] = []
        if self.block:
            given.append("**layers")
        elif self.weighted:
            given.append("key")
        for h in self.definition.hyperparameters:
            if not h.type.word.structural and h.name not in self.inferred:
                given.append(f"{h.name}=self.{self.definition.alias(h.name)}")
        if self.weighted:
            given += [f"{name}=self.{name}" for name in self._initializers()]
            given.append("dtype=self.dtype")
        if self.inferred:
            given.append("**sizes")
        signature = (
            "self, **layers: Any" if self.block else "self, key: Any, **sizes: Any"
        )
        section_name = self.definition.section
        return FunctionView(
            "init",
            signature,
            "tuple[Any, Any, Any]",
            docstring(f"`init` of `{section_name}.{self.definition.name}`."),
            f"return pure.init({', '.join(given)})",
        )

    def _sizes(self) -> str:
        if not self.inferred:
            return ""
        given = ", ".join(f"{name!r}: {how}" for name, how in self.inferred.items())
        return f"return {{{given}}}"
