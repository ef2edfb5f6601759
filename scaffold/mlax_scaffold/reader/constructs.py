"""The constructs of jax that call functions: which arguments these are, and what they can hand on."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.reader.source import dotted


@dataclass(frozen=True)
class Effect:
    """What a call does beside computing its result."""

    changes: bool = False
    """Whether it makes new states."""
    draws: bool = False
    own: bool = False
    """Whether the spec declares some of these states: layers that a block is given may have none."""

    def __bool__(self) -> bool:
        return self.changes or self.draws

    def __or__(self, other: Effect) -> Effect:
        return Effect(
            self.changes or other.changes,
            self.draws or other.draws,
            self.own or other.own,
        )


NONE = Effect()


@dataclass(frozen=True)
class Construct:
    """What calls functions: which of its arguments they are, by place and by name."""

    name: str
    """The function of the runtime's `effects`."""
    functions: tuple[tuple[int, str], ...] = ((0, "f"),)
    threads: bool = True
    """Whether it can hand on states that change."""
    makes: bool = False
    """Whether it makes a function, and calls none."""
    pure: tuple[tuple[int, str], ...] = ()
    """Arguments that are functions which can neither draw nor change states."""


_BRANCHES = ((1, "true_fun"), (2, "false_fun"))
_MADE = ((0, "fun"),)
CONSTRUCTS = {
    "scan": Construct("scan"),
    "fori_loop": Construct("fori_loop", ((2, "body_fun"),)),
    "while_loop": Construct("while_loop", ((1, "body_fun"),), pure=((0, "cond_fun"),)),
    "cond": Construct("cond", _BRANCHES),
    "switch": Construct("switch", ((1, "branches"),)),
    "lax.map": Construct("map"),
    "tree.map": Construct("tree_map"),
    "tree_map": Construct("tree_map"),
    "vmap": Construct("vmap", _MADE, threads=False, makes=True),
    "checkpoint": Construct("", _MADE, makes=True),
    "remat": Construct("", _MADE, makes=True),
    "jit": Construct("", _MADE, makes=True),
    "grad": Construct("bound", _MADE, makes=True),
    "value_and_grad": Construct("bound", _MADE, makes=True),
    "jacfwd": Construct("bound", _MADE, makes=True),
    "jacrev": Construct("bound", _MADE, makes=True),
    "hessian": Construct("bound", _MADE, makes=True),
    "jvp": Construct("applied", _MADE),
    "vjp": Construct("applied", _MADE),
    "linearize": Construct("applied", _MADE),
}
"""By the last part of their names, or the last two."""

SHOWN = (
    "`lax.scan`, `fori_loop`, `while_loop`, `cond`, `switch`, `lax.map`, "
    "`jax.tree.map`, `jax.vmap`, `jax.checkpoint`"
)


def construct(node: ast.AST) -> Construct | None:
    """The construct that a call is of."""
    if not isinstance(node, ast.Call):
        return None
    parts = (dotted(node.func) or "").split(".")
    if parts[0] == "self":
        return None
    return CONSTRUCTS.get(".".join(parts[-2:])) or CONSTRUCTS.get(parts[-1])


def argument(node: ast.Call, slot: tuple[int, str]) -> ast.expr | None:
    place, name = slot
    if place < len(node.args):
        return node.args[place]
    return next((k.value for k in node.keywords if k.arg == name), None)


def functions_of(node: ast.Call, made: Construct | None) -> list[ast.expr]:
    """The arguments of a call of a construct that are functions."""
    found: list[ast.expr] = []
    for slot in made.functions if made else ():
        match argument(node, slot):
            case ast.List(elts=several) | ast.Tuple(elts=several):
                found += several
            case ast.expr() as one:
                found.append(one)
    return found


def lifted(effect: Effect, whole: Effect) -> str:
    """How a function is to be called like those beside it: a function of `effects`; empty for as it is.

    Args:
        effect: what it does.
        whole: what they do together.
    """
    if effect.changes:
        return ""
    if not whole.changes:
        return "" if effect.draws else "keyed"
    return "threaded" if effect.draws else "pure"
