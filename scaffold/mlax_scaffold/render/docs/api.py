"""Reference pages of what no spec decides: initializers, weights, updates, training."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render.docs.markdown import block, code, paragraphs, prose, table
from mlax_scaffold.render.environment import copied_modules, render_template
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.parts import (
    has_blocks,
    has_generation,
    has_metrics,
    has_optimizers,
)

_SECTION = re.compile(r"(Args|Returns|Raises):\n", re.ASCII)
_ENTRY = re.compile(r"^    (\S.*?): (.*)$")
_Node = ast.FunctionDef | ast.ClassDef
_HEADS = {"Args": ("argument", "what it is"), "Raises": ("error", "raised")}


@dataclass(frozen=True)
class ApiPage:
    """A page about functions and classes that no spec decides.

    Args:
        name: of the page's file.
        title: its heading.
        summary: one sentence.
        place: what they are imported from, below the package.
        names: of what is described; the part of the package that has each.
        wanted: whether a library has what is on it; None: each does.
    """

    name: str
    title: str
    summary: str
    place: str
    names: dict[str, str]
    wanted: Callable[[Library], bool] | None = None


_INITIALIZERS = "initializers"
_WEIGHTS = "_core/weights"
_EXPORTS = "_core/exports"
_TREES = "_core/trees"
_PLACEMENT = "_core/placement"
_ADAPTERS = "_core/optax_adapters"
_GROUPS = "_core/groups"
_INJECTED = "_core/injected"
_TRAIN = "train"
_METRIC = "metric"
_SURGERY = "surgery"
_GENERATION = "generation"

PAGES = (
    ApiPage(
        "initializers",
        "Initializers",
        "Frozen, hashable, equal by value; they work in every floating dtype.",
        ".initializers",
        dict.fromkeys(
            (
                *("constant", "identity", "normal", "uniform", "truncated_normal"),
                *("variance_scaling", "lecun_normal", "lecun_uniform"),
                *("glorot_normal", "glorot_uniform", "he_normal", "he_uniform"),
                *("orthogonal", "delta_orthogonal", "per_gate"),
                *("ring_radii", "ring_phases"),
            ),
            _INITIALIZERS,
        ),
    ),
    ApiPage(
        "weights",
        "Weights by name",
        "Tables, dicts and files of the arrays of any tree, and what exported functions take.",
        "",
        {
            **dict.fromkeys(
                (
                    *("summary", "flatten", "unflatten"),
                    *("save_safetensors", "load_safetensors"),
                ),
                _WEIGHTS,
            ),
            "register_for_export": _EXPORTS,
        },
    ),
    ApiPage(
        "updates",
        "Updates and adapters",
        "What goes with every optimizer.",
        ".optim",
        {
            "apply_updates": _TREES,
            "state_shardings": _PLACEMENT,
            "to_optax": _ADAPTERS,
            "from_optax": _ADAPTERS,
            "partition": _GROUPS,
            "named_chain": _GROUPS,
            "inject": _INJECTED,
        },
        has_optimizers,
    ),
    ApiPage(
        "train",
        "Training",
        "What stands around a loss and an optimizer, as functions that one can leave out.",
        ".train",
        dict.fromkeys(
            (
                *("State", "init", "step", "loss_of_params", "averaged", "run"),
                *("evaluate", "EarlyStopping", "MovingAverage"),
                *("save", "latest", "restore", "shardings"),
            ),
            _TRAIN,
        ),
        has_optimizers,
    ),
    ApiPage(
        "generation",
        "Generation",
        "Sequences that models with a cache continue, of pairs and of modules.",
        ".generation",
        dict.fromkeys(
            (
                *("of_pair", "of_module", "Decoder"),
                *("generate", "Sampler", "beam_search"),
            ),
            _GENERATION,
        ),
        has_generation,
    ),
    ApiPage(
        "surgery",
        "Surgery",
        "Trained models with other layers in them, other weights, or a look inside.",
        ".surgery",
        dict.fromkeys(
            ("parts", "replace", "reparametrized", "recorded", "split", "merge"),
            _SURGERY,
        ),
        has_blocks,
    ),
    ApiPage(
        "metric",
        "Running metrics",
        "What is known of all examples so far, as a pytree that can be merged.",
        ".metric",
        dict.fromkeys(
            (
                *("Metric", "Mean", "Accuracy", "Perplexity", "ConfusionMatrix"),
                *("Precision", "Recall", "F1", "AUC", "MeanSquaredError"),
                *("MeanAbsoluteError", "R2", "Variance", "Count", "Total", "Moments"),
                *("area_under_roc", "average_precision"),
            ),
            _METRIC,
        ),
        has_metrics,
    ),
)


def api_pages(library: Library) -> tuple[ApiPage, ...]:
    """The pages of a library."""
    return tuple(page for page in PAGES if page.wanted is None or page.wanted(library))


def render_api_pages(library: Library, project: Project) -> Iterator[Rendered]:
    """The files of these pages."""
    pages = api_pages(library)
    places = {part for page in pages for part in page.names.values()}
    defined = {part: _defined(part) for part in places}
    snippets = [
        Rendered(f"{page.name}/{name}.py", _signature(defined[part][name]), "")
        for page in pages
        for name, part in page.names.items()
    ]
    formatted = {f.path: f.text for f in format_python(snippets, project.package)}
    for page in pages:
        parts = [f"`{project.package}{page.place}`. {page.summary}"]
        for name, part in page.names.items():
            signature = block(formatted[f"{page.name}/{name}.py"], "python")
            doc = ast.get_docstring(defined[part][name])
            parts += [f"## {prose(name)}", signature, *_described(doc or "")]
            if rows := list(_members(defined[part][name])):
                parts.append(table(("member", "what it is"), rows))
        text = render_template(
            "docs/api.md.jinja",
            title=page.title,
            parts=parts,
            origin="",
            edited="the template",
        )
        yield Rendered(f"{project.docs}/{page.name}.md", text, "")


@cache
def _defined(part: str) -> dict[str, _Node]:
    return {
        node.name: node
        for _, text in copied_modules(part)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def _signature(node: _Node) -> str:
    """A function without its body; a class with its fields and its call."""
    if isinstance(node, ast.FunctionDef):
        return f"{_head(node)}\n"
    lines = [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign)]
    lines += [
        _head(part)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == "__call__"
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"class {node.name}:\n{body}\n"


def _members(node: _Node) -> Iterator[tuple[str, str]]:
    """The fields of a class that say what they are, and its methods."""
    if isinstance(node, ast.FunctionDef):
        return
    for part, after in zip(node.body, [*node.body[1:], None], strict=True):
        match part, after:
            case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str() as doc)):
                yield code(name), prose(_flat(doc))
            case ast.FunctionDef(name=name), _ if not name.startswith("_"):
                called = "" if part.decorator_list else "(...)"
                doc = ast.get_docstring(part) or ""
                yield code(f"{name}{called}"), prose(_flat(doc))


def _flat(doc: str) -> str:
    return " ".join(doc.split())


def _head(node: ast.FunctionDef) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"def {node.name}({ast.unparse(node.args)}){returns}: ..."


def _described(doc: str) -> Iterator[str]:
    """A docstring as Markdown: its sections are tables, its examples code."""
    for paragraph in re.split(r"\n\s*\n(?! )", inspect.cleandoc(doc)):
        found = _SECTION.match(paragraph)
        if paragraph.startswith(">>>"):
            yield block(paragraph, "pycon")
        elif not found:
            yield paragraphs(paragraph)
        elif found[1] == "Returns":
            yield "Returns: " + prose(paragraph[found.end() :])
        else:
            yield table(_HEADS[found[1]], _entries(paragraph))


def _entries(paragraph: str) -> Iterator[tuple[str, str]]:
    name, text = "", ""
    for line in paragraph.split("\n")[1:]:
        found = _ENTRY.match(line)
        if found:
            if name:
                yield code(name), prose(text)
            name, text = found[1], found[2]
        else:
            text = f"{text} {line.strip()}"
    yield code(name), prose(text)
