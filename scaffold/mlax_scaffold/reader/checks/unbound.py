"""Finds names that nothing defines: they would be found when the generated code runs."""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeGuard

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.foreign import LIBRARIES, known, without_name
from mlax_scaffold.reader.remedies.meant_words import meant_word
from mlax_scaffold.reader.remedies.modes import KEYS, TRAINS, mode, told
from mlax_scaffold.reader.remedies.names import SPEC, of_jax
from mlax_scaffold.reader.source import Source, self_attribute
from mlax_scaffold.spelling import did_you_mean

_JAX = {"jax": "jax", "jnp": "jnp", "lax": "lax", "np": "jnp", "numpy": "jnp"}
_MODULES = {
    "math": Needed("math", "", "math"),
    "functools": Needed("functools", "", "functools"),
}
_NAMES = {"partial": Needed("functools", "partial", "partial")}


_COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")
_MODULE = 0
"""The line of the scope of a file."""

_FOREIGN = {"nn": "flax or torch", "F": "torch", "eqx": "equinox", "hk": "haiku"} | {
    "tf": "tensorflow",
    "K": "keras",
}
"""What names are the usual ones of."""

_ADVICE = "Import it, define it beside the class, or take it as an input or a field."


def check_unbound(
    source: Source, words: Collection[str], home: Callable[[str], str | None]
) -> None:
    """Report each name once, where it is first read.

    Args:
        source: the spec.
        words: what can be imported from `mlax_scaffold.spec`.
        home: the module of the library's spec of that name; None where there is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(source.text, source.path, "exec")
    except SyntaxError:
        return  # the compiler tells it
    defined = {s.get_name() for s in table.get_symbols() if _binds(s)}
    unbound = _unbound(table, defined, _MODULE)
    nodes: dict[str, list[ast.Name]] = {}
    for node, scope in _reads(source.tree, _MODULE):
        if (node.id, scope) in unbound:
            nodes.setdefault(node.id, []).append(node)
    # One finding tells to write the names that `import *` stands for.
    starred = words if _imports_everything(source) else ()
    for name in sorted(nodes.keys() - {"self", *starred}):
        found = sorted(nodes[name], key=lambda n: (n.lineno, n.col_offset))
        if _told(source, found[0]):
            continue
        fix, hint = _remedy(source, name, found, words, home)
        if fix is None and not hint:
            near = sorted((defined | _locals(source, found[0])) - {name})
            hint = did_you_mean(name, near, cutoff=0.75)
            if name in _FOREIGN or name in LIBRARIES:
                fix, hint = _foreign(source, name)
            elif hint:
                edits = [source.edit(n, hint.split('"')[1]) for n in found]
                fix = Fix(tuple(edits))
        source.report(found[0], f"`{name}` is not defined", hint or _ADVICE, fix=fix)


def _imports_everything(source: Source) -> bool:
    """Whether the spec imports all words."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == SPEC
        and node.names[0].name == "*"
        for node in source.tree.body
    )


def _foreign(source: Source, name: str) -> tuple[Fix | None, str]:
    """A name of another library that is not imported either."""
    fix = without_name(source, name)
    hint = (
        f"It is {_FOREIGN.get(name, name)}'s: a spec has its mathematics from jax and "
        "mlax_scaffold.spec, and layers from mlax_scaffold.specs."
    )
    return fix, hint


def _draws(source: Source, name: str) -> bool:
    """Whether random numbers of NumPy are drawn."""
    return any(
        unparsed(node) == f"{name}.random"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
    )


def _told(source: Source, node: ast.Name) -> bool:
    """Whether another finding covers a name, which says more of it."""
    place = source.location(node)
    of_class = source.lines[place.line - 1].startswith("class ")
    return any(
        d.location.line == place.line
        and (
            of_class or d.location.column <= place.column < d.location.column + d.width
        )
        for d in source.diagnostics
    )


