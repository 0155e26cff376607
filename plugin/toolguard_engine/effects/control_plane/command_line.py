"""What a run of the `openclaw` command line does, judging by the words after the program's name.

An option may obscure where a verb begins. An unknown option is read both with and without a value, and the most severe
reading counts. `--help` and, for verbs that have it, `--dry-run` only show something, unless they are the value of another
option.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import gateway_settings
from toolguard_engine.effects.control_plane.verb_catalogue import PASSING, UNKNOWN_VERB, VerbCatalogue, load
from toolguard_engine.effects.facts import message_texts
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.manuals.option_spellings import HELP, VERSION

OWN_PROGRAM = lazy_re.compile(
    r"(?:^|[/:])(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?/?$|openclaw\.mjs$"
    r"|(?:^|[/:])(?:openclaw|clawdbot)/(?:\S*/)?(?:index|entry)\.m?js$",
    re.IGNORECASE,
)
"""A word that starts the gateway's own command line."""

DEFAULT_PORT = "18789"
_FROM_FILE = lazy_re.compile(r"--(?:batch-)?file")
_LOCAL = lazy_re.compile(rf"^$|localhost|127\.\d|\[?::1|0\.0\.0\.0|[$`{UNKNOWN}]", re.IGNORECASE)
"""An address that is, or may be, on this machine."""

SHOWING = frozenset({"show", "list", "ls", "info", "status"})
_GUARD = "toolguard"
_UPDATE = "--update"
_MAX_WORDS = 200
_MAX_READINGS = 16
_PLUGIN_VERBS = lazy_re.compile(r"plugins (?:disable|uninstall|install|update|enable|reload)")
_SENDS = "message send"
_MESSAGE_OPTION = lazy_re.compile(r"--(?P<name>channel|account|target|message)|-(?P<short>[tm])")
_SHORT = {"t": "target", "m": "message"}
_NEW_AGENT = "agents add"
_OWN_WORKSPACE = lazy_re.compile(
    r"(?:~|/home/[\w.-]{1,60}|/Users/[\w.-]{1,60}|/root)/\.openclaw/workspace[\w-]{0,60}(?:/[\w-]{1,60})?/?"
)
"""A folder in which the gateway keeps an agent's files. Elsewhere they may change what is there without a question."""
_UPDATES_PLUGINS = "openclaw plugins update"
_PATCHES_SESSION = "sessions.patch"
_SESSION_FIELDS = frozenset(
    {
        "key", "sessionKey", "agentId", "label", "displayName", "archived", "pinned", "unread", "category", "color", "icon",
        "model", "thinkingLevel", "fastMode", "verboseLevel", "reasoningLevel", "traceLevel", "responseUsage",
    }
)  # fmt: skip
"""Session settings that can change without giving the agent more rights."""

_METHOD = lazy_re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)*")
_UNKNOWN_PART = lazy_re.compile(rf"[$`{UNKNOWN}]|^@")
_NAMES_GUARD = lazy_re.compile(r"config\.(?:set|patch|apply)|approval|toolguard")


class Operation(NamedTuple):
    """One operation on the gateway. `target`: the verb and its object. `certain`: whether it is certain."""

    effect: str
    target: str
    certain: bool = True


class _Reading(NamedTuple):
    """One reading of the words: the verb, the words after it, and whether the verb is completely known."""

    verb: str
    rest: tuple[str, ...]
    known: bool = True


def operations(words: Sequence[str], stdin: str | None = None) -> tuple[Operation, ...]:
    """The operations of `openclaw` with these words; none if it only shows something or does ordinary work. `stdin`: its
    input, if known."""
    words = tuple(words[:_MAX_WORDS])
    known: dict[Operation, None] = {}
    for reading in _readings(words):
        for operation in _of(reading, words, stdin):
            if operation.effect not in PASSING:
                known[operation] = None
    return tuple(known)


