"""All peers, one after the other.

Invariant: one process at a time holds the model, and a peer that fails takes none of the others with it.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from importlib.util import find_spec

from bundles import Attempt
from replay.arms import PLAIN
from replay.bench.measuring import Measured, Plan
from replay.bench.peers.figures import peer_figures
from replay.bench.peers.measuring import LLAMA_SERVER, PEERS, Peer, measure_peer, peer_attempts
from replay.bench.result import BenchResult
from replay.client import Client
from replay.errors import ReplayError, SettingsError
from replay.evaluation import Console
from replay.stack import StackOptions


def must_have_peers(options: StackOptions) -> None:
    """SettingsError where they are not installed, or would run another model than the arms."""
    if options.fake_pass_ms is not None:
        raise SettingsError("--peers: they need a real model")
    if find_spec("xllamacpp") is None:
        raise SettingsError("--peers: llama-server is not installed; pip install 'redraft[bench]'")


@dataclass
class PeerBench:
    """The peers under way: what each has served so far, by unit, and why it ended early."""

    plan: Plan
    console: Console
    start: Callable[[Peer], AbstractContextManager[Client]]
    served: dict[str, dict[str, tuple[Attempt, ...]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Measures every peer."""
        for peer in PEERS:
            self.console.say(
                f"bench of {peer.name}: {len(self.plan.units)} units x {self.plan.repeats} repeats"
            )
            served = self.served[peer.name] = {}
            try:
                with (
                    self.console.progress(peer_attempts(peer, self.plan)) as tell,
                    closing(measure_peer(peer, self.plan, self.start, tell)) as made,
                ):
                    for unit, attempts in zip(self.plan.units, made, strict=True):
                        served[unit.unit_id] = attempts
            except ReplayError as error:
                self.failures[peer.name] = str(error)

    def added_to(self, result: BenchResult, measured: list[Measured]) -> BenchResult:
        """The result with the peers in it."""
        own_plain = self.served.get(LLAMA_SERVER, {})
        texts = _plain_texts(measured)
        peers = {
            name: peer_figures(result.per_unit, texts, served, own_plain, self.plan.seed)
            for name, served in self.served.items()
        }
        warnings = [f"{name} could not be measured: {why}" for name, why in self.failures.items()]
        return result.model_copy(update={"peers": peers, "warnings": (*result.warnings, *warnings)})


def _plain_texts(measured: list[Measured]) -> Mapping[str, str]:
    return {
        one.unit.unit_id: attempt.text
        for one in measured
        for attempt in reversed(one.attempts)
        if attempt.arm == PLAIN and attempt.status == "ok"
    }
