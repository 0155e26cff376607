"""What clients of clusters, containers, clouds and keyrings do, by the names of their methods.

Each call is the command of the service's own program that does the same, so that one set of rules judges both.
"""

from __future__ import annotations

from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import web_targets
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages.code_values import NOTHING, Unknown, Value, choices, items, sources, text
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_tables import Act, table
from toolguard_engine.effects.programs.posted_messages import messages
from toolguard_engine.model.kept_patterns import compiled

MAX_PARTS = 500
MAX_NAME = 120

# --- what is inside an object ---------------------------------------------------------------------------------------------


def inside(code: PythonCalling, names: tuple[str, ...], *values: Value) -> list[tuple[str, Value]]:
    """What objects, or those inside them, have under these names: the 0 of `{"spec": {"replicas": 0}}`.

    Objects may share parts or contain themselves: each is looked at once, and at most `MAX_PARTS` are.
    """
    queue = [one for value in values for one in choices(value) if isinstance(one, dict | list | tuple)]
    seen = {id(one) for one in queue}
    members: list[tuple[str, Value]] = []
    for done, one in enumerate(queue):  # grows meanwhile
        if done >= MAX_PARTS:
            break
        code.spend(1)
        if isinstance(one, dict):
            members += [(name, part) for name in names if name in one for part in choices(one[name])]
        parts = (part for option in (one.values() if isinstance(one, dict) else one) for part in choices(option))
        for part in parts:
            if isinstance(part, dict | list | tuple) and id(part) not in seen:
                seen.add(id(part))
                queue.append(part)
    return members


# --- Kubernetes -----------------------------------------------------------------------------------------------------------

_CLUSTER = "secret:CLUSTER_SECRET"
_PLAIN = frozenset({".metadata", ".type", ".kind", "keys"})
"""Parts of a secret that do not show it."""


def _stopped(code: PythonCalling, given: Arguments) -> Value:
    if any(type(count) is int and count == 0 for _, count in inside(code, ("replicas",), *given.all)):
        code.add(deeds.run(("kubectl", "scale", "deployment", given.text(0, "name"), "--replicas=0")))
    return _created(code, given)


def _created(code: PythonCalling, given: Arguments) -> Value:
    hosts = inside(code, _HOST, *given.all)
    if any(part is True or (isinstance(part, dict) and _is_host(part.get("path"))) for _, part in hosts):
        code.add(deeds.run(("kubectl", "run", "pod", "--image=image", "--privileged")))
    return NOTHING


def _is_host(path: Value) -> bool:
    return isinstance(path, str) and (path in ("/", "/root", "/home", "/etc", "/proc") or path.endswith(".sock"))


_HOST = ("privileged", "hostPID", "host_pid", "hostIPC", "host_ipc", "hostPath", "host_path")


def _described(code: PythonCalling, given: Arguments) -> Value:
    """`V1SecurityContext(privileged=True)`."""
    return _created(code, Arguments([dict(given.named)]))


def _host_path(code: PythonCalling, given: Arguments) -> Value:
    return _created(code, Arguments([{"hostPath": {"path": given.get(0, "path")}}]))


def _bound(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.run(("kubectl", "create", "clusterrolebinding", "binding", "--clusterrole=role")))
    return NOTHING


