"""What the cases of generated tests tell of a definition: which values are taken, and what fails."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mlax_scaffold.testing import guesses, picks, solving, untaken
from mlax_scaffold.testing.by_default import (
    refusals_by_default,
    refused_by_default,
    taken_by_default,
)
from mlax_scaffold.testing.contract import Contract
from mlax_scaffold.testing.layer_claims import have_the_annotated_shapes
from mlax_scaffold.testing.ranks import candidates, with_sizes
from mlax_scaffold.testing.toys import Toy
from mlax_scaffold.testing.untaken import GIVEN

SECONDS = 60.0
"""So long cases of one definition are looked for, of processor time: nobody waits longer for its tests."""
_SECONDS_OF_OPTIONS = 4.0

_GIVEN_SHAPES = "given={"
"""How tests have shapes that `examples` of the spec give: whatever else is said of them changes nothing."""

Cases = tuple[str, str]
"""The path and the text of the tests of a definition."""


class OutOfTime(Exception):
    """Cases were looked for as long as anybody waits."""


@dataclass(frozen=True)
class Tried:
    """A definition of the package at `root`, the cases of which are looked for from now on."""

    root: str
    end: float = field(default_factory=lambda: time.process_time() + SECONDS)

    def within_time(
        self,
        contract: Contract[Any],
        taken: list[bool] | None = None,
        seconds: float = SECONDS,
    ) -> Contract[Any]:
        """The contract, whose cases are made for a limited time; `taken` gets an item for each."""
        last = min(self.end, time.process_time() + seconds)

        def make(pick: picks.Pick) -> Any:
            if time.process_time() > last:
                raise OutOfTime
            case = contract.make(pick)
            if taken is not None:
                taken.append(True)
            return case

        return replace(contract, make=make)

    def contract_of(
        self, cases: Cases | None, error: BaseException
    ) -> Contract[Any] | None:
        """The contract of the generated tests; None where an error is no matter of sizes and values."""
        refusal = isinstance(error, picks.REFUSALS)
        if cases is None or not refusal or isinstance(error, picks.UNTRACED):
            return None
        return self.contracts_of(cases).get("cases")

    def entries_of(self, cases: Cases | None) -> Sequence[Contract[Any]]:
        """Those of the entry points other than that of the example."""
        several = cases is not None and "_cases(pick: Pick)" in cases[1]
        found = self.contracts_of(cases) if cases and several else {}
        return [c for name, c in found.items() if name != "cases"]

    def contracts_of(self, cases: Cases) -> Mapping[str, Contract[Any]]:
        """The contracts of a module of tests, by name."""
        path, text = cases
        names: dict[str, Any] = {"__name__": "cases", "__file__": path}
        try:
            exec(compile(text, path, "exec"), names)
        except Exception:
            return {}
        return {n: c for n, c in names.items() if n == "cases" or n.endswith("_cases")}

    def sizes_of(
        self, contract: Contract[Any], seconds: float = solving.SECONDS
    ) -> Mapping[str, Any]:
        """What axes have to be that the types leave open."""

        def reached(error: BaseException) -> list[int | None]:
            frames = traceback.extract_tb(error.__traceback__)
            return [f.lineno for f in frames if f.filename.startswith(self.root)]

        try:
            make = self.within_time(contract).make
            return solving.solved(make, reached, seconds)
        except Exception:
            return {}

    def types_of(self, cases: Cases, error: BaseException) -> Mapping[str, Any]:
        """Shapes of inputs of which their types say nothing, with which something is taken."""
        path, text = cases
        for shapes, changed in candidates(text):
            contract = self.contract_of((path, changed), error)
            if contract is None:
                continue
            sizes = self.sizes_of(contract)
            if sizes or self.refused(contract) is None:
                return with_sizes(shapes, sizes)
        return {}

    def shapes_of(
        self, cases: Cases, owner: str, shapes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, str]:
        """The shapes of inputs whose types were guessed with which a definition is taken most plainly.

        Args:
            cases: those of its tests.
            owner: its name, in messages.
            shapes: those that each input may have, the likeliest first.
        """
        return self._guessed(cases, owner, shapes, guesses.plainest)

    def looser_shapes_of(
        self, cases: Cases | None, owner: str, shapes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, str]:
        """The shapes of such inputs where fewer axes are tied than it was guessed; see `shapes_of`."""
        if cases is None or not shapes:
            return {}
        contract = self.contracts_of(cases).get("cases")
        if contract is None:
            return {}
        try:
            fields = contract.spec.load()._fields_.annotations
        except Exception:
            return {}
        choose = partial(guesses.loosest, text=cases[1], fields=fields)
        return self._guessed(cases, owner, shapes, choose)

    def stricter_shapes_of(
        self, cases: Cases | None, owner: str, shapes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, str]:
        """The shapes of such inputs where the example fits, and others of their types do not.

        See `shapes_of`. Of inputs with any number of axes, and of those that may be left out, the example
        tells little.
        """
        if cases is None or not shapes:
            return {}
        contract = self.contracts_of(cases).get("cases")
        found = guesses.shapes_in(cases[1], shapes)
        if contract is None or guesses.fit(found, cases[1], contract):
            return {}
        return self.shapes_of(cases, owner, shapes)

    def _guessed(
        self,
        cases: Cases,
        owner: str,
        shapes: Mapping[str, Sequence[str]],
        choose: Callable[..., Mapping[str, str]],
    ) -> Mapping[str, str]:
        path, text = cases
        package = _package_of(text)
        if not shapes or not package or _GIVEN_SHAPES in text:
            return {}

        def chosen(among: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
            def contract_of(given: Mapping[str, str]) -> Contract[Any] | None:
                changed = path, guesses.replaced(text, given)
                contract = self.contracts_of(changed).get("cases")
                return contract and guesses.with_all(contract, among)

            return choose(among, contract_of=contract_of, solve=solve)

        last = time.process_time() + guesses.SECONDS_OF_ALL

        def solve(contract: Contract[Any]) -> Mapping[str, str] | None:
            if time.process_time() > last:
                return None
            sizes = self.sizes_of(contract, guesses.SECONDS)
            make = self.within_time(contract).make
            return sizes if sizes or solving.are_free(make) else None

        with guesses.unchecked(package, owner, [*shapes]):
            found = chosen(shapes)
            needed = {n: s for n, s in shapes.items() if f"{n}{GIVEN}" not in text}
            if not found and needed and len(needed) < len(shapes):
                found = chosen(
                    needed
                )  # Of two that may be left out, one may have to be.
        return {} if guesses.shapes_in(text, found) == found else found

    def refused(self, contract: Contract[Any]) -> BaseException | None:
        """What every case of the generated tests is refused with; None where one is taken.

        None, too, where that is not known.
        """
        taken: list[bool] = []
        try:
            _ = self.within_time(contract, taken).covering
        except picks.REFUSALS as told:
            return told
        except Exception:
            if taken:
                # An option that fails always is no fault of all the others.
                return None
        else:
            return None
        try:
            picks.with_values(contract.make, {})
        except picks.Unfit as unfit:
            return unfit.__cause__
        except Exception:
            pass
        return None

    def refused_with_defaults(self, contract: Contract[Any]) -> BaseException | None:
        """What the defaults are refused with, whatever the layer is given; None where they are taken."""
        try:
            fields = contract.spec.load()._fields_
            make = self.within_time(contract).make
            found = refused_by_default(make, fields.annotations, fields.defaults)
        except Exception:
            return None
        return found if isinstance(found, picks.REFUSALS) else None

    def fails_with_options(
        self, contract: Contract[Any]
    ) -> tuple[BaseException, str] | None:
        """What fails where an option is another one, or an input is given that may be left out, and which.

        Each is tried with a few cases.
        """
        option = ""
        make = self.within_time(contract, seconds=_SECONDS_OF_OPTIONS).make
        try:
            for name, value in untaken.options(make):
                option = untaken.told(name, value)
                found = untaken.case_of(make, name, value)
                if not isinstance(found, picks.Unfit) or found.__cause__ is None:
                    continue
                # Of an input that is never taken, the tests warn.
                if not name.endswith(GIVEN) and untaken.is_fault(found):
                    return found.__cause__, option
        except OutOfTime:
            return None
        except Exception as error:
            return error, option
        return None

    def fitting(self, contract: Contract[Any]) -> Mapping[str, str]:
        """Values and shapes of a case of the defaults that is taken; nothing where they are no literals."""
        try:
            fields = contract.spec.load()._fields_
            make = self.within_time(contract).make
            found = taken_by_default(make, fields.defaults, _keeps_shapes)
            if found is None:
                return {}
            case = found.case
            required = [n for n in fields.annotations if n not in fields.defaults]
            given = {n: case.hyperparameters[n] for n in required}
            given = {n: v for n, v in given.items() if not isinstance(v, Toy)}
            given |= dict(case.shapes.items())
            plain = all(map(_is_plain, given.values()))
            return {n: repr(v) for n, v in given.items()} if plain else {}
        except Exception:
            return {}

    def with_given_layers(
        self, cases: Cases, axes: Mapping[str, str], error: BaseException
    ) -> Mapping[str, str]:
        """An example of a block that is tried with layers which keep shapes, where axes are these."""
        path, text = cases
        if "toys.Toy" not in text:
            return {}
        for axis, size in axes.items():
            text = re.sub(rf'(?<=[" ]){axis}(?=[" ])', size, text)
        contract = self.contract_of((path, text), error)
        return self.fitting(contract) if contract else {}

    def refusals(self, contract: Contract[Any]) -> Sequence[Any]:
        """What cases of the defaults are refused with, of one size and another."""
        try:
            fields = contract.spec.load()._fields_
            return refusals_by_default(self.within_time(contract).make, fields.defaults)
        except Exception:
            return []


def _package_of(text: str) -> str:
    """The package that generated tests are of; empty where none is imported.

    Those of a layer import its graph, and those of a function the section that it stands in.
    """
    section = re.search(r"(?m)^@function\(\s*\"\w+\",\s*SPEC,\s*(\w+)\.", text)
    home = section[1] if section else "graph"
    found = re.search(rf"(?m)^from (\w[\w.]*) import {home}$", text)
    return found[1] if found else ""


def _keeps_shapes(situation: Any) -> bool:
    """Whether the results of a layer have the shapes that its spec says."""
    try:
        have_the_annotated_shapes(situation)
    except AssertionError:
        return False
    return True


def _is_plain(value: Any) -> bool:
    single = value is None or type(value) in (bool, int, float, str)
    return single or (isinstance(value, tuple) and all(map(_is_plain, value)))
