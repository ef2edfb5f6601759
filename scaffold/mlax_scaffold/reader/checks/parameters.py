"""Checks the parameters of the methods that a kind of definition calls."""

from __future__ import annotations

import ast

from mlax_scaffold.reader.remedies.handed_steps import names_step
from mlax_scaffold.reader.remedies.losses import names_loss
from mlax_scaffold.reader.remedies.parameters import parameters_named
from mlax_scaffold.reader.source import Source


def check_parameters(
    source: Source,
    method: ast.FunctionDef,
    expected: tuple[str, ...],
    optional: tuple[str, ...],
) -> None:
    """Report parameters other than those that a method is called with.

    Args:
        source: the spec.
        method: one of those that its kind calls.
        expected: what it takes.
        optional: what it may take besides.
    """
    args = method.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    given += [a for a in (args.vararg, args.kwarg) if a is not None]
    names = tuple(a.arg for a in given)
    if names in (expected, (*expected, *optional)):
        return
    hint = f"Write `def {method.name}({', '.join(expected)})`."
    fix = parameters_named(source, method, expected)
    if fix is None and names_loss(method, expected):
        hint += (
            " The loss is `self.value` in `step`, `prepare` and `finish`, and may be None there; "
            "`prepare` hands what `update` needs of it on, `self.scale = ...`."
        )
    if number := names_step(method, expected):
        hint += " The number of the step is `self.step`, from 1, and as an integer `self.step_number`."
        if fix is None:
            hint += f" Write that for `{number.arg}`, or `self.step - 1` where it counts from 0."
    source.report(method, f"{method.name} takes ({', '.join(names)})", hint, fix=fix)
