"""The stage of the gateway tests: one real gateway that most of them share, private homes for the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from effort import ALL
from gateway_stage import NEW_HOST, RELEASE, Stage
from loop_agents import under
from shared_gateway import Shared
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "gateway" in item.path.parts:
            item.add_marker("gateway")


@pytest.fixture(scope="session")
def real() -> downloads.Runtime:
    return downloads.ensure(RELEASE)


@pytest.fixture(scope="session")
def server() -> Iterator[scripted_model.ScriptedModel]:
    with scripted_model.ScriptedModel(scripted_model.sequence([])) as running:
        yield running


@pytest.fixture(scope="session")
def shared(real: downloads.Runtime, server: scripted_model.ScriptedModel) -> Iterator[Shared]:
    """A gateway for tests that change its settings, with the guard installed as a copy."""
    with Shared(real, server) as running:
        yield running


@pytest.fixture(scope="session")
def linked(real: downloads.Runtime, server: scripted_model.ScriptedModel) -> Iterator[Shared]:
    """A gateway with the guard as a link, which is loaded before other plugins of `load.paths`, a copy after them."""
    with Shared(real, server, link=True) as running:
        yield running


@pytest.fixture(scope="session")
def either(request: pytest.FixtureRequest) -> Shared:
    """The second gateway where everything is run, beside the first one; in the gate one start is enough."""
    running: Shared = request.getfixturevalue("linked" if ALL else "shared")
    return running


@pytest.fixture
def stage(either: Shared) -> Stage:
    """A running gateway whose agent `main` is under the guard's default settings; the others have settings of their own."""
    return under(either) if NEW_HOST else either.under()


@pytest.fixture
def home(server: scripted_model.ScriptedModel) -> Iterator[Home]:
    """A private home without the plugin."""
    with Home(server.base_url) as fresh:
        yield fresh


Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def wait() -> Wait:
    """Waits for a condition that is about to hold; fails where it does not within ten minutes."""

    def until(condition: Callable[[], bool]) -> None:
        limit = time.monotonic() + 600
        while not condition():
            assert time.monotonic() < limit, "the condition never held"
            time.sleep(0.02)

    return until
