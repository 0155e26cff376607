"""What code evidently does to files, services, databases and other machines.

Code is searched, not parsed. Each search takes linear time and is skipped if none of its words is in the code (`any_of`).
The entry point is `code_effects`; `interpreters` documents the effects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import effect_on, posted_messages, secrets_read, sql, web_targets, write_effects
from toolguard_engine.model.kept_patterns import compiled

MAX_FOUND = 64
MAX_CALLS = 2_000
MAX_SHOWN = 120


def code_effects(code: str, run: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _files(code, run, where)
    yield from _method_effects(code, run)


STRING = (
    r"""[rbfuRBFU@$]{0,2}+(?:"((?>(?:[^"\\]|\\.){0,1000}))"|'((?>(?:[^'\\]|\\.){0,1000}))'|`((?>(?:[^`\\]|\\.){0,1000}))`)"""
)
_HOME_CALL = (
    r"""(?:os\.path\.)?(?:expanduser|join|joinpath|file\.path|[Pp]ath\.(?:expand|join|of)|filepath\.Join|resolve|Path"""
    r"""|new File|expand)"""
    r"""\(\s{0,9}+|os\.homedir\(\)\s{0,4}+\+\s{0,4}+|Path\(\s{0,9}+"""
    r"""|Dir\.home\s{0,4}+\+\s{0,4}+"""
)
_HOME_VALUE = (
    r"""os\.environ(?:\.get\(|\[)['"]HOME['"][\])]|os\.getenv\(['"]HOME['"]\)|process\.env(?:\.HOME|\[['"]HOME['"]\])|(?:pathlib\.)?Path\.home\(\)"""
    r"""|os\.homedir\(\)|homedir\(\)|NSHomeDirectory\(\)|System\.user_home!?(?:\(\))?|(?:os\.Getenv|System\.getenv|Sys\.getenv|getEnv)\(["']HOME["']\)"""
    r"""|System\.getProperty\(["']user\.home["']\)|ENV\[:HOME\]|Dir\.home|ENV\[['"]HOME['"]\]|\$ENV\{['"]?HOME['"]?\}|getenv\(['"]HOME['"]\)|expanduser\(['"]~['"]\)"""
)
_HOME_TAIL = r"""(?:\s{0,3}+[+,/.]\s{0,3}+['"](?P<tail>[^'"\n]{1,300}+)['"])?"""
_LITERAL = rf"(?:{_HOME_CALL}){{0,3}}+(?:(?P<home>{_HOME_VALUE}){_HOME_TAIL}|{STRING})"

_DELETES_ALL = (
    r"rmtree|remove_tree|FileUtils\.(?:rm_rf|rm_r|remove_dir|remove_entry(?:_secure)?)|rimraf(?:\.sync|Sync|\.rimraf)?"
    r"|emptyDir(?:Sync)?|removedirs|del(?:Sync)?\b(?=\(\[)|fse?\.remove|removeSync|rimraf['\"]\)(?:\.\w{1,10})?|trash"
)
_DELETES_ALL_RARER = (
    r"os\.RemoveAll|remove_dir_all|removeItem(?=\(at)|File\.rm_rf!?|delete-directory(?:/files)?|rmdirRecurse|removeDir|os\.remove\.all"
    r"|remove(?:Directory|PathForcibly|DirectoryRecursive)|confirm_recursive_rmdir|file delete(?: -force)?(?: --)?"
)
"""Of languages whose variables are not followed: with a literal only."""

