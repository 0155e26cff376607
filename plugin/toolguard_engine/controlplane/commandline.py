"""What a run of the `openclaw` command line does, by its words behind the program's name.

An option may hide where a verb begins: one that is not known counts both with and without a value, and the gravest reading
is taken. `--help` and, where a verb has it, `--dry-run` only show something, unless they are the value of another option.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolguard_engine.controlplane import settings
from toolguard_engine.controlplane.catalogue import PASSING, UNKNOWN_VERB, Catalogue, load
from toolguard_engine.shell.model import UNKNOWN

OWN_PROGRAM = re.compile(
    r"(?:^|[/:])(?:openclaw|clawdbot)(?:@[\w.^~-]*+)?/?$|openclaw\.mjs$"
    r"|(?:^|[/:])(?:openclaw|clawdbot)/(?:\S*/)?(?:index|entry)\.m?js$",
    re.IGNORECASE,
)
"""A word by which the gateway's own command line is started."""

DEFAULT_PORT = "18789"
_ROOT_VALUED = frozenset({"--profile", "--log-level", "--container"})
_HELP = frozenset({"--help", "-h"})
_VERSION = frozenset({"--version", "-V", "-v"})
_LOCAL = re.compile(rf"^$|localhost|127\.\d|\[?::1|0\.0\.0\.0|[$`{UNKNOWN}]", re.IGNORECASE)
"""An address that is, or may be, on this machine."""

_GUARD = "toolguard"
_UPDATE = "--update"
_MAX_WORDS = 200
_MAX_READINGS = 16
_PLUGIN_VERBS = re.compile(r"plugins (?:disable|uninstall|install|update|enable|reload)")
_PATCHES_SESSION = "sessions.patch"
_SESSION_FIELDS = frozenset(
    {
        "key", "sessionKey", "agentId", "label", "displayName", "archived", "pinned", "unread", "category", "color", "icon",
        "model", "thinkingLevel", "fastMode", "verboseLevel", "reasoningLevel", "traceLevel", "responseUsage",
    }
)  # fmt: skip
"""What may change in a session without letting its agent do more."""

_MODEL_OPTIONS = ("--model", "--fallbacks")
_METHOD = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)*")
_UNSEEN = re.compile(rf"[$`{UNKNOWN}]|^@")
_NAMES_GUARD = re.compile(r"config\.(?:set|patch|apply)|approval|toolguard")


class Deed(NamedTuple):
    """One thing that a call does to the gateway. `target`: the verb and what it is about. `certain`: whether it is sure."""

    effect: str
    target: str
    certain: bool = True


class _Reading(NamedTuple):
    """One way to read the words: the verb, the words behind it, and whether all of the verb is known."""

    verb: str
    rest: tuple[str, ...]
    known: bool = True


def deeds(words: Sequence[str], stdin: str | None = None) -> tuple[Deed, ...]:
    """What `openclaw`, called with these words, does; nothing where it only shows something or does ordinary work.
    `stdin`: what it is given to read, where that is known."""
    words = tuple(words[:_MAX_WORDS])
    found: dict[Deed, None] = {}
    for reading in _readings(words):
        for deed in _of(reading, words, stdin):
            if deed.effect not in PASSING:
                found[deed] = None
    return tuple(found)


def _readings(words: tuple[str, ...]) -> tuple[_Reading, ...]:
    """The verbs that these words may be, each once."""
    found: dict[_Reading, None] = {}
    waiting: list[tuple[int, str]] = [(0, "")]
    seen = 0
    while waiting and seen < _MAX_READINGS:
        seen += 1
        at, verb = waiting.pop()
        reading, others = _read(words, at, verb)
        found[reading] = None
        waiting += others
    return tuple(found)


def _read(words: tuple[str, ...], at: int, verb: str) -> tuple[_Reading, list[tuple[int, str]]]:
    """The verb from a word on, and where else it may go on."""
    catalogue = load()
    others: list[tuple[int, str]] = []
    start = at
    while at < len(words):
        word = words[at]
        if word == "--":
            if verb:
                break
            at += 1
            continue
        if word.startswith("-") and len(word) > 1:
            if "=" in word or word in catalogue.plain:
                at += 1
            elif word in (catalogue.valued if verb else _ROOT_VALUED):
                at += 2
            else:
                if at + 1 < len(words) and not words[at + 1].startswith("-") and (not verb or verb in catalogue.groups):
                    others.append((at + 2, verb))
                at += 1
            continue
        longer = _joined(catalogue, verb, word)
        if not longer:
            break
        verb, at, start = longer, at + 1, at + 1
        if verb not in catalogue.groups:
            break
    rest = words[start:]
    known = (verb not in catalogue.groups or not _plain(rest, catalogue)) if verb else not _plain(rest, catalogue)
    return _Reading(verb, rest, known), others


