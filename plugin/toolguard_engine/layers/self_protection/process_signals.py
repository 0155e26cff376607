"""Finds commands that would stop the engine or its gateway: by process id, name, port, service, debugger or code.

Each form gets an `Aim`. A certain hit is blocked: one of our process ids, a name that only we have, the default port of a
gateway. A possible one is held, with advice to aim better: `pkill node`, a pattern that happens to match our command line,
a port in the range that gateways use. Ports of ordinary development servers (3000, 5173, 8080) may be cleared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, base
from toolguard_engine.layers.self_protection.searched_code import SearchedCode
from toolguard_engine.model.call import Host

REASON = "This command would stop the guard or the gateway that it protects."
POSSIBLE = (
    "This command may also stop the guard or its gateway. Name one process instead: `pkill -f vite`, "
    "`kill $(lsof -ti:3000)`."
)

RELOADS = "This command would make the gateway restart, which ends what its agents do. `openclaw gateway restart` also does."

_NAMES = ("toolguard", "openclaw", "openclaw-gateway", "clawdbot", "node", "mainthread",
          "python", "python3", "python3.11", "python3.12", "python3.13", "python3.14")  # fmt: skip
"""Process names of the engine and the gateway; Node names its first thread MainThread."""

_LINES = ("python3 -p -m toolguard_engine", "python -m toolguard_engine",
          "python3 -p -e -m toolguard_cli.notify --state-dir /home/u/.openclaw",
          "node openclaw.mjs gateway run",
          "openclaw-gateway", "/usr/bin/node /usr/lib/node_modules/openclaw/dist/index.js gateway --port 18789")  # fmt: skip
_MENTION = lazy_re.compile(r"toolguard|(?<![./\w])(?:openclaw|clawdbot)|\bengine\b|18789|PPID", re.IGNORECASE)
_PARENT = lazy_re.compile(r"PPID|getppid|process\.ppid|\bppid=")
_CODE = lazy_re.compile(r"\bkill(?:pg|Sync)?['\"]?\s*(?:\(|\s['\"]?\w+['\"]?\s*,)([^)\n]*)")
_NUMBER = lazy_re.compile(r"(?<![\w.])-?\d+")
_DEFAULT_PORT = 18789
_OUR_PORTS = range(18700, 20000)
_OWN = ("toolguard", "openclaw", "clawdbot")
"""Names that no other program has."""
_OWN_LETTERS = 6
"""A pattern must have this many letters of such a name to mean it."""
_PORT = lazy_re.compile(r"(?<![\w.-])(\d{1,5})(?:-(\d{1,5}))?(?![\w.])")
_LISTERS = program_catalogue.programs("process_lister")
_SEARCHERS = program_catalogue.programs("text_searcher")
_EDITORS = program_catalogue.programs("line_editor")
_SEARCHED = lazy_re.compile(r"/([^/]{1,64})/|~\s*\"([^\"]{1,64})\"")
_NAME_LISTERS = program_catalogue.programs("process_name_lister")
_NAME_KILLERS = program_catalogue.programs("process_name_killer")
_WHOLE_NAMES = program_catalogue.programs("whole_name_matcher")
_PORT_KILLERS = program_catalogue.programs("port_killer")
_SERVICES = program_catalogue.programs("service_manager")
_CONTAINERS = program_catalogue.programs("container")
_INSIDE = frozenset({"exec", "run", "create"})
_SESSION_ENDING = frozenset({"exit", "isolate", "emergency", "rescue", "halt", "poweroff", "reboot", "kexec"})
_STOPPING_A_WHILE = frozenset({"restart", "try-restart", "reload-or-restart", "try-reload-or-restart"})
_RELOADING = lazy_re.compile(r"(?:--user )?kill (?:--kill-whom=main )?(?:-s |--signal[= ])(?:SIG)?USR1 [\w.@-]{1,80}")
"""Has the gateway restart itself, with the guard."""

_BUS_CALLERS = program_catalogue.programs("bus_caller")
_BUS_CALL = lazy_re.compile(r"(?:Stop|Restart|Kill|TryRestart|Freeze)Unit|(?:Disable|Mask)UnitFiles")
_DEBUGGERS = program_catalogue.programs("debugger")
_LIMITERS = frozenset({"prlimit"})
"""Programs that set limits of a process; who exceeds one is ended."""

_ALONE = lazy_re.compile(r"\d{1,12}")
_ENDING = frozenset(
    {"stop", "disable", "mask", "kill", "rm", "remove", "delete", "unload", "bootout", "down", "pause", "freeze"}
)
_STARTING = frozenset({"start", "restart", "kickstart", "bootstrap", "load"})
_UNITS = ("openclaw-gateway.service", "openclaw-gateway", "openclaw.service", "openclaw")
_MANY = lazy_re.compile(r"\.(?:slice|target|scope)\Z|\A(?:user|session)[@-]|\Adefault\Z")
"""Units of systemd that have others in them, or that belong to a whole login."""

_DOMAIN = lazy_re.compile(r"(?:user|gui|login|system|pid)(?:/\d+)?/?")
"""What launchctl calls all services of a login."""

_SESSIONS = frozenset({"loginctl"})
_SESSION_VERBS = frozenset({"terminate-user", "terminate-session", "terminate-seat", "kill-user", "kill-session"})
_CGROUP = lazy_re.compile(r"cgroup\.(?:freeze|kill)\Z|freezer\.state\Z")
_OWN_PARENT = lazy_re.compile(r"/proc/(?:\$\$|self|thread-self|\$\{?(?:BASHPID|PPID))/(?:stat|status)\b")
"""Where a shell reads the id of its own parent, which is the gateway or what the gateway started."""

_OF_ANY = lazy_re.compile(r"/proc/(?:\*|\[|\$|\?|\d+/(?:stat|status|task|children)|\w*\x00)")
"""Where it reads the ids of other processes, whichever they are."""

_PRINTS_PARENTS = lazy_re.compile(r"(?:-o|o|--format=)?ppid=?")
"""The format of `ps` with which it prints ids of parents only."""

_GLOB = lazy_re.compile(r"[*?\[]")
_SERVICE_NAMES = lazy_re.compile(r"openclaw|toolguard|clawdbot", re.IGNORECASE)
_OWN_PATTERN = lazy_re.compile(r"toolguard|(?<![./\w])(?:openclaw|clawdbot)")
_MAX_PATTERN = 64
_MAX_PATTERNS = 50
"""A `killall` with more names counts as one that includes ours."""


class Aim(IntEnum):
    """What a command that ends processes is aimed at."""

    ELSEWHERE = 0
    MAYBE_US = 1
    US = 2


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    aim = max((_ends(run, scene) for run in scene.runs), default=Aim.ELSEWHERE)
    if aim < Aim.US and any(_kills_listed(run) for run in scene.runs):
        aim = max(aim, *(_lists_ours(run, scene) for run in scene.runs))
    if aim < Aim.US:
        aim = max(aim, *(_by_code(code, scene) for _, code in scene.codes), Aim.ELSEWHERE)
    if aim is Aim.US and _starts_again(scene):
        yield ProtectionFinding(RELOADS, certain=False)
        return
    killers = [run for run in scene.runs if run.name == "kill" or run.name in _NAME_KILLERS]
    if (
        aim
        and killers
        and all(map(_only_reloads, killers))
        and not any(_ends(run, scene) for run in scene.runs if run not in killers)
    ):
        yield ProtectionFinding(RELOADS, certain=False)
    elif aim:
        yield ProtectionFinding(REASON) if aim is Aim.US else ProtectionFinding(POSSIBLE, certain=False)


def _starts_again(scene: CommandScene) -> bool:
    """Whether the gateway's service is started behind all that ends it. systemd ends the command with the service."""
    ends = [at for at, run in enumerate(scene.runs) if _ends(run, scene) or _kills_listed(run)]
    if not ends or any(scene.runs[at].name in ("systemctl", *_BUS_CALLERS) for at in ends):
        return False
    return any(_starts_gateway(run, scene) for run in scene.runs[ends[-1] + 1 :])


