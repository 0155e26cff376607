"""Hardware, permissions, owners, file systems, and variables that affect every later program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, web_targets
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import (
    Act,
    administrator_files,
    administrator_reads,
    effect_on,
    operands,
    secrets_read,
    worth_checking,
)
from toolguard_engine.effects.programs.routine_administration import routine

_NONE: frozenset[str] = frozenset()
_OCTAL = lazy_re.compile(r"([+=-]?)([0-7]{1,5})\Z")
_OPENS_TO_ALL = lazy_re.compile(r"(?:^|,)[ug]{0,2}[oa][ugoa]{0,3}[+=][rxXst]{0,5}w")
_SETS_ID = lazy_re.compile(r"[+=][rwxXt]{0,5}s")
_WRITE_BIT, _ID_BITS, _ALL_BITS = 0o2, 0o6000, 0o777


def _dd(program: ProgramRun, where: Where) -> Iterator[Effect]:
    given = dict(word.split("=", 1) for word in program.argv[1:] if "=" in word)
    source, target = given.get("if", ""), given.get("of", "")
    yield from secrets_read([source], program, where)
    if target == "/dev/null" and source in _NOISE and "count" not in given:
        yield Effect("load", program.name, "", _NONE, program)
    elif target:
        if source in _NOISE and "count" not in given and place(target, where) not in ("device", "null"):
            yield effect_on("fills", target, program, where)
        effect = effect_on("write", target, program, where, ["erases"] if place(source, where) == "null" else ["truncates"])
        if effect.place != "null":
            yield effect


_NOISE = frozenset(["/dev/zero", "/dev/urandom", "/dev/random"])


def _digest(program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    if not _NOISE.isdisjoint(program.argv):
        yield Effect("load", program.name, "", _NONE, program)


def _chmod(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    flags = [*(["recursive"] if words.recursive else []), *_mode_flags("".join(words.texts[:1]))]
    named = _changed(words, words.texts)
    yield from (effect_on("permissions", path, program, where, flags) for path in worth_checking(named))


def _changed(words: CommandWords, named: Sequence[str]) -> Sequence[str]:
    """The operands behind the mode or the owner. All of them if an option may stand for it: `--reference`, or one that the
    manual does not have, such as `-N` on macOS."""
    return named if words.unknown or words.has("--reference") else named[1:]


def _mode_flags(mode: str) -> Iterator[str]:
    if octal := _OCTAL.match(mode):
        sign, bits = octal[1], int(octal[2], 8)
        if sign == "-":
            if bits & _ALL_BITS == _ALL_BITS:
                yield "none"
            return
        if bits & _WRITE_BIT:
            yield "world-writable"
        if bits & _ID_BITS:
            yield "setuid"
        if not bits and sign != "+":
            yield "none"
        return
    mode = mode[:64]
    if _OPENS_TO_ALL.search(mode):
        yield "world-writable"
    if _SETS_ID.search(mode):
        yield "setuid"


def _owned(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """An owner that the text does not name (`$USER`, `$(id -u)`) is assumed to be the user in the workspace."""
    named = operands(program)
    flags = ["recursive"] if program.words.recursive else []
    paths = _changed(program.words, named)
    if not paths:
        return
    if named[0].split(":")[0] in ("root", "0"):
        flags.append("to-root")
    to_self = not named[0].replace(UNKNOWN, "").strip(":.")
    names_owner = paths is not named and not program.words.has("-H", "-L")  # which leave the folder through links
    for path in worth_checking(paths):
        own = ["service-data"] if names_owner and administrator_files.gives_to_service(named[0], path) else []
        effect = effect_on("owner", path, program, where, [*flags, *own])
        if not (to_self and effect.place == "workspace"):
            yield effect


def _attributes(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    named = _changed(words, words.texts)
    flags = ["attributes", *(["recursive"] if words.recursive else [])]
    yield from (effect_on("permissions", path, program, where, flags) for path in worth_checking(named))


def _acl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    flags = ["attributes", *(["recursive"] if program.words.recursive else [])]
    yield from (effect_on("permissions", path, program, where, flags) for path in operands(program))


def _format(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Makes a file system, a swap area or a partition table: on the last operand, and on a device wherever it stands. The
    letters of these programs mean other things on other systems, so the value of an option may be the device after all."""
    words = program.words
    if _only_shows(words):
        return
    named = operands(program)
    values = [option.value.text for option in words.given if option.valued]
    last = (named or values or [""])[-1]
    for path in dict.fromkeys((*named, *values)):
        target = place(path, where, program.cwd)
        if path == last or target == "device" or (target == "unknown" and path in named):
            yield effect_on("format", path, program, where)


