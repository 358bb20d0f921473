"""A summary as JUnit XML, the form that CI servers read. Pure.

Invariant: there is a case for the gate, so that a run without any other shows what it came to, and one for
each unit and arm under test: a failure is a regression, an error is infrastructure, skipped is what nothing
can be said of. Numbers are properties. Characters that XML cannot carry are escaped visibly.
"""

from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from judge import GateVerdict
from replay.arms import PLAIN
from replay.report.table import MOST_CHARACTERS, claim_line, excerpt, flip_line, one_line
from replay.summary import ArmSummary, Summary, UnitArm, UnitSummary

_NAME = 200
_MOST_REASONS = 50
_MOST_TEXT = 1_500
_MOST_TEXTS = 100
"""Failures that show both texts; a report of everything is the HTML one."""
_GATE: Mapping[GateVerdict, str] = {
    "regression": "failure",
    "error": "error",
    "empty": "error",
    "inconclusive": "skipped",
}
Key = tuple[str, str]


def render_junit(summary: Summary) -> str:
    """An XML document."""
    root = ET.Element("testsuites", name="redraft")
    root.append(_gate(summary))
    lost, texts = _lost(summary), _texts(summary)
    for arm in summary.arms_under_test:
        cases = [_case(summary, unit, arm, lost, texts) for unit in summary.unit_results]
        root.append(_suite(arm, summary, cases, _arm_properties(summary.arms[arm])))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _gate(summary: Summary) -> ET.Element:
    test = ET.Element("testcase", name="gate", classname="gate", time="0.000")
    if summary.verdict in _GATE:
        reasons = [one_line(reason, MOST_CHARACTERS) for reason in summary.reasons]
        _outcome(test, _GATE[summary.verdict], summary.verdict, reasons)
    return _suite("gate", summary, [test], _run_properties(summary))


def _case(
    summary: Summary,
    unit: UnitSummary,
    arm: str,
    lost: Mapping[Key, Sequence[str]],
    texts: Mapping[Key, str],
) -> ET.Element:
    ours, plain, key = unit.arms[arm], unit.arms[PLAIN], (unit.unit_id, arm)
    seconds = (ours.wall_ms or 0) / 1000
    case = ET.Element(
        "testcase", name=one_line(unit.unit_id, _NAME) or "(none)", classname=arm, time=f"{seconds:.3f}"
    )
    if key in lost or ours.canary == "failed":
        _outcome(case, "failure", "regression", lost.get(key, ["canary failed"]), texts.get(key, ""))
    elif broken := list(_broken(summary.repeats, {PLAIN: plain, arm: ours})):
        _outcome(case, "error", "infrastructure", broken)
    elif doubt := _doubt(ours, plain):
        _outcome(case, "skipped", *doubt)
    return case


def _broken(repeats: int, made: Mapping[str, UnitArm]) -> Iterator[str]:
    for arm, attempts in made.items():
        if attempts.failed:
            yield one_line(f"{arm}: {attempts.failed} of {repeats} failed: {attempts.error}", MOST_CHARACTERS)
        if missing := repeats - attempts.failed - attempts.finished:
            yield f"{arm}: {missing} of {repeats} attempts have not been made"


def _doubt(ours: UnitArm, plain: UnitArm) -> tuple[str, list[str]] | None:
    """The kind and the reason where nothing can be said of a case; None where it passes."""
    if not ours.facts_total:
        return "inconclusive", ["the unit has no facts"]
    if ours.unscored or plain.unscored:
        return "unscored", [f"{ours.unscored + plain.unscored} fact checks are unscored"]
    if ours.canary == "blind":
        return "inconclusive", ["blind canary: plain generation gets it wrong too"]
    if not plain.facts_passed:
        return "inconclusive", ["plain generation gets none of its facts right, so none can be lost"]
    return None


def _outcome(case: ET.Element, tag: str, kind: str, lines: Sequence[str], text: str = "") -> None:
    shown = [
        *lines[:_MOST_REASONS],
        *([f"and {len(lines) - _MOST_REASONS} more"] if lines[_MOST_REASONS:] else []),
    ]
    found = ET.SubElement(case, tag, type=kind, message=lines[0] if lines else kind)
    found.text = "\n".join([*shown, *([text] if text else [])])


def _suite(
    name: str, summary: Summary, cases: Sequence[ET.Element], properties: Mapping[str, object]
) -> ET.Element:
    seconds = sum(float(case.get("time", "0")) for case in cases)
    suite = ET.Element(
        "testsuite",
        name=name,
        tests=str(len(cases)),
        failures=str(_having(cases, "failure")),
        errors=str(_having(cases, "error")),
        skipped=str(_having(cases, "skipped")),
        time=f"{seconds:.3f}",
        timestamp=summary.started[:19],
    )
    holder = ET.SubElement(suite, "properties")
    for key, value in properties.items():
        if value is not None:
            shown = f"{value:.6g}" if isinstance(value, float) else one_line(str(value), MOST_CHARACTERS)
            ET.SubElement(holder, "property", name=one_line(key, _NAME), value=shown)
    suite.extend(cases)
    return suite


def _having(cases: Sequence[ET.Element], tag: str) -> int:
    return sum(case.find(tag) is not None for case in cases)


def _run_properties(summary: Summary) -> Mapping[str, object]:
    told = (
        "run_id", "bundle_id", "bundle", "verdict", "exit_code", "units", "repeats", "attempts", "errors",
        "missing", "exact_match", "control_match", "regressions",
    )  # fmt: skip
    return {
        **{name: getattr(summary, name) for name in told},
        **{f"canaries_{how}": number for how, number in summary.canaries.model_dump().items()},
        **{f"comparability.{part}": value for part, value in summary.comparability.items()},
    }


def _arm_properties(arm: ArmSummary) -> Mapping[str, object]:
    return {
        **arm.model_dump(exclude={"canaries"}),
        **{f"canaries_{how}": number for how, number in arm.canaries.model_dump().items()},
    }


def _lost(summary: Summary) -> Mapping[Key, Sequence[str]]:
    """Regressions, those of claims after those of facts."""
    found: dict[Key, list[str]] = {}
    for flip in summary.flips:
        if flip.regression:
            found.setdefault((flip.unit_id, flip.arm), []).append(flip_line(flip))
    for claim in summary.claims.flips if summary.claims else ():
        if claim.regression:
            found.setdefault((claim.unit_id, claim.arm), []).append(claim_line(claim))
    return found


def _texts(summary: Summary) -> Mapping[Key, str]:
    """Both texts of the first attempts whose facts flipped."""
    found: dict[Key, str] = {}
    for comparison in summary.comparisons:
        if len(found) == _MOST_TEXTS:
            break
        plain, other = (excerpt(side.text, _MOST_TEXT) for side in (comparison.plain, comparison.other))
        key = comparison.unit_id, comparison.arm
        found.setdefault(key, f"\n--- plain\n{plain}\n--- {comparison.arm}\n{other}\n")
    return found