def _starts_gateway(run: ProgramRun, scene: CommandScene) -> bool:
    words = run.argv[1:]
    if run.name in ("openclaw", "clawdbot"):
        return words[:1] == ("gateway",) and words[1:2] in (("start",), ("restart",))
    if run.name not in ("systemctl", "launchctl") or _STARTING.isdisjoint(words):
        return False
    return any(_is_service(word, run.name, scene.host) is Aim.US for word in words)


def _only_reloads(run: ProgramRun) -> bool:
    """Whether it sends the signal with which the gateway restarts itself, with the guard."""
    named = {value.text.upper().removeprefix("SIG") for words in run.readings for value in words.values("--signal")}
    return named == {"USR1"}


def _kills_listed(run: ProgramRun) -> bool:
    """Whether it kills processes that another program of this command may have printed."""
    if run.name == "kill":
        return any(UNKNOWN in word or "$" in word for word in run.argv)
    return run.name in _EDITORS and any("kill" in word for word in run.argv)


def _lists_ours(run: ProgramRun, scene: CommandScene) -> Aim:
    """Whether the processes that it lists or filters may include ours."""
    name, rest = run.name, run.argv[1:]
    if name in _NAME_LISTERS:
        return _by_name(run, scene.host)
    if name in _LISTERS:
        if any(map(_PRINTS_PARENTS.fullmatch, rest)):
            return Aim.US if "$$" in rest else Aim.MAYBE_US
        chosen = [_fits(word.text, exact=True) for words in run.readings for word in words.named("pattern")]
        return max(*chosen, _our_port(rest) if name != "ps" else Aim.ELSEWHERE, Aim.ELSEWHERE)
    if name in _SEARCHERS and not run.words.has("--invert-match"):
        sought = [word.text for word in run.words.named("pattern")]
        return max(*(_fits(word, exact=False) for word in sought), _our_port(sought), Aim.ELSEWHERE)
    if name in _EDITORS:
        searched = (match[1] or match[2] for word in rest for match in _SEARCHED.finditer(word))
        return max((_fits(word, exact=False) for word in searched), default=Aim.ELSEWHERE)
    return Aim.ELSEWHERE


