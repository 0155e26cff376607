"""The stage of the gateway tests: one real gateway with the guard for most of them, private homes for the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from gateway_stage import RELEASE, Stage, put_in
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.gateway import Gateway
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
def stage(real: runtime.Runtime, server: model.ScriptedModel) -> Iterator[Stage]:
    """A running gateway with the guard installed as a copy, in default settings."""
    with Home(server.base_url) as home:
        put_in(home)
        with Gateway(real, home) as gateway:
            yield Stage(gateway, server)


@pytest.fixture
def home(server: model.ScriptedModel) -> Iterator[Home]:
    """A private home without the plugin."""
    with Home(server.base_url) as fresh:
        yield fresh


Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def wait() -> Wait:
    """Waits for a condition that is about to hold; fails where it does not within half a minute."""

    def until(condition: Callable[[], bool]) -> None:
        limit = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < limit, "the condition never held"
            time.sleep(0.02)

    return until
