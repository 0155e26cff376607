"""Blocks the guard's own command line unless its sub-command is read-only, under any name and however it is started."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, base, is_interpreter, is_textual

CLI = "This command would use the guard's own command line to change what it allows."

NAMES = frozenset({"toolguard", "openclaw-toolguard", "toolguard_cli", "toolguard_engine"})
_HELP = ("--help", "-h")
_ASKS = tuple((word,) for word in _HELP)
_READ_ONLY = frozenset(
    {"status", "pending", "grants", "check", "usage", "--help", "-h", "--version", "-V", "help", "version"}
)
_RULES = frozenset({"", "list", "packs", "test", "check", *_HELP})
_SHOWING = {
    "audit": frozenset({"", "show", "verify", *_HELP}),
    "config": frozenset({"show", "schema", "validate", *_HELP}),
    "constraints": _RULES,
    "containment": frozenset({"", "status", "probe", "setup", *_HELP}),
    "fleet": frozenset({"gateways", "pending", "audit", *_HELP}),
    "kill-switch": frozenset({"status", *_HELP}),
    "limits": frozenset({"", "--json", *_HELP}),
    "notify": frozenset({"status", *_HELP}),
    "rules": _RULES,
}
"""The read-only sub-commands of commands that have some; empty stands for none. `config get` is not among them: it shows
secrets of the gateway."""
_WRITES = "--inst"
"""The option that writes into the files that a person's shell reads at its start."""
_BARE = frozenset({"kill-switch", "constraints", "limits", "rules"})
"""Those of them whose read-only sub-commands take no operands."""

ANSWERS = frozenset({"approve", "deny", "grant", "revive", "revoke"})
CHANGES = ANSWERS | frozenset(
    {
        "watch", "policy", "install", "uninstall", "migrate", "config", "doctor", "kill-switch", "checkpoint", "dashboard",
        "constraints", "rules", "tune", "demo", "replay", "limits", "fleet", "containment",
    }
)  # fmt: skip
_LINKERS = program_catalogue.programs("program_linker")
_NAMERS = program_catalogue.programs("program_namer")
"""Programs that give a program another name."""
_BINARIES = frozenset({"bin", "Scripts"})
_FINDERS = program_catalogue.programs("program_locator")
_VALUED = frozenset({"--state-dir", "--config", "--dsn"})
_PLACES = frozenset(
    {
        "TOOLGUARD_CONFIG",
        "TOOLGUARD_STATE_DIR",
        "TOOLGUARD_FLEET_DSN",
        "OPENCLAW_CONFIG_PATH",
        "OPENCLAW_STATE_DIR",
        "OPENCLAW_HOME",
    }
)
_ELSEWHERE = frozenset({"--config", "--dsn"})
_CLI_MODULES = frozenset({"toolguard", "toolguard_cli", "toolguard_cli.__main__"})
_PAGE = ("toolguard_cli", "dashboard")
"""The module that serves the dashboard; it needs no sub-command."""

_MODULE = lazy_re.compile(r"-[A-Za-z]*m(\S*)")
_GLOB = lazy_re.compile(r"[*?\[]")
_LITERAL = lazy_re.compile(r"[A-Za-z]")
_MAX_GLOB = 256


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    if any(_answers(run, scene) for run in scene.runs):
        yield ProtectionFinding(CLI)


def _answers(run: ProgramRun, scene: CommandScene) -> bool:
    rest = run.argv[1:]
    if run.name in NAMES:
        return _reads_elsewhere(run) or _changes(rest, bare=run.via[-1:] in (("alias",), ("xargs",), ("parallel",)))
    if (UNKNOWN in run.name or "$" in run.name or _GLOB.search(run.name)) and _may_answer(run.name, rest, scene):
        return True
    if is_textual(run) or scene.is_wrapper(run):
        return False
    if run.name in _NAMERS and _renames(run):
        return True
    if is_interpreter(run.name) and _runs_ours(rest):
        return True
    words = (word for word in rest if word != "--")
    return any(base(word).lower() in NAMES and after in CHANGES for word, after in pairwise(words))


def _reads_elsewhere(run: ProgramRun) -> bool:
    """Whether it reads another config, whose lines errors quote, or asks another server."""
    named = any(word.partition("=")[0] in _ELSEWHERE for word in run.argv)
    return named or not _PLACES.isdisjoint(name for name, _ in run.assigns)


def _may_answer(name: str, rest: tuple[str, ...], scene: CommandScene) -> bool:
    """Whether a program with a partly unknown name may be the guard's, called with a changing sub-command."""
    pattern = name.replace(UNKNOWN, "*").replace("$", "*")[:_MAX_GLOB]
    if not any(fnmatchcase(own, pattern) for own in NAMES):
        return False
    verb = "".join(_behind_options(rest)[:1])
    named = _LITERAL.search(pattern) is not None or "toolguard" in scene.text
    return verb in ANSWERS or (verb in CHANGES and named)


def _behind_options(rest: tuple[str, ...]) -> tuple[str, ...]:
    while rest and rest[0].startswith("-") and rest[0] not in _READ_ONLY:
        rest = rest[2 if rest[0] in _VALUED else 1 :]
    return rest


def _changes(rest: tuple[str, ...], *, bare: bool) -> bool:
    """Whether the guard's command line, called with `rest`, changes anything."""
    words = _behind_options(rest)
    if any(word.startswith(_WRITES) for word in rest):
        return True
    if not words:
        return bare
    if shows := _SHOWING.get(words[0]):
        return not shows.intersection(words[1:2] or (() if bare else ("",))) or (words[0] in _BARE and _operands(words[2:]))
    if words[0] == "doctor":
        return any(word.startswith(("--f", "$")) or UNKNOWN in word for word in words)
    return words[0] not in _READ_ONLY and words[1:] not in _ASKS


def _operands(rest: tuple[str, ...]) -> bool:
    """Whether a word is neither an option nor the value of one."""
    words = [word for before, word in zip(("", *rest), rest, strict=False) if before not in _VALUED]
    return any(not word.startswith("-") for word in words)


def _renames(run: ProgramRun) -> bool:
    bare = run.name in _LINKERS
    found = {at for at, feed in run.given if not _FINDERS.isdisjoint(feed.programs)}
    return any(_is_program(word, bare=bare or at in found) for at, word in enumerate(run.argv) if at)


def _is_program(word: str, *, bare: bool) -> bool:
    """Whether a word names the guard's program, not just a folder of that name. `bare`: a name without a path counts too."""
    folder, slash, name = word.rpartition("=")[2].rpartition("/")
    return name in NAMES and (base(folder) in _BINARIES if slash else bare)


def _runs_ours(rest: tuple[str, ...]) -> bool:
    """Whether the arguments of an interpreter run the guard's modules or its console script."""
    for at, word in enumerate(rest):
        if match := _MODULE.fullmatch(word):
            module, after = (match[1], rest[at + 1 :]) if match[1] else ("".join(rest[at + 1 : at + 2]), rest[at + 2 :])
            return module.partition(".")[0] in NAMES and _changes(after, bare=module not in _CLI_MODULES)
        if not word.startswith("-"):
            folders = word.split("/")[-3:]
            ours = " " not in word and bool(NAMES & set(folders[-2:])) and not word.endswith("toolguard")
            page = " " not in word and _PAGE in {(*folders[at : at + 2],) for at in range(2)}
            return (ours or page or base(word) in NAMES) and _changes(rest[at + 1 :], bare=page)
    return False
