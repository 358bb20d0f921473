"""Command `calibrate`: how well a model judges."""

import json
from typing import Any

import click
from tabulate import tabulate

from judge import Calibration, CaseResult, calibration_version
from replay.cli.claims import asked, claim_options
from replay.cli.shared import INFRASTRUCTURE, json_option, show, verbose_option
from replay.report.table import one_line


@click.command(short_help="Try a claim judge on labelled pairs.")
@claim_options
@json_option
@verbose_option
def calibrate(as_json: bool, **given: Any) -> None:
    """Put hand-labelled pairs to a claim judge; it must get every one right before it may judge.

    \b
    For example:
      redraft calibrate --judge-url http://127.0.0.1:8000 --judge-model big
    """
    calibration = asked(given, lambda judge: judge.calibrate())
    show(_json(calibration) if as_json else _table(given["judge_model"], calibration))
    raise click.exceptions.Exit(0 if calibration.passed else INFRASTRUCTURE)


def _table(model: str, calibration: Calibration) -> str:
    rows = [
        (
            result.case.case_id,
            result.judgement.lost_facts.outcome,
            result.judgement.new_errors.outcome,
            len(result.judgement.omitted),
            one_line("; ".join(result.flaws)) or "right",
        )
        for result in calibration.results
    ]
    count, right = len(calibration.results), len(calibration.results) - len(calibration.failures)
    closing = "it may judge" if calibration.passed else "no verdict of it is written"
    return "\n".join(
        [
            tabulate(
                rows,
                headers=("case", "lost facts", "new errors", "omitted", ""),
                maxcolwidths=[*[None] * 4, 80],
            ),
            "",
            one_line(f"judge {model}: {right} of {count} cases right: {closing}"),
        ]
    )


def _json(calibration: Calibration) -> str:
    return json.dumps(
        {
            "calibration_version": calibration_version(),
            "passed": calibration.passed,
            "cases": [_case(result) for result in calibration.results],
        },
        indent=2,
        ensure_ascii=False,
    )


def _case(result: CaseResult) -> dict[str, object]:
    judgement = result.judgement
    return {
        "case_id": result.case.case_id,
        "lost_facts": judgement.lost_facts.outcome,
        "new_errors": judgement.new_errors.outcome,
        "omitted": list(judgement.omitted),
        "flaws": list(result.flaws),
    }
