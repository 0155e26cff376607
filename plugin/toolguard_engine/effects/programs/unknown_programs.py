"""Programs that are not known, judged by what they are given: what each principle does with its words.

A principle looks at the words of a program of which nothing else is known, and finds what it would act on. Each has a rule
of its own in `rules/unknown.toml`, with its score, its patterns and its price, and can be switched off by its id. Commands
and code that such a program is given are found by `effects.commands.carried_commands`, keys that it is handed by
`handed_keys`.

The kind is `unknown-program`, with a flag for each principle:

- `upload`: a personal file with a word that hands it on; `pushes`: an address with a word that sends something there.
- `destroys`: the user's own files or a disk with a word that destroys, or such a word with one that forces.
- `settings`: a file of the system with a word that sets something; `autostart`: a file in a temporary folder that is to run
  by itself.
- `installs`: an address with a verb that installs or runs.
- `reveals`: words that show a secret; `credentials`: it gets all variables of the environment.
- `pays`: words that move money, with an amount.
- `everyone`: it listens for everybody, and asks for no login or hands out a shell or a home folder.
- `physical`: words that open or disarm something in a house; `weakens`: words that switch off what protects.
- `console`: a line that destroys something on a device or a server; `halts`: a machine is switched off, or everything that
  runs; `sinks`: what it handles goes to a machine outside.
- `rights`: words that make somebody an administrator or an owner; `trusts`: those that have a certificate trusted.
- `messages`: a message to an address.

A document that it may write over is an effect of the kind `perhaps-write`, because only the disk says whether there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, Place, ProgramRun
from toolguard_engine.effects.facts.places import Where, classify
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.option_parser import value_in
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL
from toolguard_engine.effects.programs import ended_things, kept_things, principles, shown_secrets

MAX_WORDS = 60
MAX_WORD = 400
_SHOWN = 120
_KIND = "unknown-program"

Words = tuple[str, ...]


Finds = Callable[[Words, ProgramRun, Where], str]
"""Finds what a program would act on; empty if nothing."""


# --- a personal file that is handed on ------------------------------------------------------------------------------------

_HANDS_ON = principles.pattern("upload", "hands_on")
_SENDER = principles.pattern("upload", "sender")
"""Names of programs that do nothing else."""
_RECEIVER = principles.pattern("upload", "receiver")


def _upload(words: Words, program: ProgramRun, where: Where) -> str:
    hands_on = any(_HANDS_ON.fullmatch(word.partition("=")[0].lower()) or _RECEIVER.fullmatch(word) for word in words)
    return _own_path(words, program, where) if hands_on or _SENDER.fullmatch(program.name) else ""


def _own_path(words: Words, program: ProgramRun, where: Where, *places: Place) -> str:
    """The first path among the words that leads to the user's own files, or to one of `places`; empty if none does."""
    for word in words:
        path = value_in(word).removeprefix("@")
        if path[:1] in _PATH_STARTS:
            place, marks = classify(path, where, program.cwd)
            if "personal-file" in marks or place == "home" or place in places:
                return path
    return ""


_PATH_STARTS = ("~", "/", "$")

# --- what is destroyed ----------------------------------------------------------------------------------------------------

_DESTROYS = principles.pattern("destroys", "destroys")
_KEEPS = principles.pattern("destroys", "keeps")
_DESTROYER = principles.pattern("destroys", "destroyer")
"""Names of programs that do nothing else."""
_VERBS = principles.pattern("destroys", "verbs")
_FORCES = principles.pattern("destroys", "forces")
_WHOLLY = principles.pattern("destroys", "wholly")
"""Options that destroy everything that a program keeps."""
_ON_DISKS = principles.pattern("destroys", "on_disks")
_IN_PLACE = principles.pattern("destroys", "in_place")
_ASSIGNED = principles.pattern("destroys", "assigned")
_STORED = principles.pattern("destroys", "stored")
_FORGETS = principles.pattern("destroys", "forgets")
_RESETS = principles.pattern("destroys", "resets")
_RESET = principles.pattern("destroys", "reset")
_RESTORES = principles.pattern("destroys", "restores")
_OVER = principles.pattern("destroys", "over")
_PLANS = principles.pattern("destroys", "plans")
_EMPTIED = principles.pattern("destroys", "emptied")
_WHOLE_OF = principles.pattern("destroys", "whole")
_COMPOUND = principles.pattern("destroys", "compound")
_DESTROYS_IN_CODE = principles.pattern("destroys", "code")
_STATEMENT = principles.pattern("destroys", "statement")


