import math

from prometheus_client.parser import text_string_to_metric_families

from daemon.metrics import Metrics
from daemon.wire import CanaryReport, DoneEvent


def done(**fields: object) -> DoneEvent:
    given = {
        **{"revision": 1, "kind": "rederive", "mode": "redraft", "reused": 0.75, "reused_chars": 3},
        **{"wall_ms": 200.0, "prompt_ms": 1.0, "queued_ms": 50.0, "tokens": 8, "prompt_tokens": 1},
        **{"total_tokens": 9, "divergences": 2, "slot": 0, "slot_reused": False, "pinned_missing": []},
        "template_version": 1,
        **fields,
    }
    return DoneEvent.model_validate(given)


def figures(metrics: Metrics) -> dict[str, float]:
    samples = [
        sample
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
    ]
    return {"".join([it.name, *(it.labels[name] for name in sorted(it.labels))]): it.value for it in samples}


def test_a_refresh_that_is_done_counts() -> None:
    metrics = Metrics()
    metrics.done(done())
    metrics.done(done(mode="baseline", kind="revise", reused=0.0))
    for outcome in ("done", "done", "cancelled"):
        metrics.ended(outcome)
    found = figures(metrics)
    assert found["redraftd_refresh_seconds_countrederiveredraft"] == 1
    assert found["redraftd_refresh_seconds_sumrevisebaseline"] == 0.2
    assert found["redraftd_queue_seconds_sum"] == 0.1
    assert (found["redraftd_held_share_count"], found["redraftd_held_share_sum"]) == (1, 0.75)
    assert (found["redraftd_tokens_total"], found["redraftd_divergences_total"]) == (16, 4)
    assert found["redraftd_refreshes_totaldone"] == 2
    assert found["redraftd_refreshes_totalcancelled"] == 1


def test_watched_figures_are_those_of_the_moment() -> None:
    metrics, sections = Metrics(), [1]
    metrics.watch("sessions", "Open sections.", lambda: len(sections))
    assert figures(metrics)["redraftd_sessions"] == 1
    sections.append(2)
    assert figures(metrics)["redraftd_sessions"] == 2


def test_what_is_recorded_counts() -> None:
    metrics = Metrics()
    for changes in (2, 0, 1):
        metrics.recorded(changes)
    assert figures(metrics)["redraftd_records_total"] == 3


def test_canaries_are_no_number_until_they_are_reported() -> None:
    metrics = Metrics()
    assert math.isnan(figures(metrics)["redraft_canary_failed"])
    metrics.canaries(CanaryReport(passed=22, failed=1))
    found = figures(metrics)
    assert [found[f"redraft_canary_{verdict}"] for verdict in ("passed", "failed", "blind")] == [22, 1, 0]
    assert found["redraft_canary_time_seconds"] > 1.7e9


def test_daemons_side_by_side_count_for_themselves() -> None:
    one, other = Metrics(), Metrics()
    one.ended("done")
    assert "redraftd_refreshes_totaldone" not in figures(other)
