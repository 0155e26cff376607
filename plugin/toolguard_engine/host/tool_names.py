"""What the name of an undescribed tool says about it: `github__delete_file` deletes, `list_issues` only reads.

Rules: only the last part of `server__tool` or `server.tool` counts. It is split into words at capitals and at anything that
is not a letter. The verb is the first word if that is a verb, otherwise the last word, otherwise the first verb in between.
A verb that can also be a noun (`list`, `log`, `view`) gives way to another verb at the end: `todo_list_delete` deletes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct

from toolguard_engine import lazy_re

ToolAction = Literal[
    "", "look", "destroy", "take-away", "let-in", "pay", "send", "publish", "query", "run", "write", "change"
]
"""What a tool does, judging by its name; empty if the name does not say."""

MAX_NAME = 200
_SPLIT = lazy_re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SERVER = lazy_re.compile(r"__|\.|/|:")


class NameMeaning(Struct, frozen=True):
    """`small`: it concerns something trivial to lose or restore. `many`: it concerns many things at once. `words`: those of
    the tool's own name; `whole`: including those of its server."""

    action: ToolAction
    words: frozenset[str] = frozenset()
    small: bool = False
    many: bool = False
    whole: frozenset[str] = frozenset()


def split(text: str) -> frozenset[str]:
    """A set of words from one space-separated text."""
    return frozenset(text.split())


def _table(*rows: tuple[ToolAction, str]) -> dict[str, ToolAction]:
    return {verb: action for action, verbs in rows for verb in verbs.split()}


_VERBS = _table(
    (
        "look",
        (
            "get list search find look read fetch describe show view count check status lookup inspect watch wait "
            "browse preview diff log logs query browse explain validate verify analyze analyse summarize "
            "summarise resolve ping test lint estimate calculate compute convert translate compare help "
            "whoami retrieve load open scan discover suggest recommend poll observe screenshot snapshot "
            "detect monitor"
        ),
    ),
    (
        "destroy",
        (
            "delete destroy drop purge wipe truncate erase terminate nuke deprovision expunge obliterate shred del "
            "rm rmdir prune flushall flushdb"
        ),
    ),
    (
        "take-away",
        "remove revoke uninstall ban kick kill shutdown deactivate suspend expel evict deregister unpublish reboot",
    ),
    ("pay", "pay purchase buy sell withdraw refund wire charge"),
    ("send", "send email mail sms notify reply forward message dm text call invite broadcast"),
    ("publish", "publish post tweet deploy release share announce toot"),
    ("query", "sql"),
    ("run", "execute exec run eval evaluate invoke spawn shell bash terminal command python ssh"),
    (
        "write",
        "write save append overwrite edit move rename copy upload put patch replace insert mkdir touch symlink download",
    ),
    (
        "change",
        (
            "create add update set modify merge close reopen assign enable disable reset clear cancel "
            "restart start stop apply import export sync restore rollback approve transfer submit place make "
            "configure register archive migrate grant"
        ),
    ),
)
_NOUNS = split("list log logs query view status count check watch search file text call mail email message post command")
_SMALL = split(
    "label labels reaction reactions tag tags cache caches cookie cookies draft drafts star stars like likes "
    "favorite favorites bookmark bookmarks breakpoint breakpoints highlight highlights selection cell cells "
    "shape element elements slide marker annotation watch watcher watchers cart todo todos reminder "
    "reminders observation observations relation relations pin reviewer reviewers assignee assignees "
    "duplicates duplicate background whitespace filter filters tab tabs session"
)
_LISTS = split("shopping groceries grocery playlist playlists queue wishlist watchlist todo todos")
"""Servers and tools for lists from which things are taken away every day."""

