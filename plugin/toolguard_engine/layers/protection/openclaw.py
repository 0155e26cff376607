"""Nobody removes or switches off the package or the plugin, or has the gateway's command line answer for the person.

What each verb of that command line does is in `controlplane`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.controlplane.commandline import OWN_PROGRAM, Deed, deeds
from toolguard_engine.layers.protection.commands import NAMES
from toolguard_engine.layers.protection.scene import Finding, Scene, base, is_textual
from toolguard_engine.shell.acts.control import LAUNCHERS, own_words
from toolguard_engine.shell.effects import PROGRAMS
from toolguard_engine.shell.model import UNKNOWN, Run

REASON = "This command would remove or switch off the guard, or change the configuration that keeps it in place."
ANSWERS = "This command would answer in place of a person."
ENDS = "This command would end the gateway that the guard runs in."
TAKES_KEY = "This command would copy the secret by which the guard knows a person's word."
PRINTED = "This command would change a file whose name the gateway itself prints: it may be its configuration."
INNER = "This command would run code out of the inside of the gateway, past its command line."
OTHER_NAME = "This command would give the gateway's own command line another name, under which the guard does not know it."
_REASONS = {
    "openclaw approvals resolve": ANSWERS,
    "openclaw gateway call config": REASON,
    "openclaw gateway call": ANSWERS,
    "openclaw gateway": ENDS,
    "openclaw daemon": ENDS,
    "openclaw backup create": TAKES_KEY,
}
"""By how a target begins; the first that fits."""

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
_BUILT = re.compile(r"(?:^|/)dist/(?:index|entry)\.m?js$")
_ELSEWHERE = frozenset(
    {"ssh", "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus", "vagrant", "multipass", "limactl"}
)
_LOCAL = re.compile(rf"(?:^|@)(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0)$|[$`{UNKNOWN}]", re.IGNORECASE)
_CHANGING = frozenset(
    {
        "sed",
        "gsed",
        "tee",
        "cp",
        "mv",
        "rm",
        "dd",
        "truncate",
        "install",
        "ln",
        "shred",
        "rsync",
        "ed",
        "ex",
        "perl",
        "sponge",
        "patch",
    }
)
_INNER_CODE = re.compile(r"(?:openclaw|clawdbot)/dist/(?!plugin-sdk|(?:index|entry)\.m?js)", re.IGNORECASE)
_LINKING = frozenset({"ln", "cp", "install"})
_EXECUTABLE = re.compile(r"^(?:openclaw|clawdbot)$|/bin/(?:openclaw|clawdbot)$|openclaw\.mjs$")
CHAT_COMMAND = re.compile(r"\s*/toolguard(?:@[\w.-]{1,64})?[\s:]+(?!(?:pending|status|help)\b)\S", re.IGNORECASE)
"""A text that the gateway takes for a command to the guard which does more than show something."""
_MAX_WORDS = 200


def findings(scene: Scene) -> Iterator[Finding]:
    if _names_a_target(scene):
        yield Finding(PRINTED, certain=False)
    for run in scene.runs:
        if is_textual(run) or scene.is_wrapper(run):
            continue
        if _removes(run.argv[:_MAX_WORDS]):
            yield Finding(REASON)
        for finding in _commands(run):
            yield Finding(finding.reason, finding.certain and not _is_elsewhere(run, scene))
        if run.name in LAUNCHERS and any(_INNER_CODE.search(word) for word in run.argv[1:]):
            yield Finding(INNER, certain=False)
        if run.name in _LINKING and _gives_another_name(run):
            yield Finding(OTHER_NAME, certain=False)


def _gives_another_name(run: Run) -> bool:
    return any(_EXECUTABLE.search(word) for word in run.argv[1:-1]) and "claw" not in base(run.argv[-1])


def _names_a_target(scene: Scene) -> bool:
    """Whether the gateway's command line prints the name of what another program writes to: it knows where its config is."""
    own = [run for run in scene.runs if own_words(run) is not None]
    inner, piped = any("$()" in run.via for run in own), any(run.piped for run in own)
    if inner and scene.writers:
        return True
    return any(run.name in _CHANGING and (inner or (piped and "xargs" in run.via)) for run in scene.takers)


def _removes(words: tuple[str, ...]) -> bool:
    if _PACKAGE_VERBS.isdisjoint(words) or not any(_PACKAGERS.fullmatch(base(word)) for word in words[:4]):
        return False
    if not (_UNINSTALLS.isdisjoint(words) or _GLOBALLY.isdisjoint(words)):
        return any(_GATEWAY_PACKAGE.fullmatch(word) or _PACKAGE.search(word) or base(word) in NAMES for word in words)
    return any(_PACKAGE.search(word) or base(word) in NAMES for word in words)


def _commands(run: Run) -> Iterator[Finding]:
    """What the gateway's own command line would do to the guard, if this program is it or starts it."""
    words = run.argv[:_MAX_WORDS]
    own = own_words(run)
    certain = True
    if own is None:
        at = next((at for at, word in enumerate(words) if OWN_PROGRAM.search(word)), None)
        if at is None and "toolguard" in words:
            at = next((at for at, word in enumerate(words) if _BUILT.search(word)), None)
        if at is None or (run.name in PROGRAMS and run.name not in LAUNCHERS):
            return
        own, certain = words[at + 1 :], run.name in LAUNCHERS
    if any(CHAT_COMMAND.match(word) for word in own):
        yield Finding(ANSWERS)
    for deed in deeds(own, run.stdin.text if run.stdin else None):
        if deed.effect == "guard":
            yield Finding(_reason(deed), deed.certain and certain)


def _reason(deed: Deed) -> str:
    return next((reason for start, reason in _REASONS.items() if deed.target.startswith(start)), REASON)


def _is_elsewhere(run: Run, scene: Scene) -> bool:
    """Whether a program runs on another machine or in a container: there it is another gateway."""
    if _ELSEWHERE.isdisjoint(run.via):
        return False
    return "ssh" not in run.via or not any(
        _LOCAL.search(word) for other in scene.runs if other.name == "ssh" for word in other.argv[1:]
    )
