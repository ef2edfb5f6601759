"""Brings source into a project, merges later versions into it, and tells what changed on either side."""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mlax_scaffold.errors import ConflictError, FindingsError, UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.owning.bundle import Bundle, find_specs_of, make_bundle, test_of
from mlax_scaffold.owning.merging import MARKERS, Merged, Side, Versions, merge
from mlax_scaffold.owning.place import Place
from mlax_scaffold.owning.record import Record, find_records
from mlax_scaffold.owning.recorded import plain_tests
from mlax_scaffold.project.lookup import full_name
from mlax_scaffold.project.staging import Stage
from mlax_scaffold.render.formatting import lay_out
from mlax_scaffold.render.scratch import fill, scratch
from mlax_scaffold.write import Change, Plan, Tree, plan_updates

_IMPORT = """
import importlib, json, sys

for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
"""

Editor = Callable[[str, str], str | None]
"""Lets a person settle a conflict: from a path and a text with markers to a settled text, or None."""


@dataclass(frozen=True)
class Conflict:
    """What both sides changed in different ways."""

    path: str
    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Update:
    """What adding or updating would do."""

    record: Record
    plan: Plan
    merged: tuple[str, ...] = ()
    """Files that both sides changed, in different places."""
    kept: tuple[str, ...] = ()
    """Files that are no longer needed, and stay because somebody changed them."""
    gone: tuple[str, ...] = ()
    """Files that are needed, and that somebody deleted."""
    conflicts: tuple[Conflict, ...] = ()


def unsettled(path: str, text: str) -> str:
    """Why the text of a file that was edited settles no conflict, or ""."""
    if not text.strip():
        return "it is empty"
    lines = text.split("\n")
    marked = [i for i, line in enumerate(lines, 1) if line.startswith(MARKERS)]
    if marked:
        return f"line {marked[0]} is a marker"
    if path.endswith(".py"):
        try:
            ast.parse(text)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            where = f"line {line}: " if line else ""
            return f"it is no Python, {where}{getattr(error, 'msg', error)}"
    return ""


def check_decided(updates: Iterable[Update]) -> None:
    """Raises ConflictError, showing each contradiction, where one of them has any."""
    shown = [
        f"{c.path}: {', '.join(c.names)}\n\n{_contradictions(c.text)}"
        for update in updates
        for c in update.conflicts
    ]
    if shown:
        raise ConflictError(
            "You and mlax-scaffold changed the same lines:\n\n"
            + "\n".join(shown)
            + "\nNothing was changed. Go on with --ours (your lines), --theirs (the new "
            "ones), or --edit (settle each in an editor); all other changes are merged."
        )


def whole_plans(updates: Iterable[Update]) -> dict[str, Plan]:
    """What has to change in each project, in one step."""
    found: dict[str, Plan] = {}
    for update in updates:
        root, plan = update.record.place.root, update.plan
        before = found[root].changes if root in found else ()
        changes = sorted((*before, *plan.changes), key=lambda c: c.path)
        found[root] = replace(plan, changes=tuple(changes))
    return found


def records_below(folder: str | None) -> list[Record]:
    """What is owned in a folder and below it; default: the current one.

    Raises:
        UsageError: nothing is.
    """
    start = os.path.realpath(folder or os.getcwd())
    found = find_records(start)
    if not found:
        raise UsageError(
            f"{start} has no source that mlax-scaffold brought, neither has a folder below "
            "it. To bring some: mlax-scaffold add Linear --into src/mynet/layers"
        )
    return found


def with_names(record: Record, names: Sequence[str], version: str) -> Record:
    """The record with more names, as of a version, without texts."""
    wanted = {full_name(file) for file in find_specs_of(names)} | set(record.names)
    return replace(record, version=version, names=tuple(sorted(wanted)), base={})