def _our_port(words: Iterable[str]) -> Aim:
    spans = [(int(match[1]), int(match[2] or match[1])) for word in words for match in _PORT.finditer(word)]
    if any(first <= _DEFAULT_PORT <= last for first, last in spans):
        return Aim.US
    near = any(first < _OUR_PORTS.stop and last >= _OUR_PORTS.start for first, last in spans)
    return Aim.MAYBE_US if near else Aim.ELSEWHERE


@lru_cache(maxsize=4)
def _mentions_us(text: str) -> bool:
    return _MENTION.search(text) is not None


def _ends(run: ProgramRun, scene: CommandScene) -> Aim:
    name, rest = run.name, run.argv[1:]
    if name == "kill":  # an option that is not known may take the next word: the worst reading counts
        return max(_by_number(words, scene) for words in run.readings)
    if name in _NAME_KILLERS:
        return _by_name(run, scene.host)
    if name == "fuser":
        return _by_port(rest, scene) if run.words.has("--kill") else Aim.ELSEWHERE
    if any(base(word).partition("@")[0] in _PORT_KILLERS for word in run.argv[:4]):
        return _by_port(rest, scene)
    if name in _DEBUGGERS | _LIMITERS or (name == "node" and rest[:1] == ("inspect",)):
        return _by_debugger(run, scene)
    # The gateway may run in the session of the user that ends here; which session that is, no word says.
    if name in _SESSIONS and not _SESSION_VERBS.isdisjoint(rest):
        return Aim.MAYBE_US
    if name == "systemctl" and not _SESSION_ENDING.isdisjoint(rest):
        return Aim.MAYBE_US
    if name == "systemctl" and (not _STOPPING_A_WHILE.isdisjoint(rest) or _RELOADING.fullmatch(" ".join(rest))):
        return max((_restarted(word, name, scene.host) for word in rest), default=Aim.ELSEWHERE)
    if name in _BUS_CALLERS and any(map(_BUS_CALL.search, rest)):
        return max((_is_service(word, name, scene.host) for word in rest), default=Aim.ELSEWHERE)
    if name in _SERVICES and not _ENDING.isdisjoint(rest):
        if name in _CONTAINERS and _runs_inside(run):
            return Aim.ELSEWHERE
        return max((_is_service(word, name, scene.host) for word in rest), default=Aim.ELSEWHERE)
    # `echo 1 > .../cgroup.kill` ends all processes of a unit without naming one of them.
    if any(_CGROUP.search(redirect.target) for redirect in run.redirects) or (
        name == "tee" and any(map(_CGROUP.search, rest))
    ):
        return Aim.MAYBE_US
    return Aim.ELSEWHERE


