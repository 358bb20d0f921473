"""A real llama-server as a process of its own: `python -m replay.bench.peers.llama_server --model FILE`.

Invariant: it differs from what our engine is given in nothing but how it speculates: the same file, threads,
cache type and context, one slot, flash attention. The first line on stdout says where it listens; it ends
with its standard input.
"""

import os
import sys
from pathlib import Path

# As the engine has it; read when the library is loaded. Threads that spin for longer make passes many times
# slower as soon as anything else wants a core.
os.environ.setdefault("GOMP_SPINCOUNT", "300")

import click
import xllamacpp

_CACHE = {"bf16": xllamacpp.ggml_type.GGML_TYPE_BF16, "f16": xllamacpp.ggml_type.GGML_TYPE_F16}
_KIND = xllamacpp.common_speculative_type
_SPECULATION = {
    "none": _KIND.COMMON_SPECULATIVE_TYPE_NONE,
    "ngram-simple": _KIND.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE,
    "ngram-mod": _KIND.COMMON_SPECULATIVE_TYPE_NGRAM_MOD,
}


@click.command()
@click.option("--model", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True)
@click.option("--threads", type=int, required=True)
@click.option("--ctx", type=int, required=True)
@click.option("--kv", type=click.Choice(sorted(_CACHE)), required=True)
@click.option("--gpu-layers", type=int, required=True)
@click.option("--speculate", type=click.Choice(sorted(_SPECULATION)), default="none")
@click.option("--match", type=int, help="Tokens that have to match, of ngram-mod.")
@click.option("--least", type=int, help="Tokens of a draft at least, of ngram-mod.")
@click.option("--most", type=int, help="Tokens of a draft at most, of ngram-mod.")
def serve(
    model: Path,
    threads: int,
    ctx: int,
    kv: str,
    gpu_layers: int,
    speculate: str,
    match: int | None,
    least: int | None,
    most: int | None,
) -> None:
    """Serve until standard input ends."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx = 1, ctx
    params.n_gpu_layers = gpu_layers
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_type_k = params.cache_type_v = _CACHE[kv]
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.endpoint_props = params.endpoint_slots = True
    params.speculative.types = [_SPECULATION[speculate]]
    ngram_mod = params.speculative.ngram_mod
    for field, value in (("n_match", match), ("n_min", least), ("n_max", most)):
        if value is not None:
            setattr(ngram_mod, field, value)
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve()
