"""What the engine protects, spelled in many ways, for the invariant that the gateway part's table covers it.

JSON on standard output: the texts that the engine itself takes for a file of the guard, a key or a credential. Without
TOOLGUARD_TEST_ALL a sample of them that is always the same: every path, every group of paths in every spelling.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from toolguard_engine.effects.facts import place_names, places, protected_paths
from toolguard_engine.host import file_names, metrics_path
from toolguard_engine.layers.self_protection.silent_places import DRIVE
from toolguard_engine.model.call import Host

HOME, STATE, WORKSPACE, CONFIG, METRICS = sys.argv[1:]
HOST = Host(HOME, STATE, CONFIG, (), frozenset(), METRICS)
WHOLE = bool(os.environ.get("TOOLGUARD_TEST_ALL"))
SAMPLE = 8
WHERE = places.Where(HOME, WORKSPACE, WORKSPACE, STATE)


def named() -> Iterator[list[str]]:
    """Absolute paths of the places, and files below them, in groups of one kind."""
    yield [f"{STATE}/toolguard/{name}" for name in file_names.NAMES]
    yield [f"{STATE}/{name}" for name in protected_paths.CONFIG_NAMES]
    yield [f"{STATE}/extensions/toolguard/index.mjs", CONFIG, METRICS]
    yield [METRICS + end for end in (*metrics_path.ENDS, *metrics_path.SECRETS)]
    for first, tails in place_names.HOME_SECRETS.items():
        stems = [f"{HOME}/{first}/{tail.rstrip('/')}" for tail in tails or ("", "x", "x/y")]
        yield [f"{HOME}/{first}", *(path for stem in stems for path in (stem.rstrip("/"), f"{stem}/x", f"{stem}.json"))]
    yield [path for start in place_names.SYSTEM_SECRETS for path in (start.rstrip("/"), f"{start.rstrip('/')}/x")]
    secrets = place_names.secret_names()
    for folder in (HOME, f"{HOME}/project", WORKSPACE, "/srv/data", f"{HOME}/.ssh"):
        yield [f"{folder}/{name}" for name in secrets.names]
        yield [f"{folder}/server{end}" for end in secrets.ends]
        yield [f"{folder}/.env.{end}" for end in ("local", "production", "a-b")]
    yield ["/etc/ssh/ssh_host_rsa_key", "/proc/17/environ", "/srv/openclaw/credentials/x", "/srv/.openclaw/identity/x"]


def spelled(path: str) -> list[str]:
    """The same path as others would write it, each way at its own place; empty where a way is not for this path."""
    folder, _, name = path.rpartition("/")
    is_long = len(name) > 2
    in_home, in_state, in_workspace = (path.removeprefix(f"{root}/") for root in (HOME, STATE, WORKSPACE))
    return [
        path,
        path.upper() if path.startswith(STATE) else "",
        *(f"/{path}", f"/.{path}", f"/tmp/..{path}", f"/proc/self/root{path}", f"/proc/1/root/{path}"),
        *(f"file://{path}", f"file://localhost{path}", f"@{path}", f"{path}/", f" {path}"),
        *(f"{folder}//{name}", f"{folder}/./{name}", f"{folder}/x/../{name}"),
        *(f"{folder}/{end}" if is_long else "" for end in (f"{name[:-1]}?", f"{name[:-1]}*", f"{name[:-1]}[{name[-1]}]")),
        *(
            f"{start}/{in_home}" if in_home != path else ""
            for start in ("~", "$HOME", "${HOME}", "/.$HOME", "/tmp/..${HOME}")
        ),
        in_workspace if in_workspace != path else "",
        *(f"{start}/{in_state}" if in_state != path else "" for start in ("..", "$OPENCLAW_STATE_DIR")),
    ]


def chosen(group: list[str]) -> Iterator[str]:
    """The spellings of a group of paths: all of them, or each way for every `SAMPLE`-th path, another one to begin with."""
    for path_at, path in enumerate(group):
        for way_at, text in enumerate(spelled(path)):
            step = 1 if WHOLE else min(SAMPLE, len(group))
            if text and path_at % step == way_at % step:
                yield text


def is_protected(text: str) -> bool:
    own = protected_paths.kind(text, HOST, (WORKSPACE,)) in ("guard", "key")
    return own or places.place(text, WHERE) == "credentials"


groups = ([path for path in group if not path.startswith(DRIVE)] for group in named())
texts = {text for group in groups for text in chosen(group)}
found = sorted(filter(is_protected, texts))
json.dump(found, sys.stdout)
