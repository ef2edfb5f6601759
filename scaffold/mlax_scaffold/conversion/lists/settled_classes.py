"""Classes of PyTorch with all that they are given by default: a class for each way in which one is made.

class Model(nn.Module):
    def __init__(self, dim=8, norm=partial(nn.LayerNorm, eps=1e-6)):
        self.encoder = Encoder([Block(Attention(dim), norm) for _ in range(2)], norm(dim))

becomes `self.encoder = Encoder()`, where Encoder makes the layers that it was handed. This is how a file
is read whose classes cannot be told apart from what they are given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.lists.flattened_classes import flattened
from mlax_scaffold.conversion.lists.run_calls import (
    NeededError,
    UnknownError,
)
from mlax_scaffold.conversion.lists.run_constructors import (
    makes,
    remark_run,
    take_run,
    values_of,
)
from mlax_scaffold.conversion.lists.run_statements import Run
from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    given_to,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import (
    LAYERS_OF,
    RUN,
    framework_of,
    is_layer_class,
)
from mlax_scaffold.conversion.source.known_values import items_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, names, same
from mlax_scaffold.conversion.source.walking import cloned, walk

_MOST = 64
"""A model of more classes is not written out."""


def with_settled_classes(
    origin: Origin, thing: str, notes: Notes, *, numbers: bool
) -> dict[str, str]:
    """Change the class that is asked for, and those that it is made of, in place.

    Args:
        origin: the file.
        thing: the class that is asked for.
        notes: where to tell what is settled.
        numbers: whether numbers are settled, too, that decide nothing of which layers there are.

    Returns:
        The parameters of the class that are none any more and have no default, and what they are.
    """
    node = origin.classes.get(thing)
    if node is None or not _is_read(origin, node):
        return {}
    made = flattened(origin, node)
    start = method_of(made, "__init__")
    if start is None or start.args.vararg is not None:
        return {}
    settling = _Settling(origin, notes, numbers)
    defaults = defaults_of(start.args)
    values = {p: v for p, v in defaults.items() if settling.settled(v)}
    values |= values_of(origin, made, start, asked=True)
    if start.args.kwarg is not None:
        values[start.args.kwarg.arg] = ast.Dict([], [])
    run, values = settling.run(made, values)
    if run is None:
        return {}
    node.body, node.bases = made.body, made.bases
    given = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
    remark_run(notes, node, run, {p: v for p, v in values.items() if p in given})
    settling.take(node, run, values)
    settling.parts()
    return {
        p: ast.unparse(v) for p, v in values.items() if p in given and p not in defaults
    }


def _is_read(origin: Origin, node: ast.ClassDef) -> bool:
    return framework_of(origin, node) in RUN and is_layer_class(origin, node)


class _Settling:
    """The classes that are written, from the one that is asked for to what it is made of."""

    def __init__(self, origin: Origin, notes: Notes, numbers: bool):
        self.origin, self.notes, self.numbers = origin, notes, numbers
        self.before = {n: cloned(c) for n, c in origin.classes.items()}
        self.found: dict[str, list[tuple[str, Mapping[str, ast.expr]]]] = {}
        """What each way to make a class is called, and what it needs not be given."""
        self.queue: list[ast.ClassDef] = []
        self.kept = {
            b.id
            for c in self.before.values()
            for b in c.bases
            if isinstance(b, ast.Name)
        }
        """Classes that others are built on."""

    def settled(self, node: ast.expr) -> bool:
        """Whether a value is one of literals, of what the file has, and of layers that are made of these."""
        items = items_of(node)
        if items is not None:
            return all(map(self.settled, items))
        if isinstance(node, ast.Dict):
            return all(k is not None for k in node.keys) and all(
                map(self.settled, node.values)
            )
        if not isinstance(literal(node), ast.AST):
            return True
        if isinstance(node, ast.Name | ast.Attribute):
            return self._is_object(node)
        if isinstance(node, ast.Lambda):
            bound = {a.arg for a in node.args.args}
            return names(node.body) - bound <= {*self.origin.imports}
        if not isinstance(node, ast.Call):
            return False
        full = self.origin.qualified(node.func)
        layers = full.startswith(LAYERS_OF) and "Param" not in full
        own = getattr(node.func, "id", "") in self.origin.classes
        if not (layers or own or full == "functools.partial"):
            return makes(self.origin, node)
        given = [*node.args, *(k.value for k in node.keywords)]
        return all(map(self.settled, given))

    def _is_object(self, node: ast.expr) -> bool:
        known = {*self.origin.classes, *self.origin.functions}
        return bool(self.origin.qualified(node)) or getattr(node, "id", "") in known

    def run(
        self, node: ast.ClassDef, values: Mapping[str, ast.expr]
    ) -> tuple[Run | None, Mapping[str, ast.expr]]:
        """A run of a constructor, None where it cannot be told; and those of the values that it takes."""
        start = method_of(node, "__init__")
        if start is None:
            return None, {}
        fixed = {p: v for p, v in values.items() if self.numbers or not _is_number(v)}
        for _ in range(len(values) + 1):
            run = Run(self.origin, node, start, fixed, values)
            try:
                run.all()
            except NeededError as needed:
                fixed |= {p: values[p] for p in needed.parameters if p in values}
                continue
            except UnknownError:
                break
            return run, fixed
        return None, {}

    def take(
        self, node: ast.ClassDef, run: Run, values: Mapping[str, ast.expr]
    ) -> None:
        """Write a class as it was run, without the parameters that have these values."""
        without_arguments(run.start.args, values)
        kwarg = run.start.args.kwarg
        if kwarg is not None and kwarg.arg in values:
            run.start.args.kwarg = None
        take_run(self.origin, node, run)
        self.queue.append(node)

    def parts(self) -> None:
        """Write the classes that those are made of that were written."""
        while self.queue and sum(map(len, self.found.values())) < _MOST:
            node = self.queue.pop(0)
            for method in node.body:
                for call in walk(method):
                    if isinstance(call, ast.Call):
                        self._part(call)

    def _part(self, call: ast.Call) -> None:
        title = getattr(call.func, "id", "")
        owner = self.before.get(title)
        known = title in self.origin.copied
        if owner is None or known or not _is_read(self.origin, owner):
            return
        made = cloned(flattened(self.origin, owner))
        start = method_of(made, "__init__")
        bound = given_to(start, call) if start is not None else None
        if start is None or bound is None:
            return
        values = {p: v for p, v in bound.items() if self.settled(v)}
        kept = {p: v for p, v in values.items() if self.numbers or not _is_number(v)}
        said = ", ".join(f"{p}={ast.unparse(v)}" for p, v in sorted(kept.items()))
        said = f"{title}({said})"
        known = self.found.setdefault(said, [])
        # Numbers that layers depend on are settled, too: with others it is another class.
        numbers = {p: v for p, v in values.items() if p not in kept}
        ways = (k for k in known if _settles(k[1], numbers))
        name, taken = next(ways, ("", {}))
        if not name:
            run, taken = self.run(made, values)
            if run is None and not any(self._ways(title)):
                return
            name = made.name = self._named(title)
            known.append((name, taken))
            self._placed(made)
            if run is not None:
                self.take(made, run, taken)
            else:
                # Another way to make it was settled, which it is not to be taken for.
                self.queue.append(made)
        assert isinstance(call.func, ast.Name)
        call.func.id = name
        call.args = []
        call.keywords = [ast.keyword(p, v) for p, v in bound.items() if p not in taken]

    def _ways(self, title: str) -> Iterator[str]:
        """What the ways to make a class are called by now."""
        for said, ways in self.found.items():
            if said.partition("(")[0] == title:
                yield from (name for name, _ in ways)

    def _named(self, title: str) -> str:
        """The first way to make a class has its name."""
        taken = {*(n for ways in self.found.values() for n, _ in ways), *self.kept}
        number, made = 1, title
        while made in taken or (number > 1 and made in self.before):
            number += 1
            made = f"{title}{number}"
        return made

    def _placed(self, node: ast.ClassDef) -> None:
        body = self.origin.tree.body
        at = [i for i, s in enumerate(body) if getattr(s, "name", "") == node.name]
        if at:
            body[at[0]] = node
        else:
            body.append(node)
        self.origin.forget("imports", "classes", "functions", "copied", "assigned")
        for part in walk(node):
            if isinstance(part, ast.Call) and is_name(part.func, "super"):
                part.args = []


def _settles(taken: Mapping[str, ast.expr], numbers: Mapping[str, ast.expr]) -> bool:
    """Whether a class that has these values settled is the one for such numbers."""
    return all(same(taken[p], v) for p, v in numbers.items() if p in taken)


def _is_number(node: ast.expr) -> bool:
    return type(literal(node)) in (int, float)
