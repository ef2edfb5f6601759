"""Methods of a class that is no object, `@classmethod`, which use nothing of it, as its functions."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import names


def without_class_methods(node: ast.ClassDef) -> None:
    """Write them as static methods, in place."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or not method.args.args:
            continue
        told = [ast.unparse(d) for d in method.decorator_list]
        first = method.args.args[0].arg
        used = {n for part in method.body for n in names(part)}
        if told == ["classmethod"] and first not in used:
            static = ast.Name("staticmethod", ast.Load())
            method.decorator_list = [ast.copy_location(static, method)]
            method.args.args.pop(0)
