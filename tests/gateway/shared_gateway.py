"""One running gateway for all tests that need no start of their own: a start and its first turn cost as much as forty turns.

`Shared.under` puts it under other settings while it runs. What was left of the settings before is gone then: the guard's
stores and log, and the files of the workspace. So the tests may come in any order.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from gateway_stage import INCLUDED, NEW_HOST, WITH_CODER, Stage, put_in
from operator_process import PostingProcess
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home, over
from toolguard_cli.rig.real_gateway import Gateway

SCRIPTS = Path(sys.executable).parent
APPLIED, REFUSED = "config hot reload applied", "config reload failed"
"""The gateway logs the first when a change of its config has taken effect, and the second when it has not because a plugin
still has work. It does not try again by itself."""

CHANGE_SECONDS = 600
POLL_SECONDS = 0.02
IN_WORKSPACE = "workspace.md"
"""A workspace that was not empty and is empty is taken for lost."""

KEPT = {IN_WORKSPACE, "install.json"}
QUIET = {"skills": {"workshop": {"autonomous": {"mode": "off"}}}}
"""The gateway does not look back on long sessions by itself, which it would do in the middle of some other test."""


@dataclass(frozen=True)
class Under:
    """What the gateway runs under: the guard's settings, other plugins by name and folder, and what is laid over its own
    config."""

    settings: dict[str, Any] = field(default_factory=dict)
    plugins: dict[str, Path] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    engines: int = 1


class Reachable(Home):
    """The guard's own console script is on the PATH of its agents."""

    @property
    def programs(self) -> Path:
        """What lies here is on their PATH as well, before all else."""
        return self.root / "bin"

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.programs), str(SCRIPTS), os.environ["PATH"]])
        return {**super().environment, "PATH": path}


class TurnsByAnother(Gateway):
    """Its turns are asked for by a program that does nothing else, as a person's would."""

    def __init__(self, real: downloads.Runtime, home: Home) -> None:
        super().__init__(real, home)
        self._idle: list[PostingProcess] = []

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str], limit: float) -> tuple[int, str]:
        program = self._idle.pop() if self._idle else PostingProcess()
        try:
            return program.post(self.home.port, path, body, {**self._headers, **headers}, limit)
        finally:
            self._idle.append(program)

    def end_programs(self) -> None:
        while self._idle:
            self._idle.pop().close()


