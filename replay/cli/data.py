"""Commands about what is in the store: `import`, `bundles`."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from tabulate import tabulate

from bundles import read_suite
from replay.catalog import suite_path
from replay.cli.shared import json_option, open_store, say, show, store_option
from replay.report.table import one_line


@click.command("import")
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="A unit that cannot be imported is an error.")
@store_option
def import_suites(suites: tuple[str, ...], strict: bool, store: Path) -> None:
    """Import suite files into the store."""
    with open_store(store, create=True) as opened:
        for name in suites:
            suite = read_suite(suite_path(name) or Path(name), strict=strict)
            for reason in suite.skipped:
                say(f"skipped {reason}")
            note = ""
            if not opened.add_bundle(suite.bundle):
                note = f" (was there already, as {opened.bundle(suite.bundle.bundle_id).name})"
            show(
                one_line(
                    f"{suite.bundle.bundle_id} {suite.bundle.name}: {len(suite.bundle.units)} units{note}"
                )
            )


@click.command("bundles")
@json_option
@store_option
def list_bundles(as_json: bool, store: Path) -> None:
    """List the bundles of the store."""
    with open_store(store) as opened:
        found = opened.bundles()
    if as_json:
        show(json.dumps([asdict(info) for info in found]))
        return
    rows = [(info.bundle_id[:12], one_line(info.name), info.sessions, info.units) for info in found]
    show(tabulate(rows, headers=("bundle", "name", "sessions", "units")))
