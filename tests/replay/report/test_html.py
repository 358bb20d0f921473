import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from replay.report.html import render_html, write_html, write_whole

HOSTILE = "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}\u202e"


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(make: Any) -> Any:
    """A run in which everything that can come from outside is hostile, and flips."""
    evaluated = make.evaluated(2)
    fact = replace(evaluated.units[0].facts[0], fact_id=HOSTILE, values=("Ava", HOSTILE))
    unit = replace(
        evaluated.units[0], unit_id=HOSTILE, instruction=HOSTILE, category=HOSTILE, facts=(fact,), canary=True
    )
    units = (unit, evaluated.units[1])
    attempts = tuple(replace(a, unit_id=HOSTILE) if a.unit_id == "u0" else a for a in evaluated.attempts)
    run = make.run(units, provenance={"model": HOSTILE, HOSTILE: HOSTILE})
    changed = replace(evaluated, units=units, run=run, attempts=attempts)
    return changed.changed(HOSTILE, "redraft", text=f"x {HOSTILE[1:]}", token_ids=(1,), token_src=(-1,))


def test_hostile_text_stays_text(make: Any) -> None:
    summary = hostile(make).summary()
    assert summary.flips
    page = Page(render_html(summary))
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "iframe", "link", "object"})
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "alert(1)" in page.text
    assert "49" not in page.text
    marks = {attributes.get("class") or "" for tag, attributes in page.tags if tag == "span"}
    assert {mark for found in marks for mark in found.split()} <= {"held", "differs", "evidence"}


def test_nothing_is_loaded_from_elsewhere(make: Any) -> None:
    text = render_html(make.evaluated().summary())
    page = Page(text)
    assert not [a for _, attributes in page.tags for a in attributes if a in ("src", "href", "action")]
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert any(attributes.get("name") == "viewport" for _, attributes in page.tags)


def test_the_verdict_and_the_three_numbers_come_first(make: Any) -> None:
    summary = make.evaluated(8).changed("u1", "redraft", text="Bo owns it.").summary()
    text = Page(render_html(summary)).text
    order = [text.index(part) for part in ("Regression\n", "Regressions against control", "Median speedup")]
    assert order == sorted(order)
    assert "2.00x, 2.00 to 2.00" in text
    assert text.index("Median speedup") < text.index("Look at this next") < text.index("By category")


def test_a_flip_shows_both_texts_marked(make: Any) -> None:
    evaluated = make.evaluated().changed(
        "u0", "redraft", text="Bo owns it.", token_ids=(1, 2), token_src=(0, -1)
    )
    spans = next(a for a in evaluated.attempts if a.arm == "redraft").spans
    assert spans
    text = render_html(evaluated.summary())
    assert '<span class="differs evidence">Ava</span>' in text
    assert '<span class="held differs evidence">Bo</span>' in text
    assert re.search(r"must say\s+<q>Ava</q>", text)


def test_a_run_without_anything_still_reports(make: Any) -> None:
    empty = replace(make.evaluated(), attempts=())
    assert "Empty" in Page(render_html(empty.summary())).text
    control_only = make.evaluated(1, arms=("plain", "control"))
    assert "Inconclusive" in Page(render_html(control_only.summary())).text


def test_file_is_replaced_as_a_whole(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_html(make.evaluated().summary(), path)
    assert path.read_text().endswith("</html>")
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("replay.report.html.os.fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_no_file_can_hold_is_written_all_the_same(tmp_path: Path) -> None:
    write_whole(tmp_path / "r.html", "a\ud800b")
    assert (tmp_path / "r.html").read_text() == "a?b"
