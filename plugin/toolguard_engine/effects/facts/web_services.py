"""What a changing request to a well-known web API does, by its address: the counterpart of `posted_messages`.

A webhook of a chat is left out: it posts only to the channel that its owner chose.
"""

from __future__ import annotations

import re
from posixpath import normpath
from urllib.parse import unquote

from toolguard_engine import lazy_re

_MESSAGES = {
    "twilio.com": r"/(?:messages|calls)(?:\.json)?\Z",
    "slack.com": r"\Aapi/chat\.(?:post|schedule|me)\w{0,20}",
    "telegram.org": r"/(?:send|forward|copy)\w",
    "discord.com": r"channels/[^/]{1,60}/messages",
    "discordapp.com": r"channels/[^/]{1,60}/messages",
    "sendgrid.com": r"mail/send\Z",
    "mailgun.net": r"/messages(?:\.mime)?\Z",
    "postmarkapp.com": r"\Aemail",
    "resend.com": r"\Aemails",
    "brevo.com": r"smtp/email|transactionalsms",
    "sendinblue.com": r"smtp/email|transactionalsms",
    "mandrillapp.com": r"messages/send",
    "mailjet.com": r"/send\Z",
    "sparkpost.com": r"/transmissions\Z",
    "microsoft.com": (
        r"/(?:sendmail|send|reply|replyall|forward|(?:chats|channels)/[^/]{1,200}/messages(?:/[^/]{1,200}/replies)?)\Z"
    ),
    "googleapis.com": r"messages/send\Z|drafts/send\Z",
    "twitter.com": r"/(?:tweets|statuses/update(?:\.json)?)\Z|dm_conversations|direct_messages",
    "x.com": r"/(?:tweets|statuses/update(?:\.json)?)\Z|dm_conversations|direct_messages",
    "facebook.com": r"/(?:messages|feed|photos)\Z",
    "linkedin.com": r"(?:ugcposts|posts|shares|messages)\Z",
    "nexmo.com": r"\Asms/|messages\Z",
    "vonage.com": r"messages\Z",
    "messagebird.com": r"\Amessages",
    "plivo.com": r"/message\Z",
    "reddit.com": r"api/(?:submit|comment|compose)\Z",
}
"""By the last two labels of the host: paths (lower case, without the query) that send or publish something."""
_EVERY_HOST = (
    r"\Aapi/v1/statuses\Z|\A_matrix/client/.{1,200}/send/|\Axrpc/com\.atproto\.repo\.(?:createrecord|applywrites)\Z"
)
"""Networks of many servers: Mastodon, Matrix, Bluesky."""
_BY_ADDRESS = {name: _MESSAGES[name] for name in ("telegram.org", "slack.com")}
"""Services whose method is in the address, so that a request that only asks sends as well."""
_NONE = r"(?!)"
_ACCESS = lazy_re.compile(
    r"(?:\A|/)(?:"
    r"(?:repos/[^/]{1,100}/[^/]{1,100}|repositories/\d{1,12})/(?:collaborators|hooks|keys|rulesets|transfer"
    r"|branches/.{1,100}/protection|actions/(?:secrets|permissions|runners)|environments/[^/]{1,100}/secrets)"
    r"|orgs/[^/]{1,100}/(?:memberships|members|hooks|actions|invitations|teams/[^/]{1,100}/(?:memberships|repos))"
    r"|user/(?:keys|gpg_keys))(?:/|\Z)"
)
"""GitHub and Gitea: who may see or change a repository, and what runs there."""
_GITLAB = lazy_re.compile(
    r"(?:\A|/)(?:(?:projects|groups)/[^/]{1,200}/"
    r"(?:members|invitations|hooks|deploy_keys|protected_branches|access_tokens|share|variables)"
    r"|users?(?:/\d{1,12})?/keys)(?:/|\Z)"
)
_DNS = lazy_re.compile(
    r"(?:\A|/)(?:dns_?records|dns/(?:records|create|edit|delete)|rrsets?"
    r"|(?:domains|dnszones|zones?)/[^/]{1,100}/(?:records?|a|aaaa|cname|mx|ns|txt)|managedzones/.{1,100}/changes)(?:/|\Z)"
)
_COMMAND = "api"
"""The host that stands for the one of a command such as `glab api`."""


def service_flags(host: str, address: str, *, asks: bool = False) -> frozenset[str]:
    """`posts`, `repository-access` and `dns-records`.

    `address`: what follows the host; `asks`: by a method that changes nothing elsewhere.
    """
    domain = ".".join(host.lower().split(".")[-2:])
    if asks and domain not in _BY_ADDRESS:
        return frozenset()
    path = _normal(address)
    if asks:
        return frozenset({"posts"}) if re.search(_BY_ADDRESS[domain], path) else frozenset()
    flags = set()
    if re.search(_MESSAGES.get(domain, _NONE), path) or re.search(_EVERY_HOST, path):
        flags.add("posts")
    if _ACCESS.search(path) or ((host == _COMMAND or "api/v4/" in path) and _GITLAB.search(path)):
        flags.add("repository-access")
    if _DNS.search(path):
        flags.add("dns-records")
    return frozenset(flags)


def _normal(address: str) -> str:
    """The path as the server sees it, in lower case."""
    path = address.partition("?")[0].partition("#")[0].lower().replace("%2f", "~")  # within one part
    path = unquote(path)
    path = normpath(f"/{path}").lstrip("/")
    return "" if path == "." else path
