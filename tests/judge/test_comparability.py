from dataclasses import replace

import pytest

from bundles import Run, Verdict
from judge import Comparability, IncomparableRuns, comparability, require_comparable

PROVENANCE = {
    "engine_version": "e1",
    "model_fingerprint": "f",
    "quantisation": "Q8_0",
    "kv_type": "bf16",
    "sampling": "greedy",
    "template_version": 1,
    "threads": 2,
}
RUN = Run("r", "b", ("u",), ("plain",), 1, 0, 160, "2026-01-01T00:00:00Z", provenance=PROVENANCE)
VERDICT = Verdict("r", "u", "plain", 0, "f", "pass", "fact-matcher", 1)


def test_the_key_is_what_was_replayed_generated_and_judged() -> None:
    key = comparability(RUN, [VERDICT, replace(VERDICT, judge="claims", judge_version=3), VERDICT])
    assert key == Comparability(
        bundle_id="b",
        engine_version="e1",
        model_fingerprint="f",
        quantisation="Q8_0",
        kv_type="bf16",
        sampling="greedy",
        template_version=1,
        max_tokens=160,
        judge="claims/3, fact-matcher/1",
    )
    assert key.unknown == ()


def test_what_nobody_said_is_unknown() -> None:
    key = comparability(replace(RUN, provenance={**PROVENANCE, "kv_type": None}), [])
    assert key.unknown == ("kv_type", "judge")


def test_equal_keys_need_no_label() -> None:
    key = comparability(RUN, [VERDICT])
    faster = comparability(replace(RUN, run_id="s", provenance={**PROVENANCE, "threads": 9}), [VERDICT])
    assert require_comparable(key, faster) == ""


def test_different_keys_are_refused_or_labelled() -> None:
    then = comparability(RUN, [VERDICT])
    now = replace(then, model_fingerprint="g", context=4096)
    with pytest.raises(
        IncomparableRuns, match="model_fingerprint 'f' then, 'g' now; context None then, 4096"
    ):
        require_comparable(then, now)
    label = require_comparable(then, now, across=True)
    assert label.startswith("ACROSS DIFFERENT RUNS: model_fingerprint 'f' then, 'g' now")
    assert require_comparable(then, now, but=["model_fingerprint", "context"]) == ""
