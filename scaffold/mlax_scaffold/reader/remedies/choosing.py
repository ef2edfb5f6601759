"""Branches on traced values, as choices between what they make: `jnp.where(condition, a, b)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import (
    blocks,
    bound_before,
    chain_of,
    inside,
    is_elif,
    names_in,
    stored_in,
)
from mlax_scaffold.reader.remedies.branch_values import Branches, NoChoice, Values
from mlax_scaffold.reader.remedies.changed_states import changes_states
from mlax_scaffold.reader.remedies.names import of_jax, word
from mlax_scaffold.reader.remedies.truths import as_operations, is_kept_truth
from mlax_scaffold.reader.source import Source, dotted

_WIDTH = 88
_PAIRS = {"max": "maximum", "min": "minimum"}


def chosen(source: Source, found: ast.AST) -> Fix | None:
    """The branch that a traced value decides as a choice between two values.

    So are an `if` whose branches return or assign a value, `a if condition else b`, and `max` and `min` of
    two values; `a and b` of what is kept is an operation. None where a branch does anything else.

    Args:
        source: the spec.
        found: the expression whose truth is asked for, or the choice itself where that is a name.
    """
    jnp = of_jax(source, "jnp")
    lax, trees = of_jax(source, "lax"), word(source, "tree_where")
    for function in walk(source.tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        choice = _Choice(
            source=source,
            function=function,
            jnp=jnp.bound,
            lax=lax.bound,
            trees=trees.bound,
        )
        for node in walk(function):
            made = None
            match node:
                case ast.If(test=test) if found is node or found in walk(test):
                    made = choice.of(node)
                case ast.IfExp(test=test) if found is node or found in walk(test):
                    text = choice.expression(node, {})
                    made = text and [source.edit(node, text)]
                case ast.Call(
                    func=ast.Name(id=name), args=[first, second], keywords=[]
                ) if found is node and name in _PAIRS:
                    texts = map(source.text_of, (first, second))
                    text = f"{jnp.bound}.{_PAIRS[name]}({', '.join(texts)})"
                    made = [source.edit(node, text)]
                case ast.expr() if found is node and is_kept_truth(node, function):
                    text = as_operations(source, node, jnp.bound)
                    made = [source.edit(node, text)]
            if made:
                texts = "".join(edit.text for edit in made)
                called = f"{jnp.bound}.", f"{lax.bound}.cond(", f"{trees.bound}("
                pairs = zip(called, (jnp, lax, trees), strict=True)
                return Fix(tuple(made), tuple(n for c, n in pairs if c in texts))
    return None


def _is_tree(text: str) -> bool:
    """Whether an expression maps a tree, of a choice of whose leaves `jnp.where` is none."""
    match ast.parse(f"({text})", mode="eval").body:
        case ast.Call(func=called):
            return (dotted(called) or "").endswith(("tree.map", "tree_map"))
    return False


def _attributes(statements: Iterable[ast.stmt]) -> set[str]:
    """What statements set of self: states, and moments."""
    return {name for name in stored_in(statements) if "." in name}


def _ends(statement: ast.stmt) -> bool:
    """Whether a function has returned behind a statement, or has raised."""
    match statement:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=[*_, first], orelse=[*_, last]):
            return _ends(first) and _ends(last)
    return False


@dataclass(kw_only=True)
class _Choice(Branches):
    """Writes the choices of one function."""

    jnp: str
    """The name of jax.numpy."""
    trees: str
    """The name of `tree_where`."""
    lax: str
    """The name of jax.lax."""
    asked: ast.If | None = None
    """The one whose condition is traced, whatever it reads."""
    kept: list[str] = field(default_factory=list)
    """Names of conditions that stand before what changes their values."""

    def of(self, node: ast.If) -> list[Edit] | None:
        """The edits that make a choice of a statement."""
        self.asked = node
        block = next(b for b in blocks(self.function) if node in b)
        rest = block[block.index(node) :]
        try:
            if is_elif(self.source, node):
                return None
            if any(isinstance(n, ast.Return) for n in inside(node)):
                return self._returned(rest)
            return self._assigned(node)
        except NoChoice:
            return None

    def expression(self, node: ast.IfExp, values: Values) -> str | None:
        """`a if condition else b`."""
        parts = [self.read(n, values) for n in (node.body, node.orelse)]
        return self._where(self._condition(node.test), *map(self.text, parts), indent=0)

    # Branches that return

    def _returned(self, rest: Sequence[ast.stmt]) -> list[Edit]:
        exits: list[tuple[str, str]] = []
        edits: list[Edit] = []
        for number, statement in enumerate(rest):
            indent = statement.col_offset
            if isinstance(statement, ast.If) and self._is_traced(statement):
                branches, otherwise = chain_of(statement)
                self.lines = []
                after = [] if otherwise else rest[number + 1 :]
                if _attributes([statement, *after]):
                    if otherwise or exits or len(branches) > 1:
                        raise NoChoice
                    return self._left_early(statement, after)
                made = [(c, self._value(body, {})) for c, body in branches]
                pairs = [(self._condition(c), self.text(v)) for c, v in made]
                if otherwise:
                    last = self.text(self._value(otherwise, {}))
                    text = self._all([*exits, *pairs], last, indent)
                    self.lines.append(f"return {text}")
                elif number + 1 == len(rest):
                    raise NoChoice
                else:
                    read = [n for c, v in made for n in (c, v)]
                    if names_in(read) & stored_in(rest[number + 1 :]):
                        pairs = [self._kept(*pair) for pair in pairs]
                    exits += pairs
                    later = (n for s in rest[number + 1 :] for n in (s, *inside(s)))
                    plain = (n for n in later if isinstance(n, ast.Assign | ast.Expr))
                    if changes_states(self.scope, plain):
                        raise NoChoice
                edits.append(self._instead(statement, self.lines))
                if otherwise:
                    return edits
                continue
            for inner in [statement, *inside(statement)]:
                if isinstance(inner, ast.Return):
                    value = inner.value
                    if value is None or isinstance(value, ast.Tuple):
                        raise NoChoice
                    last = self.source.text_of(value)
                    if exits and changes_states(self.scope, [value]):
                        self.changing.add(last)
                    text = self._all(exits, last, indent)
                    edits.append(self.source.edit(value, text))
        if not _ends(rest[-1]):
            raise NoChoice
        return edits

    def _left_early(self, node: ast.If, rest: Sequence[ast.stmt]) -> list[Edit]:
        """The edits where what is kept of a step, `self.m = ...`, depends on whether it ends before.

        All that follows is computed, and what it sets is set back.
        """
        returns = [n for s in rest for n in walk(s) if isinstance(n, ast.Return)]
        match rest:
            case [*_, ast.Return(value=ast.expr() as value) as last] if not (
                returns != [last] or isinstance(value, ast.Tuple)
            ):
                pass
            case _:
                raise NoChoice
        values: Values = {}
        early = self.text(self._value(node.body, values))
        if changes_states(self.scope, rest):
            raise NoChoice
        condition, result = self._kept(self._condition(node.test), early)
        back = []
        for name in sorted(_attributes([node, *rest])):
            local = f"early_{name.removeprefix('self.')}"
            self.line(local, values.get(name, ast.Name(name, ast.Load(), lineno=0)))
            chosen = f"{self.jnp}.where({condition}, {local}, {name})"
            back.append(f"{name} = {chosen}")
        text = self.source.text_of(value)
        back.append(
            f"return {self._where(condition, result, text, last.col_offset, 7)}"
        )
        return [self._instead(node, self.lines), self._instead(last, back)]

    def _kept(self, condition: str, value: str) -> tuple[str, str]:
        """A condition and a value under names of their own, as what they read changes below."""
        taken = {n.id for n in walk(self.source.tree) if isinstance(n, ast.Name)}
        pairs = ((f"is_early{n}", f"early{n}") for n in ("", *range(2, 99)))
        names = next(p for p in pairs if not {*p} & {*taken, *self.kept})
        if value in self.changing:
            raise NoChoice
        self.kept.append(names[0])
        self.lines += [f"{names[0]} = {condition}", f"{names[1]} = {value}"]
        return names

    def _value(self, body: Sequence[ast.stmt], values: Values) -> ast.expr:
        """What a branch returns."""
        self.run(body[:-1], body, values)
        match last := body[-1]:
            case ast.Return(value=ast.expr() as value) if not isinstance(
                value, ast.Tuple
            ):
                return self.read(value, values)
            case ast.If(orelse=[_, *_]):
                branches, otherwise = chain_of(last)
                if _attributes([last]):
                    raise NoChoice
                self.settle(values, values)
                found = self._value(otherwise, dict(values))
                for test, inner in reversed(branches):
                    value = self._value(inner, dict(values))
                    found = self._choice(last, test, value, found)
                return found
        raise NoChoice

    def _choice(
        self, node: ast.If, test: ast.expr, value: ast.expr, other: ast.expr
    ) -> ast.expr:
        if not self._is_traced(node):
            return ast.IfExp(test, value, other)
        text = self._where(self._condition(test), self.text(value), self.text(other), 0)
        made = ast.parse(text, mode="eval").body
        made.lineno = 0
        return made

    # Branches that assign

    def _assigned(self, node: ast.If) -> list[Edit]:
        branches, otherwise = chain_of(node)
        made: list[Values] = []
        for body in (*(b for _, b in branches), otherwise):
            made.append({})
            self.run(body, body, made[-1])
        names = list(dict.fromkeys(name for values in made for name in values))
        before = bound_before(self.function, node)
        for values in made:
            if any(n not in values and n not in before for n in names):
                raise NoChoice
        tests = [test for test, _ in branches]
        conditions = [self._condition(test) for test in tests]
        read: set[str] = set()
        first: dict[str, str] = {}
        for name in reversed(names):
            if name in read:
                # Below it, the name holds what is new.
                first[name] = self.free(name)
            read |= names_in([*tests, *(v[name] for v in made if name in v)])
        for name in names:
            *chosen, last = (self.text(v[name]) if name in v else name for v in made)
            pairs = list(zip(conditions, chosen, strict=True))
            target = first.get(name, name)
            start = len(f"{target} = ")
            text = self._all(pairs, last, node.col_offset, start)
            self.lines.append(f"{target} = {text}")
        self.lines += [f"{name} = {new}" for name, new in first.items()]
        if not names:
            raise NoChoice
        return [self._instead(node, self.lines)]

    # Texts

    def _condition(self, test: ast.expr) -> str:
        return as_operations(self.source, test, self.jnp)

    def _all(
        self, pairs: Sequence[tuple[str, str]], last: str, indent: int, start: int = 7
    ) -> str:
        """The value of the first condition that holds, else the last one."""
        text = last
        for number, (condition, value) in reversed(list(enumerate(pairs))):
            depth = indent + 4 * number
            text = self._where(
                condition, value, text, depth, start if not number else 0
            )
        return text

    def _where(
        self, condition: str, value: str, other: str, indent: int, start: int = 0
    ) -> str:
        parts = [condition, value, other]
        where = f"{self.jnp}.where"
        if any(map(_is_tree, (value, other))):
            where = self.trees
        if any(text in part for text in self.changing for part in (value, other)):
            # A branch that is not chosen leaves states as they are.
            where = f"{self.lax}.cond"
            parts = [condition, f"lambda: {value}", f"lambda: {other}"]
        line = f"{where}({', '.join(parts)})"
        short = "\n" not in line and len(line) + indent + start <= _WIDTH
        if short or not start + indent:
            return line
        margin = " " * (indent + 4)
        inner = "".join(f"{margin}{part},\n" for part in parts)
        return f"{where}(\n{inner}{' ' * indent})"

    def _instead(self, node: ast.stmt, lines: Sequence[str]) -> Edit:
        margin = "\n" + " " * node.col_offset
        if lines:
            return self.source.edit(node, margin.join(lines))
        return self.source.replace(
            (node.lineno, 1), ((node.end_lineno or node.lineno) + 1, 1), ""
        )

    def _is_traced(self, node: ast.If) -> bool:
        """Whether inputs decide a branch, or what is made of them."""
        static = {"math", *(a.arg for a in self.function.args.kwonlyargs)}
        read = names_in(test for test, _ in chain_of(node)[0])
        return node is self.asked or any("self" not in n for n in read - static)
