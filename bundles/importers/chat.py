"""Chat logs: requests to a model and its answers, one JSON object a line.

Invariant: a unit is made only of two requests that ask the same thing in the same words of an edited text;
the earlier answer is its stale answer, the later one what was served. A request that repeats nothing is
counted as the beginning of a session.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from rapidfuzz import fuzz

from bundles.brief import brief
from bundles.errors import SuiteError
from bundles.importers.fields import Fields
from bundles.importers.imported import Collector, Found, Imported
from bundles.importers.parsing import lines_of, parse
from bundles.records import Reference, Session, Source, Unit

# How many requests a later one may repeat: the newest, so that a log of any length fits in memory.
_REMEMBERED = 10_000
_COMPARED = 100
_LEAST_ALIKE = 50.0
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n+")


_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked for, of which texts, what came back, and whose it was."""

    instruction: str
    sources: tuple[Source, ...]
    answer: str
    session_id: str


def read_chat(path: Path, *, name: str | None = None, strict: bool = False) -> Imported:
    """Read a log; lines are streamed, and the newest requests remembered.

    A line has a `request` with `messages` and a `response` with `choices`, as OpenAI's chat API has them; or
    `messages` and `response` beside each other, the response as a text.

    Raises `SuiteError` where it cannot be read and, if `strict`, for the first line that is not right;
    `EmptySuite` where no request repeats an earlier one with an edited text.
    """
    collector = Collector(name or path.stem, strict=strict)
    reader = _Reader(collector)
    try:
        for place, line in lines_of(path):
            collector.take(place, partial(reader.read, place, line))
    except OSError as error:
        raise SuiteError(f"{path}: cannot read the log: {error.strerror}") from None
    return collector.done(path)


class _Reader:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._earlier: defaultdict[_Key, deque[_Request]] = defaultdict(deque)
        self._order: deque[_Key] = deque()
        self._edits: Counter[str] = Counter()

    def read(self, place: str, line: bytes) -> Found:
        """The unit of a line, if its request repeats an earlier one."""
        row = Fields("line", parse(line))
        answer = _answer(row)
        given = row.get(str, "", "session")
        readings = [
            (
                (given, *key),
                _Request(instruction, sources, answer, given or f"line-{place.rpartition(':')[2]}"),
            )
            for key, instruction, sources in _readings(_messages(row))
        ]
        if not readings:
            raise SuiteError("no message of the user, or nothing beside the instruction")
        pairs = ((self._best(key, request), request) for key, request in readings)
        earlier, request = next((pair for pair in pairs if pair[0]), (None, readings[0][1]))
        session_id = earlier.session_id if earlier else request.session_id
        for key, reading in readings:
            self._remember(key, replace(reading, session_id=session_id))
        if earlier is None or earlier.sources == request.sources:
            unchanged = "an earlier one unchanged" if earlier else "no earlier one"
            self._collector.leave_out(f"request that repeats {unchanged}")
            return (), ()
        self._edits[session_id] += 1
        unit = Unit(
            unit_id=row.get(str, f"{session_id}/{self._edits[session_id]}", "id"),
            session_id=session_id,
            instruction=request.instruction,
            sources_before=earlier.sources,
            sources_after=request.sources,
            stale=earlier.answer,
            reference=Reference(answer),
        )
        return [Session(session_id, "chat", section_id=session_id)], [unit]

    def _best(self, key: _Key, request: _Request) -> _Request | None:
        """The earlier request that is most like this one, the newest of several."""
        newest = islice(reversed(self._earlier.get(key, ())), _COMPARED)
        found = [(_likeness(earlier, request), earlier) for earlier in newest]
        likeness, earlier = max(found, key=lambda item: item[0], default=(0.0, None))
        return earlier if likeness >= _LEAST_ALIKE else None

    def _remember(self, key: _Key, request: _Request) -> None:
        self._order.append(key)
        self._earlier[key].append(request)
        if len(self._order) > _REMEMBERED:
            oldest = self._order.popleft()
            self._earlier[oldest].popleft()
            if not self._earlier[oldest]:
                del self._earlier[oldest]


def _messages(row: Fields) -> list[tuple[str, str]]:
    """Role and text of each message of the request."""
    request = row
    if row.given("request", "body") is not None:
        request = Fields("`request`", row.need(object, "request", "body"))
        if request.given("body") is not None:
            request = Fields("`body` of `request`", request.need(object, "body"))
    found = []
    for number, item in enumerate(request.need(list, "messages"), 1):
        message = Fields(f"message {number}", item)
        found.append((message.need(str, "role"), _text(message)))
    return found


def _answer(row: Fields) -> str:
    """The text that came back."""
    response = row.need(object, "response")
    if isinstance(response, str):
        return response
    fields = Fields("`response`", response)
    if fields.given("body") is not None:
        fields = Fields("`body` of `response`", fields.need(object, "body"))
    choices = fields.need(list, "choices")
    if not choices:
        fields.fail("`choices` is empty")
    choice = Fields("choice 1", choices[0])
    return _text(Fields("message of choice 1", choice.need(object, "message")))


def _text(message: Fields) -> str:
    """A message's text; raises `SuiteError` where it is a picture or a call of a tool."""
    value = message.need(object, "content")
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        message.fail(f"`content` must be a text or a list of parts, not {brief(value)}")
    texts = []
    for number, item in enumerate(value, 1):
        part = Fields(f"{message.label}, part {number}", item)
        if part.get(str, "text", "type") != "text":
            part.fail("is no text")
        texts.append(part.need(str, "text"))
    return "\n".join(texts)


def _readings(
    messages: Sequence[tuple[str, str]],
) -> Iterator[tuple[_Key, str, tuple[Source, ...]]]:
    """Ways to tell instruction and sources apart, the surest first, and for each what must not change."""
    last = max((place for place, (role, _) in enumerate(messages) if role == "user"), default=None)
    if last is None:
        return
    others = [message for place, message in enumerate(messages) if place != last]
    roles = "/".join(role for role, _ in messages)
    fixed = tuple(
        Source(f"{role} {number}", text) for number, (role, text) in enumerate(others, 1) if text.strip()
    )
    asked = messages[last][1]
    if any(role == "user" for role, _ in others) and asked.strip():
        yield ("last message", roles, asked), asked, fixed
    paragraphs = [piece for piece in _PARAGRAPHS.split(asked) if piece.strip()]
    if len(paragraphs) < 2:
        return
    head, tail = paragraphs[0], paragraphs[-1]
    system = tuple(text for _, text in others)
    for what, instruction, context in (
        ("first paragraph", head, asked[asked.index(head) + len(head) :].strip()),
        ("last paragraph", tail, asked[: asked.rindex(tail)].strip()),
    ):
        if len(instruction) <= len(context):
            yield (what, roles, *system, instruction), instruction, (*fixed, Source("context", context))


def _likeness(earlier: _Request, later: _Request) -> float:
    """How much of the earlier texts the later ones have kept, in percent of the least alike pair."""
    if [source.name for source in earlier.sources] != [source.name for source in later.sources]:
        return 0.0
    pairs = zip(earlier.sources, later.sources, strict=True)
    return min((fuzz.ratio(old.text, new.text, score_cutoff=_LEAST_ALIKE) for old, new in pairs), default=0.0)