def _joined(catalogue: Catalogue, verb: str, word: str) -> str:
    """The verb with one more word; empty where there is none."""
    longer = f"{verb} {word}".strip()
    longer = catalogue.aliases.get(longer, longer)
    return longer if longer in catalogue.verbs or longer in catalogue.groups else ""


def _of(reading: _Reading, words: tuple[str, ...], stdin: str | None) -> Iterator[Deed]:
    catalogue = load()
    verb, rest = reading.verb, reading.rest
    before = words[: len(words) - len(rest)]
    if _asks(words, _HELP, catalogue) or (not verb and (not words or not _VERSION.isdisjoint(words))):
        return
    if _UPDATE in before or (not verb and _UPDATE in rest):
        yield Deed("run", "openclaw update")
    if not reading.known:
        yield Deed(UNKNOWN_VERB, f"openclaw {' '.join((verb, *rest[:1])).strip()}")
    if not verb or verb not in catalogue.verbs:
        return
    if any(settings.names_unguarded_model(word) for option in _MODEL_OPTIONS for word in _values(rest, option)):
        yield Deed("agent", f"openclaw {verb} --model")
    for deed in _by_options(verb, rest, catalogue, stdin):
        yield _elsewhere(deed, words)


def _by_options(verb: str, rest: tuple[str, ...], catalogue: Catalogue, stdin: str | None) -> Iterator[Deed]:
    target = f"openclaw {verb}"
    given = {word.partition("=")[0] for word in _before_end(rest)}
    own = catalogue.verbs[verb]
    extra = [option for option in catalogue.options if verb in option.verbs and not given.isdisjoint(option.names)]
    dry = catalogue.is_dry(verb) and _asks(rest, frozenset({"--dry-run"}), catalogue)
    for option in extra:
        if option.effect == "port":
            yield _takes_port(rest, target)
        elif not dry or option.effect == "run":
            yield Deed(option.effect, f"{target} {next(name for name in option.names if name in given)}")
    if dry or any(option.instead for option in extra):
        return
    if _PLUGIN_VERBS.fullmatch(verb) and any(_GUARD in word.lower() or word == "--all" for word in rest):
        yield Deed("guard", target)
    elif _PLUGIN_VERBS.fullmatch(verb) and any(UNKNOWN in word for word in rest):
        yield Deed("guard", target, certain=False)
    if own == "setting":
        yield from _sets(verb, rest, catalogue, stdin)
    elif own == "shown":
        path = next(iter(_plain(rest, catalogue)), "")
        if settings.is_shown_secret(settings.names(path)):
            yield Deed("secret", f"{target} {path}")
    elif verb == "gateway call":
        yield from _calls(rest, catalogue)
    elif own == "guard?":
        yield Deed("guard", target, certain=False)
    else:
        yield Deed(own, target)


def _sets(verb: str, rest: tuple[str, ...], catalogue: Catalogue, stdin: str | None) -> Iterator[Deed]:
    """The settings that a verb changes."""
    target = f"openclaw {verb}"
    plain = _plain(rest, catalogue)
    if verb.startswith("models"):
        if any(settings.names_unguarded_model(word) for word in plain):
            yield Deed("agent", f"{target} {' '.join(plain)}")
        return
    changes: list[settings.Change] = []
    for word in _values(rest, "--batch-json"):
        changes += _batch(word)
    for path in _values(rest, "--replace-path"):
        changes.append(settings.change(settings.names(path)))
    if any(word.startswith(("--batch-file", "--file")) for word in rest):
        changes.append(settings.Change("guard", "a file", certain=False))
    elif verb == "config patch":
        texts = [stdin] if stdin is not None else list(plain)
        changes += map(settings.of_patch, texts) if texts else [settings.Change("guard", "its input", certain=False)]
    elif plain:
        changes.append(settings.change(settings.names(plain[0])))
    elif not changes:
        changes.append(settings.Change(UNKNOWN_VERB, ""))
    if len(plain) > 1 and settings.names_unguarded_model(plain[1]):
        changes.append(settings.Change("agent", plain[0]))
    for each in changes:
        yield Deed(each.effect, f"{target} {each.path}".strip(), each.certain)


