"""What code does, whatever its language.

An act that a program also does is a `Deed` with that program's words (`rm -r PATH`): the walk of the command runs it like
any other program, so that the same effects, rules and protections apply. The rest is an effect of the code itself. Readers
of a language make deeds with the functions here; paths are written as in a shell: `~` for the home folder, `UNKNOWN` for
what cannot be known, `*` and `**` for what a listing or a search finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, sql_statements, web_targets
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Redirect, StdinSource
from toolguard_engine.effects.facts.graphql_requests import takes_away
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.programs import effect_on, secrets_read, sent_data

SECRET = "$secret"  # noqa: S105 - a name
"""Stands among the programs of a `StdinSource` for a variable that is named like a secret."""

FED = "input"
"""The source of what the standard input of the code brings."""

INPUT = StdinSource(None, ("$input",))
"""Stands for the standard input of the interpreter itself."""

TEMPORARY = f"/tmp/tmp.{UNKNOWN}"  # noqa: S108 - a name
"""A file that the code has the system name."""

FETCHED = "curl"
"""Stands there for text from another machine."""

MAX_SHOWN = 200
_NONE: frozenset[str] = frozenset()
_PRINTERS = program_catalogue.programs("file_printer") | program_catalogue.programs("encoder")


class Deed(msgspec.Struct, frozen=True):
    """One act: `argv`, a program (or what does the same), or `text`, a shell command, or `kind`, an effect on `target`.

    `feed`: the input of the program, or what is sent; `within`: what its words contain where they are not known; `cwd`: the
    folder that it is given, if any.
    """

    argv: tuple[str, ...] = ()
    text: str = ""
    kind: str = ""
    target: str = ""
    flags: frozenset[str] = _NONE
    redirects: tuple[Redirect, ...] = ()
    feed: StdinSource | None = None
    within: StdinSource | None = None
    cwd: str = ""


class CodeReading(msgspec.Struct, frozen=True):
    """All that a code does.

    `steps`: the work of reading it; `whole`: nothing was left out; `is_cut`: something was, at a bound, that a search of the
    text does not make up for; `paths`: files that it reads, where their
    paths are not in its text as they are; `opaque`: something that it starts or evaluates is only found out when it runs;
    `loads`: the names of code that it loads from files, each behind the word that does so, which is empty for a path whose
    content is evaluated.
    """

    deeds: tuple[Deed, ...] = ()
    steps: int = 0
    whole: bool = True
    paths: tuple[str, ...] = ()
    opaque: bool = False
    loads: tuple[tuple[str, str], ...] = ()
    is_cut: bool = False


MAX_LOADS = 64
"""Names of files whose code one text loads, beside those that stand in the statements that load them."""

# --- programs -------------------------------------------------------------------------------------------------------------


def run(argv: Iterable[str], feed: StdinSource | None = None, cwd: str = "", *, within: Iterable[str] = ()) -> Deed:
    """A program that is started with these words, without a shell. `within`: the sources of its words."""
    return Deed(argv=tuple(argv), feed=feed, within=_secrets(within), cwd=cwd)


def shell(text: str, feed: StdinSource | None = None, cwd: str = "", *, within: Iterable[str] = ()) -> Deed:
    """A command that a shell runs. `within`: the sources of the text."""
    return Deed(text=text, feed=feed, within=_secrets(within), cwd=cwd)


def _secrets(sources: Iterable[str]) -> StdinSource | None:
    """The secret variables and the files among these sources, as a word of a shell command has them."""
    parts = [(source.partition(":")[0], source.partition(":")[2]) for source in sources]
    names = tuple(f"${name}" for kind, name in parts if kind == "secret")
    files = tuple(name for kind, name in parts if kind == "file")
    return StdinSource(None, (SECRET, *names) if names else (), files) if names or files else None


def change_folder(path: str) -> Deed:
    return Deed(argv=("cd", path))


def delete(path: str, *, recursive: bool = False) -> Deed:
    folder, deep, names = path.partition("/**")
    if deep:
        last = names.rpartition("/")[2]
        named = () if last in ("", "*", UNKNOWN) else ("-name", last)
        kind = () if recursive else ("-type", "f")
        return Deed(argv=("find", _operand(folder or "/"), *kind, *named, "-delete"))
    return Deed(argv=("rm", *(("-r",) if recursive else ()), _operand(path)))


def write(path: str, feed: StdinSource | None = None, *, append: bool = False) -> Deed:
    """Creates or changes a file. `feed`: what is written; its text may run later."""
    name = FETCHED if feed and FETCHED in feed.programs else "cat"
    return Deed(argv=(name,), feed=feed or StdinSource(), redirects=(Redirect("append" if append else "write", path),))


def empty(path: str) -> Deed:
    return Deed(argv=(":",), redirects=(Redirect("write", path.replace("/**", "")),))


def move(source: str, target: str) -> Deed:
    return Deed(argv=("mv", _operand(source), _operand(target)))


def copy(source: str, target: str, *, recursive: bool = False) -> Deed:
    return Deed(argv=("cp", *(("-r",) if recursive else ()), _operand(source), _operand(target)))


def link(source: str, target: str, *, symbolic: bool = True) -> Deed:
    return Deed(argv=("ln", *(("-s",) if symbolic else ()), _operand(source), _operand(target)))


def permit(path: str, mode: str) -> Deed:
    """Changes permissions; `mode` as `chmod` takes it."""
    folder, deep, _ = path.partition("/**")
    return Deed(argv=("chmod", *(("-R",) if deep else ()), mode, _operand(folder)))


def own(path: str, owner: str) -> Deed:
    folder, deep, _ = path.partition("/**")
    return Deed(argv=("chown", *(("-R",) if deep else ()), owner, _operand(folder)))


def pack(archive: str, path: str) -> Deed:
    return Deed(argv=("tar", "-cf", _operand(archive), _operand(path)))


def unpack(archive: str, folder: str) -> Deed:
    return Deed(argv=("tar", "-xf", _operand(archive), "-C", _operand(folder)))


def stop(process: str, signal: str) -> Deed:
    return Deed(argv=("kill", f"-{signal}", process))


def _operand(path: str) -> str:
    return f"./{path}" if path[:1] == "-" else path or UNKNOWN


_CHANGING = frozenset(["rm", "find", "mv", "chmod", "chown"])


def changes_unknown(deed: Deed) -> bool:
    """Whether it deletes, moves, opens or hands over something at a place that is not known, apart from temporary files."""
    words = deed.argv[1:] if deed.argv[:1] and deed.argv[0] in _CHANGING else ()
    return any(UNKNOWN in word and not word.startswith(TEMPORARY) for word in words)


# --- effects --------------------------------------------------------------------------------------------------------------


def read(path: str) -> Deed:
    return Deed(kind="read", target=path)


def encrypt(path: str) -> Deed:
    """A file whose content is replaced by an encrypted one."""
    return Deed(kind="encrypt", target=path.replace("/**", ""))


def send(url: str, method: str = "POST", feed: StdinSource | None = None) -> Deed:
    """A request that carries data; empty `url`: unknown. `feed`: where the data is from."""
    return Deed(kind="send", target=url, flags=frozenset({method}), feed=feed)


def request(url: str, method: str = "GET", feed: StdinSource | None = None) -> Deed:
    """A request without a body. `feed`: data inside the address or the headers."""
    return Deed(kind="request", target=url, flags=frozenset({method}), feed=feed)


def log_in(url: str, flags: Iterable[str] = ()) -> Deed:
    """A request that carries a secret to log in with. `unverified`: to a server whose certificate is not verified."""
    return Deed(kind="log-in", target=url, flags=frozenset(flags))


_UNVERIFIED = lazy_re.compile(
    r"\bverify\s?=\s?False|_create_unverified_context|CERT_NONE|verify_ssl\s?=\s?False|\bssl\s?=\s?False"
    r"|rejectUnauthorized['\"]?\s{0,3}:\s{0,3}false|NODE_TLS_REJECT_UNAUTHORIZED['\"]?\]?\s{0,3}=\s{0,3}['\"]?0|VERIFY_NONE"
    r"|SSL_VERIFY(?:PEER|HOST)['\"]?\s{0,3}(?:,|=>)\s{0,3}(?:false|0)|verify_hostname\s{0,3}=>\s{0,3}0|verify_mode\s?=\s?0"
)
_COMMENT = lazy_re.compile(r"(?:^|(?<=\s))(?://|#)[^\n'\"`]{0,400}+$", re.MULTILINE)
"""A comment up to the end of its line, without quotes: with them, the sign may be inside a text."""


def accepts_any(code: str) -> bool:
    """Whether code may accept any certificate, by its text without comments."""
    return _UNVERIFIED.search(code) is not None and _UNVERIFIED.search(_COMMENT.sub("", code)) is not None


def unverified(deeds: Iterable[Deed]) -> tuple[Deed, ...]:
    """The deeds of code that accepts any certificate: requests that log in are marked."""
    return tuple(log_in(deed.target, ["unverified"]) if deed.kind == "log-in" else deed for deed in deeds)


def mail(recipients: str, feed: StdinSource | None = None, *, server: Iterable[str] = ()) -> Deed:
    """`server`: what is known of it (`mail_flags`)."""
    return Deed(kind="mail", target=recipients, flags=frozenset(server), feed=feed)


def listen(port: str) -> Deed:
    return Deed(kind="listen", target=port)


def remote_shell(target: str) -> Deed:
    return Deed(kind="remote-shell", target=target)


def run_text(source: str, *flags: str) -> Deed:
    """Text that runs but is not visible: `fetched`, `decoded`."""
    return Deed(kind="run-text", target=source, flags=frozenset(flags))


def sql_text(text: str) -> Deed:
    return Deed(kind="sql", target=text)


def method(text: str, *flags: str) -> Deed:
    """A call that deletes or cancels something at a service; `publish`: it sends a message to others."""
    return Deed(kind="method", target=text[:MAX_SHOWN], flags=frozenset(flags))


def other(kind: str, target: str, *flags: str) -> Deed:
    """`load` (endless work), `kill-found`, `record` (of what is typed), `autostart`."""
    return Deed(kind=kind, target=target[:MAX_SHOWN], flags=frozenset(flags))


# --- data -----------------------------------------------------------------------------------------------------------------


def output_of(argv: Iterable[str]) -> StdinSource:
    """What a program prints, as something that is written or sent."""
    words = tuple(argv)
    name = words[0].rpartition("/")[2] if words else ""
    files = option_parser.plain(words).texts if name in _PRINTERS else ()
    return StdinSource(None, (name,) if name else (), files)


# --- what the deeds come to -----------------------------------------------------------------------------------------------


def effects(reading: CodeReading, program: ProgramRun, where: Where) -> Iterator[Effect]:
    """The effects that are no program's. `program`: the interpreter."""
    for deed in reading.deeds:
        if deed.kind:
            yield from _BY_KIND.get(deed.kind, _plain)(deed, program, where)


