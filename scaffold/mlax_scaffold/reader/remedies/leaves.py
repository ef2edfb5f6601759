"""Moments that depend on the leaf, in branches or in an expression, as shapes that do."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlax_scaffold.errors import Fix
from mlax_scaffold.reader.checks.declared_shapes import is_shape
from mlax_scaffold.reader.remedies.asked_moments import asked
from mlax_scaffold.reader.remedies.leaf_cases import (
    NOTHING,
    Case,
    Written,
    binds_local,
    cases_of,
    chosen_text,
    kept_locals,
    text_with,
    values_of,
)
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted, is_none, self_attribute


@dataclass
class _Moment:
    """What the branches declare under one name."""

    initializer: str
    """Nothing where it begins with an array, of which `shapes` holds the texts."""
    dtype: str
    shapes: dict[int, str]


@dataclass
class _Branches:
    """What branches declare, by their places."""

    moments: dict[str, _Moment] = field(default_factory=dict)
    lists: dict[str, tuple[int, ast.ListComp]] = field(default_factory=dict)
    """The lists that one branch makes."""
    containers: dict[str, dict[int, str]] = field(default_factory=dict)
    """The texts of others: lists that several branches make, and those that are written out."""
    nothing: dict[str, set[int]] = field(default_factory=dict)
    """The branches in which a name is None, or an empty list."""

    def fit(self) -> bool:
        """Whether no name is declared twice, or in two ways."""
        kinds = self.moments, self.lists, self.containers
        names = [name for kind in kinds for name in kind]
        twice = len({*names}) < len(names)
        declared = {n: set(m.shapes) for n, m in self.moments.items()}
        declared |= {name: {place} for name, (place, _) in self.lists.items()}
        declared |= {name: set(texts) for name, texts in self.containers.items()}
        return not twice and all(
            not declared.get(name, branches) & branches
            for name, branches in self.nothing.items()
        )


def by_leaf(source: Source, statement: ast.stmt) -> Fix | None:
    """The declarations of all branches, each with a shape that the conditions choose.

    None where a branch holds anything else, or one name is declared with two initializers.
    """
    if not isinstance(statement, ast.If):
        return None
    found, branches = _Branches(), [*cases_of(statement)]
    made = Counter(n for b in branches for n in {*_lists_in(b.body)})
    several = {name for name, times in made.items() if times > 1}
    leaf = next((_leaf(n) for n in ast.walk(statement) if _leaf(n)), "param")
    for place, branch in enumerate(branches):
        for part in branch.body:
            if isinstance(part, ast.Pass):
                continue
            if (values := values_of(part, branch.local)) is not None:
                branch.local.update(values)
            elif not (
                _read_nothing(part, place, found)
                or _read_container(source, part, place, found, branch.local, several)
                or _read_list(part, place, found)
                or _read(source, part, place, found.moments, branch.local, leaf)
            ):
                return None
    kept = kept_locals(source, statement, branches)
    if not found.fit() or kept is None or binds_local(statement, branches):
        return None
    lines = []
    for name, m in found.moments.items():
        nothing = NOTHING if m.initializer else f"jnp.zeros({NOTHING}, {leaf}.dtype)"
        begun = f"{m.initializer}, " if m.initializer else ""
        shape = chosen_text(source, branches, m.shapes, nothing)
        lines.append(f"self.{name} = moment({begun}{shape}{m.dtype})")
    for name, (place, value) in found.lists.items():
        lines.append(f"self.{name} = {_filtered(value, branches, place)}")
    for name, texts in found.containers.items():
        lines.append(f"self.{name} = {chosen_text(source, branches, texts, '[]')}")
    if not lines and not kept:
        return None
    zeros = word(source, "zeros")
    needed = [zeros] * any(m.initializer == zeros.bound for m in found.moments.values())
    indent = "\n" + " " * statement.col_offset
    edit = source.edit(statement, indent.join([*lines, *kept]))
    lists = [*found.lists, *found.containers]
    return Fix((edit, *asked(source, found.moments, lists)), tuple(needed))


def _read_nothing(part: ast.stmt, place: int, found: _Branches) -> bool:
    """Note what a statement leaves out: `self.a = self.b = None`, or an empty list."""
    match part:
        case ast.Assign(
            targets=targets, value=ast.Constant(value=None) | ast.List(elts=[])
        ):
            names = [*map(self_attribute, targets)]
        case _:
            return False
    for name in names:
        found.nothing.setdefault(name or "", set()).add(place)
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
    place: int,
    found: _Branches,
    local: Mapping[str, str],
    several: Collection[str | None],
) -> bool:
    """Note a list of moments that another branch makes in its own way, or one that is written out."""
    match part:
        case ast.Assign(
            targets=[target], value=ast.List(elts=[_, *_]) | ast.ListComp() as value
        ) if name := self_attribute(target):
            if isinstance(value, ast.ListComp) and name not in several:
                return False
            texts = found.containers.setdefault(name, {})
            if place in texts:
                return False
            texts[place] = text_with(source, value, local)
            return True
    return False


def _read_list(part: ast.stmt, place: int, found: _Branches) -> bool:
    """Note a list of moments for the sizes of the leaf."""
    match part:
        case ast.Assign(
            targets=[target],
            value=ast.ListComp(elt=ast.Call(func=made), generators=[_]) as value,
        ) if dotted(made) == "moment" and (name := self_attribute(target)):
            if name in found.lists:
                return False
            found.lists[name] = (place, value)
            return True
    return False


def _filtered(value: ast.ListComp, branches: Sequence[Case], place: int) -> str:
    """A list for the leaves of one case, empty for others."""
    whole = ast.parse(ast.unparse(value), mode="eval").body
    assert isinstance(whole, ast.ListComp)
    earlier = [b.test for b in branches[:place] if b.test]
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), test) for test in earlier]
    tests += [test for test in [branches[place].test] if test]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    whole.generators[0].ifs.insert(0, test)
    return ast.unparse(Written(branches[place].local).visit(whole))


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
    parts = [source.text_of(shape), NOTHING]
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


def _read(
    source: Source,
    part: ast.stmt,
    place: int,
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
        given, shape = word(source, "zeros").bound, text_with(source, init, local)
    elif _is_array(init):
        given, shape, rest = "", text_with(source, init, local), rest[1:]
    elif rest:
        given, shape = (text_with(source, part, local) for part in (init, rest[0]))
        rest = rest[1:]
    else:
        given, shape = text_with(source, init, local), f"{leaf}.shape"
    dtype = "".join(f", {source.text_of(d)}" for d in rest)
    if name is None:
        return False
    own = found.setdefault(name, _Moment(given, dtype, {}))
    if (own.initializer, own.dtype) != (given, dtype) or place in own.shapes:
        return False
    own.shapes[place] = shape
    return True


def _is_array(node: ast.expr) -> bool:
    """Whether an expression makes an array that a moment begins with."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_array(left) or _is_array(right)
        case ast.Call(func=made):
            return (dotted(made) or "").startswith("jnp.")
    return False