@dataclass(frozen=True)
class Merger:
    """Brings the source that a record asks for to what the library holds now."""

    record: Record
    old: Record | None
    side: Side = Side.NEITHER
    edit: Editor | None = None
    trial: bool = True

    def update(self) -> Update:
        """What has to change. Writes nothing.

        Raises:
            UsageError: a file is in the way, or a name is not known.
            FindingsError: what would be there does not import.
        """
        place = self.record.place
        theirs = bring(self.record, self.old, trial=self.trial)
        base = dict(self.old.base) if self.old else {}
        mine = _on_disk(place.root, {*theirs, *base})
        self._refuse_others(theirs, base, mine)
        found = self._merged(_laid_out(base, place), _laid_out(mine, place), theirs)
        record = replace(self.record, base=theirs)
        texts = {**found.texts, **self._additions(), **record.files()}
        plan = plan_updates(place.root, texts)
        before = self.old.files() if self.old else {}
        stale = [path for path in before if path not in record.files()]
        plan = _with_deletions(plan, place.root, [*found.deleted, *stale])
        return Update(
            record,
            plan,
            tuple(sorted(found.merged)),
            tuple(sorted(found.kept)),
            tuple(sorted(found.gone)),
            tuple(found.conflicts),
        )

    def _refuse_others(
        self,
        theirs: Mapping[str, str],
        base: Mapping[str, str],
        mine: Mapping[str, str],
    ) -> None:
        others = [p for p in theirs if p in mine and p not in base]
        others = [p for p in others if mine[p].strip() and mine[p] != theirs[p]]
        if others:
            lines = "".join(f"\n  {path}" for path in others)
            raise UsageError(
                f"these files are not of mlax-scaffold, and are in the way:{lines}\n"
                "Choose another folder by --into or --tests, or move them away."
            )

    def _additions(self) -> dict[str, str]:
        """The package's own `__init__`, where there is none."""
        place = self.record.place
        path = place.path("__init__.py")
        if os.path.exists(os.path.join(place.root, path)):
            return {}
        return {path: '"""Layers whose source is this project\'s own."""\n'}

    def _merged(
        self,
        base: Mapping[str, str],
        mine: Mapping[str, str],
        theirs: Mapping[str, str],
    ) -> _Found:
        found = _Found()
        for path in sorted({*base, *theirs}):
            versions = Versions(base.get(path), mine.get(path), theirs.get(path))
            if versions.theirs == versions.base and versions.base is not None:
                if path not in mine:
                    found.gone.append(path)
            elif versions.mine == versions.theirs:
                pass
            elif versions.mine == versions.base:
                if versions.theirs is None:
                    found.deleted.append(path)
                else:
                    found.texts[path] = versions.theirs
            elif versions.theirs is None:
                found.kept.append(path)
            elif versions.mine is None and versions.base is not None:
                found.gone.append(path)
            else:
                self._merge(path, versions, found)
        done = {p: t for p, t in found.texts.items() if p in found.merged}
        found.texts |= _laid_out(done, self.record.place)
        return found

    def _merge(self, path: str, versions: Versions, found: _Found) -> None:
        label = f"mlax-scaffold {self.record.version}"
        if not (versions.mine or "").strip():
            versions = replace(versions, base="", mine="")
        made = merge(versions, self.side, label)
        if made.conflicts and self.edit is not None:
            made = self._edited(path, made)
        if made.conflicts:
            found.conflicts.append(Conflict(path, made.conflicts, made.text))
        else:
            found.texts[path] = made.text
            found.merged.append(path)

    def _edited(self, path: str, made: Merged) -> Merged:
        assert self.edit is not None
        text = self.edit(path, made.text)
        return made if text is None or unsettled(path, text) else Merged(text)


