"""Methods of clients of services that code calls by name: what they delete, share, pay or switch off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.programs.code_search import any_of

MAX_CALLS = 2_000
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


def _chains(code: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The calls that a pattern finds, with the names before them."""
    for match in islice(pattern.finditer(code), MAX_CALLS):
        yield _chain_before(code, match.start()) + match[0]


def _shares(code: str, *, is_drive: bool) -> Iterator[str]:
    """Calls that let others see a file of a drive."""
    for match in islice(_SHARES.finditer(code), MAX_CALLS):
        if is_drive or _OF_DRIVE.search(match[2]):
            yield _chain_before(code, match.start()) + match[1]


def _access_calls(code: str, lowered: str) -> Iterator[str]:
    """Calls that end a protection or change who may do what."""
    if any_of(_TURNING_WORDS, lowered) and any_of(_CLOUDS, lowered):
        for match in islice(_TURNS_OFF.finditer(code), MAX_CALLS):
            yield match[0]
    if any_of(_ACCESS_WORDS, lowered):
        yield from _chains(code, _ACCESS)
    if any_of(_MAILBOXES, lowered):
        yield from (chain.rstrip("(") for chain in _chains(code, _MAIL_GONE))
    if any_of(_CHAINS, lowered):
        yield from _chains(code, _PAID)
    for match in islice(_ASKED_TO_DELETE.finditer(code), MAX_CALLS) if "DELETE /" in code else ():
        yield match[0][1:]
    if "permissions" in lowered:
        yield from _shares(code, is_drive=any_of(_DRIVES, lowered))


def grants_access(name: str) -> bool:
    """Whether a method of a cloud client changes who may do what."""
    match = _ACCESS.search(name)
    return match is not None and match.end() == len(name)


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