def verb(words: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """The verb and the words after it; None unless that is certain, without options before it, and more than shows
    something."""
    readings = _readings(tuple(words[:_MAX_WORDS]))
    if len(readings) != 1 or not readings[0].known or len(words) > _MAX_WORDS:
        return None
    name, rest = readings[0].verb, readings[0].rest
    if len(words) - len(rest) != len(name.split()):
        return None
    dry = load().is_dry(name) and asks(rest, frozenset({"--dry-run"}), load())
    return None if dry or asks(rest, HELP, load()) else (name, rest)


class SentMessage(NamedTuple):
    """`is_plain`: it is a text that the command shows, to one recipient, with nothing attached."""

    target: str
    text: str
    is_plain: bool


def sent_message(words: Sequence[str]) -> SentMessage | None:
    """What `openclaw message send` sends; None of all other verbs."""
    reading = _readings(tuple(words[:_MAX_WORDS]))[0]
    if reading.verb != _SENDS or asks(words, HELP, load()) or asks(words, frozenset({"--dry-run"}), load()):
        return None
    given: dict[str, list[str]] = {}
    waiting, is_plain = list(reading.rest), verb(words) is not None
    while waiting:
        option, sign, value = waiting.pop(0).partition("=")
        match = _MESSAGE_OPTION.fullmatch(option)
        known = (match["name"] or _SHORT[match["short"]]) if match else ""
        is_plain = is_plain and bool(known) and bool(sign or waiting)
        given.setdefault(known, []).append(value if sign or not known or not waiting else waiting.pop(0))
    targets, texts = given.get("target", []), given.get("message", [])
    is_plain = is_plain and len(targets) == len(texts) == 1 and not any(UNKNOWN in word for word in reading.rest)
    is_plain = is_plain and message_texts.is_one_recipient(targets[0])
    return SentMessage(", ".join(targets), "\n".join(texts), is_plain)


def _readings(words: tuple[str, ...]) -> tuple[_Reading, ...]:
    """The distinct verbs that these words may be."""
    readings: dict[_Reading, None] = {}
    waiting: list[tuple[int, str]] = [(0, "")]
    seen = 0
    while waiting and seen < _MAX_READINGS:
        seen += 1
        at, verb = waiting.pop()
        reading, others = _read(words, at, verb)
        readings[reading] = None
        waiting += others
    return tuple(readings)


def _read(words: tuple[str, ...], at: int, verb: str) -> tuple[_Reading, list[tuple[int, str]]]:
    """The verb that begins at a word, and the positions where it may also continue."""
    catalogue = load()
    others: list[tuple[int, str]] = []
    start = at
    while at < len(words):
        valued = catalogue.valued if verb else catalogue.before
        at, after_values = option_parser.past_options(words, at, valued, catalogue.plain, ends=bool(verb))
        others += ((place, verb) for place in after_values)
        longer = _joined(catalogue, verb, words[at]) if at < len(words) else ""
        if not longer:
            break
        verb, at, start = longer, at + 1, at + 1
        if verb not in catalogue.groups:
            break
    rest = words[start:]
    known = (verb not in catalogue.groups or not plain_words(rest, catalogue)) if verb else not plain_words(rest, catalogue)
    return _Reading(verb, rest, known), others


def _joined(catalogue: VerbCatalogue, verb: str, word: str) -> str:
    """The verb extended by a word; empty if there is no such verb."""
    longer = f"{verb} {word}".strip()
    longer = catalogue.aliases.get(longer, longer)
    return longer if longer in catalogue.verbs or longer in catalogue.groups else ""


def _of(reading: _Reading, words: tuple[str, ...], stdin: str | None) -> Iterator[Operation]:
    catalogue = load()
    verb, rest = reading.verb, reading.rest
    before = words[: len(words) - len(rest)]
    if asks(words, HELP, catalogue) or (not verb and (not words or not (VERSION | {"-v"}).isdisjoint(words))):
        return
    if _UPDATE in before or (not verb and _UPDATE in rest):
        yield Operation("run", "openclaw update")
    if not reading.known:
        if _only_shows(verb, rest, catalogue):
            return
        yield Operation(UNKNOWN_VERB, f"openclaw {' '.join((verb, *rest[:1])).strip()}")
    if not verb or verb not in catalogue.verbs:
        return
    if any(gateway_settings.names_unguarded_model(word) for option in catalogue.models for word in values(rest, option)):
        yield Operation("agent", f"openclaw {verb} --model")
    for operation in _by_options(verb, rest, catalogue, stdin):
        yield _elsewhere(operation, words, catalogue)


def _only_shows(verb: str, rest: tuple[str, ...], catalogue: VerbCatalogue) -> bool:
    """Whether an unknown verb is a word for showing: `config show`, `tools list`. The command line refuses one that it does
    not have, and says so."""
    words = plain_words(rest, catalogue)
    return not SHOWING.isdisjoint(words[:1] if verb else words[1:2])


def _on_plugin(words: tuple[str, ...], target: str) -> Iterator[Operation]:
    """A change of plugins that concerns the guard, or may: an update of all leaves it in place."""
    if any(_GUARD in word.lower() for word in words) or ("--all" in words and target != _UPDATES_PLUGINS):
        yield Operation("guard", target)
    elif "--all" in words or any(UNKNOWN in word for word in words):
        yield Operation("guard", target, certain=False)


def _is_ordinary_agent(rest: tuple[str, ...], catalogue: VerbCatalogue) -> bool:
    """Whether a new agent is named, and gets a folder among those of the other agents."""
    is_named = bool(plain_words(rest, catalogue)) and not any(UNKNOWN in word for word in rest)
    return is_named and all(map(_OWN_WORKSPACE.fullmatch, values(rest, "--workspace")))


def _by_options(verb: str, rest: tuple[str, ...], catalogue: VerbCatalogue, stdin: str | None) -> Iterator[Operation]:
    target = f"openclaw {verb}"
    given = {word.partition("=")[0] for word in _before_end(rest, catalogue)}
    own = catalogue.verbs[verb]
    extra = [option for option in catalogue.options if verb in option.verbs and not given.isdisjoint(option.names)]
    dry = catalogue.is_dry(verb) and asks(rest, frozenset({"--dry-run"}), catalogue)
    for option in extra:
        if option.effect == "port":
            yield _port_operation(rest, target)
        elif not dry or option.effect == "run":
            yield Operation(option.effect, f"{target} {next(name for name in option.names if name in given)}")
    if dry or any(option.instead for option in extra):
        return
    if _PLUGIN_VERBS.fullmatch(verb):
        yield from _on_plugin(rest, target)
    if verb == _NEW_AGENT and not _is_ordinary_agent(rest, catalogue):
        yield Operation("settings", target)
    if own == "setting":
        yield from _sets(verb, rest, catalogue, stdin)
    elif own == "shown":
        path = next(iter(plain_words(rest, catalogue)), "")
        if gateway_settings.is_shown_secret(gateway_settings.names(path)):
            yield Operation("secret", f"{target} {path}")
    elif verb == "gateway call":
        yield from _calls(rest, catalogue)
    elif own == "guard?":
        yield Operation("guard", target, certain=False)
    else:
        yield Operation(own, target)


_PATH_AND_VALUE = 2


def _sets(verb: str, rest: tuple[str, ...], catalogue: VerbCatalogue, stdin: str | None) -> Iterator[Operation]:
    """The settings that a verb changes."""
    target = f"openclaw {verb}"
    plain = plain_words(rest, catalogue)
    if verb.startswith("models"):
        if any(gateway_settings.names_unguarded_model(word) for word in plain):
            yield Operation("agent", f"{target} {' '.join(plain)}")
        return
    changes: list[gateway_settings.SettingEffect] = []
    for word in values(rest, "--batch-json"):
        changes += _batch(word)
    for path in values(rest, "--replace-path"):
        changes.append(gateway_settings.change(gateway_settings.names(path)))
    if any(map(_FROM_FILE.match, rest)):
        changes.append(gateway_settings.SettingEffect("guard", "a file", certain=False))
    elif verb == "config patch":
        texts = [stdin] if stdin is not None else list(plain)
        changes += (
            map(gateway_settings.of_patch, texts)
            if texts
            else [gateway_settings.SettingEffect("guard", "its input", certain=False)]
        )
    elif plain:
        value = plain[1] if len(plain) == _PATH_AND_VALUE else None
        changes.append(gateway_settings.change_to(gateway_settings.names(plain[0]), value))
    elif not changes:
        changes.append(gateway_settings.SettingEffect(UNKNOWN_VERB, ""))
    if len(plain) > 1 and gateway_settings.names_unguarded_model(plain[1]):
        changes.append(gateway_settings.SettingEffect("agent", plain[0]))
    for change in changes:
        yield Operation(change.effect, f"{target} {change.path}".strip(), change.certain)


def _batch(text: str) -> Iterator[gateway_settings.SettingEffect]:
    """The changes of `config set --batch-json`."""
    items = gateway_settings.parsed(text)
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("path"), str) for item in items
    ):
        yield gateway_settings.unread(text)
        return
    for item in items[:_MAX_WORDS]:
        yield gateway_settings.change_to(gateway_settings.names(item["path"]), item.get("value"))
        if gateway_settings.chooses_unguarded_model(item.get("value")):
            yield gateway_settings.SettingEffect("agent", item["path"])


