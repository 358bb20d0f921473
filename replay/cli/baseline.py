"""Commands about baselines: `baseline write`, `baseline check`, and what `gate --baseline` adds."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from bundles import Attempt, Bundle, Run, Store, Verdict
from judge import (
    Baseline,
    BaselineError,
    Findings,
    GatePolicy,
    IncomparableRuns,
    baseline_of,
    compare_with_baseline,
)
from replay.cli.policy import config_option, policy_of
from replay.cli.shared import json_option, open_store, options, say, show, store_option
from replay.errors import SettingsError
from replay.judged_run import JudgedRun
from replay.report.figures import count
from replay.report.files import write_whole
from replay.report.table import one_line
from replay.results import summarise

_REGRESSION, _INCONCLUSIVE = 1, 3
_FILE = click.Path(dir_okay=False, path_type=Path)
_THERE = click.Path(exists=True, dir_okay=False, path_type=Path)
run_argument = click.argument("ref", metavar="RUN")
across_option = click.option(
    "--across", is_flag=True, help="Compare with a baseline of another engine, model or judge all the same."
)
baseline_options = options(
    click.option("--baseline", type=_THERE, metavar="FILE", help="Fail as well on what is lost against it."),
    across_option,
)


@click.group(short_help="Keep outcomes as a file to review; compare with it.")
def baseline() -> None:
    """Outcomes of a run as a file to review and commit, and runs held against it."""


@baseline.command()
@run_argument
@click.argument("file", metavar="FILE", type=_FILE)
@click.option("--force", is_flag=True, help="Replace the baseline that is there.")
@config_option
@store_option
def write(ref: str, file: Path, store: Path, force: bool, config: Path | None) -> None:
    """Write a judged run's outcomes into FILE.

    \b
    For example:
      redraft baseline write last baseline.json
    """
    policy = policy_of(config)
    before = _replaceable(file, force=force)
    with open_store(store) as opened:
        run = opened.run(ref)
        bundle, attempts, verdicts = _judged(opened, run)
        summary = summarise(run, bundle, attempts, verdicts, policy)
        made = baseline_of(run, bundle.units, attempts, verdicts)
    text = made.to_json()
    if summary.verdict != "pass":
        say(
            f"the gate says {summary.verdict} of run {run.run_id}; what it has wrong is written down as wrong"
        )
    write_whole(file, text)
    how = ", the same as before" if text == before else ""
    show(
        one_line(
            f"{file}: {count(summary.units, 'unit')}, {len(made.entries)} answers of run {run.run_id}{how}"
        )
    )


@baseline.command(short_help="Hold a judged run against FILE.")
@run_argument
@click.argument("file", metavar="FILE", type=_THERE)
@across_option
@json_option
@config_option
@store_option
def check(ref: str, file: Path, store: Path, across: bool, as_json: bool, config: Path | None) -> None:
    """Hold a judged run against FILE; exit 1 where it lost something, 3 where that is open.

    \b
    For example:
      redraft baseline check last baseline.json
    """
    policy = policy_of(config)
    with open_store(store) as opened:
        found = held_against(opened, opened.run(ref), file, policy, across=across)
    verdict = "regression" if found.failures else "inconclusive" if found.doubts else "pass"
    code = _REGRESSION if found.failures else _INCONCLUSIVE if found.doubts else 0
    if as_json:
        show(json.dumps({"verdict": verdict, "exit_code": code, **asdict(found)}, indent=2))
    else:
        lines = filter(None, [found.label, *found.failures, *found.doubts, *found.notes])
        show("\n".join([f"baseline: {verdict}", *(f"  {one_line(line)}" for line in lines)]))
    raise click.exceptions.Exit(code)


def held_against(store: Store, run: Run, file: Path, policy: GatePolicy, *, across: bool) -> Findings:
    """What the run lost, gained or changed against a baseline file, which each line names."""
    try:
        recorded = Baseline.from_json(file.read_text(encoding="utf-8-sig"))
    except BaselineError as error:
        raise BaselineError(f"{file}: {error}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"{file}: no baseline, not even text in UTF-8") from error
    bundle, attempts, verdicts = _judged(store, run)
    try:
        found = compare_with_baseline(recorded, run, bundle.units, attempts, verdicts, policy, across=across)
    except IncomparableRuns as error:
        raise IncomparableRuns(
            f"{file} is stale for run {run.run_id}, {error}; once the run is right:"
            f" redraft baseline write {run.run_id} {file} --force"
        ) from error
    return replace(
        found,
        failures=tuple(f"{file.name}: {line}" for line in found.failures),
        doubts=tuple(f"{file.name}: {line}" for line in found.doubts),
        notes=tuple(f"{file.name}: {line}" for line in found.notes),
    )


def _judged(store: Store, run: Run) -> tuple[Bundle, list[Attempt], list[Verdict]]:
    """What the run is made of; SettingsError where some of it is not judged."""
    bundle, attempts = store.bundle(run.bundle_id), list(store.attempts(run.run_id))
    verdicts = list(store.verdicts(run.run_id))
    JudgedRun(run, bundle, attempts, verdicts)
    return bundle, attempts, verdicts


def _replaceable(file: Path, *, force: bool) -> str | None:
    """What is in the file now; SettingsError where it must not be replaced."""
    if not file.exists():
        return None
    if not force:
        raise SettingsError(f"{file}: is there already; --force replaces it, once you have seen what changes")
    text = file.read_text(encoding="utf-8", errors="replace")
    if '"redraft-baseline"' not in text:
        raise SettingsError(f"{file}: is no baseline and is not replaced; name another file")
    return text
