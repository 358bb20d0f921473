"""What the commands share: options, lines on stderr, errors as exit codes.

Invariant: an expected error is one line on stderr and its exit code, a traceback is for `-v`;
stdout holds a command's result and nothing else.
"""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bundles import BundleError, EmptySuite, Store, StoreError, Unit
from judge import JudgeError, check_facts
from replay.errors import ReplayError, SettingsError
from replay.report.table import one_line

MOST_SAID = 50
"""Lines of one kind before the rest are only counted."""
USAGE, INFRASTRUCTURE, EMPTY, INTERRUPTED = 2, 4, 5, 130
_LOG = logging.getLogger("redraft")
Command = TypeVar("Command", bound=Callable[..., Any])


def show(text: str) -> None:
    """A command's result. A reader that has gone changes nothing, least of all the exit code."""
    try:
        click.echo(text)
    except OSError as error:
        _silence(sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            raise


def say(text: str) -> None:
    """A line for the user. Work goes on where nobody can hear of it."""
    try:
        click.echo(one_line(text), err=True)
    except OSError:
        _silence(sys.stderr.fileno())


def say_bounded(lines: Iterable[str]) -> None:
    """Lines of one kind for the user: the first of them, and how many more there are."""
    lines = list(lines)
    for line in lines[:MOST_SAID]:
        say(line)
    if len(lines) > MOST_SAID:
        say(f"... and {len(lines) - MOST_SAID} more")


def say_doubtful_facts(units: Iterable[Unit]) -> None:
    """Name the facts that would judge wrongly whatever is generated."""
    say_bounded(
        f"unit {problem.unit_id}{f', fact {problem.fact_id}' if problem.fact_id else ''}: {problem.message}"
        for unit in units
        for problem in check_facts(unit)
    )


def _silence(descriptor: int) -> None:
    """What is still buffered for it, and whatever comes, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)


def log(text: str) -> None:
    """A line for `-v`."""
    _LOG.info("%s", one_line(text))


def is_verbose() -> bool:
    """Whether `-v` was given."""
    return _LOG.isEnabledFor(logging.INFO)


class Commands(click.Group):
    """A group whose errors are one line on stderr and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs a command and exits."""
        extra["standalone_mode"] = False
        for name, descriptor in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            if getattr(sys, name) is None:  # closed by whoever started us
                _silence(descriptor)
                setattr(sys, name, os.fdopen(descriptor, "r+", encoding="utf-8"))
        try:
            code = super().main(*args, **extra)
        except (Exception, KeyboardInterrupt) as error:
            _LOG.debug("traceback", exc_info=True)
            code = explain(error)
        sys.exit(code)


def explain(error: BaseException) -> int:
    """Says what went wrong in one line; gives the exit code."""
    match error:
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return USAGE
        case KeyboardInterrupt() | click.Abort():
            return INTERRUPTED
        case click.ClickException():
            text, code = error.format_message(), USAGE
        case ReplayError():
            text, code = str(error), error.exit_code
        case EmptySuite():
            text, code = str(error), EMPTY
        case StoreError():
            text, code = str(error), INFRASTRUCTURE
        case BundleError() | JudgeError():
            text, code = str(error), USAGE
        case OSError():
            text, code = (
                f"{error.filename}: {error.strerror}" if error.filename else str(error),
                INFRASTRUCTURE,
            )
        case _:
            text = f"this is a fault of redraft: {type(error).__name__}: {error} (-v shows where)"
            code = INFRASTRUCTURE
    say(f"redraft: {text}")
    return code


def _loud(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
        _LOG.setLevel(logging.DEBUG)


def options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several option decorators as one, shown in the order given."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_loud,
    help="Show tracebacks and what the services log.",
)
store_option = options(
    click.option(
        "--store",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("redraft.duckdb"),
        envvar="REDRAFT_STORE",
        show_default=True,
        show_envvar=True,
        help="The file that holds bundles and runs.",
    ),
    verbose_option,
)
selection_options = options(
    click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Take N units at random."),
    click.option(
        "--filter", "text", metavar="TEXT", help="Take units with TEXT in their id, category or a tag."
    ),
)
max_tokens_option = click.option(
    "--max-tokens",
    type=click.IntRange(1, 8192),
    default=160,
    show_default=True,
    help="Longest answer, where a unit sets none.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, and only JSON, on stdout.")


def typed(names: Iterable[str]) -> set[str]:
    """Those of the options that the user gave for this one call: not in a file, nor in the environment."""
    source: Callable[[str], ParameterSource | None] = click.get_current_context().get_parameter_source
    return {name for name in names if source(name) is ParameterSource.COMMANDLINE}


def open_store(path: Path, *, create: bool = False) -> Store:
    """The store at a path; SettingsError where there is none and none is to be made."""
    if not path.parent.is_dir():
        raise SettingsError(f"{path}: its folder does not exist")
    if not create and not path.exists():
        raise SettingsError(f"{path}: no such store; `redraft run` and `redraft import` make one")
    return Store.open(path, create=create)
