"""What the codes of decisions mean, in words."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec


class _Rule(msgspec.Struct):
    id: str
    reason: str


_WORDS = {
    "approval.always-block": "The settings require approval for every call to this tool (alwaysBlock).",
    "approval.away": "The call could not be submitted for approval in time.",
    "approval.denied": "A person denied the same call.",
    "approval.no-store": "Held calls cannot be stored, so the call was blocked.",
    "approval.run-over": "The run that asked for approval has ended.",
    "approval.bad-signature": "The signature of its approval is not valid.",
    "approval.unsigned": "Its approval is not signed.",
    "approval.unverifiable": "The signature of its approval could not be verified.",
    "approval.too-many": "Too many calls are already waiting for approval.",
    "approval.unbindable": "An approval cannot be tied to exactly this call.",
    "approval.waiting": "The run ended because one of its calls is waiting for approval.",
    "budget.exhausted": "The agent has used up its budget; a checkpoint refills it.",
    "budget.no-store": "What the agent has spent cannot be read, so every call that costs something is held.",
    "budget.trust": "The agent's trust is too low for a call of this risk.",
    "call.no-json": "The call contains values that cannot be judged.",
    "call.too-deep": "The call is nested too deeply to be judged.",
    "call.too-large": "The call is too large to be judged.",
    "containment.rehearsed": "A person has to see what the command did when it ran on a copy of the files.",
    "containment.unavailable": "Commands cannot be contained, and the settings hold them then.",
    "containment.unknown": "Nobody can say what the command does before it has run.",
    "file.changed-after-judging": "A file that the call ran was changed after it was judged.",
    "guard.error": "The guard failed while it judged the call, so the call was blocked.",
    "guard.replaced": "The package was replaced while the guard was running; restart the gateway.",
    "guard.unreadable": "The guard could not read the request, so the call was blocked.",
    "kill-switch.on": "The kill switch is on.",
    "kill-switch.fleet": "The fleet's kill switch is on, or there is no contact with the fleet.",
    "living.runs": "A program that still runs would run what the call writes.",
    "living.unknown": "A program that still runs may run what the call writes, and that is not known.",
    "malformed.invalid-arguments": "The arguments are not what the tool expects.",
    "malformed.missing-parameter": "A parameter that the tool requires is missing.",
    "malformed.unknown-tool": "The agent called a tool that does not exist.",
    "malformed.validation": "The arguments do not have the form that the tool expects.",
    "fleet.policy": "The fleet's signed policy came into force, or was refused.",
    "path.odd-sign": "A path contains an invisible or unusual sign, and no such file is known.",
    "path.lost-folder": "The folder of the command does not exist, so it would run in another one.",
    "policy.refused": "The fleet's policy cannot be verified, so nothing can be approved.",
    "rubric": "The score of the call reaches the threshold.",
    "rule.self-protection": "The call would change or disable the guard.",
    "rule.self-protection.possible": "The call might change or disable the guard.",
    "rule.too-intricate": "The call is too complex to be judged safely.",
    "rule.too-long": "The call is too long to be judged safely.",
    "secret.redacted": "A secret of the gateway was in what the model was to see.",
    "security.contained-again": "Commands are contained again.",
    "security.hook-order": "Another plugin runs after the guard and may change what was judged.",
    "security.rewritten": "The call that ran differs from the one that was judged.",
    "security.uncontained": "Commands are not contained any more.",
    "tool.answer": "A person has said whether agents may use a tool.",
    "tool.first-use": "The agent has not used this tool before, or the tool describes itself differently than it did.",
    "tool.refused": "A person has refused this tool.",
    "tool.trusted": "A person has allowed this tool.",
}
_GROUPS = {
    "loop.": "The agent repeated calls without progress.",
    "compaction_loop": "The agent repeated calls without progress after its history was shortened.",
    "malformed.": "The call is malformed: a parameter is wrong, or the tool does not exist.",
    "constraint.": "The call matches one of your own rules that has a severity.",
    "drift.": "The agent's behaviour has changed.",
    "bridge.": "Another program reported this decision.",
    "external.": "Another program reported this decision.",
}


def known(codes: list[str]) -> dict[str, str]:
    """The words for those codes that are known."""
    labels = {code: _words(code) for code in codes}
    return {code: words for code, words in labels.items() if words}


def _words(code: str) -> str:
    exact = _WORDS.get(code) or _rules().get(code.removeprefix("rule."), "")
    return exact or next((words for start, words in _GROUPS.items() if code.startswith(start)), "")


@cache
def _rules() -> dict[str, str]:
    packed = files("toolguard_manifests").joinpath("rules.json").read_bytes()
    return {rule.id: rule.reason for rule in msgspec.json.decode(packed, type=list[_Rule])}
