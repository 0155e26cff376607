"""The effects of tools that send messages."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts import message_texts
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.tools.tool_values import (
    MAX_ITEMS,
    MAX_TEXT,
    Acts,
    Params,
    all_texts,
    are_many,
    file_effect,
    word,
)
from toolguard_engine.host.tool_names import split

ATTACHED = frozenset(["attached"])
_MESSAGE_READS = split(
    "read reactions list-pins permissions thread-list search sticker-search member-info role-info emoji-list channel-info "
    "channel-list voice-status event-list download-file"
)
_MESSAGE_FLAGS = {
    "delete": "deletes",
    **dict.fromkeys(("ban", "kick", "timeout", "removeparticipant", "role-add", "role-remove"), "moderates"),
    **dict.fromkeys(("channel-delete", "category-delete", "leavegroup"), "destroys"),
    **dict.fromkeys(
        ("channel-edit", "channel-move", "category-edit", "renamegroup", "setgroupicon", "addparticipant", "set-profile"),
        "settings",
    ),
}
TARGETS = (
    "target",
    "targets",
    "to",
    "recipient",
    "recipients",
    "channelId",
    "userId",
    "conversation",
    "address",
    "sessionKey",
)
_BODIES = ("message", "text", "content", "body", "caption", "voiceText", "html", "subject")


def message_effects(params: Params, where: Where) -> Acts:
    action = word(params, "action", "send")
    if action in _MESSAGE_READS or params.get("dryRun") is True:
        return ()
    targets = tuple(all_texts(params, TARGETS))
    attached = [file_effect("read", path, where, ATTACHED) for path in _attachments(params)]
    flags = {_MESSAGE_FLAGS[action]} if action in _MESSAGE_FLAGS else set()
    flags |= content_flags(params, "addressed" if targets else "", action == "broadcast" or are_many(targets))
    flags |= {"attached"} if attached or "buffer" in params else set()
    flags.discard("")
    return (Effect("message", ", ".join(targets)[:MAX_TEXT], "remote", frozenset(flags)), *attached)


def content_flags(params: Params, addressed: str, many: bool) -> set[str]:  # noqa: FBT001 - a value, not an option
    """Flags for the content and the recipients of a message."""
    return {addressed, "broadcast" if many else "", *message_texts.flags(all_texts(params, _BODIES))}


def _attachments(params: Params) -> Iterator[str]:
    items = params.get("attachments")
    parts = [item for item in items[:MAX_ITEMS] if isinstance(item, dict)] if isinstance(items, list) else []
    for part in (params, *parts):
        for path in all_texts(part, ("media", "mediaUrl", "path", "filePath", "file", "files", "mediaUrls")):
            if not path.startswith(("http:", "https:", "data:")):
                yield path
    if isinstance(items, list):
        yield from (item for item in items[:MAX_ITEMS] if isinstance(item, str))
