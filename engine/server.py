"""The HTTP face: llama-server's routes and error shapes over one worker.

Invariant: nothing here touches the model's sequences; a handler checks, queues and relays. A client
that goes away cancels its job; a reader that stalls holds no slot, for outcomes wait in a queue that
the answer's own limit bounds.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine import chat_template
from engine.errors import EngineError, InvalidRequest
from engine.generation import Job, Outcome, check_slot, check_text, check_tokens
from engine.language_model import LanguageModel, detokenize
from engine.wire import (
    ApplyTemplateRequest,
    CompletionChunk,
    CompletionRequest,
    CompletionResult,
    DetokenizeRequest,
    EngineFacts,
    TokenizeRequest,
)
from engine.worker import Erase, Worker

MAX_BODY_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Ready:
    """A loaded engine."""

    worker: Worker
    facts: EngineFacts

    @property
    def model(self) -> LanguageModel:
        """Its model, for what only reads the vocabulary."""
        return self.worker.model


async def _loaded(request: Request) -> Ready:
    ready: Ready = request.app.state.ready()
    return ready


Engine = Annotated[Ready, Depends(_loaded)]
router = APIRouter()
T = TypeVar("T")


def create_app(ready: Callable[[], Ready]) -> FastAPI:
    """The application; `ready` raises Unavailable until the model is loaded."""
    app = FastAPI(title="redraft-engine", docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit)
    app.state.ready = ready
    app.include_router(router)
    app.add_exception_handler(EngineError, _engine_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _server_error)
    return app


class BodyLimit:
    """Middleware: reading more than MAX_BODY_BYTES of a request's body is a 413."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        size = 0

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY_BYTES:
                raise HTTPException(413, f"body: above {MAX_BODY_BYTES} bytes; send a smaller one")
            return message

        await self._app(scope, receive_limited, send)


@router.get("/health")
async def health(_: Engine) -> dict[str, str]:
    """Answer 200 once the model is loaded."""
    return {"status": "ok"}


@router.get("/props")
async def props(engine: Engine) -> dict[str, object]:
    """What is served, in llama-server's words, and `redraft`: EngineFacts."""
    model, facts = engine.model, engine.model.facts
    return {
        "default_generation_settings": {"n_ctx": model.ctx},
        "total_slots": model.slots,
        "model_path": facts.path,
        "model_alias": facts.alias,
        "chat_template": facts.chat_template,
        "bos_token": facts.bos_token,
        "eos_token": facts.eos_token,
        "build_info": facts.build_info,
        "redraft": engine.facts.model_dump(),
    }


@router.get("/slots")
async def slots(engine: Engine) -> list[dict[str, object]]:
    """Each slot, whether it is busy, and how many tokens it holds."""
    ctx = engine.model.ctx
    return [
        {
            "id": slot.number,
            "n_ctx": ctx,
            "is_processing": slot.generation is not None,
            "n_cached": len(slot.cache),
        }
        for slot in engine.worker.slots
    ]


@router.post("/slots/{id_slot}")
async def slot_action(id_slot: int, action: str, engine: Engine) -> dict[str, int]:
    """Erase a slot once it is free."""
    if action != "erase":
        raise InvalidRequest(f"action: {action[:40]!r} is not known; use erase")
    check_slot(id_slot, engine.model)
    loop = asyncio.get_running_loop()
    erased: asyncio.Queue[int | EngineError] = asyncio.Queue()
    engine.worker.submit(Erase(id_slot, lambda it: _post(loop, erased, it)))
    outcome = await erased.get()
    if isinstance(outcome, EngineError):
        raise outcome
    return {"id_slot": id_slot, "n_erased": outcome}


@router.post("/tokenize")
def tokenize(body: TokenizeRequest, engine: Engine) -> dict[str, object]:
    """Token ids of a text, with their pieces if asked."""
    model = engine.model
    if body.parse_special:
        check_text("content", body.content, model)
    tokens = model.tokenize(body.content, add_special=body.add_special, parse_special=body.parse_special)
    if not body.with_pieces:
        return {"tokens": tokens}
    return {"tokens": [{"id": token, "piece": _piece(model, token)} for token in tokens]}


