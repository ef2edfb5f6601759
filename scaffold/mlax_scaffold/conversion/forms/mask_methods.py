"""Methods of equinox's classes that make masks of ones and zeros, as those that make booleans.

def make_mask(self, mask):                               def make_mask(self, mask):
    mask = jnp.multiply(mask[:, None], mask)   becomes       mask = jnp.multiply(mask[:, None], mask)
    return mask.astype(jnp.float32)                          return mask != 0

where what they make is handed to layers as a mask, and to nothing else.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_FLOATS = ("jax.numpy.float32", "jax.numpy.float16", "jax.numpy.bfloat16")


def with_boolean_masks(origin: Origin) -> None:
    """Write them so in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "equinox":
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or "mask" not in method.name:
                continue
            last = method.body[-1]
            match last:
                case ast.Return(
                    value=ast.Call(
                        func=ast.Attribute(value=made, attr="astype"), args=[dtype]
                    )
                ) if origin.qualified(dtype) in _FLOATS and _masks_alone(node, method):
                    test = ast.Compare(made, [ast.NotEq()], [ast.Constant(0)])
                    last.value = ast.copy_location(test, made)
    located(origin.tree)


def _masks_alone(node: ast.ClassDef, made: ast.FunctionDef) -> bool:
    """Whether what a method makes is handed to layers by the name of a mask alone."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method is made:
            continue
        locals_ = {
            t.id
            for part in walk(method)
            if isinstance(part, ast.Assign)
            and isinstance(part.value, ast.Call)
            and self_attribute(part.value.func) == made.name
            for t in part.targets
            if isinstance(t, ast.Name)
        }
        handed = {
            id(k.value)
            for part in walk(method)
            if isinstance(part, ast.Call)
            for k in part.keywords
            if k.arg is not None and "mask" in k.arg
        }
        asked = {
            id(part.left) for part in walk(method) if isinstance(part, ast.Compare)
        }
        again = {
            id(a)
            for part in walk(method)
            if isinstance(part, ast.Call) and self_attribute(part.func) == made.name
            for a in part.args
        }
        for part in walk(method):
            called = self_attribute(part) == made.name
            read = any(is_name(part, n) for n in locals_) and isinstance(
                getattr(part, "ctx", None), ast.Load
            )
            if called and not locals_:
                return False
            if read and id(part) not in handed | asked | again:
                return False
    return True
