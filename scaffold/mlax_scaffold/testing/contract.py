"""Contracts: what is claimed of generated code, and how a broken claim is told.

A contract belongs to a function that picks cases. Most claims are tried in cases that cover every pair of
options, some in so many that every option is on once, and what no option changes in one.
"""

from __future__ import annotations

import functools
import gc
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, Literal, TypeVar

import pytest
from hypothesis import strategies as st

from mlax_scaffold.testing import covering, picks, profiles, untaken
from mlax_scaffold.testing.alike import SizesAlike, alike
from mlax_scaffold.testing.by_default import holding
from mlax_scaffold.testing.domains import Undefined
from mlax_scaffold.testing.examples import drawn
from mlax_scaffold.testing.oracle import Spec
from mlax_scaffold.testing.picks import Make, Unfit, whole_tracebacks
from mlax_scaffold.testing.programs import shown
from mlax_scaffold.testing.room import with_room

S = TypeVar("S")

_OTHERS = 12
"""So many other cases are tried, where a spec is defined in none of those that a claim is tried in."""

Among = Literal["every pair", "every option", "one"]
"""The cases in which a claim is tried."""


@dataclass(frozen=True)
class Claim(Generic[S]):
    """What is claimed: `check` raises where it does not hold."""

    check: Callable[[S], None]
    among: Among = "every pair"
    where: Callable[[S], bool] | None = None
    """In which of them: two are enough; None: in all."""
    decides: tuple[str, ...] = ()
    """The names of what is picked that `where` looks at."""

    @property
    def name(self) -> str:
        """That of the function that checks it."""
        return self.check.__name__


_Case = tuple[S, Mapping[str, Any]]
"""A situation, and what was picked for it."""


@dataclass(frozen=True)
class _Found(Generic[S]):
    """The cases of a contract, what makes them, and the defaults that all of them have."""

    make: Make[S]
    cases: list[_Case[S]]
    held: Mapping[str, Any]


