"""The outside of a class: decorators, methods by other names, fields without types, signatures."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.bindings import choices_in, is_elif
from mlax_scaffold.reader.remedies.names import SPEC, of_module, uses_of_self
from mlax_scaffold.reader.remedies.types_of_defaults import of_items
from mlax_scaffold.reader.source import Source, dotted, kind_of_value, self_attribute

CALLED = {
    "forward": ("__call__", "call", "apply", "foward", "forwards", "fwd"),
    "setup": ("build", "set_up", "setUp", "init"),
    "value": ("__call__", "call", "forward", "get_lr", "lr", "schedule"),
    "update": ("__call__", "update_fn"),
}
"""What the methods of specs are called elsewhere."""


def undecorated(source: Source, decorator: ast.expr) -> Fix | None:
    """A class or a method without one of its decorators."""
    line = decorator.lineno
    end = decorator.end_lineno or line
    if not source.lines[line - 1].lstrip().startswith("@"):
        return None
    return Fix((source.replace((line, 1), (end + 1, 1), ""),))


def decorated(source: Source, function: ast.FunctionDef) -> Fix | None:
    """A function with the decorator of a spec, in the place of one that nothing binds.

    None where it has any other.
    """
    needed = Needed(SPEC, "function", "function")
    match function.decorator_list:
        case []:
            return Fix((source.insert(function, f"@{needed.bound}\n"),), (needed,))
        case [ast.Name(id=name) as only] if name not in of_module(source):
            return Fix((source.edit(only, needed.bound),), (needed,))
    return None


def based_on(source: Source, field: ast.AST, base: str, other: str) -> Fix | None:
    """The class of a field with another base, both by the names of their kinds."""
    base, other = base.capitalize(), other.capitalize()
    for node in ast.walk(source.tree):
        match node:
            case ast.ClassDef(bases=[ast.Name(id=name) as found], body=body) if (
                name == base and any(source.same(field, part) for part in body)
            ):
                return Fix((source.edit(found, other),), (Needed(SPEC, other, other),))
    return None


def called(source: Source, method: ast.FunctionDef, name: str) -> Fix:
    """A method by another name, where it is defined and where it is called."""
    line = method.lineno
    column = source.lines[line - 1].index(method.name, method.col_offset) + 1
    end = (line, column + len(method.name))
    edits = [source.replace((line, column), end, name)]
    for node in uses_of_self(source.tree, method.name):
        stop = source.end(node)
        start = (stop[0], stop[1] - len(method.name))
        edits.append(source.replace(start, stop, name))
    return Fix(tuple(edits))


def called_so(
    source: Source,
    methods: Iterable[ast.FunctionDef],
    name: str,
    close: str,
) -> Fix | None:
    """The method that others call otherwise, that is misspelt, or that is the only one, by its name."""
    methods = list(methods)
    if name in (m.name for m in methods):
        return None
    for method in methods:
        if method.name in CALLED[name] or method.name == close:
            return called(source, method, name)
    own = [m for m in methods if m.name not in CALLED and _may_be_called(source, m)]
    return called(source, own[0], name) if len(own) == 1 else None


def _may_be_called(source: Source, method: ast.FunctionDef) -> bool:
    """Whether a method takes something, and is there for others: nothing in the file calls it."""
    read = {n.attr for n in ast.walk(source.tree) if isinstance(n, ast.Attribute)}
    return (
        len(method.args.args) > 1
        and not method.name.startswith("_")
        and not method.decorator_list
        and method.name not in read
    )


def moved_up(source: Source, name: str, before: str) -> Fix | None:
    """A field before another one, with the comment on its line."""
    found = {
        key: [
            part
            for owner in source.tree.body
            if isinstance(owner, ast.ClassDef)
            for part in owner.body
            if isinstance(part, ast.AnnAssign)
            and isinstance(part.target, ast.Name)
            and part.target.id == key
        ]
        for key in (name, before)
    }
    if [len(parts) for parts in found.values()] != [1, 1]:
        return None
    field, place = found[name][0], found[before][0].lineno
    last = field.end_lineno or field.lineno
    lines = source.lines[field.lineno - 1 : last]
    if source.lines[field.lineno - 2].strip().startswith("#"):
        return None  # a comment above belongs to it
    while source.lines[place - 2].strip().startswith("#:"):
        place -= 1
    text = "".join(f"{line}\n" for line in lines)
    return Fix(
        (
            source.replace((place, 1), (place, 1), text),
            source.replace((field.lineno, 1), (last + 1, 1), ""),
        )
    )


def with_self(source: Source, method: ast.FunctionDef) -> Fix | None:
    """A method that takes self, which it had forgotten."""
    args = method.args
    if any(isinstance(a, ast.arg) and a.arg == "self" for a in ast.walk(args)):
        return None
    first = next(iter([*args.posonlyargs, *args.args]), None)
    if first is None and (args.vararg or args.kwonlyargs or args.kwarg):
        return None
    if first is not None:
        return Fix((source.insert(first, "self, "),))
    line = method.lineno
    column = source.lines[line - 1].find("(", method.col_offset) + 2
    if column < 2:
        return None
    return Fix((source.replace((line, column), (line, column), "self"),))


def returned(source: Source, method: ast.FunctionDef) -> Fix | None:
    """A method that returns what its last statement computes; nothing, where it sets states alone."""
    last = method.body[-1]
    nodes = [n for statement in method.body for n in ast.walk(statement)]
    sets = any(_sets_state(n) for n in nodes)
    if (
        sets
        and method.name not in _WITH_RESULTS
        and not any(isinstance(n, ast.Return) for n in nodes)
    ):
        end = source.end(last)
        indent = " " * method.body[0].col_offset
        return Fix((source.replace(end, end, f"\n{indent}return ()"),))
    match last:
        case ast.Expr(value=ast.expr() as value) if not isinstance(
            value, ast.Constant | ast.Yield
        ):
            if isinstance(value, ast.Call) and dotted(value.func) in (
                "require",
                "print",
            ):
                return None
            return Fix((source.insert(last, "return "),))
        case (
            ast.Assign(targets=[ast.Name(id=name)])
            | ast.AugAssign(target=ast.Name(id=name))
        ):
            indent = source.lines[last.lineno - 1][: last.col_offset]
            line = last.end_lineno or last.lineno
            end = (line, len(source.lines[line - 1]) + 1)
            return Fix((source.replace(end, end, f"\n{indent}return {name}"),))
        case ast.If():
            return _last_choice(source, last)
    return None


def _sets_state(node: ast.AST) -> bool:
    """Whether it is an attribute of self, or an item of one, that a statement sets."""
    if not isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node) is not None


_WITH_RESULTS = ("forward", "step", "update", "value")
"""Methods of a specification that are called for what they return."""


def _last_choice(source: Source, chain: ast.If) -> Fix | None:
    """`elif mode == "b":` as `else:`, where that is the last of the choices of `mode`."""
    tested: set[tuple[str, object]] = set()
    branch, following = None, [chain]
    while len(following) == 1 and isinstance(following[0], ast.If):
        branch, following = following[0], following[0].orelse
        match branch.test:
            case ast.Compare(
                left=asked, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]
            ) if isinstance(branch.body[-1], ast.Return | ast.Raise):
                tested.add((unparsed(asked).removeprefix("self."), value))
            case _:
                return None
    names = {name for name, _ in tested}
    every = {choice for choice in choices_in(source.tree) if choice[0] in names}
    if following or branch is None or len(names) > 1 or tested != every:
        return None
    if not is_elif(source, branch):
        return None
    place = source.replace(source.start(branch), source.end(branch.test), "else")
    return Fix((place,))


def typed(source: Source, statement: ast.stmt) -> Fix | None:
    """`features = 4` as `features: int = 4`, and `A, B = 1, 2` as two statements."""
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)
        ) if len(names) == len(values) and all(isinstance(n, ast.Name) for n in names):
            pairs = zip(names, values, strict=True)
            lines = [f"{source.text_of(n)} = {source.text_of(v)}" for n, v in pairs]
            break_ = "\n" + " " * statement.col_offset
            return Fix((source.edit(statement, break_.join(lines)),))
        case ast.Assign(targets=[ast.Name() as target], value=value) if (
            kind := kind_of_value(value)
        ):
            return _typed_last(source, statement, target, kind)
        case ast.Assign(
            targets=[ast.Name() as target],
            value=ast.Tuple(elts=items) | ast.List(elts=items),
        ) if items:
            kind = of_items(items)
            kind = "tuple[int, ...]" if kind is None else kind
            return _typed_last(source, statement, target, kind) if kind else None
    return None


def _typed_last(
    source: Source, statement: ast.Assign, target: ast.Name, kind: str
) -> Fix:
    """A value with a type, behind the fields: those that had one are given by place."""
    end = source.end(target)
    owners = (n for n in source.tree.body if isinstance(n, ast.ClassDef))
    body = next((o.body for o in owners if statement in o.body), [])
    later = [
        s for s in body if isinstance(s, ast.AnnAssign) and s.lineno > statement.lineno
    ]
    if not later:
        return Fix((source.replace(end, end, f": {kind}"),))
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    while source.lines[first - 2].strip().startswith("#"):
        first -= 1
    lines = source.lines[first - 1 : last]
    row, column = end[0] - first, end[1] - 1
    lines[row] = f"{lines[row][:column]}: {kind}{lines[row][column:]}"
    place = (later[-1].end_lineno or later[-1].lineno) + 1
    return Fix(
        (
            source.replace((first, 1), (last + 1, 1), ""),
            source.replace((place, 1), (place, 1), "".join(f"{t}\n" for t in lines)),
        )
    )


def listed(source: Source, node: ast.expr) -> Fix | None:
    """A list as a tuple, which nothing can change."""
    start, end = source.start(node), source.end(node)
    text = source.text_of(node)
    # The value of a constant has the place of its name.
    if not isinstance(node, ast.List) or not text.startswith("["):
        return None
    one = len(node.elts) == 1 and not text[:-1].rstrip().endswith(",")
    first = source.replace(start, (start[0], start[1] + 1), "(")
    last = source.replace((end[0], end[1] - 1), end, ",)" if one else ")")
    return Fix((first, last))


def chosen(source: Source, node: ast.expr, text: str) -> Fix:
    """Another literal."""
    return Fix((source.edit(node, unparsed(ast.Constant(text)).replace("'", '"')),))