def _piece(model: LanguageModel, token: int) -> str | list[int]:
    data = model.piece(token, special=True)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)


@router.post("/detokenize")
def detokenize_(body: DetokenizeRequest, engine: Engine) -> dict[str, str]:
    """Text of token ids."""
    check_tokens("tokens", body.tokens, engine.model)
    return {"content": detokenize(engine.model, body.tokens)}


@router.post("/apply-template")
def apply_template(body: ApplyTemplateRequest, engine: Engine) -> dict[str, str]:
    """The prompt for a chat."""
    return {"prompt": chat_template.render(engine.model.facts, body.messages, body.chat_template_kwargs)}


@router.post("/completion", response_model=None)
async def completion(body: CompletionRequest, engine: Engine) -> Response:
    """Generate, whole or streamed."""
    loop = asyncio.get_running_loop()
    outcomes: asyncio.Queue[Outcome | None] = asyncio.Queue()
    job = await run_in_threadpool(Job.of, body, engine.model, lambda it: _post(loop, outcomes, it))
    engine.worker.submit(job)
    return Answer(job, outcomes)


def _post(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[T], item: T) -> None:
    loop.call_soon_threadsafe(queue.put_nowait, item)


class Answer(Response):
    """A job's outcomes as one JSON body or as server-sent events."""

    def __init__(self, job: Job, outcomes: asyncio.Queue[Outcome | None]) -> None:
        self._job = job
        self._outcomes = outcomes
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them; however this ends, the job ends too."""
        watch = asyncio.create_task(self._watch(receive))
        try:
            if self._job.request.stream:
                await self._stream(send)
            else:
                await self._send_whole(scope, receive, send)
        finally:
            self._job.cancelled.set()
            watch.cancel()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._job.cancelled.set()
        self._outcomes.put_nowait(None)

    async def _send_whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        outcome = await self._outcomes.get()
        if isinstance(outcome, EngineError):
            await JSONResponse(outcome.body(), outcome.status)(scope, receive, send)
        elif outcome is not None:
            body = outcome.model_dump_json(exclude_none=True)
            await Response(body, media_type="application/json")(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        last = False
        while not last:
            outcome = await self._outcomes.get()
            if outcome is None:
                return
            last = not isinstance(outcome, CompletionChunk)
            await send({"type": "http.response.body", "body": _event(outcome), "more_body": not last})


def _event(outcome: Outcome) -> bytes:
    if isinstance(outcome, CompletionChunk | CompletionResult):
        data = outcome.model_dump_json(exclude_none=True)
    else:
        data = json.dumps(outcome.body())
    return f"data: {data}\n\n".encode()


async def _engine_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, EngineError)
    return JSONResponse(error.body(), error.status)


async def _validation_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    lines = [f"{_field(problem['loc'])}: {problem['msg']}" for problem in error.errors()[:3]]
    message = "; ".join(lines).encode("utf-8", "backslashreplace").decode()
    invalid = InvalidRequest(message)
    return JSONResponse(invalid.body(), invalid.status)


def _field(location: tuple[str | int, ...]) -> str:
    """`redraft_stabilize.old_output[3]`, without the names that pydantic gives to a union's members."""
    names = [part for part in location[1:] if isinstance(part, int) or not (part == "str" or "[" in part)]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in names)
    return path.removeprefix(".") or str(location[0])


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "not_found_error", 503: "unavailable_error"}.get(error.status_code, "invalid_request_error")
    return JSONResponse(
        {"error": {"code": error.status_code, "message": error.detail, "type": kind}}, error.status_code
    )


async def _server_error(_: Request, error: Exception) -> Response:
    return JSONResponse(EngineError(f"internal error: {type(error).__name__}").body(), 500)
