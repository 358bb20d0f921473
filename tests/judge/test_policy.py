from pathlib import Path

import pytest

from judge import GatePolicy, PolicyError


def test_policy_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(
        '[gate]\nversion = 1\ncanaries = "report"\nmin_units = 5\narms = ["redraft"]\n'
        "allowed_regressions = { critical = 0, advisory = 2 }\n"
    )
    assert GatePolicy.from_toml(path) == GatePolicy(
        allowed_regressions={"critical": 0, "advisory": 2}, canaries="report", min_units=5, arms=("redraft",)
    )
    path.write_text("\ufeff[gate]\n", encoding="utf-8")
    assert GatePolicy.from_toml(path) == GatePolicy()


def test_every_key_of_a_policy(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(
        "[gate]\nmax_regressions_over_control = 2\nmargin = 0.03\nconfidence = 0.9\npinned_survival = 1\n"
        'min_speedup = { wall = 1.2, passes = 2 }\nrequire = ["calibrated", "comparable"]\n'
    )
    assert GatePolicy.from_toml(path) == GatePolicy(
        max_regressions_over_control=2,
        margin=0.03,
        confidence=0.9,
        pinned_survival=1,
        min_speedup={"wall": 1.2, "passes": 2},
        require=("calibrated", "comparable"),
    )


def test_a_bare_speedup_is_of_wall_time(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text("[gate]\nmin_speedup = 1.5\n")
    assert GatePolicy.from_toml(path).min_speedup == {"wall": 1.5}


def test_a_file_with_other_tables_needs_no_gate(tmp_path: Path) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text("[engine]\nthreads = 2\n")
    assert GatePolicy.from_toml(path) == GatePolicy()


@pytest.mark.parametrize(
    ("policy", "limits"),
    [
        pytest.param(GatePolicy(), {"critical": 0, "supporting": 0}, id="default"),
        pytest.param(
            GatePolicy(allowed_regressions={"critical": 2, "advisory": 9}),
            {"critical": 2, "supporting": 0, "advisory": 9},
            id="what-is-left-out-keeps-its-limit",
        ),
        pytest.param(GatePolicy(margin=0.05), {}, id="a-margin-limits-in-its-place"),
        pytest.param(GatePolicy(max_regressions_over_control=0), {}, id="the-control-limits-in-its-place"),
        pytest.param(
            GatePolicy(margin=0.05, allowed_regressions={"critical": 0}),
            {"critical": 0},
            id="margin-and-count",
        ),
    ],
)
def test_limits(policy: GatePolicy, limits: dict[str, int]) -> None:
    assert policy.limits == limits


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "no [gate] table", id="no-table"),
        pytest.param("gate = 1", "gate is no table", id="not-a-table"),
        pytest.param("[gates]\nmin_units = 9", "no [gate] table, only 'gates'", id="mistyped-table"),
        pytest.param("[gate\n", "not TOML: ", id="broken"),
        pytest.param(
            "[gate]\nmin_unit = 2", "[gate] 'min_unit': unknown key; known are version, ", id="unknown-key"
        ),
        pytest.param(
            "[gate]\nmin_units = 0", "[gate] min_units: 0 is not a whole number from 1 to", id="zero"
        ),
        pytest.param(
            "[gate]\nmin_units = 0x" + "f" * 9_999,
            "[gate] min_units: a huge number is not a whole number from 1",
            id="huge-hexadecimal",
        ),
        pytest.param("[gate]\nmin_units = 1" + "0" * 9_999, "not TOML: Exceeds the limit", id="huge"),
        pytest.param("[gate]\nx = " + "[" * 9_999, "nested too deeply for a policy", id="deep"),
        pytest.param(
            '[gate]\n"\\n\\u001b" = 1', r"[gate] '\n\x1b': unknown key; known are", id="key-of-two-lines"
        ),
        pytest.param("[gate]\n" + "x" * 9_999 + " = 1", "[gate] 'xxxxx", id="long-key"),
        pytest.param(
            '[gate.allowed_regressions]\n"a\\nb" = 1', r"[gate] allowed_regressions: 'a\nb' is", id="lines"
        ),
        pytest.param("[gate]\nversion = true", "[gate] version: True is not 1", id="version-bool"),
        pytest.param("[gate]\nmin_units = true", "[gate] min_units: True is not a whole number", id="bool"),
        pytest.param('[gate]\ncanaries = "some"', "[gate] canaries: 'some' is neither", id="canaries"),
        pytest.param("[gate]\ncanaries = []", "[gate] canaries: [] is neither", id="canaries-type"),
        pytest.param("[gate]\nversion = 2", "[gate] version: 2 is not 1", id="version"),
        pytest.param('[gate]\narms = "redraft"', "[gate] arms: give a list", id="arms-type"),
        pytest.param("[gate]\narms = [1]", "[gate] arms: give a list", id="arms-item"),
        pytest.param('[gate]\narms = ["control"]', "[gate] arms: 'control' is what others", id="control"),
        pytest.param(
            "[gate]\nallowed_regressions = 1", "[gate] allowed_regressions: give a table", id="number"
        ),
        pytest.param(
            "[gate.allowed_regressions]\nhigh = 1",
            "[gate] allowed_regressions: 'high' is unknown, use critical, ",
            id="severity",
        ),
        pytest.param(
            "[gate.allowed_regressions]\ncritical = -1",
            "[gate] allowed_regressions.critical: -1 is not a whole number from 0 to",
            id="negative",
        ),
        pytest.param("[gate]\nmargin = 2", "[gate] margin: 2 is not a number from 0 to 1", id="margin"),
        pytest.param("[gate]\nmargin = nan", "[gate] margin: nan is not a number from", id="nan"),
        pytest.param('[gate]\nmargin = "5%"', "[gate] margin: '5%' is not a number", id="margin-type"),
        pytest.param("[gate]\nconfidence = 1.0", "[gate] confidence: 1.0 is not a number", id="confidence"),
        pytest.param(
            "[gate]\nmax_regressions_over_control = -1",
            "[gate] max_regressions_over_control: -1 is not a whole number",
            id="over-control",
        ),
        pytest.param("[gate]\nmin_speedup = true", "[gate] min_speedup.wall: True is not", id="speedup-bool"),
        pytest.param(
            "[gate]\nmin_speedup = { rows = 2 }",
            "[gate] min_speedup: 'rows' is unknown, use wall, ms_per_token, passes",
            id="metric",
        ),
        pytest.param('[gate]\nmin_speedup = "2x"', "[gate] min_speedup: give a table", id="speedup-type"),
        pytest.param("[gate]\npinned_survival = 90", "[gate] pinned_survival: 90 is not a", id="pinned"),
        pytest.param(
            '[gate]\nrequire = ["green"]', "[gate] require: 'green' is unknown, use calibrated,", id="require"
        ),
        pytest.param('[gate]\nrequire = "comparable"', "[gate] require: give a list", id="require-type"),
        pytest.param("[gate]\nrequire = [[]]", "[gate] require: give a list", id="require-item"),
    ],
)
def test_a_bad_policy_is_one_line_that_names_file_and_key(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "redraft.toml"
    path.write_text(content)
    with pytest.raises(PolicyError) as caught:
        GatePolicy.from_toml(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 350


def test_an_unreadable_policy_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="missing toml: No such file"):
        GatePolicy.from_toml(tmp_path / "missing toml")
    with pytest.raises(PolicyError, match=r"'x\\x00': no path holds a NUL"):
        GatePolicy.from_toml(Path("x\0"))
    (tmp_path / "latin toml").write_bytes(b"[gate]\n# caf\xe9\n")
    with pytest.raises(PolicyError, match="latin toml: not TOML: "):
        GatePolicy.from_toml(tmp_path / "latin toml")
