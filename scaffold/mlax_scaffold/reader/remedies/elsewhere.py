"""Names of the library that a spec imports from where they are not, or under another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.definition import SECTIONS, Definition, Import
from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.reader.homes import home
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.remedies.foreign import (
    ACTIVATIONS,
    ARRAY_FUNCTIONS,
    CONTROL,
)
from mlax_scaffold.reader.remedies.names import SPEC
from mlax_scaffold.reader.source import Source, dotted

GENERATED = "mlax"
"""The package that is generated of the library's specs."""

_OF_OTHERS = {
    "Any": Needed("typing", "Any", "Any"),
    "Array": Needed("jax", "Array", "Array"),
    "Callable": Needed("collections.abc", "Callable", "Callable"),
    "Enum": Needed("enum", "Enum", "Enum"),
    "Literal": Needed("typing", "Literal", "Literal"),
    "NamedTuple": Needed("typing", "NamedTuple", "NamedTuple"),
    "Sequence": Needed("collections.abc", "Sequence", "Sequence"),
    "jax": Needed("jax", "", "jax"),
    "jnp": Needed("jax.numpy", "", "jnp"),
    "lax": Needed("jax", "lax", "lax"),
    "np": Needed("numpy", "", "np"),
    "partial": Needed("functools", "partial", "partial"),
}
"""What specs import beside the library's words, and people take for some of these."""

HOW = "A layer is imported from its spec: `from mlax_scaffold.specs.nn.linear import Linear`."


def from_home(
    source: Source, node: ast.Import | ast.ImportFrom, aliases: Sequence[ast.alias]
) -> Fix | None:
    """Names of an import, which are the library's or modules of it, each from where it is.

    None where something that is read of them is no layer, block, schedule or function of the library.
    """
    edits: list[Edit] = list(without(source, node, aliases))
    imports: list[Needed] = []
    for alias in aliases:
        bound = alias.asname or alias.name
        for used, name in _uses(source, bound, alias.name):
            needed = _needed(name)
            if needed is None or ((name != bound) and _defined(source, name)):
                return None
            if source.text_of(used) != name:
                edits.append(source.edit(used, name))
            imports.append(needed)
    return Fix(tuple(edits), tuple(dict.fromkeys(imports))) if imports else None


def imported_from_home(definition: Definition, imported: Import) -> Fix | None:
    """A spec of the library that is imported from another file, from its own."""
    source = Source(definition.source, definition.text)
    at = imported.location and (imported.location.line, imported.location.column)
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if source.start(alias) == at:
                    return from_home(source, node, [alias])
    return None


def under_its_name(source: Source, alias: ast.alias) -> Fix | None:
    """An import without `as`, and the name for each use of the other one."""
    if _defined(source, alias.name):
        return None
    uses = [n for n, _ in _uses(source, alias.asname or "", "")]
    return Fix(
        (
            source.edit(alias, alias.name),
            *(source.edit(used, alias.name) for used in uses),
        )
    )


def _defined(source: Source, name: str) -> bool:
    """Whether a spec gives a name another meaning."""
    return any(
        getattr(node, "name", None) == name
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        else isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        for node in ast.walk(source.tree)
    )


def _needed(name: str) -> Needed | None:
    if name in _OF_OTHERS:
        return _OF_OTHERS[name]
    module = home(name)
    if module is None and (LIBRARY_SPECS / "functional" / f"{name}.py").exists():
        module = SPEC
    module = module or module_of_jax(name)
    return Needed(module, name, name) if module else None


def module_of_jax(name: str) -> str:
    """The module of jax that a function of this name is one of; "" for any other."""
    if name in ACTIVATIONS:
        return "jax.nn"
    if name in CONTROL:
        return "jax.lax"
    return "jax.numpy" if name in ARRAY_FUNCTIONS else ""


def _uses(source: Source, bound: str, name: str) -> Iterator[tuple[ast.expr, str]]:
    """What is read of a name that an import binds, with what each is called where it is defined.

    Of a module of the library (`nn`) these are its attributes, else the name itself.
    """
    of_module = name.rpartition(".")[2] in (*SECTIONS, GENERATED)
    root = bound.split(".")
    for node in ast.walk(source.tree):
        if not of_module:
            if isinstance(node, ast.Name) and node.id == bound:
                yield node, name
        elif isinstance(node, ast.Attribute) and node.attr not in SECTIONS:
            path = (dotted(node) or "").split(".")
            begins = path[: len(root)] == root
            if begins and all(part in SECTIONS for part in path[len(root) : -1]):
                yield node, node.attr


def without(
    source: Source, node: ast.Import | ast.ImportFrom, aliases: Sequence[ast.alias]
) -> Iterator[Edit]:
    """What takes names out of an import; overlaps where they follow each other."""
    kept = [alias for alias in node.names if alias not in aliases]
    if not kept:
        yield removed(source, node)
        return
    for alias in aliases:
        at = node.names.index(alias)
        if at:
            ends = source.end(node.names[at - 1]), source.end(alias)
        else:
            ends = source.start(alias), source.start(node.names[1])
        yield source.replace(*ends, "")
