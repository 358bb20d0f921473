"""From the engine's tokens to deltas and spans.

Invariant: the deltas concatenate to the new text; the spans tile the old and the new text in order,
without gaps; a held span's old and new text are equal. Offsets are UTF-16 code units. The old text is
the one that the person saw: what was patched into the draft comes out as replaced, held or not.

The engine says which draft token each new token was held from. That is a claim about tokens, and it
becomes a held span only where the new text shows it: whole characters, equal, in the old text's order.
Whatever does not fit, such as a character split over a divergence, counts as replaced.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Literal

from daemon.patched_text import PatchedText
from daemon.wire import DeltaEvent, SpanEvent

NEW = -1


class OldText:
    """The old text, patched into a draft, as the draft's tokens cut it: which whole characters a range of
    tokens covers."""

    def __init__(self, draft: PatchedText, pieces: Sequence[bytes]) -> None:
        self.draft = draft
        self.units = [0, *accumulate(utf16_units(character) for character in draft.original)]
        text = draft.text
        self._characters = [0, *accumulate(len(character.encode()) for character in text)]
        spelled = b"".join(pieces)
        if spelled.removeprefix(b" ") == text.encode() and spelled != text.encode():
            pieces = [pieces[0].removeprefix(b" "), *pieces[1:]]  # SentencePiece puts a space in front
        elif spelled != text.encode():
            pieces = [b""] * len(pieces)  # a tokeniser that changes the text: no token covers any of it
        self._tokens = [0, *accumulate(map(len, pieces))]

    def tokens(self, start: int, stop: int) -> tuple[int, int]:
        """The draft tokens, end exclusive, that touch the draft's characters from `start` to `stop`; all
        where the tokeniser changed the text and none can be placed."""
        if self._tokens[-1] == 0:
            return 0, len(self._tokens) - 1
        first = bisect_right(self._tokens, self._characters[start]) - 1
        return first, bisect_left(self._tokens, self._characters[stop])

    def first_byte(self, token: int) -> int:
        """The byte at which a draft token starts."""
        return self._tokens[token]

    def characters(self, first_byte: int, last_token: int) -> tuple[range, int | None]:
        """Whole characters of the draft from a byte to a token's end, and the first byte of one that is
        cut there."""
        end = self._tokens[last_token + 1]
        start = bisect_left(self._characters, first_byte)
        stop = bisect_right(self._characters, end) - 1
        cut = self._characters[stop]
        return range(start, stop), cut if first_byte <= cut < end else None


class Tiler:
    """Follows one refresh: feed it the engine's chunks, then finish it."""

    def __init__(self, old: OldText) -> None:
        self._old = old
        self._texts: list[str] = []
        self._cut: tuple[int, int] | None = None  # next draft token, first byte of the character it ends
        # The open span: where it starts and, so far, stops. Old offsets in characters, new ones in units.
        self._kind: Literal["held", "replaced"] = "replaced"
        self._old_start = self._old_stop = 0
        self._new_start = self._new_stop = 0
        self._first_text = 0
        self.held_units = 0

    @property
    def text(self) -> str:
        """The new text so far."""
        return "".join(self._texts)

    def feed(self, content: str, src: Sequence[int]) -> Iterator[DeltaEvent | SpanEvent]:
        """Events for a chunk: its text and, per token, the draft token that it was held from or -1.

        Neither side need hold whole characters: what a token leaves unfinished comes with a later chunk.
        """
        for text, held in self._match(content, list(self._claims(src))):
            if not held:
                yield from self._add_new(text)
            for piece, old in self._old.draft.pieces(held):
                yield from self._add_piece(text[piece.start - held.start : piece.stop - held.start], old)

    def finish(self) -> Iterator[SpanEvent]:
        """The spans still open at the end of the new text."""
        yield from self._reach(len(self._old.draft.original))

    def _claims(self, src: Sequence[int]) -> Iterator[range | None]:
        """The draft's characters per run of consecutive held tokens; None for a run of new ones."""
        for diagonal, run in groupby(enumerate(src), lambda it: None if it[1] == NEW else it[0] - it[1]):
            if diagonal is None:
                self._cut = None
                yield None
                continue
            tokens = [token for _, token in run]
            first, last = tokens[0], tokens[-1]
            byte = self._cut[1] if self._cut and self._cut[0] == first else self._old.first_byte(first)
            characters, cut = self._old.characters(byte, last)
            self._cut = None if cut is None else (last + 1, cut)
            yield characters

    def _match(self, content: str, claims: Sequence[range | None]) -> Iterator[tuple[str, range]]:
        """The content in order, each piece with the draft's characters it was held from (none: new)."""
        position = 0
        for index, claim in enumerate(claims):
            if not claim:
                continue
            text = self._old.draft.text[claim.start : claim.stop]
            if index == len(claims) - 1:
                found = len(content) - len(text) if content.endswith(text) else -1
            else:
                found = content.find(text, position)
            if found >= position:
                yield content[position:found], range(0)
                yield text, claim
                position = found + len(text)
        yield content[position:], range(0)

    def _add_piece(self, text: str, old: range | None) -> Iterator[DeltaEvent | SpanEvent]:
        """Text held from one place of the old text, or from a patch; what the spans have passed is new."""
        passed = len(text) if old is None else max(0, self._old_stop - old.start)
        yield from self._add_new(text[:passed])
        if old is not None:
            yield from self._add_held(text[passed:], old[passed:])

    def _add_new(self, text: str) -> Iterator[DeltaEvent | SpanEvent]:
        if text:
            if self._kind == "held":
                yield from self._close()
            self._append(text)
            yield DeltaEvent(text=text, kind="new")

    def _add_held(self, text: str, held: range) -> Iterator[DeltaEvent | SpanEvent]:
        if text:
            if self._kind == "replaced" or held.start > self._old_stop:
                yield from self._reach(held.start)
                self._kind = "held"
            self._old_stop = held.stop
            self._append(text)
            self.held_units += utf16_units(text)
            yield DeltaEvent(text=text, kind="held")

    def _append(self, text: str) -> None:
        self._texts.append(text)
        self._new_stop += utf16_units(text)

    def _reach(self, old_stop: int) -> Iterator[SpanEvent]:
        """Close the open span and replace the old text up to `old_stop`."""
        if self._kind == "held":
            yield from self._close()
        self._old_stop = old_stop
        yield from self._close()

    def _close(self) -> Iterator[SpanEvent]:
        """Emit the open span unless it is empty on both sides; what follows is replaced until held."""
        if self._old_start < self._old_stop or self._new_start < self._new_stop:
            yield SpanEvent(
                kind=self._kind,
                old=(self._old.units[self._old_start], self._old.units[self._old_stop]),
                new=(self._new_start, self._new_stop),
                text="".join(self._texts[self._first_text :]) if self._kind == "replaced" else None,
            )
        self._kind = "replaced"
        self._old_start, self._new_start, self._first_text = self._old_stop, self._new_stop, len(self._texts)


def utf16_units(text: str) -> int:
    """How many UTF-16 code units the text has."""
    return len(text.encode("utf-16-le")) // 2
