import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

MODULE = "replay.bench.peers.llama_server"
GIVEN = ("--threads", "2", "--ctx", "512", "--kv", "bf16", "--gpu-layers", "0")


class Names:
    """Any attribute is its own name, as of an enumeration."""

    def __getattr__(self, name: str) -> str:
        return name


@pytest.fixture
def servers() -> list[Any]:
    """The parameters of each server that was started."""
    return []


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, servers: list[Any], tmp_path: Any) -> Callable[..., Result]:
    """The script with a stand-in for the library, on a model file."""

    def start(params: Any) -> Any:
        servers.append(params)
        return SimpleNamespace(listening_address="http://127.0.0.1:4711")

    def params() -> Any:
        return SimpleNamespace(
            model=SimpleNamespace(),
            cpuparams=SimpleNamespace(),
            cpuparams_batch=SimpleNamespace(),
            speculative=SimpleNamespace(ngram_mod=SimpleNamespace(n_match=24, n_min=48, n_max=64)),
        )

    library: Any = ModuleType("xllamacpp")
    library.ggml_type = library.common_speculative_type = library.llama_flash_attn_type = Names()
    library.CommonParams, library.Server = params, start
    monkeypatch.setitem(sys.modules, "xllamacpp", library)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    script = importlib.import_module(MODULE)
    monkeypatch.delitem(sys.modules, MODULE)
    model = tmp_path / "m.gguf"
    model.touch()
    return lambda *arguments: CliRunner().invoke(script.serve, ["--model", str(model), *GIVEN, *arguments])


def test_it_says_where_it_listens_and_ends_with_its_input(serve: Callable[..., Result]) -> None:
    done = serve()
    assert (done.exit_code, done.stdout) == (0, "listening on http://127.0.0.1:4711\n")


def test_it_is_given_what_our_engine_is_given(serve: Callable[..., Result], servers: list[Any]) -> None:
    serve()
    (params,) = servers
    assert params.model.path.endswith("m.gguf")
    assert (params.n_ctx, params.n_parallel, params.n_gpu_layers) == (512, 1, 0)
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 2
    assert params.cache_type_k == params.cache_type_v == "GGML_TYPE_BF16"
    assert params.flash_attn_type == "LLAMA_FLASH_ATTN_TYPE_ENABLED"
    assert params.speculative.types == ["COMMON_SPECULATIVE_TYPE_NONE"]


def test_it_speculates_as_asked(serve: Callable[..., Result], servers: list[Any]) -> None:
    serve("--speculate", "ngram-mod", "--match", "4", "--most", "15")
    serve("--speculate", "ngram-simple")
    tuned, simple = servers
    assert tuned.speculative.types == ["COMMON_SPECULATIVE_TYPE_NGRAM_MOD"]
    assert vars(tuned.speculative.ngram_mod) == {"n_match": 4, "n_min": 48, "n_max": 15}
    assert simple.speculative.types == ["COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE"]
