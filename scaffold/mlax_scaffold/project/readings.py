"""What specs were read to, kept from one command to the next as Python keeps bytecode."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from mlax_scaffold.reader import kept

_MOST = 1024
"""The readings that are kept; those that were not asked for the longest go."""


class Readings:
    """Readings by what they follow from: the generator and the text.

    They lie beside the generator's bytecode: who can write there can change the generator
    itself. A project's folder is no place for them, as what is read from a project is
    never executed, and unpickling executes. What cannot be loaded is read again.

    Args:
        generator: names the generator.
    """

    def __init__(self, generator: str) -> None:
        self._path = importlib.util.cache_from_source(kept.__file__) + ".readings"
        self._generator = f"{generator} {version('libcst')}"
        self._known = self._loaded()
        self._changed = False

    def take(self, source: object) -> Any:
        """What was put for the same source, or None."""
        name = self._name(source)
        found = self._known.pop(name, None)
        if found is None:
            return None
        self._known[name] = found
        try:
            return pickle.loads(found)
        except Exception:  # Anything may be raised of bytes that are no pickle.
            return None

    def put(self, source: object, reading: object) -> None:
        """Keep a reading for the next command."""
        self._known[self._name(source)] = pickle.dumps(reading)
        self._changed = True

    def save(self) -> None:
        """Write what was put, where Python writes bytecode, and one can."""
        if not self._changed or sys.dont_write_bytecode:
            return
        latest = dict([*self._known.items()][-_MOST:])
        beside = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(beside, "wb") as file:
                pickle.dump(latest, file)
            os.replace(beside, self._path)
        except OSError:
            with suppress(OSError):
                os.remove(beside)
        self._changed = False

    def _loaded(self) -> dict[str, bytes]:
        try:
            with open(self._path, "rb") as file:
                found = pickle.load(file)
        except Exception:  # There is none, or it is damaged.
            return {}
        return found if isinstance(found, dict) else {}

    def _name(self, source: object) -> str:
        return hashlib.sha256(f"{self._generator} {source!r}".encode()).hexdigest()
