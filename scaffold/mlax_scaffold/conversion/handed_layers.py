"""Classes of PyTorch that are handed layers, `PreNorm(dim, Attention(dim))`, as a class for each that they are handed.

The class makes the layer itself then, of what is known where it is made; `**kwargs` that it hands on to the layer are
the arguments that the layer takes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from mlax_scaffold.conversion.kinds import is_layer_class
from mlax_scaffold.conversion.origin import Origin
from mlax_scaffold.conversion.rows import MisfitError, bind
from mlax_scaffold.conversion.small_helpers import without_copies
from mlax_scaffold.conversion.stages import Parameters
from mlax_scaffold.conversion.trees import (
    is_name,
    is_none,
    literal,
    names,
    replaced,
    self_attribute,
)

_NN = "torch.nn."
_LISTS = (f"{_NN}ModuleList", f"{_NN}ModuleDict")
_NEVER = (f"{_NN}Parameter", f"{_NN}functional", f"{_NN}init")


def without_handed_layers(origin: Origin, thing: str) -> None:
    """Write such classes in place; the one that is converted is handed what the file's first call hands it."""
    if not any(full.partition(".")[0] == "torch" for full in origin.imports.values()):
        return
    handed = {n: found for n, c in origin.classes.items() if (found := _taken(c))}
    if not handed:
        return
    calls = _Handed(origin, handed, thing)
    calls.run()
    if calls.found or calls.main is not None:
        body = [calls.main if _is(s, thing) and calls.main else s for s in origin.tree.body]  # fmt: skip
        origin.tree.body = [*body, *calls.found.values()]
        for known in ("imports", "classes", "functions", "copied", "assigned"):
            origin.__dict__.pop(known, None)
        without_copies(origin)
    ast.fix_missing_locations(origin.tree)


