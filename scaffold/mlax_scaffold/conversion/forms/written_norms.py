"""Norms of PyTorch that keep averages where others of their kind do not, or none, as classes of the file.

`nn.BatchNorm2d(n, track_running_stats=False)` normalizes by the moments of the batch in inference, too, and
`nn.InstanceNorm2d(n, track_running_stats=True)` by averages of those of examples there.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.added_code import with_definitions
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_TORCH = "torch_"
"""What the classes that are added call PyTorch."""
_PARAMETERS = ("num_features", "eps", "momentum", "affine", "track_running_stats")
_HEAD = '''
class {title}(torch_.nn.Module):
    """{says}"""

    def __init__(self, num_features, eps=1e-5, {momentum}affine={affine}):
        super().__init__()
        self.eps = eps
        self.weight = torch_.nn.Parameter(torch_.ones(num_features)) if affine else None
        self.bias = torch_.nn.Parameter(torch_.zeros(num_features)) if affine else None
'''
_BATCH = """
    def forward(self, x):
        {rank}mean = x.mean(({batch}), keepdim=True)
        var = x.var(({batch}), unbiased=False, keepdim=True)
        y = (x - mean) / torch_.sqrt(var + self.eps)
        if self.weight is None:
            return y
        return y * self.weight{spread} + self.bias{spread}
"""
_INSTANCE = """
        self.momentum = momentum
        self.register_buffer("running_mean", torch_.zeros(num_features))
        self.register_buffer("running_var", torch_.ones(num_features))

    def forward(self, x):
        if self.training:
            mean = x.mean(({axes}), keepdim=True)
            var = x.var(({axes}), unbiased=False, keepdim=True)
            size = x[0, 0].numel()
            unbiased = var.mean(0).flatten() * (size / max(size - 1, 1))
            rate = self.momentum
            self.running_mean = (1 - rate) * self.running_mean + rate * mean.mean(0).flatten().detach()
            self.running_var = (1 - rate) * self.running_var + rate * unbiased.detach()
        else:
            mean = self.running_mean{spread}
            var = self.running_var{spread}
        y = (x - mean) / torch_.sqrt(var + self.eps)
        if self.weight is None:
            return y
        return y * self.weight{spread} + self.bias{spread}
"""
_SAYS = {
    "Batch": "Normalizes by the moments of the batch, in inference, too.",
    "Instance": "Normalizes by the moments of each example, and by their averages in inference.",
}
_TRACKS = {"Batch": True, "Instance": False}
"""Whether a kind keeps averages by default."""


def without_unusual_norms(origin: Origin) -> None:
    """Write such calls as those of classes, which the file has then, in place."""
    if not origin.uses("torch"):
        return
    calls = _Calls(origin)
    calls.visit(origin.tree)
    if calls.texts:
        with_definitions(origin, calls.texts.values(), calls.line, _TORCH)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.texts: dict[str, str] = {}
        self.line = 0
        self.sequences = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        called = [p.func for p in walk(node) if isinstance(p, ast.Call)]
        self.sequences = any(self._of_sequences(func) for func in called)
        return self.generic_visit(node)

    def _of_sequences(self, func: ast.expr) -> bool:
        full = self.origin.qualified(func)
        return full.startswith("torch.nn.") and full.endswith(("Conv1d", "Pool1d"))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        kind, _, rank = self.origin.qualified(node.func).partition("Norm")
        kind = kind.removeprefix("torch.nn.")
        if kind not in _TRACKS or rank not in ("1d", "2d", "3d"):
            return node
        if len(node.args) > len(_PARAMETERS):
            return node
        given = dict(zip(_PARAMETERS, node.args, strict=False))
        given |= {k.arg or "**": k.value for k in node.keywords}
        tracks = literal(given.pop("track_running_stats", None))
        if tracks is not (not _TRACKS[kind]) or not {*given} <= {*_PARAMETERS}:
            return node
        dims = int(rank[0])
        if kind == "Batch" and dims == 1 and not self.sequences:
            # It takes rows of features as well, which its input tells there.
            dims = 0
        title = self._written(kind, dims, node.lineno)
        keywords = [ast.keyword(k, v) for k, v in given.items() if k != "momentum"]
        if kind == "Instance" and "momentum" in given:
            keywords.append(ast.keyword("momentum", given["momentum"]))
        made = ast.Call(ast.Name(title, ast.Load()), [], keywords)
        return located(ast.copy_location(made, node))

    def _written(self, kind: str, dims: int, line: int) -> str:
        """The name of the class, which the file gets."""
        self.line = self.line or line
        title = f"{kind}{'Averages' if kind == 'Instance' else 'Moments'}Norm"
        title += f"{dims}d" if dims else ""
        axes = "".join(f"{axis}, " for axis in range(2, dims + 2)).strip(" ")
        spread = f"[:, {', '.join(['None'] * dims)}]" if dims else ""
        text = _HEAD + (_BATCH if kind == "Batch" else _INSTANCE)
        self.texts[title] = text.format(
            title=title,
            says=_SAYS[kind],
            momentum="momentum=0.1, " if kind == "Instance" else "",
            affine=_TRACKS[kind],
            axes=axes,
            batch=f"0, {axes}",
            # Of other layers the rank is told by the axes that weights are spread over.
            rank=""
            if dims > 1
            else f"{', '.join(['_'] * (dims + 2))} = x.shape\n        ",
            spread=spread,
        )
        return title
