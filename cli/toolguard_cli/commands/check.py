"""`toolguard check`: shows the verdict on a call, and why. Changes nothing, so an agent may use it too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolguard_cli.approvals import narrow_grant
from toolguard_cli.commands import own_rules
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.policy import (
    check_stream,
    destruction,
    not_guarded,
    offline_guard,
    risk_view,
    rule_view,
    tool_spelling,
)
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables, unquoted_command
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import exact_grant, grant_matching
from toolguard_engine.effects.calls import call_texts
from toolguard_engine.effects.calls.call_texts import EXEC_TOOLS
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts import descriptions
from toolguard_engine.guard import inner_call
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers import always_block, exemptions, rubric
from toolguard_engine.model.call import Call
from toolguard_engine.rules.rule_form import SEVERITY_PACK
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

CODES = """Exit codes: 0 the call may run, 4 it would be held, 5 it would be blocked; 1 an error to fix, 2 a usage
error, 3 a bug. With --stdin, always 0.

"""

if TYPE_CHECKING:
    from toolguard_engine.rules.judgement import Judgement
    from toolguard_engine.rules.rulebook import Match

EXIT = {"allow": 0, "hold": 4, "block": 5}
"""Distinct from the exit codes of a failed command: 1 an error to fix, 2 a usage error, 3 a bug."""

OUTCOMES = {"allow": "it would run at once", "hold": "it would wait for your approval", "block": "it would never run"}

SEVERE = 64
"""From this score on, raising the threshold is not suggested."""
SHOWN = 12
"""The maximum number of effects and rules to show."""
LASTS = "24h"
OF_SEVERITY = f"{SEVERITY_PACK}."
"""What the codes of the person's rules with a severity begin with."""

UNJUDGED = {
    exemptions.DISABLED.code: "the guard is disabled",
    exemptions.EXEMPT.code: "its tool is in neverBlock",
    exemptions.ENVELOPE.code: "it only wraps another call",
}
NO_OBJECT = '--params is not a JSON object; write it like \'{"path": "notes.md"}\''
STOPPED = "the kill switch is on: no calls run at the moment (toolguard kill-switch status)"
HEAD = ("RULE", "STATE", "ADDS", "WHY")

app = command_app()


