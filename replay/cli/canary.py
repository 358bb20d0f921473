"""Command `canary`: an alarm for a daemon that runs."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import Any, NoReturn

import click
from tabulate import tabulate

from replay.canary import ENDINGS, Canaries, CanaryResult, CanaryRound, canary_arm, canary_units
from replay.canary_metrics import CanaryMetrics
from replay.cli.shared import json_option, max_tokens_option, say, show, verbose_option
from replay.client import Client
from replay.errors import ServiceDown, ServiceError, SettingsError
from replay.report.figures import percent
from replay.report.table import one_line

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """`30s`, `5m`, `1h`, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; bare numbers have no unit and are refused."""
        text = str(value).strip()
        number = text.rstrip("mhs")
        unit = text[len(number) :]
        if unit not in _UNITS_S or not number.isdecimal() or int(number) == 0:
            self.fail(f"{text!r} is not a time such as 30s, 5m or 1h", param, ctx)
        return int(number) * _UNITS_S[unit]


@click.command(short_help="Try canaries on a live daemon.")
@click.option("--url", default="http://127.0.0.1:8787", show_default=True, help="The redraftd to try.")
@click.option("--suite", default="builtin:smoke", show_default=True, help="Suite whose canaries are tried.")
@click.option(
    "--arm", default="redraft", show_default=True, help="How to refresh: redraft:tau=3,floor=1, ..."
)
@click.option(
    "--token", default="", envvar="REDRAFT_TOKEN", help="Access token of the daemon; better in REDRAFT_TOKEN."
)
@click.option("--tenant", default="canary", show_default=True, help="Tenant of the sections that are opened.")
@max_tokens_option
@click.option("--watch", type=Duration(), metavar="TIME", help="Try again every 30s, 5m, ... until Ctrl-C.")
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), help="Serve Prometheus gauges there; with --watch."
)
@click.option("--metrics-host", default="127.0.0.1", show_default=True)
@click.option(
    "--report/--no-report",
    default=True,
    show_default=True,
    help="Show how it came out in the daemon's own metrics too; takes a token for all tenants.",
)
@json_option
@verbose_option
def canary(watch: float | None, as_json: bool, **given: Any) -> None:
    """Try canaries on a live daemon: does a refresh keep what the edit has made stale?

    \b
    For example:
      redraft canary --url http://127.0.0.1:8787
      redraft canary --suite suite.toml --watch 5m --metrics-port 9100
    """
    if given["metrics_port"] is not None and watch is None:
        raise SettingsError("--metrics-port: one round leaves no time to scrape it; give --watch too")
    canaries = Canaries(
        canary_units(given["suite"]), canary_arm(given["arm"]), given["tenant"], given["max_tokens"]
    )
    with closing(Client(given["url"], token=given["token"])) as client:
        if watch is not None:
            _watch(canaries, client, watch, as_json, given)
        done = canaries.check(client, _tell)
        if given["report"]:
            _report(client, done)
    show(json.dumps(_json(done, given), indent=2, ensure_ascii=False) if as_json else _table(done))
    raise click.exceptions.Exit(done.exit_code)


def _watch(
    canaries: Canaries, client: Client, every_s: float, as_json: bool, given: Mapping[str, Any]
) -> NoReturn:
    """A round, a line, a pause, until somebody interrupts."""
    metrics = CanaryMetrics(given["suite"], canaries.arm.name)
    told = ""
    with ExitStack() as served:
        if given["metrics_port"] is not None:
            port = served.enter_context(metrics.served(given["metrics_host"], given["metrics_port"]))
            say(f"metrics on http://{given['metrics_host']}:{port}/metrics")
        while True:
            started = time.monotonic()
            try:
                done = canaries.check(client, lambda result: None)
                if given["report"]:
                    told = _report(client, done, told)
            except ServiceDown as error:
                done = canaries.all_in_error(str(error))
            metrics.record(done)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            show(
                json.dumps({"at": now} | _json(done, given), ensure_ascii=False)
                if as_json
                else one_line(f"{now} {done.line}")
            )
            time.sleep(max(0.0, every_s - (time.monotonic() - started)))


def _report(client: Client, done: CanaryRound, told: str = "") -> str:
    """Shows the round in the daemon's metrics. Why that cannot be: said, unless it was told before."""
    try:
        client.report(done.report)
    except ServiceError as error:
        if str(error) != told:
            say(f"not in the daemon's metrics, --no-report leaves it at that: {error}")
        return str(error)
    return ""


def _tell(result: CanaryResult) -> None:
    say(f"{result.unit_id}: {result.ending}")


def _table(done: CanaryRound) -> str:
    rows = [
        (
            one_line(result.unit_id),
            result.ending,
            percent(attempt.held / len(attempt.token_ids) if attempt.token_ids else None),
            f"{attempt.wall_ms:.0f}",
            result.attribution or "",
            one_line(result.reason),
        )
        if (attempt := result.attempt)
        else (one_line(result.unit_id), result.ending, "", "", "", one_line(result.reason))
        for result in done.results
    ]
    counts = ", ".join(f"{done.count(ending)} {ending}" for ending in ENDINGS)
    headers = ("canary", "ending", "held", "ms", "attribution", "why")
    return f"{tabulate(rows, headers=headers, disable_numparse=True)}\n\ncanaries: {counts}"


def _json(done: CanaryRound, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "url": given["url"],
        "suite": given["suite"],
        "arm": given["arm"],
        "exit_code": done.exit_code,
        **{ending: done.count(ending) for ending in ENDINGS},
        "canaries": [_canary_json(result) for result in done.results],
    }


def _canary_json(result: CanaryResult) -> dict[str, Any]:
    attempt, plain = result.attempt, result.plain
    return {
        "unit_id": result.unit_id,
        "ending": result.ending,
        "reason": result.reason,
        "attribution": result.attribution,
        "text": attempt.text if attempt else None,
        "plain_text": plain.text if plain else None,
        "wall_ms": attempt.wall_ms if attempt else None,
        "held": attempt.held if attempt else None,
        "tokens": len(attempt.token_ids) if attempt else None,
    }
