"""Classes that are built on `nn.Dense` or `nn.Conv` of flax, and change the kernel or its product.

class StdConv(nn.Conv):                          becomes    a class that declares the kernel and calls
    def param(self, name, *a):                              `lax.conv_general_dilated` itself
        made = super().param(name, *a)
        if name == "kernel":
            made = standardize(made)
        return made
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    name,
    self_attribute,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_LINEN = "flax.linen"
_FIELDS = """
    use_bias: bool = True
    kernel_init: "Callable" = nn_.initializers.lecun_normal()
    bias_init: "Callable" = nn_.initializers.zeros
    dtype: "Any" = None
    param_dtype: "Any" = None
    precision: "Any" = None
"""
_BIAS = """
        if self.use_bias:
            y = y + self.param("bias", self.bias_init, (self.features,))
        return y
"""
_DENSE = f"""
class Dense(nn_.Module):
    features: int
{_FIELDS}
    @nn_.compact
    def __call__(self, inputs):
        kernel = self.param("kernel", self.kernel_init, (inputs.shape[-1], self.features))
        y = inputs @ kernel
{_BIAS}"""
_CONV = f"""
class Conv(nn_.Module):
    features: int
    kernel_size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: str = "SAME"
{_FIELDS}
    @nn_.compact
    def __call__(self, inputs):
        _, _, _, channels = inputs.shape
        kernel = self.param(
            "kernel", self.kernel_init, (*self.kernel_size, channels, self.features)
        )
        y = jax_.lax.conv_general_dilated(
            inputs, kernel, self.strides, self.padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
{_BIAS}"""
_WRITTEN = {f"{_LINEN}.Dense": _DENSE, f"{_LINEN}.Conv": _CONV}


def without_derived_linen(origin: Origin) -> None:
    """Write them so, in place; one that does anything else is left as it is."""
    for node in list(origin.classes.values()):
        text = (
            _WRITTEN.get(origin.qualified(node.bases[0]))
            if len(node.bases) == 1
            else None
        )
        if text is None:
            continue
        base = ast.parse(text).body[0]
        assert isinstance(base, ast.ClassDef)
        call = method_of(base, "__call__")
        assert call is not None
        own, changed = method_of(node, "__call__"), method_of(node, "param")
        if (own is None) == (changed is None):
            continue
        if own is not None and "super()" in ast.unparse(own):
            continue
        if changed is not None:
            steps = _steps(changed)
            if steps is None:
                continue
            declared = 2 if text is _CONV else 1
            call.body[declared:declared] = steps
        _derive(origin, node, _named(origin, node, base), changed)
    located(origin.tree)


def _named(origin: Origin, node: ast.ClassDef, base: ast.ClassDef) -> ast.ClassDef:
    """The base with the names that the file has for modules."""
    [first] = node.bases
    nn = first.value if isinstance(first, ast.Attribute) else None
    if nn is None:
        origin.tree.body[:0] = ast.parse(f"import {_LINEN} as nn_").body
        origin.forget("imports")
    jax = name(origin.name_of("jax") or "@module:jax")
    made = with_names(base, {"jax_": jax, **({"nn_": nn} if nn is not None else {})})
    assert isinstance(made, ast.ClassDef)
    return made


def _steps(method: ast.FunctionDef) -> list[ast.stmt] | None:
    """What happens to the kernel; None where it is not that alone."""
    match without_docstring(method.body):
        case [
            ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.Call(func=func, args=[first, *_]),
            ),
            ast.If(
                test=ast.Compare(
                    left=ast.Name(id=asked),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant("kernel")],
                ),
                body=body,
                orelse=[],
            ),
            ast.Return(value=ast.Name(id=result)),
        ] if ast.unparse(func) == "super().param" and is_name(first, asked):
            bound = {
                n.id
                for part in body
                for n in walk(part)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            if result != local or bound != {local}:
                return None
            made = [cloned(part) for part in body]
            for part in made:
                for n in walk(part):
                    if isinstance(n, ast.Name) and n.id == local:
                        n.id = "kernel"
            return made
    return None


def _derive(
    origin: Origin,
    node: ast.ClassDef,
    base: ast.ClassDef,
    changed: ast.FunctionDef | None,
) -> None:
    """Give a class the fields and the call of the base, which is none of its bases then."""
    given = {
        k.arg
        for call in walk(origin.tree)
        if isinstance(call, ast.Call) and is_name(call.func, node.name)
        for k in call.keywords
    }
    own = {_title(p): p for p in node.body if isinstance(p, ast.AnnAssign)}
    methods = [
        p for p in node.body if not isinstance(p, ast.AnnAssign) and p is not changed
    ]
    if method_of(node, "__call__") is None:
        call = method_of(base, "__call__")
        assert call is not None
        methods.append(ast.copy_location(call, node))
    read = {self_attribute(p) for m in methods for p in walk(m)}
    fields: list[ast.stmt] = []
    settled: dict[str, ast.expr] = {}
    for part in base.body:
        if not isinstance(part, ast.AnnAssign):
            continue
        title = _title(part)
        kept = own.pop(title, part)
        if title.endswith("_init") and title not in given and kept.value is not None:
            settled[title] = kept.value
        elif title in read and title not in ("dtype", "param_dtype", "precision"):
            fields.append(kept)
        elif title in read:
            settled[title] = ast.Constant(None)
    for method in methods:
        _Settled(settled).visit(method)
    fields += own.values()
    for part in fields:
        ast.copy_location(part, node)
    node.bases = [ast.copy_location(cloned(base.bases[0]), node)]
    node.body = [*fields, *methods]


def _title(field: ast.AnnAssign) -> str:
    return field.target.id if isinstance(field.target, ast.Name) else ""


class _Settled(NodeTransformer):
    """Writes what fields always are."""

    def __init__(self, known: dict[str, ast.expr]):
        self.known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self.known.get(self_attribute(node) or "")
        return cloned(value) if value is not None else self.generic_visit(node)
