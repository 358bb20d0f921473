"""Command `bench`: how fast the arms are here, beside what is possible at all."""

from pathlib import Path
from typing import Any

import click

from bundles import Unit, read_suite
from replay.bench.machine import usable_cores
from replay.bench.measuring import Plan, arms_to_measure
from replay.bench.peers.measuring import serving_peer
from replay.bench.peers.running import PeerBench, must_have_peers
from replay.bench.picture import render_picture
from replay.bench.report import render_bench
from replay.bench.result import BenchResult
from replay.bench.running import Bench
from replay.catalog import load_bundle, suite_path
from replay.cli.policy import must_be_writable
from replay.cli.progress import progress
from replay.cli.serve import engine_options
from replay.cli.shared import (
    INFRASTRUCTURE,
    is_verbose,
    json_option,
    log,
    max_tokens_option,
    open_store,
    say,
    selection_options,
    show,
    store_option,
)
from replay.errors import ServiceDown, SettingsError
from replay.evaluation import Console
from replay.plan import select
from replay.report.files import write_whole
from replay.stack import StackOptions

FEWEST_REPEATS = 5
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Measure every arm beside what is possible.")
@click.option(
    "--suite", default="builtin:smoke", show_default=True, metavar="SUITE|BUNDLE", help="What to measure on."
)
@click.option(
    "--arm", "arms", multiple=True, metavar="ARM",
    help="Measure this way of generating, besides plain and control.  [default: anchor and redraft, exact"
    " and tolerant]",
)  # fmt: skip
@click.option(
    "--repeats",
    type=click.IntRange(FEWEST_REPEATS, 1000),
    default=FEWEST_REPEATS,
    show_default=True,
    help="Counted attempts of each unit and arm.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Of --sample, the order of arms and the intervals.",
)
@selection_options
@max_tokens_option
@engine_options
@click.option("--peers", is_flag=True, help="Measure a real llama-server too; takes the extra `bench`.")
@click.option("--output", type=_FILE, metavar="FILE", help="Write the figures there, as JSON.")
@click.option("--picture", type=_FILE, metavar="FILE.svg", help="Write a picture there.")
@json_option
@store_option
def bench(
    suite: str, store: Path, output: Path | None, picture: Path | None, as_json: bool, **given: Any
) -> None:
    """Measure plain generation, the published algorithm and redraft in turn, and what is possible at all.

    An engine and a daemon are started for it, and times are what a client of the daemon sees. The machine
    should have nothing else to do. Ctrl-C shows what was measured so far.

    \b
    For example:
      redraft bench --suite builtin:edits --sample 20 --output bench.json --picture bench.svg
    """
    for file in (output, picture):
        must_be_writable(file, store, suite)
    under_way, beside = _planned(suite, store, given)
    try:
        under_way.run()
        if beside:
            beside.run()
    except (KeyboardInterrupt, ServiceDown):
        if result := _result(under_way, beside):
            say(f"stopped after {result.units} of {result.units_planned} units")
            _give(result, output, picture, as_json)
        raise
    result = _result(under_way, beside)
    assert result is not None
    _give(result, output, picture, as_json)
    if result.errors:
        raise click.exceptions.Exit(INFRASTRUCTURE)


def _planned(suite: str, store: Path, given: dict[str, Any]) -> tuple[Bench, PeerBench | None]:
    """What the options ask for: the bench, and that of the peers."""
    text, sample, seed = (given.pop(name) for name in ("text", "sample", "seed"))
    arms, repeats, max_tokens, peers = (
        given.pop(name) for name in ("arms", "repeats", "max_tokens", "peers")
    )
    threads = given.pop("threads") or usable_cores()
    options = StackOptions(**given, threads=threads, cache_ram=0, verbose=is_verbose())
    if peers:
        must_have_peers(options)
    units = select(_units(suite, store), text=text, sample=sample, seed=seed)
    plan = Plan(units, arms_to_measure(arms), repeats, seed, max_tokens)
    console = Console(say, log, progress)
    beside = PeerBench(plan, console, lambda peer: serving_peer(peer, options, log)) if peers else None
    return Bench(suite, plan, console, options), beside


def _result(under_way: Bench, beside: PeerBench | None) -> BenchResult | None:
    """What was measured so far, if anything was."""
    if beside is None or under_way.result is None:
        return under_way.result
    return beside.added_to(under_way.result, under_way.measured)


def _units(suite: str, store: Path) -> tuple[Unit, ...]:
    """Of a suite file or a built-in suite, or of a bundle in the store."""
    path = suite_path(suite)
    if path is not None:
        return read_suite(path, strict=True).bundle.units
    if not store.exists():
        raise SettingsError(f"{suite}: no such file, and no store at {store} that could have it")
    with open_store(store) as opened:
        return load_bundle(opened, suite).units


def _give(result: BenchResult, output: Path | None, picture: Path | None, as_json: bool) -> None:
    for file, text in ((output, result.to_json()), (picture, render_picture(result))):
        if file is not None:
            write_whole(file, text)
            say(f"written: {file}")
    show(result.to_json() if as_json else render_bench(result))
