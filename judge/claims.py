"""Whether one text is as true as plain generation's, claim by claim, by a language model's word.

Invariant: a fail needs a claim of which two opinions, asked in opposite orders, say the same; where they do
not, or a question has no answer, the outcome is unscored. Identical texts are never asked about.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bundles import Source
from judge.asking import Asker
from judge.claim_questions import (
    PRESENCE,
    SAMENESS,
    SUPPORT,
    Claim,
    Labelled,
    Labelling,
    Stance,
    extraction,
    source_passages,
)
from judge.errors import Unanswered
from judge.facts import Finding
from judge.passages import Passages, cut


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """What a text says, beside what plain generation says of the same sources.

    `lost_facts` fails where the text contradicts a supported claim of plain's, `new_errors` where it makes
    a claim that the sources contradict and plain does not make. `omitted` are supported claims of plain's
    that the text does not speak of; they fail nothing.
    """

    lost_facts: Finding
    new_errors: Finding
    omitted: tuple[str, ...] = ()


async def judge_pair(asker: Asker, sources: Iterable[Source], plain: str, text: str) -> PairJudgement:
    """Compare a text with plain generation's, given the sources that both were to be written from."""
    if text == plain:
        return _both(Finding("pass", "identical to plain generation"))
    if not plain.strip():
        return _both(Finding("unscored", "plain generation's answer is empty"))
    if not text.strip():
        return _both(Finding("fail", "the answer is empty"))
    pair = _Pair(asker, source_passages(sources), cut(plain), cut(text))
    (lost_facts, omitted), new_errors = await asyncio.gather(pair.lost_facts(), pair.new_errors())
    return PairJudgement(lost_facts, new_errors, omitted)


def _both(finding: Finding) -> PairJudgement:
    return PairJudgement(finding, finding)


@dataclass(frozen=True, slots=True)
class _Pair:
    asker: Asker
    sources: Passages
    plain: Passages
    text: Passages

    async def lost_facts(self) -> tuple[Finding, tuple[str, ...]]:
        try:
            claims = [claim for claim in await self._claims(self.plain) if claim.stance == "supported"]
            labels = await self._labels(PRESENCE, claims, self.text)
            omitted = tuple(
                claim.text for claim, found in zip(claims, labels, strict=True) if found.label == "absent"
            )
            lost = [index for index, found in enumerate(labels) if found.label == "contradicted"]
            if not lost:
                return Finding("pass", f"of {len(claims)} supported claims, {len(omitted)} omitted"), omitted
            again = await self._labels(PRESENCE, claims, self.text, swapped=True)
            twice = [index for index in lost if again[index].label == "contradicted"]
            sure = await self._confirmed(claims, twice, "supported")
        except Unanswered as error:
            return Finding("unscored", str(error)), ()
        if not sure:
            return _disputed(claims[lost[0]], "contradicted"), omitted
        evidence = self._range(labels[sure[0]].piece)
        return Finding("fail", f"contradicts {_named(claims, sure)}", evidence), omitted

    async def new_errors(self) -> Finding:
        try:
            claims = [claim for claim in await self._claims(self.text) if claim.stance == "contradicted"]
            labels = await self._labels(SAMENESS, claims, self.plain)
            new = [index for index, found in enumerate(labels) if found.label == "different"]
            if not new:
                return Finding("pass", f"of {len(claims)} contradicted claims, none is new")
            again = await self._labels(SAMENESS, claims, self.plain, swapped=True)
            twice = [index for index in new if again[index].label == "different"]
            sure = await self._confirmed(claims, twice, "contradicted")
        except Unanswered as error:
            return Finding("unscored", str(error))
        if not sure:
            return _disputed(claims[new[0]], "new and wrong")
        return Finding(
            "fail", f"says, against the sources, {_named(claims, sure)}", self._range(claims[sure[0]].piece)
        )

    async def _claims(self, text: Passages) -> tuple[Claim, ...]:
        claims = await self.asker.answer(extraction(self.sources, text))
        if not claims:
            raise Unanswered("extraction: no claim found in a text that is not empty")
        return claims

    async def _labels(
        self, labelling: Labelling, claims: Sequence[Claim], text: Passages, *, swapped: bool = False
    ) -> tuple[Labelled, ...]:
        if not claims:
            return ()
        return await self.asker.answer(
            labelling.question([claim.text for claim in claims], text, swapped=swapped)
        )

    async def _confirmed(self, claims: Sequence[Claim], indices: Sequence[int], stance: Stance) -> list[int]:
        """Those of which a second opinion, with the sources last, says the same of the sources."""
        labels = await self._labels(SUPPORT, [claims[index] for index in indices], self.sources, swapped=True)
        return [index for index, found in zip(indices, labels, strict=True) if found.label == stance]

    def _range(self, piece: int | None) -> tuple[int, int] | None:
        return None if piece is None else self.text.ranges[piece]


def _disputed(claim: Claim, verdict: str) -> Finding:
    return Finding("unscored", f"two opinions differ on whether {claim.text!r} is {verdict}")


def _named(claims: Sequence[Claim], indices: Sequence[int]) -> str:
    return "; ".join(repr(claims[index].text) for index in indices)
