"""Places of containers that expressions stand for."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from mlax_scaffold.model.places import Step
from mlax_scaffold.model.walking import walk


@dataclass(frozen=True)
class Place:
    """What an expression stands for: a place of a container."""

    name: str
    """The attribute of self."""
    steps: tuple[Step, ...] = ()
    texts: tuple[str, ...] = ()
    """How the indices and keys are written."""
    chosen: frozenset[int] = frozenset()
    """The steps of which a condition says which they are."""

    @property
    def text(self) -> str:
        return f"self.{self.name}" + "".join(f"[{text}]" for text in self.texts)

    @property
    def names(self) -> frozenset[str]:
        """The variables that its indices and keys are made of."""
        return frozenset(n for i in range(len(self.texts)) for n in self.named(i))

    def named(self, step: int) -> frozenset[str]:
        """The variables that the index or the key of a step is made of."""
        nodes = ast.walk(ast.parse(self.texts[step], mode="eval"))
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name)) - {"self"}

    def item(self, step: Step, text: str) -> Place:
        """A place in it."""
        return replace(self, steps=(*self.steps, step), texts=(*self.texts, text))

    def at(self, step: int, text: str) -> Place:
        """The place whose index or key of a step is written so."""
        return replace(self, texts=(*self.texts[:step], text, *self.texts[step + 1 :]))


Given = dict[tuple[int, int], Place | None]
"""The places that a name is given, or None, by where that is written."""


def either(test: str, first: Place | None, second: Place | None) -> Place | None:
    """One of two places of a container, as a condition says; None: they are no such two."""
    if first is None or second is None or not _are_alike(first, second):
        return None
    chosen = first.chosen | second.chosen
    steps, texts = [], []
    for i, (step, a, b) in enumerate(
        zip(first.steps, first.texts, second.texts, strict=True)
    ):
        chosen |= {i} if a != b else set()
        steps.append(step if a == b else Step(step.container))
        texts.append(a if a == b else f"{a} if {test} else {b}")
    return Place(first.name, tuple(steps), tuple(texts), chosen)


def _are_alike(first: Place, second: Place) -> bool:
    """Whether two places are as deep in one container."""
    return first.name == second.name and len(first.steps) == len(second.steps)


def joined(
    places: Sequence[Place | None], parameter: str, open_: Collection[int] | None = None
) -> Place | None:
    """What a name stands for that is given one of these places; None: no one place.

    Args:
        places: what it is given.
        parameter: the name.
        open_: the steps that it holds the indices of; by default those of `open_steps`.
    """
    first = places[0]
    if first is None or any(p is None or not _are_alike(first, p) for p in places):
        return None
    if open_ is None:
        open_ = open_steps(places)  # type: ignore[arg-type]
    steps, texts, number = [], [], 0
    for i, (step, text) in enumerate(zip(first.steps, first.texts, strict=True)):
        if i not in open_:
            steps.append(step)
            texts.append(text)
            continue
        steps.append(Step(step.container))
        texts.append(parameter if len(open_) == 1 else f"{parameter}[{number}]")
        number += 1
    return Place(first.name, tuple(steps), tuple(texts))


def index_of(place: Place, open_: Iterable[int]) -> str:
    """What a name holds that stands for a place: the indices of the steps `open_`."""
    texts = [place.texts[i] for i in open_]
    return (f"({', '.join(texts)})" if texts[1:] else texts[0]) if texts else "None"


def key_of(target: ast.expr, loop: ast.AST, method: ast.AST) -> str:
    """The variable of a loop over items that is the key: the first, or the second where none reads that.

    Nothing where the loop sets the key anew.
    """
    match target:
        case ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=value)]):
            named = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == key]
            if not any(isinstance(n.ctx, ast.Load) for n in named):
                return value
            inside = {*walk(loop)}
            stores = [n for n in named if n in inside and isinstance(n.ctx, ast.Store)]
            return key if len(stores) == 1 else ""
    return ""


def open_steps(places: Sequence[Place]) -> list[int]:
    """The steps in which places differ, or which depend on variables."""
    count = len(places[0].steps)
    return [
        i
        for i in range(count)
        if len({p.texts[i] for p in places}) > 1
        or any(p.steps[i].key is None for p in places)
    ]