def _plain(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    yield Effect(deed.kind, deed.target, "remote" if deed.kind in _REMOTE else "", deed.flags | {"code"}, program)


_REMOTE = frozenset({"remote-shell", "method"})


def _read(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:
    return secrets_read([deed.target], program, where, "code")


def _encrypt(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield effect_on("encrypt", deed.target, program, where, ("code",))


def _sql(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    for statement in sql_statements.statements(deed.target):
        if flags := sql_statements.flags(statement):
            yield Effect("sql", statement[:400], "", flags | {"code"}, program)


def _send(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:
    to = web_targets.target(deed.target or "?")
    shown, flags = (to.url, to.flags) if deed.target else ("an address in the code", _NONE)
    carried = sent_data.data_flags(deed.feed, where, program.cwd) - {"output"}
    if deed.kind == "send" or carried & _SECRETIVE:
        yield Effect("send", shown, "remote", flags | carried | {"code"}, program)
    for verb in deed.flags:
        if deed.kind == "send" or verb not in _QUESTIONS:
            more = web_targets.request_flags(verb, to) if deed.target else _NONE
            sent = (deed.feed.text if deed.feed is not None else None) or ""
            if "local" not in flags and any(map(takes_away, (sent, *program.argv[1:3], program.stdin_text))):
                more |= {"destroys"}
            yield Effect("http", f"{verb} {deed.target and to.url}".rstrip(), "remote", flags | more | {"code"}, program)
        elif deed.target:
            yield Effect("fetch", to.url, "remote", flags | {"code"}, program)
            if acts := web_targets.acting_flags(to):
                yield Effect("http", f"{verb} {to.url}", "remote", flags | acts | {"code"}, program)


_SECRETIVE = frozenset({"credentials", "secret", "personal", "file"})
_QUESTIONS = frozenset({"GET", "HEAD", "OPTIONS"})


def _mail(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:
    carried = sent_data.data_flags(deed.feed, where, program.cwd) - {"output"}
    yield Effect("send", deed.target, "remote", carried | deed.flags | {"mail", "code"}, program)


def _log_in(deed: Deed, program: ProgramRun, where: Where) -> Iterator[Effect]:  # noqa: ARG001 - table signature
    any_server = any(name in _ANY_SERVER and value.strip("'\"") == "0" for name, value in program.assigns)
    if deed.target and (deed.flags or any_server):
        to = web_targets.target(deed.target)
        yield Effect("fetch", to.url, "remote", to.flags | {"unverified", "code"}, program)


_ANY_SERVER = frozenset({"NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONHTTPSVERIFY"})
_BY_KIND = {
    "log-in": _log_in,
    "read": _read,
    "encrypt": _encrypt,
    "sql": _sql,
    "send": _send,
    "request": _send,
    "mail": _mail,
}
