"""Commands of an evaluation: `run`, and its parts `replay`, `judge`, `report`, `gate`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from bundles import Run, Store
from judge import GatePolicy
from replay.arms import parse_arm
from replay.catalog import load_bundle
from replay.cli.progress import progress
from replay.cli.serve import engine_options
from replay.cli.shared import (
    INFRASTRUCTURE,
    is_verbose,
    json_option,
    log,
    open_store,
    options,
    say,
    show,
    store_option,
)
from replay.errors import SettingsError
from replay.evaluation import Console, drive, judge_run
from replay.report.html import write_html
from replay.report.table import render_table, render_verdict
from replay.results import summarise
from replay.runs import Settings, check_settings, new_run
from replay.stack import Service, StackOptions
from replay.summary import Summary

_REGRESSION, _INCONCLUSIVE = 1, 3
_CONFIG = Path("redraft.toml")

replay_options = options(
    click.option(
        "--arm",
        "arms",
        multiple=True,
        metavar="ARM",
        help="Generate this way too, besides plain and control: redraft, redraft:tau=3,floor=1, ...",
    ),
    click.option(
        "--repeats", type=click.IntRange(1, 1000), help="Attempts of each unit and arm.  [default: 1]"
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31 - 1),
        help="Seed of --sample and of the order of arms.  [default: 0]",
    ),
    click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Take N units at random."),
    click.option(
        "--filter", "text", metavar="TEXT", help="Take units with TEXT in their id, category or a tag."
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1, 8192),
        help="Longest answer, where a unit sets none.  [default: 160]",
    ),
    click.option("--url", metavar="URL", help="Use a redraftd that runs already."),
    click.option("--resume", metavar="RUN", help="Continue a run with the settings it was started with."),
    engine_options,
)
gate_options = options(
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="REDRAFT_CONFIG",
        help="Policy in [gate].  [default: redraft.toml, where there is one]",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit 0 whatever the gate says."),
    click.option("--strict", is_flag=True, help="Inconclusive counts as a regression."),
)
html_option = click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a report there."
)
run_argument = click.argument("ref", metavar="RUN", default="last")


@click.command()
@click.argument("suite", metavar="SUITE|BUNDLE", required=False)
@replay_options
@html_option
@json_option
@gate_options
@store_option
def run(suite: str | None, store: Path, html: Path | None, as_json: bool, **given: Any) -> None:
    """Import, replay, judge, report and gate in one command."""
    policy, verdict_code = _gate(given)
    _must_be_writable(html, store, suite)
    with open_store(store, create=given["resume"] is None) as opened:
        done = _replayed(opened, suite, given, policy)
        judge_run(opened, done)
        summary = _summary(opened, done, policy)
    _show(summary, html, as_json)
    raise click.exceptions.Exit(verdict_code(summary))


@click.command()
@click.argument("suite", metavar="BUNDLE|SUITE", required=False)
@replay_options
@store_option
def replay(suite: str | None, store: Path, **given: Any) -> None:
    """Make the attempts of a run, and print its id."""
    with open_store(store, create=given["resume"] is None) as opened:
        done = _replayed(opened, suite, given)
        failed = sum(attempt.status != "ok" for attempt in opened.attempts(done.run_id))
    show(done.run_id)
    if failed:
        say(f"{failed} attempts failed; try them again with --resume {done.run_id}")
        raise click.exceptions.Exit(INFRASTRUCTURE)


@click.command()
@run_argument
@store_option
def judge(ref: str, store: Path) -> None:
    """Judge a run's attempts, generating nothing."""
    with open_store(store) as opened:
        stored = opened.run(ref)
        verdicts = judge_run(opened, stored)
    outcomes = [verdict.outcome for verdict in verdicts]
    show(
        f"run {stored.run_id}: {outcomes.count('pass')} facts pass, {outcomes.count('fail')} fail,"
        f" {outcomes.count('unscored')} unscored"
    )


