"""`redraft-engine`: bind, say where, load, serve.

Invariant: the first line on standard output is `listening on http://HOST:PORT`, printed once the
port is ours and signals are handled, before the model is loaded. Whatever makes serving impossible is
one line on standard error and exit 2; a signal, or the end of standard input with `--watch-stdin`, is
exit 0.
"""

import os
import socket
import sys
import threading
import traceback
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn, get_args

import click
import uvicorn
from pydantic import ValidationError

from engine.calibration import calibrate
from engine.checkpoints import CheckpointedModel
from engine.config import EngineConfig
from engine.cost import Calibration
from engine.draft_model import DraftModel, check_tokenizer
from engine.errors import EngineError, ModelError, Unavailable
from engine.fake_model import FakeModel
from engine.heap import settle_heap
from engine.language_model import LanguageModel
from engine.model import LlamaModel, check_gguf, set_verbose, supports_gpu
from engine.pull import cache_folder, default_model
from engine.ready import Ready
from engine.server import create_app
from engine.stabilize import Drafting
from engine.state_cache import DiskStore, MemoryStore, StateCache, Store
from engine.wire import Algorithm, DraftSource, EngineFacts, Rule
from engine.worker import Worker

DEFAULTS = EngineConfig()
MIB = 2**20
NOT_DETERMINISTIC = (
    "warning: windows and single tokens were not seen to give equal logits with this model, cache type and "
    "context; exact mode may differ from plain generation"
)
NO_GPU = (
    "warning: --gpu-layers is without effect: this llama.cpp was built for the CPU alone; install "
    "llama-cpp-python built for the GPU"
)


class Service(uvicorn.Server):
    """The HTTP server and, on its own thread, the model. It is never freed: to the last moment of the
    process a request may be reading its vocabulary."""

    def __init__(self, config: EngineConfig, url: str) -> None:
        app = create_app(self._ready_or_unavailable)
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=3,
                timeout_keep_alive=60,  # longer than clients keep an idle connection: they close it first
            )
        )
        self._engine_config = config
        self._url = url
        self._ready: Ready | None = None
        self.exit_code = 0

    def _ready_or_unavailable(self) -> Ready:
        if self._ready is None:
            raise Unavailable("loading model")
        return self._ready

    def _run_model(self) -> None:
        try:
            model = load(self._engine_config)
            drafting = prepare(model, self._engine_config)
            facts = describe(model, drafting)
            if not facts.deterministic:
                print(NOT_DETERMINISTIC, file=sys.stderr, flush=True)
            states = open_states(model, self._engine_config)
            worker = Worker(model, self._engine_config.queue_depth, drafting, states)
            self._ready = Ready(worker, facts, self._engine_config.slot_save_path)
            self._ready.worker.run()
        except EngineError as error:
            _say(str(error))
            self.exit_code = 2
        except Exception:
            traceback.print_exc()
            self.exit_code = 1
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving and say so, then load."""
        await super().startup(sockets)
        print(f"listening on {self._url}", flush=True)
        threading.Thread(target=self._run_model, name="model", daemon=True).start()
        if self._engine_config.watch_stdin:
            threading.Thread(target=self._watch_stdin, daemon=True).start()

    def _watch_stdin(self) -> None:
        with suppress(OSError):
            while sys.stdin and os.read(0, 1024):  # None: closed before we started
                pass
        self.should_exit = True

    def handle_exit(self, sig: int, frame: object) -> None:
        """End cleanly: uvicorn's own handler would raise the signal again afterwards."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop generating first, so that open streams end."""
        if self._ready:
            self._ready.worker.stop()
        await super().shutdown(sockets)


def load(config: EngineConfig) -> LanguageModel:
    """The model that `config` asks for. Raises ModelError."""
    if config.fake_model:
        return FakeModel(slots=config.slots, ctx=config.ctx, pass_ms=config.fake_pass_ms)
    set_verbose(config.verbose)
    if config.gpu_layers and not supports_gpu():
        _tell(NO_GPU)
    return _load_gguf(config.model or default_model(_tell), config)


def _load_gguf(path: Path, config: EngineConfig) -> LanguageModel:
    model = LlamaModel(
        path,
        slots=config.slots,
        ctx=config.ctx,
        threads=config.threads,
        kv=config.kv,
        gpu_layers=config.gpu_layers,
    )
    return model if model.rolls_back else CheckpointedModel(model)


def prepare(model: LanguageModel, config: EngineConfig) -> Drafting:
    """What `model` drafts with: what was measured of it, and a draft model. Raises ModelError."""
    if config.fake_model:
        return Drafting(Calibration(model.max_rows))
    folder = cache_folder().parent / "calibration"
    calibration = calibrate(model, folder, _tell)
    if config.draft_model is None:
        return Drafting(calibration)
    draft_model = _load_gguf(config.draft_model, config)
    check_tokenizer(draft_model, model)
    token_ms = calibrate(draft_model, folder, _tell).pass_cost(1)
    return Drafting(calibration, DraftModel(draft_model, token_ms))


