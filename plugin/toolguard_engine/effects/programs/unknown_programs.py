"""Programs that are not known, judged by what they are given: the table of principles.

A principle looks at the words of a program of which nothing else is known, and finds what it would act on. Each has a rule
of its own in `rules/unknown.toml`, with its score, and can be switched off by its id. Commands and code that such a program
is given are found by `effects.commands.carried_commands`, keys that it is handed by `handed_keys`.

The kind is `unknown-program`, with a flag for each principle: `upload` (a personal file with a word that hands it on),
`installs` (an address with a verb that installs or runs), `reveals` (words that show a secret), `pays` (words that move
money, with an amount), `everyone` (it listens for everybody, and asks for no login), `credentials` (it gets all variables
of the environment).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, classify
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
    if verb < 0:
        return ""
    for word in words:
        path = value_in(word).removeprefix("@")
        if path[:1] in ("~", "/", "$"):
            place, marks = classify(path, where, program.cwd)
            if "personal-file" in marks or place == "home":
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
        if _ADDRESS.fullmatch(word) and any(map(_says_install, range(at + 1), [words] * (at + 1))):
            return word
        if not at and _CODE.fullmatch(word) and _ADDRESS.fullmatch(word):
            return word
    return ""


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
_WHOLE = lazy_re.compile(r"export|dump|recover|reveal|decrypt|unmask")


def _reveals(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    plain = [word.lower() for word in words]
    if plain and _SHOW.fullmatch(plain[0]) and _OF_KEYS.fullmatch(program.name):
        return plain[0]
    for at, word in enumerate(plain):
        if _REVEALS.fullmatch(word):
            return word
        following = plain[at + 1] if at + 1 < len(plain) else ""
        if _SHOW.fullmatch(word) and _NAMED.fullmatch(following):
            return f"{word} {following}"
        if (_KEYRING.fullmatch(word) and _WHOLE.fullmatch(following)) or (
            _NAMED.fullmatch(word) and _SHOW.fullmatch(following) and not _LISTED.fullmatch(word)
        ):
            return f"{word} {following}"
    return ""


_LISTED = lazy_re.compile(r"secrets")
"""`secrets list` and the like show names only; `get` of a secret is not among the words for it."""

_PAYS = lazy_re.compile(
    r"(?:send[-_]?(?:to[-_]?address|payment|coins?|many|funds|money|tx|transaction)|pay(?:[-_]?(?:invoice|bill|ment|out)s?)?|payout"
    r"|transfer|withdraw(?:al)?|donate|tip|purchase|buy|sell|swap|stake|bid|place[-_]order|checkout|keysend)"
)
_AMOUNT = lazy_re.compile(
    r"-{1,2}(?:amount|value|sats?|usd|eur|price|qty|quantity)(?:=.{1,40})?|[$\u20ac\u00a3]?\d{1,12}(?:[.,]\d{1,18})?"
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


def _everyone(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    text = " ".join(words).lower()
    return text if _EVERYBODY.search(text) and _NO_LOGIN.search(text) else ""


_SECRETIVE = (
    "seed", "mnemonic", "key", "secret", "pass", "cred", "psk", "token", "wif", "xprv", "reveal", "mask", "values",
    "account", "wallet", "redacted",
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


PRINCIPLES = (
    Principle("credentials", ("",), _environment),
    Principle("upload", ("~", "/home", "/users/", "/root", "$home"), _upload),
    Principle("installs", ("://", "git@", "hub:", "lab:"), _installs),
    Principle("reveals", _SECRETIVE, _reveals),
    Principle("pays", _PAYING, _pays),
    Principle(
        "everyone", ("0.0.0", "[::]", "_all", "*", "::", "public", "everyone", "interfaces", "network.host"), _everyone
    ),
)
"""In the order of the rules."""


_ONLY_ASKS = HELP | REHEARSAL | {"help", "--version"}


def effects(program: ProgramRun, where: Where) -> list[Effect]:
    """What a program that is not known would do, judged by its words. `program`: with at least one word."""
    if not _ONLY_ASKS.isdisjoint(program.argv):
        return []
    words = tuple([word[:MAX_WORD] for word in program.argv[1:MAX_WORDS]])
    text = f"{program.name} {' '.join(words)}".lower()
    return [
        Effect(_KIND, f"{program.name} {target}"[:_SHOWN], "", frozenset([principle.flag]), program)
        for principle in PRINCIPLES
        if any(map(text.__contains__, principle.hints)) and (target := principle.finds(words, program, where))
    ]