def _only_shows(words: CommandWords) -> bool:
    """`-n` is a dry run only for ext and ntfs; for all others it takes a label or a size."""
    if words.has("--help", "--version") and not words.has("-F"):
        return True
    return words.has("--no-action") and (words.last("--type") or "ext2").endswith(_DRY_RUNS)


_DRY_RUNS = ("ext2", "ext3", "ext4", "ntfs")


def _elevated(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`sudo` and the like, if they run or edit something. Only words before the command are their own options. With a value,
    `sudo -h` names a host; without one, it explains."""
    words = program.words
    if not words.unknown and any("lists" in option.entry.traits and not option.valued for option in words.given):
        return
    other = words.trait("other-rights") or bool(words.unknown)
    command = words.texts
    if command or other:
        kept = words.trait("keeps-variables")  # a pager or an editor of the caller
        fed = program.stdin is not None or any(redirect.kind in ("read", "text") for redirect in program.redirects)
        kind = "" if kept else _kind_of_work(words, command, where, program.cwd, fed=fed)
        yield Effect("elevate", " ".join(command[:8])[:120], "", frozenset([kind]) if kind else _NONE, program)


def _kind_of_work(words: CommandWords, command: tuple[str, ...], where: Where, cwd: str, *, fed: bool) -> str:
    """What kind of routine a command is, empty if none. As another user (`-u postgres`), only looks are."""
    if words.unknown or any(
        "other-rights" in option.entry.traits and "--user" not in option.entry.names for option in words.given
    ):
        return ""
    rest = command
    while rest and _ORDINARY_SETTING.fullmatch(rest[0]):
        rest = rest[1:]
    kind = routine(rest)
    if kind == "" and administrator_reads.only_reads(rest, where, cwd, fed=fed):
        kind = "reads"
    if kind == "reads":
        return kind
    if words.trait("other-rights"):
        return "lesser" if administrator_files.is_for_service(words, rest) else ""
    return kind or ("files" if administrator_files.only_ordinary_files(rest, where, cwd) else "")


_ORDINARY_SETTING = lazy_re.compile(
    r"(?:LC_[A-Z]{1,20}|LANG)=[\w.@-]*|TZ=\w[\w/+-]*|NO_COLOR=1|DEBIAN_FRONTEND=noninteractive|NEEDRESTART_MODE=[a-z]"
)


HAZARDOUS_VARIABLES = word_set(
    "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_FORCE_FLAT_NAMESPACE DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH "
    "PROMPT_COMMAND "
    "BASH_ENV HISTFILE HISTSIZE HISTFILESIZE HISTCONTROL HISTIGNORE PERL5OPT SUDO_ASKPASS LD_DEBUG_OUTPUT"
)


_LOADING_VARIABLES = word_set(
    "NODE_OPTIONS NODE_PATH PYTHONSTARTUP PYTHONPATH PYTHONHOME RUBYOPT RUBYLIB PERL5LIB JAVA_TOOL_OPTIONS "
    "_JAVA_OPTIONS CLASSPATH LUA_INIT LUA_PATH R_PROFILE_USER JULIA_LOAD_PATH ENV ZDOTDIR GIT_EXEC_PATH GIT_TEMPLATE_DIR"
)
"""Variables by which programs load code; they matter if it lies where anybody may write."""

AGENT_VARIABLES = word_set(
    "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH GOOSE_MODE COPILOT_ALLOW_ALL COPILOT_HOME "
    "AIDER_YES_ALWAYS OPENCODE_PERMISSION OPENCODE_CONFIG OPENCODE_CONFIG_CONTENT OPENCODE_CONFIG_DIR AMP_SETTINGS_FILE"
)
"""Settings that grant permissions to another agent."""

_FOREIGN = ("/tmp/", "/tmp:", "/var/tmp/", "/dev/shm/")  # noqa: S108 - world-writable folders
_INJECTS = frozenset(["injects"])
_UNENCRYPTED = frozenset(["unencrypted"])
_INDEX_VARIABLES = word_set(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX UV_INDEX npm_config_registry NPM_CONFIG_REGISTRY "
    "GOPROXY"
)
"""Variables that name where packages come from."""
_PERMITS = frozenset(["permits"])


def assigned(name: str, value: str, program: ProgramRun) -> Iterator[Effect]:
    """A variable that makes other programs run, that grants permissions to another agent, or that disables the shell's
    history."""
    if name == "PATH" and value.startswith(_FOREIGN):
        yield Effect("variable", f"PATH={value}", "", _INJECTS, program)
    if name in _LOADING_VARIABLES and any(folder in value for folder in _FOREIGN):
        yield Effect("variable", f"{name}={value}", "", _INJECTS, program)
    if name in _INDEX_VARIABLES and value.startswith("http://") and "local" not in web_targets.target(value).flags:
        yield Effect("variable", f"{name}={value}", "", _UNENCRYPTED, program)
    if name in AGENT_VARIABLES and value:
        yield Effect("variable", f"{name}={value}", "", _PERMITS, program)
    if name in HAZARDOUS_VARIABLES:
        yield from _hazard(name, value, program)


def _hazard(name: str, value: str, program: ProgramRun) -> Iterator[Effect]:
    """A variable that makes other programs run, or that disables the shell's history."""
    if not name.startswith("HIST"):
        if (
            not value and program.argv and program.argv[0] == UNKNOWN
        ):  # `BASH_ENV=<(printf ...) bash`: the output of another program
            value = "<(...)"
        yield Effect("variable", f"{name}={value}", "", _INJECTS if value else _NONE, program)
    elif value in ("", "0", "/dev/null", "ignorespace", "ignoreboth", "*"):
        yield Effect("variable", f"{name}={value}", "", frozenset(["forgets"] if value != "ignoreboth" else []), program)


def _exports(program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    unset = program.name == "unset"
    for word in program.argv[1:]:
        name, equals, value = word.partition("=")
        if equals or unset:
            yield from (effect for effect in assigned(name, value, program) if not unset or "forgets" in effect.flags)


PROGRAMS: dict[str, Act] = {
    "dd": _dd, "gdd": _dd, "dcfldd": _dd, "dc3dd": _dd, "ddrescue": _format,
    **dict.fromkeys(program_catalogue.programs("digest"), _digest),
    "chmod": _chmod, "gchmod": _chmod, "chown": _owned, "gchown": _owned, "chgrp": _owned, "lchown": _owned,
    "chattr": _attributes, "chflags": _attributes, "setfacl": _acl,
    "mkfs": _format, "mke2fs": _format, "mkswap": _format, "newfs": _format, "mkdosfs": _format, "mkntfs": _format,
    **{f"mkfs.{kind}": _format for kind in word_set("ext2 ext3 ext4 xfs btrfs vfat fat msdos exfat ntfs f2fs jfs "
        "reiserfs minix cramfs bfs")},
    **{f"newfs_{kind}": _format for kind in word_set("apfs hfs msdos exfat udf")},
    **dict.fromkeys(program_catalogue.programs("elevator"), _elevated),
    "export": _exports, "declare": _exports, "typeset": _exports, "unset": _exports, "local": _exports, "readonly": _exports,
}  # fmt: skip
