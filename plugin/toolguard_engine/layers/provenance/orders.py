"""Whose idea a call of an acting tool is: what text from outside orders, or what the person asked for.

- A call is ordered from outside if a value of it that no person named (an account, an address, a link, a name) stands in a
  text that was read in this run, near an instruction. An instruction that is addressed to an assistant, or that sets itself
  above the person, always counts; any other only where the person asked for nothing of that kind.
- A call is requested if a person asked for this kind of act and named everything that it acts on. It is not, where any text
  of the run is addressed to assistants.

The kinds of acts, and the words for them in tools, texts and requests, are roles of the catalogue (`words`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.program_catalogue import words
from toolguard_engine.effects.tools import tools
from toolguard_engine.effects.tools.tool_parameters import meaning
from toolguard_engine.host.tool_search import short_name, tool_name
from toolguard_engine.layers.provenance.context import RunContext, names, normal
from toolguard_engine.model.call import Call

MAX_VALUES = 40
MAX_DEPTH = 4
MAX_TEXT = 16_000
_LONG = 120
"""Characters of a value that is a text: of it only the addresses count."""
_MIN_VALUE, _MIN_NAME, _MIN_DICTATED = 2, 5, 24
_MAX_PLACES = 4
_MAX_CONTACTS = 10
_MIN_WORDS = 2
_CLAUSE = 180
_MAX_INSTRUCTIONS = 40
_MAX_SEARCHED = 65_536
_NEAR, _FAR = 400, 900
_TEXTS = words("worded_parameter")

_ROLES = ("sending", "paying", "arranging", "changing", "removing", "admitting", "publishing", "controlling")


def _spelled(role: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in words(role))


Kinds = list[frozenset[bytes]]
Acting = tuple[frozenset[bytes], Kinds]
_KINDS = tuple(map(_spelled, _ROLES))
_DELEGATING = _spelled("delegating")
_WORD = lazy_re.compile(rb"[a-z]+")
_CONTACT = lazy_re.compile(
    r"[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,40}){1,4}|(?:https?://|www\.)[^\s\"'<>()]{3,300}|\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b"
    r"|\+\d[\d ()-]{7,18}\d|\b0x[0-9a-fA-F]{40}\b|\b(?:bc1|[13])[a-zA-HJ-NP-Z0-9]{25,60}\b"
)
_ADDRESSED = lazy_re.compile(
    rb"\b(?:ignore|disregard|forget|override) (?:all|any|the|your|my|every|previous|prior|above|earlier)"
    rb"|\bbefore you (?:can )?(?:solve|complete|do|continue|proceed|answer|finish)\b"
    rb"|\bto you,? (?:the )?(?:\w{1,20} )?(?:assistant|ai|agent|model|llm|chatbot)\b"
    rb"|<\s?/?(?:information|important|system|instructions?|admin)\b"
    rb"|\b(?:system|admin|administrator|developer) (?:message|prompt|override|notice|instructions?)\b"
    rb"|\bnew (?:task|instructions?)\b"
    rb"|\b(?:note|message|attention|instructions?|important|notice)\b[^.]{0,30} (?:to|for) (?:the |all |any )?"
    rb"(?:ais?|assistants?|agents?|llms?|language models?|chatbots?)\b"
    rb"|\bai (?:assistants?|agents?|models?)(?: (?:must|should|reading|processing|are)\b|[:,] )"
    rb"|\b(?:do not|don.?t|without) (?:tell|inform|mention|alert|notify|ask)(?:ing)? "
    rb"(?:this|it|me|the user|anyone|anybody|them)\b"
)
"""Who reads this is taken for an assistant, or told to put it above what its user said."""


def _instruction() -> re.Pattern[bytes]:
    verbs = "|".join(sorted(words("ordering"), key=len, reverse=True))
    lead = (
        r"(?:\A|[.:;!?>)\]}] ?|(?:\A|\s)[*-] |\b(?:please|kindly|must|should|then|also|now|first|immediately|always|never"
        r"|can you|could you|would you|want you to|need you to|make sure to|be sure to|you need to|you have to|remember to"
        r"|asks? you to|and)\s)"
    )
    return lazy_re.compile(rf"{lead}(?:{verbs})\b".encode())


_INSTRUCTION = _instruction()


def ordered(call: Call, context: RunContext) -> str:
    """The value or the words of a call that text from outside ordered; empty where none did."""
    if not context.outside and not context.inside and not context.others:
        return ""
    if (acting := _acting(call)) is None:
        return ""
    known, kinds = acting
    asked = _is_asked(kinds, context)
    for value in _values(call.params):
        needle = normal(value.text)
        if len(needle) < _MIN_VALUE or context.by_person(needle) >= 0:
            continue
        for text in (*context.outside, *context.inside, context.others):
            if _is_addressed(needle, text, acting, value, context) or (not asked and _is_named(needle, text, acting, value)):
                return value.text
    return "" if asked else _described(known - _spoken(context.stated), kinds, context)


def _is_addressed(needle: bytes, text: bytes, acting: Acting, value: CallValue, context: RunContext) -> bool:
    """Whether a text names this value beside something that is addressed to an assistant."""
    before, after = (_FAR, _FAR // 2) if value.is_contact else (_NEAR, _NEAR // 2)
    for at in context.places(text, needle, _MAX_PLACES):
        around = text[max(0, at - before) : at + len(needle) + after]
        if _is_telling(needle, around, acting, value) and _ADDRESSED.search(around):
            return True
    return False


def _is_named(needle: bytes, text: bytes, acting: Acting, value: CallValue) -> bool:
    """Whether an instruction in a text names this value. A text that the agent words counts if it is dictated."""
    if needle not in text or (value.is_text and len(needle) < _MIN_DICTATED):
        return False
    for whole in _instructions(text):
        clause = whole if value.is_contact else whole.partition(b". ")[0]
        if names(clause, needle) and _is_telling(needle, clause, acting, value):
            return not value.is_text or not acting[0].isdisjoint(_WORD.findall(clause.replace(needle, b"")))
    return False


def passes_on(call: Call, contact: str, context: RunContext) -> bool:
    """Whether the person asked for a call of this kind and no instruction of others names this address for it."""
    acting = _acting(call)
    if acting is None or not _is_asked(acting[1], context):
        return False
    needle, value = normal(contact), CallValue(contact, is_contact=True)
    return not any(_is_named(needle, text, acting, value) for text in (*context.outside, context.others))


def _is_telling(needle: bytes, around: bytes, acting: Acting, value: CallValue) -> bool:
    """Whether a value is no accident: long enough, or beside words for what the tool does."""
    if value.is_contact or len(needle) >= _MIN_NAME:
        return True
    spoken = _WORD.findall(around)
    return any(not kind.isdisjoint(spoken) for kind in (acting[0], *acting[1]))


def is_instruction(text: bytes) -> bool:
    """Whether a text orders something, or is addressed to an assistant."""
    return _INSTRUCTION.search(text) is not None or _ADDRESSED.search(text) is not None


def _described(known: frozenset[bytes], kinds: Kinds, context: RunContext) -> str:
    """The words of a tool that one instruction of the texts has as well: its verb and what it is about."""
    known = frozenset(map(_stem, known))
    kinds = [frozenset(map(_stem, kind)) for kind in kinds]
    for text in (*context.outside, context.others):
        for clause in _instructions(text):
            common = known.intersection(map(_stem, _WORD.findall(clause.partition(b". ")[0])))
            if len(common) >= _MIN_WORDS and any(not kind.isdisjoint(common) for kind in kinds):
                return " ".join(sorted(word.decode() for word in common))
    return ""


@lru_cache(maxsize=64)
def _instructions(text: bytes) -> tuple[bytes, ...]:
    searched = text[-_MAX_SEARCHED:]
    matches = islice(_INSTRUCTION.finditer(searched), _MAX_INSTRUCTIONS)
    return tuple(searched[match.start() : match.start() + _CLAUSE] for match in matches)


def _stem(word: bytes) -> bytes:
    return word[:-1] if word.endswith(b"s") and len(word) > _MIN_NAME else word


def is_requested(call: Call, context: RunContext) -> bool:
    """Whether the person asked for this very call."""
    acting = _acting(call)
    if acting is None or not context.stated or not _is_asked(acting[1], context, delegated=False):
        return False
    values = [normal(value.text) for value in _values(call.params, numbers=False)]
    named = [
        needle
        for needle in values
        if len(needle) > _MIN_VALUE
        and context.stated_by_person(needle if b"/" not in needle else needle.rpartition(b"/")[2])
    ]
    if not named or any(_ADDRESSED.search(text) for text in (*context.outside, *context.inside, context.others)):
        return False
    return all(needle in named for needle in values if not _is_telling_nothing(needle, context))


def _is_telling_nothing(needle: bytes, context: RunContext) -> bool:
    """Whether a value is one that the assistant chose itself: no text that was read has it."""
    return not context.outside_names(needle) and not context.inside_has(needle)


def _acting(call: Call) -> Acting | None:
    """The words of a tool and the kinds of acts it may be meant for; None for tools that only read, or are the gateway's."""
    tool = tool_name(call.tool)
    if not isinstance(call.params, dict) or (tool in tools.DESCRIBED and not _is_for_others(tool, call)):
        return None
    name = meaning(short_name(call.tool), call.params)
    if name.action == "look":
        return None
    known = frozenset(word.encode() for word in name.words)
    return known, [kind for kind in _KINDS if not kind.isdisjoint(known)]


