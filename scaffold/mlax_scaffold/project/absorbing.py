"""Takes edits of generated code back into the spec that it follows from, and proves it by generating."""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from mlax_scaffold.errors import FindingsError, SpecError, UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.project.choices import with_choices
from mlax_scaffold.project.declared import (
    declares_otherwise,
    documentation,
    inherits,
    undocumented,
    why_not,
    with_attribute,
    with_defaults,
)
from mlax_scaffold.project.lookup import find_definition
from mlax_scaffold.project.statements import transfer_statements
from mlax_scaffold.project.telling import told, told_function
from mlax_scaffold.project.transfer import Untraceable, transfer
from mlax_scaffold.project.units import HEAD, IMPORTS, Unit, cut, cut_class, joined
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.render import draft
from mlax_scaffold.render.formatting import format_python, lay_out
from mlax_scaffold.render.text import WIDTH
from mlax_scaffold.write import Plan, Tree

_FOLLOWS = {
    "init": ("setup",),
    "fwd": ("forward",),
    "step": ("step", "prepare", "update", "finish"),
    "__call__": ("value",),
    "__post_init__": ("setup",),
}
"""What functions of a generated module follow from, beside methods of their own names."""


@dataclass(frozen=True)
class Absorbed:
    """A project whose spec says what its code was edited to say."""

    spec: str
    workspace: Workspace
    made: Generation
    plan: Plan
    title: str


def absorb(workspace: Workspace, name: str, *, anyway: bool = False) -> Absorbed:
    """Take the edits of the module of a definition back into its spec.

    Args:
        workspace: the project.
        name: the definition's name.
        anyway: also where other code follows from the spec than what was edited.

    Raises:
        UsageError: there is no such definition of the project, or nothing was edited.
        FindingsError: an edit cannot be taken back; it says which, and why.
    """
    library = workspace.read()
    definition = find_definition(workspace, name, library)
    files = {f.path: f for f in workspace.own}
    if definition.source not in files:
        raise UsageError(
            f"{name} comes with mlax-scaffold, and its spec is not of this project: "
            f"`mlax-scaffold add {name} --into FOLDER` brings its source, to own and to edit"
        )
    edited = _Edited.find(workspace, definition)
    said = files[definition.source].text
    text = edited.taken_back(said, anyway=anyway)
    if _laid_out(workspace, definition.source, said) == said:
        text = _laid_out(workspace, definition.source, text)
    after = edited.saying(text)
    made = after.generate()
    plan = after.plan(made)
    held = {edited.path}
    conflicts = tuple(c for c in plan.conflicts if c.path not in held)
    return Absorbed(
        definition.source,
        after,
        made,
        replace(plan, conflicts=conflicts),
        f"absorb {name}",
    )


