from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bundles import Attempt
from replay.bench.measuring import Plan, arms_to_measure
from replay.bench.peers import measuring
from replay.bench.peers.measuring import (
    LLAMA_SERVER,
    PEERS,
    Peer,
    Start,
    measure_peer,
    peer_attempts,
    serving_peer,
)
from replay.client import Client
from replay.errors import ServiceDown
from replay.stack import StackOptions

FORGETS, LEARNS = Peer("forgets"), Peer("learns", learns=True)


@pytest.fixture
def daemons() -> list[Any]:
    return []


@pytest.fixture
def start(make: Any, daemons: list[Any]) -> Start:
    @contextmanager
    def started(peer: Peer) -> Iterator[Client]:
        daemons.append(make.daemon())
        yield daemons[-1].client()

    return started


def plan(make: Any, **changes: object) -> Plan:
    units = (make.unit("a", **changes), make.unit("b", **changes))
    return Plan(units, arms_to_measure(("redraft",)), 5, 0, 32)


def refreshes(daemon: Any) -> list[str]:
    """What the daemon was asked to generate: the old request in full, its first token, or the new one."""
    asked, longest = [], 0
    for method, path, body in daemon.calls:
        if method == "PUT":
            longest = body["max_tokens"]
        elif path.endswith("/refresh"):
            asked.append("new" if body["sources"] else "old" if longest > 1 else "first")
    return asked


def test_one_that_forgets_serves_everything(make: Any, daemons: list[Any], start: Start) -> None:
    told: list[Attempt] = []
    found = list(measure_peer(FORGETS, plan(make), start, told.append))
    assert [len(attempts) for attempts in found] == [5, 5]
    assert {attempt.text for attempts in found for attempt in attempts} == {"Ava owns it."}
    assert len(told) == peer_attempts(FORGETS, plan(make)) == 14
    assert len(daemons) == 1
    assert refreshes(daemons[0]) == 2 * ["old", *6 * ["first", "new"]]


def test_one_that_learns_has_served_the_old_request_alone(
    make: Any, daemons: list[Any], start: Start
) -> None:
    told: list[Attempt] = []
    found = list(measure_peer(LEARNS, plan(make), start, told.append))
    assert [[attempt.repeat for attempt in attempts] for attempts in found] == 2 * [[0, 1, 2, 3, 4]]
    assert len(told) == peer_attempts(LEARNS, plan(make)) == 40
    assert len(daemons) == 10
    assert all(refreshes(daemon) == ["old", "old", "old", "first", "new"] for daemon in daemons)


def test_a_hand_edited_draft_is_part_of_the_new_request(make: Any, daemons: list[Any], start: Start) -> None:
    list(measure_peer(FORGETS, plan(make, kind="revise", stale="Bo.", edited="Ava.\nBo."), start, id))
    edits = [body["edits"] for _, path, body in daemons[0].calls if path.endswith("/refresh")]
    assert edits[2] == [{"target": "derived", "source": None, "start": 0, "end": 1, "lines": ["Ava.", "Bo."]}]


def test_a_peer_that_hangs_is_given_up(make: Any) -> None:
    def hangs(request: httpx.Request) -> httpx.Response | None:
        if request.url.path.endswith("/refresh"):
            raise httpx.ReadTimeout("slow")
        return None

    @contextmanager
    def started(peer: Peer) -> Iterator[Client]:
        yield make.daemon(hangs).client()

    with pytest.raises(ServiceDown, match="unit a"):
        list(measure_peer(FORGETS, plan(make), started, id))


def test_the_first_peer_does_not_speculate() -> None:
    assert (PEERS[0].name, PEERS[0].arguments, PEERS[0].learns) == (LLAMA_SERVER, (), False)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_a_daemon_stands_in_front_of_the_peer_and_its_death_is_explained(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "MODULE", "engine.main")
    options = StackOptions(model=Path("none.gguf"), threads=1)
    peer = Peer("peer", ("--fake-model", "--port", "0", "--watch-stdin"))
    asked = Plan((make.unit("a"),), (), 1, 0, 32)

    def started(peer: Peer) -> Any:
        return serving_peer(peer, options, lambda line: None)

    ((attempt,),) = measure_peer(peer, asked, started, id)
    assert attempt.status == "ok"
    broken = Peer("broken", ("--no-such-option",))
    with pytest.raises(Exception, match="no-such-option"):
        list(measure_peer(broken, asked, started, id))
