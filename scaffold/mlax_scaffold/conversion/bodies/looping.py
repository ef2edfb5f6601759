"""Loops of bodies, and the sizes that change from pass to pass."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.bodies.last_passes import after_loop, growth
from mlax_scaffold.conversion.bodies.parallel_lists import with_shared_passes
from mlax_scaffold.conversion.bodies.repeating import Repeating
from mlax_scaffold.conversion.lists.known_kinds import with_known_kinds
from mlax_scaffold.conversion.lists.literal_loops import layer_passes, literal_passes
from mlax_scaffold.conversion.shapes.repeated_sizes import passes
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.values import Array, Each, Loop, Number, Value
from mlax_scaffold.conversion.source.loop_parts import (
    iterated_over,
    one_of,
)
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_name,
    literal,
    name,
    names,
    replaced,
    same,
    self_attribute,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def _begins_with(node: ast.expr) -> ast.expr:
    """The list that a part of one, `layers[:-1]`, begins with; anything else as it is."""
    match node:
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, step=None)):
            return value
    return node


def _of_passes(node: ast.stmt) -> bool:
    """Whether a declaration makes a layer for each pass of a loop."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.ListComp)


_ENTRIES = ("width", "before", "size_before", "features_before")
"""What the size that a pass begins with is called; one that the loop does not have."""