@dataclass(frozen=True)
class _Edited:
    """A generated module that was edited by hand."""

    workspace: Workspace
    definition: Definition
    path: str
    before: str
    after: str
    read: dict[str, Workspace] = field(default_factory=dict)

    @classmethod
    def find(cls, workspace: Workspace, definition: Definition) -> _Edited:
        """The module of a definition."""
        path, before = module_of(workspace, definition)
        data = Tree(workspace.root).read(path)
        if data is None:
            raise UsageError(f"{path} is not there: run `mlax-scaffold generate`")
        text = data.decode("utf-8").replace("\r\n", "\n")
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise FindingsError(f"{path}:{error.lineno}: {error.msg}") from error
        after = _laid_out(workspace, path, text)
        if after == before:
            raise UsageError(
                f"{path} was not edited: there is nothing to take back"
                f"{_edited_beside(workspace, definition, path)}"
            )
        return cls(workspace, definition, path, before, after)

    def saying(self, spec: str) -> Workspace:
        """The project with this text as the spec, which is read once."""
        if spec not in self.read:
            edited = {self.definition.source: spec}
            self.read[spec] = replace(self.workspace, edited=edited)
        return self.read[spec]

    def taken_back(self, spec: str, *, anyway: bool) -> str:
        """The text of the spec from which the edited module follows; `anyway`: the closest one.

        Raises:
            FindingsError: there is none that can be found.
        """
        for name, before, after in self._units():
            spec = self._with_unit(spec, name, before, after)
        made = self._generated(spec)
        if not anyway and not self._is_what_was_written(made):
            raise FindingsError(
                f"{self.path}: {_OTHERWISE}\n\n{_diff(self.after, made)}\nNothing was changed. "
                "--anyway takes that code in the place of yours."
            )
        return spec

    def _units(self) -> Iterator[tuple[str, Unit | None, Unit | None]]:
        """The functions that were edited, those of classes too."""
        before, after = cut(self.before), cut(self.after)
        for name in {**before, **after}:
            one, two = before.get(name), after.get(name)
            if one == two:
                continue
            if one and two and one.is_class and two.is_class:
                inner, other = cut_class(one), cut_class(two)
                if inner.get(HEAD) == other.get(HEAD) and list(inner) == list(other):
                    for part in inner:
                        if inner[part] != other[part]:
                            yield part, inner[part], other[part]
                    continue
            yield name, one, two

    def _with_unit(
        self, spec: str, name: str, before: Unit | None, after: Unit | None
    ) -> str:
        if name == IMPORTS and before and after:
            return _with_imports(spec, before.text, after.text)
        if before is None or after is None:
            text = (before or after or Unit("", "")).text.strip()
            raise self._stuck(name, text, "Add or remove it in the spec.")
        shown, found = _diff(before.text, after.text), ""
        base = inherits(spec, self.definition.name, _FOLLOWS.get(name, ()))
        if documentation(before.text) != documentation(after.text):
            raise self._stuck(name, shown, why_not(before.text, after.text))
        own = self.definition.name
        for declared in (with_defaults, with_attribute):
            text = declared(spec, own, before.text, after.text)
            if text != spec and self._says(text, after):
                return text
        for carried in _carried(spec, name, before.text, after.text):
            if isinstance(carried, Untraceable):
                shown = str(carried)
                continue
            text = self._named(carried)
            if self._says(text, after):
                return text
            found = found or text
        steps = list(_steps(before.text, after.text))
        if len(steps) > 1:
            with suppress(FindingsError):
                return self._by_steps(spec, name, before, after, steps)
        if base:
            raise self._stuck(name, _diff(before.text, after.text), base)
        if not found or declares_otherwise(before.text, after.text):
            raise self._stuck(name, shown, why_not(before.text, after.text))
        return found

    def _by_steps(
        self, spec: str, name: str, before: Unit, after: Unit, steps: Sequence[str]
    ) -> str:
        """The spec with one edit after another, each of which has a place of its own.

        Raises:
            FindingsError: one has none.
        """
        one = before
        for text in steps:
            two = replace(after, text=text)
            spec = self._with_unit(spec, name, one, two)
            one = two
        if not self._says(spec, after):
            raise self._stuck(name, after.text, why_not(before.text, after.text))
        return spec

    def _named(self, spec: str) -> str:
        """A spec in which the locals that the generator makes of fields are fields."""
        try:
            self.saying(spec).read()
        except SpecError as error:
            if all("is not defined" in d.message for d in error.diagnostics):
                return error.mended.get(self.definition.source, spec)
        return spec

    def _says(self, spec: str, wanted: Unit) -> bool:
        """Whether a function follows from a spec, other than its documentation."""
        try:
            made = self._generated(spec)
        except FindingsError:
            return False
        return undocumented(wanted.text).strip() in undocumented(made)

    def _is_what_was_written(self, made: str) -> bool:
        """Whether a module is the edited one, other than documentation that follows."""
        return made == self.after or undocumented(made) == undocumented(self.after)

    def _generated(self, spec: str) -> str:
        try:
            return module_of(self.saying(spec), self.definition)[1]
        except SpecError as error:
            raise FindingsError(
                f"The edit of {self.path} was carried over to {self.definition.source}, "
                f"which cannot say that:\n\n{error}\n\nNothing was changed."
            ) from error

    def _stuck(self, name: str, shown: str, reason: str) -> FindingsError:
        lines = "\n".join(f"    {line}" for line in shown.splitlines())
        return FindingsError(
            f"{self.path}: the edit of `{name}` cannot be taken back into "
            f"{self.definition.source}:\n\n{lines}\n\n{reason}\nNothing was changed."
        )


