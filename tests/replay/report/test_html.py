import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from replay.history import history_of
from replay.report import html, selection
from replay.report.html import details_path, render_html, write_html
from replay.report.page import assets
from replay.summary import ClaimArm, ClaimFlip, ClaimSummary, Summary

Case = Callable[[str], Summary]
Written = Callable[[str], Path]
Parsed = Callable[[str], "Page"]
ALL = (
    "all_identical", "one_regression", "blind_canaries", "unscored_verdicts", "engine_errors", "empty_run",
    "hostile_text", "various", "mischief", "long_line",
)  # fmt: skip
VOID = {"meta", "br", "wbr", "input", "link", "img"}


class Page(HTMLParser):
    """Tags with their attributes, the text, and what is not well-formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.faults: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.faults += self._open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self._open[-1:] not in (["style"], ["script"]):
            self.text += data

    def named(self, attribute: str) -> list[str]:
        return [value for _, found in self.tags if (value := found.get(attribute))]


def page(summary: Summary, **changes: Any) -> Page:
    return Page(render_html(summary, **changes))


@pytest.fixture(scope="session")
def parsed(written: Callable[[str], Path]) -> Callable[[str], Page]:
    """The page of a case."""
    return cache(lambda name: Page(written(name).read_text()))


@pytest.mark.parametrize("name", ALL)
def test_every_page_is_well_formed_and_its_links_lead_somewhere(parsed: Parsed, name: str) -> None:
    found = parsed(name)
    assert found.faults == []
    ids = found.named("id")
    assert len(ids) == len(set(ids))
    links = found.named("href")
    assert {link[1:] for link in links} <= set(ids), links
    assert {part for value in found.named("aria-labelledby") for part in value.split()} <= set(ids)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_loaded_and_no_script_runs_but_ours(written: Written, parsed: Parsed, name: str) -> None:
    text, found = written(name).read_text(), parsed(name)
    assert found.named("src") + found.named("action") + found.named("style") == []
    assert not [key for _, attributes in found.tags for key in attributes if key.startswith("on")]
    tags = [tag for tag, _ in found.tags]
    assert not {"img", "iframe", "link", "object", "base", "foreignobject"} & set(tags)
    assert (tags.count("script"), tags.count("style")) == (1, 1)
    assert f"<script>{assets().script}</script>" in text
    assert f"<style>{assets().style}</style>" in text
    assert "url(" not in assets().style
    assert "@import" not in assets().style
    (policy,) = (a["content"] for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == assets().policy
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


VERDICTS = {
    "all_identical": "Pass", "one_regression": "Regression", "blind_canaries": "Inconclusive",
    "unscored_verdicts": "Inconclusive", "engine_errors": "Did not finish", "empty_run": "Nothing ran",
}  # fmt: skip


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_its_reasons_and_the_three_numbers_come_first(
    case: Case, parsed: Parsed, name: str
) -> None:
    summary = case(name)
    text = " ".join(parsed(name).text.split())
    numbers = ("Regressions against control", "Median speedup", "Share of tokens held")
    parts = [VERDICTS[name], *(" ".join(reason.split()) for reason in summary.reasons), *numbers]
    parts += ["Look at this next"] if summary.look_at else []
    parts += ["Ways of generating", "Pictures", "How strong the evidence is", "Breakdown", "What ran"]
    at = 0
    for part in parts:
        at = text.find(part, at)
        assert at >= 0, part


def test_numbers_are_the_summarys(case: Case) -> None:
    summary = case("one_regression")
    text = render_html(summary)
    cards = re.findall(r'<span class="number[^"]*">([^<]*)</span>', text)
    assert cards == ["2", "0", "2.00x", "2.00x", "90%", "92%"]
    assert "2.00 to 2.00 with 95% confidence" in text
    assert '<span class="number bad">2</span>' in text


def test_errors_of_the_engine_are_shown_where_the_unit_is(case: Case) -> None:
    found = page(case("engine_errors"))
    assert "slot busy" in found.text
    assert "2 failed" in found.text
    assert "1 missing" in found.text


def test_a_run_without_arms_under_test_still_reports(make: Any) -> None:
    summary = make.evaluated(1, arms=("plain", "control")).summary()
    text = page(summary).text
    assert "Inconclusive" in text
    assert "There is nothing to draw" in text


def test_a_flip_shows_both_texts_marked(case: Case) -> None:
    text = render_html(case("one_regression"))
    assert '<span class="differs evidence">Ava</span>' in text
    assert '<span class="held differs evidence">Bo</span>' in text
    assert "must say <q>Ava</q>" in " ".join(text.split())
    assert Page(text).named("id").count("flip-0") == 1


def test_every_flip_is_there_and_the_matrix_leads_to_it(case: Case) -> None:
    summary = case("various")
    found = page(summary)
    anchors = [anchor for anchor in found.named("id") if re.fullmatch(r"flip-\d+", anchor)]
    assert len(anchors) == len(summary.comparisons)
    assert {"#flip-0", "#flip-1", "#flip-3"} <= set(found.named("href"))


def test_groups_are_broken_down_by_category_mode_and_kind_of_document(case: Case) -> None:
    text = page(case("various")).text
    assert all(f"{name}4 units" in text for name in ("value", "rename", "append"))
    assert "rederive9 units" in text
    assert "revise3 units" in text
    assert "guide6 units" in text
    alone = page(case("all_identical")).text
    assert "Every unit has the same category, value" in alone
    assert "No unit names its kind of document." in alone


def test_what_other_runs_must_share_and_what_is_not_known_of_it_is_said(case: Case) -> None:
    text = render_html(case("various"))
    assert re.search(r"<dt>engine version</dt><dd dir=\"auto\"><span class=\"unknown\">not known", text)
    assert "Q8_0" in text


def test_hostile_text_stays_text_and_shows_what_it_hides(case: Case) -> None:
    found = page(case("mischief"))
    assert "alert(1)" in found.text
    assert "{{7*7}}" in found.text
    assert "\\u202e" in found.text
    assert "\\x1b[2J" in found.text
    assert not re.search("[\x00\x1b\r\u202e\u2028\ud800]", render_html(case("mischief")))
    marks = {part for tag, a in found.tags if tag == "span" for part in (a.get("class") or "").split()}
    assert {"differs", "evidence"} & marks


def test_a_line_of_a_million_characters_is_shown_whole_on_one_page(written: Written) -> None:
    text = written("long_line").read_text()
    assert text.count("and it ") >= 142_857
    assert len(text) < 1_200_000


def test_claims_are_shown_where_a_judge_was_asked(case: Case) -> None:
    summary = case("all_identical")
    assert "claims-title" not in page(summary).named("id")
    flip = ClaimFlip.model_validate(
        {
            "unit_id": "u<1>", "arm": "redraft", "repeat": 0, "check": "claims/lost_facts",
            "before": "pass", "after": "fail", "attribution": "held", "regression": True,
            "reason": "owner is Ava", "said": "Bo owns",
            "evidence": (0, 7),
        }
    )  # fmt: skip
    arm = ClaimArm(passed=11, failed=1, unscored=0)
    claims = ClaimSummary(judge="claims:big-judge", arms={"redraft": arm}, regressions=1, flips=(flip,))
    found = page(summary.model_copy(update={"claims": claims}))
    assert found.faults == []
    said = " ".join(found.text.split())
    assert "It was claims:big-judge." in said
    assert "u<1>, redraft: claims/lost_facts, owner is Ava, where it says Bo owns" in said
    empty = claims.model_copy(update={"judge": "", "flips": ()})
    assert "None of its verdicts is left." in page(summary.model_copy(update={"claims": empty})).text


def test_history_is_drawn_where_it_is_given(make: Any, case: Case) -> None:
    summary = case("all_identical")
    evaluated = make.evaluated(6)
    runs = [(make.run(evaluated.units, run_id=f"run-{n}"), summary) for n in range(3)]
    history = history_of(make.bundle(evaluated.units), runs)
    found = page(summary, history=history)
    assert "timeline-title" in found.named("id")
    assert "run-2, redraft: 2.00x" in found.text
    assert found.faults == []
    assert "timeline-title" not in page(summary).named("id")


def test_what_is_too_much_for_one_page_goes_to_a_second_one_written_first(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def noted(path: Path, text: str) -> None:
        written.append(path.name)
        path.write_text(text)

    monkeypatch.setattr(html, "write_whole", noted)
    monkeypatch.setattr(selection, "MOST_BYTES", 20)
    monkeypatch.setattr(selection, "_SHOWN_BYTES", 60)
    summary, path = case("various"), tmp_path / "a report.html"
    write_html(summary, path)
    assert written == ["a report.details.html", "a report.html"]
    report, details = Page(path.read_text()), Page(details_path(path).read_text())
    assert (report.faults, details.faults) == ([], [])
    flips = [re.fullmatch(r"flip-(\d+)", anchor) for anchor in report.named("id")]
    assert len(list(filter(None, flips))) == 2
    links = [link for link in report.named("href") if not link.startswith("#")]
    assert set(links) == {"a%20report.details.html#flip-3", "a%20report.details.html#flips"}
    assert {link.split("#")[1] for link in links} <= set(details.named("id"))
    assert "a%20report.html" in details.named("href")


def test_details_that_no_report_leads_to_any_more_are_removed(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, path = case("various"), tmp_path / "r.html"
    with monkeypatch.context() as many:
        many.setattr(selection, "MOST_BYTES", 20)
        write_html(summary, path)
    assert details_path(path).exists()
    write_html(summary, path)
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["another page", "a report", "a folder", "a link"])
def test_what_is_not_a_reports_details_stays(kind: str, case: Case, tmp_path: Path) -> None:
    summary, path = case("various"), tmp_path / "r.html"
    there = details_path(path)
    match kind:
        case "another page":
            there.write_text("<title>Details: mine</title>")
        case "a report":
            there.write_text(render_html(summary))
        case "a folder":
            there.mkdir()
        case _:
            (tmp_path / "kept.html").write_text(html.render_details(summary, "r.html"))
            there.symlink_to("kept.html")
    before = there.is_dir() or there.read_text()
    write_html(summary, path)
    assert (there.is_dir() or there.read_text()) == before


def test_a_long_text_is_cut_around_its_evidence_where_the_details_have_it(case: Case) -> None:
    summary = case("long_line")
    text = render_html(summary, details="r.details.html")
    assert len(text) < 200_000
    assert "characters left out]" in text
    assert '<span class="held differs evidence">Bo</span>' in text


def test_ten_thousand_units_make_a_page_of_bounded_size(large: Summary, written: Written) -> None:
    path = written("large")
    assert path.stat().st_size < 1_500_000
    assert "The 300 units that flip or are slowest, of 10000" in path.read_text()
    details = details_path(path).read_text()
    assert large.unit_results[-1].unit_id in details
    assert details.count("<article ") == len(large.comparisons)


def test_a_small_report_has_no_second_file(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_html(case("various"), path)
    assert path.read_text().rstrip().endswith("</html>")
    assert list(tmp_path.iterdir()) == [path]
