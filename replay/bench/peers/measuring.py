"""llama-server in our engine's place, behind the same daemon, asked the same by the same client.

Invariant: before each measured request the peer has really served the old one, and has never been asked the
new one if it is of the kind that learns from what it has served.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from bundles import Attempt, Run, Unit
from replay.arms import PLAIN, STALE, Arm
from replay.bench.measuring import Plan, made
from replay.client import Client
from replay.driver import Driver
from replay.errors import ServiceDown
from replay.plan import Step
from replay.stack import Child, Say, StackOptions, pull_model

MODULE = "replay.bench.peers.llama_server"
LLAMA_SERVER = "llama-server"
CTX = 4096
WARMING = 3
"""Times that a peer just started serves the old request: a process's first answers are slow ones."""
_OLD, _NEW = Arm(STALE, baseline=True), Arm(PLAIN, baseline=True)


@dataclass(frozen=True, slots=True)
class Peer:
    """A way to run llama-server; one that `learns` drafts from all that it has ever served."""

    name: str
    arguments: tuple[str, ...] = ()
    learns: bool = False


PEERS = (
    Peer(LLAMA_SERVER),
    Peer(f"{LLAMA_SERVER} ngram-simple", ("--speculate", "ngram-simple")),
    Peer(f"{LLAMA_SERVER} ngram-mod", ("--speculate", "ngram-mod"), learns=True),
    Peer(
        f"{LLAMA_SERVER} ngram-mod tuned",
        ("--speculate", "ngram-mod", "--match", "4", "--least", "1", "--most", "15"),
        learns=True,
    ),
)
"""Tuned for short answers: any four tokens that match, and passes of at most sixteen rows."""

Start = Callable[[Peer], AbstractContextManager[Client]]


def measure_peer(
    peer: Peer, plan: Plan, start: Start, tell: Callable[[Attempt], None]
) -> Generator[tuple[Attempt, ...]]:
    """Each unit's counted attempts in turn. ServiceDown where the peer cannot be started or is gone."""
    if peer.learns:
        for unit in plan.units:
            attempts = []
            for repeat in range(plan.repeats):
                with start(peer) as client:
                    asking = _Asking(plan, client, tell)
                    for _ in range(WARMING):
                        asking.old(unit)
                    attempts.append(asking.new(unit, repeat))
            yield tuple(attempts)
        return
    with start(peer) as client:
        asking = _Asking(plan, client, tell)
        for unit in plan.units:
            asking.old(unit)
            asking.new(unit, 0)
            yield tuple(asking.new(unit, repeat) for repeat in range(plan.repeats))


def peer_attempts(peer: Peer, plan: Plan) -> int:
    """How many attempts `measure_peer` makes, uncounted ones too."""
    return len(plan.units) * ((WARMING + 1) * plan.repeats if peer.learns else 2 + plan.repeats)


@contextmanager
def serving_peer(peer: Peer, options: StackOptions, log: Say) -> Iterator[Client]:
    """The peer with a daemon in front of it, on the default model where `options` name none."""
    arguments = {
        "--model": options.model or pull_model(log),
        "--threads": options.threads,
        "--ctx": options.ctx or CTX,
        "--kv": options.kv or "bf16",
        "--gpu-layers": options.gpu_layers or 0,
    }
    words = [str(word) for pair in arguments.items() for word in pair]
    with ExitStack() as children:
        server = Child(MODULE, peer.name, [*words, *peer.arguments], log)
        children.callback(server.stop)
        daemon = Child("daemon.main", "redraftd", StackOptions().daemon_arguments(server.url()), log)
        children.callback(daemon.stop)
        client = Client(daemon.url())
        children.callback(client.close)
        try:
            yield client
        except ServiceDown:
            if death := server.death():
                raise death from None
            raise


class _Asking:
    """Asks one running peer through its daemon."""

    def __init__(self, plan: Plan, client: Client, tell: Callable[[Attempt], None]) -> None:
        run = Run("peer", "", (), (), plan.repeats, plan.seed, plan.max_tokens, "")
        self._driver, self._client, self._tell = Driver(run, client), client, tell

    def old(self, unit: Unit) -> None:
        """Serves the request before the edit, to its end."""
        self._attempt(unit, _OLD, 0)

    def new(self, unit: Unit, repeat: int) -> Attempt:
        """The request after the edit."""
        return self._attempt(unit, _NEW, repeat)

    def _attempt(self, unit: Unit, arm: Arm, repeat: int) -> Attempt:
        step = Step(arm, repeat, order=0)
        return made(self._driver, self._client, unit, step, unit.stale or "", self._tell)
