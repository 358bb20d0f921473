"""Prefix states that slots lost, kept in memory and perhaps on disk for a prompt that begins alike.

Invariant: never more bytes than the budget; the least recently used go first. A state is found by the exact
tokens it stands for. What is on disk outlives the process; a file that cannot be used is a miss, and gone.
"""

import hashlib
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidRequest
from engine.language_model import ModelFacts
from engine.state_file import SlotState, identity, read, read_tokens, write

TOKEN_BYTES = 4
ENTRY_BYTES = 512
"""What one state costs beside its data and tokens."""


class Found(NamedTuple):
    """A kept state that begins like a prompt, for `shared` tokens after `salted` ones of no prompt."""

    shared: int
    store: "Store"
    key: str
    salted: int = 0

    def state(self) -> SlotState | None:
        """It; None if it turns out to be unusable."""
        state = self.store.get(self.key)
        return state and SlotState(state.tokens[self.salted :], state.data)


class _Entry(NamedTuple):
    tokens: NDArray[np.int32]
    size_bytes: int


class _Index:
    """Which states a store has, least recently used first."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self.used_bytes = 0

    def add(self, key: str, tokens: Sequence[int], size_bytes: int) -> list[str]:
        """Take a state in; the keys that have to go for it, perhaps its own."""
        self.remove(key)
        if size_bytes > self._budget_bytes:
            return [key]
        self._entries[key] = _Entry(np.array(tokens, np.int32), size_bytes)
        self.used_bytes += size_bytes
        gone = []
        while self.used_bytes > self._budget_bytes:
            gone.append(next(iter(self._entries)))
            self.remove(gone[-1])
        return gone

    def remove(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        self.used_bytes -= entry.size_bytes if entry else 0

    @property
    def keys(self) -> list[str]:
        """All of them."""
        return list(self._entries)

    def touch(self, key: str) -> None:
        self._entries.move_to_end(key)

    def tokens(self, key: str) -> list[int]:
        """What a state stands for."""
        tokens: list[int] = self._entries[key].tokens.tolist()
        return tokens

    def longest(self, tokens: NDArray[np.int32], *, whole: bool) -> tuple[int, str]:
        """The longest prefix of `tokens` that a state has; of states that are a prefix, if `whole`."""
        found = [(_shared(entry.tokens, tokens), key) for key, entry in self._entries.items()]
        if whole:
            found = [(shared, key) for shared, key in found if shared == len(self._entries[key].tokens)]
        return max(found, default=(0, ""))

    def prefixes_of(self, tokens: NDArray[np.int32]) -> list[str]:
        """States that stand for a beginning of `tokens`."""
        entries = self._entries.items()
        return [key for key, entry in entries if _shared(entry.tokens, tokens) == len(entry.tokens)]


def _salted(salt: str) -> list[int]:
    """What stands before the tokens of a state, and of a prompt, of this salt."""
    if not salt:
        return []
    tokens: list[int] = np.frombuffer(hashlib.sha256(salt.encode()).digest(), "<i4").tolist()
    return tokens


def _shared(some: NDArray[np.int32], others: NDArray[np.int32]) -> int:
    length = min(len(some), len(others))
    different = np.flatnonzero(some[:length] != others[:length])
    return int(different[0]) if len(different) else length


class Store(Protocol):
    """Somewhere to keep states."""

    index: _Index

    def put(self, key: str, state: SlotState) -> None:
        """Keep a state, if it can be kept."""

    def get(self, key: str) -> SlotState | None:
        """A state of the index; None if it turns out to be unusable."""

    def drop(self, key: str) -> bool:
        """Forget a state, if it is there; whether nothing of it is left."""


class MemoryStore:
    """States in memory; what they stand for counts too."""

    def __init__(self, budget_bytes: int) -> None:
        self.index = _Index(budget_bytes)
        self._data: dict[str, bytes] = {}

    def put(self, key: str, state: SlotState) -> None:
        """See `Store`."""
        self._data[key] = state.data
        size_bytes = len(state.data) + TOKEN_BYTES * len(state.tokens) + ENTRY_BYTES
        for gone in self.index.add(key, state.tokens, size_bytes):
            del self._data[gone]

    def get(self, key: str) -> SlotState | None:
        """See `Store`."""
        self.index.touch(key)
        return SlotState(self.index.tokens(key), self._data[key])

    def drop(self, key: str) -> bool:
        """See `Store`."""
        self.index.remove(key)
        self._data.pop(key, None)
        return True


class DiskStore:
    """States as files of one folder, those of other models left alone."""

    def __init__(self, folder: Path, budget_bytes: int, facts: ModelFacts) -> None:
        """Raises OSError for a folder that cannot be written to."""
        folder.mkdir(parents=True, exist_ok=True)
        self.index = _Index(budget_bytes)
        self._folder = folder
        self._facts = facts
        tempfile.TemporaryFile(dir=folder).close()
        found = []
        for path in folder.glob("*.state"):
            with suppress(OSError, InvalidRequest):
                status = path.stat()
                found.append((status.st_mtime, path.stem, read_tokens(path, facts), status.st_size))
        for _, key, tokens, size_bytes in sorted(found):
            self._keep(key, tokens, size_bytes)

    def put(self, key: str, state: SlotState) -> None:
        """See `Store`."""
        try:
            size_bytes = write(self._path(key), state, self._facts)
        except OSError:
            return
        self._keep(key, state.tokens, size_bytes)

    def get(self, key: str) -> SlotState | None:
        """See `Store`."""
        try:
            state, _ = read(self._path(key), self._facts)
        except (OSError, InvalidRequest):
            self.drop(key)
            return None
        self.index.touch(key)
        return state

    def drop(self, key: str) -> bool:
        """See `Store`."""
        self.index.remove(key)
        try:
            self._path(key).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _keep(self, key: str, tokens: Sequence[int], size_bytes: int) -> None:
        for gone in self.index.add(key, tokens, size_bytes):
            self.drop(gone)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.state"


class StateCache:
    """All stores, the fastest first. `rolls_back`: whether a state's last tokens can be taken from it."""

    def __init__(self, stores: Sequence[Store], facts: ModelFacts, *, rolls_back: bool = True) -> None:
        self._stores = stores
        self._identity = identity(facts)
        self._rolls_back = rolls_back

    def __bool__(self) -> bool:
        return bool(self._stores)

    def find(self, prompt: Sequence[int], salt: str = "") -> Found | None:
        """The kept state of this salt that begins most like `prompt`."""
        salted = _salted(salt)
        tokens = np.array([*salted, *prompt], np.int32)
        best: Found | None = None
        for store in self._stores:
            found, key = store.index.longest(tokens, whole=not self._rolls_back)
            shared = found - len(salted)
            if shared > (best.shared if best else 0):
                best = Found(shared, store, key, len(salted))
        return best

    def park(self, state: SlotState, salt: str = "") -> None:
        """Keep a state in every store; what it contains need not be kept any longer."""
        state = SlotState([*_salted(salt), *state.tokens], state.data)
        tokens = np.array(state.tokens, np.int32)
        key = hashlib.sha256(self._identity + tokens.tobytes()).hexdigest()[:32]
        for store in self._stores:
            shared, _ = store.index.longest(tokens, whole=False)
            if self._rolls_back and shared == len(tokens):
                continue
            if self._rolls_back:
                for contained in store.index.prefixes_of(tokens):
                    store.drop(contained)
            store.put(key, state)

    def clear(self) -> bool:
        """Forget everything; whether nothing is left."""
        left = [key for store in self._stores for key in store.index.keys if not store.drop(key)]
        return not left
