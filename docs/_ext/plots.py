"""Sphinx extension: draws pictures from the examples of the reference pages, and shows them.

The page of a schedule gets the curve of its example; the page of an optimizer that goes
down by itself gets its way down two functions. Only the site has pictures: they are drawn
by its build, where they are missing or older than the page, and the pages that are read
in the repository say nothing of them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util import logging

STEPS = 200
RATES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)
GREY, COLOR = "#808080", "#2f6fde"
STYLE = {
    "svg.hashsalt": "mlax",  # the same picture gets the same bytes
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
SHOWN = {
    "schedule": "The schedule of the example.",
    "optim": (
        f"{STEPS} steps on the functions of Rosenbrock and of Beale, whose minima are "
        "marked. The learning rate is, for each of the two, that of six which ends "
        "lowest; the other hyperparameters are those of the example."
    ),
}
"""What the pictures of a section show."""

# Each program runs once: what would make it fast takes longer than it saves.
_QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
EXAMPLE = re.compile(r"^## Example\n+```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_AFTER_PLOT = "\n## Source\n"
LOGGER = logging.getLogger(__name__)


def rosenbrock(x: Any, y: Any) -> Any:
    """Rosenbrock, 1960: a bent valley, whose minimum is 0 at (1, 1)."""
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def beale(x: Any, y: Any) -> Any:
    """Beale, 1958: flat with steep edges; the minimum is 0 at (3, 0.5)."""
    return (
        (1.5 - x + x * y) ** 2
        + (2.25 - x + x * y**2) ** 2
        + (2.625 - x + x * y**3) ** 2
    )


# Each with the start, the minimum, and the part of the plane that is shown.
FUNCTIONS = (
    ("Rosenbrock", rosenbrock, (-1.0, 1.5), (1.0, 1.0), (-2.0, 2.0), (-1.0, 3.0)),
    ("Beale", beale, (1.0, 1.5), (3.0, 0.5), (-0.5, 4.0), (-1.5, 2.0)),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Draw before anything is read."""
    app.connect("builder-inited", draw_all)
    app.connect("source-read", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_all(app: Sphinx) -> None:
    """Draw the pictures of every page of the reference that can have one."""
    for name, page in pages(Path(app.srcdir)):
        picture = place(app, name)
        if picture.exists() and picture.stat().st_mtime >= page.stat().st_mtime:
            continue
        picture.unlink(missing_ok=True)
        try:
            with matplotlib.rc_context(STYLE):
                figure = draw(page.read_text(encoding="utf-8"), name)
                if figure is not None:
                    picture.parent.mkdir(parents=True, exist_ok=True)
                    figure.savefig(picture, transparent=True, metadata={"Date": None})
        except Exception as error:
            LOGGER.warning(f"no picture of {name} can be drawn: {error!r}")


def pages(docs: Path) -> Iterator[tuple[str, Path]]:
    """The pages of schedules and optimizers, with their names: "optim/adam"."""
    for section in SHOWN:
        for page in sorted((docs / "reference" / section).glob("*.md")):
            if page.stem != "index":
                yield f"{section}/{page.stem}", page


def place(app: Sphinx, name: str) -> Path:
    """Where the picture of a page lies: in the folder of what is built."""
    return Path(app.srcdir) / "_build" / "plots" / f"{name}.svg"


def show(app: Sphinx, document: str, source: list[str]) -> None:
    """Put the picture of a page where it belongs, if there is one."""
    name = document.removeprefix("reference/")
    if name == document or not place(app, name).exists():
        return
    section, _, module = name.partition("/")
    plot = f"\n## Plot\n\n{SHOWN[section]}\n\n![{module}](/_build/plots/{name}.svg)\n"
    text, marker, rest = source[0].partition(_AFTER_PLOT)
    source[0] = text + plot + marker + rest


def draw(page: str, name: str) -> Figure | None:
    """The picture of a page; None where there is nothing to show."""
    example = EXAMPLE.search(page)
    if example is None:
        return None
    if name.startswith("schedule/"):
        return curve(scheduled(example[1]))
    init = optimizer(example[1])
    return None if init is None else trajectories(init)


def scheduled(code: str) -> Callable[[jax.Array], jax.Array]:
    """The schedule of an example: what it binds first."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return run(code, node.end_lineno)[node.targets[0].id]
    raise ValueError("the example binds no schedule")


def run(code: str, lines: int | None) -> dict[str, Any]:
    """The names that the first lines of an example bind."""
    names: dict[str, Any] = {}
    exec("".join(code.splitlines(keepends=True)[:lines]), names)
    return names


def curve(schedule: Callable[[jax.Array], jax.Array]) -> Figure:
    """The values of a schedule over the steps."""
    figure = Figure(figsize=(6.0, 2.6))
    axes = figure.subplots(
        gridspec_kw={"left": 0.09, "right": 0.98, "bottom": 0.17, "top": 0.97}
    )
    steps = jnp.arange(STEPS + 1)
    axes.plot(steps, jax.vmap(schedule)(steps), color=COLOR)
    axes.set(xlabel="step", ylabel="value", xlim=(0, STEPS))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    return figure


def optimizer(code: str) -> Callable[..., Any] | None:
    """`init` of the example's optimizer, as a function of weights and learning rate.

    None where it has no learning rate, or is made of other optimizers.
    """
    calls = [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".init")
    ]
    if len(calls) != 1:
        return None
    names = run(code, calls[0].lineno - 1)
    init = eval(ast.unparse(calls[0].func), names)
    if "learning_rate" not in inspect.signature(init).parameters:
        return None
    given = {str(k.arg): eval(ast.unparse(k.value), names) for k in calls[0].keywords}
    given.pop("learning_rate", None)
    return functools.partial(init, **given)


def trajectories(init: Callable[..., Any]) -> Figure | None:
    """The ways of an optimizer down the functions, at the rates that end lowest.

    None where it goes down none of them: what it returns is no step.
    """
    figure = Figure(figsize=(8.0, 3.4))
    panels = figure.subplots(
        1, 2, gridspec_kw={"left": 0.05, "right": 0.98, "bottom": 0.08, "top": 0.91}
    )
    ways = np.asarray(descents(init), np.float64)
    goes_down = False
    for panel, way, (name, function, start, minimum, x, y) in zip(
        panels, ways, FUNCTIONS, strict=True
    ):
        with np.errstate(over="ignore", invalid="ignore"):
            ends = function(*np.moveaxis(way[:, -10:], -1, 0)).mean(-1)
        ends[np.isnan(ends)] = np.inf
        best = int(ends.argmin())
        goes_down |= bool(ends[best] < function(*start))
        grid = np.meshgrid(np.linspace(*x, 80), np.linspace(*y, 80))
        levels = np.logspace(-1.5, 3.5, 14)
        panel.contour(
            *grid, function(*grid), levels=levels, colors=GREY, linewidths=0.4
        )
        panel.plot(*way[best].T, color=COLOR, linewidth=1.2, marker=".", markersize=2)
        panel.plot(*minimum, color=COLOR, marker="*", markersize=9, linestyle="none")
        panel.set(xlim=x, ylim=y, title=f"{name}, learning rate {RATES[best]:g}")
    return figure if goes_down else None


def descents(init: Callable[..., Any]) -> jax.Array:
    """The places of all steps, by function and learning rate, in one program."""
    starts = jnp.asarray([start for _, _, start, *_ in FUNCTIONS])
    numbers = jnp.arange(len(FUNCTIONS))
    scheduled = (
        "Callable" in inspect.signature(init).parameters["learning_rate"].annotation
    )

    def at(rate: Any) -> jax.Array:
        return jax.vmap(lambda *task: descend(init, rate, *task))(numbers, starts)

    def at_all(rates: jax.Array) -> jax.Array:
        if scheduled:
            # A schedule may be any function, and this one gives the rate that is traced.
            return jax.vmap(lambda rate: at(lambda _: rate))(rates)
        return jnp.stack([at(rate) for rate in RATES])

    program = jax.jit(at_all, compiler_options=_QUICK)
    return jnp.swapaxes(program(jnp.asarray(RATES)), 0, 1)


def descend(
    init: Callable[..., Any], rate: Any, number: jax.Array, start: jax.Array
) -> jax.Array:
    """The places of `STEPS` steps down a function, one after another."""

    def loss(place: jax.Array) -> jax.Array:
        branches = [lambda p, f=f: f(*p) for _, f, *_ in FUNCTIONS]
        return jax.lax.switch(number, branches, place)

    def step(carry: tuple[Any, Any], key: jax.Array) -> tuple[tuple[Any, Any], Any]:
        place, state = carry
        value, gradient = jax.value_and_grad(loss)(place)
        updates, state = hyperparams.apply(
            gradient,
            state,
            place,
            value=value,
            value_and_gradients=jax.value_and_grad(loss),
            key=key,
        )
        return (place + updates, state), place + updates

    state, hyperparams = init(start, learning_rate=rate)
    keys = jax.random.split(jax.random.key(0), STEPS)
    _, places = jax.lax.scan(step, (start, state), keys)
    return jnp.concatenate([start[None], places])
