"""Distributions of `torch.distributions` that are locals, as the arrays that they are made of.

dist = Normal(mu, std)
action = dist.rsample()                       becomes    action = mu + std * torch.randn_like(mu)

Where anything else is done with such a local than what is known here, it stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.conversion.forms.named_distributions import (
    with_named_distributions,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    name,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_NORMAL = {
    "rsample": "loc + scale * torch.randn_like(loc)",
    "sample": "(loc + scale * torch.randn_like(loc)).detach()",
    "log_prob": "-((value - loc) ** 2) / (2 * scale ** 2) - torch.log(scale) - 0.9189385332046727",
    "entropy": "1.4189385332046727 + torch.log(scale) + torch.zeros_like(loc)",
    "mean": "loc",
    "loc": "loc",
    "mode": "loc",
    "stddev": "scale",
    "scale": "scale",
    "variance": "scale ** 2",
}
_LOGITS = {
    "sample": "torch.multinomial(torch.softmax(logits, dim=-1), 1).squeeze(-1)",
    "log_prob": (
        "torch.log_softmax(logits, dim=-1).gather(-1, value.long().unsqueeze(-1)).squeeze(-1)"
    ),
    "entropy": (
        "-(torch.softmax(logits, dim=-1) * torch.log_softmax(logits, dim=-1)).sum(dim=-1)"
    ),
    "probs": "torch.softmax(logits, dim=-1)",
    "logits": "torch.log_softmax(logits, dim=-1)",
    "mode": "torch.argmax(logits, dim=-1)",
}
_BERNOULLI = {
    "sample": "torch.bernoulli(torch.sigmoid(logits)).detach()",
    "log_prob": (
        "value * torch.nn.functional.logsigmoid(logits)"
        " + (1 - value) * torch.nn.functional.logsigmoid(-logits)"
    ),
    "probs": "torch.sigmoid(logits)",
    "logits": "logits",
    "mean": "torch.sigmoid(logits)",
}
_KINDS: Mapping[str, tuple[Sequence[str], Mapping[str, str]]] = {
    "Normal": (("loc", "scale"), _NORMAL),
    "Categorical": (("probs", "logits"), _LOGITS),
    "Bernoulli": (("probs", "logits"), _BERNOULLI),
}
_AS_LOGITS = {
    "Categorical": "torch.log(probs / probs.sum(dim=-1, keepdim=True))",
    "Bernoulli": "torch.log(probs) - torch.log1p(-probs)",
}


def without_distributions(origin: Origin) -> None:
    """Write them so, in place."""
    if "distributions" not in origin.text:
        return
    with_named_distributions(
        origin.tree, lambda value: _inner(origin, value) is not None
    )
    for function in [*walk(origin.tree)]:
        if isinstance(function, ast.FunctionDef):
            for part in [*_made(origin, function)]:
                _write_out(origin, function, part)
                located(function)
    if origin.imports.get("torch") != "torch":
        origin.tree.body.insert(0, ast.Import([ast.alias("torch")]))
        origin.forget("imports")
    located(origin.tree)


def _kind(origin: Origin, node: ast.AST) -> str:
    """Which distribution a call makes; "" where it makes none that is known."""
    if not isinstance(node, ast.Call):
        return ""
    full = origin.qualified(node.func)
    last = full.rpartition(".")[2]
    return last if full.startswith("torch.distributions.") and last in _KINDS else ""


def _made(origin: Origin, function: ast.FunctionDef) -> Iterator[ast.Assign]:
    """Statements that bind a distribution to a name that nothing else binds."""
    stored = [
        n.id
        for n in walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    for part in [*walk(function)]:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if _inner(
                origin, value
            ):
                if stored.count(local) == 1:
                    yield part


def _inner(origin: Origin, value: ast.expr) -> tuple[ast.Call, int] | None:
    """The call that makes a distribution, and how many axes are one event of it."""
    if isinstance(value, ast.Call) and _kind(origin, value):
        return value, 0
    if (
        isinstance(value, ast.Call)
        and origin.qualified(value.func).rpartition(".")[2] == "Independent"
        and len(value.args) == 2
        and _kind(origin, value.args[0])
        and literal(value.args[1]) == 1
    ):
        return value.args[0], 1  # type: ignore[return-value]
    return None


def _write_out(origin: Origin, function: ast.FunctionDef, part: ast.Assign) -> None:
    local = part.targets[0].id  # type: ignore[attr-defined]
    found = _inner(origin, part.value)
    assert found is not None
    call, events = found
    kind = _kind(origin, call)
    places, known = _KINDS[kind]
    given = dict(zip(places, call.args, strict=False))
    given |= {str(k.arg): k.value for k in call.keywords if k.arg in places}
    taken = {n.id for n in walk(function) if isinstance(n, ast.Name)}
    before: list[ast.stmt] = []
    parts: dict[str, ast.expr] = {}
    if "probs" in given and kind in _AS_LOGITS:
        made = expression(_AS_LOGITS[kind], probs=cloned(given.pop("probs")))
        given["logits"] = made
    after = _stored_after(function, part)
    for place, value in given.items():
        kept = isinstance(value, ast.Name) and value.id not in after
        title = next(
            t for t in (f"{local}_{place}{'_' * i}" for i in range(9)) if t not in taken
        )
        if not kept:
            before.append(
                ast.copy_location(
                    ast.Assign([ast.Name(title, ast.Store())], value), part
                )
            )
        parts[place] = value if kept else name(title)
    wanted = {n for n in ("loc", "scale", "logits") if n in places}
    if set(parts) != wanted:
        return
    writer = _Reads(local, known, parts, events)
    made = cloned(function)
    # Only where nothing else is done with it, which a copy tells.
    for inner in made.body:
        writer.visit(inner)
    left = [n for n in walk(made) if is_name(n, local)]
    if len(left) != 1:
        return
    for inner in function.body:
        writer.visit(inner)
    _replace(function, part, before)


def _stored_after(function: ast.FunctionDef, part: ast.Assign) -> set[str]:
    """Names that are bound, or changed, where a distribution may still be read."""
    return {
        n.id
        for n in walk(function)
        if isinstance(n, ast.Name)
        and isinstance(n.ctx, ast.Store)
        and n.lineno >= part.lineno
    }


def _replace(
    function: ast.FunctionDef, part: ast.stmt, made: Sequence[ast.stmt]
) -> None:
    for owner in walk(function):
        for title in ("body", "orelse"):
            body = getattr(owner, title, None)
            if isinstance(body, list) and part in body:
                at = body.index(part)
                body[at : at + 1] = made
                if not body:
                    body.append(ast.copy_location(ast.Pass(), part))
                return


class _Reads(NodeTransformer):
    """Writes what is read of a distribution."""

    def __init__(
        self,
        local: str,
        known: Mapping[str, str],
        parts: Mapping[str, ast.expr],
        events: int,
    ):
        self.local, self.known, self.parts, self.events = local, known, parts, events

    def _text(self, title: str, **more: ast.expr) -> ast.expr:
        parts = {k: cloned(v) for k, v in (*self.parts.items(), *more.items())}
        made = expression(self.known[title], **parts)
        if self.events and title in ("log_prob", "entropy"):
            return expression("made.sum(dim=-1)", made=made)
        return made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=local), attr=title), keywords=[]
            ) if local == self.local and title in self.known:
                if title == "log_prob" and len(node.args) == 1:
                    return ast.copy_location(
                        self._text(title, value=node.args[0]), node
                    )
                if title in ("rsample", "sample", "entropy") and not node.args:
                    return ast.copy_location(self._text(title), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        called = ("rsample", "sample", "log_prob", "entropy")
        known = node.attr in self.known and node.attr not in called
        if is_name(node.value, self.local) and known:
            return ast.copy_location(self._text(node.attr), node)
        self.generic_visit(node)
        return node
