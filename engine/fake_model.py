"""A scripted `LanguageModel`: realistic tokens, deterministic logits, no weights.

Invariant: the logits after a sequence depend on that sequence alone, bit for bit, as the real model's
do. It is as strict as llama.cpp about passes and roll-backs, and it spoils the rows of the last pass,
so that code which works with it reduces logits in time.

Tokens are the 256 bytes, a few hundred word pieces (the longest match wins) and control tokens, so
that rare characters are split over tokens. After a chat prompt it says what `answer` makes of the
user's message; anywhere else, and where an answer was left, it goes on pseudo-randomly from the last
`order` tokens.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.errors import DecodeFailed
from engine.fake_sampler import NumpySampler
from engine.language_model import ModelFacts, Part, Rows
from engine.sampling import Sampling

WORDS = (
    "the of and to in is that for it was on are as with be by this from at or an have not which "
    "report summary plan team budget date meeting price order customer value total note new old "
    "must will can now then first second all more one two three ten draft section document change"
)
SCRIPTS = 64
"""Answers kept: one of each slot, of which there are no more."""
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def _vocabulary() -> list[bytes]:
    words = [form for word in WORDS.split() for form in (word, " " + word, word.title(), " " + word.title())]
    extra = ["\n\n", ". ", ", ", "é", "ü", " –", "ing", "ed", "er", "ion", "## "]
    pieces = [text.encode() for text in [*CONTROL, *dict.fromkeys([*words, *extra])]]
    return [*(bytes([byte]) for byte in range(256)), *pieces]


def echo_sources(message: str) -> str:
    """The default answer: the message without its headings and its last paragraph (the instruction)."""
    blocks = message.split("\n\n")
    lines = [line for block in blocks[:-1] or blocks for line in block.split("\n")]
    return "\n".join(line for line in lines if not line.startswith("#"))


class FakeModel:
    """See the module; `answer` None makes it pseudo-random throughout."""

    max_rows = 256
    rolls_back = cuts_states = True

    def __init__(
        self,
        *,
        slots: int = 1,
        ctx: int = 4096,
        seed: int = 0,
        order: int = 2,
        answer: Callable[[str], str] | None = echo_sources,
        pass_ms: float = 0,
        before_pass: Callable[[], None] = lambda: None,
    ) -> None:
        self.slots, self.ctx = slots, ctx
        self._seed, self._order, self._answer = seed, order, answer
        self._pass_ms, self._before_pass = pass_ms, before_pass
        self._pieces = _vocabulary()
        self.vocabulary_size = len(self._pieces)
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}
        self.longest_piece = max(map(len, self._pieces))
        self._start, self._end = self._ids[b"<|im_start|>"], self._ids[b"<|im_end|>"]
        self._control = {self._ids[text.encode()] for text in CONTROL}
        self._sequences: list[list[int]] = [[] for _ in range(slots)]
        self._script = lru_cache(SCRIPTS)(self._written)
        self._last_rows: list[Rows] = []
        self.facts = ModelFacts(
            path="fake", alias="fake", fingerprint=f"fake-{seed}", quantisation="none", kv_type="bf16",
            threads=1, chat_template=TEMPLATE, bos_token="", eos_token="<|im_end|>", adds_bos=False,
            build_info="fake",
        )  # fmt: skip

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """See `LanguageModel`."""
        data, tokens, place = text.encode(), [], 0
        while place < len(data):
            for size in range(min(self.longest_piece, len(data) - place), 0, -1):
                token = self._ids.get(data[place : place + size])
                if token is not None and (parse_special or token not in self._control):
                    break
            assert token is not None
            tokens.append(token)
            place += len(self._pieces[token])
        return tokens

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """See `LanguageModel`."""
        return b"" if token in self._control and not special else self._pieces[token]

    def is_end(self, token: int) -> bool:
        """See `LanguageModel`."""
        return token in (self._end, self._ids[b"<|endoftext|>"])

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        """See `LanguageModel`."""
        self._before_pass()
        time.sleep(self._pass_ms / 1000)
        for rows in self._last_rows:
            rows.fill(np.nan)
        assert sum(len(part.tokens) for part in parts) <= self.max_rows, "llama.cpp would abort"
        assert all(part.tokens for part in parts)
        self._last_rows = [self._extend(part) for part in parts]
        return self._last_rows

    def _extend(self, part: Part) -> Rows:
        sequence = self._sequences[part.slot]
        if len(sequence) + len(part.tokens) > self.ctx:
            raise DecodeFailed(f"slot {part.slot} has no room for {len(part.tokens)} tokens")
        rows = np.zeros((part.outputs, self.vocabulary_size), np.float32)
        for index, token in enumerate(part.tokens, start=part.outputs - len(part.tokens)):
            sequence.append(token)
            if index >= 0:
                rows[index] = self._logits(sequence)
        return rows

    def truncate(self, slot: int, length: int) -> int:
        """See `LanguageModel`."""
        assert 0 <= length <= len(self._sequences[slot])
        del self._sequences[slot][length:]
        return length

    def state(self, slot: int) -> bytes:
        """See `LanguageModel`."""
        return np.array(self._sequences[slot], np.int32).tobytes()

    def set_state(self, slot: int, data: bytes, length: int) -> None:
        """See `LanguageModel`."""
        self._sequences[slot] = np.frombuffer(data, np.int32).tolist() if len(data) == 4 * length else []
        if len(data) != 4 * length:
            raise DecodeFailed(f"{len(data)} bytes are not the state of {length} tokens")

    def sampler(self, sampling: Sampling) -> NumpySampler:
        """See `LanguageModel`."""
        return NumpySampler(sampling, self.ctx)

    def _logits(self, sequence: Sequence[int]) -> NDArray[np.float32]:
        entropy = [self._seed, *sequence[-self._order :]]
        logits = np.random.default_rng(entropy).standard_normal(self.vocabulary_size, np.float32)
        wanted = self._scripted(sequence)
        if wanted is not None:
            logits[wanted] = logits.max() + 4
        return logits

    def _scripted(self, sequence: Sequence[int]) -> int | None:
        """The next token of the answer to the chat that `sequence` is in, if it followed it so far."""
        if self._answer is None:
            return None
        last_turn = next((n for n in range(len(sequence), 0, -1) if sequence[n - 1] == self._start), 0)
        head = self.tokenize("assistant\n")
        begin = last_turn + len(head)
        if last_turn == 0 or sequence[last_turn:begin] != head:
            return None
        script, said = self._script(tuple(sequence[: last_turn - 1])), list(sequence[begin:])
        if said == script[: len(said)] and len(said) < len(script):
            return script[len(said)]
        return self._resume(script, said)

    def _resume(self, script: list[int], said: list[int]) -> int:
        """After a deviation: what follows the last three tokens in the script, else the end."""
        for place in range(len(script) - 3):
            if script[place : place + 3] == said[-3:]:
                return script[place + 3]
        return self._end

    def _written(self, prompt: tuple[int, ...]) -> list[int]:
        assert self._answer is not None
        text = b"".join(self._pieces[token] for token in prompt).decode("utf-8", "replace")
        message = text.rpartition("<|im_start|>user\n")[2].removesuffix("<|im_end|>\n")
        return [*self.tokenize(self._answer(message)), self._end]
