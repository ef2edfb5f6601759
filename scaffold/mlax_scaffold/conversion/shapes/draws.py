"""Random numbers that the original draws in any mode: in inference, nothing is random here."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    marked,
    name,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_MEANS = {
    "jax.random.normal": "jnp.zeros(shape, dtype)",
    "jax.random.truncated_normal": "jnp.zeros(shape, dtype)",
    "jax.random.uniform": "jnp.full(shape, mean, dtype)",
}
_OF_KEYS = tuple(
    f"jax.random.{name}" for name in ("split", "fold_in", "key", "PRNGKey", "clone")
)
_BEFORE_SHAPE = {"jax.random.truncated_normal": 3}


class Draws(NodeTransformer):
    """Takes the mean where a method draws in inference."""

    def __init__(self, notes: Notes, origin: Origin):
        self.notes, self.origin = notes, origin
        self.given: set[str] = set()
        """The functions that are given a key in training alone."""
        self.called: set[str] = set()
        self.line = 0

    def forward(self, node: ast.FunctionDef, helpers: list[ast.FunctionDef]) -> None:
        """Change `forward` in place, and the methods that it calls in inference too."""
        methods = {m.name: m for m in helpers}
        queue, done = [node], {node.name}
        while queue:
            method = queue.pop()
            self.called.clear()
            method.body = self._statements(method.body)
            reached = sorted((self.called & set(methods)) - done)
            done.update(reached)
            queue += [methods[m] for m in reached]

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for number, part in enumerate(body):
            self.line = getattr(part, "lineno", 0) or self.line
            if isinstance(part, ast.If) and _trains(part.test):
                made.append(part)
                if part.body and isinstance(part.body[-1], ast.Return):
                    # What comes after it is run in one mode.
                    return [*made, *body[number + 1 :]]
                continue
            for title in ("body", "orelse"):
                inner = getattr(part, title, None)
                if isinstance(inner, list):
                    setattr(part, title, self._statements(inner))
            for title, inner in ast.iter_fields(part):
                if isinstance(inner, ast.expr):
                    setattr(part, title, self.visit(inner))
            made.append(part)
        return made

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if _trains(node.test):
            return node
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        self.called.add(self_attribute(node.func) or "")
        mean = mean_of(node)
        if mean is not None and ast.unparse(node.args[0]) == "self.key()":
            self._said(node)
            return ast.IfExp(expression("self.training"), node, mean)
        if isinstance(node.func, ast.Name) and node.func.id in self.origin.functions:
            for number, given in enumerate(node.args):
                if ast.unparse(given) == "self.key()":
                    self._said(node, self._drawn_by(node.func.id))
                    node.args[number] = expression(
                        "self.key() if self.training else None"
                    )
                    self.given.add(node.func.id)
        return node

    def _drawn_by(self, title: str) -> str:
        """What a function of the file draws with, where all that has a mean; "" elsewhere."""
        calls = [
            self.origin.qualified(part.func)
            for part in walk(self.origin.functions[title])
            if isinstance(part, ast.Call)
        ]
        drawn = [c for c in calls if c.startswith("jax.random.") and c not in _OF_KEYS]
        return drawn[0] if drawn and set(drawn) <= _MEANS.keys() else ""

    def _said(self, node: ast.AST, drawing: str = "") -> None:
        what = f"`{drawing}(...)` of " if drawing else ""
        self.notes.remark(
            self.line,
            f"{what}`{_plain(node)}` draws random numbers in inference too",
            "here it does in training, and takes "
            + ("the likeliest" if "categorical" in _plain(node) else "their mean")
            + " in inference",
        )


class _Optional(NodeTransformer):
    """Draws of a function that is given no key in inference."""

    def __init__(self, keys: Iterable[str]):
        self.keys = frozenset(keys)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        mean = mean_of(node)
        given = node.args[0] if node.args else None
        if mean is None or not isinstance(given, ast.Name) or given.id not in self.keys:
            return node
        test = expression("key is None", key=name(given.id))
        return ast.IfExp(test, mean, node)


def without_key(function: ast.FunctionDef) -> None:
    """Let a function take None in the place of a key, in its own place."""
    visitor = _Optional(a.arg for a in function.args.args)
    function.body = [visitor.visit(part) for part in function.body]


def mean_of(call: ast.Call) -> ast.expr | None:
    """The mean of what a call draws, in the same shape, of classes the likeliest; None for what has none."""
    full = ast.unparse(call.func).replace("@module:", "")
    text = _MEANS.get(full)
    first = _BEFORE_SHAPE.get(full, 1)
    if full == "jax.random.categorical" and len(call.args) == 2:
        logits = cloned(call.args[1])
        return marked("jnp.argmax(logits, axis=-1)", logits=logits)
    if text is None or len(call.args) < first + 2:
        return None
    low, high = (
        [cloned(a) for a in call.args[first + 2 : first + 4]]
        if len(call.args) >= first + 4
        else [constant(0.0), constant(1.0)]
    )
    return expression(
        text,
        jnp=name("@module:jnp"),
        shape=cloned(call.args[first]),
        dtype=cloned(call.args[first + 1]),
        mean=expression("0.5 * (a + b)", a=low, b=high),
    )


def _trains(test: ast.expr) -> bool:
    return "self.training" in ast.unparse(test)


def _plain(node: ast.AST) -> str:
    return ast.unparse(node).replace("@module:", "").replace("@word:", "")
