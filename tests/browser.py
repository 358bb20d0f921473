"""A headless Chromium for tests: pages as people see them, and what is wrong with how they look.

Invariant: a test that asks for the browser is skipped where there is none, saying why; with
REDRAFT_BROWSER=required it fails there instead.
"""

import base64
import json
import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_PROBE = Path(__file__).with_name("browser_probe.js").read_text(encoding="utf-8")
_MOST_TABS = 400
_UNSEEN = " (unseen)"


class Browser:
    """One window. Everything is asked of the page that was last shown."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._url = ""

    def show(
        self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, js: bool = True
    ) -> None:
        """Opens a file or URL in a window of so many CSS pixels; `js` is whether its own scripts run."""
        self._url = page.as_uri() if isinstance(page, Path) else page
        self._cdp("Emulation.setScriptExecutionDisabled", value=not js)
        self._cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.media("screen", dark=dark)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(self._url)

    def media(self, kind: str, *, dark: bool = False) -> None:
        """Shows the page as on `screen` or in `print`, in light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._cdp("Emulation.setEmulatedMedia", media=kind, features=[scheme, still])

    def run(self, script: str, *arguments: object) -> Any:
        """The value of a script's `return`."""
        return self.driver.execute_script(script, *arguments)

    def probe(self, name: str) -> Any:
        """What a function of browser_probe.js finds."""
        return self.run(f"{_PROBE}\nreturn {name}();")

    def console(self) -> list[str]:
        """Messages since the page was shown: errors of scripts, what a policy refused, what did not load."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requested(self) -> list[str]:
        """Whatever the page asked for since it was shown, but for itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        urls = [request["request"]["url"] for request in sent]
        return [url for url in urls if url not in (self._url, "about:blank")]

    def sideways(self) -> list[str]:
        """Elements that make the page itself scroll sideways."""
        found: list[str] = self.probe("sideways")
        return found

    def faint(self) -> list[str]:
        """Texts with less contrast than WCAG AA asks for: 4.5, or 3 for large ones. Opens all details."""
        found: list[str] = self.probe("faint")
        return found

    def untitled(self) -> list[str]:
        """Faults of structure: language, title, landmarks, headings, names of controls and pictures."""
        found: list[str] = self.probe("untitled")
        return found

    def tab_stops(self) -> list[str]:
        """Presses Tab from the top until it leaves the page; the elements that had the focus, in order."""
        self.run(
            "document.activeElement?.blur(); window.scrollTo(0, 0); window.getSelection().removeAllRanges();"
        )
        stops: list[str] = []
        for _ in range(_MOST_TABS):
            for kind in ("rawKeyDown", "keyUp"):
                self._cdp("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            stop = self.probe("focused")
            if stop is None or (stops and stop == stops[0]):
                return stops
            stops.append(stop)
        raise AssertionError(f"more than {_MOST_TABS} stops")

    def unreached(self) -> list[str]:
        """Controls that Tab does not reach, and stops whose focus does not show."""
        stops = self.tab_stops()
        reached = {stop.removesuffix(_UNSEEN) for stop in stops}
        missed = [control for control in self.probe("controls") if control not in reached]
        return missed + [stop for stop in stops if stop.endswith(_UNSEEN)]

    def picture(self, path: Path) -> None:
        """The whole page, as tall as it is."""
        shot = self._cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _cdp(self, command: str, **parameters: object) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser, shared by the whole session."""
    driver = _started()
    yield Browser(driver)
    driver.quit()


def _started() -> Any:
    if find_spec("selenium") is None:
        _absent("the package selenium is not installed")
    webdriver = import_module("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        _absent(f"{'chromedriver' if chromium else 'chromium'} is not on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to sandbox root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))


def _absent(why: str) -> None:
    said = f"no browser to look at pages with: {why}"
    if os.environ.get("REDRAFT_BROWSER") == "required":
        pytest.fail(f"{said} (REDRAFT_BROWSER=required)")
    pytest.skip(said)
