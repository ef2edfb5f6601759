"""Creating a definition: its spec and all that follows, proved before it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mlax_scaffold.conversion import AXES, FURTHEST, ConversionError
from mlax_scaffold.errors import (
    ConflictError,
    FindingsError,
    MlaxScaffoldError,
    SpecError,
    UsageError,
)
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.project import archetypes
from mlax_scaffold.project.converting import (
    Conversion,
    Source,
    came_from,
    converted,
    formatted,
    located,
    mended,
)
from mlax_scaffold.project.names import check_free, check_name, find_like
from mlax_scaffold.project.parity import parity_test
from mlax_scaffold.project.progress import plural, progress
from mlax_scaffold.project.proof_program import IMPORT_FAILED
from mlax_scaffold.project.request import Request
from mlax_scaffold.project.running import missing_packages
from mlax_scaffold.project.signatures import calls
from mlax_scaffold.project.staging import Outcome, staged
from mlax_scaffold.project.trial import try_out
from mlax_scaffold.project.tried import Tried
from mlax_scaffold.project.workspace import Generation, Workspace, name_in, names_in
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.remedies.mending import mend
from mlax_scaffold.spelling import did_you_mean
from mlax_scaffold.write import CommitReport, Plan, commit


class ProofError(MlaxScaffoldError):
    """What was generated could not be tried out: a fault."""


Made = TypeVar("Made")

_ROUNDS = 4
"""Times that a converted spec is tried: what one fix brings to light, the next one mends."""


@dataclass(frozen=True)
class Created:
    """What came of it."""

    name: str
    spec: str
    """The path of the spec."""
    texts: Mapping[str, str]
    """The files that follow from the spec, by path."""
    signatures: list[str]
    proof: str
    """What was proved, in words."""
    report: CommitReport

    @property
    def tests(self) -> str:
        """The path of its tests, or ""."""
        return next((path for path in self.texts if _is_test(path)), "")


@dataclass(frozen=True)
class Creation:
    """One definition on its way into a project."""

    workspace: Workspace
    request: Request
    say: Callable[[str], None]
    """Tells what was chosen where the request leaves a choice."""
    run_so_far: int = 0
    """How far constructors of the code are run at least, from which the spec is made."""
    axes: int = 0
    """How many axes inputs have of which nothing in that code tells how many; 0 for any number."""
    tried: Tried = field(default_factory=Tried)

    def plan(self) -> Plan:
        """What would be written. Proves and writes nothing."""
        return self._plan(*self._made())

    def run(self) -> Created:
        """Generate, prove and write. The caller holds the mutex, and has warmed what proves it.

        Raises:
            UsageError: the name will not do.
            SpecError: a spec is invalid.
            FindingsError: what was generated does not import, or fails its tests.
            ConflictError: a file that would be written was edited by hand.
        """
        return self._first(Creation._run)

    def _run(self) -> Created:
        return self._created(*self._valid())

    def _first(self, attempt: Callable[[Creation], Made]) -> Made:
        """What an attempt makes; of code, with constructors run further where it finds what is wrong.

        It is told of the attempt that finds nothing wrong, and of the first one where there is none.

        Raises:
            FindingsError: what the first attempt found, where none of them finds nothing.
        """
        told: list[str] = []
        try:
            return self._heard(attempt, told)
        except (ConversionError, UsageError):
            self._say(told)
            raise
        except FindingsError:
            before = self.request.source and self._converted().text
            seen = {before}
            others = [
                *(replace(self, axes=axes) for axes in AXES),
                *(replace(self, run_so_far=n) for n in range(1, FURTHEST + 1)),
            ]
            for other in others if before else ():
                try:
                    made = other._converted()
                    if made.refusal is None and made.text not in seen:
                        seen.add(made.text)
                        return other._heard(attempt, [])
                except (FindingsError, UsageError):
                    continue
            self._say(told)
            raise

    def _heard(self, attempt: Callable[[Creation], Made], told: list[str]) -> Made:
        """What an attempt makes; what it tells is said once it is made, and is in `told` where it is not."""
        made = attempt(replace(self, say=told.append))
        self._say(told)
        return made

    def _say(self, told: Sequence[str]) -> None:
        for text in told:
            self.say(text)

    def _created(self, spec: SpecFile, made: Generation) -> Created:
        """Prove what was generated, and write it."""
        plan = self._plan(spec, made)
        _check_conflicts(plan)
        definition = next(
            d
            for d in made.library
            if d.source == spec.path and d.name == self.request.name
        )
        proof = self._prove(spec, made, definition)
        title = f"{self.request.command} {self.request.name}"
        report = commit(self.workspace.root, plan, title=title)
        texts = {o.path: o.text for o in made.of(spec.path)} | self._parity(spec)
        lines = calls(definition, made.library, self.workspace.project)
        return Created(definition.name, spec.path, texts, lines, proof, report)

    def traced(self) -> Creation:
        """Generate and trace, and say nothing; what is made is not kept.

        Returns:
            The creation whose spec is valid: of code, that with constructors run as far as it takes.

        Raises:
            FindingsError: what code became is no valid spec, with the lines of that code.
        """
        return replace(self._first(Creation._traced), say=self.say)

    def _traced(self) -> Creation:
        replace(self, say=lambda text: None)._valid()
        return self

    def _valid(self) -> tuple[SpecFile, Generation]:
        """The spec and what follows from it; of code, once tracing finds nothing to be mended.

        Tests take longer than tracing, and what cannot be traced fails them.
        """
        spec, made = self._made()
        for left in reversed(range(_ROUNDS)):
            try:
                self._trace(spec, made)
                return spec, made
            except SpecError as error:
                spec, made = self._mended(spec, error, left)
        raise AssertionError("the last round raises what it found")

    def _trace(self, spec: SpecFile, made: Generation) -> None:
        """Trace what code became, if the spec is of that."""
        if self.request.source is not None:
            try_out(self.workspace, made, self._plan(spec, made), self.tried)

    def _mended(
        self, spec: SpecFile, error: SpecError, left: int
    ) -> tuple[SpecFile, Generation]:
        """The spec of code with the fixes of what tracing it found, as long as there are any.

        Raises:
            FindingsError: there are none; what is refused is told at the lines of the code.
        """
        read = self.workspace.read_files
        own = self.workspace.own
        texts = mend([spec], error, lambda files: read([*own, *files])).texts
        if left == 0 or spec.path not in texts:
            raise located(Source.read(str(self.request.source)), error) from error
        better = replace(spec, text=formatted(texts[spec.path]))
        return better, self.workspace.generate(better)

    def _made(self) -> tuple[SpecFile, Generation]:
        spec = self._spec()
        source = self.request.source
        try:
            return spec, self.workspace.generate(spec)
        except SpecError as error:
            mine = [d for d in error.diagnostics if d.location.path == spec.path]
            if mine and source is not None:
                raise located(Source.read(source), error) from error
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
        section = request.kind.section
        if request.like is not None:
            like, old = find_like(request.like, request.kind, specs)
            section = like.section
            from mlax_scaffold.project.copies import copied

            text = copied(like.text, old, request.name)
            self.say(f"The spec is a copy of {like.path} under the name.\n")
        elif request.source is not None:
            text = self.conversion(strict=True).text
        else:
            text = archetypes.from_archetype(
                request.name, request.kind, self._archetype(), workspace.plugins
            )
        file = f"{module_name(request.name)}.py"
        path = f"{workspace.project.specs}/{section}/{file}"
        for other in workspace.own:
            if other.path == path:
                raise UsageError(
                    f"{path} exists, and defines {name_in(other)}: give that file "
                    f"another name, or {request.name}"
                )
        spec = SpecFile(path, section, text)
        if request.source is None:
            return spec
        return mended(
            spec, lambda files: workspace.read_files([*workspace.own, *files])
        )

    def conversion(self, *, strict: bool = False) -> Conversion:
        """The spec of the code that the request names.

        Raises:
            ConversionError: where it is strict, and something has no counterpart.
        """
        source = Source.read(str(self.request.source))
        made = self._converted()
        if strict and made.refusal is not None:
            raise made.refusal
        if strict:
            self.say(f"The spec is that of {source.thing} in {source.path}.\n")
            for remark in made.remarks():
                self.say(f"  {remark}")
        return made

    def _converted(self) -> Conversion:
        request, workspace = self.request, self.workspace
        source = Source.read(str(request.source))
        taken = set(names_in((*workspace.own, *workspace.built_in)))
        return converted(
            source, request.name, request.kind, taken, self.run_so_far, self.axes
        )

    def _archetype(self) -> str:
        request = self.request
        if request.kind is not Kind.LAYER:
            return ""
        known = archetypes.archetypes(self.workspace.plugins)
        if request.archetype is not None:
            if request.archetype not in known:
                hint = did_you_mean(request.archetype, known)
                raise UsageError(
                    f'there is no archetype "{request.archetype}"; '
                    + (hint or f"there are {', '.join(known)}")
                )
            return request.archetype
        chosen = archetypes.archetype_for(request.name)
        others = ", ".join(a for a in known if a != chosen)
        self.say(
            f'Starting from the archetype "{chosen}", chosen by the name '
            f"(others, by --archetype: {others}).\n"
        )
        return chosen

    def _plan(self, spec: SpecFile, made: Generation) -> Plan:
        written = {spec.path: spec.text} | self._parity(spec)
        return self.workspace.plan(made, extra_writes=written)

    def _parity(self, spec: SpecFile) -> dict[str, str]:
        """The test that compares it with the code that it was converted from, by path."""
        if self.request.source is None:
            return {}
        made = self.conversion()
        return parity_test(self.workspace, spec, self.request.name, made)

    def _prove(
        self,
        spec: SpecFile,
        made: Generation,
        definition: Definition,
    ) -> str:
        """What was proved, in words."""
        tests = [o.path for o in made.of(spec.path) if _is_test(o.path)]
        missing = missing_packages() if self.request.test else []
        run = tests if self.request.test and not missing else []
        package = self.workspace.project.package
        with (
            progress(f"Trying {definition.name} out"),
            staged(self.workspace, made, [spec]) as stage,
        ):
            modules = [f"{package}.{definition.section}"]
            if definition.kind.is_layer:
                modules.append(f"{package}.graph")
            outcome = stage.prove(modules, run)
        if outcome.status != 0:
            output = outcome.output.strip()
            if self.request.source is not None:
                source = Source.read(self.request.source)
                output += came_from(source, spec, output)
            _refuse(replace(outcome, output=output), definition.name)
        if run:
            passed = re.findall(r"(\d+) passed", outcome.output)
            number = plural(sum(map(int, passed)), "test") if passed else "tests"
            told = f"Tried out: it imports, and passes its {number}."
            return "\n".join([told, *outcome.warnings])
        if missing:
            return (
                "Tried out: it imports. Its tests were not run, for want of "
                f'{" and ".join(missing)}: pip install "mlax-scaffold[test]"'
            )
        return "Tried out: it imports. Its tests were not run."


def _check_conflicts(plan: Plan) -> None:
    plan.check_orphans()
    if plan.conflicts:
        lines = "".join(f"\n  {status}" for status in plan.conflicts)
        raise ConflictError(
            f"{plural(len(plan.conflicts), 'file')} would be overwritten:{lines}\n"
            "Nothing was changed. `mlax-scaffold check` says how to settle each."
        )


def _refuse(outcome: Outcome, name: str) -> None:
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


def _is_test(path: str) -> bool:
    return os.path.basename(path).startswith("test_")