def _runs_inside(run: ProgramRun) -> bool:
    """Whether a program is started in a container: its words follow, and it is judged by itself."""
    verbs = [next((text for text in words.texts if text in _INSIDE or text in _ENDING), "") for words in run.readings]
    return bool(verbs) and _INSIDE.issuperset(verbs)


def _by_port(rest: tuple[str, ...], scene: CommandScene) -> Aim:
    return max(_our_port(rest), Aim.MAYBE_US if _mentions_us(scene.text) else Aim.ELSEWHERE)


def _restarted(word: str, manager: str, host: Host) -> Aim:
    """The same as `_is_service` for what is only restarted: the gateway by its name comes back at once, with the guard."""
    is_one = not _MANY.search(word) and not _GLOB.search(word) and UNKNOWN not in word
    return Aim.ELSEWHERE if is_one else min(_is_service(word, manager, host), Aim.MAYBE_US)


def is_former(name: str, host: Host) -> bool:
    """Whether a name is that which the gateway had before, and this one does not have."""
    lower = name.lower()
    is_other = host.state_dir != "" and "clawdbot" not in f"{host.state_dir}\n{host.config_path}".lower()
    return is_other and "clawdbot" in lower and "openclaw" not in lower and "toolguard" not in lower


def _is_service(word: str, manager: str, host: Host) -> Aim:
    """Whether a word names one of our services, or for `systemctl` a pattern that matches one."""
    if _SERVICE_NAMES.search(word):
        return Aim.MAYBE_US if manager in _CONTAINERS or is_former(word, host) else Aim.US
    if manager == "systemctl" and (_MANY.search(word) or UNKNOWN in word):
        return Aim.MAYBE_US
    if manager == "launchctl" and _DOMAIN.fullmatch(word):
        return Aim.MAYBE_US
    if manager != "systemctl" or len(word) > _MAX_PATTERN or _GLOB.search(word) is None:
        return Aim.ELSEWHERE
    return Aim.MAYBE_US if any(fnmatchcase(unit, word.lower()) for unit in _UNITS) else Aim.ELSEWHERE


def _by_debugger(run: ProgramRun, scene: CommandScene) -> Aim:
    """Whether a debugger attaches to one of our processes. An id that is not known may be one, unless it is that of a
    process that the command itself started, or of one that it searches for by a name that is not ours."""
    rest = run.argv[1:]
    readings = option_parser.readings("node-inspect", rest) if run.name == "node" else run.readings
    values = [word.text for words in readings for word in words.named("process")]
    values += filter(_ALONE.fullmatch, rest)
    values += filter(_PARENT.search, rest)
    if any(_number(value) in scene.host.pids or _PARENT.search(value) for value in values):
        return Aim.US
    if any((UNKNOWN in value or "$" in value) and value != "$!" for value in values):
        return _unknown_process(scene)
    return Aim.ELSEWHERE


def _unknown_process(scene: CommandScene) -> Aim:
    """What an id that the command finds out may be."""
    if _OWN_PARENT.search(scene.named_text):
        return Aim.US
    if not any(run.name in _LISTERS or run.name in _NAME_LISTERS for run in scene.runs):
        return Aim.MAYBE_US
    return max(_lists_ours(run, scene) for run in scene.runs)


