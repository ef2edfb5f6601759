"""Functions of a file of PyTorch that are given a layer, `attend(q, k, dropout=self.dropout)`, as methods."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_functions_of_layers(origin: Origin) -> None:
    """Give each class such a method for each layer that it hands to the function, in place."""
    called = {n: c for n, f in origin.functions.items() if (c := called_parameters(f))}
    for node in origin.classes.values():
        if called and framework_of(origin, node) == "torch":
            calls = _Calls(origin, node, called)
            for method in list(node.body):
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    calls.visit(method)
            node.body += calls.made.values()
    located(origin.tree)


def called_parameters(function: ast.FunctionDef) -> set[str]:
    """The parameters that a function calls."""
    given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    return {
        p.func.id
        for p in walk(function)
        if isinstance(p, ast.Call)
        and isinstance(p.func, ast.Name)
        and p.func.id in given
    }


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin, node: ast.ClassDef, called: dict[str, set[str]]):
        self.origin, self.node, self.called = origin, node, called
        self.made: dict[tuple[str, ...], ast.FunctionDef] = {}
        self.taken = {getattr(m, "name", "") for m in node.body}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        title = getattr(node.func, "id", "")
        wanted = self.called.get(title, set())
        if not wanted or any(isinstance(a, ast.Starred) for a in node.args):
            return node
        function = self.origin.functions[title]
        places = [a.arg for a in function.args.args]
        given = dict(zip(places, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        layers = {
            p: attribute
            for p in sorted(wanted)
            if p in given and (attribute := self_attribute(given[p]))
        }
        if not layers:
            return node
        key = (title, *(f"{p}={a}" for p, a in layers.items()))
        if key not in self.made:
            self.made[key] = self._method(function, layers)
        kept = [a for p, a in zip(places, node.args, strict=False) if p not in layers]
        keywords = [k for k in node.keywords if k.arg not in layers]
        first = next((i for i, p in enumerate(places) if p in layers), len(places))
        if first < len(node.args):
            # Those after it are told by name.
            late = list(zip(places, node.args, strict=False))[first:]
            kept = node.args[:first]
            named = [ast.keyword(p, a) for p, a in late if p not in layers]
            keywords = [*named, *keywords]
        owner = ast.Name("self", ast.Load())
        node.func = ast.Attribute(owner, self.made[key].name, ast.Load())
        node.args, node.keywords = kept, keywords
        return node

    def _method(
        self, function: ast.FunctionDef, layers: dict[str, str]
    ) -> ast.FunctionDef:
        made = cloned(function)
        while made.name in self.taken:
            made.name += "_of"
        self.taken.add(made.name)
        made.decorator_list = []
        given = made.args
        defaults = dict(
            zip(
                [a.arg for a in given.args[len(given.args) - len(given.defaults) :]],
                given.defaults,
                strict=True,
            )
        )
        given.args = [a for a in given.args if a.arg not in layers]
        given.defaults = [defaults[a.arg] for a in given.args if a.arg in defaults]
        given.args.insert(0, ast.arg("self"))
        return _Layers(layers).visit(made)


class _Layers(NodeTransformer):
    """The parameters, as the layers that they are."""

    def __init__(self, layers: dict[str, str]):
        self.layers = layers

    def _there(self, node: ast.expr) -> bool | None:
        """Whether a condition asks if there is the layer, and what is then."""
        match node:
            case ast.Compare(left=ast.Name(id=local), ops=[op], comparators=[right]):
                if local in self.layers and ast.unparse(right) == "None":
                    return isinstance(op, ast.IsNot)
            case ast.Name(id=local) if local in self.layers:
                return True
        return None

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        there = self._there(node.test)
        self.generic_visit(node)
        if there is None:
            return node
        body = node.body if there else node.orelse
        return body or [ast.copy_location(ast.Pass(), node)]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        there = self._there(node.test)
        self.generic_visit(node)
        return node if there is None else (node.body if there else node.orelse)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if is_name(node, node.id) and node.id in self.layers:
            owner = ast.Name("self", ast.Load())
            made = ast.Attribute(owner, self.layers[node.id], node.ctx)
            return ast.copy_location(made, node)
        return node
