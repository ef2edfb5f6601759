"""Places of containers that expressions stand for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

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

    @property
    def text(self) -> str:
        return f"self.{self.name}" + "".join(f"[{text}]" for text in self.texts)

    def item(self, step: Step, text: str) -> Place:
        """A place in it."""
        return Place(self.name, (*self.steps, step), (*self.texts, text))


def joined(places: Sequence[Place | None], parameter: str) -> Place | None:
    """What a parameter stands for that is given one of these places; None: no one place."""
    first = places[0]
    if first is None or any(
        p is None or p.name != first.name or len(p.steps) != len(first.steps)
        for p in places
    ):
        return None
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
