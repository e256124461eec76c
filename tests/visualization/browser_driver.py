"""A real browser without a window, for tests: found on the machine, driven by selenium."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mechgrad.visualization.browser import FLAGS, BrowserMissingError, find_browser

MUST = "MECHGRAD_TEST_BROWSER"  # set where a browser is there for certain: its absence is then a failure
PATIENCE = 60.0  # seconds for a page to be ready, on a machine that does much else


def missing() -> str | None:
    """Why there is no browser to be driven; None if there is one."""
    try:
        find_browser()
    except BrowserMissingError as error:
        return str(error)
    return (
        None if shutil.which("chromedriver") else "chromedriver is not found (Debian: apt-get install chromium-driver)"
    )


def need_browser() -> None:
    """Skip, with the reason, where there is no browser; fail where there has to be one."""
    why = missing()
    if why is None:
        return
    if os.environ.get(MUST):
        pytest.fail(f"{MUST} is set, and {why}")
    pytest.skip(why)


class Page:
    """A page in the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> Page:
        """Load it and wait until it draws."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(address)
        end = time.monotonic() + PATIENCE
        while not self.run("return Boolean(window.mechgrad) || !document.getElementById('message').hidden"):
            assert time.monotonic() < end, f"the page is not ready: {self.driver.get_log('browser')}"
            time.sleep(0.02)
        return self

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script)

    def state(self) -> dict[str, Any]:
        """What the page says of itself."""
        found: dict[str, Any] = self.run("return mechgrad.state()")
        return found

    def complaints(self) -> list[str]:
        """Errors and warnings of the console; what the graphics software says of its own speed is none."""
        return [x["message"] for x in self.driver.get_log("browser") if "GL Driver Message" not in x["message"]]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was opened, but for data within it."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith(("data:", "blob:", "chrome"))]


@contextmanager
def browser(profile: Path, size: tuple[int, int] = (900, 600)) -> Iterator[Page]:
    """A browser with a profile of its own, closed at the end."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = find_browser()
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield Page(driver)
    finally:
        driver.quit()
