"""Commands about services: `serve`, `model pull`."""

import time
from pathlib import Path
from typing import Any

import click

from replay.cli.shared import is_verbose, log, options, say, show, verbose_option
from replay.stack import StackOptions, pull_model, serving

_POLL_S = 0.5

engine_options = options(
    click.option(
        "--model",
        type=click.Path(path_type=Path),
        envvar="REDRAFT_MODEL",
        show_envvar=True,
        help="A GGUF file instead of the default model.",
    ),
    click.option("--ctx", type=click.IntRange(min=1), help="Context of a slot, in tokens."),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        envvar="REDRAFT_THREADS",
        show_envvar=True,
        help="Threads of the engine.  [default: all cores]",
    ),
    click.option("--kv", type=click.Choice(["bf16", "f16"]), help="Type of the KV cache.  [default: bf16]"),
    click.option("--gpu-layers", type=click.IntRange(min=0), help="Layers to put onto a GPU.  [default: 0]"),
    click.option(
        "--fake-pass-ms", type=click.IntRange(min=0), hidden=True, help="Scripted tokens, no model."
    ),
)


@click.command()
@engine_options
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of redraftd; loopback unless there is a tokens file.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="Port of redraftd."
)
@click.option("--engine-port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--slots", type=click.IntRange(min=1), default=1, show_default=True, help="Refreshes at once.")
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(path_type=Path),
    envvar="REDRAFTD_RECORD",
    help="Record every change in the journal DIR.journal, or in the folder DIR where it is one.",
)
@click.option(
    "--record-tenants",
    metavar="A,B",
    envvar="REDRAFTD_RECORD_TENANTS",
    help="Record these only.  [default: all]",
)
@click.option(
    "--tokens-file",
    type=click.Path(path_type=Path),
    envvar="REDRAFTD_TOKENS_FILE",
    help="Access tokens of redraftd: lines `sha256:DIGEST TENANT`, where TENANT may be *.",
)
@verbose_option
def serve(**given: Any) -> None:
    """Start engine and daemon; Ctrl-C stops both.

    \b
    For example:
      redraft serve --slots 2 --record prod
    """
    try:
        with serving(StackOptions(**given, verbose=is_verbose()), say, log) as stack:
            show(f"engine {stack.engine_url}\nredraftd {stack.url}")
            while True:
                stack.check()
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        say("stopped")


@click.group()
def model() -> None:
    """The default model."""


@model.command()
@verbose_option
def pull() -> None:
    """Fetch the default model, or say where it is; prints the path.

    \b
    For example:
      redraft model pull
    """
    show(str(pull_model(say)))
