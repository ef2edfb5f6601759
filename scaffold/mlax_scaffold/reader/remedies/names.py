"""Names that edits bring into a text, and others that they take the place of."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.reader.source import Source, self_attribute
from mlax_scaffold.spelling import misspelt

SPEC = "mlax_scaffold.spec"

_JAX = {
    "jax": Needed("jax", "", "jax"),
    "jnp": Needed("jax.numpy", "", "jnp"),
    "lax": Needed("jax", "lax", "lax"),
    "np": Needed("numpy", "", "np"),
}
"""What the usual names of jax and NumPy are imports of."""


def word(source: Source, name: str) -> Needed:
    """The import of a word, under another name where the spec has that for something else."""
    return bound_to(source, SPEC, name, f"strict_{name}")


def bound_to(source: Source, module: str, name: str, other: str) -> Needed:
    """The import of a name from a module: as it is in the spec, else as `other` where it is taken."""
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                if (node.module, alias.name) == (module, name):
                    return Needed(module, name, alias.asname or name)
    return Needed(module, name, other if name in _taken(source) else name)


def of_jax(source: Source, name: str) -> Needed:
    """The import of jax, jax.numpy, jax.lax or NumPy, by the name that it has in the spec."""
    wanted = _JAX[name]
    full = f"{wanted.module}.{wanted.name}".rstrip(".")
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == full and (alias.asname or "." not in full):
                    return Needed(full, "", alias.asname or full)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                if f"{node.module}.{alias.name}" == full:
                    return Needed(node.module or "", alias.name, alias.asname or name)
    return wanted


def renamed(source: Source, scope: ast.AST, old: str, new: str) -> Fix | None:
    """A local or a parameter by another name, everywhere in a function."""
    names = [n for n in ast.walk(scope) if isinstance(n, ast.Name)]
    if new in {n.id for n in names} or not placed(source, names, [old]):
        return None
    edits = []
    for node in ast.walk(scope):
        match node:
            case ast.Name(id=name) if name == old:
                edits.append(source.edit(node, new))
            case ast.arg(arg=name) if name == old:
                line, column = source.start(node)
                end = (line, column + len(old))
                edits.append(source.replace((line, column), end, new))
            case ast.FunctionDef(name=name) if name == old:
                return None
    return Fix(tuple(edits)) if edits else None


def placed(source: Source, names: Iterable[ast.Name], old: Collection[str]) -> bool:
    """Whether names stand where they say: not all do that are in texts, before Python 3.12."""
    return all(source.text_of(n) == n.id for n in names if n.id in old)


def of_module(source: Source) -> set[str]:
    """The names that statements of the file bind."""
    found: set[str] = set()
    for node in source.tree.body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(a.asname or a.name).partition(".")[0] for a in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def field_named(
    source: Source, node: ast.AnnAssign | ast.arg, old: str, new: str
) -> Fix | None:
    """A field by another name, with each use of it."""
    if not isinstance(node, ast.AnnAssign):
        return None
    edits = [source.edit(node.target, new)]
    for use in uses_of_self(source.tree, old):
        end = source.end(use)
        edits.append(source.replace((end[0], end[1] - len(old)), end, new))
    return Fix(tuple(edits))


def attribute_named(source: Source, old: str, new: str) -> Fix | None:
    """An attribute of self by another name wherever it stands, but where `self.key()` draws."""
    if any(True for _ in uses_of_self(source.tree, new)):
        return None
    draws = {
        node.func
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and not node.args and not node.keywords
    }
    uses = [u for u in uses_of_self(source.tree, old) if u not in draws]
    return Fix(tuple(e for use in uses for e in attribute(source, use, new).edits))


def method_named(source: Source, method: ast.FunctionDef, new: str) -> Fix | None:
    """A method of the class by another name, where it is defined and wherever it is called."""
    uses, edit = (
        attribute_named(source, method.name, new),
        retitled(source, method, new),
    )
    return Fix((edit, *uses.edits)) if uses and edit else None


def retitled(
    source: Source, node: ast.ClassDef | ast.FunctionDef, new: str
) -> Edit | None:
    """Another name where a class or a function is defined; None where that is written unusually."""
    line, column = source.start(node)
    word = "class " if isinstance(node, ast.ClassDef) else "def "
    start = line, column + len(word)
    stop = line, start[1] + len(node.name)
    if source.between(start, stop) != node.name:
        return None
    return source.replace(start, stop, new)


def attribute(source: Source, node: ast.Attribute, name: str) -> Fix:
    """Another attribute of the same object."""
    line, column = source.end(node)
    start = (line, column - len(node.attr))
    return Fix((source.replace(start, (line, column), name),))


def near(source: Source, node: ast.Attribute, known: Iterable[str]) -> Fix | None:
    """The one attribute that is almost spelt so.

    None where the text makes one of this very name: set, or told to what makes it,
    as in `self.register_buffer("steps", ...)` beside a field `num_steps`.
    """
    name = misspelt(node.attr, known)
    if not name or any(_makes(n, node.attr) for n in ast.walk(source.tree)):
        return None
    return attribute(source, node, name)


def _makes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store()):
            return self_attribute(node) == name
        case ast.Call(func=called, args=[*given]):
            told = any(isinstance(a, ast.Constant) and a.value == name for a in given)
            sets = isinstance(called, ast.Name) and called.id == "setattr"
            return told and (sets or self_attribute(called) is not None)
    return False


def uses_of_self(tree: ast.AST, name: str) -> Iterable[ast.Attribute]:
    """Each `self.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and self_attribute(node) == name:
            yield node


def _taken(source: Source) -> set[str]:
    """The names that stand for something in a spec already."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.Name(id=name) if hasattr(builtins, name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) if node in source.tree.body:
                found.add(name)
            case ast.alias(name=name, asname=bound):
                found.add(bound or name.partition(".")[0])
    return found
