"""What trials of one command found of definitions: what is the same is not traced again.

The readings of one piece of code differ in a definition or two. A definition is the same where its generated
code is, its tests, what its spec says of it, and all that these use.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.imported import imported
from mlax_scaffold.project.workspace import Generation

Found = list[dict[str, Any]]
"""What the program of a trial wrote of a definition."""


@dataclass(frozen=True)
class Tried:
    """What was found, by all that a definition is."""

    found: dict[str, Found] = field(default_factory=dict)

    def known(self, key: str) -> Found | None:
        """What tracing a definition found; None: it was not traced."""
        return self.found.get(key)

    def keep(self, traced: Sequence[Mapping[str, Any]], found: Found) -> None:
        """Keep what a trial found of what it traced; where a module does not import it traces nothing."""
        if any(told.get("module") for told in found):
            return
        for given in traced:
            own = [f for f in found if f["definition"] == given["definition"]]
            # Of what jax does not have the place is told, which another text moves.
            if not any("name" in told for told in own):
                self.found[given["key"]] = own


@dataclass(frozen=True)
class Keys:
    """The keys of the definitions of one generation."""

    made: Generation
    package: str
    modules: Mapping[str, str]
    """The names of the package's modules, by their paths."""
    specs: str
    """The folder of the project's specs."""

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The texts of the package's modules, by their names."""
        outputs = self.made.outputs
        return {self.modules[o.path]: o.text for o in outputs if o.path in self.modules}

    @cached_property
    def _places(self) -> dict[str, str]:
        """The ends of the names of definitions' modules, by how code names the definitions."""
        names: dict[str, str] = {}
        for d in self.made.library:
            place = f"{d.section}.{d.module}"
            names |= {f"{d.section}.{d.name}": place, f"{d.section}.{d.module}": place}
        return names

    @cached_property
    def _uses(self) -> dict[str, set[str]]:
        """The modules that those import which were asked for."""
        return {}

    def of(self, definition: Definition, given: Mapping[str, Any]) -> str:
        """The key of a definition, of which the trial is given so much beside the text of its spec."""
        tests = given["cases"][1] if given["cases"] else ""
        told = {**given, "text": "", "cases": tests}
        places = {f"{definition.section}.{definition.module}"}
        for name in re.findall(r"\b\w+\.\w+", f"{given['code']}\n{tests}"):
            places.update({self._places[name]} if name in self._places else ())
        texts = {name: self._texts[name] for name in sorted(self._reached(places))}
        # What another spec of the project says may be imported.
        spec: dict[str, str] = {}
        if definition.source.startswith(f"{self.specs}/"):
            spec = {p: h for p, h in self.made.hashes.items() if p != definition.source}
            spec[definition.source] = _reach(definition.text, definition.name)
        whole = json.dumps([told, texts, spec], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()

    def _reached(self, places: Collection[str]) -> set[str]:
        """The modules of definitions, and all that these import."""
        found: set[str] = set()
        left = list(self._own(places))
        while left:
            name = left.pop()
            if name in found:
                continue
            found.add(name)
            if name not in self._uses:
                uses = imported(name, self._texts[name], self._texts)
                self._uses[name] = {used for used in uses if used in self._texts}
            left += self._uses[name] - found
        return found

    def _own(self, places: Collection[str]) -> Iterator[str]:
        for place in places:
            section, _, module = place.partition(".")
            for name in (place, f"{section}._{module}", f"graph.{place}"):
                if f"{self.package}.{name}" in self._texts:
                    yield f"{self.package}.{name}"


def _reach(text: str, name: str) -> str:
    """What a spec says of a definition: its statement, and those that bind the names that it uses."""
    bound: dict[str, list[ast.stmt]] = {}
    always: list[ast.stmt] = []
    body = ast.parse(text).body
    for statement in body:
        names = set(_bound(statement))
        for own in names:
            bound.setdefault(own, []).append(statement)
        if not names:
            always.append(statement)
    reached: set[int] = set()
    left = [*always, *bound.get(name, ())]
    while left:
        statement = left.pop()
        if id(statement) in reached:
            continue
        reached.add(id(statement))
        for used in _used(statement):
            left += bound.get(used, ())
    return "\n".join(ast.dump(s) for s in body if id(s) in reached)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds; none: it is run for what else it does."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for alias in names:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.Assign() | ast.AnnAssign():
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _used(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement uses; a text may be one, as that of an annotation."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)
