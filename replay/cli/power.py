"""Command `power`: how much a gate sees."""

from pathlib import Path

import click

from judge import measure_power
from judge.power import RESAMPLES
from replay.cli.policy import config_option, must_be_writable, policy_of
from replay.cli.shared import EMPTY, json_option, open_store, say, show, store_option
from replay.report.files import write_whole
from replay.report.power import power_json, render_power_html, render_power_picture, render_power_table

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Tell which known faults judge and gate see.")
@click.argument("ref", metavar="RUN", default="last")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help="Of all draws.")
@click.option(
    "--resamples",
    type=click.IntRange(1, 100_000),
    default=RESAMPLES,
    show_default=True,
    help="Runs drawn from plain against control.",
)
@click.option("--svg", type=_FILE, metavar="FILE", help="Write a picture there.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write a page with picture and table there.")
@json_option
@config_option
@store_option
def power(
    ref: str,
    store: Path,
    seed: int,
    resamples: int,
    svg: Path | None,
    html: Path | None,
    as_json: bool,
    config: Path | None,
) -> None:
    """Put known faults into a run's plain answers, and tell how many of them judge and gate see.

    Nothing is generated. Harmless changes are made as well, and plain is held against the control, to tell
    how often the gate cries wolf.

    \b
    For example:
      redraft power last --html power.html
    """
    policy = policy_of(config)
    for file in (svg, html):
        must_be_writable(file, store)
    with open_store(store) as opened:
        run = opened.run(ref)
        units, attempts = opened.bundle(run.bundle_id).units, list(opened.attempts(run.run_id))
    found = measure_power(run, units, attempts, policy, seed=seed, resamples=resamples, tell=say)
    for file, text in ((svg, render_power_picture), (html, render_power_html)):
        if file is not None:
            write_whole(file, text(found))
            say(f"written: {file}")
    show(power_json(found) if as_json else render_power_table(found))
    if not any(seen.made for seen in found.detection.values()):
        say("no answer states an expected value plainly, so no fault could be injected")
        raise click.exceptions.Exit(EMPTY)
