"""Commands that run later: effect `timer`; the target is what schedules them. Notifications for the user are none."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.programs import Act
from toolguard_engine.effects.shell.command import Effect, ProgramRun
from toolguard_engine.effects.shell.places import Where
from toolguard_engine.model.kept_patterns import compiled

MAX_TEXT = 1_000
_NONE: frozenset[str] = frozenset()
_WORD = r"(?:'[^'\x00\n]{0,400}'|\"[^\"$`\\\x00\n]{0,400}\"|[\w.,:;%@/=+-]{1,200})"
_NOTIFIES = (
    r"(?:/usr/bin/)?(?:notify-send|spd-say|paplay|canberra-gtk-play|aplay(?= -q)"
    r"|kdialog(?= --(?:msgbox|passivepopup))|zenity(?= --(?:info|notification|warning)))"
)
"""Programs that show or play something, whatever their words are."""
_SCREEN = r"(?:DISPLAY|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR)="
_LINE = rf"\s{{0,20}}+(?:{_SCREEN}{_WORD} ){{0,3}}{_NOTIFIES}(?: {_WORD}){{0,12}}\s{{0,20}}"
_TIMER = (
    r"(?:--user|--collect|--quiet|-q|-G|--on-(?:active|boot|startup|calendar)=[\w:*., /-]{1,60}|--unit=[\w-]{1,60}"
    r"|--description=[\w .,-]{1,100}|--timer-property=AccuracySec=\w{1,9})"
)


def _scheduled(run: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    if not _reminds(run):
        yield Effect("timer", run.name, "", _NONE, run)


def _reminds(run: ProgramRun) -> bool:
    if run.name == "systemd-run":
        rest = iter(run.argv[1:])
        first = next((word for word in rest if not compiled(_TIMER).fullmatch(word)), "")
        return compiled(_NOTIFIES).match(f"{first} {next(rest, '')}") is not None and not first.count(" ")
    if run.name != "at" or any(word[:1] == "-" for word in run.argv) or any(each.kind != "text" for each in run.redirects):
        return False
    text = run.stdin_text
    return 0 < len(text) <= MAX_TEXT and all(compiled(_LINE).fullmatch(line) for line in text.strip().split("\n"))


PROGRAMS: dict[str, Act] = dict.fromkeys(
    ("at", "batch", "atrm", "schtasks", "Register-ScheduledTask", "New-ScheduledTask", "systemd-run"), _scheduled
)
