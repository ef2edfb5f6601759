"""Finds schedules, and optimizers, that are written as functions."""

from __future__ import annotations

import ast

from mlax_scaffold.model.definition import SECTIONS, Kind
from mlax_scaffold.reader.remedies.optimizers import optimizer_class
from mlax_scaffold.reader.remedies.schedules import schedule_class
from mlax_scaffold.reader.source import Source


def check_schedule(source: Source, function: ast.FunctionDef) -> bool:
    """Report a function among the schedules or the optimizers; whether it is one."""
    folder = source.path.rpartition("/")[0].rpartition("/")[2]
    if SECTIONS.get(folder) is Kind.OPTIMIZER:
        source.report(
            function,
            f"{function.name} is a function, and {folder} holds classes of optimizers",
            "A schedule, which is called with the step, lives in `schedule`: move the file there, and "
            "`generate --fix` makes it a class. An optimizer is a `class Name(Optimizer)`.",
            fix=optimizer_class(source, function),
        )
        return True
    if SECTIONS.get(folder) is not Kind.SCHEDULE:
        return False
    source.report(
        function,
        f"{function.name} is a function, and a schedule is a class",
        "Write `class Name(Schedule)` with its hyperparameters as fields, and `def value(self, step)`.",
        fix=schedule_class(source, function),
    )
    return True
