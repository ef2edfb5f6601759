"""The files of `graph`: modules for models, and a module class for each layer and block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from mlax_scaffold.model.definition import SECTIONS, Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.gate.bodies import check_doc, check_module_class
from mlax_scaffold.render.gate.imports import check_import
from mlax_scaffold.render.graph.module import module_class_imports, module_class_view
from mlax_scaffold.render.header import header
from mlax_scaffold.render.output import Output, Source
from mlax_scaffold.render.package.files import copied
from mlax_scaffold.render.parts import has_blocks
from mlax_scaffold.render.text import exported

_EXPORTS = {
    "_convert": ("pair_to_params", "params_to_pair"),
    "_display": ("display", "summary"),
    "_from_pair": ("FromPair",),
    "_graph": ("Graph",),
    "_metadata": ("Metadata",),
    "_module": ("Module",),
    "_param": ("Param",),
    "_params": ("LockedError", "Params"),
    "_recorded": ("recorded",),
    "_reparametrized": ("Reparametrized",),
    "_replaced": ("parts", "replace"),
    "_rng": ("Rng",),
    "_scan": ("dynamic_scan", "static_scan"),
    "_sequence": ("RecurrenceBase", "SequenceBase"),
    "_sequential": ("Sequential",),
    "_sharding": ("partition_specs", "shardings"),
    "_sized": ("init_for",),
}
"""What is public of the modules that no spec decides."""

_OF_SURGERY = frozenset({"_replaced"})
"""Those that are built on `surgery`."""


def support(library: Library, project: Project) -> Iterator[Rendered]:
    """The files that follow from all specs, or from none; nothing where there is no layer."""
    sections = [
        section
        for section, kind in SECTIONS.items()
        if kind.is_layer and library.within(section)
    ]
    if not sections or not project.modules:
        return
    missing = frozenset() if has_blocks(library) else _OF_SURGERY
    for file in copied("graph", project):
        if PurePosixPath(file.path).stem not in missing:
            yield file
    package = f"{project.package}.graph"
    chosen = {m: found for m, found in _EXPORTS.items() if m not in missing}
    names = {name: f"{package}.{m}" for m, found in chosen.items() for name in found}
    for section in sections:
        for definition in library.within(section):
            place = f"{package}.{section}.{definition.module}"
            names[definition.module_name] = place
        yield Rendered(
            f"{project.output}/graph/{section}/__init__.py",
            f'{header("")}\n"""Module classes of `{project.package}.{section}`."""\n',
            "",
        )
    lines = [f"from {place} import {name}" for name, place in sorted(names.items())]
    yield Rendered(
        f"{project.output}/graph/__init__.py",
        render_template(
            "package/graph/__init__.py.jinja",
            header=header(""),
            package=project.package,
            lines=[*lines, "", exported(names)],
        ),
        "",
        registry=True,
    )


def module_class(
    definition: Definition, library: Library, project: Project
) -> Iterator[Rendered]:
    """The module class of a layer or a block; nothing for other definitions."""
    if not definition.kind.is_layer:
        return
    text = render_template(
        "package/module.py.jinja",
        header=header(definition.source),
        imports="\n".join(module_class_imports(definition, library, project.package)),
        view=module_class_view(definition, library, project.package),
    )
    path = f"{project.output}/graph/{definition.section}/{definition.module}.py"
    yield Rendered(path, text, definition.source)


def _files(source: Source) -> Iterator[Rendered]:
    if not source.project.modules:
        return iter(())
    return module_class(source.definition, source.library, source.project)


def _check(source: Source, file: Rendered) -> None:
    modules = {i.module for i in source.definition.imports if i.reference is None}
    check_import(file, source.project.package, modules=modules)
    check_module_class(source.definition, file)
    check_doc(source.definition, file)


OUTPUT = Output(support, _files, _check)