class Shared:
    """The gateway, and the guard as a copy or a link. Use it as a context manager."""

    def __init__(self, real: downloads.Runtime, server: scripted_model.ScriptedModel, *, link: bool = False) -> None:
        self._home = Reachable(server.base_url, extra=QUIET if NEW_HOST else {})
        (self._home.workspace_dir / IN_WORKSPACE).write_text("Here the agent works.\n")
        put_in(self._home, link=link)
        self._bare = json.loads(self._home.config_path.read_text())
        self._gateway = TurnsByAnother(real, self._home)
        self._stage = Stage(self._gateway, server)
        self._now: Under | None = None

    @property
    def home(self) -> Reachable:
        return self._home

    @property
    def pid(self) -> int:
        return self._gateway.pid

    def under(
        self,
        plugins: dict[str, Path] | None = None,
        host: dict[str, Any] | None = None,
        *,
        engines: int = 1,
        **settings: Any,
    ) -> Stage:
        """The gateway under these settings; all that happened under them so far is still there, and nothing else.

        `engines`: how many engines can start under them.
        """
        wanted = Under(settings, plugins or {}, host or {}, engines)
        if wanted != self._now and self._runs() and NEW_HOST:
            self._change(wanted)
        elif wanted != self._now or not self._runs():
            self._restart(wanted)
        return self._stage

    def anew(self, **settings: Any) -> Stage:
        """The gateway under these settings, and nothing has happened yet."""
        self.forget()
        return self.under(**settings)

    def change(self, **settings: Any) -> None:
        """As a person changes the guard's settings while the gateway runs: what has happened so far is still there."""
        assert self._now is not None
        wanted, self._now = replace(self._now, settings=settings), None
        self._apply(wanted, enabled=True, engines=wanted.engines)
        self._now = wanted

    def switch_off(self) -> None:
        """As a person switches the guard off while the gateway runs."""
        assert self._now is not None
        before, self._now = self._now, None
        self._apply(before, enabled=False, engines=0)

    def forget(self) -> None:
        """Somebody else has changed the config: nobody knows under what the gateway runs."""
        self._now = None

    def _change(self, wanted: Under) -> None:
        """While it runs, in two steps: in between there is no engine that could still write what is wiped."""
        self._now = None
        self._wait(self._is_settled)
        self._apply(Under(), enabled=False, engines=0)
        self._wipe()
        self._apply(wanted, enabled=True, engines=wanted.engines)
        self._now = wanted

    def _restart(self, wanted: Under) -> None:
        """The first start; releases that take no change while they run; and a gateway that a test has left stopped."""
        self._gateway.stop()
        if wanted != self._now:
            self._wipe()
            self._write(wanted, enabled=True)
        self._gateway.start()
        self._now = wanted

    def _apply(self, wanted: Under, *, enabled: bool, engines: int) -> None:
        before, limit = self._logged(APPLIED), time.monotonic() + CHANGE_SECONDS
        while self._logged(APPLIED) == before and time.monotonic() < limit:
            refused = self._logged(REFUSED)
            self._write(wanted, enabled=enabled)
            self._wait(lambda refused=refused: self._logged(APPLIED) > before or self._logged(REFUSED) > refused)
        self._wait(lambda: self._logged(APPLIED) > before)
        self._wait(lambda: len(self._stage.engines()) == engines and self._is_settled())

    def _logged(self, words: str) -> int:
        return self._gateway.log_text().count(words)

    def _is_settled(self) -> bool:
        """The gateway has started, and is not about to replace plugins."""
        connection = HTTPConnection("127.0.0.1", self._home.port, timeout=CHANGE_SECONDS)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == HTTPStatus.OK
        finally:
            connection.close()

    def _wait(self, condition: Callable[[], bool]) -> None:
        limit = time.monotonic() + CHANGE_SECONDS
        while not condition():
            assert self._runs(), f"the gateway ended:\n{self._gateway.tail()}"
            assert time.monotonic() < limit, f"the gateway does not take its new config:\n{self._gateway.tail()}"
            time.sleep(POLL_SECONDS)

    def _write(self, wanted: Under, *, enabled: bool) -> None:
        config = over(json.loads(json.dumps(self._bare)), wanted.host)
        plugins = config["plugins"]
        plugins["entries"]["toolguard"] |= {"enabled": enabled, "config": wanted.settings}
        if wanted.plugins:
            plugins.setdefault("load", {}).setdefault("paths", []).extend(str(path) for path in wanted.plugins.values())
            plugins["entries"] |= {name: {"enabled": True} for name in wanted.plugins}
        beside = self._home.config_path.with_suffix(".new")
        beside.write_text(json.dumps(config, indent=2))
        beside.chmod(0o600)
        beside.replace(self._home.config_path)

    def _wipe(self) -> None:
        folders = (self._home.state_dir / "toolguard", self._home.workspace_dir)
        left = [path for folder in folders if folder.exists() for path in folder.iterdir() if path.name not in KEPT]
        for path in [*left, self._home.state_dir / "tool-guard.log"]:
            _remove(path)

    def _runs(self) -> bool:
        return self._gateway.process is not None and self._gateway.process.poll() is None

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.end_programs()
        self._gateway.stop(signal.SIGKILL)  # it would wait for runs that tests have left
        self._home.__exit__(None, None, None)


def with_coder(shared: Shared) -> Stage:
    """With an agent `coder` whose model is run by the Claude CLI, and an included file in the config."""
    (shared.home.state_dir / INCLUDED).write_text("{}\n")
    return shared.under(host=WITH_CODER, approval={"wake": False}, pendingTimeoutMs=600_000)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()
