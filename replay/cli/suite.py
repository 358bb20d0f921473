"""Commands for those who write suites: `suite check`, `suite new`."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
from tabulate import tabulate

from bundles import read_suite, suite_schema
from judge import FactProblem
from replay.catalog import suite_path
from replay.cli.shared import json_option, say, show, verbose_option
from replay.errors import SettingsError
from replay.report.figures import count
from replay.report.table import one_line
from replay.suite_check import CONFIDENCE, Power, SuiteReport, check_suite
from replay.suite_template import TEMPLATE

PROBLEMS = 1
_SCHEMA = "suite.schema.json"


@click.group(short_help="Start a suite, and check it.")
def suite() -> None:
    """Write a suite: start one, and check it before anything is generated."""


@suite.command()
@click.argument("name", metavar="FILE")
@json_option
@verbose_option
def check(name: str, as_json: bool) -> None:
    """Tell what is wrong with a suite, and how much it can show.

    Nothing is generated. Facts are held against the sources, and units against each other. Exit codes: 0 no
    problem, 1 problems, 2 the file cannot be read, 5 no usable unit.

    \b
    For example:
      redraft suite check suite.toml
    """
    found = check_suite(read_suite(suite_path(name) or Path(name)))
    show(_json(found) if as_json else _table(found))
    if not found.is_clean:
        raise click.exceptions.Exit(PROBLEMS)


@suite.command(short_help="Write a commented suite to start from.")
@click.argument("file", type=click.Path(path_type=Path), default=Path("suite.toml"))
@verbose_option
def new(file: Path) -> None:
    """Write a commented suite to start from, `suite.toml` if no FILE is named.

    Beside it goes suite.schema.json, which editors use, unless there is one. No file is overwritten.

    \b
    For example:
      redraft suite new suite.toml
    """
    if file.suffix.lower() != ".toml":
        raise SettingsError(f"{file}: the suite to start from is TOML, name a .toml file")
    if not file.parent.is_dir():
        raise SettingsError(f"{file}: its folder does not exist")
    schema = file.with_name(_SCHEMA)
    texts = {file: TEMPLATE} | (
        {} if schema.exists() else {schema: json.dumps(suite_schema(), indent=2) + "\n"}
    )
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError:
            raise SettingsError(
                f"{path}: is there already and is not overwritten, name another file"
            ) from None
        say(f"written: {path}")


def _json(found: SuiteReport) -> str:
    return json.dumps({"is_clean": found.is_clean, "confidence": CONFIDENCE} | asdict(found), indent=2)


def _table(found: SuiteReport) -> str:
    rows = [(kind or "(none)", of.units, of.canaries or "") for kind, of in found.kinds.items()]
    parts = [
        "\n".join(map(one_line, _sizes(found))),
        tabulate(
            [tuple(one_line(str(cell)) for cell in row) for row in rows],
            ("category", "units", "canaries"),
            colalign=("left", "right", "right"),
        ),
        "\n".join(_power(found)),
        "\n".join(map(one_line, _problems(found))),
    ]
    return "\n\n".join(parts)


def _sizes(found: SuiteReport) -> Iterator[str]:
    canaries = f"{found.canaries} canaries" if found.canaries != 1 else "1 canary"
    yield (
        f"{found.name}: {count(found.units, 'unit')} in {count(found.sessions, 'session')}, {canaries},"
        f" {count(found.facts, 'fact')}"
    )
    if found.without_facts:
        yield f"{count(found.without_facts, 'unit')} without facts, which tell only if texts are identical"
    least, most = found.source_chars
    limits = "answers as long as the run allows (--max-tokens)"
    if found.answer_limits:
        limits = f"answers of at most {found.answer_limits[0]} to {found.answer_limits[1]} tokens"
    yield f"sources of {least} to {most} characters, {limits}"


def _power(found: SuiteReport) -> Iterator[str]:
    for power, what in ((found.by_facts, "with facts"), (found.by_canaries, "with canaries")):
        yield _seen(power, what)


def _seen(power: Power, what: str) -> str:
    if power.smallest_rate is None:
        return f"no session {what}: no regression could show there"
    return (
        f"{count(power.sessions, 'session')} {what}: a regression in {100 * power.smallest_rate:.1f}% of such"
        f" sessions or more shows with {CONFIDENCE:.0%} probability"
    )


def _problems(found: SuiteReport) -> Iterator[str]:
    number = len(found.unreadable) + len(found.problems)
    yield f"{count(number, 'problem')}:" if number else "no problems"
    yield from found.unreadable
    yield from map(_problem, found.problems)


def _problem(problem: FactProblem) -> str:
    where = "" if problem.fact_id is None else f", fact {problem.fact_id!r}"
    return f"unit {problem.unit_id!r}{where}: {problem.message}"
