"""The pictures of the site, where Sphinx is installed (the extra `docs`).

`.ci/run` builds the whole site, with every picture. What is tested here is which pages get
one: every schedule, and every optimizer that goes down by itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jax
import pytest
from docs_blocks import ROOT, links

from mlax_scaffold.model.definition import Kind

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def plots() -> Iterator[ModuleType]:
    """The extension that draws."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    yield importlib.import_module("plots")
    sys.path.remove(str(ROOT / "docs" / "_ext"))


def example(plots: ModuleType, site, name: str) -> str:
    found = plots.EXAMPLE.search(site.pages[f"docs/reference/{name}.md"])
    assert found is not None, name
    return found[1]


def test_every_optimizer_with_a_learning_rate_can_be_drawn(plots, site):
    for definition in site.library.of(Kind.OPTIMIZER):
        name = f"optim/{definition.module}"
        fields = {h.name for h in definition.hyperparameters}
        own = "learning_rate" in fields and not definition.structural()
        init = plots.optimizer(example(plots, site, name))
        assert (init is not None) == own, name


def test_every_schedule_can_be_drawn(plots, site):
    for definition in site.library.of(Kind.SCHEDULE):
        code = example(plots, site, f"schedule/{definition.module}")
        made = jax.eval_shape(
            plots.scheduled(code), jax.ShapeDtypeStruct((), "float32")
        )
        assert made.shape == (), definition.name


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("schedule/join", True),
        ("optim/sgd", True),
        # Its rate is no schedule, but a part of the program.
        ("optim/r_prop", True),
        # What it returns is for a sum of another optimizer, and goes up.
        ("optim/learning_rate", False),
        ("optim/clip", False),
        ("optim/chain", False),
    ],
)
def test_what_goes_down_is_drawn(plots, site, tmp_path, name, drawn):
    figure = plots.draw(site.pages[f"docs/reference/{name}.md"], name)
    assert (figure is not None) == drawn
    if figure is not None:
        figure.savefig(tmp_path / "plot.svg")
        assert (tmp_path / "plot.svg").read_text().count("<path") > 20


def test_pages_get_the_picture_that_was_drawn(plots, tmp_path: Path):
    app = SimpleNamespace(srcdir=str(tmp_path))
    page = "# Adam\n\n## Source\n\ntext\n"
    source = [page]
    plots.show(app, "reference/optim/adam", source)
    assert source == [page]
    picture = plots.place(app, "optim/adam")
    picture.parent.mkdir(parents=True)
    picture.write_text("<svg/>")
    for other in ("optim/adam", "reference/optim/lion", "reference/index"):
        plots.show(app, other, source)
        assert source == [page]
    plots.show(app, "reference/optim/adam", source)
    shown = "![adam](/_build/plots/optim/adam.svg)"
    assert source[0].index("## Plot") < source[0].index(shown)
    assert source[0].endswith(f"{shown}\n\n## Source\n\ntext\n")


def test_a_page_that_cannot_be_drawn_is_named(plots, tmp_path, monkeypatch):
    folder = tmp_path / "reference" / "optim"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text(
        "## Example\n\n```python\nx = optim.Bad.init()\n```\n"
    )
    warned: list[str] = []
    monkeypatch.setattr(plots.LOGGER, "warning", warned.append)
    plots.draw_all(SimpleNamespace(srcdir=str(tmp_path)))
    [warning] = warned
    assert warning.startswith("no picture of optim/bad can be drawn: NameError")


def test_pages_in_the_repository_promise_no_picture(site):
    """Pictures are drawn by the build of the site, and are nowhere else."""
    for path, page in site.pages.items():
        assert "![" not in page, path
        assert not any(target.endswith(".svg") for target in links(page)), path
