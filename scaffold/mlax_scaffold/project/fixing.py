"""Makes the fixes of a project's findings: the texts of its specs once they are mended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mlax_scaffold.errors import Diagnostic, SpecError
from mlax_scaffold.project.workspace import Workspace, as_on_disk
from mlax_scaffold.write import Plan, commit, plan_updates


def fixed(workspace: Workspace, *, write: bool) -> Workspace:
    """The project with the fixes of its findings, which are yet to be written.

    Raises:
        SpecError: a spec has findings that are to be mended by hand. The specs that need no
            hand are written, in one step, where `write` says so, and the error names them.
    """
    try:
        workspace.read()
    except SpecError as error:
        left = [d for d in error.diagnostics if d.location.path not in error.mended]
        mended = replace(workspace, edited={**workspace.edited, **error.mended})
        if not left:
            return mended
        if not write:
            raise
        raise _written(mended, left, error) from None
    return workspace


def after_trial(workspace: Workspace, error: SpecError) -> Workspace | None:
    """The project with the fixes of what a trial found; None where no spec has one.

    What is found beside one that has a fix may follow from it: the next trial tells.
    """
    if not error.mended:
        return None
    return replace(workspace, edited={**workspace.edited, **error.mended})


def left_by_trial(workspace: Workspace, error: SpecError) -> SpecError:
    """What is to be mended by hand, once the edited specs are written of which a trial found nothing."""
    found = {d.location.path for d in error.diagnostics}
    kept = {p: text for p, text in workspace.edited.items() if p not in found}
    return _written(replace(workspace, edited=kept), error.diagnostics, error)


def _written(
    mended: Workspace, left: Iterable[Diagnostic], error: SpecError
) -> SpecError:
    """What is left by hand of an error, once the edited specs are written."""
    if mended.edited:
        commit(mended.root, edits_of(mended), title="generate --fix")
    return SpecError(left, written=mended.written, left=error.left)


def edits_of(workspace: Workspace) -> Plan:
    """What has to change for the edited specs to be on disk, and nothing else."""
    return plan_updates(workspace.root, as_on_disk(workspace.root, workspace.written))
