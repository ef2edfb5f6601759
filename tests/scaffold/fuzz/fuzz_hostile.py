"""What an attacker, a typist and a machine write: in each place of a spec that holds text."""

from __future__ import annotations

import random
from collections.abc import Mapping

from mlax_scaffold.reader.files import SpecFile

_RUN = "open('tripwire', 'w')"
"""What runs where it should not: the name is looked for in everything that Python does."""

EXPRESSIONS = (
    _RUN,
    f"exec({_RUN!r})",
    f"eval({_RUN!r})",
    f"__import__('os').system({_RUN!r})",
    "functools.reduce(open, ['tripwire', 'w'])",
    "typing.sys.modules['os'].system('tripwire')",
    "math.__loader__.load_module('tripwire')",
    "jax.tree.map(open, 'tripwire')",
    "jax.nn.relu.__globals__['__builtins__']['open']('tripwire', 'w')",
    "().__class__.__base__.__subclasses__()",
    "''.join(map(open, ['tripwire']))",
    "f'{open(\"tripwire\")}'",
    f"(lambda: {_RUN})()",
    f"lambda k, s, d: {_RUN}",
    f"lambda x={_RUN}: x",
    f"(tripwire := {_RUN})",
    f"[{_RUN} for _ in (1,)]",
    f"{{{_RUN}: 1}}",
    f"({_RUN}, 1)",
    f"lecun_normal({_RUN})",
    f"lecun_normal(**{_RUN})",
    f"lecun_normal(*{_RUN})",
    f"variance_scaling(1.0, 'fan_in', {_RUN})",
    f"constant({_RUN})",
    f"per_gate({_RUN}, 2)",
    f"{_RUN} if True else None",
    f"None or {_RUN}",
    f"1 < {_RUN}",
    f"-{_RUN}",
    f"{_RUN} | None",
    f"Float[{_RUN}]",
    f"Literal[{_RUN}]",
    f"tuple[{_RUN}, ...]",
    f"Annotated[int, {_RUN}]",
    "print",
    "print('tripwire')",
    "breakpoint()",
    "__builtins__",
    "__file__",
    "__import__",
    "exec",
    "open",
    "os.system",
    "jax.numpy.os.system",
    "jax.lax.__dict__",
    "jnp.__spec__.loader",
    "math",
    "jax",
    "zeros",
    "zeros()",
    "normal",
    "Linear",
    "Linear.init",
    "10 ** 10 ** 10",
    "2 ** 100000",
    "1 << 10 ** 10",
    "'a' * 10 ** 10",
    "[0] * 10 ** 10",
    "(0,) * 10 ** 9",
    "1 / 0",
    "1e308 * 10",
    "math.sqrt(-1)",
    "math.factorial(10 ** 8)",
    "math.sqrt(2)",
    "2 * math.pi",
    "1 - 1 / 3",
    "math.inf",
    "math.nan",
    "-0.0",
    "1e999",
    "0x" + "f" * 5000,
    "9" * 400,
    "True",
    "None",
    "...",
    "()",
    "(1, 2)",
    "((), ((),))",
    "b'bytes'",
    "1j",
    "'\\ud800'",
    "'\\x00'",
    "'\\u202e'",
    '\'"""\'',
    "'{{ 7 * 7 }}'",
    "'a\\nimport os'",
    "''",
    "'_'",
    "'...'",
    "'*x *y'",
    "'x 10**10**10'",
    "'x x*x*x-9'",
    "{}",
    "{[]}",
    "{[]: 1}",
    "[]",
    "self",
    "self.key()",
    "self.training",
    "self.__class__",
    "self.size",
    "super().forward",
    "await x",
    "(yield)",
    "x",
    "lambda: 0",
    "not x",
    "x[...]",
    "*x",
    "k" * 300,
    "\N{LATIN SMALL LIGATURE FI}x",
    "\N{FULLWIDTH LATIN SMALL LETTER X}",
    "é",
    " + ".join(["1"] * 60),
    "(" * 30 + "1" + ")" * 30,
)
"""Expressions, for any place that takes one."""