@dataclass
class _Found:
    texts: dict[str, str] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def bring(record: Record, old: Record | None, *, trial: bool = True) -> dict[str, str]:
    """The files that a record asks for, as the library has them now.

    What is as the old record holds it is neither tried nor recorded again.

    Raises:
        UsageError: a name is not known.
        FindingsError: they do not import.
    """
    place = record.place
    bundle = make_bundle(
        record.names, place, modules=record.modules, contracts=not record.plain
    )
    texts = _laid_out(bundle.texts, place)
    base = _laid_out(old.base, place) if old else {}
    changed = {path for path, text in texts.items() if base.get(path) != text}
    unrecorded: list[Definition] = []
    if record.plain:
        kept = _recorded(bundle, place, base, changed)
        texts |= kept
        unrecorded = [d for d in bundle.wanted if test_of(d, place) not in kept]
    if (trial and changed) or unrecorded:
        with _staged(place, texts) as stage:
            modules = [f"{place.package}.{d.section}" for d in bundle.wanted]
            outcome = stage.run(_IMPORT, sorted(set(modules)))
            if outcome.status != 0:
                raise FindingsError(
                    f"{outcome.output.strip()}\n\nWhat would be brought does not import. "
                    "Nothing was changed."
                )
            if unrecorded:
                tests = dict(plain_tests(bundle, place, stage, unrecorded))
                texts |= _laid_out(tests, place)
    return texts


def _recorded(
    bundle: Bundle, place: Place, base: Mapping[str, str], changed: Collection[str]
) -> dict[str, str]:
    """The tests whose values are those of definitions that have not changed."""
    untouched = [
        test_of(d, place)
        for d in bundle.wanted
        if bundle.needs[str(d.reference)].isdisjoint(changed)
    ]
    return {path: base[path] for path in untouched if path in base}


def changes_of(record: Record) -> tuple[str, str]:
    """Two diffs of a place: what you changed, and what mlax-scaffold changed since."""
    place = record.place
    base = _laid_out(record.base, place)
    mine = _laid_out(_on_disk(place.root, base), place)
    theirs = bring(record, record, trial=False)
    return _diff(base, mine), _diff(base, theirs)


def _diff(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    found: list[str] = []
    for path in sorted({*one, *other}):
        before, after = one.get(path), other.get(path)
        found += difflib.unified_diff(
            (before or "").splitlines(keepends=True),
            (after or "").splitlines(keepends=True),
            "/dev/null" if before is None else f"a/{path}",
            "/dev/null" if after is None else f"b/{path}",
        )
    return "".join(found)


def _laid_out(texts: Mapping[str, str], place: Place) -> dict[str, str]:
    return lay_out(texts, place.package, place.width)


def _on_disk(root: str, paths: Iterable[str]) -> dict[str, str]:
    tree = Tree(root)
    found = {path: tree.read(path) for path in paths}
    return {
        path: data.decode("utf-8").replace("\r\n", "\n")
        for path, data in found.items()
        if data is not None
    }


def _with_deletions(plan: Plan, root: str, paths: Iterable[str]) -> Plan:
    tree = Tree(root)
    gone = [Change(path, tree.read(path), None) for path in paths]
    changes = [*plan.changes, *(c for c in gone if c.before is not None)]
    return replace(plan, changes=tuple(sorted(changes, key=lambda c: c.path)))


@contextmanager
def _staged(place: Place, texts: Mapping[str, str]) -> Iterator[Stage]:
    """The source in a temporary folder, below empty packages as above it in the project."""
    with scratch() as root:
        files = dict(texts)
        folder = place.folder
        while folder and folder != place.import_root:
            files.setdefault(f"{folder}/__init__.py", "")
            folder = os.path.dirname(folder)
        fill(root, files)
        yield Stage(root, (os.path.normpath(os.path.join(root, place.import_root)),))


def _contradictions(text: str) -> str:
    """The lines between markers."""
    shown, inside = [], False
    for line in text.split("\n"):
        inside = inside or line.startswith(MARKERS[0])
        if inside:
            shown.append(f"    {line}")
        if line.startswith(MARKERS[1]):
            inside = False
    return "\n".join(shown)
