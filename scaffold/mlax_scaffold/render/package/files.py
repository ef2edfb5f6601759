"""The files of the generated package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlax_scaffold.model.definition import OPTIMIZER_TOOLS, SECTIONS, Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.model.word import bound
from mlax_scaffold.render.environment import (
    copied_modules,
    module_text,
    render_template,
)
from mlax_scaffold.render.gate.bodies import check_doc, check_module
from mlax_scaffold.render.gate.imports import check_import
from mlax_scaffold.render.gate.names import check_helper_names
from mlax_scaffold.render.header import copied_header, header
from mlax_scaffold.render.modules import checked_by, file_name, imports
from mlax_scaffold.render.output import Output, Source
from mlax_scaffold.render.package.function import function_view
from mlax_scaffold.render.package.layer import layer_view, summary_doc
from mlax_scaffold.render.package.optimizer import optimizer_view
from mlax_scaffold.render.package.schedule import schedule_view
from mlax_scaffold.render.parts import parts_of
from mlax_scaffold.render.text import exported, offered
from mlax_scaffold.rewrite import Rewritten
from mlax_scaffold.rewrite.helpers import rewrite_helpers

_SUMMARIES = {
    "nn": "Layers: each a module with `init` and `fwd`.",
    "block": "Blocks: layers that are built of layers.",
    "functional": "Stateless functions: no half precision is widened silently.",
    "loss": "Losses: of each example, in the dtype of the predictions.",
    "optim": "Optimizers: each a module with `init` and `step`.",
    "schedule": "Schedules: hashable functions of the step.",
}


_OF_TREES = (
    "flatten",
    "load_safetensors",
    "register_for_export",
    "save_safetensors",
    "summary",
    "unflatten",
)


def module(
    definition: Definition,
    library: Library,
    methods: Mapping[str, Rewritten],
    project: Project,
) -> Rendered:
    """The module of one definition."""
    match definition.kind:
        case Kind.LAYER | Kind.BLOCK:
            template, view = "layer", layer_view(definition, library, methods)
        case Kind.FUNCTION:
            template, view = "function", function_view(definition, library, methods)
        case Kind.OPTIMIZER:
            template, view = "optimizer", optimizer_view(definition, library, methods)
        case Kind.SCHEDULE:
            template, view = "schedule", schedule_view(definition, methods)
    path = f"{project.output}/{definition.section}/{file_name(definition)}"
    text = render_template(
        f"package/{template}.py.jinja",
        header=header(definition.source),
        imports="\n".join(imports(definition, project.package)),
        summary=summary_doc(definition),
        helpers=rewrite_helpers(definition),
        view=view,
    )
    return Rendered(path, text, definition.source)


def _files(source: Source) -> Iterator[Rendered]:
    yield module(source.definition, source.library, source.methods, source.project)


def _check(source: Source, file: Rendered) -> None:
    definition = source.definition
    check_helper_names(definition, file)
    constants = [h.name for h in definition.helpers if h.kind == "constant"]
    constants += dict(definition.constants)
    modules = {i.module for i in definition.imports if i.reference is None}
    check_import(file, source.project.package, constants, modules)
    check_module(definition, source.methods, file)
    check_doc(definition, file)


def support(library: Library, project: Project) -> Iterator[Rendered]:
    """The files that follow from all specs, or from none."""
    sections = [section for section in SECTIONS if library.within(section)]
    for section in sections:
        yield Rendered(
            f"{project.output}/{section}/__init__.py",
            render_template(
                "package/section/__init__.py.jinja",
                header=header(""),
                summary=_SUMMARIES[section],
                lines=_exports(section, library, project),
            ),
            "",
            registry=True,
        )
    modules = sorted(["initializers", *parts_of(library), *sections])
    yield Rendered(
        f"{project.output}/__init__.py",
        render_template(
            "package/__init__.py.jinja",
            header=header(""),
            package=project.package,
            modules=modules,
            exports=offered([*modules, *_OF_TREES]),
        ),
        "",
        registry=True,
    )
    yield from copied("_core", project)
    yield from plugin_checks(library, project)
    yield from copied("initializers", project)
    for part in parts_of(library):
        yield from copied(part, project)
    yield Rendered(f"{project.output}/py.typed", "", "")


def copied(part: str, project: Project) -> Iterator[Rendered]:
    """The modules of a part of the package that no spec decides."""
    for name, text in copied_modules(part):
        yield Rendered(
            f"{project.output}/{name}",
            f"{copied_header(f'its templates/package/{name}')}\n{text}",
            "",
            copied=True,
        )


def plugin_checks(library: Library, project: Project) -> Iterator[Rendered]:
    """The modules of plugins that check hyperparameters: the package needs no plugin."""
    for module in sorted({m for d in library for m in checked_by(d)}):
        header = copied_header(f"{module.replace('.', '/')}.py")
        text = module_text(module)
        path = f"{project.output}/_core/{bound(module)}.py"
        yield Rendered(path, f"{header}\n{text}", "", copied=True)


def _exports(section: str, library: Library, project: Project) -> list[str]:
    package, kind = f"{project.package}.{section}", SECTIONS[section]
    lines: list[str] = []
    names: list[str] = []
    if kind is Kind.OPTIMIZER:
        core = f"{project.package}._core"
        lines += [
            f"from {core}.groups import named_chain, partition",
            f"from {core}.injected import inject",
            f"from {core}.optax_adapters import from_optax, to_optax",
            f"from {core}.placement import state_shardings",
            f"from {core}.trees import apply_updates",
        ]
        names += OPTIMIZER_TOOLS
    for definition in library.within(section):
        names.append(definition.name)
        if kind.is_member:
            stem = file_name(definition).removesuffix(".py")
            lines.append(f"from {package}.{stem} import {definition.name}")
        else:
            lines.append(
                f"from {package} import {definition.module} as {definition.name}"
            )
    return [*lines, "", exported(names)]


OUTPUT = Output(support, _files, _check)