_DELETES_ONE = (
    r"os\.(?:remove|unlink|rmdir)|fsp?\.(?:promises\.)?(?:rm|rmdir|unlink)(?:Sync)?|\b(?:rmSync|rmdirSync|unlinkSync)|File\.(?:delete|unlink)"
    r"|Dir\.(?:rmdir|delete|unlink)|\bunlink|\brmdir|Deno\.remove(?:Sync)?|FileUtils\.rm(?:_f)?|os\.remove|\bfile\.remove|\brm"
    r"|os\.Remove|fs::remove_file|File\.rm!?|Files\.delete(?:IfExists)?|delete-file|removeFile"
)
_DELETE = (
    rf"(?:(?P<all>{_DELETES_ALL}|{_DELETES_ALL_RARER})|(?P<one>{_DELETES_ONE}))"
    rf"(?:\s{{0,4}}+\(|\s)\s{{0,4}}+(?:atPath:\s{{0,4}}+)?{_LITERAL}"
)
_PATH_DELETE = (
    rf"(?:Path|new File|Directory|File)\(\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)"
    r"\.(?:unlink|rmdir|delete(?:Sync|OnExit)?|(?P<all>deleteDir|deleteRecursively))\b"
)
_BARE_DELETE = r"\bfile delete(?:\s{1,4}+-\w{0,9}){0,2}\s{1,4}+([~/$][^\s;\"\]}]{1,300})"
"""Tcl, where a path needs no quotes."""

