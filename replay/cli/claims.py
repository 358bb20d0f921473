"""What the commands that ask a claim judge share: its options, and a judge made from them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from bundles import Run, Store
from judge import ReplyCache
from replay.claims import ClaimJudge
from replay.cli.shared import options, say
from replay.errors import SettingsError
from replay.evaluation import judged_attempts, store_claims
from replay.judge_client import KEY_VARIABLE, JudgeClient, JudgeSettings
from replay.report.table import one_line

_MOST_LINES = 20
_JUDGE = ("judge_url", "judge_model")
_OTHERS = ("again", "judge_cache", "judge_concurrency", "judge_timeout", "judge_price")
Result = TypeVar("Result")

claim_options = options(
    click.option(
        "--judge-url",
        "--claims-url",
        metavar="URL",
        help=f"Ask the model behind this OpenAI-compatible URL; its key goes into {KEY_VARIABLE}.",
    ),
    click.option("--judge-model", metavar="MODEL", help="Name of the model there."),
    click.option(
        "--again", is_flag=True, help="Ask the model again what the cache of its replies could answer."
    ),
    click.option(
        "--judge-cache",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="REDRAFT_JUDGE_CACHE",
        help="Folder of good replies.  [default: ~/.cache/redraft/claims]",
    ),
    click.option(
        "--judge-concurrency",
        type=click.IntRange(1, 256),
        default=8,
        show_default=True,
        help="Requests at once.",
    ),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        help="Seconds that a reply may take.",
    ),
    click.option(
        "--judge-price",
        type=click.FloatRange(min=0),
        nargs=2,
        default=(0.0, 0.0),
        metavar="IN OUT",
        help="Price of a million tokens sent and received.",
    ),
)


def taken_claims(given: dict[str, Any]) -> Mapping[str, Any] | None:
    """Takes the options of `claim_options` out of `given`; None where no judge is asked for."""
    taken = {name: given.pop(name) for name in (*_JUDGE, *_OTHERS)}
    named = [taken[name] is not None for name in _JUDGE]
    if any(named) and not all(named):
        raise SettingsError("give both --judge-url and --judge-model")
    return taken if all(named) else None


def asked(given: Mapping[str, Any], work: Callable[[ClaimJudge], Awaitable[Result]]) -> Result:
    """The result of `work` with the judge of the options; says what it took."""
    if given["judge_url"] is None or given["judge_model"] is None:
        raise SettingsError("give both --judge-url and --judge-model")
    settings = JudgeSettings(
        url=given["judge_url"],
        model=given["judge_model"],
        key=os.environ.get(KEY_VARIABLE, "").strip(),
        concurrency=given["judge_concurrency"],
        timeout_s=given["judge_timeout"],
    )
    return asyncio.run(_asked(settings, given, work))


async def _asked(
    settings: JudgeSettings, given: Mapping[str, Any], work: Callable[[ClaimJudge], Awaitable[Result]]
) -> Result:
    async with JudgeClient(settings) as client:
        judge = ClaimJudge(client, ReplyCache(given["judge_cache"] or _cache_folder()), again=given["again"])
        try:
            return await work(judge)
        finally:
            say(f"judge {settings.model}: {judge.bill.line(*given['judge_price'])}")


def judge_claims_of(store: Store, run: Run, given: Mapping[str, Any]) -> str:
    """Has the claims of a run's attempts judged and stores the verdicts; what came of it, in lines."""
    units, attempts = store.bundle(run.bundle_id).units, judged_attempts(store, run)
    judged = asked(given, lambda judge: judge.judge(run, units, attempts))
    store_claims(store, run, judged.verdicts)
    outcomes = [verdict.outcome for verdict in judged.verdicts]
    omitted = sum(map(len, judged.omitted.values()))
    lines = [
        f"claims by {given['judge_model']}: {outcomes.count('pass')} pass, {outcomes.count('fail')} fail,"
        f" {outcomes.count('unscored')} unscored; {omitted} supported claims omitted"
    ]
    wanting = [verdict for verdict in judged.verdicts if verdict.outcome != "pass"]
    for verdict in sorted(wanting, key=lambda verdict: verdict.outcome != "fail")[:_MOST_LINES]:
        place = f"unit {verdict.unit_id}, {verdict.arm}" + (
            f", repeat {verdict.repeat}" * (verdict.repeat > 0)
        )
        lines.append(one_line(f"{verdict.outcome}: {place}: {verdict.fact_id}: {verdict.reason}"))
    if len(wanting) > _MOST_LINES:
        lines.append(f"and {len(wanting) - _MOST_LINES} more")
    return "\n".join(lines)


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redraft" / "claims"
