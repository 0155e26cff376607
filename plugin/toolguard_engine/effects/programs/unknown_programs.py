"""Programs that are not known, judged by what they are given: the table of principles.

A principle looks at the words of a program of which nothing else is known, and finds what it would act on. Each has a rule
of its own in `rules/unknown.toml`, with its score, and can be switched off by its id. Commands and code that such a program
is given are found by `effects.commands.carried_commands`, keys that it is handed by `handed_keys`.

The kind is `unknown-program`, with a flag for each principle:

- `upload`: a personal file with a word that hands it on; `pushes`: an address with a word that sends something there.
- `destroys`: the user's own files or a disk with a word that destroys, or such a word with one that forces.
- `settings`: a file of the system with a word that sets something; `autostart`: a file in a temporary folder that is to run
  by itself.
- `installs`: an address with a verb that installs or runs.
- `reveals`: words that show a secret; `credentials`: it gets all variables of the environment.
- `pays`: words that move money, with an amount.
- `everyone`: it listens for everybody, and asks for no login or hands out a shell or a home folder.

A document that it may write over is an effect of the kind `perhaps-write`, because only the disk says whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, Place, ProgramRun
from toolguard_engine.effects.facts.places import Where, classify
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.option_parser import value_in
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL

MAX_WORDS = 60
MAX_WORD = 400
_SHOWN = 120
_KIND = "unknown-program"

Words = tuple[str, ...]


class Principle(NamedTuple):
    """`hints`: texts in lower case, one of which must be in the program's name and words before anything is searched.
    `finds`: what it would act on, empty if nothing."""

    flag: str
    hints: tuple[str, ...]
    finds: Callable[[Words, ProgramRun, Where], str]


# --- a personal file that is handed on ------------------------------------------------------------------------------------

_HANDS_ON = lazy_re.compile(
    r"-{0,2}(?:send|upload|share|publish|push|put|post|paste|attach|attachment|serve|expose|transmit|beam|deploy|seed|host)"
    r"(?:[-_:]?(?:file|files|folder|dir|doc|document|media|photo|attachment|message|msg))?s?"
)


def _upload(words: Words, program: ProgramRun, where: Where) -> str:
    verb = next((at for at, word in enumerate(words) if _HANDS_ON.fullmatch(word.partition("=")[0].lower())), -1)
    return "" if verb < 0 else _own_path(words, program, where)


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

_DESTROYING = r"(?:delete|purge|wipe|erase|shred|destroy|expunge|nuke|obliterate|unlink)"
_DESTROYS = lazy_re.compile(
    rf"-{{0,2}}(?:force[-_])?{_DESTROYING}(?:d|s|r)?(?:[-_:=].{{0,80}})?|-{{1,2}}{_DESTROYING}[\w-]{{0,40}}|rm|rmr|del|remove|discard"
    r"|-{1,2}remove(?:[-_](?:sources?|files?|originals?|inputs?|duplicates?|after|all|matching).{0,40})?"
)
_KEEPS = lazy_re.compile(
    r"-{1,2}(?:no|skip|without|never|delete-?(?:page|track|layer|column|tag|meta)|remove-?(?:bg|back))[\w-]{0,40}"
)
_DESTROYER = lazy_re.compile(rf"(?:[a-z]{{0,12}}[-_])?(?:s?rm|{_DESTROYING})(?:d?er|z|[-_]?(?:cli|tool|files?|dir))?")
"""Names of programs that do nothing else."""
_VERBS = lazy_re.compile(rf"{_DESTROYING}|rm|del|remove|drop|empty")
_FORCES = lazy_re.compile(
    r"-f|-y|-{1,2}(?:force|yes|assume-?yes|no-?confirm(?:ation)?|all|non-?interactive)(?:=.{0,20})?|\*|[\w.]{0,20}confirm\w{0,8}=(?:off|no|0|false)"
)
_WHOLLY = lazy_re.compile(
    r"-{1,2}(?:nuke|expunge|obliterate|(?:delete|remove|purge|wipe|erase)[-_]?(?:all|everything)(?:[-_]\w{1,30})?|destroy|factory-reset)"
)
"""Options that destroy everything that a program keeps."""
_ON_DISKS = lazy_re.compile(
    r"-{0,2}(?:yes|force|write|erase|format|wipe|secure[-_]?erase|reset|flash|restore|burn|init|zap|revert)[\w-]{0,20}(?:=.{0,80})?"
)


def _destroys(words: Words, program: ProgramRun, where: Where) -> str:
    lower = [word.lower() for word in words]
    verb = next((at for at, word in enumerate(lower) if _DESTROYS.fullmatch(word) and not _KEEPS.fullmatch(word)), -1)
    if (verb >= 0 or _DESTROYER.fullmatch(program.name)) and (path := _own_path(words, program, where, "root", "device")):
        return path
    if any(map(_ON_DISKS.fullmatch, lower)) and (path := _disk(words, program, where)):
        return path
    if bare := next(filter(_WHOLLY.fullmatch, lower), ""):
        return bare
    if 0 <= verb < _VERBS_AT and _VERBS.fullmatch(lower[verb]) and any(map(_FORCES.fullmatch, lower)):
        return " ".join(words[: verb + 2])
    return ""


_VERBS_AT = 3


def _disk(words: Words, program: ProgramRun, where: Where) -> str:
    paths = (value_in(word) for word in words)
    return next((path for path in paths if path[:5] == "/dev/" and classify(path, where, program.cwd)[0] == "device"), "")


# --- what is written ------------------------------------------------------------------------------------------------------

_OUTPUT = lazy_re.compile(
    r"-o|-{1,2}(?:out(?:put)?|out-?file|output-?file|save(?:-?as)?|export(?:-?file)?(?:-?name)?|write|dest)(?:[-_](?:to|file|path))?"
)
_READS = lazy_re.compile(
    r"(?:.*[-_.])?(?:diff\w*|\w*diff|cmp|compare|grep|\w*grep|search|find|info|identify|stat|list|show|view|read|play|open|check|verify|print)"
)
_FILE = lazy_re.compile(r"[^\s]{0,300}[^\s/.]\.[A-Za-z][A-Za-z0-9]{1,5}")
_OVERWRITES = lazy_re.compile(r"-y|-Y|-{1,2}(?:over-?write|force|clobber|yes|replace)(?:[-_=].{0,40})?")


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


# --- what is pushed to an address -----------------------------------------------------------------------------------------

_PUSHES = lazy_re.compile(r"(?:[\w-]{1,30}[:-])?(?:push|upload|put)")


def _pushes(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    verb = next((at for at, word in enumerate(words) if _PUSHES.fullmatch(word)), len(words))
    return next((word for word in words[verb:] if _ADDRESS.fullmatch(word)), "")


# --- settings of the system -----------------------------------------------------------------------------------------------

_SETS = lazy_re.compile(r"-{0,2}(?:set|write|put|replace|append|patch|insert|overwrite)(?:=.{0,300})?")
_PROTECTED: tuple[Place, ...] = ("system", "startup", "root")


def _settings(words: Words, program: ProgramRun, where: Where) -> str:
    verb = next((at for at, word in enumerate(words) if _SETS.fullmatch(word)), -1)
    for word in words[verb:] if verb >= 0 else ():
        path = value_in(word).removeprefix("/files")
        if path[:1] in _PATH_STARTS and classify(path, where, program.cwd)[0] in _PROTECTED:
            return path
    return ""


# --- fetch and run --------------------------------------------------------------------------------------------------------

_ADDRESS = lazy_re.compile(
    r"(?:--?[\w-]{1,40}=)?(?:git\+)?(?:https?|git|ssh|ftp)://(?!localhost\b|127\.|0\.0\.0\.0|\[::1\])[^\s]{3,}"
    r"|(?:git@|github:|gitlab:)[\w.-]{1,80}[:/][\w./-]{1,100}"
)
_INSTALLS = lazy_re.compile(
    r"(?:(?:[\w-]{1,40}[:-])?(?:install|reinstall|sideload|bootstrap)|run|exec|eval|execute|load|require|source|i"
    r"|--?(?:install|load|eval|exec|require|run)[\w-]{0,20})"
)
_ADDS = lazy_re.compile(r"add|get|pull|link|use|import|update|upgrade")
_ADDED = lazy_re.compile(r"(?:plugin|extension|ext|addon|add-on|module|package|pkg|pin|skill|hook|overlay|theme|tap)s?")
_CODE = lazy_re.compile(
    r"https?://[^\s?#]{3,300}\.(?:java|jsh|kts?|groovy|sh|bash|zsh|fish|ps1|rb|pl|lua|py|jl|clj|cljs|scala|sc|exs|nims?|raku|tcl"
    r"|wasm|jar|phar|js|mjs|ts)(?:[?#].{0,200})?"
)


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
        if not at and _CODE.fullmatch(word):
            return word
    return ""


_PACKAGE = lazy_re.compile(
    r"https?://[^\s?#]{3,300}\.(?:appimage|deb|rpm|pkg|msi|exe|vsix|xpi|run|ez|flatpakref)(?:[?#].{0,200})?"
)
_TAKES = lazy_re.compile(r"-[iUS]|add|get")


def _says_install(at: int, words: Words) -> bool:
    word = words[at].partition("=")[0]
    if _INSTALLS.fullmatch(word):
        return True
    return _ADDS.fullmatch(word) is not None and at > 0 and _ADDED.fullmatch(words[at - 1]) is not None


# --- words that show a secret, or move money ------------------------------------------------------------------------------

_NOUNS = (
    r"(?:seeds?|seed[-_]?phrase|mnemonics?|priv(?:ate)?[-_]?keys?|secret[-_]?keys?|secrets?(?:[-_]values?)?|passwords?|passwds?"
    r"|passphrases?|credentials?|wif|xprv|psk|(?:api|access|auth|recovery|master|account)[-_]?(?:key|token|code)s?)"
)
_SHOWS = r"(?:get|dump|show|export|reveal|print|display|view|recover|decrypt|extract|read|cat|copy|fetch|lookup|unmask)"
_REVEALS = lazy_re.compile(
    rf"{_SHOWS}[-_:.]?{_NOUNS}|-{{1,2}}(?:{_SHOWS}|with|include|unmask|raw|plain(?:text)?|no-?mask)[-_]?{_NOUNS}"
    r"|-{1,2}(?:reveal|unmask|unredacted|show-?values?|show-?values-?in-?clear|plain-?secrets)|key=clear|[\w.-]{0,60}[.-]psk"
)
_SHOW = lazy_re.compile(_SHOWS)
_NAMED = lazy_re.compile(_NOUNS)
_OF_KEYS = lazy_re.compile(
    r"(?:.*[-_])?(?:keys?|keyring|keychain|keystore|keygen|wallets?|secrets?|passwords?)(?:[-_]?(?:cli|tool|ctl))?"
)
"""Names of programs that keep secrets: what they are asked to show is one."""
_KEYRING = lazy_re.compile(r"(?:account|wallet|key|identity|vault|secret|password)s?")
_PRIVATE = lazy_re.compile(r"seed(?:[-_]?phrase)?|mnemonic|priv(?:ate)?[-_]?key|xprv|wif|passphrase|recovery[-_]?key")
_TAKEN_OUT = lazy_re.compile(r"download|export|dump|pull|reveal|decrypt")
_OPENS = lazy_re.compile(r"decrypt|unseal|unmask|reveal|getpass(?:word)?")
_OPENER = lazy_re.compile(r"[\w-]{1,40}[-_](?:decrypt|unseal|reveal|getpass)")
_GETS = lazy_re.compile(r"(?:kv[-_:]?)?(?:get|read|dump|export|show|reveal|cat|fetch|pull)")
_KEPT = lazy_re.compile(r"/?(?:[\w.-]{1,60}/){0,6}(?:secrets?|passwords?|credentials|private[-_]?keys?)(?:/[\w./-]{0,120})?")
_VARIABLES = lazy_re.compile(r"(?:env|vars?|variables?|config)(?:[-:](?:list|get|show|export|pull|dump))?")
_PLAIN = lazy_re.compile(r"-{1,2}(?:plain(?:text)?|kv|shell|show-?values?|raw|unmasked|dotenv|values)|/dev/stdout")
_WHOLE = lazy_re.compile(r"export|dump|recover|reveal|decrypt|unmask")


def _reveals(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    plain = [word.lower() for word in words]
    if plain and _SHOW.fullmatch(plain[0]) and _OF_KEYS.fullmatch(program.name):
        return plain[0]
    if (plain and _OPENS.fullmatch(plain[0])) or _OPENER.fullmatch(program.name):
        return plain[0]
    for at, word in enumerate(plain):
        if _REVEALS.fullmatch(word):
            return word
        following = plain[at + 1] if at + 1 < len(plain) else ""
        if following and _are_of_secrets(word, following):
            return f"{word} {following}"
    return _kept_secret(plain)


def _are_of_secrets(word: str, following: str) -> bool:
    """Whether two words that follow each other show a secret."""
    if _SHOW.fullmatch(word):
        return _NAMED.fullmatch(following) is not None
    if _LISTED.fullmatch(word) and _TAKEN_OUT.fullmatch(following):
        return True
    if _KEYRING.fullmatch(word) and (_WHOLE.fullmatch(following) or _PRIVATE.fullmatch(following)):
        return True
    return _NAMED.fullmatch(word) is not None and _SHOW.fullmatch(following) is not None and not _LISTED.fullmatch(word)


def _kept_secret(words: list[str]) -> str:
    """What is got from where secrets are kept, or variables whose values are asked for."""
    verb = next((at for at, word in enumerate(words) if _GETS.fullmatch(word)), -1)
    for word in words[verb + 1 :] if verb >= 0 else ():
        if "/" in word and _KEPT.fullmatch(value_in(word)):
            return f"{words[verb]} {word}"
    if any(map(_VARIABLES.fullmatch, words[:2])) and any(map(_PLAIN.fullmatch, words)):
        return " ".join(words)
    return ""


_LISTED = lazy_re.compile(r"secrets")
"""`secrets list` and the like show names only; `get` of a secret is not among the words for it."""

_PAYS = lazy_re.compile(
    r"(?:send[-_]?(?:to[-_]?address|payment|coins?|many|funds|money|tx|transaction)|pay(?:[-_]?(?:invoice|bill|ment|out)s?)?|payout"
    r"|transfer|withdraw(?:al)?|pay[-_]?to|donate|tip|purchase|buy|sell|swap|stake|bid|place[-_]order|checkout|keysend)"
)
_AMOUNT = lazy_re.compile(
    r"-{1,2}(?:amount|value|sats?|usd|eur|price|qty|quantity)(?:=.{1,40})?|!|all|max|[$\u20ac\u00a3]?\d{1,12}(?:[.,]\d{1,18})?"
    r"(?:eth(?:er)?|btc|sats?|sol|usdc?|usdt|eur|gwei|wei|ada|[$\u20ac])?"
)


def _pays(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    verb = next((at for at, word in enumerate(words) if _PAYS.fullmatch(word.lower())), -1)
    if verb < 0 or not any(_AMOUNT.fullmatch(word.lower()) for word in words[verb + 1 :]):
        return ""
    return " ".join(words[verb:])


# --- listening for everybody ----------------------------------------------------------------------------------------------

_EVERYBODY = lazy_re.compile(
    r"0\.0\.0\.0|\[::\]|bind_ip_all|--(?:bind|host|ip|address|listen|interface)[\w.-]{0,20}[= ](?:\*|::)(?=\s|$)|--public\b"
    r"|all-interfaces|everyone:[fcw]|network\.host=_(?:site|global)_"
)
_NO_LOGIN = lazy_re.compile(
    r"--?no-?auth\b|\bauth(?:entication)?[= ](?:none|false|off|disabled|no)\b"
    r"|(?:token|password|passwd|secret)=(?:''|\"\")?(?=\s|$)"
    r"|protected-mode[= ]no\b|--?no-?(?:pass(?:word|wd)?|pw|login|token)\b|without-auth|disable-auth"
    r"|security[\w.]{0,20}=(?:false|off)|anonymous|skip-grant|everyone:[fcw]|guest[-_ ]ok=y|--?allow-?all\b"
    r"|disable-?(?:check|filter)"
)


def _everyone(words: Words, program: ProgramRun, where: Where) -> str:
    text = " ".join(words).lower()
    if not _EVERYBODY.search(text):
        return ""
    hands_out = _NO_LOGIN.search(text) or not _SHELLS.isdisjoint(words) or _own_path(words, program, where, "root")
    return text if hands_out else ""


_SHELLS = program_catalogue.programs("shell")

# --- what runs by itself --------------------------------------------------------------------------------------------------

_BY_ITSELF = lazy_re.compile(
    r"(?:.*[-_:.])?(?:enable|register|autostart|startup|daemon(?:ize)?|submit|cron|schedule|hooks?|login-?items?|on-?(?:boot|login|start)"
    r"|pre-?commit|post-?(?:commit|merge|checkout)|anchor|custom-?command)(?:[-_:./].*)?"
)
_TEMPORARY = lazy_re.compile(r"(?:\A|[\s'\"=:])(/(?:var/)?tmp/[^\s'\"]{1,200}|/dev/shm/[^\s'\"]{1,200})")


def _persists(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    if not any(_BY_ITSELF.fullmatch(word.lower()) for word in (program.name, *words) if "/tmp" not in word):  # noqa: S108 - a name
        return ""
    return next((path[1] for path in map(_TEMPORARY.search, words) if path), "")


_SECRETIVE = (
    "seed", "mnemonic", "key", "secret", "pass", "cred", "psk", "token", "wif", "xprv", "reveal", "mask", "values",
    "account", "wallet", "redacted", "decrypt", "seal", "env", "var", "config",
)  # fmt: skip
_PAYING = (
    "pay", "send", "transfer", "withdraw", "donate", "tip", "buy", "purchase", "sell", "swap", "stake", "bid", "order",
    "checkout",
)  # fmt: skip
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


_DESTROYING_HINTS = (
    "delete", "purge", "wipe", "erase", "shred", "destroy", "expunge", "nuke", "obliterate", "unlink", "rm", "del", "remove",
    "discard", "/dev/",
)  # fmt: skip
PRINCIPLES = (
    Principle("credentials", ("",), _environment),
    Principle("upload", ("~", "/home", "/users/", "/root", "$home"), _upload),
    Principle("pushes", ("push", "upload", "put"), _pushes),
    Principle("destroys", _DESTROYING_HINTS, _destroys),
    Principle("autostart", ("/tmp/", "/dev/shm/"), _persists),  # noqa: S108 - names
    Principle("settings", ("/etc", "/usr", "/boot", "/var", "~", "/lib", "/opt"), _settings),
    Principle("installs", ("://", "git@", "hub:", "lab:"), _installs),
    Principle("reveals", _SECRETIVE, _reveals),
    Principle("pays", _PAYING, _pays),
    Principle(
        "everyone", ("0.0.0", "[::]", "_all", "*", "::", "public", "everyone", "interfaces", "network.host"), _everyone
    ),
)
"""In the order of the rules."""


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
        Effect(_KIND, f"{program.name} {target}"[:_SHOWN], "", frozenset([principle.flag]), program)
        for principle in PRINCIPLES
        if any(map(text.__contains__, principle.hints)) and (target := principle.finds(words, program, where))
    ]
