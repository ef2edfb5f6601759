"""Lists of layers that are joined by `+`, as lists that grow."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_STARTS = ("__init__", "setup")


def without_joined_lists(node: ast.ClassDef) -> None:
    """Write `self.layers = [first] + [other for ...]` one by one, in place.

    What follows knows lists that begin with some elements, and that loops append to.
    """
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name in _STARTS:
            body: list[ast.stmt] = []
            for part in start.body:
                body += _one_by_one(part, node)
            start.body = body


def _one_by_one(node: ast.stmt, owner: ast.ClassDef) -> list[ast.stmt]:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return [node]
    [target] = node.targets
    attribute = self_attribute(target)
    value, wrap = node.value, None
    if isinstance(value, ast.Call) and len(value.args) == 1:
        # `nn.ModuleList([...] + [...])`, `eqx.nn.Sequential([...] + [...])`
        inner = value.args[0]
        wrap, value = value, inner.value if isinstance(inner, ast.Starred) else inner
    parts = _parts(value)
    if attribute is None or len(parts) < 2 or not all(map(_is_list, parts)):
        return [node]
    if not any(isinstance(c, ast.Call) for p in parts for c in _elements(p)):
        return [node]
    alike = None if _in_order(owner, attribute) else _alike(attribute, parts)
    if alike is not None:
        return [
            located(ast.copy_location(s, node)) for s in _of_sizes(node, wrap, *alike)
        ]
    local = f"{attribute}_parts"
    made: list[ast.stmt] = [
        ast.Assign([ast.Name(local, ast.Store())], ast.List([], ast.Load()))
    ]
    for part in parts:
        made += _appended(local, part)
    whole: ast.expr = ast.Name(local, ast.Load())
    if wrap is not None:
        starred = isinstance(wrap.args[0], ast.Starred)
        wrap.args = [ast.Starred(whole, ast.Load()) if starred else whole]
        whole = wrap
    made.append(ast.Assign([target], whole))
    for part in made:
        for inner in walk(part):
            if not hasattr(inner, "lineno"):
                ast.copy_location(inner, node)
        located(ast.copy_location(part, node))
    return made


def _in_order(owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the layers of a list are only called, one after the other."""
    reads = [
        p
        for p in walk(owner)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    loops = [
        p
        for p in walk(owner)
        if isinstance(p, ast.For)
        and self_attribute(p.iter) == attribute
        and len(p.body) == 1
        and isinstance(p.body[0], ast.Assign)
        and isinstance(p.body[0].value, ast.Call)
        and ast.unparse(p.body[0].value.func) == ast.unparse(p.target)
    ]
    return len(reads) == len(loops)


def _alike(
    attribute: str, parts: list[ast.expr]
) -> tuple[ast.Assign, ast.ListComp] | None:
    """The sizes of layers that are all of one class, and the list of these; None for others."""
    calls = [merged(e) for p in parts for e in _elements(p)]
    first = calls[0]
    if not all(isinstance(c, ast.Call) and _same_form(c, first) for c in calls):
        return None
    assert isinstance(first, ast.Call)
    varied = [
        i
        for i, group in enumerate(zip(*map(_values, calls), strict=True))
        if len({ast.unparse(v) for v in group}) > 1
    ]
    if not any(isinstance(p, ast.ListComp) for p in parts):
        return None
    rows: list[ast.expr] = []
    for part in parts:
        sizes: list[ast.expr] = []
        for element in _elements(part):
            values = _values(merged(element))
            row = [values[i] for i in varied] or [ast.Constant(0)]
            sizes.append(row[0] if len(row) == 1 else ast.Tuple(row, ast.Load()))
        if isinstance(part, ast.ListComp):
            inner = ast.ListComp(sizes[0], part.generators)
            rows.append(ast.Starred(inner, ast.Load()))
        else:
            rows += sizes
    local = f"{attribute}_sizes"
    owns = [f"own_{i}" for i in varied]
    made = cloned(first)
    for i, own in zip(varied, owns, strict=True):
        if i < len(made.args):
            made.args[i] = ast.Name(own, ast.Load())
        else:
            made.keywords[i - len(made.args)].value = ast.Name(own, ast.Load())
    several: list[ast.expr] = [ast.Name(o, ast.Store()) for o in owns or ["_"]]
    target = several[0] if len(several) == 1 else ast.Tuple(several, ast.Store())
    loop = ast.comprehension(target, ast.Name(local, ast.Load()), [], 0)
    assign = ast.Assign([ast.Name(local, ast.Store())], ast.List(rows, ast.Load()))
    return assign, ast.ListComp(made, [loop])


def _of_sizes(
    node: ast.Assign, wrap: ast.Call | None, sizes: ast.Assign, made: ast.ListComp
) -> list[ast.stmt]:
    value: ast.expr = made
    if wrap is not None:
        starred = isinstance(wrap.args[0], ast.Starred)
        wrap.args = [ast.Starred(made, ast.Load()) if starred else made]
        value = wrap
    return [sizes, ast.Assign(node.targets, value)]


def merged(node: ast.expr) -> ast.expr:
    """`A(x, w) if c else A(y, w)` as `A(x if c else y, w)`; anything else as it is."""
    if not isinstance(node, ast.IfExp):
        return node
    left, right = merged(node.body), merged(node.orelse)
    if not isinstance(left, ast.Call) or not isinstance(right, ast.Call):
        return node
    if not _same_form(left, right):
        return node
    made = cloned(left)
    for i, (one, other) in enumerate(zip(_values(left), _values(right), strict=True)):
        if ast.unparse(one) == ast.unparse(other):
            continue
        choice = ast.IfExp(cloned(node.test), one, other)
        if i < len(made.args):
            made.args[i] = choice
        else:
            made.keywords[i - len(made.args)].value = choice
    return made


def _same_form(node: ast.expr, other: ast.expr) -> bool:
    """Whether two calls are of the same, with as many arguments under the same names."""
    if not isinstance(node, ast.Call) or not isinstance(other, ast.Call):
        return False
    if any(isinstance(a, ast.Starred) for a in (*node.args, *other.args)):
        return False
    return (
        ast.unparse(node.func) == ast.unparse(other.func)
        and len(node.args) == len(other.args)
        and [k.arg for k in node.keywords] == [k.arg for k in other.keywords]
        and all(k.arg for k in node.keywords)
    )


def _values(node: ast.expr) -> list[ast.expr]:
    assert isinstance(node, ast.Call)
    return [*node.args, *(k.value for k in node.keywords)]


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) or (
        isinstance(node, ast.ListComp)
        and len(node.generators) == 1
        and not node.generators[0].ifs
    )


def _elements(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.ListComp):
        return [node.elt]
    return node.elts if isinstance(node, ast.List) else []


def _appended(local: str, part: ast.expr) -> list[ast.stmt]:
    elements: list[ast.stmt] = [
        ast.Expr(
            ast.Call(
                ast.Attribute(ast.Name(local, ast.Load()), "append", ast.Load()),
                [element],
                [],
            )
        )
        for element in _elements(part)
    ]
    if isinstance(part, ast.ListComp):
        [generator] = part.generators
        return [ast.For(generator.target, generator.iter, elements, [])]
    return elements
