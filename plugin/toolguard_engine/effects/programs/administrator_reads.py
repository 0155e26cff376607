"""Which commands of an administrator only look: what is known of a program says that its words read, and what they print
is no secret that its owner keeps from others.

`routine_administration` has patterns for programs of administrators. This module has the rest: programs that read with any
words, searches, filters and clients of databases. A file may be shown if it is one of the machine's settings, logs or
programs, and if its name does not say that it keeps a secret; of any other file only what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import MAX_PATH, Where, classify, normal
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import operands, sql_queries
from toolguard_engine.effects.programs.routine_administration import MAX_WORDS, installed

_SAFE = program_catalogue.programs("safe_reader")
_SHOWERS = (program_catalogue.programs("content_shower") | {"expand"}) & _SAFE
_SEARCHERS = program_catalogue.programs("search_reader") - program_catalogue.programs("deep_searcher") - {"ack"}
_TELLERS = (_SAFE - _SHOWERS - _SEARCHERS) | {"[", "test", "namei", "lsattr", "getfacl"}
_FILTERS = frozenset(["tail", "zcat"])
_SEDS, _AWKS = program_catalogue.programs("sed"), program_catalogue.programs("awk")


def only_reads(argv: tuple[str, ...], where: Where, cwd: str, *, fed: bool) -> bool:
    """`argv`: the program and its words; `fed`: it has an input, which is known to be harmless to all but clients of
    databases."""
    name = installed(argv)
    if not name or len(argv) > MAX_WORDS or any(UNKNOWN in word for word in argv) or (fed and name in sql_queries.CLIENTS):
        return False
    look = next((reads for names, reads in _READING if name in names), None)
    return look is not None and look(ProgramRun((name, *argv[1:]), name, cwd=cwd), where)


def _tells(program: ProgramRun, where: Where) -> bool:  # noqa: ARG001 - table signature
    """What files are. A list of names is a file whose lines an error message shows."""
    return not any(map(_FILE_OF_NAMES.match, program.argv))


_FILE_OF_NAMES = lazy_re.compile(r"--f(?:i(?:l(?:e(?:s\S*)?)?)?)?(?:=|\Z)|--exclude-f|-\w{0,9}X")


def _shows(program: ProgramRun, where: Where) -> bool:
    """Any word may be a file, also the value of an option."""
    if program.name == "diff" and not _is_plain(program.words):
        return False
    if program.name == "jq" and any(map(_LOADS.search, program.argv)):
        return False
    if any(map(_VALUE_OF_OPTION.match, program.argv)):
        return False
    counts = program.name in _COUNTING
    return all(
        _is_open(word, program, where) or (counts and _COUNT.fullmatch(word) and _TAKES_COUNT.fullmatch(before))
        for before, word in pairwise(program.argv)
        if not _OPTION.fullmatch(word)
    )


_COUNTING = frozenset(["head", "tail", "cut"])
_COUNT = lazy_re.compile(r"[+]?[\d,-]{1,9}|\W")
_TAKES_COUNT = lazy_re.compile(r"-[ncfdb]")


_OPTION = lazy_re.compile(r"-[^/]+")
_VALUE_OF_OPTION = lazy_re.compile(r"-[^/]*/")


_LOADS = lazy_re.compile(r"\b(?:import|include)\b")


def _is_plain(words: CommandWords) -> bool:
    """Whether no option changes what is read or done."""
    return not words.unknown and all("harmless" in option.entry.traits for option in words.given)


def _searches(program: ProgramRun, where: Where) -> bool:
    """Whether folders are only searched for something: another pattern shows every file that lies there."""
    words = program.words
    if words.unknown or words.has("--file", "--devices"):
        return False
    if words.trait("tells-names"):
        return True
    patterns = [value.text for value in words.named("pattern")]
    if words.recursive and not (all(map(_is_narrow, patterns)) and _shows_lines(words)):
        return False
    files = _files(program, patterns)
    if words.recursive and "/etc" in (path.rstrip("/") for path in files) and not _finds_no_users(words, patterns):
        return False
    files = [path for path in files if not (words.recursive and path.rstrip("/") in _WHOLE)]
    return bool(patterns) and all(_is_open(path, program, where) for path in files)


_WHOLE = frozenset(["/etc", "/usr", "/opt", "/var/log"])


def _finds_no_users(words: CommandWords, patterns: list[str]) -> bool:
    """Whether no user's line in `/etc/shadow` can be found: it begins with a name, which is one word."""
    around = any(option.entry.name.endswith("context") for option in words.given)
    return not around and not any(_NAME_OF_USER.fullmatch(part) for pattern in patterns for part in _parts(pattern))


