"""`redraft report`: a judged run in one of its formats, or how the runs of its bundle went over time."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from replay.cli.policy import gate_options, taken_policy
from replay.cli.shared import json_option, open_store, say, store_option
from replay.cli.summaries import (
    FILE,
    RUNS_SHOWN,
    check_files,
    hand_over,
    history_of_run,
    html_option,
    run_argument,
    run_of,
    summary_of,
    timeline_of,
    write_step_summary,
)
from replay.errors import SettingsError
from replay.history import History
from replay.report.github import annotations
from replay.report.history import render_history
from replay.report.html import write_html
from replay.report.junit import render_junit
from replay.report.markdown import render_markdown
from replay.report.table import render_table
from replay.summary import Summary

FORMATS: Mapping[str, Callable[[Summary], str]] = {
    "table": render_table,
    "json": Summary.to_json,
    "md": render_markdown,
    "junit": render_junit,
    "github": annotations,
}
OF_HISTORY: Mapping[str, Callable[[History], str]] = {"table": render_history, "json": History.to_json}


@click.command()
@run_argument
@click.option("--format", "shape", type=click.Choice([*FORMATS, "html"]), help="[default: table]")
@click.option("--output", type=FILE, metavar="FILE", help="Write it there instead of on stdout.")
@html_option
@click.option("--history", is_flag=True, help="Show all runs of the run's bundle instead, oldest first.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Runs of --history to show.  [default: 20]")
@json_option
@gate_options
@store_option
def report(ref: str, store: Path, html: Path | None, history: bool, as_json: bool, **given: Any) -> None:
    """Show a judged run.

    \b
    For example:
      redraft report
      redraft report last --format junit --output junit.xml
      redraft report --history --last 10
    """
    policy, _ = taken_policy(given)
    last, output = given["last"], given["output"]
    shape = _shape(given["shape"], as_json, output)
    if history and (html or shape == "html"):
        raise SettingsError(
            "--history: is no page of its own; leave it out, the HTML report shows all runs of the bundle"
        )
    if history and shape not in OF_HISTORY:
        raise SettingsError(f"--history: is shown as {' or '.join(OF_HISTORY)}; leave the other options out")
    if last and not history:
        raise SettingsError("--last: belongs to --history")
    check_files([file for file in (html, output) if file is not None], store)
    with open_store(store) as opened:
        run = run_of(opened, ref)
        if history:
            text = OF_HISTORY[shape](history_of_run(opened, run, policy, last or RUNS_SHOWN))
            hand_over(text, output, "report")
            return
        summary = summary_of(opened, run, policy)
        pages = [page for page in (html, output if shape == "html" else None) if page is not None]
        timeline = timeline_of(opened, run, policy, summary) if pages else None
    for page in pages:
        write_html(summary, page, timeline)
        say(f"report: {page}")
    if shape != "html":
        hand_over(FORMATS[shape](summary), output, "report")
    if shape == "github":
        write_step_summary(summary)


def _shape(given: str | None, as_json: bool, output: Path | None) -> str:
    if as_json and given not in (None, "json"):
        raise SettingsError(f"--json and --format {given}: give one of them")
    shape = "json" if as_json else given or "table"
    if shape == "html" and output is None:
        raise SettingsError("--format html: name its file with --output FILE")
    return shape
