"""What a command would do: the effects of all its programs and redirections, in the order of its text.

The kinds, and the flags that they may have beside those of the path (`places.marks`):

- `delete`: gone. `recursive`; `forced`; `wiped` (not recoverable); `filtered` (only what a search finds); `each` (whatever a
  search finds: the target is where it looks); `leftover` (and that is `*.bak` and the like); `rebuilt` (only what can be
  built again); `mirror` (what the source lacks).
- `empty`: the file stays, its content does not; `moved-away`: moved to where nothing comes back from.
- `write`: made or changed. `truncates`, `append`, `in-place`, `copied`, `unpacked`, `touched` (`dated`: its time is forged);
  `erases`: the content is zeros or noise.
- `device-write`: the same to hardware. `format`: a new file system there.
- `move` (of its source), `link` (where the link is), `read` (credentials and devices only; `copied`, `linked`, `packed`),
  `search` (`secrets`: a hunt for them in a wide place), `disguise` (a copy of a shell), `encrypt`,
  `pack` (a wide place into an archive or a copy).
- `permissions`: `recursive`, `world-writable`, `setuid`, `none` (nobody may), `attributes`; `owner`: `recursive`, `to-root`.
- `elevate`: with the rights of the administrator; the target is what runs so.
- `spawn`: another agent is started; the target is the folder it starts in.
- `gateway`: something is done to the gateway itself; its flag is what, as `controlplane.toml` explains the effects.
- `flood`: more effects than can be looked at. `load`: without end and for nothing (`yes > /dev/null`).
- `variable`: `injects` (others' programs load or run something), `forgets` (the shell's history), `permits`
  (another agent may act without asking).

Further kinds come from `acts.network`, `acts.code`, `acts.sql` and `acts.flows`, which say them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from toolguard_engine.shell.acts import (
    MOST,
    Act,
    agents,
    code,
    control,
    files,
    flows,
    network,
    on,
    reading,
    rebuilt,
    secrets_read,
    sql,
    system,
    wrote,
)
from toolguard_engine.shell.model import UNKNOWN, Effect, Reading, Redirect, Run
from toolguard_engine.shell.places import Where, place

_TABLES = (
    files.PROGRAMS, reading.PROGRAMS, system.PROGRAMS, network.PROGRAMS, code.PROGRAMS, sql.PROGRAMS, agents.PROGRAMS,
    control.PROGRAMS,
)  # fmt: skip
PROGRAMS: dict[str, tuple[Act, ...]] = {
    name: tuple(table[name] for table in _TABLES if name in table) for name in {name for table in _TABLES for name in table}
}
_UNKNOWN_HOST = Where()
_NOTHING = frozenset(["/dev/null", "&1", "&2", "1", "2", "-"])
_SILENT = frozenset(["", ":", "true", "false"])
_NO_FLAGS: frozenset[str] = frozenset()
_ENDLESS: dict[str, Callable[[Run], bool]] = {
    "yes": lambda _: True,
    "cat": lambda run: any(word in run.argv for word in ("/dev/zero", "/dev/urandom", "/dev/random")),
}
_SEARCHERS = frozenset(["find", "gfind", "fd", "fdfind"])


def effects(seen: Reading, where: Where = _UNKNOWN_HOST) -> tuple[Effect, ...]:
    found: list[Effect] = []
    searches: dict[tuple[str, ...], Run] = {}
    for at, run in enumerate(seen.runs):
        plain = _plain(run.name) not in PROGRAMS and "claw" not in run.name.lower()
        if plain and not run.redirects and not run.assigns:
            continue  # most programs
        if run.name in _SEARCHERS:
            searches[(*run.via, run.name)] = run
        for effect in _of(run, where):
            found_by = searches and run.via and effect.target.endswith(UNKNOWN) and _search_around(run, searches)
            found.append(_searched(effect, found_by, where) if found_by else effect)
            if len(found) > MOST:
                grave = list(_grave(seen.runs[at:], where))
                return (*found, *grave, Effect("flood"), *flows.effects(seen, (*found[-PARTNERS:], *grave), where))
    if any(effect.kind == "run-text" for effect in found):
        found = _with_address(found)
    if len(seen.runs) > 1 and any(rebuilt.possible(effect) for effect in found):
        found = list(rebuilt.marked(seen, found))
    return (*found, *flows.effects(seen, tuple(found), where))


PARTNERS = 100
"""Of a flood, the last ones are looked at together with the grave ones behind them."""
_GRAVE_KINDS = frozenset(["device-write", "format", "send", "copy-out", "remote-shell", "run-text", "load"])


def _grave(runs: tuple[Run, ...], where: Where) -> Iterator[Effect]:
    """What nobody would ever approve, behind more effects than can be looked at: padding hides nothing."""
    count = 0
    for run in runs:
        if _plain(run.name) not in PROGRAMS and not run.redirects:
            continue
        for effect in _of(run, where):
            if effect.kind in _GRAVE_KINDS or effect.place in ("root", "home", "device", "credentials"):
                yield effect
                count += 1
                if count > MOST:
                    return


def _with_address(found: list[Effect]) -> list[Effect]:
    """Text that is fetched and run is about the address that it comes from, where that is known."""
    address = next((effect.target for effect in found if effect.kind == "fetch"), "")
    return [
        replace(effect, target=address) if address and effect.kind == "run-text" and "fetched" in effect.flags else effect
        for effect in found
    ]


def _plain(name: str) -> str:
    """A program's name without the release that `npx` and the like may be given behind it."""
    return name.partition("@")[0] or name if "@" in name else name


