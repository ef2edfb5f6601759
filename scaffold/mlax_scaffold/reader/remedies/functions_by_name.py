"""Fields that are a function or the name of one, `act: str | Callable = "relu"`, as the function alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.foreign import ACTIVATIONS
from mlax_scaffold.reader.remedies.names import SPEC, of_jax, uses_of_self
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_KNOWN = ACTIVATIONS | {"gelu", "identity", "mish", "tanh"}
"""Functions of jax.nn that are activations."""
_FUNCTIONS = ("Activation", "Callable", "Function")


def as_function(source: Source, node: ast.expr) -> Fix | None:
    """The field as an `Activation`, whose default is that function, and the field for what looks it up.

    None where something else is done with the name.
    """
    kinds = [*_alternatives(node)]
    if len(kinds) != 2 or "str" not in kinds or not {*kinds} & {*_FUNCTIONS}:
        return None
    found = (f for f in _fields(source) if source.same(f[1].annotation, node))
    owner, field = next(found, (None, None))
    if owner is None or field is None:
        return None
    jnn = of_jax(source, "jax")
    edits = [source.edit(node, "Activation")]
    match field.value:
        case ast.Constant(value=str(name)) if name in _KNOWN:
            edits.append(source.edit(field.value, f"{jnn.bound}.nn.{name}"))
        case None | ast.Attribute() | ast.Name():
            pass
        case _:
            return None
    name = unparsed(field.target)
    looked_up = [*_looked_up(source, owner, name)]
    inside = {id(n) for whole, _ in looked_up for n in walk(whole)}
    others = [n for n in uses_of_self(owner, name) if id(n) not in inside]
    if any(_asks(n, owner) for n in others):
        return None
    edits += [edit for _, edit in looked_up]
    return Fix(tuple(edits), (jnn, Needed(SPEC, "Activation", "Activation")))


def _alternatives(node: ast.expr) -> Iterator[str]:
    """The last parts of the names of `A | B[...]` and `Union[A, B]`."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _alternatives(left)
            yield from _alternatives(right)
        case ast.Subscript(value=owner, slice=ast.Tuple(elts=parts)) if (
            _last(owner) == "Union"
        ):
            for part in parts:
                yield from _alternatives(part)
        case ast.Subscript(value=owner):
            yield _last(owner)
        case _:
            yield _last(node)


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _fields(source: Source) -> Iterator[tuple[ast.ClassDef, ast.AnnAssign]]:
    for owner in walk(source.tree):
        for statement in owner.body if isinstance(owner, ast.ClassDef) else ():
            if isinstance(statement, ast.AnnAssign):
                yield owner, statement  # type: ignore[misc]


def _looked_up(
    source: Source, owner: ast.ClassDef, name: str
) -> Iterator[tuple[ast.AST, Edit]]:
    """What asks whether the field is a text, and what it is where it is a function."""
    for node in walk(owner):
        match node:
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                text = _tells(test, name)
                if text is not None:
                    kept = otherwise if text else body
                    yield node, source.edit(node, source.text_of(kept))
            case ast.If(test=test, body=[body], orelse=[otherwise]):
                text = _tells(test, name)
                if text is not None:
                    kept_one = otherwise if text else body
                    yield node, source.edit(node, source.text_of(kept_one))


def _tells(test: ast.expr, name: str) -> bool | None:
    """Whether a test holds for a text, `isinstance(self.act, str)`, or a function, `callable(self.act)`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            told = _tells(operand, name)
            return None if told is None else not told
        case ast.Call(
            func=ast.Name(id="isinstance"), args=[given, ast.Name(id="str")]
        ) if self_attribute(given) == name:
            return True
        case ast.Call(func=ast.Name(id="callable"), args=[given]) if (
            self_attribute(given) == name
        ):
            return False
    return None


def _asks(node: ast.AST, owner: ast.ClassDef) -> bool:
    """Whether a use compares the name, or looks something up by it."""
    for parent in walk(owner):
        match parent:
            case ast.Compare() | ast.Subscript():
                if node in ast.iter_child_nodes(parent):
                    return True
            case ast.Call(func=ast.Name(id="getattr" | "isinstance"), args=args):
                if node in args:
                    return True
    return False
