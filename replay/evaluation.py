"""One evaluation: a run driven to its end, then judged.

Invariant: a run is in the store before its first attempt and is never left unusable: whatever stops
it, the message says how to continue it.
"""

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shlex import quote

from bundles import Attempt, Run, Store, Verdict
from judge import claim_note, is_claim_verdict, judge_attempts
from replay import machine
from replay.arms import WARMUP
from replay.driver import finished, replay
from replay.errors import ServiceDown, SettingsError
from replay.plan import Key, remaining
from replay.runs import Provenance, check_provenance, jobs_of, provenance_of
from replay.stack import Say, Service

_NO_ENGINE: Provenance = {}


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
    load = machine.load()
    try:
        with service.connected(console.say, console.log) as client:
            provenance = provenance_of(client.health())
            _must_have_slots(run, provenance)
            if stored:
                check_provenance(run, provenance)
            else:
                store.create_run(
                    replace(run, provenance={**provenance, **run.provenance, "load_start": load})
                )
                stored = True
            console.say(f"run {run.run_id}: {_size(run, todo, kept)}; if it stops, {how}")
            noise = _noise(run, load)
            if noise:
                console.say(noise)
            with console.progress(todo) as tell:
                replay(run, units, kept, store, client, tell)
            load = machine.load()
    except KeyboardInterrupt:
        console.say(f"interrupted; {how if stored else 'nothing was run'}")
        raise
    except ServiceDown as error:
        raise ServiceDown(f"{error}; {how}" if stored else str(error)) from error
    if not noise and (noise := _noise(run, load, provenance)):
        console.say(noise)
    store.finish_run(run.run_id, datetime.now(UTC).isoformat(timespec="seconds"), {"load_end": load})


def _must_have_slots(run: Run, provenance: Provenance) -> None:
    slots = provenance["slots"]
    if isinstance(slots, int) and slots < jobs_of(run):
        raise SettingsError(f"-j {jobs_of(run)}: the daemon has {slots} slots; give it more or ask for fewer")


def _noise(run: Run, load: float | None, engine: Provenance = _NO_ENGINE) -> str | None:
    """What to say where others disturb the run's wall times; `engine` is the one that ran until now."""
    threads = engine.get("threads", 0)
    said = machine.noise(load, os.cpu_count() or 1, threads if isinstance(threads, int) else 0)
    return said if jobs_of(run) == 1 else None


def judge_run(store: Store, run: Run) -> list[Verdict]:
    """Judges the run's attempts anew by their facts and stores the verdicts; those on claims stay."""
    verdicts = judge_attempts(store.bundle(run.bundle_id).units, judged_attempts(store, run))
    claims = [verdict for verdict in store.verdicts(run.run_id) if is_claim_verdict(verdict)]
    store.replace_verdicts(run.run_id, [*verdicts, *claims])
    return verdicts


def judged_attempts(store: Store, run: Run) -> list[Attempt]:
    """The run's attempts without those that only warmed up."""
    return [attempt for attempt in store.attempts(run.run_id) if attempt.arm != WARMUP]


def store_claims(store: Store, run: Run, claims: Sequence[Verdict]) -> None:
    """Puts verdicts on claims in place of those that the run has, and notes that it has them."""
    facts = [verdict for verdict in store.verdicts(run.run_id) if not is_claim_verdict(verdict)]
    store.replace_verdicts(run.run_id, [*facts, *claims], claim_note(claims))


def _size(run: Run, todo: int, kept: Collection[Key]) -> str:
    repeats = f" x {run.repeats} repeats" if run.repeats > 1 else ""
    done = sum(arm != WARMUP for _, arm, _ in kept)
    there = f", {done} of them done" if done else ""
    jobs = f", {jobs_of(run)} at once" if jobs_of(run) > 1 else ""
    size = f"{len(run.unit_ids)} units x {len(run.arms)} arms{repeats}"
    stale = todo + done - len(run.unit_ids) * len(run.arms) * run.repeats
    made = f", {stale} stale answers among them" if stale else ""
    return f"{size}, {todo + done} attempts{there}{made}{jobs}"
