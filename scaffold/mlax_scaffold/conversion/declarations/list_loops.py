"""Loops of a constructor that append layers to a list."""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass, field

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.declarations.modules import (
    Modules,
    applied_to,
    is_layer,
)
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.first_passes import (
    first_pass,
    with_elements,
)
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    names,
    negated,
    replaced,
    statement,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class ListLoops:
    """Declares the layers of a loop."""

    builder: Builder
    translator: Translator
    modules: Modules
    sized: dict[int, ast.stmt]
    """The first loop that notes sizes down, by the loop that it was made of."""
    begun_with: dict[tuple[int, str], str]
    """What keeps the value that a local has before such a loop."""

    def without_keys(self, generator: ast.comprehension) -> None:
        """A loop over keys as one over their number."""
        raise NotImplementedError

    def appending(self, node: ast.stmt) -> list[tuple[str, list[ast.expr]]]:
        """The lists that a statement appends to, and what it appends."""
        raise NotImplementedError

    def _loop(
        self,
        attribute: str,
        loop: Loop,
        places: list[str] | None,
        suffix: str = "",
    ) -> list[ast.stmt]:
        """Declare the layers of a loop; the statements that call them."""
        builder, around = self.builder, self.translator.around
        node = cloned(loop.node)
        header = ast.comprehension(node.target, node.iter, [], 0)
        self.without_keys(header)
        inner = set(targets(header.target))
        for part in walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                inner.add(part.id)
        saved = {k: around.locals.pop(k) for k in inner if k in around.locals}
        before = self._rebound(inner, {**saved, **loop.bound})
        iterated = self.translator.expression(header.iter)
        layers: list[tuple[str, ast.Call, ast.expr | None]] = []
        steps: list[tuple[ast.expr | str, ast.expr | None]] = []
        for number, (given, condition) in enumerate(loop.appended):
            made = self.modules.made(given)
            test = (
                self.translator.expression(condition) if condition is not None else None
            )
            if isinstance(made, ast.Call) and is_layer(made):
                kind = _snake(ast.unparse(made.func).partition(":")[2])
                wanted = (
                    f"{attribute}_{suffix}_{kind}" if suffix else f"{attribute}_{kind}"
                )
                place = places[number] if places else builder.free(wanted)
                made.keywords = builder.keywords_of(made)
                builder.attributes[place] = Attribute(
                    "layers", ast.unparse(made.func), made
                )
                layers.append((place, made, test))
                steps.append((place, test))
            else:
                steps.append((made, test))
        used = {n for _, made, _ in layers for n in names(made)} & inner
        direct = used <= set(targets(header.target)) and not loop.later
        if not direct:
            builder.setup += before
            self._begin_again(loop.node, {t for s in before for t in targets(s)})
            sizes = self._sizes(node, header, iterated, layers, used, loop.place)
            builder.setup += sizes
            self.sized.setdefault(id(loop.node), builder.setup[-1])
        for place, call, _ in layers:
            made: ast.expr = call
            chosen = sorted(used & names(made)) if not direct else []
            generator = ast.comprehension(header.target, iterated, [], 0)
            if not direct:
                # The names of the loop's locals, which have other values by then.
                made = replaced(made, {u: name(f"own_{u}") for u in chosen})
                bound: ast.expr = ast.Tuple(
                    [ast.Name(f"own_{u}", ast.Store()) for u in chosen], ast.Store()
                )
                bound = bound.elts[0] if len(chosen) == 1 else bound  # type: ignore[attr-defined]
                generator = ast.comprehension(
                    bound if chosen else ast.Name("_", ast.Store()),
                    name(f"{place}_sizes"),
                    [],
                    0,
                )
            if direct:
                builder.attributes[place].first = builder.first_of([generator])
            else:
                builder.attributes[place].call = (
                    made if isinstance(made, ast.Call) else call
                )
                first = self._first_pass(used, header, iterated, node, loop.place)
                builder.attributes[place].first = {
                    f"own_{u}": first[u] for u in chosen if u in first
                }
            target = ast.Attribute(name("self"), place, ast.Store())
            value = ast.ListComp(made, [cloned(generator)])
            builder.setup.append(ast.Assign([target], value, lineno=0))
        around.locals.update(saved)
        return self._calling(loop, header, iterated, steps, layers)

    def _begin_again(self, node: ast.For, begun: set[str]) -> None:
        """Have a loop that is written again, for another list, begin with what it began with."""
        setup, first = self.builder.setup, self.sized.get(id(node))
        if first is None:
            return
        at = next(i for i, part in enumerate(setup) if part is first)
        bound = {t for part in setup[:at] for t in targets(part)}
        changed = {t for part in node.body for t in targets(part)} & bound - begun
        taken = {t for part in setup for t in targets(part)}
        for local in sorted(changed):
            kept = self.begun_with.get((id(node), local), "")
            if not kept:
                numbers = (f"first_{local}_{i}" for i in itertools.count(2))
                wanted = itertools.chain([f"first_{local}"], numbers)
                kept = next(n for n in wanted if n not in taken)
                self.begun_with[id(node), local] = kept
                setup.insert(at, statement(f"{kept} = {local}"))
            setup.append(statement(f"{local} = {kept}"))

    def _first_pass(
        self,
        used: set[str],
        header: ast.comprehension,
        iterated: ast.expr,
        node: ast.For,
        own: str,
    ) -> dict[str, ast.expr]:
        """What locals of a loop are in its first pass, where all that it appends to its list is made."""
        filled = [[place for place, _ in self.appending(part)] for part in node.body]
        places = [i for i, found in enumerate(filled) if own in found]
        ends = (places[0], places[-1]) if places else (0, 0)
        before: dict[str, ast.expr] = {}
        for part in self.builder.setup:
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                before[part.targets[0].id] = part.value
        made = first_pass(
            header.target,
            iterated,
            before,
            node.body[: ends[0]],
            self.translator.expression,
        )
        changed = {t for part in node.body[ends[0] : ends[1]] for t in targets(part)}
        return {k: with_elements(made[k], before) for k in made if k in used - changed}

    def _rebound(self, inner: set[str], saved: dict[str, ast.expr]) -> list[ast.stmt]:
        """Parameters that the loop changes begin as locals."""
        return [
            ast.Assign([ast.Name(k, ast.Store())], cloned(v), lineno=0)
            for k, v in saved.items()
            if k in inner
        ]

    def _sizes(
        self,
        node: ast.For,
        header: ast.comprehension,
        iterated: ast.expr,
        layers: list[tuple[str, ast.Call, ast.expr | None]],
        used: set[str],
        own: str,
    ) -> list[ast.stmt]:
        """The loop, which notes down the sizes of each layer."""
        remaining = list(layers)
        made: list[ast.stmt] = [
            statement(f"{place}_sizes = []") for place, _, _ in layers
        ]

        def rest(body: list[ast.stmt]) -> list[ast.stmt]:
            found: list[ast.stmt] = []
            for part in body:
                appending = self.appending(part)
                if appending:
                    for filled, given in appending:
                        for one in given if filled == own else []:
                            call = self.modules.made(one)
                            if (
                                isinstance(call, ast.Call)
                                and is_layer(call)
                                and remaining
                            ):
                                place, layer, _ = remaining.pop(0)
                                chosen = sorted(used & names(layer))
                                values = ", ".join(chosen)
                                text = values if len(chosen) == 1 else f"({values})"
                                found.append(statement(f"{place}_sizes.append({text})"))
                elif isinstance(part, ast.If) and any(
                    isinstance(p, ast.stmt) and self.appending(p) for p in walk(part)
                ):
                    # Every pass has its layer; whether it is called is up to the method.
                    found += branch(part.test, part.body)
                    found += branch(negated(part.test), part.orelse)
                else:
                    found += self.translator.statements([part])
            return found

        def branch(test: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
            """What a branch appends, noted down; its other statements are run where it is taken."""
            made: list[ast.stmt] = []
            changed: set[str] = set()
            for part in body:
                if self.appending(part) or isinstance(part, ast.If):
                    made += rest([part])
                    continue
                if changed & names(test):
                    self.builder.notes.refuse(
                        part,
                        f"`{ast.unparse(test)}` is no longer what it was here",
                        "change what a condition reads last in its branch",
                    )
                changed |= set(targets(part))
                made += self.translator.statements(
                    [ast.copy_location(ast.If(test, [part], []), part)]
                )
            return made

        body = rest(node.body)
        made.append(ast.For(header.target, cloned(iterated), body, [], lineno=0))
        return made

    def _settled(self, node: ast.expr) -> ast.expr:
        """An expression of a method, with what the locals of setup that it reads stand for."""
        known: dict[str, ast.expr] = {}
        several: set[str] = set()
        for part in self.builder.setup:
            bound = {*targets(part)}
            several |= bound & known.keys()
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    known[local] = value
                case _:
                    several |= bound
        told = {k: v for k, v in known.items() if k not in several}
        made = cloned(node)
        for _ in told:
            # One may be computed of others.
            made = replaced(made, told)
        return made

    def _calling(
        self,
        loop: Loop,
        header: ast.comprehension,
        iterated: ast.expr,
        steps: list[tuple[ast.expr | str, ast.expr | None]],
        layers: list[tuple[str, ast.Call, ast.expr | None]],
    ) -> list[ast.stmt]:
        called: list[ast.stmt] = []
        iterated = self._settled(iterated)
        steps = [(s, self._settled(t) if t is not None else None) for s, t in steps]
        singular = {place: f"{_last_word(place)}_" for place, _, _ in layers}
        for step, test in steps:
            call = name(singular[step]) if isinstance(step, str) else step
            assign = ast.Assign(
                [ast.Name("x", ast.Store())], applied_to(call, name("x")), lineno=0
            )
            called.append(ast.If(test, [assign], []) if test is not None else assign)
        tests = {n for _, test in steps if test is not None for n in names(test)}
        changed = tests & {t for part in loop.node.body for t in targets(part)}
        if changed:
            self.builder.notes.refuse(
                loop.node,
                f"whether a layer is there depends on `{min(changed)}`, which the loop changes",
                "let the condition read what the loop goes over",
            )
        bound = [ast.Name(singular[place], ast.Store()) for place, _, _ in layers]
        lists = [expression(f"self.{place}") for place, _, _ in layers]
        read = tests & set(targets(header.target))
        counter = _counter(header)
        counts = counter is not None and layers and read == {counter.id}
        if not counts and (read or not layers):
            bound.insert(0, header.target)  # type: ignore[arg-type]
            lists.insert(0, cloned(iterated))
        target: ast.expr = (
            bound[0] if len(bound) == 1 else ast.Tuple(list(bound), ast.Store())
        )
        source = lists[0] if len(lists) == 1 else ast.Call(name("zip"), list(lists), [])
        if counts and counter is not None:
            target = ast.Tuple([counter, target], ast.Store())
            source = ast.Call(name("enumerate"), [source], [])
        return [ast.For(target, source, called, [], lineno=0)]


@dataclass
class Item:
    """What a list of layers holds at one place."""

    value: ast.expr | Loop
    condition: ast.expr | None = None
    """On hyperparameters: where it does not hold, the list has nothing there."""


@dataclass
class Loop:
    """A loop that appends to a list of layers."""

    node: ast.For
    place: str
    """What the list is called there."""
    appended: list[tuple[ast.expr, ast.expr | None]] = field(default_factory=list)
    later: set[str] = field(default_factory=set)
    """What it assigns that is read after it."""
    bound: dict[str, ast.expr] = field(default_factory=dict)
    """What those of them stood for before it that are parameters."""


def _counter(header: ast.comprehension) -> ast.Name | None:
    """What counts the passes of a loop over `enumerate(...)`."""
    match header:
        case ast.comprehension(
            target=ast.Tuple(elts=[ast.Name() as counter, _]),
            iter=ast.Call(func=func, args=[_]),
        ) if is_name(func, "enumerate"):
            return counter
    return None


def _snake(text: str) -> str:
    from mlax_scaffold.reader.specs import module_name

    return module_name(text)


def _last_word(place: str) -> str:
    """The last word of a name, with the numbers behind it: `conv_2` of `blocks_conv_2`."""
    found = re.search(r"[A-Za-z]+[0-9]*(_[0-9]+)*$", place)
    return found[0] if found else place.strip("_")
