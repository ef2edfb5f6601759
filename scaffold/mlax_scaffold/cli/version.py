"""The program's version."""

from __future__ import annotations

import os


def version() -> str:
    """The version of the distribution, also in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("mlax-scaffold")
    except PackageNotFoundError:
        return _of_checkout()


def _of_checkout() -> str:
    import tomllib

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.path.dirname(os.path.dirname(package))
    try:
        with open(os.path.join(root, "pyproject.toml"), "rb") as file:
            return str(tomllib.load(file)["project"]["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return "unknown"
