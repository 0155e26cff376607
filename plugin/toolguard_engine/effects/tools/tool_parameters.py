"""What the parameters of an undescribed tool say beside its name: action, command or code, payment, audience.

The words are roles of the catalogue (`program_catalogue.words`). Only short values and the first `MAX_ITEMS` are examined.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.program_catalogue import words
from toolguard_engine.effects.tools.tool_values import MAX_DEPTH, MAX_ITEMS
from toolguard_engine.host.tool_names import NameMeaning, named

_MAX_CODE = 100_000
_VAGUE = frozenset({"", "change", "send", "write", "run"})
_SEVERE = frozenset({"destroy", "take-away", "let-in", "pay", "publish"})
_ACTION = words("acting_parameter")
_SUBJECT = words("subject_parameter")
_COMMAND = words("command_parameter")
_PROGRAMS = words("command_program")
_CODE = words("code_parameter")
_RUNS = words("runs_code")
_KEEPS = words("keeps_code")
_DATABASE = words("database")
_AMOUNT = words("amount")
_PAYEE = words("payee")
_UNPAID = words("unpaid")
_EVERYBODY = words("everybody")
_AUDIENCE = words("audience_parameter")
_SHARES = words("shares")
_FORWARDING = tuple(words("forwarding_parameter"))
_STATE = words("state_parameter")
_OPEN = words("open_state")
_ENTRANCE = words("entrance")
_PROGRAM = words("program_parameter")
_TYPING = words("typing")
_TYPED = words("typed_parameter")
_HIGH_ROLES = words("high_role")
_MOVES_MONEY = words("moves_money")
_KEEPS_MONEY = words("keeps_money")
_TRADED = words("traded")
_INSTRUMENT = words("payment_instrument")
_LOGIN = words("login_parameter")
_ACCOUNT = words("account")
_ENTERED = words("enters")
_ALTERED = words("alters")
_PASSWORD_KEEPERS = words("keeps_passwords")
_REVEALING = tuple(words("revealing_parameter"))
_AUTOMATIC = words("automatic_text")
_TRASHES = words("trash_folder")
_DELETING = words("deleting_parameter")
_MAIL_RULE = words("mail_rule")
_CARTS = words("cart_parameter")
_SHOWING = words("shows_entry")
_ENTRIES = words("kept_entry")
_HOOKS = words("event_hook")
_SETTING_UP = words("sets_up")
_EXPORTS = words("exports")
_ADDRESSES = tuple(words("address_ending"))
_DESTINATIONS = tuple(words("destination_beginning"))
_DOMAINS = words("domain_name")
_AS_ADMIN = words("overriding_parameter")
_PROTECTIONS = words("protection")
_ALTERING = words("alters_protection")
_ENDING = words("ends_protection")
_LOOSE = tuple(words("loosening_beginning"))
_INVITES = words("invites")
_OWN_ADDRESS = words("own_address")
_PUBLISHING = words("makes_public")
_KEYS = words("typed_word")
_STATEMENT_KEYS = words("statement_parameter")
_PRIVATE = words("private_parameter")
_PUBLIC = words("public_parameter")
_SHELLS = words("shell_language")
_TELEPHONY = words("telephony")
_CALLED = words("called_parameter")
_SPEAKS = words("speaks_by_phone")
_COUNTS = words("count_parameter")
_ALARMS = words("alarm")
_WORD = lazy_re.compile(r"[A-Za-z][\w.-]{0,60}")

Params = dict[str, Any]


def meaning(tool: str, params: Params) -> NameMeaning:
    """What the tool's name says, or the action in its parameters where that says more: `manage {action: delete_all}`."""
    name = named(tool)
    if name.action == "send" and not name.words.isdisjoint(_KEYS) and not name.whole.isdisjoint(_TYPING):
        return NameMeaning("run", name.words, whole=name.whole)  # to a program, not to a person
    if name.action not in _VAGUE or _ACTION.isdisjoint(params):
        return name
    subjects = "_".join(_short(params, _SUBJECT) or sorted(name.words))
    for action in _short(params, _ACTION):
        inner = named(f"{action}_{subjects}".replace(".", "_"))
        if inner.action in _SEVERE:
            small = inner.small or name.small
            return NameMeaning(inner.action, name.words | inner.words, small, inner.many or name.many, name.whole)
    return name


def _short(params: Params, keys: frozenset[str]) -> list[str]:
    values = (params[key] for key in islice(params, MAX_ITEMS) if key in keys)
    return [value for value in values if isinstance(value, str) and _WORD.fullmatch(value) and value not in _REQUESTS]


