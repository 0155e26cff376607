"""Finds shell commands in the text of code: for languages that are not parsed, and for code that is too long."""

from __future__ import annotations

import re
import shlex

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.code_sources import MAX_CODE
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.programs.code_search import MAX_FOUND, any_of, found_in, text_of
from toolguard_engine.effects.programs.code_text import STRING

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
    if reads_as_command(code):
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


def reads_as_command(code: str) -> bool:
    """Whether the code is a shell command: no interpreter accepts `rm -rf /`, but it shows what is intended."""
    words = code[:200].split(None, 2)
    if len(words) < 2 or words[0] not in _SHELLISH:  # noqa: PLR2004 - a program and a word
        return False
    second = words[1]
    return second[:1] in "-/~." or (second[:1].isalnum() and len(words) > 2 and words[2][:1] in "-/~.")  # noqa: PLR2004 - the same
