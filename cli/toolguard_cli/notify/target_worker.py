"""Sends the notifications of one target, one message after another, in a thread of its own: a slow target delays no other.

An attempt that fails is repeated with growing delays. What waits meanwhile, and what exceeds the limits, is sent as one
summary. Delivery is at least once: a process that is killed between sending and noting it sends the same message again,
under the same key.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, Queue

from toolguard_cli.notify import message_text
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, Sender, failed
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.notifications import Notification
from toolguard_engine.stores.ports import NotificationStore

FEW, MOST = 3, 100
"""Up to so many events are sent one by one; more are sent as summaries of at most so many."""

BURST, BURST_SECONDS = 6, 60.0
ASKING_SHARE = 2
"""Held calls may be sent up to so many times the limits: otherwise an agent could use them up with other events."""

HOUR = 3_600.0
FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
IDLE_SECONDS = 0.5
ATTEMPT_SECONDS = 10.0
MOST_HANGING = 3


Link = Callable[[str], str | None]
"""The address of a page that answers the held call with this nonce."""


def no_link(nonce: str) -> None:
    del nonce


class TargetWorker(threading.Thread):
    """`open_store` is called in the thread. `gateway`: its name, for the title."""

    def __init__(
        self, name: str, sender: Sender, open_store: Callable[[], NotificationStore], gateway: str, most_per_hour: int
    ) -> None:
        super().__init__(name=f"notify {name}", daemon=True)
        self._target = name
        self._sender = sender
        self._open_store = open_store
        self._gateway = gateway
        self._most_per_hour = most_per_hour
        self.clock = time.time
        self.link: Link = no_link
        self._wake = threading.Event()
        self._over = threading.Event()
        self._begun: dict[str, Queue[Delivery]] = {}
        """By key: attempts whose result is not known yet."""

        self._failures = 0
        self._pause_until = 0.0
        """By the monotonic clock."""

    def wake(self) -> None:
        self._wake.set()

    def end(self) -> None:
        """It ends after the current attempt, and what is due and never failed."""
        self._over.set()
        self._wake.set()

    def run(self) -> None:
        store = self._open_store()
        try:
            while True:
                over = self._over.is_set()
                try:
                    while self.step(store):
                        pass
                except StoreError:
                    pass  # it is reported by the main thread, which uses the same store
                if over:
                    return
                self._wake.wait(IDLE_SECONDS)
                self._wake.clear()
        finally:
            store.close()

    def step(self, store: NotificationStore) -> bool:
        """Sends one message, if one is due; whether to go on."""
        now = self.clock()
        if time.monotonic() < self._pause_until or now < self._allowed(store, now, ASKING_SHARE):
            return False
        is_full = now < self._allowed(store, now)  # of other events; a held call must not wait for them
        batch = store.next_batch(self._target, now, FEW, MOST, only_asking=is_full)
        if not batch:
            return False
        done = self._attempt(self._message(batch))
        now = self.clock()
        if not done.error:
            self._failures, self._pause_until = 0, 0.0
            store.finish(batch, "sent", now)
        elif not done.again:
            store.finish(batch, "lost", now, done.error)
        else:
            delay = max(min(FIRST_DELAY * 2**self._failures, LONGEST_DELAY), done.after)
            self._failures, self._pause_until = min(self._failures + 1, 30), time.monotonic() + delay
            store.retry(batch, now + delay, now, done.error)
        return not done.error or not done.again

    def _allowed(self, store: NotificationStore, now: float, share: int = 1) -> float:
        """Says from when on `share` times the limits allow a message."""
        sent = store.sent_since(self._target, now - HOUR)
        recent = [at for at in sent if at > now - BURST_SECONDS]
        burst, hourly = BURST * share, self._most_per_hour * share
        after = recent[-burst] + BURST_SECONDS if len(recent) >= burst else 0.0
        return max(after, sent[-hourly] + HOUR if len(sent) >= hourly else 0.0)

    def _message(self, batch: list[Notification]) -> OutgoingMessage:
        asks = len(batch) == 1 and batch[0].event in ("held", "expiring")
        title, text, data = message_text.message(batch, self._gateway, self.link(batch[0].nonce) if asks else None)
        return OutgoingMessage(f"toolguard-{batch[0].batch}", title, text, data)

    def _attempt(self, message: OutgoingMessage) -> Delivery:
        """Does not wait long for a sender that hangs, and does not send again what it may still deliver."""
        box = self._begun.pop(message.key, None)
        self._begun = {key: queue for key, queue in self._begun.items() if queue.empty()}
        if box is None:
            if len(self._begun) >= MOST_HANGING:
                return Delivery("earlier attempts hang")
            box = Queue(1)
            threading.Thread(target=_put, args=(box, self._sender, message), daemon=True).start()
        try:
            return box.get(timeout=ATTEMPT_SECONDS)
        except Empty:
            self._begun[message.key] = box
            return Delivery(f"no answer within {ATTEMPT_SECONDS:.0f} s")


def _put(box: Queue[Delivery], sender: Sender, message: OutgoingMessage) -> None:
    try:
        done = sender.send(message)
    except Exception as error:  # noqa: BLE001 - an attempt without a result would count as one that hangs
        done = failed(f"{type(error).__name__}: {error}")
    box.put(done)
