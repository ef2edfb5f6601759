"""Draws statements in statements, which specs of layers and of optimizers have in common."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Sequence

Draw = Callable[[str, int], list[str]]
"""Draws a statement that changes what a variable holds, with so many statements in one another."""


class Statements:
    """Statements of one method, or of several that have names in common."""

    count = "2"
    """How often loops run."""
    again = "{h} = {f}({h})"
    """The second call of a function."""

    def __init__(self, drawing: random.Random) -> None:
        self.random = drawing
        self.names = 0

    def kinds(self, h: str) -> tuple[Sequence[Draw], Sequence[Draw]]:
        """The simple statements, and those that have others in them."""
        raise NotImplementedError

    def value(self, h: str) -> str:
        """An expression of what a variable holds."""
        raise NotImplementedError

    def block(self, h: str, depth: int) -> list[str]:
        """One to three statements."""
        made: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            made += self._statement(h, depth)
        return made

    def _statement(self, h: str, depth: int) -> list[str]:
        simple, nested = self.kinds(h)
        kinds = nested if depth > 0 and self.random.random() < 0.6 else simple
        return self.random.choice(kinds)(h, depth - 1)

    def name(self, stem: str) -> str:
        """A name that nothing has."""
        self.names += 1
        return f"{stem}{self.names}"

    def local(self) -> str:
        """A name, also one that generated code uses."""
        return self.random.choice(("key", "dtype", "trainables", self.name("v")))

    def assigned(self, h: str, depth: int) -> list[str]:
        return [f"{h} = {self.value(h)}"]

    def branched(self, test: str, h: str, depth: int) -> list[str]:
        made = [f"if {test}:", *below(self.block(h, depth))]
        if self.random.random() < 0.5:
            made += ["else:", *below(self.block(h, depth))]
        return made

    def repeated(self, h: str, depth: int) -> list[str]:
        i, body = self.name("i"), self.block(h, depth)
        if self.random.random() < 0.3:
            leave = self.random.choice(("continue", "break"))
            body += [f"if {i} == 1:", f"    {leave}", *self.assigned(h, 0)]
        return [f"for {i} in range({self.count}):", *below(body)]

    def function(self, h: str, depth: int) -> list[str]:
        f = self.name("f")
        made = [f"def {f}(q):", *below(self.block("q", depth)), "    return q"]
        return [*made, f"{h} = {f}({h})", self.again.format(h=h, f=f)]

    def scanned(self, h: str, depth: int) -> list[str]:
        step = self.name("step")
        body = [*self.block("c", depth), "return c, None"]
        called = f"{h}, _ = lax.scan({step}, {h}, None, length=2)"
        return [f"def {step}(c, _):", *below(body), called]

    def iterated(self, h: str, depth: int) -> list[str]:
        return [f"{h} = lax.fori_loop(0, 2, lambda i, c: {self.value('c')}, {h})"]

    def decided(self, test: str, h: str) -> list[str]:
        one, other = (f"lambda c: {self.value('c')}" for _ in range(2))
        return [f"{h} = lax.cond({test}, {one}, {other}, {h})"]


def below(lines: Sequence[str]) -> list[str]:
    """The body of a statement."""
    return [f"    {line}" for line in lines]


def body_of_method(lines: Sequence[str]) -> str:
    """The text of a method's body in a class."""
    return textwrap.indent("\n".join(lines), " " * 8)
