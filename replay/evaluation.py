"""One evaluation: a run driven to its end, then judged.

Invariant: a run is in the store before its first attempt and is never left unusable: whatever stops
it, the message says how to continue it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shlex import quote

from bundles import Attempt, Run, Store, Verdict
from judge import is_claim_verdict, judge_attempts
from replay.driver import finished, replay
from replay.errors import ServiceDown
from replay.plan import remaining
from replay.runs import check_provenance, provenance_of
from replay.stack import Say, Service


@dataclass(frozen=True, slots=True)
class Console:
    """What an evaluation tells: lines for the user, lines for `-v`, and attempts as they are stored.

    `progress` is given the number of attempts to come.
    """

    say: Say
    log: Say
    progress: Callable[[int], AbstractContextManager[Callable[[Attempt], None]]]


def drive(store: Store, run: Run, service: Service, console: Console, *, stored: bool) -> None:
    """Makes the attempts that are not there yet; a run that is not `stored` is, once the service answers."""
    units = store.bundle(run.bundle_id).units
    kept = finished(store.attempts(run.run_id)) if stored else {}
    todo = remaining(run, units, kept)
    if todo == 0:
        console.say(f"run {run.run_id}: all its attempts are there already")
        return
    how = f"continue with: redraft run --store {quote(str(store.path))} --resume {run.run_id}"
    try:
        with service.connected(console.say, console.log) as client:
            provenance = provenance_of(client.health())
            if stored:
                check_provenance(run, provenance)
            else:
                store.create_run(replace(run, provenance=provenance))
                stored = True
            console.say(f"run {run.run_id}: {_size(run, todo, len(kept))}; if it stops, {how}")
            with console.progress(todo) as tell:
                replay(run, units, kept, store, client, tell)
    except KeyboardInterrupt:
        console.say(f"interrupted; {how if stored else 'nothing was run'}")
        raise
    except ServiceDown as error:
        raise ServiceDown(f"{error}; {how}" if stored else str(error)) from error
    store.finish_run(run.run_id, datetime.now(UTC).isoformat(timespec="seconds"))


def judge_run(store: Store, run: Run) -> list[Verdict]:
    """Judges the run's attempts anew by their facts and stores the verdicts; those on claims stay."""
    verdicts = judge_attempts(store.bundle(run.bundle_id).units, store.attempts(run.run_id))
    claims = [verdict for verdict in store.verdicts(run.run_id) if is_claim_verdict(verdict)]
    store.replace_verdicts(run.run_id, [*verdicts, *claims])
    return verdicts


def store_claims(store: Store, run: Run, claims: Sequence[Verdict]) -> None:
    """Puts verdicts on claims in place of those that the run has; those on facts stay."""
    facts = [verdict for verdict in store.verdicts(run.run_id) if not is_claim_verdict(verdict)]
    store.replace_verdicts(run.run_id, [*facts, *claims])


def _size(run: Run, todo: int, kept: int) -> str:
    repeats = f" x {run.repeats} repeats" if run.repeats > 1 else ""
    done = f", {kept} of them done" if kept else ""
    return f"{len(run.unit_ids)} units x {len(run.arms)} arms{repeats}, {todo + kept} attempts{done}"