_NAME_OF_USER = lazy_re.compile(r"\W{0,9}[A-Za-z0-9]+\W{0,9}")


def _files(program: ProgramRun, patterns: list[str]) -> list[str]:
    named = [word.text for word in program.words.named("input")]
    return named or [path for path in operands(program) if path not in patterns]


def _shows_lines(words: CommandWords) -> bool:
    """Whether a search shows only the lines that it finds, and a few around them."""
    return all(
        "harmless" in option.entry.traits
        or "recursive" in option.entry.traits
        or option.entry.role in ("pattern", "include", "exclude")
        or (option.valued and option.entry.name.endswith("-context") and option.value.text in _FEW)
        for option in words.given
    )


_FEW = frozenset(map(str, range(10)))
_ALTERNATIVES = lazy_re.compile(r"\\?\|")
_SIMPLE = lazy_re.compile(r"(?:[\w@/:=\"'<>,#%&~ -]|\.\*?|\\[.b<>/-]|\^|\$)+")
_LITERAL = lazy_re.compile(r"(?<!\\)[A-Za-z0-9][\w@-]{3,}")


def _is_narrow(pattern: str) -> bool:
    """Whether each line that it finds has a word that the pattern states, and none that suggests a secret."""
    if len(pattern) > _MAX_PATTERN or _SUGGESTS.search(pattern):
        return False
    if any(piece.lower() in _SUGGESTING for piece in _LITERAL.findall(pattern)):
        return False
    return all(_SIMPLE.fullmatch(part) and _LITERAL.search(part) for part in _parts(pattern))


def _parts(pattern: str) -> list[str]:
    return _ALTERNATIVES.split(pattern)


_MAX_PATTERN = 200
_SUGGESTING = (
    "password passwd passphrase secret credential token apikey privatekey private_key shadow authkey begin openssh encrypted"
)
"""A part of one of these words finds the whole word."""
_SUGGESTS = lazy_re.compile(
    r"(?i)passw|passphrase|secret|credential|token|api.?key|private.?key|shadow|authkey|\bpsk\b|\bpw\b|begin"
)


def _filters(program: ProgramRun, where: Where) -> bool:
    """`sed` and `awk` with a script that is known to print, and nothing else."""
    words = program.words
    scripts = [word.text for word in words.named("script")]
    if words.unknown or words.trait("in-place") or len(scripts) != 1 or words.named("script-from"):
        return False
    if not all("harmless" in option.entry.traits or option.entry.role == "script" for option in words.given):
        return False
    prints = _PRINTING_SED if program.name in _SEDS else _PRINTING_AWK
    return prints.fullmatch(scripts[0]) is not None and all(
        _is_open(word.text, program, where) for word in words.named("input")
    )


_SED_AT = r"(?:\d{1,9}|\$|/(?:[^/\\\n\[]|\\[./^$*]){1,200}/)"
_UP_TO = r"(?:(?!\{n})[^\n\\]|\\[^\n]){0,200}\{n}"


def _sed_command(n: int) -> str:
    """`n`: the number of the group with the sign between the parts of `s/a/b/`."""
    up_to = _UP_TO.replace("{n}", str(n))
    return rf"(?:{_SED_AT}(?:,(?:\+\d{{1,9}}|{_SED_AT}))?)?!?(?:[pdq=]|s([/|#,]){up_to}{up_to}[gpI0-9]{{0,4}})"


_PRINTING_SED = lazy_re.compile(rf"\s*{_sed_command(1)}(?:\s*;\s*{_sed_command(2)}){{0,5}}\s*;?\s*")
_PRINTING_AWK = lazy_re.compile(r"(?![^\0]*(?:system|getline|close|ARG|ENVIRON|printf? *[(-]|[|>`@]| -))[^\0]{1,300}")


