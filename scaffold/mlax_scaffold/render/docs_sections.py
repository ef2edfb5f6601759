"""What the template of reference pages places: the sections of a page, in order."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition, Kind, Method, MethodRole, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.render.docs_markdown import Table, block, code, paragraphs, prose
from mlax_scaffold.render.docs_setup import Setup
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
) -> Page:
    """The page of a definition, from its formatted signatures and example."""
    path = f"{project.package}.{definition.kind.section}.{definition.name}"
    builder = _Builder(definition, library, project)
    sections = [
        Section("Signature", (block(signatures, "python"),)),
        *builder.sections(),
        Section("Example", (block(example, "python"),)) if example else None,
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
        yield Section("Dtypes", tuple(self._dtypes()))
        yield Section("Errors", tuple(self._errors()))

    def _hyperparameters(self) -> Iterator[str]:
        rows = [
            (
                code(h.name),
                prose(sentence(h.doc)),
                prose(h.type.takes),
                "required" if h.default is None else code(h.default),
            )
            for h in self.definition.hyperparameters
        ]
        if rows:
            yield _table(("name", "what it is", "takes", "default"), rows)

    # Arrays

    def _entries(self) -> list[Method]:
        if self.definition.kind is Kind.FUNCTION:
            return [self.definition.methods[0]]
        return [m for m in self.definition.methods if m.role is MethodRole.ENTRY]

    def _arrays(self) -> Iterator[str]:
        entries = self._entries()
        for method in entries:
            if len(entries) > 1:
                yield f"Of {code(_entry_name(method))}:"
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
            yield _table(("name", "array", "given", "default"), rows)

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
            yield _table(("name", "shape", "initializer", "present"), rows)
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
                code(plain(d.dtype)) if d.dtype else "that of the weights",
            )
            for d in self.definition.declared(Role.STATE)
        ]
        if rows:
            yield _table(("name", "shape", "initializer", "dtype"), rows)
        if self.layer and (subs := self._sub_layers("stateful")):
            yield f"And the state of {subs}." if rows else f"The state of {subs}."

    def _moments(self) -> Iterator[str]:
        rows = [
            (
                code(d.name),
                code(self.setup.text(d.shape)),
                code(self.setup.text(d.initializer)),
                f"{code(plain(d.dtype))}, or that of the weight"
                if d.dtype
                else "that of the weight",
            )
            for d in self.definition.declared(Role.MOMENT)
        ]
        if rows:
            yield "For each weight `param`, in trees with the structure of the weights:"
            yield _table(("name", "shape", "initializer", "dtype"), rows)
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
            d for d in self.library if d.kind.section == section and d.name == name
        )
        folder = self.definition.kind.section
        path = posixpath.relpath(f"{section}/{page_name(target)}", folder)
        return f"[{prose(name)}]({path})"

    def _methods(self) -> Iterator[str]:
        rows = [
            (code(m.name), prose(sentence(m.doc or m.name)))
            for m in self.definition.methods
            if m.role in (MethodRole.HYPER, MethodRole.PROPERTY)
        ]
        if rows:
            yield _table(("name", "what it is"), rows)

    # Dtypes

    def _dtypes(self) -> Iterator[str]:
        match self.definition.kind:
            case Kind.LAYER:
                yield self._layer_dtypes()
            case Kind.BLOCK:
                yield (
                    "Each layer computes in the dtype of the input that it is given; "
                    "the block itself casts nothing else. State stays in its own dtype."
                )
            case Kind.FUNCTION:
                yield self._function_dtypes()
            case Kind.OPTIMIZER:
                yield (
                    "Each weight is updated in its own dtype, and its update has that "
                    "dtype. Coefficients that are the same for all weights are computed "
                    "in the default float dtype and cast once."
                )
            case Kind.SCHEDULE:
                yield "The value has the dtype of the step, a floating scalar."
        overrides = [
            f"{code(h.name)}: {prose(h.doc.rstrip('.'))}."
            for h in self.definition.hyperparameters
            if h.type.word.name == "DType"
        ]
        if overrides:
            yield "Overridden only by " + " ".join(overrides)

    def _layer_dtypes(self) -> str:
        traits = self.library.traits(self.definition.reference)
        method = self.definition.method("forward")
        floating = method and any("Float" in str(i.type) for i in method.positional)
        text = (
            "Computes in the dtype of the input; the result has it too."
            if floating
            else "Computes in the dtype of its weights, since no input is floating."
            if traits.trainable
            else "Casts nothing: the input goes in as it is."
        )
        if traits.trainable and floating:
            text += " Weights are kept in theirs and cast where they are used."
        if traits.stateful:
            text += " State is stored in its own dtype, whatever the input's is."
        return text

    def _function_dtypes(self) -> str:
        method = self.definition.methods[0]
        if any("Float" in str(i.type) for i in method.inputs):
            return "Computes in the dtype of its floating inputs; so is the result's."
        return "No input is floating; nothing is promoted."

    # Errors

    def _errors(self) -> Iterator[str]:
        name = self.definition.name
        made = self.definition.kind in (Kind.FUNCTION, Kind.SCHEDULE)
        where = {"setup": "init", "forward": "fwd"}
        rows = [
            (
                code(name if made else "init"),
                "`ValueError`",
                code(f"{name}: {h.name} must be ..."),
                f"not {prose(h.type.takes)}",
            )
            for h in self.definition.hyperparameters
        ]
        rows += [
            (
                code(where.get(r.method, r.method)),
                "`ValueError`",
                prose(r.message),
                code(f"not ({plain(r.condition)})"),
            )
            for r in self.definition.requirements
        ]
        rows += self._input_errors()
        if rows:
            yield _table(("raised by", "error", "message", "where"), rows)

    def _input_errors(self) -> Iterator[tuple[str, str, str, str]]:
        name = self.definition.name
        for method in self._entries():
            entry = code(_entry_name(method) if self.layer else name)
            shaped = [i for i in method.inputs if i.type.shape is not None]
            if shaped:
                names = ", ".join(code(i.name) for i in shaped)
                yield (
                    entry,
                    "`TypeError`, `ValueError`",
                    code(f"{name}: ..."),
                    f"{names} of another kind or shape than above",
                )
            if method.training:
                yield (
                    entry,
                    "`TypeError`",
                    code(f"{name}: inference_mode ..."),
                    "`inference_mode` is traced and not static",
                )
        if self.layer and self.definition.kind is Kind.LAYER:
            traits = self.library.traits(self.definition.reference)
            if traits.draws:
                yield (
                    "`fwd`",
                    "`ValueError`",
                    code(f"{name}: ..."),
                    "random numbers are needed and `key` is None",
                )
        if self.definition.kind is Kind.OPTIMIZER:
            yield (
                "`step`",
                "`TypeError`, `ValueError`",
                code(f"{name}: ..."),
                "gradients and weights differ in structure, shape or dtype, or the "
                "state is another optimizer's",
            )

    # Source

    def source(self) -> Iterator[str]:
        definition, project = self.definition, self.project
        section = definition.kind.section
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


def _entry_name(method: Method) -> str:
    return "fwd" if method.name == "forward" else method.name


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(Table(headers, tuple(rows)).lines)
