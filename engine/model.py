"""llama.cpp behind `LanguageModel`: the only module that imports the binding.

Invariants: a sequence's tokens are appended at its own end, and the position is checked against
llama.cpp's; a pass never exceeds `max_rows` (llama.cpp aborts the process beyond n_batch); a sequence
whose roll-back is refused is emptied, never left as it was; the context is freed before the model. With
flash attention, BF16 caches and integer-quantised weights a row's logits do not depend on the pass it was
computed in (`engine.selftest` checks that at load).
"""

import ctypes
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

# Compute threads meet hundreds of times in a pass. libgomp spins for milliseconds at each meeting by
# default, which makes passes many times slower as soon as anything else wants a core; a few hundred
# spins are as fast on an idle machine. Read when the library is loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "300")

import llama_cpp
import numpy as np

from engine.batch import Batch
from engine.config import KvType
from engine.errors import DecodeFailed, ModelError
from engine.language_model import ModelFacts, Part, Rows
from engine.llama_sampler import LlamaSampler
from engine.sampling import Sampling

MAX_ROWS = 128
"""Rows in one pass: enough to fill the CPU, few enough that a cancelled pass ends soon."""
GGML_TYPE = {"bf16": 30, "f16": 1}
"""ggml's numbers; the binding names no BF16."""

NO_TEXT = "encoders and other models without a memory do not continue a text; give another one"
WHOLE = 0
"""Flags of a sequence's state: all of it."""
_ERROR_LEVEL = 4
_errors: list[str] = []
"""The first error since this was cleared: llama.cpp names the cause first, then what failed for it."""
_verbose = False


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _log(level: int, text: bytes, _: object) -> None:
    message = text.decode("utf-8", "replace")
    if level == _ERROR_LEVEL and not _errors:
        _errors.append(" ".join(message.split()))
    if _verbose:
        os.write(2, message.encode())


llama_cpp.llama_log_set(_log, ctypes.c_void_p(0))


def set_verbose(verbose: bool) -> None:
    """Whether llama.cpp's own log goes to standard error."""
    global _verbose
    _verbose = verbose


def check_gguf(path: Path) -> None:
    """Raise ModelError unless `path` is a readable file that starts like a GGUF."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"model {path}: {error.strerror}; give a GGUF file with --model") from error
    if magic != b"GGUF":
        raise ModelError(f"model {path}: not a GGUF file; give one with --model")


def fingerprint(path: Path) -> str:
    """The file's sha256, shortened: a model's identity."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def requantise(source: Path, target: Path, threads: int) -> None:
    """Write `source` with Q8_0 weights to `target`. Raises ModelError."""
    _errors.clear()
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    params.allow_requantize = True
    params.nthread = threads
    if llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params)):
        raise ModelError(f"model {source}: could not be converted to Q8_0 at {target}: {_reason()}")


def supports_gpu() -> bool:
    """Whether llama.cpp was built to put layers onto a GPU."""
    return bool(llama_cpp.llama_supports_gpu_offload())


def _reason() -> str:
    return _errors[0] if _errors else "llama.cpp gives no reason (-v shows its log)"


