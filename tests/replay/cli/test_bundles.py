import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bundles import Bundle, Run, Store, read_tables
from replay.cli.main import commands

Invoke = Callable[..., Result]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


@pytest.fixture
def invoke(path: Path) -> Invoke:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(commands, [*arguments, "--store", str(path)])

    return run


@pytest.fixture
def plans(path: Path, make: Any) -> Bundle:
    bundle: Bundle = make.bundle([make.unit("a"), make.unit("b")], "plans")
    with Store.open(path) as store:
        store.add_bundle(bundle)
    return bundle


def names(invoke: Invoke) -> list[str]:
    return [info["name"] for info in json.loads(invoke("bundles", "list", "--json").stdout)]


def test_a_bare_command_lists(plans: Bundle, invoke: Invoke) -> None:
    (info,) = json.loads(invoke("bundles", "--json").stdout)
    assert info == {
        "bundle_id": plans.bundle_id,
        "name": "plans",
        "sessions": len(plans.sessions),
        "units": 2,
    }
    assert invoke("bundles").stdout == invoke("bundles", "list").stdout
    assert plans.bundle_id[:12] in invoke("bundles").stdout


def test_options_before_a_part_of_it_are_refused(plans: Bundle, path: Path) -> None:
    result = CliRunner().invoke(commands, ["bundles", "--store", str(path), "show", "plans"])
    assert result.exit_code == 2
    assert "put options after `show`" in result.stderr


def test_show_counts_what_is_in_it(plans: Bundle, invoke: Invoke) -> None:
    found = json.loads(invoke("bundles", "show", "plans", "--json").stdout)
    assert (found["bundle_id"], found["units"], found["events"], found["runs"]) == (plans.bundle_id, 2, 0, [])
    assert "2 rederive" in invoke("bundles", "show", "plans").stdout
    result = invoke("bundles", "show", "nix")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no bundle 'nix' in the store" in result.stderr


def test_show_lists_the_units_as_text_alone(plans: Bundle, invoke: Invoke) -> None:
    shown = invoke("bundles", "show", "plans", "--units").stdout
    assert [part.splitlines()[0] for part in shown.split("\n\n")] == ["a", "b"]
    both = invoke("bundles", "show", "plans", "--units", "--json")
    assert (both.exit_code, both.stdout) == (2, "")


def test_verify_names_what_is_damaged_and_goes_on(plans: Bundle, invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("export", "plans", str(tmp_path / "x")).exit_code == 0
    assert invoke("bundles", "verify").stdout == f"{plans.bundle_id} plans: whole, 2 units\n"
    (tmp_path / "x" / "units.arrow").write_bytes(b"")
    result = invoke("bundles", "verify", str(tmp_path / "x"), "plans")
    assert result.exit_code == 4
    assert "units.arrow: damaged" in result.stderr
    assert "1 of 2 not whole" in result.stderr
    assert "plans: whole" in result.stdout
    result = CliRunner().invoke(commands, ["bundles", "verify", str(tmp_path / "x"), "--store", "nowhere"])
    assert (result.exit_code, "units.arrow: damaged" in result.stderr) == (4, True)


def test_verify_of_an_empty_store_says_so(path: Path, invoke: Invoke) -> None:
    Store.open(path).close()
    result = invoke("bundles", "verify")
    assert (result.exit_code, result.stderr) == (0, "no bundle to verify\n")


def test_a_snapshot_holds_the_bundles(plans: Bundle, invoke: Invoke, tmp_path: Path) -> None:
    assert "1 bundle in" in invoke("bundles", "snapshot", str(tmp_path / "copy.duckdb")).stdout
    with Store.open(tmp_path / "copy.duckdb", create=False, read_only=True) as store:
        assert store.bundle("plans") == plans


def test_a_bundle_with_runs_is_removed_only_by_force(plans: Bundle, invoke: Invoke, path: Path) -> None:
    with Store.open(path) as store:
        store.create_run(Run("r1", plans.bundle_id, ("a",), ("plain",), 1, 0, 9, "2025-01-02T03:04:05Z"))
    result = invoke("bundles", "rm", "plans")
    assert result.exit_code == 4
    assert "run r1 rests on it" in result.stderr
    assert names(invoke) == ["plans"]
    assert invoke("bundles", "rm", "plans", "--force").stdout == f"{plans.bundle_id} plans: removed\n"
    with Store.open(path) as store:
        assert (store.bundles(), store.runs()) == ([], [])


def test_merged_parts_are_what_was_split(plans: Bundle, invoke: Invoke) -> None:
    assert invoke("bundles", "split", "plans", "--share", "0.5").exit_code == 0
    assert names(invoke) == ["plans", "plans a", "plans b"]
    merged = invoke("bundles", "merge", "plans a", "plans b", "--name", "again")
    assert merged.stdout == f"{plans.bundle_id} again: 2 units (was there already)\n"
    assert "plans/a" not in merged.stdout
    assert invoke("bundles", "merge", "plans a", "plans b", "--prefix").exit_code == 0
    assert "plans a+plans b" in names(invoke)
    assert invoke("bundles", "split", "plans", "--by", "category").exit_code == 0


@pytest.mark.parametrize("options", [[], ["--by", "category", "--share", "0.5"], ["--share", "1"]])
def test_split_is_told_how(options: list[str], plans: Bundle, invoke: Invoke) -> None:
    assert invoke("bundles", "split", "plans", *options).exit_code == 2


def test_redact_says_what_it_did(path: Path, make: Any, invoke: Invoke, tmp_path: Path) -> None:
    bundle = make.bundle([make.unit("a", instruction="Ask ava@acme.io for it.")], "plans")
    with Store.open(path) as store:
        store.add_bundle(bundle)
    (tmp_path / "key").write_bytes(b"k" * 16)
    arguments = [
        "bundles",
        "redact",
        "plans",
        "--pattern",
        r"\w+@\w+\.\w+",
        "--key-file",
        str(tmp_path / "key"),
    ]
    first = invoke(*arguments, "--name", "public")
    assert first.exit_code == 0, first.stderr
    assert "replaced 0 tenants, 0 documents and 1 other value in 1 place" in first.stdout
    assert "still in the store" in first.stderr
    assert "(was there already)" in invoke(*arguments).stdout
    assert "no --key-file" in invoke("bundles", "redact", "plans").stderr
    with Store.open(path) as store:
        assert "acme" not in repr(store.bundle("public"))
    (tmp_path / "key").write_bytes(b"short\n")
    assert "a key has 16 bytes or more" in invoke(*arguments).stderr


def test_an_exported_folder_is_the_bundle(plans: Bundle, invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("export", "plans", str(tmp_path / "x"), "--format", "parquet")
    assert result.stdout == f"{plans.bundle_id} plans: 2 units in {tmp_path / 'x'} (parquet)\n"
    assert read_tables(tmp_path / "x") == plans
