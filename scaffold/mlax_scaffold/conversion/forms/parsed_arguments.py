"""What classes of a script read of its parsed command line, as its defaults: these are constants of the file.

parser.add_argument("--latent", type=int, default=100)
opt = parser.parse_args()
nz = int(opt.latent)                               becomes    nz = 100

class Generator(nn.Module):                                   class Generator(nn.Module):
    def __init__(self):                                           def __init__(self):
        self.fc = nn.Linear(opt.latent, 8)                            self.fc = nn.Linear(100, 8)

Objects that a class is given, `Generator(opt)`, are settings, which this leaves as they are.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.parsed_settings import parsed_settings
from mlax_scaffold.conversion.source.trees import is_name, literal, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_NUMBERS = {"int": int, "float": float, "bool": bool}


def without_parsed_arguments(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them so in place; what of them the converted class reads is told."""
    found = {
        title
        for title, node in origin.assigned.items()
        if isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("parse_args", "parse_known_args")
    }
    if not found:
        return
    defaults = {
        title: setting.default
        for title, setting in parsed_settings(origin).items()
        if setting.default is not None
    }
    for part in list(origin.tree.body):
        held = found - _bound(part)
        reads = _Reads(held, defaults)
        layers = isinstance(part, ast.ClassDef) and is_layer_class(origin, part)
        if layers or isinstance(part, ast.Assign | ast.AnnAssign | ast.FunctionDef):
            reads.visit(part)
        for title in sorted(reads.found if getattr(part, "name", "") == thing else ()):
            notes.remark(
                part,
                f"`{title}` of the command line is its default, `{ast.unparse(defaults[title])}`",
                "give the constructor what is to be chosen",
            )
    located(origin.tree)


def _bound(node: ast.AST) -> set[str]:
    """The names that a class or a function has of its own: parameters, and what it assigns."""
    if not isinstance(node, ast.ClassDef | ast.FunctionDef):
        return set()
    given = {n.arg for n in walk(node) if isinstance(n, ast.arg)}
    return given | {
        n.id
        for n in walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


class _Reads(NodeTransformer):
    """Reads defaults in the place of what was parsed, and the number that `int(...)` makes of one."""

    def __init__(self, held: set[str], defaults: dict[str, ast.expr]):
        self.held, self.defaults = held, defaults
        self.found: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        known = any(is_name(node.value, title) for title in self.held)
        if known and node.attr in self.defaults and isinstance(node.ctx, ast.Load):
            self.found.add(node.attr)
            return ast.copy_location(cloned(self.defaults[node.attr]), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        before = names(node)
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=kind), args=[given], keywords=[]) if (
                kind in _NUMBERS and before & self.held
            ):
                value = literal(given)
                if isinstance(value, int | float):
                    made = ast.Constant(_NUMBERS[kind](value))
                    return ast.copy_location(made, node)
        return node
