"""Which tokens a grammar lets follow.

Invariant: an answer whose tokens were all allowed is the beginning of a text of the grammar; an end token is
allowed exactly where the answer is a whole one. A split character is allowed as far as some character that
starts with its bytes is. Time for a step is bounded: a grammar that stays ambiguous in too many ways is an
InvalidRequest, never a hang.
"""

from bisect import bisect_left
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidRequest
from engine.gbnf import LAST_CHARACTER, Grammar, Ranges
from engine.language_model import LanguageModel

MAX_PLACES = 1024
"""Ways in which a text so far can be read."""
MAX_FRAMES = 300_000
MAX_WORK = 1_000_000
"""Places to look at for one token: a few seconds. As many are remembered at most."""
BOTTOM = -1
LEAST_OF_LENGTH = {2: 0x80, 3: 0x800, 4: 0x10000}
"""The first code point that UTF-8 writes in so many bytes."""

Place = tuple[int, int]
"""Where in the grammar's code the next character is, and the frame to return to after its alternative."""


class State:
    """All places that a text can have led to. `complete`: the text may end here."""

    __slots__ = ("complete", "places", "steps")

    def __init__(self, places: frozenset[Place], complete: bool) -> None:
        self.places = places
        self.complete = complete
        self.steps: dict[int, State | None] = {}


class Matcher:
    """Steps through a grammar, one character at a time; what was computed once is kept."""

    def __init__(self, grammar: Grammar) -> None:
        self._code, self._starts = grammar
        self._frames: list[Place] = []
        self._frame_numbers: dict[Place, int] = {}
        self._states: dict[tuple[frozenset[Place], bool], State] = {}
        self._work = 0
        """Places looked at since `forget` dropped what they led to."""
        self.start = self._state((start, BOTTOM) for start in self._starts[0])

    def step(self, state: State, point: int) -> State | None:
        """The state after one more character (code point), None if none may follow."""
        if point not in state.steps:
            self._count(len(state.places))
            after = [(at + 1, frame) for at, frame in state.places if _has(self._ranges(at), point, point)]
            state.steps[point] = self._state(after) if after else None
        return state.steps[point]

    def leads_into(self, state: State, first: int, last: int) -> bool:
        """Whether some character between the two may follow."""
        return any(_has(self._ranges(at), first, last) for at, _ in state.places)

    def forget(self) -> None:
        """Drop what was kept, if it became much. Call it at each token."""
        if self._work > MAX_WORK // 2:
            for state in self._states.values():
                state.steps = {}
            self._states.clear()
            self._work = 0

    def _count(self, places: int) -> None:
        self._work += places
        if self._work > MAX_WORK:
            raise InvalidRequest("grammar: takes too long to follow; make it less ambiguous")

    def _ranges(self, at: int) -> Ranges:
        ranges = self._code[at]
        assert isinstance(ranges, tuple)
        return ranges

    def _state(self, places: Iterable[Place]) -> State:
        """Follow rules and returns up to where characters are."""
        todo = list(places)
        seen: set[Place] = set()
        characters: set[Place] = set()
        complete = False
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            at, frame = place
            symbol = self._code[at]
            if symbol is None and frame == BOTTOM:
                complete = True
            elif symbol is None:
                todo.append(self._frames[frame])
            elif isinstance(symbol, int):
                after = frame if self._code[at + 1] is None else self._frame((at + 1, frame))
                todo += [(start, after) for start in self._starts[symbol]]
            else:
                characters.add(place)
            if len(seen) > MAX_PLACES:
                raise InvalidRequest("grammar: can be read in too many ways at once; make it less ambiguous")
        self._count(len(seen))
        key = frozenset(characters), complete
        return self._states.setdefault(key, State(*key))

    def _frame(self, place: Place) -> int:
        number = self._frame_numbers.setdefault(place, len(self._frames))
        if number == len(self._frames):
            if number == MAX_FRAMES:
                raise InvalidRequest("grammar: nests too deeply")
            self._frames.append(place)
        return number