def flags(name: NameMeaning, params: Params) -> Iterator[str]:
    """`pay`, `let-in` (a login changes), `everyone` (shared with everybody), `forwards` (mail is passed on from now on),
    `credentials` (a kept secret is shown), `webhook` (data goes to an address that is named), `overrides` (a protection)."""
    if not name.whole.isdisjoint(_PASSWORD_KEEPERS) and any(params.get(key) is True for key in _REVEALING):
        yield "let-in"
    yield from _seen_or_sent(name, params)
    if name.action == "look":  # what follows is about changes; a look at a payment or a share changes nothing
        return
    keys = {_plain_key(key) for key in islice(params, MAX_ITEMS)}
    if _pays(name, keys):
        yield "pay"
    if _lets_in(name, keys, params) or ("off" in name.words and _names_alarm(params)):
        yield "let-in"
    if "scale" in name.words and _scales_to_none(params):
        yield "take-away"
    yield from _taken_or_overridden(name, params)
    speaks = name.action == "send" or not name.words.isdisjoint(_SPEAKS)
    if speaks and not name.whole.isdisjoint(_TELEPHONY) and not keys.isdisjoint(_CALLED):
        yield "by-phone"
    if "push" in name.words and params.get("force") is True:
        yield "destroy"
    named_so = "public" in name.words and not name.words.isdisjoint(_PUBLISHING)
    if named_so or (not name.words.isdisjoint(_SHARES) and _is_for_everybody(params)):
        yield "everyone"
    if not name.words.isdisjoint(_MAIL_RULE) and _forwards(params):
        yield "forwards"
    if not name.words.isdisjoint(_MAIL_RULE) and _hides(params):
        yield "hides"
    if not name.words.isdisjoint(_AUTOMATIC) and any(
        isinstance(value, str) and _PAYMENT_TEXT.search(value, 0, _MAX_CODE) for _, value in _members(params, 0)
    ):
        yield "forwards"


def _seen_or_sent(name: NameMeaning, params: Params) -> Iterator[str]:
    if _shows_secret(name):
        yield "credentials"
    if _reports_to(name, params):
        yield "webhook"


def _shows_secret(name: NameMeaning) -> bool:
    """Whether the tool shows one entry of a keeper of secrets; lists of names show none."""
    if name.whole.isdisjoint(_SHOWING):
        return False
    kept = not name.whole.isdisjoint(_PASSWORD_KEEPERS)
    return (kept and not name.whole.isdisjoint(_ENTRIES)) or ("vault" in name.whole and "secret" in name.whole)


def _reports_to(name: NameMeaning, params: Params) -> bool:
    """Whether events, or what is exported, go to an address that a parameter names."""
    hooks = not name.whole.isdisjoint(_HOOKS) and not name.whole.isdisjoint(_SETTING_UP)
    exports = not name.whole.isdisjoint(_EXPORTS)
    return (hooks or exports) and any(
        isinstance(value, str)
        and value.startswith(("http://", "https://"))
        and ((hooks and key.endswith(_ADDRESSES)) or key.startswith(_DESTINATIONS))
        for key, value in _members(params, 0)
    )


def _taken_or_overridden(name: NameMeaning, params: Params) -> Iterator[str]:
    if not name.whole.isdisjoint(_DOMAINS) and "transfer" in name.whole:
        yield "take-away"
    if _overrides(name, params):
        yield "overrides"


def _overrides(name: NameMeaning, params: Params) -> bool:
    """Whether a merge skips what protects the branch, or a protection is loosened or deleted."""
    short = [(key, value) for key, value in _members(params, 0) if isinstance(value, bool)]
    if "merge" in name.whole:
        return any(value and (key in _AS_ADMIN or key.startswith(("bypass", "skipcheck"))) for key, value in short)
    if name.whole.isdisjoint(_PROTECTIONS) or name.whole.isdisjoint(_ALTERING):
        return False
    loosens = any(value is (key.startswith(_LOOSE)) for key, value in short)
    return loosens or not name.whole.isdisjoint(_ENDING)


_PAYMENT_TEXT = lazy_re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}\b|\b(?:bc1|0x)[a-zA-Z0-9]{30,60}\b")
"""An account number or a wallet."""


