"""The types of inputs that have none, from what reads them.

`evidence` walks the methods, `described` reads what is written of them, `layers` says what a layer that is
called takes, `sizes` writes sizes as shapes do, `carries` reads what a cell begins with,
`begun` what stands in the place of an input that is not given, and `known` gathers what each input is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.reader.axes import ranks
from mlax_scaffold.reader.axes.begun import begun, fields_of_tuple, types_of_fields
from mlax_scaffold.reader.axes.calls import parameters
from mlax_scaffold.reader.axes.carries import carried
from mlax_scaffold.reader.axes.described import text_above
from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.layers import Layer
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import Source, parsed, self_attribute

ANY = 'Float["..."]'
"""The type of an input of which nothing is known."""
_OPEN = 'Float["*batch'
"""How the type of an input begins that has any number of axes."""


def type_of(source: Source, method: ast.FunctionDef, name: str) -> str:
    """The type of an input of a method or a function, by what its body does with it."""
    for scope, inputs, part in _read(source, method):
        known = inputs.get(name)
        if known is None:
            continue
        first = _first(source, part, name)
        carry = carried(scope, part, name, first) or begun(scope, part, name, first)
        if carry:
            return carry
        if scope.owner and not known.told and _is_block(scope.owner):
            return "PyTree"
        open_ = known.kind == "Float" and known.like is None
        alone = not known.told or _is_untied(known, inputs.values(), scope)
        if open_ and alone and (text := _as_called(source, scope, part, name)):
            return text
        others = [k.annotation(scope.fields) for k in inputs.values()]
        return _told_apart(known.annotation(scope.fields), others, part)
    return ANY


def known_of(source: Source, method: ast.FunctionDef) -> Mapping[str, Known]:
    """What the body of a method or a function says of its inputs, by name."""
    return next((inputs for _, inputs, _ in _read(source, method)), {})


def begun_fields(
    source: Source, method: ast.FunctionDef, name: str
) -> list[tuple[ast.expr, str]]:
    """The fields of a NamedTuple without the types of arrays, and the types that what makes it says.

    Args:
        source: the spec.
        method: one that has the NamedTuple as an input.
        name: of the NamedTuple.
    """
    fields = fields_of_tuple(Scope(source.tree), name)
    plain = {f for f, s in fields.items() if not _is_typed(s.annotation)}
    for scope, _, _ in _read(source, method) if plain else ():
        types = types_of_fields(scope, name, lambda m: _first(source, m, ""))
        return [(fields[f].annotation, t) for f, t in types.items() if f in plain]
    return []


def _is_typed(annotation: ast.expr) -> bool:
    """Whether a type is told with a shape."""
    return any(isinstance(n, ast.Constant) and n.value for n in ast.walk(annotation))


def _first(source: Source, method: ast.FunctionDef, name: str) -> str:
    """The type of the first input of a method, as it is written or by what the body does with it."""
    first = next((a for a in method.args.args if a.arg != "self"), None)
    if first is None or first.arg == name:
        return ANY
    written = first.annotation
    return ast.unparse(written) if written else type_of(source, method, first.arg)


def parts_of(
    source: Source, method: ast.FunctionDef, name: str
) -> Mapping[str, str] | None:
    """The types of the arrays of an input that is read as a dictionary, by their keys.

    None where keys that are not constant are read, too.
    """
    for scope, inputs, part in _read(source, method):
        known = inputs.get(name)
        if known is not None and known.parts:
            fields = scope.fields
            if not _by_constant_keys(scope, part, name):
                return None
            types = {k: p.annotation(fields) for k, p in known.parts.items()}
            others = [*types.values()]
            return {k: _told_apart(t, others, part) for k, t in types.items()}
    return {}


def _read(
    source: Source, method: ast.FunctionDef
) -> Iterator[tuple[Scope, dict[str, Known], ast.FunctionDef]]:
    """What a method, as it is written, says of its inputs."""
    tree = parsed(source.written)
    line = source.location(method).line
    found = [
        (owner, part)
        for owner in (tree, *tree.body)
        for part in getattr(owner, "body", [])
        if isinstance(part, ast.FunctionDef) and part.name == method.name
    ]
    at = [(owner, part) for owner, part in found if part.lineno == line]
    for owner, part in at or found[:1]:
        scope = Scope(tree, owner if isinstance(owner, ast.ClassDef) else None)
        said = _said(source, scope, part)
        inputs = Evidence(scope, said=said).of(part)
        ranks.asked(part, inputs)
        yield scope, inputs, part


def _said(source: Source, scope: Scope, method: ast.FunctionDef) -> str:
    """What is written of a method's inputs: `forward` is what the docstring of its class describes."""
    said = text_above(source.written.splitlines(), method, scope.fields)
    if scope.owner is not None and method.name == "forward":
        said += "\n" + (ast.get_docstring(scope.owner) or "")
    return said


