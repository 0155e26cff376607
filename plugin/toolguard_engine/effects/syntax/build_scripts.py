"""What the files of build tools run: CMake, the XML of Ant, Maven and MSBuild, Ninja."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from shlex import quote, split

from toolguard_engine import lazy_re
from toolguard_engine.effects.syntax.project_files import Lines

_MAX_ARGUMENTS = 65_536
_MAX_PROPERTY = 2_000
"""A property may contain itself twice, again and again."""
_CMAKE_CALL = lazy_re.compile(
    r"\b(set|execute_process|add_custom_command|add_custom_target|file|include|add_subdirectory|exec_program|add_test)\s{0,9}\(",
    re.IGNORECASE,
)
_CMAKE_WORD = lazy_re.compile(r"\"((?>(?:[^\"\\]|\\.){0,60000}))\"|\[\[(.{0,1000}?)\]\]|([^\s()\"#]{1,400}+)")
_CMAKE_ENDS = frozenset(
    """
    COMMAND WORKING_DIRECTORY TIMEOUT RESULT_VARIABLE RESULTS_VARIABLE OUTPUT_VARIABLE ERROR_VARIABLE INPUT_FILE OUTPUT_FILE
    ERROR_FILE OUTPUT_QUIET ERROR_QUIET COMMAND_ECHO ENCODING ECHO_OUTPUT_VARIABLE OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL DEPENDS COMMENT VERBATIM BYPRODUCTS MAIN_DEPENDENCY USES_TERMINAL
    SOURCES ARGS
    """.split()  # noqa: SIM905 - a table of names
)
_HOME = lazy_re.compile(r"\$ENV\{HOME\}|\$\{user\.home\}|\$\{env\.HOME\}|\$\(HOME\)|%HOME%|%USERPROFILE%")
_CMAKE_OWN = lazy_re.compile(
    r"\$\{(?:CMAKE_)?(?:CURRENT_)?(?:SOURCE_DIR|LIST_DIR|BINARY_DIR|PROJECT_SOURCE_DIR)\}|\$\{CMAKE_\w{1,20}_DIR\}"
)


def _in_home(text: str) -> str:
    return _HOME.sub("~", text)


def _word(text: str) -> str:
    """A word for a shell, in which a leading tilde still means the home folder."""
    return f"~/{quote(text[2:])}" if text.startswith("~/") else quote(text)


def cmake(text: str) -> Lines:
    lines: Lines = []
    known: dict[str, str] = {}
    end = 0
    for call in _CMAKE_CALL.finditer(text):
        if call.start() < end:  # a call within the words of another one
            continue
        given, end = _arguments(text, call.end())
        words = [_with_values(word, known) for word in given]
        if call[1].lower() == "set":
            _keep(known, words[0] if words else "", "".join(words[1:2]))
        else:
            lines += [(call.start() + 1, command) for command in _of_call(call[1].lower(), words)]
    return lines


_PROPERTY = lazy_re.compile(r"\$[{(]([\w.:-]{1,80})[)}]")
_MAX_ROUNDS = 4
_PROJECT_FOLDER = "build/"
"""What a property stands for that a project does not define itself: one of its own folders."""


def _with_values(text: str, known: dict[str, str]) -> str:
    """A text with the properties that a project defines; they may contain others."""
    text = _CMAKE_OWN.sub(".", _in_home(text))
    for _ in range(_MAX_ROUNDS):
        if "$" not in text or not _PROPERTY.search(text):
            break
        text = _PROPERTY.sub(lambda match: known.get(match[1], match[0]), text)[:_MAX_ARGUMENTS]
    return _PROPERTY.sub(lambda match: match[0] if match[1] in _KEPT else _PROJECT_FOLDER, _in_home(text))


_KEPT = frozenset({"CMAKE_COMMAND"})


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    """The words of a call, and where they end."""
    depth, words = 1, list[str]()
    while at < len(text) and depth:
        if text[at] in "()":
            depth += 1 if text[at] == "(" else -1
            at += 1
        elif text[at] == "#":
            at = (text.find("\n", at) + 1) or len(text)
        elif match := _CMAKE_WORD.match(text, at):
            words.append(next(group for group in match.groups() if group is not None).replace('\\"', '"'))
            at = match.end()
        else:
            at += 1
    return words, at


def _of_call(name: str, words: list[str]) -> Iterator[str]:
    if name == "file":
        if words[:1] in (["REMOVE_RECURSE"], ["REMOVE"]):
            option = "-rf" if words[0] == "REMOVE_RECURSE" else "-f"
            yield f"rm {option} {' '.join(map(_word, words[1:]))}"
        elif words[:1] in (["WRITE"], ["APPEND"]) and len(words) > 2:  # noqa: PLR2004 - the file and its content
            yield f"printf %s {quote(words[2])} >> {_word(words[1])}"
        elif words[:1] == ["DOWNLOAD"] and len(words) > 2:  # noqa: PLR2004 - the address and the file
            yield f"curl -o {_word(words[2])} {quote(words[1])}"
    elif name in ("include", "add_subdirectory"):
        if words and "." in words[0] + "." * (name != "include"):
            yield f"cmake -P {quote(words[0] if name == 'include' else words[0] + '/CMakeLists.txt')}"
    elif name == "exec_program":
        yield " ".join(map(_word, (word for word in words if word not in _CMAKE_ENDS)))
    else:
        for at, word in enumerate(words):
            if word == "COMMAND":
                end = next((n for n in range(at + 1, len(words)) if words[n] in _CMAKE_ENDS), len(words))
                yield _cmake_command(words[at + 1 : end])


_CMAKE_TOOLS = {"rm": ["rm"], "remove": ["rm"], "remove_directory": ["rm", "-r"], "copy": ["cp"], "env": ["env"]}


def _cmake_command(words: list[str]) -> str:
    match words:
        case ["${CMAKE_COMMAND}", "-E", tool, *rest]:
            words = [*_CMAKE_TOOLS.get(tool, [":"]), *rest]
    return " ".join(map(_word, words))


_GIVEN = r"[\w:.-]{1,40}\s{0,4}=\s{0,4}(?:\"[^\"<]{0,60000}+\"|'[^'<]{0,60000}+')"
_TAG = lazy_re.compile(rf"<(/?)([\w:.-]{{1,60}})((?:\s{{1,9}}{_GIVEN}){{0,40}})\s{{0,9}}/?>")
_ATTRIBUTE = lazy_re.compile(r"([\w:.-]{1,40})\s{0,4}=\s{0,4}(?:\"([^\"<]{0,60000}+)\"|'([^'<]{0,60000}+)')")
_ENTITY = lazy_re.compile(r"&(?:#0*+(\d{1,7})|#x0*+([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
"""All that XML has: HTML's two thousand take half a megabyte."""
_SURROGATES = range(0xD800, 0xE000)
_STARTING = frozenset({"exec", "apply", "executable", "commandline", "execjava"})
_ADDING = frozenset({"arg", "argument", "commandlineargs", "args"})
_DELETING = frozenset({"delete", "removedir", "deletedir"})