def _hides(params: Params) -> bool:
    """Whether mail is deleted or taken out of the inbox before anybody sees it."""
    for key, value in _members(params, 0):
        texts = value if isinstance(value, list) else [value]
        plain = {_plain_key(text) for text in texts[:MAX_ITEMS] if isinstance(text, str)}
        if (key.startswith(("remove", "skip")) and "inbox" in plain) or (key in _DELETING and value is True):
            return True
        if key.startswith(("add", "moveto", "movetofolder", "destination")) and not plain.isdisjoint(_TRASHES):
            return True
    return False


def _pays(name: NameMeaning, keys: set[str]) -> bool:
    has_amount = not keys.isdisjoint(_AMOUNT)
    if has_amount and name.words.isdisjoint(_UNPAID):
        return not keys.isdisjoint(_PAYEE) or not name.words.isdisjoint(_MOVES_MONEY)
    if not (name.whole.isdisjoint(_KEEPS_MONEY) or name.words.isdisjoint(_MOVES_MONEY) or keys.isdisjoint(_PAYEE)):
        return True
    if "checkout" in name.whole and not keys.isdisjoint(_CARTS):
        return True
    if not keys.isdisjoint(_TRADED) and "symbol" in keys:
        return True
    return not name.words.isdisjoint(_ENTERED) and not keys.isdisjoint(_INSTRUMENT)


def _opens(key: str, value: object) -> bool:
    """Whether this state of an entrance is open."""
    if isinstance(value, str):
        return key in _STATE and _plain_key(value) in _OPEN
    return key in ("locked", "armed") and value is False


def _lets_in(name: NameMeaning, keys: set[str], params: Params) -> bool:
    """Whether a login changes, somebody gets a high role, or what keeps people out is opened."""
    if not name.words.isdisjoint(_ALTERED) and (
        not keys.isdisjoint(_LOGIN) or ("email" in keys and not name.words.isdisjoint(_ACCOUNT))
    ):
        return True
    if _opens_machine(params) or (not name.words.isdisjoint(("record", "dns", "zone")) and _moves_mail(params)):
        return True
    if name.words <= _OWN_ADDRESS and not name.words.isdisjoint(("email", "phone")):
        return True
    short = [(key, value) for key, value in _members(params, 0) if isinstance(value, str | bool)]
    about = name.words.union(*(_parts(value) for _, value in short if isinstance(value, str)))
    if not about.isdisjoint(_ENTRANCE) and any(_opens(*option) for option in short):
        return True
    invites = not name.words.isdisjoint(_INVITES)
    return invites and any(
        (key == "role" and isinstance(value, str) and _plain_key(value) in _HIGH_ROLES)
        or (key in ("isadmin", "admin", "superuser", "issuperuser") and value is True)
        for key, value in short
    )


def _scales_to_none(params: Params) -> bool:
    counts = (value for key, value in _members(params, 0) if key in _COUNTS)
    return any(value == 0 and value is not False for value in counts)


def _names_alarm(params: Params) -> bool:
    """`turn_off {entity_id: alarm_control_panel.home}`"""
    values = (value for _, value in _members(params, 0) if isinstance(value, str))
    return any(not _parts(value).isdisjoint(_ALARMS) for value in values)


def _opens_machine(params: Params) -> bool:
    """A container that gets the whole machine."""
    for key, value in _members(params, 0):
        texts = value if isinstance(value, list) else [value]
        if (key == "privileged" and value is True) or (
            key in ("volumes", "binds", "mounts", "volume")
            and any(isinstance(text, str) and text.startswith(("/:", "/var/run/docker.sock:")) for text in texts[:MAX_ITEMS])
        ):
            return True
    return False


def _moves_mail(params: Params) -> bool:
    """A name service's record that decides who gets the mail of a domain, or who answers for it."""
    return any(
        key in ("type", "recordtype") and isinstance(value, str) and value.upper() in ("MX", "NS")
        for key, value in _members(params, 0)
    )


def _parts(value: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", value.lower())) if len(value) <= MAX_ITEMS else frozenset()


def _plain_key(key: Any) -> str:
    return key[:MAX_ITEMS].lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""


def _is_for_everybody(params: Params) -> bool:
    for key, value in _members(params, 0):
        if (key in _PRIVATE and value is False) or (key in _PUBLIC and value is True):
            return True
        if isinstance(value, str) and _plain_key(value) in _EVERYBODY and any(word in key for word in _AUDIENCE):
            return True
    return False


def _forwards(params: Params) -> bool:
    for key, value in _members(params, 0):
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "@" in text for text in texts[:MAX_ITEMS]) and (
            key.startswith(_FORWARDING) or key in ("address", "email", "emailaddress", "to")
        ):
            return True
    return False


