"""Renders definitions into files, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render import graph_package, package
from mlax_scaffold.render.docs import reference_pages
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate import check_doc, check_module, check_module_class
from mlax_scaffold.render.helper_names import check_helper_names
from mlax_scaffold.render.import_gate import check_import, check_test_import
from mlax_scaffold.render.tests import test_module
from mlax_scaffold.rewrite import Rewritten, rewrite_methods


def render(library: Library, project: Project) -> tuple[Rendered, ...]:
    """Every file that follows from the specs, in the order of their paths."""
    files: list[Rendered] = [
        *package.support(library, project),
        *graph_package.support(library, project),
    ]
    drafts = [draft(definition, library, project) for definition in library]
    for made in drafts:
        files += made.files
    rewritten = {made.definition.reference: made.methods for made in drafts}
    files += reference_pages(library, project, rewritten)
    formatted = {f.path: f for f in format_python(files, project.package)}
    for made in drafts:
        made.check(formatted, project.package)
    for path, file in formatted.items():
        if path.endswith("__init__.py"):
            check_import(file, project.package)
    return tuple(sorted(formatted.values(), key=lambda f: f.path))


@dataclass(frozen=True)
class Draft:
    """The Python files of one definition, before they are formatted."""

    definition: Definition
    methods: dict[str, Rewritten]
    module: Rendered
    test: Rendered
    module_class: Rendered | None

    @property
    def files(self) -> tuple[Rendered, ...]:
        """All of them."""
        return tuple(filter(None, (self.module, self.test, self.module_class)))

    def check(self, formatted: Mapping[str, Rendered], package: str) -> None:
        """Put the formatted files through the gate.

        Raises:
            GateFault: they are not what the spec says, or run something at import.
            SpecError: a helper has the name of a variable of the generated module.
        """
        file = formatted[self.module.path]
        check_helper_names(self.definition, file)
        constants = [h.name for h in self.definition.helpers if h.value is not None]
        check_import(file, package, constants)
        check_module(self.definition, self.methods, file)
        check_doc(self.definition, file)
        check_test_import(formatted[self.test.path], package)
        if self.module_class is not None:
            file = formatted[self.module_class.path]
            check_import(file, package)
            check_module_class(self.definition, file)
            check_doc(self.definition, file)


def draft(definition: Definition, library: Library, project: Project) -> Draft:
    """Render the Python files of one definition."""
    methods = rewrite_methods(definition, library)
    return Draft(
        definition,
        methods,
        package.module(definition, library, methods, project),
        test_module(definition, library, project),
        next(graph_package.module_class(definition, library, project), None),
    )
