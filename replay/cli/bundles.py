"""The `bundles` command: what is in the store, and what can be done with it."""

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click
from click.core import ParameterSource
from tabulate import tabulate

from bundles import (
    Bundle,
    BundleError,
    Criterion,
    Store,
    merge,
    read_tables,
    redact,
    split_by,
    split_share,
    verify_stored,
)
from replay.cli.shared import INFRASTRUCTURE, json_option, open_store, say, show, store_option
from replay.errors import SettingsError
from replay.report.contents import contents_of, render_contents, render_units
from replay.report.figures import count
from replay.report.table import one_line

_SHORTEST_KEY = 16
name_option = click.option("--name", metavar="NAME", help="Name of what is made.")
bundle_argument = click.argument("ref", metavar="BUNDLE")


@click.group("bundles", invoke_without_command=True)
@json_option
@store_option
@click.pass_context
def bundles(context: click.Context, as_json: bool, store: Path) -> None:
    """List the bundles of the store, or do something with them."""
    if context.invoked_subcommand is None:
        _list(as_json, store)
        return
    for option in ("as_json", "store"):
        if context.get_parameter_source(option) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"put options after `{context.invoked_subcommand}`, not before it")


@bundles.command("list")
@json_option
@store_option
def list_bundles(as_json: bool, store: Path) -> None:
    """List the bundles of the store.

    \b
    For example:
      redraft bundles list --json
    """
    _list(as_json, store)


@bundles.command("show")
@bundle_argument
@click.option("--units", "each", is_flag=True, help="List its units, with what is asked and the facts.")
@json_option
@store_option
def show_bundle(ref: str, each: bool, as_json: bool, store: Path) -> None:
    """Show what a bundle holds.

    \b
    For example:
      redraft bundles show smoke
      redraft bundles show smoke --units
    """
    if each and as_json:
        raise click.UsageError("--units is text; for JSON: redraft export BUNDLE FILE.json")
    with open_store(store) as opened:
        bundle = opened.bundle(ref)
        runs = [run.run_id for run in opened.runs() if run.bundle_id == bundle.bundle_id]
    if each:
        show(render_units(bundle.units))
    else:
        found = contents_of(bundle, runs)
        show(json.dumps(found) if as_json else render_contents(found))


@bundles.command(short_help="Check that bundles are whole.")
@click.argument("refs", metavar="[BUNDLE|FOLDER]...", nargs=-1)
@store_option
def verify(refs: tuple[str, ...], store: Path) -> None:
    """Check that bundles are whole: those of the store, or folders that were exported.

    \b
    For example:
      redraft bundles verify
    """
    checks: list[tuple[str, Callable[[], Bundle]]] = []
    folders = [ref for ref in refs if Path(ref).is_dir()]
    checks += [(ref, lambda ref=ref: read_tables(Path(ref))) for ref in folders]  # type: ignore[misc]
    if len(folders) == len(refs) > 0:
        _verify(checks)
        return
    with open_store(store) as opened:
        stored = [ref for ref in refs if ref not in folders] or [info.bundle_id for info in opened.bundles()]
        checks += [(ref, lambda ref=ref: verify_stored(opened, ref)) for ref in stored]  # type: ignore[misc]
        _verify(checks)


@bundles.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@store_option
def snapshot(target: Path, store: Path) -> None:
    """Copy the store as it is now to a file that others may read.

    \b
    For example:
      redraft bundles snapshot copy.duckdb
    """
    with open_store(store) as opened:
        opened.snapshot(target)
        found = len(opened.bundles())
    show(one_line(f"{count(found, 'bundle')} in {target}"))


@bundles.command("rm")
@click.argument("refs", metavar="BUNDLE...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Remove the runs that rest on it too.")
@store_option
def remove(refs: tuple[str, ...], force: bool, store: Path) -> None:
    """Remove bundles.

    \b
    For example:
      redraft bundles rm smoke --force
    """
    with open_store(store) as opened:
        for ref in refs:
            removed = opened.remove_bundle(ref, with_runs=force)
            show(one_line(f"{removed.bundle_id} {removed.name}: removed"))


