"""The fast tests that reject words and patterns before they are compared with the protected places reject nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest

from toolguard_engine.effects.facts import protected_paths
from toolguard_engine.model.call import Host

HOSTS = (
    Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json"),
    Host("/Users/u", "/srv/State", "/etc/gw/Conf.json", ("/opt/Guard/own.js",), metrics="/home/u/data/deep/use.db"),
    Host("/home/u", "", secrets=("/srv/k/secret.key",), links=(("/home/u/link", "/home/u/.openclaw"),)),
)
FOLDERS = ("/home/u/work", "/home/u/.openclaw/workspace", "/srv", "/home/u", "/", "/home/u/da*", "/opt/guard", "/proc/1/cwd")
PARTS = (
    "home", "HOME", "u", "*", "?", "[u]", "**", ".openclaw", ".Openclaw", ".open*", "toolguard", "t*", "key", "k?y",
    "openclaw.json", "*.json", "srv", "State", "s*", "opt", "guard", "own.js", "data", "deep", "use.db", "use.db.token",
    ".use.db.token.a*", "..", ".", "work", "a.b", "link", "etc", "gw", "Conf.json", "x", "", "extensions", "cache", "proc",
    "1", "cwd", "fd", "~", "$HOME", "secret.key",
)  # fmt: skip


def words(seed: int) -> list[str]:
    made = random.Random(seed)  # noqa: S311
    return ["/" * (made.random() < 0.5) + "/".join(made.choices(PARTS, k=made.randint(1, 6))) for _ in range(200)]


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_not_unclear_is_no_place(host: Host) -> None:
    rejected = 0
    for folder in FOLDERS:
        some = words(len(folder))
        unclear = set(protected_paths.unclear(some, host, (folder,)))
        found = {word: protected_paths.kind(word, host, (folder,)) for word in some}
        assert {word for word, kind in found.items() if kind} <= unclear
        rejected += len(found) - len(unclear)
    assert rejected > 20


@pytest.mark.parametrize("host", HOSTS)
def test_a_pattern_that_is_rejected_means_no_place(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def kinds() -> dict[tuple[str, str], Any]:
        cases = [(word, folder) for folder in FOLDERS for word in words(len(folder)) if "*" in word or "?" in word]
        return {(word, folder): protected_paths.kind(word, host, (folder,)) for word, folder in cases}

    before = kinds()
    monkeypatch.setattr(protected_paths, "_may_be", lambda *_: True)
    assert before == kinds()
    assert {"root", "guard"} <= set(before.values())
