"""Prints a spec: definitions as text in the language, with imports and the person's comments."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence

from mlax_scaffold.conversion.output.description import (
    Described,
    Field,
    Function,
    SpecText,
)
from mlax_scaffold.conversion.source.library import layer_place
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import targets
from mlax_scaffold.conversion.source.walking import located, walk

_MODULES = {
    "functools": "import functools",
    "operator": "import operator",
    "jnp": "import jax.numpy as jnp",
    "jax": "import jax",
    "lax": "from jax import lax",
    "math": "import math",
    "np": "import numpy as np",
}
_TYPES = re.compile(
    r"\b(Size|Sizes|Shape|Count|Positive|NonNegative|Probability|Decay|Activation|Function|Initializer|DotGeneral|ConvGeneralDilated|DType|Literal|Padding|Axis|Scheduled|Float|Int|Bool|PyTree|Key|Mask)\b"
)


class Printer:
    """Writes one spec."""

    def __init__(self, origin: Origin, library: str = "mlax_scaffold.specs"):
        self.origin, self.library = origin, library
        self.words: set[str] = set()
        self.modules: set[str] = set()
        self.layers: set[str] = set()
        self.losses: set[str] = set()

    def text(self, spec: SpecText) -> str:
        """The whole spec, as it is before it is formatted."""
        parts = [self._beside(node) for node in spec.beside]
        for definition in spec.definitions:
            if isinstance(definition, Described):
                parts.append(self._class(definition))
            else:
                parts.append(self._function(definition))
        imports = self._imports("\n".join(parts), spec.imports)
        return "\n\n\n".join([imports, *parts]) + "\n"

    def _imports(self, body: str, own: Iterable[str]) -> str:
        lines = [_MODULES[m] for m in sorted(self.modules)]
        if self.words:
            names = ", ".join(sorted(self.words))
            lines.append(f"from mlax_scaffold.spec import {names}")
        lines += [
            f"from {self.library}.{layer_place(layer)} import {layer}"
            for layer in sorted(self.layers)
        ]
        lines += [
            f"from {self.library}.loss.{loss} import {loss}"
            for loss in sorted(self.losses)
        ]
        for text in self._carried(body):
            if text not in lines:
                lines.append(text)
        return "\n".join([*lines, *own])

    def _carried(self, body: str) -> list[str]:
        """Imports of the file that what is printed uses."""
        try:
            tree = ast.parse(body)
        except SyntaxError:
            # What could not be carried over is listed.
            return []
        used = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
        found = []
        for node in self.origin.tree.body:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                known = {*self.modules, *self.words, *self.layers, *self.losses}
                if bound not in used or bound in known:
                    continue
                module = "." * getattr(node, "level", 0) + (
                    getattr(node, "module", "") or ""
                )
                if alias.name.startswith("__") or module == "__future__":
                    continue
                text = (
                    alias.name
                    if alias.asname is None
                    else f"{alias.name} as {alias.asname}"
                )
                if isinstance(node, ast.ImportFrom):
                    found.append(f"from {module} import {text}")
                else:
                    found.append(f"import {text}")
        return found

    # Definitions.

    def _class(self, definition: Described) -> str:
        self.words.add(definition.base)
        keywords = f", {definition.keywords}" if definition.keywords else ""
        lines = [f"class {definition.name}({definition.base}{keywords}):"]
        lines += _doc(definition.doc, "    ")
        blocks: list[list[str]] = []
        if definition.fields:
            blocks.append([self._field(f) for f in definition.fields])
        if definition.constants:
            blocks.append(
                [line for c in definition.constants for line in self._lines([c], 1)]
            )
        if definition.example:
            blocks.append([f"    examples = ({dict(definition.example)!r},)"])
        if definition.setup:
            blocks.append(
                ["    def setup(self):", *self._lines(list(definition.setup), 2)]
            )
        for method in definition.methods:
            blocks.append(self._lines([method], 1))
        for block in blocks:
            lines += ["", *block]
        return "\n".join(lines)

    def _function(self, definition: Function) -> str:
        self.words.add("function")
        node = definition.node
        positional = [
            self._argument(a, d)
            for a, d in zip(
                node.args.args,
                [None] * (len(node.args.args) - len(node.args.defaults))
                + list(node.args.defaults),
                strict=True,
            )
        ]
        lines = ["@function", f"def {definition.name}("]
        lines += [f"    {p}," for p in positional]
        if definition.fields:
            lines += ["    *,", *(self._field(f, ",") for f in definition.fields)]
        returns = (
            f" -> {self._expression(node.returns)}" if node.returns is not None else ""
        )
        lines.append(f"){returns}:")
        lines += _doc(definition.doc, "    ")
        lines += self._lines(node.body, 1)
        return "\n".join(lines)

    def _argument(self, argument: ast.arg, default: ast.expr | None) -> str:
        kind = (
            f": {self._expression(argument.annotation)}" if argument.annotation else ""
        )
        value = f" = {self._expression(default)}" if default is not None else ""
        return f"{argument.arg}{kind}{value}"

    def _field(self, field: Field, end: str = "") -> str:
        self.words |= set(_TYPES.findall(field.word))
        value = (
            f" = {self._expression(field.default)}" if field.default is not None else ""
        )
        comment = f"  #: {field.comment}" if field.comment else ""
        return f"    {field.name}: {field.word}{value}{end}{comment}"

    def _beside(self, node: ast.stmt) -> str:
        return "\n".join(self._lines([node], 0))

    # Statements, with the comments before and after them.

    def _lines(self, body: list[ast.stmt], depth: int) -> list[str]:
        lines: list[str] = []
        indent = "    " * depth
        line = -1
        for node in body:
            if getattr(node, "lineno", 0) != line and not _is_added(node):
                lines += [f"{indent}{c}" for c in self._before(node)]
            line = getattr(node, "lineno", 0)
            match node:
                case ast.If():
                    lines += self._if(node, depth, "if")
                case ast.For() | ast.While() | ast.With():
                    inner = node.body
                    node.body = [ast.Pass()]
                    head = self._text(node).split("\n")[0]
                    node.body = inner
                    lines += [f"{indent}{head}", *self._lines(inner, depth + 1)]
                case ast.FunctionDef():
                    inner = node.body
                    node.body = list[ast.stmt]((ast.Pass(),))
                    head = self._text(node).split("\n")
                    node.body = inner
                    lines += [f"{indent}{h}" for h in head if h.strip() != "pass"]
                    doc = ast.get_docstring(node)
                    rest = inner[1:] if doc else inner
                    lines += _doc(doc, indent + "    ") if doc else []
                    added = self._lines(rest, depth + 1)
                    lines += (
                        _without_first_comments(added) if _is_added(node) else added
                    )
                case _:
                    text = self._text(node).split("\n")
                    text[-1] += self._after(node)
                    lines += (
                        [
                            f"{indent}{line}" if i == 0 else line
                            for i, line in enumerate(text)
                        ]
                        if _string(node)
                        else [f"{indent}{line}" for line in text]
                    )
        return lines or [f"{indent}pass"]

    def _if(self, node: ast.If, depth: int, word: str) -> list[str]:
        indent = "    " * depth
        lines = [f"{indent}{word} {self._expression(node.test)}:"]
        lines += self._lines(node.body, depth + 1)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            return lines + self._if(node.orelse[0], depth, "elif")
        if node.orelse:
            lines += [f"{indent}else:", *self._lines(node.orelse, depth + 1)]
        return lines

    def _before(self, node: ast.stmt) -> list[str]:
        """Comments on the lines before a statement."""
        line = getattr(node, "lineno", 0) or 0
        found: list[str] = []
        comments = self.origin.comments
        while line > 1 and (comment := comments.get(line - 1)) and comment[1]:
            found.insert(0, comment[0])
            line -= 1
        return found

    def _after(self, node: ast.stmt) -> str:
        end = getattr(node, "end_lineno", None)
        comment = self.origin.comments.get(end) if end else None
        return f"  {comment[0]}" if comment and not comment[1] else ""

    def _text(self, node: ast.AST) -> str:
        return self._unmarked(ast.unparse(located(node)))

    def _expression(self, node: ast.expr | None) -> str:
        return "" if node is None else self._unmarked(ast.unparse(node))

    def _unmarked(self, text: str) -> str:
        """The text with words, layers and modules by their names; what they are is imported."""
        kinds = {
            "word": self.words,
            "layer": self.layers,
            "loss": self.losses,
            "module": self.modules,
        }

        def name(match: re.Match[str]) -> str:
            kind, given = match[1], match[2]
            kinds.get(kind, set()).add(given)
            return given

        made = re.sub(r"@(word|layer|loss|module|own):(\w+)", name, text)
        # What is left is a size that nothing tells, beside a note that says so.
        return re.sub(r"@\w+:(\d+)", r"unknown_\1", made)


def _is_added(node: ast.stmt) -> bool:
    """Whether a function stands in no file: all of it has the line of what calls it."""
    lines = {getattr(part, "lineno", 0) for part in getattr(node, "body", ())}
    several = isinstance(node, ast.FunctionDef) and len(node.body) > 1
    return several and lines == {node.lineno}


def _without_first_comments(lines: list[str]) -> list[str]:
    first = next((i for i, t in enumerate(lines) if t.strip()[:1] != "#"), 0)
    return lines[first:]


def _string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _doc(text: str, indent: str) -> list[str]:
    """A docstring."""
    raw = "r" if "\\" in text else ""
    text = text.replace('"""', "'''")
    lines = text.strip().split("\n")
    if len(lines) == 1:
        end = " " if lines[0].endswith('"') else ""
        return [f'{indent}{raw}"""{lines[0]}{end}"""']
    inner = [f"{indent}{line}".rstrip() for line in lines[1:]]
    return [f'{indent}{raw}"""{lines[0]}', *inner, f'{indent}"""']


