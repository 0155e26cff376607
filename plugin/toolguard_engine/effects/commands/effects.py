"""The effects of a command: those of all its programs and redirections, in the order of its text.

The kinds, with the flags they may have beside those of the path (`places.marks`):

- `delete`: `recursive`; `forced`; `wiped` (not recoverable); `filtered` (only part of what a search finds); `each` (whatever
  a search finds: the target is the searched folder); `leftover` (and that is `*.bak` and the like); `rebuilt` (only what can
  be built again); `mirror` (what the source lacks).
- `empty`: the file remains, its content does not; `moved-away`: moved to where it cannot be recovered.
- `write`: created or changed. `truncates`, `append`, `in-place`, `copied`, `unpacked`, `touched` (`dated`: with a forged
  time);
  `erases`: the content is zeros or random.
- `device-write`: a write to hardware. `format`: a new file system on it.
- `move` (target: the source), `link` (target: the link), `read` (credentials and devices only; `copied`, `linked`,
  `packed`), `search` (`secrets`: a hunt for them in a wide place), `disguise` (a copy of a shell), `encrypt`, `pack` (a wide
  place into an archive or a copy).
- `permissions`: `recursive`, `world-writable`, `setuid`, `none` (for nobody), `attributes`; `owner`: `recursive`, `to-root`.
- `elevate`: with administrator rights; the target is what runs. `reads`, `installs`: `routine_administration`;
  `files`, `lesser`: `administrator_files`.
- `run-unread`: runs a file that an agent made and that cannot be read to its end; the target is the file.
- `run-made`: runs a file that the same command changes in an unknown way; the target is the file.
- `spawn`: starts another agent; the target is its folder. `run-later`: the target is the command that schedules others.
- `enable`: has a unit or an agent start by itself; the target is its file.
- `gateway`: an operation on the gateway itself; the flag is its effect, as `controlplane.toml` explains.
- `flood`: too many effects to examine. `load`: endless work without a result (`yes > /dev/null`).
- `fills`: endless data into a file; the target is the file.
- `variable`: `injects` (other programs load or run something), `forgets` (the shell's history), `permits` (another agent may
  act without asking).

The modules `network_programs`, `interpreters`, `sql` and `data_flows` document further kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import (
    agent_programs,
    data_flows,
    environment_dumps,
    file_doubts,
    idle_code,
    interpreters,
    loaded_files,
    made_then_run,
)
from toolguard_engine.effects.commands.code_sources import is_left_unread, leave_unread, plain_name
from toolguard_engine.effects.commands.file_walk import is_interpreter
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading, Redirect
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.programs import (
    MAX_PATHS,
    Act,
    archives,
    audiences,
    deployments,
    effect_on,
    enabled_units,
    file_programs,
    file_readers,
    gateway_programs,
    handed_keys,
    list_files,
    lookalikes,
    network_programs,
    printed_names,
    quoted_paths,
    rebuilt_text,
    repeated_changes,
    secrets_read,
    sql,
    system_programs,
    timers,
    unknown_programs,
    unpacking,
    write_effects,
)
from toolguard_engine.effects.programs.wrappers import WRAPPERS, only_runs, started
from toolguard_engine.effects.syntax.startup_lines import adds_plain_lines, starts_python
from toolguard_engine.model.work_limit import WorkLimit

_TABLES = (
    file_programs.PROGRAMS, file_readers.PROGRAMS, archives.PROGRAMS, system_programs.PROGRAMS, network_programs.PROGRAMS,
    interpreters.PROGRAMS, sql.PROGRAMS, agent_programs.PROGRAMS,
    gateway_programs.PROGRAMS, enabled_units.PROGRAMS, unpacking.PROGRAMS, lookalikes.PROGRAMS, timers.PROGRAMS,
)  # fmt: skip
PROGRAMS: dict[str, tuple[Act, ...]] = {
    name: tuple(table[name] for table in _TABLES if name in table) for name in {name for table in _TABLES for name in table}
}
PROGRAMS.update({name: (*PROGRAMS[name], list_files.act) for name in list_files.READERS & PROGRAMS.keys()})
PROGRAMS.update({name: (*PROGRAMS[name], quoted_paths.act) for name in quoted_paths.READERS & PROGRAMS.keys()})
_NO_READERS = program_catalogue.programs(
    "key_user",
    "path_reader",
    "process_lister",
    "words_only",
    "near_lister",
    "wrapper",
    "browser",
    "terminal",
    "program_locator",
    "empty_file_maker",
    "folder_maker",
)
_READ = frozenset(
    name
    for name in ((PROGRAMS.keys() - network_programs.TUNNELS.keys()) | _NO_READERS) - handed_keys.CARRIERS
    if not handed_keys.runs_scripts(name)
)
"""Programs that do not show what is in a file, or whose effects say so."""
_UNKNOWN_HOST = Where()
_NOTHING = frozenset(["/dev/null", "&1", "&2", "1", "2", "-"])
_SILENT = program_catalogue.programs("silent") | {""}
_NO_FLAGS: frozenset[str] = frozenset()
_ENDLESS: dict[str, Callable[[ProgramRun], bool]] = {
    "yes": lambda _: True,
    "cat": lambda program: any(word in program.argv for word in ("/dev/zero", "/dev/urandom", "/dev/random")),
}
_HUGE = lazy_re.compile(r"(?:-c|--bytes=)?(?:\d{12,30}|\d{2,9}G(?:i?B)?|\d{1,9}[TPE](?:i?B)?)")
_BOUNDLESS = _ENDLESS | {
    "head": lambda program: _ENDLESS["cat"](program) and any(map(_HUGE.fullmatch, program.argv[1:])),
    "tail": _ENDLESS["cat"],
}
"""Programs that fill a disk with their output."""
_INTO_FILES = frozenset(["write", "append"])
_TEXT_PRINTERS = program_catalogue.programs("text_printer")
_SEARCHERS = program_catalogue.programs("file_finder")


def effects(  # noqa: PLR0912 - a case for each combination
    seen: Reading, where: Where = _UNKNOWN_HOST, work: WorkLimit | None = None
) -> tuple[Effect, ...]:
    """`work`: what finding them may cost."""
    work = work or WorkLimit()
    found: list[Effect] = []
    different: set[tuple[object, ...]] = set()
    searches: dict[tuple[str, ...], ProgramRun] = {}
    of_files = False
    for at, program in enumerate(seen.runs):
        name = program.name
        if program.origin is not None:
            of_files = True
            if idle_code.is_idle(program, where):
                continue
        before = len(found)
        if len(program.argv) > 1 or program.stdin is not None:
            found += _of_words(seen.runs, at, where, work)
        if len(program.argv) > audiences.LEAST and audiences.may_expose(program):
            found += audiences.effects(program)
        if len(program.argv) > 1:
            found += deployments.effects(program)
        if name in _SEARCHERS:
            searches[(*program.via, name)] = program
        acts = _acts(name) if name not in PROGRAMS else PROGRAMS[name]
        if not acts and not program.redirects and not program.assigns:
            continue  # most programs
        for effect in _of(program, acts, where):
            work.spend(EFFECT + (GLOB if "*" in effect.target or "[" in effect.target else 0))
            if searches and effect.target.endswith(UNKNOWN):
                found += _on_finds(effect, program, searches, where)
            elif effect.kind in _SHOWING:
                found += _shown(effect, seen.runs, at)
            else:
                found.append(effect)
            different.add((effect.kind, effect.target, effect.place, effect.flags))
            if len(different) > MAX_PATHS or len(found) > MOST_EFFECTS:
                # Nobody reads so many effects, and rules about each would cost too much. What is severe is named anyway.
                severe = list(_severe(seen.runs[at:], where, work))
                return (*found, *severe, Effect("flood"), *data_flows.effects(seen, (*found[-PARTNERS:], *severe), where))
        if program.origin is not None and len(found) == before:
            idle_code.has_none(program, where)
    if found:
        if any(effect.kind == "run-text" for effect in found):
            found = _with_address(found)
        if len(seen.runs) > 1 and any(rebuilt_text.possible(effect) for effect in found):
            found = list(rebuilt_text.marked(seen, found))
    if any(program.name in repeated_changes.PROGRAMS for program in seen.runs):
        found += repeated_changes.effects(seen)
    if seen.unread:
        found += [Effect("run-unread", file.file, "", _NO_FLAGS) for file in seen.unread if file.made]
    if seen.scripts is not None:
        found += made_then_run.effects(seen, seen.scripts, found, where)
    found += data_flows.effects(seen, tuple(found), where)
    return file_doubts.counted(found, where) if of_files else tuple(found)


_SHOWING = frozenset(["read", "search"])
_TAKEN = frozenset(["copied", "linked", "packed"])


def _shown(effect: Effect, runs: tuple[ProgramRun, ...], at: int) -> Iterator[Effect]:
    """What is read, with `names` if only names of it are printed. Of the environment, nothing remains then."""
    if effect.kind not in _SHOWING:
        yield effect
        return
    if effect.kind == "search":
        if effect.target != "environment" or not printed_names.printed_further(runs[at], runs, at, settings=True):
            yield effect
        return
    settings = printed_names.has_settings(effect.target)
    named = _TAKEN.isdisjoint(effect.flags) and (
        printed_names.tells_names(runs[at], settings=settings)
        or printed_names.printed_further(runs[at], runs, at, settings=settings)
    )
    yield replace(effect, flags=effect.flags | {"names"}) if named else effect


def _of_words(runs: tuple[ProgramRun, ...], at: int, where: Where, work: WorkLimit) -> Iterator[Effect]:
    """What a program does with its words, as far as it is not known by its own effects."""
    program = runs[at]
    name = program.name
    if name in _READ or name in handed_keys.CARRIERS:
        yield from _unjudged_keys(program, where)
    if name in _READ:
        return
    for effect in handed_keys.effects(program, where, loaded_files.ENDINGS):
        yield from _shown(effect, runs, at)
    if name not in PROGRAMS and not only_runs(name):
        work.spend(OF_UNKNOWN)
        yield from _of_unknown(runs, at, where)


def _unjudged_keys(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Keys in options of a program whose own effects do not speak about them."""
    if keys := [*handed_keys.in_options(program, where)]:
        own = [*_of(program, _acts(program.name), where)]
        judged = {effect.target for effect in own}
        if not any("credentials" in effect.flags for effect in own):
            yield from (effect for effect in keys if effect.target not in judged)


