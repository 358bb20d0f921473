import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

REDRAFT = [sys.executable, "-m", "replay.cli.main"]
FAKE = ["--fake-pass-ms", "0", "--port", "0", "--engine-port", "0"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_both_addresses_and_stops_both(how: signal.Signals) -> None:
    with subprocess.Popen(
        [*REDRAFT, "serve", *FAKE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as serve:
        assert serve.stdout is not None
        urls = dict(serve.stdout.readline().split() for _ in range(2))
        assert httpx.get(f"{urls['engine']}/health").status_code == 200
        assert httpx.get(f"{urls['redraftd']}/healthz").json()["status"] == "ok"
        serve.send_signal(how)
        out, err = serve.communicate(timeout=20)
    assert (serve.returncode, out) == (0, "")
    assert err.splitlines()[-1] == "stopped"
    for url in urls.values():
        with pytest.raises(httpx.ConnectError):
            httpx.get(url)


def test_serve_asks_for_tokens_where_it_has_a_file_of_them(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"sha256:{hashlib.sha256(b'ada').hexdigest()} acme\n")
    with subprocess.Popen(
        [*REDRAFT, "serve", *FAKE, "--tokens-file", str(tokens)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as serve:
        assert serve.stdout is not None
        urls = dict(serve.stdout.readline().split() for _ in range(2))
        section = f"{urls['redraftd']}/v1/sessions/acme/plan/summary"
        ada = {"authorization": "Bearer ada"}
        assert [httpx.get(section, headers=headers).status_code for headers in ({}, ada)] == [401, 404]
        serve.send_signal(signal.SIGINT)
        serve.communicate(timeout=20)


def test_serve_says_which_child_died() -> None:
    with subprocess.Popen(
        [*REDRAFT, "serve", *FAKE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as serve:
        assert serve.stdout is not None
        serve.stdout.readline()
        children = Path(f"/proc/{serve.pid}/task/{serve.pid}/children").read_text().split()
        (engine,) = (
            int(pid) for pid in children if "engine.main" in Path(f"/proc/{pid}/cmdline").read_text()
        )
        os.kill(engine, signal.SIGKILL)
        _, err = serve.communicate(timeout=20)
    assert serve.returncode == 4
    assert "redraft-engine was killed by SIGKILL" in err.splitlines()[-1]
