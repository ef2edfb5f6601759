"""Finds arguments that a layer does not take: of its `init` in `setup`, of its `fwd` where it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition, Kind, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import functions_in
from mlax_scaffold.reader.axes.spatial import axes_of_layers
from mlax_scaffold.reader.checks.handed_on import check_handed
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.channels import FIELD, by_place_of_channels
from mlax_scaffold.reader.remedies.modes import KEYS, TRAINS
from mlax_scaffold.reader.source import Source, self_attribute, source_of, tree_of
from mlax_scaffold.spelling import misspelt

_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "bias": ("use_bias",),
    "bias_init": ("bias_initializer",),
    "b_init": ("bias_initializer",),
    "dropout": ("rate", "dropout_rate"),
    "dropout_rate": ("rate",),
    "embed_dim": ("features",),
    "eps": ("epsilon",),
    "feature_group_count": ("groups",),
    "heads": ("num_heads",),
    "kernel_dilation": ("dilation",),
    "kernel_init": ("kernel_initializer",),
    "kernel_shape": ("kernel_size",),
    "n_heads": ("num_heads",),
    "p": ("rate",),
    "rate": ("dilation",),
    "rhs_dilation": ("dilation",),
    "w_init": ("kernel_initializer",),
    "window_shape": ("kernel_size", "window"),
    "with_bias": ("use_bias",),
}
"""What arguments are called in other libraries, and may be called here."""


def check_layer_arguments(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a layer or a block."""
    made = {
        i.name: library[i.reference]
        for i in definition.imports
        if i.reference and library[i.reference].kind.is_layer
    }
    if not made:
        return []
    called = {
        d.name: library[d.references[0]]
        for d in definition.declared(Role.SUB_LAYER)
        if not d.members and len(d.references) == 1
    }
    source = source_of(definition)
    axes = _spatial_axes(definition)
    for method in _methods(definition):
        for call in (n for n in walk(method) if isinstance(n, ast.Call)):
            if method.name == "setup":
                _check_made(source, call, made, method, axes)
            else:
                _check_called(source, call, called)
    own = _in_functions(definition, made)
    told = {d.message for d in own}
    # What another function makes is read where it is called, and is mended in the function.
    found = [d for d in source.diagnostics if d.fix or d.message not in told]
    return [*own, *found]


def _in_functions(
    definition: Definition, made: Mapping[str, Definition]
) -> list[Diagnostic]:
    """What is found in functions beside the class, in `setup`, and in methods that it calls."""
    source = Source(definition.source, definition.text)
    for node, within in _makers(source.tree, definition) if definition.resolved else ():
        for call in (n for n in walk(node) if isinstance(n, ast.Call)):
            _check_made(source, call, made, within, _spatial_axes(definition))
    return source.diagnostics


