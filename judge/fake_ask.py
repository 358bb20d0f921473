"""A scripted judge: answers the claim judge's questions as hand-labelled cases say, without a model.

Invariant: it knows the prompt and nothing else, so that it can stand behind HTTP as well; texts that are of
none of its cases it finds true and alike.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from judge.asking import Prompt, Reply
from judge.calibration import Case, calibration_cases
from judge.passages import cut

Pieces = tuple[str, ...]


class FakeAsk:
    """Knows the calibration cases and `more`; each piece of a text is one claim to it."""

    def __init__(self, more: Iterable[Case] = ()) -> None:
        self._cases = [_Known(case) for case in (*more, *calibration_cases())]

    async def __call__(self, prompt: Prompt) -> Reply:
        """A good reply."""
        return Reply(json.dumps(self.reply(prompt)))

    def reply(self, prompt: Prompt) -> dict[str, Any]:
        """The same as an object."""
        parts = dict(_parts(prompt.user))
        if prompt.name == "extraction":
            return {"sentences": list(self._claims(parts["TEXT"]))}
        labels = [self._label(prompt.name, claim, parts) for claim in parts["CLAIMS"]]
        return {
            "labels": [
                {"index": index, "reason": "as labelled", "passage": 1, "label": label}
                for index, label in enumerate(labels, start=1)
            ]
        }

    def _claims(self, text: Pieces) -> Iterator[dict[str, Any]]:
        wrong = {piece for case in self._cases if case.text == text for piece in case.wrong}
        for index, piece in enumerate(text, start=1):
            verdict = "contradicted" if piece in wrong else "supported"
            claim = {"claim": piece, "evidence": [1], "verdict": verdict}
            yield {"index": index, "claims": [claim]}

    def _label(self, name: str, claim: str, parts: dict[str, Pieces]) -> str:
        match name:
            case "presence":
                found = [case for case in self._cases if case.text == parts["TEXT"] and claim in case.plain]
                if any(claim in case.lost for case in found):
                    return "contradicted"
                return "absent" if any(claim in case.omitted for case in found) else "consistent"
            case "sameness":
                found = [case for case in self._cases if case.plain == parts["TEXT"] and claim in case.wrong]
                return "different" if found else "same"
            case _:
                return "contradicted" if any(claim in case.wrong for case in self._cases) else "supported"


class _Known:
    """A case in pieces: those of plain's that the text loses or omits, those of the text's that are wrong."""

    def __init__(self, case: Case) -> None:
        self.plain, self.text = cut(case.plain).pieces, cut(case.text).pieces
        gone = tuple(piece for piece in self.plain if piece not in self.text)
        self.lost = gone if case.loses_facts else ()
        self.omitted = gone[-1:] if case.omits else ()
        self.wrong = (
            tuple(piece for piece in self.text if piece not in self.plain) if case.makes_errors else ()
        )


def _parts(user: str) -> Iterator[tuple[str, Pieces]]:
    for part in user.split("\n\n"):
        heading, *lines = part.split("\n")
        yield heading, tuple(line.partition("] ")[2] for line in lines)
