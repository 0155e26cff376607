"""Programs that contact other machines: what they fetch, send or change there, and whom they give access.

The kinds: `fetch` (a URL or host), `write` of what was fetched (flag `fetched`), `send` (data leaves; the target is the
destination), `http` (target `"DELETE https://..."`: any method that is more than a query), `copy-out` and `copy-in` (files
to and from a host), `transfer`, `connect`, `listen`, `tunnel`, `scan`, `remote-shell`. The flags:

- what is sent: `file`, `payload` (a file in the form of an API message), `upload`, `output` (of other programs), `reveals`
  (it describes the user or the machine), `personal`, `credentials`, `bulk`; how: `mail`, `socket`, `address` (inside the
  address itself), `dns`, `stream`;
- the destination: `local` (this machine), `private` (the local network; `lan`: by address), `tls`;
- the request: `service` (to a program that stores data), `destroys`, `settings`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, marks, normal, place
from toolguard_engine.effects.facts.web_targets import host_flags, mail_flags, target
from toolguard_engine.effects.landings.copied_files import sources_and_target
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.manuals.option_spellings import HELP, VERSION
from toolguard_engine.effects.programs import Act, by_manual, effect_on, web_programs, write_effects
from toolguard_engine.effects.programs.sent_data import data_flags, fed, file_flags, stdin_flags
from toolguard_engine.effects.programs.web_programs import table

# --- sockets ------------------------------------------------------------------------------------------------------------

_MANY_PORTS = 20
_PORT_DIGITS = 6


def _nc(program: ProgramRun, where: Where) -> Iterator[Effect]:
    read = program.words
    host = "".join(read.texts[:1])
    flags = host_flags(host)
    if any(read.values("--exec", "--lua-exec")) or read.last("--sh-exec"):
        yield Effect("remote-shell", host or "anyone who connects", "remote", flags, program)
        return
    if read.has("--listen"):
        yield Effect("listen", read.last("-p") or " ".join(read.texts), "", frozenset(), program)
        return
    if any(map(_many, read.texts[1:])):
        yield Effect("scan", host, "remote", flags, program)
        return
    yield Effect("connect", host, "remote", flags, program)
    if not read.has("-z") and fed(program):
        yield Effect(
            "send",
            " ".join(read.texts),
            "remote",
            flags | stdin_flags(program, where) | {"socket"},
            program,
        )


def _many(ports: str) -> bool:
    low, dash, high = ports.partition("-")
    return (
        bool(dash)
        and low.isdigit()
        and high.isdigit()
        and len(high) < _PORT_DIGITS
        and len(low) < _PORT_DIGITS
        and int(high) - int(low) >= _MANY_PORTS
    )


def _socat(program: ProgramRun, where: Where) -> Iterator[Effect]:
    addresses = program.words.texts
    kinds = [address.partition(":")[0].upper() for address in addresses]
    ends = [
        address
        for address, kind in zip(addresses, kinds, strict=True)
        if kind.startswith(("TCP", "UDP", "SSL", "OPENSSL", "SCTP", "VSOCK"))
    ]
    runs_program = any(kind in ("EXEC", "SYSTEM", "SHELL") for kind in kinds)
    for end in ends:
        host = end.partition(":")[2].partition(":")[0].partition(",")[0]
        flags = frozenset({"local"}) if "LISTEN" in end.upper() else host_flags(host)
        if runs_program:
            yield Effect("remote-shell", end, "remote", flags, program)
        elif "LISTEN" in end.upper():
            yield Effect("listen", end, "", frozenset({"forward"}) if len(ends) > 1 else frozenset(), program)
        else:
            yield Effect("connect", host, "remote", flags, program)
            if fed(program) or any(kind in ("FILE", "OPEN", "GOPEN") for kind in kinds):
                files = frozenset[str]()
                for address, kind in zip(addresses, kinds, strict=True):
                    if kind in ("FILE", "OPEN", "GOPEN"):
                        files |= file_flags(address.partition(":")[2].partition(",")[0], program, where)
                yield Effect("send", end, "remote", flags | files | stdin_flags(program, where) | {"socket"}, program)


def _telnet(program: ProgramRun, where: Where) -> Iterator[Effect]:
    host = "".join(program.words.texts[:1])
    yield Effect("connect", host, "remote", host_flags(host), program)
    if program.stdin is not None and program.stdin.files:
        yield Effect("send", host, "remote", host_flags(host) | stdin_flags(program, where) | {"socket"}, program)


def _openssl(program: ProgramRun, where: Where) -> Iterator[Effect]:
    command = "".join(program.words.texts[:1])
    if command == "s_server":
        yield Effect("listen", "openssl s_server", "", frozenset(), program)
    elif command == "s_client":
        end = program.words.last("-connect")
        flags = host_flags(end.partition(":")[0]) | {"tls"}
        yield Effect("connect", end, "remote", flags, program)
        sent = stdin_flags(program, where)
        if sent & {"file", "credentials", "personal"}:
            yield Effect("send", end, "remote", flags | sent | {"socket"}, program)


# --- files to and from hosts --------------------------------------------------------------------------------------------


def remote(word: str) -> str:
    """The host of `user@host:path`, `host::module` or a URL; empty for a local path."""
    if "://" in word[:12]:
        return target(word).host
    before, colon, _ = word.partition(":")
    if not colon or "/" in before or not before or word.startswith((".", "~")):
        return ""
    return before.rpartition("@")[2].strip("[]")


def _ssh(program: ProgramRun, read: CommandWords, where: Where) -> Iterator[Effect]:
    if not read.operands:
        return
    host = read.texts[0].rpartition("@")[2].partition(":")[0].removeprefix("ssh://")
    flags = host_flags(host) | {"tls"}
    yield Effect("connect", host, "remote", flags, program)
    for forward in read.values("-R", "-w", "-D"):
        yield Effect("tunnel", f"{forward.text} {host}", "remote", flags, program)
    for option in read.values("-o"):
        if option.text.lower().startswith("remoteforward"):
            yield Effect("tunnel", f"{option.text} {host}", "remote", flags, program)
    sent = stdin_flags(program, where)
    if sent or (program.stdin is not None and program.stdin.programs):
        yield Effect("copy-out", host, "remote", flags | sent | {"stream"}, program)


def _copies(program: ProgramRun, words: CommandWords, where: Where, extra: frozenset[str] = frozenset()) -> Iterator[Effect]:
    """Copies between machines; no effect if all sources and the target are local."""
    sources, last = sources_and_target(program, words)
    if not last:
        return
    host = remote(last)
    if host:
        flags = host_flags(host) | {"tls"} | extra
        is_listed = bool(words.named("names"))
        for path in (source for source in sources[:64] if not remote(source)):
            is_whole = (is_listed and path == UNKNOWN) or place(path, where, program.cwd) == "workspace"
            flags |= _bulk(path, program, where) | (_BULK if is_whole else frozenset())
            if _is_own(flags) and "moves" not in extra and _is_personal(path, program, where):
                flags -= _BULK
        yield Effect("copy-out", last, "remote", flags, program)
        return
    hosts = [remote(source) for source in sources]
    for source, host in zip(sources, hosts, strict=True):
        if host:
            yield Effect("copy-in", source, "remote", host_flags(host) | {"tls"}, program)
    if any(hosts):
        yield from write_effects(last, program, where, "fetched", *extra)


def _bulk(path: str, program: ProgramRun, where: Where) -> frozenset[str]:
    where_to = place(path, where, program.cwd)
    if where_to == "credentials" and normal(path, where, program.cwd) == where.state_dir:
        return frozenset({"file", "bulk"})  # a backup of the whole gateway, which its owner may want
    if where_to == "credentials":
        return frozenset({"file", "credentials"})
    is_bulk = where_to in ("root", "home", "system") or "personal-file" in marks(path, where, program.cwd)
    return frozenset({"file", "bulk"}) if is_bulk else frozenset({"file"})


_BULK = frozenset({"bulk"})


def _is_personal(path: str, program: ProgramRun, where: Where) -> bool:
    """A folder of pictures or documents, which people copy to a machine of their own; not the whole home."""
    return place(path, where, program.cwd) == "in-home" and "personal-file" in marks(path, where, program.cwd)


def _rsync(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    if words.rehearses or "lists" in words.acts:
        return
    flags = {"delete"} if words.trait("deletes") else set[str]()
    if words.trait("moves"):
        flags.add("moves")
    elif flags and _deploys(program, words, where):
        flags.add("deployed")
    yield from _copies(program, words, where, frozenset(flags))


def _deploys(program: ProgramRun, words: CommandWords, where: Where) -> bool:
    """Whether what was built replaces a folder, not a whole disk or home, of a machine of one's own network."""
    sources, last = sources_and_target(program, words)
    steps = [step for step in last.partition(":")[2].split("/") if step not in ("", ".", "..", "~")]
    built = all(place(path, where, program.cwd) == "artefact" for path in sources)
    return built and _is_own(host_flags(remote(last))) and len(steps) > 1 and ".." not in last


