"""Clarity times stakes: what a call would do, what the rules say about that, and whether a person has to be asked.

The law: a call begins with the scores of its tool (`toolguard_engine.rubric`). The strongest clarity and the strongest
stakes of all rules that match are added, each sum at most 10, so that a harmless addition changes nothing and nothing is
counted twice. A rule may block instead (gate I). At `escalationThreshold` the product is held (gate V). What cannot be read
to its end is held whatever the rest says; what is no proper syntax is judged on what could be seen, with raised clarity.
"""

from __future__ import annotations

from typing import Any

from toolguard_engine import effecttexts, rubric, toolacts
from toolguard_engine.config import Config
from toolguard_engine.heard import Heard
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers import calltexts, provenance
from toolguard_engine.model import Call, Host
from toolguard_engine.rubric import MOST
from toolguard_engine.rulebook import Match, Rulebook
from toolguard_engine.shell.effects import effects
from toolguard_engine.shell.model import UNKNOWN, Effect
from toolguard_engine.shell.places import Where
from toolguard_engine.shell.unwrap import read
from toolguard_engine.toolsearch import tool_name

CODE = "rubric"
TOO_LONG_CODE = "rule.too-long"
TOO_LONG = "It is too long to be read to its end."
TOO_DEEP = "It is nested too deeply to be read to its end."
BROKEN_CLARITY = 2
"""What a command adds whose syntax is broken."""

SOFT_STAKES = 8
"""In mode `soft` only calls of at least these stakes are held."""

MAX_TARGET = 120


def judge(call: Call, config: Config, host: Host, book: Rulebook, heard: Heard | None = None) -> Judgement:
    """`heard`: what this run has heard from outside so far (gate P)."""
    tool, params = tool_name(call.tool), call.params
    clarity, stakes = rubric.base(tool, params)
    if not isinstance(params, dict):
        return Judgement("allow", "allow", clarity, stakes)
    done: list[Effect] = []
    matches: list[Match] = []
    flaws: set[str] = set()
    commands = calltexts.commands(tool, params)
    executes = tool in calltexts.EXEC_TOOLS
    if commands and not executes:
        executed = rubric.base("exec", params)
        clarity, stakes = max(clarity, executed[0]), max(stakes, executed[1])
    for command in commands:
        reading = read(command)
        found = effects(reading, where_of(call, params, host))
        matches += book.for_command(reading, found)
        done += found
        flaws |= reading.flaws
    if not executes:
        found = toolacts.effects(call.tool, params, where_of(call, {}, host))
        matches += book.for_call(tool, params, found)
        done += found
    if heard is not None and (said := provenance.judge(call, tuple(done), heard)):
        matches += book.for_call(tool, params, said)
        done += said
    if not matches and not flaws and clarity * stakes < config.escalation_threshold:
        return Judgement("allow", "allow", clarity, stakes, tuple(done))
    matches.sort(key=_strength, reverse=True)
    return _weighed(clarity, stakes, tuple(done), tuple(dict.fromkeys(matches)), flaws, config)


def where_of(call: Call, params: dict[str, Any], host: Host) -> Where:
    """Where a call happens; `params`: those that may name a folder to run in."""
    given = params.get("workdir") or params.get("cwd")
    folder = given if isinstance(given, str) else call.cwd
    if folder and call.cwd and not folder.startswith(("/", "~", "$")):
        folder = f"{call.cwd}/{folder}"
    return Where(host.home, folder, call.cwd, host.state_dir)


def _strength(match: Match) -> tuple[bool, int]:
    return match.blocks, (match.clarity + 1) * (match.stakes + 1)


def _weighed(
    clarity: int, stakes: int, done: tuple[Effect, ...], matches: tuple[Match, ...], flaws: set[str], config: Config
) -> Judgement:
    clarity += max((match.clarity for match in matches), default=0) + BROKEN_CLARITY * ("broken" in flaws)
    stakes += max((match.stakes for match in matches), default=0)
    clarity, stakes = min(clarity, MOST), min(stakes, MOST)
    first = matches[0] if matches else None
    if first is not None and first.blocks:
        return Judgement("block", f"rule.{first.rule}", clarity, stakes, done, matches, _reason(first))
    if clarity * stakes >= config.escalation_threshold and not (config.active_mode == "soft" and stakes < SOFT_STAKES):
        if first is not None:
            return Judgement("hold", f"rule.{first.rule}", clarity, stakes, done, matches, _reason(first))
        return Judgement("hold", CODE, clarity, stakes, done, matches, _by_score(clarity, stakes, done, flaws, config))
    if unread := flaws & {"long", "deep"}:
        reason = TOO_LONG if "long" in unread else TOO_DEEP
        return Judgement("hold", TOO_LONG_CODE, clarity, stakes, done, matches, reason)
    return Judgement("allow", "allow", clarity, stakes, done, matches)


def _by_score(clarity: int, stakes: int, done: tuple[Effect, ...], flaws: set[str], config: Config) -> str:
    """No rule speaks of this call: what it would do, and how that is weighed."""
    acts = effecttexts.in_line(done)
    would = f"It would {acts}." if acts else "No rule knows what it would do."
    broken = " Its syntax is broken." if "broken" in flaws else ""
    score = f"clarity {clarity} x stakes {stakes} = {clarity * stakes}"
    return f"{would}{broken} Its risk is too high to run unasked: {score}, held from {config.escalation_threshold} on."


def _reason(match: Match) -> str:
    if not match.target:
        return match.reason
    target = match.target.replace(UNKNOWN, "?")
    return f"{match.reason} ({target if len(target) <= MAX_TARGET else target[: MAX_TARGET - 3] + '...'})"