_MONEY = split(
    "payment payments fund funds money payout payouts transfer transaction transactions trade trades refund "
    "wire crypto coins tokens balance purchase subscription"
)
_MOVES = split("broadcast transfer send create make execute submit place approve pay wire authorize sign")
_PRICED = split("link links intent intents method methods template status history")
_MANY = split("newsletter campaign blast all every bulk batch mass everything everyone many multiple")
_OWNERSHIP = split("ownership owner repository repo account domain")
_COMPOUNDS: tuple[tuple[frozenset[str], frozenset[str], ToolAction], ...] = (
    # a word of the first set together with one of the second means this action
    (
        split("clear reset empty flush format"),
        split(
            "database db schema table tables disk drive volume partition trash bin bucket storage queue factory everything "
            "all calendar mailbox inbox contacts folder recyclebin"
        ),
        "destroy",
    ),
    (split("kill stop terminate"), split("shell bash task job process agent run"), "change"),
    (split("place submit execute"), split("order orders trade trades"), "pay"),
    (
        split("grant create add attach set update put assign modify"),
        split(
            "permission permissions policy policies role roles access acl collaborator collaborators credential credentials"
        ),
        "let-in",
    ),
    (
        split("unlock unlatch disarm"),
        split(
            "door doors lock locks car cars gate gates alarm alarms safe safes garage house home vehicle trunk locker "
            "deadbolt screen device phone account user bike"
        ),
        "let-in",
    ),
    (split("buzz"), split("in door visitor"), "let-in"),
    (split("change set update reset"), split("password passwords passphrase passcode pin"), "let-in"),
    (split("change set update add"), split("recovery twofactor mfa otp"), "let-in"),
    (
        split("set enable add create update change"),
        split("forwarding autoforward autoforwarding delegate delegates delegation"),
        "let-in",
    ),
    (split("add register enroll"), split("passkey factor authenticator fingerprint"), "let-in"),
    (split("add create register upload import"), split("ssh sshkey deploykey pubkey"), "let-in"),
    (split("create generate issue mint regenerate"), split("apikey token tokens pat"), "let-in"),
    (split("create add register set update"), split("webhook webhooks"), "let-in"),
    (
        split("add make create promote invite set grant assign"),
        split("admin admins administrator owner owners superuser root"),
        "let-in",
    ),
    (split("promote elevate impersonate"), split("user member account role customer"), "let-in"),
    (split("authorize approve connect trust pair"), split("app application oauth device devices login client"), "let-in"),
    (split("create issue send buy"), split("gift giftcard voucher"), "pay"),
    (split("complete finalize confirm"), split("checkout purchase"), "pay"),
    (
        split("approve pay settle release reimburse run"),
        split("invoice invoices expense expenses payroll reimbursement escrow"),
        "pay",
    ),
    (split("open close liquidate"), split("position positions"), "pay"),
    (split("swap bridge stake unstake mint"), split("token tokens coin coins crypto eth nft asset assets"), "pay"),
    (split("upgrade change renew buy extend"), split("plan subscription tier billing domain license seats"), "pay"),
    (split("register transfer"), split("domain"), "pay"),
    (
        split("book rent request"),
        split("flight flights hotel hotels room ticket tickets trip ride taxi car train"),
        "pay",
    ),
    (split("reset disable remove off"), split("mfa totp otp authenticator factor factors fa"), "take-away"),
    (
        split("stop shutdown poweroff halt"),
        split("vm vms droplet droplets instance instances server servers host machine"),
        "take-away",
    ),
    (split("close"), split("board project workspace"), "take-away"),
    (split("resolve mute silence"), split("all everything"), "take-away"),
    (
        split("disable pause suspend off snooze bypass mute"),
        split(
            "camera cameras siren protection antivirus defender backups monitoring audit motion detection sensor sensors "
            "monitor monitors alerts alerting"
        ),
        "take-away",
    ),
    (split("open"), split("garage gate gates door doors safe trunk"), "let-in"),
    (split("start"), split("engine ignition"), "let-in"),
    (split("remote"), split("start"), "let-in"),
    (split("invite add create"), split("external"), "let-in"),
    (split("export dump reveal download"), split("vault passwords password credentials secrets keychain logins"), "let-in"),
    (
        split("archive"),
        split("database repository repo project workspace channel board space base collection"),
        "take-away",
    ),
    (split("disable suspend"), split("user account alarm firewall logging security guard"), "take-away"),
    (split("close"), split("account accounts"), "take-away"),
    (split("update set change replace"), split("nameserver nameservers mx"), "take-away"),
    (split("drain cordon evict scale"), split("node nodes zero"), "take-away"),
    (split("unprotect unseal"), split("branch branches tag vault"), "take-away"),
    (split("force"), split("push"), "destroy"),
    (split("flushall flushdb"), split("redis cache db all"), "destroy"),
    (split("factory hard"), split("reset"), "destroy"),
)
_CALLED = split("phone number contact person customer user lead patient")
_ENTRANCES = split("door doors gate gates garage safe trunk locker")
_MAKES = split("create add generate issue set register rotate new")
_KEY_PAIRS = (
    split("api key"), split("access key"), split("secret key"), split("deploy key"), split("service account"),
    split("app password"), split("lock code"), split("door code"), split("guest code"), split("gate code"),
    split("alarm code"), split("entry code"),
)  # fmt: skip
"""What gives access, in two words."""
_ORDERED = split(
    "list status history details detail info book books by id ids item items line lines number tracking search get total "
    "summary count update cancel note notes"
)
"""What an order is asked for, where it is not placed."""
_RUN_TOGETHER = ("delete", "destroy", "purge", "wipe", "truncate")
"""Beginnings of names that lost their capitals: `deleteallmail`."""