@bundles.command("merge")
@click.argument("refs", metavar="BUNDLE...", nargs=-1, required=True)
@name_option
@click.option("--prefix", is_flag=True, help="Put the name of its bundle before each id.")
@store_option
def merge_bundles(refs: tuple[str, ...], name: str | None, prefix: bool, store: Path) -> None:
    """Make one bundle of several.

    \b
    For example:
      redraft bundles merge monday tuesday --name week
    """
    with open_store(store) as opened:
        parts = [opened.bundle(ref) for ref in refs]
        _keep(opened, merge(name or "+".join(part.name for part in parts), parts, prefix=prefix))


@bundles.command()
@bundle_argument
@click.option(
    "--by", "criterion", type=click.Choice(get_args(Criterion)), help="A bundle for each value of this."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Two bundles, the first this large.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of --share.")
@store_option
def split(ref: str, criterion: Criterion | None, share: float | None, seed: int, store: Path) -> None:
    """Make several bundles of one; --share keeps each session whole.

    \b
    For example:
      redraft bundles split prod.journal --by tenant
    """
    if (criterion is None) == (share is None):
        raise SettingsError("say how to split: --by or --share")
    with open_store(store) as opened:
        bundle = opened.bundle(ref)
        parts = split_by(bundle, criterion) if criterion else split_share(bundle, share or 0.0, seed)
        for part in parts:
            _keep(opened, part)


@bundles.command("redact")
@bundle_argument
@click.option(
    "--pattern", "patterns", multiple=True, metavar="REGEX", help="Replace what matches too; repeatable."
)
@click.option(
    "--key-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Secret that pseudonyms are made with: the same key, the same pseudonyms.",
)
@name_option
@store_option
def redact_bundle(
    ref: str, patterns: tuple[str, ...], key_file: Path | None, name: str | None, store: Path
) -> None:
    """Make a bundle without the names of tenants and documents.

    \b
    For example:
      redraft bundles redact prod.journal --key-file key.txt
    """
    key = _key(key_file)
    with open_store(store) as opened:
        done = redact(opened.bundle(ref), key, patterns, name)
        _keep(opened, done.bundle)
    counts = {sort: done.values.get(sort, 0) for sort in ("tenant", "document", "redacted")}
    show(
        f"replaced {count(counts['tenant'], 'tenant')}, {count(counts['document'], 'document')} and"
        f" {count(counts['redacted'], 'other value')} in {count(done.places, 'place')}"
    )
    if key_file is None:
        say("no --key-file: nothing else that is redacted will have these pseudonyms")
    say(f"the bundle as it was is still in the store; `redraft bundles rm {ref}` removes it")


def _list(as_json: bool, store: Path) -> None:
    with open_store(store) as opened:
        found = opened.bundles()
    if as_json:
        show(json.dumps([asdict(info) for info in found]))
        return
    rows = [(info.bundle_id[:12], one_line(info.name), info.sessions, info.units) for info in found]
    show(tabulate(rows, headers=("bundle", "name", "sessions", "units")))


def _verify(checks: list[tuple[str, Callable[[], Bundle]]]) -> None:
    """Every check, whatever comes of the others."""
    failed = 0
    for _, check in checks:
        try:
            bundle = check()
        except BundleError as error:
            failed += 1
            say(str(error))
        else:
            show(one_line(f"{bundle.bundle_id} {bundle.name}: whole, {count(len(bundle.units), 'unit')}"))
    if not checks:
        say("no bundle to verify")
    if failed:
        say(f"{failed} of {len(checks)} not whole")
        raise click.exceptions.Exit(INFRASTRUCTURE)


def _keep(store: Store, bundle: Bundle) -> None:
    note = "" if store.add_bundle(bundle) else " (was there already)"
    show(one_line(f"{bundle.bundle_id} {bundle.name}: {count(len(bundle.units), 'unit')}{note}"))


def _key(path: Path | None) -> bytes:
    if path is None:
        return secrets.token_bytes(32)
    key = path.read_bytes().strip()
    if len(key) < _SHORTEST_KEY:
        raise SettingsError(
            f"{path}: a key has {_SHORTEST_KEY} bytes or more; `head -c 32 /dev/urandom` makes one"
        )
    return key
