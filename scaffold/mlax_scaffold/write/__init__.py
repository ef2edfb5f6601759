r"""The only part of the generator that writes to disk.

A command goes through these steps::

    recover(root)                              # complete what a killed run committed
    with mutex(root):                          # one run at a time
        lock = LockFile.read(root)
        plan = make_plan(root, outputs, lock, spec_hashes, fingerprint)
        ...                                    # --dry-run prints it, --diff its diff
        commit(root, plan, title="generate")   # all or nothing, and the lock with it

Line endings: contents are compared without regard to `\r\n` against `\n`. A file that
git checked out with other line endings counts as clean, and is not rewritten.

Everything the writer keeps for itself (the mutex, what is staged, the undo records) is
in `.mlax-scaffold/` below the root, which git ignores.
"""

from mlax_scaffold.write.content import digest
from mlax_scaffold.write.failure import WriteError
from mlax_scaffold.write.fingerprint import (
    fingerprint_of,
    generator_fingerprint,
    templates_place,
)
from mlax_scaffold.write.history import Past
from mlax_scaffold.write.lockfile import LockFile, Recorded
from mlax_scaffold.write.mutex import mutex
from mlax_scaffold.write.operations import (
    CommitReport,
    Recovery,
    UndoReport,
    commit,
    history,
    interrupted,
    plan_undo,
    recover,
    undo,
)
from mlax_scaffold.write.plan import (
    Change,
    Plan,
    diff,
    make_plan,
    orphan_text,
    plan_updates,
)
from mlax_scaffold.write.tree import LOCK_NAME, STATE_DIR, Tree
from mlax_scaffold.write.verdict import (
    FileStatus,
    Verdict,
    judge,
    quick_check,
)

__all__ = [
    "LOCK_NAME",
    "STATE_DIR",
    "Change",
    "CommitReport",
    "FileStatus",
    "LockFile",
    "Past",
    "Plan",
    "Recorded",
    "Recovery",
    "Tree",
    "UndoReport",
    "Verdict",
    "WriteError",
    "commit",
    "diff",
    "digest",
    "fingerprint_of",
    "generator_fingerprint",
    "history",
    "interrupted",
    "judge",
    "make_plan",
    "mutex",
    "orphan_text",
    "plan_undo",
    "plan_updates",
    "quick_check",
    "recover",
    "templates_place",
    "undo",
]
