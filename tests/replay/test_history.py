import json
from dataclasses import replace
from typing import Any

from replay.history import history_of


def test_every_run_has_its_point_and_only_a_summed_up_one_figures(make: Any) -> None:
    evaluated = make.evaluated(6)
    later = replace(evaluated.run, run_id="20260102-120000-abcd", started="2026-01-02T12:00:00+00:00")
    bundle = make.bundle(evaluated.units)
    history = history_of(bundle, [(evaluated.run, evaluated.summary()), (later, "not judged")], 3)
    first, second = history.points
    assert (history.earlier, history.bundle, history.arms) == (3, "suite", evaluated.run.arms)
    assert (first.verdict, first.note, first.model, first.canaries.passed) == ("pass", "", "m", 6)
    assert (first.speed_metric, first.arms["redraft"].speedup_median) == ("wall", 2.0)
    assert (first.arms["redraft"].facts_passed, first.arms["redraft"].facts_total) == (12, 12)
    assert (second.verdict, second.note, second.arms) == (None, "not judged", {})
    assert (second.canaries, second.speed_metric) == (None, None)


def test_json_has_the_promised_keys(make: Any) -> None:
    evaluated = make.evaluated(1)
    found = json.loads(
        history_of(make.bundle(evaluated.units), [(evaluated.run, evaluated.summary())]).to_json()
    )
    assert found["schema_version"] == 1
    (point,) = found["points"]
    assert point.keys() >= {
        "run_id",
        "started",
        "verdict",
        "note",
        "model",
        "redraft_version",
        "canaries",
        "arms",
    }
    assert point["arms"]["redraft"].keys() >= {
        "facts_passed",
        "speedup_median",
        "speedup_low",
        "speedup_high",
    }
