"""Parameters of a constructor as hyperparameters."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.handed_words import (
    columns,
    given_float,
    handed_default,
    holds_floats,
    is_whole,
)
from mlax_scaffold.conversion.declarations.modules import Modules
from mlax_scaffold.conversion.declarations.read_words import word_by_reads
from mlax_scaffold.conversion.declarations.words import (
    WINDOW,
    product_by_default,
    word_of,
)
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.arguments_of import arguments_given
from mlax_scaffold.conversion.source.assigned import assigned_in_calls
from mlax_scaffold.conversion.source.requirements import asserted
from mlax_scaffold.conversion.source.trees import (
    docstring,
    expression,
    is_name,
    is_none,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, flags
from mlax_scaffold.conversion.source.walking import cloned, walk
from mlax_scaffold.model.reserved import OF_FUNCTIONS, RESERVED

_GENERATED = RESERVED - OF_FUNCTIONS - {"self", "dtype", *KEYS}
"""Names that a field cannot have."""

_BOUNDS = re.compile(r"(bounds|limits|range|betas)$")
"""How numbers are called between which others lie, and none of which counts anything."""


class Parameters:
    """Reads them."""

    builder: Builder
    translator: Translator
    modules: Modules

    def _fields(self, function: ast.FunctionDef) -> None:
        builder, around = self.builder, self.translator.around
        given = arguments_given(function)
        defaults = _defaults(function)
        conflicts = self._conflicts(function)
        texts = documented(docstring(builder.node) + "\n" + docstring(function))
        for argument in given:
            parameter = argument.arg
            default = defaults.get(parameter)
            if parameter in LEFT_OUT or self._is_dtype(default):
                builder.renamed[parameter] = ""
                around.locals[parameter] = ast.Constant(None)
                continue
            flag = flags([parameter]).get(parameter)
            if flag is not None:
                builder.renamed[parameter] = ""
                around.locals[parameter] = flag
                continue
            module = (
                self.translator.origin.qualified(default) if default is not None else ""
            )
            if module and module in self.modules.constructors:
                # A class of layers as an argument: the one that is the default.
                around.makers[parameter] = ast.Call(
                    cloned(default or ast.Constant(None)), [], []
                )
                builder.renamed[parameter] = ""
                builder.fixed[parameter] = module
                builder.notes.remark(
                    argument,
                    f"`{parameter}`, a class of layers, is always its default",
                    "write another spec for another class",
                )
                continue
            field_name = conflicts.get(parameter, parameter)
            value = self.translator.expression(default) if default is not None else None
            may_be_none = value is None and _asked_for_none(function, parameter)
            word = word_of(parameter, argument.annotation, value, may_be_none)
            unsaid = argument.annotation is None
            if unsaid and word.startswith(("Size", "Count")):
                handed = handed_default(builder.origin, builder.node, parameter)
                if handed is not None and (default is None or is_none(default)):
                    word = word_of(parameter, None, handed, is_none(default))
                    later = given[given.index(argument) + 1 :]
                    if default is None and all(a.arg in defaults for a in later):
                        # As many as the class takes that it is handed to.
                        several = isinstance(handed, ast.List | ast.Tuple)
                        value = self.translator.expression(handed) if several else value
            told = argument.annotation is not None or default is not None
            if word in ("Size", "Count", "int") and argument.annotation is None:
                owner = getattr(builder.node, "name", "")
                if given_float(builder.origin, owner, parameter):
                    word = word_of(parameter, ast.Name("float", ast.Load()), value)
            if word in ("float", "Positive") and not told:
                word = "Size" if is_whole(builder.node, parameter) else word
            if word.startswith("Sizes") and (
                _calculated(builder.node, parameter)
                or (not told and _is_feature(builder.node, parameter))
            ):
                # The name sounds like several sizes, but it is reckoned with.
                word = word.replace("Sizes", "Size")
            if word == "Size" and _is_sequence(builder.node, parameter):
                word = "Sizes"
            if (
                word == "Sizes"
                and not told
                and (many := columns(builder.origin, builder.node, parameter))
            ):
                word = f"tuple[tuple[{', '.join(many)}], ...]"
            if word.startswith("Sizes") and not told:
                floats = holds_floats(builder.origin, builder.node, parameter)
                floats = floats or _BOUNDS.search(parameter) is not None
                word = "tuple[float, ...]" if floats else word
            if unsaid:
                word = word_by_reads(builder.origin, builder.node, parameter, word)
            choices = asserted(function, parameter)
            if word == "Size" and default is None and choices:
                word = f"Literal[{', '.join(map(repr, choices))}]"
            if word.startswith("Initializer"):
                field_name = initializer_name(parameter)
            builder.fields[field_name] = Field(
                field_name, word, _default(word, value), texts.get(parameter, "")
            )
            builder.renamed[parameter] = field_name
            if isinstance(value, ast.Tuple) and WINDOW.search(parameter):
                builder.calculations.lengths[field_name] = len(value.elts)
            elif word == "Size":
                # One number is a window over one axis.
                builder.calculations.lengths[field_name] = 1
            around.locals[parameter] = expression(f"self.{field_name}")
            own = builder.of_own_function(field_name)
            if own is not None:
                around.locals[parameter] = own
        if function.args.vararg or function.args.kwarg:
            extra = function.args.vararg or function.args.kwarg
            assert extra is not None
            builder.notes.remark(
                function,
                f"`{extra.arg}` is left out",
                "add what it passes on as fields",
            )
        numbers = {f.name for f in builder.fields.values()}
        self.translator.numbers = frozenset(numbers)

    def _initializer(self, made: ast.expr) -> ast.expr:
        """The field of `given or default`, which has that default; anything else as it is."""
        fields = self.builder.fields
        match made:
            case ast.BoolOp(op=ast.Or(), values=[given, default]):
                field = fields.get(self_attribute(given) or "")
                if field is not None and field.word.startswith("Initializer"):
                    fields[field.name] = replace(
                        field, word="Initializer", default=default
                    )
                    return given
        return made

    def _is_initializer(self, made: ast.expr) -> bool:
        field = self.builder.fields.get(self_attribute(made) or "")
        return field is not None and field.word.startswith("Initializer")

    def _is_dtype(self, default: ast.expr | None) -> bool:
        """Whether a parameter is a dtype of floating numbers by default: here that of the input."""
        full = self.translator.origin.qualified(default) if default is not None else ""
        module, _, title = full.rpartition(".")
        return module in ("jax.numpy", "numpy") and title in FLOATS

    def _conflicts(self, function: ast.FunctionDef) -> dict[str, str]:
        """New names of parameters whose names attributes of another kind have."""
        given = {a.arg for a in arguments_given(function)}
        found: dict[str, str] = {}
        for node in walk(self.builder.node):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            places = node.targets if isinstance(node, ast.Assign) else [node.target]
            for place in places:
                attribute = self_attribute(place)
                if attribute in given and not is_name(node.value, attribute):
                    found[attribute] = _other_name(attribute, node.value)
            if isinstance(node.value, ast.Call) and is_name(
                node.value, "register_parameter"
            ):
                found["bias"] = "use_bias"
        for title in sorted(given & assigned_in_calls(self.builder.node)):
            # What it is given is what a number begins as that calls change.
            found.setdefault(title, f"{title}_value")
        for title in sorted(given & _GENERATED):
            found.setdefault(title, f"{title}_value")
        for node in walk(self.builder.node):
            if isinstance(node, ast.FunctionDef) and node.name in given:
                found[node.name] = f"{node.name}_value"
            if (
                isinstance(node, ast.Call)
                and self_attribute(node.func)
                in ("register_parameter", "register_buffer")
                and node.args
                and isinstance(node.args[0], ast.Constant)
                and node.args[0].value in given
            ):
                text = str(node.args[0].value)
                found[text] = f"use_{text}"
        return found


def _is_feature(node: ast.AST, parameter: str) -> bool:
    """Whether a layer of PyTorch is made with it as one of its first two sizes, or a list has it."""
    layer = re.compile(r"\.(Linear|Conv\d?d?|LSTM|GRU|RNN|Embedding|LayerNorm)$")
    return any(
        (isinstance(part, ast.List) and any(is_name(e, parameter) for e in part.elts))
        or (
            isinstance(part, ast.Call)
            and layer.search(ast.unparse(part.func))
            and any(is_name(a, parameter) for a in part.args[:2])
        )
        for part in walk(node)
    )


def _calculated(node: ast.AST, parameter: str) -> bool:
    """Whether a parameter is an operand of arithmetic other than that of sequences."""
    return any(
        isinstance(part, ast.BinOp)
        and any(
            is_name(side, parameter) or self_attribute(side) == parameter
            for side in (part.left, part.right)
        )
        and not any(
            isinstance(side, ast.List | ast.Tuple | ast.Call)
            for side in (part.left, part.right)
        )
        for part in walk(node)
    )


def _is_sequence(node: ast.AST, parameter: str) -> bool:
    """Whether a parameter of which nothing is said is indexed, counted or looped over."""
    # An attribute that is set to something else is a weight or a layer of that name.
    stored = all(
        isinstance(part.value, ast.Name | ast.BoolOp | ast.IfExp)
        or ast.unparse(part.value).startswith(("tuple(", "list("))
        for part in walk(node)
        if isinstance(part, ast.Assign)
        and any(self_attribute(t) == parameter for t in part.targets)
    )

    def given(part: ast.AST) -> bool:
        own = stored and self_attribute(part) == parameter
        return own or is_name(part, parameter)

    if any(_pairs(part, parameter) for part in walk(node)):
        # `size = (size, size)`: what is indexed is the pair.
        return False
    for part in walk(node):
        match part:
            case ast.Subscript(value=value) | ast.Starred(value=value) if given(value):
                return True
            case ast.Assign(targets=[ast.Tuple()], value=value) if given(value):
                return True
            case ast.Call(func=ast.Name(id=name), args=args) if any(map(given, args)):
                if name in ("len", "enumerate", "zip", "reversed", "list", "tuple"):
                    return True
            case ast.For(iter=source) | ast.comprehension(iter=source) if given(source):
                return True
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                # `[dim] + hidden + [out]`
                sides = left, right
                joined = any(isinstance(s, ast.List | ast.Tuple) for s in sides)
                if joined and any(map(given, sides)):
                    return True
    return False


def _pairs(node: ast.AST, parameter: str) -> bool:
    match node:
        case ast.Assign(targets=[target], value=ast.Tuple(elts=[first, *_])):
            bound = is_name(target, parameter) or self_attribute(target) == parameter
            return bound and is_name(first, parameter)
    return False


FLOATS = ("float32", "float16", "bfloat16", "float64")
LEFT_OUT = frozenset(
    (
        *KEYS,
        "device",
        "dtype",
        "param_dtype",
        "name",
        "rngs",
        "factory_kwargs",
        "parent",
    )
)


def _defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    places = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    found = dict(zip(places[len(places) - len(defaults) :], defaults, strict=True))
    for argument, default in zip(
        function.args.kwonlyargs, function.args.kw_defaults, strict=True
    ):
        if default is not None:
            found[argument.arg] = default
    return found


def initializer_name(parameter: str) -> str:
    """The name of a field for an initializer, which ends as those of weights do."""
    if parameter.endswith("_initializer"):
        return parameter
    return f"{parameter.removesuffix('_init').removesuffix('init') or 'kernel'}_initializer"


def _asked_for_none(function: ast.FunctionDef, parameter: str) -> bool:
    """Whether a constructor does something else where a parameter is None: `if hidden is None: ...`."""
    return any(
        isinstance(part, ast.If | ast.IfExp)
        and isinstance(part.test, ast.Compare)
        and is_name(part.test.left, parameter)
        and is_none(part.test.comparators[0])
        for part in walk(function)
    )


def _default(word: str, value: ast.expr | None) -> ast.expr | None:
    if isinstance(value, ast.List):
        return ast.Tuple(value.elts, ast.Load())
    value = product_by_default(word, value)
    if (
        (
            "Decay" in word
            or "Positive" in word
            or "Probability" in word
            or word == "float"
        )
        and isinstance(value, ast.Constant)
        and type(value.value) is int
    ):
        return ast.Constant(float(value.value))
    return value


def _other_name(attribute: str, value: ast.expr) -> str:
    if attribute in ("bias", "scale", "residual", "norm", "gate"):
        return f"use_{attribute}"
    if attribute in ("dropout", "drop", "drop_path", "attn_drop", "proj_drop"):
        return f"{attribute}_rate"
    if attribute in ("activation", "act", "nonlinearity"):
        return f"{attribute}_name"
    return f"{attribute}_value"


def documented(text: str) -> dict[str, str]:
    """The documentation of arguments in a docstring: `name: text` or `name (type): text`."""
    import re

    found: dict[str, str] = {}
    pattern = re.compile(
        r"^\s*(?::param )?(\w+)(?:\s*\([^)]*\))?\s*:\s+(\S.*?)\.?$", re.MULTILINE
    )
    for match in pattern.finditer(text):
        found.setdefault(match[1], match[2][0].lower() + match[2][1:])
    return found
