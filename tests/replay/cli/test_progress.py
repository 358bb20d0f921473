import sys
from itertools import count
from typing import Any

import pytest

from replay.cli.progress import Lines, progress


def test_a_line_is_written_for_each_tenth(make: Any) -> None:
    told: list[str] = []
    lines = Lines(80, told.append, clock=count(0.0, 0.5).__next__)
    for _ in range(80):
        lines.tell(make.attempt())
    assert len(told) == 10
    assert told[0].startswith("8/80 attempts, ")
    assert told[-1].startswith("80/80 attempts, ")
    assert told[-1].endswith(", 0 s left")


def test_few_attempts_are_told_one_by_one_and_failures_always(make: Any) -> None:
    told: list[str] = []
    lines = Lines(3, told.append, clock=lambda: 0.0)
    lines.tell(make.attempt())
    lines.tell(make.attempt("u7", "redraft", status="timeout", error="no answer"))
    assert told == ["1/3 attempts, 0 s left", "u7 redraft: timeout: no answer", "2/3 attempts, 0 s left"]


def test_a_terminal_gets_a_bar(
    make: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress(2) as tell:
        tell(make.attempt())
        tell(make.attempt())
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert "/s" in shown.err
    assert shown.out == ""
