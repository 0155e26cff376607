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
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs import accepted_keys, instruction_files
from toolguard_engine.effects.programs.unpacking import unpacks
from toolguard_engine.effects.programs.web_targets import host_flags, target
from toolguard_engine.effects.programs.wrappers import SHELLS

_RUNNERS = program_catalogue.programs("fetched_file_runner")
_KEEPERS = program_catalogue.programs("output_keeper")
UNPACKERS = manual_catalogue.doing("unpacks")
CLONERS = program_catalogue.programs("cloner")


def downloaded_then_run(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
    got: dict[str, ProgramRun] = {}
    for effect in found:
        if effect.kind == "write" and "fetched" in effect.flags and effect.run is not None:
            got[effect.target.rpartition("/")[2]] = effect.run
        elif effect.kind == "copy-in" and effect.run is not None and not effect.flags & {"private", "local"}:
            got[effect.target.rpartition(":")[2].rpartition("/")[2]] = effect.run
    for run in reading.runs:
        if run.name in FETCHERS | DECODERS or (run.stdin is not None and run.stdin.programs):
            for redirect in run.redirects:
                if redirect.kind in ("write", "append") and redirect.fd in ("", "1") and not is_device(redirect.target):
                    maker = {run.name, *(run.stdin.programs if run.stdin else ())}
                    if maker & (FETCHERS | DECODERS):
                        got[redirect.target.rpartition("/")[2]] = run
    got.pop("", None)
    if not got:
        return
    seen: set[int] = set()
    for run in reading.runs:
        seen.add(id(run))
        name = _downloaded_file(run, got)
        if name and id(got[name]) in seen and got[name] is not run:
            flags = {"fetched", "later"} if got[name].name not in DECODERS else {"decoded", "later"}
            yield Effect("run-text", name, "", frozenset(flags), run)


def fetched_instructions(reading: Reading) -> Iterator[Effect]:
    """`curl ... | make -f -`, `java -jar <(curl ...)`: what another machine sends is done by a program that is no shell."""
    for run in reading.runs:
        for at in instruction_files.sources(run) if run.given or run.stdin is not None else ():
            is_input = at == instruction_files.STDIN
            if is_input or not option_parser.value_in(run.argv[at]).strip(UNKNOWN):
                yield from hidden_text(run, run.stdin if is_input else dict(run.given).get(at), piped=False)


def _is_fed_by_fetcher(run: ProgramRun) -> bool:
    return run.stdin is not None and not FETCHERS.isdisjoint(run.stdin.programs)


def cloned_then_run(reading: Reading) -> Iterator[Effect]:
    """`git clone URL && cd x && ./install.sh`, `make -C x install`, `tar xf x.tgz && ./x/install.sh`: scripts that came with
    it, run unseen."""
    folders: set[str] = set()
    foreign: set[str] = set()
    unpacked = False
    for at, run in enumerate(reading.runs, 1):
        if run.name in CLONERS:
            address, folder = _cloned(run)
            if address:
                folders.add(folder)
            if address and _is_foreign(address):
                foreign.add(folder)
        elif run.name in UNPACKERS and (run.stdin is not None or unpacks(run)):
            folders.update(_entered_after(reading, at, run) if _is_fed_by_fetcher(run) else ())
            unpacked = True
        elif (folders and (script := _script_in(run, folders) or (foreign and _built_in(run, foreign)))) or (
            unpacked and (script := _unpacked_installer(run))
        ):
            yield Effect("run-text", script, "", frozenset({"fetched", "later"}), run)


def _cloned(run: ProgramRun) -> tuple[str, str]:
    """The address and the folder of `git clone`, `gh repo clone`, `hg clone` and `svn checkout`; empty for anything else."""
    spelled = (*run.words.verb.split(), *run.words.texts)
    at = next((at for at, word in enumerate(spelled[:3], 1) if word in ("clone", "checkout", "co")), 0)
    words = spelled[at:] if at else ()
    if not words:
        return "", ""
    far = "://" in words[0] or "@" in words[0] or run.name not in ("git", "hg", "svn")
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


def _built_in(run: ProgramRun, folders: set[str]) -> str:
    """What builds, installs or starts the content of one of these folders."""
    inside = not folders.isdisjoint(run.cwd.split("/"))
    if not inside and folders.isdisjoint("/".join(run.argv[:_FEW]).split("/")):
        return ""
    if "/" in run.argv[0] and not run.argv[0].startswith(("/", "~")):
        return run.argv[0]
    if run.name in _PROJECT_BUILDERS:
        plain = run.name in _BUILD_TOOLS or not _BUILDS.isdisjoint(run.argv[1:_FEW]) or len(run.argv) == 1
        return " ".join(run.argv[:3]) if plain and not run.words.has("--version") else ""
    return ""


_FEW = 8
_BUILD_TOOLS = program_catalogue.programs("build_tool")
_PROJECT_BUILDERS = program_catalogue.programs("build_tool", "build_runner", "container", "project_installer")
_INSTALLER = lazy_re.compile(r"(?:[^/]{1,200}/){0,9}(?:install|setup|bootstrap)[\w-]{0,20}(?:\.(?:sh|bash|py|pl|rb|run))?")


def _unpacked_installer(run: ProgramRun) -> str:
    """An installer that runs, by its path, from the current folder or one below it."""
    word = run.argv[0] if "/" in run.argv[0] else ""
    if not word and (run.name in SHELLS or run.name in (".", "source") or run.name.startswith("python")):
        word = "".join(run.words.texts[:1])
    return word if _INSTALLER.fullmatch(word) and not word.startswith(("~", "..")) else ""


def _entered_after(reading: Reading, at: int, unpacked: ProgramRun) -> Iterator[str]:
    """The folders that the command enters, or runs programs of, from `at` on, after it has unpacked something there."""
    for run in reading.runs[at : at + MAX_PARTNERS]:
        if run.cwd and run.cwd != unpacked.cwd:
            yield run.cwd.rstrip("/").rpartition("/")[2]
        if "/" in run.argv[0] and not run.argv[0].startswith(("/", "~", "./")):
            yield run.argv[0].partition("/")[0]


_INSTALLS = lazy_re.compile(r"install|setup|bootstrap|\.(?:sh|bash|py|pl|rb)\Z")
"""Scripts that do more than build: `./gradlew build` and `./configure` of a clone are ordinary."""


def _script_in(run: ProgramRun, folders: set[str]) -> str:
    """What the run executes out of one of these folders: a script, or the targets of `make install`."""
    inside = not folders.isdisjoint(run.cwd.split("/"))
    if run.name in ("make", "gmake"):
        named = any(not folders.isdisjoint(word.split("/")) for word in run.argv[1:])
        return "Makefile" if "install" in run.argv[1:] and (inside or named) else ""
    candidates = [run.argv[0]] if "/" in run.argv[0] else []
    if run.name in SHELLS or run.name in (".", "source", "perl", "ruby", "node") or run.name.startswith("python"):
        candidates += run.words.texts[:2]
    for word in candidates:
        if not _INSTALLS.search(word):
            continue
        if not folders.isdisjoint(word.split("/")[:-1]) or (inside and not word.startswith(("/", "~"))):
            return word
    return ""


def _downloaded_file(run: ProgramRun, got: dict[str, ProgramRun]) -> str:
    """The downloaded file that this run executes, directly or as the script of an interpreter."""
    own = run.argv[0].rpartition("/")[2]
    if own in got and "/" in run.argv[0]:
        return own
    if language(run.name) and (name := loaded_files.loaded(run, got)):
        return name
    for at in instruction_files.sources(run):
        name = option_parser.value_in(run.argv[at]).rpartition("/")[2]
        if at != instruction_files.STDIN and name in got:
            return name
    if run.name in _RUNNERS or run.name.startswith(("python", "pypy")):
        if run.name == "chmod" and not any("x" in word or "7" in word or "5" in word for word in run.argv[1:3]):
            return ""
        for word in _run_words(run):
            name = word.rpartition("/")[2]
            if name in got:
                return name
        for redirect in run.redirects:
            if redirect.kind == "read" and redirect.target.rpartition("/")[2] in got and run.name in SHELLS:
                return redirect.target.rpartition("/")[2]
    return ""


def _run_words(run: ProgramRun) -> tuple[str, ...]:
    """The words of which one may be a file that runs: what follows the script of an interpreter is its data."""
    words = run.argv[1:8]
    if not language(run.name):
        return words
    options = set(run.words.option_words(run.argv))
    named = (at for at, word in enumerate(words) if word not in options and "." in word.rpartition("/")[2])
    script = next(named, len(words))
    return words[: script + 1]


def fetched_command(reading: Reading) -> Iterator[Effect]:
    """`$(curl ...)`: what another machine sends is the command itself."""
    for run in reading.runs:
        if run.name.startswith(UNKNOWN):
            for at, feed in run.given:
                if at == 0:
                    yield from hidden_text(run, feed, piped=False)


def run_from_variable(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
    """`x=$(curl ...); eval "$x"`: what was fetched is kept in a variable, or read line by line, and then runs."""
    piped = [run for run in reading.runs if run.name in FETCHERS and run.piped]
    fetchers = [run for run in piped[:MAX_PARTNERS] if _is_last(run, reading)]
    if not fetchers:
        return
    evaluated = any(effect.kind == "run-text" and "variable" in effect.flags for effect in found)
    if evaluated or any(run.name.startswith(UNKNOWN) and not run.given for run in reading.runs):
        yield Effect("run-text", fetchers[0].name, "", frozenset({"fetched"}), fetchers[0])


def _is_last(run: ProgramRun, reading: Reading) -> bool:
    """Whether its output is kept unchanged: no program of its pipeline except `read` takes it."""
    after = (
        other for other in reading.runs if other.pipeline == run.pipeline and other is not run and other.stdin is not None
    )
    return all(other.name in _KEEPERS or other.name.startswith(UNKNOWN) for other in after)


def run_by_xargs(reading: Reading) -> Iterator[Effect]:
    """`curl ... | xargs -I{} sh -c {}`: the text that runs arrives through the wrapper's pipe."""
    for run in reading.runs:
        if run.name in SHELLS and run.via[-1:] in (("xargs",), ("parallel",)) and UNKNOWN in run.argv[2:]:
            unknown = (
                other.stdin
                for other in reading.runs
                if other.name == run.via[-1] and other.stdin is not None and other.stdin.text is None
            )
            if source := next(unknown, None):
                kind = "fetched" if FETCHERS.intersection(source.programs) else "unknown"
                yield Effect("run-text", " | ".join(source.programs[:6]), "", frozenset({kind}), run)
