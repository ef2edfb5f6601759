"""The reference pages: one of each definition, an index of each section, and one over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlax_scaffold.model.definition import Definition, Kind, Reference
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.docs_api import api_pages, render_api_pages
from mlax_scaffold.render.docs_example import example
from mlax_scaffold.render.docs_markdown import Table, prose
from mlax_scaffold.render.docs_sections import page, page_name
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.function import function_view
from mlax_scaffold.render.graph import module_class_view
from mlax_scaffold.render.layer import layer_view
from mlax_scaffold.render.optimizer import optimizer_view
from mlax_scaffold.rewrite import Rewritten

_TITLES = {
    Kind.LAYER: ("Layers", "Each is a module with `init` and `fwd`."),
    Kind.BLOCK: ("Blocks", "Layers that are built of layers."),
    Kind.FUNCTION: ("Functions", "Stateless; none widens half precision silently."),
    Kind.OPTIMIZER: ("Optimizers", "Each is a module with `init` and `step`."),
    Kind.SCHEDULE: ("Schedules", "Hashable functions of the step."),
}

Methods = Mapping[str, Rewritten]


def reference_pages(
    library: Library, project: Project, rewritten: Mapping[Reference, Methods]
) -> tuple[Rendered, ...]:
    """Every page, from the rewritten methods of each definition."""
    drafts = [
        snippet
        for definition in library
        for snippet in snippets(
            definition, library, project, rewritten[definition.reference]
        )
    ]
    formatted = {f.path: f.text for f in format_python(drafts, project.package)}
    pages = [reference_page(d, library, project, formatted) for d in library]
    return (*pages, *render_api_pages(library, project), *_indices(library, project))


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
            formatted[_snippet(definition, "signature")],
            formatted[_snippet(definition, "example")],
            formatted[_snippet(definition, "module")],
        ),
    )
    path = f"{project.docs}/{section}/{page_name(definition)}"
    return Rendered(path, text, definition.source)


def snippets(
    definition: Definition, library: Library, project: Project, methods: Methods
) -> tuple[Rendered, ...]:
    """Signatures and example of a page, to be formatted with those of all others."""
    signature = "\n\n".join(_signatures(definition, library, methods))
    code = example(definition, library, project.package)
    module = _module_signature(definition, library, project.package)
    return tuple(
        Rendered(_snippet(definition, kind), text, "")
        for kind, text in (
            ("signature", signature),
            ("example", code),
            ("module", module),
        )
    )


def _snippet(definition: Definition, kind: str) -> str:
    return f"{kind}/{definition.section}/{definition.module}.py"


def _signatures(
    definition: Definition, library: Library, methods: Methods
) -> Iterator[str]:
    match definition.kind:
        case Kind.LAYER | Kind.BLOCK:
            view = layer_view(definition, library, methods)
            functions = (view.init, *view.entries)
        case Kind.FUNCTION:
            functions = (function_view(definition, methods),)
        case Kind.OPTIMIZER:
            made = optimizer_view(definition, library, methods)
            functions = (made.init, made.step)
        case Kind.SCHEDULE:
            given = [
                f"{h.name}: {h.type.argument}"
                + ("" if h.default is None else f" = {h.default}")
                for h in definition.hyperparameters
            ]
            call = "    def __call__(self, step: ArrayLike) -> jax.Array: ..."
            fields = "".join(f"    {field}\n" for field in given)
            yield f"class {definition.name}:\n{fields}\n{call}\n"
            return
    for f in functions:
        yield f"def {f.name}({f.signature}) -> {f.returns}: ...\n"


def _module_signature(definition: Definition, library: Library, package: str) -> str:
    if definition.kind not in (Kind.LAYER, Kind.BLOCK):
        return ""
    view = module_class_view(definition, library, package)
    methods = [("__init__", view.signature, "None")]
    methods += [(call.name, call.signature, call.returns) for call in view.calls]
    body = "\n\n".join(
        f"    def {name}({signature}) -> {returns}: ..."
        for name, signature, returns in methods
    )
    return f"class {view.name}:\n{body}\n"


def _indices(library: Library, project: Project) -> Iterator[Rendered]:
    kinds = [kind for kind in Kind if library.within(kind.section)]
    for kind in kinds:
        title, summary = _TITLES[kind]
        rows = tuple(
            (f"[{prose(d.name)}]({page_name(d)})", prose(d.summary))
            for d in library.within(kind.section)
        )
        yield Rendered(
            f"{project.docs}/{kind.section}/index.md",
            _index(
                title,
                f"`{project.package}.{kind.section}`. {summary}",
                Table(("name", "what it is"), rows),
                [page_name(d) for d in library.within(kind.section)],
            ),
            "",
            registry=True,
        )
    rows = tuple(
        (
            f"[{_TITLES[kind][0]}]({kind.section}/index.md)",
            f"`{project.package}.{kind.section}`",
            _TITLES[kind][1],
        )
        for kind in kinds
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
                *(f"{kind.section}/index.md" for kind in kinds),
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
