"""What the parts of a session share: the settings, the guard, the stores as protocols, and the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers.known_inputs import KnownInputs
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.server.command_rooms import CommandRooms
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.store_queue import StoreQueue, at_once
from toolguard_engine.server.undo_saver import UndoSaver
from toolguard_engine.stores.ports import KillSwitchStore, StandingsStore, WeakeningsStore
from toolguard_engine.wire import messages
from toolguard_engine.wording.correction import Hints
from toolguard_engine.wording.secret_values import Replacement

Clock = Callable[[], datetime]


@dataclass
class SessionTally:
    """What happened since the engine started."""

    judged: int = 0
    corrected: int = 0
    loops: int = 0
    stopped: int = 0
    held: int = 0
    blocked: int = 0
    approved: int = 0
    repeated: int = 0


@dataclass(frozen=True)
class Setup:
    """What the process gives a session besides the gateway's messages. `timer`: see `guard.Guard`; `home`, `guarded`: see
    `model.Host`; `included`: the files that the config at this path takes in; `links`: the links that lead to a home folder
    and a state folder; `package`: the folders of the package that a script belongs to.

    `environment`: the variables of the process, which are the gateway's. `files`: reads what calls run. `open_approvals` is
    called once the gateway has said where its state is. `queue` does what needs the stores. `take_note`: what the agent of a
    session has yet to be told, with the result of a call. `rooms`: what contains commands. `undo`: saves what calls change.
    """

    hints: Hints
    clock: Clock
    pid: int
    book: Rulebook | None = None
    home: str = ""
    guarded: tuple[str, ...] = ()
    included: Callable[[str], tuple[str, ...]] = lambda _: ()
    links: Callable[[str, str], tuple[tuple[str, str], ...]] = lambda _home, _state: ()
    package: Callable[[str], tuple[str, ...]] = lambda _: ()
    open_approvals: Callable[[messages.Hello, Config], Approvals] | None = None
    timer: WorkTimer | None = None
    files: FileReader | None = None
    queue: StoreQueue = field(default_factory=at_once)
    environment: Mapping[str, str] = field(default_factory=dict)
    take_note: Callable[[str], str] = lambda _: ""
    rooms: CommandRooms | None = None
    undo: UndoSaver | None = None


@dataclass
class SessionState:
    """One gateway as its session sees it. Stores are None until it is known where they are."""

    setup: Setup
    hello: messages.Hello | None = None
    config: Config = field(default_factory=Config)
    config_error: str = ""
    tally: SessionTally = field(default_factory=SessionTally)
    seams: dict[str, str] = field(default_factory=dict)
    approvals: Approvals | None = None
    standings: StandingsStore | None = None
    kill_switch: KillSwitchStore | None = None
    weakenings: WeakeningsStore | None = None
    answers: list[tuple[messages.Incoming, messages.Wire | None]] = field(default_factory=list)
    """What the stores were needed for, with its answer; None: it was answered before, and the store has changed since."""
    inputs: KnownInputs = field(default_factory=KnownInputs)
    hidden: tuple[Replacement, ...] = ()
    """What the gateway part replaces in all that a model sees."""
    leaving: str = ""
    signalled: str = ""
    """The signal that ends the engine."""
    """Why the gateway is about to stop the plugin, if it said so."""

    def __post_init__(self) -> None:
        self.guard = Guard(self.config, self.setup.hints, timer=self.setup.timer, files=self.setup.files)

    def now(self) -> float:
        return self.setup.clock().timestamp()

    def take_answers(self) -> list[tuple[messages.Incoming, messages.Wire | None]]:
        """Those that had to wait for a store, each once."""
        taken, self.answers = self.answers, []
        return taken

    def is_shadowed(self, agent: str) -> bool:
        """Whether the guard only watches this agent."""
        return self.guard.config_for(agent).active_mode == "shadow"
