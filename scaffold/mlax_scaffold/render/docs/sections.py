"""What the template of reference pages places: the sections of a page, in order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    Declaration,
    Definition,
    Kind,
    MethodRole,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.render.arrays import array_doc
from mlax_scaffold.render.docs.contract import dtypes, requirements
from mlax_scaffold.render.docs.markdown import (
    block,
    code,
    paragraphs,
    prose,
    summary,
    table,
)
from mlax_scaffold.render.docs.setup import Setup
from mlax_scaffold.render.graph.signatures import call, constructor
from mlax_scaffold.render.graph.sizes import inferred
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.package.optimizer import container
from mlax_scaffold.render.signatures import Parameter, Signature, signatures
from mlax_scaffold.render.text import sentence, wrapped


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it; parts are Markdown."""

    title: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A reference page."""

    name: str
    parts: tuple[str, ...]
    """What stands under the title: the full name, the summary, the description."""
    sections: tuple[Section, ...]


def page(
    definition: Definition, library: Library, project: Project, example: str
) -> Page:
    """The page of a definition, from its formatted example."""
    path = f"{project.package}.{definition.section}.{definition.name}"
    builder = _Builder(definition, library, project)
    sections = [
        *builder.sections(),
        Section("Example", (block(example, "python"),)) if example else None,
        Section("Module class", tuple(builder.module_class())),
        Section("Source", (builder.source(),)),
    ]
    parts = (
        code(path),
        summary(definition.summary),
        paragraphs(definition.description),
    )
    return Page(
        prose(definition.name),
        tuple(part for part in parts if part),
        tuple(s for s in sections if s is not None and s.parts),
    )


class _Builder:
    def __init__(self, definition: Definition, library: Library, project: Project):
        self.definition = definition
        self.library = library
        self.project = project
        self.setup = Setup(definition)
        self.layer = definition.kind.is_layer

    def sections(self) -> Iterator[Section]:
        yield Section("Parameters", tuple(self._parameters()))
        yield Section("Weights", tuple(self._weights()))
        yield Section("State", tuple(self._state()))
        yield Section("Methods of the hyperparameters", tuple(self._methods()))
        yield Section("Dtypes", tuple(dtypes(self.definition, self.library)))
        yield Section("Requirements", tuple(requirements(self.definition)))

    def _parameters(self) -> Iterator[str]:
        """One table of all that its functions take, and what they return."""
        found = signatures(self.definition, self.library)
        rows = [
            (
                code(p.name),
                code(signature.name),
                prose(sentence(p.doc)) if p.used else _UNUSED,
                "required" if _is_required(p) else code(p.default or ""),
            )
            for signature in found
            for p in signature.parameters
            if p.name != "self"
        ]
        if len(found) > 1:
            yield table(("name", "of", "meaning", "default"), rows)
        elif rows:
            short = [(name, doc, default) for name, _, doc, default in rows]
            yield table(("name", "meaning", "default"), short)
        yield from self._results()

    def _results(self) -> Iterator[str]:
        for method in self.definition.entries:
            result = "anything"
            if method.returns is not None:
                result = array_doc(method.returns).removesuffix(" of any shape")
            if not self.layer:
                yield prose(f"The result is {result}.")
                continue
            stateful = self.library.traits(self.definition.reference).stateful
            state = "non_trainables" if stateful else "None"
            yield prose(f"`{method.function}` returns `(y, {state})`; y is {result}.")

    # Weights and state

    def _weights(self) -> Iterator[str]:
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                "always" if d.condition is None else f"where {code(d.condition.plain)}",
            )
            for d in self.definition.weights
        ]
        if rows:
            yield table(("name", "shape", "initializer", "present"), rows)
        if not self.layer:
            return
        subs = self._sub_layers("trainable")
        held = [d for d in self.definition.declared(Role.TRAINABLE) if d.members]
        subs = ", ".join(filter(None, [*(code(d.name) for d in held), subs]))
        count = self.setup.count()
        own = code(count) if count is not None else "what the shapes above say"
        if rows and subs:
            yield f"Number of weights: {own}, and those of {subs}."
        elif rows:
            yield f"Number of weights: {own}."
        elif subs:
            yield f"Number of weights: those of {subs}."

    def _state(self) -> Iterator[str]:
        if self.definition.kind is Kind.OPTIMIZER:
            yield from self._moments()
            return
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                code(d.dtype.plain)
                if d.dtype
                else f"that of the weights, at least {code(d.at_least.text)}"
                if d.at_least
                else "that of the weights",
            )
            for d in self.definition.declared(Role.STATE)
            if not d.members
        ]
        if rows:
            yield table(("name", "shape", "initializer", "dtype"), rows)
        held = [d for d in self.definition.declared(Role.STATE) if d.members]
        subs = self._sub_layers("stateful") if self.layer else ""
        if subs := ", ".join(filter(None, [*(code(d.name) for d in held), subs])):
            yield f"And the state of {subs}." if rows else f"The state of {subs}."

    def _moments(self) -> Iterator[str]:
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape) if d.shape else f"{d.value}.shape"),
                code(self.setup.text(d.initializer))
                if d.shape
                else f"a copy of {code(str(d.value))}",
                f"{code(d.dtype.plain)}, or that of the weight"
                if d.dtype
                else "that of the weight",
            )
            for d in self.definition.declared(Role.MOMENT)
            if not d.members
        ]
        if rows:
            yield "For each weight `param`, in trees with the structure of the weights:"
            yield table(("name", "shape", "initializer", "dtype"), rows)
        for d in self.definition.declared(Role.MOMENT):
            if d.members:
                like = "each in a tree with the structure of the weights"
                yield f"{code(d.name)} is {container(d)}, {like}."
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                code(d.dtype.plain) if d.dtype else "the default float dtype",
            )
            for d in self.definition.declared(Role.STATE)
        ]
        if rows:
            yield "For all weights together:"
            yield table(("name", "shape", "initializer", "dtype"), rows)
        for h in self.definition.structural():
            yield f"The states of {code(h.name)}."
        for d in self.definition.declared(Role.OPTIMIZER):
            yield f"The state of {code(d.name)} ({self._linked(d)})."

    def _linked(self, d: Declaration) -> str:
        found = [self._link(r.section, r.name) for r in d.references]
        return ", ".join(found)

    def _sub_layers(self, trait: str) -> str:
        traits = self.library.sub_layers(self.definition)
        names = [
            f"{code(d.name)} ({self._linked(d)})"
            for d in self.definition.declared(Role.SUB_LAYER)
            if getattr(traits[d.name], trait)
        ]
        names += [code(h.name) for h in self.definition.structural()]
        return ", ".join(names)

    def _link(self, section: str, name: str) -> str:
        target = next(
            d for d in self.library if d.section == section and d.name == name
        )
        folder = self.definition.section
        path = posixpath.relpath(f"{section}/{page_name(target)}", folder)
        return f"[{prose(name)}]({path})"

    def _methods(self) -> Iterator[str]:
        rows = [
            (code(m.name), prose(sentence(m.doc or m.name)))
            for m in self.definition.methods
            if m.role in (MethodRole.HYPER, MethodRole.PROPERTY)
        ]
        if rows:
            yield table(("name", "what it is"), rows)

    # The module class

    def module_class(self) -> Iterator[str]:
        """How models use the layer; nothing of what has no module class."""
        definition = self.definition
        if not definition.kind.is_layer:
            return
        name = f"{self.project.package}.graph.{definition.module_name}"
        learned = [code(definition.alias(name)) for name in inferred(definition)]
        taken = f" {', '.join(learned)}: from the first input." if learned else ""
        yield f"{code(name)} creates its parameters at the first call.{taken}"
        made = constructor(definition, self.library)
        called = [made, *(call(definition, method) for method in definition.entries)]
        lines = [wrapped(_call(s, definition.module_name), 0, 4) for s in called]
        yield block("\n".join(lines), "text")

    # Source

    def source(self) -> str:
        """Links to the spec, the module and its tests."""
        definition, project = self.definition, self.project
        section = definition.section
        places = {
            "module": f"{project.output}/{section}/{file_name(definition)}",
            "tests": (
                f"{project.tests}/{section}/test_{section}_{definition.module}.py"
            ),
        }
        # The specs that come with the generator lie in no project but its own.
        if definition.source.startswith(f"{project.specs}/"):
            places = {"spec": definition.source, **places}
        here = f"{project.docs}/{section}"
        links = [
            f"[{name}]({posixpath.relpath(path, here)})"
            for name, path in places.items()
        ]
        return f"{', '.join(links)}."


_UNUSED = "Taken by all of its kind, and not needed here."


def _call(signature: Signature, name: str) -> str:
    """How a method of a module class is called, on a module that is called like the class."""
    module = name.lower()
    methods = {"__init__": f"{module} = {name}", "__call__": f"y, params = {module}"}
    called = methods.get(signature.name, f"y, params = {module}.{signature.name}")
    return signature.call.replace(f"{signature.name}(self, ", f"{called}(", 1)


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is None and not parameter.name.startswith("*")


def page_name(definition: Definition) -> str:
    """The file of a page inside its section; `index.md` is the section's own."""
    module = definition.module
    return f"{module}_.md" if module == "index" else f"{module}.md"
