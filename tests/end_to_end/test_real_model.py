"""The whole path with the default model: nothing scripted, nothing stubbed."""

import json
from typing import Any


def test_smoke_passes_and_exact_mode_is_plain_generation(redraft: Any) -> None:
    done = redraft("run", "builtin:smoke", "--html", "report.html", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["verdict"], summary["units"], summary["attempts"]) == ("pass", 8, 32)
    assert (summary["exact_match"], summary["control_match"]) == (1.0, 1.0)
    assert (summary["canaries"]["passed"], summary["canaries"]["blind"]) == (3, 0)
    assert summary["arms"]["redraft"]["held"] > 0
    assert all(arm["speedup_median"] for arm in summary["arms"].values())
    assert (redraft.folder / "report.html").read_text().startswith("<!doctype html>")