def _destroys(words: Words, program: ProgramRun, where: Where) -> str:
    lower = [word.lower() for word in words]
    if _only_plans(lower) and not _own_path(words, program, where, "root", "device", "in-home"):
        return ""
    verb = next((at for at, word in enumerate(lower) if _DESTROYS.fullmatch(word) and not _KEEPS.fullmatch(word)), -1)
    destroying = verb >= 0 or _DESTROYER.fullmatch(program.name)
    if destroying and (path := _own_path(words, program, where, "root", "device", "in-home")):
        return path
    if any(map(_IN_PLACE.fullmatch, lower)) and (path := _own_path(words, program, where)):
        return path
    if any(map(_ON_DISKS.fullmatch, (*program.name.split("-")[1:], *lower))) and (path := _disk(words, program, where)):
        return path
    if bare := next((word for word in lower if _WHOLLY.fullmatch(word) or _COMPOUND.fullmatch(word)), ""):
        return bare
    if code := next((word for word in lower if _DESTROYS_IN_CODE.search(word) or _STATEMENT.fullmatch(word)), ""):
        return code
    return ended_things.ended(program.name, lower) or _destroyed_state(lower)


def _only_plans(words: list[str]) -> bool:
    """Whether the verb is one that shows what another call would do. Beside one that destroys, it names what goes."""
    plain = [word for word in words if not _ASSIGNED.fullmatch(word)]
    destroying = (_DESTROYS, _VERBS, _COMPOUND, _STATEMENT)
    return any(map(_PLANS.fullmatch, plain[:_VERBS_AT])) and not any(
        pattern.fullmatch(word) for word in plain for pattern in destroying
    )


def _destroyed_state(words: list[str]) -> str:
    """What is destroyed of what a program keeps, by its first words, those that set something left out."""
    verbs = kept_things.verbs(words)[:_VERBS_AT]
    forced = any(map(_FORCES.fullmatch, words))
    for before, verb in zip(("", *verbs), verbs, strict=False):
        if (_VERBS.fullmatch(verb) and forced) or (_STORED.fullmatch(before) and _FORGETS.fullmatch(verb)):
            return f"{before} {verb}".strip()
        for one, other in ((before, verb), (verb, before)):
            if _EMPTIED.fullmatch(one) and _WHOLE_OF.fullmatch(other):
                return f"{before} {verb}"
    if any(map(_RESETS.fullmatch, words)) and any(map(_RESET.fullmatch, words)):
        return " ".join(words)
    over = next(filter(_OVER.fullmatch, words), "")
    return f"{over} {' '.join(verbs)}" if over and any(map(_RESTORES.fullmatch, verbs)) else ""


_VERBS_AT = 3


def _disk(words: Words, program: ProgramRun, where: Where) -> str:
    paths = [path for path in map(value_in, words) if path[:5] == "/dev/"]
    return next((path for path in paths if path.startswith(_LINES) or classify(path, where, program.cwd)[0] == "device"), "")


_LINES = ("/dev/ttyUSB", "/dev/ttyACM", "/dev/ttyS", "/dev/cu.usb", "/dev/serial/")
"""Lines to boards, whose memory programs write."""


# --- what is written ------------------------------------------------------------------------------------------------------

_OUTPUT = principles.pattern("overwrites", "output")
_READS = principles.pattern("overwrites", "reads")
_FILE = principles.pattern("overwrites", "file")
_OVERWRITES = principles.pattern("overwrites", "overwrites")


