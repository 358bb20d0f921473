"""What `run` and `replay` share: the options of a replay, and a run of them driven to its end."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import click

from bundles import Bundle, Run, Store
from judge import GatePolicy
from replay.catalog import load_bundle
from replay.cli.progress import progress
from replay.cli.serve import engine_options
from replay.cli.shared import (
    is_verbose,
    log,
    options,
    say,
    say_doubtful_facts,
    selection_options,
    typed,
)
from replay.errors import SettingsError
from replay.evaluation import Console, drive
from replay.runs import Settings, check_settings, jobs_of, new_run
from replay.stack import Service, StackOptions

_MOST_JOBS = 64  # slots that an engine can have
_SETTINGS = ("arms", "repeats", "seed", "sample", "text", "max_tokens", "jobs")

replay_options = options(
    click.option(
        "--arm",
        "arms",
        multiple=True,
        metavar="ARM",
        envvar="REDRAFT_ARMS",
        show_envvar=True,
        help="Generate this way too, besides plain and control: redraft, redraft:tau=3,floor=1, ...",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(1, 1000),
        envvar="REDRAFT_REPEATS",
        show_envvar=True,
        help="Attempts of each unit and arm.  [default: 1]",
    ),
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(1, _MOST_JOBS),
        metavar="N",
        envvar="REDRAFT_JOBS",
        show_envvar=True,
        help="Make N attempts at once. Speed is then told in passes, not in time.  [default: 1]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31 - 1),
        help="Seed of --sample and of the order of arms.  [default: 0]",
    ),
    selection_options,
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 8192),
        help="Longest answer, where a unit sets none.  [default: 160]",
    ),
    click.option("--url", metavar="URL", help="Use a redraftd that runs already."),
    click.option(
        "--token",
        default="",
        envvar="REDRAFT_TOKEN",
        help="Access token of that redraftd, for the tenant `replay`; better in REDRAFT_TOKEN.",
    ),
    click.option("--resume", metavar="RUN", help="Continue a run with the settings it was started with."),
    engine_options,
)


def replayed(store: Store, suite: str | None, given: dict[str, Any], policy: GatePolicy | None = None) -> Run:
    """The run of the options, driven to its end if the policy can be applied to it."""
    asked = typed(given)
    wishes = {name: given.pop(name) for name in _SETTINGS}
    url, token, ref = (given.pop(name) for name in ("url", "token", "resume"))
    if url is not None and (clash := asked & given.keys()):
        flag = min(clash).replace("_", "-")
        raise SettingsError(f"--url: the engine behind it runs already; leave --{flag} out")
    bundle = None if suite is None else load_bundle(store, suite)
    if ref is not None:
        run = _resumed(store, ref, bundle, wishes, asked)
    elif bundle is not None:
        say_doubtful_facts(bundle.units)
        run = new_run(bundle, Settings(**wishes), datetime.now(UTC))
    else:
        raise SettingsError("name a suite or a bundle, such as builtin:smoke, or a run to --resume")
    if policy and (absent := set(policy.arms) - set(run.arms)):
        raise SettingsError(f"the policy gates arm {min(absent)!r}, which the run does not have; add --arm")
    stack = StackOptions(**given, slots=jobs_of(run), cache_ram=0, verbose=is_verbose())
    drive(store, run, Service(url, stack, token), Console(say, log, progress), stored=ref is not None)
    return store.run(run.run_id)


def _resumed(
    store: Store, ref: str, bundle: Bundle | None, wishes: dict[str, Any], asked: Collection[str]
) -> Run:
    """The run to continue. What is typed must be what it was started with; other settings do not matter."""
    run = store.run(ref)
    settings = Settings(**{name: wish for name, wish in wishes.items() if name in asked})
    check_settings(run, store.bundle(run.bundle_id), bundle, settings)
    return run
