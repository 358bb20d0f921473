import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bundles import Attempt, Run, Store, StoreError, UnknownRef, Verdict


class TestRuns:
    def test_comes_back_equal_and_finishes(self, store: Store, run: Run) -> None:
        assert store.run("r1") == store.run("last") == run
        store.finish_run("r1", "2025-01-02T04:00:00Z")
        assert store.runs() == [replace(run, finished="2025-01-02T04:00:00Z")]

    def test_learns_at_its_end_and_forgets_nothing(self, store: Store, run: Run) -> None:
        store.finish_run("r1", "2025-01-02T04:00:00Z", {"load_end": 0.5, "load_start": None})
        known = {**run.provenance, "load_end": 0.5, "load_start": None}
        assert store.run("r1").provenance == known
        store.finish_run("r1", "2025-01-02T05:00:00Z")
        assert store.run("r1").provenance == known

    def test_learns_from_its_verdicts_together_with_them(self, store: Store, run: Run) -> None:
        store.replace_verdicts("r1", [], {"claim_judge": "j"})
        assert store.run("r1") == replace(run, provenance={**run.provenance, "claim_judge": "j"})
        store.replace_verdicts("r1", [])
        assert store.run("r1").provenance["claim_judge"] == "j"

    def test_last_is_the_one_stored_last(self, path: Path, store: Store, run: Run) -> None:
        """Whatever its clock says, and whichever ended last."""
        for run_id, started in (("a1", run.started), ("a0", "2024-01-01T00:00:00Z")):
            store.create_run(replace(run, run_id=run_id, started=started))
        for run_id in ("a1", "r1"):
            store.finish_run(run_id, "2025-01-03T00:00:00Z")
        assert store.run("last").run_id == "a0"
        with pytest.raises(UnknownRef, match="run 'a' is ambiguous, there are: a1, a0"):
            store.run("a")
        store.close()
        with Store.open(path) as store:
            assert [run.run_id for run in store.runs()] == ["r1", "a1", "a0"]

    def test_refused_without_its_bundle_or_under_a_taken_id(self, store: Store, run: Run) -> None:
        with pytest.raises(UnknownRef, match="run r2: bundle nowhere is not in the store"):
            store.create_run(replace(run, run_id="r2", bundle_id="nowhere"))
        with pytest.raises(StoreError, match="run r1 is already in the store"):
            store.create_run(run)

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"seed": 2**63}, id="seed"),
            pytest.param({"repeats": 2**31}, id="repeats"),
            pytest.param({"arms": ("\ud800",)}, id="surrogate"),
        ],
    )
    def test_values_that_no_table_holds_are_refused(
        self, changes: dict[str, Any], path: Path, store: Store, run: Run
    ) -> None:
        with pytest.raises(StoreError) as refusal:
            store.create_run(replace(run, run_id="r2", **changes))
        assert str(refusal.value).startswith(f"{path}: ")
        assert len(str(refusal.value).splitlines()) == 1
        assert store.runs() == [run]

    def test_unknown_run_is_told_everywhere(self, store: Store, make_attempt: Callable[..., Attempt]) -> None:
        for call in (
            lambda: store.run("last"),
            lambda: store.finish_run("r1", "now"),
            lambda: store.add_attempt(make_attempt()),
            lambda: store.attempts("r1"),
            lambda: store.replace_verdicts("r1", []),
            lambda: store.verdicts("r1"),
        ):
            with pytest.raises(UnknownRef, match="in the store"):
                call()


