from dataclasses import replace
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from replay.comparison import RunComparison
from replay.comparison_results import Judged, compare_runs
from replay.report.comparison import render_comparison, render_comparison_markdown

HOSTILE = "<b>|`x`@me\u202e [a](b)"
STALE = {"text": "Bo owns it.", "token_ids": (1,), "token_src": (0,)}


def side(make: Any, evaluated: Any, **changes: Any) -> Judged:
    run = replace(evaluated.run, **changes)
    attempts = [replace(attempt, run_id=run.run_id) for attempt in evaluated.attempts]
    verdicts = [replace(verdict, run_id=run.run_id) for verdict in evaluated.verdicts()]
    return Judged(run, make.bundle(evaluated.units), attempts, verdicts)


@pytest.fixture
def found(make: Any) -> RunComparison:
    """Thirty units of which every other one was lost, on another engine."""
    units = tuple(make.unit(f"{HOSTILE}{n}") for n in range(30))
    attempts = tuple(make.attempt(unit.unit_id, arm) for unit in units for arm in make.evaluated(1).run.arms)
    evaluated = replace(make.evaluated(1), units=units, attempts=attempts, run=make.run(units))
    lost = evaluated
    for unit in units[::2]:
        lost = lost.changed(unit.unit_id, "redraft", **STALE)
    return compare_runs(
        side(make, evaluated),
        side(make, lost, run_id="20260102-120000-abcd", provenance={"engine_version": HOSTILE, "threads": 4}),
        across=True,
    )


def test_table_says_first_that_the_runs_differ_then_names_what_was_lost(found: RunComparison) -> None:
    lines = render_comparison(found).splitlines()
    assert lines[0].startswith("ACROSS DIFFERENT RUNS: ")
    assert lines[1] == "before: run 20260101-120000-abcd of suite, 30 units"
    assert "30 units compared" in lines
    assert any(line.startswith("times are not of the same machine and settings: threads") for line in lines)
    facts, times = (line.split() for line in lines if line.startswith("redraft "))
    assert times[1:] == ["1.00x", "1.00", "to", "1.00", "1.00x", "50%"]
    assert facts[1:7] == ["60/60", "30/60", "0", "30", "15/30", "0/30"]
    assert sum(line.startswith("lost: critical fact") for line in lines) == 20
    assert "and 10 more lost in redraft" in lines
    assert "\u202e" not in "".join(lines)


def test_markdown_holds_the_same_and_only_our_own_markup(found: RunComparison) -> None:
    shown = render_comparison_markdown(found)
    assert shown.startswith("### redraft: two runs compared\n")
    page = cmarkgfm.github_flavored_markdown_to_html(shown, options=Options.CMARK_OPT_UNSAFE)
    assert page.count("<table>") == 2
    assert page.count("<th") - page.count("<thead") == 9 + 5
    assert page.count("<td") == (9 + 5) * 4
    assert page.count("lost in <code>redraft</code>: critical fact") == 20
    assert "<b>" not in page
    assert "<a " not in page


def test_speedups_say_what_they_are_of(found: RunComparison) -> None:
    assert "speedup: wall time of" in render_comparison(found)
    assert "speedup: passes of" in render_comparison(found.model_copy(update={"speed_metric": "passes"}))
