"""Takes edits of generated code back into the spec that it follows from, and proves it by generating."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mlax_scaffold.errors import FindingsError, SpecError, UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.project.lookup import find_definition
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

_OWNERS = (
    (r"\bnot inference_mode\b", "self.training"),
    (r"\binference_mode\b", "not self.training"),
    (r"\barrays\.in_dtype\(([\w.]+), [\w.]+\)", r"\1"),
    (r"\.astype\([\w.]+\.dtype\)", ""),
    (r"\btrees\.scalar\(", ""),
    (r"\b(hyperparams|trainables|non_trainables|state)\.", "self."),
    (r",\s*non_trainables\b", ""),
    (r"(?m)^(\s*return\b.*|[])}]+),\s*None$", r"\1"),
)
"""What stands in specs for what the functions take."""


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
    text = edited.taken_back(files[definition.source].text, anyway=anyway)
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
            raise UsageError(f"{path} was not edited: there is nothing to take back")
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
        if made != self.after and not anyway:
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
        shown, found = _diff(before.text, after.text), []
        for lines in _regions(spec, name):
            try:
                text = transfer(before.text, after.text, spec, lines, _told)
                ast.parse(text)
            except Untraceable as error:
                shown = str(error)
                continue
            except SyntaxError:
                continue
            found.append(self._named(text))
        if not found:
            raise self._stuck(name, shown, _NOWHERE)
        if len(found) == 1:
            return found[0]
        return next((text for text in found if self._says(text, after)), found[0])

    def _named(self, spec: str) -> str:
        """A spec in which the locals that the generator makes of fields are fields."""
        try:
            self.saying(spec).read()
        except SpecError as error:
            if all("is not defined" in d.message for d in error.diagnostics):
                return error.mended.get(self.definition.source, spec)
        return spec

    def _says(self, spec: str, wanted: Unit) -> bool:
        """Whether a function follows from a spec."""
        try:
            return wanted.text.strip() in self._generated(spec)
        except FindingsError:
            return False

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


_NOWHERE = (
    "No line of the spec says that: it is what the generator adds (checks, keys, casts, "
    "state, signatures), or stands between such lines. Say it in the spec."
)
_OTHERWISE = (
    "the spec with these edits would become other code. Below, - is the code as it was "
    "edited, and + what follows from the spec that comes closest:"
)


def module_of(workspace: Workspace, definition: Definition) -> tuple[str, str]:
    """The path and the text of the module of a definition."""
    library = workspace.read()
    now = next(d for d in library if d.reference == definition.reference)
    made = draft(now, library, workspace.project)
    base = f"{workspace.project.output}/{now.section}/"
    [file] = [f for f in made.files if f.path.startswith(base)]
    [formatted] = format_python([file], workspace.project.package)
    return file.path, _laid_out(workspace, file.path, formatted.text)


def _laid_out(workspace: Workspace, path: str, text: str) -> str:
    return lay_out({path: text}, workspace.project.package, WIDTH)[path]


def _told(text: str) -> str:
    """What a spec calls that."""
    for pattern, replacement in _OWNERS:
        text = re.sub(pattern, replacement, text)
    try:
        whole = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text
    if isinstance(whole, ast.Tuple) and all(
        isinstance(e, ast.Name | ast.Constant) for e in whole.elts[1:]
    ):
        # What a function returns beside its result.
        return f" {ast.get_source_segment(text.strip(), whole.elts[0])}"
    return text


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
