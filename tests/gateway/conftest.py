"""The stage of the gateway tests: one real gateway that most of them share, private homes for the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from gateway_stage import RELEASE, Stage
from shared_gateway import Shared
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.home import Home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "gateway" in item.path.parts:
            item.add_marker("gateway")


@pytest.fixture(scope="session")
def real() -> runtime.Runtime:
    return runtime.ensure(RELEASE)


@pytest.fixture(scope="session")
def server() -> Iterator[model.ScriptedModel]:
    with model.ScriptedModel(model.sequence([])) as running:
        yield running


@pytest.fixture(scope="session")
def shared(real: runtime.Runtime, server: model.ScriptedModel) -> Iterator[Shared]:
    """The gateway for every test that needs no start of its own, with the guard installed as a copy."""
    with Shared(real, server) as running:
        yield running


@pytest.fixture(scope="session")
def linked(real: runtime.Runtime, server: model.ScriptedModel) -> Iterator[Shared]:
    """The same with the guard as a link. The gateway loads it before other plugins of `load.paths`, a copy after them."""
    with Shared(real, server, link=True) as running:
        yield running


@pytest.fixture
def stage(shared: Shared) -> Stage:
    """A running gateway with the guard in default settings."""
    return shared.under()


@pytest.fixture
def home(server: model.ScriptedModel) -> Iterator[Home]:
    """A private home without the plugin."""
    with Home(server.base_url) as fresh:
        yield fresh


Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def wait() -> Wait:
    """Waits for a condition that is about to hold; fails where it does not within two minutes."""

    def until(condition: Callable[[], bool]) -> None:
        limit = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < limit, "the condition never held"
            time.sleep(0.02)

    return until
