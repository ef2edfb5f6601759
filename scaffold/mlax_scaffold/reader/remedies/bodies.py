"""Statements and calls of a body that have one other form."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.named_attributes import by_their_names
from mlax_scaffold.reader.remedies.names import SPEC, of_jax
from mlax_scaffold.reader.remedies.unrolling import items_of
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_UPDATES = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
"""What an array's `at[...]` has for `x[...] += value` and its kin."""


INSTEAD = {
    "print": "While jax traces it prints no values: `jax.debug.print` does.",
    "breakpoint": "While jax traces there are no values: `jax.debug.breakpoint` has them.",
    "open": "A layer is a pure function: read the file where the layer is made.",
    "input": "A layer is a pure function: take it as an input.",
    "global": "A layer is a pure function: keep what changes in a state, or return it.",
    "nonlocal": "Return the value from the nested function.",
    "yield": "A method returns its result: `return y`.",
    "await": "Generated functions are ordinary ones: leave `await` out.",
    "del": "Leave it out: names end with the function.",
    "class": "Write it beside the definition.",
    "eval": "Write the expression itself.",
    "exec": "Write the statements themselves.",
    "setattr": "Write `self.name = value`, for a state.",
    "super": "The class is based on no layer that has such a method: leave it out.",
}
"""What to write for statements and calls that no body holds."""


def other_call(source: Source, function: str, node: ast.Call) -> Fix | None:
    """What stands for a call that no body holds; None where there is nothing."""
    match function:
        case "print":
            return printed(source, node)
        case "breakpoint":
            return debug_breakpoint(source, node)
        case "setattr":
            return by_their_names(source, node)
    return None


def printed(source: Source, call: ast.Call) -> Fix | None:
    """`print(...)` as `jax.debug.print(...)`, which works on traced values."""
    if call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    texts: list[str] = []
    values: list[str] = []
    for argument in call.args:
        match argument:
            case ast.Constant(value=str(text)):
                texts.append(_escaped(text))
            case ast.JoinedStr(values=parts):
                written = [_part(source, part, values) for part in parts]
                if None in written:
                    return None
                texts.append("".join(filter(None, written)))
            case _:
                texts.append("{}")
                values.append(source.text_of(argument))
    needed = of_jax(source, "jax")
    literal = unparsed(ast.Constant(" ".join(texts)))
    if "'" in literal and '"' not in literal:
        literal = f'"{literal[1:-1]}"'
    arguments = ", ".join([literal, *values])
    edit = source.edit(call, f"{needed.bound}.debug.print({arguments})")
    return Fix((edit,), (needed,))


def _part(source: Source, part: ast.expr, values: list[str]) -> str | None:
    match part:
        case ast.Constant(value=str(text)):
            return _escaped(text)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            values.append(unparsed(value))
            return "{}"
        case ast.FormattedValue(
            value=value,
            conversion=-1,
            format_spec=ast.JoinedStr(values=[ast.Constant(value=str(form))]),
        ):
            values.append(unparsed(value))
            return f"{{:{form}}}"
    return None


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def in_place(source: Source, node: ast.stmt, target: ast.Subscript) -> Fix | None:
    """`x[i] = v` as `x = x.at[i].set(v)`, and `x[i] += v` as `x = x.at[i].add(v)`."""
    owner = target.value
    if not isinstance(owner, ast.Name) and self_attribute(owner) is None:
        return None
    name = unparsed(owner)
    match node:
        case ast.Assign(targets=[only], value=value) if only is target:
            method = "set"
        case ast.AugAssign(op=op, value=value) if type(op) in _UPDATES:
            method = _UPDATES[type(op)]
        case _:
            return None
    return Fix(
        (
            source.replace(
                source.start(target), source.end(owner), f"{name} = {name}.at"
            ),
            source.replace(source.end(target), source.start(value), f".{method}("),
            source.replace(source.end(value), source.end(value), ")"),
        )
    )


