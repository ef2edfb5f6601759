"""Renders definitions into files, in memory."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.parallel import divided
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.imports import check_import
from mlax_scaffold.render.output import (
    Draft,
    Made,
    Output,
    draft,
    each_once,
    outputs,
)

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

    def made(jobs: Sequence[Definition | None]) -> list[list[Made]]:
        drafts = [job and draft(job, library, project, others) for job in jobs]
        files = [
            drafted.made if drafted else _of_all(chosen, library, project, others)
            for drafted in drafts
        ]
        each_once(pair for pairs in files for pair in pairs)
        unformatted = [file for pairs in files for _, file in pairs]
        formatted = {f.path: f for f in format_python(unformatted, project.package)}
        for drafted in drafts:
            if drafted:
                drafted.check(formatted)
        for path, file in formatted.items():
            if path.endswith("__init__.py") and not file.copied:
                check_import(file, project.package)
        return [[(by, formatted[file.path]) for by, file in pairs] for pairs in files]

    # The first job, without a definition, is what follows from all of them together.
    pairs = [pair for each in divided(made, [None, *chosen]) for pair in each]
    each_once(pairs)
    files = {file.path: file for _, file in pairs}
    return tuple(files[path] for path in sorted(files))


def _of_all(
    chosen: Sequence[Definition],
    library: Library,
    project: Project,
    others: Iterable[Output],
) -> list[Made]:
    made: list[Made] = []
    for output in (*outputs(), *others):
        made += ((output.name, file) for file in output.of_library(library, project))
        made += ((output.name, file) for file in output.pages(chosen, library, project))
    return made
