"""Clarity times stakes: what a call would do, what the rules say about that, and whether a person has to be asked.

A call begins with the scores of its tool (`toolguard_engine.rules.scores`). The highest clarity and the highest stakes of
all rules that match are added, each sum at most 10, so that a harmless addition changes nothing and nothing is counted
twice. A rule may block instead (gate I). At `escalationThreshold` the product is held (gate V). What cannot be read to
its end is held whatever the rest says; what is no proper syntax is judged on what could be seen, with raised clarity.
"""

from __future__ import annotations

from msgspec import structs

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import descriptions
from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.layers import constraints
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.layers.provenance import gate, leaving_secrets, steering
from toolguard_engine.layers.provenance.context import RunContext
from toolguard_engine.layers.provenance.known_secrets import KnownSecrets
from toolguard_engine.rules import scores
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Match, Rulebook
from toolguard_engine.rules.scores import MOST
from toolguard_engine.wording.redact import redact_text

CODE = "rubric"
TOO_LONG_CODE = "rule.too-long"
TOO_LONG = "It is too long to be read completely."
TOO_DEEP = "It is nested too deeply to be read completely."
TOO_INTRICATE_CODE = "rule.too-intricate"
TOO_INTRICATE = "It is too complex to be judged."
UNREAD = frozenset({"long", "deep", "intricate"})
"""Flaws of a command that was not read to its end."""

BROKEN_CLARITY = 2
"""What a command adds whose syntax is broken."""

_NO_SECRETS = KnownSecrets()
SOFT_STAKES = 8
"""In mode `soft` a score holds only calls of at least these stakes. Nothing else differs from `enforce`."""

MAX_TARGET = 120
NOT_KNOWN = "what exactly is only known when it runs"
MAX_UNREAD = 3


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    """What is typed into a running program is weighed by `typed_input`."""
    if given.entries is not None:
        return None
    reading, contexts = given.reading, given.contexts
    if contexts is None:
        return weighed(reading, given.config, given.rules)
    context = contexts.get(reading.call.run, reading.call.session)
    return weighed(reading, given.config, given.rules, context, contexts.secrets)


def weighed(
    reading: CallReading,
    config: Config,
    book: Rulebook,
    context: RunContext | None = None,
    secrets: KnownSecrets | None = None,
) -> Judgement:
    """`context`: the texts from outside that the run has read so far (gate P); `secrets`: those that results had."""
    tool, params = reading.tool, reading.params
    commands = list(zip(reading.command_readings, reading.command_effects, strict=True)) if reading.commands else []
    clarity, stakes = scores.base(tool, reading.call.params)
    if not reading.has_params:
        return Judgement("allow", "allow", clarity, stakes)
    done: list[Effect] = []
    matches: list[Match] = []
    flaws: set[str] = set()
    if commands and not reading.executes:
        executed = scores.base("exec", params)
        clarity, stakes = max(clarity, executed[0]), max(stakes, executed[1])
    for command, effects in commands:
        matches += book.for_command(command, effects)
        for path, text in command.written:  # rules about `write` hold for a here-document as well
            matches += book.for_call("write", {"path": path, "content": text}, ())
        done += effects
        flaws |= command.flaws
    if not reading.executes:
        effects = gate.requested(reading.call, reading.tool_effects, context)
        matches += book.for_call(tool, params, effects)
        done += effects
    if context is not None and (suspicious := gate.judge(reading.call, tuple(done), context)):
        matches += book.for_call(tool, params, suspicious)
        done += suspicious
    if steers := steering.judge(reading, done, context):
        matches += book.for_call(tool, params, (steers,))
        done.append(steers)
    if leak := leaving_secrets.judge(reading.call, tool, done, secrets or _NO_SECRETS):
        matches += book.for_call(tool, params, (leak,))
        done.append(leak)
    if book.viewed:
        matches += constraints.matches(reading, tuple(done), book)
    if not matches and not flaws and clarity * stakes < config.escalation_threshold:
        return Judgement("allow", "allow", clarity, stakes, tuple(done))
    matches.sort(key=_strength, reverse=True)
    judged = _weighed(clarity, stakes, tuple(done), tuple(dict.fromkeys(matches)), flaws, config)
    judged = structs.replace(judged, partial=not flaws.isdisjoint(UNREAD))
    unread = (
        {file.file: file.why for command in reading.command_readings for file in command.unread} if reading.commands else {}
    )
    if not unread or judged.decision == "allow":
        return judged
    listed = "; ".join(f"{file[:MAX_TARGET]}: {why}" for file, why in list(unread.items())[:MAX_UNREAD])
    return structs.replace(judged, reason=f"{judged.reason} Not read completely: {listed}.")


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
    if "intricate" in flaws:
        return Judgement("hold", TOO_INTRICATE_CODE, clarity, stakes, done, matches, TOO_INTRICATE)
    if unread := flaws & {"long", "deep"}:
        reason = TOO_LONG if "long" in unread else TOO_DEEP
        return Judgement("hold", TOO_LONG_CODE, clarity, stakes, done, matches, reason)
    return Judgement("allow", "allow", clarity, stakes, done, matches)


def _by_score(clarity: int, stakes: int, done: tuple[Effect, ...], flaws: set[str], config: Config) -> str:
    """No rule speaks of this call: what it would do, and how that is weighed."""
    acts = descriptions.in_line(done)
    would = f"It would {acts}." if acts else "No rule describes what it would do."
    broken = " Its syntax is broken." if "broken" in flaws else ""
    score = f"clarity {clarity} x stakes {stakes} = {clarity * stakes}"
    held = f"calls are held at {config.escalation_threshold} or more"
    return f"{would}{broken} It is too risky to run without approval: {score} ({held})."


def _reason(match: Match) -> str:
    if not match.target:
        return match.reason
    target = redact_text(match.target.replace(UNKNOWN, "?"), active=True)
    if UNKNOWN in match.target and not target.strip("?/"):
        target = NOT_KNOWN
    origin = f"{match.origin[:MAX_TARGET]}: " if match.origin else ""
    return f"{match.reason} ({origin}{target if len(target) <= MAX_TARGET else target[: MAX_TARGET - 3] + '...'})"
