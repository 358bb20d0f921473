"""What a run is started with, and when one may be continued. Pure.

Invariant: a run is continued with the settings it was started with, on an engine that gives the
same tokens; everything that does not fit is named.
"""

import os
import platform
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version

from bundles import Bundle, Run, RunInfo
from daemon.wire import Health
from replay.arms import DEFAULT_ARMS, parse_arms
from replay.errors import NotComparable
from replay.plan import select

Provenance = Mapping[str, str | int | float | bool | None]

# Two runs with different values of these are not measurements of the same thing.
COMPARABLE = (
    "model",
    "model_fingerprint",
    "quantisation",
    "kv_type",
    "engine_version",
    "threads",
    "slots",
    "sampling",
    "template_version",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for; None where nothing was said."""

    arms: tuple[str, ...] = ()
    repeats: int | None = None
    seed: int | None = None
    sample: int | None = None
    text: str | None = None
    max_tokens: int | None = None
    jobs: int | None = None


def jobs_of(run: Run | RunInfo) -> int:
    """How many of the run's attempts are made at once; with more than one its wall times are contended."""
    jobs = run.provenance.get("jobs", 1)
    return jobs if isinstance(jobs, int) else 1


def new_run(bundle: Bundle, settings: Settings, now: datetime) -> Run:
    """A run that has not begun; `now` is UTC. NothingToRun where no unit is selected."""
    seed = settings.seed or 0
    units = select(bundle.units, text=settings.text, sample=settings.sample, seed=seed)
    jobs = settings.jobs or 1
    return Run(
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        bundle_id=bundle.bundle_id,
        unit_ids=tuple(unit.unit_id for unit in units),
        arms=tuple(arm.name for arm in parse_arms(settings.arms or DEFAULT_ARMS)),
        repeats=settings.repeats or 1,
        seed=seed,
        max_tokens=settings.max_tokens or 160,
        started=now.isoformat(timespec="seconds"),
        provenance={"jobs": jobs, "contended": jobs > 1},
    )


def check_settings(run: Run, bundle: Bundle, asked: Bundle | None, settings: Settings) -> None:
    """NotComparable where the user asks for something else than what the run was started with.

    `bundle` is the run's own, `asked` the one that the user names, if any.
    """
    if asked is not None and asked.bundle_id != bundle.bundle_id:
        raise NotComparable(
            f"run {run.run_id} is of bundle {bundle.name} ({bundle.bundle_id[:12]}), not {asked.name}"
            f" ({asked.bundle_id[:12]}); leave it out"
        )
    if settings.arms:
        _same(run, "--arm", run.arms, tuple(arm.name for arm in parse_arms(settings.arms)))
    for flag, stored, given in (
        ("--repeats", run.repeats, settings.repeats),
        ("--seed", run.seed, settings.seed),
        ("--max-tokens", run.max_tokens, settings.max_tokens),
        ("-j", jobs_of(run), settings.jobs),
    ):
        if given is not None:
            _same(run, flag, stored, given)
    if settings.sample is not None or settings.text is not None:
        chosen = select(bundle.units, text=settings.text, sample=settings.sample, seed=run.seed)
        if tuple(unit.unit_id for unit in chosen) != run.unit_ids:
            raise NotComparable(
                f"run {run.run_id} has other units than --filter and --sample choose; leave them out"
            )


def check_provenance(run: Run, provenance: Provenance) -> None:
    """NotComparable where the engine is not the one that the run was started on."""
    different = [
        f"{key} {run.provenance.get(key)!r} then, {provenance.get(key)!r} now"
        for key in COMPARABLE
        if run.provenance.get(key) != provenance.get(key)
    ]
    if different:
        raise NotComparable(
            f"run {run.run_id} cannot be continued on this engine: {'; '.join(different)}"
            " (give the same --model and options, or start a new run)"
        )


def provenance_of(health: Health) -> Provenance:
    """What a measurement must know about what ran, from the daemon's health and this machine."""
    facts = {name: value for name, value in health.engine.items() if isinstance(value, str | int | float)}
    engine_version = facts.pop("version", None)
    return {
        **facts,
        "engine_version": engine_version,
        "model": health.model.name,
        "slots": health.slots.total,
        "sampling": "greedy",
        "template_version": health.template_version,
        "daemon_version": health.version,
        "redraft": version("redraft"),
        "python": platform.python_version(),
        "machine": f"{sys.platform} {platform.machine()}",
        "cores": os.cpu_count(),
    }


def _same(run: Run, flag: str, stored: object, given: object) -> None:
    if stored != given:
        raise NotComparable(
            f"run {run.run_id} was started with {flag} {_spelt(stored)}, not {_spelt(given)}; leave it out"
        )


def _spelt(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
