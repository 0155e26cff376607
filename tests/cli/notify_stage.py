"""What the tests of notifications share: a server that may be down, slow or broken, and a notifier in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from toolguard_cli.notify.event_source import EventSource
from toolguard_cli.notify.run_notifier import sender
from toolguard_cli.notify.target_worker import TargetWorker
from toolguard_cli.system.paths import Places
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.nonces import FileNonces

LIMIT = 20.0


@dataclass
class Receiver:
    """`received`: (headers, body) of each request. `answer`: makes the status of one."""

    received: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    answer: Callable[[], int] = lambda: 200
    port: int = 0
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body in self.received]

    def wait(self) -> None:
        assert self.arrived.acquire(timeout=LIMIT)


@contextmanager
def serving(receiver: Receiver) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.received.append((dict(self.headers), body))
            receiver.arrived.release()
            self.send_response(receiver.answer())
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Stage:
    """One notifier in this thread: `step` follows the files once and then sends what is due."""

    def __init__(self, places: Places, **notify: Any) -> None:
        self.places = places
        self.config: Config = parse({"notify": notify})
        self.store = stores.notifications(places.state_dir)
        self.calls = FileNonces(places.state_dir)
        self.log = stores.audit_log(places.state_dir)
        self.restart()

    def restart(self) -> None:
        own = self.config.notify
        self.source = EventSource(self.places.state_dir, own, self.calls, self.store)
        self.workers = {
            name: TargetWorker(name, sender(target, None), lambda: self.store, "home", own.most_per_hour)
            for name, target in notify_targets.usable(own).items()
        }

    def step(self, now: float, *, send: bool = True) -> None:
        self.source.poll(now)
        for worker in self.workers.values() if send else ():
            worker._pause_until = 0.0  # the pause is of the monotonic clock, which tests cannot set
            worker.clock = lambda: now
            while worker.step(self.store):
                pass
