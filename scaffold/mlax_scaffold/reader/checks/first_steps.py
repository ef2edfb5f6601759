"""Finds optimizers that take the first step for step 0, as optax counts: here it is 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.arithmetic import COMPARE
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.bodies import without_brackets
from mlax_scaffold.reader.remedies.counters import one_more
from mlax_scaffold.reader.source import Source, class_of, kind_of_value, self_attribute

_NUMBERS = ("step", "step_number")
_SWAPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class _Read:
    """A place where the number of the step is read, and what is done with it there."""

    node: ast.expr
    within: ast.AST
    """The expression around it."""

    @property
    def is_next(self) -> bool:
        """Whether it is `self.step + 1`: the step after this one, or the first one of who counts from 0."""
        # `+ 1.0` says that the step after this one is meant.
        found = one_more(self.within)
        return found is not None and kind_of_value(found[1]) == "int"

    @property
    def is_place(self) -> bool:
        """Whether it only says where in a period a step is, or is compared."""
        match self.within:
            case ast.Compare():
                return True
            case ast.BinOp(left=left, op=ast.Mod()):
                return left is self.node
        return False

    @property
    def decided(self) -> tuple[ast.Constant, bool] | None:
        """The number that it is compared with, and what comes out, where that is the same in every step."""
        match self.within:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                swapped = right is self.node
                number = left if swapped else right
                kind = _SWAPPED.get(type(op), type(op)) if swapped else type(op)
                if not isinstance(number, ast.Constant):
                    return None
                value = number.value
                if isinstance(value, bool) or not isinstance(value, int | float):
                    return None
                if kind not in COMPARE:
                    return None
                # All that lie on one side of the number compare alike.
                steps = {1.0, *(max(1.0, value + d) for d in (-1.0, 0.0, 1.0))}
                found = {COMPARE[kind](step, value) for step in steps}
                return (number, found.pop()) if len(found) == 1 else None
        return None


def check_first_steps(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `self.step == 0`, and `self.step + 1` where nothing else is read of the step."""
    owner = class_of(source.tree, method)
    if "dither" not in attributes or owner is None or _is_set(owner):
        return
    reads = {
        m.lineno: [*_reads(m)] for m in owner.body if isinstance(m, ast.FunctionDef)
    }
    every = [read for found in reads.values() for read in found]
    own = reads.get(method.lineno, [])
    from_zero = any(r.is_next for r in every) and all(
        r.is_next or r.is_place for r in every
    )
    whole = Fix(tuple(_edits(source, every))) if from_zero else None
    for read in own:
        text, around = source.text_of(read.node), source.text_of(read.within)
        # All at once: what is left would not tell any more that the first step was meant to be 0.
        fix = whole if read is every[0] else None
        if read.decided is not None:
            number, holds = read.decided
            edit = _raised(source, number)
            source.report(
                read.within,
                f"`{around}` {'always' if holds else 'never'} holds: the first step is 1",
                f"Compare with {edit.text} in the place of {source.text_of(number)}.",
                fix=fix if from_zero else Fix((edit,)),
            )
        elif from_zero and read.is_next:
            source.report(
                read.within,
                f"the first step is 1, where `{around}` is 2",
                f"Write `{text}`; where the step after this one is meant, `{text} + 1.0`.",
                fix=fix,
            )
        elif from_zero:
            source.report(
                read.node,
                f"the first step is 1, and `{text} + 1` beside it says that it is 0",
                f"Write `({text} - 1)`.",
                fix=fix,
            )


def _edits(source: Source, reads: list[_Read]) -> Iterator[Edit]:
    """What is read of the step, for a first step that is 1."""
    for read in reads:
        text = source.text_of(read.node)
        if read.is_next:
            assert isinstance(read.within, ast.expr)
            yield without_brackets(source, read.within, text)
        elif read.decided is not None:
            yield _raised(source, read.decided[0])
        else:
            yield source.edit(read.node, f"({text} - 1)")


def _raised(source: Source, number: ast.Constant) -> Edit:
    """A number with 1 added to it."""
    return source.edit(number, repr(number.value + 1))  # type: ignore[operator]


def _reads(method: ast.FunctionDef) -> Iterator[_Read]:
    """The places where a method reads the number of the step, or a local that is nothing else."""
    for parent in walk(method):
        for node in ast.iter_child_nodes(parent):
            if not _is_number(node, method):
                continue
            match parent:
                # That it has another name is no use of it.
                case ast.Assign(targets=[ast.Name()]):
                    continue
            assert isinstance(node, ast.expr)
            yield _Read(node, parent)


def _is_set(owner: ast.ClassDef) -> bool:
    """Whether a class counts steps itself, by the name of those that are counted for it."""
    stored = (n for n in walk(owner) if isinstance(getattr(n, "ctx", None), ast.Store))
    return any(self_attribute(n) in _NUMBERS for n in stored)


def _is_number(node: ast.AST, method: ast.FunctionDef) -> bool:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            values = only_value(name, method)
            return [self_attribute(v) for v in values] in [[n] for n in _NUMBERS]
        case ast.Attribute(ctx=ast.Load()):
            return self_attribute(node) in _NUMBERS
    return False
