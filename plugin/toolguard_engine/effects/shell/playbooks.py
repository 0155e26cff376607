"""Tasks of Ansible playbooks as the shell commands that do the same, for the modules whose effect a rule knows.

Only the usual forms are read: arguments as lines below the module, in braces, or as `key=value`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from shlex import quote

Arguments = dict[str, str]

_TASK = re.compile(
    r"^(?P<indent>[ ]{0,40}+)(?:-[ ]{1,9}+)?(?P<module>(?:[a-z_]{1,40}+\.){0,2}[a-z_]{2,40}+)"
    r"[ ]{0,9}+:[ ]{0,9}+(?P<rest>.{0,2000}+)$",
    re.MULTILINE,
)
_LINE = re.compile(r"^(?P<indent>[ ]{0,80}+)(?P<key>[a-z_]{1,40}+)[ ]{0,9}+:[ ]{0,9}+(?P<value>.{0,2000}+)$")
_IN_BRACES = re.compile(
    r"[{,]\s{0,9}+([a-z_]{1,40}+)\s{0,9}+:\s{0,9}+"
    r"(\"[^\"]{0,500}+\"|'[^']{0,500}+'|\[[^\]]{0,500}+\]|[^,}]{0,500}+)"
)
_ASSIGNED = re.compile(r"([a-z_]{1,40}+)=(\"[^\"]{0,500}+\"|'[^']{0,500}+'|\S{1,500}+)")
_LOOP = re.compile(
    r"^[ ]{0,40}+(?:loop|with_items)[ ]{0,9}+:[ ]{0,9}+(\[[^\]]{0,500}+\]|$(?:\n[ ]{1,60}+-[^\n]{1,200}+){1,40})",
    re.MULTILINE,
)
_ITEM = re.compile(r"\{\{\s{0,9}+item\s{0,9}+\}\}")
_FALSE = frozenset({"false", "no", "off", "0"})
_MAX_LINES = 12
_MAX_TASKS = 200
_NEAR = 800
"""Characters below a task within which its loop stands."""


def commands(text: str) -> Iterator[tuple[int, str]]:
    """The number of each line that begins a known task, and a command for it."""
    known = (found for found in _TASK.finditer(text) if found["module"].rpartition(".")[2] in _MODULES)
    for found in islice(known, _MAX_TASKS):
        act = _MODULES[found["module"].rpartition(".")[2]]
        given = _arguments(text, found)
        loop = _LOOP.search(text, found.end(), found.end() + _NEAR)
        items = " ".join(re.findall(r"[\w./@~-]{1,200}+", loop[1])) if loop else ""
        given = {key: _ITEM.sub(items, value) for key, value in given.items()}
        line = text.count("\n", 0, found.start()) + 1
        for command in act(given):
            yield line, command


def _arguments(text: str, task: re.Match[str]) -> Arguments:
    rest = task["rest"].strip()
    if rest.startswith("{"):
        return {key: _plain(value) for key, value in _IN_BRACES.findall(rest)}
    if rest:
        return {key: _plain(value) for key, value in _ASSIGNED.findall(rest)}
    given: Arguments = {}
    deeper = len(task["indent"]) + (2 if task[0].lstrip().startswith("-") else 0)
    for line in text[task.end() + 1 : task.end() + 4_000].split("\n")[:_MAX_LINES]:
        found = _LINE.match(line)
        if found is None or len(found["indent"]) <= deeper:
            break
        given[found["key"]] = _plain(found["value"])
    return given


def _plain(value: str) -> str:
    return value.strip().strip("'\"")


def _names(given: Arguments) -> str:
    return " ".join(quote(name) for name in re.findall(r"[\w.@:/-]{1,200}+", given.get("name", "")))


def _file(given: Arguments) -> Iterator[str]:
    path = quote(given.get("path") or given.get("dest") or given.get("name", ""))
    if given.get("state") == "absent":
        yield f"rm -rf {path}"
    deep = "-R " if given.get("recurse", "").lower() not in ("", *_FALSE) else ""
    if "mode" in given:
        yield f"chmod {deep}{quote(given['mode'])} {path}"
    if "owner" in given:
        yield f"chown {deep}{quote(given['owner'])} {path}"


def _service(given: Arguments) -> Iterator[str]:
    if given.get("state") == "stopped":
        yield f"systemctl stop {_names(given)}"
    if given.get("enabled", "").lower() in _FALSE:
        yield f"systemctl disable {_names(given)}"
    if given.get("masked", "").lower() not in ("", *_FALSE):
        yield f"systemctl mask {_names(given)}"


def _written(given: Arguments) -> Iterator[str]:
    path = quote(given.get("path") or given.get("dest", ""))
    line = given.get("line") or given.get("block") or given.get("content") or given.get("replace", "")
    yield f"printf '%s\\n' {quote(line)} >> {path}" if "src" not in given else f"cp {quote(given['src'])} {path}"


def _user(given: Arguments) -> Iterator[str]:
    if given.get("state") == "absent":
        yield f"userdel -r {_names(given)}"
    elif groups := given.get("groups"):
        yield f"usermod -aG {quote(groups)} {_names(given)}"


def _package(given: Arguments) -> Iterator[str]:
    if given.get("state") in ("absent", "removed"):
        yield f"apt-get remove -y {_names(given)}"


def _firewall(given: Arguments) -> Iterator[str]:
    if given.get("state") in ("disabled", "reset"):
        yield f"ufw {'disable' if given['state'] == 'disabled' else 'reset'}"


def _selinux(given: Arguments) -> Iterator[str]:
    if given.get("state") in ("disabled", "permissive"):
        yield "setenforce 0"


def _rules(given: Arguments) -> Iterator[str]:
    if given.get("flush", "").lower() not in ("", *_FALSE):
        yield "iptables -F"


def _key(given: Arguments) -> Iterator[str]:
    yield f"echo {quote(given.get('key', ''))} >> ~/.ssh/authorized_keys"


def _job(given: Arguments) -> Iterator[str]:
    if job := given.get("job"):
        yield f"echo {quote(f'* * * * * {job}')} | crontab -"


def _download(given: Arguments) -> Iterator[str]:
    yield f"curl -o {quote(given.get('dest', ''))} {quote(given.get('url', ''))}"


def _format(given: Arguments) -> Iterator[str]:
    yield f"mkfs.{quote(given.get('fstype', 'ext4'))} {quote(given.get('dev', ''))}"


def _database(given: Arguments) -> Iterator[str]:
    if given.get("state") == "absent":
        yield f"dropdb {_names(given)}"


def _reboot(given: Arguments) -> Iterator[str]:  # noqa: ARG001 - table signature
    yield "reboot"


_MODULES: dict[str, Callable[[Arguments], Iterator[str]]] = {
    "file": _file,
    **dict.fromkeys(("service", "systemd", "systemd_service"), _service),
    **dict.fromkeys(("lineinfile", "blockinfile", "copy", "template", "replace"), _written),
    "user": _user,
    **dict.fromkeys(("apt", "yum", "dnf", "package"), _package),
    "ufw": _firewall,
    "selinux": _selinux,
    "iptables": _rules,
    "authorized_key": _key,
    "cron": _job,
    "get_url": _download,
    "filesystem": _format,
    **dict.fromkeys(("postgresql_db", "mysql_db"), _database),
    "reboot": _reboot,
}