def whole_list(source: Source, node: ast.AST, target: ast.Subscript) -> Fix | None:
    """`xs[a:b] = ys` as `xs = [*xs[:a], *ys, *xs[b:]]`."""
    match node, target.slice:
        case ast.Assign(targets=[_], value=value), ast.Slice(step=None) as part:
            name = source.text_of(target.value)
        case _:
            return None
    if part.lower is None and part.upper is None:
        return Fix((source.edit(target, name),))
    first = f"*{name}[:{source.text_of(part.lower)}], " if part.lower else ""
    last = f", *{name}[{source.text_of(part.upper)}:]" if part.upper else ""
    # `*a, b` and `*a if c else b` are not all of what is assigned.
    given = source.text_of(value)
    if not isinstance(
        value,
        ast.Attribute | ast.Call | ast.List | ast.ListComp | ast.Name | ast.Subscript,
    ):
        given = f"({given})"
    return Fix((source.edit(node, f"{name} = [{first}*{given}{last}]"),))


def without_argument(
    source: Source, call: ast.Call, argument: ast.expr | ast.keyword
) -> Fix:
    """A call without one of its arguments."""
    arguments = [*call.args, *call.keywords]
    at = arguments.index(argument)
    if at:
        start, end = source.end(arguments[at - 1]), source.end(argument)
    elif len(arguments) > 1:
        start, end = source.start(argument), source.start(arguments[1])
    else:
        start, end = source.start(argument), source.end(argument)
    return Fix((source.replace(start, end, ""),))


def typed_like(source: Source, call: ast.Call, name: str) -> Fix:
    """A call that makes an array, with the dtype of another one."""
    line, column = source.end(call)
    inner = source.text_of(call)[:-1].rstrip()
    comma = "" if inner.endswith(("(", ",")) else ", "
    place = (line, column - 1)
    return Fix((source.replace(place, place, f"{comma}dtype={name}.dtype"),))


def imported_above(source: Source, node: ast.Import | ast.ImportFrom) -> Fix | None:
    """An import of a body at the top of the spec."""
    needed = []
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if node.level or alias.name == "*":
                return None
            module, name = node.module or "", alias.name
            needed.append(Needed(module, name, alias.asname or name))
        else:
            if "." in alias.name and alias.asname is None:
                return None
            needed.append(Needed(alias.name, "", alias.asname or alias.name))
    gone = [removed(source, node)]
    if source.lines[node.lineno - 2].rstrip().endswith(":"):
        # A block does not begin with an empty line.
        after = (node.end_lineno or node.lineno) + 1
        if after < len(source.lines) and not source.lines[after - 1].strip():
            gone.append(source.replace((after, 1), (after + 1, 1), ""))
    return Fix(tuple(gone), tuple(needed))


def of_self(source: Source, method: ast.AST, target: ast.expr) -> Fix | None:
    """`name = ...` as `self.name = ...`, with each use of the name."""
    if not isinstance(target, ast.Name):
        return None
    names = [n for n in ast.walk(method) if isinstance(n, ast.Name)]
    uses = [n for n in names if n.id == target.id]
    return Fix(tuple(source.edit(node, f"self.{target.id}") for node in uses))


def one_by_one(source: Source, statement: ast.stmt) -> Fix | None:
    """`self.a, self.b = x, y` as two statements, where neither value reads what is assigned.

    The same of `self.a, self.b = self.pair`, of which they are the items, of `[Linear(n, n) for n in (3, 4)]`
    and of what a call returns, a local then, and of `self.a = self.b = x`, which share x where it is a
    sub-layer.
    """
    before: list[str] = []
    match statement:
        case ast.Assign(targets=[_, _, *_] as targets, value=value):
            values = [value]
            shared = any(map(_makes_layer, ast.walk(value)))
            again = source.text_of(targets[0] if shared else value)
            texts = [source.text_of(value), *[again] * (len(targets) - 1)]
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)
        ) if len(targets) == len(values):
            texts = [source.text_of(value) for value in values]
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)],
            value=(ast.Name() | ast.Attribute()) as pair,
        ):
            values = [pair]
            texts = [f"{source.text_of(pair)}[{i}]" for i in range(len(targets))]
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=made) if len(
            items_of(source, made) or ()
        ) == len(targets):
            values = [made]
            texts = items_of(source, made) or []
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            values = [value]
            used = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
            names = ("parts", *(f"parts_{i}" for i in range(1, len(used) + 1)))
            name = next(n for n in names if n not in used)
            before = [f"{name} = tuple({source.text_of(value)})"]
            texts = [f"{name}[{i}]" for i in range(len(targets))]
        case _:
            return None
    parts = [*targets, *values]
    assigned = {source.text_of(t) for t in targets}
    read = {source.text_of(n) for v in values for n in ast.walk(v) if _is_name(n)}
    if assigned & read or any(isinstance(p, ast.Starred) for p in parts):
        return None
    indent = "\n" + " " * statement.col_offset
    lines = [
        f"{source.text_of(target)} = {text}"
        for target, text in zip(targets, texts, strict=True)
    ]
    return Fix((source.edit(statement, indent.join([*before, *lines])),))


