"""What the engine protects, spelled in many ways, for the law that the gateway part's table covers it.

JSON on standard output: the texts that the engine itself takes for a file of the guard, a key or a credential.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import chain

from toolguard_engine import ownfiles, protectedpaths
from toolguard_engine.metrics import place
from toolguard_engine.model import Host
from toolguard_engine.shell import placenames, places
from toolguard_engine.silentplaces import DRIVE

HOME, STATE, WORKSPACE, CONFIG, METRICS = sys.argv[1:]
HOST = Host(HOME, STATE, CONFIG, (), frozenset(), METRICS)
WHERE = places.Where(HOME, WORKSPACE, WORKSPACE, STATE)


def named() -> Iterator[str]:
    """Absolute paths of the places, and files below them."""
    for name in ownfiles.NAMES:
        yield f"{STATE}/toolguard/{name}"
    yield from (f"{STATE}/{name}" for name in protectedpaths.CONFIG_NAMES)
    yield from (f"{STATE}/extensions/toolguard/index.mjs", CONFIG, METRICS)
    yield from (METRICS + end for end in (*place.ENDS, *place.SECRETS))
    for first, tails in placenames.HOME_SECRETS.items():
        yield f"{HOME}/{first}"
        for tail in tails or ("", "x", "x/y"):
            yield from (f"{HOME}/{first}/{tail}".rstrip("/"), f"{HOME}/{first}/{tail.rstrip('/')}/x")
            yield f"{HOME}/{first}/{tail.rstrip('/')}.json"
    for start in placenames.SYSTEM_SECRETS:
        yield from (start.rstrip("/"), f"{start.rstrip('/')}/x")
    secrets = placenames.secret_names()
    for folder in (HOME, f"{HOME}/project", WORKSPACE, "/srv/data", f"{HOME}/.ssh"):
        yield from (f"{folder}/{name}" for name in secrets.names)
        yield from (f"{folder}/server{end}" for end in secrets.ends)
        yield from (f"{folder}/.env.{end}" for end in ("local", "production", "a-b"))
    yield from ("/etc/ssh/ssh_host_rsa_key", "/proc/17/environ", "/srv/openclaw/credentials/x", "/srv/.openclaw/identity/x")


def spelled(path: str) -> Iterator[str]:
    """The same path as others would write it."""
    yield path
    yield path.upper() if path.startswith(STATE) else path
    yield from (f"/{path}", f"/.{path}", f"/tmp/..{path}", f"/proc/self/root{path}", f"/proc/1/root/{path}")
    yield from (f"file://{path}", f"file://localhost{path}", f"@{path}", f"{path}/", f" {path}")
    folder, _, name = path.rpartition("/")
    yield from (f"{folder}//{name}", f"{folder}/./{name}", f"{folder}/x/../{name}")
    if len(name) > 2:
        yield from (f"{folder}/{name[:-1]}?", f"{folder}/{name[:-1]}*", f"{folder}/{name[:-1]}[{name[-1]}]")
    if path.startswith(f"{HOME}/"):
        rest = path.removeprefix(HOME)
        yield from (f"~{rest}", f"$HOME{rest}", f"${{HOME}}{rest}", f"/.$HOME{rest}", f"/tmp/..${{HOME}}{rest}")
    if path.startswith(f"{WORKSPACE}/"):
        yield path.removeprefix(f"{WORKSPACE}/")
    if path.startswith(f"{STATE}/"):
        yield from (f"../{path.removeprefix(f'{STATE}/')}", f"$OPENCLAW_STATE_DIR/{path.removeprefix(f'{STATE}/')}")


def is_protected(text: str) -> bool:
    own = protectedpaths.kind(text, HOST, (WORKSPACE,)) in ("guard", "key")
    return own or places.place(text, WHERE) == "credentials"


texts = set(chain.from_iterable(spelled(path) for path in named() if not path.startswith(DRIVE)))
found = sorted(filter(is_protected, texts))
json.dump(found, sys.stdout)
