"""Methods of PyTorch that are for who uses a layer, and change what it is made of: they are left out.

`from_pretrained`, which makes the class, and methods that nothing of the file calls and that change a part,
`self.config.block_size = block_size`, or give it another size than its constructor was given, are nothing
that a layer computes. Nor are those that ask parts for what no call of a layer does, `flow(z, reverse=True)`,
and those that set modes, `self.eval()`, or go through all weights.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.users_methods import is_for_users
from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.made_of import uncalled
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk


def without_outside_methods(origin: Origin, notes: Notes) -> None:
    """Leave them out of a file, in place, which is told."""
    if not origin.uses("torch"):
        return
    _without_hooks(origin, notes)
    alone = uncalled(origin)
    inside = {
        part.attr
        for node in origin.classes.values()
        for method in node.body
        if isinstance(method, ast.FunctionDef) and not _makes_class(method)
        for part in walk(method)
        if isinstance(part, ast.Attribute)
    }
    flags = _flags(origin)
    nodes = [n for n in origin.classes.values() if framework_of(origin, n) == "torch"]
    changing = _changing(nodes, alone)
    for node in nodes:
        users = _for_users(origin, node)
        for method in [m for m in node.body if isinstance(m, ast.FunctionDef)]:
            made = method.name not in inside and (
                _makes_class(method) or _makes(method, node)
            )
            changes = method.name in changing
            # `self.prior.sample(n)` in a method `sample` is no call of it.
            asks = _asks(method, flags) and method.name in uncalled(origin, node)
            if not (made or changes or asks or method.name in users):
                continue
            node.body.remove(method)
            notes.remark(
                method,
                f"`{method.name}` is left out: nothing of the file calls it",
                "write it where it is called",
            )


def _for_users(origin: Origin, node: ast.ClassDef) -> set[str]:
    """The methods that nothing calls and that ask for all weights, or set modes, or call such a one."""
    alone = uncalled(origin, node)
    methods = [
        method
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        # What sets the mode of the layer itself is called wherever that is trained.
        and method.name in alone - {"train", "eval"}
    ]
    found: set[str] = set()
    while True:
        more = {
            method.name
            for method in methods
            if method.name not in found
            and (
                any(is_for_users(origin, part) for part in walk(method))
                or _calls(method, found)
            )
        }
        if not more:
            return found
        found |= more


def _without_hooks(origin: Origin, notes: Notes) -> None:
    """Leave out what a constructor registers for weights that are loaded."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        for part in [*start.body] if start is not None else []:
            match part:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=attr))) if (
                    attr.removeprefix("_") in _HOOKS
                ):
                    assert start is not None
                    at = start.body.index(part)
                    start.body[at] = ast.copy_location(ast.Pass(), part)
                    notes.remark(
                        part,
                        f"`{ast.unparse(part)}` is left out",
                        "rename the weights of older checkpoints before they are loaded",
                    )
                    titles = {self_attribute(p) for p in walk(part)}
                    titles -= {
                        self_attribute(p)
                        for m in node.body
                        if getattr(m, "name", "") not in titles
                        for p in walk(m)
                    }
                    node.body = [
                        m for m in node.body if getattr(m, "name", "") not in titles
                    ]


_HOOKS = (
    *("register_load_state_dict_pre_hook", "register_load_state_dict_post_hook"),
    *("register_state_dict_hook", "register_state_dict_pre_hook"),
    "register_state_dict_post_hook",
)


def _makes_class(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "classmethod" for d in method.decorator_list)


def _makes(method: ast.FunctionDef, node: ast.ClassDef) -> bool:
    """Whether a method without an object makes one of its class."""
    static = any(ast.unparse(d) == "staticmethod" for d in method.decorator_list)
    return static and any(
        isinstance(p, ast.Call) and is_name(p.func, node.name) for p in walk(method)
    )


def _sizes(node: ast.ClassDef) -> set[str]:
    """The attributes that are what a constructor is given, other than numbers that are no sizes."""
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name == "__init__":
            break
    else:
        return set()
    given = {a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)}
    defaults = defaults_of(start.args)
    given -= {t for t, d in defaults.items() if isinstance(literal(d), float)}
    found = set()
    for part in start.body:
        match part:
            case ast.Assign(targets=[target], value=ast.Name(id=title)):
                if title in given:
                    found.add(self_attribute(target) or "")
    return found - {""}


def _changing(nodes: list[ast.ClassDef], alone: set[str]) -> set[str]:
    """The names of methods that nothing calls and that change parts, or call what does."""
    methods = [
        (node, method)
        for node in nodes
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in alone
    ]
    found: set[str] = set()
    while True:
        more = {
            method.name
            for node, method in methods
            if method.name not in found
            and (_changes_parts(method, _sizes(node)) or _calls(method, found))
        }
        if not more:
            return found
        found |= more


def _calls(method: ast.FunctionDef, titles: set[str]) -> bool:
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in titles
        for part in walk(method)
    )


def _changes_parts(method: ast.FunctionDef, sizes: set[str]) -> bool:
    """Whether a method sets an attribute of a part, or a size."""
    if method.name in ("__init__", "forward", "__call__"):
        return False
    return any(
        isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and (isinstance(part.value, ast.Attribute) or self_attribute(part) in sizes)
        for part in walk(method)
    )


def _flags(origin: Origin) -> set[str]:
    """The truths that layers of the file may be called with, and that no layer is called with by another."""
    found: set[str] = set()
    for node in origin.classes.values():
        forward = method_of(node, "forward")
        if forward is not None:
            defaults = defaults_of(forward.args)
            found |= {t for t, d in defaults.items() if type(literal(d)) is bool}
    forwards = [method_of(node, "forward") for node in origin.classes.values()]
    given = {
        keyword.arg
        for forward in forwards
        for part in (walk(forward) if forward is not None else ())
        if isinstance(part, ast.Call)
        for keyword in part.keywords
    }
    return {flag for flag in found if flag not in given}


def _asks(method: ast.FunctionDef, flags: set[str]) -> bool:
    """Whether a method calls layers with such a truth."""
    return any(
        keyword.arg in flags and type(literal(keyword.value)) is bool
        for part in walk(method)
        if isinstance(part, ast.Call)
        for keyword in part.keywords
    )
