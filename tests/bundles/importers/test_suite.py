import json
from pathlib import Path
from typing import Any

import pytest

from bundles import EmptySuite, Fact, Session, Source, SuiteError, read_suite

DATA = Path(__file__).parents[2] / "data"

FLAT: dict[str, Any] = {
    "id": "a",
    "category": "value",
    "question": "Summarise.",
    "context_old": "On Friday.",
    "context_new": "On Monday.",
    "expect_new": ["Monday"],
    "forbid_new": ["Friday"],
    "canary": True,
    "source": {"repo": "x/y", "licence": "MIT"},
}
RICH = """
suite = "launch plans"

[[units]]
id = "a"
instruction = "Summarise."
before = {plan = "On Friday.", team = "Ava\\u0000."}
after = [{name = "plan", text = "On Monday."}, {name = "team", text = "Ava."}]
expect_new = ["Monday"]

[[units.edits]]
id = "a-revised"
kind = "revise"
after = {plan = "On Monday.", team = "Ava."}
edited = '''
On Monday,
says Ava.'''
"""
YAML = """
suite: launch plans
units:
- id: a
  instruction: Summarise.
  before: {plan: On Friday., team: "Ava\\0."}
  after: [{name: plan, text: On Monday.}, {name: team, text: Ava.}]
  expect_new: Monday
  edits:
  - id: a-revised
    kind: revise
    after: {plan: On Monday., team: Ava.}
    edited: |-
      On Monday,
      says Ava.
"""


def line(**changes: Any) -> str:
    return json.dumps({key: value for key, value in (FLAT | changes).items() if value is not ...})


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


class TestFormats:
    def test_real_edits(self) -> None:
        suite = read_suite(DATA / "real-edits-sample.jsonl")
        assert suite.skipped == ()
        assert suite.bundle.name == "real-edits-sample"
        assert [unit.category for unit in suite.bundle.units].count("real_value") == 2
        assert {unit.attribution["licence"] for unit in suite.bundle.units} == {
            "BSD-3-Clause",
            "MIT",
            "Apache-2.0",
        }
        unit = suite.bundle.units[0]
        assert unit.unit_id == "a-starlette-b0854b6f"
        assert unit.facts == (Fact("expect-1", "expect", ("307",)), Fact("forbid-1", "forbid", ("302",)))
        assert "302" in unit.sources_before[0].text

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            pytest.param("s.jsonl", line(), id="jsonl"),
            pytest.param("s.JSONL", "\n" + line() + "\r\n\r\n", id="blank lines and CRLF"),
            pytest.param("s.jsonl", b"\xef\xbb\xbf" + line().encode(), id="byte order mark"),
            pytest.param("s.json", f"[{line()}]", id="list"),
            pytest.param("x.json", f'\ufeff{{"suite": "s",\r\n "units": [{line()}]}}', id="object"),
        ],
    )
    def test_same_unit_from_every_form(self, name: str, content: str | bytes, tmp_path: Path) -> None:
        suite = read_suite(write(tmp_path, name, content))
        assert suite.bundle.name == "s"
        assert suite.bundle.sessions == (Session("a", "suite"),)
        (unit,) = suite.bundle.units
        assert (unit.unit_id, unit.session_id, unit.kind) == ("a", "a", "rederive")
        assert unit.sources_after == (Source("document", "On Monday."),)
        assert unit.canary
        assert unit.attribution == {"repo": "x/y", "licence": "MIT"}

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_toml_with_several_edits_of_a_session(self, newline: str, tmp_path: Path) -> None:
        suite = read_suite(write(tmp_path, "s.toml", "\ufeff" + RICH.replace("\n", newline)))
        assert suite.bundle.name == "launch plans"
        assert suite.bundle.sessions == (Session("a", "suite"),)
        first, second = suite.bundle.units
        assert first.sources_before == (Source("plan", "On Friday."), Source("team", "Ava\0."))
        assert second.sources_before == first.sources_after
        assert (second.unit_id, second.session_id, second.kind) == ("a-revised", "a", "revise")
        assert second.edited == "On Monday,\nsays Ava."

    def test_yaml_gives_what_toml_gives(self, tmp_path: Path) -> None:
        toml = read_suite(write(tmp_path, "s.toml", RICH))
        yaml = read_suite(write(tmp_path, "s.yaml", YAML))
        assert yaml.bundle == toml.bundle

    def test_sessions_are_told_apart_and_described(self, tmp_path: Path) -> None:
        sessions = [{"session_id": "s", "origin": "git", "tenant": "acme"}, {"session_id": "unused"}]
        units = [
            json.loads(line(session="s")),
            json.loads(line(id="b", session="s")),
            json.loads(line(id="c")),
        ]
        document = json.dumps({"$schema": "x", "exported_from": "y", "sessions": sessions, "units": units})
        bundle = read_suite(write(tmp_path, "s.json", document)).bundle
        described = (Session("s", "git", "acme"), Session("unused", "suite"))
        assert bundle.sessions == (*described, Session("c", "suite"))
        assert [unit.session_id for unit in bundle.units] == ["s", "s", "c"]

    def test_id_of_the_bundle_does_not_hang_on_order_name_or_format(self, tmp_path: Path) -> None:
        one = read_suite(write(tmp_path, "one.jsonl", line() + "\n" + line(id="b")))
        two = read_suite(write(tmp_path, "two.json", f"[{line(id='b')}, {line()}]"))
        assert one.bundle.bundle_id == two.bundle.bundle_id

    def test_line_of_eight_megabytes(self, tmp_path: Path) -> None:
        text = "Zeile\u2028 ü\0 " * 1_000_000
        suite = read_suite(write(tmp_path, "s.jsonl", line(context_new=text)))
        assert suite.bundle.units[0].sources_after[0].text == text


