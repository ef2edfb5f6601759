"""Methods that a class calls of its parts: `self.cell.begin(n, size)`, `self.encoder.encode(x)`.

What reads nothing but sizes of its part is a method of the class, which is given these, and an input in
whose dtype arrays are: `self.begin(x, self.cell.hidden_dim, n, size)`. Others are called as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_CALLS = ("forward", "__call__", "__init__")
_MAKING = (
    *("torch.zeros", "torch.ones", "torch.full", "torch.empty", "torch.randn"),
    *("jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full", "jax.numpy.empty"),
)
_OBJECTS = ("torch", "nnx", "equinox")
_SILENT = ("device", "dtype")
_HANDED = "like_input"
"""What a method calls the input that it is handed."""


def without_methods_of_sizes(origin: Origin) -> None:
    """Give a class the methods of its parts that read sizes alone, in place."""
    moved: list[tuple[ast.ClassDef, ast.FunctionDef]] = []
    for holder in [*origin.classes.values()]:
        for call, owner, node, method in [*_part_calls(origin, holder, _OBJECTS)]:
            sizes = _sizes_read(origin, node, method)
            # What is private here has the name that a method of a spec gets.
            taken = method_of(holder, f"_{method.name}") is not None
            title = f"{method.name}_of_part" if taken else method.name
            own = method_of(holder, title)
            if sizes is None or (own is not None and not _is_copy(own, method)):
                continue
            makes = bool(_makes(origin, method))
            first = _first_input(holder) and _input_in(holder, call, needed=makes)
            if not first:
                continue
            if own is None:
                holder.body.append(_given(origin, method, sizes))
                holder.body[-1].name = title  # type: ignore[attr-defined]
            assert isinstance(call.func, ast.Attribute)
            read = [ast.Attribute(cloned(owner), size, ast.Load()) for size in sizes]
            given = [ast.Name(first, ast.Load())] if makes else []
            call.args = [*given, *read, *call.args]
            call.func.value, call.func.attr = ast.Name("self", ast.Load()), title
            moved.append((node, method))
            located(holder)
    for node, method in moved:
        read = {self_attribute(p) for p in walk(node)}
        if method in node.body and method.name not in read:
            node.body.remove(method)


def called_of_parts(origin: Origin, node: ast.ClassDef) -> set[str]:
    """The methods of a class that others of the file call of it as of a part."""
    return {
        method.name
        for holder in origin.classes.values()
        for _, _, owner, method in _part_calls(origin, holder, _ALL)
        if owner.name == node.name
    }


def _part_calls(
    origin: Origin, holder: ast.ClassDef, frameworks: tuple[str, ...] = ("torch",)
) -> Iterator[tuple[ast.Call, ast.expr, ast.ClassDef, ast.FunctionDef]]:
    """The calls of methods of parts, with the part, its class and the method."""
    known = framework_of(origin, holder) in frameworks
    if not known or not is_layer_class(origin, holder):
        return
    made = _parts(origin, holder)
    if not made:
        return
    for body in holder.body:
        if not isinstance(body, ast.FunctionDef) or body.name == "__init__":
            continue
        passed = {
            part.target.id: str(self_attribute(part.iter))
            for part in walk(body)
            if isinstance(part, ast.For | ast.comprehension)
            and isinstance(part.target, ast.Name)
            and self_attribute(part.iter) in made
        }
        for call in walk(body):
            if not isinstance(call, ast.Call) or not isinstance(
                call.func, ast.Attribute
            ):
                continue
            owner = call.func.value
            whole = owner.value if isinstance(owner, ast.Subscript) else owner
            title = self_attribute(whole) or passed.get(getattr(whole, "id", ""), "")
            node = origin.classes.get(made.get(title, ""))
            method = method_of(node, call.func.attr) if node is not None else None
            plain = method is not None and not method.decorator_list
            if node is None or method is None or not plain:
                continue
            if method.name not in _CALLS and method.name not in _DICTIONARY:
                yield call, owner, node, method


_ALL = ("torch", "flax", "nnx", "equinox", "haiku")
_DICTIONARY = ("keys", "values", "items", "append", "children", "parameters", "modules")


def _parts(origin: Origin, holder: ast.ClassDef) -> dict[str, str]:
    """The classes of the file that attributes are made of, alone or in a list."""
    found: dict[str, str] = {}
    for part in walk(holder):
        if isinstance(part, ast.Assign) and (title := self_attribute(part.targets[0])):
            kinds = {
                p.func.id
                for p in walk(part.value)
                if isinstance(p, ast.Call)
                and isinstance(p.func, ast.Name)
                and p.func.id in origin.classes
                and p.func.id != holder.name
            }
            outer = part.value.func if isinstance(part.value, ast.Call) else None
            listed = (
                origin.qualified(outer) == "torch.nn.ModuleList" if outer else False
            )
            direct = {getattr(outer, "id", "")} & kinds
            chosen = kinds if listed else direct
            if len(chosen) == 1:
                found[title] = chosen.pop()
    lists = _appended(origin, holder)
    return {**lists, **found}


def _appended(origin: Origin, holder: ast.ClassDef) -> dict[str, str]:
    """The lists that a constructor fills with layers of one class."""
    filled: dict[str, set[str]] = {}
    kept: dict[str, str] = {}
    for part in walk(holder):
        match part:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="append"),
                args=[ast.Call(func=ast.Name(id=kind))],
            ):
                place = self_attribute(owner) or getattr(owner, "id", "")
                filled.setdefault(place, set()).add(kind)
            case ast.Assign(
                targets=[target], value=ast.Call(func=func, args=[ast.Name(id=local)])
            ) if origin.qualified(func) == "torch.nn.ModuleList":
                kept[self_attribute(target) or ""] = local
    alone = {
        p: next(iter(k))
        for p, k in filled.items()
        if len(k) == 1 and k & {*origin.classes}
    }
    return {**alone, **{t: alone[n] for t, n in kept.items() if n in alone}}


def _sizes_read(
    origin: Origin, node: ast.ClassDef, method: ast.FunctionDef
) -> list[str] | None:
    """The attributes that a method reads, where all are what the constructor is given; None of others."""
    start = method_of(node, "__init__")
    if start is None:
        return None
    given = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    plain = {
        str(self_attribute(part.targets[0]))
        for part in walk(start)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Name)
        and part.value.id in given
        and self_attribute(part.targets[0])
    }
    bare = _without_silent(method)
    selves = [p for p in walk(bare) if is_name(p, "self")]
    read = [t for p in walk(bare) if (t := self_attribute(p)) is not None]
    if len(selves) != len(read) or not {*read} <= plain:
        return None
    return sorted({*read})


def _without_silent(method: ast.FunctionDef) -> ast.FunctionDef:
    """A method without what says on which device and in which dtype an array is."""
    made = cloned(method)
    for part in walk(made):
        if isinstance(part, ast.Call):
            part.keywords = [
                k
                for k in part.keywords
                if k.arg not in _SILENT or not _of_self(k.value)
            ]
    return made


def _of_self(node: ast.expr) -> bool:
    return "self" in names(node)


def _input_in(holder: ast.ClassDef, call: ast.Call, *, needed: bool) -> str:
    """What the first input is called where a call stands; "" where it cannot be had there.

    A method that `forward` calls is handed it.
    """
    forward = method_of(holder, "forward") or method_of(holder, "__call__")
    first = _first_input(holder)
    methods = [m for m in holder.body if isinstance(m, ast.FunctionDef)]
    around = next(m for m in methods if any(p is call for p in walk(m)))
    if around is forward or not needed:
        return first
    if _HANDED in [a.arg for a in around.args.args]:
        return _HANDED
    calls = [
        part
        for method in methods
        for part in walk(method)
        if isinstance(part, ast.Call) and self_attribute(part.func) == around.name
    ]
    inside = {id(p) for p in walk(forward)} if forward is not None else set()
    plain = [a.arg for a in around.args.args][:1] == ["self"]
    if not plain or around.name in _CALLS or any(id(c) not in inside for c in calls):
        return ""
    around.args.args.insert(1, ast.arg(_HANDED))
    for part in calls:
        part.args.insert(0, ast.Name(first, ast.Load()))
    return _HANDED


def _first_input(holder: ast.ClassDef) -> str:
    """The first input of a class."""
    call = method_of(holder, "forward") or method_of(holder, "__call__")
    return call.args.args[1].arg if call is not None and call.args.args[1:] else ""


def _makes(origin: Origin, method: ast.FunctionDef) -> list[ast.Call]:
    """The calls in a method that make arrays of a dtype that is not told."""
    return [
        part
        for part in walk(method)
        if isinstance(part, ast.Call)
        and origin.qualified(part.func) in _MAKING
        and not any(k.arg == "dtype" for k in part.keywords)
    ]


def _given(
    origin: Origin, method: ast.FunctionDef, sizes: list[str]
) -> ast.FunctionDef:
    """The method with the sizes that it reads as parameters."""
    made = _without_silent(method)
    calls = _makes(origin, made)
    taken = {a.arg for a in made.args.args}
    named = {s: s if s not in taken else f"{s}_of_part" for s in sizes}
    made = _Named(named).visit(made)
    made.args.args[1:1] = [ast.arg(named[s]) for s in sizes]
    if calls:
        made.args.args.insert(1, ast.arg(_HANDED))
    for call in calls:
        call.keywords.append(ast.keyword("dtype", expression(f"{_HANDED}.dtype")))
    return made


def _is_copy(own: ast.FunctionDef, method: ast.FunctionDef) -> bool:
    """Whether a method of the class is the one of the part."""
    return own.lineno == method.lineno


class _Named(NodeTransformer):
    def __init__(self, named: dict[str, str]):
        self.named = named

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        title = self_attribute(node)
        if title in self.named:
            return ast.copy_location(ast.Name(self.named[title], ast.Load()), node)
        self.generic_visit(node)
        return node
