"""Interpreters that get their code on the command line, at standard input or from a substitution.

The kinds: `code` (the code as target, its language as a flag), and for what the code evidently does: `delete`, `write`,
`read` with the paths in it, `delete-found` (what a search finds), `method` (a call that deletes or cancels things at a
service), `sql`, `send`, `http`, `listen`, `remote-shell`, `load`, `record` (what is typed), `autostart`. `shell-out`: a
shell without a script, started by code or by an option of another program. `run-text`: text that runs but is not visible in
the command, with the flags `fetched` (produced by a program that contacts another machine), `decoded` (converted from
another form), `unknown` (produced by other programs), `variable`; its target names the source of the text.

Code in a language of `READERS` is parsed (`effects.languages`). Any other code, and what cannot be parsed, is searched:
each search takes linear time and covers the first `MAX_CODE` characters.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.code_commands import reads_as_command
from toolguard_engine.effects.commands.code_sources import (
    LANGUAGES,
    MAX_CODE,
    READERS,
    is_left_unread,
    is_script,
    language,
    names_input,
    plain_name,
    readings,
    script_words,
    source,
)
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import DESCRIPTORS, STDIN, UNKNOWN, Effect, ProgramRun, StdinSource
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.languages import code_deeds
from toolguard_engine.effects.languages.code_deeds import CodeReading
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import Act
from toolguard_engine.effects.programs.code_connections import network_effects
from toolguard_engine.effects.programs.code_search import clip
from toolguard_engine.effects.programs.code_text import code_effects
from toolguard_engine.effects.programs.wrappers import SHELLS

FETCHERS = program_catalogue.programs("fetcher")
DECODERS = program_catalogue.programs("decoder")
_CLIPBOARDS = program_catalogue.programs("clipboard")
_SAYERS = program_catalogue.programs("output_passer")
_EDITORS = program_catalogue.programs("output_rewriter")


def reading(code: str, language: str) -> CodeReading | None:
    """What parsed code does; None if it cannot be parsed."""
    reader = READERS.get(language)
    return reader(code) if reader and not reads_as_command(code) else None


def paths(program: ProgramRun) -> tuple[str, ...]:
    """The files that the code of an interpreter reads, where it puts their paths together."""
    code = source(program)
    parsed = reading(code[1], code[0]) if code and code[0] in READERS and not is_left_unread(program) else None
    return parsed.paths if parsed else ()


def _origin(feed: StdinSource | None) -> tuple[str, frozenset[str]] | None:
    """The source of a text that runs, and its flags; None if it is a file, or what a program prints about itself."""
    if feed is None or not feed.programs:
        return None
    target = " | ".join(feed.programs[:6])
    if any(name in FETCHERS for name in feed.programs):
        decoded = any(name in DECODERS for name in feed.programs)
        return target, frozenset({"fetched", "decoded"}) if decoded else frozenset({"fetched"})
    if any(name in DECODERS for name in feed.programs):
        return target, frozenset({"decoded"})
    if any(name in _CLIPBOARDS for name in feed.programs):
        return target, frozenset({"unknown"})
    if feed.text is None and any(name in _EDITORS for name in feed.programs):
        mangled = feed.programs[0] in ("echo", "printf")
        return target, frozenset({"decoded"}) if mangled else frozenset({"unknown"})
    return None


def hidden_text(program: ProgramRun, feed: StdinSource | None, *, piped: bool) -> Iterator[Effect]:
    """A text that runs but is not visible. `piped`: it arrives through a pipe, not from a substitution."""
    origin = _origin(feed)
    if origin is not None:
        yield Effect("run-text", origin[0], "", origin[1], program)
    elif piped and feed is not None and feed.text is None and set(feed.programs) - _SAYERS:
        yield Effect("run-text", " | ".join(feed.programs[:6]), "", frozenset({"unknown"}), program)


def _from_substitution(program: ProgramRun) -> Iterator[Effect]:
    """`sh -c "$(curl ...)"`, `bash <(curl ...)`: words of an interpreter, up to its script, that a fetcher prints."""
    if not program.given:
        return
    words = readings(program)[0]
    named = (word for word in words.named_words if word.text == program.argv[word.at])
    paths = [word.at for word in named if "." in word.text or "/" in word.text]
    for at, feed in program.given:
        if paths and paths[0] < at:
            return
        if _may_be_code(program, at, feed, words):
            yield from hidden_text(program, feed, piped=False)


def _may_be_code(program: ProgramRun, at: int, feed: StdinSource, words: CommandWords) -> bool:
    """Whether the word at this position, which holds the output of other programs, may be what runs."""
    if not 0 < at < len(program.argv):
        return False
    word = program.argv[at]
    if feed.text is not None or word.startswith(DESCRIPTORS):
        return True
    is_alone = not word.strip(UNKNOWN + " ;\n")
    return UNKNOWN in word and (is_alone or bool(words.unknown) or any(option.word == at - 1 for option in words.given))


_NO_FILES = (*DESCRIPTORS, "/proc/")


def _from_nowhere(program: ProgramRun) -> Iterator[Effect]:
    """A script that is no file, although nothing is known to be opened under its name: `bash /dev/fd/7`."""
    for word in (word for words in readings(program) for word in script_words(words)):
        if word.text.startswith(_NO_FILES) and word.text not in STDIN and program.content(word) is None:
            yield Effect("run-text", word.text, "", frozenset({"unknown"}), program)
            return


_HANDED_OUT = lazy_re.compile(r"-[ilp]{1,3}\Z")
_SITS_THERE = program_catalogue.programs("session_opener")
_STARTERS = program_catalogue.programs("shell_starter")


def _shell_out(program: ProgramRun) -> Iterator[Effect]:
    """A shell without a script that another program starts: it escapes the restrictions of that program."""
    if program.stdin is not None or not all(map(_HANDED_OUT.match, program.argv[1:])):
        return
    if any(redirect.kind in ("read", "text") for redirect in program.redirects) or not _SITS_THERE.isdisjoint(program.via):
        return
    starter = next((name for name in program.via if name in _STARTERS or plain_name(name) in LANGUAGES), "")
    if starter:
        yield Effect("shell-out", starter, "", frozenset(), program)


def _shell(program: ProgramRun, _: Where) -> Iterator[Effect]:
    yield from _from_substitution(program)
    yield from _from_nowhere(program)
    yield from _shell_out(program)
    words = program.words
    runs_text = words.has("-c") or bool(words.named("script"))
    if not runs_text and (words.has("-s") or not is_script(program)):
        yield from hidden_text(program, program.stdin, piped=True)
    elif (words.given or words.unknown or words.end) and UNKNOWN in words.arguments[:2] and not program.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), program)
    yield from _socket_redirects(program)


def _socket_redirects(program: ProgramRun) -> Iterator[Effect]:
    """`bash -i >& /dev/tcp/host/port`: a shell that takes commands from another machine."""
    for redirect in program.redirects:
        if redirect.target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Effect("remote-shell", redirect.target, "remote", frozenset(), program)
            return


def _evaluated(program: ProgramRun, _: Where) -> Iterator[Effect]:
    """`eval`, `source` and `.`: their words are the command, or the file."""
    yield from _from_substitution(program)
    if program.name == "eval" and any(UNKNOWN in word for word in program.argv[1:]) and not program.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), program)
    if program.name != "eval" and (
        not program.argv[1:] or not {"-", "/dev/stdin"}.isdisjoint(program.argv[1:])
    ):  # the former in fish
        yield from hidden_text(program, program.stdin, piped=True)


_WIDE = frozenset({"root", "home", "system", "credentials"})


def _serves(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """A web server whose folder is a home or the whole system. Serving a project folder is ordinary."""
    words, folder = readings(program)[0], ""
    module = next((option.value for option in words.given if option.entry.role == "module"), None)
    if module is not None and module.text == "http.server":
        folder = option_parser.value(program.argv[module.at :], ("-d", "--directory")) or program.cwd
    elif words.has("--server"):
        folder = words.last("--docroot") or program.cwd
    if folder and place(folder, where, program.cwd) in _WIDE:
        yield Effect("listen", folder, place(folder, where, program.cwd), frozenset({"files"}), program)


def _interpreter(program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _from_substitution(program)
    yield from _from_nowhere(program)
    yield from _serves(program, where)
    found = source(program)
    is_its_input = found is None and language(program.name) != "awk" and not is_script(program)
    if is_its_input or names_input(program):
        yield from hidden_text(program, program.stdin, piped=True)
    if found is None:
        return
    named, code = found
    if not code.strip(UNKNOWN + " \n") and UNKNOWN in code and not program.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), program)
    if program.origin is None:
        yield Effect("code", code, "", frozenset({named}), program)
    parsed = None if is_left_unread(program) else reading(code, named)
    if parsed is not None:
        yield from code_deeds.effects(parsed, program, where)
        if parsed.whole:
            return
    if program.origin is not None:
        yield from _of_file(code, program, where)
        return
    code = code[:MAX_CODE]
    yield from network_effects(code, program)
    if named != "awk":
        yield from code_effects(code, program, where)
    elif "/inet/" in code and "getline" in code:
        yield Effect("remote-shell", clip(code), "remote", frozenset({"code"}), program)


_SEARCHED = frozenset({"method", "delete-found", "sql", "send", "http"})
"""Kinds that a search finds in much code that does no such thing; in a file they count if an agent made it."""

_TELLING = lazy_re.compile(
    r"(?<![\w.])(?:exec|eval|system|Function|popen|iex)\s{0,4}\(|socket|TCPClient|\.(?:post|put|patch|send)\w{0,8}\("
)
_OWN_METHOD = lazy_re.compile(r"(?:self|this|cls)\.[\w.]{0,80}\.(?:remove|delete|drop|clear|cancel|del|empty|flush)\Z")
_BEFORE, _BEHIND, _MAX_PARTS = 300, 500, 12


def _of_file(code: str, program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Code in a file is long, so what is found by several words at once must have them near each other."""
    effects = code_effects(code, program, where)
    if program.origin is None or not program.origin.made:
        yield from (effect for effect in effects if effect.kind not in _SEARCHED)
        return
    yield from (effect for effect in effects if effect.kind != "method" or not _OWN_METHOD.match(effect.target))
    end = 0
    for count, match in enumerate(_TELLING.finditer(code)):
        if match.start() < end or count >= _MAX_PARTS:
            continue
        start, end = max(match.start() - _BEFORE, end), match.end() + _BEHIND
        yield from network_effects(code[start:end], program)


PROGRAMS: dict[str, Act] = {
    **dict.fromkeys(LANGUAGES, _interpreter),
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(program_catalogue.programs("evaluator"), _evaluated),
    **dict.fromkeys(program_catalogue.programs("powershell_evaluator"), _shell),
}