def _is_own(flags: frozenset[str]) -> bool:
    """A machine of the local network that is called by a name of its own: an address may be anybody's."""
    return "private" in flags and "lan" not in flags


def _sftp(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    if source := words.one("host"):
        host = remote(source) or source.rpartition("@")[2]
        yield Effect("transfer", source, "remote", host_flags(host) | {"tls"}, program)
        yield from write_effects(words.one("target"), program, where, "fetched")


def _ftp(program: ProgramRun, where: Where) -> Iterator[Effect]:
    read = program.words
    given = (word.text for word in read.named("script"))
    commands = " ".join((*given, (program.stdin.text or "") if program.stdin else ""))[:4096]
    host = target(read.texts[0]).host if read.operands else ""
    yield Effect("transfer", host or commands[:80], "remote", host_flags(host) if host else frozenset(), program)
    words = commands.split()
    for verb, path in pairwise(words):
        if verb in ("put", "mput", "send", "append", "stor"):
            yield Effect("copy-out", host, "remote", _bulk(path, program, where), program)


_PEER_SENDERS = program_catalogue.programs("peer_sender")
_SENDERS_BY_VERB = program_catalogue.programs("sender_by_verb")
_INPUT_MAILERS = program_catalogue.programs("input_mailer")
_LOCAL = ("/", "~", "$", ".")
_ENVIRONMENT = program_catalogue.programs("environment_printer") | program_catalogue.programs("variable_lister")
_MAX_SOURCES = 64


def _to_cloud(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    """`aws s3 cp`, `rclone copy` and the like. Deploying is ordinary; keys and whole homes are not."""
    if "copies" not in words.does or words.rehearses:
        return
    target, sources = words.one("target"), words.named("source")[:_MAX_SOURCES]
    own = [word.text for word in sources if not remote(word.text) and word.text != "-"]
    if "downloads" in words.does or (not remote(target) and ("uploads" not in words.does or target.startswith(_LOCAL))):
        yield from _from_cloud(program, words, where)
        return
    flags = frozenset[str]().union(*(_bulk(path, program, where) for path in own))
    personal = any("personal-file" in marks(path, where, program.cwd) for path in own)
    personal = personal or (words.recursive and any(place(path, where, program.cwd) == "in-home" for path in own))
    if program.stdin is not None and not own and not _ENVIRONMENT.isdisjoint(program.stdin.programs):
        flags |= {"credentials"}
    if flags & {"credentials", "bulk"} or personal:
        yield Effect("copy-out", target, "remote", flags, program)
    if "moves" in words.does and words.recursive:
        yield from (effect_on("delete", path, program, where, ["recursive"]) for path in own)


def _from_cloud(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    """What a copy from another machine overwrites, or deletes because it is not there."""
    target = words.one("target")
    is_from_afar = not words.does.isdisjoint(("uploads", "downloads"))
    if not is_from_afar and not any(remote(word.text) for word in words.named("source")):
        return
    if "deletes" in words.does or words.trait("deletes"):
        yield effect_on("delete", target, program, where, ["recursive", "mirror"])
    yield from write_effects(target, program, where, "fetched")


def _to_azure(program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from by_manual(_to_cloud)(program, where)
    yield from web_programs.PROGRAMS["az"](program, where)


def _put(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`ncftpput host folder file...`, `croc send file`, `magic-wormhole send file`, `transfer file`."""
    words = program.words.texts
    if program.name in _PEER_SENDERS:
        if "send" not in words[:2] and program.name in _SENDERS_BY_VERB:
            return
        words = words[1:]
    flags = frozenset[str]()
    for word in words[-8:]:
        flags |= _bulk(word, program, where)
    yield Effect("copy-out", program.name, "remote", flags, program)


# --- mail -----------------------------------------------------------------------------------------------------------------

_MAILX = frozenset({"mail", "mailx", "s-nail"})
_MAIL_SETTING = lazy_re.compile(
    r"(?:(?:smtp|mta)=(.{1,120})|(?:from|replyto|sender|hostname|(?:smtp|ssl)-[\w-]{1,30})(?:=.*)?)"
)


def _mail_server(program: ProgramRun, read: CommandWords) -> frozenset[str]:
    """`local` if every server that is named is one for tests on this machine, and nothing sends the mail elsewhere."""
    if read.trait("other-way") or read.unknown or any(name.startswith(("SWAKS", "MAILRC")) for name, _ in program.assigns):
        return frozenset()
    if program.name in _MAILX:
        settings = [_MAIL_SETTING.fullmatch(word.text) for word in read.values("-S")]
        if not all(settings):
            return frozenset()
        servers = [setting[1] for setting in settings if setting and setting[1]]
    else:
        servers = [word.text for word in read.named("host")]
    ports = {word.text for word in read.values("--port", "-port")} or {""}
    flags = [mail_flags(server, port) for server in servers for port in ports]
    return frozenset({"local"}) if flags and all(flags) else frozenset()


def _mail(program: ProgramRun, where: Where) -> Iterator[Effect]:
    read = program.words
    to = [word for word in read.texts if "@" in word or UNKNOWN in word]
    to += [word.text for word in read.values("--to", "-to", "-t") if word.text]
    if not to and not (fed(program) and program.name in _INPUT_MAILERS):
        return
    flags = stdin_flags(program, where)
    for attached in read.named("input"):
        if ":" not in attached.text:
            flags |= file_flags(attached.text.removeprefix("@"), program, where)
    yield Effect("send", " ".join(to), "remote", flags | {"mail"} | _mail_server(program, read), program)


# --- tunnels and servers ----------------------------------------------------------------------------------------------

TUNNELS: dict[str, frozenset[str]] = {
    "ngrok": frozenset({"http", "tcp", "tls", "start", "tunnel"}),
    "cloudflared": frozenset({"tunnel", "access"}),
    "code": frozenset({"tunnel"}),
    "code-insiders": frozenset({"tunnel"}),
    "code-server": frozenset(),
    "localtunnel": frozenset(),
    "lt": frozenset(),
    "bore": frozenset({"local", "server"}),
    "frpc": frozenset(),
    "frps": frozenset(),
    "chisel": frozenset({"client", "server"}),
    "tailscale": frozenset({"funnel"}),
    "zrok": frozenset({"share"}),
    "devtunnel": frozenset({"host"}),
    "inlets": frozenset({"client", "http"}),
    "inletsctl": frozenset({"create"}),
    "pagekite": frozenset(),
    "pagekite.py": frozenset(),
    "telebit": frozenset({"http", "tcp"}),
    "tmate": frozenset(),
    "upterm": frozenset({"host"}),
    "sshx": frozenset(),
    "ttyd": frozenset(),
    "gotty": frozenset(),
    "wetty": frozenset(),
    "shellinaboxd": frozenset(),
    "teleconsole": frozenset(),
    "gsocket": frozenset(),
    "gs-netcat": frozenset(),
    "ligolo": frozenset(),
    "iodine": frozenset(),
    "iodined": frozenset(),
    "dnscat": frozenset(),
    "dnscat2": frozenset(),
    "playit": frozenset(),
    "expose": frozenset({"share"}),
}
_TUNNEL_QUESTIONS = frozenset({
    *HELP, *VERSION, "list", "info", "help", "version", "status", "show", "kill", "unregister", "logout", "user", "cleanup",
    "token", "delete",
})  # fmt: skip


def _tunnel(program: ProgramRun, _: Where) -> Iterator[Effect]:
    verbs = TUNNELS[program.name]
    words = program.argv[1:]
    if (verbs and not verbs.intersection(words[:2])) or (program.name == "lt" and not program.words.has("--port")):
        return
    asks = next(iter(words), "") == "-v" or not _TUNNEL_QUESTIONS.isdisjoint(words[:3])
    if asks and not program.words.last("-h"):  # with a value, it is the host of `lt`
        return
    yield Effect("tunnel", " ".join(program.argv[:6]), "remote", frozenset(), program)


def _whois(program: ProgramRun, _: Where) -> Iterator[Effect]:
    """What `whois` asks: with a given host and port this is a plain socket; looking up a name is ordinary."""
    read = program.words
    if read.has("--host") and read.has("--port"):
        host = read.last("--host")
        yield Effect("connect", host, "remote", host_flags(host) | {"odd"}, program)


_OWN_NETWORK = lazy_re.compile(r"10\.|127\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.")
"""Private addresses (RFC 1918): which machines answer at home is an ordinary question."""


def _pinged_one_by_one(program: ProgramRun) -> Iterator[Effect]:
    """A loop over the addresses of a network that is not the machine's own."""
    for word in program.argv[1:]:
        if UNKNOWN in word and word[:1].isdigit() and word.count(".") > 1 and not _OWN_NETWORK.match(word):
            yield Effect("scan", word.replace(UNKNOWN, "?"), "remote", frozenset({"lan"}), program)


def _dns(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """A lookup of a name that contains other programs' output, which is how data leaks through DNS."""
    if program.name == "ping":
        yield from _pinged_one_by_one(program)
    for at, feed in program.given:
        word = program.argv[at] if at < len(program.argv) else ""
        if (
            UNKNOWN in word
            and "." in word.rpartition(UNKNOWN)[2]
            and set(feed.programs) - {"hostname", "echo", "printf", "date"}
        ):
            if "$secret" in feed.programs:
                yield Effect("exfiltrate", word.replace(UNKNOWN, "?"), "remote", frozenset({"secret", "dns"}), program)
            yield Effect(
                "send",
                word.replace(UNKNOWN, "?"),
                "remote",
                data_flags(feed, where, program.cwd) | {"address", "dns"},
                program,
            )


PROGRAMS: dict[str, Act] = web_programs.PROGRAMS | table(
    (program_catalogue.programs("netcat"), _nc),
    ({"socat"}, _socat),
    ({"telnet"}, _telnet),
    ({"openssl"}, _openssl),
    (program_catalogue.programs("remote_login"), by_manual(_ssh)),
    (manual_catalogue.aliases("scp"), by_manual(_copies)),
    (manual_catalogue.aliases("rsync"), by_manual(_rsync)),
    (manual_catalogue.aliases("sftp"), by_manual(_sftp)),
    (program_catalogue.programs("cloud_copier"), by_manual(_to_cloud)),
    ({"az"}, _to_azure),
    (program_catalogue.programs("ftp_client"), _ftp),
    (program_catalogue.programs("file_sender"), _put),
    (program_catalogue.programs("mail_sender"), _mail),
    (program_catalogue.programs("dns_client"), _dns),
    ({"whois"}, _whois),
    (TUNNELS, _tunnel),
)
