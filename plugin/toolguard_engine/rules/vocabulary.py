"""The names that a rule may use: kinds of effects, places, flags and wrappers, as data; and what is none of them.

The engine gives an effect these kinds and flags (`effects` and `layers.provenance` say what they mean). A rule with another
name would never match; a test holds the shipped packs to this list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.specials import SPECIALS
from toolguard_engine.effects.facts.command import CARRIED, Place
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.programs.wrappers import WRAPPERS
from toolguard_engine.host.tool_names import ToolAction
from toolguard_engine.rules.rule_form import InvalidRuleError, Rule

KINDS = frozenset(
    """
    delete discard empty write device-write format move link read search disguise encrypt pack permissions owner elevate
    flood load variable fetch send http copy-out copy-in transfer connect listen tunnel scan remote-shell code
    delete-found method shell-out run-text sql nosql exfiltrate stage act message gateway plugin session secret-store
    skill device schedule spawn expose mcp mcp-read mcp-write provenance kill-found lookalike record autostart leak
    run-unread run-made fills trust replace-key run-later enable unknown-program
    perhaps-write
    """.split()  # noqa: SIM905 - a table of names
)
FLAGS = frozenset(
    """
    glob whole project dotfile history log recursive forced wiped filtered each rebuilt mirror moved-away truncates append
    in-place copied unpacked touched dated erases linked packed secrets world-writable setuid none attributes to-root injects
    forgets file payload upload output reveals personal credentials bulk mail socket address dns stream local private lan tls
    passwords api service destroys settings redis memcached fetched decoded unknown variable later powershell applescript
    drop database shutdown logs truncate unfiltered delete alter grant user program deletes names attached search metadata
    data evaluate cookies typed addressed broadcast secret moderates small many statement command target runs unsafe webhook
    code odd pairs invokes leftover unchanged plain-lines imports gateway-file personal-file to-temp through-link agent-made
    reads transcript installs restarts files lesser service-data named deployed own-service by-phone follows backup posts
    pushes autostart physical weakens repository-access dns-records pays host overwrites overrides permits unencrypted
    unverified everyone forwards hides order asked key remembered steer covert console rights messages
    trusts halts sinks
    """.split()  # noqa: SIM905 - a table of names
) | frozenset(filter(None, get_args(ToolAction)))
ACTIONS = frozenset("gateway plugin session secret-store skill device schedule spawn expose code".split())  # noqa: SIM905
"""Kinds whose flags name the action or the language too, whatever that is."""

PLACES = frozenset(get_args(Place))
VIA = frozenset((*WRAPPERS, *SPECIALS, *code_sources.LANGUAGES, "$()", "()", CARRIED))

_SHOWN = 12
_NO_WORD = lazy_re.compile(r"[()<>;&`\"']|(?:^|\s)\|+|(?<!\|)\|+(?:\s|$)")
"""What the shell reads; a `|` within a word stands between alternatives."""


def check(rule: Rule) -> None:
    """Raises `InvalidRuleError` for the first thing that a rule says in vain: a name that nothing has, words that no program
    gets."""
    if rule.verdict and (rule.clarity or rule.stakes):
        raise InvalidRuleError("verdict", "it blocks, so clarity and stakes have no effect")
    for text in rule.run:
        _word(text)
    _known("effect", rule.effect, KINDS)
    _known("place", rule.place, PLACES)
    _known("no_place", rule.no_place, PLACES)
    _known("via", (name for name in rule.via if not INTERPRETER.fullmatch(name)), VIA)
    if ACTIONS.isdisjoint(rule.effect):
        _known("flags", rule.flags, FLAGS)
        _known("no_flags", rule.no_flags, FLAGS)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty where none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only where a name is wrong

    return next(iter(get_close_matches(name, sorted(known), 1, 0.6)), "")


def _word(text: str) -> None:
    if _NO_WORD.search(text):
        raise InvalidRuleError(
            "run",
            f"{text!r} contains a shell character: run names one program and its subcommands, as in 'git push' or "
            "'docker|podman rm'; each program of a pipe is matched separately",
        )
    if not text.strip("* "):
        raise InvalidRuleError("run", f"{text!r} names every program: name one, or use effect to say what is done")


def _known(key: str, names: Iterable[str], known: frozenset[str]) -> None:
    for name in names:
        if name not in known:
            meant = nearest(name, known)
            listed = sorted(filter(None, known))
            some = ", ".join(listed) if len(listed) <= _SHOWN or key != "via" else f"{', '.join(listed[:_SHOWN])} ..."
            hint = f"did you mean {meant!r}? Known names" if meant else "known names"
            raise InvalidRuleError(key, f"{key} does not support {name!r}; {hint}: {some}")
