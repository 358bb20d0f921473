from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import replay.view.pages
from bundles import HeldSpan, RunInfo, Source, UnknownRef
from replay.errors import SettingsError
from replay.view.library import Library, Reading
from replay.view.pages import (
    LONGEST_SHOWN,
    UnitsQuery,
    changed,
    marked,
    run_view,
    summary_of,
    unit_view,
    units_view,
)

RUN = "20260101-120000-abcd"
TOLERANT = "redraft:tau=3,floor=1"


@pytest.fixture
def read(path: Path, keep: Callable[..., None]):
    """A reading of a store with this evaluated run."""
    libraries: list[Library] = []

    def read(evaluated, *, judged: bool = True) -> tuple[Reading, RunInfo]:
        keep(evaluated, judged=judged)
        libraries.append(Library(path))
        with libraries[-1].reading() as reading:
            return reading, reading.store.run_info(RUN)

    yield read
    for library in libraries:
        library.close()


def test_a_run_is_told_in_figures_of_its_planned_arms(read, make) -> None:
    evaluated = make.evaluated(2).changed("u0", TOLERANT, text="Bo owns it.", token_ids=(1,), token_src=(-1,))
    extra = make.attempt("u0", "stale"), make.attempt("u0", "warmup")
    view = run_view(*read(replace(evaluated, attempts=(*evaluated.attempts, *extra))))
    assert [arm.name for arm in view.arms] == list(evaluated.run.arms)
    plain, _, redraft, tolerant = view.arms
    assert (plain.passed, plain.judged, plain.speedup, view.done) == (4, 4, None, 8)
    assert (redraft.speedup, tolerant.passed) == (2.0, 2)
    assert redraft.held == pytest.approx(11 / 12)


def test_an_arm_that_has_not_run_has_no_figures(read, make) -> None:
    evaluated = make.evaluated()
    view = run_view(*read(replace(evaluated, attempts=evaluated.attempts[:1])))
    assert [(arm.judged, arm.speedup, arm.held) for arm in view.arms[1:]] == [(0, None, None)] * 3


def test_a_small_run_is_summed_up_as_a_report_does(read, make) -> None:
    evaluated = make.evaluated(3)
    summary, why = summary_of(*read(evaluated))
    assert summary == evaluated.summary()
    assert why == ""


def test_why_there_is_no_verdict_is_said(read, make, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, info = read(make.evaluated(), judged=False)
    assert summary_of(reading, info) == (
        None,
        f"run {RUN} has attempts that are not judged: redraft judge {RUN}",
    )
    reading.memo.clear()
    monkeypatch.setattr(replay.view.pages, "LARGEST_SUMMARISED", 3)
    assert summary_of(reading, info) == (
        None,
        f"a run of 4 attempts is too large to be summed up here; `redraft report {RUN}` does",
    )


def test_units_are_seen_from_the_first_arm_under_test(read, make) -> None:
    reading, info = read(make.evaluated(3))
    view = units_view(reading, run_view(reading, info), UnitsQuery())
    assert (view.arm, view.page.total, view.pages) == ("redraft", 3, 1)


def test_an_arm_that_the_run_does_not_have_is_said(read, make) -> None:
    reading, info = read(make.evaluated())
    with pytest.raises(SettingsError, match="has no arm 'fast'; it has plain, control, redraft"):
        units_view(reading, run_view(reading, info), UnitsQuery(arm="fast"))


def test_links_leave_out_what_is_as_always() -> None:
    query = UnitsQuery(q="port", page=3)
    assert query.changed(page=1, order="speedup") == {"q": "port", "order": "speedup"}


def test_a_unit_s_texts_are_marked(read, make) -> None:
    evaluated = make.evaluated().changed("u0", TOLERANT, text="Bo owns it.", spans=(HeldSpan(0, 2, 0, 2),))
    reading, info = read(evaluated)
    view = unit_view(reading, info, "u0", 0)
    plain, control, redraft, tolerant = view.attempts
    assert [(piece.text, piece.marks) for piece in tolerant.text.pieces] == [
        ("Bo", "held evidence differs"),
        (" owns it.", ""),
    ]
    assert (plain.identical, control.identical, tolerant.identical, redraft.speedup) == (
        None,
        True,
        True,
        2.0,
    )
    assert tolerant.verdicts["old"].outcome == "fail"
    ((name, before, after),) = view.sources
    assert name == "plan"
    assert before
    assert after
    assert [piece.marks for piece in after.pieces] == ["differs", ""]


def test_where_attempts_contended_speed_is_told_in_passes(read, make) -> None:
    evaluated = make.evaluated().changed("u0", "plain", passes=60).changed("u0", "redraft", passes=20)
    run = replace(evaluated.run, provenance={**evaluated.run.provenance, "jobs": 2, "contended": True})
    reading, info = read(replace(evaluated, run=run))
    overview = run_view(reading, info)
    units = units_view(reading, overview, UnitsQuery())
    assert {arm.speedup for arm in overview.arms} == {None}  # the store's are of wall times
    shown = {view.attempt.arm: view for view in unit_view(reading, info, "u0", 0).attempts}
    assert units.speed_metric == shown["redraft"].speed_metric == "passes"
    assert (shown["redraft"].speedup, shown["plain"].speedup) == (3.0, None)


def test_the_old_answer_is_the_unit_s_or_the_one_that_the_run_made(read, make) -> None:
    evaluated = make.evaluated()
    stale = make.attempt("u0", "stale", text="Bo owned it.")
    reading, info = read(replace(evaluated, attempts=(*evaluated.attempts, stale)))
    view = unit_view(reading, info, "u0", 0)
    assert view.draft
    assert view.draft.pieces[0].text == "Bo owned it."
    assert [shown.attempt.arm for shown in view.attempts] == list(evaluated.run.arms)


def test_a_unit_that_a_run_does_not_have_is_said(read, make) -> None:
    reading, info = read(make.evaluated())
    with pytest.raises(UnknownRef, match="unit 'x' is not in the bundle"):
        unit_view(reading, info, "x", 0)


def test_sources_that_come_and_go_are_told_apart(read, make) -> None:
    unit = make.unit("u0", sources_before=(Source("a", "x"),), sources_after=(Source("b", "x"),))
    evaluated = make.evaluated()
    run = make.run((unit,))
    reading, info = read(replace(evaluated, units=(unit,), run=run))
    shown = {
        name: (before is None, after is None)
        for name, before, after in unit_view(reading, info, "u0", 0).sources
    }
    assert shown == {"a": (False, True), "b": (True, False)}


def test_very_long_texts_are_cut_and_not_compared() -> None:
    long = "x" * (LONGEST_SHOWN + 5)
    view = marked(long, {"held": [(0, len(long)), (len(long) - 1, len(long))]})
    assert (view.cut, [(len(piece.text), piece.marks) for piece in view.pieces]) == (
        5,
        [(LONGEST_SHOWN, "held")],
    )
    assert changed(long, "y") == ([], [])
