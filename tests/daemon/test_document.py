"""What docs/daemon.md shows works as it shows it."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from daemon import openapi
from daemon.auth import read_tokens
from daemon.main import main
from daemon.metrics import Metrics

pytestmark = pytest.mark.anyio
DOCUMENT = (Path(__file__).parents[2] / "docs" / "daemon.md").read_text(encoding="utf-8")


def block(language: str, beginning: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    return next(text for text in found if text.startswith(beginning))


def test_every_flag_exists() -> None:
    flags = {name for option in main.params for name in option.opts}
    named = set(re.findall(r"`?(--[a-z][a-z-]+)", DOCUMENT))
    assert "--tokens-file" in named
    assert named <= flags


def test_every_metric_exists() -> None:
    metrics = Metrics()
    for name in ("sessions", "queue_length", "slots", "slots_busy", "recorder_up"):
        metrics.watch(name, "x", lambda: 0)
    exposed = metrics.render().decode()
    named = set(re.findall(r"`(redraftd?_[a-z_]+)`", DOCUMENT))
    assert len(named) > 10
    for name in named:
        assert name.removesuffix("_total") in exposed, name


def test_every_error_code_is_one() -> None:
    table = DOCUMENT.split("## Errors")[1].split("## Tokens")[0]
    codes = re.findall(
        r"`([a-z]+_[a-z_]+|unauthorized|busy)`", "\n".join(re.findall(r"^\| \d.*", table, re.M))
    )
    answers = openapi.refusals(400, 401, 403, 404, 409, 413, 422, 429, 503).values()
    known = {code for answer in answers for code in answer["content"]["application/json"]["examples"]}
    assert known <= set(codes) <= known | {"retry_after_ms"}


def test_the_digest_of_a_token_is_made_as_shown(tmp_path: Path) -> None:
    command = block("", "printf")
    env = {**os.environ, "TOKEN": "ada"}
    digest = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, check=True).stdout
    (tmp_path / "tokens").write_text(f"sha256:{digest.split()[0]} acme\n")
    read_tokens(tmp_path / "tokens").scope(b"Bearer ada").require("acme")


async def test_the_client_is_used_as_shown(make_stack, capsys) -> None:
    stack = await make_stack(answer="A ticket costs 14 euros.")
    code = block("python", "from daemon").replace("http://127.0.0.1:8787", stack.url)
    names: dict = {}
    exec("async def shown(token, minutes):\n" + textwrap.indent(code, "    "), names)
    await names["shown"]("ada", "A ticket costs 14 euros.")
    assert "A ticket costs 14 euros." in capsys.readouterr().out
