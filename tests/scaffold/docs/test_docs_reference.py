"""The reference pages: their examples run, and what they say of weights is so."""

from __future__ import annotations

import functools
import math
import posixpath
import re
from collections.abc import Callable
from inspect import isfunction
from typing import Any

import jax
import pytest
from docs_blocks import ROOT, blocks, links

import mlax
from mlax_scaffold.model.definition import SECTIONS

DEFINITIONS = [
    f"{place.parent.name}/{place.stem.removeprefix(f'test_{place.parent.name}_')}"
    for place in sorted((ROOT / "tests/generated").glob("*/test_*.py"))
]
WEIGHTED = [name for name in DEFINITIONS if name.startswith("nn/")]
API = {
    "initializers": {*mlax.initializers.__all__} - {"ones", "zeros"},
    "weights": {name for name in mlax.__all__ if isfunction(getattr(mlax, name))},
    "generation": {*mlax.generation.__all__},
    "metric": {*mlax.metric.__all__},
    "surgery": {*mlax.surgery.__all__},
    "train": {*mlax.train.__all__},
    "updates": {n for n in mlax.optim.__all__ if isfunction(getattr(mlax.optim, n))},
}
"""What no spec decides, by the page that it stands on; two initializers are those of jax."""

_COUNT = re.compile(r"^Number of weights: `([^`]+)`\.$", re.MULTILINE)


def section(page: str, title: str) -> str:
    _, _, rest = page.partition(f"\n## {title}\n")
    assert rest, f"the page has no section {title}"
    return rest.partition("\n## ")[0]


@pytest.fixture(scope="module")
def run_example(site) -> Callable[[str], dict[str, Any]]:
    """Runs the example of a page, once, and returns the names that it binds."""

    @functools.cache
    def run(name: str) -> dict[str, Any]:
        [example] = blocks(section(site.pages[f"docs/reference/{name}.md"], "Example"))
        assert example.language == "python"
        assert "assert " in example.text
        namespace: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(example.text, f"example of {name}", "exec"), namespace)
        return namespace

    return run


@pytest.mark.parametrize("name", DEFINITIONS)
def test_example_runs(run_example, name):
    run_example(name)


@pytest.mark.parametrize("name", WEIGHTED)
def test_number_of_weights(site, run_example, name):
    page = site.pages[f"docs/reference/{name}.md"]
    namespace = run_example(name)
    arrays = jax.tree.leaves(namespace["trainables"])
    stated = _COUNT.search(page)
    if stated is None:
        # Sub-layers count their own, shapes may be longer than a sum, and what has no
        # weights says nothing.
        if arrays:
            said = section(page, "Weights")
            assert "those of" in said or "what the shapes above say" in said
        return
    hyperparams = namespace["hyperparams"]
    known = {"math": math} | {
        name: getattr(hyperparams, name) for name in hyperparams.__dataclass_fields__
    }
    assert eval(stated[1], known) == sum(array.size for array in arrays)


def test_every_definition_has_a_page_in_the_indices(site):
    pages = site.pages
    listed = {"docs/reference/index.md"}
    for entry in links(pages["docs/reference/index.md"]):
        index = f"docs/reference/{entry}"
        listed.add(index)
        if index.endswith("/index.md"):
            listed |= {f"{index[:-8]}{page}" for page in links(pages[index])}
    assert listed == set(pages)
    assert len(listed) == len(DEFINITIONS) + len(SECTIONS) + 1 + len(API)


@pytest.mark.parametrize("page", API)
def test_every_public_function_has_its_place(site, page):
    text = site.pages[f"docs/reference/{page}.md"]
    described = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    names = [part.partition("\n")[0].replace("\\", "") for part in described]
    assert sorted(names) == sorted(API[page])
    assert not re.search(r"^(Args|Returns|Raises):$", text, flags=re.MULTILINE)
    for part in described:
        name, signature, doc = part.split("\n\n", 2)
        assert signature.startswith("```python\n"), name
        assert doc.strip(), name


def test_links_resolve(site):
    specs = {definition.source for definition in site.library}
    for path, page in site.pages.items():
        for target in links(page):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            assert place in site.files or place in specs, f"{path}: {target}"
    assert all((ROOT / spec).is_file() for spec in specs)


def test_rows_have_the_columns_of_their_table(site):
    for path, page in site.pages.items():
        width = None
        for line in page.split("\n"):
            if not line.startswith("| "):
                width = None
                continue
            bars = len(re.findall(r"(?<!\\)\|", line))
            assert width in (None, bars), f"{path}: {line}"
            width = bars


def test_pages_are_tidy(site):
    for path, page in site.pages.items():
        assert page.endswith("\n"), path
        assert not page.endswith("\n\n"), path
        text = re.sub(r"^```.*?^```", "x", page, flags=re.MULTILINE | re.DOTALL)
        assert "\n\n\n" not in text, path
        assert not re.search(r"[ \t]$", text, flags=re.MULTILINE), path