def _calls(rest: tuple[str, ...], catalogue: VerbCatalogue) -> Iterator[Operation]:
    """The effect of a gateway method called from the command line."""
    methods = [word for word in plain_words(rest, catalogue) if _METHOD.fullmatch(word)]
    method = methods[0] if methods else ""
    effect = catalogue.method(method)
    target = f"openclaw gateway call {method}".rstrip()
    if effect == "setting":
        if method == "config.apply":
            yield Operation("guard", target)
            return
        operation = _in_params(rest)
        yield Operation(
            operation.effect, f"{target} {operation.path}".strip(), operation.certain or any(map(_UNKNOWN_PART.search, rest))
        )
        return
    if effect in (UNKNOWN_VERB, "guard") and any(_NAMES_GUARD.search(word) or _UNKNOWN_PART.search(word) for word in rest):
        effect = "guard"
    if effect == "shown":
        effect = "read"
    if effect == "use":
        yield from _with_params(method, rest, target)
    yield Operation(effect, target)


def _with_params(method: str, rest: tuple[str, ...], target: str) -> Iterator[Operation]:
    """Effects of the parameters of an ordinary method: a model that bypasses the guard, or new session rights."""
    texts = values(rest, "--params")
    for params in map(gateway_settings.parsed, texts):
        if gateway_settings.chooses_unguarded_model(params):
            yield Operation("agent", target)
        if method == _PATCHES_SESSION and not (isinstance(params, dict) and _SESSION_FIELDS.issuperset(params)):
            yield Operation("access", target)
    if any(map(_UNKNOWN_PART.search, rest)) and not texts:
        yield Operation("access", target)


