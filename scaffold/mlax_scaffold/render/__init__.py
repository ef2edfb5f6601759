"""Renders definitions into files, in memory."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render import graph_package, package
from mlax_scaffold.render.docs import reference_pages
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate import check_doc, check_module, check_module_class
from mlax_scaffold.render.import_gate import check_import, check_test_import
from mlax_scaffold.render.tests import test_module
from mlax_scaffold.rewrite import Rewritten, rewrite_methods


def render(library: Library, project: Project) -> tuple[Rendered, ...]:
    """Every file that follows from the specs, in the order of their paths."""
    files: list[Rendered] = [
        *package.support(library, project),
        *graph_package.support(library, project),
    ]
    classes: dict[str, Definition] = {}
    tests: set[str] = set()
    modules: dict[str, tuple[Definition, dict[str, Rewritten]]] = {}
    for definition in library:
        methods = rewrite_methods(definition, library)
        module = package.module(definition, library, methods, project)
        modules[module.path] = definition, methods
        test = test_module(definition, library, project)
        tests.add(test.path)
        files += [module, test]
        for made in graph_package.module_class(definition, library, project):
            classes[made.path] = definition
            files.append(made)
    rewritten = {d.reference: methods for d, methods in modules.values()}
    files += reference_pages(library, project, rewritten)
    formatted = format_python(files, project.package)
    for file in formatted:
        if file.path in tests:
            check_test_import(file, project.package)
        elif file.path.endswith(".py") and (file.source or _lists(file)):
            check_import(file, project.package)
        if file.path in modules:
            definition, methods = modules[file.path]
            check_module(definition, methods, file)
            check_doc(definition, file)
        elif file.path in classes:
            check_module_class(classes[file.path], file)
            check_doc(classes[file.path], file)
    return tuple(sorted(formatted, key=lambda f: f.path))


def _lists(file: Rendered) -> bool:
    """Whether a file imports what definitions there are."""
    return file.path.endswith("__init__.py")
