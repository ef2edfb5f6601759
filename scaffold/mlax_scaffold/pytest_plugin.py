"""The pytest plugin: fixtures for the dtype audit, profiles of property tests, and places in specs.

It does nothing to a test run that does not ask for it, but that a failure in generated code
also shows its place in the spec. jax, Hypothesis and the audit are
imported when a fixture or a profile is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--mlax-profile`."""
    group = parser.getgroup("mlax-scaffold")
    group.addoption(
        "--mlax-profile",
        metavar="NAME",
        default=None,
        help="Hypothesis profile of mlax-scaffold: ci (few examples, the same in every "
        "run) or thorough; the default is that of MLAX_SCAFFOLD_PROFILE, or none",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile, where the option or the environment names one."""
    option = config.getoption("--mlax-profile", default=None)
    if not option and not os.environ.get("MLAX_SCAFFOLD_PROFILE"):
        return
    from mlax_scaffold.testing import profiles

    try:
        name = profiles.chosen(option)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    if name is not None:
        profiles.load(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure in generated code the place in its spec."""
    report = yield
    if report.failed and call.excinfo is not None:
        from mlax_scaffold.testing.places import place_of

        if place := place_of(call.excinfo.value):
            report.sections.append(("spec", place))
    return report


@pytest.fixture
def audit_dtypes() -> Callable[..., None]:
    """`audit_dtypes(fn, *args, compute_dtype=..., allow=(), **kwargs)`.

    Traces `fn(*args, **kwargs)` and raises AssertionError with a table of the values whose
    dtype is neither `compute_dtype` nor in `allow`. Arrays may be `jax.ShapeDtypeStruct`;
    without `compute_dtype`, it is the dtype of the first floating array in `args`.
    """

    def check(
        fn: Callable[..., Any],
        *args: Any,
        compute_dtype: Any = None,
        allow: Any = (),
        **kwargs: Any,
    ) -> None:
        from mlax_scaffold.testing import audit

        if compute_dtype is None:
            compute_dtype = _first_floating_dtype(args)
        findings = audit.audit_function(
            fn, *args, compute_dtype=compute_dtype, allow=allow, **kwargs
        )
        if findings:
            what = getattr(fn, "__name__", repr(fn))
            raise AssertionError(
                audit.report(findings, (compute_dtype, *allow), what=what)
            )

    return check


@pytest.fixture
def strict_promotion() -> Iterator[None]:
    """For the duration of the test, mixing dtypes or ranks in an operation raises."""
    from mlax_scaffold.testing import dtypes

    with dtypes.strict_promotion():
        yield


def _first_floating_dtype(args: tuple[Any, ...]) -> Any:
    import jax

    from mlax_scaffold.testing.dtypes import is_floating

    for value in jax.tree.leaves(args):
        if hasattr(value, "dtype") and is_floating(value):
            return value.dtype
    raise TypeError(
        "audit_dtypes: no argument is a floating array; pass compute_dtype=..."
    )
