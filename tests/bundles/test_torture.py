"""A few points of the two scripts that are run in full by hand."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["torture.py", "--points", "20"], id="kills"),
        pytest.param(["damage.py", "--part", "1/500"], id="damage"),
    ],
)
def test_nothing_acknowledged_is_lost_repeated_or_changed_without_a_word(command: list[str]) -> None:
    script, *options = command
    path = Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, str(path), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 1" in done.stdout