def _of_unknown(runs: tuple[ProgramRun, ...], at: int, where: Where) -> Iterator[Effect]:
    for effect in unknown_programs.effects(runs[at], where):
        if "credentials" not in effect.flags or any(map(environment_dumps.shows, runs[max(at - PARTNERS, 0) : at])):
            yield effect


MOST_EFFECTS = 4 * MAX_PATHS
"""Of a command that does the same again and again."""

EFFECT, GLOB, OF_MANY, OF_UNKNOWN = 5, 20, 12, 3
"""Steps of work for each effect, for one on files that a pattern names, for one of many whose places are new, and for each
program that is not known."""

PARTNERS = 100
"""In a flood, so many of the last effects are combined with the severe ones after them."""
_SEVERE_KINDS = frozenset(["device-write", "format", "send", "copy-out", "remote-shell", "run-text", "load"])


def _severe(runs: tuple[ProgramRun, ...], where: Where, work: WorkLimit) -> Iterator[Effect]:
    """Severe effects after the limit of a flood, so that padding hides nothing."""
    count = 0
    for program in runs:
        if _plain(program.name) not in PROGRAMS and not program.redirects:
            continue
        for effect in _of(program, _acts(program.name), where):
            work.spend(OF_MANY)
            if effect.kind in _SEVERE_KINDS or effect.place in ("root", "home", "device", "credentials"):
                yield effect
                count += 1
                if count > MAX_PATHS:
                    return