def _remedy(
    source: Source,
    name: str,
    found: list[ast.Name],
    words: Collection[str],
    home: Callable[[str], str | None],
) -> tuple[Fix | None, str]:
    needed = _MODULES.get(name) or _NAMES.get(name)
    if needed is None and name in words:
        needed = Needed(SPEC, name, name)
    module = None if needed else home(name)
    if module is not None:
        needed = Needed(module, name, name)
    if needed is not None:
        return Fix(imports=(needed,)), f"Import it: `{needed}`."
    if name in KEYS and _in_methods(source, found):
        edits = tuple(source.edit(n, "self.key()") for n in found)
        return Fix(edits), "A key is drawn by `self.key()`."
    if name in ("np", "numpy") and _draws(source, name):
        return None, (
            "NumPy draws once, when jax traces: write `jax.random.normal(self.key(), "
            "x.shape, x.dtype)`, for example."
        )
    if name in sys.stdlib_module_names:
        return None, f"A layer is a pure function of arrays, without `{name}`."
    if name in _JAX:
        needed = of_jax(source, _JAX[name])
        edits = tuple(source.edit(n, needed.bound) for n in found)
        changed = edits if needed.bound != name else ()
        return Fix(changed, (needed,)), f"Import it: `{needed}`."
    if (meant := meant_word(name, ())) and _are_called(source, found):
        needed = Needed(SPEC, meant, meant)
        edits = tuple(source.edit(n, meant) for n in found)
        return Fix(edits, (needed,)), f"Import it: `{needed}`."
    own = name in _of_self(source)
    if own or name in TRAINS:
        edits = tuple(
            source.edit(n, f"self.{name}")
            if own
            else mode(source, source.tree, n, name)
            for n in found
        )
        text = f"self.{name}" if own else told(name)
        where = _in_methods(source, found)
        return (Fix(edits), f"Write `{text}`.") if where else (None, "")
    fixes = [known(source, node, name) for node in found]
    whole: list[Edit] = []
    for fix in fixes:
        if fix is None:
            return None, ""
        whole += fix.edits
    first = fixes[0]
    assert first is not None
    return Fix(tuple(whole), first.imports), f"It is `{first.edits[0].text}`."


def _of_self(source: Source) -> set[str]:
    """The fields of the class, and what it assigns to attributes of self."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.ClassDef(body=body):
                found |= {
                    s.target.id
                    for s in body
                    if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
                }
            case ast.Attribute(ctx=ast.Store(), attr=name) if self_attribute(node):
                found.add(name)
    return found


def _in_methods(source: Source, nodes: list[ast.Name]) -> bool:
    """Whether all nodes stand in bodies of methods, which have a self."""
    bodies = {
        id(part)
        for node in source.tree.body
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        for statement in method.body
        for part in ast.walk(statement)
    }
    return all(id(node) in bodies for node in nodes)


def _are_called(source: Source, nodes: list[ast.Name]) -> bool:
    calls = (n for n in ast.walk(source.tree) if isinstance(n, ast.Call))
    called = {id(call.func) for call in calls}
    return all(id(node) in called for node in nodes)


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _unbound(
    table: symtable.SymbolTable, defined: Collection[str], scope: int
) -> set[tuple[str, int]]:
    """The names that stand for nothing, each with the line of the scope that reads it."""
    # Scopes of annotations, which newer Pythons have, begin nowhere in the text; those of comprehensions,
    # which older ones have, are part of what is around them.
    own = table.get_name() not in _COMPREHENSIONS
    if table.get_type() in ("function", "class") and own:
        scope = table.get_lineno()
    found = {
        (s.get_name(), scope)
        for s in table.get_symbols()
        if s.is_referenced()
        and (s.is_global() or scope == _MODULE)
        and s.get_name() not in defined
        and not hasattr(builtins, s.get_name())
        and not s.get_name().startswith("__")
    }
    for child in table.get_children():
        found |= _unbound(child, defined, scope)
    return found


def _reads(
    node: ast.AST, scope: int, bound: frozenset[str] = frozenset()
) -> Iterator[tuple[ast.Name, int]]:
    """The names that are read, each with the line at which its scope begins.

    Those that the comprehensions around bind are not among them.
    """
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in bound:
            yield node, scope
        return
    inside = _inside(node)
    targets = [g.target for g in getattr(node, "generators", ())]
    within = bound.union(n.id for t in targets for n in ast.walk(t) if _is_name(n))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            # The first of what is looped over belongs to the scope around.
            first = getattr(node, "generators", [child])[0] is child
            yield from _reads(child.iter, scope, bound if first else within)
            for part in (child.target, *child.ifs):
                yield from _reads(part, scope, within)
        elif child in inside:
            yield from _reads(child, getattr(node, "lineno", scope), bound)
        else:
            yield from _reads(child, scope, within)


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _inside(node: ast.AST) -> Sequence[ast.AST]:
    """The children that stand in a scope of their own: not defaults, decorators and types."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.body
        case ast.Lambda():
            return (node.body,)
        case _:
            return ()


def _locals(source: Source, node: ast.Name) -> set[str]:
    """What the function around a node binds."""
    around = [
        f
        for f in ast.walk(source.tree)
        if isinstance(f, ast.FunctionDef)
        and f.lineno <= node.lineno <= (f.end_lineno or f.lineno)
    ]
    return {
        n.arg if isinstance(n, ast.arg) else n.id
        for f in around
        for n in ast.walk(f)
        if isinstance(n, ast.arg)
        or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    }