BROKEN = [
    pytest.param("{", "not JSON: Expecting property name", id="cut off"),
    pytest.param("hello", "not JSON: Expecting value (column 1)", id="not JSON"),
    pytest.param(b'{"id": "\xff"}', "not UTF-8: byte 0xff", id="not UTF-8"),
    pytest.param('{"id": NaN}', "not JSON: NaN is not a JSON value", id="NaN"),
    pytest.param('{"max_tokens": 1' + "0" * 5_000 + "}", "not JSON: Exceeds the limit", id="huge number"),
    pytest.param("[" * 100_000, "nested too deeply", id="deep"),
    pytest.param("[]", "unit: must be an object, not []", id="list"),
    pytest.param('{"id": "a", "id": "b"}', "key 'id' is given twice", id="key twice"),
    pytest.param(line(id=...), "unit: `id` is missing", id="no id"),
    pytest.param(line(id=7), "unit: `id` must be a text, not 7", id="number for id"),
    pytest.param(line(id="\n"), r"unit id '\n' must be one line", id="blank id"),
    pytest.param(line(), "unit 'a': the id is taken, see ", id="id twice"),
    pytest.param(
        line(id="b", edits=[{"id": "a", "after": "x"}]), "unit 'a': the id is taken", id="id of an edit twice"
    ),
    pytest.param(
        line(id="b", context_new=...), "unit 'b': `after` or `context_new` is missing", id="no after"
    ),
    pytest.param(line(id="b", context_new=None), "unit 'b': `after` or `context_new` is missing", id="null"),
    pytest.param(line(id="b", question=" "), "unit 'b': instruction is empty", id="blank question"),
    pytest.param(
        line(id="b", expected=["x"]), "unit 'b': unknown key 'expected', known are: after, ", id="unknown key"
    ),
    pytest.param(
        line(id="b", forbid_new=[" "]), "unit 'b', fact 'forbid-1': a value is blank", id="blank value"
    ),
    pytest.param(
        line(id="b", expect_new=[], forbid_new=[]), "unit 'b': a canary needs", id="canary without fact"
    ),
    pytest.param(
        line(id="b", context_new="\ud800"),
        r"source 'document' holds half a surrogate pair (\ud800)",
        id="surrogate",
    ),
    pytest.param(
        line(id="b", facts=[{"expect": "7", "matcher": "fuzzy"}]),
        "unit 'b', fact 'expect-2': matcher 'fuzzy' is unknown, use one of: text, number, date,",
        id="matcher",
    ),
    pytest.param(
        line(id="b", facts=[{"polarity": "expect", "value": "7", "as": "current"}]),
        "unit 'b', fact 'expect-2': `as` belongs to a fact that forbids",
        id="as",
    ),
    pytest.param(line(id="x" * 9_999, stale=7), "`stale` must be a text, not 7", id="long id"),
    pytest.param(line(**{"\x1b[31m\n" * 999: 1}), r"unknown key '\x1b[31m\n", id="long key"),
    pytest.param(line(id="b", kind="revise"), "unit 'b': a revise unit needs `edited`", id="revise"),
]


