"""Hyperparameters of classes that are dataclasses: those of linen and equinox."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.parameters import (
    LEFT_OUT,
    documented,
    initializer_name,
)
from mlax_scaffold.conversion.declarations.words import (
    WINDOW,
    product_by_default,
    word_of,
)
from mlax_scaffold.conversion.definitions.constructor import Constructor
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    constant,
    docstring,
    expression,
    is_name,
    is_none,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import flags, is_key
from mlax_scaffold.conversion.source.walking import cloned, walk


class ClassFields:
    """Reads annotated fields."""

    node: ast.ClassDef
    framework: str
    notes: Notes
    builder: Builder

    def _inputs(self, call: ast.FunctionDef) -> list[ast.arg]:
        found: list[ast.arg] = []
        for argument in (*call.args.args, *call.args.kwonlyargs):
            if argument.arg == "self" or self._said_otherwise(call, argument):
                continue
            if self._unread(call, argument.arg):
                self.notes.remark(
                    argument,
                    f"`{argument.arg}`, which nothing reads, is left out",
                    "call the layer without it",
                )
                continue
            found.append(argument)
        return found

    def _said_otherwise(self, call: ast.FunctionDef, argument: ast.arg) -> bool:
        """Whether a parameter is a flag of training, a key or a state, which are there without it here."""
        given = {a.arg for a in call.args.args}
        attends = bool({"query", "value", "queries"} & given)
        holds_key = is_key(call, argument.arg) and (
            not attends or argument in call.args.kwonlyargs
        )
        holds_key = holds_key and "Float" not in ast.unparse(argument)
        if argument.arg == "state" and not self._reckoned(call):
            return True
        return holds_key or bool(flags([argument.arg]))

    def _reckoned(self, call: ast.FunctionDef) -> bool:
        """Whether `state` is what a cell carries, or is reckoned with, and no state of layers."""
        if self.framework in ("torch", "flax", "nnx", "haiku"):
            # Layers of these are given no state of theirs.
            return True
        typed = [a.annotation for a in call.args.args if a.arg == "state"]
        if any(a is not None and ast.unparse(a).endswith("State") for a in typed):
            return False
        cells = _cells(self.builder)
        return any(_takes_apart(part, cells) for part in walk(call))

    def _unread(self, call: ast.FunctionDef, given: str) -> bool:
        """Whether an input may be left out, and no statement reads it."""
        places = [a.arg for a in call.args.args]
        late = dict(
            zip(
                places[len(places) - len(call.args.defaults) :],
                call.args.defaults,
                strict=True,
            )
        )
        named = zip(call.args.kwonlyargs, call.args.kw_defaults, strict=True)
        late |= {a.arg: d for a, d in named if d is not None}
        read = {n for part in call.body for n in names(part)}
        left_out = given in late and is_none(late[given])
        # What a solver of differential equations hands on.
        left_out = left_out or (given == "args" and self.framework == "equinox")
        # A name for what is not looked at, as in layers that are scanned.
        left_out = left_out or given.startswith("_")
        return left_out and given not in read

    def _flags(self) -> None:
        """Attributes and parameters of calls that tell training from inference."""
        around = self.builder.translator.around
        start = method_of(self.node, "__init__")
        if start is not None:
            # Settings of a configuration are read of the object.
            around.attributes.update(flags([a.arg for a in start.args.kwonlyargs]))
        for part in self.node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                around.attributes.update(flags([part.target.id]))
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                place = part.targets[0].id
                if not place.isupper() and not isinstance(literal(part.value), ast.AST):
                    around.attributes[place] = part.value
        around.attributes["training"] = expression("self.training")

    def _dataclass(self, constructor: Constructor) -> None:
        builder = self.builder
        around = builder.translator.around
        texts = documented(docstring(self.node))
        comments = builder.origin.comments
        for part in self.node.body:
            if not isinstance(part, ast.AnnAssign) or not isinstance(
                part.target, ast.Name
            ):
                continue
            given = part.target.id
            text = ast.unparse(part.annotation)
            default = _field_default(part.value)
            if given in LEFT_OUT or "ClassVar" in text:
                builder.renamed[given] = ""
                if given in ("dtype", "param_dtype"):
                    around.attributes[given] = expression(
                        f"{builder.calculations.first_input}.dtype"
                    )
                continue
            if flags([given]):
                builder.renamed[given] = ""
                continue
            made = partial_of(builder.origin, default)
            if made is not None and default is not None:
                # What it is by default: a layer, or a function, of which a part is given.
                full = builder.origin.qualified(made.func)
                place = expression(f"self.{given}")
                if full in constructor.modules.constructors:
                    around.makers[ast.unparse(place)] = made
                else:
                    around.attributes[given] = builder.translator.expression(default)
                builder.renamed[given] = ""
                continue
            full = builder.origin.qualified(default) if default is not None else ""
            if full in constructor.modules.constructors:
                around.makers[f"self.{given}"] = ast.Call(
                    cloned(default or ast.Constant(None)), [], []
                )
                builder.fixed[given] = full
                builder.renamed[given] = ""
                continue
            if self.framework == "equinox" and _holds_arrays(builder, part.annotation):
                self.notes.refuse(
                    part,
                    f"`{given}` is given as an array or a layer",
                    "make it in `__init__`, of sizes",
                )
                continue
            value = (
                builder.translator.expression(default) if default is not None else None
            )
            word = word_of(given, part.annotation, value)
            value = product_by_default(word, value)
            comment = comments.get(part.lineno, ("", True))
            said = comment[0].lstrip("#: ") if comment[0] and not comment[1] else ""
            if isinstance(value, ast.List):
                value = ast.Tuple(value.elts, ast.Load())
            if word in ("Probability", "Positive", "float", "Decay") and isinstance(
                literal(value), int
            ):
                value = constant(float(literal(value)))  # type: ignore[arg-type]
            place = given
            if word.startswith("Initializer"):
                place = initializer_name(given)
                around.attributes[given] = expression(f"self.{place}")
            if isinstance(value, ast.Tuple) and WINDOW.search(given):
                builder.calculations.lengths[place] = len(value.elts)
            elif value is None and (count := _told_length(part.annotation)):
                builder.calculations.lengths[place] = count
            elif word == "Size":
                # One number is a window over one axis.
                builder.calculations.lengths[place] = 1
            builder.fields[place] = Field(
                place, word, value, said or texts.get(given, "")
            )
            builder.renamed[given] = place
            own = builder.of_own_function(place)
            if own is not None:
                around.attributes[given] = own
        builder.translator.numbers = frozenset(builder.fields)


_CELLS = ("equinox.nn.GRUCell", "equinox.nn.LSTMCell")


def _cells(builder: Builder) -> set[str]:
    """The attributes that are cells, which are given what they carry."""
    return {
        str(self_attribute(part.targets[0]))
        for part in walk(builder.node)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and builder.origin.qualified(part.value.func) in _CELLS
    }


def _takes_apart(node: ast.AST, cells: set[str]) -> bool:
    """Whether `state` is arrays here: it is reckoned with, taken apart, or carried by a cell."""
    match node:
        case ast.BinOp(left=left, right=right):
            return is_name(left, "state") or is_name(right, "state")
        case ast.Assign(targets=[ast.Tuple()], value=value):
            return is_name(value, "state")
        case ast.Subscript(value=value):
            return is_name(value, "state")
        case ast.Call(func=func, args=args):
            carries = self_attribute(func) in cells
            return carries and any(is_name(a, "state") for a in args)
    return False


def partial_of(origin: Origin, node: ast.expr | None) -> ast.Call | None:
    """The call that `functools.partial` makes a part of; None for all else."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if origin.qualified(node.func) != "functools.partial":
        return None
    return ast.Call(node.args[0], node.args[1:], node.keywords)


