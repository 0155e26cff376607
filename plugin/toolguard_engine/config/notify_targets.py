"""What a notification target is, what is wrong with it, and how it is shown: addresses contain secrets."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.config.settings import NotifyConfig, NotifyEvent, NotifyTarget
from toolguard_engine.wording import printable

Kind = Literal["url", "webhook", "command", "channel", ""]
MAX_TARGETS = 20
MAX_SHOWN = 60
_NAME = lazy_re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
_SCHEME = lazy_re.compile(r"([a-z][a-z0-9+.-]{0,30})://", re.IGNORECASE)
_VARIABLE = lazy_re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}")
_SECRET_SETTINGS = ("url", "webhook", "secret")
HIDDEN = "***"


def kind(target: NotifyTarget) -> Kind:
    """Empty if it is none, or more than one."""
    forms: dict[Kind, bool] = {
        "url": is_set(target.url) or is_set(target.url_file),
        "webhook": is_set(target.webhook),
        "command": is_set(target.command),
        "channel": is_set(target.channel),
    }
    kinds = [name for name, given in forms.items() if given]
    return kinds[0] if len(kinds) == 1 else ""


def is_set(value: object) -> bool:
    return value is not msgspec.UNSET


def problem(name: str, target: NotifyTarget) -> str:
    """Why nothing can be sent to it; empty if something can."""
    if not _NAME.match(name):
        return "a target's name has at most 40 lowercase letters, digits and hyphens"
    if not (own := kind(target)):
        return "set exactly one of url, urlFile, webhook, command and channel"
    if is_set(target.url) and is_set(target.url_file):
        return "set url or urlFile, not both"
    if own == "command" and not target.command:
        return "command names no program"
    if own == "channel" and not is_set(target.to):
        return 'channel needs "to", the recipient'
    if own != "channel" and (is_set(target.to) or is_set(target.account)):
        return '"to" and "account" are only for a channel'
    if own != "webhook" and (is_set(target.secret) or is_set(target.secret_file)):
        return "secret and secretFile belong to a webhook"
    if is_set(target.secret) and is_set(target.secret_file):
        return "set secret or secretFile, not both"
    return _wrong_address(target, own)


def unchecked(target: NotifyTarget) -> str:
    """Why its address cannot be checked: it has a variable of the gateway that is not set here. Empty if it can."""
    match = _VARIABLE.search(f"{target.url} {target.webhook}")
    return f"{match[0]} is not set here, so the address was not checked" if match else ""


def _wrong_address(target: NotifyTarget, own: Kind) -> str:
    if own in ("url", "webhook") and (variable := _VARIABLE.search(f"{target.url} {target.webhook}")):
        return f"{variable[0]} is not set"
    if own == "webhook":
        address = split(str(target.webhook))
        if not address or address.scheme not in ("http", "https") or not address.hostname:
            return "webhook is not an address that begins with http:// or https://"
    if own == "url" and is_set(target.url) and not _SCHEME.match(str(target.url)):
        return "url is not one of ntfy or apprise, such as ntfys://host/topic"
    return ""


def files(config: NotifyConfig) -> list[str]:
    """The files that say where notifications go, as they are written in the settings: whoever may write them can redirect
    what is sent."""
    paths = [
        file for target in config.targets.values() for file in (target.url_file, target.secret_file) if isinstance(file, str)
    ]
    return list(dict.fromkeys(paths))


def programs(config: NotifyConfig) -> list[str]:
    """The paths in the commands of targets: programs and scripts that receive notifications."""
    commands = [target.command for target in config.targets.values() if isinstance(target.command, list)]
    return list(dict.fromkeys(word for words in commands for word in words if word.startswith(("/", "~/"))))


def split(address: str) -> SplitResult | None:
    """None if it is no URL, has a port that is none, or characters that could end a line of a request."""
    try:
        result = urlsplit(address)
        valid = result.port is None or result.port > 0
    except ValueError:
        return None
    return result if valid and address.isascii() and address.isprintable() and " " not in address else None


def masked(target: NotifyTarget) -> str:
    """Where it sends to, without what is secret: for a URL its scheme only, for a webhook its host."""
    match kind(target):
        case "url":
            if is_set(target.url_file):
                return printable.cut(f"url, from {target.url_file}", MAX_SHOWN)
            scheme = _SCHEME.match(str(target.url))
            return f"url {scheme[1].lower() if scheme else ''}://{HIDDEN}"
        case "webhook":
            address = split(str(target.webhook))
            return printable.cut(
                f"webhook {address.scheme}://{address.hostname}/{HIDDEN}" if address else "webhook", MAX_SHOWN
            )
        case "command":
            words = target.command if isinstance(target.command, list) else []
            return printable.cut(f"command {words[0] if words else ''}", MAX_SHOWN)
        case "channel":
            return printable.cut(f"channel {target.channel} to {target.to}", MAX_SHOWN)
    return "not usable"


def hidden(steps: tuple[str | int, ...], value: object) -> object:
    """The value of a setting for display: what is secret below `notify.targets` is replaced."""
    if steps[:1] != ("notify",):
        return value
    if len(steps) > 3 and steps[1] == "targets" and steps[3] in _SECRET_SETTINGS:  # noqa: PLR2004 - notify.targets.NAME.url
        return HIDDEN if isinstance(value, str) else value
    if isinstance(value, dict):
        return {key: hidden((*steps, key), item) for key, item in value.items()}
    return value


def reports(config: NotifyConfig, target: NotifyTarget, event: NotifyEvent) -> bool:
    return event in config.events and (not isinstance(target.events, list) or event in target.events)


def usable(config: NotifyConfig) -> dict[str, NotifyTarget]:
    """The targets that something can be sent to."""
    return {name: target for name, target in list(config.targets.items())[:MAX_TARGETS] if not problem(name, target)}
