"""Files of keys that are handed to a program of which nothing is known, to a script, or to what carries files elsewhere.

An option that asks for a key, a certificate or settings (`--identity`, `--kubeconfig`) may have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import place_names, program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs import secrets_read

MAX_WORDS = 60
_RUNNERS = program_catalogue.programs("script_interpreter") | program_catalogue.programs("interpreter", "posix_shell")
_HINTS = (
    ".ssh/", ".aws/", ".gnupg", ".netrc", ".pgpass", ".kube/", ".docker/", ".npmrc", ".config/", ".pem", ".kdbx", ".p12",
    "id_rsa", "id_ed25519", "credential", "shadow", ".azure", ".password-store", ".vault", ".terraform.d",
    ".git-credentials", "cookies", "login data", "keychain", "wallet",
)  # fmt: skip
"""What the paths of most such files contain."""

_HINT = lazy_re.compile("|".join(map(re.escape, _HINTS)), re.IGNORECASE)
_HIDDEN = lazy_re.compile(r"(?:~|/root|/home/[^/\s]{1,60}|/users/[^/\s]{1,60}|\$home|\$\{home\})/\.|/root/|keyring")
"""A hidden file of a home folder, which may be one with keys."""

_ASKS = lazy_re.compile(
    r"-i|-{1,2}[\w-]{0,30}(?:key|ident|cert|cred|auth|pem|secret|token|pass|netrc|exclu|ignore|skip|omit)[\w-]{0,30}",
    re.IGNORECASE,
)
"""Options for a file that logs in with keys, or of what is left out."""

_CONFIGURES = lazy_re.compile(
    r"-{1,2}[\w-]{0,30}(?:conf|ssh|env|dir|tree|cfg|settings|profile|defaults)[\w-]{0,30}", re.IGNORECASE
)
"""Options for settings, or for the folder with them: only for those of the program itself, see `_is_own`."""

_SETTINGS = lazy_re.compile(
    r"(?!\.?netrc)[\w.-]{0,60}(?:conf(?:ig)?|c?nf|cfg|rc|toml|ya?ml|json|ini|settings|xml|env)(?:[.-][\w.-]{0,20})?",
    re.IGNORECASE,
)
"""Names of files with settings, some of which are secret."""

_PARTS = lazy_re.compile(r"[a-z0-9]{3,}")
_ANY_HOME = lazy_re.compile(r"(?:~|/root|/(?:home|users)/[^/]{1,60}|\$home|\$\{home\})(?=/)")
_OF_MANY = program_catalogue.words("part_of_many_names")
"""Parts of names that say nothing about whose a file is."""
_SAME = 3


def _is_for(names: Iterable[str], program: ProgramRun, path: str) -> bool:
    """Whether options with these names are for such a file of keys."""
    names = tuple(names)
    if any(map(_ASKS.fullmatch, names)):
        return True
    return any(map(_CONFIGURES.fullmatch, names)) and _is_own(names, program, path)


def _is_own(names: Iterable[str], program: ProgramRun, path: str) -> bool:
    """Whether a path names settings, or something of the program or of what the option is called after: `--kubeconfig`."""
    return _names_settings(path) or _is_named_after((program.name, *names), path)


def _names_settings(path: str) -> bool:
    return _SETTINGS.fullmatch(path.rstrip("/").rpartition("/")[2]) is not None


def _is_named_after(names: Iterable[str], path: str) -> bool:
    own = {part for name in names for part in _telling(name.lower())}
    return any(part in own for part in _telling(_ANY_HOME.sub("", path.lower(), count=1)))


def _telling(text: str) -> Iterator[str]:
    """The beginnings of the parts of a name that tell whose it is."""
    return (part[:_SAME] for part in _PARTS.findall(text) if part not in _OF_MANY)


def runs_scripts(name: str) -> bool:
    """Whether a program hands its words to a script."""
    return name.partition("@")[0].rstrip("0123456789.") in _RUNNERS


def effects(program: ProgramRun, where: Where, endings: tuple[str, ...] = ()) -> Iterator[Effect]:
    """`endings`: those of scripts, which are no keys in whatever folder they are."""
    words = (*program.argv[1:MAX_WORDS], *_put(program.stdin_text))
    flags: tuple[str, ...] = ("unknown",)
    if runs_scripts(program.name):
        flags, words = (), _of_script(program, endings)
    elif program.name in CARRIERS:
        flags, words = (), _carried(program)
    if words and _hints(" ".join(words)):
        yield from secrets_read(_handed(program, words), program, where, *flags)


def _of_script(program: ProgramRun, endings: tuple[str, ...]) -> tuple[str, ...]:
    """The script, lines of which stand in errors, and its words; those of code only where nothing else reads them."""
    read = program.words
    script = next((word.at for word in read.operands), len(program.argv))
    code = next((option for option in read.given if option.entry.name in ("-c", "-e") and option.word < script), None)
    if code is None:
        word = program.argv[script] if script < len(program.argv) else ""
        is_script = word.endswith(endings) or " " in word  # the latter is code, as PowerShell takes it
        return program.argv[script + is_script : MAX_WORDS]
    return program.argv[code.word + 2 : MAX_WORDS] if program.name not in _READ_THEMSELVES else ()


_READ_THEMSELVES = program_catalogue.programs("scripted_reader", "posix_shell")
CARRIERS = program_catalogue.programs("file_carrier")


def _carried(program: ProgramRun) -> tuple[str, ...]:
    """The words behind a verb that takes files in, or shows them, without folders that it works in or passes on."""
    if _TAKES_FILES.isdisjoint((*program.words.verb.split(), *program.words.texts[:2])):
        return ()
    options = (option for option in program.words.given if option.entry.role in _PLACES or "mounts" in option.entry.traits)
    kept_out = {option.value.text for option in options}
    return tuple(word for word in program.argv[1:MAX_WORDS] if word not in kept_out)


_TAKES_FILES = program_catalogue.words("takes_files")
_PLACES = frozenset(["folder", "setting"])


_PUTS = frozenset(["put", "mput", "send", "upload", "attach"])


def _put(text: str) -> list[str]:
    """The words of a line of input that sends a file, as clients of servers take it: `put ~/.ssh/id_rsa`."""
    words = text[:_MAX_LINE].split() if text else []
    return words[1:] if words and words[0] in _PUTS else []


_MAX_LINE = 400


def _hints(text: str) -> bool:
    if not text.isascii():  # other letters are these in another case
        return _HINT.search(text) is not None
    lower = text.lower()
    return any(map(lower.__contains__, _HINTS)) or _HIDDEN.search(lower) is not None


def _handed(program: ProgramRun, words: tuple[str, ...]) -> Iterator[str]:
    read = option_parser.plain(("", *words))
    asking: set[int] = set()
    for option in read.given:
        name, value = _attached(option.entry.name, option.value.text)
        following = "".join(words[option.word : option.word + 1])
        if _is_for((name,), program, value or following):
            asking.add(option.word + 1)
        elif value:
            yield from {value, value.rpartition("=")[2]}
    for word in read.operands:
        if word.at not in asking:
            name, _, value = word.text.rpartition("=")
            if not name or not _is_for((f"-{name}",), program, value):
                yield from (part.removeprefix("@") for part in {word.text, value})


def in_options(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Keys that a program whose effects are known is given in a way that is not for them: by an option for something else,
    as `@FILE`, or to be sourced. It shows lines of such a file in its errors, runs it, or passes it on."""
    words = program.argv[1:MAX_WORDS]
    if program.name not in _SHOW_NOTHING and words and _hints(" ".join(words)):
        handles = program.name in _HANDLE_KEYS
        for path in dict.fromkeys(_valued(program)):
            if _ANY_HOME.sub("", path.lower(), count=1).strip("/") in _PARTLY_SECRET:
                continue
            own = _is_named_after((program.name,), path)
            if not (own and _names_settings(path)) and not (handles and (own or _KEY_FILE.search(path))):
                yield from secrets_read([path.removeprefix("@").removeprefix("file://")], program, where)


