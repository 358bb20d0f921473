from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from replay.bench.peers import running
from replay.bench.peers.measuring import LLAMA_SERVER, PEERS, Peer
from replay.bench.peers.running import PeerBench, must_have_peers
from replay.bench.report import render_bench
from replay.client import Client
from replay.errors import ServiceDown, SettingsError
from replay.evaluation import Console
from replay.stack import StackOptions


@contextmanager
def silent(total: int) -> Iterator[Any]:
    yield id


def test_a_peer_that_fails_takes_none_of_the_others_with_it(bench: Any, make: Any) -> None:
    measured = [bench.measured("a"), bench.measured("b")]

    @contextmanager
    def start(peer: Peer) -> Iterator[Client]:
        if peer.name == PEERS[1].name:
            raise ServiceDown("it does not start")
        yield make.daemon().client()

    peers = PeerBench(bench.plan(*measured), Console(id, id, silent), start)
    peers.run()
    result = peers.added_to(bench.result(*measured), measured)
    assert [figures.units for figures in result.peers.values()] == [2, 0, 2, 2]
    assert result.peers[LLAMA_SERVER].over_own_plain == 1
    assert result.peers[LLAMA_SERVER].same_text == 1
    assert result.warnings[-1] == f"{PEERS[1].name} could not be measured: it does not start"
    assert LLAMA_SERVER in render_bench(result)


def test_interrupted_peers_leave_what_they_served(bench: Any, make: Any) -> None:
    measured = [bench.measured("a"), bench.measured("b")]
    starts: list[Peer] = []

    @contextmanager
    def start(peer: Peer) -> Iterator[Client]:
        starts.append(peer)
        if len(starts) == 2:
            raise KeyboardInterrupt
        yield make.daemon().client()

    peers = PeerBench(bench.plan(*measured), Console(id, id, silent), start)
    with pytest.raises(KeyboardInterrupt):
        peers.run()
    found = peers.added_to(bench.result(*measured), measured).peers
    assert [(name, figures.units) for name, figures in found.items()] == [
        (PEERS[0].name, 2), (PEERS[1].name, 0),
    ]  # fmt: skip


def test_they_have_to_be_installed_and_to_run_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"redraft\[bench\]"):
        must_have_peers(StackOptions())
    monkeypatch.setattr(running, "find_spec", lambda name: object())
    must_have_peers(StackOptions())
    with pytest.raises(SettingsError, match="real model"):
        must_have_peers(StackOptions(fake_pass_ms=0))
