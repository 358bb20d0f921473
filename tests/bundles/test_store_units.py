from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest

from bundles import (
    ArmRow,
    Attempt,
    Bundle,
    Run,
    RunInfo,
    Store,
    Unit,
    UnitFilter,
    UnitOrder,
    UnknownRef,
    Verdict,
)

PLAIN, REDRAFT = "plain", "redraft"


@pytest.fixture
def units(make_unit: Callable[..., Unit]) -> list[Unit]:
    return [
        make_unit(f"u{number}", category="Value" if number % 2 else "rename", tags=("Notes",))
        for number in range(4)
    ]


@pytest.fixture
def bundle(make_bundle: Callable[..., Bundle], units: list[Unit]) -> Bundle:
    return make_bundle(*units)


@pytest.fixture
def info(store: Store, run: Run, make_attempt: Callable[..., Attempt]) -> RunInfo:
    """Two arms and two repeats over u0 to u2; redraft is faster the later the unit, holds more, and fails in
    u2, where plain does in its second repeat; an attempt at u1 went wrong, at u3 there is none."""
    for number in range(3):
        for arm in (PLAIN, REDRAFT):
            for repeat in range(2):
                held = number if arm == REDRAFT else 0
                wrong = (number, arm, repeat) == (1, REDRAFT, 1)
                store.add_attempt(
                    make_attempt(
                        unit_id=f"u{number}",
                        arm=arm,
                        repeat=repeat,
                        status="error" if wrong else "ok",
                        token_ids=(1, 2, 3, 4) if (number, arm) != (2, REDRAFT) else (1, 2, 3),
                        token_src=tuple(range(held)) + (-1,) * (4 - held),
                        wall_ms=100.0 + 10 * repeat if arm == PLAIN else 100.0 / (number + 1),
                        divergences=number,
                    )
                )
    failed = {("u2", REDRAFT, 0), ("u2", REDRAFT, 1), ("u2", PLAIN, 1)}
    verdicts = [
        Verdict("r1", *a.key, "e", "fail" if a.key in failed else "pass", "facts", 1)
        for a in store.attempts("r1")
        if a.status == "ok"
    ]
    store.replace_verdicts("r1", verdicts)
    return store.run_info("r1")


def ids(
    store: Store, info: RunInfo, order: UnitOrder = "plan", down: bool = False, **where: str
) -> list[str]:
    chosen = UnitFilter(**{"arm": REDRAFT, "against": PLAIN} | where)
    return [unit.unit_id for unit in store.units_page(info, chosen, order=order, descending=down).units]


def test_speedups_are_medians_over_units_of_medians_over_repeats(store: Store, info: RunInfo) -> None:
    assert store.speedups("r1", PLAIN) == {REDRAFT: pytest.approx(2.1)}


def test_a_row_sums_up_each_arm_of_a_unit(store: Store, info: RunInfo) -> None:
    rows = store.units_page(info, UnitFilter(REDRAFT, PLAIN)).units
    assert rows[1].arms[REDRAFT] == ArmRow(
        finished=1,
        errors=1,
        wall_ms=50.0,
        passes=2.0,
        tokens=4,
        held=1,
        divergences=1,
        identical=True,
        passed=1,
        failed=0,
        unscored=0,
    )
    assert (rows[2].arms[REDRAFT].identical, rows[2].arms[REDRAFT].failed) == (False, 2)
    assert rows[2].arms[PLAIN].wall_ms == 105.0
    assert (rows[3].arms, rows[3].instruction, rows[3].category) == ({}, "Summarise.", "Value")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        pytest.param("plan", ["u0", "u1", "u2", "u3"], id="plan"),
        pytest.param("unit", ["u0", "u1", "u2", "u3"], id="unit"),
        pytest.param("speedup", ["u0", "u1", "u2", "u3"], id="speedup"),
        pytest.param("wall_ms", ["u2", "u1", "u0", "u3"], id="time"),
        pytest.param("held_share", ["u0", "u1", "u2", "u3"], id="held"),
        pytest.param("divergences", ["u0", "u1", "u2", "u3"], id="divergences"),
        pytest.param("failed_facts", ["u0", "u1", "u2", "u3"], id="facts"),
    ],
)
def test_units_come_in_order_and_what_was_not_measured_last(
    store: Store, info: RunInfo, order: UnitOrder, expected: list[str]
) -> None:
    assert ids(store, info, order) == expected
    down = ids(store, info, order, down=True)
    assert down[-1] == ("u0" if order in ("plan", "unit") else "u3")
    if order != "failed_facts":
        assert down[0] == ("u3" if order in ("plan", "unit") else expected[2])


def test_every_order_goes_with_every_choice(store: Store, info: RunInfo) -> None:
    chosen = {"all": ["u0", "u1", "u2", "u3"], "lost": ["u2"], "failing": ["u2"], "errors": ["u1"]}
    for show, expected in chosen.items():
        for order in get_args(UnitOrder):
            assert sorted(ids(store, info, order, show=show)) == expected


def test_lost_is_against_the_same_repeat(store: Store, info: RunInfo) -> None:
    store.replace_verdicts(
        "r1",
        [
            Verdict("r1", "u0", REDRAFT, 0, "e", "fail", "facts", 1),
            Verdict("r1", "u0", PLAIN, 0, "e", "fail", "facts", 1),
            Verdict("r1", "u0", PLAIN, 1, "e", "pass", "facts", 1),
        ],
    )
    assert ids(store, info, show="lost") == []
    assert ids(store, info, show="failing") == ["u0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("U1", ["u1"], id="id"),
        pytest.param("vALUE", ["u1", "u3"], id="category"),
        pytest.param("note", ["u0", "u1", "u2", "u3"], id="tag"),
        pytest.param("%", [], id="no pattern"),
        pytest.param("' OR 1=1 --", [], id="no statement"),
    ],
)
def test_a_text_is_looked_for_as_it_is(store: Store, info: RunInfo, text: str, expected: list[str]) -> None:
    assert ids(store, info, text=text) == expected


def test_pages_count_what_the_filter_lets_through(store: Store, info: RunInfo) -> None:
    where = UnitFilter(REDRAFT, PLAIN)
    page = store.units_page(info, where, limit=2, offset=1)
    assert (page.total, [unit.unit_id for unit in page.units]) == (4, ["u1", "u2"])
    past = store.units_page(info, where, offset=9)
    assert (past.total, past.units) == (4, ())
    assert store.units_page(info, replace(where, text="nothing")).total == 0


def test_units_are_read_without_the_others(store: Store, info: RunInfo, units: list[Unit]) -> None:
    assert store.units(info.bundle_id, ["u2", "u0"]) == (units[0], units[2])
    with pytest.raises(UnknownRef, match="unit 'u9' is not in the bundle"):
        store.units(info.bundle_id, ["u0", "u9"])


def test_a_unit_s_attempts_and_verdicts_are_one_repeat_s(store: Store, info: RunInfo) -> None:
    assert [attempt.key for attempt in store.unit_attempts("r1", "u1", 1)] == [
        ("u1", PLAIN, 1),
        ("u1", REDRAFT, 1),
    ]
    assert [(v.arm, v.outcome) for v in store.unit_verdicts("r1", "u2", 1)] == [
        (PLAIN, "fail"),
        (REDRAFT, "fail"),
    ]
    assert store.unit_attempts("r1", "u3") == []