ODD = (
    *("self", "self.", ".x", "*", "**", "()", "[]", "lambda: ", ":=", "None"),
    *("if ", " else ", "for x in x: ", "\\\n", "\n", "\t", '"', "'''", "#:", "@"),
    *("await ", "async ", "match x:\n", "del ", "global x", "nonlocal x", "yield "),
    *(
        "import os\n",
        "from os import *\n",
        "raise ",
        "try:\n",
        "with open('tripwire'):\n",
    ),
    *("\0", "\f", "\r", "\v", "\x1b[31m", "\u2028", "\u202e", "\ud800", "\ufeff"),
    *("# -*- coding: utf-7 -*-\n", "# type: ignore", "# fmt: off\n", "# noqa\n"),
    *("require(", "self.x = ", "x = self.y = ", "0x", "1e", "r", "b", "f", "é"),
)
"""Pieces of text, for any place at all."""

_TEXTS = (
    "plain",
    '"""',
    "'''",
    "\\",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "#}",
    "${HOME} %s {x}",
    "<script>tripwire()</script>",
    "[x](javascript:tripwire)",
    "```python tripwire```",
    "`open('tripwire')`",
    "# type: ignore",
    "# fmt: off",
    "# noqa",
    "é😀",
    "\N{FULLWIDTH LATIN SMALL LETTER X}",
    "x" * 300,
    "self.kernel",
    "$x$ | y | z",
    ">>> open('tripwire', 'w')",
    "# -*- coding: utf-7 -*-",
    "",
    " ",
    ".",
    "-",
    "*",
    "|",
)
"""What prose holds: docstrings, comments, messages."""

