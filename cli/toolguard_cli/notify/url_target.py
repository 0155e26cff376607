"""A target by URL: an ntfy server, or through apprise Telegram, Slack, Discord, Signal, mail, the desktop and many more."""

from __future__ import annotations

import logging
import re
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_cli.notify.http_post import ANSWER_SECONDS, CONNECT_SECONDS
from toolguard_cli.notify.ntfy_target import NtfyTarget
from toolguard_cli.system import apprise_package, extras, ntfy_address, secret_setting
from toolguard_engine.config.settings import NotifyTarget

_PARTS = re.compile(r"[^/:@?&=#,+\x00-\x20\x7f]{5,}")
_KNOWN = "https"


class UrlTarget:
    def __init__(self, target: NotifyTarget) -> None:
        self._target = target
        self._made: tuple[str, Any] = ("", None)
        self._ntfy: tuple[str, NtfyTarget | None] = ("", None)

    def send(self, message: OutgoingMessage) -> Delivery:
        address = ""
        try:
            address = secret_setting.read(self._target.url, self._target.url_file)
            if ntfy := self._by_ntfy(address):
                return ntfy.send(message)
            apprise: Any = import_module("apprise")  # optional, 0.1 s
            service = self._service(apprise, address)
            if service is None:
                return Delivery(apprise_package.UNKNOWN, again=False)
            with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:
                sent = service.notify(body=message.text, title=message.title, body_format=apprise.NotifyFormat.TEXT)
                lines = log.getvalue().strip().splitlines()
        except ImportError:
            return Delivery(f"{extras.NOTIFY.lack}; run {extras.install_command(extras.NOTIFY)}")
        except Exception as error:  # noqa: BLE001 - a plugin of apprise may raise anything
            return failed(describe(error), *_secrets(address))
        return Delivery() if sent else failed(lines[-1] if lines else "the service did not accept it", *_secrets(address))

    def _by_ntfy(self, address: str) -> NtfyTarget | None:
        """The same one for each attempt: it knows what it has sent."""
        if self._ntfy[0] != address:
            parsed = ntfy_address.parse(address)
            self._ntfy = (address, NtfyTarget(parsed, _secrets(address)) if parsed else None)
        return self._ntfy[1]

    def _service(self, apprise: Any, address: str) -> Any:
        if self._made[0] != address:
            asset = apprise.AppriseAsset(app_id="toolguard", app_desc="toolguard", app_url="", secure_logging=True)
            asset.image_url_mask = asset.image_url_logo = None
            service = apprise.Apprise.instantiate(address, asset=asset, suppress_exceptions=True)
            sends = None
            if service is not None:
                service.socket_connect_timeout, service.socket_read_timeout = CONNECT_SECONDS, ANSWER_SECONDS
                sends = apprise.Apprise(service, asset=asset)  # it also turns text into what the service displays
            self._made = (address, sends)
        return self._made[1]


def _secrets(address: str) -> list[str]:
    """All parts of the URL, as it is written and decoded: any of them may be a token."""
    secrets = [part for part in _PARTS.findall(address) if part != _KNOWN]
    decoded = [unquote(part) for part in secrets]
    return [address, *secrets, *decoded, *(piece for part in decoded for piece in _PARTS.findall(part))]
