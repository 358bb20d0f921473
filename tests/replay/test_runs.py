import re
from datetime import UTC, datetime
from typing import Any

import pytest

from daemon.wire import Health
from replay.errors import NotComparable, NothingToRun
from replay.runs import Settings, check_provenance, check_settings, jobs_of, new_run, provenance_of

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_a_run_without_wishes_has_the_defaults(make: Any) -> None:
    bundle = make.bundle([make.unit("a"), make.unit("b")])
    run = new_run(bundle, Settings(), NOW)
    assert re.fullmatch(r"20260304-050607-[0-9a-f]{4}", run.run_id)
    assert run.unit_ids == ("a", "b")
    assert run.arms == ("plain", "control", "redraft", "redraft:tau=3,floor=1")
    assert (run.repeats, run.seed, run.max_tokens, jobs_of(run)) == (1, 0, 160, 1)
    assert run.started == "2026-03-04T05:06:07+00:00"


def test_a_run_has_what_is_asked_for(make: Any) -> None:
    bundle = make.bundle([make.unit("a1"), make.unit("a2"), make.unit("b")])
    run = new_run(bundle, Settings(("redraft",), 3, 7, sample=1, text="a", max_tokens=9, jobs=4), NOW)
    assert run.provenance == {"jobs": 4, "contended": True}
    assert len(run.unit_ids) == 1
    assert run.unit_ids[0] in ("a1", "a2")
    assert (run.arms, run.repeats, run.seed, run.max_tokens) == (("plain", "control", "redraft"), 3, 7, 9)


def test_an_empty_selection_is_no_run(make: Any) -> None:
    with pytest.raises(NothingToRun):
        new_run(make.bundle([make.unit()]), Settings(text="zz"), NOW)


def test_a_run_may_be_continued_with_its_own_settings_repeated(make: Any) -> None:
    bundle = make.bundle([make.unit(f"u{index}") for index in range(9)])
    settings = Settings(("redraft",), 2, 5, sample=4, max_tokens=50)
    run = new_run(bundle, settings, NOW)
    check_settings(run, bundle, bundle, settings)
    check_settings(run, bundle, None, Settings())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            Settings(("redraft:tau=1",)),
            "--arm plain control redraft, not plain control redraft:tau=1,floor=1",
        ),
        (Settings(repeats=2), "--repeats 1, not 2"),
        (Settings(seed=1), "--seed 0, not 1"),
        (Settings(max_tokens=8), "--max-tokens 160, not 8"),
        (Settings(jobs=2), "-j 1, not 2"),
        (Settings(sample=1), "other units"),
        (Settings(text="u0"), "other units"),
    ],
)
def test_another_setting_is_refused_by_name(make: Any, settings: Settings, said: str) -> None:
    bundle = make.bundle([make.unit("u0"), make.unit("u1")])
    run = new_run(bundle, Settings(("redraft",)), NOW)
    with pytest.raises(NotComparable, match=re.escape(said)):
        check_settings(run, bundle, None, settings)


def test_another_bundle_is_refused(make: Any) -> None:
    bundle, other = make.bundle([make.unit("a")]), make.bundle([make.unit("b")], "other")
    with pytest.raises(NotComparable, match="not other"):
        check_settings(new_run(bundle, Settings(), NOW), bundle, other, Settings())


def test_provenance_is_what_the_daemon_reports_and_this_machine(make: Any) -> None:
    health = Health.model_validate(make.daemon().health_answer())
    provenance = provenance_of(health)
    assert provenance["model_fingerprint"] == "f"
    assert provenance["engine_version"] == "e"
    assert provenance["template_version"] == 1
    assert provenance["slots"] == 1
    assert "algorithms" not in provenance
    assert {"python", "machine", "cores", "redraft"} <= provenance.keys()


def test_another_engine_is_refused_with_what_differs(make: Any) -> None:
    health = Health.model_validate(make.daemon().health_answer())
    run = make.run([make.unit()], provenance=provenance_of(health))
    check_provenance(run, {**provenance_of(health), "python": "9", "cores": 1})
    with pytest.raises(NotComparable, match="kv_type 'bf16' then, 'f16' now"):
        check_provenance(run, {**provenance_of(health), "kv_type": "f16"})


def test_a_run_from_before_there_was_j_made_one_attempt_after_the_other(make: Any) -> None:
    assert jobs_of(make.run([make.unit()], provenance={})) == 1
