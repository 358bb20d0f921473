from dataclasses import replace
from typing import Any

from replay.history import history_of
from replay.report.history import render_history


def test_a_line_for_each_run_with_facts_and_speedups(make: Any) -> None:
    evaluated = make.evaluated(6)
    narrow = make.evaluated(6, arms=("plain", "control"))
    unjudged = replace(evaluated.run, run_id="20260103-120000-abcd")
    at_once = evaluated.summary().model_copy(update={"speed_metric": "passes"})
    runs = [(evaluated.run, at_once), (narrow.run, narrow.summary()), (unjudged, "not judged\x1b")]
    lines = render_history(history_of(make.bundle(evaluated.units), runs, earlier=4)).splitlines()
    assert lines[0].startswith("3 runs of suite (")
    assert lines[0].endswith(", 4 earlier ones left out")
    first, second, third = (line for line in lines if line.startswith("2026"))
    assert "pass" in first
    assert "6, 0, 0" in first
    assert "12/12  12/12 2.00x (2.00 to 2.00)" in first
    assert "inconclusive" in second
    assert second.split()[-5:] == ["-", "-", "m", "-", "-"]
    assert third.split()[1:3] == ["-", "-"]
    assert "not judged\\x1b" in lines
    assert f"run {evaluated.run.run_id}: its speedups are of passes, as attempts were made at once" in lines
