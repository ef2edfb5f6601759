"""The reference pages: one of each definition, an index of each section, and one over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.model.definition import SECTIONS, Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.docs.api import api_pages, render_api_pages
from mlax_scaffold.render.docs.example import example, picked_kinds
from mlax_scaffold.render.docs.markdown import Table, prose
from mlax_scaffold.render.docs.sections import page, page_name
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.output import Output

_TITLES = {
    "nn": ("Layers", "Each is a module with `init` and `fwd`."),
    "block": ("Blocks", "Layers that are built of layers."),
    "functional": ("Functions", "Stateless; none widens half precision silently."),
    "loss": ("Losses", "Of each example, in the dtype of the predictions."),
    "optim": ("Optimizers", "Each is a module with `init` and `step`."),
    "schedule": ("Schedules", "Hashable functions of the step."),
}


def reference_pages(
    definitions: Sequence[Definition], library: Library, project: Project
) -> Iterator[Rendered]:
    """The pages of definitions, and of those whose examples may be made with them."""
    kinds, sources = {d.kind for d in definitions}, {d.source for d in definitions}
    chosen = [d for d in library if d.source in sources or kinds & picked_kinds(d)]
    drafts = [
        snippet
        for definition in chosen
        for snippet in snippets(definition, library, project)
    ]
    formatted = {f.path: f.text for f in format_python(drafts, project.package)}
    for definition in chosen:
        yield reference_page(definition, library, project, formatted)


def other_pages(library: Library, project: Project) -> Iterator[Rendered]:
    """Those of what no spec decides, and the indices."""
    yield from render_api_pages(library, project)
    yield from _indices(library, project)


def reference_page(
    definition: Definition,
    library: Library,
    project: Project,
    formatted: Mapping[str, str],
) -> Rendered:
    """The page of one definition, from its formatted snippets by path."""
    section = definition.section
    text = render_template(
        "docs/page.md.jinja",
        origin=f" from {section}/{definition.module}.py",
        edited="that spec",
        view=page(
            definition,
            library,
            project,
            formatted[_snippet(definition)],
        ),
    )
    path = f"{project.docs}/{section}/{page_name(definition)}"
    return Rendered(path, text, definition.source)


def snippets(
    definition: Definition, library: Library, project: Project
) -> tuple[Rendered, ...]:
    """The example of a page, to be formatted with those of all others."""
    text = example(definition, library, project.package)
    return (Rendered(_snippet(definition), text, ""),)


def _snippet(definition: Definition) -> str:
    return f"example/{definition.section}/{definition.module}.py"


def _indices(library: Library, project: Project) -> Iterator[Rendered]:
    sections = [section for section in SECTIONS if library.within(section)]
    for section in sections:
        title, summary = _TITLES[section]
        rows = tuple(
            (f"[{prose(d.name)}]({page_name(d)})", prose(d.summary))
            for d in library.within(section)
        )
        yield Rendered(
            f"{project.docs}/{section}/index.md",
            _index(
                title,
                f"`{project.package}.{section}`. {summary}",
                Table(("name", "what it is"), rows),
                [page_name(d) for d in library.within(section)],
            ),
            "",
            registry=True,
        )
    rows = tuple(
        (
            f"[{_TITLES[section][0]}]({section}/index.md)",
            f"`{project.package}.{section}`",
            _TITLES[section][1],
        )
        for section in sections
    )
    others = api_pages(library)
    rows += tuple(
        (
            f"[{page.title}]({page.name}.md)",
            f"`{project.package}{page.place}`",
            page.summary,
        )
        for page in others
    )
    yield Rendered(
        f"{project.docs}/index.md",
        _index(
            "Reference",
            f"Everything in `{project.package}`.",
            Table(("section", "package", "what it holds"), rows),
            [
                *(f"{section}/index.md" for section in sections),
                *(f"{page.name}.md" for page in others),
            ],
        ),
        "",
        registry=True,
    )


def _index(title: str, summary: str, table: Table, entries: list[str]) -> str:
    return render_template(
        "docs/index.md.jinja",
        origin="",
        edited="the specs",
        title=title,
        summary=summary,
        table=table,
        entries=[entry.removesuffix(".md") for entry in entries],
    )


OUTPUT = Output(other_pages, pages=reference_pages)
