"""The pytest plugin, run in test sessions of its own."""

from __future__ import annotations

import importlib.metadata
import sys
import textwrap

import pytest

pytest_plugins = "pytester"

_INSTALLED = any(
    entry.name == "mlax_scaffold"
    for entry in importlib.metadata.entry_points(group="pytest11")
)
# Loading a plugin that is installed a second time by name is an error in pytest.
PLUGIN = () if _INSTALLED else ("-p", "mlax_scaffold.pytest_plugin")


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs the tests in a text, in a process of their own."""
    monkeypatch.delenv("MLAX_SCAFFOLD_PROFILE", raising=False)
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")

    def run(text: str, *args: str):
        pytester.makepyfile(textwrap.dedent(text))
        options = ("-p", "no:cacheprovider", "-p", "no:xdist", *PLUGIN, *args)
        return pytester.runpytest_subprocess(*options)

    return run


def test_nothing_heavy_is_imported(session, monkeypatch):
    # Other plugins import jax; this one has to be alone to be seen not to.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = session(
        """
        import sys

        def test_imports():
            assert "mlax_scaffold.pytest_plugin" in sys.modules
            heavy = {"jax", "numpy", "hypothesis", "libcst", "mlax_scaffold.testing"}
            assert not heavy & set(sys.modules)
        """,
        *(("-p", "mlax_scaffold.pytest_plugin") if _INSTALLED else ()),
    )
    result.assert_outcomes(passed=1)


def test_fixtures(session):
    result = session(
        """
        import jax
        import jax.numpy as jnp
        import pytest

        X = jax.ShapeDtypeStruct((3,), jnp.bfloat16)

        def test_clean(audit_dtypes):
            audit_dtypes(jnp.sin, X)
            audit_dtypes(lambda x, *, y: x + y, X, y=X, compute_dtype="bfloat16")

        def test_allow(audit_dtypes):
            audit_dtypes(jnp.sum, X, allow=[jnp.float32])

        def test_wide(audit_dtypes):
            with pytest.raises(AssertionError, match="(?s)sum: .*reduce_sum operand"):
                audit_dtypes(jnp.sum, X)

        def test_no_dtype(audit_dtypes):
            with pytest.raises(TypeError, match="pass compute_dtype"):
                audit_dtypes(jnp.sum, jax.ShapeDtypeStruct((3,), jnp.int32))

        def test_strict(strict_promotion):
            with pytest.raises(ValueError, match="(?i)promotion"):
                jnp.ones(3, jnp.bfloat16) + jnp.ones(3)
            with pytest.raises(ValueError, match="(?i)rank"):
                jnp.ones((2, 3)) + jnp.ones(3)

        def test_not_strict_afterwards():
            jnp.ones((2, 3)) + jnp.ones(3, jnp.bfloat16)
        """
    )
    result.assert_outcomes(passed=6)


SHOWS_SETTINGS = """
    from hypothesis import settings

    def test_settings():
        print("examples:", settings().max_examples, settings().derandomize)
    """


@pytest.mark.parametrize(
    ("option", "variable", "expected"),
    [
        (None, None, "examples: 100 False"),
        ("ci", None, "examples: 5 True"),
        (None, "thorough", "examples: 200 False"),
        ("ci", "thorough", "examples: 5 True"),
    ],
)
def test_profiles(session, monkeypatch, option, variable, expected):
    # Hypothesis has defaults of its own for continuous integration.
    for name in ("CI", "GITHUB_ACTIONS", "TF_BUILD"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv("MLAX_SCAFFOLD_PROFILE", variable)
    args = ["-s", *([f"--mlax-profile={option}"] if option else [])]
    session(SHOWS_SETTINGS, *args).stdout.fnmatch_lines([f"*{expected}*"])


def test_unknown_profile(session):
    result = session(SHOWS_SETTINGS, "--mlax-profile=fast")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(['*"fast" is no profile*expected ci or thorough*'])
