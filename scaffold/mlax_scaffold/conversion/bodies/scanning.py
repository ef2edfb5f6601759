"""Functions that bodies define, and that a scan runs step by step."""

from __future__ import annotations

from mlax_scaffold.conversion.declarations.declaring import Declaring
from mlax_scaffold.conversion.shapes.values import Array, Several, Value


class Scanning(Declaring):
    """Reads them once, with what is known of a step."""

    def scanned(self, title: str, carry: Value, x: Value) -> Value:
        """What a scan makes, whose step is a function of the body."""
        if isinstance(x, Array) and x.lead and self.builder.framework == "equinox":
            self.symbols.ranked(x, ("time", "features"))
        if isinstance(x, Array):
            # What is read of its shape by number tells how many axes there are.
            self.symbols.settled(x)
        item = None
        if isinstance(x, Array) and not x.lead:
            item = x.like(x.axes[1:]) if not x.prefix.axes else Array(x.axes[1:], False)
        result = self.stepped(title, [carry, item])
        y = result.items[1] if isinstance(result, Several) else None
        if isinstance(y, Array) and isinstance(x, Array) and not x.lead and not y.lead:
            y = Array([x.axes[0], *y.axes], False)
        return Several([carry, y])

    def stepped(self, title: str, given: list[Value]) -> Value:
        """The result of a function that a body defines; its own body is read once."""
        node = self.steps.pop(title, None)
        if node is None:
            return None
        outer = self.env
        places = [a.arg for a in node.args.args]
        inner = {
            **outer,
            **dict.fromkeys(places),
            **dict(zip(places, given, strict=False)),
        }
        return self.run(node, inner)
