"""The wire between the gateway part (JavaScript) and the engine: one JSON object a line, both ways.

A question has an `id`, always as the first member, and gets exactly one answer with the same `id`; a note has none. Both
sides say `v` once, at the start: a gateway part that is older than the engine is told so instead of being misread.
Unknown members are ignored, so that a newer gateway part may say more.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolguard_engine.wire.leading_members import MAX_ID, ProtocolError, leading, without_halves

VERSION = 1
MAX_LINE = 8 * 1024 * 1024
"""Bytes. The gateway part sends no longer line; what comes anyway is refused, not stored."""

Name = Annotated[str, Meta(max_length=100_000)]
"""Some model servers put whole signatures into the id of a call."""

Text = Annotated[str, Meta(max_length=1_000_000)]
Id = Annotated[int, Meta(ge=0, le=MAX_ID)]


class Wire(msgspec.Struct, frozen=True, tag_field="type", rename="camel"):
    """What all messages have in common: the member `type`."""


class Hello(Wire, frozen=True, tag="hello"):
    """The first question. `config` is the plugin's entry as the gateway holds it. `conversation`: whether its hooks are
    given the conversation (`allowConversationAccess`); None where the gateway part does not know. `shell`, `path`: the
    variables with which the person started the gateway."""

    id: Id
    v: int
    state_dir: Name
    config: Any = None
    gateway: Name = ""
    gateway_pid: int = 0
    host: Name = ""
    plugin: Name = ""
    config_path: Name = ""
    root: Name = ""
    conversation: bool | None = None
    entry: Name = ""
    shell: Name = ""
    path: Name = ""


class Place(Wire, frozen=True, kw_only=True):
    """Where in the gateway something happened. `request`: which request to the model it came from, counted in its run; 0
    where that is not known."""

    agent: Name = ""
    session: Name = ""
    run: Name = ""
    call: Name = ""
    request: int = 0


class Judge(Place, frozen=True, tag="judge"):
    """May this call run? `cwd`: where a command would run, or a file be written. `native`: the gateway may be able to ask a
    person itself. `requester`: `owner`, or the id of who asked for it.

    Answer: `VerdictAnswer`.
    """

    id: Id
    tool: Name
    params: Any = None
    cwd: Name = ""
    native: bool = False
    channel: Name = ""
    requester: Name = ""


class ParamsChanged(Place, frozen=True, tag="ran"):
    """Something else ran than what was judged. `others`: who may have changed it. Answer: `Stopped`."""

    id: Id
    tool: Name
    params: Any = None
    cwd: Name = ""
    others: Text = ""


class DoubtfulPeer(msgspec.Struct, frozen=True):
    """A connection to the gateway from this machine of which it is not certain that a person holds it. `closed`: 0 while it
    is open; `kind`: `agent` or `unknown`; `why`: completes the sentence "a connection is held ..."."""

    opened: float
    closed: float = 0.0
    kind: Name = ""
    why: Name = ""


class Carrier(msgspec.Struct, frozen=True):
    """A connection to the gateway that a person holds, or another device. `closed`: 0 while it is open."""

    opened: float
    closed: float = 0.0


class PersonDecision(Wire, frozen=True, tag="decide"):
    """A person's word, or the agent's where that is allowed: `where` is `chat` or `tool`. Answer: `DecisionReply`.

    `checkpoint` is for `session`, for all where `nonce` is `all`; for `kill-switch` `nonce` is `on` or `off`; `accept` is
    for all settings that became weaker, with the mark of what was shown as `nonce`. `lasts`: `approve` also allows exactly
    this call for that long, or with `session` the next calls like it in this session. `peers`: for a command that came over
    the gateway's own chat, who else could have sent it; `carriers`: over which connections a person could have, None for
    other channels. `chat`: which chat it came from, the same for all commands there.
    """

    id: Id
    action: Literal["approve", "deny", "pending", "revive", "checkpoint", "kill-switch", "accept"]
    where: Literal["chat", "tool"]
    nonce: Name = ""
    by: Name = ""
    why: Name = ""
    session: Name = ""
    lasts: Name = ""
    peers: tuple[DoubtfulPeer, ...] = ()
    carriers: tuple[Carrier, ...] | None = None
    chat: Name = ""


class Resolved(Wire, frozen=True, tag="resolved"):
    """What the gateway's own prompt brought for a held call. `unavailable`: there was nobody to ask. Answer: `Pong`."""

    id: Id
    nonce: Name
    outcome: Literal["used", "denied", "expired", "unavailable"]
    by: Name = ""


