import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options

from replay.report.markdown import COMMENT_BYTES, render_markdown, size
from replay.summary import Summary

OURS = {"h3", "p", "ul", "li", "strong", "em", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"} | {
    "details",
    "summary",
}


class Page(HTMLParser):
    """Tags, and the number of cells of each row."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[int] = []
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1


def test_every_report_has_only_our_own_markup(case_name: str, summaries: Mapping[str, Summary]) -> None:
    page = Page(render_markdown(summaries[case_name]))
    assert page.tags <= OURS
    assert set(page.rows) <= {11, 5}


def test_verdict_comes_first_then_why_then_what_to_look_at(summaries: Mapping[str, Summary]) -> None:
    shown = render_markdown(summaries["one_regression"])
    order = [
        "### redraft: regression",
        "lost critical fact",
        "**Look at next**",
        "| arm |",
        "By category",
        "**Flips**",
    ]
    assert [shown.index(part) for part in order] == sorted(shown.index(part) for part in order)
    assert "fact `new` must say `Ava`: pass in plain, fail here (critical, held)" in shown
    assert "```text\nBo owns it.\n```" in shown


def test_details_are_cut_to_the_room_and_counted(large: Summary) -> None:
    assert size(render_markdown(large)) <= COMMENT_BYTES
    page = render_markdown(large, 20_000)
    assert size(page) <= 20_000
    assert page.startswith("### redraft: regression\n")
    for noun, total in (("reasons", 3000), ("flips", 2000)):
        shown = re.search(rf"_(\d+) more {noun} would not fit here\._", page)
        assert shown
        assert total > int(shown[1]) >= total - 200
    assert Page(page).tags <= OURS


def test_verdict_is_never_cut(large: Summary) -> None:
    assert render_markdown(large, 0).splitlines()[0] == "### redraft: regression"
    assert "| arm |" not in render_markdown(large, 0)


def test_speedups_of_passes_are_called_so(summaries: Mapping[str, Summary]) -> None:
    of_passes = summaries["all_identical"].model_copy(update={"speed_metric": "passes"})
    assert "Speedups are of passes" in render_markdown(of_passes)
    assert "Speedups are of passes" not in render_markdown(summaries["all_identical"])


def test_claims_that_flipped_are_named(claimed: Summary) -> None:
    shown = render_markdown(claimed)
    said = r"says \*against\* the sources, where it says 'Bo'"
    assert f"- regression: unit u1 claims/new_errors in redraft: pass -&gt; fail, {said}\n" in shown
