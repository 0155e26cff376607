"""What the rest of toolguard needs of its stores. `stores.open` returns implementations; these do not name a backend.

All methods raise `locked.StoreError` unless they state otherwise. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:  # annotations only: importing this module stays cheap
    from toolguard_engine.approvals.approval_window import EndMove
    from toolguard_engine.approvals.grant_record import Grant
    from toolguard_engine.approvals.ledger import Decision, HeldCall, Status
    from toolguard_engine.approvals.session_grant_record import SessionGrant
    from toolguard_engine.approvals.standing import Key, Standing
    from toolguard_engine.approvals.tool_answer import ToolAnswer
    from toolguard_engine.config.strictness import EffectiveSettings, StrictnessChange
    from toolguard_engine.model.call import Run
    from toolguard_engine.model.file_changes import FileChange
    from toolguard_engine.model.file_list import FileList
    from toolguard_engine.model.file_tree import FileTree
    from toolguard_engine.model.living_programs import LivingProgram
    from toolguard_engine.model.signed_body import SignedBody
    from toolguard_engine.rules.rulebook import Example, Rule
    from toolguard_engine.stores.accepted_settings import AcceptedState, Log, Notice
    from toolguard_engine.stores.audit_log import AuditEvent, Verification
    from toolguard_engine.stores.engines import EngineInfo, EngineStart
    from toolguard_engine.stores.notifications import Notification, ReadUpTo, State, TargetHealth
    from toolguard_engine.stores.values import Found, KillSwitchState, Placed, Presented

Tables = list[dict[str, Any]]


class ApprovalProof(Protocol):
    """Whether an entry is what it says, where the settings name signers."""

    def refusal(self, entry: HeldCall, request: HeldCall, now: float) -> str:
        """Why this entry, which waits or is approved, does not answer for `request`; empty where it does."""


class SignedApprovals(ApprovalProof, Protocol):
    """The same for the engine, which also uses approvals up."""

    def use(self, used: HeldCall, now: float) -> None:
        """This approval was used up."""

    def give_back(self, used: HeldCall, again: HeldCall) -> None:
        """It waits again as `again`, since its call did not run."""

    def allows(self, grant: Grant) -> bool:
        """Whether an allowed signer has signed this grant."""


class HeldCallStore(Protocol):
    """The ledger of held calls. An engine asks it beside its loop (`server.store_queue`) and answers a call when it has the
    result: all methods but `is_decided` may wait for another process or a network."""

    @property
    def path(self) -> Path:
        """The file to watch: it changes when an entry does, here or elsewhere."""

    def gateway_id(self) -> str:
        """The gateway's id, for `binding.bind`."""

    def present(self, request: HeldCall, now: float, *, former: Collection[str] = (), log: bool = True) -> Presented:
        """Uses up the approval of a call, or holds it under a nonce. `request` is the entry that it would get; `former`: its
        bindings in earlier formats, for entries of that time. Without `log` its lines for the audit log are stored with the
        change, and written by `write_log`."""

    def give_back(self, used: HeldCall, now: float) -> HeldCall | None:
        """See `Ledger.give_back`."""

    def move_ends(self, moves: Sequence[EndMove], now: float) -> None:
        """See `Ledger.move_end`. Raises `Busy` at once if another process writes."""

    def write_log(self) -> None:
        """Writes the lines that `present` left. Raises `Busy` at once if another process writes: `sweep` does it."""

    @property
    def is_behind(self) -> bool:
        """Whether such lines could not be written."""

    def approve(
        self,
        prefix: str,
        decision: Decision,
        now: float,
        window: float,
        *,
        unseen: bool = False,
        signatures: tuple[SignedBody, ...] = (),
    ) -> HeldCall:
        """See `Ledger.approve`; also raises `ledger.RefusedError`."""

    def deny(self, prefix: str, decision: Decision, now: float, lasts: float, *, unanswered: bool = False) -> HeldCall:
        """See `Ledger.deny`; also raises `ledger.RefusedError`."""

    def revive(self, prefix: str, decision: Decision, now: float) -> HeldCall:
        """See `Ledger.revive`; also raises `ledger.RefusedError`."""

    def revive_approved(
        self, prefix: str, decision: Decision, now: float, window: float, *, unseen: bool = False
    ) -> HeldCall:
        """See `Ledger.revive_approved`; also raises `ledger.RefusedError`. The new entry."""

    def lapse(self, means: Callable[[HeldCall], bool], decision: Decision, now: float) -> list[HeldCall]:
        """See `Ledger.lapse`."""

    def settle(self, nonce: str, status: Status, decision: Decision, now: float) -> HeldCall | None:
        """See `Ledger.settle`."""

    def is_decided(self, nonce: str, now: float) -> bool:
        """Whether the call held under this nonce waits no more; False where that is not known. Called in the loop."""

    def entries(self) -> list[HeldCall]:
        """All trusted entries, the oldest first. Others are removed and reported to the audit log."""

    def look(self) -> tuple[list[HeldCall], list[HeldCall]]:
        """The trusted entries, and the others. Changes nothing."""

    def sweep(self, now: float) -> None:
        """Closes expired entries and brings the audit log up to date. Raises `Busy` at once if another process writes."""


