"""What becomes of the files that people wrote, where a definition gets another name or place."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.project.sources import texts
from mlax_scaffold.project.workspace import Workspace

if TYPE_CHECKING:
    from mlax_scaffold.project.qualified import Rewriting


def words(definition: Definition) -> tuple[str, ...]:
    """The words one of which stands in every file that uses a definition."""
    stem = definition.source.rpartition("/")[2].removesuffix(".py")
    names = (definition.name, definition.module, definition.module_class, stem)
    return tuple(dict.fromkeys(filter(None, names)))


def exported(
    outputs: Iterable[Rendered], project: Project, name: str
) -> list[tuple[str, ...]]:
    """The dotted names that people can use of a definition, those of one thing together.

    They are those of its modules and of what these define, and those that the packages above
    give them, each by every path that the package may be imported by.
    """
    base, found = project.output, []
    # The order is to be the same in whatever section the definition is.
    graph_last = sorted(outputs, key=lambda o: o.path.startswith(f"{base}/graph/"))
    for output in graph_last:
        if not (output.path.startswith(f"{base}/") and output.path.endswith(".py")):
            continue
        module = output.path.removeprefix(f"{base}/").removesuffix(".py")
        *folders, last = module.split("/")
        graph = folders[0] == "graph"
        defined = _defined(output.text)
        found.append(_spelled(project, *folders, last))
        found += [_spelled(project, *folders, last, inner) for inner in defined]
        if graph:
            for inner in defined:
                found.append(_spelled(project, *folders, inner))
                found.append(_spelled(project, folders[0], inner))
        else:
            found.append(_spelled(project, *folders, name))
            found += [_spelled(project, *folders, name, inner) for inner in defined]
    return found


def spec_names(path: str, name: str) -> list[tuple[str, ...]]:
    """The dotted names of a spec and of its definition."""
    parts = path.removesuffix(".py").split("/")
    return [_endings(parts, 3), _endings([*parts, name], 4)]


def renamed(
    old: Iterable[tuple[str, ...]], new: Iterable[tuple[str, ...]]
) -> dict[str, str]:
    """What each name becomes."""
    return {
        before: after
        for one, other in zip(old, new, strict=True)
        for before, after in zip(one, other, strict=True)
        if before != after
    }


def _spelled(project: Project, *rest: str) -> tuple[str, ...]:
    least = project.package.count(".") + 1 + len(rest)
    return _endings([*project.output.split("/"), *rest], least)


def _endings(parts: list[str], least: int) -> tuple[str, ...]:
    """The dotted names of what has so many parts from the project's root on."""
    return tuple(".".join(parts[start:]) for start in range(len(parts) - least + 1))


def _defined(text: str) -> list[str]:
    """The names that a module defines, in their order."""
    nodes = (ast.ClassDef, ast.FunctionDef)
    return [node.name for node in ast.parse(text).body if isinstance(node, nodes)]


@dataclass(frozen=True)
class Edits:
    """Edits of files below a root that have one of the words in them."""

    root: str
    words: tuple[str, ...]

    def of_specs(
        self, workspace: Workspace, old: str, new: str, path: str, to: str
    ) -> dict[str, bytes]:
        """The specs that change, where one of them defines `new` at `to`, not `old` at `path`.

        Raises:
            UsageError: the spec has something else of that name.
        """
        from mlax_scaffold.project.qualified import Module, rewrite

        found = {}
        base = renamed(spec_names(path, old), spec_names(to, new))
        if workspace.is_library:
            base[f"mlax_scaffold.spec.{old}"] = f"mlax_scaffold.spec.{new}"
        for file in workspace.own:
            data = self._read(file.path)
            if file.path == path:
                if new != old and new in _names(data):
                    raise UsageError(
                        f"{path} has another `{new}`: choose another name, or rename that"
                    )
                local = {old: new} if old != new else {}
                module = Module(data, _package(path), _package(to), local)
                found[to] = rewrite(module, base).data
                continue
            names = base | _as_written(data, path, to, old, new)
            after = rewrite(Module(data, _package(file.path)), names).data
            if after != data:
                found[file.path] = after
        return found

    def of_code(
        self, skipped: Collection[str], names: Mapping[str, str]
    ) -> dict[str, bytes]:
        """The other Python files that change.

        What a module imports under the old name, others may import from it: so names are
        added until there are no more.
        """
        files = dict(texts(self.root, skipped, self.words))
        names = dict(names)
        while True:
            found: dict[str, bytes] = {}
            known = len(names)
            for path, data in files.items():
                rewriting = _rewritten(path, data, names)
                if rewriting is None:
                    continue
                if rewriting.data != data:
                    found[path] = rewriting.data
                parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
                for old, new in rewriting.exported.items():
                    old_names = _endings([*parts, old], 2)
                    new_names = _endings([*parts, new], 2)
                    names |= dict(zip(old_names, new_names, strict=True))
            if len(names) == known:
                return found

    def uses(
        self, skipped: Collection[str], names: Iterable[tuple[str, ...]]
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The other Python files that use one of the names, and the lines where they do."""
        same = {name: name for each in names for name in each}
        for path, data in texts(self.root, skipped, self.words):
            rewriting = _rewritten(path, data, same)
            if rewriting is not None and rewriting.lines:
                yield path, rewriting.lines

    def _read(self, path: str) -> bytes:
        with open(os.path.join(self.root, path), "rb") as file:
            return file.read()


def _rewritten(path: str, data: bytes, names: Mapping[str, str]) -> Rewriting | None:
    """What becomes of a file; None for what is no Python of this version."""
    from mlax_scaffold.project.qualified import Module, NotPythonError, rewrite

    try:
        return rewrite(Module(data, _package(path)), names)
    except NotPythonError:
        return None


def _as_written(data: bytes, path: str, to: str, old: str, new: str) -> dict[str, str]:
    """The names of a spec as another one imports them: its section and its file decide."""
    section, file = path.removesuffix(".py").split("/")[-2:]
    new_section, new_file = to.removesuffix(".py").split("/")[-2:]
    found = {}
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            *above, one, other = ("", *(node.module or "").split("."))
            if [one, other] == [section, file] and above[1:2] != ["mlax_scaffold"]:
                module = ".".join([*above[1:], new_section, new_file])
                found[node.module or ""] = module
                found[f"{node.module}.{old}"] = f"{module}.{new}"
    return found


def _names(data: bytes) -> set[str]:
    return {
        name
        for node in ast.walk(ast.parse(data))
        for name in (getattr(node, "id", None), getattr(node, "name", None))
        if isinstance(name, str)
    }


def _package(path: str) -> str:
    return ".".join(path.split("/")[:-1])
