"""Configurations: a class that is given an object of settings is given the settings that it reads.

class Block(nn.Module):                              class Block(nn.Module):
    def __init__(self, config: Config):    becomes       def __init__(self, *, width: int = 8):
        self.fc = nn.Linear(config.width, 4)                  self.fc = nn.Linear(width, 4)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.handed.config_mappings import as_attributes, tested_alone
from mlax_scaffold.conversion.handed.config_names import (
    configuration_names,
    holds_settings,
    is_configuration,
    prefix_of,
    with_names_apart,
)
from mlax_scaffold.conversion.handed.config_uses import Configured, Uses
from mlax_scaffold.conversion.handed.configured_bases import (
    without_configured_bases,
)
from mlax_scaffold.conversion.handed.configured_helpers import (
    without_configured_helpers,
)
from mlax_scaffold.conversion.handed.nested_settings import parameter_name
from mlax_scaffold.conversion.source.config_classes import (
    Setting,
    only_settings_class,
    properties_of,
    settings_class,
    settings_of,
)
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.parsed_settings import parsed_settings
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)
from mlax_scaffold.model.reserved import RESERVED


def with_settings(origin: Origin) -> dict[str, Configured]:
    """Change the classes of a file in place; those that were changed, by name."""
    found: dict[str, Configured] = {}
    others = configuration_names(origin)
    without_configured_bases(origin, others)
    without_configured_helpers(origin, others)
    with_names_apart(origin)
    for node in origin.classes.values():
        if is_layer_class(origin, node) and (made := _configured(origin, node, others)):
            known = _known(origin, made.kind)
            made.optional |= as_attributes(node, made.parameter, made.place, known)
            found[node.name] = made
    _settle(origin, found)
    for made in found.values():
        _rewrite(origin, made, found)
    return found


def _configured(
    origin: Origin, node: ast.ClassDef, others: set[str]
) -> Configured | None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    start = methods.get("__init__")
    if start is None:
        for part in node.body:
            match part:
                case ast.AnnAssign(target=ast.Name(id=title), annotation=annotation):
                    kind = settings_class(origin, annotation)
                    if kind or holds_settings(node, part):
                        return Configured(node, title, title, kind, True)
        return None
    given = [*start.args.args, *start.args.kwonlyargs]
    for argument in given:
        kind = settings_class(origin, argument.annotation)
        if kind or is_configuration(argument, others):
            kind = kind or only_settings_class(origin, argument.annotation)
            place = next(
                (
                    self_attribute(p.targets[0]) or ""
                    for p in walk(start)
                    if isinstance(p, ast.Assign)
                    and is_name(p.value, argument.arg)
                    and self_attribute(p.targets[0])
                ),
                "",
            )
            return Configured(node, argument.arg, place, kind, False)
    return None


def _settle(origin: Origin, found: dict[str, Configured]) -> None:
    """Find out what each class reads; leave out those whose use of it is not followed."""
    uses: dict[str, Uses] = {}
    for title, made in found.items():
        uses[title] = visitor = Uses(made)
        for part in made.node.body:
            visitor.visit(part)
    changed = True
    while changed:
        changed = False
        for title in list(found):
            calls = [
                c.func.id for c in uses[title].handed if isinstance(c.func, ast.Name)
            ]
            known = _known(origin, found[title].kind)
            lost = [r for r in uses[title].read if known is not None and r not in known]
            if uses[title].others or lost or any(c not in found for c in calls):
                del found[title]
                changed = True
    reads = {t: _expanded(origin, m.kind, uses[t].read) for t, m in found.items()}
    for _ in found:
        for title in found:
            for call in uses[title].handed:
                assert isinstance(call.func, ast.Name)
                more = reads[call.func.id]
                reads[title] += [r for r in more if r not in reads[title]]
    for title, made in found.items():
        order = [*_settings_of(origin, made)]
        read = sorted(
            dict.fromkeys(reads[title]),
            key=lambda r: order.index(r) if r in order else -1,
        )
        prefix = prefix_of(made)
        made.names = {r: _free(made, r, prefix + parameter_name(r, read)) for r in read}


def _known(origin: Origin, kind: str) -> set[str] | None:
    """What a class of configurations has; None where the file does not tell."""
    return {*settings_of(origin, kind), *properties_of(origin, kind)} if kind else None


def _settings_of(origin: Origin, made: Configured) -> dict[str, Setting]:
    """What is known of the settings of a configuration, whose class the file may not tell."""
    return settings_of(origin, made.kind) if made.kind else parsed_settings(origin)


def _expanded(origin: Origin, kind: str, read: list[str]) -> list[str]:
    """The settings that are read, with those that properties read."""
    properties = properties_of(origin, kind)
    made: list[str] = []
    queue = list(read)
    while queue:
        one = queue.pop(0)
        if one in properties:
            queue += [a for p in walk(properties[one]) if (a := self_attribute(p))]
        elif one not in made:
            made.append(one)
    return made


def _free(made: Configured, setting: str, title: str) -> str:
    """What a setting is called in a class, which has other things of its title, perhaps."""
    for part in walk(made.node):
        if not isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign):
            continue
        value = part.value
        same = (
            isinstance(value, ast.Attribute)
            and value.attr == setting
            and (
                is_name(value.value, made.parameter)
                or self_attribute(value.value) == made.place
            )
        )
        places = part.targets if isinstance(part, ast.Assign) else [part.target]
        for place in places:
            for inner in walk(place):
                bound = self_attribute(inner) or ""
                if not made.is_field or part in made.node.body:
                    bound = bound or getattr(inner, "id", "")
                if bound == title and not same:
                    return f"config_{title}"
    taken = {m.name for m in made.node.body if isinstance(m, ast.FunctionDef)}
    start = next(
        (m for m in made.node.body if getattr(m, "name", "") == "__init__"), None
    )
    if isinstance(start, ast.FunctionDef):
        taken |= {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    reserved = RESERVED - {"dtype"}  # a field that is left out: nothing is called so
    return f"config_{title}" if title in taken | reserved else title


def _rewrite(origin: Origin, made: Configured, found: dict[str, Configured]) -> None:
    uses = Uses(made)
    settings = _settings_of(origin, made)
    if not made.kind:
        known = {s: k.default for s, k in settings.items() if s in made.names}
        made.defaults = {s: ast.unparse(v) for s, v in known.items() if v is not None}
    tested = tested_alone(made.node, uses.whole)
    body: list[ast.stmt] = []
    for part in made.node.body:
        if isinstance(part, ast.FunctionDef):
            inside = part.name == "__init__"
            rewriter = _Settings(origin, made, found, uses, inside)
            rewriter.visit(part)
            part.body = part.body or [ast.Pass()]
            if inside:
                _parameters(part, made, settings, tested)
        elif (
            made.is_field
            and isinstance(part, ast.AnnAssign)
            and is_name(part.target, made.parameter)
        ):
            for setting, title in made.names.items():
                known = settings.get(setting, Setting(ast.Name("Any", ast.Load())))
                declared = ast.AnnAssign(
                    ast.Name(title, ast.Store()),
                    cloned(known.annotation or _kind(known.default)),
                    cloned(known.default),
                    1,
                )
                body.append(located(ast.copy_location(declared, part)))
            continue
        body.append(part)
    made.node.body = body or [ast.Pass()]
    located(made.node)


def _kind(default: ast.expr | None) -> ast.expr:
    """The type of a setting without one: that of its default; of a sequence, any."""
    value = literal(default)
    kinds = {bool: "bool", float: "float", str: "str", tuple: "Any", list: "Any"}
    return ast.Name(kinds.get(type(value), "int"), ast.Load())


def _parameters(
    start: ast.FunctionDef,
    made: Configured,
    settings: dict[str, Setting],
    tested: set[str],
) -> None:
    given = start.args
    for arguments, defaults in (
        (given.args, given.defaults),
        (given.kwonlyargs, given.kw_defaults),
    ):
        at = next((i for i, a in enumerate(arguments) if a.arg == made.parameter), None)
        if at is None:
            continue
        late = at - (len(arguments) - len(defaults))
        if late >= 0:
            del defaults[late]
        del arguments[at]
    for setting, title in made.names.items():
        flag = ast.Name("bool", ast.Load()) if setting in tested else None
        known = settings.get(setting, Setting(flag))
        if setting in made.optional:
            known = Setting(known.annotation, made.optional[setting])
        given.kwonlyargs.append(ast.arg(title, cloned(known.annotation)))
        given.kw_defaults.append(cloned(known.default))


class _Settings(NodeTransformer):
    """Writes settings in the place of a configuration's attributes."""

    def __init__(
        self,
        origin: Origin,
        made: Configured,
        found: dict[str, Configured],
        uses: Uses,
        inside: bool,
    ):
        self.origin, self.made, self.found, self.uses = origin, made, found, uses
        self.inside = inside
        """Whether it is in the constructor, where settings are parameters."""
        self.properties = properties_of(origin, made.kind)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self.uses.whole(node.value):
            return ast.copy_location(self._read(node.attr), node)
        self.generic_visit(node)
        return node

    def _read(self, setting: str) -> ast.expr:
        if setting in self.properties:
            value = cloned(self.properties[setting])
            return _OfSelf(self._read).visit(value)
        title = self.made.names[setting]
        if self.inside:
            return ast.Name(title, ast.Load())
        return ast.Attribute(ast.Name("self", ast.Load()), title, ast.Load())

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        if self.uses.whole(node.value) and len(node.targets) == 1:
            return None
        self.generic_visit(node)
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and is_name(value, target.id):
            return None
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        values = [*node.args, *(k.value for k in node.keywords)]
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        if title not in self.found or not any(map(self.uses.whole, values)):
            self.generic_visit(node)
            return node
        node.args = [self.visit(a) for a in node.args if not self.uses.whole(a)]
        node.keywords = [
            ast.keyword(k.arg, self.visit(k.value))
            for k in node.keywords
            if not self.uses.whole(k.value)
        ]
        for setting, name in self.found[title].names.items():
            node.keywords.append(ast.keyword(name, self._read(setting)))
        return node


class _OfSelf(NodeTransformer):
    """What a property of a configuration reads of it."""

    def __init__(self, read: object):
        self.read = read

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self_attribute(node)
        if attribute is not None:
            return self.read(attribute)  # type: ignore[operator]
        self.generic_visit(node)
        return node


def dotted(made: Configured) -> Iterator[tuple[str, str]]:
    """The parameters that stand for settings, and the settings as the original is given them."""
    for setting, title in made.names.items():
        yield title, f"{made.parameter}.{setting}"