@dataclass(frozen=True)
class Contract(Generic[S]):
    """The claims of one definition.

    Args:
        name: that of the definition.
        spec: what it follows from.
        make: makes a situation that claims are tried in.
        claims: in the order in which they are tried.
        property: the claim that holds in whatever Hypothesis draws.
        of: the contract of the layer that this one is of an entry point of.
    """

    name: str
    spec: Spec
    make: Make[S]
    claims: tuple[Claim[S], ...]
    property: Claim[S]
    of: Contract[S] | None = None

    def keep(self, claim: Claim[S]) -> None:
        """Raise AssertionError, with the spec's line and the smallest case, where it is broken."""
        __tracebackhide__ = True
        cases = self._among(claim.among)
        if claim.where is not None:
            cases = self._that_show(claim, claim.where, cases)
            if not cases:
                raise AssertionError(
                    f"{shown(self.spec.path)}:{_line(self.spec, self.name)}: {self.name} is "
                    f"claimed to {claim.name.replace('_', ' ')}, and no case shows it"
                )
        undefined = []
        for case in cases:
            if not self._holds(claim, *case):
                undefined.append(case)
        if undefined and len(undefined) == len(cases):
            others = (case for case in self.covering if case not in cases)
            for case in islice(others, _OTHERS):
                if self._holds(claim, *case):
                    return
            self.keep_in(claim, *undefined[0])

    def _holds(self, claim: Claim[S], situation: S, picked: Mapping[str, Any]) -> bool:
        """Whether a case shows that it holds; False: the spec is not defined there."""
        __tracebackhide__ = True
        try:
            claim.check(situation)
        except Undefined:
            return False
        except Exception:
            self.keep_in(claim, situation, picked)
        return True

    def keep_in(self, claim: Claim[S], situation: S, picked: Mapping[str, Any]) -> None:
        """The same for one situation."""
        __tracebackhide__ = True
        try:
            claim.check(situation)
        except Unfit:
            return  # It claims something of another case, which has to fit, too.
        except AssertionError as error:
            # Where that was found says nothing of the layer.
            raise AssertionError(self._told(claim, error, picked)) from None
        except Exception as error:
            raise AssertionError(self._told(claim, error, picked)) from error

    def _told(
        self, claim: Claim[S], error: Exception, picked: Mapping[str, Any]
    ) -> str:
        def fails(situation: S) -> bool:
            nonlocal error
            try:
                claim.check(situation)
            except Exception as other:
                if type(other) is type(error):
                    error = other
                    return True
            return False

        # What Hypothesis draws is looked at before there may be others.
        make = self._found.make if "_found" in vars(self) else self.make
        left = picks.smallest(make, picked, fails)
        what = claim.name.replace("_", " ")
        case = _listed(left)
        rest = _listed(picks.simplest(make, left))
        return (
            f"{shown(self.spec.path)}:{_line(self.spec, self.name)}: {self.name} is claimed to "
            f"{what}, but:\n{error}\n"
            f"The smallest case is {f'that of {case}' if case else 'the simplest one'}"
            f"{f'; all else is the simplest: {rest}' if rest else ''}."
            f"{''.join(_ends(self.spec, left))}"
        )

    def _among(self, among: Among) -> Sequence[_Case[S]]:
        match among:
            case "every pair":
                return self.covering
            case "every option":
                return self._options
            case "one":
                return self.covering[-1:]

    @functools.cached_property
    def covering(self) -> list[_Case[S]]:
        """Cases in which every two options come together."""
        return self._found.cases

    @functools.cached_property
    def _found(self) -> _Found[S]:
        """The same, with what makes them.

        They hold the programs of all their situations, so those of one definition are kept at a time.
        """
        # What fits a layer is looked for once, where its entry points take the same.
        make, cases, held = self.make, [], {}
        if self.of is not None:
            of = self.of._found
            known = [picked for _, picked in of.cases]
            make, held = holding(make, of.held), of.held
            cases += covering.again(make, of.make, known)
        _forget_others(self)
        if not cases:
            for held in self._often_held():
                make = holding(self.make, held)
                cases += covering.covering(make, seeds=profiles.seeds())
                if cases:
                    break
        if not cases:
            raise AssertionError(
                f"{shown(self.spec.path)}:{_line(self.spec, self.name)}: {self.name}: no case "
                f"meets its requirements. The simplest one is refused: {self._refusal()}\n"
                "Say which sizes and values fit each other: give axes of one size one name in "
                "the types of the inputs, `require` in `setup` what hyperparameters have to be, "
                "or give `examples`."
            )
        cases += self._lacking(make, cases)
        self._warn_of_sizes(make, [picked for _, picked in cases])
        return _Found(make, cases, held)

    def _lacking(self, make: Make[S], cases: Sequence[_Case[S]]) -> list[_Case[S]]:
        """Cases of options that the others lack. Raises AssertionError where code always fails with one.

        Of an input that is never taken it warns: the definition serves without.
        """
        more = []
        for name, value, found in untaken.lacking(make, cases):
            if isinstance(found, tuple):
                more.append(found)
                continue
            place = f"{shown(self.spec.path)}:{_line(self.spec, self.name)}"
            text = f"{place}: {self.name}: {untaken.said(name, value, found)}"
            if name.endswith(untaken.GIVEN):
                warnings.warn(text, SizesAlike, stacklevel=2)
            elif untaken.is_fault(found):
                raise AssertionError(text)
        return more

    def _often_held(self) -> Iterator[Mapping[str, Any]]:
        """The defaults that are held, where no values of other cases fit: none, of sequences, all."""
        yield {}
        fields = getattr(self.spec.load(), "_fields_", None)
        defaults: Mapping[str, Any] = fields.defaults if fields else {}
        several = {n: v for n, v in defaults.items() if isinstance(v, tuple)}
        if several:
            yield several
        if len(defaults) > len(several):
            yield defaults

    def _warn_of_sizes(self, make: Make[S], cases: Sequence[Mapping[str, Any]]) -> None:
        for one, other, said, given in alike(make, cases, self.name):
            text = (
                f"{shown(self.spec.path)}:{_line(self.spec, self.name)}: {self.name} takes "
                f"`{one}` and `{other}` only where they are the same"
                f"{f', if {given}' if given else ''}, else: {said}\n"
                "Look whether something is given to a layer in the place of something else. If "
                f'they are to be one size: `require({one} == {other}, "...")`, or one name.'
            )
            warnings.warn(text, SizesAlike, stacklevel=2)

    def _refusal(self) -> str:
        """What is wrong with the simplest values, in a line."""
        try:
            picks.with_values(self.make, {})
        except Unfit as unfit:
            lines = str(unfit.__cause__ or unfit).strip().splitlines()
            return lines[0] if lines else "it is not to be looked at."
        return "it is one of others."

    def _that_show(
        self,
        claim: Claim[S],
        where: Callable[[S], bool],
        cases: Sequence[_Case[S]],
    ) -> Sequence[_Case[S]]:
        """Two of the cases that show something; where none does, other values are picked."""
        found = [case for case in cases if where(case[0])]
        if found:
            # Each has more than the one before: the ends are unlike each other.
            return found[:: max(len(found) - 1, 1)]
        make = self._found.make
        others = chain(
            covering.varying(make, claim.decides),
            covering.covering(make, seeds=profiles.seeds() + 3),
        )
        return list(islice((case for case in others if where(case[0])), 2))

    @functools.cached_property
    def _options(self) -> list[_Case[S]]:
        """As few of them as have every value that was picked."""
        missing = {
            _value(*item) for _, picked in self.covering for item in picked.items()
        }
        found = []
        for situation, picked in reversed(self.covering):
            own = {_value(*item) for item in picked.items()}
            if own & missing:
                missing -= own
                found.append((situation, picked))
        return found[:6]