def _cluster_secret(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    return Unknown("cluster secret", (_CLUSTER,))


# --- containers -----------------------------------------------------------------------------------------------------------


def _container(code: PythonCalling, given: Arguments) -> Value:
    """`containers.run(image, command, privileged=True, volumes={"/": {"bind": "/host"}})` as `docker run` has it."""
    named = given.named
    argv = ["docker", "run"]
    if named.get("privileged") is True:
        argv.append("--privileged")
    modes = ((name, named.get(f"{name}_mode")) for name in ("pid", "ipc", "userns", "network"))
    argv += [f"--{name}={text(mode)}" for name, mode in modes if mode is not None]
    volumes = named.get("volumes")
    if isinstance(volumes, dict):
        argv += [f"--volume={text(source)}:{_bind(where)}" for source, where in volumes.items()]
    for name, option in (("volumes", "--volume"), ("cap_add", "--cap-add"), ("security_opt", "--security-opt")):
        if isinstance(named.get(name), list | tuple):
            argv += [f"{option}={text(value)}" for value in named[name]]
    argv.append(given.text(0, "image") or "image")
    command = given.get(1, "command")
    argv += [text(word) for word in items(command)] if isinstance(command, list | tuple) else text(command or "").split()
    code.add(deeds.run(argv))
    return Unknown(sources=("program:docker",))


def _bind(where: Value) -> str:
    return text(where.get("bind", "")) if isinstance(where, dict) else text(where)


def _pruned(kind: str) -> Act:
    def act(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
        code.add(deeds.run(("docker", kind, "prune", "-f")))
        return NOTHING

    return act


def _volume_gone(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.run(("docker", "volume", "rm", "volume")))
    return NOTHING


# --- clouds and keyrings --------------------------------------------------------------------------------------------------


def _cloud(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """`boto3.client("cloudtrail")`; `mode`: `local` for an emulator on this machine."""
    return Unknown(AWS, text=given.text(0, "service_name"), mode="local" if _is_local(given) else "")


def _is_local(given: Arguments) -> bool:
    address = given.text(-1, "endpoint_url")
    return "://" in address and "local" in web_targets.target(address).flags


def _resource(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """`boto3.resource("s3")`, whose parts are known by their names; of an emulator on this machine none is."""
    return Unknown(EMULATED if _is_local(given) else "boto3.resource")


EMULATED = "local resource"
AWS = "boto3.client"
_ENDING = lazy_re.compile(
    r"(?:delete|stop(?!_query)|disable|deregister|disassociate|detach|schedule_key|deactivate|suspend)_\w+"
    r"|modify_(?:db_)?(?:cluster_)?(?:image|snapshot)_attribute|put_object_acl"
)
_CLOSED = lazy_re.compile(r"(?:put|update|modify|set)_\w{1,60}")
"""Methods that open something, or end a protection, only with some values."""


def on_cloud(code: PythonCalling, value: Unknown, name: str, given: Arguments) -> Value:
    """A call of a client of AWS; None if it is not known here."""
    if name in ("get_secret_value", "get_parameter", "get_parameters_by_path"):
        is_secret = name == "get_secret_value" or given.named.get("WithDecryption", False) is not False
        return Unknown("cloud secret", (_CLOUD,) if is_secret else ())
    service, command = value.text.strip(UNKNOWN) or "ec2", name.replace("_", "-")
    if name.startswith("send_") and name.endswith("email"):
        code.add(deeds.method(name, "publish"))
        return NOTHING
    if _ENDING.fullmatch(name):
        code.add(deeds.run(("aws", service, command)))
        return NOTHING
    if not _CLOSED.fullmatch(name):
        return None
    members = inside(code, (*_COUNTS, *_BLOCKS), given.named)
    if any(member in _OPEN for member in given.named.items()) or any(
        part is False and key in _BLOCKS for key, part in members
    ):
        code.add(deeds.run(("aws", service, _OPENING)))
        return NOTHING
    if any(type(part) is int and part == 0 and key in _COUNTS for key, part in members):
        code.add(deeds.run(("aws", service, command, "--desired-count=0")))
        return NOTHING
    return None


_COUNTS = ("desiredCount", "DesiredCapacity", "MaxSize", "NumCacheNodes")
_CLOUD = "secret:CLOUD_SECRET"
_OPENING = "put-public-access-block"
_OPEN = (("Enable", False), ("IsMultiRegionTrail", False), ("DeletionProtection", False), ("PubliclyAccessible", True))
_BLOCKS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")


def _shared(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.method("permissions.create"))
    return NOTHING


def _file_shared(code: PythonCalling, given: Arguments) -> Value:
    """The permissions of anything, unless the arguments are those of Google Drive."""
    return None if given.named.keys().isdisjoint(("fileId", "requestBody", "body")) else _shared(code, given)


def _vault_secret(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    return Unknown("cloud secret", (_CLOUD,))


def _named_secret(code: PythonCalling, given: Arguments) -> Value:
    """`client.get_secret("name")` of a vault; a call without a name may be of anything."""
    return _vault_secret(code, given) if given.all else None


def _method(text_: str) -> Act:
    def act(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
        code.add(deeds.method(text_))
        return NOTHING

    return act


def _unit_stopped(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.run(("systemctl", "stop", given.text(0))))
    return NOTHING


def _from_keyring(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """`item.get_secret()` of secretstorage, `keyring.get_credential(...)`."""
    code.add(deeds.run(("secret-tool", "lookup", "service", "any")))
    return Unknown(sources=("program:secret-tool",))


def _pushed(code: PythonCalling, given: Arguments) -> Value:
    """`repo.remotes.origin.push(refspec=..., force=True)`."""
    force = ["--force"] if given.named.get("force") is True else []
    code.add(*(deeds.run(("git", "push", "origin", *force, one)) for one in given.texts(0, "refspec") or ["main"]))
    return NOTHING


def _reset(code: PythonCalling, given: Arguments) -> Value:
    if given.named.get("working_tree") is True:
        code.add(deeds.run(("git", "reset", "--hard", given.text(0, "commit") or "HEAD")))
    return NOTHING


def _cookies(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """The log-ins of a browser."""
    path = "~/.config/google-chrome/Default/Cookies"
    code.add(deeds.read(path))
    return Unknown(sources=(f"file:{path}",))


def _repository_changed(code: PythonCalling, given: Arguments) -> Value:
    if given.named.get("private") is False or given.named.get("visibility") == "public":
        code.add(deeds.run(("gh", "repo", "edit", "owner/name", "--visibility", "public")))
    return NOTHING


# --- what calls belong to a client ----------------------------------------------------------------------------------------

_DOCKER = r"(?:docker|podman)(?:\.\w{1,40}){1,2}"
_NAMED: tuple[tuple[str, Act], ...] = (
    (r"(?:list|read)_(?:namespaced_)?secret(?:_for_all_namespaces)?", _cluster_secret),
    (r"(?:patch|replace)_namespaced_\w{1,40}", _stopped),
    (r"create_namespaced_(?:pod|deployment|job|cron_job|daemon_set|stateful_set|replica_set)", _created),
    (r"V1(?:SecurityContext|PodSpec)", _described), (r"V1HostPathVolumeSource", _host_path),
    (r"create_(?:cluster|namespaced)_role_binding", _bound),
    (rf"{_DOCKER}\.containers\.(?:run|create)", _container),
    (rf"{_DOCKER}\.containers\.prune", _pruned("container")), (rf"{_DOCKER}\.images\.prune", _pruned("image")),
    (rf"{_DOCKER}\.volumes\.prune", _pruned("volume")), (rf"{_DOCKER}\.volumes\.(?:get|list\[\])\.remove", _volume_gone),
    (r"(?:secretstorage|keyring)\.(?:[\w.\[\]]{1,100}\.)?get_secret", _from_keyring), (r"get_secret", _named_secret),
    (r"read_secret(?:_version)?|access_secret_version", _vault_secret),
    (r"storage\.Client(?:\.\w{1,40}(?:\[\])?){1,3}\.delete(?:_blobs?)?", _method("bucket.delete")),
    (r"gitlab\.Gitlab(?:\.\w{1,40}){1,4}\.members\.create", _method("members.add_collaborator")),
    (r"keyring\.get_credential", _from_keyring), (r"StopUnit|MaskUnitFiles|DisableUnitFiles", _unit_stopped),
    (r"\w{0,40}(?:[dD]rive|google)\w{0,40}\.(?:[\w.\[\]]{1,100}\.)?permissions\.(?:create|insert)", _shared),
    (r"permissions\.(?:create|insert)", _file_shared),
    (r"boto3\.resource(?:\.\w{1,40}(?:\[\])?){1,4}\.(?:delete|terminate|delete_objects|purge)", _method("resources.delete")),
    (r"git\.Repo(?:\.\w{1,40}(?:\[\])?){1,4}\.push", _pushed),
    (r"git\.Repo\.head\.reset", _reset), (r"browser_cookie3\.\w{1,40}", _cookies),
    (r"github\.Github(?:\.\w{1,40}(?:\[\])?){1,4}\.edit", _repository_changed),
    (r"ccxt\.\w{1,40}\.(?:withdraw|transfer|create_\w{0,20}order)", _method("transfers.create")),
    (r"gitlab\.Gitlab(?:\.\w{1,40}(?:\[\])?){1,6}\.delete", _method("projects.delete")),
    (r"ftplib\.FTP(?:_TLS)?\.(?:delete|rmd)", _method("files.delete")),
    (r"web3\.Web3\.eth\.send_(?:raw_)?transaction", _method("transfers.create")),
    (r"(?:imaplib|imap_tools)(?:\.\w{1,40}(?:\[\])?){1,4}\.(?:expunge|delete)", _method("mailbox.delete")),
)  # fmt: skip
_HINTS = (
    "secret", "_namespaced_", "V1", "role_binding", ".containers.", "prune", ".volumes.", "permissions.", "storage.",
    "members.", "Unit", "get_credential", "imap",
    "boto3.resource.", "git.Repo.", "browser_cookie3.", ".edit", "web3.", "ccxt.", "gitlab.",
    "ftplib.",
)  # fmt: skip


def act_of(name: str) -> Act | None:
    """What a method does, by its name and those of the objects that it was reached through."""
    name = name[-MAX_NAME:]
    return _act_of(name) if any(hint in name for hint in _HINTS) else None


@lru_cache(maxsize=500)
def _act_of(name: str) -> Act | None:
    return next((act for names, act in _NAMED if compiled(rf"(?:\A|\.)(?:{names})\Z").search(name)), None)


def without_secret(value: Unknown, name: str) -> Unknown | None:
    """A part of a secret's description, which does not show it; None for any other part."""
    if _CLUSTER not in value.sources or name not in _PLAIN:
        return None
    return Unknown(value.kind, tuple(source for source in value.sources if source != _CLUSTER))


_SHOWS = frozenset({"print", "pprint", "pp", "echo", "sys.stdout.write"})
_SHOWN = {
    _CLUSTER: ("kubectl", "get", "secret", "-o", "yaml"),
    _CLOUD: ("aws", "secretsmanager", "get-secret-value", "--secret-id", "any"),
}


def shown(code: PythonCalling, name: str, given: Arguments) -> None:
    """Prints a secret that a service keeps."""
    if (name in _SHOWS or name.rpartition(".")[2] in _SHOWS) and "file" not in given.named:
        code.add(*(deeds.run(_SHOWN[source]) for source in sources(*given.all) if source in _SHOWN))


def posted(code: PythonCalling, name: str, given: Arguments) -> None:
    """A message to others. A reply goes to the chat of a message, which is an argument of a function."""
    to = given.get(0, "chat_id", "chat")
    to = (to.kind[-MAX_NAME:] or "chat") if isinstance(to, Unknown) else ""
    code.add(*(deeds.method(message, "publish") for message in messages(f"{name[-MAX_NAME:]}({to}")))


CALLS: dict[str, Act] = table(
    ("boto3.client boto3.Session.client boto3.session.Session.client aioboto3.Session.client", _cloud),
    ("boto3.resource boto3.Session.resource boto3.session.Session.resource", _resource),
    ("len bool hash type", lambda _, __: NOTHING),
)
