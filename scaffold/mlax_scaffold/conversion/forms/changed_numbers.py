"""Numbers that a class of PyTorch's modules holds, and that its methods change for the module.

class Gate(nn.Module):                class Gate(nn.Module):
    calls = 0                             def __init__(self, dim):
                                              super().__init__()
    def __init__(self, dim):                  self.calls = 0
        super().__init__()                    ...
        ...                               def forward(self, x):
    def forward(self, x):                     self.calls += 1
        self.calls += 1                       ...
        ...
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.assigned import assigned_in_calls
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, statement
from mlax_scaffold.conversion.source.walking import located


def without_changed_numbers(origin: Origin) -> None:
    """Let each module begin with the number, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        family = [c for c in origin.classes.values() if _is_built_on(origin, c, node)]
        changed = {title for c in family for title in assigned_in_calls(c)}
        found = [(p, t, v) for p, t, v in _numbers(node) if t in changed]
        if not found:
            continue
        start = _constructor(origin, node)
        for part, title, value in reversed(found):
            node.body.remove(part)
            begun = statement(f"self.{title} = v", v=value)
            start.body.insert(_begins(start), ast.copy_location(begun, part))
        located(node)


def _is_built_on(origin: Origin, node: ast.ClassDef, base: ast.ClassDef) -> bool:
    """Whether a class is another one of the file, or is built on it."""
    others = (origin.classes.get(getattr(b, "id", "")) for b in node.bases)
    return node is base or any(
        o is not None and o is not node and _is_built_on(origin, o, base)
        for o in others
    )


def _numbers(node: ast.ClassDef) -> Iterator[tuple[ast.stmt, str, ast.expr]]:
    for part in node.body:
        match part:
            case (
                ast.Assign(targets=[ast.Name(id=title)], value=value)
                | ast.AnnAssign(target=ast.Name(id=title), value=ast.expr() as value)
            ) if type(literal(value)) in (int, float):
                yield part, title, value


def _constructor(origin: Origin, node: ast.ClassDef) -> ast.FunctionDef:
    """That of the class; if it has none, one that does what it inherits."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return part
    inherits = any(getattr(b, "id", "") in origin.classes for b in node.bases)
    given = "*args, **kwargs" if inherits else ""
    head = f"def __init__({', '.join(filter(None, ['self', given]))})"
    made = statement(f"{head}:\n    super().__init__({given})")
    assert isinstance(made, ast.FunctionDef)
    node.body.insert(0, ast.copy_location(made, node))
    return made


def _begins(start: ast.FunctionDef) -> int:
    """Where the base is made already."""
    for at, part in enumerate(start.body):
        if isinstance(part, ast.Expr) and ".__init__(" in ast.unparse(part):
            return at + 1
    return 0
