import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from judge.asking import MOST_TRIES, Asker, Prompt, Question, Reply
from judge.errors import Unanswered

PROMPT = Prompt("system", "user", "yes-or-no", {"type": "string"}, max_tokens=10)


def read(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError(f"neither yes nor no: {text}")
    return text == "yes"


QUESTION = Question(PROMPT, read)


class Script:
    """Gives its replies in turn, then the last for ever."""

    def __init__(self, *replies: Reply | str) -> None:
        self._replies = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        self.prompts: list[Prompt] = []

    async def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


class Kept(dict[str, str]):
    def put(self, key: str, text: str) -> None:
        self[key] = text


def answers(asker: Asker, questions: Iterable[Question[bool]] = (QUESTION,)) -> list[bool]:
    async def ask() -> list[bool]:
        return await asyncio.gather(*(asker.answer(question) for question in questions))

    return asyncio.run(ask())


BAD = [
    pytest.param(Reply("{"), "neither yes nor no", id="malformed"),
    pytest.param(Reply("yes", finish_reason="length"), "cut off", id="truncated"),
    pytest.param(Reply("yes", finish_reason="content_filter"), "content_filter", id="filtered"),
    pytest.param(Reply("yes", finish_reason=""), "ended by ''", id="no finish reason"),
    pytest.param(Reply("yes", refusal="I would rather not"), "refuses: 'I would rather not'", id="refused"),
]


@pytest.mark.parametrize(("bad", "flaw"), BAD)
def test_a_bad_reply_is_asked_for_again_and_never_kept(bad: Reply, flaw: str) -> None:
    script, kept = Script(bad, "yes"), Kept()
    asker = Asker(script, "m", 1, kept)
    assert answers(asker) == [True]
    assert list(kept.values()) == ["yes"]
    assert (asker.asked, asker.given_up) == (2, 0)


@pytest.mark.parametrize(("bad", "flaw"), BAD)
def test_bad_replies_end_without_an_answer_and_with_the_reason(bad: Reply, flaw: str) -> None:
    script, kept = Script(bad), Kept()
    asker = Asker(script, "m", 1, kept)
    with pytest.raises(Unanswered, match=flaw):
        answers(asker)
    assert len(script.prompts) == MOST_TRIES
    assert kept == {}
    assert asker.given_up == 1


def test_what_the_transport_gave_up_is_not_asked_again() -> None:
    script = Script(Reply(failure="503 after 4 tries"))
    with pytest.raises(Unanswered, match="503 after 4 tries"):
        answers(Asker(script, "m", 1))
    assert len(script.prompts) == 1


def test_a_truncated_reply_is_asked_for_again_with_more_room() -> None:
    script = Script(Reply("ye", finish_reason="length"), Reply("", finish_reason="length"), "yes")
    answers(Asker(script, "m", 1))
    assert [prompt.max_tokens for prompt in script.prompts] == [10, 20, 40]


def test_two_that_ask_the_same_share_one_reply() -> None:
    script = Script("yes")
    assert answers(Asker(script, "m", 1), [QUESTION] * 5) == [True] * 5
    assert len(script.prompts) == 1


def test_a_kept_reply_answers_unless_it_is_to_be_asked_again() -> None:
    kept = Kept()
    answers(Asker(Script("yes"), "m", 1, kept))
    later = Script("no")
    first = Asker(later, "m", 1, kept)
    assert answers(first) == [True]
    assert (first.kept, later.prompts) == (1, [])
    assert answers(Asker(later, "m", 1, kept, again=True)) == [False]
    assert answers(Asker(Script("yes"), "m", 1, kept)) == [False]


def test_a_kept_reply_that_is_damaged_is_asked_for_again() -> None:
    kept = Kept()
    asker = Asker(Script("yes"), "m", 1, kept)
    kept[asker.key(QUESTION)] = "ye"
    assert answers(asker) == [True]
    assert list(kept.values()) == ["yes"]


@pytest.mark.parametrize(
    "other",
    [
        Asker(Script("yes"), "m2", 1).key(QUESTION),
        Asker(Script("yes"), "m", 2).key(QUESTION),
        Asker(Script("yes"), "m", 1).key(replace(QUESTION, prompt=replace(PROMPT, user="User"))),
        Asker(Script("yes"), "m", 1).key(replace(QUESTION, prompt=replace(PROMPT, system="System"))),
        Asker(Script("yes"), "m", 1).key(replace(QUESTION, prompt=replace(PROMPT, schema={}))),
    ],
    ids=["model", "version", "user", "system", "schema"],
)
def test_another_model_version_or_content_has_another_key(other: str) -> None:
    assert other != Asker(Script("yes"), "m", 1).key(QUESTION)


def test_what_the_transport_raises_comes_through() -> None:
    async def gone(prompt: Prompt) -> Reply:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        answers(Asker(gone, "m", 1), [QUESTION] * 3)
