"""Cells of flax that `nn.RNN` runs over time, as scans."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)
from mlax_scaffold.reader.specs import module_name

_RUNS = ("flax.linen.RNN", "flax.nnx.RNN")
_BOTH = ("flax.linen.Bidirectional", "flax.nnx.Bidirectional")
_CELLS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell")
_OPTIONS = ("cell", "reverse", "keep_order", "time_major", "return_carry")
_LEFT_OUT = ("rngs", "unroll", "name")
_SCAN = """
def step_{n}(carry, x):
    return {cell}(carry, x)
carry_{n}, y_{n} = {lax}.scan(step_{n}, START, STEPS, reverse={reverse})
"""


def without_runs(origin: Origin) -> None:
    """Write the calls of such layers out where they are called at once, in place."""
    if not any(full.startswith("flax") for full in origin.imports.values()):
        return
    runs = _Runs(origin)
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__call__":
                runs.names.clear()
                runs.widths.clear()
                runs.declared(node, method)
                runs.constructed(node)
                calls = (p for p in walk(method) if isinstance(p, ast.Call))
                runs.direct = {c.func.id for c in calls if isinstance(c.func, ast.Name)}
                method.body = runs.statements(method.body)
    for full, called in runs.called.items():
        if called not in origin.imports:
            origin.tree.body[:0] = ast.parse(f"import {full} as {called}").body
    if runs.count:
        origin.forget("imports")
        located(origin.tree)


class _Runs(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.count = 0
        found = {full: n for n, full in origin.imports.items()}
        self.called = {
            full: found.get(full, called)
            for full, called in (("jax.numpy", "jnp"), ("jax.lax", "lax"))
        }
        """What the file calls modules of jax, or will."""
        self.before: list[ast.stmt] = []
        self.names: dict[str, ast.Call] = {}
        """Locals that stand for a layer that runs a cell, or for a cell."""
        self.widths: dict[str, ast.expr] = {}
        """How many features the cells of a constructor have, by the attributes that hold them."""
        self.direct: set[str] = set()
        """Locals that are called: such a cell is none that a layer runs."""

    def declared(self, owner: ast.ClassDef, call: ast.FunctionDef) -> None:
        """Take such layers out of `setup` that the call alone uses, once: they are made where it does."""
        start = next((m for m in owner.body if getattr(m, "name", "") == "setup"), None)
        if not isinstance(start, ast.FunctionDef):
            return
        found = {
            attribute: part
            for part in start.body
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
            if (attribute := self_attribute(part.targets[0]))
            if self._is_run(part.value) or self._cell(part.value) is not None
        }
        reads = [a for p in walk(owner) if (a := self_attribute(p)) in found]
        inner = [a for p in walk(start) if (a := self_attribute(p)) in found]
        for attribute, part in found.items():
            # Where it is set, and where it is called, or handed to what runs it.
            if reads.count(attribute) == 2 and isinstance(part.value, ast.Call):
                cell = self._cell(part.value) is not None
                if cell == (inner.count(attribute) == 2):
                    self.names[f"self.{attribute}"] = part.value
                    start.body.remove(part)
        start.body = start.body or [ast.Pass()]

    def constructed(self, owner: ast.ClassDef) -> None:
        """Let a constructor of nnx make the cells alone, which the call runs."""
        start = next(
            (m for m in owner.body if getattr(m, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef):
            return
        made: list[ast.stmt] = []
        for part in start.body:
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as value) if (
                    self._is_run(value)
                ):
                    attribute = self_attribute(target)
                    if attribute is not None:
                        made += self._cells(value, attribute, part)
                        self.names[f"self.{attribute}"] = value
                        continue
                    if isinstance(target, ast.Name):
                        self.names[target.id] = value
                        continue
                case ast.Assign(targets=[ast.Name(id=local)], value=value) if (
                    self._cell(value) is not None
                ):
                    self.names[local] = value  # type: ignore[assignment]
                    continue
                case ast.Assign(targets=[target], value=value) if self._cell(
                    value
                ) is not None and self_attribute(target):
                    place = str(self_attribute(target))
                    made += [part, *self._kept(part, place, value)]  # type: ignore[arg-type]
                    continue
            made.append(part)
        start.body = made

    def _cells(self, layer: ast.Call, place: str, at: ast.stmt) -> list[ast.stmt]:
        """The statements that make the cells of a layer, which it then names, in place."""
        made: list[ast.stmt] = []
        if self.origin.qualified(layer.func) in _BOTH:
            sides = zip(("forward", "backward"), layer.args, strict=False)
            for number, (side, inner) in enumerate(sides):
                run = cloned(self._named(inner))
                if isinstance(run, ast.Call) and self._is_run(run):
                    made += self._cells(run, f"{place}_{side}", at)
                    layer.args[number] = run
            return made
        for holder in (*layer.keywords, None):
            if holder is not None and holder.arg != "cell":
                continue
            given = holder.value if holder is not None else [*layer.args, None][0]
            cell = self._cell(given)
            if cell is None or self_attribute(given) is not None:
                continue
            target = ast.Attribute(
                ast.Name("self", ast.Load()), f"{place}_cell", ast.Store()
            )
            stored = ast.copy_location(ast.Assign([target], cloned(cell)), at)
            made += [stored, *self._kept(at, f"{place}_cell", cell)]
            read = ast.Attribute(name("self"), f"{place}_cell", ast.Load())
            if holder is not None:
                holder.value = read
            else:
                layer.args[0] = read
        return made

    def _kept(self, at: ast.stmt, place: str, cell: ast.Call) -> list[ast.stmt]:
        """Note how many features a cell has, which stands in an attribute then."""
        width = _features(cell)
        if width is None:
            return []
        self.names[f"self.{place}"] = cell
        read = ast.Attribute(name("self"), f"{place}_features", ast.Load())
        self.widths[place] = read
        target = ast.Attribute(read.value, read.attr, ast.Store())
        return [ast.copy_location(ast.Assign([target], cloned(width)), at)]

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, each after what is computed before it."""
        found: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.If | ast.For | ast.With):
                node.body = self.statements(node.body)
                if not isinstance(node, ast.With):
                    node.orelse = self.statements(node.orelse)
                found.append(node)
                continue
            match node:
                case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as made):
                    cell = self._cell(made) is not None and local not in self.direct
                    if self._is_run(made) or cell:
                        self.names[local] = made
                        continue
            self.before = []
            made = self.visit(node)
            found += [*self.before, made]
        return found

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        layer = self._named(node.func)
        if not isinstance(layer, ast.Call) or len(node.args) != 1:
            return node
        given_carry = {k.arg: k.value for k in node.keywords}
        begins = given_carry.pop("initial_carry", None)
        if self.origin.qualified(layer.func) in _RUNS and _is_straight(layer):
            # What each step makes does not depend on those behind it.
            given_carry.pop("seq_lengths", None)
        if given_carry or (begins is not None and not _is_one(self.origin, layer)):
            return node
        if self.origin.qualified(layer.func) in _BOTH and len(layer.args) == 2:
            ahead, back = (self._named(a) for a in layer.args)
            if not all(
                isinstance(a, ast.Call) and self._is_run(a) for a in (ahead, back)
            ):
                return node
            given = self._bound(node.args[0])
            first = self._run(ahead, given, back=False)  # type: ignore[arg-type]
            second = self._run(back, given, back=True)  # type: ignore[arg-type]
            if first is None or second is None:
                return node
            text = f"{self.called['jax.numpy']}.concatenate([a, b], axis=-1)"
            return _expression(text, node, a=first, b=second)
        if self.origin.qualified(layer.func) not in _RUNS:
            return node
        given = self._bound(node.args[0])
        made = self._run(layer, given, back=False, begins=begins)
        return node if made is None else made

    def _named(self, node: ast.expr) -> ast.expr:
        attribute = self_attribute(node)
        place = f"self.{attribute}" if attribute else getattr(node, "id", "")
        return self.names.get(place, node)

    def _is_run(self, node: ast.Call) -> bool:
        full = self.origin.qualified(node.func)
        return full in _RUNS or full in _BOTH

    def _cell(self, node: ast.expr | None) -> ast.Call | None:
        node = self._named(node) if node is not None else None
        if not isinstance(node, ast.Call):
            return None
        full = self.origin.qualified(node.func)
        known = full.startswith(("flax.linen.", "flax.nnx."))
        known = known and full.rpartition(".")[2] in _CELLS
        return node if known or self._own(node) is not None else None

    def _own(self, node: ast.Call) -> ast.FunctionDef | None:
        """The call of a cell that is a class of the file."""
        owner = self.origin.classes.get(getattr(node.func, "id", ""))
        if owner is None or not any(
            base.endswith(".RNNCellBase") for base in self.origin.bases(owner)
        ):
            return None
        return method_of(owner, "__call__")

    def _bound(self, node: ast.expr) -> ast.Name:
        """The input under a name, as it is used more than once."""
        if isinstance(node, ast.Name):
            return node
        local = f"steps_{self.count}"
        assign = ast.Assign([ast.Name(local, ast.Store())], node)
        self.before.append(ast.copy_location(assign, node))
        return ast.copy_location(name(local), node)

    def _run(
        self,
        layer: ast.Call,
        given: ast.Name,
        *,
        back: bool,
        begins: ast.expr | None = None,
    ) -> ast.expr | None:
        """The statements that run a cell, and the name of what they make.

        Args:
            layer: what runs it.
            given: the input.
            back: whether it begins with the last one.
            begins: what it carries at first; None for zeros.
        """
        if self.origin.qualified(layer.func) not in _RUNS:
            return None
        options = {
            str(k.arg): k.value for k in layer.keywords if k.arg not in _LEFT_OUT
        }
        if layer.args:
            options["cell"] = layer.args[0]
        cell = self._cell(options.get("cell"))
        if cell is None or not set(options) <= set(_OPTIONS):
            return None
        flags = {f: literal(options.get(f, ast.Constant(False))) for f in _OPTIONS[1:]}
        reverse = flags["reverse"] is True or back
        held = self_attribute(options["cell"])
        features = self.widths.get(held or "", _features(cell))
        own = self._own(cell)
        if own is not None and begins is None:
            return None
        if (features is None and begins is None) or (
            reverse and not back and flags["keep_order"] is not True
        ):
            return None
        number, self.count = self.count, self.count + 1
        axis = 1 if flags["time_major"] is True else 0
        jnp, lax = self.called["jax.numpy"], self.called["jax.lax"]
        zeros = f"{jnp}.zeros((x.shape[{axis}], n), x.dtype)"
        lstm = "LSTM" in ast.unparse(cell.func)
        if begins is not None:
            start = begins
        else:
            assert features is not None
            parts = {"x": given, "n": features}
            text = f"({zeros}, {zeros})" if lstm else zeros
            start = _expression(text, layer, **parts)
        turn = "{}" if axis else f"{jnp}.swapaxes({{}}, 0, 1)"
        steps = _expression(turn.format("x"), layer, x=given)
        title = f"cell_{number}"
        if own is not None:
            # What flax calls it tells it from the other cells.
            title = f"{module_name(ast.unparse(cell.func))}_{number}"
        text = _SCAN.format(n=number, cell=title, lax=lax, reverse=reverse)
        body = ast.parse(text).body
        local = ast.Name(title, ast.Store())
        given_cell = options["cell"] if held in self.widths else cloned(cell)
        made = [ast.Assign([local], given_cell), *body]
        if held in self.widths:
            made = [_Placed({local.id: given_cell}).visit(part) for part in body]
        for part in made:
            for inner in walk(part):
                if isinstance(inner, ast.expr | ast.stmt | ast.arg):
                    ast.copy_location(inner, layer)
        placed = _Placed({"START": start, "STEPS": steps})
        self.before += [placed.visit(s) for s in made]
        y = _expression(turn.format(f"y_{number}"), layer)
        count = _results(own) if own is not None else 0
        if count:
            places = [turn.format(f"y_{number}[{i}]") for i in range(count)]
            y = _expression(f"({', '.join(places)},)", layer)
        if flags["return_carry"] is True:
            y = ast.Tuple([name(f"carry_{number}"), y], ast.Load())
        return ast.copy_location(y, layer)


