"""`toolguard check`: what the guard would say to a call, and why. Changes nothing, so an agent may ask as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolguard_cli import granting, judging, ownrules, risked, standing, stores, tables, unquoted
from toolguard_cli.judging import Judging
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers, effecttexts
from toolguard_engine.guard import inner_call
from toolguard_engine.layers import always, calltexts, exemptions, grants, rubric
from toolguard_engine.layers.calltexts import EXEC_TOOLS
from toolguard_engine.model import Call
from toolguard_engine.rulebook import Rule
from toolguard_engine.shell.unwrap import read
from toolguard_engine.stores.killswitch import KillSwitch
from toolguard_engine.toolsearch import tool_name

if TYPE_CHECKING:
    from toolguard_engine.judgement import Judgement
    from toolguard_engine.layers.grants import Grant
    from toolguard_engine.rulebook import Match

EXIT = {"allow": 0, "hold": 4, "block": 5}
"""Apart from what a command that failed ends with: 1 can be mended, 2 wrong usage, 3 a bug."""

GRAVE = 64
"""From this score on nobody is told to raise the threshold above it."""
SHOWN = 12
"""Effects and rules that a person is shown."""
LASTS = "24h"
OF_CONSTRAINT = "constraint."
"""What the codes of the person's constraints begin with."""

UNJUDGED = {
    exemptions.DISABLED.code: "the guard is switched off",
    exemptions.EXEMPT.code: "its tool is under neverBlock",
    exemptions.ENVELOPE.code: "it is the envelope of another call",
}
NO_OBJECT = '--params is no JSON object; write it like \'{"path": "notes.md"}\''
STOPPED = "the kill switch is on: right now no call runs at all (toolguard kill-switch status)"
HEAD = ("RULE", "STATE", "ADDS", "WHY")


def text_of(words: list[str], tool: str) -> str | None:
    """The words of the command line as one text; None where there are none. Raises `ValueError`."""
    if not words:
        return None
    if len(words) > 1 and unquoted.is_text(words[0]):
        raise ValueError(f"the command is in quotes already; {answers.cut(words[1], 80)!r} behind it is one too many")
    if len(words) > 1 and tool_name(tool) not in EXEC_TOOLS:
        raise ValueError(f"{tool} takes one argument here, not {len(words)}; put it in quotes")
    return unquoted.joined(words)


def call_of(text: str | None, tool: str, params: str, agent: str, cwd: str) -> Call:
    """The call that these options mean. Raises `ValueError`, whose text says what is missing or wrong."""
    given = _params(params)
    if text is not None:
        subject = _subject(tool)
        if subject in given:
            raise ValueError(f"{subject} is given twice, before and in --params: which of them?")
        given = {subject: text, **given}
    elif not params:
        raise ValueError("say what to check: a command, or --params with the arguments of the call")
    call = Call(tool, given, agent=agent, cwd=cwd)
    if lacks := judging.missing(call):
        raise ValueError(f"the gateway would refuse this call: {lacks}")
    return call


def asked_by(call: Call, channel: str, requester: str, at: str) -> Call:
    """The call as this person would have asked for it, `at` (a date and time, or a time of today; empty: now).

    Raises `ValueError`.
    """
    now = datetime.now().astimezone()
    try:
        moment = (
            datetime.combine(now, time.fromisoformat(at)) if at and ":" in at[:3] else datetime.fromisoformat(at or str(now))
        )
    except ValueError as error:
        raise ValueError(f"--at {answers.cut(at, 40)!r} is no time; write it like 23:30 or 2026-11-23T23:30") from error
    return replace(call, channel=channel, requester=requester, at=moment.timestamp())


