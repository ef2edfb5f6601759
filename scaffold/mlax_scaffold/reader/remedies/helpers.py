"""What stands beside a definition: by another name, or as a method that calls a layer itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.read_names import bound_in
from mlax_scaffold.reader.source import Source, self_attribute


def helper_named(source: Source, old: str, new: str) -> Fix | None:
    """A function, a constant or a class by another name, wherever that is read."""
    names = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    defined = [*_named(source.tree, old)]
    if new in names or len(defined) > 1:
        return None
    uses = [*_uses(source.tree, old)]
    if not defined and not any(isinstance(n.ctx, ast.Store) for n in uses):
        return None  # it is imported
    edits = [source.edit(node, new) for node in uses]
    for node in defined:
        line, column = source.start(node)
        word = "class" if isinstance(node, ast.ClassDef) else "def"
        start = line, column + len(word) + 1
        edits.append(source.replace(start, (line, start[1] + len(old)), new))
    return Fix(tuple(edits)) if edits else None


def import_named(source: Source, old: str, new: str) -> Fix | None:
    """What `from module import name` brings by another name, wherever that is read."""
    names = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    brought = [
        alias
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (alias.asname or alias.name) == old
    ]
    if new in names or len(brought) != 1:
        return None
    edits = [source.edit(node, new) for node in _uses(source.tree, old)]
    edits.append(source.edit(brought[0], f"{brought[0].name} as {new}"))
    return Fix(tuple(edits))


def _named(tree: ast.Module, name: str) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            yield node


def _uses(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """The places where a name is that of the module: not those of functions that bind it."""
    function = isinstance(node, ast.FunctionDef | ast.Lambda)
    if function and name in bound_in(ast.walk(node)):
        return
    if isinstance(node, ast.Name) and node.id == name:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, name)


def as_method(source: Source, layer: ast.AST, parent: ast.AST | None) -> Fix | None:
    """A function that is given a layer, as a method that calls the layer itself; one for each layer.

    It stands beside the class, or in the method that calls it and reads none of its locals.
    """
    if not isinstance(parent, ast.Call) or not isinstance(parent.func, ast.Name):
        return None
    name = parent.func.id
    owner = next((c for c in _classes(source.tree) if _within(parent, c)), None)
    if owner is None:
        return None
    around = [
        m for m in owner.body if isinstance(m, ast.FunctionDef) and _within(parent, m)
    ]
    functions = [
        *_named(source.tree, name),
        *(f for m in around for f in _inside(m, name)),
    ]
    calls = _calls_of(owner, name)
    uses = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name
    ]
    match functions:
        case [ast.FunctionDef(decorator_list=[]) as function]:
            pass
        case _:
            return None
    if len(uses) != len(calls):
        return None
    places = {_place(c, function, unparsed(layer)) for c in calls} - {None}
    if len(places) != 1 or _binds(
        function, place := max(p for p in places if p is not None)
    ):
        return None
    layers = [_layer(call, place) for call in calls]
    names = {text: name for text in layers if text}
    if len(names) > 1:
        names = {text: f"{name}_{text.rpartition('.')[2]}" for text in names}
    if (
        None in layers
        or not all(n.isidentifier() for n in names.values())
        or {*names.values()} & _attributes(source.tree)
        or (function not in source.tree.body and _reads_locals(function, around[0]))
    ):
        return None
    first = next(
        m
        for m in owner.body
        if isinstance(m, ast.FunctionDef) and any(_within(c, m) for c in calls)
    )
    parameter = function.args.args[place].arg
    texts = [
        _method(source, function, place, parameter, layer, called)
        for layer, called in names.items()
    ]
    edits = [source.replace((first.lineno, 1), (first.lineno, 1), "".join(texts))]
    last = function.end_lineno or function.lineno
    while last < len(source.lines) and not source.lines[last].strip():
        last += 1
    edits.append(source.replace((function.lineno, 1), (last + 1, 1), ""))
    for call, layer_text in zip(calls, layers, strict=True):
        edits.append(source.edit(call.func, f"self.{names[layer_text or '']}"))
        edits.append(_without(source, call.args, place))
    return Fix(tuple(edits))


def _calls_of(node: ast.AST, name: str) -> list[ast.Call]:
    return [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Name)
        and n.func.id == name
    ]


def _inside(method: ast.FunctionDef, name: str) -> Iterator[ast.FunctionDef]:
    """The functions of a name that are statements of a method."""
    for node in method.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield node


def _layer(call: ast.Call, place: int) -> str | None:
    """The attribute of self that a call is given at a place; None for anything else."""
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    if starred or len(call.args) <= place or not self_attribute(call.args[place]):
        return None
    return unparsed(call.args[place])


def _reads_locals(function: ast.FunctionDef, method: ast.FunctionDef) -> bool:
    """Whether a function inside of a method reads what that binds, or holds texts of several lines."""
    inside = [*ast.walk(function)]
    outside = [n for n in ast.walk(method) if n not in inside]
    bound = bound_in(outside) - {"self"}
    bound |= {n.name for n in outside if isinstance(n, ast.FunctionDef)}
    own = bound_in(inside)
    read = {n.id for n in inside if isinstance(n, ast.Name)} - own
    long = any(
        isinstance(n, ast.Constant | ast.JoinedStr) and n.lineno != n.end_lineno
        for n in inside
    )
    return long or bool(read & bound)


def moved_into_class(source: Source, call: ast.Call) -> Fix | None:
    """A function beside a class as a method of it, with the same parameters."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    functions = [*_named(source.tree, name)]
    owner = next((c for c in _classes(source.tree) if _within(call, c)), None)
    if owner is None or len(functions) != 1 or name in _attributes(source.tree):
        return None
    function = functions[0]
    calls = [
        n
        for n in ast.walk(owner)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Name)
        and n.func.id == name
    ]
    uses = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name
    ]
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    given = function.args.args
    names = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
    if len(uses) != len(calls) or not given or "self" in names:
        return None
    if function.args.posonlyargs:
        return None
    method = next(
        m
        for m in owner.body
        if isinstance(m, ast.FunctionDef) and any(_within(c, m) for c in calls)
    )
    lines = list(source.lines)
    line, column = source.start(given[0])
    lines[line - 1] = (
        lines[line - 1][: column - 1] + "self, " + lines[line - 1][column - 1 :]
    )
    body = lines[function.lineno - 1 : function.end_lineno]
    text = "".join(f"    {line}\n" if line.strip() else "\n" for line in body) + "\n"
    last = function.end_lineno or function.lineno
    while last < len(source.lines) and not source.lines[last].strip():
        last += 1
    edits = [
        source.replace((method.lineno, 1), (method.lineno, 1), text),
        source.replace((function.lineno, 1), (last + 1, 1), ""),
        *(source.edit(c.func, f"self.{name}") for c in calls),
    ]
    return Fix(tuple(edits))


