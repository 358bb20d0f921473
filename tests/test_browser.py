"""The browser's probes find what is wrong; otherwise a page that passes them would prove nothing."""

from pathlib import Path
from typing import Any

BAD = """<!doctype html><html><body>
<h2>second</h2>
<a href="#x" style="outline: none">unseen focus</a>
<button tabindex="-1">unreached</button>
<button id="twice"></button><i id="twice"></i>
<p style="color: #999; background: #fff">too faint</p>
<p style="color: #767676; background: #fff">just dark enough</p>
<p style="color: #888; background: #fff; font-size: 24px">large enough for less</p>
<details><summary>more</summary><p style="color: rgb(0 0 0 / 30%)">faint and folded away</p></details>
<svg width="9" height="9"><text style="fill: #eee">faint mark</text></svg>
<div style="width: 700px">wide</div>
<img src="absent.png">
<script>console.error("broken")</script>
</body></html>"""
GOOD = """<!doctype html><html lang="en"><head><title>t</title></head><body><main>
<h1>t</h1><h2>u</h2><p>text</p><a href="#a" style="outline: 2px solid">link</a><button>press</button>
<div style="overflow: auto" tabindex="0" aria-label="wide"><div style="width: 2000px">inside</div></div>
</main></body></html>"""


def shown(browser: Any, folder: Path, text: str) -> Any:
    path = folder / "page.html"
    path.write_text(text)
    browser.show(path, width=390)
    return browser


def test_what_is_wrong_with_a_page_is_found(browser: Any, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, BAD)
    assert any('"wide"' in found for found in page.sideways())
    assert any("broken" in found for found in page.console())
    assert [url.rsplit("/", 1)[1] for url in page.requested()] == ["absent.png"]
    faint = page.faint()
    assert [found.split(": ")[1] for found in faint] == ["too faint", "faint and folded away", "faint mark"]
    wrong = " ".join(page.untitled())
    for fault in (
        "language",
        "title",
        "main",
        "h1",
        "h0 is followed by h2",
        "no name: button#twice",
        "img",
        "two",
    ):
        assert fault in wrong, fault
    missed = " ".join(page.unreached())
    assert '"unseen focus" (unseen)' in missed
    assert '"unreached"' in missed


def test_nothing_is_found_where_nothing_is_wrong(browser: Any, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, GOOD.replace("<button>", '<button style="outline: 2px solid">'))
    assert page.sideways() + page.console() + page.requested() + page.faint() + page.untitled() == []
    stops = [stop.split("[")[0] for stop in page.tab_stops()]
    assert stops == ["a", "button", "div"]
