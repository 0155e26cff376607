"""Effects in words, for the person who decides about a call: `change the permissions of /srv (recursive, for everybody)`.

Rules and `toolguard check` use the names of kinds and flags, which this only spells out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

VERBS: Mapping[str, str] = {
    "act": "act in a browser or on a desktop:",
    "autostart": "start at each login:",
    "code": "run code:",
    "connect": "connect to",
    "copy-in": "copy from another machine:",
    "copy-out": "copy to another machine:",
    "delete-found": "delete whatever a search finds:",
    "device": "act on a device:",
    "device-write": "write to the device",
    "discard": "discard what is not committed in",
    "disguise": "copy a shell under another name:",
    "elevate": "run as administrator:",
    "empty": "remove the content of",
    "enable": "start automatically from now on:",
    "exfiltrate": "send credentials away:",
    "expose": "make reachable from outside:",
    "fills": "write without end to",
    "flood": "start processes without end:",
    "gateway": "act on the gateway:",
    "http": "send a request:",
    "kill-found": "kill all processes that a search finds:",
    "leak": "hand on a secret:",
    "listen": "accept connections:",
    "load": "load code from",
    "lookalike": "use a name that resembles a well-known one:",
    "mcp": "call a tool without a description:",
    "mcp-read": "read with a tool:",
    "mcp-write": "write with a tool:",
    "message": "send a message:",
    "method": "call a service:",
    "nosql": "change a database:",
    "owner": "change the owner of",
    "permissions": "change the permissions of",
    "plugin": "act on the gateway's plugins:",
    "provenance": "do what external text says:",
    "record": "record what is typed:",
    "remote-shell": "give another machine a shell:",
    "replace-key": "replace the key",
    "run-later": "schedule a command:",
    "run-made": "run a file that it has just changed:",
    "run-text": "run text that nobody has seen:",
    "run-unread": "run a file that cannot be read:",
    "scan": "scan for open ports:",
    "schedule": "set up a schedule:",
    "secret-store": "act on stored secrets:",
    "session": "act on a session:",
    "shell-out": "run a command from within a program:",
    "skill": "act on a skill:",
    "spawn": "start an agent:",
    "sql": "run SQL:",
    "stage": "collect keys:",
    "transfer": "transfer",
    "trust": "trust a key of another machine:",
    "tunnel": "open a tunnel:",
    "perhaps-write": "write over",
    "unknown-program": "run a program that is not known:",
    "variable": "set the variable",
}
"""Kinds that are not a verb which takes what they are about. One that ends in a colon is followed by a text."""

NOTES: Mapping[str, str] = {
    "address": "to an address",
    "addressed": "",
    "agent-made": "made by an agent",
    "bulk": "much at once",
    "database": "a whole database",
    "deployed": "by a build",
    "drop": "drops what is there",
    "each": "each one",
    "erases": "erases what was there",
    "everyone": "for everybody",
    "files": "only its files",
    "fetched": "from another machine",
    "filtered": "only some",
    "follows": "does what an address will say",
    "forced": "without asking",
    "gateway-file": "a file of the gateway",
    "glob": "with wildcards",
    "history": "a command history",
    "in-place": "in place",
    "injects": "puts code into other programs",
    "lan": "in your network",
    "lesser": "as a service",
    "log": "a log",
    "mirror": "whatever the source lacks",
    "none": "no rights for anybody",
    "output": "what a program prints",
    "payload": "with data",
    "personal": "personal data",
    "personal-file": "a personal file",
    "plain-lines": "only settings",
    "private": "in a private network",
    "reveals": "shows secrets",
    "service-data": "",
    "recursive": "with everything in it",
    "setuid": "runs with its owner's rights",
    "socket": "",
    "statement": "",
    "stream": "",
    "through-link": "through a link",
    "tls": "",
    "to-root": "to the administrator",
    "to-temp": "into a temporary folder",
    "touched": "only its time",
    "unchanged": "without changes of yours",
    "unencrypted": "not encrypted",
    "unfiltered": "all rows",
    "unknown": "not known in full",
    "unverified": "the other side is not verified",
    "variable": "from a variable",
    "whole": "the whole folder",
    "wiped": "cannot be recovered",
    "world-writable": "everybody may write",
}
"""Flags that do not read as a remark; empty: what a person cannot act on."""


def text(kind: str, target: str, flags: Iterable[str]) -> str:
    """One effect behind "would". Names without words of their own are shown without their hyphens."""
    verb = VERBS.get(kind) or kind.replace("-", " ")
    notes = [note for flag in flags if (note := NOTES.get(flag, flag.replace("-", " ")))]
    beside = f" ({', '.join(dict.fromkeys(notes))})" if notes else ""
    return f"{verb} {target}".rstrip(" :" if not target else " ") + beside


def does(kind: str, target: str, flags: Iterable[str]) -> str:
    """The same behind "it": `deletes ~/photos (with everything in it)`."""
    verb, space, rest = text(kind, target, flags).partition(" ")
    return f"{_third_person(verb)}{space}{rest}"


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"
