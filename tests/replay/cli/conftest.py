"""The `redraft` command within the test's own process, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from replay.cli.main import commands


@pytest.fixture
def redraft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command with these arguments."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(commands, list(arguments))