def has_plain_script(program: ProgramRun) -> bool:
    """Whether a `sed` only prints, deletes or substitutes lines, of its files too (`-i`): it runs and opens nothing else."""
    words = program.words
    scripts = [word.text for word in words.named("script")]
    is_known = not words.unknown and bool(scripts) and not words.named("script-from")
    return is_known and all(map(_PRINTING_SED.fullmatch, scripts))


_OPENSSL = lazy_re.compile(
    r" (?:x509|crl|verify|version|ciphers|dgst|req|rsa|pkey)"
    r"(?: -(?:in|CAfile|ext|checkend|nameopt|certopt|inform|checkhost|checkip) [^\s-]\S{0,200}"
    r"| -(?:noout|text|subject|issuer|dates|enddate|startdate|serial|fingerprint|sha\d{1,3}|md5|pubkey|purpose|email|hash"
    r"|modulus|pubin|a|v|check|verify|issuer_hash|subject_hash|ocsp_uri)){0,20}(?: /[\w./@-]{1,200}){0,4}"
)
_KEY_SHOWN = lazy_re.compile(r" (?:rsa|pkey|req)(?!.* -noout)| (?:rsa|pkey).* -text")


def _certificates(program: ProgramRun, where: Where) -> bool:  # noqa: ARG001 - table signature
    """What certificates say, and checks of keys that show nothing of them."""
    words = "".join(f" {word}" for word in program.argv[1:])
    return " " not in "".join(program.argv) and bool(_OPENSSL.fullmatch(words)) and not _KEY_SHOWN.match(words)


_SHOWN_BELOW = ("/etc/", "/usr/", "/var/log/", "/lib/", "/lib64/", "/boot/", "/opt/", "/sys/", "/Library/")
"""Folders of settings, programs and logs of the machine, in which only administrators make links to other files."""
_PROC = lazy_re.compile(
    r"/proc/(?!k|(?:[^/]{1,60}/){0,9}(?:root|cwd|fd|mem|environ|exe|task|map_files)(?:/|\Z))[\w.-]{1,60}(?:/[\w.*-]{1,60}){0,9}"
)
_KEEPS_SECRETS = lazy_re.compile(
    r"(?i)passw|(?:\A|[/._-])(?:pw|sasl|psk|users|auth|keys?|env)(?:[._-]|\Z)"
    r"|secret|credential|token|shadow|htpasswd|private|keyring|vault"
)


def _is_open(path: str, program: ProgramRun, where: Where) -> bool:
    """Whether a file may be shown as an administrator sees it."""
    if path == "-":
        return True
    kind, flags = classify(path, where, program.cwd)
    if (
        ".." in path
        or kind in ("credentials", "device", "unknown", "remote", "root", "home", "temp")
        or ("glob" in flags and not _of_one_kind(path))
    ):
        return False
    full = normal(path, where, program.cwd)
    if full.startswith("/proc/"):
        return _PROC.fullmatch(full) is not None
    if full.startswith("/var/log/"):
        return True
    return full.startswith(_SHOWN_BELOW) and _KEEPS_SECRETS.search(full[:MAX_PATH]) is None


def _of_one_kind(pattern: str) -> bool:
    """`/etc/nginx/*.conf`, but not all that lies in a folder."""
    above, _, last = pattern.rpartition("/")
    return not any(sign in above for sign in "*?[{") and _KIND.fullmatch(last[:MAX_PATH]) is not None


_KIND = lazy_re.compile(r"[\w*-]{1,60}\.[a-z]{2,8}")


_READING: tuple[tuple[frozenset[str], Callable[[ProgramRun, Where], bool]], ...] = (
    (_TELLERS | program_catalogue.programs("digest"), _tells),
    (_SHOWERS | _FILTERS, _shows),
    (_SEARCHERS, _searches),
    (_SEDS | _AWKS, _filters),
    (frozenset(["openssl"]), _certificates),
    (sql_queries.CLIENTS, sql_queries.only_queries),
)
