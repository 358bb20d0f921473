"""Command `view`: the store in a browser, and the race."""

import errno
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from replay.cli.serve import engine_options
from replay.cli.shared import is_verbose, log, say, show, store_option, typed
from replay.errors import SettingsError
from replay.stack import StackOptions
from replay.view.app import create_app
from replay.view.library import Library
from replay.view.race import Racer
from replay.view.server import HOST, Server, bind
from replay.view.service import Service


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8790, show_default=True, help="Port; 0 for any free one."
)
@click.option("--url", metavar="URL", help="Race on a redraftd that runs already.")
@click.option(
    "--token", default="", envvar="REDRAFT_TOKEN", help="Its access token; better in REDRAFT_TOKEN."
)
@click.option("--tenant", help="The one tenant that the token covers.  [default: new ones]")
@engine_options
@store_option
def view(store: Path, port: int, url: str | None, token: str, tenant: str | None, **given: Any) -> None:
    """Browse runs in a browser, and race an edit live; Ctrl-C stops.

    The store is read, never changed or locked: a run may go on meanwhile. Engine and daemon are started when
    the first race asks for them, unless --url names a daemon.

    \b
    For example:
      redraft view
      redraft view --store evaluation.duckdb
    """
    if url is not None and typed(given):
        raise SettingsError("--url: the engine behind it runs already; leave the engine's options out")
    if not store.exists():
        raise SettingsError(f"{store}: no such store; `redraft run` and `redraft import` make one")
    try:
        listener = bind(port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise SettingsError(f"port {port} is taken; choose another with --port, or 0 for any") from error
    service = Service(url, StackOptions(**given, verbose=is_verbose()), say, log)
    with listener, Library(store) as library, closing(service):
        show(f"http://{HOST}:{listener.getsockname()[1]}/")
        Server(create_app(library, Racer(service, tenant=tenant, token=token))).run(sockets=[listener])
    say("stopped")
