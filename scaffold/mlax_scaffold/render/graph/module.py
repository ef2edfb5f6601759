"""What the template of module classes places: the other way to use a layer or a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlax_scaffold.model.definition import (
    Definition,
    Hyperparameter,
    Kind,
    Role,
)
from mlax_scaffold.model.hyper_types import AXES
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.graph.calls import call_view
from mlax_scaffold.render.graph.signatures import (
    OTHERS,
    constructor,
    is_weighted,
    settings,
)
from mlax_scaffold.render.graph.sizes import inferred, inferred_for
from mlax_scaffold.render.modules import imports
from mlax_scaffold.render.package.layer import FunctionView
from mlax_scaffold.render.parameters import canonical
from mlax_scaffold.render.signatures import Signature
from mlax_scaffold.render.text import docstring, opening, paragraphs, section

_SUPPORT = (
    "from typing import Any, ClassVar",
    "from collections.abc import Iterable, Mapping",
    "from {package}.graph._block import BlockModule",
    "from {package}.graph._inner import checked_module, checked_modules",
    "from {package}.graph._declarations import Declarations",
    "from {package}.graph._graph import Graph",
    "from {package}.graph._layer import LayerModule",
    "from {package}.graph._module import Module",
    "from {package}.graph._owning import OwningBlockModule",
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
    signature: Signature
    body: str
    sizes: str
    """Body of the method that infers hyperparameters; empty where there are none."""
    other_sizes: str
    """The same for entry points that take other inputs than `fwd`."""
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
    defaults = {h.default.text for h in definition.hyperparameters if h.default}
    lines = [
        line
        for line in imports(definition, package)
        if not line.startswith((f"from {package}.nn ", f"from {package}.block "))
    ]
    lines += [line.format(package=package) for line in _SUPPORT]
    lines.append(f"from {place} import {definition.module} as pure")
    lines += [
        f"from {place}.{definition.module} import {helper.name}"
        for helper in definition.helpers
        if not helper.home
        and (
            helper.kind == "Enum"
            or (helper.kind == "NamedTuple" and helper.name not in OTHERS)
            or helper.name in defaults
        )
    ]
    for d in definition.declared(Role.SUB_LAYER):
        if d.members:
            continue
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
        self.weighted = is_weighted(definition, library)
        self.inferred = inferred(definition)
        self.signature = constructor(definition, library)

    def view(self) -> ModuleView:
        base = "BlockModule" if self.block else "LayerModule"
        if self.block and self.weighted:
            base = "OwningBlockModule"
        full = f"{self.package}.{self.definition.section}.{self.definition.name}"
        return ModuleView(
            name=self.name,
            title=f"The module class of `{full}`.",
            doc=self._doc(),
            base="RecurrentModule" if self.definition.recurrent else base,
            attributes=tuple(self._attributes()),
            signature=self.signature,
            body="\n".join(self._body()),
            sizes=self._sizes(),
            other_sizes="\n".join(self._other_sizes()),
            calls=tuple(call_view(self.definition, m) for m in self.definition.entries),
        )

    # The class

    def _doc(self) -> str:
        definition = self.definition
        return docstring(
            paragraphs(
                opening(definition.summary, 4),
                definition.description,
                section("Args", self.signature.docs),
                "Raises:\n    ValueError, TypeError: where an argument is not what it may be.",
            ),
            4,
        )

    def _attributes(self) -> Iterator[str]:
        yield "functions: ClassVar[Any] = pure"
        names = [h.name for h in self.definition.hyperparameters]
        aliases = {name: self.definition.alias(name) for name in names}
        renamed = {name: alias for name, alias in aliases.items() if name != alias}
        if renamed:
            yield f"aliases: ClassVar[Mapping[str, str]] = {renamed!r}"
        if self.block:
            forms = {
                h.name: "stacked" if h.type.word.stacked else h.type.word.attribute
                for h in self.definition.structural()
            }
            yield f"structural: ClassVar[Mapping[str, str]] = {forms!r}"
            if any(m.passes for m in self.definition.methods):
                yield "hands_on: ClassVar[bool] = True"
        declared = [
            (d.name, self._declared(d))
            for d in self.definition.declarations
            if d.role is not Role.DERIVED
        ]
        if declared and (self.weighted or not self.block):
            given = ", ".join(f"{name!r}: {value}" for name, value in declared)
            yield f"declarations: ClassVar[Declarations] = {{{given}}}"
        if self.inferred:
            names = {name: self.definition.alias(name) for name in self.inferred}
            yield f"inferred: ClassVar[Mapping[str, str]] = {names!r}"
        if self.library.draws_itself(self.definition.reference):
            yield "draws_keys: ClassVar[bool] = True"

    def _declared(self, d) -> str:
        # A container has one key, which `init` splits.
        if d.role is not Role.SUB_LAYER or d.members:
            return "None"
        nested = f"{self.library[d.reference].module_name}.declarations"
        return f"[{nested}]" if d.several else nested

    def _body(self) -> Iterator[str]:
        names = {p.name for p in settings(self.definition, self.library)}
        given = [n for n in ("rng", "dtype", "metadata") if n in names]
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
        own = [f"{d.name}_initializer" for d in self.definition.weights]
        return [*(h.name for h in self.definition.initializers), *own]

    def _canonical(self, h: Hyperparameter) -> str:
        alias = self.definition.alias(h.name)
        if h.type.word.structural:
            many = "s" if h.type.word.many else ""
            return f"checked_module{many}(self, {alias!r}, {alias})"
        if h.name in self.inferred:
            h = replace(h, type=replace(h.type, optional=True))
        elif AXES in self.inferred and h.type.per_axis:
            return alias  # checked by `init`, which knows the number of axes
        return canonical(self.name, replace(h, name=alias), alias)

    # Methods

    def _sizes(self) -> str:
        return f"return {_dict(self.inferred)}" if self.inferred else ""

    def _other_sizes(self) -> Iterator[str]:
        for method in self.definition.entries if self.inferred else ():
            sizes = inferred_for(self.definition, method)
            if method.name != "forward" and sizes != self.inferred:
                yield f"if entry is pure.{method.function}:"
                yield f"    return {_dict(sizes)}"


def _dict(texts: dict[str, str]) -> str:
    """A dict display of texts of expressions."""
    return f"{{{', '.join(f'{name!r}: {text}' for name, text in texts.items())}}}"
