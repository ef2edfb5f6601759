"""Inputs that have the name of a hyperparameter, as the state `hidden` of a network with `hidden` units."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Names, name
from mlax_scaffold.conversion.source.vocabulary import flags
from mlax_scaffold.conversion.source.walking import located, walk


def with_own_titles(origin: Origin, thing: str, notes: Notes) -> None:
    """Give such inputs another name in place, where no call of the file names them."""
    named = {
        keyword.arg
        for part in walk(origin.tree)
        if isinstance(part, ast.Call)
        for keyword in part.keywords
        if not isinstance(part.func, ast.Name) or part.func.id not in origin.classes
    }
    for node in origin.classes.values():
        library = framework_of(origin, node) in ("flax", "nnx", "equinox", "haiku")
        call, start = method_of(node, "__call__"), method_of(node, "__init__")
        if not library or call is None or not is_layer_class(origin, node):
            continue
        fields = {
            getattr(p.target, "id", "")
            for p in node.body
            if isinstance(p, ast.AnnAssign)
        }
        if start is not None:
            fields = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
        draws = "query" not in {a.arg for a in call.args.args}
        for argument in call.args.args[1:]:
            title = argument.arg
            # Keys of an attention that may be left out: `key=None` is a random one here.
            keys = title == "key" and title in defaults_of(call.args) and not draws
            own = title in fields and not flags([title])
            if title in named or not (own or keys):
                continue
            made = f"{title}_input"
            argument.arg = made
            call.body = [Names({title: name(made)}).visit(p) for p in call.body]
            if node.name == thing and own:
                what = f"`{title}` of the call is `{made}`, as a hyperparameter has that name"
                notes.remark(argument, what, "give it by its place, or by that name")
    located(origin.tree)
