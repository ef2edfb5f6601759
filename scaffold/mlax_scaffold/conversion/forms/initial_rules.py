"""What fills the weights of all layers: `self.apply(self._init_weights)`, and loops over `self.modules()`.

Such a rule is run, as far as it can be without the modules, for each layer that is declared: what of it fills
a weight of that layer becomes its initializer. It holds for the classes that a class is made of, too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute, without_docstring
from mlax_scaffold.conversion.source.walking import walk


@dataclass(frozen=True)
class Rule:
    """Statements that are run for each of many modules or parameters."""

    owner: str
    """The class that they stand in."""
    kind: str
    """"modules", "parameters", or "part": for what one attribute of the owner holds."""
    module: str
    """What they call the module, or the parameter; `self.attribute` for a part."""
    body: tuple[ast.stmt, ...]
    line: int
    title: str = ""
    """What they call the name of a parameter or of a module."""
    locals: Mapping[str, ast.expr] = field(default_factory=dict, hash=False)
    """What names of theirs are, of the function that they stand in."""
    classes: frozenset[str] = frozenset()
    """The classes that a part is of."""
    attribute: str = ""
    """The attribute whose layers alone are filled, `self.convs.apply(fill)`; "" for all of them."""

    def holds_for(self, attribute: str) -> bool:
        """Whether it is run for what an attribute holds, of which a list may have several."""
        title, _, rest = attribute.rpartition("_")
        element = title == self.attribute and rest.isdigit()
        return not self.attribute or attribute == self.attribute or element


def rule_of(origin: Origin, node: ast.ClassDef, part: ast.stmt) -> Rule | None:
    """The rule that a statement of a constructor is; None where it is none."""
    match part:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(attr="apply") as func, args=[given])
        ) if self_attribute(func):
            return _applied(origin, node, given, part.lineno)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=owner, attr="apply"), args=[given], keywords=[]
            )
        ) if attribute := self_attribute(owner):
            rule = _applied(origin, node, given, part.lineno)
            return rule and replace(rule, attribute=attribute)
        case ast.For(target=target, iter=ast.Call(func=ast.Attribute() as func)):
            attribute = self_attribute(func)
            if attribute in ("modules", "children", "parameters"):
                if not isinstance(target, ast.Name):
                    return None
                kind = "parameters" if attribute == "parameters" else "modules"
                body = tuple(part.body)
                return Rule(node.name, kind, target.id, body, part.lineno)
            if attribute in ("named_modules", "named_parameters"):
                if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                    return None
                kind = attribute.removeprefix("named_")
                title, module = map(ast.unparse, target.elts)
                body = tuple(part.body)
                return Rule(node.name, kind, module, body, part.lineno, title)
        case ast.For(target=ast.Name(id=module), iter=given):
            attribute = self_attribute(given)
            body = tuple(part.body)
            if attribute is not None and all(map(fills, body)):
                classes = _classes_of(origin, node, attribute)
                if classes:
                    return Rule(
                        *(node.name, "part", module, body, part.lineno), classes=classes
                    )
        case ast.Expr(value=ast.Call()) if fills(part):
            return _of_part(origin, node, part)
    return None


def fills(node: ast.stmt) -> bool:
    """Whether a statement fills a weight."""
    return called(getattr(getattr(node, "value", None), "func", None)) in IN_PLACE


def called(func: ast.expr | None) -> str:
    """The last name of what is called: `trunc_normal_` is imported by itself, or not."""
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _of_part(origin: Origin, node: ast.ClassDef, part: ast.Expr) -> Rule | None:
    """`nn.init.zeros_(self.head.linear.weight)`, where the class of `self.head` is of the file."""
    for inner in walk(part.value):
        attribute = self_attribute(inner)
        classes = _classes_of(origin, node, attribute) if attribute else frozenset()
        if classes:
            module = f"self.{attribute}"
            return Rule(
                *(node.name, "part", module, (part,), part.lineno), classes=classes
            )
    return None


def _classes_of(origin: Origin, node: ast.ClassDef, attribute: str) -> frozenset[str]:
    """The classes of the file of what an attribute is set to, or its elements are."""
    found: list[str] = []
    for part in walk(node):
        given: list[ast.expr] = []
        match part:
            case ast.Assign(targets=[target], value=value):
                if self_attribute(target) == attribute:
                    given = [value]
            case ast.Call(func=ast.Attribute(value=owner, attr="append")):
                if self_attribute(owner) == attribute:
                    given = part.args
        for value in given:
            found += [n for n in _names(value) if n in origin.classes]
    # What fills one attribute would fill all other uses of its class, too.
    used = [n for other in origin.classes.values() for n in _names(other)]
    alone = all(used.count(n) == found.count(n) for n in found)
    return frozenset(found) if alone else frozenset()


def _names(node: ast.AST) -> list[str]:
    """The names that are called in a tree, each as often as it is."""
    return [
        part.func.id
        for part in walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    ]


def _applied(
    origin: Origin, node: ast.ClassDef, given: ast.expr, line: int
) -> Rule | None:
    """The rule that `self.apply(given)` is."""
    known: dict[str, ast.expr] = {}
    if isinstance(given, ast.Call) and ast.unparse(given.func).endswith("partial"):
        known = {str(k.arg): k.value for k in given.keywords}
        given = given.args[0]
    if isinstance(given, ast.Lambda) and given.args.args:
        body = (ast.copy_location(ast.Expr(given.body), given),)
        return Rule(node.name, "modules", given.args.args[0].arg, body, line)
    title = self_attribute(given) or getattr(given, "id", "")
    function = origin.functions.get(title) if isinstance(given, ast.Name) else None
    for part in walk(node):
        if isinstance(part, ast.FunctionDef) and part.name == title:
            function = part
    if function is None:
        return None
    arguments = [a for a in function.args.args if a.arg != "self"]
    if not arguments:
        return None
    defaults = zip(reversed(arguments), reversed(function.args.defaults), strict=False)
    keyword_only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    known = {
        **{a.arg: d for a, d in (*defaults, *keyword_only) if d is not None},
        **known,
    }
    body = tuple(without_docstring(function.body))
    return Rule(node.name, "modules", arguments[0].arg, body, line, "", known)


def rules_of(origin: Origin, node: ast.ClassDef) -> list[Rule]:
    """The rules that a constructor states for all of its layers, in order."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    start = methods.get("__init__")
    found = [] if start is None else _stated(origin, node, methods, start.body, 0)
    return [rule for rule in found if not rule.attribute]


def _stated(
    origin: Origin,
    node: ast.ClassDef,
    methods: Mapping[str, ast.FunctionDef],
    body: list[ast.stmt],
    depth: int,
) -> Iterator[Rule]:
    for part in body:
        rule = rule_of(origin, node, part)
        if rule is not None:
            yield copy.copy(rule)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            method = methods.get(self_attribute(part.value.func) or "")
            if method is not None and depth < 3:
                yield from _stated(origin, node, methods, method.body, depth + 1)