class TestBrokenEntries:
    @pytest.mark.parametrize(("broken", "message"), BROKEN)
    def test_is_skipped_and_named(self, broken: str | bytes, message: str, tmp_path: Path) -> None:
        content = broken if isinstance(broken, bytes) else broken.encode()
        path = write(tmp_path, "s.jsonl", b"\n".join([line().encode(), content, line(id="z").encode()]))
        suite = read_suite(path)
        assert [unit.unit_id for unit in suite.bundle.units] == ["a", "z"]
        (skipped,) = suite.skipped
        assert skipped.startswith(f"{path}:2: ")
        assert message in skipped
        assert len(skipped.splitlines()) == 1
        assert len(skipped) < len(str(path)) * 2 + 400
        with pytest.raises(SuiteError) as refusal:
            read_suite(path, strict=True)
        assert str(refusal.value) == skipped

    def test_takes_its_edits_along(self, tmp_path: Path) -> None:
        path = write(tmp_path, "s.toml", RICH + "expected = []\n[[units]]\n" + "id = 'b'")
        with pytest.raises(
            EmptySuite,
            match=r"s.toml: no usable unit, 2 skipped, the first: .*: entry 1: unit 'a', edit 2: unknown",
        ):
            read_suite(path)

    def test_in_a_document_is_named_by_its_number(self, tmp_path: Path) -> None:
        path = write(tmp_path, "s.json", f"[{line()}, 7, {line()}]")
        assert read_suite(path).skipped == (
            f"{path}: entry 2: unit: must be an object, not 7",
            f"{path}: entry 3: unit 'a': the id is taken, see {path}: entry 1",
        )


