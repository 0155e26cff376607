"""Calls that ask for a person: covered by a grant, approved before, or held under a nonce. The only part of deciding that
touches the disk, and only for calls that ask.

`Approvals` stands between the pure guard and the stores. Whatever goes wrong here is a named verdict, and never a yes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from msgspec import Struct, structs

from toolguard_engine.approvals import (
    call_meaning,
    exact_grant,
    granted_meaning,
    held_text,
    held_view,
    repeatable_calls,
    replies,
    session_grant,
)
from toolguard_engine.approvals import grant_matching as grants
from toolguard_engine.approvals.binding import bind, bind_meaning
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import (
    MAX_APPROVED,
    UNSIGNED,
    Decision,
    HeldCall,
    Ledger,
    RefusedError,
    TooManyHeldError,
)
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.config.settings import Config
from toolguard_engine.host import session_names
from toolguard_engine.model.call import ALLOW, Call, Verdict
from toolguard_engine.model.call_world import Named, NoWorld, World
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.server.chat_approvals import ChatApprovals
from toolguard_engine.server.chat_grants import ChatGrants
from toolguard_engine.server.session_answers import SessionAnswers
from toolguard_engine.server.tool_trust import ToolTrust
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import GrantSource, HeldCallStore, SignedApprovals
from toolguard_engine.stores.values import NeedsSignatureError
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import correction
from toolguard_engine.wording.folded_text import NARROW, folded
from toolguard_engine.wording.redact import cut

AWAY = "approval.away"
MAX_REQUESTER = 200
LOCAL_NONCE = 8
"""The length of nonces on this machine; those of a fleet are longer."""
LATER = "The next such call is held again; allow it then, or run `toolguard doctor` in a terminal."
MAX_TITLE, MAX_DESCRIPTION = 80, 512
"""What the gateway's own prompt takes."""
MAX_PROMPT_REASON, MIN_PROMPT_CALL = 120, 160


Look = Callable[[], Meaning | None]
"""What a call means now, looked at once."""


class Settled(Struct, frozen=True):
    """What became of a call that asked. `entry`: the held call it is now or was; `fresh`: it is new in the book."""

    verdict: Verdict
    entry: HeldCall | None = None
    fresh: bool = False


