"""The HTTP face: llama-server's routes over one worker.

Invariant: nothing here touches the model's sequences; a handler checks, queues and relays.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine import chat_template, http_errors, openai_api, slots_api
from engine.answer import Answer, NativeFormat
from engine.errors import Unavailable
from engine.generation import check_text, check_tokens
from engine.language_model import LanguageModel, detokenize
from engine.metrics import CountRequests, exposition
from engine.ready import Engine, Ready
from engine.wire import (
    ApplyTemplateRequest,
    CompletionRequest,
    DetokenizeRequest,
    TokenizeRequest,
)

router = APIRouter()
REFUSALS = {
    400: "The request cannot be right; the message starts with the field that is wrong.",
    413: "The body is too large.",
    500: "The engine failed.",
    501: "The engine was started without what this needs.",
    503: "The engine loads its model, is stopping or has too many requests queued: try again later.",
}
_ERROR = {"code": {"type": "integer"}, "message": {"type": "string"}, "type": {"type": "string"}}
_REFUSAL = {"type": "object", "properties": {"error": {"type": "object", "properties": _ERROR}}}


def create_app(ready: Callable[[], Ready]) -> FastAPI:
    """The application; `ready` raises Unavailable until the model is loaded."""
    content = {"application/json": {"schema": _REFUSAL}}
    refusals: dict[int | str, dict[str, object]] = {
        status: {"description": text, "content": content} for status, text in REFUSALS.items()
    }
    app = FastAPI(title="redraft-engine", docs_url=None, redoc_url=None, responses=refusals)
    app.openapi = partial(_document, app)  # type: ignore[method-assign]
    app.state.ready = ready
    app.state.requests = CollectorRegistry()
    app.add_middleware(EndWithServer)
    app.add_middleware(CountRequests, registry=app.state.requests)
    http_errors.install(app)
    for part in (router, slots_api.router, openai_api.router):
        app.include_router(part)
    return app


def _document(app: FastAPI) -> dict[str, object]:
    """The OpenAPI document, without FastAPI's own 422, for which 400 is answered."""
    document = FastAPI.openapi(app)
    for path in document["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    return document


class EndWithServer:
    """Middleware: a request that the server ends, since it stops and has waited long enough, is a 503. And
    whoever hangs up is heard between two messages, though sending need not wait."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        has_started = False

        async def watched(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)
            await asyncio.sleep(0)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:
            if not has_started:
                error = Unavailable("the engine is shutting down")
                await JSONResponse(error.body(), error.status)(scope, receive, send)


@router.get("/health")
async def health(_: Engine) -> dict[str, str]:
    """Answer 200 once the model is loaded."""
    return {"status": "ok"}


@router.get("/props")
async def props(engine: Engine) -> dict[str, object]:
    """What is served, in llama-server's words, and `redraft`: EngineFacts."""
    model, facts = engine.model, engine.model.facts
    defaults = CompletionRequest(prompt="").model_dump(exclude={"prompt", "redraft_stabilize"})
    return {
        "default_generation_settings": {"n_ctx": model.ctx, "params": defaults},
        "total_slots": model.slots,
        "model_path": facts.path,
        "model_alias": facts.alias,
        "chat_template": facts.chat_template,
        "bos_token": facts.bos_token,
        "eos_token": facts.eos_token,
        "build_info": facts.build_info,
        "redraft": engine.facts.model_dump(),
    }


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, engine: Engine) -> Response:
    """Counts since the start, for Prometheus."""
    return Response(exposition(request.app.state.requests, engine), media_type=CONTENT_TYPE_LATEST)


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
def apply_template(body: ApplyTemplateRequest, engine: Engine) -> dict[str, object]:
    """The prompt for a chat, with its token ids if asked."""
    model = engine.model
    prompt = chat_template.render(model.facts, body.messages, body.chat_template_kwargs)
    if not body.redraft_tokens:
        return {"prompt": prompt}
    check_text("messages", prompt, model)
    return {"prompt": prompt, "tokens": model.tokenize(prompt, add_special=True, parse_special=True)}


@router.post("/completion", response_model=None)
async def completion(body: CompletionRequest, engine: Engine) -> Response:
    """Generate, whole or streamed."""
    return Answer(*await engine.start(body), NativeFormat())
