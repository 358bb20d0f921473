import html
import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from replay.report.inert import block, code, prose
from replay.report.table import one_line

MARKUP = [
    "``",
    "|",
    "\\",
    "*",
    "_",
    "[",
    "]",
    "<b>",
    "<!--",
    "&amp;",
    "~~",
    "===",
    "---",
    "$",
    "!",
    ":",
    "|--|",
]
LINKS = ["@me", "#1", "GH-1", "www.a.b", "http://a.b", "a@b.co", "mailto:a@b.co", "![x](y)", "[^1]", "\\|"]
PIECES = st.sampled_from(
    [*MARKUP, *LINKS, "\n", "\n\n", "\t", "    ", " ", "- ", "1. ", "# ", "> ", "\u202e", "\x1b"]
)
TEXT = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join))


def rendered(markdown: str) -> str:
    """As GitHub's own parser renders it; tags that are in it are left in."""
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))


def text_within(pattern: str, found: str) -> str:
    match = re.fullmatch(pattern, found, re.DOTALL)
    assert match, found
    assert "<" not in match[1], found
    return html.unescape(match[1]).replace("\u200b", "")


@given(TEXT)
def test_prose_is_the_text_without_markup(text: str) -> None:
    shown = text_within(r"<ul>\n<li>\.(.*)\.</li>\n</ul>\n", rendered(f"- .{prose(text)}.\n"))
    assert shown == f"{one_line(text)}".replace("\u200b", "")


@given(TEXT.filter(str.strip))
def test_prose_may_begin_a_line(text: str) -> None:
    shown = text_within(r"<ul>\n<li>(.*)</li>\n</ul>\n", rendered(f"- {prose(text)}\n"))
    assert shown == one_line(text).replace("\u200b", "")


@given(TEXT)
def test_code_is_the_text_in_one_cell(text: str) -> None:
    table = rendered(f"| a | b |\n|--|--|\n| {code(text)} | x |\n")
    cells = r"<table>.*<tbody>\n<tr>\n<td><code>(.*)</code></td>\n<td>x</td>\n</tr>\n</tbody>\n</table>\n"
    assert text_within(cells, table) == (one_line(text) or "(none)").replace("|", "\\x7c")


@given(TEXT)
def test_block_ends_where_the_text_does(text: str) -> None:
    shown = text_within(
        r'<pre lang="text"><code>(.*)</code></pre>\n<p>x</p>\n', rendered(f"{block(text, 99)}\n\nx\n")
    )
    assert len(shown.splitlines()) == max(1, len(text.splitlines()))


@pytest.mark.parametrize("text", ["@me", "#1", "a/b#1", "GH-1", "http://a.b", "www.a.b", "a@b.co"])
def test_what_github_would_link_is_parted(text: str) -> None:
    assert text not in html.unescape(prose(text))
    assert f"<code>{text}</code>" in rendered(code(text))


def test_long_text_is_cut() -> None:
    assert prose("a" * 1_000_000, 10) == "aaaaaaaaaa..."
    assert code("a" * 1_000_000, 10) == "`aaaaaaaaaa...`"
    assert block("a" * 1_000_000, 10) == "```text\naaaaaaaaaa... (1,000,000 characters)\n```"