@command(
    app,
    "toolguard check 'rm -rf ~/important'",
    "toolguard check --tool read ~/.ssh/config",
    """toolguard check --tool write --params '{"path": "notes.md", "content": "hello"}'""",
    "toolguard check --stdin < calls.jsonl > verdicts.jsonl",
    "toolguard check --rules",
    "toolguard check --list",
    notes=CODES,
)
def check(  # noqa: PLR0913 - the options of a command line
    places: Places,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="The command for exec, or the path for read and write.", show_default=False),
    ] = None,
    *,
    tool: Annotated[str, typer.Option("--tool", help="The tool that is called.")] = "exec",
    params: Annotated[
        str, typer.Option("--params", metavar="JSON", help="The arguments of the call.", show_default=False)
    ] = "",
    agent: Annotated[str, typer.Option("--agent", help="The agent that makes the call.", show_default=False)] = "",
    cwd: Annotated[Path | None, typer.Option("--cwd", help="The folder that the call runs in.", show_default=False)] = None,
    channel: Annotated[str, typer.Option(help="The channel of the request, for example telegram.", show_default=False)] = "",
    requester: Annotated[str, typer.Option(help="Who made the request: owner, or a sender's id.", show_default=False)] = "",
    at: Annotated[
        str, typer.Option(metavar="TIME", help="The time of the call, for example 23:30. [default: now]", show_default=False)
    ] = "",
    stdin: Annotated[bool, typer.Option("--stdin", help="Read calls as JSON lines and print one verdict per line.")] = False,
    check_rules: Annotated[bool, typer.Option("--rules", help="Check your own rules in policy.toml.")] = False,
    list_rules: Annotated[bool, typer.Option("--list", help="List all rules and whether they are on.")] = False,
    session: Annotated[
        Path | None,
        typer.Option(
            "--session", metavar="FILE", help="Judge the call as the next one of this transcript.", show_default=False
        ),
    ] = None,
    as_json: bool = False,
) -> Result:
    """Show what the guard would decide about a call, and why.

    Nothing runs and nothing is changed. Uses your settings, rules and grants if there are any, and the defaults otherwise.
    Quote the command so that your shell does not expand it; without quotes, put the options of check before it. Without
    --session, the call is judged as if nothing had happened before it.

    --stdin reads lines like {"tool": "exec", "params": {"command": "ls"}}, optionally with agent, session, cwd, channel,
    requester, at (seconds since 1970) and id. Each line is answered at once and in order with {"verdict": "allow",
    "code": ..., "clarity": ..., "stakes": ..., "score": ..., "effects": [...], "rules": [...], "reason": ...}. Empty
    lines are skipped.
    """
    chosen = [name for name, given in (("--stdin", stdin), ("--rules", check_rules), ("--list", list_rules)) if given]
    if len(chosen) > 1 or (chosen and (words or params)):
        raise typer.BadParameter(
            "cannot be combined with a command, --params or another of these options", param_hint=chosen[0]
        )
    if stdin:
        raise typer.Exit(check_stream.run(offline_guard.load(places)))
    if check_rules:
        return rules(places)
    if list_rules:
        return listing(places)
    try:
        call = asked_by(
            call_of(text_of(words or [], tool), tool, params, agent, working_folder(cwd)), channel, requester, at
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if len(words or []) > 1 and not as_json:
        typer.echo("taken as one command; quote it, because your shell expands unquoted words first", err=True)
    return run(places, call, session)


def text_of(words: list[str], tool: str) -> str | None:
    """The words of the command line as one text; None if there are none. Raises `ValueError`."""
    if not words:
        return None
    if not any(map(str.strip, words)):
        raise ValueError("the command is empty; give the one that the agent would run")
    if len(words) > 1 and unquoted_command.is_text(words[0]):
        raise ValueError(f"the command is already quoted; {printable.cut(words[1], 80)!r} after it is unexpected")
    if len(words) > 1 and tool_name(tool) not in EXEC_TOOLS:
        raise ValueError(f"{tool} takes one argument here, not {len(words)}; put it in quotes")
    return unquoted_command.joined(words)


def call_of(text: str | None, tool: str, params: str, agent: str, cwd: str) -> Call:
    """The call that these options describe. Raises `ValueError` with a message for the user."""
    given = _params(params)
    if text is not None:
        subject = _subject(tool)
        if subject in given:
            raise ValueError(f"{subject} is given twice, as an argument and in --params")
        given = {subject: text, **given}
    elif not params:
        raise ValueError("give a command to check, or --params with the arguments of the call")
    call = Call(tool, given, agent=agent, cwd=cwd)
    if lacks := offline_guard.missing(call):
        raise ValueError(f"the gateway would refuse this call: {lacks}")
    return call


def asked_by(call: Call, channel: str, requester: str, at: str) -> Call:
    """The call with its channel, requester and time. `at`: a date and time, or a time of today; empty: now.

    Raises `ValueError`.
    """
    now = datetime.now().astimezone()
    try:
        moment = (
            datetime.combine(now, time.fromisoformat(at)) if at and ":" in at[:3] else datetime.fromisoformat(at or str(now))
        )
    except ValueError as error:
        raise ValueError(f"--at {printable.cut(at, 40)!r} is not a time; write it like 23:30 or 2026-11-23T23:30") from error
    return replace(call, channel=channel, requester=requester, at=moment.timestamp())


def _params(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--params is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(NO_OBJECT)  # noqa: TRY004 - the input is wrong, not a type
    return value


def _subject(tool: str) -> str:
    if tool_name(tool) in EXEC_TOOLS:
        return "command"
    known = grant_matching.SUBJECTS.get(tool_name(tool))
    if known is None or len(known.params) > 1:
        doubt = tool_spelling.doubt(tool)
        raise ValueError(doubt or f'{tool} takes its arguments by name: --params \'{{"name": "value"}}\'')
    return known.params[0]


def run(places: Places, call: Call, session: Path | None = None) -> Result:
    if broken := rule_view.broken(places):
        return rule_view.report("check", broken)
    judged = offline_guard.load(places)
    judgement, behind = (judged.weigh(call), []) if session is None else _behind(places, judged, call, session)
    config = judged.config_for(call.agent)
    threshold = config.escalation_threshold
    inner = inner_call(call)
    ways = list(_ways(judged, inner, judgement, places))
    risk = None if judgement.code in UNJUDGED else risk_view.risk(inner, judgement, config)
    lines = [
        Line(judgement.decision, _score(judgement, threshold)),
        Line("warn", STOPPED) if stores.kill_switch(places.state_dir).thrown() else None,
        *(Line("warn" if not at else "info", text) for at, text in enumerate(risk_view.depends(judged, inner, judgement))),
        Line("info", printable.plain(judgement.reason)) if judgement.reason else None,
        *(Line("info", printable.plain(note)) for note in judgement.note.splitlines()),
        *_section("it", _does(judged, call, judgement)),
        *_section("because", list(_causes(inner, judgement))),
        *_section("risk", list(filter(None, [risk_view.describe(risk, judgement, config)])) if risk else []),
        *rule_view.off(judged),
        *_mode(config.active_mode, judgement.decision),
        *(Line("warn", text) for text in not_guarded.warnings(places, config.active_mode)),
        Line("warn", doubt) if (doubt := tool_spelling.doubt(call.tool)) else None,
        *ways,
        *behind,
        Line("info", f"({judged.basis.describe()})"),
    ]
    data = {
        **public(judgement),
        "threshold": threshold,
        "risk": risk,
        "allow": [line.text for line in ways if line.kind == "next"],
        "basis": judged.basis.public(),
    }
    return Result("check", data, tuple(line for line in lines if line), EXIT[judgement.decision])


def _behind(places: Places, judged: Judging, call: Call, session: Path) -> tuple[Judgement, list[Line]]:
    """The judgement in the state behind a transcript. Raises `UserError`."""
    from toolguard_cli.policy import played_sessions, transcript_steps  # noqa: PLC0415 - most checks play nothing
    from toolguard_cli.policy.transcripts import TranscriptSource  # noqa: PLC0415 - as above

    source, count = TranscriptSource(session), 0
    player = played_sessions.Player(places, judged)
    try:
        for step in transcript_steps.steps(source):
            count += sum(1 for _ in player.play(step))
        agent, cwd = call.agent or source.agent, source.cwd or call.cwd
        judgement = player.weigh(replace(call, agent=agent, cwd=cwd, session=source.session, run=player.run))
    finally:
        player.close()
    if source.error:
        raise UserError(f"cannot read {session}: {source.error}", "name a transcript of OpenClaw")
    return judgement, [Line("info", printable.plain(f"judged behind {count} calls of session {source.session}"))]


def public(judgement: Judgement) -> dict[str, Any]:
    return {
        "verdict": judgement.decision,
        "code": judgement.code,
        "clarity": judgement.clarity,
        "stakes": judgement.stakes,
        "score": judgement.score,
        "effects": descriptions.distinct_effects(judgement.effects),
        "rules": [
            {"rule": m.rule, "reason": m.reason, "clarity": m.clarity, "stakes": m.stakes, "blocks": m.blocks}
            for m in judgement.matches
        ],
        "reason": judgement.reason,
        "note": judgement.note,
    }


def _score(judgement: Judgement, threshold: int) -> str:
    if judgement.code in UNJUDGED:
        return f"it is not judged: {UNJUDGED[judgement.code]}"
    outcome = OUTCOMES[judgement.decision]
    if judgement.decision == "block" and not judgement.matches:
        return f"{outcome} ({judgement.code}, whatever it would score)"
    text = f"clarity {judgement.clarity} x stakes {judgement.stakes} = {judgement.score}"
    if judgement.decision != "allow" and (judgement.decision == "block" or judgement.score < threshold):
        return f"{outcome} ({judgement.code}, whatever its score; {text})"
    return f"{outcome} ({text}; calls are held at {threshold})"


def _does(judged: Judging, call: Call, judgement: Judgement) -> list[str]:
    """What the call does, in the words in which it is shown where it waits."""
    view = judged.view(call, judgement) if judgement.code not in UNJUDGED else None
    return [*(danger.text for danger in view.dangers), *view.also] if view else []


def _section(head: str, texts: list[str]) -> Iterator[Line]:
    for at, text in enumerate(texts[:SHOWN]):
        yield Line("info", f"{head if not at else '':<9} {printable.plain(text)}")
    if len(texts) > SHOWN:
        yield Line("info", f"{'':<9} ... and {len(texts) - SHOWN} more (--json shows all)")


def _because(match: Match) -> str:
    return f"{match.rule} ({'blocks' if match.blocks else adds(match.clarity, match.stakes)}): {match.reason}"


def _causes(call: Call, judgement: Judgement) -> Iterator[str]:
    own = judgement.code.startswith(OF_SEVERITY)
    if (own or not judgement.matches) and judgement.code not in ("allow", rubric.CODE, *UNJUDGED):
        yield judgement.code
    yield from map(_because, judgement.matches)
    texts = call_texts.commands(tool_name(call.tool), call.params) if judgement.code not in UNJUDGED else ()
    if any("broken" in read(text).flaws for text in texts):
        yield f"its syntax is broken (clarity +{rubric.BROKEN_CLARITY})"


def adds(clarity: int, stakes: int) -> str:
    return f"clarity +{clarity}, stakes +{stakes}"


def _mode(mode: str, decision: str) -> Iterator[Line]:
    if decision != "allow" and mode == "shadow":
        yield Line("warn", "the mode is shadow: the gateway only logs this and lets the call run")


def _ways(judged: Judging, call: Call, judgement: Judgement, places: Places) -> Iterator[Line]:
    threshold, config = judged.config_for(call.agent).escalation_threshold, printable.plain(str(places.config))
    if judgement.decision == "block":
        yield Line("info", "no approval and no grant allows this; if it has to be done, do it yourself")
        yield from (Line("info", text) for text in _by_severity(judgement))
    if judgement.decision != "hold":
        return
    yield Line("info", "once it is held, toolguard approve lets it run once")
    if destruction.destroys(judgement):
        yield Line("info", "it destroys something: nothing is proposed that would let such calls run without asking")
        return
    if grant := exact_grant.for_local(call):
        yield Line("next", f"{narrow_grant.command(grant, LASTS, places.given)}   ({narrow_grant.scope(grant, 'a day')})")
    else:
        yield Line("info", "no grant can cover only this call: approve it when it is held")
    wider = list(_wider(judged, call, judgement, threshold))
    for at, text in enumerate(wider):
        yield Line("info", f"{'wider: ' if not at else '       '}{text}")
    if wider:
        yield Line("info", f"       (these settings are under {'.'.join(gateway_stores.ENTRY)} in {config})")


def _wider(judged: Judging, call: Call, judgement: Judgement, threshold: int) -> Iterator[str]:
    """Settings that would allow this call and more; none for severe calls."""
    if judgement.code == always_block.CODE:
        yield f"remove {printable.cut(call.tool, 40)} from alwaysBlock"
        return
    if judgement.code.startswith(OF_SEVERITY):
        yield from _by_severity(judgement)
        return
    if threshold <= judgement.score < SEVERE:
        yield f'"escalationThreshold": {judgement.score + 1} allows every call with a score of up to {judgement.score}'
    names = _in_the_way(judged, call, judgement)
    own = [name for name in names if name in judged.own]
    if own:
        yield f"change {' and '.join(own)} in policy.toml: your own rule{'' if len(own) == 1 else 's'}"
    elif names:
        which = "this rule" if len(names) == 1 else "these rules"
        yield f'"rulesOff": {json.dumps(names)} disables {which}'


def _by_severity(judgement: Judgement) -> Iterator[str]:
    if not judgement.code.startswith(OF_SEVERITY):
        return
    yield f"change the rule {judgement.code.removeprefix(OF_SEVERITY)} in policy.toml: it is your own"


def _in_the_way(judged: Judging, call: Call, judgement: Judgement) -> list[str]:
    """The rules without which the call would run, strongest first; empty if there are none."""
    names: list[str] = []
    for match in judgement.matches[:SHOWN]:
        if match.rule in names:
            continue
        names.append(match.rule)
        if judged.without(names).weigh(call).decision == "allow":
            return names
    return []


def rules(places: Places) -> Result:
    return own_rules.try_examples(places, "check")


def listing(places: Places) -> Result:
    judged = offline_guard.load(places)
    known = [*offline_guard.all_rules(), *offline_guard.own_rules(places)]
    packs: dict[str, list[Rule]] = {}
    for rule in known:
        packs.setdefault(rule.pack, []).append(rule)
    rows, data = [], []
    for pack, inside in packs.items():
        on = any(_state(rule, judged) == "on" for rule in inside)
        rows.append((pack, "on" if on else "off", f"{len(inside)} rules", _pack_words(pack)))
        rows += [(f"  {r.id}", _state(r, judged), rule_view.adds(r), r.reason) for r in inside]
        data.append({"pack": pack, "on": on, "rules": [_public(rule, judged) for rule in inside]})
    lines = [*tables.table(HEAD, rows), *rule_view.off(judged)]
    off = sum(_state(rule, judged) == "off" for rule in known)
    counted = f"{len(known)} rules in {len(packs)} packs, {off} switched off"
    lines.append(Line("info", f"{counted}; calls are held at {judged.basis.threshold} ({judged.basis.describe()})"))
    return Result("check", {"packs": data, "basis": judged.basis.public()}, tuple(lines))


def _pack_words(pack: str) -> str:
    return "your own, from policy.toml" if pack in ("user", SEVERITY_PACK) else ""


def _state(rule: Rule, judged: Judging) -> str:
    """The user's own rules are always on."""
    off = rule.id not in judged.own and {rule.id, rule.pack} & set(judged.config.rules_off)
    return "off" if off else "on"


def _public(rule: Rule, judged: Judging) -> dict[str, Any]:
    values = {"clarity": rule.clarity, "stakes": rule.stakes, "verdict": rule.verdict or None, "reason": rule.reason}
    values |= {"severity": rule.severity} if rule.severity else {}
    return {"id": rule.id, "on": _state(rule, judged) == "on", **values}


def working_folder(cwd: Path | None) -> str:
    return str(cwd.expanduser().absolute()) if cwd else ""