_WORDS = (
    *("Size", "Count", "int", "bool", "str", "float", "Positive", "Probability"),
    *("Axis", "AxisName", "Shape", "NewShape", "Padding", "Precision", "DType"),
    *("Activation", "Function", "Policy", "Scheduled", "SubSchedule", "Mask", "Sizes"),
    *("MatrixAxes", "MatrixAxes | None"),
    *("Boundaries", "Initializer", "SubLayer", "SubLayers", "Cell", "Stacked"),
    *("SubOptimizer", "SubOptimizers", "PerDim[Size]", "PerDim[int]", "Decay"),
    *("tuple[float, ...]", "tuple[Axis, ...]", 'Literal["a", "b"]', "Size | None"),
    *("Axis | None", "Initializer | None", "Float", "'Size'", "open('tripwire')"),
    *("Literal['\\ud800']", "Literal[open('tripwire')]", "Size | open('tripwire')"),
)
_SHAPES = (
    *("...", "*batch size", "*any", "batch size", "a b", "a a", "#a", "_", "", "*"),
    *("size*2", "size//0", "size-9", "2", "-1", "1e3", "a if size else b", "a b ..."),
    *("*a *b", "size size", "x y z", "\\ud800", "{{ 1 }}", "é", "size**9", "(", "\\n"),
    *(
        "a 10000000000000000000000*a",
        "self.size",
        "batch*",
        "# a b",
        "open('tripwire')",
    ),
)
_IMPORTS = (
    "import functools",
    "import typing",
    "import math",
    "import jax",
    "import jax.numpy as jnp",
    "import jax.numpy",
    "import jax._src.xla_bridge",
    "import os",
    "import tripwire",
    "import jax.unknown",
    "from jax import *",
    "from jax import lax",
    "from jax._src import lib",
    "from jax.nn import relu",
    "from jax.nn import relu as math",
    "from math import pi",
    "from math import pi as zeros",
    "from typing import sys",
    "from typing import Any",
    "from functools import partial, reduce",
    "from collections import _sys",
    "from collections.abc import Callable",
    "from . import linear",
    "from .linear import Linear",
    "from ..nn.linear import Linear",
    "from mlax_scaffold.specs.nn.linear import Linear",
    "from mlax_scaffold.specs.nn.dropout import Dropout",
    "from mlax_scaffold.specs.functional.gelu import gelu",
    "from mlax_scaffold.specs.functional.tripwire import tripwire",
    "from mlax_scaffold.spec import *",
    "from mlax_scaffold.spec import tripwire",
    "from __future__ import annotations",
    "from __future__ import braces",
)
_SPEC = (
    "Activation, Axis, AxisName, Block, Bool, Boundaries, Cell, Count, DType, Decay, Float, "
    "Function, Initializer, Int, Key, Layer, Literal, Mask, MatrixAxes, NewShape, Optimizer, Padding, "
    "PerDim, Policy, Positive, Precision, Probability, PyTree, Schedule, Scheduled, Shape, "
    "Size, Sizes, Stacked, SubLayer, SubLayers, SubOptimizer, SubOptimizers, SubSchedule, "
    "constant, ema, function, gelu, lecun_normal, moment, normal, per_gate, require, state, "
    "trainable, variance_scaling, zeros"
)
_NAMES = (
    "size",
    "rate",
    "axis",
    "mode",
    "math",
    "zeros",
    "key",
    "_x",
    "x",
    "class_",
    "tanh",
)
_BESIDE = (
    "import enum\nclass Mode(enum.Enum):\n    A = 'a'\n    B = enum.auto()",
    "import enum\nclass Mode(enum.Enum):\n    A = open('tripwire')",
    "import enum\nclass Mode(enum.Enum):\n    A = 1\n    def __init__(self, x): open('tripwire')",
    "import enum\nclass Mode(enum.Enum):\n    A = 1\n    def _missing_(self, x): open('tripwire')",
    "import enum\nclass Mode(str, enum.Enum):\n    A = 'a'\n    def of(self, x=open('tripwire')): return x",
    "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: Size = 1\n    b: float = math.pi",
    "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: open('tripwire') = open('tripwire')",
    "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    "
    "def __init_subclass__(cls): open('tripwire')",
    "class Pair(open('tripwire')):\n    a: int",
    "double = lambda x: 2 * x",
    "double = lambda x, y=open('tripwire'): 2 * x",
    "TABLE = {'a': lambda x: x, 'b': (lambda x: exec('tripwire'))}",
    "TABLE = {open('tripwire'): lambda x: x}",
    "import numpy as np\nTABLE = np.array([1.0, 2.0])",
    "import numpy as np\nTABLE = np.zeros((10**9, 10**9))",
    "import numpy as np\nTABLE = np.arange(10**12)",
    "import numpy as np\nTABLE = np.linspace(0.0, 1.0, 99999999999)",
    "import numpy as np\nTABLE = np.load('tripwire')",
    "import numpy as np\nTABLE = np.array(np.fromfile('tripwire'))",
    "import numpy as np\nTABLE = np.array([1.0], dtype=open('tripwire'))",
)
_STATEMENTS = (
    "pass",
    "return x",
    "x = x * 2",
    "self.mean = x",
    "x = self.kernel * x",
    "import os",
    "global x",
    "exec('tripwire')",
    "y: open('tripwire') = x",
    "def inner(a=open('tripwire'), *, b: open('tripwire') = 1):\n            return a",
    "x = [x for self in x]",
    "for i in range(3): x = x + self.key()",
    "while x: x = x - 1",
    "if self.training: x = x + 1",
    "match x:\n            case 1: x = 2",
    "try: x = x\n        except Exception as e: x = e",
    "with open('tripwire') as f: x = f",
    "assert x, open('tripwire')",
    "del x",
    "class A: pass",
    "x = (yield x)",
    "self.a, self.b = x, x",
    "x = self",
    "_ = x; x = _",
    "'text'; x = x",
    "a = b = c = x",
    "a1 = self.size\n        a2 = (a1, a1)\n        a3 = (a2, a2)",
    "x = x if x else x",
    "lambda: (yield)",
    "...",
)


