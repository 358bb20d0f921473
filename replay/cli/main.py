"""The `redraft` command."""

import signal

import click

from replay.cli.baseline import baseline
from replay.cli.bench import bench
from replay.cli.bundles import bundles
from replay.cli.calibrate import calibrate
from replay.cli.canary import canary
from replay.cli.compare import compare
from replay.cli.data import export, import_
from replay.cli.doctor import doctor
from replay.cli.evaluate import gate, judge, replay, run
from replay.cli.power import power
from replay.cli.report import report
from replay.cli.serve import model, serve
from replay.cli.settings import with_settings
from replay.cli.shared import Commands, verbose_option
from replay.cli.suite import suite
from replay.cli.view import view


@click.group(cls=Commands)
@click.version_option(package_name="redraft")
@verbose_option
def commands() -> None:
    """Replay edits through redraft and plain generation, and tell if the fast answer is still right."""


for command in (
    run,
    serve,
    import_,
    export,
    bundles,
    replay,
    judge,
    report,
    compare,
    gate,
    baseline,
    power,
    bench,
    calibrate,
    canary,
    view,
    suite,
    model,
    doctor,
):
    commands.add_command(with_settings(command))


def main() -> None:
    """Entry point; SIGTERM ends a command as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    commands(prog_name="redraft")


if __name__ == "__main__":
    main()
