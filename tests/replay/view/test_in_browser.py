"""The pages in real headless Chromium."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bundles import Fact
from replay.stack import Stack

RUN = "20260101-120000-abcd"
HOSTILE = "</textarea></script><img src=x onerror=alert(1)>\u202e<b>"
LONG = "x" * 3_000
BEFORE = "The budget is 800 euros. Ava orders flour. Leo draws a poster. The oven comes in May. " * 2


@pytest.fixture
def stored(keep: Callable[..., None], make) -> None:
    """A run with a regression, a failed attempt, and a unit of hostile and of unbreakable text."""
    evaluated = make.evaluated(3).changed("u1", "redraft", text="Bo owns it.")
    evaluated = evaluated.changed("u2", "control", status="error", error=f"{LONG} {HOSTILE}", text="")
    hostile = make.unit(HOSTILE, instruction=f"{HOSTILE} {LONG}", facts=(Fact("f", "expect", (HOSTILE,)),))
    units = (*evaluated.units, hostile)
    attempts = [replace(a, unit_id=HOSTILE, text=f"{LONG} {HOSTILE}") for a in evaluated.attempts[:1]]
    run = make.run(units, provenance={"model": LONG})
    keep(replace(evaluated, units=units, run=run, attempts=(*evaluated.attempts, *attempts)))


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)], ids=["phone, dark", "wide, light"])
@pytest.mark.parametrize("page", ["/", f"/run?id={RUN}", "unit", "hostile unit", "/race", "/nowhere"])
def test_pages_are_read_by_all_and_load_nothing_foreign(
    browser: Any, served: str, stored: None, page: str, width: int, dark: bool
) -> None:
    if page.endswith("unit"):
        browser.show(f"{served}/run?id={RUN}", width=width, dark=dark)
        place = {"unit": 1, "hostile unit": 3}[page]
        links = browser.run(
            "return [...document.querySelectorAll('.units a')].map(a => a.getAttribute('href'))"
        )
        page = [link for link in links if link.startswith("/unit?")][place]
    browser.show(served + page, width=width, dark=dark)
    assert browser.sideways() == []
    assert [line for line in browser.console() if "/nowhere" not in line] == []
    assert all(url.startswith((f"{served}/static/", f"{served}/verdict?")) for url in browser.requested())
    assert browser.faint() == []
    assert browser.untitled() == []
    if not dark:
        assert browser.unreached() == []


def test_a_race_is_run_and_told(browser: Any, served: str, wait_until) -> None:
    race = Race(browser, served)
    race.run()
    wait_until(lambda: race.text("outcome") != "")
    assert browser.console() == []
    plain, redraft = race.texts(".lane .text")
    assert plain == redraft
    assert "950 euros" in plain
    assert "Identical: the same" in race.text("tokens")
    held = "".join(race.texts("#lane-redraft .held"))
    assert "Ava orders flour" in held
    assert "950" not in held
    assert "Ava orders flour" in "".join(race.texts("#old .held"))
    assert "800" in "".join(race.texts("#old .gone"))
    cells = race.texts("#figures tbody :is(th, td)")
    plain, redraft = cells[:8], cells[8:]
    assert (plain[0], plain[6], redraft[0]) == ("plain", "-", "redraft")
    assert int(redraft[4]) < int(redraft[5])
    assert "%" in redraft[6]
    assert browser.faint() == browser.sideways() == []
    race.run()
    wait_until(lambda: "2 tries of this edit" in race.text("tally"))


def test_both_lanes_are_played_at_the_times_that_were_measured(browser: Any, served: str, wait_until) -> None:
    race = Race(browser, served)
    race.run()
    wait_until(lambda: race.text("outcome") != "")
    whole = race.texts(".lane .text")
    race.press("slow")
    wait_until(lambda: race.texts(".lane .text") != whole)
    race.escape()
    wait_until(lambda: race.texts(".lane .text") == whole)
    assert race.texts(".lane .clock")[1].endswith(", done")
    race.press("replay")
    wait_until(lambda: race.texts(".lane .text") != whole)
    wait_until(lambda: race.texts(".lane .text") == whole)


@pytest.mark.parametrize("how", ["escape", "button", "page left"])
def test_a_race_that_is_given_up_frees_the_slot(
    browser: Any, served: str, slow: Stack, wait_until, how: str
) -> None:
    race = Race(browser, served)
    race.run()
    wait_until(lambda: race.texts(".lane .text")[0] != "")
    assert _health(slow)["slots"]["busy"] == 1
    match how:
        case "escape":
            race.escape()
        case "button":
            race.press("cancel")
        case _:
            browser.driver.get("about:blank")
    wait_until(lambda: _health(slow)["slots"]["busy"] == 0 and _health(slow)["sessions"] == 0)
    if how != "page left":
        wait_until(lambda: race.text("status") == "Cancelled; the slot is free again.")


def test_what_goes_wrong_is_said_on_the_page(browser: Any, served: str, wait_until) -> None:
    race = Race(browser, served)
    browser.run("document.forms.race.elements.instruction.value = 'word '.repeat(20000)")
    race.run()
    wait_until(lambda: "too_large" in race.text("status"))
    browser.run("document.forms.race.elements.instruction.value = 'word '.repeat(50000)")
    race.run()
    wait_until(lambda: "refused: instruction: String should have at most" in race.text("status"))
    assert browser.run("return document.getElementById('run').disabled") is False


def test_without_scripts_all_but_the_race_works(browser: Any, served: str, stored: None) -> None:
    browser.show(f"{served}/race", js=False)
    assert "The race needs JavaScript" in browser.driver.find_element("css selector", "noscript").text
    browser.show(f"{served}/run?id={RUN}&q=u1", js=False)
    assert browser.driver.find_element("css selector", "[role=status]").text == "1 unit."


def test_a_slash_goes_to_the_search(browser: Any, served: str, stored: None) -> None:
    browser.show(f"{served}/run?id={RUN}")
    browser.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))")
    assert browser.run("return document.activeElement.name") == "q"


class Race:
    """The race page with a small edit typed in."""

    def __init__(self, browser: Any, served: str) -> None:
        self._browser = browser
        browser.show(f"{served}/race")
        browser.run(
            "const form = document.forms.race; form.elements.instruction.value = 'Say it all.';"
            "form.querySelector('[name=before]').value = arguments[0];"
            "form.querySelector('[name=after]').value = arguments[0].replaceAll('800', '950')",
            BEFORE,
        )

    def run(self) -> None:
        self.press("run")

    def press(self, button: str) -> None:
        self._browser.run("document.getElementById(arguments[0]).click()", button)

    def escape(self) -> None:
        self._browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")

    def texts(self, selector: str) -> list[str]:
        """What is in all of these elements, shown or not."""
        found: list[str] = self._browser.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )
        return found

    def text(self, name: str) -> str:
        """What an element shows, nothing where it is hidden."""
        shown: str = self._browser.run(
            "const e = document.getElementById(arguments[0]); return e.checkVisibility() ? e.innerText : ''",
            name,
        )
        return shown


def _health(stack: Stack) -> dict:
    health: dict = httpx.get(f"{stack.url}/healthz").json()
    return health
