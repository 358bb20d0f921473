"""A language model behind an OpenAI-compatible URL, asked to judge.

Invariant: what may pass (429, 5xx, a lost or late answer) is tried again a bounded number of times, no sooner
than the server says, and is then a reply that failed; what cannot pass (no such host, key or model) is a
ServiceDown. The key is sent to that URL alone and stands in no message.
"""

import asyncio
import email.utils
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel, Field, ValidationError

from judge import Prompt, Reply
from replay.errors import ServiceDown, ServiceError, SettingsError

KEY_VARIABLE = "REDRAFT_JUDGE_KEY"
BACK_OFF_S = (1.0, 2.0, 4.0)
LONGEST_WAIT_S = 60.0
MOST_FAILURES = 8
"""Questions in a row without a reply, after which the judge counts as gone."""
CONNECT_S = 10.0
_PASSING, _HOPELESS = {408, 409, 425, 429}, {401, 403, 404, 405}
# What some servers refuse to be told, and the name under which they take it, if any.
_OPTIONAL: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "response_format": None,
}
Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which judge, and how it is asked. SettingsError where that cannot be right."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    concurrency: int = 8
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        """Check what a request could not be made of."""
        if not self.key.isascii() or not self.key.isprintable():
            raise SettingsError(f"{KEY_VARIABLE}: a key is of printable ASCII characters only")
        if not self.model.strip():
            raise SettingsError("--judge-model: name a model")
        base_url(self.url)


