"""What is public of a generated package, as its text says: read by griffe, and never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlax_scaffold.errors import UsageError

if TYPE_CHECKING:
    import griffe

_STARS = {"variadic positional": "*", "variadic keyword": "**"}
_EXPORTED = re.compile(r"^from ([\w.]+) import (\w+)(?: as (\w+))?$", re.MULTILINE)


@dataclass(frozen=True)
class SignatureChange:
    """A function whose signature is not as it was."""

    name: str
    before: str
    """Empty for one that is new."""
    after: str
    """Empty for one that is gone."""
    breaks: tuple[str, ...]
    """Why calls that were right may be wrong now."""


def signature_changes(
    before: Mapping[str, str], after: Mapping[str, str]
) -> list[SignatureChange]:
    """What changes of the public signatures of modules.

    Args:
        before: texts of all modules of a package, by their dotted names.
        after: the same.

    Raises:
        UsageError: griffe is not installed.
    """
    try:
        import griffe  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "signatures are read by griffe, which is not installed: "
            'pip install "mlax-scaffold[impact]"'
        ) from error
    changed = {
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }
    exported = _exported(before) | _exported(after)
    found = []
    for module in sorted(changed):
        old = _functions(module, before.get(module, ""), exported)
        new = _functions(module, after.get(module, ""), exported)
        found += _compared(old, new)
    gone = {c.name for c in found if not c.after}
    kept = gone & _inherited(gone, after)
    return [change for change in found if change.name not in kept]


def _inherited(names: Collection[str], modules: Mapping[str, str]) -> set[str]:
    """The methods among these that their classes have of a base, by name."""
    if not names:
        return set()
    classes: dict[str, tuple[set[str], list[str]]] = {}
    for text in modules.values():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                own = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                bases = [ast.unparse(b).rpartition(".")[2] for b in node.bases]
                classes[node.name] = own, bases

    def has(owner: str, method: str) -> bool:
        own, bases = classes.get(owner, (set(), []))
        return method in own or any(has(base, method) for base in bases)

    split = ((name, *name.rsplit(".", 2)[1:]) for name in names)
    return {name for name, owner, method in split if has(owner, method)}


def _exported(modules: Mapping[str, str]) -> set[tuple[str, str]]:
    """What public packages offer of private modules."""
    packages = {name.rpartition(".")[0] for name in modules}
    return {
        (module, name)
        for home, text in modules.items()
        if home in packages and "._" not in home
        for module, name, bound in _EXPORTED.findall(text)
        if "._" in module and not (bound or name).startswith("_")
    }


def _compared(
    old: Mapping[str, griffe.Function], new: Mapping[str, griffe.Function]
) -> Iterator[SignatureChange]:
    for name in sorted(old.keys() | new.keys()):
        mine, other = old.get(name), new.get(name)
        before = _signature(mine) if mine else ""
        after = _signature(other) if other else ""
        if before != after:
            yield SignatureChange(name, before, after, tuple(_breaks(mine, other)))


def _breaks(old: griffe.Function | None, new: griffe.Function | None) -> Iterator[str]:
    import griffe

    if old is not None and new is None:
        yield "it is gone"
    if old is None or new is None:
        return
    for breakage in griffe.find_breaking_changes(_holding(old), _holding(new)):
        which = breakage.old_value or breakage.new_value
        name = getattr(which, "name", "")
        why = breakage.kind.value[0].lower() + breakage.kind.value[1:]
        yield f"{why}: {name}" if name else why


def _holding(function: griffe.Function) -> griffe.Module:
    """A module that holds one function: griffe compares members."""
    import griffe

    module = griffe.Module("module")
    module.set_member(function.name, function)
    return module


def _signature(function: griffe.Function) -> str:
    returns = "" if function.returns is None else f" -> {function.returns}"
    shown: list[str] = []
    starred = False
    for parameter in function.parameters:
        kind = parameter.kind.value if parameter.kind else ""
        if kind == "keyword-only" and not starred:
            shown.append("*")
        starred |= kind in ("keyword-only", "variadic positional")
        typed = "" if parameter.annotation is None else f": {parameter.annotation}"
        shown.append(f"{_STARS.get(kind, '')}{parameter.name}{typed}")
        if parameter.default is not None and kind not in _STARS:
            shown[-1] += f" = {parameter.default}"
    return f"({', '.join(shown)}){returns}"


def _functions(
    module: str, text: str, exported: set[tuple[str, str]]
) -> dict[str, griffe.Function]:
    """The public functions and methods of a module, by their dotted names."""
    import griffe

    private = any(part.startswith("_") for part in module.split("."))
    if private and not any(home == module for home, _ in exported):
        return {}
    tree = griffe.visit(module, Path(f"{module.replace('.', '/')}.py"), text)
    found: dict[str, griffe.Function] = {}

    def visit(owner: griffe.Module | griffe.Class, path: str) -> None:
        for name, member in owner.members.items():
            hidden = name.startswith("_") and name not in ("__init__", "__call__")
            if member.is_alias or hidden:
                continue
            if owner is tree and private and (module, name) not in exported:
                continue
            if isinstance(member, griffe.Function):
                found[f"{path}.{name}"] = member
            elif isinstance(member, griffe.Class):
                visit(member, f"{path}.{name}")

    visit(tree, module)
    return found
