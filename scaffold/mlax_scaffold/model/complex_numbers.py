"""What in a spec makes complex numbers, by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.model.walking import walk

DTYPES = ("complex64", "complex128")
_MAKERS = frozenset(
    [
        "jax.lax.complex",
        "jax.lax.fft",
        *(f"jax.numpy.{name}" for name in DTYPES),
        *("numpy.complex64", "numpy.complex128"),
    ]
)
_MODULES = ("jax.numpy.fft.", "numpy.fft.")
_REAL = ("fftfreq", "rfftfreq", "fftshift", "ifftshift")
"""Functions of the modules of Fourier transforms that make nothing complex of what is real."""


def names_complex(dtype: ast.expr) -> bool:
    """Whether an expression names a complex dtype."""
    match dtype:
        case ast.Constant(value=str(word)) | ast.Attribute(attr=word) | ast.Name(word):
            return word in (*DTYPES, "complex")
    return False


def makes_complex(nodes: Iterable[ast.AST], meanings: Mapping[str, str]) -> bool:
    """Whether code computes with complex numbers, by what it calls and the numbers in it.

    Args:
        nodes: the code.
        meanings: the dotted name of what each imported name stands for.
    """
    return any(_is_complex(n, meanings) for node in nodes for n in walk(node))


def _is_complex(node: ast.AST, meanings: Mapping[str, str]) -> bool:
    match node:
        case ast.Constant(value=complex()):
            return True
        case ast.Constant(value=str(word)):
            return word in DTYPES
        case ast.Name(id=name) if name in meanings:
            return _makes(meanings[name])
        case ast.Attribute():
            return _makes(_dotted(node, meanings))
        case ast.Subscript(value=ast.Name(id="Complex")):
            return True
        case ast.Call(func=ast.Name(id="complex")):
            return True
    return False


def _makes(name: str) -> bool:
    module = next((m for m in _MODULES if name.startswith(m)), "")
    return name in _MAKERS or bool(module and name.removeprefix(module) not in _REAL)


def _dotted(node: ast.expr, meanings: Mapping[str, str]) -> str:
    """The full name of an attribute of a module; empty where it is something else."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            before = _dotted(owner, meanings)
            return before and f"{before}.{name}"
        case ast.Name(id=name):
            return meanings.get(name, "")
    return ""