_INDICES = re.compile(
    r"(\w*_)?(ids|indices|lengths|lens)|idx|tokens|labels|positions|edge_(index|idx)"
)
"""Names of inputs that hold indices."""


def kind_of(argument: ast.arg, body: Iterable[ast.stmt] = ()) -> str:
    """What an input holds, by its type and its name; rows of places in space are gathered by indices."""
    text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    if "Float" in text or (argument.arg == "positions" and _gathered(body)):
        return "Float"
    if "Int" in text or "Long" in text or _INDICES.fullmatch(argument.arg):
        return "Int"
    # A mask of heads is multiplied.
    if (
        "Bool" in text
        or _denied(argument.arg, body)
        or (argument.arg.endswith("mask") and argument.arg != "head_mask")
    ):
        return "Bool"
    return "Float"


def _denied(name: str, body: Iterable[ast.stmt]) -> bool:
    """Whether `~mask` is read."""
    return any(
        isinstance(part, ast.UnaryOp)
        and isinstance(part.op, ast.Invert)
        and is_name(part.operand, name)
        for statement in body
        for part in walk(statement)
    )


def _gathered(body: Iterable[ast.stmt]) -> bool:
    """Whether `positions[receivers]` is read, which numbers of positions are not."""
    return any(
        isinstance(part, ast.Subscript)
        and is_name(part.value, "positions")
        and isinstance(part.slice, ast.Name | ast.Attribute)
        for statement in body
        for part in walk(statement)
    )


def static_type(argument: ast.arg) -> bool:
    text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
    return text in ("int", "float", "bool", "str")


def _holds_arrays(builder: Builder, annotation: ast.expr) -> bool:
    full = builder.origin.qualified(annotation)
    text = ast.unparse(annotation)
    return (
        full.startswith(("equinox.nn", "jax.Array", "jaxtyping", "jax.numpy"))
        or text in ("Array", "jax.Array", "jnp.ndarray")
        or text in builder.own
        or text.startswith(("Float[", "list[eqx", "tuple[eqx"))
    )


def _field_default(value: ast.expr | None) -> ast.expr | None:
    """The default of a dataclass field, also where `field(...)` holds it."""
    if (
        isinstance(value, ast.Call)
        and ast.unparse(value.func).rpartition(".")[2] == "field"
    ):
        for keyword in value.keywords:
            if keyword.arg == "default":
                return keyword.value
            if keyword.arg == "default_factory":
                made = keyword.value
                if isinstance(made, ast.Lambda):
                    return made.body
        return None
    return value


def _told_length(annotation: ast.expr) -> int:
    """How many numbers a field has, as its type tells: `tuple[int, int]`; 0 for any number."""
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=kinds)):
            return len(kinds) if all(is_name(k, "int") for k in kinds) else 0
    return 0