def _makers(
    tree: ast.Module, definition: Definition
) -> Iterator[tuple[ast.AST, ast.FunctionDef]]:
    """The functions that may make layers of a class, each with the one whose locals it reads."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node, node
        if isinstance(node, ast.ClassDef) and node.name == definition.name:
            methods = functions_in(node)
            setup = methods.get("setup")
            inner = list(walk(setup)) if setup else []
            called = {self_attribute(c.func) for c in inner if isinstance(c, ast.Call)}
            yield from ((m, m) for name, m in methods.items() if name in called)
            for part in inner:
                if setup and isinstance(part, _FUNCTIONS) and part is not setup:
                    yield part, setup


_FUNCTIONS = ast.FunctionDef | ast.Lambda


def _methods(definition: Definition) -> list[ast.FunctionDef]:
    tree = tree_of(definition)
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return [n for n in body if isinstance(n, ast.FunctionDef)]


def _check_made(
    source: Source,
    call: ast.Call,
    made: Mapping[str, Definition],
    within: ast.FunctionDef,
    axes: str,
) -> None:
    """`Linear(4, width=3)`; the same where a local `settings = dict(width=3)` is spread into it."""
    layer = made.get(call.func.id) if isinstance(call.func, ast.Name) else None
    if layer is None:
        return
    fields = [h.name for h in (*layer.hyperparameters, *layer.initializers)]
    takes = [*fields, *(f"{d.name}_initializer" for d in layer.weights)]
    _check_keywords(source, call, layer.name, takes, _spread(call, within))
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    if not starred:
        needed = [h.name for h in layer.hyperparameters if h.default is None]
        _check_twice(source, call, layer.name, fields, needed)
        _check_given(source, call, layer, fields, needed, axes)
    if not starred and len(call.args) > len(fields):
        source.report(
            call.args[len(fields)],
            f"{layer.name} is given {len(call.args)} arguments by their place, and takes "
            f"{len(fields)}",
            f"It takes {', '.join(fields)}." if fields else "It takes none.",
        )


def _check_twice(
    source: Source, call: ast.Call, owner: str, fields: list[str], needed: list[str]
) -> None:
    """`Conv(3, 4, spatial_dims=2)`, where the first of its fields is so called."""
    named = [k.arg for k in call.keywords]
    twice = [f for f in fields[: len(call.args)] if f in named]
    if not twice or None in named:
        return
    at = fields.index(twice[0])
    meant = [f for f in needed if f not in named][: len(call.args)]
    pairs = zip(call.args, meant, strict=False)
    edits = tuple(source.insert(given, f"{name}=") for given, name in pairs)
    count = len(call.args)
    source.report(
        call.args[at],
        f"{owner} is given `{twice[0]}` twice: by its place, and by its name",
        f"By their places it takes {', '.join(fields[:count])}.",
        fix=Fix(edits) if len(meant) == count else None,
    )


def _check_given(
    source: Source,
    call: ast.Call,
    layer: Definition,
    fields: list[str],
    needed: list[str],
    axes: str,
) -> None:
    """`Linear(4)`, and `Conv(3, 8, (3, 3))`, whose sizes tell the number of axes."""
    named = [k.arg for k in call.keywords]
    lacks = [f for f in needed if f not in (*fields[: len(call.args)], *named)]
    wrong = {*named} - {*fields, *(f"{d.name}_initializer" for d in layer.weights)}
    twice = {*fields[: len(call.args)]} & {*named}
    if not lacks or wrong or twice or layer.kind is Kind.BLOCK:
        return
    source.report(
        call,
        f"{layer.name} is not given {_listed(lacks)}",
        f"It takes {', '.join(fields)}.",
        fix=_over_axes(source, call, needed, axes),
    )


def _listed(names: Sequence[str]) -> str:
    *others, last = [f"`{name}`" for name in names]
    return f"{', '.join(others)} and {last}" if others else last


def _over_axes(
    source: Source, call: ast.Call, needed: Sequence[str], axes: str
) -> Fix | None:
    """The number of spatial axes in its place, where all else is given and sizes along them tell it.

    One size for all axes does not: those of the input do.
    """
    first, *others = needed
    if first != "spatial_dims":
        return None
    given = dict(zip(others, call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg in others}
    sizes = given.get("kernel_size", given.get("window"))
    if len(given) < len(others):
        return None
    if isinstance(sizes, ast.Tuple | ast.List):
        axes = str(len(sizes.elts))
    axes = axes or axes_of_layers(source.tree)
    if not axes:
        return None
    if not call.args:
        return Fix((source.insert(call.keywords[0], f"spatial_dims={axes}, "),))
    return Fix((source.insert(call.args[0], f"{axes}, "),))


_SPACE = frozenset(("d", "depth", "h", "height", "l", "length", "rows", "t", "time"))
"""What a first axis is called that is none of a batch."""


def _spatial_axes(definition: Definition) -> str:
    """How many axes of the first array that has some are no batch and no channels; empty for none."""
    fields = {h.name for h in definition.hyperparameters}
    method = definition.method("forward")
    inputs = method.inputs if method else ()
    for kind, shape in ((i.type, s) for i in inputs for s in i.type.shapes):
        words = str(shape).split()
        if "*spatial" in words and "spatial_dims" in fields:
            return "self.spatial_dims"
        first, *rest = words or [""]
        if first in fields or first in _SPACE:
            rest = words
        # What is looked up gets its channels then.
        count = len(rest) - (not str(kind).startswith("Int"))
        if count > 0 and not any(word.startswith(("*", ".")) for word in rest):
            return str(count)
    return ""


def _check_called(
    source: Source, call: ast.Call, called: Mapping[str, Definition]
) -> None:
    """`self.attend(x, mask=mask)`."""
    layer = called.get(self_attribute(call.func) or "")
    named = {k.arg: k.value for k in call.keywords}.get(ENTRY_POINT)
    name = named.value if isinstance(named, ast.Constant) else "forward"
    entry = layer and layer.method(str(name))
    # A block hands the keywords that it does not know to its layers.
    if layer is None or entry is None or layer.kind is Kind.BLOCK or entry.passes:
        return
    takes = [i.name for i in entry.inputs]
    check_handed(source, call, {*KEYS, *TRAINS} - {*takes})
    _check_keywords(source, call, layer.name, [*takes, ENTRY_POINT])


def _spread(call: ast.Call, within: ast.FunctionDef) -> list[ast.keyword]:
    """The arguments of the calls of `dict` that locals hold which are spread into a call."""
    names = [
        k.value.id for k in call.keywords if isinstance(k.value, ast.Name) and not k.arg
    ]
    found: list[ast.keyword] = []
    for value in (v for name in names for v in only_value(name, within)):
        match value:
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                found += keywords
    return found


def _check_keywords(
    source: Source,
    call: ast.Call,
    owner: str,
    takes: list[str],
    more: Sequence[ast.keyword] = (),
) -> None:
    keywords = [*call.keywords, *more]
    given = {k.arg for k in keywords}
    shown = [name for name in takes if name != ENTRY_POINT]
    told = {(d.location.line, d.location.column) for d in source.diagnostics}
    for keyword in keywords:
        if keyword.arg is None or keyword.arg in takes or source.start(keyword) in told:
            continue
        free = [n for n in takes if n not in given]
        meant = [n for n in _ELSEWHERE.get(keyword.arg, ()) if n in free]
        near = meant[0] if meant else misspelt(keyword.arg, free)
        line, column = source.start(keyword)
        end = (line, column + len(keyword.arg))
        fix = Fix((source.replace((line, column), end, near),)) if near else None
        if FIELD in free and (placed := by_place_of_channels(source, call, keyword)):
            fix = placed if placed.edits else None
        source.report(
            keyword,
            f"{owner} takes no `{keyword.arg}`",
            f"It takes {', '.join(shown)}." if shown else "It takes none.",
            fix=fix,
        )
