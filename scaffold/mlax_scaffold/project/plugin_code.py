"""Imports the Python of plugins that a project names: their words, and their kinds of output."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.project import GENERATED, Project, Rendered, template_root
from mlax_scaffold.model.word import SPEC, Word
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.project.plugins import Plugin, PluginError
from mlax_scaffold.reader.imports import spec_words
from mlax_scaffold.reader.library import library_words

if TYPE_CHECKING:
    from mlax_scaffold.render.output import Output

_CHECKS = template_root() / "package" / "_core" / "checks" / "__init__.py"
_STRATEGIES = Path(__file__).resolve().parents[1] / "testing" / "strategies.py"
_ALLOWED = {"jax", "numpy", *sys.stdlib_module_names}
"""What the checks of a plugin may import: they are copied into packages that need jax alone."""


class PluginFault(MlaxScaffoldError):
    """The Python of a plugin fails, or makes what no plugin may: for its author to mend."""


def words_of(plugins: Iterable[Plugin]) -> tuple[Word, ...]:
    """The words that plugins add.

    Raises:
        PluginError: a word is not whole, or two have one name or one spelling.
        PluginFault: their module cannot be imported.
    """
    found: list[tuple[Plugin, Word]] = []
    mistakes: list[str] = []
    for plugin in plugins:
        if not plugin.has("words"):
            continue
        for name, row in _rows(_imported(plugin, "words")):
            mistakes += [f"{plugin}: {m}" for m in _mistakes(plugin, name, row)]
            found.append((plugin, replace(row, module=f"{plugin.module}.words")))
    mistakes += _conflicts(found)
    if mistakes:
        raise PluginError("\n".join(mistakes))
    return tuple(row for _, row in found)


def outputs_of(plugins: Iterable[Plugin]) -> tuple[Output, ...]:
    """The kinds of output that plugins add, each under its guard.

    Raises:
        PluginError: what a plugin calls OUTPUTS is no dictionary of `Output`s.
        PluginFault: their module cannot be imported.
    """
    found: list[Output] = []
    for plugin in plugins:
        if plugin.has("outputs"):
            found += _outputs(plugin)
    return tuple(found)


def _outputs(plugin: Plugin) -> Iterator[Output]:
    from mlax_scaffold.render.output import Output

    given = getattr(_imported(plugin, "outputs"), "OUTPUTS", None)
    if not isinstance(given, dict) or not all(
        isinstance(name, str) and isinstance(made, Output)
        for name, made in given.items()
    ):
        raise PluginError(
            f"{plugin}: {plugin.module}.outputs.OUTPUTS is {given!r}, expected a dictionary "
            "of mlax_scaffold.plugin.outputs.Output by name"
        )
    for name, made in sorted(given.items()):
        yield _guarded(plugin, f'{plugin}, output "{name}"', made)


def _rows(module: ModuleType) -> Iterator[tuple[str, Word]]:
    from mlax_scaffold.spec.words import Word as Annotation

    for name, value in sorted(vars(module).items()):
        if isinstance(value, Annotation):
            yield name, value.type.word


def _imported(plugin: Plugin, name: str) -> ModuleType:
    module = f"{plugin.module}.{name}"
    # A checkout may stand beside what is imported already.
    before = sys.modules.get(module)
    origin = getattr(before, "__file__", None)
    if before is not None and not _below(origin, plugin.folder):
        for loaded in list(sys.modules):
            if f"{loaded}.".startswith(f"{plugin.module}."):
                del sys.modules[loaded]
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise PluginFault(
            f"{plugin}: {module} cannot be imported: {_told(plugin, error)}"
        ) from error


def _below(path: str | None, folder: Path) -> bool:
    return path is not None and Path(path).resolve().is_relative_to(folder.resolve())


def _told(plugin: Plugin, error: Exception) -> str:
    """An exception with the innermost line of the plugin that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith(f"{plugin.folder}{os.sep}")]
    place = ""
    if own:
        relative = Path(own[-1].filename).relative_to(plugin.root).as_posix()
        place = f" ({relative}:{own[-1].lineno})"
    return f"{type(error).__name__}: {error}{place}"


