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
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.render.arrays import result_doc
from mlax_scaffold.render.declared_shapes import shapes
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
from mlax_scaffold.render.text import listed, sentence, wrapped


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
        rows: dict[tuple[str, str, str], list[str]] = {}
        for signature in found:
            for p in signature.parameters:
                if p.name != "self" and p.used:
                    default = "required" if _is_required(p) else code(p.default or "")
                    row = (code(p.name), prose(sentence(p.doc)), default)
                    rows.setdefault(row, []).append(code(signature.name))
        if len(found) > 1:
            yield table(
                ("name", "of", "meaning", "default"),
                [(n, ", ".join(of), doc, d) for (n, doc, d), of in rows.items()],
            )
        elif rows:
            yield table(("name", "meaning", "default"), rows)
        whose = "Every layer" if self.layer else "Every optimizer"
        unused = (signature.unused(whose) for signature in found)
        yield from map(prose, dict.fromkeys(filter(None, unused)))
        yield from self._results()

    def _results(self) -> Iterator[str]:
        for method in self.definition.entries:
            result = result_doc(method.returns).removesuffix(" of any shape")
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
                d,
                code(self.setup.text(d.initializer)),
                "always" if d.condition is None else f"where {code(d.condition.plain)}",
            )
            for d in self.definition.weights
        ]
        if rows:
            yield self._declared("present", rows)
        if not self.layer:
            return
        subs = self._parts(Role.TRAINABLE, "trainable")
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
                d,
                code(self.setup.text(d.initializer)),
                code(self.setup.text(d.dtype))
                if d.dtype
                else f"that of the weights, at least {code(d.at_least.text)}"
                if d.at_least
                else "that of the weights",
            )
            for d in self.definition.declared(Role.STATE)
            if not d.members
        ]
        if rows:
            yield self._declared("dtype", rows)
        if subs := self._parts(Role.STATE, "stateful"):
            yield f"And the state of {subs}." if rows else f"The state of {subs}."

    def _moments(self) -> Iterator[str]:
        rows = [
            (
                d,
                code(self.setup.text(d.initializer))
                if d.shape
                else f"a copy of {code(str(d.value))}",
                self._moment_dtype(d),
            )
            for d in self.definition.declared(Role.MOMENT)
            if not d.members
        ]
        if rows:
            yield "For each weight `param`, in trees with the structure of the weights:"
            yield self._declared("dtype", rows)
        for d in self.definition.declared(Role.MOMENT):
            if d.members:
                like = "each in a tree with the structure of the weights"
                yield f"{code(d.name)} is {container(d)}, {like}."
        rows = [
            (
                d,
                code(self.setup.text(d.initializer)),
                code(self.setup.text(d.dtype))
                if d.dtype
                else "the default float dtype",
            )
            for d in self.definition.declared(Role.STATE)
        ]
        if rows:
            yield "For all weights together:"
            yield self._declared("dtype", rows)
        for h in self.definition.structural():
            states = "states" if h.type.word.many else "state"
            yield f"The {states} of {code(h.name)}."
        for d in self.definition.declared(Role.OPTIMIZER):
            yield f"The state of {code(d.name)} ({self._linked(d)})."

    def _moment_dtype(self, d: Declaration) -> str:
        if d.dtype is None:
            return "that of the weight"
        field = self.definition.expanded(d.dtype).attribute
        hyperparameters = self.definition.hyperparameters
        may_be_none = any(h.type.optional for h in hyperparameters if h.name == field)
        text = code(self.setup.text(d.dtype))
        return f"{text}, or that of the weight" if may_be_none else text

    def _declared(self, last: str, rows: list[tuple[Declaration, str, str]]) -> str:
        """A table of what is declared; also of what it means, where a spec says that of any."""
        headers = ("name", "shape", "initializer", last)
        cells = [(code(d.name), self._shape(d), *rest) for d, *rest in rows]
        if any(d.doc for d, *_ in rows):
            headers = ("name", "meaning", *headers[1:])
            docs = [prose(sentence(d.doc)) for d, *_ in rows]
            cells = [(c[0], doc, *c[1:]) for c, doc in zip(cells, docs, strict=True)]
        return table(headers, cells)

    def _shape(self, d: Declaration) -> str:
        if d.shape is None:
            return code(f"{d.value}.shape")
        found = shapes(self.definition, d.shape)
        return ", or ".join(code(s.text) if s.is_code else prose(s.text) for s in found)

    def _linked(self, d: Declaration) -> str:
        found = [self._link(r.section, r.name) for r in d.references]
        return ", ".join(found)

    def _parts(self, role: Role, trait: str) -> str:
        """Containers of arrays of a role, and layers that have such arrays."""
        names = [code(d.name) for d in self.definition.declared(role) if d.members]
        if self.layer:
            names += self._sub_layers(trait)
        return listed(names) if names else ""

    def _sub_layers(self, trait: str) -> list[str]:
        traits = self.library.sub_layers(self.definition)
        names = [
            f"{code(d.name)} ({self._linked(d)})"
            for d in self.definition.declared(Role.SUB_LAYER)
            if getattr(traits[d.name], trait)
        ]
        return names + [code(h.name) for h in self.definition.structural()]

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


def _call(signature: Signature, name: str) -> str:
    """How a method of a module class is called, on a module that is called like the class."""
    module = module_name(name)
    methods = {"__init__": f"{module} = {name}", "__call__": f"y, params = {module}"}
    called = methods.get(signature.name, f"y, params = {module}.{signature.name}")
    return signature.call.replace(f"{signature.name}(self, ", f"{called}(", 1)


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is None and not parameter.name.startswith("*")


def page_name(definition: Definition) -> str:
    """The file of a page inside its section; `index.md` is the section's own."""
    module = definition.module
    return f"{module}_.md" if module == "index" else f"{module}.md"
