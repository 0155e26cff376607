"""Tasks of Ansible playbooks as the shell commands that do the same, for the modules whose effect a rule knows.

The usual forms are read: arguments as lines below the module, in braces, or as `key=value`; each item of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from shlex import quote

from toolguard_engine import lazy_re

Arguments = dict[str, str]

_NAME = r"[\"']?(?P<module>(?:[a-z_]{1,40}+\.){0,2}[a-z_]{2,40}+)[\"']?"
_TASK = lazy_re.compile(
    rf"^(?P<indent>[ ]{{0,40}}+)(?P<dash>-[ ]{{1,9}}+)?{_NAME}[ ]{{0,9}}+:(?P<rest>[ ].{{0,2000}}+)?$", re.MULTILINE
)
_BRACED = lazy_re.compile(
    rf"(?:^|[\s{{,\"']){_NAME}\s{{0,9}}+:\s{{0,9}}+\{{(?P<rest>[^{{}}]{{0,2000}}+(?:\{{\{{[^{{}}]{{0,80}}+\}}\}}[^{{}}]{{0,2000}}+){{0,9}})\}}",
    re.MULTILINE,
)
_LINE = lazy_re.compile(r"^(?P<indent>[ ]{0,80}+)[\"']?(?P<key>[a-z_]{1,40}+)[\"']?[ ]{0,9}+:(?P<value>[ ].{0,2000}+)?$")
_VALUE = r"(\"[^\"]{0,500}+\"|'[^']{0,500}+'|\[[^\]]{0,500}+\]|(?:\{\{[^{}]{0,80}+\}\}|[^,{}]){0,500})"
_IN_BRACES = lazy_re.compile(rf"(?:^|,)\s{{0,9}}+[\"']?([a-z_]{{1,40}}+)[\"']?\s{{0,9}}+:\s{{0,9}}+{_VALUE}")
_ASSIGNED = lazy_re.compile(r"([a-z_]{1,40}+)=(\"[^\"]{0,500}+\"|'[^']{0,500}+'|\S{1,500}+)")
_LOOP = lazy_re.compile(
    r"^[ ]{0,40}+(?:loop|with_items)[ ]{0,9}+:[ ]{0,9}+(\[[^\]]{0,500}+\]|$(?:\n[ ]{1,60}+-[ ][^\n]{1,200}+){1,40})",
    re.MULTILINE,
)
_ITEM = lazy_re.compile(r"\{\{\s{0,9}+item\s{0,9}+\}\}")
_COMMENT = lazy_re.compile(r"(?:^|\s)#.{0,2000}+$")
_BLOCK = lazy_re.compile(r"[|>][+-]?\d?")
_FALSE = frozenset({"false", "no", "off", "0"})
_MAX_LINES = 60
_MAX_TASKS = 200
_MAX_ITEMS = 16
_NEAR = 800
"""Characters below a task within which its loop stands."""


def commands(text: str) -> Iterator[tuple[int, str]]:
    """The number of each line that begins a known task, and a command for it."""
    for module, given, start, end in islice(_tasks(text), _MAX_TASKS):
        line = text.count("\n", 0, start) + 1
        for item in _looped(given, text, end):
            for command in _MODULES[module](item):
                yield line, command


def _tasks(text: str) -> Iterator[tuple[str, Arguments, int, int]]:
    """Module, arguments, and where the task begins and its first line ends. Those in braces come last."""
    for match in _TASK.finditer(text):
        module, rest = match["module"].rpartition(".")[2], _COMMENT.sub("", match["rest"] or "").strip()
        if module in ("action", "local_action"):
            name, _, rest = rest.partition(" ")
            module = name.rpartition(".")[2]
        if module not in _MODULES or rest.startswith("{"):
            continue
        below = "" if rest and not _BLOCK.fullmatch(rest) else _below(text, match)
        given = dict(_lines(below)) if not rest else dict(_pairs(_ASSIGNED, below or rest))
        if given or not rest:
            yield module, given, match.start("module"), match.end()
    for match in _BRACED.finditer(text):
        if (module := match["module"].rpartition(".")[2]) in _MODULES:
            yield module, dict(_pairs(_IN_BRACES, match["rest"])), match.start("module"), match.end()


def _below(text: str, task: re.Match[str]) -> str:
    """The lines that belong to a task: those that are indented more than its module."""
    least = len(task["indent"]) + len(task["dash"] or "")
    texts: list[str] = []
    for line in text[task.end() + 1 : task.end() + 4_000].split("\n")[:_MAX_LINES]:
        if line.strip() and not line.lstrip().startswith("#"):
            if len(line) - len(line.lstrip(" ")) <= least:
                break
            texts.append(line)
    return "\n".join(texts)


def _lines(below: str) -> Iterator[tuple[str, str]]:
    """`key: value`, each with what is indented more below it: a block of text, or a list."""
    key, indent = "", -1
    value: list[str] = []
    for line in below.split("\n"):
        match = _LINE.match(line)
        if match is not None and (indent < 0 or len(match["indent"]) <= indent):
            if key:
                yield key, _plain("\n".join(value))
            indent, key = len(match["indent"]), match["key"]
            given = _COMMENT.sub("", match["value"] or "").strip()
            value = [] if _BLOCK.fullmatch(given) or not given else [given]
        elif key:
            value.append(line.strip().removeprefix("- "))
    if key:
        yield key, _plain("\n".join(value))


def _pairs(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    return ((key, _plain(value)) for key, value in pattern.findall(text))


def _looped(given: Arguments, text: str, end: int) -> Iterator[Arguments]:
    """The arguments, once for each item of the loop below the task."""
    loop = _LOOP.search(text, end, end + _NEAR) if any(_ITEM.search(value) for value in given.values()) else None
    if loop is None:
        yield given
        return
    items = re.findall(r"(?:^|[\[,\n])\s{0,60}+(?:-\s)?\s{0,9}+[\"']?([^\n,\[\]\"']{1,200}+)", loop[1])
    for item in items[:_MAX_ITEMS]:
        named = item.strip().replace("\\", "")
        yield {key: _ITEM.sub(named, value) for key, value in given.items()}


def _plain(value: str) -> str:
    return value.strip().strip("'\"")


def _path(path: str) -> str:
    return f"~/{quote(path[2:])}" if path.startswith("~/") else quote(path)


def _names(given: Arguments) -> str:
    return " ".join(quote(name) for name in re.findall(r"[\w.@:/-]{1,200}+", given.get("name", "")))


def _file(given: Arguments) -> Iterator[str]:
    path = _path(given.get("path") or given.get("dest") or given.get("name", ""))
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
    path = given.get("path") or given.get("dest")
    line = given.get("line") or given.get("block") or given.get("content") or given.get("replace", "")
    if path and "src" in given:
        yield f"cp {_path(given['src'])} {_path(path)}"
    elif path:
        yield f"printf '%s\\n' {quote(line)} >> {_path(path)}"


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
    if (key := given.get("key")) and given.get("state") != "absent":
        yield f"echo {quote(key)} >> ~/.ssh/authorized_keys"


def _job(given: Arguments) -> Iterator[str]:
    if (job := given.get("job")) and given.get("state") != "absent":
        yield f"echo {quote(f'* * * * * {job}')} | crontab -"


def _download(given: Arguments) -> Iterator[str]:
    if "url" in given and "dest" in given:
        yield f"curl -o {_path(given['dest'])} {quote(given['url'])}"


def _format(given: Arguments) -> Iterator[str]:
    if "dev" in given:
        yield f"mkfs.{quote(given.get('fstype', 'ext4'))} {quote(given['dev'])}"


def _database(given: Arguments) -> Iterator[str]:
    if given.get("state") == "absent":
        yield f"dropdb {_names(given)}"


def _argv(given: Arguments) -> Iterator[str]:
    if words := given.get("argv"):
        yield " ".join(quote(word.strip().strip("'\"")) for word in re.split(r"[,\n]", words.strip("[]")) if word.strip())


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
    **dict.fromkeys(("command", "shell"), _argv),
}
