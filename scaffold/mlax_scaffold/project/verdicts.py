"""The verdicts on all files of a project, taken while no other run changes them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from mlax_scaffold.errors import ConflictError, MlaxScaffoldError
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.write import LOCK_NAME, FileStatus, Tree, Verdict, interrupted

_MOVE_SECONDS = 1.0


@dataclass(frozen=True)
class Verdicts:
    """How a project stands to its specs."""

    statuses: tuple[FileStatus, ...]
    record: str
    """What is wrong with the record itself, or ""."""
    outdated: bool
    """Whether another version of the generator wrote the record."""

    @property
    def findings(self) -> tuple[FileStatus, ...]:
        """The files that are not clean."""
        return tuple(s for s in self.statuses if s.verdict is not Verdict.CLEAN)

    @property
    def clean(self) -> bool:
        """Whether there is nothing to say."""
        return not self.findings and not self.record


def look(
    directory: str | None, *, always_render: bool, wait_seconds: float
) -> Verdicts:
    """The verdicts on the project of a folder. Writes nothing.

    What was read while another run moved files is half of the old tree and half of the new
    one, so then it is read once more.

    Raises:
        SpecError: with every error of every spec.
        ConflictError: a run was interrupted while it moved files, or others do not end.
    """
    root = Workspace.find(directory).root
    deadline = time.monotonic() + wait_seconds
    while True:
        refuse_interrupted(root)
        before = Tree(root).read(LOCK_NAME)
        try:
            found = _verdicts(Workspace.find(directory), always_render)
        except MlaxScaffoldError:
            if _same(root, before):
                raise
        else:
            if _same(root, before):
                return found
        if time.monotonic() >= deadline:
            raise ConflictError(
                f"other runs of mlax-scaffold keep changing {root}; run again"
            )


def refuse_interrupted(root: str) -> None:
    """Raises ConflictError where a run was interrupted, and nothing may be written."""
    title = interrupted(root, wait_seconds=_MOVE_SECONDS)
    if title is not None:
        raise ConflictError(
            f'An earlier run, "{title}", was interrupted while it was writing; '
            "run `mlax-scaffold generate` to complete it"
        )


def _same(root: str, before: bytes | None) -> bool:
    return interrupted(root) is None and Tree(root).read(LOCK_NAME) == before


def _verdicts(workspace: Workspace, always_render: bool) -> Verdicts:
    statuses = workspace.examine(always_render=always_render)
    outdated = workspace.lock.fingerprint != workspace.fingerprint
    return Verdicts(
        tuple(statuses), workspace.record_problem(), outdated and bool(workspace.own)
    )
