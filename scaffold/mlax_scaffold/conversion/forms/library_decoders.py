"""Decoders of the library, such as `nn.TransformerDecoder` and `nn.Transformer`, as classes of the file.

They are written out with the layers that they are made of, and the names that their weights have there. What
changes how they compute, `batch_first`, `norm_first` and `activation`, is written in the class.
"""

from __future__ import annotations

import ast
import textwrap

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_KINDS = ("TransformerDecoderLayer", "TransformerDecoder", "Transformer")
_SETTINGS = {"batch_first": False, "norm_first": False, "activation": "relu"}
_ACTIVATIONS = {"torch.nn.functional.relu": "relu", "torch.nn.functional.gelu": "gelu"}
_SOURCES = {"src_mask": "mask", "src_key_padding_mask": "src_key_padding_mask"}
"""Masks of the encoder, and what they are called there."""
_WHOLE_MASKS = (
    *("src_mask", "tgt_mask", "memory_mask"),
    *("src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask"),
)
_MASKS = ("tgt_mask", "memory_mask", "tgt_key_padding_mask", "memory_key_padding_mask")

_START = """\
class {title}({nn}.Module):
    def __init__(self, {given}):
        super().__init__()
"""
_LAYER = """\
self.self_attn = {nn}.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first={batch_first})
self.multihead_attn = {nn}.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first={batch_first})
self.linear1 = {nn}.Linear(d_model, dim_feedforward)
self.dropout = {nn}.Dropout(dropout)
self.linear2 = {nn}.Linear(dim_feedforward, d_model)
self.norm1 = {nn}.LayerNorm(d_model, eps=layer_norm_eps)
self.norm2 = {nn}.LayerNorm(d_model, eps=layer_norm_eps)
self.norm3 = {nn}.LayerNorm(d_model, eps=layer_norm_eps)
self.dropout1 = {nn}.Dropout(dropout)
self.dropout2 = {nn}.Dropout(dropout)
self.dropout3 = {nn}.Dropout(dropout)
"""
_STEPS = (
    "self.self_attn({0}, {0}, {0}{tgt})[0]",
    "self.multihead_attn({0}, memory, memory{memory})[0]",
    "self.linear2(self.dropout({nn}.functional.{activation}(self.linear1({0}))))",
)
_DECODER = """\
self.layers = {nn}.ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
self.norm = norm
"""
_WHOLE = """\
encoder_layer = {nn}.TransformerEncoderLayer(
    d_model, nhead, dim_feedforward, dropout, activation="{activation}", batch_first={batch_first},
    norm_first={norm_first})
self.encoder = {nn}.TransformerEncoder(encoder_layer, num_encoder_layers, {nn}.LayerNorm(d_model))
decoder_layer = {nn}.TransformerDecoderLayer(
    d_model, nhead, dim_feedforward, dropout, activation="{activation}", batch_first={batch_first},
    norm_first={norm_first})
self.decoder = {nn}.TransformerDecoder(decoder_layer, num_decoder_layers, {nn}.LayerNorm(d_model))
"""


def without_library_decoders(origin: Origin) -> None:
    """Write them so in a file, in place."""
    nn = origin.name_of("torch.nn")
    torch = origin.name_of("torch")
    nn = nn or (f"{torch}.nn" if torch else "")
    for kind in reversed(_KINDS):
        made: dict[str, str] = {}
        for part in [*walk(origin.tree)]:
            if not isinstance(part, ast.Call):
                continue
            if origin.qualified(part.func) != f"torch.nn.{kind}" or not nn:
                continue
            settings = _settings(origin, part) if kind != _KINDS[1] else {}
            if settings is None:
                continue
            text = _text(kind, {"nn": nn, **settings}, _masks_given(origin))
            title = made.get(text)
            if title is None:
                title = made[text] = _free(origin, kind)
                _add(origin, text.replace("{title}", title), kind)
            kept = [k for k in part.keywords if k.arg not in _SETTINGS]
            part.keywords = kept
            part.func = ast.copy_location(ast.Name(title, ast.Load()), part.func)


def _settings(origin: Origin, call: ast.Call) -> dict[str, object] | None:
    """How the layers of a call compute; None where that is not to be told, or something else is given."""
    found: dict[str, object] = {**_SETTINGS}
    given = {k.arg: k.value for k in call.keywords}
    if None in given or given.keys() & {"custom_encoder", "custom_decoder", "bias"}:
        return None
    if len(call.args) > (6 if "Layer" not in ast.unparse(call.func) else 4):
        return None
    for title, default in _SETTINGS.items():
        if title in given:
            value = literal(given[title])
            value = _ACTIVATIONS.get(origin.qualified(given[title]), value)
            if type(value) is not type(default) or value not in (
                True,
                False,
                "relu",
                "gelu",
            ):
                return None
            found[title] = value
    return found