def _is(node: ast.stmt, title: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == title


def _method(node: ast.ClassDef, title: str) -> ast.FunctionDef | None:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == title:
            return part
    return None


def _taken(node: ast.ClassDef) -> list[str]:
    """The parameters of a class that it may keep as layers."""
    start = _method(node, "__init__")
    if start is None or start.args.vararg or start.args.posonlyargs:
        return []
    given = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
    stored = {t for s in start.body for p in ast.walk(s) for t in _stores(p)}
    copied = {
        str(p.args[0].id)  # type: ignore[attr-defined]
        for p in ast.walk(start)
        if isinstance(p, ast.Call)
        and ast.unparse(p.func).endswith("deepcopy")
        and len(p.args) == 1
        and isinstance(p.args[0], ast.Name)
    }
    return [g for g in given if g in stored | copied]


def _stores(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[target], value=ast.Name(id=local)):
            if self_attribute(target):
                yield local


class _Handed(ast.NodeTransformer):
    """The calls of such classes."""

    def __init__(self, origin: Origin, handed: dict[str, list[str]], thing: str):
        self.origin, self.handed, self.thing = origin, handed, thing
        self.found: dict[str, ast.ClassDef] = {}
        self.texts: dict[str, str] = {}
        self.main: ast.ClassDef | None = None
        self.locals: dict[str, list[ast.expr]] = {}
        self.reads: dict[str, int] = {}
        self.defaults: dict[str, ast.expr] = {}

    def run(self) -> None:
        # What is converted is made by the lines outside of all classes, if at all.
        for node in self.origin.tree.body:
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    self._scope(method, method.body)
        for node in self.origin.functions.values():
            self._scope(node, node.body)
        outside = [
            s
            for s in self.origin.tree.body
            if not isinstance(s, ast.ClassDef | ast.FunctionDef)
        ]
        self._scope(ast.Module(outside, []), outside)

    def _scope(self, owner: ast.AST, body: list[ast.stmt]) -> None:
        self.locals, self.reads = {}, {}
        for part in ast.walk(owner):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    self.locals.setdefault(local, []).append(value)
                case ast.Name(id=local, ctx=ast.Load()):
                    self.reads[local] = self.reads.get(local, 0) + 1
        gone: set[str] = set()
        self.gone = gone
        for node in body:
            self.visit(node)
        for place in gone:
            for part in ast.walk(owner):
                for field in ("body", "orelse"):
                    inner = getattr(part, field, None)
                    if isinstance(inner, list):
                        inner[:] = [s for s in inner if not _binds(s, place)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        title = getattr(node.func, "id", "")
        if title not in self.handed:
            return node
        owner = self.origin.classes[title]
        start = _method(owner, "__init__")
        assert start is not None
        inputs = ast.arguments(
            [], start.args.args[1:], None, start.args.kwonlyargs,
            start.args.kw_defaults, None, start.args.defaults,
        )  # fmt: skip
        try:
            bound = bind(inputs, node)
        except MisfitError:
            return node
        given = {p: v for p, v in bound.items() if isinstance(v, ast.expr)}
        layers = {
            p: made
            for p in self.handed[title]
            if p in given and (made := self._layer(given[p])) is not None
        }
        if not layers:
            return node
        special = _Special(self.origin, owner, start, self._class_of)
        made = special.written(given, layers)
        if made is None:
            return node
        self.gone |= {v.id for p in layers if isinstance(v := given[p], ast.Name)}
        if title == self.thing:
            self.main = self.main or made
            return node
        inner = "".join(_title(self.origin, v) for v in layers.values())
        said = ast.unparse(made)
        name = self.texts.get(said) or self._free(f"{title}{inner}")
        self.texts[said] = name
        if name not in self.found:
            made.name = name
            _Renamed(title, name).visit(made)
            self.found[name] = made
        keywords = [ast.keyword(p, v) for p, v in special.arguments.items()]
        call = ast.Call(ast.Name(name, ast.Load()), [], keywords)
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def _class_of(self, title: str) -> ast.ClassDef | None:
        return self.found.get(title) or self.origin.classes.get(title)

    def _free(self, wanted: str) -> str:
        made, number = wanted, 1
        while made in self.found or made in self.origin.classes:
            number += 1
            made = f"{wanted}{number}"
        return made

    def _layer(self, node: ast.expr) -> ast.Call | None:
        """The call that makes a layer, which a local may name that nothing else reads."""
        if isinstance(node, ast.Name):
            made = self.locals.get(node.id, [])
            if len(made) == 1 and self.reads.get(node.id) == 1:
                value = made[0]
                if isinstance(value, ast.Call):
                    return self._layer(self.visit(copy.deepcopy(value)))  # type: ignore[arg-type]
            return None
        if not isinstance(node, ast.Call):
            return None
        full = self.origin.qualified(node.func)
        title = getattr(node.func, "id", "")
        other = self._class_of(title)
        if other is not None:
            return node if is_layer_class(self.origin, other) or title in self.found else None  # fmt: skip
        if full.startswith(_NN) and not full.startswith((*_NEVER, *_LISTS)):
            return node
        return None


def _binds(node: ast.stmt, local: str) -> bool:
    return isinstance(node, ast.Assign) and is_name(node.targets[0], local)


def _title(origin: Origin, call: ast.Call) -> str:
    """What the class is called that a layer is of."""
    return ast.unparse(call.func).rpartition(".")[2]


class _Special:
    """One class, handed some layers."""

    def __init__(self, origin: Origin, owner: ast.ClassDef, start, class_of):
        self.origin, self.owner, self.start = origin, owner, start
        self.class_of = class_of
        self.arguments: dict[str, ast.expr] = {}
        """What the call gives the class that is written."""

    def written(
        self, given: dict[str, ast.expr], layers: dict[str, ast.Call]
    ) -> ast.ClassDef | None:
        """The class; None where it does more with the layers than to call them."""
        made = copy.deepcopy(self.owner)
        start = _method(made, "__init__")
        assert start is not None
        self.arguments = {p: v for p, v in given.items() if p not in layers}
        defaults = _defaults(start.args)
        never = {
            p
            for p, v in self.arguments.items()
            if p in defaults and ast.unparse(defaults[p]) == ast.unparse(v)
        }
        values: dict[str, ast.expr] = {}
        for parameter, call in layers.items():
            values[parameter] = self._inner(call, parameter, start)
        reads = _Reads(self.origin, self.class_of, layers, values)
        reads.visit(start)
        for parameter in layers:
            uses = [p for p in ast.walk(start) if is_name(p, parameter)]
            if len(uses) != 1:
                return None
        start.body = [_with(s, values) for s in start.body]
        _without(start.args, layers)
        added = [p for p in self.arguments if p not in given]
        for parameter in added:
            start.args.kwonlyargs.append(ast.arg(parameter))
            start.args.kw_defaults.append(None)
        self.arguments = {p: v for p, v in self.arguments.items() if p not in never}
        unset = {p: defaults[p] for p in never if is_none(defaults[p])}
        _Unset(made, unset).run()
        for attribute, call in _kept(start, values):
            if not self._handed_on(made, attribute, call):
                return None
        return ast.fix_missing_locations(made)

    def _inner(
        self, call: ast.Call, parameter: str, start: ast.FunctionDef
    ) -> ast.expr:
        """What makes the layer, of parameters of the class."""
        bound = {n for s in start.body for n in _stored(s)}
        known = {
            ast.unparse(v): ast.Name(p, ast.Load())
            for p, v in self.arguments.items()
            if not isinstance(v, ast.Constant) and p not in bound
        }
        self.bound = bound
        made = _Known(known).visit(self._alike(copy.deepcopy(call)))
        names_of = {n.id for n in known.values()}
        new: dict[str, ast.expr] = {}
        parameters = Parameters(self.origin, new)
        parameters.known |= {*names_of, getattr(call.func, "id", "")}
        parameters.known |= {p for p in self.arguments if p not in bound} - {
            n for v in self.arguments.values() for n in names(v)
        }
        made = parameters.visit(made)
        rename: dict[str, ast.expr] = {}
        for title, value in new.items():
            wanted = title
            if wanted in self.arguments or wanted in bound or wanted == parameter:
                wanted = f"{parameter}_{title}"
            rename[title] = ast.Name(wanted, ast.Load())
            self.arguments[wanted] = value
        return replaced(made, rename)

    def _alike(self, call: ast.Call) -> ast.Call:
        """The layer with numbers of its own that the class has under the same names: they are its."""
        other = self.class_of(getattr(call.func, "id", ""))
        inner = _method(other, "__init__") if other is not None else None
        if inner is None:
            return call
        places = [a.arg for a in inner.args.args[1:]]
        for at, value in enumerate(call.args):
            title = places[at] if at < len(places) else ""
            if title and self._same(title, value):
                call.args[at] = ast.Name(title, ast.Load())
        for keyword in call.keywords:
            if self._same(str(keyword.arg), keyword.value):
                keyword.value = ast.Name(str(keyword.arg), ast.Load())
        return call

    def _same(self, title: str, value: ast.expr) -> bool:
        own = self.arguments.get(title) if title not in self.bound else None
        number = isinstance(value, ast.Constant) and isinstance(own, ast.Constant)
        return number and ast.unparse(value) == ast.unparse(own)

    def _handed_on(self, made: ast.ClassDef, attribute: str, call: ast.Call) -> bool:
        """Whether `*args` and `**kwargs` of a method, if any, are what the layer takes."""
        for method in made.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            given = method.args
            if given.kwarg is None and given.vararg is None:
                continue
            title = getattr(call.func, "id", "")
            other = self.class_of(title)
            taken = _method(other, "forward") if other is not None else None
            if other is not None and taken is None:
                return False
            if taken is not None and (taken.args.kwarg or taken.args.vararg):
                return False
            _HandedOn(method, attribute, taken).run()
        return True


def _kept(
    start: ast.FunctionDef, values: dict[str, ast.expr]
) -> Iterator[tuple[str, ast.Call]]:
    """The attributes that are these layers."""
    said = {ast.unparse(v): v for v in values.values()}
    for part in ast.walk(start):
        if isinstance(part, ast.Assign):
            value = said.get(ast.unparse(part.value))
            attribute = self_attribute(part.targets[0])
            if attribute and isinstance(value, ast.Call):
                yield attribute, value


def _stored(node: ast.stmt) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _defaults(given: ast.arguments) -> dict[str, ast.expr]:
    late = given.args[len(given.args) - len(given.defaults) :]
    found = dict(zip([a.arg for a in late], given.defaults, strict=True))
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return found | {a.arg: d for a, d in named if d is not None}


def _without(given: ast.arguments, gone) -> None:
    """Take parameters out; those that are left are told by name where they have defaults before others."""
    defaults = _defaults(given)
    kept = [a for a in given.args if a.arg not in gone]
    given.defaults = [defaults[a.arg] for a in kept if a.arg in defaults]
    given.args = kept
    named = [
        (a, d)
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if a.arg not in gone
    ]
    given.kwonlyargs = [a for a, _ in named]
    given.kw_defaults = [d for _, d in named]


def _with(node: ast.stmt, values: dict[str, ast.expr]) -> ast.stmt:
    made = _Values(values).visit(node)
    for part in ast.walk(made):
        if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


class _Values(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return copy.deepcopy(value) if value is not None else node


class _Known(ast.NodeTransformer):
    """Values that the class is given, as its parameters."""

    def __init__(self, known: dict[str, ast.Name]):
        self.known = known

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) in self.known:
            return copy.deepcopy(self.known[ast.unparse(node)])
        return super().visit(node)


class _Reads(ast.NodeTransformer):
    """What a constructor reads of a layer that it is handed, `layer.size`, as what the layer is made with."""

    def __init__(self, origin: Origin, class_of, layers, values):
        self.origin, self.class_of = origin, class_of
        self.layers, self.values = layers, values

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.layers:
            made = self._read(self.values[node.value.id], node.attr)
            return made if made is not None else node
        self.generic_visit(node)
        return node

    def _read(self, call: ast.Call, attribute: str) -> ast.expr | None:
        other = self.class_of(getattr(call.func, "id", ""))
        start = _method(other, "__init__") if other is not None else None
        if start is None:
            return None
        values = [
            s.value
            for s in start.body
            if isinstance(s, ast.Assign) and self_attribute(s.targets[0]) == attribute
        ]
        inputs = ast.arguments(
            [], start.args.args[1:], None, start.args.kwonlyargs,
            start.args.kw_defaults, None, start.args.defaults,
        )  # fmt: skip
        try:
            bound = bind(inputs, call)
        except MisfitError:
            return None
        given = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
        if len(values) != 1 or not names(values[0]) <= {*given}:
            return None
        return replaced(values[0], given)


class _Renamed(ast.NodeTransformer):
    """`super(Old, self)` in the class that has another name."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if is_name(node.func, "super"):
            node.args = []
        return node


class _Unset:
    """Parameters that are None for one of the classes: what they choose is known."""

    def __init__(self, node: ast.ClassDef, values: dict[str, ast.expr]):
        self.node, self.values = node, values

    def run(self) -> None:
        start = _method(self.node, "__init__")
        assert start is not None
        if not self.values:
            return
        if any(n in self.values for s in start.body for n in _stored(s)):
            return
        _without(start.args, self.values)
        start.body = [_with(s, self.values) for s in start.body]
        _Settled(set()).visit(start)
        gone = {
            a
            for s in start.body
            if isinstance(s, ast.Assign)
            and is_none(s.value)
            and (a := self_attribute(s.targets[0]))
        }
        others = [
            self_attribute(p)
            for p in ast.walk(self.node)
            if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)
        ]
        gone = {a for a in gone if others.count(a) == 1}
        _Settled(gone).visit(self.node)
        read = {
            self_attribute(p)
            for p in ast.walk(self.node)
            if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Load)
        }
        start.body = [
            s
            for s in start.body
            if not (
                isinstance(s, ast.Assign)
                and self_attribute(s.targets[0]) in gone - read
            )
        ] or [ast.Pass()]


class _Settled(ast.NodeTransformer):
    """Conditions that ask whether something is None that is known to be."""

    def __init__(self, unset: set[str]):
        self.unset = unset

    def _test(self, node: ast.expr) -> bool | None:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if is_none(
                right
            ) and isinstance(op, ast.Is | ast.IsNot):
                if is_none(left) or self_attribute(left) in self.unset:
                    return isinstance(op, ast.Is)
                return None
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._test(operand)
                return None if inner is None else not inner
        if is_none(node) or self_attribute(node) in self.unset:
            return False
        return None

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        known = self._test(node.test)
        return node if known is None else (node.body if known else node.orelse)

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        known = self._test(node.test)
        if known is None:
            return node
        return (node.body if known else node.orelse) or [ast.copy_location(ast.Pass(), node)]  # fmt: skip


class _HandedOn(ast.NodeTransformer):
    """`self.fn(x, **kwargs)`, with the arguments that the layer takes."""

    def __init__(
        self, method: ast.FunctionDef, attribute: str, taken: ast.FunctionDef | None
    ):
        self.method, self.attribute, self.taken = method, attribute, taken
        self.names: list[str] = []

    def run(self) -> None:
        given = self.method.args
        several = given.vararg.arg if given.vararg else ""
        named = given.kwarg.arg if given.kwarg else ""
        self.several, self.named = several, named
        calls = [
            p
            for p in ast.walk(self.method)
            if isinstance(p, ast.Call) and self_attribute(p.func) == self.attribute
        ]
        if not calls:
            return
        first = calls[0]
        count = sum(not isinstance(a, ast.Starred) for a in first.args)
        told = {k.arg for k in first.keywords}
        other = self.taken.args if self.taken is not None else None
        places = [a.arg for a in other.args[1 + count :]] if other else []
        places += [a.arg for a in other.kwonlyargs] if other else []
        defaults = _defaults(other) if other else {}
        known = [a.arg for a in (*given.args, *given.kwonlyargs)]
        own = [p for p in places if p not in told and p not in known]
        self.names = own
        given.vararg = given.kwarg = None
        late = [p for p in own if p in defaults]
        if len(late) == len(own):
            given.args += [ast.arg(p) for p in own]
            given.defaults += [copy.deepcopy(defaults[p]) for p in own]
        else:
            had = _defaults(given)
            given.args += [ast.arg(p) for p in own]
            if not had:
                given.defaults = [copy.deepcopy(defaults[p]) for p in late]
        self.visit(self.method)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        spread = any(
            isinstance(a, ast.Starred) and is_name(a.value, self.several)
            for a in node.args
        ) or any(k.arg is None and is_name(k.value, self.named) for k in node.keywords)
        if spread:
            node.args = [
                a
                for a in node.args
                if not (isinstance(a, ast.Starred) and is_name(a.value, self.several))
            ]
            node.keywords = [
                k
                for k in node.keywords
                if not (k.arg is None and is_name(k.value, self.named))
            ]
            told = {k.arg for k in node.keywords}
            node.keywords += [
                ast.keyword(n, ast.Name(n, ast.Load()))
                for n in self.names
                if n not in told
            ]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        title = literal(node.slice)
        if self.named and is_name(node.value, self.named) and title in self.names:
            return ast.copy_location(ast.Name(str(title), node.ctx), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Attribute(value=owner, attr="update"), args=[]):
                if is_name(owner, self.named):
                    return [
                        ast.copy_location(
                            ast.Assign([ast.Name(str(k.arg), ast.Store())], k.value),
                            node,
                        )
                        for k in node.value.keywords
                    ]
        return node
