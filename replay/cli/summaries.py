"""What the commands that show a run share: its summary, and where that goes.

Invariant: whatever is written elsewhere, stdout holds the one result; annotations for GitHub go to stderr,
where its runner reads them too.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bundles import Bundle, Run, Store
from judge import Findings, GatePolicy, PolicyError
from replay.cli.policy import must_be_writable
from replay.cli.shared import options, say, show
from replay.errors import SettingsError
from replay.gating import NOTHING
from replay.history import History, history_of
from replay.report.figures import count
from replay.report.files import write_whole
from replay.report.github import annotations, append_step_summary
from replay.report.html import write_html
from replay.report.junit import render_junit
from replay.report.markdown import render_markdown
from replay.report.table import render_table
from replay.results import summarise
from replay.summary import Summary

_EARLIER = re.compile(r"last~(\d{1,9})")
_UNITS_SUMMED = 20_000
RUNS_SHOWN = 20
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
FILE = click.Path(dir_okay=False, path_type=Path)
run_argument = click.argument("ref", metavar="RUN", default="last")
html_option = click.option("--html", type=FILE, metavar="FILE", help="Write a report to look at there.")
outputs_option = options(
    html_option,
    click.option("--junit", type=FILE, metavar="FILE", help="Write the result as JUnit XML there."),
    click.option("--md", type=FILE, metavar="FILE", help="Write the result as Markdown there."),
    click.option(
        "--github", is_flag=True, help=f"Annotate the GitHub workflow, and append to ${STEP_SUMMARY}."
    ),
)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a summary goes besides stdout."""

    html: Path | None = None
    junit: Path | None = None
    md: Path | None = None
    github: bool = False

    @property
    def files(self) -> list[Path]:
        """Those named."""
        return [file for file in (self.html, self.junit, self.md) if file is not None]


def taken_outputs(given: dict[str, Any], *ours: Path | str | None) -> Outputs:
    """Takes the options of outputs out of `given`; SettingsError where one of them cannot be written.

    `ours` are files that must not be replaced.
    """
    outputs = Outputs(**{name: given.pop(name) for name in ("html", "junit", "md", "github")})
    check_files(outputs.files, *ours)
    return outputs


def check_files(files: Sequence[Path], *ours: Path | str | None) -> None:
    """SettingsError where one of the reports cannot be written, or two are to be the same file."""
    for place, file in enumerate(files):
        must_be_writable(file, *ours)
        if file.resolve() in [other.resolve() for other in files[:place]]:
            raise SettingsError(f"{file}: is given for two reports; name two files")


def run_of(store: Store, ref: str) -> Run:
    """The run that `ref` means; `last~1` is the one before the last."""
    if (found := _EARLIER.fullmatch(ref)) is None:
        return store.run(ref)
    runs, back = store.runs(), int(found[1])
    if back >= len(runs):
        raise SettingsError(f"{ref}: the store holds {count(len(runs), 'run')}")
    return runs[-1 - back]


def summary_of(store: Store, run: Run, policy: GatePolicy, against: Findings = NOTHING) -> Summary:
    """The stored run, summed up."""
    return _summary(store, run, store.bundle(run.bundle_id), policy, against)


def history_of_run(
    store: Store, run: Run, policy: GatePolicy, last: int, summary: Summary | None = None
) -> History:
    """The `last` runs of the run's bundle, each under the policy; `summary` is the run's own, if known."""
    bundle = store.bundle(run.bundle_id)
    runs = [other for other in store.runs() if other.bundle_id == run.bundle_id]
    summed = [
        (other, summary if summary and other == run else _summed(store, other, bundle, policy))
        for other in runs[-last:]
    ]
    return history_of(bundle, summed, len(runs) - len(summed))


def timeline_of(store: Store, run: Run, policy: GatePolicy, summary: Summary) -> History:
    """What a report shows of the bundle's runs: fewer of large ones, so that it is made in seconds."""
    last = max(1, min(RUNS_SHOWN, _UNITS_SUMMED // max(1, len(run.unit_ids))))
    return history_of_run(store, run, policy, last, summary)


def _summary(store: Store, run: Run, bundle: Bundle, policy: GatePolicy, against: Findings) -> Summary:
    return summarise(run, bundle, store.attempts(run.run_id), store.verdicts(run.run_id), policy, against)


def _summed(store: Store, run: Run, bundle: Bundle, policy: GatePolicy) -> Summary | str:
    """Why not, where the run is not judged or lacks an arm that the policy gates."""
    try:
        return _summary(store, run, bundle, policy, NOTHING)
    except (SettingsError, PolicyError) as error:
        return str(error)


def hand_over(text: str, output: Path | None, what: str) -> None:
    """On stdout, or in its file; `what` it is, is said with the file's name."""
    if output is None:
        show(text)
    else:
        write_whole(output, text)
        say(f"{what}: {output}")


def deliver(summary: Summary, outputs: Outputs, as_json: bool, timeline: History | None = None) -> None:
    """The result on stdout, its reports in their files."""
    if outputs.html is not None:
        write_html(summary, outputs.html, timeline)
    if outputs.junit is not None:
        write_whole(outputs.junit, render_junit(summary))
    if outputs.md is not None:
        write_whole(outputs.md, render_markdown(summary))
    if outputs.github:
        for line in annotations(summary).splitlines():
            say(line)
        write_step_summary(summary)
    show(summary.to_json() if as_json else render_table(summary))
    for file in outputs.files:
        say(f"report: {file}")


def write_step_summary(summary: Summary) -> None:
    """Appends to the file that GitHub shows with the job, where this runs in one."""
    if file := os.environ.get(STEP_SUMMARY):
        append_step_summary(summary, Path(file))
