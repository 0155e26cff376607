"""Commands by which an agent would get round the guard. `reason` says in one sentence why a command is one, or nothing.

Laws, each over every text that may run (`shellwords.lines`):

- the guard's own command line runs only with a sub-command that changes nothing; nobody removes the package or the plugin;
- a line that names a protected place only reads, and the key is not even read;
- nothing changes or copies a folder that holds such a place as a whole (`selfstate`), or writes there by code (`selfcode`);
- nothing ends the engine or its gateway (`selfprocess`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

from toolguard_engine import protectedpaths
from toolguard_engine.layers import selfcode, selfprocess, selfstate
from toolguard_engine.model import Host
from toolguard_engine.shelltext import MAX_CHARS, readings
from toolguard_engine.shellwords import INTERPRETERS, UNKNOWN, Line, Simple, base, is_textual, lines, names

CLI = "This command would use the guard's own command line to change what it allows."
REMOVE = "This command would remove or switch off the guard, or change the configuration that keeps it in place."
FILES = "This command would change the files or the configuration of the guard itself."
KEY = "This command would read the secret key with which the guard signs approvals."
LONG = "This command names the guard and is too long to be read."

_NAMED = re.compile(r"toolguard|openclaw|clawdbot", re.IGNORECASE)
_NAMES = frozenset({"toolguard", "openclaw-toolguard", "toolguard_cli", "toolguard_engine"})
_READ_ONLY = frozenset({"status", "pending", "grants", "check", "--help", "-h", "--version", "help"})
_ANSWERS = frozenset({"approve", "deny", "grant", "revoke"})
_CHANGES = _ANSWERS | names(
    "watch policy install uninstall migrate config doctor kill-switch checkpoint dashboard tune demo replay"
)
_LINKERS = frozenset({"alias", "ln"})
_NAMERS = _LINKERS | names("cp mv install")
"""Commands that give a program another name."""
_BINARIES = frozenset({"bin", "Scripts"})
_FINDERS = names("which command type whereis hash")
_VALUED = frozenset({"--state-dir", "--config"})
_MODULE = re.compile(r"-[A-Za-z]*m(\S*)")
_IMPORT = re.compile(
    r"(?:\bimport|\bfrom|import_module|run_module|run_path|__import__)\W++(?:[\w./]{0,200}\W)?toolguard_(?:cli|engine)\b"
)
_LISTED = re.compile(r"\btoolguard(?:_cli)?['\"]?\s*,\s*['\"](?:" + "|".join(sorted(_CHANGES)) + r")\b")
_PACKAGE = re.compile(r"(?:^|[/+@])openclaw[-_.]+toolguard", re.IGNORECASE)
_PACKAGERS = re.compile(r"(?:pip[\d.]*|pipx|uv|poetry|pdm|conda|mamba|npm|pnpm|yarn|bun)")
_PACKAGE_VERBS = names("install uninstall remove rm add upgrade update reinstall inject uninject")
_PLUGIN_VERBS = names("disable uninstall remove install update enable")
_CONFIG_VERBS = names("set unset patch apply edit delete")
_GATEWAY = re.compile(
    r"(?:^|/)(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?$|openclaw\.mjs$|(?:openclaw|clawdbot)/(?:\S*/)?(?:index|entry)\.m?js$"
)
_BUILT = re.compile(r"(?:^|/)dist/(?:index|entry)\.m?js$")
_GATEWAY_VALUED = frozenset({"--profile", "--log-level", "--container"})
_GATEWAY_SETUP = names("reset uninstall configure onboard setup")
_METHOD = re.compile(r"[a-z][\w-]*(?:\.[\w-]+)*")
_READING_METHOD = re.compile(r"health|status|config\.(?:get|schema)\b.*|.*\.(?:list|get|status|history)")
_CHAT_METHOD = re.compile(r"chat\.|agent$|send$|sessions\.send")
_UNSEEN = re.compile(r"[$`]|^@")
_CHAT = re.compile(r"\s*/toolguard\s+(?:approve|deny|grant|revoke)\b", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
_CONFIG_PATH = re.compile(
    r"(?:^|[\s'\"{,])plugins['\"]?"
    r"(?:$|\s*[:=]|[.\[]['\"]?(?:(?:allow|deny|load|enabled|slots)\b|entries['\"]?\]?$|\S*toolguard))"
)

READERS = names(
    "cat ls head tail grep egrep fgrep rg jq stat wc file less more find diff cmp echo printf cd pwd test [ sort uniq cut "
    "tr true du tree realpath readlink basename dirname which sleep date"
)
_KEYLESS = frozenset({"ls", "stat", "test", "["})
_WRITING_OPTION = re.compile(r"-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)$|--(?:output|pre)\b|-\w*o")
_RECURSIVE = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive|--directories=recurse")
_ROOT_CHANGERS = names(
    "rm mv cp ln chmod chown chgrp chattr setfacl mount umount tar zip 7z rsync scp rmdir shred unlink install "
    "truncate tee dd"
)
_ROOT_CODE = re.compile(r"rmtree|rmdir|rename|unlink|remove|rmSync|\bmove\b|copytree|make_archive|chmod|symlink")
_MAX_GLOB = 256
_FOLDERS = 8
_MAX_FOLDERS = 64
_SPLIT = re.compile(r"[\s'\"=,:;|&()<>`]+")
_SAFE_TARGET = re.compile(r"/dev/(?:null|stdout|stderr|tty)|\d|-")


def reason(command: str, host: Host, folder: str) -> str:
    """Why `command`, started in `folder` (empty: the agent's own), must not run; empty if it may."""
    if len(command) > MAX_CHARS:
        return LONG if _NAMED.search(command) else ""
    spelled = [text.lower() for text in readings(command)]
    found = lines(command)
    laws: tuple[Callable[[], str], ...] = (
        lambda: _first(found, lambda line: _own_command(line, command)),
        lambda: _first(found, lambda line: _place(line, host, folder)),
        lambda: _first(found, lambda line: selfstate.reason(line, host, folder)),
        lambda: _first(found, lambda line: selfprocess.reason(line, command, host)),
        lambda: selfprocess.by_code(command, host),
        lambda: CLI if any(_runs_code(line) for line in found) and _runs_by_code(spelled) else "",
        lambda: selfcode.reason(found),
        lambda: _code_on_root(found, spelled, host),
    )
    return next((text for law in laws if (text := law())), "")


def _first(found: tuple[Line, ...], law: Callable[[Line], str]) -> str:
    return next((text for line in found if (text := law(line))), "")


def _own_command(line: Line, command: str) -> str:
    for simple in line:
        if text := _simple(simple, command):
            return text
    return CLI if _names_what_is_found(line) else ""


def _names_what_is_found(line: Line) -> bool:
    """`ln -s $(which toolguard) other`."""
    found = any(_FINDERS & set(simple.words) and _NAMES & set(simple.words) for simple in line)
    return found and any(simple.name in _NAMERS and any("$" in word for word in simple.words) for simple in line)


def _is_program(word: str, *, bare: bool) -> bool:
    """Whether a word names the guard's program and not just any folder called like it. `bare`: without a path as well."""
    path = word.rpartition("=")[2]
    folder, slash, name = path.rpartition("/")
    return name in _NAMES and (base(folder) in _BINARIES if slash else bare)


def _simple(simple: Simple, command: str) -> str:
    words = simple.unwrapped()
    if not words:
        return ""
    head, rest = words[0], words[1:]
    if base(head) in _NAMES:
        bare = "xargs" in simple.words or "parallel" in simple.words
        return CLI if _changes(rest, bare=bare) else ""
    if rest and rest[0] in _CHANGES and _GLOB.search(head) and fnmatchcase("toolguard", base(head)[:_MAX_GLOB]):
        return CLI
    if UNKNOWN in head or "$" in head or ("toolguard" in command and "xargs" in simple.words):
        return CLI if rest and (rest[0] in _ANSWERS or (rest[0] in _CHANGES and "toolguard" in command)) else ""
    if is_textual(simple):
        return ""
    if base(head) in _NAMERS and any(_is_program(word, bare=base(head) in _LINKERS) for word in rest):
        return CLI
    if INTERPRETERS.fullmatch(base(head)) and (text := _script(rest)):
        return text
    if any(base(word) in _NAMES and rest[at + 1 : at + 2] and rest[at + 1] in _CHANGES for at, word in enumerate(rest)):
        return CLI
    return _removal(words)


def _changes(rest: list[str], *, bare: bool) -> bool:
    """Whether the guard's command line, called with `rest`, does more than show something."""
    words = list(rest)
    while words and words[0].startswith("-") and words[0] not in _READ_ONLY:
        words = words[2 if words[0] in _VALUED else 1 :]
    if not words:
        return bare
    if words[0] == "audit":
        return words[1:2] not in (["show"], ["verify"], ["--help"])
    if words[0] == "doctor":
        return any(word.startswith(("--f", "$")) or UNKNOWN in word for word in words)
    return words[0] not in _READ_ONLY and words[1:] != ["--help"]


def _script(rest: list[str]) -> str:
    """A Python that runs the guard's modules or its console script."""
    for at, word in enumerate(rest):
        if match := _MODULE.fullmatch(word):
            module, after = (match[1], rest[at + 1 :]) if match[1] else ("".join(rest[at + 1 : at + 2]), rest[at + 2 :])
            return CLI if module.split(".")[0] in _NAMES and _changes(after, bare=False) else ""
        if not word.startswith("-"):
            ours = bool(_NAMES & set(word.split("/")[-2:])) and not word.endswith("toolguard")
            return CLI if (ours or base(word) in _NAMES) and _changes(rest[at + 1 :], bare=False) else ""
    return ""


def _removal(words: list[str]) -> str:
    bases = [base(word) for word in words]
    packager = any(_PACKAGERS.fullmatch(name) for name in bases[:4])
    if packager and _PACKAGE_VERBS & set(words) and any(_PACKAGE.search(w) or base(w) in _NAMES for w in words):
        return REMOVE
    at = next((at for at, word in enumerate(words) if _GATEWAY.search(word)), None)
    if at is None and "toolguard" in words:
        at = next((at for at, word in enumerate(words) if _BUILT.search(word)), None)
    return REMOVE if at is not None and _gateway_command(words[at + 1 :]) else ""


def _gateway_command(rest: list[str]) -> bool:
    """Whether OpenClaw's own command line, called with `rest`, switches off the guard or answers for the person."""
    verbs = set(rest[:6])
    if "plugins" in verbs and verbs & _PLUGIN_VERBS:
        return any("toolguard" in word.lower() or word == "--all" for word in rest)
    if "approvals" in verbs and "resolve" in verbs:
        return True
    if "config" in verbs and verbs & _CONFIG_VERBS:
        unseen = any(word.startswith(("--file", "--batch-file", "--stdin")) or word == "-" for word in rest)
        return unseen or any(_CONFIG_PATH.search(word) for word in rest)
    if any(_CHAT.match(word) for word in rest):
        return True
    if "call" in verbs:
        return _calls(rest[rest.index("call") + 1 :])
    if "gateway" in verbs and verbs & {"stop", "uninstall"}:
        return True
    own = _without_options(rest)
    return own[:1] != [] and own[0] in _GATEWAY_SETUP and own[1:] != ["--help"]


def _without_options(rest: list[str]) -> list[str]:
    """The words of OpenClaw's command line from its sub-command on."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in _GATEWAY_VALUED else 1
    return rest[at:]


def _calls(rest: list[str]) -> bool:
    """Whether `openclaw gateway call`, with `rest`, does more than read, or what it does cannot be seen."""
    methods = [word for word in rest if _METHOD.fullmatch(word)]
    if methods and _READING_METHOD.fullmatch(methods[0]):
        return False
    named = any(word.startswith("config.") or "approval" in word or "toolguard" in word for word in rest)
    return named or any(_CHAT_METHOD.match(word) for word in methods) or any(_UNSEEN.search(word) for word in rest)


def _runs_code(line: Line) -> bool:
    return any(INTERPRETERS.fullmatch(base(word)) for simple in line for word in simple.words[:6])


def _runs_by_code(spelled: list[str]) -> bool:
    """Code that calls the guard's modules or command line."""
    return any(_IMPORT.search(text) or _LISTED.search(text) for text in spelled if "toolguard" in text)


def _place(line: Line, host: Host, folder: str) -> str:
    folders = _folders(line, host, folder)
    known = _kinds(host, folders)
    at_home = folders == (_workspace(host),)
    named = [(simple, found) for simple in line for found in _named(simple, host, known, at_home=at_home)]
    if folder and protectedpaths.kind(folder, host) in {"guard", "key"}:
        named += [(simple, "guard") for simple in line]
    if not named:
        return ""
    reading = all(_only_reads(simple) for simple in line)
    fed = any("xargs" in simple.words for simple in line)
    for simple, found in named:
        if found == "key" and not (len(line) == 1 and simple.name in _KEYLESS):
            return KEY
        if found == "guard" and not reading:
            return FILES
        if found in {"guard", "root"} and _reads_tree(simple):
            return KEY
        if found == "root" and (fed or _changes_root(simple)):
            return FILES
    return ""


def _kinds(host: Host, folders: tuple[str, ...]) -> Callable[[str], str]:
    """`protectedpaths.kind` from these folders, each path asked once. Most words of a line are no path of ours at all."""
    inside = any(protectedpaths.kind(path, host) or protectedpaths.is_above(path, host) for path in folders)
    words = (*protectedpaths.of(host).words, "toolguard", "claw", "*", "?", "[", "..", "$", "~")

    @cache
    def known(path: str) -> str:
        if not inside and not any(word in path.lower() for word in words):
            return ""
        return protectedpaths.kind(path, host, folders)

    return known


def _folders(line: Line, host: Host, folder: str) -> tuple[str, ...]:
    """Where a relative path of this line may start: the folder of the call, and every one that the line goes to."""
    found = dict.fromkeys(protectedpaths.resolved(folder or _workspace(host), host, ("/",)))
    for target in dict.fromkeys(_gone_to(simple) for simple in line):
        if not target or len(found) >= _MAX_FOLDERS:
            continue
        for path in protectedpaths.resolved(target, host, tuple(found)):
            found[path] = None
    near = sorted(found, key=lambda path: not protectedpaths.is_above(path, host) and not protectedpaths.kind(path, host))
    return tuple(near[:_FOLDERS])


def _gone_to(simple: Simple) -> str:
    words = simple.unwrapped()
    if words[:1] and words[0] in {"cd", "pushd"}:
        return words[-1] if words[1:] else "~"
    return ""


def _workspace(host: Host) -> str:
    return protectedpaths.of(host).state + "/workspace"


def _named(simple: Simple, host: Host, known: Callable[[str], str], *, at_home: bool) -> set[str]:
    """The protected places that a command names. A quoted sentence is either judged as a command, or only text."""
    paths: dict[str, None] = {}
    for word in (*simple.words, *simple.writes, *simple.reads):
        if " " not in word and "\n" not in word:
            paths.update(dict.fromkeys(path for path in _SPLIT.split(word) if path and path != "?"))
    found: set[str] = {known(path) for path in paths}
    if at_home:
        found |= {
            protectedpaths.kind(path, host)
            for path in simple.words
            if path.endswith(protectedpaths.CONFIG_NAMES) and "/" not in path
        }
    return found - {""}


def _only_reads(simple: Simple) -> bool:
    if any(not _SAFE_TARGET.fullmatch(target) for target in simple.writes):
        return False
    words = simple.unwrapped()
    name = base(words[0]) if words else "true"
    if name not in READERS or "xargs" in simple.words:
        return False
    options = [word for word in words[1:] if word.startswith("-")]
    checked = name in {"find", "sort", "rg", "diff", "tree"}
    return not (checked and any(_WRITING_OPTION.match(option) for option in options if name == "sort" or option != "-o"))


def _reads_tree(simple: Simple) -> bool:
    """Whether the command prints what is in every file of a folder."""
    name = simple.name
    return name in {"rg", "ag"} or (name.endswith("grep") and any(_RECURSIVE.match(word) for word in simple.words))


def _changes_root(simple: Simple) -> bool:
    words = simple.words
    removing = any(_WRITING_OPTION.match(word) for word in words) if simple.name == "find" else False
    return simple.name in _ROOT_CHANGERS or removing or bool(simple.writes)


def _code_on_root(found: tuple[Line, ...], spelled: list[str], host: Host) -> str:
    code = any(INTERPRETERS.fullmatch(simple.name) for line in found for simple in line)
    if not code or not any(_ROOT_CODE.search(text) for text in spelled):
        return ""
    known = _kinds(host, ())
    named = (place for line in found for simple in line for place in _named(simple, host, known, at_home=False))
    return FILES if any(place in {"root", "guard", "key"} for place in named) else ""