def _with_address(acts: list[Effect]) -> list[Effect]:
    """Sets the address as the target of `run-text` for fetched text, if it is known."""
    address = next((effect.target for effect in acts if effect.kind == "fetch"), "")
    return [
        replace(effect, target=address) if address and effect.kind == "run-text" and "fetched" in effect.flags else effect
        for effect in acts
    ]


def _plain(name: str) -> str:
    """A program's name without a version, as `npx` and the like accept it, and as interpreters have it (`python3.12`)."""
    if "@" in name:
        return name.partition("@")[0] or name
    return plain_name(name) if name not in PROGRAMS and is_interpreter(name) else name


def _acts(name: str) -> tuple[Act, ...]:
    return PROGRAMS.get(_plain(name)) or ((gateway_programs.done,) if "claw" in name.lower() else ())


def _of(program: ProgramRun, acts: tuple[Act, ...], where: Where) -> Iterator[Effect]:
    if acts and (plain := _plain(program.name)) != program.name and "claw" not in program.name.lower():
        named = replace(program, name=plain)
        if is_left_unread(program):
            leave_unread(named)
        yield from (replace(effect, program=program) for act in acts for effect in act(named, where))
    else:
        for act in acts:
            yield from act(program, where)
    if program.redirects:
        yield from _redirected(program, where)
    if program.name == "tee" and _passes_on_without_end(program):
        effects = (effect_on("fills", word, program, where) for word in program.words.texts)
        yield from (effect for effect in effects if effect.place not in ("null", "device"))
    for name, value in program.assigns:
        yield from system_programs.assigned(name, value, program)


def _printed_without_end(program: ProgramRun, printing: str, redirect: Redirect, where: Where) -> Iterator[Effect]:
    """The effect of a program that never stops printing."""
    if redirect.target == "/dev/null" and redirect.fd in ("", "1") and printing in _ENDLESS and _ENDLESS[printing](program):
        yield Effect("load", program.name, "", _NO_FLAGS, program)
    elif redirect.kind in _INTO_FILES and (
        (printing in _BOUNDLESS and _BOUNDLESS[printing](program)) or _passes_on_without_end(program)
    ):
        yield effect_on("fills", redirect.target, program, where)