class _Writer:
    """One spec. Most of it is sound, so that what is not is seen."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.odds = chance.choice((0.05, 0.15, 0.4))

    def pick(self, sound: tuple[str, ...] | str, odd: tuple[str, ...]) -> str:
        sound = (sound,) if isinstance(sound, str) else sound
        return self.chance.choice(odd if self.chance.random() < self.odds else sound)

    def text(self) -> str:
        kind = self.chance.choice(("Layer", "Layer", "Layer", "Block", "Optimizer"))
        if self.chance.random() < 0.2:
            return self._header() + self._function()
        if self.chance.random() < 0.15:
            kind = "Schedule"
        return self._header() + self._class(kind)

    def _header(self) -> str:
        lines = [self.pick("# A spec.", ("#\x0c", "# coding: utf-7", "#: " + "x" * 99))]
        lines += [self.pick("import jax", _IMPORTS), self.pick("import math", _IMPORTS)]
        lines += [self.chance.choice(_IMPORTS)] if self.chance.random() < 0.5 else []
        lines.append(f"from mlax_scaffold.spec import ({_SPEC})")
        lines += [self.pick("", ("x = open('tripwire')", "open('tripwire')", "'text'"))]
        lines += [self.chance.choice(_BESIDE)] if self.chance.random() < 0.3 else []
        return "\n".join(lines) + "\n"

    def _prose(self) -> str:
        return self.pick("a text", _TEXTS).replace("\n", " ")

    def _doc(self, indent: int) -> str:
        text = self.pick("A spec of a test.", _TEXTS)
        more = self.pick("", tuple(f"\n\n{t}\n" for t in _TEXTS))
        quoted = repr(text + more)
        plain = f'"""{text}{more}"""' if self.chance.random() < 0.7 else quoted
        return " " * indent + self.pick(plain, (quoted, "b'x'", "f'{x}'", "", "None"))

    def _value(self, word: str) -> str:
        sound = {
            "Size": ("3",),
            "Axis": ("-1", "0", "()", "(0, 1)"),
            "float": ("1.0", "math.pi", "1 / 3"),
            "Activation": ("jax.nn.relu", "gelu"),
            "Initializer": ("zeros", "lecun_normal()"),
            "bool": ("True",),
            "Literal": ('"a"',),
        }
        return self.pick(sound.get(word.partition("[")[0], ("None", "1")), EXPRESSIONS)

    def _field(self, name: str) -> str:
        word = self.pick(("Size", "float", "Activation", "Axis", "bool"), _WORDS)
        name = self.pick(name, _NAMES)
        given = "" if self.chance.random() < 0.3 else f" = {self._value(word)}"
        target = self.pick(name, (f"({name})", f"self.{name}", f"{name}[0]"))
        comment = self.pick(
            f"  #: {self._prose()}", (f"  # {self._prose()}", "", "  #:")
        )
        return f"    {target}: {word}{given}{comment}"

    def _class(self, kind: str) -> str:
        keywords = self.pick(
            "",
            (
                ', module="Named"',
                ', module="Params"',
                ', module="\\ud800"',
                ', module="class"',
                ', aliases={"size": "length"}',
                ', aliases={"size": "\\ud800"}',
                ', aliases={"size": ""}',
                ", aliases={open('tripwire'): 1}",
                ", metaclass=open('tripwire')",
                ", **open('tripwire')",
                ", per_example=True",
                ", open('tripwire')",
            ),
        )
        lines = [self.pick("", ("@open('tripwire')", "@function", "@property"))]
        lines.append(f"class Example({self.pick(kind, EXPRESSIONS)}{keywords}):")
        lines.append(self._doc(4))
        lines += [
            self._field(n) for n in ("size", "rate", "axis")[: self.chance.randrange(4)]
        ]
        if self.chance.random() < 0.3 and kind in ("Layer", "Optimizer"):
            lines.append(f"    examples = {self._examples()}")
        lines += self._methods(kind)
        return "\n".join(lines) + "\n"

    def _examples(self) -> str:
        value = self.pick("3", EXPRESSIONS)
        shape = self.pick("(2, 3)", EXPRESSIONS)
        key = self.pick('"size"', EXPRESSIONS)
        return self.pick(
            f'({{{key}: {value}, "x": {shape}, "y": {shape}}},)', EXPRESSIONS
        )

    def _methods(self, kind: str) -> list[str]:
        shape = self.pick("...", _SHAPES)
        array = self.pick(f'Float["{shape}"]', (*EXPRESSIONS, "PyTree", 'Int["..."]'))
        lines: list[str] = []
        if self.chance.random() < 0.7:
            lines += [f"    def setup(self{self._more(kind)}):", *self._setup(kind)]
        if self.chance.random() < 0.3:
            default = self.pick("1", EXPRESSIONS)
            types = self.pick("int", EXPRESSIONS)
            decorator = self.pick("", ("@property", "@open('tripwire')"))
            lines += [
                f"    {decorator}",
                f"    def helper(self, a: {types} = {default}):",
            ]
            lines += [self._doc(8), *self._body("return 1")]
        entry = {"Optimizer": "update", "Schedule": "value"}.get(kind, "forward")
        given = {
            "update": "grad, param",
            "value": "step",
        }.get(entry, f"x: {array}")
        result = f" -> {array}" if entry == "forward" else ""
        extra = self.pick(
            "", (f", a={_RUN}", f", *, b: {array} = None", ", *a", ", **b")
        )
        lines += [f"    def {entry}(self, {given}{extra}){result}:"]
        name = given.partition(":")[0].partition(",")[0]
        return lines + self._body(f"return {self.pick(name, EXPRESSIONS)}")

    def _more(self, kind: str) -> str:
        return self.pick(", param" if kind == "Optimizer" else "", ("", ", x=1"))

    def _setup(self, kind: str) -> list[str]:
        word = "moment" if kind == "Optimizer" else "trainable"
        init = self.pick(
            ("zeros", "lecun_normal()", "lambda k, s, d=float: 1.0"), EXPRESSIONS
        )
        shape = self.pick(("(3,)", "(self.size,)", "()"), EXPRESSIONS)
        types = self.pick("", tuple(f": {e}" for e in EXPRESSIONS))
        made = self.pick(f"{word}({init}, {shape})", EXPRESSIONS)
        message = repr(self.pick("a text", (*_TEXTS, "\ud800", "\0")))
        test = self.pick("self.size > 1", EXPRESSIONS)
        return [
            f"        {self.pick('', _STATEMENTS)}",
            f"        {self.pick('', (f'require({test}, {message})',))}",
            f"        self.kernel{types} = {made}  #: {self._prose()}",
        ]

    def _body(self, last: str) -> list[str]:
        lines = [f"        {self.pick('', _STATEMENTS)}" for _ in range(2)]
        comment = f"  # {self._prose()}"
        return [*lines, f"        {last}{self.pick('', (comment,))}"]

    def _function(self) -> str:
        shape = self.pick("...", _SHAPES)
        array = self.pick(f'Float["{shape}"]', EXPRESSIONS)
        word = self.pick(("float", "Axis", "Activation"), _WORDS)
        decorator = self.pick("@function", ("@open('tripwire')", "@function()", ""))
        return (
            f"{decorator}\ndef {self.pick('example', ('math', 'jax', 'zeros'))}(x: {array}, *, "
            f"a: {word} = {self._value(word)}  #: {self._prose()}\n) -> {array}:\n"
            + "\n".join([self._doc(4), f"    {self.pick('', ('pass',))}"])
            + f"\n    return {self.pick('x', EXPRESSIONS)}\n"
        )


_PLACES: Mapping[str, str] = {
    "Layer": "nn",
    "Block": "block",
    "Optimizer": "optim",
    "Schedule": "schedule",
}


def hostile(chance: random.Random) -> SpecFile:
    """A small spec with something in it that no spec should hold, or with nothing of the kind."""
    text = _Writer(chance).text()
    section = "functional"
    for base, place in _PLACES.items():
        if f"Example({base}" in text:
            section = place
    return SpecFile(f"specs/{section}/example.py", section, text)