class TestAttempts:
    def test_come_back_equal_in_order(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        attempts = [
            make_attempt(arm="control", order=0),
            make_attempt(order=1),
            make_attempt(repeat=1, status="error", error="503: ‘full’", text="", token_ids=(), spans=()),
            make_attempt(unit_id="u2", order=0),
        ]
        for attempt in attempts[::-1]:
            store.add_attempt(attempt)
        assert store.attempts("r1") == attempts

    @pytest.mark.parametrize("status", ["error", "timeout"])
    def test_failed_one_is_replaced_and_its_verdicts_go(
        self,
        status: str,
        path: Path,
        store: Store,
        run: Run,
        make_attempt: Callable[..., Attempt],
    ) -> None:
        store.add_attempt(make_attempt(status=status))
        store.add_attempt(make_attempt(status=status, error="again"))
        assert store.attempts("r1") == [make_attempt(status=status, error="again")]
        store.close()
        with Store.open(path) as store:
            its_own, another = (
                Verdict("r1", unit_id, "plain", 0, "e", "unscored", "facts", 1) for unit_id in ("u1", "u2")
            )
            store.replace_verdicts("r1", [its_own, another])
            store.add_attempt(make_attempt())
            assert store.attempts("r1") == [make_attempt()]
            assert store.verdicts("r1") == [another]

    def test_good_one_is_not(
        self, path: Path, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        store.add_attempt(make_attempt())
        with pytest.raises(StoreError, match="run r1: unit 'u1', arm 'plain', repeat 0 is already"):
            store.add_attempt(make_attempt(text="other"))
        store.close()
        with Store.open(path) as store:
            with pytest.raises(StoreError, match="is already stored"):
                store.add_attempt(make_attempt(status="error"))
            assert store.attempts("r1") == [make_attempt()]

    def test_one_that_cannot_be_stored_leaves_no_trace(
        self, store: Store, run: Run, make_attempt: Callable[..., Attempt]
    ) -> None:
        for changes, message in (({"text": "\ud800"}, "surrogate"), ({"rows": 2**31}, "INT32")):
            with pytest.raises(StoreError, match=message):
                store.add_attempt(make_attempt(**changes))
        store.add_attempt(make_attempt())
        assert store.attempts("r1") == [make_attempt()]

    def test_runs_do_not_mix(self, store: Store, run: Run, make_attempt: Callable[..., Attempt]) -> None:
        store.create_run(replace(run, run_id="r2"))
        store.add_attempt(make_attempt("r1"))
        store.add_attempt(make_attempt("r2"))
        assert store.attempts("r2") == [make_attempt("r2")]


class TestVerdicts:
    def test_replace_all_of_their_run_and_no_other(self, store: Store, run: Run) -> None:
        store.create_run(replace(run, run_id="r2"))
        one = Verdict("r1", "u1", "plain", 0, "expect-1", "pass", "facts", 1, (3, 9))
        other = Verdict("r2", "u1", "plain", 0, "expect-1", "unscored", "facts", 1, None, "no matcher")
        store.replace_verdicts("r1", [one, replace(one, fact_id="forbid-1", evidence=None)])
        store.replace_verdicts("r2", [other])
        store.replace_verdicts("r1", [one])
        assert store.verdicts("r1") == [one]
        store.replace_verdicts("r1", [])
        assert store.verdicts("r1") == []
        assert store.verdicts("r2") == [other]

    def test_refused_for_another_run(self, store: Store, run: Run) -> None:
        with pytest.raises(StoreError, match="run r1: a verdict of run r2 is not one of its own"):
            store.replace_verdicts("r1", [Verdict("r2", "u1", "plain", 0, "e", "pass", "facts", 1)])

    def test_value_that_no_table_holds_changes_nothing(self, store: Store, run: Run) -> None:
        verdict = Verdict("r1", "u1", "plain", 0, "e", "pass", "facts", 1)
        store.replace_verdicts("r1", [verdict])
        for changes in ({"reason": "\ud800"}, {"judge_version": 2**31}):
            with pytest.raises(StoreError):
                store.replace_verdicts("r1", [replace(verdict, **changes)])
        assert store.verdicts("r1") == [verdict]

    def test_refused_when_one_is_given_twice(self, store: Store, run: Run) -> None:
        verdict = Verdict("r1", "u1", "plain", 0, "e", "pass", "facts", 1)
        with pytest.raises(
            StoreError, match="run r1: 2 verdicts of unit 'u1', arm 'plain', repeat 0, fact 'e'"
        ):
            store.replace_verdicts("r1", [verdict, replace(verdict, outcome="fail")])


def test_provenance_is_plain_json_to_other_tools(path: Path, store: Store, run: Run) -> None:
    store.close()
    with duckdb.connect(path, read_only=True) as connection:
        (text,) = connection.execute("SELECT provenance FROM runs").fetchall()[0]
    assert json.loads(text) == run.provenance
