"""What PyTorch's code says of devices: where arrays are is no part of a spec."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_FALSE = (
    *("torch.cuda.is_available", "torch.backends.mps.is_available"),
    *("torch.jit.is_scripting", "torch.jit.is_tracing", "torch.onnx.is_in_onnx_export"),
    *("torch.is_autocast_enabled", "torch.compiler.is_compiling"),
)
_PARALLEL = (
    "torch.nn.parallel.data_parallel",
    "torch.nn.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
)
_SAME = ("torch.autograd.Variable", "torch.autograd.variable.Variable")
"""What hands on the tensor that it is given."""
_TORCH = "torch_"
"""What PyTorch is called where the file has no name for it."""
_NEW = ("new_zeros", "new_ones", "new_full", "new_empty")


def without_device_code(origin: Origin) -> None:
    """Write in place what is left of it where there is no GPU."""
    torch = origin.name_of("torch")
    if origin.uses("torch"):
        _Devices(origin, torch or _TORCH).visit(origin.tree)
        if not torch:
            origin.tree.body[:0] = ast.parse(f"import torch as {_TORCH}").body
            origin.forget("imports")
        located(origin.tree)


class _Devices(NodeTransformer):
    def __init__(self, origin: Origin, torch: str):
        self.origin, self.torch = origin, torch
        self.known: set[str] = set()
        """Attributes that say that PyTorch has a function."""
        self.weights: set[str] = set()
        """Locals that are any weight, asked for its type."""
        self.looped: set[str] = set()
        """What loops call the weights that they go over."""
        self.held: set[str] = set()
        """Locals that are weights of the object."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.weights = {
            part.targets[0].id
            for part in walk(node)
            if isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Name)
            and _any_weight(part.value)
        }
        self.held = {
            part.targets[0].id
            for part in walk(node)
            if isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Name)
            and self._is_held(part.value)
        }
        self.generic_visit(node)
        if self.weights:
            read = {
                p.id
                for p in walk(node)
                if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
            }
            _Unread(self.weights - read).visit(node)
        return node

    def _is_held(self, value: ast.expr) -> bool:
        """Whether a value is what the object holds, or a weight that it is to hold."""
        if isinstance(value, ast.Call):
            return self.origin.qualified(value.func) == "torch.nn.Parameter"
        while isinstance(value, ast.Attribute | ast.Subscript):
            value = value.value
        return is_name(value, "self")

    def visit_For(self, node: ast.For) -> ast.For:
        """What a loop over weights says of them is told where it is read."""
        before = self.looped
        if "parameters()" in ast.unparse(node.iter):
            self.looped = before | names(node.target)
        self.generic_visit(node)
        self.looped = before
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "is_cuda":
            return ast.copy_location(ast.Constant(False), node)
        if self_attribute(node) in self.known and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(True), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        if full in _FALSE:
            return ast.copy_location(ast.Constant(False), node)
        if self._is_there(node):
            return ast.copy_location(ast.Constant(True), node)
        if getattr(node.func, "attr", "") == "is_contiguous" and not node.args:
            # Nothing here is laid out otherwise.
            return ast.copy_location(ast.Constant(True), node)
        if full in _SAME and len(node.args) == 1:
            # What it says beside that, such as `requires_grad`, is of no matter to a value.
            return node.args[0]
        if full == "torch.from_numpy":
            made = ast.Attribute(ast.Name(self.torch, ast.Load()), "tensor", ast.Load())
            node.func = ast.copy_location(made, node.func)
            node.args = [_as_it_is(a) for a in node.args]
        if full in _PARALLEL and node.args:
            if full != _PARALLEL[0]:
                return node.args[0]
            made = ast.Call(node.args[0], node.args[1:2], [])
            return ast.copy_location(made, node)
        func = node.func
        if self._is_as_weights(node):
            # A spec computes in one dtype.
            owner = func.value  # type: ignore[attr-defined]
            made = ast.Attribute(owner, "float", ast.Load())
            return ast.copy_location(ast.Call(made, [], []), node)
        if (
            isinstance(func, ast.Attribute)
            and func.attr in _NEW
            and self._is_weight(func.value)
        ):
            made = ast.Attribute(
                ast.Name(self.torch, ast.Load()), func.attr[4:], ast.Load()
            )
            node.func = ast.copy_location(made, func)
        return node

    def _is_as_weights(self, node: ast.Call) -> bool:
        """Whether an array is given the dtype of any weight."""
        given = [*node.args, *(k.value for k in node.keywords)]
        if getattr(node.func, "attr", "") not in ("to", "type_as") or len(given) != 1:
            return False
        weight = given[0]
        if isinstance(weight, ast.Attribute) and weight.attr == "dtype":
            weight = weight.value
        return self._is_weight(weight)

    def _is_there(self, node: ast.Call) -> bool:
        """Whether a call asks PyTorch for a function that newer versions have."""
        match node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[module, ast.Constant()]):
                return self.origin.qualified(module).partition(".")[0] == "torch"
        return False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        asks = [
            part
            for part in walk(node)
            if isinstance(part, ast.Assign)
            and isinstance(part.value, ast.Call)
            and self._is_there(part.value)
        ]
        for part in asks:
            attribute = self_attribute(part.targets[0])
            stores = [
                p
                for p in walk(node)
                if self_attribute(p) == attribute
                and isinstance(getattr(p, "ctx", None), ast.Store)
            ]
            if attribute is not None and len(stores) == 1:
                self.known.add(attribute)
        self.generic_visit(node)
        self.known.clear()
        return node

    def _is_weight(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return self._is_weight(node.value)
        return _any_weight(node) or (
            isinstance(node, ast.Name) and node.id in self.weights
        )

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """A local array that is told not to be trained is what it is; some write `require_grad`."""
        self.generic_visit(node)
        match node.targets[0]:
            case ast.Attribute(
                value=ast.Name(id=owner), attr="requires_grad" | "require_grad"
            ) if owner not in ("self", *self.looped, *self.held):
                return ast.copy_location(ast.Pass(), node)
        place = self_attribute(node.targets[0])
        if place and _moved(node.value, place):
            # `self.mask = self.mask.to(x.device)`
            return ast.copy_location(ast.Pass(), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Where a layer puts itself, `self.to(device)`, is nothing that it computes."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            moves = self_attribute(node.value.func) in ("to", "cuda", "cpu")
            return ast.copy_location(ast.Pass(), node) if moves else node
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """The version of PyTorch is that of today, later than any that code asks for."""
        self.generic_visit(node)
        asked = any(
            self.origin.qualified(p) == "torch.__version__" for p in walk(node.left)
        )
        later = isinstance(node.ops[0], ast.Gt | ast.GtE)
        if asked and (later or isinstance(node.ops[0], ast.Lt | ast.LtE)):
            return ast.copy_location(ast.Constant(later), node)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        both = isinstance(node.op, ast.And)
        kept = [v for v in node.values if not _is(v, both)]
        if any(_is(v, not both) for v in kept):
            return ast.copy_location(ast.Constant(not both), node)
        if not kept:
            return ast.copy_location(ast.Constant(both), node)
        node.values = kept
        return node if len(kept) > 1 else kept[0]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.copy_location(ast.Constant(not node.operand.value), node)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        for value, body in ((True, node.body), (False, node.orelse)):
            if _is(node.test, value):
                return body or ast.copy_location(ast.Pass(), node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        for value, chosen in ((True, node.body), (False, node.orelse)):
            if _is(node.test, value):
                return chosen
        return node


class _Unread(NodeTransformer):
    """Takes out what is bound to names that nothing reads any more."""

    def __init__(self, unread: set[str]):
        self.unread = unread

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.unread:
            return ast.copy_location(ast.Pass(), node)
        return node


def _moved(node: ast.expr, place: str) -> bool:
    """Whether an attribute is bound to itself on another device, or in another dtype."""
    match node:
        case ast.IfExp(body=body, orelse=ast.Constant(value=None)):
            return _moved(body, place)
        case ast.Call(func=ast.Attribute(value=owner, attr="to" | "cuda" | "type_as")):
            return self_attribute(owner) == place
    return False


def _as_it_is(node: ast.expr) -> ast.expr:
    """An array of NumPy without the dtype that PyTorch computes in."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="astype"), args=[dtype]):
            if ast.unparse(dtype).rpartition(".")[2] in ("float32", "float", "float64"):
                return inner
    return node


def _is(node: ast.expr, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _any_weight(node: ast.expr) -> bool:
    """`next(self.parameters())`: any weight."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "next"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Call)
        and self_attribute(node.args[0].func) in ("parameters", "buffers")
    )
