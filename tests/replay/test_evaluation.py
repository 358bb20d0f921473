from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from bundles import Attempt, Store
from replay.client import Client
from replay.errors import NotComparable, ServiceDown
from replay.evaluation import Console, drive, judge_run, store_claims
from replay.runs import provenance_of
from replay.stack import Service, Stack, StackOptions


class Heard:
    """A console that remembers, and may break in after some attempts."""

    def __init__(self, break_after: int = 10**9, error: type[BaseException] = KeyboardInterrupt) -> None:
        self.lines: list[str] = []
        self.attempts: list[Attempt] = []
        self._break_after, self._error = break_after, error

    @contextmanager
    def progress(self, total: int) -> Iterator[Callable[[Attempt], None]]:
        self.total = total
        yield self.tell

    def tell(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        if len(self.attempts) == self._break_after:
            raise self._error("stopped")

    def console(self) -> Console:
        return Console(self.lines.append, self.lines.append, self.progress)


@pytest.fixture
def service(live: Stack) -> Service:
    return Service(live.url, StackOptions())


def prepared(make: Any, store: Store, count: int = 2) -> Any:
    units = [make.unit(f"u{index}") for index in range(count)]
    store.add_bundle(make.bundle(units))
    return make.run(units, provenance={})


def test_a_run_is_announced_driven_and_finished(make: Any, store: Store, service: Service) -> None:
    run, heard = prepared(make, store), Heard()
    drive(store, run, service, heard.console(), stored=False)
    stored = store.run(run.run_id)
    assert len(heard.attempts) == heard.total == 10
    assert {attempt.status for attempt in heard.attempts} == {"ok"}
    assert stored.finished is not None
    assert stored.provenance["model_fingerprint"]
    assert f"--resume {run.run_id}" in heard.lines[0]
    verdicts = judge_run(store, stored)
    assert len(verdicts) == 16
    assert set(store.verdicts(run.run_id)) == set(verdicts)


def test_verdicts_on_facts_and_on_claims_replace_only_their_own_kind(make: Any, store: Store) -> None:
    evaluated = make.evaluated()
    evaluated.stored(store)
    judge_run(store, evaluated.run)
    claims = [
        replace(verdict, judge="claims:big", fact_id="claims/lost_facts")
        for verdict in evaluated.verdicts()
        if verdict.fact_id == "new"
    ]
    store_claims(store, evaluated.run, claims)
    store_claims(store, evaluated.run, claims[1:])
    judge_run(store, evaluated.run)
    assert sorted(store.verdicts(evaluated.run.run_id), key=str) == sorted(
        [*evaluated.verdicts(), *claims[1:]], key=str
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, ServiceDown])
def test_a_stopped_run_says_how_to_go_on_and_repeats_nothing(
    make: Any, store: Store, service: Service, error: type[BaseException]
) -> None:
    run, heard = prepared(make, store), Heard(3, error)
    with pytest.raises(error) as raised:
        drive(store, run, service, heard.console(), stored=False)
    assert f"--resume {run.run_id}" in f"{heard.lines[-1]} {raised.value}"
    stored = store.run(run.run_id)
    assert stored.finished is None
    again = Heard()
    drive(store, stored, service, again.console(), stored=True)
    assert again.total == 7
    assert len({attempt.key for attempt in (*heard.attempts, *again.attempts)}) == 10


def test_a_complete_run_needs_no_service(make: Any, store: Store, service: Service) -> None:
    run = prepared(make, store)
    drive(store, run, service, Heard().console(), stored=False)
    heard = Heard()
    drive(
        store,
        store.run(run.run_id),
        Service("http://127.0.0.1:1", StackOptions()),
        heard.console(),
        stored=True,
    )
    assert heard.attempts == []
    assert "all its attempts are there" in heard.lines[0]


def test_a_run_that_died_before_its_first_attempt_is_continued(
    make: Any, store: Store, service: Service, live: Stack
) -> None:
    client = Client(live.url)
    run = replace(prepared(make, store), provenance=provenance_of(client.health()))
    client.close()
    store.create_run(run)
    heard = Heard()
    drive(store, run, service, heard.console(), stored=True)
    assert len(heard.attempts) == 10
    assert store.run(run.run_id).finished is not None


def test_a_run_is_not_continued_on_another_engine(make: Any, store: Store, service: Service) -> None:
    run = replace(prepared(make, store), provenance={"model_fingerprint": "another"})
    store.create_run(run)
    with pytest.raises(NotComparable, match="'another' then"):
        drive(store, run, service, Heard().console(), stored=True)
    assert store.attempts(run.run_id) == []


def test_a_run_that_never_reached_a_service_is_not_stored(make: Any, store: Store) -> None:
    run = prepared(make, store)
    with pytest.raises(ServiceDown, match="no daemon answers"):
        drive(store, run, Service("http://127.0.0.1:1", StackOptions()), Heard().console(), stored=False)
    assert store.runs() == []


def test_the_machines_load_is_noted_and_said_where_it_disturbs(
    make: Any, store: Store, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = iter([0.0, 9.0])
    monkeypatch.setattr("replay.machine.load", lambda: next(loads))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    run, heard = prepared(make, store, 1), Heard()
    drive(store, run, service, heard.console(), stored=False)
    provenance = store.run(run.run_id).provenance
    assert (provenance["load_start"], provenance["load_end"]) == (0.0, 9.0)
    (said,) = (line for line in heard.lines if "quiet" in line)
    assert said.endswith("load 9 on 2 cores, 1 of it the engine's")


def test_noise_is_nothing_to_runs_whose_times_do_not_count(
    make: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("replay.machine.load", lambda: 99.0)
    heard = Heard()
    run = replace(prepared(make, store), provenance={"jobs": 2})
    drive(store, run, Service(None, StackOptions(fake_pass_ms=0, slots=2)), heard.console(), stored=False)
    assert not any("quiet" in line for line in heard.lines)
    assert store.run(run.run_id).provenance["slots"] == 2


def test_a_resume_counts_no_warm_up_as_done(make: Any, store: Store, service: Service) -> None:
    run, heard = prepared(make, store), Heard(3)
    with pytest.raises(KeyboardInterrupt):
        drive(store, run, service, heard.console(), stored=False)
    again = Heard()
    drive(store, store.run(run.run_id), service, again.console(), stored=True)
    assert "2 units x 4 arms, 10 attempts, 3 of them done, 2 stale answers among them" in again.lines[0]
    judge_run(store, run)
    assert {verdict.arm for verdict in store.verdicts(run.run_id)} == set(run.arms)
