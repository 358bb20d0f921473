import json
import logging
import sys

import pytest

from daemon import logs

log = logging.getLogger("daemon.test")


@pytest.fixture
def written(monkeypatch, capsys):
    """What `logs.start` makes of a call, as lines; logging is as before afterwards."""
    root, own = logging.getLogger(), logging.getLogger("daemon")
    before = (root.handlers[:], root.level, own.level)

    def write(form: logs.Format, level: str, call) -> list[str]:
        logs.start(form, level)
        call()
        return capsys.readouterr().err.splitlines()

    yield write
    root.handlers[:], root.level, own.level = before


def test_plain_lines_name_level_event_and_fields(written) -> None:
    (line,) = written("plain", "info", lambda: logs.event(log, "refresh", outcome="done", wall_ms=1.5))
    assert line.split(" ", 1)[1] == "info refresh outcome=done wall_ms=1.5"


def test_json_lines_hold_the_fields(written) -> None:
    (line,) = written("json", "info", lambda: logs.event(log, "refresh", outcome="done", wall_ms=1.5))
    fields = json.loads(line)
    assert fields.pop("time").endswith("+00:00")
    assert fields == {
        **{"level": "info", "logger": "daemon.test", "event": "refresh"},
        **{"outcome": "done", "wall_ms": 1.5},
    }


@pytest.mark.parametrize("form", ["plain", "json"])
def test_no_field_breaks_a_line(written, form: logs.Format) -> None:
    lines = written(form, "info", lambda: logs.event(log, "request", path="/a\r\nERROR b\u2028\x1b[1m\ud800"))
    assert len(lines) == 1


def test_the_level_is_the_daemons_and_libraries_only_warn(written) -> None:
    def both() -> None:
        for name in ("daemon.test", "httpx"):
            for level in (logging.INFO, logging.WARNING):
                logging.getLogger(name).log(level, f"{name} {level}")

    assert [line.split(" ", 2)[2] for line in written("plain", "info", both)] == [
        "daemon.test 20",
        "daemon.test 30",
        "httpx 30",
    ]
    assert len(written("plain", "error", both)) == 1


@pytest.mark.parametrize("form", ["plain", "json"])
def test_an_exceptions_message_is_not_logged(written, form: logs.Format) -> None:
    def fail() -> None:
        try:
            raise KeyError("secret text")
        except KeyError:
            logging.getLogger("library").error("it failed", exc_info=sys.exc_info())

    lines = written(form, "info", fail)
    assert len(lines) == 1
    assert "it failed" in lines[0]
    assert "secret" not in lines[0]
