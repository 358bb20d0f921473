"""Questions put to a language model, and when its replies are answers.

Invariant: an answer is a whole reply that meets every demand of its question. Any other reply is asked for
again, a bounded number of times, then given up with the reason, and is never kept.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from bundles import brief
from judge.errors import Unanswered

MOST_TRIES = 3
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent: two messages, the JSON schema of its reply by name, and a limit in tokens."""

    system: str
    user: str
    name: str
    schema: Mapping[str, Any]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `finish_reason` is OpenAI's; `failure` says why there is none, for good."""

    text: str = ""
    finish_reason: str = "stop"
    refusal: str = ""
    failure: str = ""


Ask = Callable[[Prompt], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """A prompt, and `read`, which gives the answer of a reply's text or raises ValueError with its flaw."""

    prompt: Prompt
    read: Callable[[str], Answer]


class Keep(Protocol):
    """Where good replies are kept, by key."""

    def get(self, key: str) -> str | None:
        """The reply's text."""

    def put(self, key: str, text: str) -> None:
        """Keeps it."""


class Asker:
    """Asks one model, and each question once.

    `version` is that of the prompts. With `again`, what is kept is not looked at, only renewed. `asked`
    counts the replies asked for, `kept` the answers that were there already, `given_up` the questions
    without an answer.
    """

    def __init__(
        self, ask: Ask, model: str, version: int, keep: Keep | None = None, *, again: bool = False
    ) -> None:
        self.model, self.version = model, version
        self.asked = self.kept = self.given_up = 0
        self._ask, self._keep, self._again = ask, keep, again
        self._answers: dict[str, asyncio.Task[Any]] = {}

    async def answer(self, question: Question[Answer]) -> Answer:
        """The answer; Unanswered where none is to be had. Two that ask the same share one reply."""
        key = self.key(question)
        if key not in self._answers:
            self._answers[key] = asyncio.ensure_future(self._answer(question, key))
        return cast(Answer, await self._answers[key])

    def key(self, question: Question[Any]) -> str:
        """SHA-256 (hex) of all that a good reply depends on."""
        prompt = question.prompt
        content = [self.model, self.version, prompt.system, prompt.user, prompt.name, prompt.schema]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    async def _answer(self, question: Question[Answer], key: str) -> Answer:
        if self._keep is not None and not self._again and (text := self._keep.get(key)) is not None:
            try:
                answer = question.read(text)
            except ValueError:
                pass  # damaged on disk: asked for again, as any bad reply
            else:
                self.kept += 1
                return answer
        reply, answer = await self._good_reply(question)
        if self._keep is not None:
            self._keep.put(key, reply.text)
        return answer

    async def _good_reply(self, question: Question[Answer]) -> tuple[Reply, Answer]:
        prompt = question.prompt
        limit, flaws = prompt.max_tokens, []
        for _ in range(MOST_TRIES):
            self.asked += 1
            reply = await self._ask(Prompt(prompt.system, prompt.user, prompt.name, prompt.schema, limit))
            if reply.failure:
                flaws = [reply.failure]
                break
            try:
                _must_be_whole(reply)
                return reply, question.read(reply.text)
            except ValueError as error:
                flaws.append(str(error))
            if reply.finish_reason == "length":
                limit *= 2
        self.given_up += 1
        raise Unanswered(f"{prompt.name}: {'; then '.join(dict.fromkeys(flaws))}")


def _must_be_whole(reply: Reply) -> None:
    if reply.refusal:
        raise ValueError(f"the judge refuses: {brief(reply.refusal)}")
    if reply.finish_reason == "length":
        raise ValueError("the reply is cut off at its limit")
    if reply.finish_reason != "stop":
        raise ValueError(f"the reply ended by {brief(reply.finish_reason)}")