def _added_words(name: str, given: dict[str, str], content: str) -> list[str]:
    """The words that an element adds to the program that is being put together."""
    if line := given.get("line") or (content if name in ("commandlineargs", "args") else ""):
        return _split(line)
    return [given.get("value") or given.get("path") or given.get("file") or content]


def _unescaped(text: str) -> str:
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    if entity[3]:
        return _NAMED[entity[3]]
    code = int(entity[1]) if entity[1] else int(entity[2], 16)
    return chr(code) if code <= sys.maxunicode and code not in _SURROGATES else "\ufffd"


def build_xml(text: str) -> Lines:
    """Elements of Ant, Maven and MSBuild that run a program or delete something."""
    lines: Lines = []
    at, words = 0, list[str]()
    known: dict[str, str] = {}
    for tag in _TAG.finditer(text):
        if tag[1]:
            continue
        name = tag[2].rpartition(":")[2]
        given = {match[1].lower(): _unescaped(match[2] or match[3] or "") for match in _ATTRIBUTE.finditer(tag[3])}
        content = _unescaped(text[tag.end() : text.find("<", tag.end())][:_MAX_CONTENT]).strip()
        _define(known, name, given, content)
        given = {key: _with_values(value, known) for key, value in given.items()}
        content = _with_values(content, known)
        name = name.lower()
        if name in _DELETING:
            paths = [given[key] for key in ("dir", "file", "directories", "files", "includes") if given.get(key)]
            lines += [(tag.start() + 1, f"rm -rf {_word(path)}") for path in paths]
        elif name in _STARTING:
            lines += _ended(at, words)
            command = given.get("command", "")
            at = tag.start() + 1
            lines += [(at, command)] if command else []
            words = list(filter(None, (given.get("executable") or content,)))
        elif name in _ADDING and words:
            words += _added_words(name, given, content)
    return lines + _ended(at, words)


_MAX_CONTENT = 65_536


def _define(known: dict[str, str], name: str, given: dict[str, str], content: str) -> None:
    """`<property name="x" value="y"/>` of Ant, `<x>y</x>` of Maven and MSBuild."""
    if name.lower() == "property" and "name" in given:
        _keep(known, given["name"], given.get("value") or given.get("location") or given.get("file", ""))
    elif content:
        _keep(known, name, content)


def _keep(known: dict[str, str], name: str, value: str) -> None:
    """Keep the value that leads out of the project: which of several a build uses is not known."""
    if name not in known or _in_home(value)[:1] in ("~", "/", "$"):
        known[name] = value[:_MAX_PROPERTY]


def _ended(at: int, words: list[str]) -> Lines:
    return [(at, " ".join([words[0] if len(words) == 1 else quote(words[0]), *map(_word, words[1:])]))] if words else []


def _split(line: str) -> list[str]:
    try:
        return split(line)
    except ValueError:
        return line.split()


_NINJA = lazy_re.compile(r"^[ \t]{1,20}command[ \t]{0,9}=[ \t]{0,9}((?>(?:[^$\n]|\$[^\n]|\$\n){1,60000}))", re.MULTILINE)


_NINJA_SETS = lazy_re.compile(r"^[ \t]{0,20}(\w{1,60})[ \t]{0,9}=[ \t]{0,9}([^\n]{0,60000})$", re.MULTILINE)
_NINJA_NAME = lazy_re.compile(r"\$\{?(\w{1,60})\}?")


def ninja(text: str) -> Lines:
    known: dict[str, str] = {}
    for match in _NINJA_SETS.finditer(text):
        _keep(known, match[1], match[2])
    rules = ((hit.start(1) + 1, hit[1].replace("$\n", " ").replace("$in", "source")) for hit in _NINJA.finditer(text))
    return [(at, _NINJA_NAME.sub(lambda name: known.get(name[1], "out"), command)) for at, command in rules]
