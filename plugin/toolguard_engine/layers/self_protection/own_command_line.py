"""Blocks the guard's own command line unless its sub-command is read-only, under any name and however it is started."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection import python_modules
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, base, is_interpreter, is_textual

CLI = "This command would use the guard's own command line to change what it allows."

NAMES = frozenset({"toolguard", "openclaw-toolguard", "toolguard_cli", "toolguard_engine"})
_READ_ONLY = frozenset({"status", "pending", "grants", "check", "timeline", "usage", "help", "version"})
_RULES = frozenset({"", "list", "packs", "test", "check"})
_SHOWING = {
    "audit": frozenset({"", "show", "verify"}),
    "config": frozenset({"show", "schema", "validate"}),
    "constraints": _RULES,
    "containment": frozenset({"", "status", "probe", "setup"}),
    "fleet": frozenset({"gateways", "pending", "audit", "events"}),
    "kill-switch": frozenset({"status"}),
    "limits": frozenset({""}),
    "notify": frozenset({"status"}),
    "rules": _RULES,
    "tools": frozenset({"", "list"}),
    "undo": frozenset({""}),
}
"""The read-only sub-commands of commands that have some; empty stands for none. `config get` is not among them: it shows
secrets of the gateway."""
_BARE = frozenset({"kill-switch", "constraints", "limits", "rules", "tools", "undo"})
"""Those of them whose read-only sub-commands take no operands."""

ANSWERS = frozenset({"approve", "deny", "grant", "revive", "revoke"})
CHANGES = ANSWERS | frozenset(
    {
        "watch", "policy", "install", "uninstall", "migrate", "config", "doctor", "kill-switch", "checkpoint", "dashboard",
        "constraints", "rules", "tune", "demo", "replay", "limits", "fleet", "containment", "undo", "state",
        "tools",
    }
)  # fmt: skip
_LINKERS = program_catalogue.programs("program_linker")
_NAMERS = program_catalogue.programs("program_namer")
"""Programs that give a program another name."""
_BINARIES = frozenset({"bin", "Scripts"})
_FINDERS = program_catalogue.programs("program_locator")
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
_CLI_MODULES = frozenset({"toolguard", "toolguard_cli", "toolguard_cli.__main__"})
_PAGE = ("toolguard_cli", "dashboard")
"""The module that serves the dashboard; it needs no sub-command."""

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
    if is_interpreter(run.name) and _runs_ours(run):
        return True
    return any(_is_changing(rest[at + 1 :]) for at, word in enumerate(rest) if base(word).lower() in NAMES)


def _readings(rest: tuple[str, ...]) -> tuple[CommandWords, ...]:
    """What the words behind a name of the guard's command line mean."""
    return option_parser.readings(_PROGRAM, (_PROGRAM, *rest))


_PROGRAM = "toolguard"


def _is_changing(rest: tuple[str, ...]) -> bool:
    """Whether a changing sub-command stands next."""
    return any(not words.given and words.texts[:1] and words.texts[0] in CHANGES for words in _readings(rest[:2]))


def _reads_elsewhere(run: ProgramRun) -> bool:
    """Whether it reads another config, whose lines errors quote, or asks another server."""
    named = any(words.has("--config", "--dsn") for words in run.readings)
    return named or not _PLACES.isdisjoint(name for name, _ in run.assigns)


def _may_answer(name: str, rest: tuple[str, ...], scene: CommandScene) -> bool:
    """Whether a program with a partly unknown name may be the guard's, called with a changing sub-command."""
    pattern = name.replace(UNKNOWN, "*").replace("$", "*")[:_MAX_GLOB]
    if not any(fnmatchcase(own, pattern) for own in NAMES):
        return False
    verbs = {text for words in _readings(rest) for text in words.texts[:1]}
    named = _LITERAL.search(pattern) is not None or "toolguard" in scene.text
    return not verbs.isdisjoint(ANSWERS) or (named and not verbs.isdisjoint(CHANGES))


def _changes(rest: tuple[str, ...], *, bare: bool) -> bool:
    """Whether the guard's command line, called with `rest`, changes anything."""
    return any(_does_change(words, bare=bare) for words in _readings(rest))


def _does_change(words: CommandWords, *, bare: bool) -> bool:
    """`bare`: the first words may be missing, or it acts without a sub-command."""
    verb, *operands = words.texts or ("",)
    if words.has("--install-completion"):  # it writes into the files that a person's shell reads at its start
        return True
    if not verb:
        return bare and not words.trait("asks")
    if words.trait("asks") and (not operands or _asks_first(words)):
        return False
    if shows := _SHOWING.get(verb):
        sub = operands[:1] or ([] if bare else [""])
        return shows.isdisjoint(sub) or (verb in _BARE and len(operands) > 1)
    if verb == "doctor":
        return words.has("--fix") or bool(words.unknown) or any("$" in text or UNKNOWN in text for text in operands)
    return verb not in _READ_ONLY


def _asks_first(words: CommandWords) -> bool:
    """Whether it is asked for help or its version before the sub-command, which then does not run."""
    first = words.operands[0].at
    return any(option.word < first for option in words.given if "asks" in option.entry.traits)


def _renames(run: ProgramRun) -> bool:
    bare = run.name in _LINKERS
    places = {at for at, feed in run.given if not _FINDERS.isdisjoint(feed.programs)}
    return any(_is_program(word, bare=bare or at in places) for at, word in enumerate(run.argv) if at)


def _is_program(word: str, *, bare: bool) -> bool:
    """Whether a word names the guard's program, not just a folder of that name. `bare`: a name without a path counts too."""
    folder, slash, name = word.rpartition("=")[2].rpartition("/")
    return name in NAMES and (base(folder) in _BINARIES if slash else bare)


def _runs_ours(run: ProgramRun) -> bool:
    """Whether the arguments of an interpreter run the guard's modules or its console script."""
    if started := python_modules.module(run):
        name, *rest = started
        return name.partition(".")[0] in NAMES and _changes(tuple(rest), bare=name not in _CLI_MODULES)
    is_python = "py" in run.name
    readings = option_parser.readings("python", run.argv) if is_python else run.readings or (run.words,)
    scripts = {words.operands[0].at for words in readings if words.operands and not (is_python and words.has("-c"))}
    return any(_is_script(run.argv[at], run.argv[at + 1 :]) for at in scripts)


def _is_script(word: str, rest: tuple[str, ...]) -> bool:
    folders = word.split("/")[-3:]
    ours = " " not in word and bool(NAMES & set(folders[-2:])) and not word.endswith("toolguard")
    page = " " not in word and _PAGE in {(*folders[at : at + 2],) for at in range(2)}
    return (ours or page or base(word) in NAMES) and _changes(rest, bare=page)
