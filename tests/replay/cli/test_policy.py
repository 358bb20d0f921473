from pathlib import Path

import pytest

from judge import GatePolicy
from replay.cli.policy import must_be_writable, policy_of, taken_policy
from replay.errors import SettingsError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_file_in_the_folder_is_the_policy_unless_another_is_named() -> None:
    assert policy_of(None) == GatePolicy()
    Path("redraft.toml").write_text("[gate]\nmin_units = 3\n")
    Path("other.toml").write_text("[gate]\nmin_units = 4\n")
    assert policy_of(None).min_units == 3
    assert policy_of(Path("other.toml")).min_units == 4


def test_arms_are_known_by_their_canonical_names() -> None:
    Path("redraft.toml").write_text('[gate]\narms = ["redraft: floor=1.0, tau=3"]\n')
    assert policy_of(None).arms == ("redraft:tau=3,floor=1",)


@pytest.mark.parametrize(
    ("exit_zero", "strict", "codes"),
    [
        (False, False, [0, 1, 3, 4, 5]),
        (False, True, [0, 1, 1, 4, 5]),
        (True, False, [0, 0, 0, 0, 0]),
        (True, True, [0, 0, 0, 0, 0]),
    ],
)
def test_what_becomes_of_a_verdict_s_exit_code(exit_zero: bool, strict: bool, codes: list[int]) -> None:
    given = {"config": None, "exit_zero": exit_zero, "strict": strict, "other": 1}
    policy, code = taken_policy(given)
    assert (policy, given) == (GatePolicy(), {"other": 1})
    assert [code(number) for number in (0, 1, 3, 4, 5)] == codes


def test_a_file_that_cannot_be_written_is_found_out_before_the_work() -> None:
    must_be_writable(None)
    must_be_writable(Path("new.html"))
    assert list(Path().iterdir()) == []
    Path("store").write_text("")
    Path("link").symlink_to("store")
    for file, ours in ((Path("."), None), (Path("no/such"), None), (Path("link"), Path("store"))):
        with pytest.raises(SettingsError):
            must_be_writable(file, ours)
