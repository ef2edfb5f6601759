"""Sphinx extension: draws the pictures of the reference pages from their examples.

A page that shows `../_plots/section/name.svg` has an example. The picture is the curve of
its schedule, or the way of its optimizer down two functions. It is drawn where it is
missing or older than the page, and is not checked in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.pyplot as plt
from sphinx.application import Sphinx

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

_PICTURE = re.compile(r"!\[[^]]*\]\(\.\./(_plots/(\w+)/(\w+)\.svg)\)")
_EXAMPLE = re.compile(r"^## Example\n+```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def rosenbrock(x: jax.Array, y: jax.Array) -> jax.Array:
    """Rosenbrock, 1960: a bent valley, whose minimum is 0 at (1, 1)."""
    return (1.0 - x) ** 2 + 100.0 * (y - x**2) ** 2


def beale(x: jax.Array, y: jax.Array) -> jax.Array:
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
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_all(app: Sphinx) -> None:
    """Draw the pictures of every page of the reference."""
    for page, picture, section in pictures(Path(app.srcdir) / "reference"):
        if picture.exists() and picture.stat().st_mtime >= page.stat().st_mtime:
            continue
        picture.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            figure = draw(page.read_text(encoding="utf-8"), section)
            figure.savefig(picture, transparent=True, metadata={"Date": None})
        plt.close(figure)


def pictures(reference: Path) -> Iterator[tuple[Path, Path, str]]:
    """The pages that show a picture, where it belongs, and the section of the page."""
    for page in sorted(reference.glob("*/*.md")):
        found = _PICTURE.search(page.read_text(encoding="utf-8"))
        if found:
            yield page, reference / found[1], found[2]


def draw(page: str, section: str) -> Any:
    """The picture of a page."""
    example = _EXAMPLE.search(page)
    if example is None:
        raise ValueError("a page that shows a plot has an example")
    names: dict[str, Any] = {}
    exec(compile(example[1], "the example of a page", "exec"), names)
    if section == "schedule":
        return curve(names[target(example[1])])
    return trajectories(optimizer(example[1], names))


def target(code: str) -> str:
    """The name that the example binds first: the schedule."""
    return next(
        node.targets[0].id
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    )


def curve(schedule: Callable[[jax.Array], jax.Array]) -> Any:
    """The values of a schedule over the steps."""
    figure, axes = plt.subplots(figsize=(6.0, 2.6), layout="constrained")
    steps = jnp.arange(STEPS + 1)
    axes.plot(steps, jax.vmap(schedule)(steps), color=COLOR)
    axes.set(xlabel="step", ylabel="value", xlim=(0, STEPS))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    return figure


def optimizer(code: str, names: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """`init` of the example's optimizer, as a function of weights and learning rate."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".init"):
            init = eval(ast.unparse(node.func), names)
            given = {k.arg: eval(ast.unparse(k.value), names) for k in node.keywords}
            return lambda weights, rate: init(
                weights, **given | {"learning_rate": rate}
            )
    raise ValueError("the example of an optimizer calls its init")


def trajectories(init: Callable[[Any, Any], Any]) -> Any:
    """The ways of an optimizer down the functions, at the rate that ends lowest."""
    figure, panels = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
    ways = jax.jit(jax.vmap(lambda rate: descend_all(init, rate)))(jnp.asarray(RATES))
    for panel, (name, function, _, minimum, x, y), way in zip(
        panels, FUNCTIONS, ways, strict=True
    ):
        ends = function(*jnp.moveaxis(way[:, -10:], -1, 0)).mean(-1)
        best = int(jnp.nanargmin(ends))
        grid = jnp.meshgrid(jnp.linspace(*x, 160), jnp.linspace(*y, 160))
        levels = jnp.logspace(-1.5, 3.5, 14)
        panel.contour(
            *grid, function(*grid), levels=levels, colors=GREY, linewidths=0.4
        )
        panel.plot(*way[best].T, color=COLOR, linewidth=1.2, marker=".", markersize=2)
        panel.plot(*minimum, color=COLOR, marker="*", markersize=9, linestyle="none")
        panel.set(xlim=x, ylim=y, title=f"{name}, learning rate {RATES[best]:g}")
    return figure


def descend_all(
    init: Callable[[Any, Any], Any], rate: jax.Array
) -> tuple[jax.Array, ...]:
    """The ways down all functions, in one program."""
    return tuple(
        descend(init, function, jnp.asarray(start), rate)
        for _, function, start, *_ in FUNCTIONS
    )


def descend(
    init: Callable[[Any, Any], Any],
    function: Callable[[jax.Array, jax.Array], jax.Array],
    start: jax.Array,
    rate: jax.Array,
) -> jax.Array:
    """The places of `STEPS` steps from the start, one after another."""

    def loss(place: jax.Array) -> jax.Array:
        return function(*place)

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

    # A schedule may be any function, and this one gives the rate that is traced.
    state, hyperparams = init(start, lambda _: rate)
    keys = jax.random.split(jax.random.key(0), STEPS)
    _, places = jax.lax.scan(step, (start, state), keys)
    return jnp.concatenate([start[None], places])