@click.command()
@run_argument
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table", show_default=True)
@html_option
@json_option
@gate_options
@store_option
def report(ref: str, store: Path, shape: str, html: Path | None, as_json: bool, **given: Any) -> None:
    """Show a judged run."""
    policy, _ = _gate(given)
    _must_be_writable(html, store)
    with open_store(store) as opened:
        summary = _summary(opened, opened.run(ref), policy)
    _show(summary, html, as_json or shape == "json")


@click.command()
@run_argument
@json_option
@gate_options
@store_option
def gate(ref: str, store: Path, as_json: bool, **given: Any) -> None:
    """Decide on a judged run; the exit code is the verdict."""
    policy, verdict_code = _gate(given)
    with open_store(store) as opened:
        summary = _summary(opened, opened.run(ref), policy)
    show(summary.to_json() if as_json else render_verdict(summary))
    raise click.exceptions.Exit(verdict_code(summary))


def _replayed(
    store: Store, suite: str | None, given: dict[str, Any], policy: GatePolicy | None = None
) -> Run:
    """The run of the options, driven to its end if the policy can be applied to it."""
    settings = Settings(
        **{name: given.pop(name) for name in ("arms", "repeats", "seed", "sample", "text", "max_tokens")}
    )
    url, ref = given.pop("url"), given.pop("resume")
    if url is not None and any(value is not None for value in given.values()):
        raise SettingsError("--url: the engine behind it runs already; leave the engine's options out")
    bundle = None if suite is None else load_bundle(store, suite)
    if ref is not None:
        run = store.run(ref)
        check_settings(run, store.bundle(run.bundle_id), bundle, settings)
    elif bundle is not None:
        run = new_run(bundle, settings, datetime.now(UTC))
    else:
        raise SettingsError("name a suite or a bundle, such as builtin:smoke, or a run to --resume")
    if policy and (absent := set(policy.arms) - set(run.arms)):
        raise SettingsError(f"the policy gates arm {min(absent)!r}, which the run does not have; add --arm")
    service = Service(url, StackOptions(**given, verbose=is_verbose()))
    drive(store, run, service, Console(say, log, progress), stored=ref is not None)
    return store.run(run.run_id)


def _summary(store: Store, run: Run, policy: GatePolicy) -> Summary:
    return summarise(
        run, store.bundle(run.bundle_id), store.attempts(run.run_id), store.verdicts(run.run_id), policy
    )


def _gate(given: dict[str, Any]) -> tuple[GatePolicy, Callable[[Summary], int]]:
    """Takes the gate's options out of `given`: the policy, and a summary's exit code."""
    config, exit_zero, strict = (given.pop(name) for name in ("config", "exit_zero", "strict"))
    if config is None and _CONFIG.exists():
        config = _CONFIG

    def code(summary: Summary) -> int:
        if exit_zero:
            return 0
        return _REGRESSION if strict and summary.exit_code == _INCONCLUSIVE else summary.exit_code

    policy = GatePolicy() if config is None else GatePolicy.from_toml(config)
    return replace(policy, arms=tuple(parse_arm(spec).name for spec in policy.arms)), code


def _must_be_writable(html: Path | None, *ours: Path | str | None) -> None:
    """Found out before the work, not after it; `ours` are files that a report must not replace."""
    if html is None:
        return
    try:
        if html.exists() and not html.is_file():
            raise SettingsError(f"{html or '--html'}: is no ordinary file; name one for the report")
        if html.exists() and any(path and Path(path).exists() and html.samefile(path) for path in ours):
            raise SettingsError(f"{html}: is what the report is made from; name another file")
        with TemporaryFile(dir=html.resolve().parent):
            pass
    except OSError as error:
        raise SettingsError(f"{html}: a report cannot be written there: {error.strerror}") from error


def _show(summary: Summary, html: Path | None, as_json: bool) -> None:
    if html is not None:
        write_html(summary, html)
    show(summary.to_json() if as_json else render_table(summary))
    if html is not None:
        say(f"report: {html}")