def _batch(text: str) -> Iterator[settings.Change]:
    """The changes of `config set --batch-json`."""
    items = settings.parsed(text)
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("path"), str) for item in items
    ):
        yield settings.unread(text)
        return
    for item in items[:_MAX_WORDS]:
        yield settings.change(settings.names(item["path"]))
        if settings.chooses_unguarded_model(item.get("value")):
            yield settings.Change("agent", item["path"])


def _calls(rest: tuple[str, ...], catalogue: Catalogue) -> Iterator[Deed]:
    """What a method of the gateway does, called from the command line."""
    methods = [word for word in _plain(rest, catalogue) if _METHOD.fullmatch(word)]
    method = methods[0] if methods else ""
    effect = catalogue.method(method)
    target = f"openclaw gateway call {method}".rstrip()
    if effect == "setting":
        if method == "config.apply":
            yield Deed("guard", target)
            return
        found = _in_params(rest)
        yield Deed(found.effect, f"{target} {found.path}".strip(), found.certain or any(map(_UNSEEN.search, rest)))
        return
    if effect in (UNKNOWN_VERB, "guard") and any(_NAMES_GUARD.search(word) or _UNSEEN.search(word) for word in rest):
        effect = "guard"
    if effect == "shown":
        effect = "read"
    if effect == "use":
        yield from _with_params(method, rest, target)
    yield Deed(effect, target)


def _with_params(method: str, rest: tuple[str, ...], target: str) -> Iterator[Deed]:
    """What the parameters add to an ordinary method: a model that the guard may not see, or what a session may do."""
    texts = _values(rest, "--params")
    for params in map(settings.parsed, texts):
        if settings.chooses_unguarded_model(params):
            yield Deed("agent", target)
        if method == _PATCHES_SESSION and not (isinstance(params, dict) and _SESSION_FIELDS.issuperset(params)):
            yield Deed("access", target)
    if any(map(_UNSEEN.search, rest)) and not texts:
        yield Deed("access", target)


def _in_params(rest: tuple[str, ...]) -> settings.Change:
    """The settings that the parameters of a method change."""
    for text in _values(rest, "--params"):
        params = settings.parsed(text)
        if isinstance(params, dict) and isinstance(params.get("raw"), str):
            return settings.of_patch(params["raw"])
    return settings.unread(" ".join(rest))


def _takes_port(rest: tuple[str, ...], target: str) -> Deed:
    """`--force` ends whatever listens on the port: without one that is this gateway's own."""
    ports = _values(rest, "--port")
    return Deed("guard", f"{target} --force", certain=not ports or DEFAULT_PORT in ports)


def _elsewhere(deed: Deed, words: tuple[str, ...]) -> Deed:
    """The same on another gateway, where the words say so: nothing is certain there."""
    own = _before_end(words)
    there = _values(own, "--container") or [url for url in _values(own, "--url") if not _LOCAL.search(url)]
    return deed._replace(certain=False) if there and deed.effect == "guard" else deed


def _plain(rest: Sequence[str], catalogue: Catalogue) -> list[str]:
    """The words that are no option and no value of one."""
    found: list[str] = []
    skip = False
    for at, word in enumerate(rest):
        if skip:
            skip = False
        elif word == "--":
            found += rest[at + 1 :]
            break
        elif word.startswith("-") and len(word) > 1:
            skip = word in catalogue.valued
        else:
            found.append(word)
    return found


def _values(rest: Sequence[str], option: str) -> list[str]:
    found = [word.partition("=")[2] for word in rest if word.startswith(f"{option}=")]
    return found + [after for word, after in itertools.pairwise(rest) if word == option]


def _asks(words: Sequence[str], wanted: frozenset[str], catalogue: Catalogue) -> bool:
    """Whether one of these options is given and is not the value of another one."""
    own = _before_end(words)
    return any(
        word in wanted
        and (at == 0 or not own[at - 1].startswith("-") or "=" in own[at - 1] or own[at - 1] in catalogue.plain)
        for at, word in enumerate(own)
    )


def _before_end(words: Sequence[str]) -> Sequence[str]:
    """The words that may be options: those before a lone `--`."""
    return words[: words.index("--")] if "--" in words else words
