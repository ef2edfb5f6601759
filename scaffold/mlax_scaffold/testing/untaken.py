"""Options and inputs that no case takes: tests would say nothing of them."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from mlax_scaffold.testing.by_default import Defaults
from mlax_scaffold.testing.covering import covering
from mlax_scaffold.testing.picks import Given, Make, Pick, Unfit
from mlax_scaffold.testing.strategies import Domain, just

C = TypeVar("C")
_Found = tuple[C, Mapping[str, Any]]

GIVEN = " is given"
"""How the name of a pick ends that says whether an input is there which may be left out."""
_OF_TESTS = ("dtype", "structure", "weights")
"""Picks that are of the tests, and none of the definition."""
_PROBES = 4
"""So many cases are made, and not traced, to learn which domains there are."""
_TRIES = 6
"""So many cases of a value are tried first."""
_LIBRARIES = tuple(str(Path(m.__file__ or "").parent) for m in (jax, np))


def domains(make: Make[Any]) -> Mapping[str, Domain[Any]]:
    """The domains of the simplest case, and of some others, by name."""
    known: dict[str, Domain[Any]] = {}
    for pick in _picks(_PROBES):
        with contextlib.suppress(Unfit):
            make(_Noting(pick, known))
    return known


def options(make: Make[Any]) -> Iterator[tuple[str, Any]]:
    """The values of options, but the simplest ones, of modes, and of inputs that may be left out."""
    for name, domain in domains(make).items():
        known = name.isidentifier() or name.endswith(GIVEN)
        if known and name not in _OF_TESTS and is_option(domain):
            for value in domain.values[1:]:
                yield name, value


def told(name: str, value: Any) -> str:
    """An option for people: `mode="full"`, or `mask is given`."""
    return name if name.endswith(GIVEN) else f"{name}={value!r}"


def is_option(domain: Domain[Any]) -> bool:
    """Whether values are choices: flags and texts, or None."""
    values = domain.values
    plain = all(value is None or isinstance(value, bool | str) for value in values)
    return plain and len(values) > 1


def lacking(
    make: Make[C], cases: Sequence[_Found[C]]
) -> Iterator[tuple[str, Any, _Found[C] | Unfit]]:
    """Each value of an option that no case has, with a case that has it, or what refuses the last one."""
    taken = {(name, repr(v)) for _, picked in cases for name, v in picked.items()}
    picked = {name for name, _ in taken}
    for name, domain in domains(make).items():
        if name not in picked or not is_option(domain):
            continue
        for value in domain.values:
            if (name, repr(value)) not in taken:
                found = case_of(make, name, value)
                if found is not None:
                    yield name, value, found


def case_of(make: Make[C], name: str, value: Any) -> _Found[C] | Unfit | None:
    """A case that has a value; else what refuses the last one that was tried; None: it is never asked.

    Few are tried first, then those in which every two others come together, with larger sizes at last.
    """
    refused: Unfit | None = None

    def made(pick: Pick) -> C:
        nonlocal refused
        with_value = _With(pick, name, value)
        try:
            case = make(with_value)
        except Unfit as unfit:
            if with_value.asked and unfit.__cause__ is not None:
                refused = unfit
            raise
        if not with_value.asked:
            raise Unfit
        return case

    for pick in _picks(_TRIES):
        with contextlib.suppress(Unfit):
            return made(pick), pick.picked
    return None if refused is None else next(covering(made), refused)


def said(name: str, value: Any, unfit: Unfit) -> str:
    """What people are told of a value that no case has."""
    lines = str(unfit.__cause__ or unfit).strip().splitlines()
    return (
        f"no case is taken in which {told(name, value)}. The last one is refused: "
        f"{lines[0] if lines else ''}\n"
        "Mend what fails there, give axes of one size one name in the types of the inputs, "
        "or `require` in `setup` what else has to be."
    )


def is_fault(unfit: Unfit) -> bool:
    """Whether what refuses a value always is no requirement: code fails with it."""
    error = unfit.__cause__
    if error is None:
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(_LIBRARIES)


def _picks(tries: int) -> Iterator[Given | Defaults]:
    """The simplest values, and others by seeds."""
    yield Given({})
    for seed in range(1, tries):
        yield Defaults(seed, {}, larger=False)


@dataclass
class _Noting:
    """Picks as another one does, and notes the domains; nothing is traced."""

    inner: Pick
    known: dict[str, Domain[Any]]
    probing: bool = True

    def __call__(self, name: str, domain: Domain[Any]) -> Any:
        self.known.setdefault(name, domain)
        return self.inner(name, domain)


@dataclass
class _With:
    """Picks as another one does, to which a domain has one value alone."""

    inner: Pick
    name: str
    value: Any
    asked: bool = False

    def __call__(self, name: str, domain: Domain[Any]) -> Any:
        if name == self.name and self.value in domain.values:
            self.asked, domain = True, just(self.value)
        return self.inner(name, domain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