def _in_params(rest: tuple[str, ...]) -> gateway_settings.SettingEffect:
    """The settings that the parameters of a method change."""
    for text in values(rest, "--params"):
        params = gateway_settings.parsed(text)
        if isinstance(params, dict) and isinstance(params.get("raw"), str):
            return gateway_settings.of_patch(params["raw"])
    return gateway_settings.unread(" ".join(rest))


def _port_operation(rest: tuple[str, ...], target: str) -> Operation:
    """`--force` ends whatever listens on the port; without a port that is this gateway's own."""
    ports = values(rest, "--port")
    return Operation("guard", f"{target} --force", certain=not ports or DEFAULT_PORT in ports)


def _elsewhere(operation: Operation, words: tuple[str, ...], catalogue: VerbCatalogue) -> Operation:
    """The same operation on another gateway, if the words say so: nothing is certain there."""
    own = _before_end(words, catalogue)
    there = values(own, "--container") or [url for url in values(own, "--url") if not _LOCAL.search(url)]
    return operation._replace(certain=False) if there and operation.effect == "guard" else operation


def plain_words(rest: Sequence[str], catalogue: VerbCatalogue) -> list[str]:
    """The words that are neither options nor values of options."""
    return list(_first_reading(rest, catalogue).texts)


def _first_reading(words: Sequence[str], catalogue: VerbCatalogue) -> CommandWords:
    return next(option_parser.readings_by(catalogue.manual, ("openclaw", *words)))


def values(rest: Sequence[str], option: str) -> list[str]:
    given = [word.partition("=")[2] for word in rest if word.startswith(f"{option}=")]
    return given + [after for word, after in itertools.pairwise(rest) if word == option]


def asks(words: Sequence[str], wanted: frozenset[str], catalogue: VerbCatalogue) -> bool:
    """Whether one of these options is given and is not the value of another one."""
    argv = ("openclaw", *words)
    readings = option_parser.readings_by(catalogue.manual, argv)
    return all(any(argv[option.word] in wanted for option in reading.given) for reading in readings)


def _before_end(words: Sequence[str], catalogue: VerbCatalogue) -> Sequence[str]:
    """The words that may be options: those before a lone `--`."""
    end = _first_reading(words, catalogue).end
    return words[: end - 1] if end else words
