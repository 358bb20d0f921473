from dataclasses import replace

import pytest

from bundles import Run, Store, UnknownRef


def test_a_run_is_told_without_its_plan(store: Store, run: Run) -> None:
    info = store.run_info("r1")
    assert (info.run_id, info.bundle, info.units, info.arms) == ("r1", "plans", 1, run.arms)
    assert (info.provenance, info.attempts) == (run.provenance, len(run.arms))
    assert store.planned_run("r1") == run


def test_runs_come_newest_first_in_pages(store: Store, run: Run) -> None:
    for number in range(2, 5):
        store.create_run(replace(run, run_id=f"r{number}"))
    page = store.runs_page(limit=2, offset=1)
    assert (page.total, [found.run_id for found in page.runs]) == (4, ["r3", "r2"])
    assert store.runs_page(offset=9).runs == ()


@pytest.mark.parametrize("ask", ["run_info", "planned_run"])
def test_an_unknown_run_is_said(store: Store, ask: str) -> None:
    with pytest.raises(UnknownRef, match="run r9 is not in the store"):
        getattr(store, ask)("r9")
