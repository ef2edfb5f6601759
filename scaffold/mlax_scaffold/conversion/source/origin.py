"""A file of somebody's code: its imports, what it defines, and its comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mlax_scaffold.conversion.source.class_constants import without_class_constants
from mlax_scaffold.conversion.source.deletions import (
    without_annotations,
    without_deletions,
    without_reversals,
    without_tuple_statements,
)
from mlax_scaffold.conversion.source.direct_names import without_direct_names
from mlax_scaffold.conversion.source.early_returns import without_early_returns
from mlax_scaffold.conversion.source.negations import without_negations
from mlax_scaffold.conversion.source.skipped_passes import without_skipped_passes
from mlax_scaffold.conversion.source.spread_keywords import without_spread_keywords
from mlax_scaffold.conversion.source.walking import walk
from mlax_scaffold.errors import UsageError
from mlax_scaffold.spelling import did_you_mean

Thing = ast.ClassDef | ast.FunctionDef
_SHORT = {
    "np": "numpy",
    "jnp": "jax.numpy",
    "flax.linen.activation": "flax.linen",
    "torch.functional": "torch.nn.functional",
    "torch.special": "torch",
    "torch.nn.parameter": "torch.nn",
}

_INNER = re.compile(
    r"^(optax|haiku)\._src\.\w+\."
    r"|^(flax\.linen)\.(?:linear|normalization|attention|stochastic|pooling|recurrent|"
    r"module|transforms)\."
    r"|^(flax\.nnx)\.nn\.(?:linear|normalization|attention|stochastic|recurrent|activations)\."
    r"|^(equinox)\._(?:module|enum|nn)\."
    r"|^(torch\.nn)\.modules\.(?:[a-z]+\.)?(?=[A-Z])"
)
"""Modules that libraries are made of, whose names are those of the whole library, too."""

DROP_PATH = "timm.layers.DropPath"
_SCALED = ["scale_by_keep"]


@dataclass(frozen=True)
class Origin:
    """The file, read and never run."""

    path: str
    text: str
    tree: ast.Module

    def forget(self, *found: str) -> None:
        """Find these properties anew: the tree that they were found in is another one now."""
        for name in found:
            self.__dict__.pop(name, None)

    @classmethod
    def read(cls, path: str, text: str) -> Origin:
        """Parse a file.

        Raises:
            UsageError: it is not Python.
        """
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None) or 1
            raise UsageError(
                f"{path}:{line}: this is not Python {_version()}: {error}; give a file "
                "that Python can read"
            ) from error
        without_annotations(tree)
        without_tuple_statements(tree)
        without_deletions(tree)
        without_reversals(tree)
        without_negations(tree)
        without_spread_keywords(tree)
        without_class_constants(tree)
        without_direct_names(tree)
        without_early_returns(tree)
        without_skipped_passes(tree)
        return cls(path, text, tree)

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What each imported name stands for, in full."""
        found: dict[str, str] = {}
        for node in walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    full = f"{module}.{alias.name}".replace("..", ".", 0)
                    found[alias.asname or alias.name] = _public(_SHORT.get(full, full))
        return found

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes of the module."""
        return {n.name: n for n in self.tree.body if isinstance(n, ast.ClassDef)}

    def lift(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        """Know a class or a function that stands in a function as one of the module."""
        if node.name not in {*self.classes, *self.functions}:
            self.tree.body.append(node)
            vars(self).pop("classes")
            vars(self).pop("functions")

    @cached_property
    def functions(self) -> Mapping[str, ast.FunctionDef]:
        """The functions of the module."""
        return {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef)}

    @cached_property
    def assigned(self) -> Mapping[str, ast.Assign | ast.AnnAssign]:
        """The constants of the module, by name."""
        found: dict[str, ast.Assign | ast.AnnAssign] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                if isinstance(node.targets[0], ast.Name):
                    found[node.targets[0].id] = node
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[node.target.id] = node
        return found

    @cached_property
    def comments(self) -> Mapping[int, tuple[str, bool]]:
        """The comments by line, with whether one stands alone in its line; none beside imports."""
        found: dict[int, tuple[str, bool]] = {}
        lines = self.text.splitlines()
        imports = re.compile(r"(import|from)\s")
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT:
                    line, column = token.start
                    alone = not lines[line - 1][:column].strip()
                    if not imports.match(lines[line - 1]):
                        found[line] = (token.string, alone)
        except (tokenize.TokenError, IndentationError):
            pass
        return found

    @cached_property
    def tried(self) -> dict[str, tuple[int, ...]]:
        """The shape of the input that a constructor tries its layers with, by class."""
        return {}

    @cached_property
    def copied(self) -> Mapping[str, str]:
        """Classes that are copies of one of a library, by the full name of that one."""
        return {n: DROP_PATH for n, c in self.classes.items() if self._drops(c)}

    def _drops(self, node: ast.ClassDef) -> bool:
        """Whether a class is the stochastic depth that image models carry along."""
        if node.name != "DropPath":
            return False
        methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        start, call = methods.get("__init__"), methods.get("forward")
        if start is None or call is None:
            return False
        given = [a.arg for a in start.args.args[1:]]
        used = {n.id for n in walk(call) if isinstance(n, ast.Name)}
        bodies = [call, *(self.functions[f] for f in used if f in self.functions)]
        text = "\n".join(map(ast.unparse, bodies))
        draws = ".bernoulli_(" in text or "torch.rand(" in text
        return draws and given[:1] == ["drop_prob"] and given[1:] in ([], _SCALED)

    def thing(self, name: str) -> Thing:
        """What is called so in the file.

        Raises:
            UsageError: nothing is.
        """
        found = self.classes.get(name) or self.functions.get(name)
        if found is None:
            known = (*self.classes, *self.functions)
            hint = did_you_mean(name, known) or (
                f"it has {', '.join(known)}" if known else "it has no class or function"
            )
            raise UsageError(f"{self.path} defines no class or function {name}: {hint}")
        return found

    def qualified(self, node: ast.AST) -> str:
        """The full dotted name of an expression that is one of an import, or ""."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        known = {**self.imports, **self.copied}
        if not isinstance(node, ast.Name) or node.id not in known:
            return ""
        full = _public(".".join((known[node.id], *reversed(parts))))
        for short, long in _SHORT.items():
            if full.startswith(f"{short}."):
                return long + full[len(short) :]
        return full

    def name_of(self, module: str) -> str:
        """What the file calls a module, or "" where it does not import it by a name."""
        return next((n for n, full in self.imports.items() if full == module), "")

    def uses(self, package: str) -> bool:
        """Whether the file imports something of a package."""
        return any(f.partition(".")[0] == package for f in self.imports.values())

    def bases(self, node: ast.ClassDef) -> set[str]:
        """The full names of the classes that a class is built on, directly or not."""
        found: set[str] = set()
        for base in node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            own = self.classes.get(inner.id) if isinstance(inner, ast.Name) else None
            if own is not None and own is not node:
                found |= self.bases(own)
            else:
                found.add(self.qualified(inner) or ast.unparse(inner))
        return found


def _public(full: str) -> str:
    """The name that a library has for what one of the modules that it is made of holds."""
    return _INNER.sub(lambda m: f"{m[m.lastindex or 0]}.", full)


def _version() -> str:
    import sys

    return f"{sys.version_info.major}.{sys.version_info.minor}"
