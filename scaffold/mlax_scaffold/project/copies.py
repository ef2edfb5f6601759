"""Specs that start as a copy of another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

_OF_MODULE_CLASSES = {"aliases", "module"}
"""What a definition says of its module class: its names are those of the other spec's."""


def copied(text: str, old: str, new: str) -> str:
    """The text of a spec with a definition renamed; comments and docs stay.

    What stands beside the definition and is not used by it is left out.
    """
    tree = _alone(cst.parse_module(text), old)
    return tree.visit(_Rename(old, new)).code


def _alone(tree: cst.Module, name: str) -> cst.Module:
    """A module with a definition, what it uses, and the imports that these use."""
    uses = {
        s.name.value: _names(s)
        for s in tree.body
        if isinstance(s, cst.ClassDef | cst.FunctionDef)
    }
    kept = set(_reached(name, uses))
    if kept == set(uses):
        return tree
    body = [
        s
        for s in tree.body
        if not isinstance(s, cst.ClassDef | cst.FunctionDef) or s.name.value in kept
    ]
    used = {n for s in body if not _is_import(s) for n in _names(s)}
    shortened = tree.with_changes(body=body).visit(_Imports(used))
    assert isinstance(shortened, cst.Module)
    return shortened


def _reached(name: str, uses: Mapping[str, set[str]]) -> Iterator[str]:
    """The definitions that one uses, itself among them."""
    seen, waiting = {name}, [name]
    while waiting:
        yield (found := waiting.pop())
        new = (uses[found] & set(uses)) - seen
        seen |= new
        waiting += new


def _names(node: cst.CSTNode) -> set[str]:
    """All names in it; those in texts are shapes, which name axes."""
    found: set[str] = set()

    class Names(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:  # noqa: N802 - as libcst calls it
            found.add(node.value)

    node.visit(Names())
    return found


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and all(
        isinstance(s, cst.Import | cst.ImportFrom) for s in node.body
    )


class _Imports(cst.CSTTransformer):
    """Leaves out what is imported from a module, and not used."""

    def __init__(self, used: set[str]) -> None:
        super().__init__()
        self.used = used

    def leave_ImportFrom(  # noqa: N802
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.RemovalSentinel:
        if isinstance(updated_node.names, cst.ImportStar):
            return updated_node
        names = [
            name
            for name in updated_node.names
            if (name.evaluated_alias or name.evaluated_name) in self.used
        ]
        if not names:
            return cst.RemoveFromParent()
        if len(names) == len(updated_node.names):
            return updated_node
        last = names[-1].with_changes(comma=updated_node.names[-1].comma)
        return updated_node.with_changes(names=[*names[:-1], last])


class _Rename(cst.CSTTransformer):
    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self.old = old
        self.new = new

    def leave_Name(  # noqa: N802
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.Name:
        renamed = original_node.value == self.old
        return updated_node.with_changes(value=self.new) if renamed else updated_node

    # Attributes, keywords and parameters are other names.
    def leave_Attribute(  # noqa: N802
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(  # noqa: N802
        self, original_node: cst.Arg, updated_node: cst.Arg
    ) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(  # noqa: N802
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def leave_ClassDef(  # noqa: N802
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef:
        keywords = [
            k
            for k in updated_node.keywords
            if k.keyword is None or k.keyword.value not in _OF_MODULE_CLASSES
        ]
        if len(keywords) == len(updated_node.keywords):
            return updated_node
        bases = updated_node.bases
        if keywords:
            last = keywords[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            keywords = [*keywords[:-1], last]
        else:
            bases = [b.with_changes(comma=cst.MaybeSentinel.DEFAULT) for b in bases]
        return updated_node.with_changes(bases=bases, keywords=keywords)
