"""The seam between the engine and what computes logits: llama.cpp, or the scripted fake.

Invariant: one thread at a time calls `decode`, `truncate`, `state` and `set_state`; the other methods only
read the vocabulary and may be called from any thread.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.sampling import Sampler, Sampling

Rows = NDArray[np.float32]
"""Logits, one row per token that asked for them: shape (outputs, vocabulary)."""


class Part(NamedTuple):
    """Tokens that continue one slot's sequence; logits are wanted for the last `outputs` of them."""

    slot: int
    tokens: Sequence[int]
    outputs: int


class ModelFacts(NamedTuple):
    """What a client or a measurement must know about a loaded model."""

    path: str
    alias: str
    fingerprint: str
    quantisation: str
    kv_type: str
    threads: int
    chat_template: str
    bos_token: str
    eos_token: str
    adds_bos: bool
    build_info: str


class LanguageModel(Protocol):
    """A causal language model with `slots` independent sequences of at most `ctx` tokens each."""

    facts: ModelFacts
    slots: int
    ctx: int
    vocabulary_size: int
    max_rows: int
    rolls_back: bool
    """Whether any end of a sequence can be forgotten, and nothing before it need be decoded again."""
    cuts_states: bool
    """Whether that holds for what `set_state` put there, too."""
    longest_piece: int
    """Bytes of the longest token: a text has at least its size divided by this many tokens."""

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """Token ids of `text`; `add_special` adds what the model wants in front, if anything."""

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The token's bytes, possibly part of a character; control tokens are empty unless `special`."""

    def is_end(self, token: int) -> bool:
        """Whether generation ends at this token."""

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        """Append the parts to their sequences in one pass and give each part's logits.

        At most `max_rows` tokens in all, one part a slot. The rows are views that the next call
        overwrites: reduce them before. Raises DecodeFailed; the sequences are then undefined until
        they are truncated to 0.
        """

    def truncate(self, slot: int, length: int) -> int:
        """Forget what follows the first `length` tokens of a sequence; how many are left.

        That is `length` if the model rolls back. Otherwise it may be fewer, and those up to `length` have
        to be decoded again. Raises DecodeFailed; the sequence is then empty, or what it was.
        """

    def state(self, slot: int) -> bytes:
        """What the model remembers of a sequence, to be given back with `set_state`."""

    def set_state(self, slot: int, data: bytes, length: int) -> None:
        """Replace a sequence by one of `length` tokens whose `state` this was.

        Later logits are what they would have been there. Raises DecodeFailed; the sequence is then empty.
        """

    def sampler(self, sampling: Sampling) -> Sampler:
        """What draws tokens by these parameters; `seed` is set."""


def detokenize(model: LanguageModel, tokens: Sequence[int]) -> str:
    """Text of `tokens`, control tokens included; bytes that are not UTF-8 become U+FFFD."""
    return b"".join(model.piece(token, special=True) for token in tokens).decode("utf-8", "replace")