def written_over(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """The document that a program may write over: the value of an option for its output, or the last of several files."""
    read = option_parser.plain(program.argv[:MAX_WORDS])
    for option in read.given:
        if _OUTPUT.fullmatch(option.entry.name):
            following = "".join(program.argv[option.word + 1 : option.word + 2])
            yield from _perhaps_write(option.value.text or following, program, where)
    files = [word for word in read.operands if _FILE.fullmatch(word.text)]
    if not files or files[-1].at != len(program.argv) - 1:
        return
    if any(map(_READS.fullmatch, (program.name, *(word.text for word in read.operands[:2])))):
        return
    first, last = files[0].text, files[-1].text
    other = first.rpartition("/")[0] != last.rpartition("/")[0] or first.rpartition(".")[2] != last.rpartition(".")[2]
    if other or any(_OVERWRITES.fullmatch(option.entry.name) for option in read.given):
        yield from _perhaps_write(last, program, where)


def _perhaps_write(path: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    if path[:1] in _PATH_STARTS or program.cwd:
        place, marks = classify(path[:MAX_WORD], where, program.cwd)
        if "personal-file" in marks:
            yield Effect("perhaps-write", path[:MAX_WORD], place, marks, program)


# --- what is sent to somebody ---------------------------------------------------------------------------------------------

_SENDS = principles.pattern("messages", "sends")


def _messages(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    verb = next((at for at, word in enumerate(words) if _SENDS.fullmatch(word)), len(words))
    return next((word for word in words[verb:] if _RECEIVER.fullmatch(value_in(word))), "")


# --- what is pushed to an address -----------------------------------------------------------------------------------------

_PUSHES = principles.pattern("pushes", "pushes")
_COPIES = principles.pattern("pushes", "copies")
"""Verbs with the destination at the end."""
_REGISTRY = principles.pattern("pushes", "registry")
_NAMED_HOST = principles.pattern("pushes", "named")


def _pushes(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    verb = next((at for at, word in enumerate(words) if _PUSHES.fullmatch(word)), len(words))
    if pushed := next((word for word in words[verb:] if _goes_out(word)), ""):
        return pushed
    last = "".join(words[-1:])
    return last if _REGISTRY.fullmatch(last) and any(map(_COPIES.fullmatch, words[:-1])) else ""


def _goes_out(word: str) -> bool:
    return any(pattern.fullmatch(word) for pattern in (_ADDRESS, _REGISTRY, _NAMED_HOST))


# --- settings of the system -----------------------------------------------------------------------------------------------

_SETS = principles.pattern("settings", "sets")
_PROTECTED: tuple[Place, ...] = ("system", "startup", "root")


def _settings(words: Words, program: ProgramRun, where: Where) -> str:
    verb = next((at for at, word in enumerate(words) if _SETS.fullmatch(word)), -1)
    for word in words[verb:] if verb >= 0 else ():
        path = value_in(word).removeprefix("/files")
        if path[:1] in _PATH_STARTS and classify(path, where, program.cwd)[0] in _PROTECTED:
            return path
    return ""


# --- fetch and run --------------------------------------------------------------------------------------------------------

_ADDRESS = principles.pattern("installs", "address")
_INSTALLS = principles.pattern("installs", "installs")
_ADDS = principles.pattern("installs", "adds")
_ADDED = principles.pattern("installs", "added")
_CODE = principles.pattern("installs", "code")


def _installs(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    for at, word in enumerate(words):
        if "://" not in word and "@" not in word and ":" not in word:
            continue
        if not _ADDRESS.fullmatch(word):
            continue
        if program.name.endswith("install") or any(map(_says_install, range(at + 1), [words] * (at + 1))):
            return word
        if _PACKAGE.fullmatch(word.lower()) and any(map(_TAKES.fullmatch, words[:at])):
            return word
        if _SET_UP.fullmatch(value_in(word)) and _SETTINGS.fullmatch(
            word.partition("=")[0] if "=" in word else "".join(words[at - 1 : at])
        ):
            return word
        if _CODE.fullmatch(value_in(word)) and (not at or _runs(words[at - 1])):
            return word
    return ""


_PACKAGE = principles.pattern("installs", "package")
_TAKES = principles.pattern("installs", "takes")
_SETTINGS = principles.pattern("installs", "settings")
_SET_UP = principles.pattern("installs", "set_up")
"""What a program is set up by, or a device runs."""
_RUNS = principles.pattern("installs", "runs")
_NAMES = principles.pattern("installs", "names")
"""Options for an address of which nothing runs."""


def _runs(before: str) -> bool:
    """Whether a word says that the code behind it runs."""
    return _RUNS.fullmatch(before) is not None and not _NAMES.fullmatch(before)


def _says_install(at: int, words: Words) -> bool:
    word = words[at].partition("=")[0]
    if _INSTALLS.fullmatch(word):
        return True
    return _ADDS.fullmatch(word) is not None and at > 0 and _ADDED.fullmatch(words[at - 1]) is not None


# --- words that move money -------------------------------------------------------------------------------------------------

_PAYS = principles.pattern("pays", "pays")
_AMOUNT = principles.pattern("pays", "amount")
_PAYS_ALL = principles.pattern("pays", "wholly")
_PAYS_IN_CODE = principles.pattern("pays", "code")
_FROM = principles.pattern("pays", "from")
_TO = principles.pattern("pays", "to")
_DUE_AMOUNT = principles.pattern("pays", "due_amount")
_DUE = principles.pattern("pays", "due")
_MADE = principles.pattern("pays", "made")
_SIDE = principles.pattern("pays", "side")
_EARNEST = principles.pattern("pays", "earnest")
"""The network on which money is real."""
_MONEY_ACTS = principles.pattern("pays", "acts")


def _pays(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    lower = [word.lower() for word in words]
    if wholly := next((word for word in lower if _PAYS_ALL.fullmatch(word) or _PAYS_IN_CODE.search(word)), ""):
        return wholly
    if all(any(map(pattern.fullmatch, lower)) for pattern in (_FROM, _TO, _DUE_AMOUNT)):
        return " ".join(words)
    if any(map(_EARNEST.fullmatch, lower)) and (act := next(filter(_MONEY_ACTS.fullmatch, lower), "")):
        return f"{act} on the main network"
    verb = next((at for at, word in enumerate(lower) if _PAYS.fullmatch(word)), -1)
    for at, (one, other) in enumerate(itertools.pairwise(lower[:_VERBS_AT])):
        if _DUE.fullmatch(one) and _MADE.fullmatch(other):
            verb = at
    if verb < 0 or not any(_AMOUNT.fullmatch(word) or _SIDE.fullmatch(word) for word in lower[verb + 1 :]):
        return ""
    return " ".join(words[verb:])


# --- listening for everybody ----------------------------------------------------------------------------------------------

_EVERYBODY = principles.pattern("everyone", "everybody")
_OPENS_UP = principles.pattern("everyone", "opens")
_NO_LOGIN = principles.pattern("everyone", "no_login")
_LISTENS = principles.pattern("everyone", "listens")
_TUNNELS = principles.pattern("everyone", "tunnels")
_LOGINS = principles.pattern("everyone", "logins")
"""Where a service waits for logins, or takes commands without one."""
_GIVES = principles.pattern("everyone", "gives")
"""A shell that is started for whoever connects."""


def _everyone(words: Words, program: ProgramRun, where: Where) -> str:
    text = " ".join(words).lower()
    if _LISTENS.search(text) and _GIVES.search(text):
        return text
    tunnel = (pair for pair in itertools.pairwise(words) if _TUNNELS.fullmatch(pair[0]) and _LOGINS.fullmatch(pair[1]))
    if pair := next(tunnel, ()):
        return " ".join(pair)
    if opened := next(filter(_OPENS_UP.fullmatch, words), ""):
        return opened
    if not _EVERYBODY.search(text):
        return ""
    hands_out = _NO_LOGIN.search(text) or not _SHELLS.isdisjoint(words) or _own_path(words, program, where, "root")
    return text if hands_out else ""


_SHELLS = program_catalogue.programs("shell")

# --- what is moved in a house ---------------------------------------------------------------------------------------------

_OPENS_IT = principles.pattern("physical", "opens")
_THINGS = principles.pattern("physical", "things")
_LOCKS = principles.pattern("physical", "locks")
_NOT_LETTERS = lazy_re.compile(r"[^a-z]+")


def _physical(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    """A door that is opened, by the words in topics and names of entities. A lock alone may be one of files."""
    parts = [_NOT_LETTERS.split(word.lower()) for word in words]
    verb = next((at for at, part in enumerate(parts) if _OPENS_IT.fullmatch(part[-1])), -1)
    if verb < 0:
        return ""
    names = {name for part, word in zip(parts, words, strict=True) if not _FILE.fullmatch(word) for name in part}
    things = sorted(filter(_THINGS.fullmatch, names)) or list(filter(_LOCKS.fullmatch, parts[verb]))
    return f"{parts[verb][-1]} {' '.join(things)}" if things else ""


# --- what is switched off -------------------------------------------------------------------------------------------------

_SWITCH = principles.pattern("weakens", "switch")
_PROTECTS = principles.pattern("weakens", "protects")
_ASSIGNED_OFF = principles.pattern("weakens", "assigned")


def _weakens(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    lower = [word.lower() for word in words]
    if assigned := next(filter(_ASSIGNED_OFF.fullmatch, lower), ""):
        return assigned
    for before, after in itertools.pairwise((program.name, *lower)):
        if (_SWITCH.fullmatch(before) and _PROTECTS.fullmatch(after)) or (
            _PROTECTS.fullmatch(before) and _SWITCH.fullmatch(after)
        ):
            return f"{before} {after}"
    return ""


# --- what runs by itself --------------------------------------------------------------------------------------------------

_BY_ITSELF = principles.pattern("autostart", "by_itself")
_TEMPORARY = principles.pattern("autostart", "temporary")


def _persists(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    if not any(_BY_ITSELF.fullmatch(word.lower()) for word in (program.name, *words) if "/tmp" not in word):  # noqa: S108 - a name
        return ""
    return next((path[1] for path in map(_TEMPORARY.search, words) if path), "")


# --- all variables of the environment -------------------------------------------------------------------------------------

_PRINTS_ALL = program_catalogue.programs("environment_printer")
_KEEPS_ALL = program_catalogue.programs("encoder") | {"cat", "sort", "tr", "uniq"}


def _environment(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    """What may print all of them; whether it does, `effects.commands.effects` looks up."""
    feeds = [
        feed.programs for feed in (program.stdin, *(feed for _, feed in program.given)) if feed is not None and feed.programs
    ]
    whole = (names for names in feeds if names[0] in _PRINTS_ALL and _KEEPS_ALL.issuperset(names[1:]))
    return " | ".join(next(whole, ()))


FINDERS: dict[str, Finds] = {
    "environment": _environment,
    "upload": _upload,
    "pushes": _pushes,
    "destroys": _destroys,
    "autostart": _persists,
    "settings": _settings,
    "installs": _installs,
    "reveals": shown_secrets.reveals,
    "pays": _pays,
    "everyone": _everyone,
    "physical": _physical,
    "weakens": _weakens,
    "console": kept_things.console,
    "rights": kept_things.rights,
    "trusts": kept_things.trusts,
    "halts": kept_things.halts,
    "sinks": kept_things.sinks,
    "messages": _messages,
}
"""By the name of the principle. Its flag is the name, but for those of `_FLAGS`."""
_FLAGS = {"environment": "credentials"}
_PRINCIPLES = [(frozenset([_FLAGS.get(name, name)]), principles.hints(name), finds) for name, finds in FINDERS.items()]


_OWN_HINTS = ("~", "/home", "/users/", "$home")
_ONLY_ASKS = HELP | REHEARSAL | {"help", "--version"}
_MAY_ASK = "-h"
"""At the end it asks for help; before another word it may be an option for a host."""


def effects(program: ProgramRun, where: Where) -> list[Effect]:
    """What a program that is not known would do, judged by its words. `program`: with at least one word."""
    if not _ONLY_ASKS.isdisjoint(program.argv) and not _ONLY_ASKS.isdisjoint(
        {*program.argv} - {_MAY_ASK} | {program.argv[-1]}
    ):
        return []
    words = tuple([word[:MAX_WORD] for word in program.argv[1:MAX_WORDS]])
    text = f"{program.name} {' '.join(words)}".lower()
    found = list(written_over(program, where)) if any(map(text.__contains__, _OWN_HINTS)) or program.cwd else []
    return found + [
        Effect(_KIND, f"{program.name} {target}"[:_SHOWN], "", flags, program)
        for flags, _, finds in _hinted(text)
        if (target := finds(words, program, where))
    ]


@lru_cache(maxsize=16)
def _hinted(text: str) -> tuple[tuple[frozenset[str], tuple[str, ...], Finds], ...]:
    """The principles that may speak about these words. What runs often is in turn with little else."""
    return tuple([principle for principle in _PRINCIPLES if any(map(text.__contains__, principle[1]))])
