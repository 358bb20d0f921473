"""A viewer over a small store, and over engines with scripted tokens."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from bundles import Store
from replay.stack import Stack, StackOptions, serving
from replay.view.app import create_app
from replay.view.library import Library
from replay.view.race import Racer
from replay.view.server import HOST, Server, bind
from replay.view.service import Service


def quiet(line: str) -> None:
    pass


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of nothing yet."""
    path = tmp_path / "store.duckdb"
    with Store.open(path):
        pass
    return path


@pytest.fixture
def keep(path: Path) -> Callable[..., None]:
    """Puts an evaluated run into the store, judged unless told otherwise."""

    def keep(evaluated, *, judged: bool = True) -> None:
        with Store.open(path) as store:
            evaluated.stored(store)
            if judged:
                store.replace_verdicts(evaluated.run.run_id, evaluated.verdicts())

    return keep


@pytest.fixture
def service_to() -> Callable[[Stack], Service]:
    return lambda stack: Service(stack.url, StackOptions(), quiet, quiet)


@pytest.fixture
def view(path: Path, live: Stack, service_to: Callable[[Stack], Service]) -> Iterator[TestClient]:
    """The viewer of the store, within the test's own process."""
    with Library(path, rest=0) as library:
        app = create_app(library, Racer(service_to(live)))
        with TestClient(app, base_url="http://127.0.0.1:8790", raise_server_exceptions=False) as client:
            yield client


@pytest.fixture(scope="session")
def slow() -> Iterator[Stack]:
    """Engine and daemon that take their time over each token."""
    with serving(StackOptions(fake_pass_ms=15), quiet, quiet) as stack:
        yield stack


@pytest.fixture
def served(path: Path, slow: Stack, service_to: Callable[[Stack], Service]) -> Iterator[str]:
    """The viewer's URL on a real socket, for a real browser."""
    with Library(path, rest=0) as library, bind(0) as listener:
        server = Server(create_app(library, Racer(service_to(slow))))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://{HOST}:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