_OPEN = (
    rf"""\b(?:open|fopen|File\.open|io\.open|createWriteStream)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)?\s{{0,4}}+,"""
    r"""\s{0,4}+(?:mode\s{0,4}+=\s{0,4}+)?['"](?P<mode>[rwaxbt+<>]{1,4})"""
)
_WRITE = (
    r"(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream|file_put_contents|File\.(?:write|binwrite)|IO\.write"
    rf"|Deno\.write\w{{0,14}}|Bun\.write|truncateSync|writeLines)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)
_PATH_WRITE = (
    rf"Path\(\s{{0,4}}+{_LITERAL}\s{{0,4}}+\)(?:\.expanduser\(\))?\.(?:write_text|write_bytes|touch|open\(['\"][wax])"
)
_READ = (
    r"(?:\bopen|readFile(?:Sync)?|file_get_contents|fopen|File\.(?:read|open|readlines)|IO\.read|readlines|slurp"
    rf"|createReadStream|Deno\.read\w{{0,14}}|Bun\.file|Path)\s{{0,4}}+\(?\s{{0,4}}+{_LITERAL}"
)

# Words of which a search needs at least one to find anything.
_DELETING = (
    "rmtree", "unlink", "removeSync", "rimraf", "emptyDir", "del([", "delSync", "trash", "rm(", "rm '", 'rm "', "rmSync",
    "rmdir", "rm_r", "rm_f", "os.remove", "remove_tree",
    "removedirs", "remove_dir", "remove_entry", "fs.remove", "fse.remove", "Deno.remove", "file.remove",
    "File.delete", "Dir.delete", "rm(", "RemoveAll", "remove_dir_all", "removeItem", "File.rm", "delete-directory",
    "rmdirRecurse", "removeDir", "remove.all", "removePath", "confirm_recursive", "deleteDir", "deleteRec", ".delete",
    "file delete", "os.Remove", "remove_file", "Files.delete", "delete-file", "removeFile",
)  # fmt: skip
_WRITING = ("rite", "open", "touch", "put_contents", "appendFile", "truncate")
_READING = ("open", "read", "get_contents", "Path", "slurp", "file(")
_SECRETIVE = (
    "~",
    "/.",
    "'.",
    '".',
    "/etc",
    "/proc",
    "/dev",
    "HOME",
    "home",
    "id_",
    "key",
    "Key",
    "ecret",
    "red",
    "oken",
    "assw",
    "ookie",
    "ogin",
    "pem",
)

_RECURSIVE = lazy_re.compile(r"recursive['\"]?\s{0,4}+(?::|=>?)\s{0,4}+[tT1]")


def text_of(match: re.Match[str]) -> str:
    """The string that a pattern with `STRING` found; `~` for the home folder."""
    groups = match.groupdict()
    if groups.get("home"):
        return f"~/{groups['tail'].lstrip('/')}" if groups.get("tail") else "~"
    return next((group for group in _strings(match) if group), "")


def _strings(match: re.Match[str]) -> list[str | None]:
    named = set(match.re.groupindex.values())
    return [match.group(i) for i in range(1, match.re.groups + 1) if i not in named]


def found_in(pattern: str, code: str) -> Iterator[re.Match[str]]:
    for count, match in enumerate(compiled(pattern).finditer(code)):
        if count >= MAX_FOUND:
            return
        yield match


def _files(code: str, run: ProgramRun, where: Where) -> Iterator[Effect]:
    if any_of(_DELETING, code):
        yield from _deletes(code, run, where)
    if any_of(_WRITING, code):
        yield from _writes(code, run, where)
    if any_of(_READING, code) and any_of(_SECRETIVE, code):
        for match in found_in(_READ, code):
            yield from secrets_read([text_of(match)], run, where, "code")


_UNNAMED = rf"(?:{_DELETES_ALL})(?:\s{{0,4}}+\(|\s)\s{{0,4}}+(?:[fF]['\"]|[A-Za-z_$(`])"
_SEARCHES = (
    "walk(",
    "glob",
    "rglob",
    "scandir",
    "listdir",
    "readdir",
    "Dir.foreach",
    "Dir.each",
    "opendir",
    "Dir[",
    "find {",
    "find(",
    "<*",
)
_REMOVES = lazy_re.compile(
    r"(?:os\.(?:remove|unlink|rmdir)|unlinkSync|rmSync|rmtree|rm_rf|rm_f|File\.(?:delete|unlink)|\bunlink)\b\s?\(?\s?(?=[\w$<@&*\[{])"
    r"|\.unlink\(\s?\)|['\"]unlink['\"]|File\.method\(:(?:delete|unlink)"
)


def _searched(code: str, run: ProgramRun) -> Iterator[Effect]:
    """Deletes what a search finds, or a folder that the text does not name."""
    if any_of(_SEARCHES, code) and _REMOVES.search(code):
        yield Effect("delete-found", clip(code), "unknown", frozenset({"code"}), run)
    named = {match.start() for match in found_in(_DELETE, code)}
    for match in found_in(_UNNAMED, code):
        if match.start() not in named:
            yield Effect("delete-found", clip(match.group() + "…"), "unknown", frozenset({"code", "recursive"}), run)


def _deletes(code: str, run: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _searched(code, run)
    for match in found_in(_DELETE, code):
        path = text_of(match)
        everything = bool(match.group("all")) or _RECURSIVE.search(code, match.end(), match.end() + 120) is not None
        flags = ("recursive", "code") if everything else ("code",)
        if path:
            yield effect_on("delete", path, run, where, flags)
    for match in found_in(_PATH_DELETE, code):
        path = text_of(match)
        if path:
            everything = bool(match.group("all")) or _RECURSIVE.search(code, match.end(), match.end() + 40) is not None
            yield effect_on("delete", path, run, where, ("recursive", "code") if everything else ("code",))
    for match in found_in(_BARE_DELETE, code):
        yield effect_on("delete", match[1], run, where, ("recursive", "code"))


def _writes(code: str, run: ProgramRun, where: Where) -> Iterator[Effect]:
    for match in found_in(_OPEN, code):
        if set(match.group("mode")) & set("wax>+"):
            yield from write_effects(text_of(match), run, where, "code")
    for pattern in (_WRITE, _PATH_WRITE):
        for match in found_in(pattern, code):
            yield from write_effects(text_of(match), run, where, "code")


# --- methods of clients ---------------------------------------------------------------------------------------------------

_METHOD = lazy_re.compile(
    r"((?>(?:[\w)\]}]{1,40}(?:\?\.|\.|->|::)){1,6}))(\w{1,60}+)((?:!(?!=))?)\??(?=(\s{0,3}+\(\s{0,3}+.{0,2})?)"
)
_VERBS = (
    "delete", "drop", "destroy", "remove", "clear", "purge", "truncate", "terminate", "wipe", "flush", "empty",
    "revoke", "cancel",
    "deactivate", "unpublish", "void", "refund", "del", "erase",
)  # fmt: skip
_SINGLE = frozenset(_VERBS) - {"clear", "flush", "empty"}
_OBJECTS = (
    "many", "all", "bucket", "database", "table", "cluster", "queue", "topic", "index", "indices", "collection",
    "instance", "user", "batch", "trash",
    "project", "stack", "repo", "key", "secret", "object", "item", "document", "by", "service", "namespace", "role",
    "policy", "group",
    "schema", "rule", "synonym", "db", "volume", "snapshot", "image", "domain", "record", "zone", "account",
    "customer", "subscription",
    "invoice", "payment", "order", "template", "webhook", "endpoint", "list", "contact", "suppression", "message",
    "event", "file",
    "blob", "container", "function", "stream", "keyspace", "backup", "one", "transaction", "token", "session",
    "certificate", "member",
    "team", "workspace", "organization", "environment", "flag", "segment", "experiment", "dashboard", "monitor",
    "pod", "deployment",
    "node", "vector", "point", "entity", "entities", "row", "data", "store", "vault", "card", "merchant", "plan",
    "product", "price",
    "coupon", "source", "app", "site", "release", "branch", "tag", "hook", "config", "resource", "network", "gateway",
    "route", "trail", "detector", "public_access", "publicaccess", "flow_log", "flowlog", "log_group", "loggroup",
    "web_acl", "webacl", "alarm", "v2",
)  # fmt: skip
_HARMLESS = lazy_re.compile(
    r"listener|prefix|suffix|child|attribute|timeout|interval|immediate|rect|screen|mocks?$|animation|duplicates|dropna|level|property"
    r"|class|element|handler|headers|cache|whitespace|(?<!name)space|punct|stopword|accents|console|selection|filter|line|color|row_?factory"
    r"|columns?$|key_?press|(?:drop|remove)?_?while|marker|observer|nan|null|outliers|tags?_?from_?html|html|delete_(?:rows|cols)"
)
_LOCAL_NAMES = frozenset({
    "path", "argv", "environ", "map", "set", "cache", "classlist", "style", "dataset", "params", "searchparams",
    "headers", "list", "m", "s", "d", "arr", "array", "df", "data", "frame", "text", "socket", "stream", "req", "res",
    "request", "response", "process", "timer", "controller", "task", "future", "signal", "abort", "element", "node", "el",
    "body", "handlers", "listeners", "sys", "os", "fs", "module", "modules", "require", "exports", "globals", "locals",
    "self", "this", "keys", "values",
})  # fmt: skip


_BEGINNINGS = ("batch", "begin", "files", "force")
"""Of several at once, without waiting for the end, of Dropbox, or for good."""


def methods(code: str) -> Iterator[str]:
    """Calls that delete, cancel or revoke something at a service: `client.items.delete("x")`, `User.destroy_all`."""
    lowered = code.lower()
    yield from _access_calls(code, lowered)
    if not any_of(_VERBS, lowered) and not any_of(_PAYS, lowered):
        return
    for match in islice(_METHOD.finditer(code), MAX_CALLS):
        receiver, name, bang, opened = match.groups()
        name_ = name.lower()
        if name_.startswith(_BEGINNINGS):
            name_ = name_[5:].lstrip("_")
        verb = next((verb for verb in _VERBS if name_.startswith(verb)), "")
        if name == "create" and receiver.lower().endswith(_PAYS):
            yield receiver + name
        if not verb or _HARMLESS.search(name.lower()) or receiver.lower().endswith(_OF_THE_PAGE) or receiver in _OF_FILES:
            continue
        rest = name_[len(verb) :].strip("_").removesuffix("andwait").removesuffix("and_wait")
        if (
            rest.startswith(_OBJECTS)
            if rest
            else True
            if (bang and opened is None and verb in _SINGLE) or name_ != name.lower()
            else _on_service(receiver, verb, (opened or "").lstrip(" (\t\n")[:1], opened is not None)
        ):
            yield receiver + name


def _access_calls(code: str, lowered: str) -> Iterator[str]:
    """Calls that end a protection or change who may do what."""
    if any_of(_TURNING_WORDS, lowered) and any_of(_CLOUDS, lowered):
        for match in islice(_TURNS_OFF.finditer(code), MAX_CALLS):
            yield match[0]
    if any_of(_ACCESS_WORDS, lowered):
        for match in islice(_ACCESS.finditer(code), MAX_CALLS):
            yield _chain_before(code, match.start()) + match[0]
    if any_of(_MAILBOXES, lowered):
        for match in islice(_MAIL_GONE.finditer(code), MAX_CALLS):
            yield _chain_before(code, match.start()) + match[0].rstrip("(")
    if any_of(_CHAINS, lowered):
        for match in islice(_PAID.finditer(code), MAX_CALLS):
            yield _chain_before(code, match.start()) + match[0]
    for match in islice(_ASKED_TO_DELETE.finditer(code), MAX_CALLS) if "DELETE /" in code else ():
        yield match[0][1:]
    if "permissions" in lowered:
        for match in islice(_SHARES.finditer(code), MAX_CALLS):
            if any_of(_DRIVES, lowered) or _OF_DRIVE.search(match[2]):
                yield _chain_before(code, match.start()) + match[1]


def grants_access(name: str) -> bool:
    """Whether a method of a cloud client changes who may do what."""
    found = _ACCESS.search(name)
    return found is not None and found.end() == len(name)


def _chain_before(code: str, at: int) -> str:
    """The names before a method: the `client.` of `client.putBucketAcl`."""
    start = at
    while start > max(at - MAX_CHAIN, 0) and (code[start - 1] in "._" or code[start - 1].isalnum()):
        start -= 1
    return code[start:at]


MAX_CHAIN = 60


def _on_service(receiver: str, verb: str, first: str, called: bool) -> bool:  # noqa: FBT001 - a part of the match
    """Whether a bare verb acts on what a client names: it has a chain of names and an argument that names one thing."""
    names = [name for name in re.split(r"[?.\->:]{1,4}", receiver) if name]
    last = names[-1].lower()
    if not called or verb not in _SINGLE or last in _LOCAL_NAMES:
        return False
    if receiver.endswith(").") and verb in _ON_ALL - {"truncate"}:
        return True
    if first == ")" and (verb in ("drop", "truncate") or (verb in _ON_ALL and receiver.endswith(")."))):
        return True
    return (
        (len(names) > 1 or last in _CLIENTS or last.endswith("client"))
        and (first in "'\"`{[" or first.isalnum())
        and bool(first)
    )


_TURNING_WORDS = ("logging", "recorder", "security", "mfa", "guardduty", "macie", "key_deletion", "keydeletion")
_TURNS_OFF = lazy_re.compile(
    r"(?<=\.)(?:stop_?[lL]ogging|stop_?[cC]onfiguration_?[rR]ecorder|disable_?[sS]ecurity_?[hH]ub|disable_?[gG]uard_?[dD]uty"
    r"|deactivate_?(?:[mM]fa|MFA)_?[dD]evice|disable_?[mM]acie|schedule_?[kK]ey_?[dD]eletion)\b(?=\()"
)
"""Calls of cloud clients that end a protection or the record of what happens."""
_CLOUDS = ("trail", "configservice", "config-service", "guardduty", "securityhub", "macie", "iam", "kms", "aws", "boto")
"""Code that has none of these names has another recorder or log."""

_ACCESS = lazy_re.compile(
    r"\biam\w{0,20}\.(?:create_user|createUser|create_access_key|createAccessKey|create_login_profile|createLoginProfile)\b"
    r"|\.(?:attach_(?:user|role|group)_policy|put_(?:user|role|group|bucket)_policy|put_bucket_acl"
    r"|add_user_to_group|authorize_(?:security_group_)?(?:ingress|egress)|set_iam_policy|update_assume_role_policy)\b"
    r"|\b(?:attach(?:User|Role|Group)Policy|put(?:User|Role|Group|Bucket)Policy|putBucketAcl|addUserToGroup"
    r"|authorizeSecurityGroup(?:Ingress|Egress)|setIamPolicy|updateAssumeRolePolicy)\b"
    r"|\b(?:Attach(?:User|Role|Group)|Put(?:User|Role|Group|Bucket))PolicyCommand\b"
    r"|\badd_?(?:to_)?[cC]ollaborators?\b|\bset_?[cC]ustom_?[uU]ser_?[cC]laims\b"
)
"""Calls of cloud clients that change who may do what: of boto3, Google's clients, and the JavaScript SDK of AWS."""
_SHARES = lazy_re.compile(r"\b(permissions(?:\(\))?\.(?:create|insert))(?=\(([^()]{0,200}))")
_MAILBOXES = ("imap", "gmail", "mailbox")
_MAIL_GONE = lazy_re.compile(
    r"\b(?:expunge|messageDelete|mailboxDelete|delete_messages|deleteMessages|delete_folder)(?=\b(?!\s{0,4}[=:]))"
    r"|\badd_?[fF]lags\((?=[^()\n]{0,80}Deleted)"
)
_CHAINS = ("ethers", "web3", "viem", "solana")
_PAID = lazy_re.compile(r"\bsend_?(?:[rR]aw_?|[sS]igned_?)?[tT]ransaction(?=\()")
_ASKED_TO_DELETE = lazy_re.compile(r"\.request\(\s{0,9}['\"`]DELETE /[^'\"`\n]{1,200}")
_OF_DRIVE = lazy_re.compile(r"\b(?:fileId|requestBody|body)\b")
_DRIVES = ("drive.", "drive(", "'drive'", '"drive"', "google")
"""What shares a file of Google Drive; anything else may have permissions of its own."""
_ACCESS_WORDS = (
    "policy",
    "access_key",
    "accesskey",
    "ingress",
    "egress",
    "bucketacl",
    "bucket_acl",
    "login",
    "group",
    "iam",
    "collaborator",
    "claims",
)

_OF_THE_PAGE = ("storage.", "window.", "document.", "formdata.", "params.", "process.", "console.")
_OF_FILES = frozenset({"os.", "fs::", "std::fs::", "Files.", "FileManager.default."})
"""Files are searched for by themselves (`_files`)."""

_ON_ALL = frozenset({"delete", "destroy", "terminate", "purge", "truncate"})
"""Verbs that may follow a query without an argument: `User.objects.all().delete()`."""
_PAYS = ("refunds.", "payouts.", "transfers.", "refund.", "payout.", "stripe.transfer.", "stripe.charge.")
_CLIENTS = frozenset({
    "client", "api", "algolia", "stripe", "braintree", "gateway", "square", "paypal", "twilio", "sendgrid", "mailgun",
    "postmark", "sns", "sqs", "s3", "ec2", "dynamodb", "db", "firestore", "redis", "mongo", "es", "elastic", "opensearch",
    "meili", "qdrant", "pinecone", "weaviate", "k8s", "docker", "octokit", "github", "gitlab", "prisma", "supabase",
    "repo", "bucket", "container", "cluster", "customer", "customers", "users", "user", "accounts", "subscription",
    "subscriptions", "transaction", "collection", "index",
})  # fmt: skip


def _method_effects(code: str, run: ProgramRun) -> Iterator[Effect]:
    seen = dict.fromkeys(methods(code))
    for text in islice(seen, MAX_FOUND):
        yield Effect("method", text, "remote", frozenset({"code"}), run)
    for text in posted_messages.messages(code):
        yield Effect("method", text, "remote", frozenset({"code", "publish"}), run)
    for text in statement_texts(code):
        for statement in sql.statements(text):
            found = sql.flags(statement)
            if found:
                yield Effect("sql", statement[:400], "", found | {"code"}, run)


def statement_texts(code: str) -> Iterator[str]:
    """Literals that are given to a database."""
    if _STATEMENT_WORDS.search(code):
        yield from map(text_of, found_in(_STATEMENT, code))


_STATEMENT_WORDS = lazy_re.compile(
    r"(?:drop|DROP|Drop|truncate|TRUNCATE|delete|DELETE|Delete|update|UPDATE|Update|alter|ALTER|grant|GRANT)\s{1,9}+\S"
)
_STATEMENT = (
    r"(?:execute\w{0,12}|query\w{0,12}|raw\w{0,12}|Raw\w{0,12}|\bsql|exec\w{0,6}|prepare|\bdo|\brun|\btext|unsafe)"
    rf"\s{{0,3}}+\(?\s{{0,3}}+{STRING}"
)


# --- code that contacts other machines or runs received text ----------------------------------------------------------

_SOCKETS = (
    "socket", "Socket", "fsockopen", "pfsockopen", "TCPServer", "net.connect", "net.createConnection", "createServer",
    "/inet/tcp",
    "/inet/udp", "require('net')", 'require("net")', "Net.Sockets", "TCPClient", "SOCK_STREAM", "inet_aton", "Bun.connect",
    "gen_tcp", "socketConnection", "TCPSocket", "using Sockets", "tcp-connect",
)  # fmt: skip
_CHILDREN = (
    "/bin/sh", "/bin/bash", "/bin/zsh", "dup2", "pty.spawn", "cmd.exe", "powershell", "'sh'", '"sh"', "'bash'",
    '"bash"', "bash -i",
    "sh -i", ">&S", ">&STDIN", "Invoke-Expression", "iex ", "io.popen(", "| getline", "sh <&", "`sh", "fdopen", "IO.popen",
    "[exec", "exec sh", "os.cmd", "System.cmd", "system(", "Process.run", "runtime().exec", "getRuntime",
)  # fmt: skip
_DECODING = (
    "b64decode", "atob(", "fromCharCode", "unhexlify", "fromhex", "marshal.loads", "zlib.decompress", "base64_decode",
    "gzinflate",
    "str_rot13", "'base64'", '"base64"', "unpack(", "unpack1(", "pack(", "decode('hex')", "rot13", "rot_13",
    "b85decode", "b32decode",
    "FromBase64String", "pickle.loads", "decode_base64", "Base64.decode", "hex2bin", "lzma.decompress",
    "urlsafe_decode", "'hex'",
    "chr(", "::-1]", ".reverse()",
)  # fmt: skip
_ASKING = (
    "urlopen", "requests.get", "urllib", "http.get", "https.get", "fetch(", "file_get_contents('http",
    'file_get_contents("http',
    "open-uri", "Net::HTTP", "URI.open", "LWP::", "HTTP::Tiny", "axios", "DownloadString", "DownloadData",
    "Invoke-WebRequest",
    "Invoke-RestMethod", "iwr ", "irm ", "httpx.get", "curl_exec", "wget ", "curl ",
    "url-retrieve", 'download("http', "download('http",
)  # fmt: skip
_EVALUATING = (
    "exec",
    "eval",
    "load",
    "nclude",
    "require_once",
    "Function",
    "function",
    "runIn",
    "ex ",
    "nvoke",
    "assert",
    "system(",
    "iex",
    "IEX",
)
_EVALUATES = lazy_re.compile(
    r"\b(?:exec|eval|assert|instance_eval|class_eval|execfile|runInNewContext|runInThisContext|loadstring|load|create_function|Function"
    r"|Invoke-Expression|(?i:iex)|include|require_once)(?:\s{0,4}+[({]|\s)|\beval\)|\(eval-buffer|\.exec\(|\|\s{0,4}+(?i:iex)\b|\bsystem\("
)
_ENVIRONMENT = lazy_re.compile(
    r"(?:dict|str|repr|dumps|stringify|urlencode|data\s{0,3}+=|json\s{0,3}+=|body\s{0,3}+:)\s{0,4}+[({]?\s{0,4}+"
    r"(?:dict\()?(?:os\.environ|process\.env|ENV|%ENV|getenv\(\))\b(?!\s{0,3}+[.\[(])"
)
_SENDING_WORDS = (
    "post", "put", "patch", "delete", "Post", "Put", "Patch", "Delete", "POST", "PUT", "PATCH", "DELETE", "data",
    "send", "Upload",
)  # fmt: skip
_SENDING = lazy_re.compile(
    r"(?:requests|httpx|session|client|axios|http|got|superagent|ky|aiohttp)\.(?P<verb>post|put|patch|delete|Delete|Post|Put|Patch)\s{0,4}+\("
    r"|method['\"]?\s{0,4}+(?::|=>?)\s{0,4}+['\"](?P<method>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|Net::HTTP(?:\.|::)(?P<ruby>[Pp]ost|Put|Patch|Delete)"
    r"|requests\.request\(\s{0,4}+['\"](?P<asked>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|(?:urlopen|Request)\([^()\n]{0,400}?\bdata\s{0,4}+=(?P<data>)|CURLOPT_POSTFIELDS(?P<fields>)|sendmail\((?P<mail>)|\.sendall?\((?P<socket>)"
    r"|(?i:Invoke-(?:RestMethod|WebRequest))[^\n]{0,400}?(?i:-Method)\s{1,4}+['\"]?(?P<power>(?i:post|put|patch|delete))"
    r"|Upload(?:String|File|Data)\((?P<upload>)"
)
_ADDRESS = lazy_re.compile(r"""(?:https?|wss?|ftp)://[^\s'"`<>)\\]{1,400}""")


def network_effects(code: str, run: ProgramRun) -> Iterator[Effect]:
    if connects_shell(code):
        yield Effect("remote-shell", clip(code), "remote", frozenset({"code"}), run)
    if origin := runs_received(code):
        where = "an address in the code" if origin == "fetched" else "decoded text in the code"
        yield Effect("run-text", where, "", frozenset({origin, "code"}), run)
    yield from _sends(code, run)


NEAR = 600


def connects_shell(code: str) -> bool:
    """Whether code has a connection and a shell."""
    return any_of(_SOCKETS, code) and any_of(_CHILDREN, code)


def connects_shell_nearby(code: str) -> bool:
    """Whether long code has a connection and a shell near each other."""
    for word in _SOCKETS:
        at = code.find(word)
        for _ in range(MAX_FOUND):
            if at < 0:
                break
            if any_of(_CHILDREN, code[max(0, at - NEAR) : at + NEAR]):
                return True
            at = code.find(word, at + NEAR)
    return False


def runs_received(code: str) -> str:
    """`fetched` or `decoded` if code evaluates text and contains what such text may come from."""
    if any_of(_EVALUATING, code) and _EVALUATES.search(code):
        if any_of(_ASKING, code) and _EVALUATES.search(_without_regex_calls(code)):
            return "fetched"
        if any_of(_DECODING, code):
            return "decoded"
    return ""


def _without_regex_calls(code: str) -> str:
    """Removes `/x/.exec(text)` of JavaScript, which evaluates nothing, unlike `child_process`."""
    return code if "child_process" in code else code.replace(".exec(", ".")


def _sends(code: str, run: ProgramRun) -> Iterator[Effect]:
    if not any_of(_SENDING_WORDS, code):
        return
    verbs = []
    for count, match in enumerate(_SENDING.finditer(code)):
        if count >= MAX_FOUND:
            break
        verbs.append(next((text for text in match.groupdict().values() if text), "POST").upper())
    if not verbs:
        return
    address = _ADDRESS.search(code)
    to = web_targets.target(address.group() if address else "?")
    flags = to.flags if address else frozenset[str]()
    carries = {"code"}
    if _ENVIRONMENT.search(code):
        carries.add("credentials")
    if re.search(r"files\s{0,3}+=|open\(|readFile|file_get_contents|read_text|read_bytes|createReadStream", code):
        carries.add("file")
    yield Effect("send", to.url if address else "an address in the code", "remote", flags | carries, run)
    for verb in dict.fromkeys(verbs):
        found = web_targets.request_flags(verb, to) if address else frozenset[str]()
        yield Effect("http", f"{verb} {to.url if address else ''}".rstrip(), "remote", flags | found | {"code"}, run)


def any_of(words: tuple[str, ...], code: str) -> bool:
    for word in words:  # noqa: SIM110 - a generator is 50% slower
        if word in code:
            return True
    return False


def clip(code: str) -> str:
    return code if len(code) <= MAX_SHOWN else code[: MAX_SHOWN - 1] + "…"
