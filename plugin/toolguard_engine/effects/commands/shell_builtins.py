"""What the shell's own commands do to the state of the shell: folders, variables, aliases, arguments."""

from __future__ import annotations

from shlex import quote

from msgspec.structs import replace

from toolguard_engine.effects.commands.list_runners import MAX_GIVEN
from toolguard_engine.effects.commands.program_walk import ASSIGNMENT
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.syntax.expand import here
from toolguard_engine.effects.syntax.outputs import NOTHING
from toolguard_engine.effects.syntax.shell_state import ShellState

_DECLARING = program_catalogue.programs("declaration")
_LOCAL = program_catalogue.programs("local_declaration")
_CONSTANT = program_catalogue.programs("constant_declaration")
_ROOTED = ("/", "~", "$", ".", "-", UNKNOWN, "")


def _cd(_: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    words = program.words.texts
    home, before = state.variables.get("HOME"), state.variables.get("OLDPWD", UNKNOWN)
    target = words[0] if words else home if isinstance(home, str) else "~"
    state.assign("OLDPWD", here(state))
    if target[:1] not in _ROOTED and (path := dict(program.assigns).get("CDPATH") or state.variables.get("CDPATH")):
        above = path if isinstance(path, str) else path[0]
        target = f"{above.partition(':')[0]}/{target}"
    if target == "-":
        state.enter_folder(before if isinstance(before, str) else UNKNOWN)
    else:
        state.enter_folder(_entered(target, state.cwd), [_entered(target, other) for other in state.others])
    return NOTHING


def _entered(target: str, cwd: str) -> str:
    """The folder in which the shell is after `cd`."""
    if target.startswith(UNKNOWN):
        return UNKNOWN
    if target.startswith(("/", "~", "$")) or not cwd or cwd == UNKNOWN:
        return target if cwd != UNKNOWN or target.startswith(("/", "~")) else UNKNOWN
    return f"{cwd}/{target}"[:4096]


def _declare(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    is_local, words = program.name in _LOCAL, program.words
    is_reference, constants = words.has("-n"), frozenset[str]()
    assigns: list[tuple[str, str, bool]] = []
    for word in words.texts:
        name, value, appends = word, None, False
        if match := ASSIGNMENT.fullmatch(word):
            name, value, appends = match[1], match[3], bool(match[2])
        if is_local:
            state.keep_outer(name)
        if value is not None and is_reference:
            state.join(name, value)
        elif value is not None:
            walk.variable_set(name, value, program, state)
            assigns.append((name, value, appends))
        if program.name in _CONSTANT or words.has("-r"):
            constants |= {name}
    state.assign_all(assigns)
    state.fixed |= constants
    return NOTHING


def _unset(_: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    for word in program.argv[1:]:
        state.variables.pop(word, None)
    return NOTHING


def note_lines(walk: Walk, program: ProgramRun) -> None:
    """The lines of files get into variables, by the standard input or by a descriptor (`-u 3`)."""
    running = walk.running
    if running is not None:
        feeds = (program.stdin, *(walk.opened.values() if program.words.has("-u") else ()))
        paths = [path for feed in feeds if feed is not None for path in feed.files]
        running.later.in_variables.update((running.path(path, program.cwd) or path, None) for path in paths)


def _read(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    names = [word for word in program.argv[1:] if word.isidentifier()]
    note_lines(walk, program)
    text = program.stdin.text if program.stdin else None
    lines = [UNKNOWN] if text is None else list(dict.fromkeys(text.splitlines()))[: MAX_GIVEN + 1] or [""]
    if len(lines) > MAX_GIVEN:
        lines = [*lines[:MAX_GIVEN], UNKNOWN]
    signs = dict(program.assigns).get("IFS")
    fields = [_read_into(names, line, signs or "") for line in lines]
    for at, name in enumerate(names):
        values = tuple(dict.fromkeys(field[at] for field in fields))
        state.assign(name, values)
    return NOTHING


def _read_into(names: list[str], line: str, signs: str) -> list[str]:
    """What `read` assigns to each name; the last one gets the rest."""
    if UNKNOWN in line:
        return [line] * len(names)
    for sign in signs.strip():
        line = line.replace(sign, " ")
    fields = line.split(maxsplit=max(len(names) - 1, 0))
    return fields + [""] * (len(names) - len(fields))


def _alias(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    for word in program.argv[1:]:
        name, sign, text = word.partition("=")
        if sign and name:
            state.aliases[name] = text
            walk.inner_text(text, replace(program, piped=False), state.fork("alias"))
    return NOTHING


def _hash(_: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """`hash -p PATH NAME`: what runs by that name from now on."""
    if program.words.has("-p") and program.words.texts:
        path, *names = program.words.texts
        state.aliases.update(dict.fromkeys(names, quote(path)))
    return NOTHING


def _set(_: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    words = program.words
    if words.texts or words.end:
        state.set_args(("sh", *words.texts))
    return NOTHING


def _shift(_: Walk, __: ProgramRun, state: ShellState) -> StdinSource | None:
    if state.args is not None:
        state.args = (*state.args[:1], *state.args[2:])
    return NOTHING


PROGRAMS: dict[str, Special] = {
    **dict.fromkeys(_DECLARING, _declare),
    **dict.fromkeys(program_catalogue.programs("folder_changer"), _cd),
    "unset": _unset,
    "read": _read,
    "alias": _alias,
    "hash": _hash,
    "set": _set,
    "shift": _shift,
}