_kept: list[Contract[Any]] = []
"""The contracts whose cases are kept: those of one definition."""


def _forget_others(contract: Contract[Any]) -> None:
    if _kept and _kept[0].spec != contract.spec:
        for other in _kept:
            for name in ("_found", "covering", "_options"):
                vars(other).pop(name, None)
        _kept.clear()
    _kept.append(contract)


def _value(name: str, value: Any) -> tuple[str, str]:
    """What an option is known by: of numbers, whether they are zero."""
    kind = value if isinstance(value, bool | str | None) else type(value).__name__
    return name, f"{kind} {not value}" if isinstance(
        value, int | float | tuple
    ) else str(kind)


@dataclass(frozen=True)
class Kept(Generic[S]):
    """A claim of a contract, to be called by a test."""

    contract: Contract[S]
    claim: Claim[S]

    def __call__(self) -> None:
        __tracebackhide__ = True
        with whole_tracebacks():
            with_room(functools.partial(self.contract.keep, self.claim))


def claims(*contracts: Contract[S]) -> list[Any]:
    """The claims of contracts, as parameters of a test. Of those after the first, ids tell which it is."""
    # What is imported lives as long as the process: it is not to be looked through for garbage.
    gc.freeze()
    return [
        pytest.param(
            Kept(contract, claim),
            id=claim.name
            if contract is contracts[0]
            else f"{contract.name}: {claim.name}",
        )
        for contract in contracts
        for claim in contract.claims
    ]


@dataclass(frozen=True)
class Example(Generic[S]):
    """A situation that Hypothesis has drawn."""

    contract: Contract[S]
    situation: S
    picked: Mapping[str, Any]

    def __call__(self) -> None:
        __tracebackhide__ = True
        given = self.contract.property, self.situation, self.picked
        with whole_tracebacks():
            with_room(functools.partial(self.contract.keep_in, *given))

    def __repr__(self) -> str:
        return f"{self.contract.name}({_listed(self.picked)})"


def examples(*contracts: Contract[S]) -> st.SearchStrategy[Example[S]]:
    """The Hypothesis strategy of all situations of contracts."""
    return st.one_of([_examples(contract) for contract in contracts])


def _examples(contract: Contract[S]) -> st.SearchStrategy[Example[S]]:
    cases = drawn(contract.make, lambda: contract.covering)
    return cases.map(lambda case: Example(contract, *case))


def _listed(picked: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in picked.items())


def _ends(spec: Spec, picked: Mapping[str, Any]) -> Iterator[str]:
    """What is said of values that narrower words leave out, in a case that fails: they may not be meant."""
    fields = getattr(spec.load(), "_fields_", None)
    kinds = fields.annotations if fields else {}
    for name, value in picked.items():
        kind = getattr(kinds.get(name), "type", None)
        if kind is None:  # `bool` and its like have none
            continue
        for end, meant, narrower in kind.word.narrower:
            if value == end:
                yield (
                    f"\n`{name}` may be {value:.0f}: it is {kind.word.takes}. If it has to be "
                    f"{meant}, its word is {narrower}: `{name}: {narrower}`."
                )


def _line(spec: Spec, name: str) -> int:
    """The line of the definition, or of an entry point in it."""
    lines = spec.path.read_text(encoding="utf-8").splitlines()
    owner, _, entry = name.partition(".")
    first = _first(lines, rf"(class|def) {re.escape(owner)}\b")
    return _first(lines, rf"\s+def {re.escape(entry)}\b", first) if entry else first


def _first(lines: Sequence[str], pattern: str, after: int = 1) -> int:
    """The number of the first line that matches; that of the line before where none does."""
    numbered = enumerate(lines[after - 1 :], after)
    return next((i for i, line in numbered if re.match(pattern, line)), after)
