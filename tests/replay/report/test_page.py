import re
from base64 import b64encode
from hashlib import sha256

from replay.report.page import assets, render_page


def test_the_policy_names_the_style_and_the_script_and_nothing_else() -> None:
    found = assets()
    hashes = re.findall(r"'sha256-([^']+)'", found.policy)
    expected = [b64encode(sha256(text.encode()).digest()).decode() for text in (found.style, found.script)]
    assert hashes == expected
    assert found.policy.startswith("default-src 'none';")


def test_the_style_knows_paper_darkness_and_phones_and_loads_nothing() -> None:
    style = assets().style
    assert "@media print" in style
    assert "@media screen and (prefers-color-scheme: dark)" in style
    assert "@media (max-width:" in style
    assert not re.search(r"url\(|@import|@font-face", style)


def test_the_script_asks_for_nothing() -> None:
    assert not re.search(r"fetch|XMLHttp|import\(|innerHTML|eval|WebSocket|sendBeacon", assets().script)


def test_values_are_escaped_and_show_what_they_hide() -> None:
    flip = {"verdict": "pass", "bundle": "<b>\u202e", "run_id": "a&b"}
    text = render_page(
        "details.html",
        {
            "summary": {**flip, "unit_results": [], "comparisons": []},
            "tested": (), "details": "", "shown_units": [], "shown_flips": [], "report": "r.html",
        },
    )  # fmt: skip
    assert "<bdi>&lt;b&gt;\\u202e</bdi>" in text
    assert "run a&amp;b" in text
