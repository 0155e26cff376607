"""Programs that show, search or pack file contents. Covers credentials, raw devices and hunts for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from posixpath import basename

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import HISTORIES, is_secret_name
from toolguard_engine.effects.facts.places import Where, marks, place
from toolguard_engine.effects.manuals import find_expression, manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import Act, effect_on, operands, secrets_read, write_effects

_HUNTED = lazy_re.compile(
    r"(?i)pass(?:w|phrase)|secret|api.?key|private.key|akia|credential|auth.?token|BEGIN.{1,20}KEY"
    r"|BEGIN (?:OPENSSH|RSA|DSA|EC|PGP)",
)
_ENVIRONMENT = program_catalogue.programs("variable_lister")
_NAMED_SO = lazy_re.compile(r"(?i)token|secret|passw|credential|(?:api|access|private|auth).?key|\bkey\b")
_WIDE = frozenset(["root", "home", "system", "credentials"])


def _shows(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Also of a file with names, since a name that does not exist is printed as an error."""
    words = program.words
    read = [*words.texts, *(word.text for word in words.named("input", "names"))]
    yield from secrets_read(dict.fromkeys(read), program, where)


LISTING = manual_catalogue.doing("reads-names") & (program_catalogue.programs("safe_reader") | {"file", "date"})


