"""Commands of an evaluation: `run`, and its parts `replay`, `judge`, `report`, `gate`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from bundles import Run, Store
from judge import Findings, GatePolicy
from replay.catalog import load_bundle
from replay.cli.baseline import baseline_options, held_against
from replay.cli.claims import claim_options, judge_claims_of
from replay.cli.policy import gate_options, must_be_writable, taken_policy
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
    say_doubtful_facts,
    show,
    store_option,
)
from replay.errors import SettingsError
from replay.evaluation import Console, drive, judge_run
from replay.gating import NOTHING
from replay.report.html import write_html
from replay.report.table import render_table, render_verdict
from replay.results import summarise
from replay.runs import Settings, check_settings, new_run
from replay.stack import Service, StackOptions
from replay.summary import Summary

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
    policy, verdict_code = taken_policy(given)
    must_be_writable(html, store, suite)
    with open_store(store, create=given["resume"] is None) as opened:
        done = _replayed(opened, suite, given, policy)
        judge_run(opened, done)
        summary = _summary(opened, done, policy)
    _show(summary, html, as_json)
    raise click.exceptions.Exit(verdict_code(summary.exit_code))


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
@claim_options
@store_option
def judge(ref: str, store: Path, **given: Any) -> None:
    """Judge a run's attempts, generating nothing: their facts, and with --judge-url their claims."""
    with open_store(store) as opened:
        stored = opened.run(ref)
        outcomes = [verdict.outcome for verdict in judge_run(opened, stored)]
        show(
            f"run {stored.run_id}: {outcomes.count('pass')} facts pass, {outcomes.count('fail')} fail,"
            f" {outcomes.count('unscored')} unscored"
        )
        if given["judge_url"] or given["judge_model"]:
            show(judge_claims_of(opened, stored, given))


@click.command()
@run_argument
@click.option("--format", "shape", type=click.Choice(["table", "json"]), default="table", show_default=True)
@html_option
@json_option
@gate_options
@store_option
def report(ref: str, store: Path, shape: str, html: Path | None, as_json: bool, **given: Any) -> None:
    """Show a judged run."""
    policy, _ = taken_policy(given)
    must_be_writable(html, store)
    with open_store(store) as opened:
        summary = _summary(opened, opened.run(ref), policy)
    _show(summary, html, as_json or shape == "json")


@click.command()
@run_argument
@baseline_options
@json_option
@gate_options
@store_option
def gate(ref: str, store: Path, as_json: bool, baseline: Path | None, across: bool, **given: Any) -> None:
    """Decide on a judged run; the exit code is the verdict."""
    policy, verdict_code = taken_policy(given)
    with open_store(store) as opened:
        stored = opened.run(ref)
        against = (
            NOTHING if baseline is None else held_against(opened, stored, baseline, policy, across=across)
        )
        summary = _summary(opened, stored, policy, against)
    show(summary.to_json() if as_json else render_verdict(summary))
    raise click.exceptions.Exit(verdict_code(summary.exit_code))


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
        say_doubtful_facts(bundle.units)
        run = new_run(bundle, settings, datetime.now(UTC))
    else:
        raise SettingsError("name a suite or a bundle, such as builtin:smoke, or a run to --resume")
    if policy and (absent := set(policy.arms) - set(run.arms)):
        raise SettingsError(f"the policy gates arm {min(absent)!r}, which the run does not have; add --arm")
    service = Service(url, StackOptions(**given, verbose=is_verbose()))
    drive(store, run, service, Console(say, log, progress), stored=ref is not None)
    return store.run(run.run_id)


def _summary(store: Store, run: Run, policy: GatePolicy, against: Findings = NOTHING) -> Summary:
    bundle, attempts = store.bundle(run.bundle_id), store.attempts(run.run_id)
    return summarise(run, bundle, attempts, store.verdicts(run.run_id), policy, against)


def _show(summary: Summary, html: Path | None, as_json: bool) -> None:
    if html is not None:
        write_html(summary, html)
    show(summary.to_json() if as_json else render_table(summary))
    if html is not None:
        say(f"report: {html}")