def _number(text: str) -> int:
    """The process id that a text spells, with a minus if it is that of a group, or 0."""
    match = _ID.fullmatch(text)
    return int(match[1]) if match else 0


_ID = lazy_re.compile(r"-?0*(\d{1,12})")


def _by_number(words: CommandWords, scene: CommandScene) -> Aim:
    """What `kill` is aimed at: nothing if it only lists signals or checks whether a process exists."""
    signals = {value.text for value in words.values("--signal")}
    if signals == {"0"} or words.has("--list", "--table"):
        return Aim.ELSEWHERE
    aim = Aim.US if signals == {"1"} and not words.operands else Aim.ELSEWHERE
    for target in words.texts:
        number = target.rstrip(",")
        if number == "-1" or _number(number) in scene.host.pids or _PARENT.search(target):
            return Aim.US
        if "$" in target or UNKNOWN in target:
            named = scene.named_text
            if _OWN_PARENT.search(named):
                return Aim.US
            if _mentions_us(scene.text) or _OF_ANY.search(named):
                aim = max(aim, Aim.MAYBE_US)
    return aim


def _by_name(run: ProgramRun, host: Host) -> Aim:
    """Whether what `pkill` and similar programs choose includes one of our processes."""
    return max((_chosen(run.name, words, base(host.home)) for words in run.readings), default=Aim.ELSEWHERE)


def _chosen(name: str, words: CommandWords, user: str) -> Aim:
    exact = name in _WHOLE_NAMES and not words.has("--regexp")
    patterns = [word.text for word in words.named("pattern", "input")]
    if len(patterns) > _MAX_PATTERNS:
        return Aim.MAYBE_US
    chosen = max((_fits(word, exact=exact) for word in patterns), default=Aim.ELSEWHERE)
    if not patterns and user in (word.text for word in words.named("owner")):
        return Aim.US
    is_wide = words.has("--process-group") or (not patterns and words.trait("chooses"))
    unknown = any("$" in word or UNKNOWN in word for word in patterns)
    return max(chosen, Aim.MAYBE_US if is_wide or unknown else Aim.ELSEWHERE)


def _fits(pattern: str, *, exact: bool) -> Aim:
    return _fits_ours(pattern.lower()[:_MAX_PATTERN], exact=exact)


@lru_cache(maxsize=256)
def _fits_ours(pattern: str, *, exact: bool) -> Aim:
    if any(own in pattern for own in _OWN) and (exact or _OWN_PATTERN.search(pattern)):
        return Aim.US
    if exact:
        return Aim.MAYBE_US if base(pattern) in _NAMES else Aim.ELSEWHERE
    aim = Aim.ELSEWHERE
    for option in re.sub(r"[()]", "", pattern).split("|"):
        glob = option.replace("\\", "").strip("^$").replace("?", "").replace("+", "")
        glob = glob.replace(".*", "*").replace(".", "?")
        letters = sum(map(str.isalpha, glob))
        if glob and (not letters or letters >= _OWN_LETTERS) and any(fnmatchcase(name, f"*{glob}*") for name in _OWN):
            return Aim.US
        if glob and any(fnmatchcase(name, f"*{glob}*") for name in (*_NAMES, *_LINES)):
            aim = Aim.MAYBE_US
    return aim


def _by_code(code: SearchedCode, scene: CommandScene) -> Aim:
    """Signals sent by code: `os.kill(1234, 9)`."""
    matches = list(_CODE.finditer(code.text)) if code.has(_CODE) else []
    if any(_aims_at_us(match[0], scene.host) for match in matches):
        return Aim.US
    return Aim.MAYBE_US if matches and _mentions_us(scene.text) else Aim.ELSEWHERE


def _aims_at_us(text: str, host: Host) -> bool:
    numbers = {_number(number) for number in _NUMBER.findall(text)}
    return bool(numbers & host.pids) or _PARENT.search(text) is not None or re.search(r"\(\s*+-1\b", text) is not None
