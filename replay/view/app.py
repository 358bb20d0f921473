"""The viewer as an ASGI application: routes that read, render and answer.

Invariant: nothing here writes to the store; a page that cannot be shown is a page too, of one line that says
why.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from bundles import BundleError, StoreError, UnknownRef
from judge import IncomparableRuns, JudgeError
from replay.errors import ReplayError
from replay.report.figures import count, interval, percent, times
from replay.report.phrases import TITLES
from replay.view.boundary import Boundary
from replay.view.comparisons import compared
from replay.view.event_stream import EventStream
from replay.view.example import EXAMPLE
from replay.view.library import Library, Reading
from replay.view.pages import RUNS_A_PAGE, UnitsQuery, run_view, stale_of, summary_of, unit_view, units_view
from replay.view.race import Racer
from replay.view.race_values import RaceRequest, request_of

PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
_HERE = Path(__file__).parent


def create_app(library: Library, racer: Racer) -> FastAPI:
    """The viewer of a library; `app.state.streams` are the races that are being watched."""
    streams: set[EventStream] = set()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await racer.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.streams = streams
    app.add_middleware(Boundary)
    app.mount("/static", StaticFiles(directory=_HERE / "static"))
    render = _renderer(library)
    _add_run_pages(app, library, render)
    _add_unit_pages(app, library, render)
    _add_refusals(app, render)

    @app.post("/race")
    async def race(asked: RaceRequest) -> EventStream:
        return EventStream(racer.race(asked), streams)

    return app


Render = Callable[..., HTMLResponse]


def _renderer(library: Library) -> Render:
    environment = Environment(
        loader=PackageLoader("replay.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"times": times, "percent": percent, "count": count, "ms": _ms, "number": _number}
    environment.globals |= {
        "link": link,
        "interval": interval,
        "titles": TITLES,
        "store": str(library.path),
    }

    def render(
        template: str, status: int = 200, reading: Reading | None = None, **values: Any
    ) -> HTMLResponse:
        text = environment.get_template(template).render(reading=reading, **values)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    return render


def _add_run_pages(app: FastAPI, library: Library, render: Render) -> None:
    @app.get("/")
    def runs(page: PageNumber = 1) -> Response:
        with library.reading() as reading:
            found = reading.store.runs_page(limit=RUNS_A_PAGE, offset=(page - 1) * RUNS_A_PAGE)
            shown = [run_view(reading, info) for info in found.runs]
            pages = max(1, -(-found.total // RUNS_A_PAGE))
            return render("runs.html", reading=reading, runs=shown, total=found.total, page=page, pages=pages)

    @app.get("/verdict")
    def verdict(id: str) -> dict[str, str | None]:
        with library.reading() as reading:
            summary, why = summary_of(reading, reading.store.run_info(id))
        if summary is None:
            return {"verdict": None, "why": why}
        return {"verdict": summary.verdict, "why": "; ".join(summary.reasons)}

    @app.get("/run")
    def run(query: Annotated[UnitsQuery, Query()], id: str) -> Response:
        with library.reading() as reading:
            info = reading.store.run_info(id)
            shown, (summary, why) = run_view(reading, info), summary_of(reading, info)
            units = units_view(reading, shown, query)
            return render(
                "run.html", reading=reading, run=shown, summary=summary, why=why, units=units, query=query
            )

    @app.get("/compare")
    def compare(before: str, after: str, across: bool = False) -> Response:
        with library.reading() as reading:
            found = compared(reading, before, after, across=across)
            reason = str(found) if isinstance(found, IncomparableRuns) else None
            return render(
                "compare.html", reading=reading, before=before, after=after, found=found, reason=reason
            )


def _add_unit_pages(app: FastAPI, library: Library, render: Render) -> None:
    @app.get("/unit")
    def unit(run: str, id: str, repeat: Annotated[int, Query(ge=0)] = 0) -> Response:
        with library.reading() as reading:
            info = reading.store.run_info(run)
            shown = unit_view(reading, info, id, repeat)
            return render("unit.html", reading=reading, info=info, view=shown)

    @app.get("/race")
    def race(run: str | None = None, unit: str | None = None) -> Response:
        if run is None or unit is None:
            return render("race.html", asked=EXAMPLE, taken=None)
        with library.reading() as reading:
            info = reading.store.run_info(run)
            (taken,) = reading.store.units(info.bundle_id, [unit])
            asked = request_of(taken, stale_of(reading, info, taken), info.max_tokens)
            return render("race.html", reading=reading, asked=asked, taken=(run, unit))


def _add_refusals(app: FastAPI, render: Render) -> None:
    def refuse(status: int, text: str) -> Response:
        return render("message.html", status, title=HTTPStatus(status).phrase, text=text)

    @app.exception_handler(UnknownRef)
    def unknown(_: Request, error: Exception) -> Response:
        return refuse(404, str(error))

    @app.exception_handler(StoreError)
    def unreadable(_: Request, error: Exception) -> Response:
        return refuse(503, str(error))

    @app.exception_handler(BundleError)
    @app.exception_handler(JudgeError)
    @app.exception_handler(ReplayError)
    def wrong(_: Request, error: Exception) -> Response:
        return refuse(400, str(error))

    @app.exception_handler(RequestValidationError)
    def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][1:])) or "the request"
        return refuse(400, f"{where}: {first['msg']}")

    @app.exception_handler(HTTPException)
    def no_such_page(request: Request, error: HTTPException) -> Response:
        if error.status_code == HTTPStatus.NOT_FOUND:
            return refuse(404, f"there is no page {request.url.path}")
        return refuse(error.status_code, str(error.detail))


def link(path: str, **parameters: object) -> str:
    """A path with its parameters, those that are None left out."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


def _ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"


def _number(value: int) -> str:
    return f"{value:,}"
