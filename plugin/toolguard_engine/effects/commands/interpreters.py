"""Interpreters that get their code on the command line, at standard input or from a substitution.

The kinds: `code` (the code as target, its language as a flag), and for what the code evidently does: `delete`, `write`,
`read` with the paths in it, `delete-found` (what a search finds), `method` (a call that deletes or cancels things at a
service), `sql`, `send`, `http`, `listen`, `remote-shell`, `load`, `record` (what is typed), `autostart`. `shell-out`: a
shell without a script, started by code or by an option of another program. `run-text`: text that runs but is not visible in
the command, with the flags `fetched` (produced by a program that contacts another machine), `decoded` (converted from
another form), `unknown` (produced by other programs), `variable`; its target names the source of the text.

Code in a language of `_READERS` is parsed (`effects.languages`). Any other code, and what cannot be parsed, is searched:
each search takes linear time and covers the first `MAX_CODE` characters.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, StdinSource
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.languages import code_deeds, python_code, script_code
from toolguard_engine.effects.languages.code_deeds import CodeReading
from toolguard_engine.effects.programs import Act
from toolguard_engine.effects.programs.code_connections import network_effects
from toolguard_engine.effects.programs.code_search import MAX_FOUND, any_of, clip, found_in, text_of
from toolguard_engine.effects.programs.code_text import STRING, code_effects
from toolguard_engine.effects.programs.wrappers import SHELLS

MAX_CODE = 20_000
_READERS: dict[str, Callable[[str], CodeReading | None]] = {"python": python_code.read, **script_code.READERS}
"""Language: what parses its code; None where it cannot."""

MAX_FILE_CODE = 65_536
MAX_OPTIONS = 40

FETCHERS = program_catalogue.programs("fetcher")
DECODERS = program_catalogue.programs("decoder")
_CLIPBOARDS = program_catalogue.programs("clipboard")
_SAYERS = program_catalogue.programs("output_passer")
_EDITORS = program_catalogue.programs("output_rewriter")

LANGUAGES: dict[str, tuple[str, str]] = {
    # program: language, letters of the options that are followed by code
    "python": ("python", "c"),
    "pypy": ("python", "c"),
    "ipython": ("python", "c"),
    "node": ("javascript", "ep"),
    "nodejs": ("javascript", "ep"),
    "bun": ("javascript", "ep"),
    "tsx": ("javascript", "ep"),
    "ts-node": ("javascript", "ep"),
    "zx": ("javascript", "e"),
    "deno": ("javascript", ""),
    "perl": ("perl", "eE"),
    "ruby": ("ruby", "e"),
    "jruby": ("ruby", "e"),
    "php": ("php", "rBRE"),
    "lua": ("lua", "e"),
    "luajit": ("lua", "e"),
    "awk": ("awk", ""),
    "gawk": ("awk", "e"),
    "mawk": ("awk", ""),
    "nawk": ("awk", ""),
    "osascript": ("applescript", "e"),
    "powershell": ("powershell", ""),
    "pwsh": ("powershell", ""),
    "Rscript": ("r", "e"),
    "R": ("r", "e"),
    "julia": ("julia", "eE"),
    "elixir": ("elixir", "e"),
    "groovy": ("groovy", "e"),
    "scala": ("scala", "e"),
    "tclsh": ("tcl", ""),
    "expect": ("tcl", "c"),
    "swift": ("swift", "e"),
    "yaegi": ("go", "e"),
    "ghc": ("haskell", "e"),
    "racket": ("lisp", "e"),
    "guile": ("lisp", "c"),
    "rails": ("ruby", ""),
    "irb": ("ruby", ""),
    "psysh": ("php", ""),
    "rake": ("ruby", "ep"),
    "jrunscript": ("javascript", "e"),
    "jjs": ("javascript", ""),
    "octave": ("octave", ""),
    "octave-cli": ("octave", ""),
    "slsh": ("octave", "e"),
    "emacs": ("lisp", ""),
}
_LONGEST_CLUSTER = 7
_LONG = frozenset({"--eval", "--print", "--execute", "--run", "--command"})
_NO_CODE = ("-M", "-m", "-I", "-x", "-D", "-C", "-W", "-X")
"""Options of perl, python and ruby whose own value follows the letter."""
WITH_VALUE = frozenset(
    {"-W", "-X", "-r", "--require", "-I", "-C", "-d", "-l", "--import", "--loader", "-L", "-cp", "--project"}
)
"""Options whose value may be the next word. Any other word that is not an option is the script and ends the options."""

_POWERSHELL = lazy_re.compile(r"[-/](?:c|co|com|comm|comma|comman|command)\Z", re.IGNORECASE)
_ENCODED = lazy_re.compile(r"[-/](?:e|ec|en|enc[a-z]{0,15})\Z", re.IGNORECASE)


def plain_name(name: str) -> str:
    """The program without a version: `python3.11` is `python`, `perl5.36` is `perl`, `node@22` is `node`."""
    name = name.partition("@")[0] or name
    return name if name in LANGUAGES else name.rstrip("0123456789.").removesuffix("-")


def language(name: str) -> str:
    """The language that a program interprets; empty if it is not an interpreter."""
    return LANGUAGES.get(plain_name(name), ("", ""))[0]


# --- position of code -----------------------------------------------------------------------------------------------------


def source(run: ProgramRun) -> tuple[str, str] | None:
    """The language and the code of a run; None if there is no code or it is unknown."""
    language, letters = LANGUAGES.get(plain_name(run.name), ("", ""))
    if not language:
        return None
    if language == "applescript" and "JavaScript" in run.argv[1:4]:
        language = "javascript"
    reader = _SPECIAL.get(language) or _SPECIAL.get(plain_name(run.name)) or _console(run)
    texts = reader(run) if reader else list(_given_by_option(run, letters))
    most = MAX_FILE_CODE if run.origin is not None or language in _READERS else MAX_CODE
    if texts:
        return language, "\n".join(texts)[:most]
    if reader is None and not is_script(run):
        text = run.stdin_text
        if text:
            return language, text[:most]
    return None


def reading(code: str, language: str) -> CodeReading | None:
    """What parsed code does; None if it cannot be parsed."""
    reader = _READERS.get(language)
    return reader(code) if reader and not _reads_as_command(code) else None


def is_parsed(program: str) -> bool:
    """Whether the language of a program is parsed, not only searched."""
    return language(program) in _READERS


def paths(run: ProgramRun) -> tuple[str, ...]:
    """The files that the code of an interpreter reads, where it puts their paths together."""
    found = source(run)
    parsed = reading(found[1], found[0]) if found and found[0] in _READERS else None
    return parsed.paths if parsed else ()


def _given_by_option(run: ProgramRun, letters: str) -> Iterator[str]:
    argv, code_at = run.argv, 0
    for at in range(1, min(len(argv), MAX_OPTIONS)):
        word = argv[at]
        if at == code_at:
            continue
        if word[:1] != "-" or word in ("--", "-") or (word == "-m" and letters == "c"):
            return
        if word in WITH_VALUE:
            code_at = at + 1
        name, attached, value = word.partition("=")
        if name in _LONG:
            if attached:
                yield value
            elif at + 1 < len(argv):
                code_at = at + 1
                yield argv[code_at]
        elif word[1:2] != "-" and not word.startswith(_NO_CODE):
            code_at = at + 1 if word[-1] in letters else code_at
            yield from _by_letter(argv, at, letters)


def _by_letter(argv: tuple[str, ...], at: int, letters: str) -> Iterator[str]:
    """Code after `-e`, `-lane`, or attached as in `-e'code'`."""
    word = argv[at]
    if word[-1] in letters and len(word) <= _LONGEST_CLUSTER:
        if at + 1 < len(argv):
            yield argv[at + 1]
    elif word[1:2] in letters and len(word) > 2:  # noqa: PLR2004 - the dash and a letter
        yield word[2:]


def _awk(run: ProgramRun) -> list[str]:
    """The first operand, unless the program is in a file."""
    argv, at = run.argv, 1
    while at < len(argv):
        word = argv[at]
        if word in ("-f", "--file", "-E", "--exec") or (word.startswith(("-f", "--file=")) and len(word) > 2):  # noqa: PLR2004 - the option and its letter
            return []
        if word in ("-v", "-F", "--assign", "--field-separator"):
            at += 2
        elif word.startswith("-") and len(word) > 1 and word != "--":
            if word in ("-e", "--source"):
                return [argv[at + 1]] if at + 1 < len(argv) else []
            at += 1
        else:
            at += word == "--"
            return [argv[at]] if at < len(argv) else []
    return []


def _deno(run: ProgramRun) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    if words[:1] in ([], ["run"]) and not words[1:] and (text := run.stdin_text):
        return [text]
    return words[1:2] if words[:1] == ["eval"] else []


def _rails(run: ProgramRun) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    return words[1:2] if words[:1] in (["runner"], ["r"]) else []


def _powershell(run: ProgramRun) -> list[str]:
    argv = run.argv
    for at in range(1, len(argv) - 1):
        if _POWERSHELL.match(argv[at]):
            return [" ".join(argv[at + 1 :])]
        if _ENCODED.match(argv[at]):
            return [_utf16(argv[at + 1])]
    words = [word for word in argv[1:] if not word.startswith(("-", "/"))]
    if words and not words[0].endswith((".ps1", ".psm1")):
        return [" ".join(words)]
    text = run.stdin_text
    return [text] if text else []


def _utf16(text: str) -> str:
    import base64  # noqa: PLC0415 - seldom needed, and slows start-up
    import binascii  # noqa: PLC0415 - as above

    try:
        return base64.b64decode(text[:MAX_CODE]).decode("utf-16-le", "replace")
    except (ValueError, binascii.Error):
        return text


def _console(run: ProgramRun) -> Callable[[ProgramRun], list[str]] | None:
    """`python manage.py shell -c`, `php artisan tinker --execute`: the console of a framework."""
    words = run.argv[1:4]
    if not any(word.endswith(("manage.py", "artisan", "bin/console")) for word in words[:1]):
        return None
    return _framework if {"shell", "shell_plus", "tinker"}.intersection(words) else None


def _framework(run: ProgramRun) -> list[str]:
    for at, word in enumerate(run.argv):
        if word in ("-c", "--command", "--execute") and at + 1 < len(run.argv):
            return [run.argv[at + 1]]
        if word.startswith(("--execute=", "--command=")):
            return [word.partition("=")[2]]
    text = run.stdin_text
    return [text] if text else []


_SPECIAL = {"awk": _awk, "deno": _deno, "powershell": _powershell, "rails": _rails}


def is_script(run: ProgramRun) -> bool:
    """Whether a script or module is named, so that standard input is data and not code."""
    return any(not word.startswith("-") or word.startswith("-m") for word in run.argv[1:]) and "-" not in run.argv[1:]


# --- hidden text that runs --------------------------------------------------------------------------------------------


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


def hidden_text(run: ProgramRun, feed: StdinSource | None, *, piped: bool) -> Iterator[Effect]:
    """A text that runs but is not visible. `piped`: it arrives through a pipe, not from a substitution."""
    origin = _origin(feed)
    if origin is not None:
        yield Effect("run-text", origin[0], "", origin[1], run)
    elif piped and feed is not None and feed.text is None and set(feed.programs) - _SAYERS:
        yield Effect("run-text", " | ".join(feed.programs[:6]), "", frozenset({"unknown"}), run)


def _from_substitution(run: ProgramRun) -> Iterator[Effect]:
    """`sh -c "$(curl ...)"`, `bash <(curl ...)`: words of an interpreter, up to its script, that a fetcher prints."""
    for at, feed in run.given:
        if any(("." in word or "/" in word) and word[:1] != "-" for word in run.argv[1:at]):
            return
        if 0 < at < len(run.argv) and (UNKNOWN in run.argv[at] or feed.text is not None):
            alone = run.argv[at].strip(UNKNOWN + " ;\n") == "" or feed.text is not None or "/dev/fd" in run.argv[at]
            if alone or run.argv[at - 1].startswith("-"):
                yield from hidden_text(run, feed, piped=False)


_HANDED_OUT = lazy_re.compile(r"-[ilp]{1,3}\Z")
_SITS_THERE = program_catalogue.programs("session_opener")
_STARTERS = program_catalogue.programs("shell_starter")


def _shell_out(run: ProgramRun) -> Iterator[Effect]:
    """A shell without a script that another program starts: it escapes the restrictions of that program."""
    if run.stdin is not None or any(word[:1] != "-" or not _HANDED_OUT.match(word) for word in run.argv[1:]):
        return
    if any(redirect.kind in ("read", "text") for redirect in run.redirects) or not _SITS_THERE.isdisjoint(run.via):
        return
    starter = next((name for name in run.via if name in _STARTERS or plain_name(name) in LANGUAGES), "")
    if starter:
        yield Effect("shell-out", starter, "", frozenset(), run)


def _shell(run: ProgramRun, _: Where) -> Iterator[Effect]:
    yield from _from_substitution(run)
    yield from _shell_out(run)
    if ("-c" not in run.argv and not is_script(run)) or "-s" in run.argv[1:4]:
        yield from hidden_text(run, run.stdin, piped=True)
    elif run.argv[1:2] and run.argv[1][:1] == "-" and any(word == UNKNOWN for word in run.argv[2:4]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    yield from _socket_redirects(run)


def _socket_redirects(run: ProgramRun) -> Iterator[Effect]:
    """`bash -i >& /dev/tcp/host/port`: a shell that takes commands from another machine."""
    for redirect in run.redirects:
        if redirect.target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Effect("remote-shell", redirect.target, "remote", frozenset(), run)
            return


def _evaluated(run: ProgramRun, _: Where) -> Iterator[Effect]:
    """`eval`, `source` and `.`: their words are the command, or the file."""
    yield from _from_substitution(run)
    if run.name == "eval" and any(UNKNOWN in word for word in run.argv[1:]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    if run.name != "eval" and (not run.argv[1:] or not {"-", "/dev/stdin"}.isdisjoint(run.argv[1:])):  # the former in fish
        yield from hidden_text(run, run.stdin, piped=True)


# --- commands in code -----------------------------------------------------------------------------------------------------

_CALLS: dict[str, str] = {
    "python": (
        r"(?:\bsystem|popen2?|\bspawn|\brun|\bcall|check_call|check_output|Popen|getoutput|getstatusoutput|exec[lv]p?e?"
        r"|spawn[lv]p?e?|create_subprocess_(?:shell|exec)|startfile)"
    ),
    "javascript": (
        r"(?:\bexec(?:File)?(?:Sync)?|\bspawn(?:Sync)?|\bfork|execa(?:Sync|Command|CommandSync)?|Deno\.Command"
        r"|Bun\.spawn(?:Sync)?|shelljs\.exec|sh\.exec)"
    ),
    "perl": r"(?:\bsystem|\bexec|\bpopen|open[23])",
    "ruby": r"(?:\bsystem|\bexec|\bspawn|popen[23]?e?|capture[23]e?|Open3\.\w{1,12}|pipeline)",
    "php": r"(?:\bsystem|\bexec|shell_exec|passthru|popen|proc_open|pcntl_exec)",
    "awk": r"(?:\bsystem)",
    "lua": r"(?:os\.execute|io\.popen)",
    "applescript": r"(?:do (?:shell )?script)",
    "r": r"(?:\bsystem2?|\bshell)",
    "julia": r"(?:\brun|\bread|\bpipeline)",
    "elixir": r"(?:System\.(?:cmd|shell)|:os\.cmd)",
    "tcl": r"(?:\bexec|\bspawn|\bsystem)",
    "swift": (
        r"(?:\bsystem|\bshell|\bpopen|exec\.Command|Command::new|\bexec[lv]p?e?|getRuntime\(\)\.exec|ProcessBuilder"
        r"|Process\.(?:run|start))"
    ),
    "haskell": r"(?:callCommand|callProcess|system|readProcess)",
    "lisp": r"(?:\(system\*?|shell-command|call-process|start-process|\((?:ansi-)?term)",
    "octave": r"(?:\bsystem|\bshell_cmd|\bunix)",
    "groovy": r"(?:Runtime\.getRuntime\(\)\.exec)",
    "scala": r"(?:Process|Runtime\.getRuntime\(\)?\.exec)",
}
_PLAIN_QUOTES: dict[str, str] = {
    # a literal that is itself a command
    "perl": (
        r"`([^`]{1,400}+)`|\bqx\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|/([^/]{1,400}+)/|!([^!]{1,400}+)!"
        r"|\[([^\]]{1,400}+)\])"
    ),
    "ruby": r"`([^`]{1,400}+)`|%x\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|\[([^\]]{1,400}+)\]|\|([^|]{1,400}+)\|)",
    "php": r"`([^`]{1,400}+)`",
    "julia": r"`([^`]{1,400}+)`",
    "javascript": r"\$`([^`]{1,400}+)`",
    "awk": r'"([^"\n]{1,400}+)"\s{0,4}+\|&?\s{0,4}+getline|\|&?\s{0,4}+"([^"\n]{1,400}+)"',
    "groovy": r"""["']([^"'\n]{1,400}+)["']\.execute\(""",
    "scala": r"""["']([^"'\n]{1,400}+)["']\s{0,4}+\.?!{1,2}""",
}
_CALLING: dict[str, tuple[str, ...]] = {
    "python": ("system", "popen", "spawn", "subprocess", "Popen", "exec", "output", "startfile", "run(", "call("),
    "javascript": ("exec", "spawn", "fork", "Deno.Command"),
    "": (
        "system",
        "open",
        "spawn",
        "run",
        "exec",
        "capture",
        "pipeline",
        "passthru",
        "cmd",
        "hell",
        "Command",
        "Process",
        "read",
        "term",
    ),
}
_IN_HOME = r"(?:(?:Path\.expand|File\.expand_path|(?:os\.path\.)?expanduser|expand-file-name)[(\s]\s{0,4})?"
"""A function that only puts the home folder in place of `~`."""
_LIST = lazy_re.compile(rf"\s{{0,9}}+,?\s{{0,9}}+{_IN_HOME}{STRING}")
_ESCAPE = lazy_re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

_SHELLISH = program_catalogue.programs("command_like_word")


_ADDED = lazy_re.compile(r"\)\s{0,40}+\.args?\(\s{0,4}+&?\[?")
"""Rust gives the words of a command one by one: `Command::new("sh").arg("-c").arg("ls")`."""


def commands(code: str, language: str) -> tuple[str, ...]:
    """The shell commands in literals of the code, in order. `language`: as `source` names it."""
    code = code[:MAX_CODE]
    if ").arg" in code:
        code = _ADDED.sub(", ", code)
    if _reads_as_command(code):
        return (code,)
    found: list[tuple[int, str]] = []
    call = _CALLS.get(language)
    if call and any_of(_CALLING[language] if language in _CALLING else _CALLING[""], code):
        for match in found_in(rf"{call}\s{{0,4}}+(?P<open>[(\s\[{{]{{0,4}}+){STRING}", code):
            found.append((match.start(), _command(match, code)))  # noqa: PERF401 - the same list is added to twice
    quoted = _PLAIN_QUOTES.get(language)
    if quoted:
        found.extend((match.start(), next(g for g in match.groups() if g)) for match in found_in(quoted, code))
    return tuple(text for _, text in sorted(found) if text.strip())


def _command(match: re.Match[str], code: str) -> str:
    """`"rm -rf x"`, or the joined words of `["rm", "-rf", "x"]` and `"rm", ["-rf", "x"]`."""
    words = [_unescape(text_of(match))]
    at = match.end()
    in_list = "[" in match.group("open")
    while len(words) < MAX_FOUND:
        while code[at : at + 1] in (" ", "\n", "\t", ",", "["):
            in_list = in_list or code[at] in "[,"
            at += 1
        following = _LIST.match(code, at)
        if following is None:
            break
        words.append(_unescape(next((g for g in following.groups() if g), "")))
        at = following.end()
    if words[1:] and _base(words[0]) == _base(words[1]):
        del words[1]  # execl("/bin/sh", "sh", ...): the name passed to the program
    if len(words) == 1 and not in_list:
        return words[0]
    return words[0] if len(words) == 1 else " ".join(shlex.quote(word) for word in words)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    two, four, octal, other = match.groups()
    if two or four:
        return chr(int(two or four, 16))
    if octal:
        return chr(int(octal, 8)) if octal != "0" else ""
    return _ESCAPED.get(other, other)


def _reads_as_command(code: str) -> bool:
    """Whether the code is a shell command: no interpreter accepts `rm -rf /`, but it shows what is intended."""
    words = code[:200].split(None, 2)
    if len(words) < 2 or words[0] not in _SHELLISH:  # noqa: PLR2004 - a program and a word
        return False
    second = words[1]
    return second[:1] in "-/~." or (second[:1].isalnum() and len(words) > 2 and words[2][:1] in "-/~.")  # noqa: PLR2004 - the same


# --- effects --------------------------------------------------------------------------------------------------------------


_WIDE = frozenset({"root", "home", "system", "credentials"})


def _serves(run: ProgramRun, where: Where) -> Iterator[Effect]:
    """A web server whose folder is a home or the whole system. Serving a project folder is ordinary."""
    folder = ""
    if run.argv[1:3] == ("-m", "http.server"):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word in ("-d", "--directory")), run.cwd)
    elif run.argv[1:2] == ("-S",):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word == "-t"), run.cwd)
    if folder and place(folder, where, run.cwd) in _WIDE:
        yield Effect("listen", folder, place(folder, where, run.cwd), frozenset({"files"}), run)


def _interpreter(run: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _from_substitution(run)
    yield from _serves(run, where)
    found = source(run)
    if found is None:
        if not is_script(run) and language(run.name) != "awk":
            yield from hidden_text(run, run.stdin, piped=True)
        return
    named, code = found
    if not code.strip(UNKNOWN + " \n") and UNKNOWN in code and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    if run.origin is None:
        yield Effect("code", code, "", frozenset({named}), run)
    parsed = reading(code, named)
    if parsed is not None:
        yield from code_deeds.effects(parsed, run, where)
        if parsed.whole:
            return
    if run.origin is not None:
        yield from _of_file(code, run, where)
        return
    code = code[:MAX_CODE]
    yield from network_effects(code, run)
    if named != "awk":
        yield from code_effects(code, run, where)
    elif "/inet/" in code and "getline" in code:
        yield Effect("remote-shell", clip(code), "remote", frozenset({"code"}), run)


_SEARCHED = frozenset({"method", "delete-found", "sql", "send", "http"})
"""Kinds that a search finds in much code that does no such thing; in a file they count if an agent made it."""

_TELLING = lazy_re.compile(
    r"(?<![\w.])(?:exec|eval|system|Function|popen|iex)\s{0,4}\(|socket|TCPClient|\.(?:post|put|patch|send)\w{0,8}\("
)
_OWN_METHOD = lazy_re.compile(r"(?:self|this|cls)\.[\w.]{0,80}\.(?:remove|delete|drop|clear|cancel|del|empty|flush)\Z")
_BEFORE, _BEHIND, _MAX_PARTS = 300, 500, 12


def _of_file(code: str, run: ProgramRun, where: Where) -> Iterator[Effect]:
    """Code in a file is long, so what is found by several words at once must have them near each other."""
    found = code_effects(code, run, where)
    if run.origin is None or not run.origin.made:
        yield from (effect for effect in found if effect.kind not in _SEARCHED)
        return
    yield from (effect for effect in found if effect.kind != "method" or not _OWN_METHOD.match(effect.target))
    end = 0
    for count, match in enumerate(_TELLING.finditer(code)):
        if match.start() < end or count >= _MAX_PARTS:
            continue
        start, end = max(match.start() - _BEFORE, end), match.end() + _BEHIND
        yield from network_effects(code[start:end], run)


def _names() -> Iterable[str]:
    yield from LANGUAGES
    for name, versions in (
        ("python", ("2", "3", "2.7")),
        ("pypy", ("3",)),
        ("ipython", ("3",)),
        ("lua", ("5.1", "5.2", "5.3", "5.4")),
    ):
        yield from (name + version for version in versions)
    yield from (f"python3.{i}" for i in range(6, 16))
    yield from (f"php{version}" for version in ("7", "8", "7.4", "8.0", "8.1", "8.2", "8.3", "8.4"))
    yield from (f"ruby{version}" for version in ("2.7", "3.0", "3.1", "3.2", "3.3", "3.4"))


PROGRAMS: dict[str, Act] = {
    **dict.fromkeys(_names(), _interpreter),
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(program_catalogue.programs("evaluator"), _evaluated),
    **dict.fromkeys(program_catalogue.programs("powershell_evaluator"), _shell),
}
