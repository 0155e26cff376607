"""Which files an interpreter runs: its script, and what the code of a script takes in from its own folder.

What an interpreter takes from the folders of its own installation is not looked for. Nothing is read here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from posixpath import join, normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.languages import language_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.model.text_answers import kept_by_text

MAX_IMPORTS = 4_000
"""More than fit into code that is read, of ordinary names."""

_MAX_WORDS = 4_000
COLLECTED = ("**conftest.py", "**test_*.py", "**_test.py")
"""What test runners of Python find by themselves; only what agents made is read."""

_STDIN = frozenset({"-"})
_RUNNING = _STDIN | {"run", "test", "serve", "watch"}
"""Sub-commands of `deno`, `bun` and `tsx` before the script."""

_PYTHON = lazy_re.compile(
    r"^[ \t]{0,40}(?:import[ \t]{1,9}(?P<names>[\w.][\w., \t]{0,200})|from[ \t]{1,9}(?P<dots>\.{0,4})(?P<module>[\w.]{0,99})"
    r"[ \t]{1,9}import[ \t]{1,9}\(?(?P<parts>[\w, \t]{0,200}))"
    r"|(?:import_module|__import__)\(\s{0,9}['\"](?P<called>[\w.]{1,100})"
    r"|(?:run_path|open)\(\s{0,9}['\"](?P<path>[^'\"\n]{1,200}\.py)['\"]"
    r"|exec\(\s{0,9}(?:compile\(\s{0,9})?(?:open|Path|pathlib\.Path)\(\s{0,9}['\"](?P<run>[^'\"\n]{1,200})['\"]",
    re.MULTILINE,
)
_PERL = lazy_re.compile(r"^[ \t]{0,40}use[ \t]{1,9}([A-Z]\w{0,60}(?:::\w{1,60}){0,6})", re.MULTILINE)
_FILE_NAME = lazy_re.compile(r"[\w./~-]{1,200}\.[A-Za-z]\w{0,9}\b")
MAX_SEARCHED = 64


def _of_folder(word: str, language: str) -> Iterator[str]:
    """What runs where the script is a folder, or a name without its ending."""
    if "." in word.strip("./"):
        return
    yield from (word + end for end in language_catalogue.known(language).stands)


def scripts(program: ProgramRun, *, only_loaded: bool = False) -> Iterator[str]:
    """The files that an interpreter is named, its script last. `only_loaded`: beside code in its words."""
    language = code_sources.language(program.name)
    for words in code_sources.readings(program):
        yield from _scripts(words, language, only_loaded=only_loaded)


def _scripts(words: CommandWords, language: str, *, only_loaded: bool) -> Iterator[str]:
    for option in islice(words.given, _MAX_WORDS):
        value = option.value.text
        match option.entry.role:
            case "loads":
                yield from _loaded(value, language)
            case "script-from" if value:
                yield value
                if language == "awk":
                    return
            case "module":
                yield from _module_files(value, words.texts)
                return
    before = _RUNNING if language == "javascript" else _STDIN
    if language in ("", "awk") or only_loaded:
        return
    named = [word for word in words.texts if word not in before]
    takes_several = sum(role == "script-from" for role, _ in words.roles) > 1
    for script in islice(named, _MAX_WORDS if takes_several else 1):
        yield script
        yield from _of_folder(script, language)


def _loaded(value: str, language: str) -> Iterator[str]:
    """The files of code that is loaded before the script."""
    if "." in value:
        yield value
    if language in _ENDING_OF_MODULES:
        yield from _module_named(value.partition("=")[0], language)


_ENDING_OF_MODULES = frozenset({"ruby", "perl"})


def _module_files(module: str, words: tuple[str, ...]) -> Iterator[str]:
    """The files that `python -m` runs."""
    if module in ("pytest", "unittest"):
        yield from ("conftest.py", *COLLECTED, *(word for word in words if word.endswith(".py")))
    elif module and module.partition(".")[0] not in sys.stdlib_module_names:
        path = module.replace(".", "/")
        yield from (f"{path}.py", f"{path}/__main__.py")


def _module_named(name: str, language: str) -> Iterator[str]:
    """The files that `ruby -rNAME` and `perl -MNAME` load, where they are not installed."""
    if language == "ruby":
        yield name if name.endswith(".rb") else f"{name}.rb"
    else:
        path = f"{name.split(maxsplit=1)[0].replace('::', '/')}.pm" if name.split() else ""
        yield from (path, f"lib/{path}") if path else ()


def module(program: ProgramRun) -> tuple[str, ...]:
    """The words from the module on that `python3 -m` runs; empty without one."""
    if code_sources.language(program.name) != "python":
        return ()
    for option in code_sources.readings(program)[0].given:
        if option.entry.role == "module" and option.value.text:
            return program.argv[option.value.at :]
    return ()


@kept_by_text
def imported(code: str, language: str, folder: str) -> tuple[tuple[str, ...], ...]:
    """Yields, for each file that code takes in from its folder, the paths at which it may be, of which the first one
    counts."""
    return tuple(_imported(code, language, folder))


def _imported(code: str, language: str, folder: str) -> Iterator[tuple[str, ...]]:
    if language == "python":
        if "import" in code or ".py" in code or "exec(" in code:
            yield from islice(_of_python(code, folder), MAX_IMPORTS)
    elif language == "perl" and "use " in code:
        for name in islice(_PERL.finditer(code), MAX_IMPORTS):
            path = f"{name[1].replace('::', '/')}.pm"
            yield (normpath(join(folder, path)), normpath(join(folder, "lib", path)))
    if language_catalogue.known(language).loads:
        for hit in islice(_statements(language).finditer(code), MAX_IMPORTS):
            yield from _of_statement(hit, language, folder)
        if not code_sources.is_parsed(language_catalogue.known(language).programs.split()[0]):
            yield from _of_any_word(code, language, folder)


def _of_any_word(code: str, language: str, folder: str) -> Iterator[tuple[str, ...]]:
    """The files that code names anywhere if it loads one by something else than a text: nobody follows its variables."""
    words = language_catalogue.known(language).loads.split()
    if re.search(rf"\b(?:{'|'.join(words)})\b\s{{0,4}}\(?\s{{0,4}}[^\s'\"(]", code):
        for name in islice(dict.fromkeys(_FILE_NAME.findall(code)), MAX_SEARCHED):
            yield from (_with_endings(start, name, language) for start in dict.fromkeys((folder, "")))


@lru_cache(maxsize=32)
def _statements(language: str) -> re.Pattern[str]:
    """The statements of a language that load code from a file."""
    words = "|".join(language_catalogue.known(language).loads.split())
    return re.compile(
        rf"\b(?P<word>{words})\b\s{{0,4}}\(?\s{{0,4}}"
        r"(?P<beside>__DIR__\s{0,2}\.\s{0,2})?['\"](?P<path>[^'\"\n]{1,200})['\"]"
    )


def _of_statement(match: re.Match[str], language: str, folder: str) -> Iterator[tuple[str, ...]]:
    """The files that one statement takes in: a package, or a file named by its path."""
    if match["beside"] is not None:
        yield _with_endings(folder, match["path"].lstrip("/"), language)
    else:
        yield from named(match["word"], match["path"], language, folder)


def named(word: str, path: str, language: str, folder: str) -> Iterator[tuple[str, ...]]:
    """The files that a word of a language takes in under a name. Without a word, the name is a path as programs open it."""
    if path[:1] == UNKNOWN:  # most often the folder of the script
        path = f"./{path.lstrip(UNKNOWN + '/')}"
    if UNKNOWN in path:
        return
    if not word:
        yield (path,)
    elif language == "python":
        yield from _module(path, folder)
    elif language == "javascript" and path[:1] not in "./":
        inside = f"node_modules/{path}"
        yield tuple(normpath(join(folder, option)) for option in (f"{inside}/index.js", f"{inside}.js", f"{inside}/main.js"))
    elif word in language_catalogue.known(language).nearby.split():  # from the folder where the program runs as well
        yield from (_with_endings(start, path, language) for start in dict.fromkeys((folder, "")))
    elif path.startswith(("./", "../", "/")):
        yield _with_endings(folder, path, language)


def _with_endings(folder: str, path: str, language: str) -> tuple[str, ...]:
    """The files that a name may mean, in the order in which they are looked for."""
    known = language_catalogue.known(language)
    if not known.endings or "." in path.rpartition("/")[2]:
        # Code may put the name together, or the name has a dot of its own: the ending may be missing here.
        names = [path, *(path + ending for ending in known.endings or known.files.split())]
        if known.dotted and "/" not in path:
            names += [path.replace(".", "/") + ending for ending in known.endings]
    else:
        names = [path + ending for ending in known.endings]
    return tuple(normpath(join(folder, name)) for name in names)


def _of_python(code: str, folder: str) -> Iterator[tuple[str, ...]]:
    for match in _PYTHON.finditer(code):
        if path := match["path"] or match["run"]:
            yield (path,)
        elif match["names"]:
            for name in match["names"].split(","):
                words = name.split()
                yield from _module(words[0], folder) if words else ()
        elif match["called"]:
            yield from _module(match["called"], folder)
        else:  # `from ..x import y`: one dot is the folder itself, each further one the folder above
            above = normpath(join(folder, "../" * max(len(match["dots"]) - 1, 0)))
            if match["module"]:
                yield from _module(match["module"], above)
            else:
                for part in match["parts"].split(","):
                    yield from _module(part.split()[0], above) if part.split() else ()


def _module(name: str, folder: str) -> Iterator[tuple[str, ...]]:
    path = normpath(join(folder, name.replace(".", "/")))
    yield f"{path}.py", f"{path}/__init__.py"


def searched(program: ProgramRun, variables: Mapping[str, str | tuple[str, ...]]) -> list[str]:
    """Further folders in which an interpreter looks for modules: of variables, and of `-I`."""
    language = code_sources.language(program.name)
    folders = list[str]()
    for name in language_catalogue.known(language).folders if variables or program.assigns else ():
        value = next((value for given, value in reversed(program.assigns) if given == name), variables.get(name))
        folders += value.split(":") if isinstance(value, str) else ()
    if language in ("perl", "ruby"):
        folders += [value.text for value in islice(program.words.values("-I"), MAX_SEARCHED)]
    return [folder for folder in folders if folder][:MAX_SEARCHED]


def is_unlikely(path: str) -> bool:
    """Whether a module is probably not taken from this path, but from an installation: only what agents made is read."""
    name = path.rpartition("/")[2]
    is_standard = name.endswith(".py") and name.removesuffix(".py") in sys.stdlib_module_names
    return is_standard or name == "__init__.py" or name.endswith(".pm") or "node_modules/" in path
