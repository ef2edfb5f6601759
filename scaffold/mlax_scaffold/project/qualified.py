"""Names in Python files, found and changed by what they stand for, not by how they are spelled."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import (
    CodeRange,
    MetadataWrapper,
    PositionProvider,
    QualifiedNameProvider,
    QualifiedNameSource,
)

Names = Mapping[str, str]
"""Dotted names and what they become, such as `mynet.nn.Scale` and `mynet.nn.Shape`."""


class NotPythonError(Exception):
    """A file is no Python of this version."""


@dataclass(frozen=True)
class Module:
    """A Python file."""

    data: bytes
    package: str
    """The package that its relative imports start from."""
    moved: str = ""
    """The package that it is to be in; empty: it stays."""
    local: Mapping[str, str] = field(default_factory=dict)
    """Names that it defines itself, and what they become."""


@dataclass(frozen=True)
class Rewriting:
    """What becomes of a file."""

    data: bytes
    lines: tuple[int, ...]
    """Where it used one of the names."""
    exported: Mapping[str, str]
    """Names that others can import from it, and that it has under another name now."""


def rewrite(module: Module, names: Names) -> Rewriting:
    """Change what a file uses of `names`, and nothing else in it.

    A name that is imported keeps its local name where the new one has another meaning in the
    file. Text in strings and comments stays, but for `__all__`.

    Raises:
        NotPythonError: it is not Python of this version.
    """
    try:
        parsed = cst.parse_module(module.data)
        bindings = _Bindings.of(parsed.code, module, names)
    except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
        raise NotPythonError(str(error)) from error
    wrapper = MetadataWrapper(parsed, unsafe_skip_copy=True)
    renamer = _Renamer(module, names, bindings)
    changed = wrapper.visit(renamer)
    if renamer.needed:
        changed = _with_imports(changed, renamer.needed)
    exported = {old: new for old, new in renamer.bindings.renamed.items() if old != new}
    return Rewriting(changed.bytes, tuple(sorted(set(renamer.lines))), exported)


@dataclass(frozen=True)
class _Bindings:
    """What the names of a file are bound to."""

    renamed: Mapping[str, str]
    """Local names of what is imported, and what they become."""
    used: frozenset[str]
    """Every name in the file."""

    @classmethod
    def of(cls, code: str, module: Module, names: Names) -> _Bindings:
        tree = ast.parse(code)
        imported: dict[str, str] = {}
        bound: set[str] = set()
        used: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom():
                    origin = absolute(node.module or "", node.level, module.package)
                    for alias in node.names:
                        target = changed(f"{origin}.{alias.name}", names)
                        new = target.rpartition(".")[2] if target else alias.name
                        if alias.asname is None and new != alias.name:
                            imported[alias.name] = new
                        else:
                            bound.add(alias.asname or alias.name)
                case ast.Import():
                    each = [a.asname or a.name.partition(".")[0] for a in node.names]
                    bound.update(each)
                case ast.Name():
                    used.add(node.id)
                    if not isinstance(node.ctx, ast.Load):
                        bound.add(node.id)
                case ast.arg():
                    bound.add(node.arg)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    bound.add(node.name)
                case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                    bound.add(node.name or "")
        used |= bound | set(imported)
        renamed = {
            old: old if old in bound or new in used else new
            for old, new in imported.items()
        }
        return cls(renamed, frozenset(used))


class _Renamer(cst.CSTTransformer):
    METADATA_DEPENDENCIES = (QualifiedNameProvider, PositionProvider)

    def __init__(self, module: Module, names: Names, bindings: _Bindings):
        super().__init__()
        self.module = module
        self.names = names
        self.bindings = bindings
        self.lines: list[int] = []
        self.needed: dict[str, str] = {}
        """Modules that have to be imported, and the names to bind them to."""

    # libcst names the methods of visitors after nodes.
    # ruff: noqa: N802
    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Import(
        self, original_node: cst.Import, updated_node: cst.Import
    ) -> cst.Import:
        aliases = []
        for alias in original_node.names:
            target = changed(_dotted(alias.name), self.names)
            if target is None:
                aliases.append(alias)
            else:
                self._note(original_node)
                aliases.append(alias.with_changes(name=_expression(target)))
        return updated_node.with_changes(names=aliases)

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement]:
        if isinstance(original_node.names, cst.ImportStar):
            return self._relocated(updated_node)
        level, text = len(original_node.relative), _dotted(original_node.module)
        origin = absolute(text, level, self.module.package)
        groups: dict[str, list[cst.ImportAlias]] = {}
        for alias in original_node.names:
            name = _dotted(alias.name)
            target = changed(f"{origin}.{name}", self.names)
            if target is None:
                groups.setdefault(origin, []).append(alias)
                continue
            self._note(original_node)
            module, _, attribute = target.rpartition(".")
            groups.setdefault(module, []).append(self._alias(alias, name, attribute))
        found = [
            self._placed(updated_node, module, aliases)
            for module, aliases in groups.items()
        ]
        return found[0] if len(found) == 1 else cst.FlattenSentinel(found)

    def _alias(
        self, alias: cst.ImportAlias, name: str, attribute: str
    ) -> cst.ImportAlias:
        """An alias of what is called otherwise now."""
        if attribute == name:
            return alias
        kept = self.bindings.renamed.get(name, attribute) != attribute
        bound = cst.AsName(cst.Name(name)) if kept else None
        return alias.with_changes(
            name=cst.Name(attribute), asname=alias.asname or bound
        )

    def _placed(
        self, node: cst.ImportFrom, module: str, aliases: list[cst.ImportAlias]
    ) -> cst.ImportFrom:
        assert not isinstance(node.names, cst.ImportStar)
        if len(aliases) < len(node.names):
            last = aliases[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            aliases = [*aliases[:-1], last]
        node = node.with_changes(names=aliases)
        level, package = len(node.relative), self.module.package
        if module == absolute(_dotted(node.module), level, package):
            return self._relocated(node)
        if not level:
            return node.with_changes(module=_expression(module))
        return _relative(node, module, self.module.moved or package)

    def _relocated(self, node: cst.ImportFrom) -> cst.ImportFrom:
        """A relative import as it reads where the file is to be."""
        level, package = len(node.relative), self.module.package
        if not level or self.module.moved in ("", package):
            return node
        origin = absolute(_dotted(node.module), level, package)
        return _relative(node, origin, self.module.moved)

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        if len(updated_node.body) == len(original_node.body):
            return updated_node
        statements = [
            s.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            for s in updated_node.body
        ]
        first, *others = statements
        plain = cst.SimpleStatementLine([first])
        return cst.FlattenSentinel(
            [
                updated_node.with_changes(body=[first]),
                *(plain.with_changes(body=[s]) for s in others),
            ]
        )

    def leave_Name(
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        name = original_node.value
        if name in self.module.local and self._is_local(original_node, name):
            self._note(original_node)
            return updated_node.with_changes(value=self.module.local[name])
        if self._target(original_node) is not None:
            self._note(original_node)
            new = self.bindings.renamed.get(name, name)
            return updated_node.with_changes(value=new)
        return updated_node

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        # What follows a dot is no name of the scope.
        node = updated_node.with_changes(attr=original_node.attr)
        found = self._target(original_node)
        if found is None:
            return node
        self._note(original_node)
        old, new = found
        node = node.with_changes(attr=cst.Name(new.rpartition(".")[2]))
        above, target = old.rpartition(".")[0], new.rpartition(".")[0]
        if self.names.get(above, above) == target:
            # What it is in is the same, or has been changed itself.
            return node
        return node.with_changes(value=self._base(old, new, original_node.value))

    def _base(
        self, old: str, new: str, value: cst.BaseExpression
    ) -> cst.BaseExpression:
        """The expression of the module that a thing is in now."""
        module, text = new.rpartition(".")[0], get_full_name_for_node(value) or ""
        spelled = text.split(".")
        # Of what the first name stands for, all that is spelled out can be replaced.
        rest = old.split(".")[:-1][len(old.split(".")) - len(spelled) :]
        if len(spelled) > 1 and spelled[1:] == rest:
            wanted = module.split(".")[-len(rest) :]
            common = old.split(".")[: -len(rest) - 1] == module.split(".")[: -len(rest)]
            if common:
                return _expression(".".join([spelled[0], *wanted]))
        if module not in self.needed:
            name = module.rpartition(".")[2]
            while name in self.bindings.used or name in self.needed.values():
                name += "_"
            self.needed[module] = name
        return cst.Name(self.needed[module])

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        targets = [get_full_name_for_node(t.target) for t in original_node.targets]
        if targets != ["__all__"]:
            return updated_node
        return updated_node.with_changes(
            value=updated_node.value.visit(
                _Strings({**self.bindings.renamed, **self.module.local})
            )
        )

    def _target(self, node: cst.CSTNode) -> tuple[str, str] | None:
        """What a reference stands for, and what that becomes."""
        for found in self.get_metadata(QualifiedNameProvider, node, ()):
            if found.source is QualifiedNameSource.IMPORT:
                name = found.name
                if name.startswith("."):
                    level = len(name) - len(name.lstrip("."))
                    name = absolute(name[level:], level, self.module.package)
                if name in self.names:
                    return name, self.names[name]
        return None

    def _is_local(self, node: cst.CSTNode, name: str) -> bool:
        found = self.get_metadata(QualifiedNameProvider, node, ())
        return any(
            q.source is QualifiedNameSource.LOCAL and q.name == name for q in found
        )

    def _note(self, node: cst.CSTNode) -> None:
        place = self.get_metadata(PositionProvider, node)
        assert isinstance(place, CodeRange)
        self.lines.append(place.start.line)


class _Strings(cst.CSTTransformer):
    def __init__(self, names: Mapping[str, str]):
        super().__init__()
        self.names = names

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        new = self.names.get(str(original_node.evaluated_value))
        if new is None:
            return updated_node
        quote = original_node.quote
        return updated_node.with_changes(value=f"{quote}{new}{quote}")


def changed(name: str, names: Names) -> str | None:
    """What a dotted name becomes, or None: that of itself, or of the module it is in."""
    if name in names:
        return names[name]
    parent, _, last = name.rpartition(".")
    return f"{names[parent]}.{last}" if parent in names else None


def absolute(module: str, level: int, package: str) -> str:
    """The full name of a module that is imported from within a package."""
    if not level:
        return module
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - level + 1]
    return ".".join([*kept, *([module] if module else [])])


def _relative(node: cst.ImportFrom, module: str, package: str) -> cst.ImportFrom:
    """A relative import of a module from within a package."""
    ours, theirs = package.split("."), module.split(".")
    common = 0
    while common < min(len(ours), len(theirs)) and ours[common] == theirs[common]:
        common += 1
    rest = ".".join(theirs[common:])
    return node.with_changes(
        relative=[cst.Dot()] * (len(ours) - common + 1),
        module=_expression(rest) if rest else None,
    )


def _with_imports(module: cst.Module, needed: Mapping[str, str]) -> cst.Module:
    """A module with more imports, behind the last one of those at its top."""
    at = 0
    for index, statement in enumerate(module.body):
        if isinstance(statement, cst.SimpleStatementLine) and any(
            isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body
        ):
            at = index + 1
        elif at or not isinstance(statement, cst.SimpleStatementLine):
            break
    lines = [cst.parse_statement(_import_text(m, n)) for m, n in needed.items()]
    return module.with_changes(body=[*module.body[:at], *lines, *module.body[at:]])


def _import_text(module: str, name: str) -> str:
    parent, _, last = module.rpartition(".")
    bound = last if name == last else f"{last} as {name}"
    return f"from {parent} import {bound}" if parent else f"import {bound}"


def _dotted(node: cst.CSTNode | None) -> str:
    return "" if node is None else get_full_name_for_node(node) or ""


def _expression(dotted: str) -> cst.Name | cst.Attribute:
    first, *others = dotted.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in others:
        node = cst.Attribute(node, cst.Name(part))
    return node
