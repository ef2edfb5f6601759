"""Creating a definition: its spec and all that follows, proved before it is written."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass

import click

from mlax_scaffold.cli import archetypes
from mlax_scaffold.cli.changes import preview, tell_recovery, warn_about
from mlax_scaffold.cli.console import plural, progress
from mlax_scaffold.cli.failures import FindingsError
from mlax_scaffold.cli.names import check_free, check_name, find_like
from mlax_scaffold.cli.running import missing_packages
from mlax_scaffold.cli.signatures import signatures
from mlax_scaffold.cli.staging import IMPORT_FAILED, Outcome, staged
from mlax_scaffold.cli.workspace import Generation, Workspace, name_in
from mlax_scaffold.errors import (
    ConflictError,
    MlaxScaffoldError,
    SpecError,
    UsageError,
)
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.spec.files import SpecFile
from mlax_scaffold.spec.reader import module_name
from mlax_scaffold.write import CommitReport, Plan, commit, mutex


class ProofError(MlaxScaffoldError):
    """What was generated could not be tried out: a fault."""


@dataclass(frozen=True)
class Request:
    """What a `new-...` command was asked for."""

    command: str
    kind: Kind
    name: str
    archetype: str | None = None
    like: str | None = None
    test: bool = True
    quiet: bool = False
    style: str = "text"

    @property
    def talks(self) -> bool:
        """Whether to print text."""
        return self.style == "text" and not self.quiet


@dataclass
class Creation:
    """One definition on its way into a project."""

    workspace: Workspace
    request: Request

    def preview(self, *, show_diff: bool) -> None:
        """Show what would be written. Proves and writes nothing."""
        preview(
            self.workspace.root,
            lambda: self._plan(*self._made()),
            show_diff=show_diff,
            quiet=self.request.quiet,
            style=self.request.style,
        )

    def run(self) -> None:
        """Generate, prove, write, and say what to do next.

        Raises:
            UsageError: the name will not do.
            SpecError: a spec is invalid.
            FindingsError: what was generated does not import, or fails its tests.
            ConflictError: a file that would be written was edited by hand.
        """
        workspace, request = self.workspace, self.request
        with mutex(workspace.root):
            tell_recovery(workspace.root)
            spec, made = self._made()
            plan = self._plan(spec, made)
            self._check_conflicts(plan)
            proof = self._prove(spec, made)
            title = f"{request.command} {request.name}"
            report = commit(workspace.root, plan, title=title)
            self._report(spec, made, report, proof)
            warn_about(report, request.style)

    def _made(self) -> tuple[SpecFile, Generation]:
        spec = self._spec()
        try:
            return spec, self.workspace.generate(spec)
        except SpecError as error:
            mine = [d for d in error.diagnostics if d.location.path == spec.path]
            if mine and not self.request.like:
                # Nobody wrote this spec: it is the name that does not fit.
                raise UsageError(
                    f'"{self.request.name}" cannot be the name: {mine[0].message}'
                ) from error
            raise

    def _spec(self) -> SpecFile:
        workspace, request = self.workspace, self.request
        specs = (*workspace.own, *workspace.built_in)
        check_name(request.name, request.kind)
        check_free(request.name, request.kind, specs)
        kind = request.kind
        if request.like is not None:
            like = find_like(request.like, kind, specs)
            kind = Kind(like.section)
            text = archetypes.from_spec(like.text, name_in(like), request.name)
            self._say(f"The spec is a copy of {like.path} under the name.\n")
        else:
            text = archetypes.from_archetype(
                request.name, request.kind, self._archetype()
            )
        file = f"{module_name(request.name)}.py"
        path = f"{workspace.project.specs}/{kind.section}/{file}"
        for other in workspace.own:
            if other.path == path:
                raise UsageError(
                    f"{path} exists, and defines {name_in(other)}: give that file "
                    f"another name, or {request.name}"
                )
        return SpecFile(path, kind.section, text)

    def _archetype(self) -> str:
        request = self.request
        if request.kind is not Kind.LAYER:
            return ""
        if request.archetype is not None:
            return request.archetype
        chosen = archetypes.archetype_for(request.name)
        others = ", ".join(a for a in archetypes.archetypes() if a != chosen)
        self._say(
            f'Starting from the archetype "{chosen}", chosen by the name '
            f"(others, by --archetype: {others}).\n"
        )
        return chosen

    def _plan(self, spec: SpecFile, made: Generation) -> Plan:
        return self.workspace.plan(made, extra_writes={spec.path: spec.text})

    def _check_conflicts(self, plan: Plan) -> None:
        plan.check_orphans()
        if plan.conflicts:
            lines = "".join(f"\n  {status}" for status in plan.conflicts)
            raise ConflictError(
                f"{plural(len(plan.conflicts), 'file')} would be overwritten:{lines}\n"
                "Nothing was changed. `mlax-scaffold check` says how to settle each."
            )

    def _prove(self, spec: SpecFile, made: Generation) -> str:
        """What was proved, in words."""
        definition = _definition(made, spec)
        tests = [o.path for o in made.of(spec.path) if _is_test(o.path)]
        missing = missing_packages() if self.request.test else []
        run = tests if self.request.test and not missing else []
        package = self.workspace.project.package
        with (
            progress(f"Trying {definition.name} out"),
            staged(self.workspace, made, [spec]) as stage,
        ):
            modules = [f"{package}.{definition.section}"]
            if definition.kind in (Kind.LAYER, Kind.BLOCK):
                modules.append(f"{package}.graph")
            outcome = stage.prove(modules, run)
        if outcome.status != 0:
            self._refuse(outcome, definition)
        if run:
            passed = re.findall(r"(\d+) passed", outcome.output)
            number = plural(int(passed[-1]), "test") if passed else "tests"
            return f"Tried out: it imports, and passes its {number}."
        if missing:
            return (
                "Tried out: it imports. Its tests were not run, for want of "
                f'{" and ".join(missing)}: pip install "mlax-scaffold[test]"'
            )
        return "Tried out: it imports. Its tests were not run."

    def _refuse(self, outcome: Outcome, definition: Definition) -> None:
        name = definition.name
        output = outcome.output.strip()
        if outcome.status == IMPORT_FAILED:
            raise FindingsError(
                f"{output}\n\n{name} was not created: the package does not import "
                "with it. Nothing was changed."
            )
        # pytest's: 1 is failed tests, 2 an interruption, such as by a failed import.
        if outcome.status in (1, 2):
            raise FindingsError(
                f"{output}\n\n{name} was not created: it fails its own tests. "
                "Nothing was changed."
            )
        raise ProofError(
            f"{output}\n\n{name} was not created: trying it out ended with status "
            f"{outcome.status}. Nothing was changed."
        )

    def _report(
        self, spec: SpecFile, made: Generation, report: CommitReport, proof: str
    ) -> None:
        definition = _definition(made, spec)
        project = self.workspace.project
        texts = {o.path: o.text for o in made.of(spec.path)}
        lines = signatures(definition, project, texts)
        if self.request.style == "json":
            content = {
                "name": definition.name,
                "spec": spec.path,
                "created": report.created,
                "updated": report.updated,
                "deleted": report.deleted,
                "signatures": lines,
                "proof": proof,
            }
            click.echo(json.dumps(content, indent=2))
            return
        if not self.request.talks:
            return
        mine = [path for path in report.created if path in texts]
        rest = len(report.created) - len(mine) - 1
        click.echo(proof + "\n")
        created = click.style("created", fg="green")
        click.echo(f"  {created}  {click.style(spec.path, bold=True)}")
        for path in mine:
            click.echo(f"  {created}  {path}")
        if rest > 0:
            click.echo(f"  {created}  {plural(rest, 'file')} that these are built on")
        updated = click.style("updated", fg="yellow")
        for path in report.updated:
            click.echo(f"  {updated}  {path}")
        for path in report.deleted:
            click.echo(f"  {click.style('deleted', fg='red')}  {path}")
        click.echo("\n" + "\n".join(lines))
        tests = next((path for path in texts if _is_test(path)), "")
        click.echo(
            f"\nNext:\n  1. edit {spec.path}: all else follows from it\n"
            "  2. mlax-scaffold generate\n"
            + (f"  3. pytest {tests}\n" if tests else "")
            + "`mlax-scaffold undo` takes this back."
        )

    def _say(self, text: str) -> None:
        if self.request.talks:
            click.echo(text)


def _definition(made: Generation, spec: SpecFile) -> Definition:
    return next(d for d in made.library if d.source == spec.path)


def _is_test(path: str) -> bool:
    return os.path.basename(path).startswith("test_")
