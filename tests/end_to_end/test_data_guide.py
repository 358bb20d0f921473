"""What `docs/data.md` and `docs/suites.md` show works as they show it."""

import json
import re
import shlex
import subprocess
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from bundles import Change, Journal, Recording, SectionState, Source, Store, read_suite
from replay.cli.main import commands

DOCS = Path(__file__).parent.parent.parent / "docs"
GUIDE = (DOCS / "data.md").read_text(encoding="utf-8")
SUITES = (DOCS / "suites.md").read_text(encoding="utf-8")
PROSE = "The service keeps its settings in one file, and reads it again whenever the file has changed. " * 3


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def record(folder: Path) -> None:
    """A journal of two sections that were opened, edited and refreshed."""
    with Journal.open(folder) as journal:
        recording = Recording.of(journal)
        for tenant, (revision, kind, day, text) in product(
            ("acme", "zeta"),
            [
                (1, "opened", "Friday", "On Friday."),
                (2, "edited", "Monday", "On Friday."),
                (3, "refreshed", "Monday", "On Monday."),
            ],
        ):
            state = SectionState("When?", (Source("plan", f"Launch on {day}."),), text)
            change = Change(f"{tenant}/plan/intro", kind, revision, "2025-01-02T03:04:05Z", state)
            recording.submit(change).result()


def write_sources(folder: Path) -> None:
    """A repository, a log and a journal of the names that the guide gives them."""
    record(folder / "prod.journal")
    guides = folder / "guides"
    (guides / "docs").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", guides], check=True)
    for rows in (500, 600, 700):
        for name in ("README.md", "docs/limits.md"):
            (guides / name).write_text(f"# {name}\n\nAt most {rows} rows of {name} are kept. {PROSE}\n")
        subprocess.run(["git", "-C", guides, "add", "."], check=True)
        who = ["-c", "user.name=A", "-c", "user.email=a@x"]
        subprocess.run(["git", "-C", guides, *who, "commit", "--quiet", "-m", "c"], check=True)
    (call,) = blocks(GUIDE, "json")
    lines = [json.dumps(json.loads(call.replace("Friday", day))) for day in ("Friday", "Monday")]
    (folder / "log.jsonl").write_text("\n".join(lines))


def test_the_commands_of_the_guide_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sources(tmp_path)
    lines = [line for block in blocks(GUIDE, "sh") for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        if line.startswith("redraft "):
            done = CliRunner().invoke(commands, shlex.split(line)[1:])
            assert done.exit_code == 0, (line, done.stderr)
        else:
            subprocess.run(line, shell=True, check=True)
    with Store.open(Path("redraft.duckdb")) as store:
        names = {info.name: info.units for info in store.bundles()}
    assert (names["guides"], names["log"], names["public"]) == (4, 1, 4)
    assert (names["prod.journal"], names["prod.journal acme"], names["prod.journal zeta"]) == (2, 1, 1)
    assert {"smoke", "smoke value"} <= names.keys()
    assert "guides" not in Path("public.json").read_text(encoding="utf-8")


def test_the_facts_of_the_suite_page_are_some(tmp_path: Path) -> None:
    (facts,) = (block for block in blocks(SUITES, "toml") if "facts = [" in block)
    unit = '[[units]]\nid = "a"\ninstruction = "Sum up."\nbefore = "x"\nafter = "y"\n'
    (tmp_path / "s.toml").write_text(unit + facts)
    (found,) = read_suite(tmp_path / "s.toml", strict=True).bundle.units
    assert [fact.matcher for fact in found.facts] == ["number", "text", "near", "all"]
