"""What names say: words that mean the same, and numbers that count layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

_SAME = (
    ("attention", "attn self_attn selfattention self_attention mha attention"),
    ("context attention", "multihead_attn cross_attn cross_attention crossattention"),
    ("context attention", "encoder_attn encdecattention encoder_decoder_attention"),
    ("query", "q wq q_proj query_proj to_q to_query q_lin"),
    ("key", "k wk k_proj key_proj to_k to_key k_lin"),
    ("value", "v wv v_proj value_proj to_v to_value v_lin"),
    ("output", "o wo out o_proj out_proj output_proj to_out to_output out_lin"),
    ("linear", "fc dense lin linear"),
    (
        "norm",
        "ln layernorm layer_norm bn batchnorm batch_norm gn groupnorm group_norm rmsnorm",
    ),
    ("conv", "convolution conv convs conv1d conv2d conv3d conv2_d conv1_d conv3_d"),
    (
        "embedding",
        "emb embed embeddings wte tok token embed_tokens word_embeddings word",
    ),
    ("position", "wpe pos positions positional position_embeddings pos_embed"),
    ("encoder", "enc encoder"),
    ("decoder", "dec decoder"),
    ("mlp", "ffn ff feed_forward feedforward mlp"),
    ("layer", "layers block blocks h layer"),
    ("shortcut", "downsample skip shortcut"),
    ("head", "classifier lm_head head"),
    ("back", "backward reverse bw back"),
    ("ahead", "forward fw ahead"),
    ("widen", "linear1 fc1 c_fc up_proj lin1 dense_h_to_4h widen intermediate"),
    ("narrow", "linear2 fc2 down_proj lin2 dense_4h_to_h narrow"),
    ("gate", "gate_proj gate"),
    ("attention norm", "norm1 ln_1 ln1 layer_norm1 layernorm1 input_layernorm"),
    (
        "attention norm",
        "layernorm_before self_attn_layer_norm attention_norm sa_layer_norm",
    ),
    ("mlp norm", "norm2 ln_2 ln2 layer_norm2 layernorm2 post_attention_layernorm"),
    (
        "mlp norm",
        "layernorm_after final_layer_norm feed_forward_norm output_layer_norm",
    ),
)
_MEANING = {name: meaning.split() for meaning, names in _SAME for name in names.split()}
_ROLES = {"norm1", "norm2", "ln1", "ln2", "ln_1", "ln_2", "linear1", "linear2"} | {
    "layer_norm1", "layer_norm2", "layernorm1", "layernorm2", "fc1", "fc2", "lin1", "lin2",
}  # fmt: skip
"""Parts whose number is a role where the model has such roles, and else counts."""

_EMPTY = {"params", "model", "module", "weight", "kernel", "to", "proj", "self", "net"}
_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins in the name of a class: `MLPBlock` is two."""
_DIGITS = re.compile(r"\d+")
_COUNTED = re.compile(r"([A-Za-z]*)[^A-Za-z0-9]*(\d+)")

Family = tuple[str, ...]


@cache
def words(part: str, roles: bool = True) -> tuple[str, ...]:
    """What a part of a name means: `q_proj` is ("query",)."""
    lower = _BEGINS.sub("_", part).lower()
    for text in (part.lower(), lower):
        if text in _MEANING and (roles or text not in _ROLES):
            return tuple(_MEANING[text])
    text = lower
    found: list[str] = []
    for word in _DIGITS.sub("_", text).split("_"):
        if word and word not in _EMPTY:
            known = _MEANING.get(word, [_singular(word)])
            found += known if word not in _ROLES else [word]
    return tuple(found)


def _singular(word: str) -> str:
    """A word without the ending that a list of layers gives it: `ln_zs` holds what is `ln_z_0` elsewhere."""
    return (
        word[:-1] if len(word) > 1 and word.endswith("s") and word[-2] != "s" else word
    )


def meanings(path: Iterable[str], roles: bool = True) -> frozenset[str]:
    """The words of a path."""
    return frozenset(word for part in path for word in words(part, roles))


def family(path: Sequence[str], roles: bool = True) -> Family:
    """A path without its numbers: layers of one family are counted."""
    return tuple(
        " ".join(words(p)) if roles and p.lower() in _ROLES else _DIGITS.sub("#", p)
        for p in path
    )


def numbers(path: Sequence[str], roles: bool = True) -> tuple[int, ...]:
    """The numbers in a path, in order."""
    return tuple(
        int(n)
        for part in path
        if not (roles and part.lower() in _ROLES)
        for n in _DIGITS.findall(part)
    )


def ranks(paths: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Numbers of several layers, without what is alike in all, each counted from 0."""
    if not paths or len({len(p) for p in paths}) > 1:
        return []
    columns = [c for c in zip(*paths, strict=True) if len(set(c)) > 1]
    counted = [[sorted(set(c)).index(n) for n in c] for c in columns]
    return list(zip(*counted, strict=True)) if counted else [()] * len(paths)


def counted_words(paths: Sequence[Sequence[str]], roles: bool = True) -> list[str]:
    """The word before each number that is not the same in all of these paths."""
    kept = [[p for p in path if not (roles and p.lower() in _ROLES)] for path in paths]
    found = [_COUNTED.findall("/".join(path)) for path in kept]
    if not found or len({len(row) for row in found}) > 1:
        return []
    columns = zip(*found, strict=True)
    return [
        column[0][0].lower() for column in columns if len({n for _, n in column}) > 1
    ]
