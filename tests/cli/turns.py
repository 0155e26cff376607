"""Processes that take turns, in an order that one seed decides: only one of them runs at a time, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from random import Random


class KilledError(BaseException):
    """Raised where a process is killed; nothing that it does on the way out has an effect, since that raises it again."""


class Turn:
    """One process."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self.name = name
        self.is_killed = False
        self.failure: BaseException | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.ended = False

    def __str__(self) -> str:
        return self.name

    def start(self, known: dict[int, Turn]) -> None:
        self._thread.start()
        assert self._thread.ident is not None
        known[self._thread.ident] = self

    def step(self) -> None:
        """Lets it run until its next turn ends."""
        self._go.release()
        self._back.acquire()

    def rest(self) -> None:
        self._back.release()
        self._go.acquire()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.is_killed:
                self._work()
        except KilledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `Turns.run`
            self.failure = error
        self.ended = True
        self._back.release()


class Turns:
    """`often`: how likely a turn ends at one of its points. `ended`: called when a process has."""

    def __init__(self, chance: Random, ended: Callable[[Turn], None], often: float = 0.2) -> None:
        self._chance, self._ended, self._often = chance, ended, often
        self._known: dict[int, Turn] = {}

    def mine(self) -> Turn | None:
        """The process that asks; None for what watches them all."""
        return self._known.get(threading.get_ident())

    def point(self, _: str = "") -> None:
        """Here another one may go on, or this one be killed."""
        if (turn := self.mine()) is None:
            return
        if not turn.is_killed and self._chance.random() < self._often:
            turn.rest()
        if turn.is_killed:
            raise KilledError

    def wait(self, _: float) -> bool:
        """Gives the turn to others, who may have to end something first. False after many turns."""
        if (turn := self.mine()) is None:
            return False
        turn.rest()
        if turn.is_killed:
            raise KilledError
        return self._chance.random() > 0.002

    def run(self, work: Mapping[str, Callable[[], None]], kills: float, ends_at: int) -> bool:
        """Runs all of them. `kills`: how likely one is killed when it is its turn. `ends_at`: after so many turns all are;
        whether they were."""
        turns = [Turn(name, task) for name, task in work.items()]
        for turn in turns:
            turn.start(self._known)
        count = 0
        while living := [turn for turn in turns if not turn.ended]:
            count += 1
            turn = self._chance.choice(living)
            turn.is_killed |= self._chance.random() < kills
            if count >= ends_at:
                for one in living:
                    one.is_killed = True
            turn.step()
            if turn.ended:
                self._ended(turn)
                if turn.failure:
                    for one in turns:
                        one.is_killed = True
        self._known.clear()
        for turn in turns:
            if turn.failure:
                raise turn.failure
        return count >= ends_at
