"""Calls by which clients of chats, social networks and mail services send something in the user's name.

The names of such methods are common words, so each counts only with a word of its service: in the code, or in the full
name of the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

_MEMBER = r"(?:\.|->|::)"
_REPLY = r"(?!\s?(?:\{\s?)?(?:chat_?[iI]d\s?[=:]\s?)?[\w.]{0,60}chat\b)"
"""Not to the chat of a message that it answers."""

_TEST_SERVER = r"[\"'](?:localhost|127\.0\.0\.1)[\"'],\s?(?!(?:25|465|587)\b)\d"
_SERVICES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("slack",), r"\bchat[._](?:post|schedule|me)_?[mM]essage\b|\b[wW]ebhook\w{0,20}\.send\("),
    (("discord",), r"\b(?:[cC]hannel|[wW]ebhook\w{0,20}|[uU]ser|(?:get_|fetch_|cache\.get|\.fetch)\w{0,20}(?:\([^()\n]{0,80}\))?)\.send\("),  # noqa: E501
    (("telegr", "telethon", "telebot", "aiogram", "grammy", "pyrogram"), rf"{_MEMBER}send_?[mM]essage\({_REPLY}"),
    (("twit", "tweepy", "tweet"), rf"{_MEMBER}(?:create_?[tT]weet|update_?[sS]tatus|tweet|tweets\.create\w{{0,10}})[ (]"),
    (("require 'twitter'", 'require "twitter"'), r"\.update[ (]"),
    (("masto",), rf"{_MEMBER}(?:status_post|toot|statuses\.create|create_status)[ (]"),
    (("twilio", "vonage", "nexmo"), r"\bmessages\.create\b|\bsms\.send"),
    (("whatsapp", "wwebjs", "signal_client"), rf"{_MEMBER}send_?[mM]essage\("),
    (("praw", "snoowrap", "reddit"), rf"{_MEMBER}(?:submit|reply|submit_?[sS]elf_?[pP]ost|submit_?[lL]ink)\("),
    (("atproto", "bsky", "bluesky"), rf"{_MEMBER}(?:send_post|post)\("),
    (("matrix", "nio."), rf"{_MEMBER}(?:room_send|send_?[tT]ext_?[mM]essage)\("),
    (("linkedin", "facebook"), rf"{_MEMBER}(?:submit_share|share_update|put_object|create_post)\("),
    (("sendgrid", "mailgun", "postmark", "resend", "sparkpost"), r"\b(?:sg\w{0,10}|\w{0,20}[mM]ail\w{0,20}|\w{0,20}[cC]lient|emails|messages)(?:\([^()\n]{0,200}\))?\.(?:send|create|send_?[eE]mail)\("),  # noqa: E501
    (("ses", "SES"), r"\bsend_(?:raw_|templated_)?email\(|\bSend(?:Raw|Templated)?EmailCommand\("),
    (("gmail", "googleapi"), r"\bmessages(?:\(\))?\.send\("),
    (("net/smtp",), rf"\bNet::SMTP\.(?:start|new)\b(?!\(\s?{_TEST_SERVER})"),
    (("mail.deliver",), r"\bMail\.deliver\b"),
    (("mime::lite", "email::sender", "mail::sender"), r"->send\b|\bsendmail\("),
    (("mail(", "phpmailer"), r"(?<![\w.>:$])mail\(\s?[\"'$]|->send\(\)"),
)  # fmt: skip
_compiled = cache(re.compile)  # at first use
MAX_FOUND = 8


def messages(code: str) -> Iterator[str]:
    """The calls in a code, or the one whose full name this is."""
    lowered = code.lower()
    for words, names in _SERVICES:
        if any(word in lowered for word in words):
            yield from (found[0].strip(" (") for found in islice(_compiled(names).finditer(code), MAX_FOUND))