class Looping(Repeating):
    """Loops."""

    def _for(self, node: ast.For) -> list[ast.stmt]:
        unrolled = self._unrolled(node)
        if unrolled is None and self.builder.framework in ("flax", "haiku"):
            unrolled = literal_passes(node)
        unrolled = unrolled or layer_passes(node)
        if unrolled is not None:
            return self.statements(unrolled)
        iterated, source = self.value(node.iter)
        node.iter = iterated
        self._bind_items(node.target, iterated, source)
        bound = node.target
        match node.target, iterated:
            case (
                ast.Tuple(elts=[_, inner]),
                ast.Call(func=ast.Name(id="enumerate"), args=[counted, *_]),
            ):
                bound, source = inner, self.value(counted)[1]
        if isinstance(source, Each):
            self.bind(bound, source.first)
        outer, self.loop = self.loop, node
        assigned = {t for part in node.body for t in targets(part)}
        varying: dict[str, tuple[ast.Name, ast.expr]] = {}
        if self.builder.framework in ("flax", "haiku"):
            for local in assigned:
                value = self.env.get(local)
                if isinstance(value, Number):
                    # It is another number in the next pass, or one that each pass binds.
                    self.env[local] = None
                if (
                    isinstance(value, Array)
                    and self.symbols.axis(value, -1) is not None
                ):
                    entry = self.symbols.fresh("width")
                    varying[local] = (entry, value.axes[-1])
                    axes = [*value.axes[:-1], entry]
                    self.env[local] = value.like(axes)
        listed_before = set(self.builder.attributes)
        before = {k: v for k, v in self.env.items() if k in assigned}
        count = passes(self._listed(node))
        self._kept_passes(node)
        node.body = self.statements(node.body)
        self.loop = outer
        self._repeat(before, count)
        if isinstance(source, Each) and not source.alike:
            # What the last pass leaves has other sizes than what the first one does.
            self.env |= dict.fromkeys(assigned)
        new = [a for a in self.builder.attributes if a not in listed_before]
        gone = [
            v.attribute
            for t in targets(node.target)
            if isinstance(v := self.env.get(t), Loop)
        ]
        with_shared_passes(node, self.builder.setup, gone, self.symbols.find)
        self._vary(self._listed(node), varying)
        made = [a for a in new if self.builder.attributes[a].kind == "layers"]
        if made and outer is not None:
            self.builder.notes.refuse(
                node,
                f"`for {ast.unparse(node.target)} in {ast.unparse(node.iter)}` makes layers in a loop",
                "those of each pass of the outer loop are others: make a class of the inner loop",
            )
        if new:
            self._zip(node, new)
        node.orelse = self.statements(node.orelse)
        return [node] if node.body else []

    def _unrolled(self, node: ast.For) -> list[ast.stmt] | None:
        """A loop over a sequence of different layers: their call, or a pass for each."""
        source, index = node.iter, None
        if (
            isinstance(node.target, ast.Tuple)
            and isinstance(source, ast.Call)
            and is_name(source.func, "enumerate")
        ):
            index, source = node.target.elts[0], source.args[0]
        part = source.slice if isinstance(source, ast.Subscript) else None
        attribute = self_attribute(
            source.value if isinstance(source, ast.Subscript) else source
        )
        known = self.builder.attributes.get((attribute or "").removeprefix("_"))
        if known is None or known.kind != "sequence":
            return None
        elements = known.elements
        if isinstance(part, ast.Slice):
            ends = (part.lower, part.upper)
            low, high = (literal(e) if e is not None else None for e in ends)
            elements = elements[low:high]  # type: ignore[misc]
        body = node.body[0] if len(node.body) == 1 else None
        whole = part is None and index is None
        value = body.value if whole and isinstance(body, ast.Assign) else None
        if (
            isinstance(body, ast.Assign)
            and isinstance(value, ast.Call)
            and is_name(value.func, ast.unparse(node.target))
            and [ast.unparse(t) for t in body.targets]
            == [ast.unparse(a) for a in (*value.args, *value.keywords)]
        ):
            value.func = source
            return node.body
        target = (
            node.target.elts[-1] if isinstance(node.target, ast.Tuple) else node.target
        )
        if known.repeated and part is None and isinstance(target, ast.Name):
            element, places = known.repeated
            node.target, node.iter = ast.Name("_", ast.Store()), cloned(places)
            if index is not None:
                node.target = ast.Tuple([index, node.target], ast.Store())
                node.iter = ast.Call(name("enumerate"), [node.iter], [])
            node.body = [with_names(s, {target.id: element}) for s in node.body]
            return [node]
        if not elements or not isinstance(target, ast.Name):
            place = (attribute or "").removeprefix("_")
            self.builder.notes.refuse(
                node,
                f"a loop over `self.{place}`, which holds layers of several kinds, is not followed",
                "call each layer as in `x = layer(x)`, or make a list for each kind",
            )
            return None
        passes: list[ast.stmt] = []
        for number, element in enumerate(elements):
            parts = {target.id: element}
            if isinstance(index, ast.Name):
                parts[index.id] = ast.Constant(number)
            at = _At(str(attribute), number, element)
            passes += [at.visit(with_names(cloned(s), parts)) for s in node.body]
        return with_known_kinds(self.builder.origin, passes, self.builder.mark_of)

    def _bind_items(self, target: ast.expr, iterated: ast.expr, source: Value) -> None:
        parts, bound = [iterated], [target]
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
            title, given = iterated.func.id, iterated.args
            if title == "zip" and isinstance(target, ast.Tuple):
                parts, bound = given, target.elts
            elif title == "enumerate" and isinstance(target, ast.Tuple):
                inner, [counter, *rest] = given[0], target.elts
                self.env |= {t: Number(name(t)) for t in targets(counter)}
                if len(rest) == 1 and isinstance(rest[0], ast.Tuple):
                    # `enumerate(zip(a, b))`
                    return self._bind_items(rest[0], inner, source)
                parts, bound = [inner], rest
            elif title == "reversed":
                parts = given
        for part, place in zip(parts, bound, strict=False):
            each = self.env.get(part.id) if isinstance(part, ast.Name) else None
            if isinstance(each, Each) and isinstance(place, ast.Name):
                self.env[place.id] = each.first
                continue
            attribute = self_attribute(_begins_with(part))
            known = self.builder.attributes.get(attribute or "")
            if (
                known is not None
                and known.kind == "layers"
                and isinstance(place, ast.Name)
            ):
                self.env[place.id] = Loop(str(attribute))
            else:
                for local in targets(place):
                    self.env[local] = Number(name(local))

    def each_of(self, node: ast.expr) -> Value:
        """What a comprehension makes of each array of a list."""
        match node:
            case (
                ast.ListComp(elt=elt, generators=[one])
                | ast.GeneratorExp(elt=elt, generators=[one])
            ) if not one.ifs:
                pass
            case _:
                return None
        given = [self.env.get(n) for n in names(one.iter)]
        if not any(isinstance(value, Each) for value in given):
            return None
        outer, self.env, along = self.env, dict(self.env), None
        self._bind_items(one.target, one.iter, None)
        if isinstance(one.target, ast.Name) and isinstance(one.iter, ast.Name):
            [each, *_] = (v for v in given if isinstance(v, Each))
            self.env[one.target.id], along = each.first, each.along
        _, value = self.value(cloned(elt))
        self.env = outer
        return Each(value, False, along) if isinstance(value, Array) else None

    def popped(self, local: str) -> Value:
        """What a loop takes off a list that another one filled, the last first."""
        before = self.appended.get(local)
        if before is None or before.after or self.loop is None:
            return None
        filling, value = before.loop, before.value
        turned = expression("reversed(s)", s=filling.iter)
        if not isinstance(value, Array) or not same(turned, self.loop.iter):
            return None
        places = list(targets(filling.target)), list(targets(self.loop.target))
        if len(places[0]) != 1 or len(places[1]) != 1 or not value.axes:
            return None
        # How high and wide it is changes from pass to pass.
        axes = [self.symbols.fresh("_") for _ in value.axes[:-1]]
        last = replaced(value.axes[-1], {places[0][0]: name(places[1][0])})
        return value.like([*axes, last])

    def _listed(self, node: ast.For) -> ast.For:
        """The loop over what a list of layers was made of, where a loop goes over the list."""
        for place in targets(node.target):
            value = self.env.get(place)
            for part in self.builder.setup:
                if (
                    isinstance(value, Loop)
                    and isinstance(part, ast.Assign)
                    and self_attribute(part.targets[0]) == value.attribute
                    and isinstance(part.value, ast.ListComp)
                ):
                    generator = part.value.generators[0]
                    return ast.For(
                        cloned(generator.target),
                        cloned(generator.iter),
                        [],
                        [],
                    )
        return node

    def _vary(
        self,
        node: ast.For,
        varying: dict[str, tuple[ast.Name, ast.expr]],
    ) -> None:
        """Sizes that another one takes the place of in each pass."""
        for local, (entry, first) in varying.items():
            after = self.env.get(local)
            if not isinstance(after, Array) or not after.axes:
                continue
            found = self.symbols.find(entry)
            last = self.symbols.find(after.axes[-1])
            if not is_symbol(found):
                # The body says what it is: that is so from the beginning.
                self.symbols.equal(first, found)
                continue
            if ast.unparse(found) == ast.unparse(last):
                self.symbols.equal(entry, first)
                continue
            reading = self._reading(entry)
            if any(not _of_passes(part) for part in reading):
                # One layer is called in each pass: what it returns is what it takes.
                self.symbols.equal(entry, last)
                self.symbols.equal(first, last)
                continue
            if reading:
                growing = growth(entry, last, node)
                if growing is not None:
                    grown, times = growing
                    self._grow(entry, first, grown)
                    final = expression("a + n * g", a=first, g=grown, n=times)
                    self.env[local] = after.like([*after.axes[:-1], folded(final)])
                    continue
                generator = ast.comprehension(
                    cloned(node.target), cloned(node.iter), [], 0
                )
                others = ast.ListComp(cloned(last), [generator])
                star = ast.Starred(iterated_over(node, last) or others, ast.Load())
                taken = {*targets(node.target), *self.builder.fields}
                local_ = next(n for n in _ENTRIES if n not in taken)
                self._widths(entry, local_, ast.Tuple([first, star], ast.Load()))
            final = after_loop(last, node) or self.symbols.fresh("features")
            self.env[local] = after.like([*after.axes[:-1], final])

    def _reading(self, entry: ast.Name) -> list[ast.stmt]:
        """The declarations that an unknown size is read in."""
        return [
            part
            for part in self.builder.setup
            if any(
                is_name(inner, entry.id)
                for unknown in walk(part)
                if is_symbol(unknown)
                for inner in walk(self.symbols.find(unknown))  # type: ignore[arg-type]
            )
        ]

    def _kept_passes(self, node: ast.For) -> None:
        """Keep in mind how far a loop counts, for the axes that it goes along."""
        match node:
            case ast.For(
                target=ast.Name(id=local), iter=ast.Call(func=func, args=[count])
            ) if is_name(func, "range") and self_attribute(count):
                self.symbols.passes[local] = count

    def _number(self, node: ast.For, lists: list[str]) -> None:
        """The loop asks lists that may not be there for their layers, by the number of the pass."""
        taken = {n for part in node.body for n in names(part)} | {*targets(node.target)}
        number = next(n for n in ("number", "at", "pass_number") if n not in taken)
        match node:
            case ast.For(
                target=ast.Name(id=local), iter=ast.Call(func=func, args=[_])
            ) if is_name(func, "range") and local != "_":
                number = local
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=local), _]), iter=ast.Call(func=func)
            ) if is_name(func, "enumerate"):
                number = local
            case _:
                node.target = ast.Tuple(
                    [ast.Name(number, ast.Store()), node.target], ast.Store()
                )
                node.iter = ast.Call(name("enumerate"), [node.iter], [])
        parts = {one_of(a): expression(f"self.{a}[{number}]") for a in lists}
        node.body = [with_names(part, parts) for part in node.body]

    def _zip(self, node: ast.For, new: list[str]) -> None:
        """The loop goes over the lists of layers that its body declared."""
        lists = [a for a in new if self.builder.attributes[a].kind == "layers"]
        if not lists:
            return
        there = [a for a in lists if self.builder.attributes[a].condition is None]
        if len(there) < len(lists):
            self._number(node, [a for a in lists if a not in there])
            lists = there
            if not lists:
                return
        parts = (p for part in node.body for p in walk(part))
        read = {
            p.id
            for p in parts
            if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
        }
        bound: list[ast.expr] = [ast.Name(one_of(a), ast.Store()) for a in lists]
        sources: list[ast.expr] = [expression(f"self.{a}") for a in lists]
        if set(targets(node.target)) & read:
            bound.insert(0, node.target)
            sources.insert(0, node.iter)
        node.target = bound[0] if len(bound) == 1 else ast.Tuple(bound, ast.Store())
        node.iter = (
            sources[0] if len(sources) == 1 else ast.Call(name("zip"), sources, [])
        )


class _At(NodeTransformer):
    """An element of a sequence that is taken by its place: `self._views[0]`."""

    def __init__(self, attribute: str, place: int, element: ast.expr):
        self.attribute, self.place, self.element = attribute, place, element

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if (
            self_attribute(node.value) == self.attribute
            and literal(node.slice) == self.place
        ):
            return cloned(self.element)
        return node
