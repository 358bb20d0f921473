"""The report as a browser shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.report.html import details_path
from replay.summary import Summary

Case = Callable[[str], Summary]
Written = Callable[[str], Path]
WIDTHS = (390, 1280)


def faults(browser: Any) -> list[str]:
    found: list[str] = [
        *browser.sideways(), *browser.console(), *browser.requested(), *browser.untitled(), *browser.faint(),
        *browser.sideways(),  # with all details open
    ]  # fmt: skip
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_fits_reads_and_loads_nothing(
    browser: Any, written: Written, width: int, dark: bool
) -> None:
    browser.show(written("various"), width=width, dark=dark)
    assert faults(browser) == []
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == dark


@pytest.mark.parametrize("name", ["empty_run", "engine_errors", "blind_canaries", "hostile_text", "mischief"])
def test_odd_runs_are_as_well_shown_on_a_phone(browser: Any, written: Written, name: str) -> None:
    browser.show(written(name), width=390)
    assert faults(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_tab_reaches_every_control_and_shows_where_it_is(browser: Any, written: Written, width: int) -> None:
    browser.show(written("various"), width=width)
    assert browser.unreached() == []
    stops = browser.tab_stops()
    assert stops[0].startswith("a.skip")
    controls = browser.probe("controls")
    assert [stop for stop in stops if stop in controls] == controls  # in the order of the page


def test_hostile_text_runs_nothing(browser: Any, written: Written) -> None:
    browser.show(written("mischief"))
    assert browser.run("return document.scripts.length") == 1
    assert browser.run("return document.images.length") == 0
    assert "<script>alert(1)</script>" in browser.run("return document.querySelector('#flip-0').innerText")


def test_a_million_characters_on_a_line_stay_in_their_box(browser: Any, written: Written) -> None:
    browser.show(written("long_line"), width=390)
    assert browser.sideways() == []
    tall = browser.run("return Math.max(...[...document.querySelectorAll('.text')].map(e => e.clientHeight))")
    assert tall < 600


def test_on_paper_all_details_are_open_and_it_is_light(browser: Any, written: Written) -> None:
    browser.show(written("various"), dark=True, js=False)
    seen = "return [...document.querySelectorAll('details table')].every(e => e.checkVisibility())"
    assert not browser.run(seen)
    browser.media("print", dark=True)
    assert browser.run(seen)
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_scripts_everything_is_there_but_the_filter(browser: Any, written: Written) -> None:
    browser.show(written("various"), js=False)
    assert not browser.run("return document.querySelector('form.filter').checkVisibility()")
    shown = "return [...document.querySelectorAll('article')].filter(e => e.checkVisibility()).length"
    assert browser.run(shown) == 5


def test_flips_are_found_by_words_arm_and_kind(browser: Any, written: Written) -> None:
    browser.show(written("various"))
    choose = """
      const form = document.querySelector("form.filter");
      form.elements.find.value = arguments[0];
      form.elements.arm.value = arguments[1];
      form.elements.only.checked = arguments[2];
      form.dispatchEvent(new Event("input"));
      const shown = [...document.querySelectorAll("article")].filter((e) => e.checkVisibility());
      return [form.elements.found.value, ...shown.map((e) => e.id)];
    """
    assert browser.run(choose, "", "", False)[0] == "5 of 5 attempts shown"
    assert browser.run(choose, "", "", True) == ["1 of 5 attempts shown", "flip-0"]
    assert browser.run(choose, "ADA OWNS", "redraft", False) == ["1 of 5 attempts shown", "flip-3"]
    assert browser.run(choose, "nowhere", "", False) == ["0 of 5 attempts shown"]
    browser.run("location.hash = 'flip-0'; dispatchEvent(new HashChangeEvent('hashchange'))")
    assert browser.run("return document.getElementById('flip-0').checkVisibility()")


def test_a_column_sorts_by_its_numbers(browser: Any, written: Written, case: Case) -> None:
    browser.show(written("various"))
    column = """
      const table = document.querySelector("table.sortable");
      const button = table.tHead.querySelectorAll("button")[2];
      button.click();
      const sorted = button.closest("th").getAttribute("aria-sort");
      return [sorted, ...[...table.tBodies[0].rows].map((row) => row.cells[2].textContent)];
    """
    speeds = sorted(f"{unit.arms['redraft'].speedup:.2f}x" for unit in case("various").unit_results)
    assert browser.run(column) == ["ascending", *speeds]
    assert browser.run(column) == ["descending", *speeds[::-1]]


def test_the_arrow_keys_go_through_the_marks_and_name_them(browser: Any, written: Written) -> None:
    browser.show(written("various"))
    press = """
      const plot = document.querySelector(".plot.left");
      plot.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], cancelable: true }));
      return plot.parentElement.querySelector(".readout").textContent;
    """
    first = browser.run(press, "ArrowRight")
    assert first.startswith("u0, redraft: ")
    assert browser.run(press, "ArrowRight").startswith("u0, redraft:tau=3,floor=1: ")
    assert browser.run(press, "ArrowLeft") == first
    assert browser.run(press, "Escape") == ""


def test_ten_thousand_units_are_shown_in_both_files(browser: Any, written: Written) -> None:
    path = written("large")
    browser.show(path, width=390)
    assert (browser.sideways(), browser.console(), browser.untitled()) == ([], [], [])
    browser.run("document.querySelector('#flips a[href*=details]').click()")
    assert browser.run("return location.pathname").endswith(details_path(path).name)
    assert (browser.sideways(), browser.untitled()) == ([], [])