class LlamaModel:
    """One loaded GGUF with one context of `slots` sequences, each with its own KV stream."""

    max_rows = MAX_ROWS

    def __init__(
        self, path: Path, *, slots: int, ctx: int, threads: int, kv: KvType, gpu_layers: int = 0
    ) -> None:
        """Load the file; raises ModelError. So many of its layers go onto a GPU if llama.cpp can do that."""
        check_gguf(path)
        _errors.clear()
        llama_cpp.llama_backend_init()
        self.slots, self.ctx = slots, ctx
        gpu_layers *= supports_gpu()
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise ModelError(f"model {path}: cannot be loaded: {_reason()}")
        self._refuse_what_cannot_be_served(path)
        self.rolls_back = not (
            llama_cpp.llama_model_is_recurrent(self._model) or llama_cpp.llama_model_is_hybrid(self._model)
        )
        self._window = llama_cpp.llama_model_n_swa(self._model)
        self.cuts_states = self.rolls_back and self._window == 0
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocabulary_size = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._context = llama_cpp.llama_init_from_model(
            self._model, _context_params(slots, ctx, threads, kv, on_gpu=gpu_layers > 0)
        )
        if not self._context:
            raise ModelError(f"model {path}: no context of {slots} x {ctx} tokens: {_reason()}")
        self._memory = llama_cpp.llama_get_memory(self._context)
        if not self._memory:
            raise ModelError(f"model {path}: {NO_TEXT}")
        self._lengths = [0] * slots
        self._pieces: dict[tuple[int, bool], bytes] = {}
        self.longest_piece = max(
            len(self.piece(token, special=True)) for token in range(self.vocabulary_size)
        )
        self._batch = Batch(llama_cpp, MAX_ROWS)
        self.facts = self._read_facts(path, threads, kv, gpu_layers)

    def _refuse_what_cannot_be_served(self, path: Path) -> None:
        if llama_cpp.llama_model_has_encoder(self._model):
            raise ModelError(f"model {path}: {NO_TEXT}")
        trained = llama_cpp.llama_model_n_ctx_train(self._model)
        if self.ctx > trained:
            raise ModelError(f"model {path}: made for {trained} tokens at most; lower --ctx {self.ctx}")

    def _read_facts(self, path: Path, threads: int, kv: KvType, gpu_layers: int) -> ModelFacts:
        def special(token: int) -> str:
            return self.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

        return ModelFacts(
            path=str(path),
            alias=path.stem,
            fingerprint=fingerprint(path),
            quantisation=llama_cpp.llama_ftype_name(llama_cpp.llama_model_ftype(self._model)).decode(),
            kv_type=kv,
            threads=threads,
            chat_template=(llama_cpp.llama_model_chat_template(self._model, None) or b"").decode(),
            bos_token=special(llama_cpp.llama_vocab_bos(self._vocab)),
            eos_token=special(llama_cpp.llama_vocab_eos(self._vocab)),
            adds_bos=llama_cpp.llama_vocab_get_add_bos(self._vocab),
            build_info=f"llama-cpp-python {llama_cpp.__version__}"
            + (f", {gpu_layers} layers on GPU" if gpu_layers else ""),
        )

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """See `LanguageModel`."""
        data = text.encode()
        ids = np.empty(3 * len(data) + 8, np.int32)  # some vocabularies spell a space with three tokens
        pointer = ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        count = llama_cpp.llama_tokenize(
            self._vocab, data, len(data), pointer, len(ids), add_special, parse_special
        )
        if count < 0:
            raise DecodeFailed(f"llama.cpp could not tokenize a text of {len(data)} bytes")
        tokens: list[int] = ids[:count].tolist()
        return tokens

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """See `LanguageModel`."""
        known = self._pieces.get((token, special))
        if known is None:
            size = -llama_cpp.llama_token_to_piece(self._vocab, token, None, 0, 0, special)
            buffer = ctypes.create_string_buffer(max(size, 1))
            llama_cpp.llama_token_to_piece(self._vocab, token, buffer, size, 0, special)
            known = self._pieces[token, special] = buffer.raw[:size]
        return known

    def is_end(self, token: int) -> bool:
        """See `LanguageModel`."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def decode(self, parts: Sequence[Part]) -> list[Rows]:
        """See `LanguageModel`."""
        self._batch.clear()
        for part in parts:
            self._batch.add(part, self._lengths[part.slot])
        code = llama_cpp.llama_decode(self._context, self._batch.struct)
        if code != 0:
            raise DecodeFailed(f"llama_decode returned {code} for {self._batch.struct.n_tokens} tokens")
        for part in parts:
            self._lengths[part.slot] += len(part.tokens)
            last = llama_cpp.llama_memory_seq_pos_max(self._memory, part.slot)
            if last != self._lengths[part.slot] - 1:
                raise DecodeFailed(f"slot {part.slot} ends at {last}, not at {self._lengths[part.slot] - 1}")
        return self._rows(parts)

    def _rows(self, parts: Sequence[Part]) -> list[Rows]:
        ends = np.cumsum([part.outputs for part in parts]).tolist()
        if ends[-1] == 0:
            return [np.empty((0, self.vocabulary_size), np.float32)] * len(parts)
        pointer = llama_cpp.llama_get_logits(self._context)
        rows = np.ctypeslib.as_array(pointer, (ends[-1], self.vocabulary_size))
        return [rows[end - part.outputs : end] for part, end in zip(parts, ends, strict=True)]

    def truncate(self, slot: int, length: int) -> int:
        """See `LanguageModel`."""
        if length and not self._roll_back(slot, length):
            length = 0
        if not length and not llama_cpp.llama_memory_seq_rm(self._memory, slot, -1, -1):
            raise DecodeFailed(f"llama.cpp refused to empty slot {slot}")
        self._lengths[slot] = length
        return length

    def _roll_back(self, slot: int, length: int) -> bool:
        """Whether that succeeded, and left all that the next token looks back on: of a sliding window's cells
        llama.cpp saves and restores the last ones alone."""
        if not llama_cpp.llama_memory_seq_rm(self._memory, slot, length, -1):
            return False
        first = llama_cpp.llama_memory_seq_pos_min(self._memory, slot)
        return self._window == 0 or bool(0 <= first <= max(0, length - self._window))

    def sampler(self, sampling: Sampling) -> LlamaSampler:
        """See `LanguageModel`."""
        return LlamaSampler(llama_cpp, self.vocabulary_size, self.ctx, sampling)

    def state(self, slot: int) -> bytes:
        """See `LanguageModel`."""
        return self._copy_state(slot, WHOLE)

    def checkpoint(self, slot: int) -> bytes:
        """See `ForwardOnly`."""
        return self._copy_state(slot, llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)

    def _copy_state(self, slot: int, flags: int) -> bytes:
        size = llama_cpp.llama_state_seq_get_size_ext(self._context, slot, flags)
        buffer = np.empty(size, np.uint8)
        pointer = buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        written = llama_cpp.llama_state_seq_get_data_ext(self._context, pointer, size, slot, flags)
        if written != size:
            raise DecodeFailed(f"llama.cpp gave {written} of {size} bytes of slot {slot}'s state")
        return buffer.tobytes()

    def set_state(self, slot: int, data: bytes, length: int) -> None:
        """See `LanguageModel`."""
        if length == 0:  # llama.cpp takes an empty state for nothing to do
            self.truncate(slot, 0)
            return
        if not self._put_state(slot, data, length, WHOLE):
            self.truncate(slot, 0)
            raise DecodeFailed(f"llama.cpp refused a state of {len(data)} bytes for slot {slot}")
        self._lengths[slot] = length

    def return_to(self, slot: int, data: bytes, length: int) -> int:
        """See `ForwardOnly`: the cache of a hybrid model's attention still has what the copy leaves out."""
        put = self._put_state(slot, data, length, llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)
        return self.truncate(slot, length if put else 0)

    def _put_state(self, slot: int, data: bytes, length: int, flags: int) -> bool:
        pointer = np.frombuffer(data, np.uint8).ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
        read = llama_cpp.llama_state_seq_set_data_ext(self._context, pointer, len(data), slot, flags)
        last = llama_cpp.llama_memory_seq_pos_max(self._memory, slot)
        return bool(read == len(data) and last == length - 1)

    def close(self) -> None:
        """Free everything, once no thread can make another call."""
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)


def _context_params(slots: int, ctx: int, threads: int, kv: KvType, *, on_gpu: bool) -> object:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = ctx * slots
    params.n_seq_max = slots
    params.n_batch = params.n_ubatch = MAX_ROWS
    params.n_threads = params.n_threads_batch = threads
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.type_k = params.type_v = GGML_TYPE[kv]
    params.kv_unified = False
    params.swa_full = True
    params.offload_kqv = params.op_offload = on_gpu
    params.no_perf = True
    return params