_SQL = split("sql query statement psql mysql sqlite postgres postgresql bigquery snowflake")


def named(tool: str) -> NameMeaning:
    """What a tool's name says. Accepts any text; only the end of a long one counts."""
    return _named(tool[-MAX_NAME:])


@lru_cache(maxsize=1024)
def _named(tool: str) -> NameMeaning:
    last = _SERVER.split(tool)[-1] or tool
    words = [word.lower() for word in _SPLIT.findall(last)]
    whole = frozenset(word.lower() for word in _SPLIT.findall(tool))
    if not words:
        return NameMeaning("", whole=whole)
    known = frozenset(words)
    return NameMeaning(
        _action(words, known),
        known,
        not (known.isdisjoint(_SMALL) and whole.isdisjoint(_LISTS)),
        not known.isdisjoint(_MANY),
        whole,
    )


def _action(words: list[str], known: frozenset[str]) -> ToolAction:
    action = _by_verb(words)
    if words[0] == "order" and known.isdisjoint(_ORDERED):
        return "pay"
    if words in (["disarm"], ["unlock"]):
        return "let-in"
    if words[0] == "call" and len(words) > 1 and known.isdisjoint(_CALLED):
        action = "run"
    if action in ("look", "run", "query", "") and not known.isdisjoint(_SQL) and (action != "look" or words[0] == "query"):
        return "query"
    if action == "look":
        return "let-in" if words[0] == "open" and not known.isdisjoint(_ENTRANCES) else action
    for verbs, nouns, compound in _COMPOUNDS:
        if not known.isdisjoint(verbs) and not known.isdisjoint(nouns):
            return compound
    if not known.isdisjoint(_MOVES) and _is_payment(known):
        return "pay"
    if not known.isdisjoint(_MAKES) and any(pair <= known for pair in _KEY_PAIRS):
        return "let-in"
    if "transfer" in known and not known.isdisjoint(_OWNERSHIP):
        return "take-away"
    return action


def _is_payment(known: frozenset[str]) -> bool:
    """`transfer` is both a verb and a noun, so on its own it is not a payment."""
    return not (known & _MONEY - {"transfer"}).isdisjoint(known) and known.isdisjoint(_PRICED)


def _by_verb(words: list[str]) -> ToolAction:
    first, last = _VERBS.get(words[0], ""), _VERBS.get(words[-1], "")
    if first and not (last and words[0] in _NOUNS and last != "look" and words[-1] not in _NOUNS):
        return first
    if last and words[-1] not in _NOUNS:
        return last
    between = next((action for word in words[1:] if word not in _NOUNS and (action := _VERBS.get(word, ""))), first or last)
    return between or ("destroy" if words[0].startswith(_RUN_TOGETHER) else "")