def _redirected(program: ProgramRun, where: Where) -> Iterator[Effect]:
    printing = started(program.argv) if program.name in WRAPPERS else program.name
    for redirect in program.redirects:
        yield from _printed_without_end(program, printing, redirect, where)
        if redirect.kind == "text" or redirect.target in _NOTHING:
            continue
        if redirect.kind == "read":
            yield from secrets_read([redirect.target], program, where)
        elif redirect.kind == "append":
            plain = ("plain-lines",) if adds_plain_lines(redirect.target, program) else ()
            yield from write_effects(redirect.target, program, where, "append", *plain, *_code_of_python(redirect, program))
        elif _prints_nothing(program, redirect):
            yield effect_on("empty", redirect.target, program, where)
        else:
            yield from write_effects(redirect.target, program, where, "truncates", *_code_of_python(redirect, program))


def _passes_on_without_end(program: ProgramRun) -> bool:
    """Whether the output is an input that never ends, in whatever form: `yes | tee f`, `tr a b < /dev/zero > f`."""
    feed = program.stdin
    if feed is None or program.name not in _PASSING_ON or not _PASSING_ON.issuperset(feed.programs[1:]):
        return False
    first = feed.programs[:1]
    return first == ("yes",) or (not _NEVER_EMPTY.isdisjoint(feed.files) and _PASSING_ON.issuperset(first))


_NEVER_EMPTY = frozenset(["/dev/zero", "/dev/urandom", "/dev/random"])
_PASSING_ON = frozenset(["cat", "tee", "tr", "base64", "base32", "nl", "rev", "gzip", "xz", "zstd"])


def _code_of_python(redirect: Redirect, program: ProgramRun) -> tuple[str, ...]:
    return ("imports",) if starts_python(redirect.target, program) else ()


def _prints_nothing(program: ProgramRun, redirect: Redirect) -> bool:
    """Whether the file will be empty: `> f`, `: > f`, `echo -n > f`, `cat /dev/null > f`."""
    if program.name in _SILENT:
        return not redirect.fd or redirect.fd == "1"
    return program.argv[1:] in (("-n",), ("",), ("/dev/null",), ("-n", "")) and program.name in _TEXT_PRINTERS


def _on_finds(
    effect: Effect, program: ProgramRun, searches: dict[tuple[str, ...], ProgramRun], where: Where
) -> Iterator[Effect]:
    """An effect on what a search finds: it starts the program, `while read` takes its lines, or a variable keeps them."""
    if program.via and (around := _search_around(program, searches)):
        yield _searched(effect, around, where)
    elif effect.target == UNKNOWN and _loses(effect) and (search := _search_before(program, searches)):
        for folder in file_readers.search_roots(search)[:_MOST_ROOTS] or ["."]:
            yield _searched(replace(effect, target=f"{folder}/{UNKNOWN}"), search, where)
    else:
        yield effect


def _loses(effect: Effect) -> bool:
    return effect.kind in _LOSING or (effect.kind == "write" and "truncates" in effect.flags)


_LOSING = frozenset(["delete", "empty", "move", "encrypt"])
_HANDING = program_catalogue.programs("list_runner")
_MOST_ROOTS = 8


def _search_before(program: ProgramRun, searches: dict[tuple[str, ...], ProgramRun]) -> ProgramRun | None:
    """The search whose lines the program may be given: through its input, or from a substitution before it."""
    if program.via and not _HANDING.isdisjoint(program.via):
        return next(reversed(searches.values()))
    feeding = [
        name for feed in (program.stdin, *(feed for _, feed in program.given)) if feed is not None for name in feed.programs
    ]
    return next((searches[key] for key in reversed(searches) if key[-1] in feeding or key[-2:-1] == ("$()",)), None)


def _search_around(program: ProgramRun, searches: dict[tuple[str, ...], ProgramRun]) -> ProgramRun | None:
    """The search that starts this program, perhaps through other programs."""
    for end in range(len(program.via), 0, -1):
        if program.via[:end] in searches:
            return searches[program.via[:end]]
    return None


def _searched(effect: Effect, search: ProgramRun, where: Where) -> Effect:
    """An effect on whatever a search finds, as one on the searched folder."""
    flags = {"each"} | file_readers.search_flags(search, where)
    folder = effect.target[: -len(UNKNOWN)].rstrip("/") or ("/" if effect.target.startswith("/") else ".")
    kind = place(folder, where, search.cwd)
    if kind in ("workspace", "in-workspace") and file_readers.finds_leftovers(search):
        flags.add("leftover")
    return replace(
        effect,
        target=f"{folder}/" if file_readers.follows_given_links(search) and folder != "/" else folder,
        place=kind or effect.place,
        flags=effect.flags | flags,
    )
