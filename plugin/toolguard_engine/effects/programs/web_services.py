"""What a changing request to a well-known web API does, by its address: the counterpart of `posted_messages`.

A webhook of a chat is left out: it posts only to the channel that its owner chose.
"""

from __future__ import annotations

import re

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
    "microsoft.com": r"/(?:sendmail|send|reply|replyall|forward|(?:chats|channels)/[^/]{1,200}/messages)\Z",
    "googleapis.com": r"messages/send\Z|drafts/send\Z",
    "twitter.com": r"/(?:tweets|statuses/update(?:\.json)?)\Z|dm_conversations|direct_messages",
    "x.com": r"/(?:tweets|statuses/update(?:\.json)?)\Z|dm_conversations|direct_messages",
    "facebook.com": r"/(?:messages|feed|photos)\Z",
    "linkedin.com": r"(?:ugcposts|posts|shares|messages)\Z",
    "nexmo.com": r"\Asms/|messages\Z",
    "vonage.com": r"messages\Z",
    "messagebird.com": r"\Amessages",
    "plivo.com": r"/message/?\Z",
    "reddit.com": r"api/(?:submit|comment|compose)\Z",
}  # fmt: skip
"""By the last two labels of the host: paths (lower case, without the query) that send or publish something."""
_EVERY_HOST = r"\Aapi/v1/statuses\Z|\A_matrix/client/.{1,200}/send/|\Axrpc/com\.atproto\.repo\.createrecord\Z"
"""Networks of many servers: Mastodon, Matrix, Bluesky."""
_ACCESS = re.compile(
    r"(?:\A|/)(?:"
    r"repos/[^/]{1,100}/[^/]{1,100}/(?:collaborators|hooks|keys|rulesets|transfer|branches/.{1,100}/protection"
    r"|actions/(?:secrets|permissions|runners))"
    r"|orgs/[^/]{1,100}/(?:memberships|members|hooks|actions)"
    r"|(?:projects|groups)/.{1,100}?/(?:members|hooks|deploy_keys|protected_branches|access_tokens|share|variables)"
    r"|user/keys)(?:/|\Z)"
)
"""GitHub, Gitea and GitLab: who may see or change a repository, and what runs there."""
_DNS = re.compile(
    r"(?:\A|/)(?:dns_?records|dns/records|rrsets?|domains/[^/]{1,100}/records|managedzones/.{1,100}/changes)(?:/|\Z)"
)


def service_flags(host: str, path: str) -> frozenset[str]:
    """`posts`, `repository-access` and `dns-records` for a request that changes something. `path` is in lower case."""
    path = path.partition("?")[0]
    domain = ".".join(host.lower().split(".")[-2:])
    found = set()
    if re.search(_MESSAGES.get(domain, r"(?!)"), path) or re.search(_EVERY_HOST, path):
        found.add("posts")
    if _ACCESS.search(path):
        found.add("repository-access")
    if _DNS.search(path):
        found.add("dns-records")
    return frozenset(found)