class Approvals:
    """Settles holds. `grant_signers`: by default `signers`. `chat_grants`: without it, no grant is given in chat.
    `clock`: seconds since 1970. `world`: looks at what a call names. Other threads than that of the loop may call all but
    `is_decided`, one at a time."""

    def __init__(
        self,
        nonces: HeldCallStore,
        policies: GrantSource,
        clock: Callable[[], float],
        signers: SignedApprovals | None = None,
        grant_signers: SignedApprovals | None = None,
        chat_grants: ChatGrants | None = None,
        world: World | None = None,
    ) -> None:
        self._world = world or NoWorld()
        self._signers = signers
        self._grant_signers = grant_signers or signers
        self.chat_grants = chat_grants
        self.session_answers: SessionAnswers | None = None
        """Without it, nothing is allowed for the rest of a session."""
        self.tools: ToolTrust | None = None
        """Without it, nobody is asked about tools."""
        self._nonces = nonces
        self._policies = policies
        self._clock = clock
        self.chat = ChatApprovals()
        self.trouble = ""
        self._unused: deque[HeldCall] = deque()
        """Approvals that are used up, but for no call that was let run."""

    def keep(self, entry: HeldCall) -> None:
        """This approval was used up for a call that was not let run: `give_back` is to be called."""
        self._unused.append(entry)

    def give_back(self) -> None:
        """Stores those approvals again, so that the same calls run with them, also under another engine. Raises
        `StoreError`; then it is done before the next call is settled."""
        while self._unused:
            again = self._nonces.give_back(self._unused[0], self._clock())
            if again and self._signers:
                self._signers.give_back(self._unused[0], again)
            self._unused.popleft()

    def not_given_back(self, error: Exception) -> None:
        self.trouble = str(error)
        if not isinstance(error, StoreError):
            raise error

    def write_log(self) -> None:
        """Writes, behind the answer, the lines that the last change left for the audit log, and which grants have expired.
        Raises `StoreError`."""
        self._nonces.write_log()
        self._policies.note_expired()

    def settle(self, verdict: Verdict, call: Call, config: Config, use: ToolUse | None = None) -> Settled:
        """The final verdict on a call that a layer holds. `use`: of a tool that the gateway does not come with."""
        prefix = config.approval.prefix
        try:
            of_tool = self.tools.verdict(verdict, use, prefix) if self.tools and use else None
            settled = Settled(of_tool) if of_tool else self._settle(verdict, call, config, use)
        except StoreError as error:
            self.trouble = str(error)
            return Settled(Verdict("block", error.code, _unsettled(prefix, error), str(error)))
        except TooManyHeldError:
            code = "approval.too-many"
            return Settled(Verdict("block", code, approval_texts.out_of_order(prefix, code), "too many calls are waiting"))
        except ValueError as error:
            code = "approval.unbindable"
            return Settled(Verdict("block", code, approval_texts.blocked(prefix, str(error)), str(error)))
        self.trouble = self.tools.follow(settled.verdict, settled.entry, use) if self.tools and use else ""
        return settled

    def _settle(self, verdict: Verdict, call: Call, config: Config, use: ToolUse | None = None) -> Settled:
        now = self._clock()
        look = cache(partial(self._meaning, verdict, call))
        grant, changes = self._covering(look, call, self._policies.active(now), now)
        if grant is not None:
            is_beside = now < grant.created + MAX_APPROVED + 1  # one that was given beside an older grant is over
            used = self._used(verdict, call, look, now) if is_beside else None
            return used or Settled(Verdict("allow", f"grant.{grant.id}", reason=f"covered by the grant {grant.id}"))
        prefix = config.approval.prefix
        gateway = self._nonces.gateway_id()
        meaning = _of_gateway(look(), call, gateway)
        request = structs.replace(_request(verdict, call, config, now, gateway, meaning), changes=changes, use=use)
        if (given := self._answered_for_session(request)) is not None:
            is_beside = now < given.created + MAX_APPROVED + 1
            used = self._used(verdict, call, look, now) if is_beside else None
            reason = f"covered by {given.id}, the answer for the rest of this session"
            return used or Settled(Verdict("allow", f"grant.{given.id}", reason=reason))
        self.give_back()
        former = {_binding(verdict, call), _binding(verdict, call, gateway)}
        presented = self._nonces.present(request, now, former=former, log=False)
        entry = presented.entry
        if presented.outcome == "expired":
            reason = f"the approval of {entry.nonce} is not valid: {presented.refusal}"
            code = "approval.unsigned" if presented.refusal == UNSIGNED else "approval.bad-signature"
            return Settled(Verdict("block", code, approval_texts.not_signed(prefix, reason), reason), entry)
        if presented.outcome == "used":
            if self._signers:
                self._signers.use(entry, now)
            return _consumed(entry)
        if presented.outcome == "denied":
            return Settled(Verdict("block", "approval.denied", approval_texts.denied(prefix, entry.why), entry.why), entry)
        reason = entry.reason if entry.changes else verdict.reason
        text = approval_texts.held(prefix, entry.nonce, reason, request.shown, signed=config.signs_approvals)
        return Settled(Verdict("hold", "approval.pending", text, verdict.reason), entry, presented.fresh)

    def runs_outside(self, call: Call, named: Callable[[], Named]) -> bool:
        """Whether a grant lets this command run outside of its room; not where that cannot be known. `named`: what it
        names."""
        with suppress(StoreError, ValueError):
            now = self._clock()
            if granted := [grant for grant in self._policies.active(now) if grant.uncontained]:
                look = cache(lambda: call_meaning.derive(each := named(), self._world.look(each), bind(call)))
                return self._covering(look, call, granted, now)[0] is not None
        return False

    def _covering(
        self, look: Look, call: Call, grants_now: Iterable[Grant], now: float
    ) -> tuple[Grant | None, tuple[str, ...]]:
        """The first of these grants that covers this call and, where the settings name signers, is signed by one of them. If
        there is only one that covers its words: what the call does beyond that grant."""
        granted, changes = list(grants_now), tuple[str, ...]()
        while grant := grants.covering(call, granted, now):
            granted.remove(grant)
            if self._grant_signers is not None and not self._grant_signers.allows(grant):
                continue
            lines = granted_meaning.more(grant, look() if grant.bound else None, str(Path.home()))
            if not lines:
                return grant, ()
            changes = changes or (*(f"beyond the grant {grant.id}: {line}" for line in lines),)
        return None, changes

    def _answered_for_session(self, request: HeldCall) -> SessionGrant | None:
        """None also where it cannot be known: then the call is asked about."""
        with suppress(StoreError):
            return self.session_answers.covering(request) if self.session_answers else None
        return None

    def _used(self, verdict: Verdict, call: Call, look: Look, now: float) -> Settled | None:
        """Uses up the approval of a call that a grant covers too, which would end as one whose call did not run. None where
        there is none; whatever goes wrong, the call has its grant."""
        with suppress(StoreError, ValueError):
            gateway = self._nonces.gateway_id()
            bindings = {_binding(verdict, call), _binding(verdict, call, gateway)}
            meaning = _of_gateway(look(), call, gateway)
            known = Ledger(entry for entry in self._nonces.look()[0] if entry.status == "approved")
            if entry := known.waiting("", now, bindings, meaning):
                used = self._nonces.settle(entry.nonce, "used", Decision(entry.by, entry.where, entry.why), now)
                if used and self._signers:
                    self._signers.use(used, now)
                return _consumed(used) if used else None
        return None

    def _meaning(self, verdict: Verdict, call: Call) -> Meaning | None:
        """What the call means now; None where the guard has not listed what it names. Raises `ValueError`."""
        if verdict.named is None:
            return None
        return call_meaning.derive(verdict.named, self._world.look(verdict.named), bind(call))

    def is_decided(self, nonce: str) -> bool:
        """Whether the call held under this nonce waits no more: asking again brings news."""
        return self._nonces.is_decided(nonce, self._clock())

    def held_since(self, nonce: str) -> float | None:
        """When this call was held (seconds since 1970); None if the nonce names no single one. Raises `StoreError`."""
        try:
            return replies.now_known(self._nonces.entries(), self._clock()).find(nonce).created
        except RefusedError:
            return None

    def decide(self, message: messages.PersonDecision, config: Config) -> messages.DecisionReply:
        """A yes or no that came through the gateway."""
        now = self._clock()
        decision = Decision(audit_log.plain(message.by), message.where, audit_log.plain(message.why))
        try:
            if message.action == "pending":
                offers = self.chat_grants is not None and not config.signs_approvals
                text = "\n".join(self.chat.pending(message, self._nonces.entries(), now, offers=offers))
            elif message.action == "approve" and message.lasts == session_grant.PERIOD:
                return self._approve_for_session(message, decision, config, now)
            elif message.action == "approve" and message.lasts:
                return self._approve_and_grant(message, decision, config, now)
            elif message.action == "approve" and self._signers:
                answer = replies.needs_signature(message.nonce)
                return messages.DecisionReply(message.id, ok=False, text=f"{answer.text}\n{answer.fix}")
            elif message.action == "approve":
                entry = self._waiting(message.nonce, now, config)
                chat = self.chat.answer(message, entry, now)
                if not chat.counts:
                    return messages.DecisionReply(message.id, ok=chat.ok, text=chat.text)
                decision = structs.replace(decision, why=audit_log.plain(chat.text))
                window = config.approval_window_ms / 1000
                entry = self._nonces.approve(entry.nonce, decision, now, window)
                return _approved(message, entry, replies.approved(entry, int(window)))
            elif message.action == "revive":
                text = replies.revived(self._nonces.revive(message.nonce, decision, now))
            else:
                lasts = config.pending_timeout_ms / 1000
                text = replies.denied(self._nonces.deny(message.nonce, decision, now, lasts))
        except RefusedError as refused:
            undo = self.chat.undo(refused.entry.nonce) if refused.entry and refused.cause == "used" else ""
            answer = replies.explain(refused, undo)
            return messages.DecisionReply(message.id, ok=False, text=f"{answer.text}\n{answer.fix}".strip())
        except NeedsSignatureError:  # of a fleet's held calls only
            answer = replies.needs_fleet_login(message.nonce, action=message.action)
            return messages.DecisionReply(message.id, ok=False, text=f"{answer.text}\n{answer.fix}")
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=f"{error}\nRun `toolguard doctor` in a terminal.")
        return messages.DecisionReply(message.id, ok=True, text=text)

    def _waiting(self, nonce: str, now: float, config: Config) -> HeldCall:
        """The call that waits under this nonce and can be shown. Raises `RefusedError` and `NeedsSignatureError`."""
        entry = replies.now_known(self._nonces.entries(), now).find(nonce)
        if entry.status != "pending":
            self._nonces.sweep(now)  # that its time is over belongs in the log
            raise RefusedError(entry.status, entry)
        if config.fleet.enabled and len(entry.nonce) > LOCAL_NONCE:
            raise NeedsSignatureError(f"{entry.nonce} is a call of the fleet")
        if not entry.whole:
            raise RefusedError("unseen", entry)
        return entry

    def _approve_and_grant(
        self, message: messages.PersonDecision, decision: Decision, config: Config, now: float
    ) -> messages.DecisionReply:
        """Approves the call once and then also grants it. Nothing is granted unless the approval is stored: whatever stops
        this in between leaves a call that is approved once. Raises as the stores do, and `RefusedError`."""

        no = partial(_nothing, message)
        named = cut(audit_log.plain(message.nonce), 20)
        terminal = f"Run `toolguard approve {named} --for 1d` in a terminal."
        if message.where != "chat" or self.chat_grants is None:
            return no("an agent cannot allow a call for a while.", terminal)
        if self._grant_signers is not None or config.approval.is_signed:
            return no("grants need a signature here (approval.signers).", f"{terminal} It signs approval and grant.")
        if config.fleet.enabled:
            return no("in a fleet a call can only be approved once.", f"Run `toolguard approve {named}` in a terminal.")
        if why_not := repeatable_calls.not_a_period(message.lasts):
            return no(f"{why_not}.", f"/toolguard approve {named} --for {repeatable_calls.OFFERED}")
        entry = self._waiting(message.nonce, now, config)
        narrow = repeatable_calls.narrow_grant(entry)
        if narrow.grant is None:
            why = f"{entry.nonce} can only be approved once: {narrow.why_not}."
            return no(why, f"/toolguard approve {entry.nonce} lets it run once")
        lasts = repeatable_calls.IN_WORDS[message.lasts]
        chat = self.chat.answer(message, entry, now, f"allow {narrow.scope} for {lasts}")
        if not chat.counts:
            return messages.DecisionReply(message.id, ok=chat.ok, text=chat.text)
        decision = structs.replace(decision, why=audit_log.plain(chat.text))
        entry, text = self._approved_once(entry, decision, config, now)
        try:
            grant = self.chat_grants.add(narrow.grant, message.lasts, entry, decision)
        except StoreError as error:
            return messages.DecisionReply(
                message.id, ok=False, text=f"{text}\nIt is not allowed for longer: {error}\n{LATER}"
            )
        return _approved(message, entry, f"{text}; {grant.id} allows {narrow.scope} for {lasts}")

    def _approved_once(self, entry: HeldCall, decision: Decision, config: Config, now: float) -> tuple[HeldCall, str]:
        """The entry after the approval, and that in words. Raises as the stores do."""
        window = config.approval_window_ms / 1000
        entry = self._nonces.approve(entry.nonce, decision, now, window)
        return entry, replies.approved(entry, int(window))

    def _approve_for_session(
        self, message: messages.PersonDecision, decision: Decision, config: Config, now: float
    ) -> messages.DecisionReply:
        """The same for the calls like this one, in this session. Raises as `_approve_and_grant` does."""
        named = cut(audit_log.plain(message.nonce), 20)
        if message.where != "chat" or self.session_answers is None:
            why = "an agent cannot allow calls" if message.where != "chat" else "grants need a signature here"
            return _nothing(message, f"{why}.", f"Run `toolguard approve {named}` in a terminal.")
        entry = self._waiting(message.nonce, now, config)
        offer = session_grant.offer(entry)
        if offer.grant is None:
            why = f"{entry.nonce} can only be approved once: {offer.why_not}."
            return _nothing(message, why, f"/toolguard approve {entry.nonce} lets it run once")
        chat = self.chat.answer(message, entry, now, f"allow {offer.scope}, {session_grant.IN_WORDS}")
        if not chat.counts:
            return messages.DecisionReply(message.id, ok=chat.ok, text=chat.text)
        decision = structs.replace(decision, why=audit_log.plain(chat.text))
        entry, text = self._approved_once(entry, decision, config, now)
        try:
            grant = self.session_answers.add(offer.grant, decision)
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=f"{text}\nOnly this call is allowed: {error}\n{LATER}")
        return _approved(message, entry, f"{text}; {grant.id} allows {offer.scope}, {session_grant.IN_WORDS}")

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision) -> str:
        """Closes the held calls that a checkpoint answers; what became of them, in words. Never raises."""
        try:
            return replies.lapsed(self._nonces.lapse(means, decision, self._clock()))
        except StoreError as error:
            self.trouble = str(error)
            return replies.NOT_LAPSED

    def resolved(self, message: messages.Resolved) -> HeldCall | None:
        """Enters what the gateway's own prompt brought; None where that was closed already, or cannot be entered.

        Where nobody could be asked, there is nothing to enter: the call goes on waiting under its nonce.
        """
        if message.outcome == "unavailable":
            return None
        decision = Decision(audit_log.plain(message.by), "native")
        try:
            entry = self._nonces.settle(message.nonce, message.outcome, decision, self._clock())
        except StoreError as error:
            self.trouble = str(error)
            return None
        if self.tools and message.outcome == "used":
            self.trouble = self.tools.follow(ALLOW, entry)
        return entry


