"""Moments that depend on the leaf, in branches or in an expression, as shapes that do."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.checks.declared_shapes import is_shape
from mlax_scaffold.reader.remedies.asked_moments import asked
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted, is_none, self_attribute

_NOTHING = "(0,)"
"""The shape of what a leaf has none of."""


@dataclass
class _Moment:
    """What the branches declare under one name."""

    initializer: str
    """Nothing where it begins with an array, of which `shapes` holds the texts."""
    dtype: str
    shapes: dict[bool, str]


@dataclass
class _Branches:
    """What two branches declare."""

    moments: dict[str, _Moment] = field(default_factory=dict)
    lists: dict[str, tuple[bool, ast.ListComp, Mapping[str, str]]] = field(
        default_factory=dict
    )
    """The lists, each of one branch, with the sizes of that branch."""
    containers: dict[str, dict[bool, str]] = field(default_factory=dict)
    """The texts of others: lists that both branches make, and those that are written out."""
    nothing: dict[str, set[bool]] = field(default_factory=dict)
    """The branches in which a name is None, or an empty list."""

    def fit(self) -> bool:
        """Whether no name is declared twice, or in two ways."""
        kinds = self.moments, self.lists, self.containers
        names = [name for kind in kinds for name in kind]
        twice = len({*names}) < len(names)
        declared = {n: set(m.shapes) for n, m in self.moments.items()}
        declared |= {name: {branch} for name, (branch, *_) in self.lists.items()}
        declared |= {name: set(texts) for name, texts in self.containers.items()}
        return not twice and all(
            not declared.get(name, branches) & branches
            for name, branches in self.nothing.items()
        )


def by_leaf(source: Source, statement: ast.stmt) -> Fix | None:
    """The declarations of both branches, each with a shape that the condition chooses.

    None where a branch holds anything else, or one name is declared with two initializers.
    """
    if not isinstance(statement, ast.If):
        return None
    found = _Branches()
    both = {*_lists_in(statement.body)} & {*_lists_in(statement.orelse)}
    leaf = next((_leaf(n) for n in ast.walk(statement.test) if _leaf(n)), "param")
    for branch, held in ((True, statement.body), (False, statement.orelse)):
        local: dict[str, str] = {}
        for part in held:
            if isinstance(part, ast.Pass):
                continue
            if (sizes := _sizes(part)) is not None:
                local |= sizes
            elif not (
                _read_nothing(part, branch, found)
                or _read_container(source, part, branch, found, local, both)
                or _read_list(part, branch, found, local)
                or _read(source, part, branch, found.moments, local, leaf)
            ):
                return None
    if not found.fit():
        return None
    test = source.text_of(statement.test)
    indent = "\n" + " " * statement.col_offset
    lines = [
        f"self.{name} = moment({m.initializer}, {_chosen_text(test, m)}{m.dtype})"
        if m.initializer
        else f"self.{name} = moment({_chosen_text(test, m, f'jnp.zeros({_NOTHING}, {leaf}.dtype)')}{m.dtype})"
        for name, m in found.moments.items()
    ]
    for name, (branch, value, sizes) in found.lists.items():
        tested = statement.test
        if not branch:
            tested = ast.UnaryOp(ast.Not(), statement.test)
        lines.append(f"self.{name} = {_filtered(value, tested, sizes)}")
    for name, texts in found.containers.items():
        yes, no = (texts.get(branch, "[]") for branch in (True, False))
        lines.append(f"self.{name} = {yes} if {test} else {no}")
    if not lines:
        return None
    zeros = word(source, "zeros")
    needed = [zeros] * any(m.initializer == zeros.bound for m in found.moments.values())
    edit = source.edit(statement, indent.join(lines))
    lists = [*found.lists, *found.containers]
    return Fix((edit, *asked(source, found.moments, lists)), tuple(needed))


def _read_nothing(part: ast.stmt, branch: bool, found: _Branches) -> bool:
    """Note what a statement leaves out: `self.a = self.b = None`, or an empty list."""
    match part:
        case ast.Assign(
            targets=targets, value=ast.Constant(value=None) | ast.List(elts=[])
        ):
            names = [*map(self_attribute, targets)]
        case _:
            return False
    for name in names:
        found.nothing.setdefault(name or "", set()).add(branch)
    return None not in names


def _lists_in(statements: Sequence[ast.stmt]) -> Iterator[str | None]:
    """The attributes of self that statements make lists of something."""
    for statement in statements:
        match statement:
            case ast.Assign(
                targets=[target], value=ast.List(elts=[_, *_]) | ast.ListComp()
            ):
                yield self_attribute(target)


def _read_container(
    source: Source,
    part: ast.stmt,
    branch: bool,
    found: _Branches,
    local: Mapping[str, str],
    both: Collection[str | None],
) -> bool:
    """Note a list of moments that the other branch makes in its own way, or one that is written out."""
    match part:
        case ast.Assign(
            targets=[target], value=ast.List(elts=[_, *_]) | ast.ListComp() as value
        ) if name := self_attribute(target):
            if isinstance(value, ast.ListComp) and name not in both:
                return False
            texts = found.containers.setdefault(name, {})
            if branch in texts:
                return False
            texts[branch] = _text_of(source, value, local)
            return True
    return False


def _read_list(
    part: ast.stmt, branch: bool, found: _Branches, local: Mapping[str, str]
) -> bool:
    """Note a list of moments for the sizes of the leaf."""
    match part:
        case ast.Assign(
            targets=[target],
            value=ast.ListComp(elt=ast.Call(func=made), generators=[_]) as value,
        ) if dotted(made) == "moment" and (name := self_attribute(target)):
            bound = {
                n.id
                for n in ast.walk(value)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            if bound & {*local} or name in found.lists:
                return False
            found.lists[name] = (branch, value, local)
            return True
    return False


def _filtered(value: ast.ListComp, test: ast.expr, local: Mapping[str, str]) -> str:
    """A list for the leaves of which a condition holds, empty for others."""
    whole = ast.parse(ast.unparse(value), mode="eval").body
    assert isinstance(whole, ast.ListComp)
    whole.generators[0].ifs.insert(0, test)
    return ast.unparse(_Written(local).visit(whole))


def _leaf(node: ast.AST) -> str:
    """The weight that `param.ndim` is of."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="ndim" | "shape" | "size"):
            return name
    return ""