_OTHERWISE = (
    "the spec with these edits would become other code. Below, - is the code as it was "
    "edited, and + what follows from the spec that comes closest:"
)


def module_of(workspace: Workspace, definition: Definition) -> tuple[str, str]:
    """The path and the text of the module of a definition."""
    files = _files_of(workspace, definition)
    base = f"{workspace.project.output}/{definition.section}/"
    [file] = [f for f in files if f.path.startswith(base)]
    [formatted] = format_python([file], workspace.project.package)
    return file.path, _laid_out(workspace, file.path, formatted.text)


def _files_of(workspace: Workspace, definition: Definition) -> Sequence[Rendered]:
    library = workspace.read()
    now = next(d for d in library if d.reference == definition.reference)
    return draft(now, library, workspace.project).files


def _edited_beside(workspace: Workspace, definition: Definition, path: str) -> str:
    """What else of a definition was edited, and what to do about it."""
    tree = Tree(workspace.root)
    files = [
        f
        for f in _files_of(workspace, definition)
        if f.path != path and f.path.endswith(".py")
    ]
    edited = [
        f.path
        for f in format_python(files, workspace.project.package)
        if tree.read(f.path) not in (None, f.text.encode())
    ]
    if not edited:
        return ""
    return (
        f". {', '.join(edited)} differs from its spec: it repeats nothing of a body, and "
        f"calls {path}. Edit that, and absorb it"
    )


def _laid_out(workspace: Workspace, path: str, text: str) -> str:
    return lay_out({path: text}, workspace.project.package, WIDTH)[path]


def _carried(
    spec: str, name: str, before: str, after: str
) -> Iterator[str | Untraceable]:
    """The specs that an edit may be meant to become, or why there is none, likelier ones first."""
    seen = {spec}
    lines = spec.splitlines(keepends=True)
    for first, last in _regions(spec, name):
        method = textwrap.dedent("".join(lines[first - 1 : last]))
        plain = (textwrap.dedent(text) for text in (before, after))
        one, two = (told_function(text, method) for text in plain)
        chosen, other = with_choices(one), with_choices(two)
        for way, was, now, said in (
            (transfer_statements, one, two, str),
            (transfer, before, after, told),
            (transfer_statements, one, two, told),
            (transfer, one, two, told),
            (transfer_statements, chosen, other, str),
        ):
            try:
                text = way(was, now, spec, (first, last), said)
                ast.parse(text)
            except Untraceable as error:
                yield error
                continue
            except SyntaxError:
                continue
            if text not in seen:
                seen.add(text)
                yield text


def _steps(before: str, after: str) -> Iterator[str]:
    """A function after each of the edits that make one of the other, the last of which is the other."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for code, _, last, _, end in matcher.get_opcodes():
        if code != "equal":
            text = "".join([*new[:end], *old[last:]])
            try:
                ast.parse(textwrap.dedent(text))
            except SyntaxError:
                continue
            yield text


def _regions(spec: str, name: str) -> Iterator[tuple[int, int]]:
    """The lines of what a function may follow from; all of them where there is no such function."""
    wanted = (*_FOLLOWS.get(name, ()), name, name.removeprefix("_"))
    functions = [n for n in ast.walk(ast.parse(spec)) if isinstance(n, ast.FunctionDef)]
    found = [
        (node.lineno, node.end_lineno or node.lineno)
        for label in dict.fromkeys(wanted)
        for node in functions
        if node.name == label
    ]
    yield from found or [(1, spec.count("\n") + 1)]


def _with_imports(spec: str, before: str, after: str) -> str:
    """The spec with the imports that were added to the module."""
    old = {ast.unparse(node) for node in ast.parse(before).body}
    new = [ast.unparse(node) for node in ast.parse(after).body]
    there = {ast.unparse(node) for node in ast.parse(spec).body}
    added = [line for line in new if line not in old and line not in there]
    units = cut(spec)
    if IMPORTS not in units:
        return "".join(f"{line}\n" for line in added) + spec
    text = units[IMPORTS].text + "".join(f"{line}\n" for line in added)
    units[IMPORTS] = replace(units[IMPORTS], text=text)
    return joined(list(units.values()))


def _diff(one: str, other: str) -> str:
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=1)
    return "\n".join(line for line in list(lines)[2:])
