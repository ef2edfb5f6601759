"""Functions of PyTorch that make a model in several lines and return it, as a call alone, or as a class.

def net18(pretrained=False, **kwargs):                def net18(pretrained=False, **kwargs):
    model = Net(Block, [2, 2], **kwargs)     becomes      return Net(Block, [2, 2])
    if pretrained:
        model.load_state_dict(torch.load(PATH))
    return model

One that computes more than that, `head = Head(32); return Net(Body(16), head)`, is a class that has the model
as a layer. Weights that it loads, what it keeps at the model, and where it puts it are no part of a spec.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, without_docstring
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_BESIDE = ("load_state_dict", "to", "cuda", "cpu", "eval", "train", "half", "float")


def with_made_model(origin: Origin, thing: str) -> None:
    """Write such a function that is converted so, in place."""
    function = origin.functions.get(thing)
    if function is None or not origin.uses("torch") or function.args.vararg:
        return
    body = [
        s for s in without_docstring(function.body) if not _is_beside(s, function.args)
    ]
    match body:
        case [*_, ast.Return(value=ast.Name(id=local))]:
            made = [s for s in body if _binds(s, local)]
            if len(made) != 1:
                return
            [assigned] = made
            assert isinstance(assigned, ast.Assign)
            returned = ast.copy_location(ast.Return(assigned.value), body[-1])
            body = [*(s for s in body[:-1] if s is not assigned), returned]
        case [*_, ast.Return(value=ast.Call())]:
            pass
        case _:
            return
    last = body[-1]
    call = last.value if isinstance(last, ast.Return) else None
    known = origin.classes.get(getattr(getattr(call, "func", None), "id", ""))
    if (
        not isinstance(call, ast.Call)
        or known is None
        or not is_layer_class(origin, known)
        or framework_of(origin, known) != "torch"
    ):
        return
    given = function.args.kwarg
    if given is not None:
        handed = [k for k in call.keywords if k.arg is None]
        if any(not is_name(k.value, given.arg) for k in handed):
            return
        call.keywords = [k for k in call.keywords if k.arg is not None]
    if len(body) == 1:
        function.body = body
    elif all(isinstance(s, ast.Assign | ast.If | ast.Assert) for s in body[:-1]):
        _with_class(origin, function, body[:-1], call, known)


def _binds(node: ast.stmt, local: str) -> bool:
    return isinstance(node, ast.Assign) and is_name(node.targets[0], local)


def _is_beside(node: ast.stmt, given: ast.arguments) -> bool:
    """Whether a statement does what is no part of a model, at once or where a flag is given."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))):
            return attr in _BESIDE
        case ast.Assign(targets=[ast.Attribute(value=ast.Name())]):
            return True
        case ast.If(test=ast.Name(id=flag), body=body, orelse=[]):
            flags = {a.arg for a in (*given.args, *given.kwonlyargs)}
            return flag in flags and any(
                isinstance(p, ast.Call)
                and getattr(p.func, "attr", "") == "load_state_dict"
                for s in body
                for p in walk(s)
            )
    return False


def _with_class(
    origin: Origin,
    function: ast.FunctionDef,
    before: list[ast.stmt],
    call: ast.Call,
    known: ast.ClassDef,
) -> None:
    """Put a class in the place of the function."""
    forward = method_of(known, "forward")
    if forward is None or forward.args.vararg or forward.args.kwarg:
        return
    module = cloned(_module(origin, known))
    [node] = ast.parse(
        f"class {function.name}(Base):\n"
        "    def __init__(self):\n        super().__init__()\n        self.model = None\n"
        "    def forward(self):\n        return self.model()\n"
    ).body
    assert isinstance(node, ast.ClassDef)
    start, run = node.body
    assert isinstance(start, ast.FunctionDef)
    assert isinstance(run, ast.FunctionDef)
    node.bases = [module]
    start.args = cloned(function.args)
    start.args.args.insert(0, ast.arg("self"))
    start.args.kwarg = None
    start.body[-1].value = call  # type: ignore[attr-defined]
    start.body[1:1] = before
    run.args = cloned(forward.args)
    handed = run.body[0].value  # type: ignore[attr-defined]
    handed.args = [ast.Name(a.arg, ast.Load()) for a in run.args.args[1:]]
    handed.keywords = [
        ast.keyword(a.arg, ast.Name(a.arg, ast.Load())) for a in run.args.kwonlyargs
    ]
    if ast.get_docstring(function) is not None:
        node.body.insert(0, function.body[0])
    body = origin.tree.body
    body.remove(function)
    # What is converted stands behind what it is made of.
    body.append(node)
    for part in walk(node):
        written = getattr(part, "lineno", 0) >= function.lineno
        if isinstance(part, ast.stmt | ast.expr | ast.arg) and not written:
            ast.copy_location(part, function)
    origin.forget("classes", "functions", "assigned")
    located(origin.tree)


def _module(origin: Origin, node: ast.ClassDef) -> ast.expr:
    """What a class of layers is derived from in the end."""
    for base in node.bases:
        other = origin.classes.get(getattr(base, "id", ""))
        if other is not None:
            return _module(origin, other)
    return node.bases[0]