def chosen_by_leaf(source: Source, made: ast.Call) -> Fix | None:
    """`moment(zeros, shape) if param.ndim == 2 else None` with a shape that the condition chooses."""
    match _chosen(source.tree, made):
        case ast.Assign(targets=[target], value=ast.IfExp() as value):
            name = self_attribute(target)
        case _:
            return None
    if len(made.args) < 2 or made.keywords or name is None:
        return None
    shape = made.args[1]
    if isinstance(shape, ast.IfExp):
        return None
    parts = [source.text_of(shape), _NOTHING]
    yes, no = parts if value.body is made else reversed(parts)
    edits = [source.edit(shape, f"{yes} if {source.text_of(value.test)} else {no}")]
    for start, end in (
        (source.start(value), source.start(made)),
        (source.end(made), source.end(value)),
    ):
        edits += [source.replace(start, end, "")] * (start != end)
    return Fix((*edits, *asked(source, (name,), ())))


def _chosen(tree: ast.AST, made: ast.Call) -> ast.stmt | None:
    """The statement that assigns a call or None."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(value=ast.IfExp(body=body, orelse=other)):
                left = other if body is made else body
                if made in (body, other) and is_none(left):
                    return node
    return None


def _sizes(part: ast.stmt) -> dict[str, str] | None:
    """What the locals of `n, m = param.shape`, or of `n = param.shape[0]`, are."""
    match part:
        case ast.Assign(
            targets=[ast.Tuple(elts=names)], value=ast.Attribute(attr="shape") as shape
        ):
            whole = ast.unparse(shape)
            values = [f"{whole}[{place}]" for place in range(len(names))]
        case ast.Assign(
            targets=[ast.Name() as name],
            value=ast.Subscript(value=ast.Attribute(attr="shape")) as size,
        ):
            names, values = [name], [ast.unparse(size)]
        case _:
            return None
    if not all(isinstance(name, ast.Name) for name in names):
        return None
    return dict(zip(map(ast.unparse, names), values, strict=True))


class _Written(ast.NodeTransformer):
    """Writes what locals are in their places."""

    def __init__(self, local: Mapping[str, str]) -> None:
        self.local = local

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.local:
            return node
        return ast.parse(self.local[node.id], mode="eval").body


def _text_of(source: Source, node: ast.expr, local: Mapping[str, str]) -> str:
    """The text of a shape or an initializer, without what its branch calls its sizes."""
    text = source.text_of(node)
    if not any(isinstance(n, ast.Name) and n.id in local for n in ast.walk(node)):
        return text
    return ast.unparse(_Written(local).visit(ast.parse(text, mode="eval")))


def _read(
    source: Source,
    part: ast.stmt,
    branch: bool,
    found: dict[str, _Moment],
    local: Mapping[str, str],
    leaf: str,
) -> bool:
    """Note what a statement declares; False where it is no plain moment.

    What has no shape has that of the leaf.
    """
    match part:
        case ast.Assign(
            targets=[target],
            value=ast.Call(func=made, args=[init, *rest], keywords=[]),
        ) if dotted(made) == "moment" and len(rest) < 3:
            name = self_attribute(target)
        case _:
            return False
    if not rest and is_shape(init):
        given, shape = word(source, "zeros").bound, _text_of(source, init, local)
    elif _is_array(init):
        given, shape, rest = "", _text_of(source, init, local), rest[1:]
    elif rest:
        given, shape = (_text_of(source, part, local) for part in (init, rest[0]))
        rest = rest[1:]
    else:
        given, shape = _text_of(source, init, local), f"{leaf}.shape"
    dtype = "".join(f", {source.text_of(d)}" for d in rest)
    if name is None:
        return False
    own = found.setdefault(name, _Moment(given, dtype, {}))
    if (own.initializer, own.dtype) != (given, dtype) or branch in own.shapes:
        return False
    own.shapes[branch] = shape
    return True


def _is_array(node: ast.expr) -> bool:
    """Whether an expression makes an array that a moment begins with."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_array(left) or _is_array(right)
        case ast.Call(func=made):
            return (dotted(made) or "").startswith("jnp.")
    return False


def _chosen_text(test: str, moment: _Moment, nothing: str = _NOTHING) -> str:
    yes, no = (moment.shapes.get(branch, nothing) for branch in (True, False))
    return yes if yes == no else f"{yes} if {test} else {no}"
