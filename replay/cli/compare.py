"""`redraft compare`: two runs held against each other."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from bundles import Run, Store
from replay.cli.policy import must_be_writable
from replay.cli.shared import json_option, open_store, store_option
from replay.cli.summaries import FILE, hand_over, run_of
from replay.comparison import RunComparison
from replay.comparison_results import Judged, compare_runs
from replay.errors import NothingToRun, SettingsError
from replay.report.comparison import render_comparison, render_comparison_markdown

FORMATS: Mapping[str, Callable[[RunComparison], str]] = {
    "table": render_comparison,
    "json": RunComparison.to_json,
    "md": render_comparison_markdown,
}


@click.command(short_help="Compare two runs, unit by unit.")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER", default="last")
@click.option("--format", "shape", type=click.Choice(list(FORMATS)), help="[default: table]")
@click.option("--output", type=FILE, metavar="FILE", help="Write it there instead of on stdout.")
@click.option(
    "--across", is_flag=True, help="Compare runs of another bundle, engine, model or judge all the same."
)
@json_option
@store_option
def compare(
    before: str,
    after: str,
    store: Path,
    shape: str | None,
    output: Path | None,
    across: bool,
    as_json: bool,
) -> None:
    """Tell what a run gained, lost and takes less time for than an earlier one, unit by unit.

    A comparison is no gate: it exits 0 whatever it finds.

    \b
    For example:
      redraft compare last~1 last
      redraft compare 20260101-120000 last --format md
    """
    if as_json and shape not in (None, "json"):
        raise SettingsError(f"--json and --format {shape}: give one of them")
    must_be_writable(output, store)
    with open_store(store) as opened:
        old, new = run_of(opened, before), run_of(opened, after)
        if old.run_id == new.run_id:
            raise SettingsError(f"run {old.run_id} cannot be compared with itself; name two runs")
        found = compare_runs(_judged(opened, old), _judged(opened, new), across=across)
    if not found.units:
        raise NothingToRun(f"runs {old.run_id} and {new.run_id} have no unit in common")
    hand_over(FORMATS["json" if as_json else shape or "table"](found), output, "comparison")


def _judged(store: Store, run: Run) -> Judged:
    return Judged(run, store.bundle(run.bundle_id), store.attempts(run.run_id), store.verdicts(run.run_id))