def _params(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--params is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(NO_OBJECT)  # noqa: TRY004 - what was typed is wrong, not its type
    return value


def _subject(tool: str) -> str:
    """The parameter that an argument without a name is."""
    if tool_name(tool) in EXEC_TOOLS:
        return "command"
    known = grants.SUBJECTS.get(tool_name(tool))
    if known is None or len(known.params) > 1:
        raise ValueError(f'{tool} takes its arguments by name: --params \'{{"name": "value"}}\'')
    return known.params[0]


def run(places: Places, call: Call) -> Result:
    if broken := ownrules.broken(places):
        return ownrules.told("check", broken)
    judged = judging.load(places)
    found = judged.weigh(call)
    config = judged.config_for(call.agent)
    threshold = config.escalation_threshold
    inner = inner_call(call)
    ways = list(_ways(judged, inner, found, places))
    risk = None if found.code in UNJUDGED else risked.risk(inner, found, config)
    lines = [
        Line(found.decision, _score(found, threshold)),
        Line("warn", STOPPED) if KillSwitch(places.state_dir).thrown() else None,
        *(Line("warn" if not at else "info", text) for at, text in enumerate(risked.depends(judged, inner, found))),
        Line("info", answers.plain(found.reason)) if found.reason else None,
        *(Line("info", answers.plain(note)) for note in found.note.splitlines()),
        *_section("it would", effecttexts.each(found.effects)),
        *_section("because", list(_causes(inner, found))),
        *(_section("risk", [risked.words(risk, found, config)]) if risk else ()),
        *ownrules.off(judged),
        *_mode(config.active_mode, found.decision),
        *(Line("warn", text) for text in standing.warnings(places, config.active_mode)),
        *ways,
        Line("info", f"({judged.basis.words()})"),
    ]
    data = {
        **public(found),
        "threshold": threshold,
        "risk": risk,
        "allow": [line.text for line in ways if line.kind == "next"],
        "basis": judged.basis.public(),
    }
    return Result("check", data, tuple(line for line in lines if line), EXIT[found.decision])


def public(found: Judgement) -> dict[str, Any]:
    """The same members as a line of `check --stdin`, the rules with all that they say."""
    return {
        "verdict": found.decision,
        "code": found.code,
        "clarity": found.clarity,
        "stakes": found.stakes,
        "score": found.score,
        "effects": effecttexts.each(found.effects),
        "rules": [
            {"rule": m.rule, "reason": m.reason, "clarity": m.clarity, "stakes": m.stakes, "blocks": m.blocks}
            for m in found.matches
        ],
        "reason": found.reason,
        "note": found.note,
    }


def _score(found: Judgement, threshold: int) -> str:
    if found.code in UNJUDGED:
        return f"it is not judged: {UNJUDGED[found.code]}"
    if found.decision == "block" and not found.matches:
        return f"{found.code}, whatever it would score"
    text = f"clarity {found.clarity} x stakes {found.stakes} = {found.score}"
    if found.decision != "allow" and (found.decision == "block" or found.score < threshold):
        return f"{found.code}, whatever its score ({text})"
    return f"{text}, held at {threshold}"


def _section(head: str, texts: list[str]) -> Iterator[Line]:
    for at, text in enumerate(texts[:SHOWN]):
        yield Line("info", f"{head if not at else '':<9} {answers.plain(text)}")
    if len(texts) > SHOWN:
        yield Line("info", f"{'':<9} ... and {len(texts) - SHOWN} more (--json has all)")


def _because(match: Match) -> str:
    return f"{match.rule} ({'blocks' if match.blocks else adds(match.clarity, match.stakes)}): {match.reason}"


def _causes(call: Call, found: Judgement) -> Iterator[str]:
    own = found.code.startswith(OF_CONSTRAINT)
    if (own or not found.matches) and found.code not in ("allow", rubric.CODE, *UNJUDGED):
        yield found.code
    yield from map(_because, found.matches)
    texts = calltexts.commands(tool_name(call.tool), call.params) if found.code not in UNJUDGED else ()
    if any("broken" in read(text).flaws for text in texts):
        yield f"its syntax is broken (clarity +{rubric.BROKEN_CLARITY})"


def adds(clarity: int, stakes: int) -> str:
    return f"clarity +{clarity}, stakes +{stakes}"


def _mode(mode: str, decision: str) -> Iterator[Line]:
    if decision != "allow" and mode == "shadow":
        yield Line("warn", "the mode is shadow: the gateway only logs this, and lets the call through")


def _ways(judged: Judging, call: Call, found: Judgement, places: Places) -> Iterator[Line]:
    """How to allow a call that is not."""
    threshold, config = judged.config_for(call.agent).escalation_threshold, answers.plain(str(places.config))
    if found.decision == "block":
        yield Line("info", "nothing lifts this, no approval and no grant; if it has to be done, do it yourself")
        yield from (Line("info", text) for text in _constraint(found))
    if found.decision != "hold":
        return
    yield Line("info", "a person is asked: toolguard approve lets it run once")
    if grant := _grant(call):
        yield Line("next", f"{granting.command(grant, LASTS, places.given)}   ({granting.scope(grant, 'a day')})")
    else:
        yield Line("info", "no grant can cover just this call: approve it when it is held")
    wider = list(_wider(judged, call, found, threshold))
    for at, text in enumerate(wider):
        yield Line("info", f"{'wider: ' if not at else '       '}{text}")
    if wider:
        yield Line("info", f"       (settings are {'.'.join(stores.ENTRY)} in {config})")


def _grant(call: Call) -> Grant | None:
    """The narrowest grant: for this agent and this folder, where they are known and matter."""
    local = call.cwd and grants.kind_of(call.tool) in ("words", "path")
    narrow = granting.exact(call, agent=call.agent, cwd=call.cwd) if local else None
    return narrow or granting.exact(call, agent=call.agent)


def _wider(judged: Judging, call: Call, found: Judgement, threshold: int) -> Iterator[str]:
    """Settings that would let this call through, and more; none for what is far from ordinary."""
    if found.code == always.CODE:
        yield f"take {answers.cut(call.tool, 40)} out of alwaysBlock"
        return
    if found.code.startswith(OF_CONSTRAINT):
        yield from _constraint(found)
        return
    if threshold <= found.score < GRAVE:
        yield f'"escalationThreshold": {found.score + 1} lets every call up to {found.score} through'
    names = _in_the_way(judged, call, found)
    own = [name for name in names if name in judged.own]
    if own:
        yield f"change {' and '.join(own)} in policy.toml: your own rule{'' if len(own) == 1 else 's'}"
    elif names:
        ends = "this rule" if len(names) == 1 else "these rules"
        yield f'"rulesOff": {json.dumps(names)} ends {ends}'


def _constraint(found: Judgement) -> Iterator[str]:
    if not found.code.startswith(OF_CONSTRAINT):
        return
    yield f"change the constraint {found.code.removeprefix(OF_CONSTRAINT)} in policy.toml: it is your own"


def _in_the_way(judged: Judging, call: Call, found: Judgement) -> list[str]:
    """The rules without which the call would run, the strongest first; empty where there are none."""
    names: list[str] = []
    for match in found.matches[:SHOWN]:
        if match.rule in names:
            continue
        names.append(match.rule)
        if judged.without(names).weigh(call).decision == "allow":
            return names
    return []


def rules(places: Places) -> Result:
    """The person's own rules, each tried on its examples. Exit code 1 where one is bad."""
    return ownrules.check(places)


def listing(places: Places) -> Result:
    """All packs and their rules, and whether they count."""
    judged = judging.load(places)
    known = [*judging.all_rules(), *judging.own_rules(places)]
    packs: dict[str, list[Rule]] = {}
    for rule in known:
        packs.setdefault(rule.pack, []).append(rule)
    rows, data = [], []
    for pack, inside in packs.items():
        on = any(_state(rule, judged) == "on" for rule in inside)
        rows.append((pack, "on" if on else "off", f"{len(inside)} rules", _pack_words(pack)))
        rows += [(f"  {r.id}", _state(r, judged), _adds(r), r.reason) for r in inside]
        data.append({"pack": pack, "on": on, "rules": [_public(rule, judged) for rule in inside]})
    lines = [*tables.table(HEAD, rows), *ownrules.off(judged)]
    off = sum(_state(rule, judged) == "off" for rule in known)
    counted = f"{len(known)} rules in {len(packs)} packs, {off} switched off"
    lines.append(Line("info", f"{counted}; calls are held at {judged.basis.threshold} ({judged.basis.words()})"))
    return Result("check", {"packs": data, "basis": judged.basis.public()}, tuple(lines))


def _pack_words(pack: str) -> str:
    return "your own, from policy.toml" if pack == "user" else ""


def _state(rule: Rule, judged: Judging) -> str:
    """A rule of one's own counts as long as it stands there."""
    off = rule.id not in judged.own and {rule.id, rule.pack} & set(judged.config.rules_off)
    return "off" if off else "on"


def _adds(rule: Rule) -> str:
    return "blocks" if rule.verdict else f"+{rule.clarity}, +{rule.stakes}"


def _public(rule: Rule, judged: Judging) -> dict[str, Any]:
    said = {"clarity": rule.clarity, "stakes": rule.stakes, "verdict": rule.verdict or None, "reason": rule.reason}
    return {"id": rule.id, "on": _state(rule, judged) == "on", **said}


def working_folder(cwd: Path | None) -> str:
    """A folder as the gateway would name it."""
    return str(cwd.expanduser().absolute()) if cwd else ""
