"""The comment that every generated Python file begins with."""

from __future__ import annotations

from mlax_scaffold.model.project import GENERATED


def copied_header(name: str) -> str:
    """The comment that begins a module that is the same in every package.

    Args:
        name: what it is a copy of.
    """
    return f"# {GENERATED}: a copy of {name}.\n# No spec changes this file."


def header(source: str) -> str:
    """The comment that begins a generated file."""
    origin = f" from {'/'.join(source.split('/')[-2:])}" if source else ""
    edited = "that spec" if source else "the specs"
    return (
        f"# {GENERATED}{origin}.\n"
        f"# To change this file, edit {edited} and run `mlax-scaffold generate`."
    )