class TestBrokenFiles:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            pytest.param("s.json", '{"units": [\n\n}', ":3: not JSON: Expecting value (column 1)", id="JSON"),
            pytest.param("s.json", b'[\n"\xff"]', ":2: not UTF-8: byte 0xff", id="UTF-8"),
            pytest.param(
                "s.json", "7", ": a suite is an object with `units`, or a list of units", id="number"
            ),
            pytest.param(
                "s.json", '{"suit": "x"}', ": unknown key 'suit', a suite has `suite` and `units`", id="key"
            ),
            pytest.param("s.json", '{"units": {}}', ": `suite` must be a text, `units` and", id="units"),
            pytest.param("s.json", '{"suite": 7}', ": `suite` must be a text, `units` and", id="suite"),
            pytest.param(
                "s.json", '{"suite": " ", "units": []}', ": suite name ' ' must be one line", id="name"
            ),
            pytest.param(
                "s.json", '{"suite": "x", "suite": "y"}', ": key 'suite' is given twice", id="twice"
            ),
            pytest.param("s.toml", "suite = 'x'\nunits = ", ":2: not TOML: Invalid value", id="TOML"),
            pytest.param("s.toml", 'suite = "x\n', ":1: not TOML: ", id="TOML text"),
            pytest.param(
                "s.toml", "x = " + "[" * 100_000, ":1: nested too deeply for a suite", id="deep TOML"
            ),
            pytest.param(
                "s.toml", "max_tokens = 1" + "0" * 5_000, ":1: not TOML: Exceeds the limit", id="huge number"
            ),
            pytest.param("s.toml", "a." * 5_000 + "b = 1", ": unknown key 'a'", id="deep keys"),
            pytest.param("s.jsonl", "# hello\n\n{", ":1: not JSON: Expecting value (column 1)", id="JSONL"),
            pytest.param("s.yaml", "units:\n- [", ":3: not YAML: did not find expected node", id="YAML"),
            pytest.param(
                "s.yml", "units: []\nunits: []", ":1: not YAML: key 'units' is given", id="YAML key"
            ),
            pytest.param(
                "s.yaml", "7: x", ": unknown key 7, a suite has `suite` and `units`", id="YAML number"
            ),
            pytest.param(
                "s.json", '{"sessions": [{}]}', ": entry 1 of `sessions`: `session_id` is", id="session"
            ),
            pytest.param(
                "s.json",
                '{"sessions": [{"session_id": "s"}, {"session_id": "s"}]}',
                ": session 's' is given 2 times",
                id="session twice",
            ),
            pytest.param(
                "s.ini", "", ": .ini ending, a suite is a .json, .jsonl, .toml, .yaml or .yml", id="ending"
            ),
            pytest.param("suite", "", ": no ending, a suite is a .json, .jsonl,", id="no ending"),
        ],
    )
    def test_are_refused_with_their_place(
        self, name: str, content: str | bytes, message: str, tmp_path: Path
    ) -> None:
        path = write(tmp_path, name, content)
        with pytest.raises(SuiteError) as refusal:
            read_suite(path)
        assert f"{path}{message}" in str(refusal.value)
        assert len(str(refusal.value).splitlines()) == 1

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            pytest.param("0x" + "f" * 5_000, "max_tokens is a huge number", id="huge hexadecimal number"),
            pytest.param(
                "{" + "a." * 5_000 + "b = 1}", "`max_tokens` must be a whole number", id="deep value"
            ),
        ],
    )
    def test_toml_values_that_python_will_not_write_out(
        self, value: str, message: str, tmp_path: Path
    ) -> None:
        path = write(
            tmp_path, "s.toml", RICH.replace("[[units.edits]]", f"max_tokens = {value}\n[[units.edits]]")
        )
        with pytest.raises(EmptySuite, match=message):
            read_suite(path)

    def test_path_that_leads_nowhere_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "loop.json").symlink_to("loop.json")
        with pytest.raises(
            SuiteError, match=r"loop.json: cannot read the suite: Too many levels of symbolic"
        ):
            read_suite(tmp_path / "loop.json")
        with pytest.raises(SuiteError, match=r"'x\\x00.json': cannot read the suite: no path holds a NUL"):
            read_suite(Path("x\0.json"))

    @pytest.mark.parametrize("name", ["gone.json", "gone.jsonl", "gone.toml"])
    def test_missing_file_or_folder_is_told(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / name
        with pytest.raises(SuiteError, match=rf"{name}: cannot read the suite: No such file or directory"):
            read_suite(path)
        path.mkdir()
        with pytest.raises(SuiteError, match=rf"{name}: cannot read the suite: Is a directory"):
            read_suite(path)

    @pytest.mark.parametrize(
        ("name", "content"),
        [(name, blank) for name in ("s.jsonl", "s.json", "s.toml") for blank in ("", " \n\r\n", "\ufeff\n")]
        + [("s.json", "[]"), ("s.json", "{}")],
    )
    def test_without_units_is_an_empty_suite(self, name: str, content: str, tmp_path: Path) -> None:
        path = write(tmp_path, name, content)
        with pytest.raises(EmptySuite) as refusal:
            read_suite(path)
        assert str(refusal.value) == f"{path}: no usable unit"

    def test_with_broken_units_only_is_an_empty_suite_that_says_why(self, tmp_path: Path) -> None:
        path = write(tmp_path, "s.jsonl", line(question=...) + "\n" + line(id=...))
        with pytest.raises(
            EmptySuite,
            match=r"no usable unit, 2 skipped, the first: .*s.jsonl:1: unit 'a': `instruction` or",
        ):
            read_suite(path)
