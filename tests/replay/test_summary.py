import json
from typing import Any

STABLE_KEYS = {
    "schema_version", "run_id", "bundle_id", "units", "attempts", "errors", "verdict", "exit_code",
    "exact_match", "control_match", "canaries", "arms", "flips", "comparability",
}  # fmt: skip
ARM_KEYS = {
    "facts_passed", "facts_total", "unscored", "speedup_median", "speedup_low", "speedup_high", "slowest",
    "held", "divergences",
}  # fmt: skip
FLIP_KEYS = {"unit_id", "fact_id", "arm", "from", "to", "attribution"}


def test_json_has_the_promised_keys(make: Any) -> None:
    summary = make.evaluated(2).changed("u0", "redraft", text="Bo owns it.").summary()
    found = json.loads(summary.to_json())
    assert found.keys() >= STABLE_KEYS
    assert found["schema_version"] == 1
    assert found["canaries"].keys() >= {"passed", "failed", "blind"}
    assert all(arm.keys() >= ARM_KEYS for arm in found["arms"].values())
    assert found["flips"]
    assert all(flip.keys() >= FLIP_KEYS for flip in found["flips"])


def test_texts_are_for_people_and_not_in_the_json(make: Any) -> None:
    summary = make.evaluated().changed("u0", "redraft", text="Bo owns it.").summary()
    assert summary.comparisons[0].other.text == "Bo owns it."
    assert "comparisons" not in json.loads(summary.to_json())


def test_arms_under_test_leave_out_plain_and_control(make: Any) -> None:
    assert make.evaluated().summary().arms_under_test == ("redraft", "redraft:tau=3,floor=1")
