"""Functions that bodies define, and that a scan runs step by step."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.bodies.deciding import Deciding
from mlax_scaffold.conversion.shapes.annotations import flattened
from mlax_scaffold.conversion.shapes.values import Array, Module, Several, Value
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import cloned


class Scanning(Deciding):
    """Reads them once, with what is known of a step."""

    def scanned(self, title: str, carry: Value, x: Value) -> Value:
        """What a scan makes, whose step is a function of the body."""
        for series in flattened([x]) if self.builder.framework == "equinox" else ():
            if series.lead and (series is x or series.axes):
                self.symbols.ranked(series, ("time", "features"))
        item = self._element(x)
        result = self.stepped(title, [carry, item])
        time = self.symbols.fresh("time")
        if self.builder.framework != "equinox":
            # There a step is one of one example.
            self._per_example(carry, item)
        self._told(x, item, time)
        if self.builder.framework == "equinox" and isinstance(x, Several):
            # Beside others, what a step says nothing of is a number of each, such as its time.
            for series in flattened([x]):
                if series.lead and not series.axes and series.against is None:
                    self.symbols.ranked(series, ("time",))
                    self.symbols.equal(series.axes[0], time)
        y = result.items[1] if isinstance(result, Several) else None
        if isinstance(result, Several):
            self._alike(carry, result.items[0])
        self._guessed(carry, x, item, time)
        return Several([carry, self._series(x, y, time)])

    def told_by_cell(self, scan: ast.Call) -> None:
        """What a cell of the file takes in each step tells how many axes the sequences have."""
        step = self.steps.get(getattr(scan.args[0], "id", ""))
        match step.body if step is not None else []:
            case [ast.Return(value=ast.Call(func=func, args=[_, ast.Name()]))]:
                held = self.env.get(getattr(func, "id", ""))
                local = held.attribute if isinstance(held, Module) else ""
                cell = self_attribute(func) or local
                known = self.builder.attributes.get(cell)
            case _:
                return
        layer = known.layer.partition(":")[2] if known is not None else ""
        taken = self.results[layer].inputs if layer in self.results else ()
        whole, series = (taken[1] if len(taken) == 2 else None), scan.args[2]
        expected = whole.items if isinstance(whole, Several) else [whole]
        parts = series.elts if isinstance(series, ast.Tuple) else [series]
        for each, part in zip(expected, parts, strict=False):
            match part:
                case ast.Call(args=[ast.Name(id=local), *_]) if (
                    isinstance(each, Array)
                    and not each.lead
                    and ast.unparse(part).endswith(f"swapaxes({local}, 0, 1)")
                    and isinstance(value := self.env.get(local), Array)
                    and value.lead
                    and not value.axes
                ):
                    names = ("batch", "time", *["_"] * len(each.axes))
                    self.symbols.ranked(value, names[: len(each.axes) + 1])

    def _element(self, x: Value) -> Value:
        """What a step is given of it."""
        if isinstance(x, Several):
            return Several([self._element(i) for i in x.items])
        if not isinstance(x, Array):
            return None
        # What is read of its shape by number tells how many axes there are.
        self.symbols.settled(x)
        if x.lead:
            item = Array(list(x.tail), True, x.kind)
            item.of_step = True
            return item
        axes = x.axes[1:]
        return Array(axes, False, x.kind) if x.prefix.axes else x.like(axes)

    def _per_example(self, carry: Value, item: Value) -> None:
        """Beside one number for each example, such as whether it begins anew, there are rows of them."""
        numbers = [a for a in flattened([item]) if not a.lead and len(a.axes) == 1]
        if not isinstance(item, Several):
            given = [a for a in flattened([carry]) if a.lead and len(a.axes) == 1]
            inputs = [*flattened(self.env.values())]
            if not isinstance(item, Array) or not item.lead or len(item.axes) != 1:
                return
            if any(a is i for a in given for i in inputs):
                # The batch that is carried is that of each step.
                numbers = [Array([self.symbols.fresh("batch")], False)]
        rows = [a for a in flattened([carry, item]) if a.lead and len(a.axes) == 1]
        for array in rows if numbers else ():
            self.symbols.ranked(array, ("batch", "features"))
            self.symbols.equal(array.axes[0], numbers[0].axes[0])

    def _told(self, x: Value, item: Value, time: ast.expr) -> None:
        """What the step says of its element holds of the whole, which has one axis more."""
        if isinstance(x, Several) and isinstance(item, Several):
            for one, part in zip(x.items, item.items, strict=True):
                self._told(one, part, time)
        if not isinstance(x, Array) or not isinstance(item, Array):
            return
        x.kind = item.kind
        if self.builder.framework == "equinox" and x.lead and _is_number(item):
            # A number of each step, such as whether there is one, beside what one has of them.
            self.symbols.ranked(x, ("time",))
        elif item.lead and not item.axes and item.against is not None:
            # Of what it is broadcast to it mostly has all axes.
            item = item.against
        if x.lead and not item.lead:
            self.symbols.ranked(x, ["time", *["_"] * len(item.axes)])
        elif x.lead and item.axes:
            x.at_least_one()
            for axis in reversed(item.axes[: len(item.axes) - len(x.axes)]):
                x.grow(axis)
        for mine, axis in zip(reversed(x.axes), reversed(item.axes), strict=False):
            self.symbols.equal(mine, axis)
        if not x.lead:
            self.symbols.equal(x.axes[0], time)

    def _guessed(self, carry: Value, x: Value, item: Value, time: ast.expr) -> None:
        """Where nothing is known of any array, each series is one of numbers for several examples."""
        arrays = list(flattened([carry, x, item]))
        carried = any(True for _ in flattened([carry]))
        if not carried or any(not a.lead or a.axes for a in arrays):
            return
        if any(a.against is not None and a.against.axes for a in arrays):
            return
        batch = self.symbols.fresh("batch")
        for array in flattened([x]):
            if array.lead:
                self.symbols.ranked(array, ("time", "batch"))
                self.symbols.equal(array.axes[0], time)
        for array in flattened([item, carry]):
            if array.lead:
                self.symbols.ranked(array, ("batch",))
        for array in arrays:
            self.symbols.equal(array.axes[-1], batch)

    def _alike(self, one: Value, other: Value) -> None:
        """What is carried has the shape that it is carried on with."""
        if isinstance(one, Several) and isinstance(other, Several):
            for part, after in zip(one.items, other.items, strict=False):
                self._alike(part, after)
        if not isinstance(one, Array) or not isinstance(other, Array):
            return
        for part, known in ((one, other), (other, one)):
            if part.lead and not known.lead:
                self.symbols.ranked(part, ["batch", *["_"] * (len(known.axes) - 1)])
        if not one.lead and not other.lead and len(one.axes) == len(other.axes):
            for mine, axis in zip(one.axes, other.axes, strict=True):
                self.symbols.equal(mine, axis)

    def _series(self, x: Value, y: Value, time: ast.expr) -> Value:
        """What the results of all steps are together."""
        if isinstance(y, Several):
            return Several([self._series(x, i, time) for i in y.items])
        if not isinstance(y, Array):
            return None
        first = x.items[0] if isinstance(x, Several) and x.items else x
        if isinstance(first, Array) and not first.lead and not y.lead:
            return Array([first.axes[0], *y.axes], False)
        return Array(y.axes, True)

    def step_of(self, scan: ast.Call) -> str:
        """The function of the body, or the method, that a scan runs; "" for another one."""
        title = self_attribute(scan.args[0]) or getattr(scan.args[0], "id", "")
        method = next((m for m in self.builder.methods if m.name == title), None)
        if method is not None:
            again = title in self.declared
            self.declared[title] = title
            self.steps[title] = cloned(method) if again else method
        return title

    def stepped(self, title: str, given: list[Value]) -> Value:
        """The result of a function that a body defines; its own body is read once."""
        node = self.steps.pop(title, None)
        if node is None:
            return None
        outer = self.env
        places = [a.arg for a in node.args.args if a.arg != "self"]
        inner = {
            **(outer if len(places) == len(node.args.args) else {}),
            **dict.fromkeys(places),
            **dict(zip(places, given, strict=False)),
        }
        return self.run(node, inner)


def _is_number(item: Array) -> bool:
    """Whether an element is only combined with an array of one axis."""
    against = item.against
    return (
        item.lead and not item.axes and against is not None and len(against.axes) == 1
    )