def _is_one(origin: Origin, layer: ast.Call) -> bool:
    """Whether a layer runs one cell, in one direction."""
    return origin.qualified(layer.func) in _RUNS


def _results(call: ast.FunctionDef) -> int:
    """How many arrays a cell makes beside what it carries; 0 for one, which is no tuple."""
    for part in walk(call):
        match part:
            case ast.Return(value=ast.Tuple(elts=[_, ast.Tuple(elts=made)])):
                return len(made)
    return 0


def _features(cell: ast.Call) -> ast.expr | None:
    """How many features a cell has: the first number of linen's, the second one of nnx's."""
    for keyword in cell.keywords:
        if keyword.arg in ("features", "hidden_features"):
            return keyword.value
    inputs = any(k.arg == "in_features" for k in cell.keywords)
    of_linen = not any(k.arg == "rngs" for k in cell.keywords) or inputs
    return cell.args[0 if of_linen else 1] if cell.args else None


class _Placed(NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]):
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return cloned(self.parts.get(node.id, node))


def _expression(text: str, at: ast.expr, **parts: ast.expr) -> ast.expr:
    made = _Placed(parts).visit(ast.parse(text, mode="eval").body)
    for part in walk(made):
        if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
            ast.copy_location(part, at)
    return ast.copy_location(made, at)


def _is_straight(layer: ast.Call) -> bool:
    """Whether a cell is run forwards, and its last carry is not asked for."""
    told = {k.arg: literal(k.value) for k in layer.keywords}
    return not any(told.get(option) for option in ("reverse", "return_carry"))