def _words(node: ast.AST) -> set[str]:
    """Words, layers and modules that something reads, by the names that a spec has for them."""
    return {
        n.id.partition(":")[2]
        for n in walk(node)
        if isinstance(n, ast.Name)
        and n.id.startswith(("@word:", "@layer:", "@loss:", "@module:"))
    }


def renamed_functions(trees: Sequence[ast.AST], beside: Sequence[ast.stmt]) -> None:
    """Functions of a file with the names of words that a spec uses get other names, in place.

    Args:
        trees: all that the spec is printed of.
        beside: the functions, which are among these.
    """
    used = {word for tree in trees for word in _words(tree)}
    own = [p for p in beside if isinstance(p, ast.FunctionDef) and p.name in used]
    clash = {p.name for p in own}
    for function in own:
        function.name = f"{function.name}_"
    for tree in trees if clash else ():
        bound = {a.arg for a in walk(tree) if isinstance(a, ast.arg)}
        bound |= {*targets(tree)} if isinstance(tree, ast.stmt) else set()
        for node in walk(tree):
            if isinstance(node, ast.Name) and node.id in clash - bound:
                node.id = f"{node.id}_"


def renamed_locals(methods: Iterable[ast.FunctionDef]) -> None:
    """Locals with the names of words that the same method uses get other names."""
    for method in methods:
        used = _words(method)
        bound = {
            n.id
            for n in walk(method)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        } | {a.arg for a in walk(method) if isinstance(a, ast.arg)}
        clash = (used & bound) - set(dir(builtins)) | (used & bound)
        for node in walk(method):
            if isinstance(node, ast.Name) and node.id in clash:
                node.id = f"{node.id}_"
            elif isinstance(node, ast.arg) and node.arg in clash:
                node.arg = f"{node.arg}_"
