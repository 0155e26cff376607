"""The plugin's page in the gateway's own settings: every setting with its words, in its group, and what is changed there is
written as it should be. `TOOLGUARD_SETTINGS_PICTURE=docs/settings-page.png` keeps a picture of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import browser
from browser import Browser
from gateway_stage import NEW_HOST
from shared_gateway import Shared
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_engine.config import plugin_manifest

pytestmark = [
    pytest.mark.skipif(browser.MISSING, reason="no Chromium here"),
    pytest.mark.skipif(not NEW_HOST, reason="older hosts have no page for one plugin"),
]

WIDTH, HEIGHT = 1280, 1600
PICTURE = os.environ.get("TOOLGUARD_SETTINGS_PICTURE")
OF_THE_HOST = ("hooks.", "llm.", "subagent.")
WRITE_SECONDS = 300
ROWS = """[...document.querySelectorAll('[data-setting]')].map(row => ({
    path: row.dataset.setting,
    title: row.querySelector('.plugin-editor__title').textContent.trim(),
    help: row.querySelector('.plugin-editor__copy p')?.textContent.trim() ?? '',
    section: row.closest('section.plugin-editor__section').querySelector('h2').textContent.trim(),
    text: row.textContent,
}))"""


@dataclass
class Page:
    """The settings page of a running gateway."""

    seen: Browser
    gateway: Gateway

    def settings(self) -> Any:
        """What the gateway has written as the plugin's settings."""
        return json.loads(self.gateway.home.config_path.read_text())["plugins"]["entries"]["toolguard"].get("config")

    def wait_written(self, right: Callable[[Any], bool]) -> Any:
        limit = time.monotonic() + WRITE_SECONDS
        while not right(self.settings()) and time.monotonic() < limit:
            time.sleep(browser.POLL_SECONDS)
        return self.settings()

    def control(self, path: str, inner: str) -> str:
        """JavaScript for an element of this setting's row."""
        return f"document.querySelector(`[data-setting='{path}'] {inner}`)"


@pytest.fixture(scope="module")
def page(shared: Shared) -> Iterator[Page]:
    gateway, home = shared.under().gateway, shared.home
    with Browser(WIDTH, HEIGHT) as seen:
        seen.open(f"http://127.0.0.1:{home.port}/settings/plugins/toolguard?view=settings#token={home.token}")
        seen.wait_for("document.querySelector('[data-setting]') !== null")
        yield Page(seen, gateway)
    shared.forget()


def expected_rows() -> list[dict[str, str]]:
    """Every setting that has no inner ones, in the order of the manifest; what a map holds is shown inside its row."""
    built = plugin_manifest.build()
    hints, groups = built["uiHints"], built["configGroups"]
    sections = {setting: group["title"] for group in groups for setting in group["properties"]}
    fixed = [path for path in hints if "*" not in path]
    leaves = [path for path in fixed if not any(other.startswith(f"{path}.") for other in fixed)]
    return [
        {
            "path": path,
            "title": ": ".join(hints[path.rsplit(".", n)[0]]["label"] for n in range(path.count("."), -1, -1)),
            "help": hints[path]["help"],
            "section": sections[path.partition(".")[0]],
        }
        for path in leaves
    ]


@pytest.mark.thorough
def test_every_setting_is_shown_with_its_words_in_its_group(page: Page) -> None:
    if PICTURE:
        Path(PICTURE).write_bytes(page.seen.picture())
    rows = [row for row in page.seen.ask(ROWS) if not row["path"].startswith(OF_THE_HOST)]
    assert [row["path"] for row in rows if "Unsupported" in row.pop("text")] == []
    assert rows == expected_rows()


@pytest.mark.thorough
def test_what_is_changed_on_the_page_is_written_and_valid(page: Page) -> None:
    page.seen.ask(page.control("maxIdenticalFailures", "input") + ".select()")
    page.seen.type("3")
    page.wait_written(lambda settings: settings is not None)
    page.seen.ask(page.control("approval.mode", "wa-radio[value='1']") + ".click()")
    page.wait_written(lambda settings: "approval" in settings)
    choose = "(choice => {{ choice.value = '1'; choice.dispatchEvent(new Event('change', {{bubbles: true}})) }})({})"
    page.seen.ask(choose.format(page.control("loopDetection.enabled", "select")))
    written = page.wait_written(lambda settings: "loopDetection" in settings)
    assert written == {"maxIdenticalFailures": 3, "approval": {"mode": "native"}, "loopDetection": {"enabled": False}}
    checked = openclaw(page.gateway.runtime, page.gateway.home, "config", "validate", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["valid"]) == (0, True)
