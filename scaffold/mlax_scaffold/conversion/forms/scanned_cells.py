"""Layers of flax that `nn.scan` runs over time, as scans of a step that calls them.

Lstm = nn.scan(nn.LSTMCell, variable_broadcast="params", in_axes=1, out_axes=1)
lstm = Lstm(size)
carry, y = lstm(carry, x)

becomes

lstm = nn.LSTMCell(size)
def step(carry, x):
    return lstm(carry, x)
carry, y = jax.lax.scan(step, carry, jnp.swapaxes(x, 0, 1)), with y swapped back
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.forms.begun_cells import with_begun_cells
from mlax_scaffold.conversion.shapes.taken_apart import taken_apart
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    marked,
    name,
    self_attribute,
    statement,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_SCANS = ("flax.linen.scan", "flax.linen.transforms.scan")
_KNOWN = {"variable_broadcast", "split_rngs", "in_axes", "out_axes", "unroll"}
_SHARED = ("params", ["params"], ("params",))


@dataclass(frozen=True)
class _Scan:
    """What `nn.scan` is told, of weights that are the same at all times."""

    cell: ast.expr
    """The class, or a function of a layer, a carry and an element."""
    given: int
    """The axis of time of what is given."""
    made: int
    """That of the results."""
    reverse: bool


def without_scanned_cells(origin: Origin) -> None:
    """Change the methods of a file in place; scans over layers, each with its weights, stay."""
    if not origin.uses("flax"):
        return
    for node in origin.classes.values():
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        for method in methods:
            _decorated(origin, method)
        scans = _Scans(origin)
        for method in sorted(
            methods, key=lambda m: m.name not in ("setup", "__init__")
        ):
            scans.local.clear()
            method.body = scans.statements(method.body)
        with_begun_cells(origin, node)
    located(origin.tree)


def _scan(origin: Origin, call: ast.Call) -> _Scan | None:
    if origin.qualified(call.func) not in _SCANS or len(call.args) != 1:
        return None
    given = {k.arg: literal(k.value) for k in call.keywords}
    axes = given.get("in_axes", 0), given.get("out_axes", 0)
    if set(given) - {*_KNOWN, "reverse"} or not all(a in (0, 1) for a in axes):
        return None
    if given.get("variable_broadcast") not in _SHARED:
        return None
    reverse = given.get("reverse", False)
    if not isinstance(reverse, bool):
        return None
    return _Scan(call.args[0], int(str(axes[0])), int(str(axes[1])), reverse)


def _decorated(origin: Origin, method: ast.FunctionDef) -> None:
    """A method under `@partial(nn.scan, ...)` scans what it did in each step, in place."""
    first = method.decorator_list[0] if method.decorator_list else None
    match first:
        case ast.Call(func=func, args=[made, *rest], keywords=keywords) if (
            origin.qualified(func) == "functools.partial" and not rest
        ):
            scan = _scan(origin, ast.Call(made, [name("self")], keywords))
        case _:
            return
    given = [a.arg for a in method.args.args]
    if scan is None or len(given) != 3 or method.args.kwonlyargs:
        return
    step = _step("step", given[1:], without_docstring(method.body))
    before, run = _run(scan, step, [name(g) for g in given[1:]])
    method.decorator_list = method.decorator_list[1:]
    method.body = [*before, ast.Return(run)]
    if scan.made:
        scanned = statement("carry, y = run", run=run)
        swapped = marked("(c, jnp.swapaxes(y, 0, 1))", c=name("carry"), y=name("y"))
        method.body = [*before, scanned, ast.Return(swapped)]


def _step(title: str, given: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    places = [ast.arg(g) for g in given]
    arguments = ast.arguments([], places, None, [], [], None, [])
    return ast.FunctionDef(title, arguments, body, [], lineno=0)


def _run(
    scan: _Scan, step: ast.FunctionDef, given: list[ast.expr]
) -> tuple[list[ast.stmt], ast.expr]:
    """What stands before a scan, and the scan; time is made the first axis of what it is given."""
    carry, xs = given
    before: list[ast.stmt] = [step]
    if scan.given:
        title = step.args.args[1].arg
        parts = taken_apart(step).get(title)
        places = range(len(parts.items)) if parts is not None else ()
        locals_ = [f"{title}_{place}" for place in places]
        if locals_:
            before.insert(0, statement(f"{', '.join(locals_)} = xs", xs=xs))
        arrays = [name(local) for local in locals_]
        if isinstance(xs, ast.Tuple):
            before, arrays = [*before[-1:]], xs.elts
        made = [marked("jnp.swapaxes(x, 0, 1)", x=x) for x in arrays or [xs]]
        xs = ast.Tuple(made, ast.Load()) if arrays else made[0]
    run = marked("lax.scan(s, c, x)", s=name(step.name), c=carry, x=xs)
    assert isinstance(run, ast.Call)
    if scan.reverse:
        run.keywords.append(ast.keyword("reverse", ast.Constant(True)))
    return before, run


class _Scans:
    """The scans of a class, and the layers that they run."""

    def __init__(self, origin: Origin):
        self.origin, self.count = origin, 0
        self.local: dict[str, _Scan] = {}
        """Locals that are classes, or layers, of which each is scanned."""
        self.held: dict[str, _Scan] = {}
        """Attributes that are such layers."""
        self.functions: dict[str, ast.FunctionDef] = {}

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, with the step of each scan before it."""
        found: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = node
            for title in ("body", "orelse"):
                inner = getattr(node, title, None)
                if isinstance(inner, list):
                    setattr(node, title, self.statements(inner))
            found += self._statement(node)
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                made = _scan(self.origin, call)
                if made is not None and isinstance(target, ast.Name):
                    self.local[target.id] = made
                    return []
                made = self._maker(call)
                held = self_attribute(target)
                if made is not None and (held or isinstance(target, ast.Name)):
                    known = self.held if held else self.local
                    known[held or ast.unparse(target)] = made
                    call.func = cloned(made.cell)
                    return [node]
        before, after = list[ast.stmt](), list[ast.stmt]()
        if not hasattr(node, "body"):
            for call in [c for c in walk(node) if isinstance(c, ast.Call)]:
                self._called(node, call, before, after)
        return [*before, node, *after]

    def _maker(self, call: ast.Call) -> _Scan | None:
        """The scan whose layer a call makes."""
        if isinstance(call.func, ast.Call):
            return _scan(self.origin, call.func)
        # What is a layer already is called with a carry and the elements.
        makes = isinstance(call.func, ast.Name) and len(call.args) != 2
        return self.local.get(call.func.id) if makes else None  # type: ignore[attr-defined]

    def _called(
        self,
        node: ast.stmt,
        call: ast.Call,
        before: list[ast.stmt],
        after: list[ast.stmt],
    ) -> None:
        """Write the call of such a layer, in place, as a scan of a step that stands before it."""
        func, given = call.func, list(call.args)
        step: ast.FunctionDef | None = None
        scan = self.held.get(self_attribute(func) or "")
        if isinstance(func, ast.Name):
            scan = self.local.get(func.id)
        elif isinstance(func, ast.Call) and len(given) == 3:
            scan = _scan(self.origin, func)
            step = self._of_function(scan.cell, given.pop(0)) if scan else None
        elif isinstance(func, ast.Call) and (scan := self._maker(func)) is not None:
            func.func = cloned(scan.cell)
            title = f"cell_{self.count}"
            before.append(ast.Assign([ast.Name(title, ast.Store())], func, lineno=0))
            func = name(title)
        if scan is None or len(given) != 2 or call.keywords:
            return
        if step is None:
            inner = ast.Return(ast.Call(func, [name("carry"), name("x")], []))
            step = self._step(["carry", "x"], [inner])
        steps, run = _run(scan, step, given)
        before += steps
        made = [f"carry_{self.count}", f"y_{self.count}"]
        self.count += 1
        whole = isinstance(node, ast.Assign) and node.value is call
        target = node.targets[0] if isinstance(node, ast.Assign) and whole else None
        results = _results(target)
        if scan.made and not results:
            before.append(statement(f"{made[0]}, {made[1]} = run", run=run))
            run = expression("(c, y)", c=name(made[0]), y=name(made[1]))
        if scan.made:
            for local in [r for r in results if r != "_"] if results else made[1:]:
                back = marked("jnp.swapaxes(y, 0, 1)", y=name(local))
                swapped = ast.Assign([ast.Name(local, ast.Store())], back, lineno=0)
                (after if results else before).append(swapped)
        _become(call, run)

    def _step(self, given: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
        return _step(f"step_{self.count}", given, body)

    def _of_function(
        self, function: ast.expr, layer: ast.expr
    ) -> ast.FunctionDef | None:
        """The step that a function of a layer, a carry and an element is."""
        known = self.functions.get(ast.unparse(function))
        if isinstance(function, ast.Lambda):
            arguments, body = function.args, [ast.Return(function.body)]
        elif known is not None:
            arguments, body = known.args, known.body
        else:
            return None
        first, *given = [a.arg for a in arguments.args]
        return self._step(given, [with_names(cloned(s), {first: layer}) for s in body])


def _results(target: ast.expr | None) -> list[str]:
    """The names of what a scan makes of all elements, `carry, (y, z)`; none where it has no names."""
    last = target.elts[-1] if isinstance(target, ast.Tuple) else None
    places = last.elts if isinstance(last, ast.Tuple) else [last]
    found = [place.id for place in places if isinstance(place, ast.Name)]
    return found if len(found) == len(places) else []


def _become(node: ast.AST, other: ast.AST) -> None:
    """Let a node be another one, in place."""
    place = {k: v for k, v in vars(node).items() if k in ("lineno", "col_offset")}
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update({**vars(other), **place})
