"""What generated code does with hyperparameters: makes them canonical, and documents them."""

from __future__ import annotations

from mlax_scaffold.model.conditions import contrary, is_negative
from mlax_scaffold.model.definition import Hyperparameter
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.word import called
from mlax_scaffold.render.text import sentence, wrapped


def field_doc(h: Hyperparameter) -> str:
    """The docstring of the field that a hyperparameter is: what it is, else what it takes."""
    return sentence(h.doc) if h.doc else wrapped(sentence(h.type.takes), 4 + 3)


def check(owner: str, h: Hyperparameter, function: str = "checks") -> str:
    """The statement that makes a hyperparameter canonical."""
    return f"{h.name} = {canonical(owner, h, h.name, function)}"


def canonical(
    owner: str, h: Hyperparameter, value: str, function: str = "checks"
) -> str:
    """The canonical form of an expression of a hyperparameter's value."""
    check = h.type.check
    before = [check.enumeration] if check.enumeration else []
    before += [f"({', '.join(map(repr, check.choices))},)"] if check.choices else []
    before += [_called(check.element, function)] if check.element else []
    if check.parts:
        parts = ", ".join(_called(part, function) for part in check.parts)
        before.append(f"({parts},)")
    before += [check.field] if check.field else []
    given = ", ".join([repr(owner), *before, f"{h.name}={value}"])
    if h.type.optional:
        return f"{function}.optional({_called(check.function, function)}, {given})"
    return f"{_called(check.function, function)}({given})"


def _called(check: str, module: str) -> str:
    """A check as the code calls it: of the module, or of that of a plugin."""
    return called(check) if "." in check else f"{module}.{check}"


def unless(condition: Expression | None, before: str) -> str:
    """What is said of a condition without which a thing is None; empty where there is none."""
    if condition is None:
        return ""
    if is_negative(condition.bare):
        return f"{before}None where {unparsed(contrary(condition.bare))}"
    return f"{before}None unless {condition.plain}"