def _has(ranges: Ranges, first: int, last: int) -> bool:
    place = bisect_left(ranges, first, key=itemgetter(1))
    return place < len(ranges) and ranges[place][0] <= last


class _Piece(NamedTuple):
    token: int
    points: tuple[int, ...]
    unfinished: bytes


class Vocabulary:
    """A model's tokens by the character that they start with."""

    def __init__(self, model: LanguageModel) -> None:
        self.size = model.vocabulary_size
        self.pieces = [model.piece(token) for token in range(self.size)]
        self.ends = np.array([model.is_end(token) for token in range(self.size)])
        self.by_first: dict[int, list[_Piece]] = {}
        """Under -1: those that start with an unfinished character."""
        for token, piece in enumerate(self.pieces):
            read = _read(piece)
            if piece and not self.ends[token] and read is not None:
                points, unfinished = read
                first = points[0] if points else -1
                self.by_first.setdefault(first, []).append(_Piece(token, points, unfinished))


_vocabularies: WeakKeyDictionary[LanguageModel, Vocabulary] = WeakKeyDictionary()


def vocabulary_of(model: LanguageModel) -> Vocabulary:
    """The model's vocabulary, read once."""
    if model not in _vocabularies:
        _vocabularies[model] = Vocabulary(model)
    return _vocabularies[model]


def _read(data: bytes) -> tuple[tuple[int, ...], bytes] | None:
    """Whole characters, and the beginning of one at the end; None if it can never become UTF-8."""
    try:
        return tuple(map(ord, data.decode())), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return tuple(map(ord, data[: error.start].decode())), data[error.start :]


def _completions(start: bytes) -> tuple[int, int]:
    """The first and the last code point whose UTF-8 starts so."""
    length = 2 if start[0] < 0xE0 else 3 if start[0] < 0xF0 else 4
    bits = start[0] & (0x7F >> length)
    for byte in start[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (length - len(start))
    return max(bits << missing, LEAST_OF_LENGTH[length]), min((bits + 1 << missing) - 1, LAST_CHARACTER)


class Constraint:
    """A grammar that an answer is held to, and how far the answer has come in it."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        """Raises InvalidRequest for a grammar that is too ambiguous."""
        self._matcher = Matcher(grammar)
        self._vocabulary = vocabulary
        self._state = self._matcher.start
        self._unfinished = b""

    def allows(self, token: int) -> bool:
        """Whether this token may come next."""
        if self._vocabulary.ends[token]:
            return self._state.complete and not self._unfinished
        piece = self._vocabulary.pieces[token]
        return bool(piece) and self._after(piece) is not None

    def allowed(self) -> NDArray[np.bool_]:
        """Which tokens may come next, by token id."""
        mask = np.zeros(self._vocabulary.size, np.bool_)
        if self._unfinished:
            mask[:] = [self.allows(token) for token in range(self._vocabulary.size)]
            return mask
        for first, pieces in self._vocabulary.by_first.items():
            if first < 0 or self._matcher.step(self._state, first):
                for token, points, unfinished in pieces:
                    mask[token] = self._walk(points, unfinished) is not None
        if self._state.complete:
            mask |= self._vocabulary.ends
        return mask

    def accept(self, token: int) -> None:
        """Take an allowed token into the answer."""
        if not self._vocabulary.ends[token]:
            after = self._after(self._vocabulary.pieces[token])
            assert after is not None
            self._state, self._unfinished = after
        self._matcher.forget()

    def _after(self, piece: bytes) -> tuple[State, bytes] | None:
        read = _read(self._unfinished + piece)
        return None if read is None else self._walk(*read)

    def _walk(self, points: tuple[int, ...], unfinished: bytes) -> tuple[State, bytes] | None:
        state: State | None = self._state
        for point in points:
            if state is None:
                return None
            state = self._matcher.step(state, point)
        if state is None or (unfinished and not self._matcher.leads_into(state, *_completions(unfinished))):
            return None
        return state, unfinished