def _unsettled(prefix: str, error: StoreError) -> str:
    if error.code == AWAY:
        return approval_texts.not_now(prefix, str(error).partition(";")[0])
    return approval_texts.out_of_order(prefix, error.code)


def _consumed(entry: HeldCall) -> Settled:
    return Settled(Verdict("allow", "approval.consumed", reason=f"approved under {entry.nonce}"), entry)


def _nothing(message: messages.PersonDecision, why: str, fix: str) -> messages.DecisionReply:
    return messages.DecisionReply(message.id, ok=False, text=f"Nothing was approved: {why}\n{fix}")


def _approved(message: messages.PersonDecision, entry: HeldCall, text: str) -> messages.DecisionReply:
    return messages.DecisionReply(message.id, ok=True, text=text, nonce=entry.nonce, waking=replies.waking(entry))


def _of_gateway(meaning: Meaning | None, call: Call, gateway: str) -> Meaning | None:
    return None if meaning is None else structs.replace(meaning, call=bind(call, gateway=gateway))


def _binding(verdict: Verdict, call: Call, gateway: str = "") -> str:
    """The binding in formats 1 and 2, for entries of earlier versions. Raises `ValueError`."""
    return bind(call, verdict.details.files if verdict.details else (), gateway)


def prompt_for(entry: HeldCall, now: float) -> messages.Prompt:
    """The same call for the gateway's own prompt, within what that can show, for as long as it waits."""
    room = MAX_DESCRIPTION - 32 - MIN_PROMPT_CALL
    dangers = _within(lambda room: _dangers(entry, room), room)
    call = _for_prompt(entry, MAX_DESCRIPTION - 2 - _units(dangers))
    return messages.Prompt(
        nonce=entry.nonce,
        title=_clipped(cut(f"{entry.tool} is waiting for your approval", MAX_TITLE - 20), MAX_TITLE),
        description=f"{dangers}. {call}",
        timeout_ms=max(1_000, int((entry.expires - now) * 1000)),
    )