def _masks_given(origin: Origin) -> list[str]:
    """The masks that calls of the file give."""
    titles = {
        self_attribute(part.targets[0])
        for part in walk(origin.tree)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and origin.qualified(part.value.func)
        in [f"torch.nn.{kind}" for kind in _KINDS[1:]]
    } - {None}
    given: set[str] = set()
    for part in walk(origin.tree):
        if isinstance(part, ast.Call):
            given |= {str(k.arg) for k in part.keywords}
            if self_attribute(part.func) in titles and len(part.args) > 2:
                given |= {*_MASKS, *_SOURCES}
    return [m for m in (*_SOURCES, *_MASKS) if m in given]


def _text(kind: str, parts: dict[str, object], given_masks: list[str]) -> str:
    own = [m for m in _MASKS if m in given_masks]
    masks = "".join(f", {m}=None" for m in own)
    handed = "".join(f", {m}={m}" for m in own)
    sources = "".join(f", {_SOURCES[m]}={m}" for m in _SOURCES if m in given_masks)
    every = "".join(f", {m}=None" for m in _WHOLE_MASKS if m in given_masks)
    if kind == _KINDS[0]:
        given = "d_model, nhead, dim_feedforward=2048, dropout=0.1, layer_norm_eps=1e-5"
        lines = [f"def forward(self, tgt, memory{masks}):"]
        of_call = {"mask": "attn_mask", "key_padding_mask": "key_padding_mask"}
        given_to = {
            kind: "".join(
                f", {to}={kind}_{m}"
                for m, to in of_call.items()
                if f"{kind}_{m}" in given_masks
            )
            for kind in ("tgt", "memory")
        }
        for i, step in enumerate(_STEPS, 1):
            before = f"self.norm{i}(tgt)" if parts["norm_first"] else "tgt"
            named = "normed" if parts["norm_first"] else "tgt"
            if parts["norm_first"]:
                lines.append(f"    normed = {before}")
            made = f"tgt + self.dropout{i}({step.format(named, **parts, **given_to)})"
            made = made if parts["norm_first"] else f"self.norm{i}({made})"
            lines.append(f"    tgt = {made}")
        lines.append("    return tgt")
        body = _LAYER
    elif kind == _KINDS[1]:
        given, body = "decoder_layer, num_layers, norm=None", _DECODER
        lines = [
            f"def forward(self, tgt, memory{masks}):",
            "    for layer in self.layers:",
            f"        tgt = layer(tgt, memory{handed})",
            "    if self.norm is not None:",
            "        tgt = self.norm(tgt)",
            "    return tgt",
        ]
    else:
        given = (
            "d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, "
            "dim_feedforward=2048, dropout=0.1"
        )
        body = _WHOLE
        lines = [
            f"def forward(self, src, tgt{every}):",
            f"    memory = self.encoder(src{sources})",
            f"    return self.decoder(tgt, memory{handed})",
        ]
    start = _START.format(title="{title}", given=given, **parts)
    inner = textwrap.indent(body.format(**parts), " " * 8)
    return start + inner + "\n" + textwrap.indent("\n".join(lines), " " * 4) + "\n"


def _free(origin: Origin, kind: str) -> str:
    """A name that the file has not."""
    taken = {*origin.imports, *origin.classes, *origin.functions, *origin.assigned}
    names = [kind, *(f"{kind}{i}" for i in range(2, 20))]
    return next(n for n in names if n not in taken)


def _add(origin: Origin, text: str, kind: str) -> None:
    body = origin.tree.body
    at = next((i for i, s in enumerate(body) if isinstance(s, ast.ClassDef)), len(body))
    made = ast.parse(text).body
    if kind == _KINDS[1] and origin.imports.get("copy") != "copy":
        made = [*ast.parse("import copy").body, *made]
    line = body[at].lineno if at < len(body) else 1
    for part in (p for s in made for p in walk(s)):
        if hasattr(part, "lineno"):
            part.lineno = part.end_lineno = line  # type: ignore[attr-defined]
    body[at:at] = made
    origin.forget("imports", "classes", "functions", "copied", "assigned")
