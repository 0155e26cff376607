"""Nobody removes or switches off the package or the plugin, or has the gateway's command line answer for the person."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.layers.protection.commands import NAMES
from toolguard_engine.layers.protection.scene import Finding, Scene, base, is_textual
from toolguard_engine.shell.model import UNKNOWN

REASON = "This command would remove or switch off the guard, or change the configuration that keeps it in place."

_PACKAGE = re.compile(r"(?:^|[/+@])openclaw[-_.]+toolguard", re.IGNORECASE)
_PACKAGERS = re.compile(r"(?:pip[\d.]*|pipx|uv|poetry|pdm|conda|mamba|npm|pnpm|yarn|bun)")
_PACKAGE_VERBS = frozenset(
    {
        "install",
        "uninstall",
        "remove",
        "rm",
        "r",
        "un",
        "unlink",
        "add",
        "upgrade",
        "update",
        "reinstall",
        "inject",
        "uninject",
    }
)
_UNINSTALLS = frozenset({"uninstall", "remove", "rm", "r", "un", "unlink"})
_GLOBALLY = frozenset({"-g", "--global", "global", "--location=global"})
_GATEWAY_PACKAGE = re.compile(r"(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?")
_PLUGIN_VERBS = frozenset({"disable", "uninstall", "remove", "install", "update", "enable"})
_CONFIG_VERBS = frozenset({"set", "unset", "patch", "apply", "edit", "delete"})
_GATEWAY = re.compile(
    r"(?:^|/)(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?$|openclaw\.mjs$|(?:openclaw|clawdbot)/(?:\S*/)?(?:index|entry)\.m?js$"
)
_BUILT = re.compile(r"(?:^|/)dist/(?:index|entry)\.m?js$")
_VALUED = frozenset({"--profile", "--log-level", "--container"})
_SETUP = frozenset({"reset", "uninstall", "configure", "onboard", "setup"})
_METHOD = re.compile(r"[a-z][\w-]*(?:\.[\w-]+)*")
_READING_METHOD = re.compile(r"health|status|config\.(?:get|schema)\b.*|.*\.(?:list|get|status|history)")
_CHAT_METHOD = re.compile(r"chat\.|agent$|send$|sessions\.send")
_UNSEEN = re.compile(rf"[$`{UNKNOWN}]|^@")
CHAT_COMMAND = re.compile(r"\s*/toolguard(?:@[\w.-]{1,64})?[\s:]+(?!(?:pending|status|help)\b)\S", re.IGNORECASE)
"""A text that the gateway takes for a command to the guard which does more than show something."""
_CONFIG_PATH = re.compile(
    r"(?:^|[\s'\"{,])plugins['\"]?"
    r"(?:$|\s*[:=]|[.\[]['\"]?(?:(?:allow|deny|load|enabled|slots)\b|entries['\"]?\]?$|\S*toolguard))"
)
_MAX_WORDS = 200


def findings(scene: Scene) -> Iterator[Finding]:
    runs = (run.argv[:_MAX_WORDS] for run in scene.runs if not is_textual(run) and not scene.is_wrapper(run))
    if any(_removes(words) or _commands(words) for words in runs):
        yield Finding(REASON)


def _removes(words: tuple[str, ...]) -> bool:
    if _PACKAGE_VERBS.isdisjoint(words) or not any(_PACKAGERS.fullmatch(base(word)) for word in words[:4]):
        return False
    if not (_UNINSTALLS.isdisjoint(words) or _GLOBALLY.isdisjoint(words)):
        return any(_GATEWAY_PACKAGE.fullmatch(word) or _PACKAGE.search(word) or base(word) in NAMES for word in words)
    return any(_PACKAGE.search(word) or base(word) in NAMES for word in words)


def _commands(words: tuple[str, ...]) -> bool:
    at = next((at for at, word in enumerate(words) if _GATEWAY.search(word)), None)
    if at is None and "toolguard" in words:
        at = next((at for at, word in enumerate(words) if _BUILT.search(word)), None)
    return at is not None and _does_harm(words[at + 1 :])


def _does_harm(rest: tuple[str, ...]) -> bool:
    """Whether OpenClaw's own command line, called with `rest`, switches off the guard or answers for the person."""
    verbs = set(rest[:6])
    if "plugins" in verbs and verbs & _PLUGIN_VERBS:
        return any("toolguard" in word.lower() or word == "--all" or UNKNOWN in word for word in rest)
    if "approvals" in verbs and "resolve" in verbs:
        return True
    if "config" in verbs and verbs & _CONFIG_VERBS:
        unseen = any(word.startswith(("--file", "--batch-file", "--stdin")) or word == "-" for word in rest)
        return unseen or any(_CONFIG_PATH.search(word) for word in rest)
    if any(CHAT_COMMAND.match(word) for word in rest):
        return True
    if "call" in verbs:
        return _calls(rest[rest.index("call") + 1 :])
    if "gateway" in verbs and verbs & {"stop", "uninstall"}:
        return True
    own = _without_options(rest)
    return own[:1] != () and own[0] in _SETUP and own[1:] != ("--help",)


def _without_options(rest: tuple[str, ...]) -> tuple[str, ...]:
    """The words of OpenClaw's command line from its sub-command on."""
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in _VALUED else 1
    return rest[at:]


def _calls(rest: tuple[str, ...]) -> bool:
    """Whether `openclaw gateway call`, with `rest`, does more than read, or what it does cannot be seen."""
    methods = [word for word in rest if _METHOD.fullmatch(word)]
    if methods and _READING_METHOD.fullmatch(methods[0]):
        return False
    named = any(word.startswith("config.") or "approval" in word or "toolguard" in word for word in rest)
    return named or any(_CHAT_METHOD.match(word) for word in methods) or any(_UNSEEN.search(word) for word in rest)