def base_url(url: str) -> str:
    """The URL that `/chat/completions` is under, `/v1` where it has no path; SettingsError for no URL."""
    try:
        parsed = httpx.URL(url.strip().rstrip("/").removesuffix("/chat/completions"))
    except httpx.InvalidURL as error:
        raise SettingsError(f"--judge-url: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo or parsed.query:
        raise SettingsError(
            "--judge-url: give http://HOST or https://HOST, a port and a path, but no user and no query;"
            f" a key goes into {KEY_VARIABLE}"
        )
    return str(parsed).rstrip("/") + ("/v1" if parsed.path == "/" else "")


@dataclass(frozen=True, slots=True)
class JudgeIdentity:
    """What a server says of the model that it answers with."""

    names: frozenset[str]
    fingerprint: str | None


@dataclass(slots=True)
class Usage:
    """What a client has used: requests answered, tries repeated, tokens sent and received."""

    requests: int = 0
    repeated: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0

    def cost(self, price_in: float, price_out: float) -> float:
        """In the currency of the prices, which are for a million tokens each."""
        return (self.prompt_tokens * price_in + self.reply_tokens * price_out) / 1e6


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Tokens | None = None


class JudgeClient:
    """Asks one model; use as an async context manager. Calls beyond the concurrency wait their turn."""

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        pause: Pause = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings, self.usage = settings, Usage()
        self._base, self._pause = base_url(settings.url), pause
        self._turn = asyncio.Semaphore(settings.concurrency)
        self._failures = 0
        self._refused: set[str] = set()
        self._http = httpx.AsyncClient(
            headers={"authorization": f"Bearer {settings.key}"} if settings.key else {},
            timeout=httpx.Timeout(settings.timeout_s, connect=CONNECT_S, pool=None),
            trust_env=httpx.URL(self._base).host not in ("127.0.0.1", "localhost", "::1"),  # proxies
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def __call__(self, prompt: Prompt) -> Reply:
        """One reply, whatever it is worth. ServiceDown where no more is to be expected."""
        async with self._turn:
            return await self._retried(prompt)

    async def identity(self) -> JudgeIdentity:
        """What the server says of itself, as far as it does; ServiceDown where none answers."""
        listed = await self._told(f"{self._base}/models")
        props = await self._told(self._base.removesuffix("/v1") + "/props")
        models = listed.get("data")
        served = [str(model.get("id")) for model in models] if isinstance(models, list) else []
        facts = props.get("redraft")
        fingerprint = facts.get("model_fingerprint") if isinstance(facts, dict) else None
        alone = served if len(served) == 1 else []  # whatever it is asked for, it answers with this one
        alias = [str(props["model_alias"])] if "model_alias" in props else []
        return JudgeIdentity(frozenset([self.settings.model, *alone, *alias]), fingerprint)

    async def _told(self, url: str) -> dict[str, Any]:
        try:
            answer = await self._http.get(url)
        except httpx.HTTPError as error:
            raise ServiceDown(f"no judge answers at {url}: {_said(error)}") from error
        if answer.status_code in (401, 403):
            raise ServiceDown(self._refusal(answer))
        try:
            found = answer.json() if answer.is_success else {}
        except ValueError:
            found = {}
        return found if isinstance(found, dict) else {}

    async def _retried(self, prompt: Prompt) -> Reply:
        pauses = iter(BACK_OFF_S)
        while True:
            try:
                reply = await self._asked(prompt)
            except ServiceError as error:
                wait_s = max(next(pauses, math.inf), error.retry_after_s)
                if not error.retryable:
                    return Reply(failure=str(error))
                if wait_s > LONGEST_WAIT_S:
                    return self._given_up(str(error))
            else:
                self._failures = 0
                return reply
            self.usage.repeated += 1
            await self._pause(wait_s)

    def _given_up(self, failure: str) -> Reply:
        self._failures += 1
        if self._failures == MOST_FAILURES:
            raise ServiceDown(f"the judge gave no reply {MOST_FAILURES} times in a row: {failure}")
        return Reply(failure=failure)

    async def _asked(self, prompt: Prompt) -> Reply:
        url = f"{self._base}/chat/completions"
        body = self._body(prompt)
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                answer = await self._http.post(url, json=body)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise ServiceError(
                f"{url}: no answer in {self.settings.timeout_s:g} s", retryable=True
            ) from error
        except httpx.HTTPError as error:
            raise ServiceError(f"{url}: {_said(error)}", retryable=True) from error
        if answer.status_code != 200:
            if (name := _refused_option(answer)) in body:
                self._refused.add(name)
                return await self._asked(prompt)
            raise self._error(answer)
        return self._reply(answer)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        schema = {"name": prompt.name, "strict": True, "schema": prompt.schema}
        optional = {
            "max_tokens": prompt.max_tokens,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        body: dict[str, Any] = {"model": self.settings.model, "messages": messages}
        for name, value in optional.items():
            spelt = _OPTIONAL[name] if name in self._refused else name
            if spelt is not None:
                body[spelt] = value
        return body

    def _reply(self, answer: httpx.Response) -> Reply:
        try:
            completion = _Completion.model_validate_json(answer.content)
        except ValidationError as error:
            raise ServiceError(f"{answer.url}: no chat completion: {_said(error)}") from error
        self.usage.requests += 1
        if completion.usage:
            self.usage.prompt_tokens += completion.usage.prompt_tokens
            self.usage.reply_tokens += completion.usage.completion_tokens
        message = completion.choices[0].message
        return Reply(
            text=message.content or "",
            finish_reason=completion.choices[0].finish_reason or "",
            refusal=message.refusal or "",
        )

    def _error(self, answer: httpx.Response) -> ServiceError | ServiceDown:
        if answer.status_code in _HOPELESS:
            return ServiceDown(self._refusal(answer))
        passing = answer.status_code in _PASSING or answer.status_code >= 500
        return ServiceError(self._refusal(answer), retryable=passing, retry_after_s=_retry_after_s(answer))

    def _refusal(self, answer: httpx.Response) -> str:
        said = " ".join(answer.text.split())
        if self.settings.key:
            said = said.replace(self.settings.key, "(the key)")
        return f"{answer.url}: {answer.status_code} {said[:300]}"


def _refused_option(answer: httpx.Response) -> str:
    """The parameter that the server does not know or does not take with this value; empty for none."""
    try:
        error = answer.json()["error"]
        if answer.status_code == 400 and error["code"] in ("unsupported_parameter", "unsupported_value"):
            name = str(error["param"]).partition(".")[0]
            return name if name in _OPTIONAL else ""
    except (ValueError, TypeError, KeyError):
        pass
    return ""


def _retry_after_s(answer: httpx.Response) -> float:
    """Seconds that the server asks to wait, given as such or as a date; 0 where it does not."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    date = email.utils.parsedate_tz(value)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
