import json
from typing import Any

from replay.comparison_results import Judged, compare_runs

ARM_KEYS = {
    "gained", "lost", "scored", "passed_before", "passed_after", "unscored", "sessions", "worse", "better",
    "p_value", "net", "net_low", "net_high", "speedup_median", "speedup_low", "speedup_high", "slowest",
    "slowest_unit", "identical",
}  # fmt: skip


def test_json_has_the_promised_keys(make: Any) -> None:
    evaluated = make.evaluated(2)
    side = Judged(evaluated.run, make.bundle(evaluated.units), evaluated.attempts, evaluated.verdicts())
    found = json.loads(compare_runs(side, side).to_json())
    assert found.keys() >= {
        "schema_version",
        "before",
        "after",
        "across",
        "units",
        "arms",
        "notes",
        "changed",
    }
    assert found["schema_version"] == 1
    assert all(arm.keys() == ARM_KEYS for arm in found["arms"].values())