def _within(call: ast.Call, node: ast.AST) -> bool:
    """Whether a call stands in a node, which may be of another tree of the same text."""
    return any(
        isinstance(n, ast.Call) and ast.dump(n, include_attributes=True) == found
        for found in [ast.dump(call, include_attributes=True)]
        for n in ast.walk(node)
    )


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _attributes(tree: ast.Module) -> set[str]:
    return {name for n in ast.walk(tree) if (name := self_attribute(n))}


def _place(call: ast.Call, function: ast.FunctionDef, layer: str) -> int | None:
    """The place of the layer among the arguments of a call, where it stands there once."""
    given = [unparsed(a) for a in call.args]
    if given.count(layer) != 1 or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    place = given.index(layer)
    return place if place < len(function.args.args) else None


def _binds(function: ast.FunctionDef, place: int) -> bool:
    """Whether something else has the name of the parameter, or that of self, too."""
    parameter = function.args.args[place]
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) if node is not parameter:
                if name in (parameter.arg, "self"):
                    return True
            case ast.Name(id=parameter.arg, ctx=ast.Store()):
                return True
    return bool(function.args.defaults) or bool(function.args.posonlyargs)


def _without(
    source: Source, arguments: list[ast.expr] | list[ast.arg], place: int
) -> Edit:
    """The arguments without one of them."""
    node = arguments[place]
    if place + 1 < len(arguments):
        return source.replace(
            source.start(node), source.start(arguments[place + 1]), ""
        )
    start = source.end(arguments[place - 1]) if place else source.start(node)
    return source.replace(start, source.end(node), "")


def _method(
    source: Source,
    function: ast.FunctionDef,
    place: int,
    parameter: str,
    layer: str,
    name: str,
) -> str:
    """The text of the function as a method of that name which reads the layer."""
    given = function.args.args
    changed = {source.start(given[0]): (source.start(given[0]), "self, ")}
    removed = _without(source, given, place)
    edits = [
        *((start, start, text) for start, text in changed.values()),
        ((removed.line, removed.column), (removed.end_line, removed.end_column), ""),
    ]
    if len(given) == 1:
        edits = [(source.start(given[0]), source.end(given[0]), "self")]
    elif place == 0:
        start, end, _ = edits[1]
        edits = [(start, end, "self, ")]
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == parameter:
            edits.append((source.start(node), source.end(node), layer))
    line, column = source.start(function)
    start = line, column + len("def ")
    edits.append((start, (line, start[1] + len(function.name)), name))
    lines = list(source.lines)
    for (line, column), (end_line, end), text in sorted(edits, reverse=True):
        tail = lines[end_line - 1][end - 1 :]
        lines[line - 1 : end_line] = [lines[line - 1][: column - 1] + text + tail] + [
            ""
        ] * (end_line - line)
    body = lines[function.lineno - 1 : function.end_lineno]
    deeper = " " * 4
    texts = (f"{deeper}{line[function.col_offset :]}" for line in body)
    return "".join(f"{text.rstrip()}\n" for text in texts) + "\n"
