"""Names for a class that is given some of its arguments, as classes of their own.

ResNet18 = partial(ResNet, stage_sizes=[2, 2, 2, 2])    class ResNet18: as ResNet, where `stage_sizes`
def resnet18(classes): return ResNet([2, 2], classes)   is (2, 2, 2, 2) unless another value is given
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self, defaults_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names, without_docstring
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def with_made_class(origin: Origin, thing: str) -> None:
    """Add such a class for the thing that is converted, in place."""
    if _with_sequence(origin, thing):
        return
    call = _made(origin, thing)
    known = origin.classes.get(getattr(call.func, "id", "")) if call else None
    if call is None or known is None or not is_layer_class(origin, known):
        return
    start = next((m for m in known.body if getattr(m, "name", "") == "__init__"), None)
    if isinstance(start, ast.FunctionDef):
        places = beside_self(start.args)
    else:
        fields = [ast.arg(f.target.id) for f in _fields(known)]  # type: ignore[attr-defined]
        places = ast.arguments([], fields, None, [], [], None, [])
    # What it is not given keeps its default.
    places.defaults = [ast.Constant(...) for _ in places.args]
    places.kw_defaults = [ast.Constant(...) for _ in places.kwonlyargs]
    try:
        given = bind(places, call)
    except MisfitError:
        return
    function = origin.functions.get(thing)
    own = defaults_of(function.args) if function is not None else {}
    handed = {
        k: own.get(v.id, v) if isinstance(v, ast.Name) else v
        for k, v in given.items()
        if isinstance(v, ast.expr) and not _is_left(v)
    }
    values = {k: v for k, v in handed.items() if not is_name(v, k)}
    made = cloned(known)
    made.name = thing
    _give(made, values)
    others = (c for c in origin.classes.values() if c is not known)
    used = any(known.name in names(c) for c in others)
    gone = (thing,) if used else (thing, known.name)
    body = [s for s in origin.tree.body if getattr(s, "name", "") not in gone]
    origin.tree.body = [*body, ast.copy_location(made, known)]
    origin.forget("classes", "functions", "assigned")
    located(origin.tree)


def _with_sequence(origin: Origin, thing: str) -> bool:
    """Whether a function returns an `nn.Sequential` that it makes, and is a class that has one by now."""
    function = origin.functions.get(thing)
    if function is None or function.args.vararg or function.args.kwarg:
        return False
    *before, last = without_docstring(function.body)
    match last:
        case ast.Return(value=ast.Call(func=func) as made):
            full = origin.qualified(func)
        case _:
            return False
    plain = all(isinstance(part, ast.Assign) for part in before)
    if full != "torch.nn.Sequential" or not plain:
        return False
    owner = full.rpartition(".")[0]
    module = ast.unparse(func).rpartition(".")[0] or owner
    [node] = ast.parse(
        f"class {thing}({module}.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "    def forward(self, x):\n        return self.layers(x)\n"
    ).body
    assert isinstance(node, ast.ClassDef)
    start = node.body[0]
    assert isinstance(start, ast.FunctionDef)
    start.args = cloned(function.args)
    start.args.args.insert(0, ast.arg("self"))
    layers = ast.Attribute(ast.Name("self", ast.Load()), "layers", ast.Store())
    start.body += [*before, ast.Assign([layers], made)]
    if ast.get_docstring(function) is not None:
        node.body.insert(0, function.body[0])
    body = origin.tree.body
    body[body.index(function)] = ast.copy_location(node, function)
    for part in walk(node):
        if isinstance(part, ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, function)
    origin.forget("classes", "functions", "assigned")
    located(origin.tree)
    return True


def _made(origin: Origin, thing: str) -> ast.Call | None:
    """The class with what it is given, as a call."""
    assigned, function = origin.assigned.get(thing), origin.functions.get(thing)
    value = assigned.value if assigned is not None else None
    partial = isinstance(value, ast.Call) and origin.qualified(value.func)
    if isinstance(value, ast.Call) and value.args and partial == "functools.partial":
        return ast.Call(value.args[0], value.args[1:], list(value.keywords))
    if function is not None:
        match without_docstring(function.body):
            case [ast.Return(value=ast.Call() as call)]:
                return cloned(call)
    return None


def _is_left(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        p
        for p in node.body
        if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
    ]


def _give(node: ast.ClassDef, values: dict[str, ast.expr]) -> None:
    """Let the values be defaults; those that have none stand before those that have, by keyword."""
    for field in _fields(node):
        field.value = values.get(field.target.id, field.value)  # type: ignore[attr-defined]
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        given = method.args
        late = len(given.args) - len(given.defaults)
        pairs = zip(given.args[late:], given.defaults, strict=True)
        told = {a.arg: d for a, d in pairs} | values
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        given.kw_defaults = [values.get(a.arg, d) for a, d in named]
        free = [a for a in given.args if a.arg not in told]
        kept = [a for a in given.args if a.arg in told]
        given.args, given.defaults = [*free, *kept], [told[a.arg] for a in kept]
