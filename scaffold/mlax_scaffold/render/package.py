"""The files of the generated package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mlax_scaffold.model.definition import OPTIMIZER_TOOLS, Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.environment import render_template, template_root
from mlax_scaffold.render.function import function_view
from mlax_scaffold.render.header import header
from mlax_scaffold.render.layer import layer_view
from mlax_scaffold.render.modules import file_name, imports
from mlax_scaffold.render.optimizer import optimizer_view
from mlax_scaffold.render.schedule import schedule_view
from mlax_scaffold.render.text import exported
from mlax_scaffold.rewrite import Rewritten
from mlax_scaffold.rewrite.helpers import rewrite_helpers

_SUMMARIES = {
    Kind.LAYER: "Layers: each a module with `init` and `fwd`.",
    Kind.BLOCK: "Blocks: layers that are built of layers.",
    Kind.FUNCTION: "Stateless functions: no half precision is widened silently.",
    Kind.OPTIMIZER: "Optimizers: each a module with `init` and `step`.",
    Kind.SCHEDULE: "Schedules: hashable functions of the step.",
}


_PUBLIC = ("initializers.py.jinja",)
"""Modules of the package that follow from no spec."""


def module(
    definition: Definition,
    library: Library,
    methods: dict[str, Rewritten],
    project: Project,
) -> Rendered:
    """The module of one definition."""
    match definition.kind:
        case Kind.LAYER | Kind.BLOCK:
            template, view = "layer", layer_view(definition, library, methods)
        case Kind.FUNCTION:
            template, view = "function", function_view(definition, methods)
        case Kind.OPTIMIZER:
            template, view = "optimizer", optimizer_view(definition, library, methods)
        case Kind.SCHEDULE:
            template, view = "schedule", schedule_view(definition, methods)
    path = f"{project.output}/{definition.section}/{file_name(definition)}"
    text = render_template(
        f"package/{template}.py.jinja",
        header=header(definition.source),
        imports="\n".join(imports(definition, project.package)),
        helpers=rewrite_helpers(definition),
        view=view,
    )
    return Rendered(path, text, definition.source)


def support(library: Library, project: Project) -> Iterator[Rendered]:
    """The files that follow from all specs, or from none."""
    kinds = [kind for kind in Kind if library.within(kind.section)]
    for kind in kinds:
        yield Rendered(
            f"{project.output}/{kind.section}/__init__.py",
            render_template(
                "package/section/__init__.py.jinja",
                header=header(""),
                summary=_SUMMARIES[kind],
                lines=_exports(kind, library, project),
            ),
            "",
            registry=True,
        )
    yield Rendered(
        f"{project.output}/__init__.py",
        render_template(
            "package/__init__.py.jinja",
            header=header(""),
            package=project.package,
            modules=sorted(["initializers", *(kind.section for kind in kinds)]),
        ),
        "",
        registry=True,
    )
    root = template_root() / "package"
    templates = [*(root / "_core").glob("*.jinja"), *map(root.joinpath, _PUBLIC)]
    yield from shared(templates, project)
    yield Rendered(f"{project.output}/py.typed", "", "")


def shared(templates: Iterable[Path], project: Project) -> Iterator[Rendered]:
    """Modules that no spec decides."""
    root = template_root() / "package"
    for template in sorted(templates):
        name = template.relative_to(root).as_posix()
        yield Rendered(
            f"{project.output}/{name.removesuffix('.jinja')}",
            render_template(
                f"package/{name}", header=header(""), package=project.package
            ),
            "",
        )


def _exports(kind: Kind, library: Library, project: Project) -> list[str]:
    package = f"{project.package}.{kind.section}"
    lines: list[str] = []
    names: list[str] = []
    if kind is Kind.OPTIMIZER:
        core = f"{project.package}._core"
        lines += [
            f"from {core}.optax_adapters import from_optax, to_optax",
            f"from {core}.placement import state_shardings",
            f"from {core}.trees import apply_updates",
        ]
        names += OPTIMIZER_TOOLS
    for definition in library.within(kind.section):
        names.append(definition.name)
        if kind in (Kind.FUNCTION, Kind.SCHEDULE):
            stem = file_name(definition).removesuffix(".py")
            lines.append(f"from {package}.{stem} import {definition.name}")
        else:
            lines.append(
                f"from {package} import {definition.module} as {definition.name}"
            )
    return [*lines, "", exported(names)]