def _is_for_others(tool: str, call: Call) -> bool:
    """Whether it is a message to somebody else than the conversation that is under way."""
    here = call.session.lower().split(":")
    target = call.params.get("target") if tool == "message" else None
    return isinstance(target, str) and bool(target) and target.lower() not in here


def _is_asked(kinds: Kinds, context: RunContext, *, delegated: bool = True) -> bool:
    """Whether a person asked for one of these kinds of acts, or told the agent to do what it reads."""
    stated = _spoken(context.stated)
    if delegated and not stated.isdisjoint(_DELEGATING):
        return True
    return any(not kind.isdisjoint(stated) for kind in kinds)


@lru_cache(maxsize=64)
def _spoken(text: bytes) -> frozenset[bytes]:
    return frozenset(_WORD.findall(text))


class CallValue(msgspec.Struct, frozen=True):
    """A value of a call. `is_contact`: an address of some kind; `is_text`: it is worded by the agent (a title, a body)."""

    text: str
    is_contact: bool = False
    is_text: bool = False


def _values(params: Any, *, numbers: bool = True) -> Iterator[CallValue]:
    """The values of a call; of a long one only the addresses in it."""
    for key, value in islice(_leaves(params, 0, "", numbers=numbers), MAX_VALUES):
        matches = islice(_CONTACT.finditer(value[:MAX_TEXT]), _MAX_CONTACTS)
        contacts = list(dict.fromkeys(match[0].rstrip(".,;:!?)") for match in matches))
        yield from (CallValue(contact, is_contact=True) for contact in contacts)
        if len(value) <= _LONG and value not in contacts:
            yield CallValue(value, is_text=key.lower() in _TEXTS)


def _leaves(value: Any, depth: int, key: str, *, numbers: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if numbers:
            yield key, str(value)
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        for name, item in islice(value.items(), MAX_VALUES):
            yield from _leaves(item, depth + 1, str(name), numbers=numbers)
    elif isinstance(value, list) and depth < MAX_DEPTH:
        for item in islice(value, MAX_VALUES):
            yield from _leaves(item, depth + 1, key, numbers=numbers)
