"""Text of specs stays text: nothing in it becomes markup, or ends what it stands in."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mlax_scaffold.render.docs.markdown import (
    Table,
    block,
    code,
    paragraphs,
    prose,
    summary,
)

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXTS = st.text(st.sampled_from("ab1 `*_|\\[](){}<>#~!&;:=+-.%$^'\"x/\n"), max_size=40)


def shown(markdown: str) -> tuple[list[str], str]:
    """The kinds of blocks, and the text that a reader sees."""
    kinds, seen = [], []
    for token in MARKDOWN.parse(markdown):
        kinds.append(token.type)
        for child in token.children or ():
            assert child.type in ("text", "code_inline", "softbreak", "hardbreak"), (
                child.type
            )
            seen.append(child.content or (" " if "break" in child.type else ""))
    return kinds, "".join(seen)


PARAGRAPH = ["paragraph_open", "inline", "paragraph_close"]


@given(TEXTS)
@example("* a")
@example("1. a")
@example("- a")
@example("# a")
@example("<b>a</b>")
@example("&amp; *a* __b__ ~~c~~ [d](e)")
@example("(label)=")
@example("{role}`a`")
@example("% comment")
def test_prose_is_one_paragraph_of_the_same_text(text):
    markdown = prose(text)
    plain = " ".join(text.split())
    if not plain:
        assert markdown == ""
        return
    kinds, seen = shown(markdown)
    assert kinds == PARAGRAPH
    # Backticks may mark code, around which spaces are dropped.
    assert "".join(seen.replace("`", "").split()) == re.sub("[ `]", "", plain)


@given(TEXTS)
def test_code_is_the_same_text(text):
    plain = " ".join(text.split())
    if plain:
        _, seen = shown(f"x {code(text)} x")
        assert " ".join(seen.split()) == f"x {plain} x"


@given(TEXTS, TEXTS)
@example("|", "\\|")
def test_cells_do_not_end_early(first, second):
    table = Table(("a", "b"), ((prose(first), code(second)),))
    tokens = MARKDOWN.parse("\n".join(table.lines))
    assert [t.type for t in tokens].count("td_open") == 2
    assert tokens[0].type == "table_open"
    assert tokens[-1].type == "table_close"
    [_, second_cell] = [t for t in tokens if t.type == "inline"][-2:]
    seen = "".join(child.content for child in second_cell.children or ())
    assert seen.split() == second.split()


@given(TEXTS)
@example("```\n# a\n```")
@example("`````\n")
def test_blocks_hold_any_text(text):
    [token] = MARKDOWN.parse(block(text, "python"))
    assert token.type == "fence"
    assert token.content == text.rstrip("\n") + "\n"


def test_equations_stand_by_themselves_and_prose_flows():
    assert paragraphs("m = b m;\nv = c v.\n\nSee\nthere\n\n    a * b") == (
        "```{math}\n\\begin{aligned}\nm &= b m; \\\\\nv &= c v.\n\\end{aligned}\n```"
        "\n\nSee there\n\n```text\na * b\n```"
    )
    assert paragraphs("Then\nm = b m, with\nthe b of before.") == (
        "Then\n\n```{math}\nm = b m,\n```\n\nwith the b of before."
    )
    assert summary("A map: y = x W.") == "A map: {math}`y = x W`."


@pytest.mark.parametrize("text", ["a\x00b", "a\x1b[31mb", "a\u202eb"])
def test_what_cannot_be_seen_is_escaped(text):
    assert all(c.isprintable() for c in prose(text))
    assert all(c.isprintable() for c in code(text))