def _is_untied(known: Known, inputs: Iterable[Known], scope: Scope) -> bool:
    """Whether another input has any number of axes, too, which nothing says are those of this one."""
    alike = [k for k in inputs if k.annotation(scope.fields).startswith(_OPEN)]
    others = [k for k in alike if k is not known]
    return len(others) < len(alike) and any(k.like is None for k in others)


def _as_called(source: Source, scope: Scope, method: ast.FunctionDef, name: str) -> str:
    """What the classes beside it give for an input as they get it themselves; empty where none does.

    Axes that another call gave an input before it are others, of other names.
    """
    taken: set[str] = set()
    first: ast.Call | None = None
    for argument in parameters(method):
        arg = argument.arg
        text, call = _given(source, scope, arg)
        free = set(re.findall(r"[A-Za-z_]\w*", text.partition('"')[2]))
        free -= {*scope.fields}
        if arg == name:
            for word in free & taken if call is not first else ():
                text = re.sub(rf"(?<![#\w]){word}(?!\w)", f"{name}_{word}", text)
            return text
        first, taken = first or call, taken | free
    return ""


def _given(source: Source, scope: Scope, name: str) -> tuple[str, ast.Call | None]:
    """The type of what a class beside it gives for an input, and the call that does."""
    for other in scope.classes.values():
        outer = Scope(scope.module, other)
        part = outer.methods.get("forward")
        if other is scope.owner or part is None:
            continue
        evidence = Evidence(outer, said=_said(source, outer, part))
        inputs = evidence.of(part)
        written = {a.arg: a.annotation for a in part.args.args}
        for layer, parameter, given, call in evidence.handed:
            if layer.node is not scope.owner or parameter != name:
                continue
            if type_ := written.get(given):
                text = _renamed(ast.unparse(type_).replace("'", '"'), outer, layer)
                return text, call
            if inputs[given].told:
                text = inputs[given].annotation(outer.fields)
                return _renamed(text, outer, layer), call
    return "", None


def _renamed(text: str, outer: Scope, layer: Layer) -> str:
    """A type in the terms of a layer, whose fields are called otherwise than those of what holds it."""
    own = {outer.size(value): field for field, value in layer.given.items()}

    def other(found: re.Match[str]) -> str:
        word = found[0]
        return own.get(word, f"its_{word}" if word in outer.fields else word)

    kind, quote, shape = text.partition('"')
    return kind + quote + re.sub(r"(?<![*#\w])[A-Za-z_]\w*", other, shape)


def _by_constant_keys(scope: Scope, method: ast.FunctionDef, name: str) -> bool:
    """Whether a dictionary is read by constant keys, merged, returned, or handed to what is beside it."""
    read = 0
    for node in ast.walk(method):
        match node:
            case ast.Subscript(value=owner, slice=ast.Constant(value=str())):
                read += _is(owner, name)
            case ast.Dict(keys=keys, values=values):
                merged = zip(keys, values, strict=True)
                read += sum(key is None and _is(v, name) for key, v in merged)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                read += _is(left, name) + _is(right, name)
            case ast.Return(value=ast.Name(id=returned)):
                read += returned == name
            case ast.Call(func=function, args=args):
                own = self_attribute(function) in scope.methods or (
                    isinstance(function, ast.Name)
                    and function.id in {*scope.functions, "dict"}
                )
                read += own and sum(_is(arg, name) for arg in args)
    return read == sum(_is(node, name) for node in ast.walk(method))


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _told_apart(text: str, others: list[str], method: ast.FunctionDef) -> str:
    """A type whose open axes are not called like the one axis of another input.

    Beside one that is written as `Float["batch"]`, there is one such axis.
    """
    written = [ast.unparse(a.annotation) for a in method.args.args if a.annotation]
    if any(re.search(r"""\[['"]batch['"]\]""", other) for other in written):
        text = re.sub(r'(?<=\[")\*batch(?= \w+"\])', "batch", text)
    one = any(re.search(r"(?<![*\w])batch\b", other) for other in (*others, *written))
    return text.replace("*batch", "*axes") if one else text


def _is_block(owner: ast.ClassDef) -> bool:
    """Whether a class takes initialized layers, which say what they take."""
    return any(
        isinstance(base, ast.Name) and base.id == "Block" for base in owner.bases
    )