def open_states(model: LanguageModel, config: EngineConfig) -> StateCache:
    """Where prefix states are parked. Raises ModelError."""
    stores: list[Store] = [MemoryStore(config.cache_ram * MIB)] if config.cache_ram else []
    if config.cache_dir:
        try:
            stores.append(DiskStore(config.cache_dir, config.cache_disk * MIB, model.facts))
        except OSError as error:
            raise ModelError(
                f"--cache-dir {config.cache_dir}: {error.strerror}; give a folder to write to"
            ) from error
    return StateCache(stores, model.facts, rolls_back=model.cuts_states)


def describe(model: LanguageModel, drafting: Drafting) -> EngineFacts:
    """What `/props` says about the engine beside llama-server's fields."""
    cost = drafting.calibration.pass_cost
    return EngineFacts(
        version=_version(),
        model_fingerprint=model.facts.fingerprint,
        quantisation=model.facts.quantisation,
        kv_type=model.facts.kv_type,
        threads=model.facts.threads,
        deterministic=drafting.calibration.exact_width >= model.max_rows,
        algorithms=list(get_args(Algorithm)),
        exact_width=drafting.calibration.exact_width,
        pass_cost_ms=cost.as_table(),
        deep_pass_cost_ms=cost.at(cost.depth).as_table() if cost.depth else {},
        pass_cost_depth=cost.depth,
        context=model.ctx,
        rules=list(get_args(Rule)),
        draft_sources=[name for name in get_args(DraftSource) if name != "model" or drafting.draft_model],
        draft_model=drafting.draft_model.name if drafting.draft_model else None,
    )


def _version() -> str:
    try:
        return version("redraft")
    except PackageNotFoundError:
        return "0+uninstalled"


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.create_server((address[0], port), family=family, backlog=128)
    # asyncio switches Nagle's delay off only where a socket says that it is TCP.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


@click.command(context_settings={"auto_envvar_prefix": "REDRAFT_ENGINE", "show_default": True})
@click.option("--model", type=click.Path(path_type=Path), help="GGUF file  [default: SmolLM2-135M-Instruct]")
@click.option(
    "--draft-model",
    type=click.Path(path_type=Path),
    help="Smaller GGUF that drafts on request  [default: none]",
)
@click.option("--host", default=DEFAULTS.host)
@click.option("--port", default=DEFAULTS.port, help="0 takes any free one.")
@click.option("--slots", default=DEFAULTS.slots, help="Requests served at once.")
@click.option("--ctx", default=DEFAULTS.ctx, help="Tokens in each slot.")
@click.option("--threads", default=DEFAULTS.threads)
@click.option("--gpu-layers", default=DEFAULTS.gpu_layers, help="Layers of the model to put onto a GPU.")
@click.option("--kv", default=DEFAULTS.kv, help="Type of the KV cache: bf16, or f16 (not reproducible).")
@click.option("--queue-depth", default=DEFAULTS.queue_depth, help="Waiting requests before 503.")
@click.option("--slot-save-path", type=click.Path(path_type=Path), help="Folder for saved slots.")
@click.option("--cache-ram", default=DEFAULTS.cache_ram, help="MiB for prefixes that slots lost; 0: none.")
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Folder that keeps such prefixes too.")
@click.option("--cache-disk", default=DEFAULTS.cache_disk, help="MiB for that folder.")
@click.option("--watch-stdin", is_flag=True, help="Exit when standard input ends.")
@click.option("-v", "--verbose", is_flag=True, help="Show llama.cpp's log.")
@click.option("--fake-model", is_flag=True, hidden=True)
@click.option("--fake-pass-ms", default=DEFAULTS.fake_pass_ms, hidden=True)
def main(**options: object) -> None:
    """Serve one GGUF over HTTP, with stale-answer replay."""
    settle_heap()
    try:
        config = EngineConfig.model_validate(options)
    except ValidationError as error:
        problem = error.errors()[0]
        raise click.UsageError(f"--{problem['loc'][0]}: {problem['msg']}".replace("_", "-")) from error
    try:
        listener = bind(config.host, config.port)
        for path in (config.model, config.draft_model):
            if path and not config.fake_model:
                check_gguf(path)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # create_server repeats the address there
        _fail(f"cannot listen on {config.host}:{config.port}: {reason}; choose another port")
    except EngineError as error:
        _fail(str(error))
    host = f"[{config.host}]" if ":" in config.host else config.host
    service = Service(config, f"http://{host}:{listener.getsockname()[1]}")
    service.run(sockets=[listener])
    os._exit(service.exit_code)  # threads may be loading, tokenizing or in a pass: nothing waits for them


def _fail(message: str) -> NoReturn:
    _say(message)
    sys.exit(2)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _say(message: str) -> None:
    print(f"redraft-engine: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