def _dangers(entry: HeldCall, room: int) -> str:
    """Why it is held where that is more than a rule says, and all that it would do, in about so many characters."""
    view = held_view.view(entry)
    why = cut(view.why.removesuffix(f" ({entry.code})"), MAX_PROMPT_REASON).rstrip(".") if view.why else ""
    if why and view.dangers[0].text == held_view.UNNAMED:
        return why
    return f"{why}. {held_text.in_short(view, room - len(why))}" if why else held_text.in_short(view, room)


def _for_prompt(entry: HeldCall, most: int) -> str:
    """The call in so many units: whole, or folded around its dangers, or its two ends."""
    if _units(entry.shown) <= most:
        return entry.shown
    around = folded(entry.shown, held_view.dangers_of(entry), most, NARROW)
    if around and _units(around) <= most:
        return around
    return _within(lambda room: approval_texts.ends(entry.shown, room), most)


def _within(text: Callable[[int], str], units: int) -> str:
    """The text that is made for so many characters, in so many units."""
    room = units
    while (over := _units(made := text(room)) - units) > 0 and room > 0:
        room -= max(1, over // 2)  # of a sign that counts as two, one at least is gone
    return _clipped(made, units)


def _units(text: str) -> int:
    """The length of a text as the gateway counts it: in units of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _clipped(text: str, units: int) -> str:
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "ignore")


def _request(verdict: Verdict, call: Call, config: Config, now: float, gateway: str, meaning: Meaning | None) -> HeldCall:
    text, whole = approval_texts.disclosed(call)
    wait = verdict.details.wait if verdict.details else 0
    return HeldCall(
        nonce="",
        binding=bind_meaning(meaning) if meaning else _binding(verdict, call, gateway),
        meaning=meaning,
        tool=correction.name(call.tool),
        agent=call.agent,
        session=session_names.lasting(call.session),
        run=call.run,
        code=verdict.code,
        reason=approval_texts.line(verdict.reason),
        shown=text,
        whole=whole,
        cwd=call.cwd,
        details=verdict.details,
        created=now,
        exact=exact_grant.kept(call),
        requester=cut(audit_log.plain(call.requester), MAX_REQUESTER),
        expires=now + (wait or config.pending_timeout_ms / 1000),
    )
