"""Commands of an evaluation: `run`, and its parts `replay`, `judge` and `gate`."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from bundles import Run
from replay.arms import WARMUP
from replay.cli.baseline import baseline_options, held_against
from replay.cli.claims import claim_options, judge_claims_of, taken_claims
from replay.cli.policy import gate_options, taken_policy
from replay.cli.replays import replay_options, replayed
from replay.cli.shared import (
    INFRASTRUCTURE,
    json_option,
    open_store,
    say,
    show,
    store_option,
)
from replay.cli.summaries import deliver, outputs_option, run_argument, summary_of, taken_outputs, timeline_of
from replay.evaluation import judge_run
from replay.gating import NOTHING
from replay.report.table import render_verdict


@click.command()
@click.argument("suite", metavar="SUITE|BUNDLE", required=False)
@replay_options
@outputs_option
@json_option
@gate_options
@claim_options
@store_option
def run(suite: str | None, store: Path, as_json: bool, **given: Any) -> None:
    """Import, replay, judge, report and gate in one command.

    \b
    For example:
      redraft run builtin:smoke --html report.html
      redraft run suite.toml --arm redraft --repeats 3 --filter value
      redraft run --resume last
      redraft run suite.toml --judge-url http://127.0.0.1:8000 --judge-model big
    """
    policy, verdict_code = taken_policy(given)
    claims = taken_claims(given)
    outputs = taken_outputs(given, store, suite)
    with open_store(store, create=given["resume"] is None) as opened:
        done = replayed(opened, suite, given, policy)
        judge_run(opened, done)
        if claims:
            say(f"claims: asking {claims['judge_model']}; if it fails, continue with: {_again(done, claims)}")
            say(judge_claims_of(opened, done, claims))
            done = opened.run(done.run_id)
        summary = summary_of(opened, done, policy)
        timeline = timeline_of(opened, done, policy, summary) if outputs.html else None
    deliver(summary, outputs, as_json, timeline)
    raise click.exceptions.Exit(verdict_code(summary.exit_code))


@click.command()
@click.argument("suite", metavar="BUNDLE|SUITE", required=False)
@replay_options
@store_option
def replay(suite: str | None, store: Path, **given: Any) -> None:
    """Make the attempts of a run, and print its id.

    \b
    For example:
      redraft replay prod-week-48 --arm redraft --sample 50 --seed 1 -j 4
      redraft replay prod-week-48 --url https://drafts.example.org
    """
    with open_store(store, create=given["resume"] is None) as opened:
        done = replayed(opened, suite, given)
        attempts = opened.attempts(done.run_id)
        failed = sum(attempt.status != "ok" and attempt.arm != WARMUP for attempt in attempts)
    show(done.run_id)
    if failed:
        say(f"{failed} attempts failed; try them again with --resume {done.run_id}")
        raise click.exceptions.Exit(INFRASTRUCTURE)


@click.command(short_help="Judge a run's attempts, generating nothing.")
@run_argument
@claim_options
@store_option
def judge(ref: str, store: Path, **given: Any) -> None:
    """Judge a run's attempts, generating nothing: their facts, and with --judge-url their claims.

    \b
    For example:
      redraft judge last
      redraft judge 20261130-18 --judge-url http://127.0.0.1:8000 --judge-model big
    """
    claims = taken_claims(given)
    with open_store(store) as opened:
        stored = opened.run(ref)
        outcomes = [verdict.outcome for verdict in judge_run(opened, stored)]
        show(
            f"run {stored.run_id}: {outcomes.count('pass')} facts pass, {outcomes.count('fail')} fail,"
            f" {outcomes.count('unscored')} unscored"
        )
        if claims:
            show(judge_claims_of(opened, stored, claims))


@click.command()
@run_argument
@baseline_options
@json_option
@gate_options
@store_option
def gate(ref: str, store: Path, as_json: bool, baseline: Path | None, across: bool, **given: Any) -> None:
    """Decide on a judged run; the exit code is the verdict.

    \b
    For example:
      redraft gate last --baseline baseline.json
    """
    policy, verdict_code = taken_policy(given)
    with open_store(store) as opened:
        stored = opened.run(ref)
        against = (
            NOTHING if baseline is None else held_against(opened, stored, baseline, policy, across=across)
        )
        summary = summary_of(opened, stored, policy, against)
    show(summary.to_json() if as_json else render_verdict(summary))
    raise click.exceptions.Exit(verdict_code(summary.exit_code))


def _again(done: Run, claims: Mapping[str, Any]) -> str:
    judge = f"--judge-url {quote(claims['judge_url'])} --judge-model {quote(claims['judge_model'])}"
    return f"redraft judge {done.run_id} {judge}"
