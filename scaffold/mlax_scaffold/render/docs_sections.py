"""What the template of reference pages places: the sections of a page, in order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition, Kind, MethodRole, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.render.docs_contract import dtypes, entries, entry_name, errors
from mlax_scaffold.render.docs_markdown import block, code, paragraphs, prose, table
from mlax_scaffold.render.docs_setup import Setup
from mlax_scaffold.render.graph_sizes import inferred
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.parameters import array_doc, plain
from mlax_scaffold.render.text import sentence


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
    definition: Definition,
    library: Library,
    project: Project,
    signatures: str,
    example: str,
    module_signature: str,
) -> Page:
    """The page of a definition, from its formatted signatures and example."""
    path = f"{project.package}.{definition.section}.{definition.name}"
    builder = _Builder(definition, library, project)
    sections = [
        Section("Signature", (block(signatures, "python"),)),
        *builder.sections(),
        Section("Example", (block(example, "python"),)) if example else None,
        Section("Module class", tuple(builder.module_class(module_signature))),
        Section("Source", tuple(builder.source())),
    ]
    parts = (
        code(path),
        prose(definition.summary),
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
        self.layer = definition.kind in (Kind.LAYER, Kind.BLOCK)

    def sections(self) -> Iterator[Section]:
        yield Section("Hyperparameters", tuple(self._hyperparameters()))
        yield Section("Inputs and result", tuple(self._arrays()))
        yield Section("Weights", tuple(self._weights()))
        yield Section("State", tuple(self._state()))
        yield Section("Methods of the hyperparameters", tuple(self._methods()))
        yield Section("Dtypes", tuple(dtypes(self.definition, self.library)))
        yield Section("Errors", tuple(errors(self.definition, self.library)))

    def _hyperparameters(self) -> Iterator[str]:
        rows = [
            (
                code(h.name),
                prose(sentence(h.doc)),
                prose(h.type.takes),
                "required" if h.default is None else code(h.default),
            )
            for h in (*self.definition.hyperparameters, *self.definition.initializers)
        ]
        headers = ("name", "what it is", "takes", "default")
        if rows and not any(doc for _, doc, *_ in rows):
            headers = ("name", "takes", "default")
            rows = [(name, *rest) for name, _, *rest in rows]
        if rows:
            yield table(headers, rows)

    # Arrays

    def _arrays(self) -> Iterator[str]:
        methods = entries(self.definition)
        for method in methods:
            if len(methods) > 1:
                yield f"Of {code(entry_name(method))}:"
            many = self.layer and len(method.positional) > 1
            rows = []
            for i in method.inputs:
                where = "in the tuple `x`" if many and not i.keyword else "positional"
                where = "keyword" if i.keyword else where
                doc = f"{prose(i.doc)}: " if i.doc else ""
                default = "required" if i.default is None else code(i.default)
                rows.append(
                    (code(i.name), f"{doc}{prose(array_doc(i.type))}", where, default)
                )
            if method.returns is None:
                result = "anything"
            else:
                result = array_doc(method.returns).removesuffix(" of any shape")
            rows.append(("result", prose(result), "", ""))
            yield table(("name", "array", "given", "default"), rows)

    # Weights and state

    def _weights(self) -> Iterator[str]:
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                "always"
                if d.condition is None
                else f"where {code(plain(d.condition))}",
            )
            for d in self.definition.declared(Role.TRAINABLE)
        ]
        if rows:
            yield table(("name", "shape", "initializer", "present"), rows)
        if not self.layer:
            return
        subs = self._sub_layers("trainable")
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
                code(plain(d.dtype))
                if d.dtype
                else f"that of the weights, at least {code(d.at_least)}"
                if d.at_least
                else "that of the weights",
            )
            for d in self.definition.declared(Role.STATE)
        ]
        if rows:
            yield table(("name", "shape", "initializer", "dtype"), rows)
        if self.layer and (subs := self._sub_layers("stateful")):
            yield f"And the state of {subs}." if rows else f"The state of {subs}."

    def _moments(self) -> Iterator[str]:
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape) if d.shape else f"{d.value}.shape"),
                code(self.setup.text(d.initializer))
                if d.shape
                else f"a copy of {code(d.value)}",
                f"{code(plain(d.dtype))}, or that of the weight"
                if d.dtype
                else "that of the weight",
            )
            for d in self.definition.declared(Role.MOMENT)
        ]
        if rows:
            yield "For each weight `param`, in trees with the structure of the weights:"
            yield table(("name", "shape", "initializer", "dtype"), rows)
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                code(plain(d.dtype)) if d.dtype else "the default float dtype",
            )
            for d in self.definition.declared(Role.STATE)
        ]
        if rows:
            yield "For all weights together:"
            yield table(("name", "shape", "initializer", "dtype"), rows)
        for h in self.definition.structural():
            yield f"The states of {code(h.name)}."

    def _sub_layers(self, trait: str) -> str:
        names = [
            f"{code(d.name)} ({self._link(str(d.reference.section), d.reference.name)})"
            for d in self.definition.declared(Role.SUB_LAYER)
            if d.reference is not None
            and getattr(self.library.traits(d.reference), trait)
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

    def module_class(self, signature: str) -> Iterator[str]:
        """How models use the layer; nothing of what has no module class."""
        if not signature:
            return
        definition = self.definition
        name = f"{self.project.package}.graph.{definition.module_name}"
        learned = [code(definition.alias(name)) for name in inferred(definition)]
        taken = f" {', '.join(learned)}: from the first input." if learned else ""
        yield f"{code(name)} creates its parameters at the first call.{taken}"
        yield block(signature, "python")

    # Source

    def source(self) -> Iterator[str]:
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
        yield f"{', '.join(links)}."
        yield block(definition.text, "python")


def page_name(definition: Definition) -> str:
    """The file of a page inside its section; `index.md` is the section's own."""
    module = definition.module
    return f"{module}_.md" if module == "index" else f"{module}.md"
