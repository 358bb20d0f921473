from dataclasses import replace
from typing import Any

import pytest

from replay.bench.peers.figures import peer_figures


@pytest.fixture
def units(bench: Any) -> Any:
    return bench.result(bench.measured("a"), bench.measured("b")).per_unit


def served(bench: Any, **wall_ms: float) -> dict[str, Any]:
    return {
        unit_id: tuple(bench.attempt(unit_id, "plain", repeat, ms + repeat - 1) for repeat in range(3))
        for unit_id, ms in wall_ms.items()
    }


def test_it_is_held_against_our_plain_and_its_own(bench: Any, units: Any) -> None:
    texts = {"a": "Ava owns it.", "b": "Bo does."}
    found = peer_figures(units, texts, served(bench, a=55.0, b=220.0), served(bench, a=110.0, b=110.0), 0)
    assert found.speedups == {"a": 2.0, "b": 0.5}
    assert (found.speedup_median, found.slowest, found.slowest_unit, found.units) == (1.25, 0.5, "b", 2)
    assert found.over_own_plain == 1.25
    assert found.same_text == 0.5
    assert found.ms_per_token == pytest.approx(275 / 24)
    assert (found.errors, found.error) == (0, None)


def test_what_failed_is_counted_and_not_measured(bench: Any, units: Any) -> None:
    both = served(bench, a=55.0, b=55.0)
    both["b"] = tuple(replace(attempt, status="error", error="too large") for attempt in both["b"])
    found = peer_figures(units, {"a": "Ava owns it."}, both, {}, 0)
    assert (found.units, found.errors, found.error) == (1, 3, "too large")
    assert found.over_own_plain is None


def test_nothing_served_is_nothing_measured(units: Any) -> None:
    found = peer_figures(units, {}, {}, {}, 0)
    assert (found.units, found.speedup_median, found.same_text, found.ms_per_token) == (0, None, None, None)
