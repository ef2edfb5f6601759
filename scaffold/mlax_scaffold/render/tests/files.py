"""What the templates of generated tests place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    Definition,
    Hyperparameter,
    Kind,
    Role,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.effects import maps_given_layers
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.gate.imports import check_test_import
from mlax_scaffold.render.header import header
from mlax_scaffold.render.modules import file_name
from mlax_scaffold.render.output import Output, Source
from mlax_scaffold.render.signatures import needs
from mlax_scaffold.render.tests.entries import EntryView, entry_view
from mlax_scaffold.render.tests.graph import creation_keys
from mlax_scaffold.render.tests.imports import drawn_by, imports_of
from mlax_scaffold.render.tests.names import local

_BEGINS = 80
"""So much of a message tells which one it is."""


@dataclass(frozen=True)
class TestView:
    """A generated test module."""

    name: str
    section: str
    title: str
    imported: str
    """Statement that imports what is tested."""
    spec: str
    definition: str
    """Argument that tells which one of the file it is; empty where there is one."""
    entries: tuple[EntryView, ...]
    """What is called: of a layer `fwd` is the first, and most have no other."""
    hyperparameters: str
    """Items of a dict of what `init` or the function is called with, from what was picked."""
    keywords: str
    """The same as keyword arguments."""
    aliases: str
    """Items of a dict of what the module class calls hyperparameters by other names."""
    axes: str
    """Values that name axes which a caller maps over."""
    creates: bool
    """Whether `init` makes weights or states of a key."""
    allow: str
    smooth: str
    """Declared dtypes that decide whether finite differences are exact enough."""
    key_optional: bool
    partial: tuple[str, ...]
    """Fields of the state that are no moments."""
    held: tuple[str, ...]
    """Moments that are containers."""
    needs: tuple[str, ...]
    """Inputs of `step` that an optimizer cannot do without."""
    surrogate: bool
    """Whether the gradient is meant not to be the derivative."""
    complex_numbers: bool
    """Whether it computes with complex numbers, which half precision does not have."""
    invariances: tuple[str, ...]
    """What it says of axes."""
    per_example: bool
    draws_keys: bool
    trains: bool
    carries: bool
    """Whether it is a cell, whose hyperparameters make the first carry."""
    stored: bool
    """Whether a state is read in the dtype that it is stored in."""
    requirements: tuple[str, ...]
    unsaid: bool
    """Whether it may refuse what no requirement tells."""
    valid: str
    """Hyperparameters with which it is made; empty for what holds layers or optimizers."""
    module: str
    """Its module class; empty for what has none."""
    module_keys: int | None
    """Number of keys that creating its parameters takes; None where that depends."""


def test_module(definition: Definition, library: Library, project: Project) -> Rendered:
    """The property tests of one definition."""
    template = {
        Kind.LAYER: "layer",
        Kind.BLOCK: "layer",
        Kind.FUNCTION: "function",
        Kind.OPTIMIZER: "optimizer",
        Kind.SCHEDULE: "schedule",
    }[definition.kind]
    section = definition.section
    text = render_template(
        f"tests/{template}.py.jinja",
        header=header(definition.source),
        imports=imports_of(definition),
        package=project.package,
        view=_view(definition, library, project),
    )
    path = f"{project.tests}/{section}/test_{section}_{definition.module}.py"
    return Rendered(path, text, definition.source)


def _view(definition: Definition, library: Library, project: Project) -> TestView:
    section, name = definition.section, definition.name
    package = f"{project.package}.{section}"
    if definition.kind is Kind.FUNCTION:
        # A function may be called what a test calls something else.
        imported = f"from {project.package} import {section}"
    elif definition.kind is Kind.SCHEDULE:
        stem = file_name(definition).removesuffix(".py")
        imported = f"from {package}.{stem} import {name}"
    else:
        imported = f"from {package} import {definition.module} as {name}"
    layer = definition.kind.is_layer
    traits = library.traits(definition.reference) if layer else None
    takes_key = layer and library.takes_key(definition)
    plain = [h for h in definition.hyperparameters if not h.type.word.structural]
    own = definition.source.startswith(f"{project.specs}/")
    unsaid = own and not project.state_requirements
    half = not library.refuses_half(definition)
    named = library.own_dtypes(definition) if unsaid and half else ()
    methods = definition.entries or (definition.entry,)
    methods = sorted(methods, key=lambda method: method is not definition.entry)
    return TestView(
        name=name,
        section=section,
        title=f"Property tests of {package}.{name}.",
        imported=imported,
        spec=definition.source,
        definition=f', name="{name}"' if definition.several else "",
        entries=tuple(entry_view(definition, m, unsaid) for m in methods),
        hyperparameters=", ".join(_hyperparameters(definition, library)),
        keywords=", ".join(
            f"{h.name}={local(h.name)}" for h in definition.hyperparameters
        ),
        aliases=", ".join(f'"{alias}": "{name}"' for name, alias in definition.aliases),
        axes="".join(f"{local(h.name)}, " for h in plain if h.type.word.mapped),
        creates=takes_key,
        allow=_allowed(plain, definition.kind, named),
        smooth=_allowed(plain, Kind.LAYER, named),
        key_optional=definition.kind is Kind.BLOCK,
        partial=tuple(
            item.name
            for item in (
                *definition.structural(),
                *definition.declared(Role.STATE, Role.OPTIMIZER),
            )
        ),
        held=tuple(d.name for d in definition.declared(Role.MOMENT) if d.members),
        needs=tuple(needs(definition)) if definition.kind is Kind.OPTIMIZER else (),
        surrogate=bool(traits.surrogate if traits else library.surrogate(definition)),
        complex_numbers=(
            traits.complex_numbers if traits else library.has_complex(definition)
        ),
        invariances=tuple(map(str, definition.invariances)),
        per_example=definition.per_example,
        draws_keys=bool(traits and traits.draws)
        or any(i.type.kind == "Key" for i in definition.entry.positional),
        trains=bool(traits and traits.training),
        carries=definition.carries,
        stored=bool(traits and traits.stored),
        requirements=tuple(dict.fromkeys(_requirements(definition, library))),
        unsaid=unsaid,
        valid=", ".join(
            f'"{name}": {text}' for name, text in _valid(definition, plain).items()
        )
        if not definition.structural()
        else "",
        module=f"graph.{definition.module_name}" if layer and project.modules else "",
        module_keys=creation_keys(definition, library) if layer else None,
    )


def _allowed(plain: list[Hyperparameter], kind: Kind, named: tuple[str, ...]) -> str:
    """The declared dtypes; those of an optimizer as arguments of its case."""
    names = [local(h.name) for h in plain if h.type.word.declares_dtype]
    names += map(repr, named)
    if kind is not Kind.OPTIMIZER:
        return "".join(f"{name}, " for name in names)
    others = "".join(f"{name}, " for name in names if name != "moment_dtype")
    text = "moment_dtype=moment_dtype, " if "moment_dtype" in names else ""
    return f"{text}other_dtypes=({others})," if others else text


def _requirements(definition: Definition, library: Library) -> Iterator[str]:
    """How messages of the requirements begin, of a definition and of what it is built on."""
    for requirement in definition.requirements:
        told, words = requirement.told, requirement.told[:_BEGINS].rpartition(" ")[0]
        yield told if len(told) <= _BEGINS else words or told[:_BEGINS]
    for reference in library.references(definition):
        if reference in library.definitions:
            yield from _requirements(library[reference], library)


def _hyperparameters(definition: Definition, library: Library) -> Iterator[str]:
    steady = bool(definition.structural()) and maps_given_layers(definition, library)
    for h in definition.hyperparameters:
        toy = h.type.word.toy
        names = [n for m in definition.methods for f, n in m.handed if f == h.name]
        if toy and names:
            takes = ", ".join(map(repr, dict.fromkeys(names)))
            toy = f"{toy}.taking({takes})"
        if toy and steady:
            toy = f"{toy}.with_steady_state()"
        yield f'"{h.name}": {toy or local(h.name)}'


def _valid(definition: Definition, plain: list[Hyperparameter]) -> dict[str, str]:
    """Values with which `init` makes a layer."""
    required = {h.name: h.type.example for h in plain if h.default is None}
    return required | definition.example_values


def _files(source: Source) -> Iterator[Rendered]:
    yield test_module(source.definition, source.library, source.project)


def _check(source: Source, file: Rendered) -> None:
    drawing = drawn_by(source.definition)
    check_test_import(file, source.project.package, drawing)


OUTPUT = Output(of_definition=_files, check=_check)
