"""The steps of examples/github/redraft.yml, taken from the file and run as GitHub's runner runs them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOW = yaml.safe_load((ROOT / "examples" / "github" / "redraft.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["gate"]["steps"]
RUNS = {step["name"]: step["run"] for step in STEPS if "run" in step}
UNIT = {
    "id": "ferry-fare",
    "canary": True,
    "instruction": "What does a day ticket cost?",
    "before": "A day ticket costs 9 euros.",
    "after": "A day ticket costs 14 euros.",
    "expect_new": ["14 euros"],
    "forbid_new": ["9 euros"],
}


@dataclass(frozen=True)
class Job:
    """A checkout in which the workflow's steps are run with its own variables, on a scripted daemon."""

    folder: Path
    daemon: Any

    def write_suite(self, **changes: object) -> None:
        suite = {"suite": "ferry", "units": [{**UNIT, **changes}]}
        (self.folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        bare = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB")}
        environment = bare | WORKFLOW["env"] | {
            "SUITE": "suite.json",
            "OPTIONS": f"--arm redraft --url {self.daemon.url}",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        script = self.folder / "step.sh"
        script.write_text(RUNS[name], encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
        )

    def steps(self) -> subprocess.CompletedProcess[str]:
        """Replays and gates; what the gate says."""
        replayed = self.step("Replay")
        assert replayed.returncode == 0, replayed.stderr
        return self.step("Gate")


@pytest.fixture
def job(tmp_path: Path, daemon: Any, forked: Callable[..., Any]) -> Job:
    """With a baseline of a run in which all was right."""
    job = Job(tmp_path, daemon)
    job.write_suite()
    (tmp_path / "evaluation").mkdir()
    made = forked(
        tmp_path, "run", "suite.json", "--arm", "redraft", "--url", daemon.url, "--store", "b.duckdb"
    )
    assert made.returncode == 0, made.stderr
    written = forked(
        tmp_path, "baseline", "write", "last", WORKFLOW["env"]["BASELINE"], "--store", "b.duckdb"
    )
    assert written.returncode == 0, written.stderr
    return job


def test_nothing_lost_passes_and_leaves_results_and_summary(job: Job) -> None:
    imported = job.step("Import")
    assert (imported.returncode, imported.stderr) == (0, "")
    gated = job.steps()
    assert gated.returncode == 0, gated.stderr
    assert gated.stdout.splitlines() == ["gate: pass", "  no regression in 2 fact checks of redraft"]
    (suites,) = ElementTree.parse(job.folder / "junit.xml").iter("testsuites")
    assert suites.get("failures") == "0"
    assert (job.folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "pass" in (job.folder / "summary.md").read_text(encoding="utf-8")
    kept = next(step for step in STEPS if "upload-artifact" in step.get("uses", ""))["with"]["path"].split()
    assert all((job.folder / name).exists() for name in kept)


def test_a_lost_fact_fails_with_1_and_names_arm_fact_and_unit(job: Job) -> None:
    job.daemon.says = lambda plain, before, now: now if plain else before
    gated = job.steps()
    assert gated.returncode == 1
    assert re.sub(r" \(.*?\)", "", gated.stdout).splitlines() == [
        "gate: regression",
        "  redraft lost critical fact expect-1 of unit ferry-fare",
        "  redraft lost critical fact forbid-1 of unit ferry-fare",
        "  redraft failed canary ferry-fare",
        "  baseline.json: redraft lost critical fact expect-1 of unit ferry-fare against the baseline",
        "  baseline.json: redraft lost critical fact forbid-1 of unit ferry-fare against the baseline",
    ]
    (suites,) = ElementTree.parse(job.folder / "junit.xml").iter("testsuites")
    assert int(suites.get("failures", 0)) > 0


def test_what_plain_generation_loses_too_is_a_regression_against_the_baseline(job: Job) -> None:
    job.daemon.says = lambda plain, before, now: before
    gated = job.steps()
    assert gated.returncode == 1
    assert "baseline.json: plain lost critical fact expect-1 of unit ferry-fare" in gated.stdout


def test_too_little_to_tell_is_3_and_says_what_is_missing(job: Job) -> None:
    (job.folder / "redraft.toml").write_text("[gate]\nmin_units = 8\n", encoding="utf-8")
    gated = job.steps()
    assert gated.returncode == 3
    said, why = gated.stdout.splitlines()
    assert said == "gate: inconclusive"
    assert why.startswith("  units of which plain generation gets a fact right: 1, ")
    assert why.endswith(" asks for 8")


def test_a_baseline_of_an_older_suite_is_1_and_says_what_to_do(job: Job) -> None:
    job.write_suite(after="A day ticket costs 14 euros. Dogs travel free.")
    gated = job.steps()
    assert gated.returncode == 1
    (said,) = (line for line in gated.stdout.splitlines() if "stale" in line)
    assert "the baseline is stale: it was written for bundle" in said
    assert "units or facts have changed since" in said
    assert "if the run is right, write the baseline anew" in said


def test_another_model_is_refused_with_2_and_says_what_differs_and_what_to_do(job: Job) -> None:
    job.daemon.engine["model_fingerprint"] = "another"
    gated = job.steps()
    assert gated.returncode == 2
    assert gated.stdout == ""
    (said,) = gated.stderr.splitlines()
    assert "evaluation/baseline.json is stale for run" in said
    assert "model_fingerprint 'f' then, 'another' now" in said
    assert "--across compares all the same" in said
    assert "redraft baseline write" in said


def test_attempts_that_failed_are_4(job: Job) -> None:
    job.daemon.status = 413
    assert job.steps().returncode == 4


def test_set_up_installs_the_project_and_fetches_the_model_that_is_cached() -> None:
    install, pull = RUNS["Set up"].splitlines()
    assert install == "pip install -c constraints.txt ."
    assert (ROOT / "constraints.txt").exists()
    assert pull == "redraft model pull"
    (cache,) = (step["with"]["path"] for step in STEPS if "actions/cache" in step.get("uses", ""))
    assert cache == "~/.cache/redraft"
