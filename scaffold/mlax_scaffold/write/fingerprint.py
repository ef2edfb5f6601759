"""A name for the generator: it changes with everything that outputs follow from but specs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.write.content import digest

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PARTS = ("model", "reader", "spec", "rewrite", "render")
_FORMATTER = "ruff"


def generator_fingerprint() -> str:
    r"""The sha256 of the generator: its sources, its templates, its formatter.

    Of the formatter's version major and minor count: patches format alike, and two
    people with different ones would take turns in changing the record. Where the
    generator lies does not count, nor that a checkout has `\r\n` in it. The specs are
    not part of it: the lock file records them one by one.
    """
    parts = hashlib.sha256(f"{_FORMATTER} {_version()}\n".encode())
    for name, place in _files():
        with open(place, "rb") as file:
            parts.update(f"{name} {digest(file.read())}\n".encode())
    return parts.hexdigest()


def fingerprint_of(
    generator: str, asked: Iterable[str], plugins: Mapping[str, str]
) -> str:
    """Names the generator, what a project asks of its specs, and its plugins.

    Args:
        generator: names the generator.
        asked: what the project asks of its specs.
        plugins: the digests of the plugins that it names, by name.
    """
    parts = [generator, *asked]
    parts += [f"{name}:{sha}" for name, sha in sorted(plugins.items())]
    return "+".join(parts)


def changed_plugin(before: str, after: str) -> str:
    """What is said of the plugins where they alone are not those of another fingerprint, or ""."""
    ours, *old = before.split("+")
    mine, *new = after.split("+")
    was, now = ({p for p in parts if ":" in p} for parts in (old, new))
    if ours != mine or {*old} - was != {*new} - now or was == now:
        return ""
    names = sorted({part.partition(":")[0] for part in was ^ now})
    if len(names) > 1:
        return f"the plugins {', '.join(names)} have changed"
    [name] = names
    if not any(part.startswith(f"{name}:") for part in was):
        return f"the plugin {name} is named now"
    if not any(part.startswith(f"{name}:") for part in now):
        return f"the plugin {name} is no longer named"
    return f"the plugin {name} has changed"


def templates_place() -> str:
    """The folder of the templates: in an installed package, or beside it in a checkout."""
    installed = os.path.join(_PACKAGE, "templates")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), "templates")


def _files() -> Iterator[tuple[str, str]]:
    for part in _PARTS:
        yield from _walk(part, os.path.join(_PACKAGE, part), (".py", ".json"))
    yield from _walk("templates", templates_place(), (".jinja", ".py"))


def _walk(
    name: str, place: str, suffixes: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
        below = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _walk(below, entry.path, suffixes)
        elif entry.name.endswith(suffixes):
            yield below, entry.path


def _version() -> str:
    # Late: it takes longer to import than all files take to read.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return ".".join(version(_FORMATTER).split(".")[:2])
    except PackageNotFoundError:
        return "unknown"