def _makes_layer(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name[:1].isupper()
    return False


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)


def called(source: Source, node: ast.expr) -> Fix:
    """`self.key` as `self.key()`."""
    end = source.end(node)
    return Fix((source.replace(end, end, "()"),))


def as_lambda(source: Source, node: ast.expr) -> Fix:
    """`self.value_and_gradients` as a function that calls it."""
    text = f"lambda params: {source.text_of(node)}(params)"
    return Fix((source.edit(node, text),))


def required(source: Source, node: ast.Assert) -> Fix:
    """`assert condition, message` as a requirement."""
    condition = source.text_of(node.test)
    match node.msg:
        case ast.JoinedStr():
            raised = f"raise ValueError({source.text_of(node.msg)})"
            indent = " " * (node.col_offset + 4)
            text = f"if not ({condition}):\n{indent}{raised}"
            return Fix((source.edit(node, text),))
        case ast.Constant(value=str(message)):
            pass
        case _:
            message = f"{unparsed(node.test).replace('self.', '')} must hold"
    literal = unparsed(ast.Constant(message))
    if '"' not in literal:
        literal = f'"{literal[1:-1]}"'
    text = f"require({condition}, {literal})"
    return Fix((source.edit(node, text),), (Needed(SPEC, "require", "require"),))


def removed(source: Source, node: ast.stmt) -> Edit:
    """A statement's lines taken out; `pass` where it is the only one of its block."""
    first, last = node.lineno, node.end_lineno or node.lineno
    for parent in ast.walk(source.tree):
        body = getattr(parent, "body", None)
        if not isinstance(body, list) or len(body) != 1 or body[0] is parent:
            continue
        if getattr(body[0], "lineno", 0) == first:
            return source.edit(node, "pass")
    if last < len(source.lines):
        return source.replace((first, 1), (last + 1, 1), "")
    end = (last, len(source.lines[last - 1]) + 1)
    return source.replace((first, 1), end, "")


def without_brackets(source: Source, node: ast.expr, text: str) -> Edit:
    """Another text for an expression, and for brackets around it that are not those of a call."""
    (line, column), (last, end) = source.start(node), source.end(node)
    start, stop = (line, column - 1), (last, end + 1)
    around = source.between(start, stop) if column > 1 else ""
    before = source.between((line, 1), start) if column > 1 else ""
    called = re.search(r"[\w)\]]$", before)
    if around.startswith("(") and around.endswith(")") and not called:
        return source.replace(start, stop, text)
    return source.edit(node, text)


def debug_breakpoint(source: Source, call: ast.Call) -> Fix:
    """`breakpoint()` as `jax.debug.breakpoint()`."""
    needed = of_jax(source, "jax")
    return Fix((source.edit(call.func, f"{needed.bound}.debug.breakpoint"),), (needed,))


def of_numpy(source: Source, node: ast.Attribute, names: Collection[str]) -> Fix | None:
    """`np.exp` as `jnp.exp`; `names` are those by which NumPy is known."""
    root, _, rest = (dotted(node) or "").partition(".")
    if root not in names or not rest:
        return None
    needed = of_jax(source, "jnp")
    return Fix((source.edit(node, f"{needed.bound}.{rest}"),), (needed,))