def _members(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in islice(value.items(), MAX_ITEMS):
            yield _plain_key(key), item
            if isinstance(item, dict | list):
                yield from _members(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            if isinstance(item, dict | list):
                yield from _members(item, depth + 1)


def asks_database(name: NameMeaning, key: str) -> bool:
    """Whether the text of this parameter is a statement of a database and not a question to a search engine."""
    if key in _STATEMENT_KEYS or (name.action in ("query", "run") and key not in ("command", "script")):
        return True
    return name.action != "look" and not name.whole.isdisjoint(_DATABASE)


def _of_named_programs(name: NameMeaning, params: Params) -> Iterator[str]:
    """The command lines of the programs that a tool is named after."""
    programs = sorted(name.whole & _PROGRAMS)
    if not programs:
        return
    given = [_words(params[key]) for key in islice(params, MAX_ITEMS) if key in _COMMAND]
    line = " ".join(filter(None, given)) or _named_after(name, programs, params)
    for program in programs if line else ():
        yield line if line.split(maxsplit=1)[0] == program else f"{program} {line}"


def command_lines(name: NameMeaning, params: Params, interpreters: Mapping[str, str]) -> Iterator[str]:
    """Arguments of the program that a tool is named after, and code for an interpreter, as command lines.
    `interpreters`: see `tools.commands`."""
    yield _request(params)
    yield from _nested(params)
    arguments = next((_words(params[key]) for key in islice(params, MAX_ITEMS) if key in _COMMAND), "")
    for key in islice(params, MAX_ITEMS):
        if key in _PROGRAM and isinstance(params[key], str):
            yield f"{params[key]} {arguments}"
        elif key in _TYPED and not name.whole.isdisjoint(_TYPING) and name.action != "look":
            yield _words(params[key])
    yield from _of_named_programs(name, params)
    if (name.whole.isdisjoint(_RUNS) and name.whole.isdisjoint(interpreters)) or (
        name.action != "run" and not name.words.isdisjoint(_KEEPS)
    ):
        return
    for key in islice(params, MAX_ITEMS):
        if key in _CODE and isinstance(code := params[key], str):
            yield from _code(code[:_MAX_CODE], name, params, interpreters)


def _nested(params: Params) -> Iterator[str]:
    """Commands inside what a tool sets up: the steps of a workflow, the entry point of a container."""
    for key in islice(params, MAX_ITEMS):
        if isinstance(params[key], dict | list):
            for inner, value in _members(params[key], 1):
                if inner in ("command", "cmd", "shellcommand", "script", "entrypoint"):
                    yield _words(value)[:_MAX_CODE]


def _request(params: Params) -> str:
    """A request of any method as `curl` would make it."""
    method, url = params.get("method"), params.get("url", params.get("endpoint"))
    if not isinstance(method, str) or not isinstance(url, str) or method.upper() not in _METHODS:
        return ""
    return f"curl -X {method.upper()} {shlex.quote(url)}"


_REQUESTS = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))
_METHODS = ("DELETE", "PATCH", "POST", "PUT")


def _named_after(name: NameMeaning, programs: list[str], params: Params) -> str:
    """The command that a tool is named after: `git__push {force: true}`."""
    verbs = [word for word in name.words if word not in programs]
    if len(verbs) != 1:
        return ""
    options = [
        f"--{key.replace('_', '-')}" for key in islice(params, MAX_ITEMS) if params[key] is True and _WORD.fullmatch(key)
    ]
    return " ".join((*verbs, *options))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(str(item) for item in value[: MAX_ITEMS * 5] if isinstance(item, str | int | float))
    return value if isinstance(value, str) else ""


def _code(code: str, name: NameMeaning, params: Params, interpreters: Mapping[str, str]) -> Iterator[str]:
    language = params.get("language", params.get("lang", params.get("runtime", "")))
    known = language.lower() if isinstance(language, str) else ""
    if known in _SHELLS or (not known and not name.whole.isdisjoint(_SHELLS)):
        yield code
        return
    if code.lstrip().startswith(("%%bash", "%%sh")):
        yield code.partition("\n")[2]
        return
    spoken = known.rstrip("0123456789. ") or next((word for word in sorted(name.whole) if word in interpreters), "python")
    if spoken in interpreters:
        yield f"{interpreters[spoken]} {shlex.quote(code)}"
