"""llama.cpp's sampler chain behind `engine.sampling.Sampler`, over the binding that `engine.model` imports.

Invariant: the chain sees a copy of the row, and it is freed with the object that holds it.
"""

import ctypes
import weakref
from typing import Any

import numpy as np

from engine.sampling import LEAST_TEMPERATURE, Row, Sampling

TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama.cpp's `llama_token_data`."""


class LlamaSampler:
    """Penalties, top_k, top_p, min_p, temperature, then the draw: llama-server's order of these."""

    def __init__(self, binding: Any, vocabulary_size: int, ctx: int, sampling: Sampling) -> None:
        self._binding = binding
        self._chain = binding.llama_sampler_chain_init(binding.llama_sampler_chain_default_params())
        weakref.finalize(self, binding.llama_sampler_free, self._chain)
        self._candidates = np.zeros(vocabulary_size, TOKEN_DATA)
        self._ids = np.arange(vocabulary_size, dtype=np.int32)
        last_n = ctx if sampling.repeat_last_n < 0 else min(sampling.repeat_last_n, ctx)
        parts = []
        if sampling.penalises:
            penalties = (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty)
            parts.append(binding.llama_sampler_init_penalties(vocabulary_size, last_n, *penalties))
        if sampling.temperature > 0:
            parts += [
                binding.llama_sampler_init_top_k(sampling.top_k),
                binding.llama_sampler_init_top_p(sampling.top_p, 1),
                binding.llama_sampler_init_min_p(sampling.min_p, 1),
                binding.llama_sampler_init_temp(max(sampling.temperature, LEAST_TEMPERATURE)),
                binding.llama_sampler_init_dist(sampling.seed),
            ]
        else:
            parts.append(binding.llama_sampler_init_greedy())
        for part in parts:
            binding.llama_sampler_chain_add(self._chain, part)

    def accept(self, token: int) -> None:
        """See `Sampler`."""
        self._binding.llama_sampler_accept(self._chain, token)

    def sample(self, row: Row) -> int:
        """See `Sampler`."""
        binding = self._binding
        self._candidates["id"], self._candidates["logit"] = self._ids, row
        candidates = binding.llama_token_data_array(
            data=self._candidates.ctypes.data_as(binding.llama_token_data_p),
            size=len(self._candidates),
            selected=-1,
            sorted=False,
        )
        binding.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        assert candidates.selected >= 0
        return int(candidates.data[candidates.selected].id)