class GrantSource(Protocol):
    """The grants that are signed."""

    def active(self, now: float) -> Sequence[Grant]:
        """Those that have not expired, and were never seen expired. Those that have are noted."""

    def note_expired(self) -> None:
        """Writes which were seen expired."""


class GrantStore(GrantSource, Protocol):
    """Grants, signed or not. Also raises `PolicyError` for a file that cannot be understood."""

    path: Path

    def grants(self) -> tuple[Grant, ...]:
        """All that are signed, expired or not."""

    def unsigned(self) -> tuple[Grant, ...]:
        """Those that do not count until they are accepted."""

    def known(self) -> tuple[Grant, ...]:
        """All of them, read again and without the key."""

    def add(self, grant: Grant, log: Callable[[Grant], None] = ...) -> Grant:
        """Signs and stores a grant; returns it with the id that it got. `log`: as for `accept`."""

    def accept(self, seen: Grant, log: Callable[[Grant], None]) -> Grant:
        """Signs a grant that is still equal to `seen`. Calls `log` before the change is stored."""

    def revoke(self, grant_id: str, log: Callable[[Grant], None] = ...) -> Grant | None:
        """Removes a grant; None if there is none of this id."""


class SessionGrantStore(Protocol):
    """Grants for the rest of a session. `log`: as for `GrantStore.accept`."""

    path: Path

    def active(self, now: float) -> list[SessionGrant]:
        """Those that are signed and not over, the oldest first."""

    def add(self, grant: SessionGrant, now: float, log: Callable[[SessionGrant], None]) -> SessionGrant:
        """Signs and stores a grant; returns it with its id."""

    def revoke(self, grant_id: str, log: Callable[[SessionGrant], None] = ...) -> SessionGrant | None:
        """Removes a grant; None if there is none of this id."""

    def end(self, session: str, log: Callable[[SessionGrant], None]) -> list[SessionGrant]:
        """The session is over: removes its grants."""


class ToolAnswerStore(Protocol):
    """What people have said about tools of plugins and servers; without a file, nobody has been asked. `log`: as above."""

    path: Path

    def known(self) -> tuple[ToolAnswer, ...]:
        """Those that are signed, the oldest first; the same tuple while nothing changes."""

    def put(self, answer: ToolAnswer, log: Callable[[ToolAnswer], None]) -> ToolAnswer:
        """Signs and stores an answer in place of an earlier one about the same; returns it with its id."""

    def add(self, make: Callable[..., ToolAnswer | None], log: Callable[[ToolAnswer], None]) -> ToolAnswer | None: ...

    def begin(self, answers: Iterable[ToolAnswer], log: Callable[[ToolAnswer], None]) -> list[ToolAnswer]:
        """Stores these if nobody has been asked yet; returns what it has stored."""

    def remove(self, means: Callable[[ToolAnswer], bool], log: Callable[[ToolAnswer], None]) -> list[ToolAnswer]:
        """Takes answers back; returns them."""


class UserRuleStore(Protocol):
    """The user's `[[rule]]` tables. Also raises `InvalidRulesError`, except for `look` and `parse`."""

    path: Path

    def look(self) -> Found:
        """What the file contains; the same object while nothing changes."""

    def rules(self) -> tuple[Rule, ...]:
        """The rules in file order; the same tuple while nothing changes."""

    def placed(self, matcher: Callable[[Rule, Example], bool] | None = None) -> list[Placed]:
        """Read again; `matcher` (whether a rule matches an example) also tests the rules' examples."""

    def parse(self, table: Mapping[str, Any], text: str) -> Found:
        """The rules of a parsed policy; `text` is for positions. Never raises."""

    def add(self, text: str, *, dry_run: bool = False) -> list[Rule]:
        """Appends these tables; what is there stays byte for byte."""


