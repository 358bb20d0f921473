from collections.abc import Callable
from typing import get_args

import pytest

from bundles import (
    ArmTotals,
    Attempt,
    AttemptFilter,
    AttemptOrder,
    Quantiles,
    Run,
    Store,
    UnknownRef,
    Verdict,
)


@pytest.fixture
def attempts(store: Store, run: Run, make_attempt: Callable[..., Attempt]) -> list[Attempt]:
    """Two arms over five units; u4 timed out, and fact `e` failed in u1 and, for redraft, in u2."""
    made = []
    for number in range(5):
        for order, arm in enumerate(("plain", "redraft")):
            held = number if arm == "redraft" else 0
            made.append(
                make_attempt(
                    unit_id=f"u{number}",
                    arm=arm,
                    order=order,
                    status="ok" if number < 4 else "timeout",
                    token_ids=(1, 2, 3, 4),
                    token_src=(*range(held), *[-1] * (4 - held)),
                    wall_ms=100.0 * (number + 1) / (order + 1),
                    divergences=number * order,
                    passes=2,
                    rows=5,
                    wasted_rows=1,
                    host_ms=0.5,
                )
            )
    for attempt in made[::-1]:
        store.add_attempt(attempt)
    failed = {("u1", "plain"), ("u1", "redraft"), ("u2", "redraft")}
    verdicts = [
        Verdict("r1", *attempt.key, "e", "fail" if attempt.key[:2] in failed else "pass", "facts", 1)
        for attempt in made
        if attempt.status == "ok"
    ]
    store.replace_verdicts("r1", verdicts)
    return made


def test_each_arm_is_summed_up(store: Store, attempts: list[Attempt]) -> None:
    plain, redraft = store.arm_totals("r1")
    assert plain == ArmTotals(
        arm="plain",
        ok=4,
        errors=0,
        timeouts=1,
        tokens=16,
        held=0,
        divergences=0,
        passes=8,
        rows=20,
        wasted_rows=4,
        host_ms=2.0,
        wall_ms=Quantiles(115.0, 175.0, 250.0, 325.0, 385.0),
        prompt_ms=Quantiles(3.3, 3.3, 3.3, 3.3, 3.3),
        passed=3,
        failed=1,
        unscored=0,
    )
    assert (redraft.held, redraft.divergences, redraft.passed, redraft.failed) == (6, 6, 2, 2)


def test_an_arm_without_a_good_attempt_has_no_times(
    store: Store, run: Run, make_attempt: Callable[..., Attempt]
) -> None:
    store.add_attempt(make_attempt(status="error"))
    (only,) = store.arm_totals("r1")
    assert (only.ok, only.errors, only.tokens, only.host_ms, only.wall_ms, only.passed) == (
        0,
        1,
        0,
        0,
        None,
        0,
    )


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        pytest.param(None, lambda attempt: True, id="all"),
        pytest.param(AttemptFilter(arm="redraft"), lambda attempt: attempt.arm == "redraft", id="arm"),
        pytest.param(AttemptFilter(status="timeout"), lambda attempt: attempt.unit_id == "u4", id="status"),
        pytest.param(AttemptFilter(unit="U3"), lambda attempt: attempt.unit_id == "u3", id="unit"),
        pytest.param(AttemptFilter(unit="%"), lambda attempt: False, id="no wildcards"),
        pytest.param(
            AttemptFilter(failing=True, arm="redraft"),
            lambda attempt: attempt.arm == "redraft" and attempt.unit_id in ("u1", "u2"),
            id="failing",
        ),
    ],
)
def test_a_filter_lets_through_what_it_says(
    where: AttemptFilter | None, wanted: Callable[[Attempt], bool], store: Store, attempts: list[Attempt]
) -> None:
    page = store.attempts_page("r1", where)
    assert list(page.attempts) == [attempt for attempt in attempts if wanted(attempt)]
    assert page.total == len(page.attempts)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", get_args(AttemptOrder))
def test_pages_tile_the_run_in_every_order(
    order: AttemptOrder, descending: bool, store: Store, attempts: list[Attempt]
) -> None:
    keys: dict[str, Callable[[Attempt], object]] = {
        "unit": lambda attempt: attempt.unit_id,
        "wall_ms": lambda attempt: attempt.wall_ms,
        "held_share": lambda attempt: attempt.held / 4,
        "divergences": lambda attempt: attempt.divergences,
        "tokens": lambda attempt: 4,
    }
    pages = [
        store.attempts_page("r1", order=order, descending=descending, limit=3, offset=offset)
        for offset in range(0, 12, 3)
    ]
    found = [attempt for page in pages for attempt in page.attempts]
    assert found == sorted(attempts, key=keys[order], reverse=descending)  # equal ones by unit and order
    assert {page.total for page in pages} == {10}


def test_an_unknown_run_is_told(store: Store) -> None:
    with pytest.raises(UnknownRef, match="run r9 is not in the store"):
        store.arm_totals("r9")
    with pytest.raises(UnknownRef, match="run r9 is not in the store"):
        store.attempts_page("r9")
