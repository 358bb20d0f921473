"""The `doctor` command."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from replay.cli.serve import engine_options
from replay.cli.shared import INFRASTRUCTURE, is_verbose, json_option, log, say, show, store_option
from replay.doctor import Diagnosis, diagnose
from replay.report.table import one_line
from replay.stack import StackOptions

_WIDTHS = [None, None, 70, 40]


@click.command()
@engine_options
@json_option
@store_option
def doctor(store: Path, as_json: bool, **given: Any) -> None:
    """Check that redraft can work here; what fails says what to do.

    \b
    For example:
      redraft doctor --model models/ours.gguf
    """
    found = diagnose(StackOptions(**given, verbose=is_verbose()), store, say, log)
    show(_as_json(found) if as_json else _as_table(found))
    raise click.exceptions.Exit(0 if found.works else INFRASTRUCTURE)


def _as_table(found: Diagnosis) -> str:
    rows = [
        (check.name, check.state, one_line(check.found), one_line(check.advice)) for check in found.checks
    ]
    return tabulate(
        rows, headers=("check", "", "found", "what to do"), disable_numparse=True, maxcolwidths=_WIDTHS
    )


def _as_json(found: Diagnosis) -> str:
    engine = None if found.engine is None else found.engine.model_dump()
    return json.dumps(
        {"works": found.works, "checks": [asdict(check) for check in found.checks], "engine": engine}
    )