def _of(run: Run, where: Where) -> Iterator[Effect]:
    acts = PROGRAMS.get(_plain(run.name)) or ((control.done,) if "claw" in run.name.lower() else ())
    if acts and "@" in run.name and "claw" not in run.name.lower():
        named = replace(run, name=_plain(run.name))
        yield from (replace(effect, run=run) for act in acts for effect in act(named, where))
    else:
        for act in acts:
            yield from act(run, where)
    if run.redirects:
        yield from _redirected(run, where)
    for name, value in run.assigns:
        yield from system.assigned(name, value, run)


def _redirected(run: Run, where: Where) -> Iterator[Effect]:
    for redirect in run.redirects:
        if redirect.target == "/dev/null" and redirect.fd in ("", "1") and run.name in _ENDLESS and _ENDLESS[run.name](run):
            yield Effect("load", run.name, "", _NO_FLAGS, run)
        if redirect.kind == "text" or redirect.target in _NOTHING:
            continue
        if redirect.kind == "read":
            yield from secrets_read([redirect.target], run, where)
        elif redirect.kind == "append":
            yield from wrote(redirect.target, run, where, "append")
        elif _says_nothing(run, redirect):
            yield on("empty", redirect.target, run, where)
        else:
            yield from wrote(redirect.target, run, where, "truncates")


def _says_nothing(run: Run, redirect: Redirect) -> bool:
    """Whether the file will be empty: `> f`, `: > f`, `echo -n > f`, `cat /dev/null > f`."""
    if run.name in _SILENT:
        return not redirect.fd or redirect.fd == "1"
    return run.argv[1:] in (("-n",), ("",), ("/dev/null",), ("-n", "")) and run.name in ("echo", "printf", "cat")


def _search_around(run: Run, searches: dict[tuple[str, ...], Run]) -> Run | None:
    """The search that starts this program, perhaps through others."""
    for end in range(len(run.via), 0, -1):
        if run.via[:end] in searches:
            return searches[run.via[:end]]
    return None


def _searched(effect: Effect, search: Run, where: Where) -> Effect:
    """An effect on whatever a search finds, told as one on the folder in which it looks."""
    flags = {"each"} | reading.search_flags(search, where)
    folder = effect.target[: -len(UNKNOWN)].rstrip("/") or ("/" if effect.target.startswith("/") else ".")
    kind = place(folder, where, search.cwd)
    if kind in ("workspace", "in-workspace") and reading.finds_leftovers(search):
        flags.add("leftover")
    return replace(
        effect,
        target=folder,
        place=kind or effect.place,
        flags=effect.flags | flags,
    )