def _mistakes(plugin: Plugin, name: str, row: Word) -> Iterator[str]:
    """What a word lacks. Its functions are looked for in the text; nothing of them is imported."""
    if name != row.name:
        yield f"{plugin.module}.words.{name} is the word {row.name}: give both one name"
    if not name.isidentifier() or not name[0].isupper():
        yield f"the word {name} has a name that does not do: expected upper camel case"
    for field in ("takes", "types", "example", "invalid", "check", "strategy"):
        if not getattr(row, field):
            yield f"the word {name} has no `{field}`"
    if row.attribute != "hyperparameter":
        yield f"the word {name} is a {row.attribute}, expected a hyperparameter"
    for what, function, own, ours in (
        ("check", row.check, "checks", _CHECKS),
        ("strategy", row.strategy.partition("(")[0], "strategies", _STRATEGIES),
    ):
        module, _, called = function.rpartition(".")
        if module not in ("", f"{plugin.module}.{own}"):
            yield (
                f"the {what} of {name} is in {module}, expected {plugin.module}.{own}"
            )
            continue
        file = plugin.folder / f"{own}.py" if module else ours
        if function and called not in _defined(file):
            yield f"the {what} of {name} is {function}, which is not there"
    if row.check_module and row.check_module.startswith(f"{plugin.module}."):
        yield from _foreign(plugin.folder / "checks.py")


def _defined(file: Path) -> Collection[str]:
    """The functions that a module defines or imports, as far as its text says."""
    if not file.is_file():
        return ()
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def _foreign(file: Path) -> Iterator[str]:
    """What checks import that the packages they are copied into may not have."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            if name.partition(".")[0] not in _ALLOWED:
                yield (
                    f"checks.py imports {name}; it is copied into packages that need jax "
                    "alone: expected jax, NumPy or the standard library"
                )


def _conflicts(found: Iterable[tuple[Plugin, Word]]) -> Iterator[str]:
    ours = "mlax-scaffold"
    taken = {*spec_words(library_words())}
    taken |= {name for name, row in WORDS.items() if row.module == SPEC}
    words, spellings = dict.fromkeys(taken, ours), dict.fromkeys(taken, ours)
    for plugin, row in found:
        other = words.setdefault(row.name, str(plugin))
        if other != str(plugin):
            yield f"{other} and {plugin} both have a word {row.name}"
        for spelling in row.spellings:
            other = spellings.setdefault(spelling, str(plugin))
            if other != str(plugin):
                yield f"{other} and {plugin} both say what {spelling} means"


def _guarded(plugin: Plugin, name: str, output: Output) -> Output:
    """The output, whose faults are told as the plugin's, and whose files are looked at."""

    def attempt(function: Callable[..., Any], *given: Any) -> Any:
        try:
            made = function(*given)
            return made if made is None else tuple(made)
        except MlaxScaffoldError:
            raise
        except Exception as error:
            raise PluginFault(f"{name} fails: {_told(plugin, error)}") from error

    def of_library(library: Any, project: Project) -> Iterator[Rendered]:
        files = attempt(output.of_library, library, project) or ()
        return (_looked_at(name, file, project) for file in files)

    def of_definition(source: Any) -> Iterator[Rendered]:
        files = attempt(output.of_definition, source) or ()
        return (_looked_at(name, file, source.project) for file in files)

    def check(source: Any, file: Rendered) -> None:
        attempt(lambda: output.check(source, file) and None)

    return replace(
        output,
        of_library=of_library,
        of_definition=of_definition,
        check=check,
        name=name,
    )


def _looked_at(name: str, file: Any, project: Project) -> Rendered:
    """A file as every generated one is: in a folder of outputs, and with the header."""
    if not isinstance(file, Rendered):
        raise PluginFault(f"{name} makes {file!r}, expected a Rendered")
    if not file.path.startswith(tuple(f"{folder}/" for folder in project.folders)):
        expected = ", ".join(project.folders)
        raise PluginFault(f"{name} makes {file.path}, expected a file in {expected}")
    if file.text and GENERATED not in file.text.partition("\n")[0]:
        raise PluginFault(
            f"{name} makes {file.path}, whose first line does not say that it is generated: "
            "begin it with header(...) of mlax_scaffold.plugin.outputs"
        )
    return file
