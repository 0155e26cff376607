"""What is fetched from another machine, cloned or unpacked, and then run."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import loaded_files
from toolguard_engine.effects.commands.code_sources import language
from toolguard_engine.effects.commands.combinations import MAX_PARTNERS
from toolguard_engine.effects.commands.interpreters import DECODERS, FETCHERS, hidden_text
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import is_device
from toolguard_engine.effects.facts.web_targets import host_flags, target
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs import accepted_keys, instruction_files
from toolguard_engine.effects.programs.unpacking import unpacks
from toolguard_engine.effects.programs.wrappers import SHELLS

_SOURCING = frozenset({".", "source"})
_RUNNERS = program_catalogue.programs("fetched_file_runner")
_KEEPERS = program_catalogue.programs("output_keeper")
UNPACKERS = manual_catalogue.doing("unpacks")
CLONERS = program_catalogue.programs("cloner")


def downloaded_then_run(reading: Reading, effects: tuple[Effect, ...]) -> Iterator[Effect]:
    # By the last part of a path: the folder may have changed in between, and one name fetched and run is hardly chance.
    got: dict[str, ProgramRun] = {}
    for effect in effects:
        if effect.kind == "write" and "fetched" in effect.flags and effect.program is not None:
            got[effect.target.rpartition("/")[2]] = effect.program
        elif effect.kind == "copy-in" and effect.program is not None and not effect.flags & {"private", "local"}:
            got[effect.target.rpartition(":")[2].rpartition("/")[2]] = effect.program
    for program in reading.runs:
        if program.name in FETCHERS | DECODERS or (program.stdin is not None and program.stdin.programs):
            for redirect in program.redirects:
                if redirect.kind in ("write", "append") and redirect.fd in ("", "1") and not is_device(redirect.target):
                    maker = {program.name, *(program.stdin.programs if program.stdin else ())}
                    if maker & (FETCHERS | DECODERS):
                        got[redirect.target.rpartition("/")[2]] = program
    got.pop("", None)
    if not got:
        return
    seen: set[int] = set()
    for program in reading.runs:
        seen.add(id(program))
        name = _downloaded_file(program, got)
        if name and id(got[name]) in seen and got[name] is not program:
            flags = {"fetched", "later"} if got[name].name not in DECODERS else {"decoded", "later"}
            yield Effect("run-text", name, "", frozenset(flags), program)


def fetched_instructions(reading: Reading) -> Iterator[Effect]:
    """`curl ... | make -f -`, `java -jar <(curl ...)`: what another machine sends is done by a program that is no shell."""
    for program in reading.runs:
        for at in instruction_files.sources(program) if program.given or program.stdin is not None else ():
            is_input = at == instruction_files.STDIN
            if is_input or not option_parser.value_in(program.argv[at]).strip(UNKNOWN):
                yield from hidden_text(program, program.stdin if is_input else dict(program.given).get(at), piped=False)


def _is_fed_by_fetcher(program: ProgramRun) -> bool:
    return program.stdin is not None and not FETCHERS.isdisjoint(program.stdin.programs)


def cloned_then_run(reading: Reading) -> Iterator[Effect]:
    """`git clone URL && cd x && ./install.sh`, `make -C x install`, `tar xf x.tgz && ./x/install.sh`: scripts that came with
    it, run unseen."""
    folders: set[str] = set()
    foreign: set[str] = set()
    unpacked = False
    for at, program in enumerate(reading.runs, 1):
        if program.name in CLONERS:
            address, folder = _cloned(program)
            if address:
                folders.add(folder)
            if address and _is_foreign(address):
                foreign.add(folder)
        elif program.name in UNPACKERS and (program.stdin is not None or unpacks(program)):
            folders.update(_entered_after(reading, at, program) if _is_fed_by_fetcher(program) else ())
            unpacked = True
        elif (folders and (script := _script_in(program, folders) or (foreign and _built_in(program, foreign)))) or (
            unpacked and (script := _unpacked_installer(program))
        ):
            yield Effect("run-text", script, "", frozenset({"fetched", "later"}), program)


def _cloned(program: ProgramRun) -> tuple[str, str]:
    """The address and the folder of `git clone`, `gh repo clone`, `hg clone` and `svn checkout`; empty for anything else."""
    spelled = (*program.words.verb.split(), *program.words.texts)
    at = next((at for at, word in enumerate(spelled[:3], 1) if word in ("clone", "checkout", "co")), 0)
    words = spelled[at:] if at else ()
    if not words:
        return "", ""
    far = "://" in words[0] or "@" in words[0] or program.name not in ("git", "hg", "svn")
    return words[0] if far else "", words[-1].rstrip("/").rpartition("/")[2].removesuffix(".git")


def _is_foreign(address: str) -> bool:
    """Whether a repository comes from neither the own network nor a host that everybody knows as one for code."""
    host = target(address).host if "://" in address else address.rpartition("@")[2].partition(":")[0]
    if "/" in host or not host or ("." not in host and "://" not in address):
        return False  # `gh repo clone owner/name`
    return not host_flags(host) & {"local", "private"} and not accepted_keys.is_code_host(host)


_BUILDS = frozenset(
    "install i ci run start test exec build develop bootstrap all compile up check bench package assemble sync add".split()  # noqa: SIM905
)


def _built_in(program: ProgramRun, folders: set[str]) -> str:
    """What builds, installs or starts the content of one of these folders."""
    inside = not folders.isdisjoint(program.cwd.split("/"))
    if not inside and folders.isdisjoint("/".join(program.argv[:_FEW]).split("/")):
        return ""
    if "/" in program.argv[0] and not program.argv[0].startswith(("/", "~")):
        return program.argv[0]
    if program.name in _PROJECT_BUILDERS:
        plain = program.name in _BUILD_TOOLS or not _BUILDS.isdisjoint(program.argv[1:_FEW]) or len(program.argv) == 1
        return " ".join(program.argv[:3]) if plain and not program.words.has("--version") else ""
    return ""


_FEW = 8
_BUILD_TOOLS = program_catalogue.programs("build_tool")
_PROJECT_BUILDERS = program_catalogue.programs("build_tool", "build_runner", "container", "project_installer")
_INSTALLER = lazy_re.compile(r"(?:[^/]{1,200}/){0,9}(?:install|setup|bootstrap)[\w-]{0,20}(?:\.(?:sh|bash|py|pl|rb|run))?")


def _unpacked_installer(program: ProgramRun) -> str:
    """An installer that runs, by its path, from the current folder or one below it."""
    word = program.argv[0] if "/" in program.argv[0] else ""
    if not word and (program.name in SHELLS or program.name in _SOURCING or program.name.startswith("python")):
        word = "".join(program.words.texts[:1])
    return word if _INSTALLER.fullmatch(word) and not word.startswith(("~", "..")) else ""


def _entered_after(reading: Reading, at: int, unpacked: ProgramRun) -> Iterator[str]:
    """The folders that the command enters, or runs programs of, from `at` on, after it has unpacked something there."""
    for program in reading.runs[at : at + MAX_PARTNERS]:
        if program.cwd and program.cwd != unpacked.cwd:
            yield program.cwd.rstrip("/").rpartition("/")[2]
        if "/" in program.argv[0] and not program.argv[0].startswith(("/", "~", "./")):
            yield program.argv[0].partition("/")[0]


_INSTALLS = lazy_re.compile(r"install|setup|bootstrap|\.(?:sh|bash|py|pl|rb)\Z")
"""Scripts that do more than build: `./gradlew build` and `./configure` of a clone are ordinary."""


def _script_in(program: ProgramRun, folders: set[str]) -> str:
    """What the run executes out of one of these folders: a script, or the targets of `make install`."""
    inside = not folders.isdisjoint(program.cwd.split("/"))
    if program.name in ("make", "gmake"):
        named = any(not folders.isdisjoint(word.split("/")) for word in program.argv[1:])
        return "Makefile" if "install" in program.argv[1:] and (inside or named) else ""
    candidates = [program.argv[0]] if "/" in program.argv[0] else []
    if program.name in SHELLS or program.name in _SOURCING or language(program.name):
        candidates += program.words.texts[:2]
    for word in candidates:
        if not _INSTALLS.search(word):
            continue
        if not folders.isdisjoint(word.split("/")[:-1]) or (inside and not word.startswith(("/", "~"))):
            return word
    return ""


def _downloaded_file(program: ProgramRun, got: dict[str, ProgramRun]) -> str:
    """The downloaded file that this run executes, directly or as the script of an interpreter."""
    own = program.argv[0].rpartition("/")[2]
    if own in got and "/" in program.argv[0]:
        return own
    if language(program.name) and (name := loaded_files.loaded(program, got)):
        return name
    for at in instruction_files.sources(program):
        name = option_parser.value_in(program.argv[at]).rpartition("/")[2]
        if at != instruction_files.STDIN and name in got:
            return name
    if program.name in _RUNNERS or program.name.startswith(("python", "pypy")):
        if program.name == "chmod" and not any("x" in word or "7" in word or "5" in word for word in program.argv[1:3]):
            return ""
        for word in _run_words(program):
            name = word.rpartition("/")[2]
            if name in got:
                return name
        for redirect in program.redirects:
            if redirect.kind == "read" and redirect.target.rpartition("/")[2] in got and program.name in SHELLS:
                return redirect.target.rpartition("/")[2]
    return ""


def _run_words(program: ProgramRun) -> tuple[str, ...]:
    """The words of which one may be a file that runs: what follows the script of an interpreter is its data."""
    words = program.argv[1:8]
    if not language(program.name):
        return words
    options = set(program.words.option_words(program.argv))
    named = (at for at, word in enumerate(words) if word not in options and "." in word.rpartition("/")[2])
    script = next(named, len(words))
    return words[: script + 1]


def fetched_command(reading: Reading) -> Iterator[Effect]:
    """`$(curl ...)`: what another machine sends is the command itself."""
    for program in reading.runs:
        if program.name.startswith(UNKNOWN):
            for at, feed in program.given:
                if at == 0:
                    yield from hidden_text(program, feed, piped=False)


def run_from_variable(reading: Reading, effects: tuple[Effect, ...]) -> Iterator[Effect]:
    """`x=$(curl ...); eval "$x"`: what was fetched is kept in a variable, or read line by line, and then runs."""
    piped = [program for program in reading.runs if program.name in FETCHERS and program.piped]
    fetchers = [program for program in piped[:MAX_PARTNERS] if _is_last(program, reading)]
    if not fetchers:
        return
    evaluated = any(effect.kind == "run-text" and "variable" in effect.flags for effect in effects)
    if evaluated or any(program.name.startswith(UNKNOWN) and not program.given for program in reading.runs):
        yield Effect("run-text", fetchers[0].name, "", frozenset({"fetched"}), fetchers[0])


def _is_last(program: ProgramRun, reading: Reading) -> bool:
    """Whether its output is kept unchanged: no program of its pipeline except `read` takes it."""
    after = (
        other
        for other in reading.runs
        if other.pipeline == program.pipeline and other is not program and other.stdin is not None
    )
    return all(other.name in _KEEPERS or other.name.startswith(UNKNOWN) for other in after)


def run_by_xargs(reading: Reading) -> Iterator[Effect]:
    """`curl ... | xargs -I{} sh -c {}`: the text that runs arrives through the wrapper's pipe."""
    for program in reading.runs:
        if program.name in SHELLS and program.via[-1:] in (("xargs",), ("parallel",)) and UNKNOWN in program.argv[2:]:
            unknown = (
                other.stdin
                for other in reading.runs
                if other.name == program.via[-1] and other.stdin is not None and other.stdin.text is None
            )
            if source := next(unknown, None):
                kind = "fetched" if FETCHERS.intersection(source.programs) else "unknown"
                yield Effect("run-text", " | ".join(source.programs[:6]), "", frozenset({kind}), program)
