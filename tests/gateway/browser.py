"""A headless Chromium at its debugging port: opens one page, asks it and types into it, and takes its picture."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MISSING = PROGRAM is None and os.environ.get("TOOLGUARD_TEST_BROWSER") != "required"
"""Tests of pages are left out; where a browser is required, they fail instead."""

LIMIT_SECONDS = 300
POLL_SECONDS = 0.1
OPTIONS = ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-port=0")


class PageError(Exception):
    """What the page's own code raised."""


class Browser:
    """One page of a browser with a profile of its own. Use it as a context manager."""

    def __init__(self, width: int, height: int) -> None:
        self._size = f"--window-size={width},{height}"
        self._count = 0
        self._profile = Path(tempfile.mkdtemp(prefix="toolguard-browser-"))
        self._process: subprocess.Popen[bytes]
        self._page: ClientConnection

    def __enter__(self) -> Self:
        assert PROGRAM is not None, "no Chromium here"
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [PROGRAM, *OPTIONS, *as_root, self._size, f"--user-data-dir={self._profile}", "about:blank"]
        own = {**os.environ, "TMPDIR": str(self._profile)}
        self._process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = self._port()
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=LIMIT_SECONDS) as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            self._page = connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._page.close()
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        self._process.wait(LIMIT_SECONDS)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _port(self) -> str:
        file = self._profile / "DevToolsActivePort"
        limit = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < limit:
            if file.exists() and len(words := file.read_text().split()) > 1:
                return words[0]
            time.sleep(POLL_SECONDS)
        raise TimeoutError("the browser opens no debugging port")

    def command(self, method: str, **params: Any) -> Any:
        self._count += 1
        self._page.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            answer = json.loads(self._page.recv(LIMIT_SECONDS))
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise PageError(answer["error"])
                return answer["result"]

    def open(self, url: str) -> None:
        self.command("Page.navigate", url=url)

    def ask(self, expression: str) -> Any:
        """The value of this JavaScript in the page."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise PageError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The first value of this JavaScript that is true; the page may still be loading."""
        limit = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < limit:
            with suppress(PageError):
                if value := self.ask(expression):
                    return value
            time.sleep(POLL_SECONDS)
        raise TimeoutError(expression)

    def type(self, text: str) -> None:
        """As if typed into the field that has the focus, which then loses it."""
        self.command("Input.insertText", text=text)
        self.ask("document.activeElement.blur()")

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])