class Unjudged(Place, frozen=True, tag="unjudged"):
    """The gateway part blocked a call without a verdict of the engine, for the audit log.

    `code`: which bound it broke or what was wrong; `shown`: the beginning of what the call names. It is a question, so that
    the line is not lost with an engine that is silent. `summed`: not one call, but how many ran and were refused while the
    engine was silent. Answer: `Pong`.
    """

    id: Id
    tool: Name
    code: Literal["call.too-deep", "call.too-large", "call.no-json", "guard.silent", "guard.unreadable", "guard.error"]
    reason: Name = ""
    shown: Name = ""
    summed: bool = False


class AskSecrets(Wire, frozen=True, tag="secrets"):
    """Which texts must not be shown to a model? Answer: `Secrets`, and another one whenever they change."""

    id: Id


class Redacted(Place, frozen=True, tag="redacted"):
    """The gateway part found secrets in what a model was to see, and replaced them, for the audit log. `names`: which ones;
    `kept`: they were not replaced, because the guard only watches this agent. Without a tool they were in another text of a
    request. Answer: `Pong`.
    """

    id: Id
    names: Annotated[list[Name], Meta(max_length=1_000)]
    tool: Name = ""
    kept: bool = False


class Warned(Wire, frozen=True, tag="warned"):
    """Note: something about the gateway itself that endangers the guard, for the audit log."""

    text: Text


class Failed(Place, frozen=True, tag="failed"):
    """A call came back with this error text. `judged`: it had been asked about before. `missed`: failures of this run that
    were answered while no engine was there. Answer: `Corrected`."""

    id: Id
    tool: Name
    text: Text
    params: Any = None
    judged: bool = False
    missed: int = 0
    provider: Name = ""
    model: Name = ""


class MessageCall(msgspec.Struct, frozen=True):
    """One call inside a message of the model."""

    tool: Name
    params: Any = None
    call: Name = ""


class Message(Place, frozen=True, tag="message"):
    """The model wants to make these calls: does the run end first? Without calls: may this run begin, with the model that is
    named, or the one that the session used last? Answer: `Stopped`."""

    id: Id
    calls: Annotated[list[MessageCall], Meta(max_length=10_000)]
    provider: Name = ""
    model: Name = ""


class ToolResult(Place, frozen=True, tag="came"):
    """A call that was judged was executed, and this came of it. A question where it has an id, else a note. Answer: `Noted`.

    `text`: what the model will see of it, its two ends where it is long, `size` characters in all; `rest`: a digest of what
    was cut out of it, and of images. `status` and `exit_code` as the tool gave them. `vetoed`: it was not executed, the
    gateway's own loop detection did not let it run. `process`: the id under which a command goes on in the background.
    """

    tool: Name
    params: Any = None
    text: Text = ""
    size: int = 0
    failed: bool = False
    status: Name = ""
    exit_code: int | None = None
    id: Id | None = None
    vetoed: bool = False
    rest: Annotated[str, Meta(max_length=100)] = ""
    process: Name = ""


class Compacted(Place, frozen=True, tag="compacted"):
    """Note: the history of this run was made shorter, and the run goes on."""


class ToolText(Place, frozen=True, tag="heard"):
    """Note: a tool came back with a text that may have come from outside, cut. `params`: the short ones."""

    tool: Name
    text: Text
    params: Any = None