_SOURCERS = program_catalogue.programs("sourcer")
_PARTLY_SECRET = frozenset(name.lower() for name, secret in place_names.HOME_SECRETS.items() if secret)
"""Folders in which other things than keys are as well, such as `~/.local`."""
_HANDLE_KEYS = program_catalogue.programs("key_handler")
_SHOW_NOTHING = program_catalogue.programs(
    "attribute_teller", "near_lister", "words_only", "digest", "process_lister", "program_locator", "empty_file_maker",
    "browser", "terminal", "text_printer", "file_finder", "search_reader", "path_excluder",
)  # fmt: skip
_KEY_FILE = lazy_re.compile(
    r"/\.(?:ssh|gnupg|pki)(?:/|\Z)|\.(?:pem|key|p12|pfx|crt|jks|kdbx)\Z|/etc/(?:ssl|ssh|letsencrypt)/|/age/"
)


def _valued(program: ProgramRun) -> Iterator[str]:
    """Values of options that are not for keys, those of options that the manual does not have among them."""
    manual = manual_catalogue.manual(program.name)
    # A verb that the manual does not have may mean something else by the same options.
    is_known = manual is not None and (not manual.verbs or program.words.verb)
    known = {option.word for option in program.words.given} if is_known else set()
    for option in program.words.given:
        entry = option.entry
        if option.valued and entry.role in _READ_ROLES and not _is_for(entry.names, program, option.value.text):
            yield option.value.text
    yield from _unknown_values(program, known)
    for word in program.words.texts:
        if word[:1] == "@" or "=@" in word:
            yield word.partition("@")[2]
        elif program.name in _SOURCERS and not _SETTINGS.fullmatch(word.rpartition("/")[2]):
            yield word


def _unknown_values(program: ProgramRun, known: set[int]) -> Iterator[str]:
    """Values of options elsewhere than at `known` words."""
    for option in option_parser.plain(program.argv[:MAX_WORDS]).given:
        if option.word in known:
            continue
        name, value = _attached(option.entry.name, option.value.text)
        value = value or "".join(program.argv[option.word + 1 : option.word + 2])
        if not _is_for((name,), program, value):
            yield value


def _attached(name: str, value: str) -> tuple[str, str]:
    """An option and its value, which may be attached to a letter: `-f/home/ada/x`."""
    return (name[:2], name[2:]) if name[2:3] in _PATH_STARTS and name[1] != "-" and not value else (name, value)


_PATH_STARTS = ("/", "~", "$")
_READ_ROLES = frozenset(["", "input", "source", "names", "config", "script", "loads", "module", "setting", "script-from"])
"""Of values that a program may show or run, not what it leaves out, writes or looks for."""
