"""Arrays that an optimizer begins with, as moments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute

_LIKE = {"jax.numpy.zeros_like": "zeros", "jax.numpy.ones_like": "ones"}
_SHAPED = {"jax.numpy.zeros": "zeros", "jax.numpy.ones": "ones"}


def moment(
    source: Source,
    setup: ast.FunctionDef,
    value: ast.expr,
    imports: Mapping[str, Import],
) -> Fix | None:
    """`jnp.zeros_like(param)` or `jnp.zeros(param.shape)` as `moment(zeros, param.shape)`.

    None for any other value: a dtype of its own, or the shape of something else, is not guessed.
    """
    if not isinstance(value, ast.Call) or value.keywords:
        return None
    full = qualified(value.func, imports) or ""
    inputs = {a.arg for a in setup.args.args} - {"self"}
    match value.args:
        case [ast.Name(id=name)] if full in _LIKE and name in inputs:
            filled, shape = _LIKE[full], f"{name}.shape"
        case [shape] | [
            shape,
            ast.Attribute(value=ast.Name(), attr="dtype"),
        ] if full in _SHAPED and _is_shape(shape, inputs):
            filled, shape = _SHAPED[full], source.text_of(shape)
        case _:
            return None
    declared, initializer = word(source, "moment"), word(source, filled)
    text = f"{declared.bound}({initializer.bound}, {shape})"
    return Fix((source.edit(value, text),), (declared, initializer))


def shaped(source: Source, setup: ast.FunctionDef, call: ast.Call) -> Fix | None:
    """`moment()` as zeros in the shape of the leaf, and `moment(ones)` as ones; None for anything else."""
    inputs = [a.arg for a in setup.args.args if a.arg != "self"]
    if call.keywords or dotted(call.func) != "moment" or len(inputs) != 1:
        return None
    function, shape = source.text_of(call.func), f"{inputs[0]}.shape"
    match call.args:
        case []:
            named = word(source, "zeros")
            text = f"{function}({named.bound}, {shape})"
            return Fix((source.edit(call, text),), (named,))
        case [initializer]:
            text = f"{function}({source.text_of(initializer)}, {shape})"
            return Fix((source.edit(call, text),))
    return None


def declared_as(source: Source, call: ast.Call, name: str) -> Fix:
    """What a layer calls its state, and an optimizer a moment, by the word of the other."""
    named = word(source, name)
    return Fix((source.edit(call.func, named.bound),), (named,))


def _is_shape(node: ast.expr, inputs: set[str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name in inputs
    return False


def kept_once(source: Source, setup: ast.FunctionDef) -> Fix | None:
    """The states of `setup` in `setup_tree`: those that a step sets, once for all leaves.

    None where no step sets one of them, or one reads the leaf.
    """
    owner = class_of(source.tree, setup)
    body = owner.body if owner else ()
    methods = {m.name: m for m in body if isinstance(m, ast.FunctionDef)}
    inputs = {a.arg for a in setup.args.args} - {"self"}
    moved = []
    for statement in setup.body:
        match statement:
            case ast.Assign(targets=[target], value=ast.Call() as call) if (
                dotted(call.func) == "state"
            ):
                name = self_attribute(target)
                read = {n.id for n in walk(call) if isinstance(n, ast.Name)}
                if name is None or read & inputs:
                    return None
                moved.append((name, statement))
    set_once = {
        self_attribute(node)
        for name in ("prepare", "finish", "step")
        if (method := methods.get(name))
        for node in walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    if not moved or not {name for name, _ in moved} & set_once:
        return None
    first, last = setup.lineno, setup.end_lineno or setup.lineno
    lines = [(s.lineno, (s.end_lineno or s.lineno) + 1) for _, s in moved]
    declared = "".join(f"{source.between((a, 1), (b, 1))}" for a, b in lines)
    head = "    def setup_tree(self, params):\n"
    tree = methods.get("setup_tree")
    whole = len(moved) == len(setup.body)
    if whole and tree is None:
        return Fix((source.replace((first, 1), (setup.body[0].lineno, 1), head),))
    gone = [(first, last + 2)] if whole else lines
    edits = [source.replace((a, 1), (b, 1), "") for a, b in gone]
    after = (tree.end_lineno or last) + 1 if tree else last + 1
    text = declared if tree else f"\n{head}{declared}"
    return Fix((*edits, source.replace((after, 1), (after, 1), text)))
