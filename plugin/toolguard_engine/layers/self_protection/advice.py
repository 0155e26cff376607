"""What a block or a hold of the self-protection says: why, what in the call caused it, and the nearest form that passes."""

from __future__ import annotations

from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.layers.self_protection import (
    command_findings,
    gateway_command_line,
    own_command_line,
    own_config,
    process_signals,
)
from toolguard_engine.layers.self_protection.glance import names_ours
from toolguard_engine.layers.self_protection.scene import COPY, FILES, KEY, MANY, ProtectionFinding
from toolguard_engine.wording.printable import cut
from toolguard_engine.wording.redact import redact_text

MAX_CAUSE = 120
MAX_WORDS = 400

_ADVICE = {
    FILES: "`toolguard config show` shows what is set; only a person changes it.",
    KEY: "Names, sizes and times may be looked at: `ls -l`, `stat`, `du`.",
    COPY: "Without it no approval is needed: `--exclude=toolguard --exclude='*.token*'`.",
    MANY: "Split it into calls with fewer paths.",
    own_config.CHANGED: "`openclaw config set PATH VALUE` changes one setting, and is judged by that.",
    own_command_line.CLI: "`toolguard status`, `toolguard pending` and `toolguard check` may run.",
    gateway_command_line.REASON: "`openclaw config set PATH VALUE` changes other settings.",
    gateway_command_line.PAUSES: "`openclaw gateway restart` does both, and needs no approval.",
    gateway_command_line.TAKES_KEY: "`openclaw backup create --dry-run` shows what it would pack.",
    process_signals.REASON: "`openclaw gateway restart` restarts it.",
    command_findings.LONG: "Split it into shorter commands.",
    command_findings.FOLDERS: "Split it into shorter commands.",
}


def explained(finding: ProtectionFinding, reading: CallReading) -> str:
    """The reason in full."""
    cause = redact_text((finding.cause or _likely_cause(reading)).replace(UNKNOWN, "?"), active=True)
    shown = cut(cause, MAX_CAUSE)
    advice = _ADVICE.get(finding.reason, "")
    return " ".join(filter(None, (finding.reason, f"It is about: {shown}." if shown else "", advice)))


def _likely_cause(reading: CallReading) -> str:
    """The first word or path that concerns the guard, else what runs. A program's name alone says little."""
    runs = [run.argv for run in reading.runs] if reading.commands else []
    words = [(argv, word) for argv in runs for word in argv] or [((), path) for path in reading.paths]
    for argv, word in words[:MAX_WORDS]:
        if names_ours(word.lower(), reading.host):
            return " ".join(argv) if argv and word == argv[0] else word
    return " ".join(runs[0]) if runs else "".join(path for _, path in words[:1]) or reading.tool
