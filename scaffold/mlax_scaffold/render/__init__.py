"""Renders definitions into files, in memory."""

from __future__ import annotations

from collections.abc import Container, Iterable

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.imports import check_import
from mlax_scaffold.render.output import Draft, Output, draft, each_once, outputs

__all__ = ["Draft", "draft", "render"]


def render(
    library: Library,
    project: Project,
    others: Iterable[Output] = (),
    *,
    new: Container[str] | None = None,
) -> tuple[Rendered, ...]:
    """The files that follow from the specs, in the order of their paths.

    Args:
        library: what the specs say.
        project: what the files are called.
        others: kinds of output that plugins add.
        new: the paths of specs that were added to those that everything was rendered from; what
            would be the same as then is left out. None: nothing was rendered.
    """
    others = tuple(others)
    chosen = [d for d in library if new is None or d.source in new]
    drafts = [draft(definition, library, project, others) for definition in chosen]
    made = [pair for drafted in drafts for pair in drafted.made]
    for output in (*outputs(), *others):
        made += ((output, file) for file in output.of_library(library, project))
        made += ((output, file) for file in output.pages(chosen, library, project))
    each_once(made)
    files = (file for _, file in made)
    formatted = {f.path: f for f in format_python(files, project.package)}
    for drafted in drafts:
        drafted.check(formatted)
    for path, file in formatted.items():
        if path.endswith("__init__.py") and not file.copied:
            check_import(file, project.package)
    return tuple(sorted(formatted.values(), key=lambda f: f.path))