class LastGoodStore(Protocol):
    """The user's rules as they were last read without an error."""

    path: Path

    def tables(self, kind: str) -> Tables | None:
        """None if no good version of this kind is known. Never raises."""

    def keep(self, tables: Mapping[str, Tables]) -> None:
        """Stores these kinds and leaves the others."""


class UserPolicy(Protocol):
    """The user's rules as an engine applies them: the valid ones, and the last good version of all others. Never raises."""

    @property
    def rules(self) -> tuple[Rule, ...]: ...

    @property
    def unread(self) -> str:
        """What cannot be read and has no last good version, in words; empty if there is nothing."""

    @property
    def faults(self) -> list[str]:
        """Errors in the file, for the gateway's log."""

    def look(self) -> None:
        """Applies what has changed."""


class AuditLogStore(Protocol):
    """The hash-chained audit log."""

    path: Path

    def append(self, events: Iterable[AuditEvent], *, patient: bool = True) -> None:
        """Adds the events, each id once. Without `patient` it raises `Busy` at once if another process writes."""

    def close_torn_line(self) -> None:
        """Closes half a line that a killed process left."""

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of these ids that the log has. Raises `OSError`."""

    def files(self) -> list[Path]:
        """All parts of the log, the oldest first."""

    def odd(self) -> list[Path]:
        """What is in the place of the log or its head and is not a file."""

    def lines(self) -> Iterator[tuple[Path, int, bytes]]:
        """Every line with its file and number. Raises `OSError`."""

    def events(self) -> Iterator[dict[str, Any]]:
        """Every line that can be decoded. Raises `OSError`."""

    def verify(self) -> Verification:
        """Follows the chain. Changes nothing."""


class CallLogStore(Protocol):
    """The log of malformed calls."""

    path: Path

    def append(self, line: dict[str, Any]) -> str:
        """Writes one line. Never raises; returns why it could not be written, once per cause."""


class CounterStore(Protocol):
    """What the guard counted in each run."""

    def load(self) -> dict[str, Run]: ...

    def look(self) -> None:
        """Raises `Damaged` if the store is. Changes nothing."""

    def save(self, changed: Mapping[str, Run | None]) -> None:
        """Merges these runs in; None removes one. Raises `Busy` at once if another process writes."""


class SavedFiles(NamedTuple):
    """`changes`: of the files, since they were saved as a whole."""

    tree: FileTree
    programs: list[LivingProgram]
    changes: list[FileChange]


class FileMemoryStore(Protocol):
    """The files that agents made, and the programs that may run files later. Raises `StoreError`."""

    path: Path

    def load(self) -> SavedFiles:
        """The latest last."""

    @property
    def wants_all(self) -> bool:
        """Whether changes cannot be added to what is there: everything has to be saved."""

    def save(self, files: FileList, programs: list[LivingProgram]) -> None:
        """Replaces all of them."""

    def append(self, changes: Iterable[FileChange], programs: list[LivingProgram]) -> None:
        """Adds what has changed since. `programs`: all that there are now."""


class StandingsStore(Protocol):
    """Budgets, trust and drift of the agents. Raises `Busy` if another process writes."""

    path: Path
    trouble: str
    """What must be reported about the store, once; empty if there is nothing."""

    def load(self, *, patient: bool = False) -> list[Standing]:
        """The latest first. `patient`: for an engine that starts, which must know what was spent."""

    def look(self) -> list[Standing]:
        """Returns the same as `load`; changes nothing."""

    def other(self, key: Key, ours: Standing | None) -> Standing | None:
        """The stored standing if another process has changed it; None otherwise."""

    def save(self, changed: dict[Key, Standing], *, durable: bool = False) -> list[Standing]:
        """Stores all or none. Returns those that are stored with other values than given. `durable`: a power failure does
        not undo it, nor anything that was saved before."""

    def checkpoint(self, change: Callable[[Standing], Standing | None]) -> list[tuple[Standing, Standing]]:
        """Those that `change` changes, before and after; all or none."""

    def close(self) -> None:
        """Closes the connection; the next call opens it again."""


class KillSwitchStore(Protocol):
    """The kill switch. A state that cannot be read counts as on."""

    path: Path

    def thrown(self) -> KillSwitchState | None:
        """None while it is off. Never raises."""

    def why(self) -> str:
        """One line; empty while it is off. Never raises."""

    def set(self, *, on: bool, by: str, why: str) -> None:
        """One that is on keeps its first reason and time unless there is a new reason."""


class AcceptedSettingsStore(Protocol):
    """The settings that a user accepted, and which are weaker now."""

    path: Path

    def pending(self) -> list[Notice]:
        """What is weaker than accepted, the oldest first. Changes nothing."""

    def baseline(self, config: str) -> EffectiveSettings | None:
        """What was accepted for this config, or for the one that ran last; None if nothing is known."""

    def ran(self, config: str, settings: EffectiveSettings, now: float, log: Log, *, patient: bool = True) -> AcceptedState:
        """A gateway starts with these settings. Raises `Busy` if they may be those from before a user's change."""

    def ended(self, config: str, why: str, now: float, log: Log) -> AcceptedState:
        """The gateway no longer loads the plugin."""

    def accept(self, seen: Sequence[Notice], config: str, decision: Decision, now: float, log: Log) -> list[Notice]:
        """Accepts all of `seen`. Raises `ChangedMeanwhile` if something else became weaker."""

    def take(self, config: str, changes: Sequence[StrictnessChange], decision: Decision, now: float, log: Log) -> bool:
        """Accepts the weaker ones of the changes that a user made, if any; False if nothing is known of this config."""

    def forget(self, config: str) -> None:
        """Toolguard was uninstalled: the next installation starts from scratch."""