def _lists(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """A name that does not exist is printed as an error, so a file of names is shown."""
    yield from secrets_read((word.text for word in program.words.named("names")), program, where)


def _searches(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    paths = operands(program)
    patterns = [value.text for value in words.values("--regexp", "--match")]
    if not patterns and not words.has("--file"):
        patterns, paths = paths[:1], paths[1:]
    yield from secrets_read(paths, program, where, *(["names"] if words.trait("tells-names") else []))
    if words.has("--glob", "--iglob"):
        yield from _by_name(program, where)
    hunts = any(_HUNTED.search(pattern[:256]) for pattern in patterns)
    if hunts and (_from_history(program, where) or any("history" in marks(path, where) for path in paths)):
        yield Effect("search", "history", "home", frozenset(["secrets"]), program)
    if (
        program.stdin is not None
        and not _ENVIRONMENT.isdisjoint(program.stdin.programs)
        and _prints_secrets(words, patterns)
    ):
        yield Effect("search", "environment", "home", frozenset(["secrets"]), program)
    if program.name not in _ALWAYS_DEEP and not words.recursive:
        return
    wide = _WIDE - {"credentials"} if words.trait("tells-names") else _WIDE
    if hunts:
        yield from (
            effect_on("search", path, program, where, ["secrets"])
            for path in paths
            if place(path, where, program.cwd) in wide
        )


def _from_history(program: ProgramRun, where: Where) -> bool:
    feed = program.stdin
    return feed is not None and ("history" in feed.programs or any("history" in marks(path, where) for path in feed.files))


def _prints_secrets(words: CommandWords, patterns: list[str]) -> bool:
    """Whether the printed lines are those of variables whose names suggest secrets."""
    if words.has("--quiet", "--count", "--invert-match"):
        return False
    return any(_NAMED_SO.search(pattern[:256]) for pattern in patterns)


_FINDS = program_catalogue.programs("find")
_IN_PLACE_AWKS = program_catalogue.programs("in_place_awk")
_ALWAYS_DEEP = program_catalogue.programs("deep_searcher")


def _scripted(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`sed`, `awk`, `perl`: the first operand is the script unless an option gives it; `-i` writes the files in place."""
    words = program.words
    paths = operands(program)
    given = any(option.entry.role in ("script", "script-from") for option in words.given)
    if not given:
        paths = paths[1:]
    if _in_place(program):
        scripts = [word.text for word in words.named("script")] or list(words.texts[:1])
        if (
            any(map(_LEAVES_NOTHING[program.name].fullmatch, scripts))
            if program.name in _LEAVES_NOTHING
            else _prints_none(program)
        ):
            yield from (effect_on("empty", path, program, where) for path in paths)
            return
        for path in paths:
            yield from write_effects(path, program, where, "in-place")
    else:
        yield from secrets_read(paths, program, where)


_LEAVES_NOTHING = dict.fromkeys(
    program_catalogue.programs("sed"),
    lazy_re.compile(
        r"\s*(?:(?:0?1\s*,\s*\$\s*|/\.?\*?/\s*)?\{?\s*d\s*;?\s*\}?|(?:1\s*,\s*\$\s*)?s(?P<mark>[/|#,])\^?\.[*+]\$?(?P=mark)(?P=mark)g?)\s*;?\s*"
    ),
)
"""Programs and their scripts that delete, or empty, every line."""


def _prints_none(program: ProgramRun) -> bool:
    """Whether Perl or Ruby writes nothing back: `perl -pi -e '$_=""'`, `perl -i -ne ''`."""
    if program.name not in _LINE_LANGUAGES:
        return False
    words = program.words
    code = " ".join((*(word.text for word in words.named("script")), *words.texts))[:_MAX_LINE_CODE]
    if words.has("-n"):
        return not _WRITES_BACK.search(code)
    return words.has("-p") and _BLANKS.match(code) is not None


_LINE_LANGUAGES = program_catalogue.programs("line_language")
_MAX_LINE_CODE = 400
_WRITES_BACK = lazy_re.compile(r"\b(?:print|say|printf|puts|write|syswrite)\b")
_BLANKS = lazy_re.compile(
    r"""\s*(?:\$_\s*=\s*(?:""|\'\'|undef)|s(?P<mark>[/|#])\^?\.[*+]\$?(?P=mark)(?P=mark)[gsm]*|undef \$_)\s*;?(?:\s|\Z)"""
)


def _in_place(program: ProgramRun) -> bool:
    if program.name in _IN_PLACE_AWKS:
        return "inplace" in program.argv
    return program.words.trait("in-place")


def _keystore(program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from secrets_read(
        [*operands(program), *(value.text for value in program.words.values("-keystore"))], program, where
    )


def _openssl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    inputs = [value.text for value in words.values("-in", "-inkey", "-key")]
    yield from secrets_read(inputs, program, where)
    if not _ENCRYPTS.isdisjoint(program.argv) and not words.has("-d"):
        yield from (effect_on("encrypt", value.text, program, where) for value in words.values("-in"))


_ENCRYPTS = frozenset(["enc", "-encrypt", "rsautl", "pkeyutl", "smime", "cms"])


def _keys(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`ssh-keygen` makes a key; with `-y` it shows the public part of one, with `-p` it changes the passphrase."""
    words = program.words
    if words.has("-y", "-p", "-e"):
        yield from secrets_read([words.last("-f")], program, where)


def search_roots(program: ProgramRun) -> list[str]:
    """The folders that a search of any kind descends into, as it names them."""
    if program.name in _FINDS:
        return found_in(program)[0]
    return [word for word in program.argv[2:] if word[:1] in ("/", "~", ".")]


def _is_aged(program: ProgramRun) -> bool:
    """Whether a search finds only what was not used or changed for a week at least: in a cache, leftovers."""
    return any(
        option in ("-atime", "-mtime", "-ctime") and value[:1] == "+" and value[1:].isdigit() and int(value[1:4]) >= _WEEK
        for option, value in pairwise(program.argv)
    )


_WEEK = 7


def _find(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """What it deletes and writes itself, and whether it hunts for secrets; the programs it starts are separate runs."""
    paths, tests = found_in(program)
    roots = paths or ["."]
    if "-delete" in tests:
        flags = {"recursive"} | search_flags(program, where)
        for path in roots:
            effect = effect_on("delete", path, program, where, flags)
            if path.rstrip("/").endswith("/.cache") and effect.place == "credentials" and _is_aged(program):
                effect = replace(effect, place="artefact")
            leftover = finds_leftovers(program, _LEFT if effect.place in ("workspace", "in-workspace") else _PARTIAL)
            yield replace(effect, flags=effect.flags | {"leftover"}) if leftover else effect
    for i, word in enumerate(tests[:-1]):
        if word in _PRINTS:
            yield from write_effects(tests[i + 1], program, where)
        elif _hunts(word, tests[i + 1], where):
            yield from (
                Effect("search", tests[i + 1], place(path, where, program.cwd), frozenset(["secrets"]), program)
                for path in roots
                if place(path, where, program.cwd) in _WIDE
            )


def _by_name(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Other programs that find files by their names, and whether they hunt for secrets."""
    words = program.words
    globs = [value.text for value in words.values("--glob", "--iglob")]
    if program.name in _FD:
        patterns: list[str] = [*words.texts[:1], *(value.text for value in words.values("--and"))]
        patterns += [f"*.{value.text.lstrip('.')}" for value in words.values("--extension")]
        roots = [*(value.text for value in words.values("--base-directory", "--search-path")), *words.texts[1:]] or ["."]
    elif globs:
        patterns, roots = globs, [*words.texts[0 if words.has("--files") else 1 :]] or ["."]
    else:
        patterns, roots = [*words.texts], ["/"] if program.name in _LOCATING else []
    for pattern in patterns[:_MANY_PATTERNS]:
        if (name := _SIGNS.sub("", pattern[:512])) and not pattern.startswith("!") and _hunts("-name", name, where):
            yield from (
                Effect("search", pattern, place(path, where, program.cwd), frozenset(["secrets"]), program)
                for path in roots[:_MANY_PATTERNS]
                if place(path, where, program.cwd) in _WIDE
            )


_MANY_PATTERNS = 20
_SIGNS = lazy_re.compile(r"[\^$\\]")
_LOCATING = program_catalogue.programs("name_index")
_NAMES = manual_catalogue.spelled("find", "by-name")
_FILTERS = manual_catalogue.spelled("find", "filters")
_PRINTS = manual_catalogue.spelled("find", "writes")


def _hunts(test: str, pattern: str, where: Where) -> bool:
    """Whether a test of `find` looks for files with secrets: by name, by path below a home folder, by extension."""
    if test in _NAMES:
        name = pattern.lstrip("*/")
        last = basename(pattern) or "?"
        return (
            is_secret_name(last)
            or last in HISTORIES
            or last.startswith("authorized_keys")
            or name in _BROWSERS
            or place(f"~/{name}", where) == "credentials"
        )
    return test in ("-regex", "-iregex") and _KEY_ENDS.search(pattern[:512]) is not None


_BROWSERS = frozenset(["places.sqlite", "Bookmarks", "Bookmarks.plist", "Login Data", "Cookies", "Cookies.binarycookies"])
_KEY_ENDS = lazy_re.compile(r"\b(?:pem|ppk|p12|pfx|pgp|kdbx|id_rsa)\b")


def follows_given_links(program: ProgramRun) -> bool:
    """Whether a search goes into the folder that a given link leads to."""
    return program.name in _FD or (program.name == "find" and program.words.has("-L", "-H", "-follow"))


def follows_all_links(program: ProgramRun) -> bool:
    """Whether a search goes into all folders to which links lead that it comes upon."""
    is_search = program.name in _FD or program.name in _FINDS
    return is_search and program.words.has("-L", "-follow", "--follow")


_FD = program_catalogue.programs("fd")


def search_flags(program: ProgramRun, where: Where) -> set[str]:
    """`filtered` if a search leaves something out; `rebuilt` if everything it finds can be built again; `named` if it finds
    files of one kind only, and what it starts puts them into a folder."""
    if program.name not in _FINDS:
        named = _names_of_fd(program)
        return {"filtered", "rebuilt"} if named and all(place(name, where) == "artefact" for name in named) else {"filtered"}
    tests = found_in(program)[1]
    wanted = [tests[i + 1] for i, word in enumerate(tests[:-1]) if word in _NAMES and tests[i - 1] not in ("!", "-not")]
    all_names = {at for at, word in enumerate(tests[:-1]) if word in _NAMES and not tests[at + 1].strip("*/")}
    flags = {"filtered"} if any(word in _FILTERS and at not in all_names for at, word in enumerate(tests)) else set()
    if wanted and all(
        place(spelling, where) == "artefact" for name in wanted for spelling in _spelled(basename(name) or name)
    ):
        flags.add("rebuilt")
    if (
        wanted
        and all(map(_OF_ONE_KIND.search, wanted))
        and _JOINING.isdisjoint(tests)
        and _INTO_FOLDER.search(" ".join(program.argv))
    ):
        flags.add("named")
    return flags


def _names_of_fd(program: ProgramRun) -> list[str]:
    """The names that `fd` looks for: by their endings, or by a pattern that is one name."""
    ends = [value.text for value in program.words.values("--extension")]
    if ends:
        return [f"file.{end}" for end in ends]
    first = next(iter(program.words.texts), "")
    plain = first.removeprefix("^").removesuffix("$").replace("\\.", ".")
    return [plain] if plain and re.fullmatch(r"[\w.-]+", plain) else []


_OF_ONE_KIND = lazy_re.compile(r"\.[A-Za-z0-9]{2,8}\Z")
_JOINING = manual_catalogue.spelled("find", "joins") | {"!", ",", "0"}
_INTO_FOLDER = lazy_re.compile(r"/ (?:[;+]|\\;)(?: |\Z)")


_LEFT = lazy_re.compile(
    r"\*?\.(?:part|crdownload|bak|tmp|temp|old|orig|rej|swp|swo|log|pid|pyc|pyo|cache|DS_Store)|\*~|\.#\*|Thumbs\.db"
)


_PARTIAL = lazy_re.compile(r"\*\.(?:part|crdownload|aria2)")
"""Downloads that were broken off: nobody's work, wherever they lie."""


def finds_leftovers(program: ProgramRun, names: re.Pattern[str] = _LEFT) -> bool:
    """Whether a search finds only what is empty, or by name what programs leave behind: `*.bak`, `*~`, `.DS_Store`."""
    if program.name not in _FINDS:
        return False
    tests = found_in(program)[1]
    if not _BUT_THESE.isdisjoint(tests):
        return False
    act = next((at for at, word in enumerate(tests) if word in _ACTS), len(tests))
    tests = tests[:act]  # what follows it filters nothing
    wanted = [tests[i + 1] for i, word in enumerate(tests[:-1]) if word in ("-name", "-iname")]
    joined = tests.count("-o") + tests.count("-or")
    if not joined and ("-empty" in tests or not _SIZED_ZERO.isdisjoint(pairwise(tests))):
        return True
    return bool(wanted) and joined < len(wanted) and all(names.fullmatch(name[:MAX_PATTERN]) for name in wanted)


_SIZED_ZERO = frozenset(("-size", f"0{unit}") for unit in ("", *"bcwkMG"))
"""Tests that only what holds nothing passes: sizes are rounded up."""

_ACTS = manual_catalogue.spelled("find", "acts")
_BUT_THESE = manual_catalogue.spelled("find", "negates") | {"!", ","}


def _spelled(pattern: str) -> list[str]:
    """The patterns that `*.py[co]` stands for: `*.pyc` and `*.pyo`."""
    match = _LETTERS.search(pattern[:MAX_PATTERN])
    return [pattern[: match.start()] + letter + pattern[match.end() :] for letter in match[1]] if match else [pattern]


MAX_PATTERN = 256
_LETTERS = lazy_re.compile(r"\[([a-z0-9]{1,6})\]")


def found_in(program: ProgramRun) -> tuple[list[str], list[str]]:
    """The folders that `find` searches, and its tests and actions."""
    return find_expression.split(program.argv)


PROGRAMS: dict[str, Act] = {
    **dict.fromkeys(LISTING, _lists),
    **dict.fromkeys(program_catalogue.programs("content_shower"), _shows),
    **dict.fromkeys(program_catalogue.programs("search_reader"), _searches),
    **dict.fromkeys(program_catalogue.programs("scripted_reader"), _scripted),
    **dict.fromkeys(_FINDS, _find),
    **dict.fromkeys(_FD | _LOCATING, _by_name),
    "openssl": _openssl, "ssh-keygen": _keys,
    "keytool": _keystore,
}  # fmt: skip
