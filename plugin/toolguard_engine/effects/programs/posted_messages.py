"""Calls by which clients of chats, social networks and mail services send something in the user's name.

The names of such methods are common words, so each counts only with a word of its service: in the code (not in a comment),
or in the full name of the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.model.kept_patterns import compiled

_MEMBER = r"(?:\.|->|::)"
_REPLY = r"(?!\s?(?:\{\s?)?(?:chat_?[iI]d\s?[=:]\s?)?[\w.]{0,60}chat\b)"
"""Not to the chat of a message that it answers."""

_TEST_SERVER = r"[\"'](?:[\w-]{1,60}|127\.0\.0\.1)[\"'],\s?(?!0{0,4}(?:25|465|587)\b)\d"
"""This machine, or one of a container network, on a port that mail servers do not use among themselves."""
_ANSWERED = r"(?<!\bm\.)(?<!\bmsg\.)(?<!\bmessage\.)(?<!\bctx\.)(?<!\binteraction\.)"
_SERVICES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("slack",), r"\bchat[._](?:post|schedule|me)_?[mM]essage\b|\b[wW]ebhook\w{0,20}\.send\("),
    (("discord",), rf"{_ANSWERED}\b(?:[cC]hannel|(?:Sync)?[wW]ebhook\w{{0,20}}(?:\([^()\n]{{0,200}}\))?|[uU]ser|(?:get_|fetch_|cache\.get|\.fetch|from_url|partial)\w{{0,20}}(?:\([^()\n]{{0,80}}\))?)\.send\("),  # noqa: E501
    (("get_channel.send(", "fetch_channel.send(", "webhook.from_url.send("), r"\b(?:get_channel|fetch_channel|from_url)\.send\("),  # noqa: E501
    (("telegr", "telethon", "telebot", "aiogram", "grammy", "pyrogram"), rf"{_MEMBER}send_?[mM]essage\({_REPLY}"),
    (("twit", "tweepy", "tweet"), rf"{_MEMBER}(?:create_?[tT]weet|update_?[sS]tatus|[pP]ost_?[uU]pdates?|tweet|tweets\.create\w{{0,10}})[ (]"),  # noqa: E501
    (("require 'twitter'", 'require "twitter"'), r"\b(?:\w{0,20}[cC]lient|twitter|tw|t|rest|REST::Client\.new[^\n;]{0,80})\.update[ (]"),  # noqa: E501
    (("masto",), rf"{_MEMBER}(?:status_post|toot|statuses\.create|create_status)[ (]"),
    (("twilio", "vonage", "nexmo"), r"(?<!prisma\.)\bmessages\.create\b|\bsms\.send"),
    (("whatsapp", "wwebjs", "signal_client"), rf"{_MEMBER}send_?[mM]essage\("),
    (("praw", "snoowrap"), rf"{_MEMBER}(?:submit|reply|submit_?[sS]elf_?[pP]ost|submit_?[lL]ink)\("),
    (("reddit",), rf"\b(?:get_?)?[sS]ub[rR]eddit(?:\([^()\n]{{0,80}}\))?{_MEMBER}submit\(|{_MEMBER}submit_?(?:[sS]elf_?[pP]ost|[lL]ink)\("),  # noqa: E501
    (("atproto", "bsky", "bluesky"), rf"{_MEMBER}(?:send_post|post)\("),
    (("matrix", "nio."), rf"{_MEMBER}(?:room_send|send_?[tT]ext_?[mM]essage)\("),
    (("huggingface", "hf_hub", "push_to_hub"), rf"{_MEMBER}(?:upload_(?:folder|file|large_folder)|push_to_hub|create_commit)\("),  # noqa: E501
    (("linkedin", "facebook"), rf"{_MEMBER}(?:submit_share|share_update|put_object|create_post)\("),
    (("sendgrid", "mailgun", "postmark", "resend", "sparkpost"), r"(?<!prisma\.)\b(?:sg\w{0,10}|\w{0,20}[mM]ail\w{0,20}|\w{0,20}[cC]lient|emails|messages)(?:\([^()\n]{0,200}\))?\.(?:send|create|send_?[eE]mail)\("),  # noqa: E501
    (("ses", "SES"), r"\bsend_(?:raw_|templated_)?email\(|\bSend(?:Raw|Templated)?EmailCommand\("),
    (("gmail", "googleapi"), r"\bmessages(?:\(\))?\.send\(|\.send_user_message\("),
    (("net/smtp",), rf"\bNet::SMTP\.(?:start|new)\b(?!\(\s?{_TEST_SERVER})"),
    (("mail.deliver",), r"\bMail\.deliver\b"),
    (("mime::lite", "email::sender", "mail::sender"), r"->send\b|\bsendmail\("),
    (("mail(",), r"(?<![\w.>:$])mail\(\s?(?:\$|[\"'](?!\s?[;,.)]))"),
    (("phpmailer",), r"->send\(\)"),
)  # fmt: skip
_BY_WORD = [(word, names) for words, names in _SERVICES for word in words]
MAX_FOUND = 8
_COMMENT = lazy_re.compile(r"(?m)(?:^|(?<=[\s;]))(?:#|//) [^\n\"'`]*$")
_KEPT_CHANNEL = lazy_re.compile(
    r"\b([A-Za-z_]\w{0,40})\s?=\s?(?:await\s)?(?:new\s)?[\w.]{0,60}\b"
    r"(?:get_channel|fetch_channel|channels\.fetch|channels\.cache\.get|WebhookClient|SyncWebhook\.from_url|Webhook\.from_url)\("
)
_EACH_CHANNEL = lazy_re.compile(r"\b(?:ch|chan|channel|c|t|text[cC]hannel)\.send\(")


def messages(code: str) -> Iterator[str]:
    """The calls in a code, or the one whose full name this is."""
    lowered = code.lower()
    if "#" in code or "//" in code:
        lowered = _COMMENT.sub("", lowered)
    for names in dict.fromkeys([names for word, names in _BY_WORD if word in lowered]):
        yield from (match[0].strip(" (") for match in islice(compiled(names).finditer(code), MAX_FOUND))
    if "discord" in lowered:
        for kept in islice(dict.fromkeys(_KEPT_CHANNEL.findall(code)), MAX_FOUND):
            if re.search(rf"\b{kept}\.send\(", code):
                yield f"{kept}.send"
        if ".channels.cache" in code and (sent := _EACH_CHANNEL.search(code)):
            yield sent[0].rstrip("(")