class UserMessage(Place, frozen=True, tag="said"):
    """Note: somebody wrote to the agent; `owner`: nobody else than the person it works for, as far as the gateway knows.

    `person`: the gateway says that this person did, and not another session or an automation.
    """

    text: Text
    owner: bool = True
    person: bool = False


class RunStart(Place, frozen=True, tag="run-start"):
    """Note: a run is in progress. It is said when it begins, and again to an engine that has just started."""


class Woken(Wire, frozen=True, tag="woken"):
    """Note: what became of a `Wake`. `woken`: the gateway has accepted it; `busy`: a run of the session is in progress;
    `later`: the session cannot be woken, `why` says why not."""

    nonce: Name
    outcome: Literal["woken", "busy", "later"]
    why: Name = ""


class RunEnd(Wire, frozen=True, tag="run-end"):
    """Note: a run is over."""

    run: Name
    session: Name = ""


class SessionEnd(Wire, frozen=True, tag="session-end"):
    """Note: a session is over: it was begun anew, was idle for long, or was deleted."""

    session: Name


class ModelEnded(Place, frozen=True, tag="model-ended"):
    """Note: a model call is over. `run` may be that of a request made for a run (`<run>:compaction:...`). `outcome`:
    `completed`, or the gateway's word for what became of it. `channel`: where somebody last wrote in this session.

    `duration_ms` is what the gateway says, whatever that is.
    """

    provider: Name = ""
    model: Name = ""
    duration_ms: Any = None
    outcome: Name = ""
    channel: Name = ""


class Used(msgspec.Struct, frozen=True, rename="camel"):
    """Tokens and cost (USD, all in all) of one model call, as the gateway says, whatever that is."""

    input: Any = 0
    output: Any = 0
    cache_read: Any = 0
    cache_write: Any = 0
    total_tokens: Any = 0
    cost: Any = None


class ModelAnswer(Place, frozen=True, tag="answered"):
    """Note: the model's answer was written into the history. `stop`: why it ended (`error` and `aborted` are failures)."""

    provider: Name = ""
    model: Name = ""
    usage: Used = Used()
    stop: Name = ""
    channel: Name = ""


class Seams(Wire, frozen=True, tag="seams"):
    """Note: which ways into the gateway were seen to work (`works`, `fails`, `unknown`), by name."""

    seams: Annotated[dict[Name, Literal["works", "fails", "unknown"]], Meta(max_length=50)]


class Leaving(Wire, frozen=True, tag="leaving"):
    """Note: the gateway is about to stop the plugin, and says why."""

    reason: Name = ""


class Ping(Wire, frozen=True, tag="ping"):
    """Are you there? Answer: `Pong`."""

    id: Id


Note = (
    Compacted | ToolText | UserMessage | Warned | RunStart | Woken | RunEnd | SessionEnd
    | ModelEnded | ModelAnswer | Seams | Leaving
)  # fmt: skip
"""The messages that have no id and get no answer."""

Incoming = (
    Hello | Judge | ParamsChanged | Failed | Message | ToolResult
    | PersonDecision | Resolved | Unjudged | AskSecrets | Redacted | Ping | Note
)  # fmt: skip


class Ready(Wire, frozen=True, tag="ready"):
    """Answer to `Hello`. `config_error` names the key that could not be read; defaults are in force then. `shell`: what the
    gateway runs commands with, so that they are contained; empty where they are not."""

    id: Id
    v: int
    pid: int
    version: str
    config_error: str = ""
    shell: str = ""


class Prompt(msgspec.Struct, frozen=True, rename="camel"):
    """What the gateway's own prompt shows."""

    nonce: str
    title: str
    description: str
    timeout_ms: int
    severity: Literal["info", "warning", "critical"] = "warning"