class WeakeningsStore(Protocol):
    """Settings that guard less than what a user accepted, as texts for a chat."""

    def pending(self) -> list[str]: ...

    def accept(self, decision: Decision, seen: str) -> str: ...


class NotificationStore(Protocol):
    """What is to be sent, and what became of it. `target`: its name in the settings."""

    path: Path

    def set_aside(self) -> str:
        """Keeps a damaged store under the returned name; the next use begins a new one."""

    def sending(self) -> AbstractContextManager[None]:
        """Surrounds the work of the one process that sends. Raises `Busy` at once if there is another."""

    def has_sender(self) -> bool: ...

    def position(self) -> ReadUpTo | None:
        """How far the audit log was read; None if it never was."""

    def counts(self) -> dict[str, int]:
        """What `take` was given last."""

    def take(
        self, messages: Sequence[Notification], position: ReadUpTo | None = None, counts: Mapping[str, int] | None = None
    ) -> None:
        """Stores all of it in one transaction. Notifications that are there already are ignored, repeated ones counted."""

    def next_batch(self, target: str, now: float, few: int, most: int, *, only_asking: bool = False) -> list[Notification]:
        """What to send in one message: what was tried before and is due again, else what is due: the first one if there are
        not more than `few`, otherwise up to `most`. First what asks a person (held calls), then the oldest. `only_asking`:
        of what was not tried before nothing else."""

    def finish(self, batch: Sequence[Notification], state: State, now: float, error: str = "") -> None: ...

    def retry(self, batch: Sequence[Notification], due: float, now: float, error: str) -> None: ...

    def drop_answered(self, pending: Collection[str], now: float) -> None:
        """Drops what waits about held calls that are no longer pending."""

    def give_up(self, targets: Collection[str], now: float) -> None:
        """Ends what is of no use any more, or waits for a target that is not in `targets`, and forgets what is old."""

    def sent_since(self, target: str, since: float) -> list[float]:
        """When messages were sent, the oldest first."""

    def unlogged(self) -> list[Notification]:
        """Lost notifications that are not in the audit log yet, not more than 100."""

    def logged(self, messages: Sequence[Notification]) -> None: ...

    def state_of(self, name: str, target: str) -> Notification | None: ...

    def health(self) -> list[TargetHealth]:
        """Returns the state of each target; empty if nothing was ever to be sent. Makes no file."""

    def close(self) -> None: ...


class EngineRegistry(Protocol):
    """The engines of one state directory. Writing raises `OSError`."""

    def publish(self, info: EngineInfo) -> None: ...

    def retire(self, pid: int) -> None:
        """This engine has ended: its record becomes the last one."""

    def sweep(self) -> None:
        """Retires engines that were killed."""

    def running(self) -> list[EngineInfo]: ...

    def starting(self) -> list[EngineStart]:
        """Starts that take long, also of gateways that were killed."""

    def unretired(self) -> list[EngineInfo]:
        """Those that run, and those that were killed."""

    def noted(self) -> list[EngineInfo]:
        """All engines on record, whether or not they run."""

    def last(self) -> EngineInfo | None:
        """The engine that ended last."""

    def unreadable(self) -> list[Path]:
        """Records that cannot be read."""


class SigningKeyStore(Protocol):
    """The key that signs the state. Raises `SigningKeyError`."""

    @property
    def path(self) -> Path: ...

    def load(self) -> bytes:
        """The key; made at the first use."""

    def known(self) -> bytes:
        """The key; never made."""
