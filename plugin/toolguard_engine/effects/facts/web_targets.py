"""Who a request goes to: the host of an address, and what a request to it amounts to."""

from __future__ import annotations

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, web_services
from toolguard_engine.effects.facts.addresses import canonical, is_quad
from toolguard_engine.effects.facts.command import UNKNOWN

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "ip6-localhost", "host.docker.internal"})  # noqa: S104 - a name, nothing is bound
_PRIVATE_ENDS = (".local", ".internal", ".lan", ".home", ".intranet", ".corp", ".svc", ".test", ".localhost", ".home.arpa")
_LAN = lazy_re.compile(r"(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.)[\d.]{3,9}\Z|f[de][0-9a-f]{2}:")
MAX_PATH = 600
_STEPS = lazy_re.compile(r"[/?&=#:.;]")
_SERVICES = frozenset(
    # data stores, gateways, secret stores, brokers and orchestrators with an HTTP API
    [
        "9200",
        "9201",
        "9600",
        "8001",
        "8444",
        "9180",
        "7700",
        "8108",
        "6333",
        "5984",
        "8086",
        "8091",
        "8200",
        "8500",
        "2375",
        "2376",
        "2379",
        "4646",
        "15672",
        "9090",
        "9091",
        "9093",
        "4242",
        "8089",
        "8087",
        "2019",
        "6443",
        "8983",
        "7474",
        "8529",
        "8123",
        "8083",
        "3100",
        "5601",
        "8161",
        "19530",
        "8222",
        "9870",
        "8088",
        "7070",
        "2480",
    ]
)
_ENDS = frozenset({
    "delete", "_delete", "destroy", "purge", "purge_cache", "purge_everything", "wipe", "truncate", "drop", "shutdown",
    "terminate", "deactivate", "cancel", "revoke", "void", "refund", "refunds", "payouts", "transfers", "close", "_close",
    "remove", "erase", "flush", "_flush", "reset", "quit", "-/quit", "unpublish", "uninstall", "suspend", "disable",
    "archive", "rollback", "expire", "clear", "undeploy", "decommission", "failover", "seal", "rotate", "stop", "kill",
    "_delete_by_query", "delete_by_query", "delete-by-query", "delete_series", "_shrink", "delete-batch", "batchdelete",
    "bulk_delete", "bulk-delete", "bulkdelete", "_bulk_delete", "delete_all", "delete-all", "deleteall",
    "clean_tombstones", "removal", "cancellation", "invalidate", "invalidations", "unsubscribe", "step-down", "leave",
    "reboot", "poweroff", "_rollover", "_forcemerge", "clearall", "alarm_disarm",
})  # fmt: skip
_STARTS = (
    "purge_",
    "purge-",
    "delete_",
    "delete-",
    "bulk_delete",
    "bulk-delete",
    "batch_delete",
    "batch-delete",
    "cancel_",
    "cancel-",
)
_SETTINGS = frozenset({
    "_cluster", "_settings", "_security", "_snapshot", "_ilm", "_template", "_index_template", "_all", "admin",
    "policies", "policy", "mounts", "_reroute", "provisioning", "_xpack",
})  # fmt: skip


_UNLOCK, _LOCK = "unlock", "lock"
"""Pages and states are unlocked as well; where a door is, a step in front of it names a lock."""
_REOPENED = program_catalogue.words("reopened")


class Target(Struct, frozen=True):
    """The destination of a request: the whole URL and the flags `local`, `private`, `tls`."""

    url: str
    host: str
    port: str
    flags: frozenset[str]


def target(text: str) -> Target:
    """Parses a URL, or what curl and httpie accept as one (`:9200/x`, `host/path`)."""
    url = text if "://" in text[:16] else f"http://localhost{text}" if text[:1] in (":", "/") else f"http://{text}"
    scheme, _, rest = url.partition("://")
    authority = rest[:512]
    for end in "/?#":
        authority = authority.partition(end)[0]
    host = authority.rpartition("@")[2]
    port = host.rpartition(":")[2]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    plain = canonical(host)
    if plain != host:
        at = url.find(host, len(scheme) + 3 + authority.rfind("@") + 1)
        url, host = url[:at] + plain + url[at + len(host) :], plain
    flags = set(host_flags(host))
    if text.startswith(UNKNOWN):  # a variable, which has its own scheme
        flags.add("tls")
    if scheme.lower() in ("https", "ftps", "sftp", "scp", "wss"):
        flags.add("tls")
    return Target(url, host, port if port.isdigit() else "", frozenset(flags))


def request_flags(method: str, to: Target) -> frozenset[str]:
    """Flags of a request beside its method: `service`, `destroys`, `settings`, and those of `web_services`."""
    path = to.url.partition("://")[2].partition("/")[2][:MAX_PATH].lower()
    steps = _STEPS.split(path)
    flags = set(web_services.service_flags(to.host, path))
    if to.port in _SERVICES:
        flags.add("service")
    if method != "DELETE" and any(_ends(step, steps[:at]) for at, step in enumerate(steps)):
        flags.add("destroys")
    if not _SETTINGS.isdisjoint(steps):
        flags.add("settings")
    return frozenset(flags)


def _ends(step: str, before: list[str]) -> bool:
    """Whether a step of a path ends or deletes what the steps before it name. What is on a list of work is opened again as
    easily as it is closed."""
    if step == "close" and any(name in _REOPENED for name in before[-2:]):
        return False
    if step == _UNLOCK:
        return any(_LOCK in name for name in before[-3:])
    return step in _ENDS or step.startswith(_STARTS)


def acting_flags(to: Target) -> frozenset[str]:
    """Flags of a request that asks something, for services that act on that as well."""
    return web_services.service_flags(to.host, to.url.partition("://")[2].partition("/")[2][:MAX_PATH], asks=True)


def host_flags(host: str) -> frozenset[str]:
    """`local` for this machine, `private` for the local network, nothing for any other host."""
    host = canonical(host.lower())
    if host in _LOCAL or (host.startswith("127.") and is_quad(host)):
        return frozenset({"local"})
    if _LAN.match(host):
        return frozenset({"private", "lan"})
    if host.endswith(_PRIVATE_ENDS) or ("." not in host and ":" not in host and UNKNOWN not in host):
        return frozenset({"private"})
    return frozenset()


_RELAYING = frozenset({25, 465, 587})
"""Ports on which a mail server of this machine may pass mail on; on any other port it is one for tests."""

_MAX_PORT = 65_535
_MAIL_ADDRESS = lazy_re.compile(r"(?:smtps?://)?(?:[^@/?#\\\s]{0,80}@)?([A-Za-z0-9.-]{1,80})(?::([^:/@?#]{1,12}))?/?")


def mail_flags(server: str, port: str = "") -> frozenset[str]:
    """`local` if mail to this server, which may name its port itself, stays on this machine."""
    named = _MAIL_ADDRESS.fullmatch(server)
    ports = {sign for sign in (port, (named and named[2]) or "") if sign}
    if named is None or len(ports) != 1:
        return frozenset()
    (port,) = ports
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= _MAX_PORT and int(port) not in _RELAYING
    return host_flags(named[1]) & {"local"} if is_port else frozenset()
