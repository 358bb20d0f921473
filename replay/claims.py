"""The claim judge put to work: on its calibration, and on the attempts of a stored run.

Invariant: a judge that is the model under test, that gets a calibration case wrong, or whose canary cases,
asked anew, come out otherwise, gives no verdict at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bundles import Attempt, Run, Unit
from judge import (
    PROMPT_VERSION,
    Asker,
    Calibration,
    Case,
    ClaimVerdicts,
    ReplyCache,
    calibrate,
    calibration_cases,
    canary_cases,
    first_failure,
    judge_claims,
)
from replay.errors import JudgeUnfit
from replay.judge_client import JudgeClient, JudgeIdentity, Usage


@dataclass(frozen=True, slots=True)
class Bill:
    """What judging took: the client's usage, answers that were there already, questions without one."""

    usage: Usage
    kept: int
    given_up: int

    def line(self, price_in: float, price_out: float) -> str:
        """In words; prices are for a million tokens."""
        usage = self.usage
        cost = f", cost {usage.cost(price_in, price_out):.4f}" if price_in or price_out else ""
        return (
            f"{usage.requests} replies, {self.kept} answers from the cache, {usage.repeated} tries repeated,"
            f" {self.given_up} questions without an answer; {usage.prompt_tokens} tokens in,"
            f" {usage.reply_tokens} out{cost}"
        )


class ClaimJudge:
    """One judge, through `client`; what it answers well is kept in `cache`, and read there unless `again`."""

    def __init__(self, client: JudgeClient, cache: ReplyCache, *, again: bool = False) -> None:
        self._client = client
        self._model = client.settings.model
        self._asker = Asker(client, self._model, PROMPT_VERSION, cache, again=again)
        self._anew = Asker(client, self._model, PROMPT_VERSION, cache, again=True)

    @property
    def bill(self) -> Bill:
        """What it took so far."""
        askers = (self._asker, self._anew)
        return Bill(
            self._client.usage, sum(asker.kept for asker in askers), sum(asker.given_up for asker in askers)
        )

    async def calibrate(self) -> Calibration:
        """How it does on all cases. ServiceDown where none answers."""
        await self._client.identity()
        return await calibrate(self._asker, calibration_cases())

    async def judge(self, run: Run, units: Sequence[Unit], attempts: Sequence[Attempt]) -> ClaimVerdicts:
        """Verdicts on the attempts; JudgeUnfit where it may not judge."""
        refuse_model_under_test(run, await self._client.identity())
        cases = calibration_cases()
        canaries = canary_cases(cases)
        await self._must_be_right(self._anew, canaries[:1])  # a slow and unfit judge is found out soon
        await self._must_be_right(self._anew, canaries[1:])
        await self._must_be_right(self._asker, cases)
        return await judge_claims(self._asker, units, attempts)

    async def _must_be_right(self, asker: Asker, cases: Sequence[Case]) -> None:
        failure = await first_failure(asker, cases)
        if failure:
            raise JudgeUnfit(
                f"judge {self._model} fails its calibration: case {failure.case.case_id}:"
                f" {'; '.join(failure.flaws)}; no claim verdict is written (all cases: redraft calibrate)"
            )


def refuse_model_under_test(run: Run, identity: JudgeIdentity) -> None:
    """JudgeUnfit where the judge is, by fingerprint or by name, what made the run's attempts."""
    fingerprint, model = run.provenance.get("model_fingerprint"), run.provenance.get("model")
    if fingerprint is not None and fingerprint == identity.fingerprint:
        raise JudgeUnfit(
            f"the judge is the model under test: its fingerprint is {fingerprint} as in run {run.run_id};"
            " name another judge"
        )
    same = [name for name in identity.names if model is not None and _plain(name) == _plain(str(model))]
    if same:
        raise JudgeUnfit(
            f"the judge is the model under test: {same[0]}, as in run {run.run_id}; name another judge"
        )


def _plain(name: str) -> str:
    """A model's name without its folder, its file's ending and its case."""
    return name.replace("\\", "/").rpartition("/")[2].casefold().removesuffix(".gguf")
