"""Commands that run later: effect `run-later`; the target is the command that schedules them. Notifications are none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile
from shlex import join

from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals.option_spellings import HELP, VERSION
from toolguard_engine.effects.programs import Act
from toolguard_engine.model.kept_patterns import compiled

MAX_TEXT = 1_000
_NONE: frozenset[str] = frozenset()
_WORD = r"(?:'(?!-)[^'\x00\n]{0,400}'|\"(?!-)[^\"$`\\\x00\n]{0,400}\"|(?!-)[\w.,:;%@/=+-]{1,200})"
_FILE = r"(?!-)[\w./~-]{1,200}"
_OPTION = r"-[utai] [\w./-]{1,100}|--(?:urgency|expire-time|icon|app-name)=[\w./-]{1,100}"
_NOTIFIES = (
    rf"(?:/usr/bin/)?(?:notify-send(?: (?:{_OPTION})){{0,4}}(?: {_WORD}){{1,2}}(?: (?:{_OPTION})){{0,4}}|spd-say {_WORD}"
    rf"|paplay {_FILE}|aplay (?:-q )?{_FILE}|canberra-gtk-play -i [\w-]{{1,60}}"
    rf"|zenity --(?:info|notification|warning)(?: --(?:text|title)[= ]{_WORD}){{1,2}}"
    rf"|kdialog --(?:msgbox|passivepopup) {_WORD})"
)
"""Programs that show or play something, with words that do nothing else."""
_SCREEN = r"(?:DISPLAY|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR)="
_LINE = rf"\s{{0,20}}+(?:export )?(?:{_SCREEN}{_WORD}(?: |; )){{0,3}}{_NOTIFIES}\s{{0,20}}"
_TIMER = (
    r"(?:--user|--collect|--quiet|-q|-G|--on-(?:active|boot|startup|calendar)=[\w:*., /-]{1,60}|--unit=[\w-]{1,60}"
    r"|--description=[\w .,-]{1,100}|--timer-property=AccuracySec=\w{1,9})"
)


def _scheduled(program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    words = program.words
    if _asks(program) or _reminds(program):
        return
    if words.has("--scope") and not words.trait("later"):
        return  # `systemd-run` runs it at once
    yield Effect("run-later", " ".join(program.argv)[:MAX_TEXT], "", _NONE, program)


def _asks(program: ProgramRun) -> bool:
    first = "".join(program.argv[1:2])
    if first in HELP | VERSION or first.lower() == "/query":
        return True
    return any(option.word == 1 and "asks" in option.entry.traits for option in program.words.given)


def _reminds(program: ProgramRun) -> bool:
    if program.name == "systemd-run":
        words = dropwhile(compiled(_TIMER).fullmatch, program.argv[1:])
        return compiled(_NOTIFIES).fullmatch(join(words)[: MAX_TEXT + 1]) is not None
    if program.name != "at" or program.words.given or program.words.unknown:
        return False
    if any(redirect.kind != "text" and redirect.target != "/dev/null" for redirect in program.redirects):
        return False
    text = program.stdin_text
    return 0 < len(text) <= MAX_TEXT and all(compiled(_LINE).fullmatch(line) for line in text.strip().split("\n"))


PROGRAMS: dict[str, Act] = dict.fromkeys(
    ("at", "batch", "atrm", "schtasks", "Register-ScheduledTask", "New-ScheduledTask", "systemd-run"), _scheduled
)