class VerdictAnswer(Wire, frozen=True, tag="verdict", omit_defaults=True):
    """`pin`: exactly the judged params may run. `stop` ends the run. `prompt`: ask in the gateway's own way first.
    `approved`: a person has. `outcome`: what is wanted when the call has run: nothing, a note (`tell`) or an answer (`ask`).
    `note` goes behind its result. `waiting`: what the answer of a run that ends must name: nonces of held calls, a command.
    `room`: the process whose room the command enters, 0 if none; `room_name`: after a restart; `only_there`: only in it.
    """

    id: Id
    decision: str
    code: str
    text: str = ""
    pin: bool = False
    stop: str = ""
    prompt: Prompt | None = None
    outcome: Literal["", "tell", "ask"] = ""
    note: str = ""
    waiting: tuple[str, ...] = ()
    room: int = 0
    room_name: str = ""
    only_there: bool = False
    approved: bool = False


class Corrected(Wire, frozen=True, tag="corrected", omit_defaults=True):
    """`text` replaces the gateway's if it is not empty; `watch`: ask before this run's next calls; `stop` ends it.

    `waiting`: see `VerdictAnswer`.
    """

    id: Id
    text: str = ""
    watch: bool = False
    stop: str = ""
    waiting: tuple[str, ...] = ()


class Noted(Wire, frozen=True, tag="noted", omit_defaults=True):
    """`note` goes behind the result of the call; `stop` ends the run."""

    id: Id
    note: str = ""
    stop: str = ""


class Stopped(Wire, frozen=True, tag="stopped", omit_defaults=True):
    """`stop` replaces the model's message, or is the answer in its place, and ends the run if it is not empty. `waiting`:
    see `VerdictAnswer`."""

    id: Id
    stop: str = ""
    waiting: tuple[str, ...] = ()


class DecisionReply(Wire, frozen=True, tag="told"):
    """Answer to `Decide`, for a person. If it approved a call, its nonce, and what to add by the outcome of waking its agent
    (see `replies.waking`)."""

    id: Id
    ok: bool
    text: str
    nonce: str = ""
    waking: dict[str, str] = {}


class Wake(Wire, frozen=True, tag="wake"):
    """Not asked for: a held call was approved, and its agent should repeat it."""

    nonce: str
    agent: str
    session: str
    text: str


class Decided(Wire, frozen=True, tag="decided"):
    """Not asked for: a held call was approved or denied elsewhere; the gateway's own prompt for it is answered likewise."""

    nonce: str
    decision: Literal["approve", "deny"]


class Secrets(Wire, frozen=True, tag="secrets", omit_defaults=True):
    """What the gateway part replaces in all that a model sees: (text, what is shown instead, name of the secret). Without an
    id it was not asked for: the secrets have changed."""

    id: Id | None = None
    hidden: tuple[tuple[str, str, str], ...] = ()


class Pong(Wire, frozen=True, tag="pong", omit_defaults=True):
    """`entered`: what the gateway's own prompt brought is in the ledger now; nobody had decided otherwise."""

    id: Id
    entered: bool = False


class Error(Wire, frozen=True, tag="error"):
    """The line could not be answered. `id` is null where not even that could be read."""

    id: Id | None
    error: str


class Log(Wire, frozen=True, tag="log"):
    """A line for the gateway's log."""

    level: Literal["debug", "info", "warn", "error"]
    text: str


class Working(Wire, frozen=True, tag="working"):
    """The engine is busy: what is asked is answered later."""


_decoder: msgspec.json.Decoder[Incoming] = msgspec.json.Decoder(Incoming)
_encoder = msgspec.json.Encoder()


def decode(line: bytes) -> Incoming:
    """One line without its end. Raises `ProtocolError`."""
    try:
        try:
            return _decoder.decode(line)
        except msgspec.DecodeError:
            if (repaired := without_halves(line)) is None:
                raise
            return _decoder.decode(repaired)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(str(error)[:300], leading(line)) from error


def encode(message: Wire) -> bytes:
    """One line with its end. The id of an answer is its first member but for the type, which the tag puts first."""
    return _encoder.encode(message) + b"\n"
